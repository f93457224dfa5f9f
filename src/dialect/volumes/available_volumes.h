// The volumes that exist, by class: those that a claim may still have, and for which claim Berth keeps one. The plugin VolumeBinding of the
// default scheduler has the same rules.
//   - A volume suits a claim if it is of its class, volumeMode and volumeAttributesClass, and is as large.
//   - It has the claim's access modes, and the claim's selector selects it. The smallest is taken.
//   - A volume is free if its phase is Available and no claim has it, by its claimRef or as Berth keeps it.
//
// Local volumes are counted. A volume is local if it is on the one node of a host name, or of a name. A class without a provisioner, all volumes
// of which are local, is counted by node. The count stands among the limits of drivers (Node::attachable). So a decision never gives more pods
// to a node than it has volumes for. Claims that ask for more have counts of their own, one for each size of the class's volumes, up to
// kMostSteps. A node that lacks an entry has no volume of the class, and the claims rule it out themselves.
//
// Cost: O(log n) for a volume. O(nodes with local volumes) or O(free volumes of the class) for the nodes of a wish, once after each change.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/volumes/objects.h"

namespace berth::dialect {

// A claim's request. `needs` lives as long as the call.
struct VolumeWish {
  std::string klass;
  std::int64_t size = 0;
  const VolumeNeeds* needs = nullptr;
};

// The same for claims that ask for the same, whatever their class and their selector.
std::string text_of(const VolumeNeeds& needs, std::int64_t size);

// So much a claim learns of the volumes that exist. It does not matter to it which of them is which.
struct FreeVolumes {
  std::vector<std::string> counts;                 // of which it needs one each
  std::optional<std::vector<SelectorTerm>> nodes;  // that have a volume for it; none: all nodes
  bool some = false;                               // one is free; not said where a count says all
  bool operator==(const FreeVolumes&) const = default;
};

bool suits(const PersistentVolume& volume, const VolumeWish& wish);
// Whether a volume that is for the claim by its claimRef can be bound to it.
bool can_be_bound(const PersistentVolume& volume, const VolumeWish& wish);

class AvailableVolumes {
 public:
  static constexpr std::size_t kMostSteps = 8;

  // Volumes are known by their address, and must not change between add() and remove(), but for what is free of it.
  void add(const PersistentVolume& volume);
  void remove(const PersistentVolume& volume);
  void set_free(const PersistentVolume& volume, bool free);
  bool is_free(const PersistentVolume& volume) const;
  // The volumes of the class are made by an administrator alone.
  void set_by_hand(const std::string& klass, bool by_hand);

  // The volume is for the claim (namespace/name), as Berth has chosen.
  void keep(const PersistentVolume& volume, const std::string& claim);
  // nullptr: none.
  const PersistentVolume* kept_for(std::string_view claim) const;
  // "": for none.
  std::string claim_of(const PersistentVolume& volume) const;
  // The volume that was kept; nullptr: none was.
  const PersistentVolume* release(std::string_view claim);

  // By size, then by name.
  std::vector<const PersistentVolume*> free_for(const VolumeWish& wish) const;
  bool is_counted(const std::string& klass) const;
  // For a claim with this wish, as things are. `shared`: several pods mount it, so that no count says it. Found once for all claims with the
  // same wish, until a volume of the class comes, goes, or is taken.
  std::shared_ptr<const FreeVolumes> found(const VolumeWish& wish, bool shared) const;
  // All counts of a node with these places.
  ResourceList counts_at(const std::vector<std::string>& places) const;
  // Places whose counts may be others than at the last call.
  std::set<std::string> take_changed_places() { return std::exchange(changed_, {}); }

 private:
  struct Smaller {
    bool operator()(const PersistentVolume* a, const PersistentVolume* b) const {
      return a->size != b->size ? a->size < b->size : a->meta.name < b->meta.name;
    }
  };
  using Volumes = std::set<const PersistentVolume*, Smaller>;
  // The volumes of one volumeMode.
  struct Stock {
    std::map<std::int64_t, std::size_t> sizes;
    std::size_t all = 0;
    std::map<std::uint8_t, std::size_t> modes;
    std::size_t with_attributes = 0;
  };
  struct Shelf {
    bool by_hand = false;
    std::size_t elsewhere = 0;  // that are not local
    std::array<Stock, 2> stocks;
    Volumes free;
    std::map<std::string, Volumes> places;
    std::uint64_t version = 0;
  };
  struct Found {
    std::uint64_t version = 0;
    std::shared_ptr<const FreeVolumes> free;
  };

  const Shelf* shelf(std::string_view klass) const;
  void count(const PersistentVolume& volume, int delta);
  void note(const Shelf& shelf);
  static std::vector<std::int64_t> steps(const Stock& stock);
  static std::string name_of(const std::string& klass, bool block, std::int64_t step, bool first);
  FreeVolumes look(const VolumeWish& wish, bool shared) const;
  // The most that a free volume of the class has; -1: there is none.
  std::int64_t largest_free(const std::string& klass, bool block) const;
  // Whether the count of its class says all about the claim: which volume it is does not matter.
  bool is_told_by_count(const VolumeWish& wish) const;
  std::vector<std::string> counts_of(const VolumeWish& wish) const;
  // The nodes that have a local volume for it, free or not.
  std::vector<SelectorTerm> nodes_with_local(const VolumeWish& wish) const;

  std::map<std::string, Shelf, std::less<>> shelves_;                 // by class
  std::map<std::string, const PersistentVolume*, std::less<>> kept_;  // by claim
  std::map<std::string, std::string, std::less<>> claims_;            // by volume
  std::set<std::string> changed_;
  mutable std::map<std::string, Found> found_;  // by wish; looked up only
};

}  // namespace berth::dialect

// The classes of volumes, with the drivers that make their volumes: for which nodes a volume can be made. The plugin VolumeBinding of the
// default scheduler has the same rules.
//
// A class may name its nodes (allowedTopologies). A driver may say, for each class, how large a volume can be on which nodes
// (CSIStorageCapacity); then nodes without enough are out. Several claims of one pod are judged one by one, as the default scheduler does.
// Cost: O(log n) for an object, O(objects of the class) for a look-up of a class with capacities.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/volumes/objects.h"

namespace berth::dialect {

// Classes with it have volumes that an administrator makes.
inline constexpr std::string_view kNoProvisioner = "kubernetes.io/no-provisioner";

// Its volumes are chosen when a pod has its place, and nothing makes one.
inline bool is_by_hand(const StorageClass& klass) {
  return klass.waits && klass.provisioner == kNoProvisioner;
}

class ClassBook {
 public:
  // For these claims something is another than before: those of the class that ask for more than `above` bytes, and at most `most`.
  struct Change {
    std::string klass;
    std::int64_t above = -1;
    std::int64_t most = INT64_MAX;
  };
  using Changes = std::vector<Change>;

  Changes put(StorageClass&& klass);
  Changes put(CsiDriver&& driver);
  Changes put(CsiStorageCapacity&& capacity);
  Changes remove(Kind kind, std::string_view ns, std::string_view name);

  // nullptr: there is none.
  const StorageClass* of(const PersistentVolumeClaim& claim) const;
  const StorageClass* named(std::string_view name) const;
  // Claims that name no class have this one.
  bool is_default(std::string_view name) const;
  // Where a volume of the class can be made for the claim: all of these hold. `what`: the claim, for messages.
  std::vector<VolumeNodes> nodes_for(const StorageClass& klass, const PersistentVolumeClaim& claim,
                                     const std::string& what) const;

 private:
  template <class T>
  using ByName = std::map<std::string, T, std::less<>>;

  Changes classes_of(std::string_view driver) const;

  ByName<StorageClass> classes_;
  ByName<CsiDriver> drivers_;
  ByName<ByName<CsiStorageCapacity>> capacities_;  // by class, and by namespace/name
  ByName<std::string> class_of_capacity_;          // by namespace/name
};

// "claim data (only on nodes with topology.kubernetes.io/zone a)"
std::string words_of(const std::string& what, const std::vector<SelectorTerm>& nodes);

}  // namespace berth::dialect

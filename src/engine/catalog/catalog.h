// Interned data that workloads share: shapes, charges, specs and structures. A hundred thousand pods of one kind cost one entry.
//
//   Shape      the request of a slot to its node (nodes/shape.h)
//   Charge     one way to place a slot: a shape with one flavor per resource group, and its quota
//   Spec       a pod template in a queue: its charges in the order in which they are tried
//   Structure  the group tree of a workload without its counts
//
// sweep() drops unused entries; the owner calls it now and then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/ids.h"
#include "base/interner.h"
#include "engine/nodes/demand.h"
#include "engine/nodes/index.h"
#include "engine/nodes/nodes.h"
#include "engine/nodes/shape.h"
#include "engine/quota/tree.h"
#include "model/decision.h"
#include "model/queue.h"
#include "model/workload.h"

namespace berth::engine {

using ChargeId = Id<struct ChargeTag>;
using SpecId = Id<struct SpecTag>;
using StructureId = Id<struct StructureTag>;

// Items by id with free slots that are used again, lowest first.
template <class T, class IdType>
class Pool {
 public:
  IdType add(std::string key, T value) {
    IdType id(items_.size());
    if (!free_.empty()) {
      id = free_.back();
      free_.pop_back();
      items_[id.index()] = std::make_unique<Item>(Item{key, std::move(value), false});
    } else {
      items_.push_back(std::make_unique<Item>(Item{key, std::move(value), false}));
    }
    index_.emplace(std::move(key), id);
    return id;
  }
  std::optional<IdType> find(const std::string& key) const {
    const auto it = index_.find(key);
    if (it == index_.end()) return std::nullopt;
    return it->second;
  }
  T& operator[](IdType id) { return items_[id.index()]->value; }
  const T& operator[](IdType id) const { return items_[id.index()]->value; }
  const std::string& key(IdType id) const { return items_[id.index()]->key; }
  std::size_t live() const { return index_.size(); }
  template <class F>
  void for_each(F&& visit) {
    for (auto& item : items_) {
      if (item) visit(item->value);
    }
  }

  void mark(IdType id) { items_[id.index()]->marked = true; }
  bool marked(IdType id) const { return items_[id.index()]->marked; }
  // Drops what is not marked (calling `dropped`), takes the marks away.
  template <class F>
  void sweep(F&& dropped) {
    free_.clear();
    for (std::size_t i = items_.size(); i-- > 0;) {
      if (items_[i] && !items_[i]->marked) {
        index_.erase(items_[i]->key);
        dropped(IdType(i));
        items_[i].reset();
      }
      if (!items_[i]) {
        free_.push_back(IdType(i));
      } else {
        items_[i]->marked = false;
      }
    }
  }

 private:
  struct Item {
    std::string key;
    T value;
    bool marked;
  };
  std::vector<std::unique_ptr<Item>> items_;  // pointers: a shape's address is kept by its index
  std::vector<IdType> free_;
  std::unordered_map<std::string, IdType> index_;
};

struct ShapeEntry {
  Shape shape;
  std::array<std::unique_ptr<ShapeIndex>, 2> index;  // by Mode
};

// How much is at stake with slots that run: thousandths of devices and of CPUs.
struct Weight {
  Int128 devices = 0;
  Int128 cpus = 0;
};

struct Charge {
  ShapeId shape;
  std::vector<QuotaItem> quota;  // per slot
  std::vector<ChosenFlavor> flavors;
  Weight weight;
  bool awaited =
      false;  // quota without a place, because nodes are yet to be bought (PodTemplate::awaited_flavors)
};

struct Spec {
  QueueId queue;
  PodTemplate pod;
  bool is_long = false;             // its key is a digest: dropped soon after its last use
  bool is_left = false;             // it had pod sets, and has none now
  std::uint32_t pod_sets = 0;       // that have it
  std::vector<std::string> beside;  // what pod sets ask for that get the same flavors; by name
  std::int64_t weight = 0;  // of one slot's service: thousandths of devices, of CPUs where it has none
  std::uint64_t config_version = 0;  // of the choices
  std::vector<ChargeId> choices;
  std::vector<std::pair<std::string, std::uint32_t>>
      group_of;    // resource -> resource group of the queue; by name
  Reason problem;  // why there are no choices
  Kind kind;       // of its slots in the demand mix

  std::optional<std::uint32_t> group_index(std::string_view resource) const;
};

// A walk through the group tree: enter a group, place a leaf, leave the group.
struct Step {
  enum class Kind : std::uint8_t { kEnter, kLeaf, kExit } kind = Kind::kLeaf;
  std::uint32_t index = 0;  // group or pod set
  std::uint32_t past = 0;   // the step after it; of an entry the one after the matching exit
};

struct StructureGroup {
  std::int64_t least = 0;  // children
  std::int64_t children = 0;
  TopologyRequest topology;
  std::uint32_t parent = 0;           // index of the parent group; the root's is itself
  std::vector<std::uint32_t> leaves;  // pod sets anywhere below
};

struct Structure {
  std::vector<StructureGroup> groups;   // 0 = root
  std::vector<std::uint32_t> group_of;  // by pod set
  std::vector<Step> steps;
};

Structure make_structure(const Group& root);
// Sets Step::past. Each entry has its exit.
void link(std::vector<Step>& steps);
// Whether so many pod sets of each group (`can`) are enough for the whole: at every group its least number.
bool enough_children(const Structure& structure, std::vector<std::int64_t> can);
std::string structure_key(const Group& root);
// At most kShortKey long (base/digest.h), as shape_key() is.
std::string pod_key(const PodTemplate& pod);

}  // namespace berth::engine

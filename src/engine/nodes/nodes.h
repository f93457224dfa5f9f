// The nodes: their capacity, and their use on both planes. With their domains (nodes/domains.h), the tokens that pods have there
// (nodes/tokens.h), the volumes that they share (nodes/mounted.h), and what has changed (nodes/changes.h).
//
// Amounts of a node never overflow. Single amounts are bounded by kMostAmount (the callers check). Use by foreign pods is
// unbounded, so it is summed in 128 bits and charged clamped.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/ids.h"
#include "base/interner.h"
#include "base/result.h"
#include "engine/base/plane.h"
#include "engine/nodes/ages.h"
#include "engine/nodes/changes.h"
#include "engine/nodes/device_states.h"
#include "engine/nodes/domains.h"
#include "engine/nodes/grant.h"
#include "engine/nodes/mounted.h"
#include "engine/nodes/shape.h"
#include "engine/nodes/suits.h"
#include "engine/nodes/tokens.h"
#include "model/node.h"

namespace berth::engine {

// No single amount may be larger: 2^50 is 1 PiB, or 10^12 CPUs.
inline constexpr std::int64_t kMostAmount = std::int64_t{1} << 50;
inline constexpr std::int64_t kMostCountedDevices = 1'000'000;  // of one pool of a node
// In all pools of a node together. Beyond that the largest pools are only counted: their devices are not shared, and slots do not
// know which they have.
inline constexpr std::int64_t kMostNumberedDevices = 1024;
// The resource of the volumes of a driver is named so, with the driver behind. A node that names no limit has kMostAmount of it.
inline constexpr std::string_view kVolumesOf = "attachable volumes of ";

// Tokens and shared volumes that pods have on nodes.
struct HeldOnNodes {
  Tokens tokens;
  Mounted mounted;
  Ages ages;
};

class NodeTable {
 public:
  struct Account {
    std::int64_t capacity = 0;
    std::array<std::int64_t, 2> used{};
    std::int64_t free(Mode mode) const {
      return capacity - (mode == Mode::kPlan ? used[kAfter] : std::max(used[kNow], used[kAfter]));
    }
  };
  struct Device {
    ResourceId resource;
    Account account;  // thousandths; capacity 0 when unhealthy or taken away
    bool healthy = true;
  };
  struct Record {
    Node spec;
    bool alive = false;
    std::vector<Device> devices;
    std::vector<ResourceId> counted;  // devices without numbers: only the account of the resource exists
  };
  // Adds or changes. Errors: a negative or too large amount or number of devices, a rank outside of 32 bits.
  Status upsert(const Node& node);
  Status remove(std::string_view name);
  void set_topologies(std::span<const Topology> topologies);

  // The node of this name, known or new (new ones are not alive): slots may be seen on nodes before the node itself.
  NodeId intern(std::string_view name);
  std::optional<NodeId> find(std::string_view name) const;
  // The node without a name: room without end, on which nothing is counted. It stands for capacity of which only the quota is
  // known. Made on first use.
  NodeId opaque();
  bool is_opaque(NodeId id) const { return id == opaque_; }
  const Record& record(NodeId id) const { return records_[id.index()]; }
  std::size_t size() const { return records_.size(); }
  std::size_t alive() const { return alive_; }

  // Order among equals: rank, then id.
  std::uint64_t tie(NodeId id) const { return ties_[id.index()]; }

  ResourceId resource(std::string_view name);
  ResourceId volumes_of(std::string_view driver);
  // Whether it is that of a driver, of which this node has no limit or some other has none.
  bool is_of_volumes(ResourceId id) const {
    return std::find(of_volumes_.begin(), of_volumes_.end(), id) != of_volumes_.end();
  }
  // The resource that a pod names. Every resource is a column of all nodes, so only a bounded number of names that no node has is
  // accepted; nullopt beyond it. A resource that a node brings later is always accepted.
  static constexpr std::size_t kMostAskedOnly = 128;
  std::optional<ResourceId> resource_asked(std::string_view name);
  bool is_asked_only(ResourceId id) const { return asked_only_[id.index()]; }
  bool is_full_of_asked() const { return asked_ >= kMostAskedOnly; }
  static constexpr ResourceId cpu() { return ResourceId(0u); }
  std::string_view resource_name(ResourceId id) const { return resources_.name(id.value); }
  std::size_t resources() const { return resources_.size(); }
  const Account* row(NodeId id) const { return &accounts_[id.index() * stride_]; }  // by resource
  const Account& account(NodeId id, ResourceId r) const { return row(id)[r.index()]; }

  // Charges (sign +1) or frees (-1) one slot: the amounts of its shape, and its grant. Exactly undone by the opposite sign.
  void charge(NodeId id, const Shape& shape, const GrantView& grant, PlaneMask planes, int sign);

  // Use by pods that are not ours: amounts are clamped as said above. sign as in charge().
  void charge_foreign(NodeId id, const ForeignPod& pod, const GrantView& grant, int sign);

  // The free devices of a node as a value, and the table of such values. Found out when asked for after a change.
  DeviceStateId device_state(NodeId id, Mode mode) const;
  DeviceStates& device_states() const { return device_states_; }
  Suits& suits() const { return suits_; }
  HeldOnNodes& held() { return held_; }
  const HeldOnNodes& held() const { return held_; }

  const Domains& domains() const { return domains_; }
  const NodeChanges& changes() const { return changes_; }
  // Prefetches the data of a node that fit and score read.
  void prefetch(NodeId id) const {
    __builtin_prefetch(&accounts_[id.index() * stride_]);
    __builtin_prefetch(&accounts_[id.index() * stride_] + 3);
    if (id.index() < known_.size()) __builtin_prefetch(&known_[id.index()]);
    changes_.prefetch(id);
  }
  // Whether devices of this resource are only counted there.
  bool is_counted(NodeId id, ResourceId resource) const {
    const auto& counted = records_[id.index()].counted;
    return std::find(counted.begin(), counted.end(), resource) != counted.end();
  }
  // All healthy devices of live nodes, in thousandths.
  std::int64_t device_capacity() const { return device_capacity_; }
  // For one node; 0 if it is not alive.
  std::int64_t device_capacity(NodeId id) const { return capacities_[id.index()]; }
  // The present device use of slots, in thousandths, over all nodes. Foreign pods are left out.
  std::int64_t device_use() const { return device_use_; }
  // Goes up when labels, taints, liveness or the rank of the node change.
  std::uint64_t static_version(NodeId id) const { return static_versions_[id.index()]; }

 private:
  void set_capacity(NodeId id);

  Interner resources_;
  std::vector<bool> asked_only_;  // by resource: only pods have named it
  std::size_t asked_ = 0;         // of these
  std::vector<ResourceId> of_volumes_;
  Interner names_;
  std::vector<Record> records_;
  std::vector<std::uint64_t> static_versions_;
  std::vector<Account> accounts_;  // [node][resource]
  std::size_t stride_ = 4;
  std::size_t alive_ = 0;
  NodeId opaque_;
  std::vector<std::uint64_t> ties_;
  std::vector<std::int64_t> capacities_;  // by node: device_capacity()
  std::int64_t device_capacity_ = 0;
  std::int64_t device_use_ = 0;
  HeldOnNodes held_;
  Domains domains_;
  NodeChanges changes_;
  // Found out on demand; answers are functions of the accounts.
  struct KnownState {
    std::uint64_t changes = ~std::uint64_t{0};
    std::uint64_t generation = 0;
    std::array<DeviceStateId, 2> state;
  };
  mutable DeviceStates device_states_;
  mutable Suits suits_;
  mutable std::vector<KnownState> known_;
  mutable std::vector<DeviceStates::Free> scratch_;
  std::unordered_map<std::uint64_t, Int128>
      foreign_;  // node << 32 | resource -> sum; looked up, never iterated
};

// Ascending, each once.
std::vector<VolumeId> mounts_of(NodeTable& nodes, const std::vector<SharedVolume>& volumes);

}  // namespace berth::engine

// The room on a node that expected demand can use, and what of it a placement takes away.
//
// For a node with free CPU c, device state D, and a kind k of the demand mix (place/demand.h) with weight w_k, CPU c_k and n_k
// devices of which it needs d_k thousandths each:
//   once(k)    all that is free on devices with at least d_k free, where one slot of the kind fits; else 0.
//              idle - once(k) is the published fragment f of the kind (Weng et al., ATC 2023).
//   filled(k)  what slots of this kind alone could fill: d_k n_k times the number of slots that fit. CPU that runs out before
//              the devices do counts here, and only here.
//   usable     sum over k of s_k (7 once(k) + filled(k))
// s_k is w_k divided by the share of the cluster's devices that the kind may run on (scarcity), scaled to a sum of 2^16: a
// model that some kinds must have, and of which there is little, weighs more than its share of the demand.
// Placement takes the node and device that lose the least usable room. One setting for every cluster; what the two terms
// and the scarcity are worth is measured in docs/placement.md.
//
// Also the published amount, sum over k of w_k (idle - once(k)), as an operator's metric: what part of the idle devices is
// of no use to what comes.
//
// Exact integers: thousandths of devices x 2^16 x 8, below 2^36 for 64 devices. Cost: a look-up among the CPU steps of (pattern,
// device state), O(log steps), after a few direct evaluations, O(kinds), of the same pair. A pattern is the set of the mix's
// whereabouts that a node suits; at most 64 different ones are looked at, those of the heaviest kinds.
// Memory: at most kMostRows tables; older ones are dropped together (answers do not depend on it).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/place/demand.h"
#include "engine/place/nodes.h"

namespace berth::engine {

using PatternId = Id<struct PatternTag>;

class Fragments {
 public:
  static constexpr std::int64_t kWeights = 1 << 16;  // sum of the scarcity weights
  static constexpr std::int64_t kOnce = 7;           // of 8 parts

  // Takes a mix over, and the share of the devices that each kind may run on. O(nodes + kinds).
  void use(const Mix& mix, const NodeTable& nodes);
  // Grows when usable() may answer differently for the same node state.
  std::uint64_t version() const { return version_; }
  // The devices that were there when use() was called, in thousandths.
  std::int64_t devices() const { return devices_; }
  std::uint64_t mix_epoch() const { return mix_epoch_; }
  bool given() const { return given_; }

  PatternId pattern(const NodeTable& nodes, NodeId node);
  std::int64_t usable(const NodeTable& nodes, PatternId pattern, DeviceStateId state, std::int64_t cpu);
  // The same for a node as it is; remembered until the node changes.
  std::int64_t usable_now(const NodeTable& nodes, NodeId node, Mode mode);
  // What is a fragment of the node's idle devices, in thousandths x Mix::kTotal. O(kinds).
  std::int64_t fragments(const NodeTable& nodes, NodeId node, Mode mode);

 private:
  static constexpr std::size_t kMostRows = 4096;
  static constexpr std::uint32_t kDirect = 12;  // evaluations before a table is made

  struct KindHere {
    std::int64_t cpu = 0;
    std::int64_t each = 0;  // d
    std::int64_t slot = 0;  // d n
    ResourceId resource;
    DeviceRequestId request;
    std::int64_t weight = 0;  // of 2^20
    std::int64_t scarce = 0;  // of 2^16
    std::uint32_t where = 0;  // bit
  };
  struct Pattern {
    std::uint64_t mask = 0;
    std::vector<std::uint32_t> kinds;  // indices into kinds_
  };
  struct Row {
    std::vector<std::int64_t> cpu;     // ascending; usable from this much CPU on
    std::vector<std::int64_t> usable;  // one more than cpu: [0] is below the first step
  };
  struct Cell {
    std::uint32_t row = 0xffffffffu;
    std::uint32_t asked = 0;
  };
  struct NodeMask {
    std::uint64_t mask = 0;
    std::uint64_t fixed = ~std::uint64_t{0};  // static version of the node
    std::uint64_t epoch = 0;
    PatternId pattern;
    std::uint64_t pattern_version = 0;
  };
  struct Remembered {
    std::uint64_t changes = ~std::uint64_t{0};
    std::uint64_t version = 0;
    std::int64_t value = 0;
  };

  std::uint64_t mask(const NodeTable& nodes, NodeId node);
  std::int64_t once(const NodeTable& nodes, const KindHere& kind, DeviceStateId state) const;
  std::int64_t evaluate(const NodeTable& nodes, const Pattern& pattern, DeviceStateId state,
                        std::int64_t cpu);
  Row make_row(const NodeTable& nodes, const Pattern& pattern, DeviceStateId state);

  std::vector<KindHere> kinds_;
  std::uint64_t version_ = 1;
  std::uint64_t mix_epoch_ = 0;
  bool given_ = false;
  std::int64_t devices_ = 0;

  // Whereabouts by bit. A bit keeps its meaning while the mix needs it, so that a new mix looks at nodes for new ones only.
  struct Where {
    std::string key;
    std::vector<Shape> any;
    std::uint64_t epoch = 0;  // since when the bit means this
  };
  std::vector<Where> where_;
  std::uint64_t used_ = 0;  // bits that the present mix needs
  std::uint64_t epoch_ = 1;

  std::vector<NodeMask> masks_;  // by node
  std::unordered_map<std::uint64_t, PatternId> pattern_index_;
  std::vector<Pattern> patterns_;
  std::vector<std::vector<Cell>> cells_;  // [pattern][device state]
  std::vector<Row> rows_;
  std::uint64_t generation_ = 0;  // of the device states
  std::array<std::vector<Remembered>, 2> now_;
};

// The published amount over all live nodes, kept up to date by reading the log of changes: O(changes) to read, O(nodes) after
// a new mix. Idle is what is free and promised to nobody (Mode::kStart).
class FragmentMeter {
 public:
  struct Sums {
    std::int64_t idle = 0;
    Int128 fragments = 0;  // x Mix::kTotal
  };
  const Sums& read(const NodeTable& nodes, Fragments& fragments);

 private:
  struct OfNode {
    std::int64_t idle = 0;
    std::int64_t fragments = 0;
  };
  void update(const NodeTable& nodes, Fragments& fragments, NodeId node);

  bool built_ = false;
  std::uint64_t cursor_ = 0;
  std::uint64_t version_ = 0;
  std::vector<OfNode> nodes_;
  Sums sums_;
};

}  // namespace berth::engine

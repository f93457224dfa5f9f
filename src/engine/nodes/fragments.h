// The usable room of a node, that is the room that expected demand can use, and the part of it that a placement takes away.
//
// For a node with free CPU c, device state D, and a kind k of the demand mix (nodes/demand.h) with weight w_k, CPU c_k and n_k
// devices of which it needs d_k thousandths each:
//   once(k)    all free room on devices with at least d_k free, if one slot of the kind fits; else 0. The published fragment f of
//              the kind is idle - once(k) (Weng et al., ATC 2023).
//   filled(k)  the room that slots of this kind alone could fill: d_k n_k times the number of slots that fit. CPU that runs out
//              before the devices do counts here, and only here.
//   coming(k)  the room that work which ends may leave. For a kind of several whole devices: d_k n_k, times the chance of a slot.
//              If m devices are missing where b are taken, that is (b - m + 1) / (b + 1). The b devices come free and a slot comes,
//              each order is as likely, and m of them must be first. It ignores CPU.
//              It counts with the turnover of the mix: where nothing ends it is 0.
//   usable     sum over k of s_k (7 once(k) + filled(k) + 8 coming(k))
// s_k is the pressure on the room of the kind, scaled to a sum of 2^16: w_k sqrt(d_k n_k), divided by the room that is left in the
// whole cluster. That room is one slot plus the sum of filled(k) over all nodes.
//   - The root is a compromise. Counting pods would hide large ones, counting devices would hide small ones.
//   - The division makes it a bid price (Talluri and van Ryzin, "An Analysis of Bid-Price Controls for Network Revenue Management",
//     1998): room that few nodes have is expensive, room that many others have is cheap. Examples of scarce room: a rare model, a
//     node with much CPU, a node that is wholly free.
// weigh() counts the room again when the idle devices have changed by a quarter, and by 1/16 of all devices at least.
//
// A live mix does not know future kinds (Mix::unseen). It expects a ladder of kinds: 1/4, 1/2, 1, 2, 4, ... devices up to the size
// of the largest node. Each size comes with 1/8, 2/8, ... 8/8 of the cluster's CPU per so many devices, and all sizes ask for
// equally many devices. The ladder decides before any work has arrived, and fades as work arrives.
//
// Placement takes the node and device that lose the least usable room. One setting serves every cluster; docs/placement.md has the
// measurements.
//
// The published amount, sum over k of w_k (idle - once(k)), is an operator's metric: the part of the idle devices that expected
// work cannot use.
//
// Exact integers: thousandths of devices x 2^16 x 16, below 2^41 for 1024 devices. Cost: kinds with the same device request are
// examined together. Their answer is found once per device state; then a request costs O(1) where CPU is plentiful, else O(its kinds).
// use() and weigh() cost O(nodes + different nodes x kinds): nodes with equal free room count once, and full ones not at all. A
// pattern is the set of the mix's placement constraints that a node meets. At most 64 different constraints are used, those of the
// heaviest kinds.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/nodes/alike.h"
#include "engine/nodes/demand.h"
#include "engine/nodes/nodes.h"
#include "engine/nodes/suits.h"

namespace berth::engine {

using PatternId = Id<struct PatternTag>;

// The share of a node's free devices that one slot takes: `each` thousandths of so many devices of a kind that have `from` free
// each. Whole devices: 1000 of 1000.
struct Take {
  ResourceId resource;
  std::int64_t each = 0;
  std::int64_t devices = 0;  // 0: nothing
  std::int64_t from = kWholeDevice;
  bool operator==(const Take&) const = default;
};

class Fragments {
 public:
  static constexpr std::int64_t kWeights = 1 << 16;  // sum of the scarcity weights
  static constexpr std::int64_t kOnce = 7;           // of 8 parts
  static constexpr std::int64_t kComing = 8;         // as much as the room that is there

  // Takes a mix over, and weighs it.
  void use(const Mix& mix, const NodeTable& nodes);
  // Counts the room that is left for each kind, and prices it anew.
  void weigh(const NodeTable& nodes);
  // True if so much has been taken or freed since the last count that it is due again. O(1).
  bool drifted(const NodeTable& nodes) const;
  // Grows with every use().
  std::uint64_t uses() const { return epoch_; }
  // Grows when usable() may answer differently for the same node state.
  std::uint64_t version() const { return version_; }
  // The devices that were there when use() was called, in thousandths.
  std::int64_t devices() const { return devices_; }
  std::uint64_t mix_epoch() const { return mix_epoch_; }
  // Whether work ends, by the mix. A change of that is one of version(), too.
  bool work_ends() const { return turnover_ > 0; }
  bool given() const { return given_; }

  PatternId pattern(const NodeTable& nodes, NodeId node);
  // The usable room of a device state with so much CPU, once the slot has been taken away.
  std::int64_t usable(const NodeTable& nodes, PatternId pattern, DeviceStateId state, std::int64_t cpu,
                      const Take& take = {});
  // The values of a node at present; remembered until the node changes. All that a score needs of it lies side by side.
  struct Here {
    PatternId pattern;
    DeviceStateId state;
    std::int64_t idle = 0;  // thousandths of devices
    std::int64_t cpu = 0;   // free
    std::int64_t usable = 0;
  };
  const Here& here(const NodeTable& nodes, NodeId node, Mode mode);
  std::int64_t usable_now(const NodeTable& nodes, NodeId node, Mode mode) {
    return here(nodes, node, mode).usable;
  }
  // The fragments of the node's idle devices, in thousandths x Mix::kTotal. O(kinds).
  std::int64_t fragments(const NodeTable& nodes, NodeId node, Mode mode);
  // Brings what here() reads nearer.
  void prefetch(NodeId node, Mode mode) const {
    const auto& all = here_[static_cast<std::size_t>(mode)];
    if (node.index() < all.size()) __builtin_prefetch(&all[node.index()]);
  }

 private:
  static constexpr std::size_t kMostHaves = std::size_t{1} << 20;
  static constexpr std::size_t kAnswers = 512;  // a power of two; all of them stay in the second cache
  static constexpr std::uint32_t kNoAsk = 0xffffffffu;
  static constexpr std::uint32_t kAnywhere = 64;

  // A device request of kinds.
  struct Ask {
    ResourceId resource;
    std::int64_t each = 0;    // d
    std::int64_t count = 0;   // n
    std::int64_t per = 0;     // 2^20 / d, rounded up: quotients of up to 1000 are exact with it
    std::uint32_t begin = 0;  // in kinds_
    std::uint32_t end = 0;

    std::int64_t pieces(std::int64_t milli) const { return milli * per >> 20; }
  };
  struct KindHere {
    std::int64_t cpu = 0;
    std::uint32_t ask = kNoAsk;  // none: work without devices, or with several kinds of devices at once
    std::int64_t weight = 0;     // of 2^20; 0: expected, and not seen yet
    std::int64_t asked = 0;      // weight x root of the devices; 0: without a say in placement
    std::int64_t scarce = 0;     // of 2^16
    std::uint32_t where = 0;     // bit, or kAnywhere

    bool suits(std::uint64_t bits) const { return where == kAnywhere || (bits >> where & 1) != 0; }
  };
  // Sums over the kinds that ask for several whole devices of one kind, up to so many.
  struct Coming {
    struct Sums {
      std::int64_t asked = 0;    // s_k n_k
      std::int64_t squares = 0;  // s_k n_k^2
    };
    ResourceId resource;
    std::vector<Sums> up_to;

    const Sums& of(std::int64_t devices) const {
      return up_to[std::min(static_cast<std::size_t>(devices), up_to.size() - 1)];
    }
  };
  // The kinds of a pattern that ask for the same devices.
  struct Kinds {
    Ask ask;
    std::int64_t scarce = 0;    // of all
    std::int64_t most_cpu = 0;  // of any
    std::uint32_t begin = 0;    // in Pattern::steps
    std::uint32_t end = 0;
  };
  struct Step {
    std::int64_t cpu = 0;
    std::int64_t scarce = 0;
  };
  struct Pattern {
    std::uint64_t mask = 0;
    std::vector<Kinds> kinds;  // by ask
    std::vector<Step> steps;   // a kind each, of each ask by CPU
    std::vector<Coming> coming;
  };
  // The room of a device state for an ask that fits at least once.
  struct Have {
    std::uint32_t ask = 0;
    std::uint32_t pieces = 0;
    std::int64_t once = 0;
  };
  // The devices of one kind in a device state, and how many of them are free as a whole.
  struct Whole {
    ResourceId resource;
    std::int64_t free = 0;
    std::int64_t all = 0;
  };
  struct Profile {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    std::uint32_t wholes = 0;  // from here in wholes_
    std::uint32_t wholes_end = 0;
    bool known = false;
  };
  // The room of an empty node.
  struct Bare {
    std::int64_t cpu = 0;
    std::vector<DeviceStates::Free> devices;  // with numbers, ascending

    auto operator<=>(const Bare&) const = default;
  };
  struct NodeMask {
    std::uint64_t mask = 0;
    std::uint32_t bare = 0;
    std::uint64_t fixed = ~std::uint64_t{0};  // static version of the node
    std::uint64_t epoch = 0;
    PatternId pattern;
    std::uint64_t pattern_version = 0;
  };
  struct Remembered {
    std::uint64_t changes = ~std::uint64_t{0};
    std::uint64_t stamp = 0;
    Here here;
  };

  std::uint64_t mask(const NodeTable& nodes, NodeId node);
  std::uint32_t ask_of(const ShapeDevices& want);
  void count_bare(const NodeTable& nodes);
  void expect_ladder(std::int64_t weight);
  void leave_out_hopeless();
  // By kind: the room that its slots alone could fill in the whole cluster; thousandths.
  std::vector<std::int64_t> room(const NodeTable& nodes);
  std::uint32_t bare_of(const NodeTable& nodes, NodeId node);
  Pattern make_pattern(std::uint64_t bits) const;
  // Adds what these kinds expect of whole devices to come.
  void add_coming(Pattern& pattern, const Kinds& kinds) const;
  std::int64_t coming(const Pattern& pattern, DeviceStateId state, const Take& take) const;
  std::span<const Have> profile(const NodeTable& nodes, DeviceStateId state);

  std::vector<Ask> asks_;
  std::vector<KindHere> kinds_;  // by ask, and of each by CPU
  std::uint64_t version_ = 1;
  std::uint64_t mix_epoch_ = 0;
  bool given_ = false;
  std::int64_t devices_ = 0;
  std::int64_t idle_ = 0;  // at the last count
  std::int64_t turnover_ = 0;

  // Whereabouts by bit. A bit keeps its meaning while the mix needs it, so that a new mix looks at nodes for new ones only.
  struct Where {
    std::string key;
    std::vector<std::shared_ptr<SuitColumn>> any;
    std::uint64_t epoch = 0;  // since when the bit means this
  };
  std::vector<Where> where_;
  // An answer of usable(). Most nodes of a cluster are alike, and a new weighing asks about all of them.
  struct Answer {
    std::uint64_t version = 0;
    std::uint64_t generation = 0;
    PatternId pattern;
    DeviceStateId state;
    std::int64_t cpu = 0;
    Take take;
    std::int64_t usable = 0;
  };
  std::int64_t count_usable(const NodeTable& nodes, PatternId pattern, DeviceStateId state, std::int64_t cpu,
                            const Take& take);
  std::uint64_t used_ = 0;  // bits that the present mix needs
  std::uint64_t epoch_ = 1;

  std::vector<NodeMask> masks_;  // by node
  std::vector<Bare> bares_;      // those of nodes that are alike are one
  std::map<Bare, std::uint32_t> bare_index_;
  AlikeNodes alike_;  // scratch
  std::unordered_map<std::uint64_t, PatternId> pattern_index_;
  std::vector<Pattern> patterns_;
  std::vector<Profile> profiles_;  // by device state
  std::vector<Have> haves_;
  std::vector<Whole> wholes_;
  std::uint64_t generation_ = 0;  // of the device states
  std::array<std::vector<Remembered>, 2> here_;
  std::uint64_t stamp_ = 0;  // of here_: grows with version_, and when the device states are numbered anew
  std::uint64_t stamped_version_ = 0;
  std::uint64_t stamped_generation_ = 0;
  std::vector<Answer> answers_;  // one for each hash
};

// The published amount over all live nodes, kept up to date by reading the log of changes: O(changes) to read, O(nodes) after
// a new mix. Idle room is free and not promised (Mode::kStart).
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
  std::uint64_t uses_ = 0;
  std::vector<OfNode> nodes_;
  Sums sums_;
};

}  // namespace berth::engine

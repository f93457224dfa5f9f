// The demand mix as placement uses it: kinds of slots with weights, frozen from epoch to epoch.
//
// A kind has the inputs of the published definition of fragments (Weng et al., "Beware of Fragmentation", ATC 2023, 3.1): CPU,
// devices, and the allowed nodes. Memory and other amounts are left out. The frozen mix holds at most 256 kinds, those with the
// most count x root of the devices asked. A share of the pods by number would leave out the few large ones. Weights are by number,
// scaled to a sum of 2^20.
//
// Where it comes from:
//   given  a list of kinds (an event); in force until another one, or an empty one, is given
//   live   otherwise: slots are counted when they first arrive. When 32,768 have been counted all counts are halved, so
//          that the mix follows the demand. An epoch begins (a new mix is frozen) when a quarter more slots have arrived than at
//          the look before, eight at least. The mix must also differ by 1/64 or more from the frozen one (sum of the differences of
//          shares), so that placement does not pay for trivial changes. Future demand weighs as much as 64 arrivals (Mix::unseen):
//          everything at first, then it fades.
// Turnover: the share of the counted slots that have ended, in eighths. Evictions by the engine do not count. Both counts are halved
// together, so a cluster whose work comes and goes has 8, and one that only fills has 0. A given mix follows it too.
// Everything follows from the order of the events: the same events give the same epochs.
//
// Cost: saw() O(log kinds) for a kind that is known; a look O(kinds log kinds). At most 4,096 kinds are counted, the rarest
// are forgotten first.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/nodes/shape.h"

namespace berth::engine {

// On which nodes a kind may run: those that suit any of these shapes (selectors, taints, flavors; amounts do not matter).
struct Whereabouts {
  std::vector<Shape> any;
  std::string key;  // two are alike exactly when their keys are
  // Their constraints are longer than kShortKey: such kinds are not counted, so that nothing of them stays when they are gone.
  bool is_long = false;
};

struct Kind {
  std::int64_t cpu = 0;  // thousandths
  std::vector<ShapeDevices> devices;
  Whereabouts where;
  std::string key;  // two are alike exactly when their keys are
};
// The kind of slots that may be placed as any of these shapes, which differ in their flavors only; `cpu` is the resource's id.
Kind make_kind(std::span<const Shape* const> choices, ResourceId cpu);

struct FrozenKind {
  Kind kind;
  std::int64_t weight = 0;  // of 2^20
};

struct Mix {
  static constexpr std::int64_t kTotal = std::int64_t{1} << 20;
  static constexpr std::int64_t kMostTurnover = 8;
  std::uint64_t version = 0;  // of the epoch; 0: nothing has been seen
  bool given = false;
  // Weight of what has not come yet, of 2^20, beside the kinds; 0 where given.
  std::int64_t unseen = kTotal;
  std::int64_t turnover = 0;      // 0 to kMostTurnover
  std::vector<FrozenKind> kinds;  // by count x root of the devices asked, largest first
};

class Demand {
 public:
  // `slots` more of this kind have arrived.
  void saw(const Kind& kind, std::int64_t slots);
  // `slots` that ran have ended, and not because the engine evicted them.
  void ended(std::int64_t slots);
  // A given mix (kinds with their weights); an empty one ends it.
  void give(std::span<const FrozenKind> kinds);
  // Begins an epoch if one is due; true when the mix has changed. Called once per decide().
  bool look();
  const Mix& mix() const { return mix_; }

 private:
  struct Counted {
    Kind kind;
    std::int64_t count = 0;
  };
  using Counts = std::map<std::string, Counted, std::less<>>;
  void halve();
  void adopt(Mix mix);
  static Mix freeze(const Counts& counts);

  std::int64_t turnover() const;

  Counts counts_;
  std::int64_t total_ = 0;
  std::int64_t ended_ = 0;
  std::int64_t arrived_since_look_ = 0;
  std::int64_t look_after_ = 8;
  bool given_changed_ = false;
  Counts given_;
  Mix mix_;
};

}  // namespace berth::engine

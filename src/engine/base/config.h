// How the engine is configured, and what it counts.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/enums.h"
#include "model/ordering.h"
#include "model/queue.h"

namespace berth::engine {

// Conditions for a queue to evict work of a queue with a larger share (model/ordering.h: dominant-share); Kueue's
// preemptionStrategies.
//   final    afterwards its share is not above the share that the other keeps
//   initial  its share is below the present share of the other
//   final-then-initial  the second for victims that the first leaves out
enum class FairStrategy : std::uint8_t { kFinalThenInitialShare, kFinalShare, kInitialShare };

}  // namespace berth::engine
template <>
struct berth::EnumNames<berth::engine::FairStrategy> {
  static constexpr std::array names{"final-then-initial"sv, "final"sv, "initial"sv};
};

namespace berth::engine {

// The default of the tools (scheduler, simulate, plan).
inline constexpr Placement kDefaultPlacement = Placement::kFragmentation;

struct EngineConfig {
  // For queues that do not choose one; kDefault here is kDefaultPlacement. A decision log without this field means pack, so this
  // value must not change.
  Placement placement = Placement::kPack;
  std::int64_t search_steps = 200'000;  // per workload and decide(): placements tried, victims looked at
  bool ignore_uncovered = false;        // resources that a queue has no quota for: ignored, or not admitted
  FairStrategy fair_strategy = FairStrategy::kFinalThenInitialShare;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("placement", s.placement);
    v("search_steps", s.search_steps);
    v("ignore_uncovered", s.ignore_uncovered);
    v("fair_strategy", s.fair_strategy);
  }
  bool operator==(const EngineConfig&) const = default;
};

// Counters since the start. For metrics and coverage; they decide nothing.
struct EngineStats {
  std::int64_t events = 0;
  std::int64_t decide_calls = 0;
  std::int64_t attempts = 0;  // workloads looked at
  std::int64_t starts = 0;    // workloads started (or grown)
  std::int64_t slots_started = 0;
  std::int64_t evictions = 0;  // workloads evicted
  std::int64_t reclaims = 0;   // of these, across queues
  std::int64_t holds = 0;
  std::int64_t holds_released = 0;
  std::int64_t searches_ended = 0;  // at the bound
  std::int64_t victim_searches = 0;
  std::int64_t empty_searches = 0;  // whether old work could start on an empty cluster
  std::int64_t reservations = 0;    // plans of room for old work
};

// Called for each lane of a queue and each resource that it uses.
using LaneUse = std::function<void(std::string_view lane, std::string_view resource, std::int64_t amount)>;

}  // namespace berth::engine

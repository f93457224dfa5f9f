// The size that an attempt asks for. It is for work that may start with fewer slots, and starts whole where it can
// (Workload::whole_first). Such work is tried in this order, and the first that is possible is decided:
//   kWhole     all its slots; other work yields for them if its rights say so.
//   kMostFree  as many as find free room, or room that is ending, its least number or more; nothing yields.
//   (none)     its least number, as any other work.
//
// A start fixes the size. The caller tells the engine of the smaller workload (IntakePromises::grant()).
//
// While an AskedSize lives, the state says so much of the workload; then it is
// as it was declared. Cost: O(pod sets).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/state/state.h"

namespace berth::engine {

class AskedSize {
 public:
  enum class Size : std::uint8_t { kWhole, kMostFree };
  AskedSize(State& state, WorkloadId id, Size size);
  ~AskedSize();
  AskedSize(const AskedSize&) = delete;
  AskedSize& operator=(const AskedSize&) = delete;

 private:
  struct Declared {
    std::int64_t least = 0;
    Shared<PodSetMarks> marks;
  };
  State& state_;
  const WorkloadId id_;
  std::vector<Declared> declared_;  // per pod set
  bool may_preempt_ = false;
};

// Whether it is tried in sizes now: nothing of it has a place, and some slots
// may be left out.
bool has_sizes(const WorkloadState& workload);

}  // namespace berth::engine

#include "engine/decide/asked_size.h"

#include <algorithm>
#include <utility>

namespace berth::engine {

AskedSize::AskedSize(State& state, WorkloadId id, Size size) : state_(state), id_(id) {
  WorkloadState& w = state_.workloads[id_.index()];
  may_preempt_ = w.may_preempt;
  if (size == Size::kMostFree) w.may_preempt = false;
  for (PodSetState& set : w.sets) {
    declared_.push_back({set.least, set.marks});
    const auto count = static_cast<std::int64_t>(set.slots.size());
    if (set.least >= count) continue;
    if (size == Size::kWhole) {
      set.least = count;
    } else {
      set.marks.edit().bands = {{.count = count, .protected_from_reclaim = false}};
    }
  }
}

AskedSize::~AskedSize() {
  WorkloadState& w = state_.workloads[id_.index()];
  w.may_preempt = may_preempt_;
  for (std::size_t s = 0; s < declared_.size(); ++s) {
    w.sets[s].least = declared_[s].least;
    w.sets[s].marks = std::move(declared_[s].marks);
  }
  state_.settle(id_);  // where it stands in line depends on them
}

bool has_sizes(const WorkloadState& w) {
  if (!w.whole_first || w.running() > 0 || w.releasing() > 0 || w.held() > 0) return false;
  return std::any_of(w.sets.begin(), w.sets.end(), [](const PodSetState& set) {
    return set.least < static_cast<std::int64_t>(set.slots.size());
  });
}

}  // namespace berth::engine

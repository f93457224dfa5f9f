#include "sim/service/service.h"

#include <algorithm>
#include <deque>
#include <set>

namespace berth::sim {
namespace {

std::int64_t divide_up(Int128 a, Int128 b) {
  return clamp_to_int64((a + b - 1) / b);
}

// The least or the most that was wanted in a window that slides over the steps of a wish.
class Window {
 public:
  Window(const std::vector<ReplicaStep>& wanted, DurationMs length, bool most)
      : wanted_(wanted), length_(length), most_(most) {}

  // Times rise from call to call.
  std::int64_t at(TimeMs now) {
    for (; next_ < wanted_.size() && wanted_[next_].at <= now; ++next_) {
      const std::int64_t value = wanted_[next_].replicas;
      while (!best_.empty() && !better(wanted_[best_.back()].replicas, value)) best_.pop_back();
      best_.push_back(next_);
    }
    // A step holds until the next one: it leaves the window when that one is as old as the window is long.
    while (best_.size() > 1 && ends(best_.front()) <= now - length_) best_.pop_front();
    return wanted_[best_.front()].replicas;
  }

 private:
  bool better(std::int64_t a, std::int64_t b) const { return most_ ? a > b : a < b; }
  TimeMs ends(std::size_t step) const {
    return step + 1 < wanted_.size() ? wanted_[step + 1].at : kEndOfTime;
  }

  const std::vector<ReplicaStep>& wanted_;
  DurationMs length_;
  bool most_;
  std::size_t next_ = 0;
  std::deque<std::size_t> best_;  // steps in the window, each better than all later ones
};

}  // namespace

std::int64_t replicas_for(std::int64_t load_milli, std::int64_t per_replica_milli) {
  return divide_up(load_milli, per_replica_milli);
}

std::int64_t wanted_replicas(const ReplicaRule& rule, std::int64_t load_milli) {
  const Int128 load = Int128{load_milli} * (1000 + rule.headroom_milli);
  return std::clamp(divide_up(load, Int128{rule.per_replica_milli} * 1000), rule.min, rule.max);
}

std::vector<ReplicaStep> replica_steps(const ReplicaRule& rule, const std::vector<LoadPoint>& load,
                                       TimeMs end) {
  std::vector<ReplicaStep> wanted;
  for (const LoadPoint& point : load) {
    const std::int64_t replicas = wanted_replicas(rule, point.load_milli);
    if (wanted.empty() || wanted.back().replicas != replicas) wanted.push_back({point.at, replicas});
  }
  // A new demand changes the target when it comes, or when the demand that it replaced has left a window.
  std::set<TimeMs> times;
  for (const ReplicaStep& step : wanted) {
    for (const DurationMs delay : {DurationMs{0}, rule.up_delay, rule.down_delay})
      times.insert(step.at + delay);
  }
  Window least(wanted, rule.up_delay, false);
  Window most(wanted, rule.down_delay, true);
  std::vector<ReplicaStep> out;
  for (const TimeMs at : times) {
    if (at >= end) break;
    const std::int64_t up = least.at(at);
    const std::int64_t down = most.at(at);
    const std::int64_t is = out.empty() ? wanted.front().replicas : out.back().replicas;
    const std::int64_t target = up > is ? up : std::min(is, down);
    if (out.empty() || target != is) out.push_back({at, target});
  }
  return out;
}

void ServiceAccount::pass(DurationMs passed, std::int64_t load_milli, std::int64_t target, std::int64_t ready,
                          std::int64_t per_replica_milli) {
  if (passed <= 0) return;
  time += passed;
  offered += Int128{load_milli} * passed;
  const std::int64_t missing =
      std::max<std::int64_t>(0, clamp_to_int64(load_milli - Int128{ready} * per_replica_milli));
  if (missing > 0) time_short += passed;
  worst_milli = std::max(worst_milli, missing);
  unserved += Int128{missing} * passed;
  replica_ms_target += Int128{target} * passed;
  replica_ms_ready += Int128{ready} * passed;
}

}  // namespace berth::sim

#include "model/bounds.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <type_traits>

namespace berth {
namespace {

class Bounds {
 public:
  Bounds(std::string_view kind, std::string_view name) : kind_(kind), name_(name) {}

  void time(std::string_view field, std::optional<TimeMs> value) {
    within(field, "a time in ms", value.value_or(0), -kLastTime, kLastTime);
  }
  void length(std::string_view field, std::optional<DurationMs> value) {
    within(field, "a length of time in ms", value.value_or(0), 0, kLastTime);
  }
  void rank(std::string_view field, std::int64_t value) {
    within(field, "a priority", value, -kMostRank, kMostRank);
  }
  void cost(std::string_view field, std::int64_t value) {
    within(field, "a cost in device-milliseconds", value, 0, kMostRank);
  }
  Status status() const { return status_; }

 private:
  void within(std::string_view field, std::string_view what, std::int64_t value, std::int64_t least,
              std::int64_t most) {
    if ((value >= least && value <= most) || !status_) return;
    if (least == 0 && value < 0) {
      status_ = fail(ErrorCode::kInvalid, "{} {}: {} is {}: {} must not be negative", kind_, name_, field,
                     value, what);
      return;
    }
    status_ = fail(ErrorCode::kInvalid, "{} {}: {} is {}, {}: it must lie between {} and {}", kind_, name_,
                   field, value, what, least, most);
  }

  std::string_view kind_;
  std::string_view name_;
  Status status_;
};

// Brings each number that it is shown within its bounds.
class Clamp {
 public:
  template <class T>
  void time(std::string_view, T& value) {
    within(value, -kLastTime, kLastTime);
  }
  template <class T>
  void length(std::string_view, T& value) {
    within(value, 0, kLastTime);
  }
  void rank(std::string_view, std::int64_t& value) { within(value, -kMostRank, kMostRank); }
  void cost(std::string_view, std::int64_t& value) { within(value, 0, kMostRank); }

 private:
  static void within(std::int64_t& value, std::int64_t least, std::int64_t most) {
    value = std::clamp(value, least, most);
  }
  static void within(std::optional<std::int64_t>& value, std::int64_t least, std::int64_t most) {
    if (value) *value = std::clamp(*value, least, most);
  }
};

template <class B, class G>
void look(B& b, G& group) {
  for (auto& set : group.pod_sets) {
    for (auto& band : set.bands) {
      b.rank("bands.priority", band.priority);
      b.length("bands.reclaim_within", band.reclaim_within);
      b.cost("bands.cost", band.cost);
    }
  }
  // A tree that is too deep is another error (model/workload.h check()), which comes first.
  for (auto& child : group.groups) look(b, child);
}

// `b`: Bounds or Clamp; W: Workload, const or not.
template <class B, class W>
void look_at_workload(B& b, W& w) {
  b.rank("priority", w.priority);
  b.time("created", w.created);
  b.time("asks_more_since", w.asks_more_since);
  b.length("expected_duration", w.expected_duration);
  b.length("minimum_runtime", w.minimum_runtime);
  b.length("restart.checkpoint_every", w.restart.checkpoint_every);
  b.time("restart.last_checkpoint", w.restart.last_checkpoint);
  b.length("restart.overhead", w.restart.overhead);
  b.length("restart.grace", w.restart.grace);
  look(b, w.root);
}

Status check_workload(const Workload& w) {
  Bounds b("workload", w.name.empty() ? w.uid : w.name);
  look_at_workload(b, w);
  return b.status();
}

Status check_queue(const Queue& q) {
  Bounds b("queue", q.name);
  b.length("preemption.minimum_runtime", q.preemption.minimum_runtime);
  b.length("preemption.minimum_runtime_across", q.preemption.minimum_runtime_across);
  b.rank("preemption.borrow_threshold", q.preemption.borrow_threshold.value_or(0));
  b.length("ordering.age_limit", q.ordering.age_limit);
  b.length("half_life", q.half_life);
  b.length("lanes.half_life", q.lanes.half_life);
  for (const Lane& lane : q.lanes.lanes) b.time("lanes.used_at", lane.used_at);
  return b.status();
}

}  // namespace

Status check_bounds(const Event& event) {
  return std::visit(
      [](const auto& e) -> Status {
        using E = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<E, WorkloadUpsert>) {
          return check_workload(e.workload);
        } else if constexpr (std::is_same_v<E, QueueUpsert>) {
          return check_queue(e.queue);
        } else if constexpr (std::is_same_v<E, SlotUpdate>) {
          Bounds b("slot of workload", e.workload);
          b.time("since", e.since);
          return b.status();
        } else {
          return {};
        }
      },
      event);
}

void keep_bounds(Workload& workload) {
  Clamp clamp;
  look_at_workload(clamp, workload);
}

}  // namespace berth

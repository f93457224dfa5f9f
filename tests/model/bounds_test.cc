#include "model/bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/checked.h"

namespace berth {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

WorkloadUpsert workload() {
  WorkloadUpsert e;
  e.workload.uid = "u";
  e.workload.name = "team/train";
  e.workload.root.pod_sets.push_back({});
  e.workload.root.pod_sets.back().bands.push_back({});
  return e;
}

std::string error_of(const Event& event) {
  const Status status = check_bounds(event);
  return status ? std::string() : status.error().message;
}

TEST(Bounds, ADefaultEventKeepsThem) {
  EXPECT_EQ(error_of(workload()), "");
  EXPECT_EQ(error_of(QueueUpsert{}), "");
  EXPECT_EQ(error_of(SlotUpdate{}), "");
}

TEST(Bounds, EveryTimePriorityAndCostOfAWorkloadIsBounded) {
  using Set = void (*)(Workload&, std::int64_t);
  const std::vector<std::pair<const char*, Set>> fields{
      {"priority", [](Workload& w, std::int64_t v) { w.priority = v; }},
      {"created", [](Workload& w, std::int64_t v) { w.created = v; }},
      {"asks_more_since", [](Workload& w, std::int64_t v) { w.asks_more_since = v; }},
      {"expected_duration", [](Workload& w, std::int64_t v) { w.expected_duration = v; }},
      {"minimum_runtime", [](Workload& w, std::int64_t v) { w.minimum_runtime = v; }},
      {"restart.checkpoint_every", [](Workload& w, std::int64_t v) { w.restart.checkpoint_every = v; }},
      {"restart.last_checkpoint", [](Workload& w, std::int64_t v) { w.restart.last_checkpoint = v; }},
      {"restart.overhead", [](Workload& w, std::int64_t v) { w.restart.overhead = v; }},
      {"restart.grace", [](Workload& w, std::int64_t v) { w.restart.grace = v; }},
      {"bands.priority",
       [](Workload& w, std::int64_t v) { w.root.pod_sets.front().bands.front().priority = v; }},
      {"bands.reclaim_within",
       [](Workload& w, std::int64_t v) { w.root.pod_sets.front().bands.front().reclaim_within = v; }},
      {"bands.cost", [](Workload& w, std::int64_t v) { w.root.pod_sets.front().bands.front().cost = v; }},
  };
  for (const auto& [name, set] : fields) {
    for (const std::int64_t value : {kInt64Max, std::numeric_limits<std::int64_t>::min()}) {
      WorkloadUpsert e = workload();
      set(e.workload, value);
      EXPECT_THAT(error_of(e), AllOf(HasSubstr("workload team/train: "), HasSubstr(name))) << value;
    }
  }
}

TEST(Bounds, QueuesAndSlotsAreBoundedToo) {
  QueueUpsert e;
  e.queue.name = "q";
  e.queue.preemption.minimum_runtime = kInt64Max;
  EXPECT_THAT(error_of(e), HasSubstr("queue q: preemption.minimum_runtime is 9223372036854775807"));
  e = {};
  e.queue.ordering.age_limit = kInt64Max;
  EXPECT_THAT(error_of(e), HasSubstr("ordering.age_limit"));
  e = {};
  e.queue.lanes.lanes.push_back({});
  e.queue.lanes.lanes.back().used_at = -kInt64Max;
  EXPECT_THAT(error_of(e), HasSubstr("lanes.used_at"));
  SlotUpdate slot;
  slot.workload = "u";
  slot.since = kInt64Max;
  EXPECT_THAT(error_of(slot), HasSubstr("slot of workload u: since"));
}

TEST(Bounds, AWorkloadIsBroughtWithinThem) {
  for (const std::int64_t far : {kInt64Max, kInt64Min}) {
    WorkloadUpsert e = workload();
    Workload& w = e.workload;
    w.priority = far;
    w.created = far;
    w.asks_more_since = far;
    w.expected_duration = far;
    w.minimum_runtime = far;
    w.restart.checkpoint_every = w.restart.overhead = w.restart.grace = far;
    w.restart.last_checkpoint = far;
    DemandBand& band = w.root.pod_sets.back().bands.back();
    band.priority = band.reclaim_within = band.cost = far;
    EXPECT_NE(error_of(e), "");
    keep_bounds(w);
    EXPECT_EQ(error_of(e), "");
    EXPECT_EQ(w.priority, far > 0 ? kMostRank : -kMostRank);
    EXPECT_EQ(w.restart.overhead, far > 0 ? kLastTime : 0);
  }
}

}  // namespace
}  // namespace berth

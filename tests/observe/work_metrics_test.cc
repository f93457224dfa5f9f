#include "observe/work_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/log_support.h"
#include "observe/metrics.h"

namespace berth::observe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Event node(const std::string& name, std::int64_t gpus, const Labels& labels = {}, bool cordoned = false,
           std::vector<std::int64_t> unhealthy = {}) {
  Node out = std::get<NodeUpsert>(testing::gpu_node(name, gpus)).node;
  out.labels = labels;
  out.unschedulable = cordoned;
  out.devices[0].unhealthy = std::move(unhealthy);
  return NodeUpsert{out};
}

Workload gang(const std::string& uid, std::int64_t pods, std::int64_t priority = 0, TimeMs created = 1000) {
  Workload out = std::get<WorkloadUpsert>(testing::gpu_gang(uid, "q", pods, priority)).workload;
  out.created = created;
  return out;
}

Decision start(const std::string& uid, std::int64_t pods) {
  Decision out{DecisionKind::kStart, uid, {}, {}, {}, 0, {}};
  for (std::int64_t i = 0; i < pods; ++i) out.slots.push_back({0, i, "n1", {i}});
  return out;
}
Decision evict(const std::string& uid, ReasonCode cause, std::int64_t cost) {
  return {DecisionKind::kEvict, uid, "other", {}, {}, cost, Reason{cause}};
}

// Metrics that follow a deciding engine.
struct Followed {
  explicit Followed(WorkMetricsOptions options = {})
      : metrics({.work = std::move(options)}),
        follower({}, {.watches = {&metrics.work()}}),
        decider({}, {}, &follower) {
    tell(FlavorUpsert{Flavor{"default", {}, {}, {}, {}}});
    tell(testing::gpu_queue("q", 100));
  }
  void tell(const Event& event) { EXPECT_TRUE(decider.apply(event)); }
  std::string text(TimeMs now) {
    follower.catch_up();
    EXPECT_EQ(follower.diverged(), "");
    EXPECT_TRUE(follower.ask([&](const engine::Engine& engine) {
      metrics.look_at(engine, now);
      return true;
    }));
    return metrics.text();
  }

  Metrics metrics;
  Follower follower;
  RecordedEngine decider;
};

struct Counted {
  explicit Counted(WorkMetricsOptions options = {}) : metrics({.work = std::move(options)}) {}
  WorkMetrics& work() { return metrics.work(); }
  std::string text() const { return metrics.text(); }
  Metrics metrics;
};

TEST(WorkMetrics, AWaitEndsWithTheStart) {
  Counted c;
  c.work().took(WorkloadUpsert{gang("a", 4, 7, 1000)});
  c.work().decided(2000, {});
  EXPECT_THAT(c.text(), Not(HasSubstr("berth_workload_wait_seconds_count")));
  c.work().decided(61'000, {start("a", 4)});
  for (const char* line : {"berth_workload_wait_seconds_count{priority=\"7\",queue=\"q\"} 1",
                           "berth_workload_wait_seconds_sum{priority=\"7\",queue=\"q\"} 60",
                           "berth_workload_wait_seconds_bucket{priority=\"7\",queue=\"q\",le=\"15\"} 0",
                           "berth_workload_wait_seconds_bucket{priority=\"7\",queue=\"q\",le=\"60\"} 1",
                           "berth_workload_pods_bucket{le=\"2\"} 0", "berth_workload_pods_bucket{le=\"4\"} 1",
                           "berth_workloads_started_total{queue=\"q\"} 1"}) {
    EXPECT_THAT(c.text(), HasSubstr(std::string(line) + "\n"));
  }
}

// Its owner held it back for an hour: Berth has kept it waiting for ten seconds.
TEST(WorkMetrics, WorkWaitsFromWhenItMayStart) {
  Counted c;
  Workload a = gang("a", 1, 0, 1000);
  a.active = false;
  c.work().took(WorkloadUpsert{a});
  c.work().decided(2000, {});
  a.active = true;
  c.work().took(WorkloadUpsert{a});
  c.work().decided(kHour, {});
  c.work().decided(kHour + 10'000, {start("a", 1)});
  EXPECT_THAT(c.text(), HasSubstr("berth_workload_wait_seconds_sum{priority=\"0\",queue=\"q\"} 10\n"));
}

TEST(WorkMetrics, GrowthIsNoStartAndAnEvictionBeginsAnotherWait) {
  Counted c;
  c.work().took(WorkloadUpsert{gang("a", 4)});
  c.work().decided(1000, {start("a", 2)});
  Decision more = start("a", 4);
  more.slots.erase(more.slots.begin(), more.slots.begin() + 2);
  c.work().decided(50'000, {more});
  EXPECT_THAT(c.text(), HasSubstr("berth_workload_wait_seconds_count{priority=\"0\",queue=\"q\"} 1\n"));
  c.work().decided(100'000, {evict("a", ReasonCode::kPreempted, 7'200'000)});
  for (std::int64_t i = 0; i < 4; ++i) {
    c.work().took(SlotUpdate{"a", 0, i, SlotState::kReleasing, "n1"});
    c.work().took(SlotUpdate{"a", 0, i, SlotState::kWaiting, ""});
  }
  c.work().decided(110'000, {});
  c.work().decided(120'000, {start("a", 4)});
  c.work().decided(130'000, {evict("a", ReasonCode::kReclaimed, 400'000)});
  for (const char* line :
       {"berth_workload_wait_seconds_count{priority=\"0\",queue=\"q\"} 2",
        "berth_workload_wait_seconds_sum{priority=\"0\",queue=\"q\"} 10",
        "berth_workloads_started_total{queue=\"q\"} 1", "berth_workloads_preempted_total{queue=\"q\"} 1",
        "berth_evictions_total{cause=\"Preempted\",queue=\"q\"} 1",
        "berth_evictions_total{cause=\"Reclaimed\",queue=\"q\"} 1",
        "berth_evicted_gpu_seconds_total{cause=\"Preempted\",queue=\"q\"} 7200",
        "berth_evicted_gpu_seconds_total{cause=\"Reclaimed\",queue=\"q\"} 400"}) {
    EXPECT_THAT(c.text(), HasSubstr(std::string(line) + "\n"));
  }
}

TEST(WorkMetrics, AWithdrawalIsNoPreemptionAndCpuWorkLosesNoGpuTime) {
  Counted c;
  Workload cpu = gang("cpu", 1);
  cpu.root.pod_sets[0].pod.claim.requests.clear();
  c.work().took(WorkloadUpsert{cpu});
  c.work().decided(1000, {start("cpu", 1)});
  c.work().decided(2000, {evict("cpu", ReasonCode::kWithdrawn, 5'000'000)});
  EXPECT_THAT(c.text(), HasSubstr("berth_evictions_total{cause=\"Withdrawn\",queue=\"q\"} 1\n"));
  EXPECT_THAT(c.text(), HasSubstr("berth_evicted_gpu_seconds_total{cause=\"Withdrawn\",queue=\"q\"} 0\n"));
  EXPECT_THAT(c.text(), HasSubstr("berth_workloads_preempted_total{queue=\"q\"} 0\n"));
}

// Work that runs after a restart has not been seen to start.
TEST(WorkMetrics, AdoptedWorkIsNoStart) {
  Counted c;
  c.work().took(WorkloadUpsert{gang("a", 2)});
  c.work().took(SlotUpdate{"a", 0, 0, SlotState::kRunning, "n1"});
  c.work().decided(5000, {start("a", 2)});
  EXPECT_THAT(c.text(), Not(HasSubstr("berth_workload_wait_seconds_count")));
  EXPECT_THAT(c.text(), HasSubstr("berth_workloads_started_total{queue=\"q\"} 0\n"));
}

TEST(WorkMetrics, TellsWhatWaitsAndSinceWhen) {
  Followed f({.objectives = {{0, kHour}, {1000, 10 * kMinute}}});
  f.tell(node("n1", 4));
  f.tell(WorkloadUpsert{gang("runs", 4)});
  (void)f.decider.decide(1000);
  f.tell(WorkloadUpsert{gang("old", 4, 0, 2000)});
  f.tell(WorkloadUpsert{gang("young", 4, 0, 50'000)});
  f.tell(WorkloadUpsert{gang("urgent", 8, 1000, 60'000)});
  f.tell(WorkloadUpsert{gang("background", 1, -10, 60'000)});
  (void)f.decider.decide(60'000);
  const auto text = f.text(102'000);
  for (const char* line : {"berth_workload_oldest_wait_seconds{priority=\"0\",queue=\"q\"} 100",
                           "berth_workload_oldest_wait_seconds{priority=\"1000\",queue=\"q\"} 42",
                           "berth_workload_wait_objective_seconds{priority=\"0\"} 3600",
                           "berth_workload_wait_objective_seconds{priority=\"1000\"} 600",
                           "berth_waiting_workloads{queue=\"q\",reason=\"Nodes\"} 4",
                           "berth_workloads{pods=\"2-7\",state=\"running\"} 1",
                           "berth_workloads{pods=\"2-7\",state=\"waiting\"} 2",
                           "berth_workloads{pods=\"8-31\",state=\"waiting\"} 1",
                           "berth_workloads{pods=\"1\",state=\"waiting\"} 1"}) {
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  }
  EXPECT_THAT(text, Not(HasSubstr("berth_workload_wait_objective_seconds{priority=\"-10\"")));
  f.tell(WorkloadRemove{"old"});
  EXPECT_THAT(f.text(102'000),
              HasSubstr("berth_workload_oldest_wait_seconds{priority=\"0\",queue=\"q\"} 52\n"));
}

TEST(WorkMetrics, TellsWhichQueueHasWhichDevices) {
  Followed f;
  f.tell(node("n1", 4, {{"cloud.google.com/gke-nodepool", "a3"}, {"nvidia.com/gpu.product", "H100"}}));
  f.tell(node("n2", 8, {{"nvidia.com/gpu.product", "A100"}}, false, {7}));
  f.tell(node("n3", 8, {}, true));
  f.tell(node("n4", 8));
  f.tell(WorkloadUpsert{gang("a", 3)});
  for (std::int64_t i = 0; i < 3; ++i) {
    f.tell(SlotUpdate{"a", 0, i, SlotState::kRunning, i < 2 ? "n1" : "n2"});
    f.metrics.work().set_pod("a", 0, i, "team", "a-" + std::to_string(i));
  }
  Workload large = gang("large", 1);
  large.root.pod_sets[0].pod.claim.requests[0].count = 8;
  large.active = false;
  f.tell(WorkloadUpsert{large});
  (void)f.decider.decide(1000);
  auto text = f.text(1000);
  for (const char* line : {
           R"(berth_allocated_gpus{pool="a3",queue="q",resource="nvidia.com/gpu"} 2)",
           R"(berth_allocated_gpus{pool="A100",queue="q",resource="nvidia.com/gpu"} 1)",
           R"(berth_pod_gpus{node_name="n1",pod_name="a-0",pod_namespace="team",pool="a3",queue="q"} 1)",
           R"(berth_pod_gpus{node_name="n2",pod_name="a-2",pod_namespace="team",pool="A100",queue="q"} 1)",
           R"(berth_gpus{pool="a3",resource="nvidia.com/gpu",state="used"} 2)",
           R"(berth_gpus{pool="a3",resource="nvidia.com/gpu",state="free"} 2)",
           R"(berth_gpus{pool="A100",resource="nvidia.com/gpu",state="unhealthy"} 1)",
           R"(berth_gpus{pool="A100",resource="nvidia.com/gpu",state="free"} 6)",
           R"(berth_gpus{pool="none",resource="nvidia.com/gpu",state="cordoned"} 8)",
           R"(berth_gpus{pool="none",resource="nvidia.com/gpu",state="free"} 8)",
           R"(berth_idle_nodes{pool="a3"} 0)",
           R"(berth_idle_nodes{pool="none"} 1)",
           R"(berth_fitting_pods{pool="A100",profile="8",resource="nvidia.com/gpu"} 0)",
           R"(berth_fragmented_gpus{pool="A100",profile="8",resource="nvidia.com/gpu"} 6)",
           R"(berth_fragmented_gpus{pool="A100",profile="1",resource="nvidia.com/gpu"} 0)",
           R"(berth_fitting_pods{pool="none",profile="8",resource="nvidia.com/gpu"} 1)",
           R"(berth_fragmented_gpus{pool="none",profile="8",resource="nvidia.com/gpu"} 0)",
       }) {
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  }
  f.metrics.work().forget_pod("a", 0, 0);
  text = f.text(1000);
  EXPECT_THAT(text, Not(HasSubstr("a-0")));
  EXPECT_THAT(text, HasSubstr(R"(berth_allocated_gpus{pool="a3",queue="q",resource="nvidia.com/gpu"} 2)"));
  f.tell(WorkloadRemove{"a"});
  f.metrics.work().forget_pods("a");
  text = f.text(2000);
  EXPECT_THAT(text, Not(HasSubstr("berth_pod_gpus{")));
  EXPECT_THAT(text, Not(HasSubstr("berth_allocated_gpus{")));
}

// Two shares of 0.4 on one device leave 0.2, which a third cannot use; the other device takes two.
TEST(WorkMetrics, SharesOfDevicesFragmentToo) {
  Followed f;
  f.tell(node("n1", 2));
  Workload shares = gang("shares", 2);
  shares.root.pod_sets[0].pod.claim.requests[0].milli = 400;
  f.tell(WorkloadUpsert{shares});
  for (std::int64_t i = 0; i < 2; ++i) f.tell(SlotUpdate{"shares", 0, i, SlotState::kRunning, "n1", {0}});
  (void)f.decider.decide(1000);
  const auto text = f.text(1000);
  EXPECT_THAT(text,
              HasSubstr(R"(berth_fitting_pods{pool="none",profile="0.4",resource="nvidia.com/gpu"} 2)"));
  EXPECT_THAT(text,
              HasSubstr(R"(berth_fragmented_gpus{pool="none",profile="0.4",resource="nvidia.com/gpu"} 0.4)"));
  EXPECT_THAT(text, HasSubstr(R"(berth_gpus{pool="none",resource="nvidia.com/gpu",state="used"} 0.8)"));
}

TEST(WorkMetrics, LabelsAreBounded) {
  Followed f({.most_queues = 2,
              .most_priorities = 2,
              .most_wait_pairs = 3,
              .most_pools = 1,
              .most_profiles = 1,
              .most_pod_series = 2});
  for (int i = 0; i < 4; ++i) {
    f.tell(testing::gpu_queue("team-" + std::to_string(i), 100));
    f.tell(node("n" + std::to_string(i), 8, {{"nvidia.com/gpu.product", "model-" + std::to_string(i)}}));
    Workload work = gang("w" + std::to_string(i), 1, i);
    work.queue = "team-" + std::to_string(i);
    work.root.pod_sets[0].pod.claim.requests[0].count = i + 1;
    f.tell(WorkloadUpsert{work});
    f.metrics.work().set_pod(work.uid, 0, 0, "ns", "pod-" + std::to_string(i));
  }
  (void)f.decider.decide(5000);
  const auto text = f.text(5000);
  EXPECT_THAT(text, HasSubstr(R"(berth_workloads_started_total{queue="other"} 2)"));
  // The fourth pair is beyond the bound.
  EXPECT_THAT(text, HasSubstr(R"(berth_workload_wait_seconds_count{priority="other",queue="other"} 1)"));
  const auto count = [&](const std::string& words) {
    int found = 0;
    for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("berth_workloads_started_total{"), 3);
  EXPECT_EQ(count("berth_workload_wait_seconds_count{"), 4);
  EXPECT_EQ(count("berth_idle_nodes{"), 2);
  EXPECT_EQ(count("berth_fitting_pods{"), 2);
  EXPECT_EQ(count("berth_pod_gpus{"), 2);
  EXPECT_THAT(text, HasSubstr("berth_series_dropped 2\n"));
}

TEST(WorkMetrics, PodsAreNotNamedWithoutLeave) {
  Followed f({.most_pod_series = 0});
  f.tell(node("n1", 4));
  f.tell(WorkloadUpsert{gang("a", 1)});
  f.metrics.work().set_pod("a", 0, 0, "ns", "pod");
  (void)f.decider.decide(1000);
  EXPECT_THAT(f.text(1000), Not(HasSubstr("berth_pod_gpus{")));
  EXPECT_THAT(f.text(1000), HasSubstr("berth_series_dropped 0\n"));
}

TEST(WorkMetrics, AfterADifferenceNothingOldIsShown) {
  Followed f;
  f.tell(node("n1", 4));
  f.tell(WorkloadUpsert{gang("a", 1)});
  (void)f.decider.decide(1000);
  EXPECT_THAT(f.text(1000), HasSubstr("berth_gpus{"));
  EXPECT_THAT(f.text(1000), HasSubstr("berth_pending_workloads{"));
  f.metrics.look_away();
  for (const char* name : {"berth_gpus{", "berth_pending_workloads{", "berth_slots{", "berth_quota_usage{"})
    EXPECT_THAT(f.metrics.text(), Not(HasSubstr(name)));
}

}  // namespace
}  // namespace berth::observe

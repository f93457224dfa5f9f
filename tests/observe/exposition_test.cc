// A record of what Berth tells Prometheus: tests/install/prometheus_test.py gives it to a real one. With BERTH_RECORD=1 the file is
// written anew.
#include <gtest/gtest.h>

#include <cstdlib>

#include "observe/follower.h"
#include "observe/log_support.h"
#include "observe/metrics.h"

namespace berth::observe {
namespace {

constexpr const char* kFile = BERTH_SOURCE_DIR "/tests/install/data/metrics.txt";

// Two queues on two pools: work that ended, runs, was preempted and waits.
class Cluster {
 public:
  Cluster()
      : metrics_({.work = {.objectives = {{1000, 10 * kMinute}}}}),
        follower_({}, {.watches = {&metrics_.work()}}),
        decider_({}, {}, &follower_) {
    tell(FlavorUpsert{Flavor{"default", {}, {}, {}, {}}});
    Queue research = std::get<QueueUpsert>(testing::gpu_queue("research", 16)).queue;
    research.preemption.within = WithinQueue::kLowerPriority;
    tell(QueueUpsert{research});
    tell(testing::gpu_queue("serving", 8));
    for (const char* name : {"h100-0", "h100-1", "a100-0", "a100-1"}) {
      Node node = std::get<NodeUpsert>(testing::gpu_node(name, 8)).node;
      node.labels["nvidia.com/gpu.product"] = std::string(name).substr(0, 4);
      tell(NodeUpsert{node});
    }
  }

  void work(const std::string& uid, const std::string& queue, std::int64_t pods, std::int64_t gpus,
            std::int64_t priority, TimeMs created) {
    Workload out = std::get<WorkloadUpsert>(testing::gpu_gang(uid, queue, pods, priority)).workload;
    out.created = created;
    out.root.pod_sets[0].pod.claim.requests[0].count = gpus;
    tell(WorkloadUpsert{out});
  }
  void ends(const std::string& uid) {
    tell(WorkloadRemove{uid});
    metrics_.work().forget_pods(uid);
  }
  // Carries out what is decided, at once.
  void decide(TimeMs now) {
    for (int round = 0; round < 10; ++round) {
      const auto decisions = decider_.decide(now);
      metrics_.decided(decisions, 0.002);
      if (decisions.empty()) return;
      for (const Decision& decision : decisions) carry_out(decision);
    }
    ADD_FAILURE() << "it does not settle";
  }
  std::string text(TimeMs now) {
    metrics_.set_leader(true);
    metrics_.set_build("0.1.0", "0123456789ab");
    metrics_.wrote("bind", WriteOutcome::kOk);
    metrics_.wrote("bind", WriteOutcome::kThrottled);
    metrics_.set_queue_depth("inbox", 3);
    metrics_.set_oldest_write("bind", 0.25);
    metrics_.set_writes_in_flight(4, 60);
    metrics_.set_log_bytes(123'456);
    metrics_.set_unreadable("Pod", 0);
    metrics_.set_audit_differences("usage", 0);
    metrics_.set_watch_silence(std::vector<std::pair<std::string, double>>{{"Pod", 1.5}, {"Node", 42}});
    metrics_.set_follower_lag(0);
    follower_.catch_up();
    metrics_.set_follower_differs(!follower_.diverged().empty());
    EXPECT_TRUE(follower_.ask([&](const engine::Engine& engine) {
      metrics_.look_at(engine, now);
      return true;
    }));
    return metrics_.text();
  }

 private:
  void tell(const Event& event) { ASSERT_TRUE(decider_.apply(event)); }
  void carry_out(const Decision& decision) {
    for (const SlotPlacement& slot : decision.slots) {
      if (decision.kind == DecisionKind::kStart) {
        tell(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kRunning, slot.node,
                        slot.devices});
        metrics_.work().set_pod(decision.workload, slot.pod_set, slot.index, "team",
                                decision.workload + "-" + std::to_string(slot.index));
        metrics_.bound(0.05);
        metrics_.watched(0.02);
      } else if (decision.kind == DecisionKind::kEvict) {
        tell(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kWaiting, ""});
        metrics_.work().forget_pod(decision.workload, slot.pod_set, slot.index);
      }
    }
  }

  Metrics metrics_;
  Follower follower_;
  RecordedEngine decider_;
};

TEST(Exposition, IsWhatTheDashboardsAreTestedWith) {
  Cluster cluster;
  TimeMs now = 1'700'000'000'000;
  for (int i = 0; i < 32; ++i) {
    const std::string uid = "ended-" + std::to_string(i);
    cluster.work(uid, "research", 1 + i % 3, 1, 0, now);
    cluster.decide(now += 20 * kSecond);
    cluster.ends(uid);
  }
  cluster.work("model", "serving", 2, 3, 500, now);
  cluster.work("train", "research", 4, 2, 0, now);
  cluster.work("tune", "research", 7, 1, 0, now);
  cluster.decide(now += kMinute);
  cluster.work("urgent", "research", 1, 4, 1000, now);
  cluster.decide(now += kMinute);
  cluster.work("behind", "research", 2, 8, 1000, now);
  cluster.work("nightly", "research", 40, 1, 0, now);
  cluster.decide(now += kMinute);
  const std::string text = cluster.text(now + kMinute);
  if (std::getenv("BERTH_RECORD") != nullptr) testing::write_bytes(kFile, text);
  EXPECT_EQ(text, testing::read_bytes(kFile)) << "BERTH_RECORD=1 writes it anew";
}

}  // namespace
}  // namespace berth::observe

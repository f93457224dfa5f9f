// Quotas shrink, queues vanish, flavors get other labels, all under load: it settles after each, and nothing is lost.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

constexpr int kJobs = 60;

struct Load {
  Engine e;
  TimeMs now = 1000;
  std::uint64_t seed;
  std::set<std::string> left;  // jobs that have not run to their end
  std::map<std::string, std::vector<SlotPlacement>> ending;

  explicit Load(std::uint64_t from) : seed(from * 7919 + 1) {
    for (int i = 0; i < 4; ++i) put(gpu_node("n" + std::to_string(i), 8, {{"pool", i < 2 ? "one" : "two"}}));
    flavor("one", "one");
    flavor("two", "two");
    parent("all");
    for (const std::string name : {"a", "b", "c"}) queue(name, 8, 8);
    for (int i = 0; i < kJobs; ++i) {
      const std::string uid = "j" + std::to_string(i);
      Workload w = gang_workload(uid, draw(3) + 1, draw(4) + 1, draw(3), std::string(1, "abc"[draw(3)]));
      w.created = i + 1;
      put(WorkloadUpsert{w});
      left.insert(uid);
    }
  }
  int draw(int most) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<int>((seed >> 33) % static_cast<std::uint64_t>(most));
  }
  void put(const Event& event) { ok(e.apply(event)); }
  void flavor(const std::string& name, const std::string& pool) {
    put(FlavorUpsert{{name, {{"pool", pool}}, {}, {}, ""}});
  }
  void parent(const std::string& name) {
    Event event = cohort(name);
    if (draw(2) == 0) std::get<QueueUpsert>(event).queue.sharing = Sharing::kDominantShare;
    put(event);
  }
  void queue(const std::string& name, int one, int two) {
    Queue q;
    q.name = name;
    q.parent = "all";
    q.groups = {{{"cpu", "nvidia.com/gpu"}, {"one", "two"}}};
    for (const auto& [flavor_name, gpus] : {std::pair{"one", one}, std::pair{"two", two}}) {
      q.quotas.push_back({flavor_name, "cpu", 1'000'000, {}, {}});
      q.quotas.push_back({flavor_name, "nvidia.com/gpu", gpus * 1000, {}, {}});
    }
    q.preemption = {WithinQueue::kLowerPriority, static_cast<Reclaim>(draw(3))};
    q.flavor_search = {draw(2) == 0, draw(2) == 0, draw(2) == 0};
    put(QueueUpsert{q});
  }
  void change() {
    const std::string name(1, "abc"[draw(3)]);
    switch (draw(5)) {
      case 0:
        return queue(name, draw(9), draw(9));
      case 1:
        (void)e.apply(QueueRemove{name});  // it may be gone already
        return;
      case 2:
        return flavor(draw(2) == 0 ? "one" : "two", draw(2) == 0 ? "one" : "two");
      case 3:
        (void)e.apply(FlavorRemove{draw(2) == 0 ? "one" : "two"});
        return;
      default:
        return parent("all");
    }
  }
  // Until nothing is decided any more.
  void settle() {
    for (int round = 0; round < 300; ++round) {
      const auto decisions = e.decide(now += 1000);
      for (const Decision& d : decisions) {
        if (d.kind == DecisionKind::kEvict) ending[d.workload] = d.slots;
        if (d.kind != DecisionKind::kStart) continue;
        for (const auto& p : d.slots)
          put(SlotUpdate{d.workload, p.pod_set, p.index, SlotState::kRunning, p.node});
      }
      ok(e.audit());
      if (decisions.empty() && ending.empty()) return;
      for (const auto& [uid, slots] : ending) {
        for (const auto& p : slots) put(SlotUpdate{uid, p.pod_set, p.index, SlotState::kWaiting, ""});
      }
      ending.clear();
    }
    ADD_FAILURE() << "it never settles";
  }
  // Everybody is there, and runs whole or waits whole.
  void check() {
    std::set<std::string> known;
    for (const auto& v : e.workloads()) {
      known.insert(std::string(v.uid));
      EXPECT_EQ(v.slots_held, 0) << v.uid;
      EXPECT_EQ(v.slots_releasing, 0) << v.uid;
      EXPECT_TRUE(v.slots_running == 0 || v.slots_waiting == 0) << v.uid;
      EXPECT_GT(v.slots_running + v.slots_waiting, 0) << v.uid;
    }
    EXPECT_EQ(known, left);
  }
};

TEST(QueueChanges, SettleAndLoseNothing) {
  int ran_through_changes = 0;
  for (std::uint64_t history = 0; history < 40; ++history) {
    Load load(history);
    load.settle();
    for (int i = 0; i < 25; ++i) {
      load.change();
      load.settle();
      load.check();
      ASSERT_FALSE(testing::Test::HasFailure()) << "history " << history << ", change " << i;
    }
    for (const auto& v : load.e.workloads()) ran_through_changes += v.slots_running > 0 ? 1 : 0;
    // Everything as it was: all that waits gets its turn.
    load.flavor("one", "one");
    load.flavor("two", "two");
    load.parent("all");
    for (const std::string name : {"a", "b", "c"}) load.queue(name, 8, 8);
    for (int round = 0; round < 2 * kJobs && !load.left.empty(); ++round) {
      load.settle();
      for (const auto& v : load.e.workloads()) {
        if (v.slots_running == 0) continue;
        const std::string uid(v.uid);
        load.put(WorkloadRemove{uid});
        load.left.erase(uid);
        break;
      }
    }
    EXPECT_TRUE(load.left.empty()) << load.left.size() << " never ran in history " << history;
    ASSERT_FALSE(testing::Test::HasFailure()) << "history " << history;
  }
  EXPECT_GT(ran_through_changes, 100) << "the changes must meet a load";
}

}  // namespace
}  // namespace berth::engine

// The order of the line of a queue.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

std::vector<std::string> line(const Engine& e, const std::string& queue, std::size_t most = 1000) {
  std::vector<std::string> out;
  ok(e.each_in_line(queue, [&](const LineView& v) {
    out.push_back(std::string(v.uid) + (v.lane.empty() ? "" : " of " + std::string(v.lane)) +
                  (v.holds ? " holds" : "") + (v.grows ? " grows" : ""));
    return out.size() < most;
  }));
  return out;
}

// Each takes the whole node, so that they start one after the other: in that order they stood.
TEST(Line, IsTheOrderInWhichTheyStart) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto upto = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
    Event queue = gpu_queue("q", "", 8);
    Queue& q = std::get<QueueUpsert>(queue).queue;
    q.preemption = {};
    q.ordering.priority_first = upto(4) > 0;
    Engine e;
    ok(e.apply(gpu_node("n", 8)));
    ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    ok(e.apply(queue));
    for (int i = 0; i < 40; ++i) {
      Workload w = gang_workload("w" + std::to_string(i), 1, 8, upto(3), "q");
      w.created = 1000 + upto(8);
      w.root.pod_sets[0].pod.requests.set("cpu", 100 + upto(4));  // several classes
      ok(e.apply(WorkloadUpsert{w}));
    }
    const std::vector<std::string> stood = line(e, "q");
    ASSERT_EQ(stood.size(), 40u);
    std::vector<std::string> started;
    for (TimeMs now = 2000; started.size() < stood.size(); ++now) {
      const auto decisions = e.decide(now);
      ASSERT_EQ(decisions.size(), 1u);
      started.push_back(decisions[0].workload);
      EXPECT_EQ(line(e, "q"), std::vector<std::string>(
                                  stood.begin() + static_cast<std::ptrdiff_t>(started.size()), stood.end()));
      ok(e.apply(WorkloadRemove{decisions[0].workload}));
    }
    EXPECT_EQ(started, stood);
  }
}

TEST(Line, HoldsStandFirstAndRunningWorkOnlyToGrow) {
  Engine e;
  ok(e.apply(gpu_node("n", 8)));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  Event queue = gpu_queue("q", "", 8);
  std::get<QueueUpsert>(queue).queue.preemption = {WithinQueue::kLowerPriority, Reclaim::kNever};
  ok(e.apply(queue));
  Workload low = gang_workload("low", 2, 8, 0, "q");
  low.root.pod_sets[0].least = 1;
  ok(e.apply(WorkloadUpsert{low}));
  EXPECT_EQ(e.decide(1000).size(), 1u);
  EXPECT_EQ(line(e, "q"), (std::vector<std::string>{"low grows"}));
  low.root.pod_sets[0].count = 1;
  ok(e.apply(WorkloadUpsert{low}));
  EXPECT_TRUE(line(e, "q").empty());
  ok(e.apply(gang("high", 1, 8, 5, "q")));
  EXPECT_EQ(e.decide(2000).size(), 2u) << "low ends, and high holds its room";
  Workload later = gang_workload("later", 1, 8, 5, "q");
  later.lane = "ns/l";
  ok(e.apply(WorkloadUpsert{later}));
  EXPECT_EQ(line(e, "q"), (std::vector<std::string>{"high holds", "later of ns/l"}));
  EXPECT_EQ(line(e, "q", 1), (std::vector<std::string>{"high holds"}));
  EXPECT_EQ(e.each_in_line("nowhere", [](const LineView&) { return true; }).error().code,
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace berth::engine

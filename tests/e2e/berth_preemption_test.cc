// Preemption on a real API server: whole gangs, the cheapest ones, marked before they are deleted, and their room goes to the
// workload that they were deleted for.
#include <set>

#include "e2e/berth_fixture.h"

namespace berth::e2e {
namespace {

class BerthPreemption : public BerthTest {};

TEST_F(BerthPreemption, AHigherGangDisplacesTheCheapestWholeGangsAndGetsTheirRoom) {
  constexpr std::size_t kNodes = 10;
  constexpr std::size_t kSize = 8;
  start();
  ASSERT_OK(cluster_->create_nodes(kNodes));
  ASSERT_OK(cluster_->create_priority_class("low", 10));
  ASSERT_OK(cluster_->create_priority_class("middle", 50, "Never"));
  ASSERT_OK(cluster_->create_priority_class("high", 100));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  // Ten gangs fill all. Each would lose an hour of work, but two of them only a minute. One with nothing to lose may not be a
  // victim.
  const std::set<std::string> cheapest = {"default/low4", "default/low7"};
  for (std::size_t i = 0; i < kNodes; ++i) {
    const std::string name = fmt::format("low{}", i);
    Labels annotations = {
        {"berth.dev/restart-overhead", cheapest.contains("default/" + name) ? "1m" : "60m"}};
    if (i == 2) {
      annotations = {{"berth.dev/preemptible", "false"}};
    }
    ASSERT_OK(cluster_->create_pods(kSize, {.name = name,
                                            .labels = gang(name, kSize),
                                            .annotations = annotations,
                                            .priority_class = "low",
                                            .termination_grace_s = 600}));
    ASSERT_TRUE(wait_bound((i + 1) * kSize));
    ASSERT_OK(cluster_->make_running("default", names_of(name, kSize)));
  }
  // Work that would take any free room: older than the gang that makes the room, and younger ones of higher priority.
  ASSERT_OK(cluster_->create_pods(4, {.name = "older", .priority_class = "low"}));
  (void)wait_for_reasons(names_of("older", 4), "Unschedulable");
  ASSERT_OK(cluster_->create_pods(
      2 * kSize, {.name = "high", .labels = gang("high", 2 * kSize), .priority_class = "high"}));
  const auto deleting = [&] {
    std::map<std::string, std::size_t> gangs;
    for (const auto& [key, pod] : observer_->pods()) {
      if (pod.deleting) {
        ++gangs[pod.gang];
      }
    }
    return gangs;
  };
  const std::map<std::string, std::size_t> both = {{"default/low4", kSize}, {"default/low7", kSize}};
  EXPECT_TRUE(eventually([&] { return deleting() == both; }));
  ASSERT_OK(cluster_->create_pods(4, {.name = "middle", .priority_class = "middle"}));
  EXPECT_TRUE(observer_->wait_quiet(seconds(1), kLong));
  EXPECT_EQ(deleting(), both) << "whole gangs, the cheapest, and no more";
  EXPECT_EQ(observer_->now().binds, kNodes * kSize) << "room under pods that still end is not free";

  // A kubelet that takes its time: one gang goes, then the other.
  std::set<std::string> freed;
  for (const auto& name : {"low7", "low4"}) {
    freed.insert(observer_->pods().at(fmt::format("default/{}-0", name)).node);
    ASSERT_OK(for_each_parallel(cluster_->endpoint(), kSize, 8, [&](ApiClient& api, std::size_t i) {
      return expect_ok(api.del(fmt::format("/api/v1/namespaces/default/pods/{}-{}", name, i),
                               R"({"gracePeriodSeconds":0})"),
                       "removing a pod");
    }));
    EXPECT_TRUE(observer_->wait_quiet(milliseconds(700), kLong));
  }
  EXPECT_TRUE(wait_bound(kNodes * kSize));
  EXPECT_TRUE(observer_->wait_quiet(seconds(1), kLong));
  for (const auto& [key, pod] : observer_->pods()) {
    if (key.starts_with("default/high-")) {
      EXPECT_TRUE(freed.contains(pod.node)) << key << " is on '" << pod.node << "'";
    } else if (pod.gang.empty()) {
      EXPECT_EQ(pod.node, "") << key << " took the room of another";
    }
  }
  expect_clean();
  const auto report = observer_->check();
  EXPECT_EQ(report.deletions.size(), 2 * kSize);
  for (const auto& deletion : report.deletions) {
    EXPECT_TRUE(cheapest.contains(deletion.gang)) << deletion.pod;
    EXPECT_TRUE(deletion.had_disruption_target) << deletion.pod;
    EXPECT_FALSE(deletion.terminal) << deletion.pod;
  }
}

}  // namespace
}  // namespace berth::e2e

// The observer sees what it is there to see: each kind of wrong bind, made by hand, is found.
#include <fmt/format.h>

#include "e2e/fixture.h"

namespace berth::e2e {
namespace {

using std::chrono::seconds;
using testing::Test;

TEST(Quantities, AreReadAsKubernetesWritesThem) {
  EXPECT_EQ(amount_in_milli("2").value(), 2000);
  EXPECT_EQ(amount_in_milli("500m").value(), 500);
  EXPECT_EQ(amount_in_milli("1.5").value(), 1500);
  EXPECT_EQ(amount_in_milli("1Ki").value(), 1024000);
  EXPECT_EQ(amount_in_milli("1Ti").value(), 1099511627776000);
  EXPECT_EQ(amount_in_milli("1e3").value(), 1000000);
  EXPECT_EQ(amount_in_milli("1k").value(), 1000000);
  EXPECT_EQ(amount_in_milli("1n").value(), 1);  // rounded up
  EXPECT_FALSE(amount_in_milli("").has_value());
  EXPECT_FALSE(amount_in_milli("8GB").has_value());
  EXPECT_FALSE(amount_in_milli("x").has_value());
}

class ObserverTest : public ClusterTest {
 protected:
  void bind(const std::string& pod, const std::string& node) {
    auto api = cluster_->client();
    const auto body = fmt::format(
        R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":"{}"}},"target":{{"kind":"Node","name":"{}"}}}})",
        pod, node);
    ASSERT_OK(
        expect_ok(api.post("/api/v1/namespaces/default/pods/" + pod + "/binding", body), "binding " + pod));
  }
  ObserverReport report() {
    EXPECT_TRUE(observer_->catch_up().has_value());
    return observer_->check();
  }
};

TEST_F(ObserverTest, FindsWrongBindsAndOnlyThose) {
  start();
  ASSERT_OK(cluster_->create_nodes(2));
  ASSERT_OK(cluster_->create_nodes(1, {.name = "tainted", .taints = {{"dedicated", "x"}}}));
  ASSERT_OK(cluster_->create_nodes(1, {.name = "labelled", .labels = {{"zone", "a"}}}));

  ASSERT_OK(cluster_->create_pods(1, {.name = "good", .node_selector = {{"zone", "a"}}}));
  bind("good-0", "labelled-0");
  ASSERT_OK(cluster_->create_pods(1, {.name = "tolerates", .tolerations = {{"dedicated", "x"}}}));
  bind("tolerates-0", "tainted-0");
  ASSERT_OK(cluster_->create_pods(8, {.name = "fills"}));
  for (int i = 0; i < 8; ++i) {
    bind(fmt::format("fills-{}", i), "node-0");
  }
  auto found = report();
  EXPECT_TRUE(found.clean()) << found.str();
  EXPECT_EQ(found.binds, 10U);

  ASSERT_OK(cluster_->create_pods(1, {.name = "ninth"}));
  bind("ninth-0", "node-0");
  found = report();
  ASSERT_EQ(found.violation_count, 1U) << found.str();
  EXPECT_NE(found.violations[0].find("node-0 holds 9000 of nvidia.com/gpu"), std::string::npos)
      << found.str();

  ASSERT_OK(cluster_->create_pods(1, {.name = "selector", .node_selector = {{"zone", "a"}}}));
  bind("selector-0", "node-1");
  ASSERT_OK(cluster_->create_pods(1, {.name = "intolerant"}));
  bind("intolerant-0", "tainted-0");
  ASSERT_OK(cluster_->create_pods(1, {.name = "nowhere"}));
  bind("nowhere-0", "no-such-node");
  ASSERT_OK(cluster_->create_pods(
      1, {.name = "affine",
          .extra_spec =
              R"("affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":)"
              R"({"nodeSelectorTerms":[{"matchExpressions":[{"key":"zone","operator":"Exists"}]}]}}},)"}));
  bind("affine-0", "node-1");
  found = report();
  EXPECT_EQ(found.violation_count, 5U) << found.str();
  EXPECT_EQ(found.binds, 15U);
}

TEST_F(ObserverTest, RoomIsFreeAgainWhenAPodHasEndedOrIsGone) {
  start();
  ASSERT_OK(cluster_->create_nodes(1));
  ASSERT_OK(cluster_->create_pods(8, {.name = "first", .node = "node-0"}));
  ASSERT_OK(cluster_->make_running("default", {"first-0", "first-1"}));
  EXPECT_TRUE(observer_->wait_until([](const auto& now) { return now.running == 2; }, seconds(10)));
  auto api = cluster_->client();
  ASSERT_OK(expect_ok(api.del("/api/v1/namespaces/default/pods/first-0", R"({"gracePeriodSeconds":0})"),
                      "deleting"));
  ASSERT_OK(expect_ok(
      api.patch("/api/v1/namespaces/default/pods/first-1/status", R"({"status":{"phase":"Succeeded"}})"),
      "ending"));
  ASSERT_OK(cluster_->create_pods(2, {.name = "second"}));
  bind("second-0", "node-0");
  bind("second-1", "node-0");
  const auto found = report();
  EXPECT_TRUE(found.clean()) << found.str();
  ASSERT_EQ(found.deletions.size(), 1U);
  EXPECT_FALSE(found.deletions[0].had_disruption_target);
}

TEST_F(ObserverTest, CountsPartialGangsAndWhetherAVictimWasWarned) {
  start();
  ASSERT_OK(cluster_->create_nodes(1));
  const auto gang = [](const char* name) {
    return PodShape{.name = name, .labels = {{"berth.dev/gang", name}, {"berth.dev/gang-size", "2"}}};
  };
  for (const char* name : {"whole", "half", "none"}) {
    ASSERT_OK(cluster_->create_pods(2, gang(name)));
  }
  bind("whole-0", "node-0");
  bind("whole-1", "node-0");
  bind("half-0", "node-0");
  auto found = report();
  EXPECT_EQ(found.gangs.whole, 1U);
  EXPECT_EQ(found.gangs.partial, 1U);
  EXPECT_EQ(found.gangs.none, 1U);
  EXPECT_EQ(found.partial_gangs, std::vector<std::string>{"default/half"});

  auto api = cluster_->client();
  const std::string path = "/api/v1/namespaces/default/pods/half-0";
  ASSERT_OK(expect_ok(api.patch(path + "/status",
                                R"({"status":{"conditions":[{"type":"DisruptionTarget","status":"True"}]}})",
                                kStrategicMergePatch),
                      "warning"));
  ASSERT_OK(expect_ok(api.del(path), "deleting"));
  EXPECT_TRUE(observer_->wait_until([](const auto& now) { return now.pods == 5; }, seconds(10)));
  found = report();
  EXPECT_EQ(found.gangs.partial, 0U);
  ASSERT_EQ(found.deletions.size(), 1U);
  EXPECT_TRUE(found.deletions[0].had_disruption_target);
}

}  // namespace
}  // namespace berth::e2e

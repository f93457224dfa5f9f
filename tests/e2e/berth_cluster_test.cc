// Berth as a member of a cluster: with the rights of deploy/berth.yaml, beside another scheduler, and honest about what it does
// not honour.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "e2e/berth_fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

class BerthInCluster : public BerthTest {};

TEST_F(BerthInCluster, TheRightsOfTheManifestSuffice) {
  constexpr const char* kAccount = "system:serviceaccount:berth-system:berth";
  start();
  ASSERT_OK(cluster_->create_nodes(1));
  ASSERT_OK(cluster_->create_priority_class("low", 10));
  ASSERT_OK(cluster_->create_priority_class("high", 100));
  ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/crds"));
  const auto kubeconfig =
      cluster_->kubeconfig_for(kAccount, {"system:serviceaccounts", "system:serviceaccounts:berth-system"});
  ASSERT_OK(kubeconfig);
  const std::vector<std::string> args = {"--lease-namespace=berth-system"};
  const std::vector<std::string> denied = {"orbidden", "cannot "};  // not "403": times have it too

  // Before the rights are there, that shows in the log: what is looked for below would be seen.
  ASSERT_OK(cluster_->create_pods(4, {.name = "low", .labels = gang("low", 4), .priority_class = "low"}));
  auto* early = start_berth({.name = "berth-without-rights", .kubeconfig = *kubeconfig, .args = args});
  ASSERT_NE(early, nullptr);
  EXPECT_TRUE(eventually([&] { return !lines_with(early->log, denied).empty(); }, seconds(30)));
  EXPECT_EQ(observer_->now().bound, 0U);
  early->process.kill_now();

  ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/berth.yaml"));
  std::this_thread::sleep_for(seconds(1));  // the authorizer sees new roles a moment later
  auto* berth = start_berth({.kubeconfig = *kubeconfig, .args = args});
  ASSERT_NE(berth, nullptr);
  EXPECT_TRUE(wait_bound(4));  // binds
  ASSERT_OK(cluster_->create_pods(9, {.name = "wide", .labels = gang("wide", 9)}));
  (void)wait_for_reasons(names_of("wide", 9), "Unschedulable");  // says why
  ASSERT_OK(cluster_->create_pods(8, {.name = "high", .labels = gang("high", 8), .priority_class = "high"}));
  EXPECT_TRUE(wait_bound(8));  // displaces
  const auto report = observer_->check();
  ASSERT_EQ(report.deletions.size(), 4U) << report.str();
  for (const auto& deletion : report.deletions) {
    EXPECT_TRUE(deletion.had_disruption_target) << deletion.pod;
  }
  const auto has_events = [&] {  // tells
    const auto reply = cluster_->client().get("/apis/events.k8s.io/v1/namespaces/default/events");
    return reply.body.find("\"Scheduled\"") != std::string::npos &&
           reply.body.find("\"FailedScheduling\"") != std::string::npos &&
           reply.body.find("\"Preempted\"") != std::string::npos;
  };
  EXPECT_TRUE(eventually(has_events, seconds(30)));
  const std::string kueue = "/apis/kueue.x-k8s.io/v1beta2";  // keeps Workloads and the status of queues
  const std::vector<std::pair<std::string, std::string>> queues = {
      {kueue + "/resourceflavors",
       R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","metadata":{"name":"any"},"spec":{}})"},
      {kueue + "/clusterqueues",
       R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{"name":"cq"},"spec":{
           "namespaceSelector":{},"resourceGroups":[{"coveredResources":["nvidia.com/gpu"],"flavors":[{"name":"any",
           "resources":[{"name":"nvidia.com/gpu","nominalQuota":"4"}]}]}]}})"},
      {kueue + "/namespaces/default/localqueues",
       R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{"name":"team"},
           "spec":{"clusterQueue":"cq"}})"},
      {"/apis/berth.dev/v1alpha1/queues",
       R"({"apiVersion":"berth.dev/v1alpha1","kind":"Queue","metadata":{"name":"research"},"spec":{}})"}};
  for (const auto& [path, body] : queues) ASSERT_OK(expect_ok(cluster_->client().post(path, body), path));
  ASSERT_OK(cluster_->create_pods(1, {.name = "queued", .labels = {{"kueue.x-k8s.io/queue-name", "team"}}}));
  const auto says = [&](const std::string& path, const std::string& words) {
    return [this, path, words] { return cluster_->client().get(path).body.find(words) != std::string::npos; };
  };
  EXPECT_TRUE(eventually(says(kueue + "/namespaces/default/workloads", "\"type\":\"QuotaReserved\"")));
  EXPECT_TRUE(eventually(says(kueue + "/namespaces/default/localqueues/team", "\"pendingWorkloads\":1")));
  EXPECT_TRUE(eventually(says(kueue + "/clusterqueues/cq", "\"pendingWorkloads\":1")));
  EXPECT_TRUE(eventually(says("/apis/berth.dev/v1alpha1/queues/research", "\"type\":\"Active\"")));
  EXPECT_EQ(lines_with(berth->log, denied), "");
  expect_clean();
}

TEST_F(BerthInCluster, AConstraintThatIsNotHonouredKeepsThePodPendingWithThatReason) {
  start();
  ASSERT_OK(cluster_->create_nodes(4));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  ASSERT_OK(cluster_->create_pods(
      2, {.name = "apart",
          .labels = {{"app", "apart"}},
          .extra_spec = R"("volumes":[{"name":"data","awsElasticBlockStore":{"volumeID":"none"}}],)"}));
  ASSERT_OK(cluster_->create_pods(2, {.name = "plain"}));
  EXPECT_TRUE(wait_bound(2));
  const std::string message = wait_for_reasons(names_of("apart", 2), "Unsupported");
  EXPECT_NE(message.find("awsElasticBlockStore"), std::string::npos) << message;
  EXPECT_TRUE(observer_->wait_quiet(seconds(1), kLong));
  EXPECT_EQ(observer_->now().bound, 2U);
  expect_clean();
}

// The API server takes graces that are longer than Berth reads.
TEST_F(BerthInCluster, AnUnreadablePodNamesTheFieldAndBlocksNoOtherWork) {
  start();
  ASSERT_OK(cluster_->create_nodes(1));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  const PodShape huge{.name = "huge", .termination_grace_s = 2'000'000'000};
  ASSERT_OK(cluster_->create_pods(1, huge));
  ASSERT_OK(cluster_->create_pods(1, {.name = "plain"}));
  EXPECT_TRUE(wait_bound(1));
  const std::string message = wait_for_reasons({"huge-0"}, "Invalid");
  EXPECT_NE(message.find("spec.terminationGracePeriodSeconds: must be an integer from 0 to 1000000000"),
            std::string::npos)
      << message;
  EXPECT_TRUE(eventually([&] { return log_has(*berth, "Pod default/huge-0 cannot be read: "); }));
  EXPECT_NE(ask(*berth, "/metrics").body.find("berth_unreadable_objects{kind=\"Pod\"} 1"), std::string::npos);
  EXPECT_TRUE(eventually([&] {
    const auto reply = cluster_->client().get("/apis/events.k8s.io/v1/namespaces/default/events");
    return reply.body.find("spec.terminationGracePeriodSeconds: must be an integer") != std::string::npos;
  }));
  // Made again as others are.
  ASSERT_OK(expect_ok(cluster_->client().del("/api/v1/namespaces/default/pods/huge-0"), "deleting a pod"));
  ASSERT_OK(cluster_->create_pods(1, {.name = "huge"}));
  EXPECT_TRUE(wait_bound(2));
  EXPECT_TRUE(eventually([&] {
    return ask(*berth, "/metrics").body.find("berth_unreadable_objects{kind=\"Pod\"} 0") != std::string::npos;
  }));
  expect_clean();
}

// One of two devices has 300 and the other 600 thousandths in use: half of the room is free, and no whole device. Which device a
// pod has a part of stands nowhere but on the pod.
TEST_F(BerthInCluster, SharesOfDevicesAreKnownAfterARestart) {
  start();
  ASSERT_OK(
      cluster_->create_nodes(1, {.allocatable = {{"cpu", "64"}, {"pods", "110"}, {"nvidia.com/gpu", "2"}}}));
  const auto share = [&](const std::string& name, const std::string& milli) {
    return cluster_->create_pods(
        1, {.name = name, .requests = {{"cpu", "1"}}, .annotations = {{"berth.dev/gpu-milli", milli}}});
  };
  const auto devices = [&](const std::string& name) {
    const auto reply = cluster_->client().get("/api/v1/namespaces/default/pods/" + name);
    return json::parse(reply.body)["metadata"]
        .value("annotations", json::object())  // one that waits may have none
        .value("berth.dev/devices", std::string());
  };
  const auto remove = [&](const std::string& name) {
    return expect_ok(cluster_->client().del("/api/v1/namespaces/default/pods/" + name), "deleting a pod");
  };
  const std::vector<std::string> args = {"--leader-elect=false"};
  auto* berth = start_berth({.args = args});
  ASSERT_NE(berth, nullptr);
  std::size_t bound = 0;
  for (const auto& [name, milli] : {std::pair{"a", "600"}, {"b", "600"}, {"c", "300"}}) {
    ASSERT_OK(share(name, milli));
    ASSERT_TRUE(wait_bound(++bound));
  }
  EXPECT_EQ(devices("a-0"), "0");
  EXPECT_EQ(devices("b-0"), "1");
  EXPECT_EQ(devices("c-0"), "0");
  ASSERT_OK(remove("a-0"));
  ASSERT_TRUE(wait_bound(2));
  berth->process.kill_now();
  berth = start_berth({.name = "berth-again", .args = args});
  ASSERT_NE(berth, nullptr);
  ASSERT_OK(cluster_->create_pods(1, {.name = "whole", .requests = {{"cpu", "1"}, {"nvidia.com/gpu", "1"}}}));
  (void)wait_for_reasons({"whole-0"}, "Unschedulable");
  ASSERT_OK(remove("c-0"));
  EXPECT_TRUE(eventually([&] { return devices("whole-0") == "0"; })) << reasons_of_waiting();
  expect_clean();
}

// Each decides on its own picture, and the API server does not compare them: at the same moment they can give the same GPU to
// two pods, which no test can forbid (docs/install.md). Two rules: pods that the other has bound count on the same nodes; on nodes
// of their own both may work at once.
TEST_F(BerthInCluster, BesideAnotherSchedulerNothingIsOvercommitted) {
  constexpr std::size_t kShared = 6;
  const auto of = [](const char* owner) { return NodeShape{.name = owner, .labels = {{"for", owner}}}; };
  start({.kube_scheduler = true});
  ASSERT_OK(cluster_->create_nodes(kShared, of("both")));
  ASSERT_OK(cluster_->create_nodes(4, of("berth")));
  ASSERT_OK(cluster_->create_nodes(4, of("other")));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  // In turns on the same nodes, until they are full: 48 GPUs.
  std::size_t bound = 0;
  for (int turn = 0; turn < 6; ++turn) {
    const bool ours = turn % 2 == 1;
    const std::string name = fmt::format("turn{}", turn);
    ASSERT_OK(cluster_->create_pods(8, {.name = name,
                                        .scheduler = ours ? "berth" : "default-scheduler",
                                        .labels = ours ? gang(name, 8) : Labels{},
                                        .node_selector = {{"for", "both"}}}));
    bound += 8;
    ASSERT_TRUE(wait_bound(bound)) << observer_->check().str();
    ASSERT_OK(observer_->catch_up());
  }
  ASSERT_EQ(bound, kShared * 8);
  ASSERT_OK(cluster_->create_pods(1, {.name = "none", .node_selector = {{"for", "both"}}}));
  (void)wait_for_reasons({"none-0"}, "Unschedulable");
  // Both at once, on nodes of their own.
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < 32; ++i) {
    bodies.push_back(
        pod_json({.name = "left", .labels = gang("left", 32), .node_selector = {{"for", "berth"}}}, i));
    bodies.push_back(pod_json(
        {.name = "right", .scheduler = "default-scheduler", .node_selector = {{"for", "other"}}}, i));
  }
  ASSERT_OK(cluster_->create_all("/api/v1/namespaces/default/pods", bodies, 8));
  EXPECT_TRUE(wait_bound(bound + 64)) << observer_->check().str();
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

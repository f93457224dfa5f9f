// The objects that teams already have, on a real API server: Jobs of the controller manager, coscheduling's PodGroups, Kueue's
// queues.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "e2e/berth_fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

class BerthDialects : public BerthTest {
 protected:
  void apply_crd(const std::string& plural) {
    ASSERT_OK(cluster_->apply(fmt::format("{}/deploy/crds/{}.yaml", BERTH_SOURCE_DIR, plural)));
  }
  // Posts until the kind, which was made a moment ago, is served.
  void create(const std::string& path, const json& body) {
    Reply reply;
    EXPECT_TRUE(
        eventually([&] { return (reply = cluster_->client().post(path, body.dump())).ok(); }, seconds(30)))
        << path << ": " << reply.describe();
  }
  // The API server takes no such object, and says `words`.
  void expect_refused(const std::string& path, const json& body, const char* words) {
    const Reply reply = cluster_->client().post(path, body.dump());
    EXPECT_EQ(reply.status, 422) << reply.describe();
    EXPECT_NE(reply.body.find(words), std::string::npos) << reply.describe();
  }
};

TEST_F(BerthDialects, JobsOfTheControllerManagerStartWholeAndRunToTheirEnd) {
  constexpr std::int64_t kWorkers = 8;
  constexpr int kJobs = 4;
  prepare_observer_ = [](ObserverOfPods& observer) {
    observer.add_gang_label("batch.kubernetes.io/job-name", kWorkers);
  };
  start({.controller_manager = true, .kwok = true, .service_accounts = true, .job_pod_runs_ms = 500});
  ASSERT_OK(cluster_->create_nodes(1));
  ASSERT_OK(cluster_->create_pods(
      1, {.name = "old", .scheduler = "other", .requests = {{"nvidia.com/gpu", "2"}}, .node = "node-0"}));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  for (int i = 0; i < kJobs; ++i) {
    const std::string name = fmt::format("train{}", i);
    json job = json::parse(R"({
      "apiVersion": "batch/v1", "kind": "Job", "metadata": {"labels": {}},
      "spec": {"completions": 8, "parallelism": 8, "template": {"spec": {
        "schedulerName": "berth", "restartPolicy": "Never",
        "containers": [{"name": "main", "image": "image", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}}})");
    job["metadata"]["name"] = name;
    job["metadata"]["labels"]["berth.dev/gang"] = name;
    create("/apis/batch/v1/namespaces/default/jobs", job);
  }
  // Six GPUs are free: none of the four starts, and all 32 pods say why.
  ASSERT_TRUE(observer_->wait_until([](const auto& now) { return now.pods == 1 + kJobs * kWorkers; }, kLong));
  EXPECT_TRUE(eventually([&] {
    const auto pods = observer_->pods();
    return std::count_if(pods.begin(), pods.end(), [](const auto& entry) {
             return entry.second.scheduled_reason == "Unschedulable" &&
                    !entry.second.scheduled_message.empty();
           }) == kJobs * kWorkers;
  }));
  EXPECT_EQ(observer_->now().binds, 1U);
  // With eight, one after the other.
  ASSERT_OK(expect_ok(cluster_->client().del("/api/v1/namespaces/default/pods/old-0"), "deleting a pod"));
  EXPECT_TRUE(observer_->wait_until([](const auto& now) { return now.terminal == kJobs * kWorkers; }, kLong));
  for (int i = 0; i < kJobs; ++i) {
    EXPECT_TRUE(eventually([&] {
      const auto reply =
          cluster_->client().get(fmt::format("/apis/batch/v1/namespaces/default/jobs/train{}", i));
      return reply.ok() && json::parse(reply.body)["status"].value("succeeded", 0) == kWorkers;
    }));
  }
  expect_clean();
  EXPECT_EQ(observer_->check().binds, 1U + kJobs * kWorkers);
}

TEST_F(BerthDialects, APodGroupStartsWithItsLastMember) {
  constexpr std::size_t kMembers = 5;
  prepare_observer_ = [](ObserverOfPods& observer) {
    observer.add_gang_label("scheduling.x-k8s.io/pod-group", kMembers);
  };
  start();
  ASSERT_OK(cluster_->create_nodes(2));
  apply_crd("scheduling.x-k8s.io_podgroups");
  create("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups",
         {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
          {"kind", "PodGroup"},
          {"metadata", {{"name", "ring"}}},
          {"spec", {{"minMember", kMembers}}}});
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  const PodShape member{.name = "ring",
                        .requests = {{"cpu", "1"}, {"nvidia.com/gpu", "2"}},
                        .labels = {{"scheduling.x-k8s.io/pod-group", "ring"}}};
  ASSERT_OK(cluster_->create_pods(kMembers - 1, member));
  (void)wait_for_reasons(names_of("ring", kMembers - 1), "IncompleteGang");
  EXPECT_EQ(observer_->now().bound, 0U);
  ASSERT_OK(cluster_->create_all("/api/v1/namespaces/default/pods", {pod_json(member, kMembers - 1)}));
  EXPECT_TRUE(wait_bound(kMembers));
  expect_clean();
  EXPECT_EQ(observer_->check().gangs.whole, 1U);
}

// Pods that name a group wait for it, also where the API server does not know yet what a group is.
TEST_F(BerthDialects, AKindThatIsInstalledLaterIsRead) {
  constexpr std::size_t kMembers = 3;
  prepare_observer_ = [](ObserverOfPods& observer) {
    observer.add_gang_label("scheduling.x-k8s.io/pod-group", kMembers);
  };
  start();
  ASSERT_OK(cluster_->create_nodes(1));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  ASSERT_OK(cluster_->create_pods(
      kMembers,
      {.name = "late", .requests = {{"cpu", "1"}}, .labels = {{"scheduling.x-k8s.io/pod-group", "late"}}}));
  const std::string message = wait_for_reasons(names_of("late", kMembers), "Invalid");
  EXPECT_NE(message.find("does not exist"), std::string::npos) << message;
  apply_crd("scheduling.x-k8s.io_podgroups");
  create("/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups",
         {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
          {"kind", "PodGroup"},
          {"metadata", {{"name", "late"}}},
          {"spec", {{"minMember", kMembers}}}});
  EXPECT_TRUE(wait_bound(kMembers));
  expect_clean();
  EXPECT_EQ(observer_->check().gangs.whole, 1U);
}

TEST_F(BerthDialects, AClusterQueueLimitsWhatIsBound) {
  constexpr std::int64_t kQuota = 20;
  constexpr std::size_t kGangs = 12;
  constexpr std::size_t kSize = 4;
  constexpr std::size_t kSingles = 12;
  constexpr std::size_t kTotal = kGangs * kSize + kSingles;
  // GPUs of bound pods after every event, in the order of the resourceVersions.
  std::map<std::string, std::int64_t> held;
  std::atomic<std::int64_t> sum{0};
  std::atomic<std::int64_t> highest{0};
  prepare_observer_ = [&](ObserverOfPods& observer) {
    observer.on_pod([&](const SeenPod& pod, bool deleted) {
      auto& before = held[pod.uid];
      const auto gpus = pod.spec->requests.find("nvidia.com/gpu");
      const std::int64_t after =
          !deleted && pod.occupies() && gpus != pod.spec->requests.end() ? gpus->second / 1000 : 0;
      sum += after - before;
      before = after;
      highest = std::max(highest.load(), sum.load());
    });
  };
  start();
  ASSERT_OK(cluster_->create_nodes(10));  // 80 GPUs
  for (const char* plural : {"clusterqueues", "cohorts", "localqueues", "resourceflavors"}) {
    apply_crd(fmt::format("kueue.x-k8s.io_{}", plural));
  }
  const std::string group = "/apis/kueue.x-k8s.io/v1beta1";
  create(group + "/resourceflavors", json::parse(R"({
    "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}})"));
  create(group + "/clusterqueues", json::parse(R"({
    "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "research"},
    "spec": {"namespaceSelector": {}, "resourceGroups": [{
      "coveredResources": ["cpu", "memory", "nvidia.com/gpu"],
      "flavors": [{"name": "any", "resources": [
        {"name": "cpu", "nominalQuota": "1000"},
        {"name": "memory", "nominalQuota": "10Ti"},
        {"name": "nvidia.com/gpu", "nominalQuota": "20"}]}]}]}})"));
  create(group + "/namespaces/default/localqueues", json::parse(R"({
    "apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "team"},
    "spec": {"clusterQueue": "research"}})"));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  Labels in_queue = {{"kueue.x-k8s.io/queue-name", "team"}};
  for (std::size_t i = 0; i < kGangs; ++i) {
    const std::string name = fmt::format("g{}", i);
    auto labels = gang(name, kSize);
    labels.insert(labels.end(), in_queue.begin(), in_queue.end());
    ASSERT_OK(cluster_->create_pods(kSize, {.name = name, .labels = labels}));
  }
  ASSERT_OK(cluster_->create_pods(kSingles, {.name = "single", .labels = in_queue}));
  EXPECT_TRUE(wait_bound(kQuota));
  EXPECT_TRUE(eventually([&] {
    const auto pods = observer_->pods();
    return std::count_if(pods.begin(), pods.end(), [](const auto& entry) {
             return entry.second.scheduled_reason == "Quota" && entry.second.node.empty();
           }) == kTotal - kQuota;
  })) << "whatever waits says that it is for quota";
  // Bound pods end, a few at a time, until all have had their turn.
  for (int turn = 0; turn < 200 && observer_->now().terminal < kTotal; ++turn) {
    std::size_t ended = 0;
    auto api = cluster_->client();
    for (const auto& [key, pod] : observer_->pods()) {
      if (pod.occupies() && ended < 5) {
        ++ended;
        const auto name = key.substr(key.find('/') + 1);
        ASSERT_OK(expect_ok(api.patch(fmt::format("/api/v1/namespaces/default/pods/{}/status", name),
                                      R"({"status":{"phase":"Succeeded"}})"),
                            "ending a pod"));
      }
    }
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_EQ(observer_->now().terminal, kTotal) << observer_->check().str();
  EXPECT_EQ(highest.load(), kQuota) << "reached, and never above";
  expect_clean();
  EXPECT_EQ(observer_->check().binds, kTotal);
}

// Berth's Queue beside Volcano's and KAI's, in one tree: limits, and a guarantee that is taken back.
TEST_F(BerthDialects, QueuesOfThreeSystemsDivideTheNodes) {
  start();
  ASSERT_OK(cluster_->create_nodes(2));  // 16 GPUs
  for (const char* crd : {"berth.dev_queues", "scheduling.volcano.sh_queues", "scheduling.run.ai_queues"})
    apply_crd(crd);
  const std::string queues = "/apis/berth.dev/v1alpha1/queues";
  const auto queue = [](const char* name, const char* spec) {
    return json{{"apiVersion", "berth.dev/v1alpha1"},
                {"kind", "Queue"},
                {"metadata", {{"name", name}}},
                {"spec", json::parse(spec)}};
  };
  create(queues,
         queue("research", R"({"guaranteed": {"nvidia.com/gpu": 4}, "limit": {"nvidia.com/gpu": "12"}})"));
  create(queues, queue("product", R"({"guaranteed": {"nvidia.com/gpu": 8}})"));
  // The API server refuses what contradicts itself, with words that say what to mend.
  const auto refused = [&](const char* name, const char* spec, const char* words) {
    expect_refused(queues, queue(name, spec), words);
  };
  refused("a", R"({"guaranteed": {"nvidia.com/gpu": "10"}, "limit": {"nvidia.com/gpu": 9}})",
          "guaranteed must not be more than limit");
  refused("a", R"({"guaranteed": {"memory": "1Gi"}, "lendable": {"memory": "2000Mi"}})",
          "lendable is a part of guaranteed");
  refused("a", R"({"parent": "a"})", "a queue cannot be its own parent");
  refused("a", R"({"limit": {"cpu": 1}, "flavors": [{"name": "f"}]})",
          "a queue with flavors says its amounts in them");
  refused("root", R"({"parent": "research"})", "the root has no parent");
  create(
      "/apis/scheduling.volcano.sh/v1beta1/queues",
      json::parse(
          R"({"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "batch"},
                         "spec": {"weight": 1, "capability": {"nvidia.com/gpu": 2}}})"));
  create("/apis/scheduling.run.ai/v2/queues",
         json::parse(R"({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "team"},
                         "spec": {"resources": {"gpu": {"quota": 0, "limit": 1, "overQuotaWeight": 1},
                                                "cpu": {"quota": -1, "limit": -1}, "memory": {"quota": -1, "limit": -1}}}})"));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  const auto pods = [&](std::size_t count, const char* name, const char* key, const char* value) {
    ASSERT_OK(cluster_->create_pods(count, {.name = name, .labels = {{key, value}}}));
  };
  pods(14, "idea", "berth.dev/queue", "research");
  pods(4, "crunch", "scheduling.volcano.sh/queue-name", "batch");
  pods(4, "study", "kai.scheduler/queue", "team");
  EXPECT_TRUE(wait_bound(12 + 2 + 1)) << observer_->check().str();
  const auto bound_of = [&](const std::string& name) {
    const auto all = observer_->pods();
    return std::count_if(all.begin(), all.end(), [&](const auto& entry) {
      return entry.first.starts_with("default/" + name) && !entry.second.node.empty();
    });
  };
  EXPECT_EQ(bound_of("idea"), 12) << "its limit";
  EXPECT_EQ(bound_of("crunch"), 2) << "its capability";
  EXPECT_EQ(bound_of("study"), 1) << "its limit";
  // Product is guaranteed eight; one is free, so seven go back to it.
  pods(8, "launch", "berth.dev/queue", "product");
  EXPECT_TRUE(eventually([&] { return bound_of("launch") == 8; }));
  EXPECT_GE(bound_of("idea"), 4) << "what it is guaranteed stays";
  expect_clean();
}

// Volcano's gangs on its HyperNodes: near each other where they must be, and a tier that appears later is one to start in.
TEST_F(BerthDialects, AGangOfVolcanoLiesInOneHyperNode) {
  prepare_observer_ = [](ObserverOfPods& observer) { observer.add_gang_label("group", 4); };
  start();
  ASSERT_OK(cluster_->create_nodes(4, {.labels_of = [](std::size_t i) {
                                     return Labels{{"rack", i < 2 ? "a" : "b"}};
                                   }}));
  for (const char* crd :
       {"scheduling.volcano.sh_podgroups", "scheduling.volcano.sh_queues", "topology.volcano.sh_hypernodes"})
    apply_crd(crd);
  const std::string scheduling = "/apis/scheduling.volcano.sh/v1beta1";
  const std::string hyper_nodes = "/apis/topology.volcano.sh/v1alpha1/hypernodes";
  const auto hyper_node = [](const char* name, const char* spec) {
    return json{{"apiVersion", "topology.volcano.sh/v1alpha1"},
                {"kind", "HyperNode"},
                {"metadata", {{"name", name}}},
                {"spec", json::parse(spec)}};
  };
  create(hyper_nodes, hyper_node("a", R"({"tier": 1, "tierName": "rack", "members": [
    {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"rack": "a"}}}}]})"));
  create(hyper_nodes, hyper_node("b", R"({"tier": 1, "tierName": "rack", "members": [
    {"type": "Node", "selector": {"exactMatch": {"name": "node-2"}}},
    {"type": "Node", "selector": {"regexMatch": {"pattern": "^node-[3-9]$"}}}]})"));
  const auto refused = [&](const char* spec, const char* words) {
    expect_refused(hyper_nodes, hyper_node("c", spec), words);
  };
  refused(R"({"tier": 1, "members": [{"type": "Node", "selector": {}}]})", "say one of exactMatch");
  refused(R"({"tier": 2, "members": [{"type": "HyperNode", "selector": {"labelMatch": {}}}]})",
          "labelMatch chooses nodes only");
  create(scheduling + "/queues", json::parse(R"({"apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue", "metadata": {"name": "default"}, "spec": {"weight": 1}})"));
  const auto group = [&](const char* name, const char* topology) {
    create(scheduling + "/namespaces/default/podgroups",
           {{"apiVersion", "scheduling.volcano.sh/v1beta1"},
            {"kind", "PodGroup"},
            {"metadata", {{"name", name}}},
            {"spec", {{"minMember", 4}, {"networkTopology", json::parse(topology)}}}});
  };
  group("near", R"({"mode": "hard", "highestTierName": "rack"})");
  group("row", R"({"mode": "hard", "highestTierName": "row"})");
  // One pod of another scheduler leaves room for a gang of 12 GPUs in one rack only.
  ASSERT_OK(cluster_->create_pods(
      1, {.name = "old", .scheduler = "other", .requests = {{kGpu, "8"}}, .node = "node-0"}));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  const auto members = [&](const char* name, const char* gpus) {
    ASSERT_OK(cluster_->create_pods(4, {.name = name,
                                        .requests = {{"cpu", "1"}, {kGpu, gpus}},
                                        .labels = {{"group", name}},
                                        .annotations = {{"scheduling.k8s.io/group-name", name}}}));
  };
  members("near", "3");
  EXPECT_TRUE(wait_bound(1 + 4)) << observer_->check().str();
  const auto nodes_of = [&](const std::string& name) {
    std::set<std::string> out;
    for (const auto& [key, pod] : observer_->pods()) {
      if (key.starts_with("default/" + name)) out.insert(pod.node);
    }
    return out;
  };
  EXPECT_EQ(nodes_of("near"), (std::set<std::string>{"node-2", "node-3"}));
  EXPECT_TRUE(eventually([&] {
    const Reply reply = cluster_->client().get(scheduling + "/namespaces/default/podgroups/near");
    return reply.ok() && json::parse(reply.body).value("/status/phase"_json_pointer, "") == "Running";
  }));
  members("row", "2");
  const std::string message = wait_for_reasons(names_of("row", 4), "Unschedulable");
  EXPECT_NE(message.find("no HyperNode has the tierName row"), std::string::npos) << message;
  create(hyper_nodes, hyper_node("row", R"({"tier": 2, "tierName": "row", "members": [
    {"type": "HyperNode", "selector": {"exactMatch": {"name": "a"}}},
    {"type": "HyperNode", "selector": {"exactMatch": {"name": "b"}}}]})"));
  EXPECT_TRUE(wait_bound(1 + 4 + 4)) << observer_->check().str();
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

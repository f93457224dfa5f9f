// Kinds of owners that are declared, on a real API server: one that ships with Berth, and one of a user's file. The test itself makes and
// deletes their pods, as their controllers do.
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "e2e/security_fixture.h"
#include "e2e/workloads_fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

constexpr const char* kCrds = BERTH_SOURCE_DIR "/tests/e2e/declared_kinds_crd.yaml";
constexpr const char* kTorchJobs = "/apis/kubeflow.org/v1/namespaces/default/pytorchjobs";
constexpr const char* kFlowRuns = "/apis/flow.example.com/v1/namespaces/default/flowruns";
constexpr const char* kPodsOfDefault = "/api/v1/namespaces/default/pods";

// The file of docs/kinds.md.
constexpr const char* kFlowKind = R"(
apiVersion: berth.dev/v1alpha1
kind: OwnerKinds
kinds:
- apiVersion: flow.example.com/v1
  kind: FlowRun
  resource: flowruns
  suspend: spec.paused
  completed: {at: status.phase, words: [Done]}
  pods:
  - name: solver
    at: spec.solvers
    template: .podTemplate
    count: .number
)";

class BerthDeclared : public WorkloadsTest {
 protected:
  // Pods of one GPU each, which run until they are deleted.
  void start_with_kinds(int gpus) {
    start_with_queue(gpus, 86'400'000);
    // The training-operator adds a container that asks for memory to the workers.
    const json resources =
        json::array({{{"name", "cpu"}, {"nominalQuota", "1000"}},
                     {{"name", "memory"}, {"nominalQuota", "1Ti"}},
                     {{"name", "nvidia.com/gpu"}, {"nominalQuota", std::to_string(gpus)}}});
    const json flavors = json::array({{{"name", "any"}, {"resources", resources}}});
    const json group = {{"coveredResources", {"cpu", "memory", "nvidia.com/gpu"}}, {"flavors", flavors}};
    patch(std::string(kGroup) + "/clusterqueues/cq", {{"spec", {{"resourceGroups", json::array({group})}}}});
    ASSERT_OK(cluster_->create_priority_class("low", 10));
    ASSERT_OK(cluster_->create_priority_class("high", 100));
    ASSERT_OK(cluster_->apply(kCrds));
    ASSERT_TRUE(eventually([&] { return get(kTorchJobs).is_object() && get(kFlowRuns).is_object(); }));
  }
  static json torch_job(const std::string& name, int workers, const std::string& priority_class) {
    json out = {{"apiVersion", "kubeflow.org/v1"}, {"kind", "PyTorchJob"}};
    out["metadata"] = {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
    out["spec"]["runPolicy"]["suspend"] = true;
    for (const char* role : {"Master", "Worker"}) {
      json& set = out["spec"]["pytorchReplicaSpecs"][role];
      set["replicas"] = std::string(role) == "Master" ? 1 : workers;
      set["template"]["spec"] = pod_spec();
      set["template"]["spec"]["priorityClassName"] = priority_class;
    }
    return out;
  }
  json torch_job_named(const std::string& name) const { return get(std::string(kTorchJobs) + "/" + name); }
  bool is_held(const std::string& name) const {
    const json found = torch_job_named(name);
    return found.is_object() && found["spec"]["runPolicy"].value("suspend", false);
  }
  // A pod, as the controller of `owner` makes it.
  void make_pod(const json& owner, const std::string& name, const json& labels, const json& spec) {
    json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"spec", spec}};
    pod["metadata"] = {{"name", name}, {"labels", labels}};
    pod["metadata"]["ownerReferences"] = json::array({{{"apiVersion", owner["apiVersion"]},
                                                       {"kind", owner["kind"]},
                                                       {"name", owner["metadata"]["name"]},
                                                       {"uid", owner["metadata"]["uid"]},
                                                       {"controller", true}}});
    create(kPodsOfDefault, pod);
  }
  void make_torch_pods(const std::string& name) {
    const json owner = torch_job_named(name);
    for (const auto& [role, set] : owner["spec"]["pytorchReplicaSpecs"].items()) {
      const std::string type = role == "Master" ? "master" : "worker";
      for (int i = 0; i < set["replicas"].get<int>(); ++i) {
        make_pod(owner, fmt::format("{}-{}-{}", name, type, i),
                 {{"training.kubeflow.org/replica-type", type},
                  {"training.kubeflow.org/replica-index", std::to_string(i)}},
                 set["template"]["spec"]);
      }
    }
  }
  void delete_pods(const std::string& name) {
    for (const auto& [key, pod] : observer_->pods()) {
      if (key.starts_with("default/" + name + "-"))
        (void)cluster_->client().del(fmt::format("{}/{}", kPodsOfDefault, key.substr(8)));
    }
  }
  std::size_t occupying(const std::string& name) const {
    std::size_t out = 0;
    for (const auto& [key, pod] : observer_->pods())
      out += key.starts_with("default/" + name + "-") && pod.occupies() ? 1 : 0;
    return out;
  }
};

TEST_F(BerthDeclared, APyTorchJobWaitsStartsWholeAndIsTakenBackByItsSwitch) {
  start_with_kinds(4);
  ASSERT_NE(start_berth(), nullptr);
  create(kTorchJobs, torch_job("low", 2, "low"));
  EXPECT_TRUE(eventually([&] { return !is_held("low"); })) << torch_job_named("low").dump();
  make_torch_pods("low");
  EXPECT_TRUE(eventually([&] { return occupying("low") == 3; })) << reasons_of_waiting();
  create(kTorchJobs, torch_job("next", 2, "low"));
  std::this_thread::sleep_for(seconds(2));
  EXPECT_TRUE(is_held("next")) << "one of four GPUs is free";
  create(kTorchJobs, torch_job("high", 3, "high"));
  EXPECT_TRUE(eventually([&] { return is_held("low"); })) << "taken back whole, by its own switch";
  delete_pods("low");
  EXPECT_TRUE(eventually([&] { return !is_held("high"); })) << torch_job_named("high").dump();
  make_torch_pods("high");
  EXPECT_TRUE(eventually([&] { return occupying("high") == 4; })) << reasons_of_waiting();
  patch(std::string(kTorchJobs) + "/high/status",
        {{"status", {{"conditions", json::array({{{"type", "Succeeded"}, {"status", "True"}}})}}}});
  delete_pods("high");
  EXPECT_TRUE(eventually([&] { return !is_held("low"); })) << "it starts again";
  make_torch_pods("low");
  EXPECT_TRUE(eventually([&] { return occupying("low") == 3; })) << reasons_of_waiting();
  expect_clean();
}

TEST_F(BerthDeclared, AKindOfAUsersFileIsWatchedHeldAndReleased) {
  start_with_kinds(4);
  const std::string file = (cluster_->folder() / "kinds.yaml").string();
  std::ofstream(file) << kFlowKind;
  ASSERT_NE(start_berth({.args = {"--kinds", file}}), nullptr);
  json run = {{"apiVersion", "flow.example.com/v1"}, {"kind", "FlowRun"}};
  run["metadata"] = {{"name", "wing"}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
  run["spec"] = {{"paused", true}, {"solvers", {{"number", 3}}}};
  run["spec"]["solvers"]["podTemplate"]["spec"] = pod_spec();
  create(kFlowRuns, run);
  const auto wing = [&] { return get(std::string(kFlowRuns) + "/wing"); };
  EXPECT_TRUE(eventually([&] { return wing().is_object() && !wing()["spec"].value("paused", true); }))
      << wing().dump();
  for (int i = 0; i < 3; ++i) make_pod(wing(), fmt::format("wing-{}", i), json::object(), pod_spec());
  EXPECT_TRUE(eventually([&] { return occupying("wing") == 3; })) << reasons_of_waiting();
  expect_clean();
}

// As users write them: the policy that ships suspends them and writes the scheduler name, each kind at its own places.
TEST_F(BerthDeclared, ThePolicyThatShipsHoldsObjectsThatNameAQueue) {
  start_with_kinds(4);
  if (!get("/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies").is_object())
    GTEST_SKIP() << "this API server has no MutatingAdmissionPolicy in v1 (Kubernetes 1.36 and later have)";
  ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/admission-policy.yaml"));
  const auto tried = [&](const std::string& path, const json& body) {
    return cluster_->client().post(path + "?dryRun=All", body.dump());
  };
  const auto made = [&](const std::string& path, const json& body) {
    const Reply reply = tried(path, body);
    EXPECT_TRUE(reply.ok()) << reply.describe();
    return reply.ok() ? json::parse(reply.body) : json();
  };
  json torch = torch_job("plain", 2, "low");
  torch["spec"].erase("runPolicy");
  for (auto& [role, set] : torch["spec"]["pytorchReplicaSpecs"].items())
    set["template"]["spec"].erase("schedulerName");
  const auto suspended = [](const json& job) {
    return job.is_object() && job["spec"].contains("runPolicy") &&
           job["spec"]["runPolicy"].value("suspend", false);
  };
  // For a while the API server's admission does not know the new kind: it answers 503.
  ASSERT_TRUE(eventually([&] {
    const Reply reply = tried(kTorchJobs, torch);
    return reply.ok() && suspended(json::parse(reply.body));
  })) << tried(kTorchJobs, torch).describe();
  const auto scheduler_of = [](const json& job, const char* role) {
    return job["spec"]["pytorchReplicaSpecs"][role]["template"]["spec"].value("schedulerName", "");
  };
  EXPECT_EQ(scheduler_of(made(kTorchJobs, torch), "Master"), "berth");
  EXPECT_EQ(scheduler_of(made(kTorchJobs, torch), "Worker"), "berth");
  torch["spec"]["runPolicy"]["cleanPodPolicy"] = "None";
  EXPECT_TRUE(suspended(made(kTorchJobs, torch)));
  EXPECT_EQ(made(kTorchJobs, torch)["spec"]["runPolicy"].value("cleanPodPolicy", ""), "None");
  json other = torch;
  other["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["schedulerName"] = "mine";
  EXPECT_FALSE(suspended(made(kTorchJobs, other))) << "another scheduler's";
  json unqueued = torch;
  unqueued["metadata"].erase("labels");
  EXPECT_FALSE(suspended(made(kTorchJobs, unqueued)));

  json ray = {{"apiVersion", "ray.io/v1"}, {"kind", "RayCluster"}};
  ray["metadata"] = {{"name", "rc"}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
  const json pod = {{"spec", {{"containers", json::array({{{"name", "c"}}})}}}};
  ray["spec"]["headGroupSpec"]["template"] = pod;
  ray["spec"]["workerGroupSpecs"] = json::array(
      {{{"groupName", "a"}, {"replicas", 1}, {"template", pod}}, {{"groupName", "b"}, {"template", pod}}});
  const json cluster = made("/apis/ray.io/v1/namespaces/default/rayclusters", ray);
  ASSERT_TRUE(cluster.is_object());
  EXPECT_TRUE(cluster["spec"].value("suspend", false));
  EXPECT_EQ(cluster["spec"]["headGroupSpec"]["template"]["spec"].value("schedulerName", ""), "berth");
  for (const json& group : cluster["spec"]["workerGroupSpecs"])
    EXPECT_EQ(group["template"]["spec"].value("schedulerName", ""), "berth") << group.dump();
}

// Where the pods are no templates, or stand deeper: a RayService, a SparkApplication, an AppWrapper.
TEST_F(BerthDeclared, ThePolicyThatShipsHoldsServicesSparkAndWrappers) {
  start_with_kinds(4);
  if (!get("/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies").is_object())
    GTEST_SKIP() << "this API server has no MutatingAdmissionPolicy in v1 (Kubernetes 1.36 and later have)";
  ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/admission-policy.yaml"));
  const auto object = [](const char* version, const char* kind, const char* spec) {
    json out = {{"apiVersion", version}, {"kind", kind}, {"spec", json::parse(spec)}};
    out["metadata"] = {{"name", "x"}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
    return out;
  };
  const auto made = [&](const std::string& path, const json& body) {
    Reply reply;
    // For a while the API server's admission does not know a new kind, or the policy.
    EXPECT_TRUE(eventually([&] {
      reply = cluster_->client().post(path + "?dryRun=All", body.dump());
      return reply.ok() && json::parse(reply.body) != body &&
             reply.body.find("\"suspend\":true") != std::string::npos;
    })) << reply.describe();
    return reply.ok() ? json::parse(reply.body)["spec"] : json::object();
  };
  const json service = made(
      "/apis/ray.io/v1/namespaces/default/rayservices",
      object("ray.io/v1", "RayService", R"({"rayClusterConfig": {"headGroupSpec": {"template": {"spec": {}}},
                  "workerGroupSpecs": [{"groupName": "a", "template": {"spec": {}}}]}})"));
  const json cluster = service.value("rayClusterConfig", json::object());
  EXPECT_TRUE(cluster.value("suspend", false)) << service.dump();
  EXPECT_EQ(cluster.value("/headGroupSpec/template/spec/schedulerName"_json_pointer, ""), "berth");
  EXPECT_EQ(cluster.value("/workerGroupSpecs/0/template/spec/schedulerName"_json_pointer, ""), "berth");
  const json spark = made("/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications",
                          object("sparkoperator.k8s.io/v1beta2", "SparkApplication",
                                 R"({"driver": {"cores": 1}, "executor": {"template": {"spec": {}}}})"));
  EXPECT_TRUE(spark.value("suspend", false)) << spark.dump();
  EXPECT_EQ(spark.value("/driver/schedulerName"_json_pointer, ""), "berth");
  EXPECT_EQ(spark.value("/executor/schedulerName"_json_pointer, ""), "berth");
  EXPECT_EQ(spark.value("/executor/template/spec/schedulerName"_json_pointer, ""), "berth");
  const json wrapper = made("/apis/workload.codeflare.dev/v1beta2/namespaces/default/appwrappers",
                            object("workload.codeflare.dev/v1beta2", "AppWrapper", R"({"components": []})"));
  EXPECT_TRUE(wrapper.value("suspend", false)) << wrapper.dump();
}

class BerthDeclaredTenants : public SecurityTest {};

// A tenant tries to get around its queue by objects of a declared kind, with the policy that ships.
TEST_F(BerthDeclaredTenants, ADeclaredKindIsNoWayAroundItsQueue) {
  ASSERT_NO_FATAL_FAILURE(start_two_teams());
  ASSERT_OK(cluster_->apply(kCrds));
  ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/tenant-policy.yaml"));
  ASSERT_OK(expect_ok(
      cluster_->client().patch(
          "/api/v1/namespaces/team-a",
          R"({"metadata":{"labels":{"berth.dev/tenant":""},"annotations":{"berth.dev/priority-classes":"low"}}})"),
      "labelling a namespace"));
  const std::string jobs = "/apis/kubeflow.org/v1/namespaces/team-a/pytorchjobs";
  const json plain = json::parse(R"({"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
    "metadata": {"name": "plain", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
    "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, "template": {"metadata": {}, "spec": {
      "schedulerName": "berth", "containers": [{"name": "c"}]}}}}}})");
  const auto without = [&](const char* what) {
    json body = plain;
    body["metadata"].erase(what);
    return body;
  };
  // In force a moment after it is made.
  ApiClient admin = cluster_->client();
  ASSERT_TRUE(eventually([&] {
    return admin.post(jobs + "?dryRun=All", plain.dump()).ok() &&
           admin.post(jobs + "?dryRun=All", without("labels").dump()).status == 422;
  })) << admin.post(jobs + "?dryRun=All", plain.dump()).describe();
  const auto refused = [&](const std::string& words, const std::function<void(json&)>& change) {
    json body = plain;
    change(body);
    const Reply reply = admin.post(jobs + "?dryRun=All", body.dump());
    EXPECT_EQ(reply.status, 422) << words;
    EXPECT_NE(reply.body.find(words), std::string::npos) << words << "\n" << reply.body;
  };
  const auto worker = [](json& body) -> json& {
    return body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"];
  };
  refused("objects of kind PyTorchJob in this namespace name a queue",
          [](json& body) { body["metadata"].erase("labels"); });
  refused("schedulerName of a pod template",
          [&](json& body) { worker(body)["spec"]["schedulerName"] = "mine"; });
  refused("schedulerName of a pod template",
          [&](json& body) { worker(body)["spec"].erase("schedulerName"); });
  refused("nodeName of a pod template", [&](json& body) { worker(body)["spec"]["nodeName"] = "node-9"; });
  refused("this namespace may use low",
          [&](json& body) { worker(body)["spec"]["priorityClassName"] = "vip"; });
  refused("this namespace may use low",
          [](json& body) { body["spec"]["runPolicy"]["schedulingPolicy"]["priorityClass"] = "vip"; });
  refused("this namespace may use low",
          [](json& body) { body["metadata"]["annotations"]["kueue.x-k8s.io/priority-class"] = "vip"; });
  refused("never a victim",
          [&](json& body) { worker(body)["metadata"]["annotations"]["berth.dev/preemptible"] = "false"; });
  // Its queue changes while it is suspended only.
  ASSERT_OK(expect_ok(admin.post(jobs, plain.dump()), "making a PyTorchJob"));
  const std::string other = R"({"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"other"}}})";
  const Reply moved = admin.patch(jobs + "/plain", other, kMergePatch);
  EXPECT_EQ(moved.status, 422) << moved.describe();
  EXPECT_NE(moved.body.find("can be changed while it is suspended only"), std::string::npos) << moved.body;
  EXPECT_TRUE(admin.patch(jobs + "/plain", R"({"spec":{"runPolicy":{"suspend":true}}})", kMergePatch).ok());
  EXPECT_TRUE(admin.patch(jobs + "/plain", other, kMergePatch).ok());
  // The pods of a SparkApplication are no templates; an AppWrapper has some that no policy finds.
  json spark = json::parse(R"({"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "SparkApplication",
    "metadata": {"name": "s", "labels": {"kueue.x-k8s.io/queue-name": "main"}},
    "spec": {"driver": {"schedulerName": "berth"}, "executor": {"schedulerName": "berth"}}})");
  const std::string sparks =
      "/apis/sparkoperator.k8s.io/v1beta2/namespaces/team-a/sparkapplications?dryRun=All";
  EXPECT_TRUE(admin.post(sparks, spark.dump()).ok()) << admin.post(sparks, spark.dump()).describe();
  spark["spec"]["executor"]["priorityClassName"] = "vip";
  EXPECT_NE(admin.post(sparks, spark.dump()).body.find("this namespace may use low"), std::string::npos);
  json wrapper = json::parse(R"({"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper",
    "metadata": {"name": "w", "labels": {"kueue.x-k8s.io/queue-name": "main"}}, "spec": {"components": []}})");
  const Reply wrapped = admin.post(
      "/apis/workload.codeflare.dev/v1beta2/namespaces/team-a/appwrappers?dryRun=All", wrapper.dump());
  EXPECT_NE(wrapped.body.find("objects of kind AppWrapper are not for this namespace"), std::string::npos)
      << wrapped.describe();
  // A pod without a queue is its controller's alone to make.
  json pod = pod_of(mine("stray"));
  pod["metadata"].erase("labels");
  pod["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "kubeflow.org/v1"},
                                                     {"kind", "PyTorchJob"},
                                                     {"name", "plain"},
                                                     {"uid", "11111111-0000-4000-8000-000000000001"},
                                                     {"controller", true}}});
  const Reply stray = tenant_->post(pods_in("team-a") + "?dryRun=All", pod.dump());
  EXPECT_NE(stray.body.find("name a queue"), std::string::npos) << stray.describe();
}

}  // namespace
}  // namespace berth::e2e

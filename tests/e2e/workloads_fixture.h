// A cluster of one GPU node with Kueue's kinds and one LocalQueue, and what is read of Workload objects.
#pragma once

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "e2e/berth_fixture.h"

namespace berth::e2e {

using nlohmann::json;

inline constexpr const char* kGroup = "/apis/kueue.x-k8s.io/v1beta2";
inline constexpr const char* kWorkloads = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads";

class WorkloadsTest : public BerthTest {
 protected:
  void create(const std::string& path, const json& body) {
    Reply reply;
    EXPECT_TRUE(
        eventually([&] { return (reply = cluster_->client().post(path, body.dump())).ok(); }, seconds(30)))
        << path << ": " << reply.describe();
  }
  void patch(const std::string& path, const json& body) {
    const auto reply = cluster_->client().patch(path, body.dump(), kMergePatch);
    EXPECT_TRUE(reply.ok()) << path << ": " << reply.describe();
  }
  json get(const std::string& path) const {
    const auto reply = cluster_->client().get(path);
    return reply.ok() ? json::parse(reply.body) : json();
  }
  // One GPU node, and LocalQueue "team" with `gpus` of it.
  void start_with_queue(int gpus, std::optional<std::int64_t> runs_ms, bool kubelets = true) {
    start({.controller_manager = true,
           .kwok = kubelets,
           .service_accounts = true,
           .front_proxy = front_proxy_,
           .job_pod_runs_ms = runs_ms,
           .kubelets_end_pods = kubelets_end_pods_});
    ASSERT_OK(cluster_->create_nodes(1));
    // $BERTH_KUEUE_CRDS: a folder with Kueue's own schemas, whose rules are stricter than ours.
    const char* crds = std::getenv("BERTH_KUEUE_CRDS");
    ASSERT_OK(cluster_->apply(crds != nullptr ? crds : BERTH_SOURCE_DIR "/deploy/crds"));
    create_queue(gpus);
  }
  void create_queue(int gpus) {
    create(std::string(kGroup) + "/resourceflavors", json::parse(R"({
      "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}})"));
    json queue = json::parse(R"({
      "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "cq"},
      "spec": {"namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"}, "resourceGroups": [{
        "coveredResources": ["cpu", "nvidia.com/gpu"],
        "flavors": [{"name": "any", "resources": [
          {"name": "cpu", "nominalQuota": "1000"}, {"name": "nvidia.com/gpu", "nominalQuota": "0"}]}]}]}})");
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][1]["nominalQuota"] = std::to_string(gpus);
    create(std::string(kGroup) + "/clusterqueues", queue);
    create(std::string(kGroup) + "/namespaces/default/localqueues", json::parse(R"({
      "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "team"},
      "spec": {"clusterQueue": "cq"}})"));
  }
  static json pod_spec() {
    return json::parse(R"({"schedulerName": "berth", "restartPolicy": "Never", "containers": [
      {"name": "main", "image": "image", "resources": {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}}]})");
  }
  void create_job(const std::string& name, int pods, const json& labels = json::object(),
                  const json& annotations = json::object()) {
    json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}};
    job["metadata"] = {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
    job["metadata"]["labels"].update(labels);
    job["metadata"]["annotations"] = annotations;
    job["spec"] = {{"parallelism", pods}, {"completions", pods}, {"suspend", true}, {"backoffLimit", 0}};
    job["spec"]["template"]["spec"] = pod_spec();
    create(kJobs, job);
  }
  bool is_suspended(const std::string& name) const {
    return get(std::string(kJobs) + "/" + name)["spec"].value("suspend", false);
  }
  // The Workload of the Job (or of the pod) of this name; null where there is none.
  json workload_of(const std::string& owner) const {
    const json list = get(kWorkloads);
    if (!list.is_object()) return {};
    for (const json& item : list["items"]) {
      for (const json& reference : item["metadata"].value("ownerReferences", json::array())) {
        if (reference["name"] == owner) return item;
      }
    }
    return {};
  }
  std::string path_of(const std::string& owner) const {
    return std::string(kWorkloads) + "/" + workload_of(owner)["metadata"]["name"].get<std::string>();
  }
  // "True Admitted", "False WaitingForQuota", or "" without the condition.
  std::string condition(const std::string& owner, const std::string& type) const {
    return condition_in(workload_of(owner), type);
  }
  static std::string condition_in(const json& object, const std::string& type) {
    if (!object.is_object() || !object.contains("status")) return "";
    for (const json& c : object["status"].value("conditions", json::array())) {
      if (c["type"] == type) return c["status"].get<std::string>() + " " + c["reason"].get<std::string>();
    }
    return "";
  }
  void expect_condition(const std::string& owner, const std::string& type, const std::string& wanted) {
    expect_condition_of(
        owner, [&] { return workload_of(owner); }, type, wanted);
  }
  // For any object, which is read until it holds.
  template <class Read>
  void expect_condition_of(const std::string& name, Read&& read, const std::string& type,
                           const std::string& wanted) {
    EXPECT_TRUE(eventually([&] { return condition_in(read(), type) == wanted; }))
        << name << ": " << type << " is \"" << condition_in(read(), type) << "\", not \"" << wanted << "\"";
  }

  bool front_proxy_ = false;  // of start_with_queue()
  bool kubelets_end_pods_ = false;
};

}  // namespace berth::e2e

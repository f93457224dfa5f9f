#include "cli/fake_cluster_support.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "dialect/base/kind.h"

namespace berth::cli::testing {

namespace fs = std::filesystem;

FakeOptions all_kinds() {
  FakeOptions out;
  out.workloads = true;
  for (const auto& info : dialect::kinds()) {
    const std::string group(info.group);
    if (group.empty() && (info.resource == "pods" || info.resource == "nodes")) continue;
    if (info.resource == "jobs" || info.resource == "clusterqueues") continue;
    if (info.resource == "workloads" && group == "kueue.x-k8s.io") continue;
    std::string version = "v1";
    if (group == "kueue.x-k8s.io") version = "v1beta2";
    if (group == "berth.dev" || group == "scheduling.x-k8s.io" || group == "topology.volcano.sh" ||
        group == "kai.scheduler" || group == "scheduling.sigs.k8s.io")
      version = "v1alpha1";
    if (group == "jobset.x-k8s.io") version = "v1alpha2";
    if (group == "scheduling.volcano.sh") version = "v1beta1";
    if (group == "scheduling.k8s.io" && info.resource == "podgroups") version = "v1beta1";
    if (group == "scheduling.k8s.io" && info.resource == "workloads") version = "v1alpha1";
    if (group == "scheduling.run.ai") version = info.resource == "podgroups" ? "v2alpha2" : "v2";
    out.more_kinds.push_back(
        {group, version, std::string(info.resource), std::string(info.word), info.namespaced});
  }
  out.allows = [](const Json&) { return true; };
  return out;
}

FakeCluster::FakeCluster(FakeOptions options) : api_(std::move(options)) {
  std::string name = (fs::path(::testing::TempDir()) / "berth-cli-XXXXXX").string();
  EXPECT_NE(mkdtemp(name.data()), nullptr);
  folder_ = name;
  std::ofstream(folder_ + "/kubeconfig") << fmt::format(
      "apiVersion: v1\nkind: Config\ncurrent-context: c\n"
      "clusters: [{{name: c, cluster: {{server: {}}}}}]\nusers: [{{name: u, user: {{}}}}]\n"
      "contexts: [{{name: c, context: {{cluster: c, user: u, namespace: team-a}}}}]\n",
      api_.url());
}

FakeCluster::~FakeCluster() {
  fs::remove_all(folder_);
}

ClusterFlags FakeCluster::flags(const std::string& ns) const {
  ClusterFlags out;
  out.kubeconfig = folder_ + "/kubeconfig";
  out.all = ns == "*";
  if (!out.all) out.ns = ns;
  return out;
}

Cluster FakeCluster::connected(const std::string& ns) const {
  auto out = connect(flags(ns));
  EXPECT_TRUE(out.has_value());
  return std::move(*out);
}

void FakeCluster::add_node(const std::string& name, int gpus, Json labels) {
  const Json amounts = {{"cpu", "64"}, {"pods", "110"}, {"nvidia.com/gpu", std::to_string(gpus)}};
  const Json ready = Json::array({{{"type", "Ready"}, {"status", "True"}}});
  api_.create("/api/v1/nodes", Json{{"metadata", {{"name", name}, {"labels", std::move(labels)}}},
                                    {"status", {{"allocatable", amounts}, {"conditions", ready}}}});
}

Json FakeCluster::add_pod(const std::string& name, int gpus, const std::string& node,
                          const std::string& reason, const std::string& why, Json labels) {
  Json pod = {{"metadata", {{"name", name}, {"labels", std::move(labels)}}},
              {"spec",
               {{"schedulerName", "berth"},
                {"containers",
                 Json::array({{{"name", "c"},
                               {"resources", {{"limits", {{"nvidia.com/gpu", std::to_string(gpus)}}}}}}})}}},
              {"status", {{"phase", node.empty() ? "Pending" : "Running"}}}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  if (!reason.empty()) {
    pod["status"]["conditions"] = Json::array({{{"type", "PodScheduled"},
                                                {"status", "False"},
                                                {"reason", reason},
                                                {"message", why},
                                                {"lastTransitionTime", "2026-01-01T00:10:00Z"}}});
  }
  return api_.create("/api/v1/namespaces/team-a/pods", std::move(pod));
}

Json FakeCluster::add_job(const std::string& name, int pods, int gpus, const std::string& queue) {
  const Json container = {{"name", "c"},
                          {"resources", {{"limits", {{"nvidia.com/gpu", std::to_string(gpus)}}}}}};
  const Json spec = {{"schedulerName", "berth"}, {"containers", Json::array({container})}};
  Json job = {
      {"metadata", {{"name", name}, {"labels", {{"berth.dev/queue", queue}}}}},
      {"spec",
       {{"suspend", true}, {"parallelism", pods}, {"completions", pods}, {"template", {{"spec", spec}}}}}};
  return api_.create("/apis/batch/v1/namespaces/team-a/jobs", std::move(job));
}

void FakeCluster::add_event(const std::string& reason, const Json& about, const std::string& note,
                            const std::string& time, const std::string& ns) {
  static int number = 0;
  api_.create("/apis/events.k8s.io/v1/namespaces/" + ns + "/events",
              Json{{"metadata", {{"name", fmt::format("e{}", ++number)}}},
                   {"reportingController", "berth"},
                   {"reason", reason},
                   {"note", note},
                   {"eventTime", time},
                   {"regarding",
                    {{"kind", about.value("kind", "Pod")},
                     {"namespace", about["metadata"]["namespace"]},
                     {"name", about["metadata"]["name"]},
                     {"uid", about["metadata"]["uid"]}}}});
}

void FakeCluster::add_queue(const std::string& name, const Json& spec, const Json& status) {
  Json queue = {{"metadata", {{"name", name}}}, {"spec", spec}};
  if (!status.is_null()) queue["status"] = status;
  api_.create("/apis/berth.dev/v1alpha1/queues", std::move(queue));
}

void FakeCluster::refuse(const std::string& part) {
  api_.add_fault({.contains = part, .times = -1, .status = 403, .message = "refused by the test"});
}

}  // namespace berth::cli::testing

// Teams with queues on a test cluster, and an account of what each namespace holds at every resourceVersion.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "e2e/berth_fixture.h"

namespace berth::e2e {

// The room of the bound, unfinished pods of each group of pods, after every event in the order of the resourceVersions, and whether
// it was ever more than the group's limit. Which group a pod is of is asked once, when it is seen first: what it says of itself
// later changes nothing. Fed from ObserverOfPods::on_pod; read from any thread.
class Accounts {
 public:
  using GroupOf = std::function<std::string(const SeenPod&)>;
  // Limits by group and resource, in units.
  using Limits = std::map<std::string, std::map<std::string, std::int64_t>>;

  Accounts(GroupOf group_of, Limits limits) : group_of_(std::move(group_of)), limits_(std::move(limits)) {}

  void on_pod(const SeenPod& pod, bool deleted) {
    const std::lock_guard lock(mutex_);
    auto [entry, fresh] = pods_.try_emplace(pod.uid);
    Held& held = entry->second;
    if (fresh) held.group = group_of_(pod);
    add(held.group, held.amounts, -1, pod.key);
    held.amounts = !deleted && pod.occupies() ? pod.spec->requests : Amounts{};
    add(held.group, held.amounts, +1, pod.key);
    if (deleted) pods_.erase(entry);
  }

  std::int64_t now(const std::string& group, const std::string& resource) const {
    return look(now_, group, resource);
  }
  std::int64_t highest(const std::string& group, const std::string& resource) const {
    return look(highest_, group, resource);
  }
  // Each excess once, with the pod whose event made it.
  std::vector<std::string> violations() const {
    const std::lock_guard lock(mutex_);
    return violations_;
  }
  std::string str() const { return fmt::format("{}", fmt::join(violations(), "\n  ")); }

 private:
  struct Held {
    std::string group;
    Amounts amounts;  // thousandths
  };
  using Sums = std::map<std::string, std::map<std::string, std::int64_t>>;

  std::int64_t look(const Sums& sums, const std::string& group, const std::string& resource) const {
    const std::lock_guard lock(mutex_);
    const auto at = sums.find(group);
    if (at == sums.end()) return 0;
    const auto amount = at->second.find(resource);
    return amount == at->second.end() ? 0 : amount->second / 1000;
  }

  void add(const std::string& group, const Amounts& amounts, std::int64_t times, const std::string& pod) {
    for (const auto& [resource, amount] : amounts) {
      auto& sum = now_[group][resource];
      sum += times * amount;
      auto& most = highest_[group][resource];
      most = std::max(most, sum);
      if (times < 0) continue;
      const auto limits = limits_.find(group);
      if (limits == limits_.end()) continue;
      const auto limit = limits->second.find(resource);
      if (limit == limits->second.end() || sum <= limit->second * 1000 || violations_.size() >= 50) continue;
      violations_.push_back(fmt::format("{} holds {} thousandths of {} with pod {}, its limit is {}", group,
                                        sum, resource, pod, limit->second));
    }
  }

  GroupOf group_of_;
  Limits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, Held> pods_;
  Sums now_, highest_;
  std::vector<std::string> violations_;
};

inline std::string namespace_of(const SeenPod& pod) {
  return pod.key.substr(0, pod.key.find('/'));
}

// A ClusterQueue of one flavor `any`.
struct TeamQueue {
  std::string name;
  std::int64_t gpus = 0;
  std::int64_t cpus = 1000;
  std::string ns;      // its namespaceSelector; empty: every namespace
  std::string cohort;  // empty: none
  std::int64_t borrowing = -1;
  nlohmann::json preemption = {{"withinClusterQueue", "LowerPriority"}};
};

inline constexpr const char* kKueue = "/apis/kueue.x-k8s.io/v1beta2";

inline nlohmann::json cluster_queue(const TeamQueue& queue) {
  using nlohmann::json;
  json gpus = {{"name", "nvidia.com/gpu"}, {"nominalQuota", std::to_string(queue.gpus)}};
  if (queue.borrowing >= 0) gpus["borrowingLimit"] = std::to_string(queue.borrowing);
  json spec = {
      {"namespaceSelector", queue.ns.empty()
                                ? json::object()
                                : json{{"matchLabels", {{"kubernetes.io/metadata.name", queue.ns}}}}},
      {"preemption", queue.preemption},
      {"resourceGroups",
       json::array(
           {{{"coveredResources", {"cpu", "memory", "nvidia.com/gpu"}},
             {"flavors",
              json::array({{{"name", "any"},
                            {"resources",
                             json::array({{{"name", "cpu"}, {"nominalQuota", std::to_string(queue.cpus)}},
                                          {{"name", "memory"}, {"nominalQuota", "1000Ti"}},
                                          gpus})}}})}}})}};
  if (!queue.cohort.empty()) spec["cohortName"] = queue.cohort;
  return {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
          {"kind", "ClusterQueue"},
          {"metadata", {{"name", queue.name}}},
          {"spec", spec}};
}

inline nlohmann::json local_queue(const std::string& ns, const std::string& name, const std::string& queue) {
  return {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
          {"kind", "LocalQueue"},
          {"metadata", {{"name", name}, {"namespace", ns}}},
          {"spec", {{"clusterQueue", queue}}}};
}

// A Job of `pods` pods of one core and `gpus` GPUs each, all at once.
struct JobOf {
  std::string name;
  std::string ns = "default";
  std::string queue;  // LocalQueue; empty: none
  int pods = 1;
  int gpus = 1;
  bool suspend = true;
  std::string scheduler = "berth";
  std::string priority_class;
  int grace_s = 0;
};

inline nlohmann::json job_json(const JobOf& shape) {
  using nlohmann::json;
  json job = json::parse(R"({
    "apiVersion": "batch/v1", "kind": "Job", "metadata": {"labels": {}},
    "spec": {"backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never", "containers": [
      {"name": "main", "image": "image", "resources": {"requests": {"cpu": "1"}, "limits": {}}}]}}}})");
  job["metadata"]["name"] = shape.name;
  job["metadata"]["namespace"] = shape.ns;
  if (!shape.queue.empty()) job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = shape.queue;
  job["spec"]["parallelism"] = shape.pods;
  job["spec"]["completions"] = shape.pods;
  if (shape.suspend) job["spec"]["suspend"] = true;
  auto& spec = job["spec"]["template"]["spec"];
  spec["terminationGracePeriodSeconds"] = shape.grace_s;
  if (!shape.scheduler.empty()) spec["schedulerName"] = shape.scheduler;
  if (!shape.priority_class.empty()) spec["priorityClassName"] = shape.priority_class;
  spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = std::to_string(shape.gpus);
  return job;
}

class TeamsTest : public BerthTest {
 protected:
  // Posts until it is taken: the kind may have been made a moment ago.
  void create(const std::string& path, const nlohmann::json& body) {
    Reply reply;
    EXPECT_TRUE(
        eventually([&] { return (reply = cluster_->client().post(path, body.dump())).ok(); }, seconds(30)))
        << path << ": " << reply.describe();
  }

  // The kinds of Kueue and coscheduling, and flavor `any`.
  void create_kinds() {
    ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/crds"));
    create(std::string(kKueue) + "/resourceflavors", {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                                                      {"kind", "ResourceFlavor"},
                                                      {"metadata", {{"name", "any"}}},
                                                      {"spec", nlohmann::json::object()}});
  }

  void create_queue(const TeamQueue& queue) {
    create(std::string(kKueue) + "/clusterqueues", cluster_queue(queue));
  }
  void create_local_queue(const std::string& ns, const std::string& name, const std::string& queue) {
    create(fmt::format("{}/namespaces/{}/localqueues", kKueue, ns), local_queue(ns, name, queue));
  }

  static std::string pods_in(const std::string& ns) { return fmt::format("/api/v1/namespaces/{}/pods", ns); }
  static std::string jobs_in(const std::string& ns) {
    return fmt::format("/apis/batch/v1/namespaces/{}/jobs", ns);
  }

  nlohmann::json get(const std::string& path) const {
    const auto reply = cluster_->client().get(path);
    return reply.ok() ? nlohmann::json::parse(reply.body) : nlohmann::json();
  }

  // For the pods whose "namespace/name" starts so.
  std::size_t occupying(const std::string& prefix) const {
    const auto pods = observer_->pods();
    return static_cast<std::size_t>(std::count_if(pods.begin(), pods.end(), [&](const auto& entry) {
      return entry.first.starts_with(prefix) && entry.second.occupies();
    }));
  }
};

}  // namespace berth::e2e

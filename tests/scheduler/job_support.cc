#include "scheduler/job_support.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scheduler/world_support.h"

namespace berth::scheduler::testing {

using nlohmann::json;

std::string job_json(const JobText& job, int version) {
  const json amounts = {{"cpu", "1"}, {"nvidia.com/gpu", std::to_string(job.gpus)}};
  json out = {{"apiVersion", "batch/v1"}, {"kind", "Job"}};
  out["metadata"] = {{"name", job.name},
                     {"namespace", "default"},
                     {"uid", uid_of(job.name)},
                     {"generation", job.generation},
                     {"resourceVersion", std::to_string(version)},
                     {"creationTimestamp", "2026-01-01T00:00:00Z"}};
  if (!job.queue.empty()) out["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", job.queue}};
  if (!job.owner.empty()) {
    out["metadata"]["ownerReferences"] =
        json::array({{{"kind", job.owner}, {"name", "owner"}, {"uid", "owner"}, {"controller", true}}});
  }
  out["spec"] = {{"parallelism", job.pods}, {"completions", job.pods}, {"suspend", job.suspend}};
  if (!job.managed_by.empty()) out["spec"]["managedBy"] = job.managed_by;
  out["spec"]["template"]["metadata"]["labels"] = {{"batch.kubernetes.io/controller-uid", uid_of(job.name)}};
  out["spec"]["template"]["spec"] = {
      {"schedulerName", job.scheduler},
      {"priority", job.priority},
      {"containers",
       json::array({{{"name", "main"}, {"resources", {{"requests", amounts}, {"limits", amounts}}}}})}};
  return out.dump();
}

std::string job_pod(const JobText& job, int index, const std::string& node, bool deleting, int gpus) {
  json pod = json::parse(pod_json({.name = fmt::format("{}-{}", job.name, index),
                                   .node = node,
                                   .priority = job.priority,
                                   .gpus = gpus > 0 ? gpus : job.gpus,
                                   .deleting = deleting},
                                  1));
  pod["metadata"]["ownerReferences"] =
      json::array({{{"kind", "Job"}, {"name", job.name}, {"uid", uid_of(job.name)}, {"controller", true}}});
  // The additions of the API server's admission to every pod.
  pod["spec"]["tolerations"] = json::array(
      {{{"key", "node.kubernetes.io/not-ready"}, {"operator", "Exists"}, {"effect", "NoExecute"}}});
  return pod.dump();
}

}  // namespace berth::scheduler::testing

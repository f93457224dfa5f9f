// Kinds of other projects' jobs (kinds_fixture.h): an object of each, as small as their projects show it or as production has it.
// Each says how its own controller tells that all is well. Each pod has one GPU.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "e2e/kinds_fixture.h"

namespace berth::e2e {

inline constexpr const char* kTrainJobs = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/default/trainjobs";

// No pod of Kubeflow's jobs has failed or was started anew, in any of its roles.
inline bool nothing_failed(const json& object) {
  if (!object.is_object()) return false;
  const json status = object.value("status", json::object());
  for (const json& condition : status.value("conditions", json::array())) {
    if (condition["type"] == "Restarting") return false;
  }
  for (const json& role : status.value("replicaStatuses", json::object())) {
    if (role.value("failed", 0) != 0) return false;
  }
  return !KindsTest::has(object, "Failed");
}

struct Role {
  std::string name;
  int pods = 1;
};

// A framework of Kubeflow's training-operator.
struct Framework {
  std::string kind;
  std::string field;      // of its roles
  std::string container;  // its name for the main one
  std::vector<Role> roles;
  std::string ends = {};  // the role whose end is the job's; empty: each
};

inline JudgedKind training(const Framework& framework, const std::string& claim = "") {
  JudgedKind out;
  std::string plural = framework.kind + "s";
  std::transform(plural.begin(), plural.end(), plural.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  out.path = "/apis/kubeflow.org/v1/namespaces/default/" + plural;
  for (const auto& role : framework.roles) out.pods += static_cast<std::size_t>(role.pods);
  out.body = [framework, claim](const std::string& name, const std::string& priority_class) {
    json body = KindsTest::object("kubeflow.org/v1", framework.kind, name);
    body["spec"]["runPolicy"]["suspend"] = true;
    for (const auto& role : framework.roles) {
      json pod = KindsTest::spec_of_pod(priority_class, framework.container);
      if (!claim.empty()) {
        pod = KindsTest::with_data(pod, claim);
        // Where its users set it for all pods.
        pod.erase("priorityClassName");
        body["spec"]["runPolicy"]["schedulingPolicy"]["priorityClass"] = priority_class;
        body["spec"]["runPolicy"]["cleanPodPolicy"] = "Running";
      }
      body["spec"][framework.field][role.name] = {
          {"replicas", role.pods}, {"restartPolicy", "OnFailure"}, {"template", {{"spec", pod}}}};
    }
    return body;
  };
  out.suspended = [](const json& o) { return KindsTest::has(o, "Suspended"); };
  out.well = nothing_failed;
  out.ends = framework.ends;
  out.done = [](const json& o) { return KindsTest::has(o, "Succeeded"); };
  return out;
}

// An MPIJob. `later`: its launcher is made when the workers run.
inline JudgedKind mpi(int workers, bool later = false, const std::string& claim = "") {
  JudgedKind out;
  out.path = "/apis/kubeflow.org/v2beta1/namespaces/default/mpijobs";
  out.pods = static_cast<std::size_t>(workers) + 1;
  out.body = [=](const std::string& name, const std::string& priority_class) {
    json body = KindsTest::object("kubeflow.org/v2beta1", "MPIJob", name);
    const auto role = [&](const std::string& container, int pods) {
      json pod = KindsTest::spec_of_pod(priority_class, container);
      if (!claim.empty()) pod = KindsTest::with_data(pod, claim);
      return json{{"replicas", pods}, {"template", {{"spec", pod}}}};
    };
    body["spec"]["slotsPerWorker"] = 1;
    body["spec"]["runPolicy"] = {{"cleanPodPolicy", "Running"}, {"suspend", true}};
    if (later) body["spec"]["launcherCreationPolicy"] = "WaitForWorkersReady";
    body["spec"]["mpiReplicaSpecs"] = {{"Launcher", role("mpi-launcher", 1)},
                                       {"Worker", role("mpi-worker", workers)}};
    return body;
  };
  out.suspended = [](const json& o) { return KindsTest::has(o, "Suspended"); };
  out.well = nothing_failed;
  out.ends = "-launcher-";
  out.done = [](const json& o) { return KindsTest::has(o, "Succeeded"); };
  return out;
}

// A runtime of Kubeflow Trainer, as its project's "torch-distributed".
inline json torch_runtime(const std::string& name, json pod) {
  json job = {{"name", "node"}};
  job["template"]["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"] = "trainer";
  job["template"]["spec"]["template"]["spec"] = std::move(pod);
  json out = {{"apiVersion", "trainer.kubeflow.org/v1alpha1"}, {"kind", "ClusterTrainingRuntime"}};
  out["metadata"] = {{"name", name}, {"labels", {{"trainer.kubeflow.org/framework", "torch"}}}};
  out["spec"]["mlPolicy"] = {{"numNodes", 1}, {"torch", json::object()}};
  out["spec"]["template"]["spec"]["replicatedJobs"] = json::array({job});
  return out;
}
// Its runtimes are "low" and "high", for pods of these priorities.
inline JudgedKind train(int nodes) {
  JudgedKind out;
  out.path = kTrainJobs;
  out.pods = static_cast<std::size_t>(nodes);
  out.body = [=](const std::string& name, const std::string& priority_class) {
    json body = KindsTest::object("trainer.kubeflow.org/v1alpha1", "TrainJob", name);
    body["spec"] = {{"suspend", true}, {"runtimeRef", {{"name", priority_class}}}};
    body["spec"]["trainer"]["numNodes"] = nodes;
    return body;
  };
  out.suspended = [](const json& o) { return KindsTest::has(o, "Suspended"); };
  out.well = [](const json& o) { return o.is_object() && !KindsTest::has(o, "Failed"); };
  out.done = [](const json& o) { return KindsTest::has(o, "Complete"); };
  return out;
}

// A LeaderWorkerSet of one group. `leader_ready`: its workers are made when the leader is ready.
inline JudgedKind leader_worker(int size, bool leader_ready = false, const std::string& claim = "") {
  JudgedKind out;
  out.path = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets";
  out.pods = static_cast<std::size_t>(size);
  out.body = [=](const std::string& name, const std::string& priority_class) {
    json body = KindsTest::object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", name);
    json pod = KindsTest::spec_of_pod(priority_class);
    body["spec"] = {{"replicas", 1}, {"leaderWorkerTemplate", {{"size", size}}}};
    json& templates = body["spec"]["leaderWorkerTemplate"];
    templates["workerTemplate"]["spec"] = pod;
    if (!claim.empty()) templates["leaderTemplate"]["spec"] = KindsTest::with_data(pod, claim);
    if (leader_ready) body["spec"]["startupPolicy"] = "LeaderReady";
    return body;
  };
  // Its groups are made anew whenever a pod of them has gone: it counts no tries.
  out.well = [](const json& o) { return o.is_object() && o["metadata"]["generation"] == 1; };
  return out;
}

// A leader, and two Jobs of two workers. No pod may fail.
inline JudgedKind job_set() {
  JudgedKind out;
  out.path = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets";
  out.pods = 5;
  out.body = [](const std::string& name, const std::string& priority_class) {
    json body = KindsTest::object("jobset.x-k8s.io/v1alpha2", "JobSet", name);
    const auto jobs = [&](const std::string& what, int replicas, int pods) {
      json job = {{"name", what}, {"replicas", replicas}};
      job["template"]["spec"] = {{"parallelism", pods}, {"completions", pods}, {"backoffLimit", 0}};
      job["template"]["spec"]["template"]["spec"] = KindsTest::spec_of_pod(priority_class, "main", "Never");
      return job;
    };
    body["spec"] = {{"suspend", true}, {"failurePolicy", {{"maxRestarts", 0}}}};
    body["spec"]["replicatedJobs"] = {jobs("leader", 1, 1), jobs("workers", 2, 2)};
    return body;
  };
  out.suspended = [](const json& o) { return KindsTest::has(o, "Suspended"); };
  out.well = [](const json& o) {
    return o.is_object() && !KindsTest::has(o, "Failed") &&
           o.value("status", json::object()).value("restarts", 0) == 0;
  };
  out.done = [](const json& o) { return KindsTest::has(o, "Completed"); };
  return out;
}

// A head, and a group of workers.
inline json ray_cluster_spec(const std::string& priority_class, int workers) {
  const json head = {{"rayStartParams", json::object()},
                     {"template", {{"spec", KindsTest::spec_of_pod(priority_class, "ray-head")}}}};
  json group = {{"groupName", "gpu"},
                {"replicas", workers},
                {"minReplicas", 0},
                {"maxReplicas", 10},
                {"rayStartParams", json::object()}};
  group["template"]["spec"] = KindsTest::spec_of_pod(priority_class, "ray-worker");
  return {{"rayVersion", "2.52.0"}, {"headGroupSpec", head}, {"workerGroupSpecs", json::array({group})}};
}
inline std::string state_of(const json& object, const char* field) {
  return object.is_object() && object.contains("status") ? object["status"].value(field, "") : "";
}
inline JudgedKind ray_cluster(int workers) {
  JudgedKind out;
  out.path = "/apis/ray.io/v1/namespaces/default/rayclusters";
  out.pods = static_cast<std::size_t>(workers) + 1;
  out.body = [=](const std::string& name, const std::string& priority_class) {
    json body = KindsTest::object("ray.io/v1", "RayCluster", name);
    body["spec"] = ray_cluster_spec(priority_class, workers);
    body["spec"]["suspend"] = true;
    return body;
  };
  out.suspended = [](const json& o) { return state_of(o, "state") == "suspended"; };
  out.well = [](const json& o) {
    return o.is_object() && state_of(o, "state") != "failed" && state_of(o, "reason").empty();
  };
  return out;
}

}  // namespace berth::e2e

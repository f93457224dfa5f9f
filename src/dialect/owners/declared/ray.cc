// Ray (KubeRay): clusters, and jobs and services that make a cluster for themselves.
#include <string>
#include <string_view>

#include "dialect/owners/declared/built_in.h"

namespace berth::dialect {
namespace {

// Suspended, a RayCluster loses all of its pods, and a RayJob its cluster and its submitter. The submitter of a RayJob comes when the
// cluster is ready: the gang starts without it, and its place is kept. Without a template of its user it is KubeRay's own.
// A worker group has replicas within its bounds, whatever it asks for, and none while it is suspended.
// With the autoscaler a worker group may be smaller than it asks for, down to minReplicas. KubeRay adds containers of its own to head and
// workers, which count before there are pods.
//
// The pods of a cluster, whose spec stands at `@`. `%`: whether it may lack a head.
constexpr std::string_view kPodsOfCluster = R"(      - name: head
        at: @.headGroupSpec
        optional: %
        count: 1
        adds:
          - name: autoscaler
            when: {at: @.enableInTreeAutoscaling, words: ['true']}
            resourcesAt: @.autoscalerOptions.resources
            resources: {requests: {cpu: 500m, memory: 512Mi}, limits: {cpu: 500m, memory: 512Mi}}
        labels: {ray.io/node-type: head}
      - each: @.workerGroupSpecs
        nameAt: .groupName
        count: {at: .replicas, otherwise: 0, least: .minReplicas, most: .maxReplicas}
        when: {at: .suspend, words: ['false'], absent: true}
        times: [{at: .numOfHosts}]
        minimum: .minReplicas
        minimumWhen: {at: @.enableInTreeAutoscaling, words: ['true']}
        adds:
          - name: wait-gcs-ready
            init: true
            resources: {requests: {cpu: 200m, memory: 256Mi}, limits: {cpu: 200m, memory: 256Mi}}
        labels: {ray.io/node-type: worker, ray.io/group: $name}
)";

// `pods: PATH OPTIONAL` stands for these.
constexpr std::string_view kKindsOfRay = R"(
apiVersion: berth.dev/v1alpha1
kind: OwnerKinds
kinds:
  - apiVersion: ray.io/v1
    kind: RayCluster
    resource: rayclusters
    description: A Ray cluster of a head and groups of workers.
    suspend: spec.suspend
    managedBy: {at: spec.managedBy, own: [ray.io/kuberay-operator]}
    ready: {at: status.state, words: [ready]}
    pods: spec false
  - apiVersion: ray.io/v1
    kind: RayJob
    resource: rayjobs
    description: A job on a Ray cluster of its own.
    suspend: spec.suspend
    suspendWhen: {at: spec.shutdownAfterJobFinishes, words: ['true']}
    managedBy: {at: spec.managedBy, own: [ray.io/kuberay-operator]}
    ready: {at: status.jobDeploymentStatus, words: [Running, Waiting]}
    completed: {at: status.jobDeploymentStatus, words: [Complete]}
    failed: {at: status.jobDeploymentStatus, words: [Failed]}
    pods: spec.rayClusterSpec true
      - name: submitter
        count: 1
        later: true
        when: {at: spec.submissionMode, words: [K8sJobMode], absent: true}
        template: spec.submitterPodTemplate
        defaultTemplate:
          spec:
            containers:
              - name: ray-job-submitter
                resources: {requests: {cpu: 500m, memory: 200Mi}, limits: {cpu: '1', memory: 1Gi}}
  - apiVersion: ray.io/v1
    kind: RayService
    resource: rayservices
    work: service
    description: A service on a Ray cluster of its own.
    suspend: spec.rayClusterConfig.suspend
    managedBy: {at: spec.managedBy, own: [ray.io/kuberay-operator]}
    ready: {conditions: [Ready]}
    pods: spec.rayClusterConfig false
)";

std::string with_pods(std::string_view kinds) {
  static constexpr std::string_view kPods = "    pods: ";
  std::string out;
  for (std::size_t at = 0; at < kinds.size();) {
    const auto end = kinds.find('\n', at);
    const std::string_view line = kinds.substr(at, end - at);
    at = end + 1;
    const auto space = line.rfind(' ');
    if (!line.starts_with(kPods) || space < kPods.size()) {
      out.append(line).append("\n");
      continue;
    }
    out.append("    pods:\n");
    for (const char c : kPodsOfCluster) {
      if (c == '@') {
        out.append(line.substr(kPods.size(), space - kPods.size()));
      } else if (c == '%') {
        out.append(line.substr(space + 1));
      } else {
        out.push_back(c);
      }
    }
  }
  return out;
}

}  // namespace

std::string_view declared_ray() {
  static const std::string text = with_pods(kKindsOfRay);
  return text;
}

}  // namespace berth::dialect

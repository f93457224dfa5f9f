// Ray (KubeRay): clusters, and jobs and services that make a cluster for themselves.
#include "dialect/owners/declared/built_in.h"

namespace berth::dialect {
namespace {

// Suspended, a RayCluster loses all of its pods, and a RayJob its cluster and its submitter. The submitter of a RayJob comes when the
// cluster is ready: the gang starts without it, and its place is kept. Without a template of its user it is KubeRay's own. With SidecarMode
// it is a container of the head. A RayJob that selects a cluster makes none, whatever stands in its rayClusterSpec, and KubeRay refuses its
// switch. KubeRay 1.6 keeps the switch of a RayService's cluster as rayClusterConfig says. KubeRay 1.7 does so when it makes the cluster, and
// then leaves that switch to the queueing system. Its spec.suspend is the user's: then the service has no cluster, and no pods.
// A worker group has replicas within its bounds, whatever it asks for, and none while it is suspended.
// With the autoscaler a worker group may be smaller than it asks for, down to minReplicas. KubeRay adds containers of its own to head and
// workers, which count before there are pods.
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
    pods:
      - name: head
        at: spec.headGroupSpec
        count: 1
        adds:
          - name: autoscaler
            when: {at: spec.enableInTreeAutoscaling, words: ['true']}
            resourcesAt: spec.autoscalerOptions.resources
            resources: {requests: {cpu: 500m, memory: 512Mi}, limits: {cpu: 500m, memory: 512Mi}}
        labels: {ray.io/node-type: head}
      - each: spec.workerGroupSpecs
        nameAt: .groupName
        count: {at: .replicas, otherwise: 0, least: .minReplicas, most: .maxReplicas}
        when: {at: .suspend, words: ['false'], absent: true}
        times: [{at: .numOfHosts}]
        minimum: .minReplicas
        minimumWhen: {at: spec.enableInTreeAutoscaling, words: ['true']}
        adds:
          - name: wait-gcs-ready
            init: true
            resources: {requests: {cpu: 200m, memory: 256Mi}, limits: {cpu: 200m, memory: 256Mi}}
        labels: {ray.io/node-type: worker, ray.io/group: $name}
  - apiVersion: ray.io/v1
    kind: RayJob
    resource: rayjobs
    description: A job on a Ray cluster of its own.
    suspend: spec.suspend
    suspendWhen:
      - {at: spec.shutdownAfterJobFinishes, words: ['true']}
      - {at: spec.clusterSelector, absent: true}
    managedBy: {at: spec.managedBy, own: [ray.io/kuberay-operator]}
    ready: {at: status.jobDeploymentStatus, words: [Running, Waiting]}
    completed: {at: status.jobDeploymentStatus, words: [Complete]}
    failed: {at: status.jobDeploymentStatus, words: [Failed]}
    pods:
      - name: head
        at: spec.rayClusterSpec.headGroupSpec
        optional: true
        count: 1
        when: {at: spec.clusterSelector, absent: true}
        adds:
          - name: autoscaler
            when: {at: spec.rayClusterSpec.enableInTreeAutoscaling, words: ['true']}
            resourcesAt: spec.rayClusterSpec.autoscalerOptions.resources
            resources: {requests: {cpu: 500m, memory: 512Mi}, limits: {cpu: 500m, memory: 512Mi}}
          - name: ray-job-submitter
            when: {at: spec.submissionMode, words: [SidecarMode]}
            resources: {requests: {cpu: 500m, memory: 200Mi}, limits: {cpu: '1', memory: 1Gi}}
        labels: {ray.io/node-type: head}
      - each: spec.rayClusterSpec.workerGroupSpecs
        nameAt: .groupName
        count: {at: .replicas, otherwise: 0, least: .minReplicas, most: .maxReplicas}
        when:
          - {at: spec.clusterSelector, absent: true}
          - {at: .suspend, words: ['false'], absent: true}
        times: [{at: .numOfHosts}]
        minimum: .minReplicas
        minimumWhen: {at: spec.rayClusterSpec.enableInTreeAutoscaling, words: ['true']}
        adds:
          - name: wait-gcs-ready
            init: true
            resources: {requests: {cpu: 200m, memory: 256Mi}, limits: {cpu: 200m, memory: 256Mi}}
        labels: {ray.io/node-type: worker, ray.io/group: $name}
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
    suspendOwned: true
    furtherAreGangs: true
    pods:
      - name: head
        at: spec.rayClusterConfig.headGroupSpec
        count: 1
        when: {at: spec.suspend, words: ['false'], absent: true}
        adds:
          - name: autoscaler
            when: {at: spec.rayClusterConfig.enableInTreeAutoscaling, words: ['true']}
            resourcesAt: spec.rayClusterConfig.autoscalerOptions.resources
            resources: {requests: {cpu: 500m, memory: 512Mi}, limits: {cpu: 500m, memory: 512Mi}}
        labels: {ray.io/node-type: head}
      - each: spec.rayClusterConfig.workerGroupSpecs
        nameAt: .groupName
        count: {at: .replicas, otherwise: 0, least: .minReplicas, most: .maxReplicas}
        when:
          - {at: spec.suspend, words: ['false'], absent: true}
          - {at: .suspend, words: ['false'], absent: true}
        times: [{at: .numOfHosts}]
        minimum: .minReplicas
        minimumWhen: {at: spec.rayClusterConfig.enableInTreeAutoscaling, words: ['true']}
        adds:
          - name: wait-gcs-ready
            init: true
            resources: {requests: {cpu: 200m, memory: 256Mi}, limits: {cpu: 200m, memory: 256Mi}}
        labels: {ray.io/node-type: worker, ray.io/group: $name}
)";

}  // namespace

std::string_view declared_ray() {
  return kKindsOfRay;
}

}  // namespace berth::dialect

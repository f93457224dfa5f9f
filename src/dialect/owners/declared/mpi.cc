// The MPI operator (v2beta1): a launcher, which is a Job of the MPIJob, and workers.
#include "dialect/owners/declared/built_in.h"

namespace berth::dialect {
namespace {

// Suspended, an MPIJob loses its workers, and its launcher's Job is suspended. With WaitForWorkersReady the launcher comes when the
// workers run: the gang starts without it, and its place is kept.
//
// The training-operator serves the same kind as v1, never beside the other. Its pods have other labels, and its launcher an init container.
// Berth writes to v2beta1 alone, so that an object of v1 has no switch.
constexpr std::string_view kKindsOfMpi = R"(
apiVersion: berth.dev/v1alpha1
kind: OwnerKinds
kinds:
  - apiVersion: kubeflow.org/v2beta1
    kind: MPIJob
    resource: mpijobs
    description: MPI training of a launcher and workers.
    work: training
    suspend: spec.runPolicy.suspend
    suspendWhen: {at: apiVersion, words: [kubeflow.org/v2beta1], absent: true}
    managedBy: {at: spec.runPolicy.managedBy, own: [kubeflow.org/mpi-operator, kubeflow.org/training-operator]}
    minimum: spec.runPolicy.schedulingPolicy.minAvailable
    priorityClass: spec.runPolicy.schedulingPolicy.priorityClass
    completed: {conditions: [Succeeded]}
    failed: {conditions: [Failed]}
    ready: {conditions: [Running]}
    pods:
      - name: launcher
        at: spec.mpiReplicaSpecs.Launcher
        count: 1
        when: {at: apiVersion, words: [kubeflow.org/v2beta1], absent: true}
        laterWhen: {at: spec.launcherCreationPolicy, words: [WaitForWorkersReady]}
        labels: {training.kubeflow.org/job-role: launcher}
      - name: worker
        at: spec.mpiReplicaSpecs.Worker
        optional: true
        count: {at: .replicas, otherwise: 0}
        when: {at: apiVersion, words: [kubeflow.org/v2beta1], absent: true}
        labels: {training.kubeflow.org/job-role: worker}
        index: training.kubeflow.org/replica-index
      - name: launcher
        at: spec.mpiReplicaSpecs.Launcher
        count: 1
        when: {at: apiVersion, words: [kubeflow.org/v1]}
        adds:
          - name: kubectl-delivery
            init: true
            resources:
              requests: {cpu: 100m, memory: 512Mi, ephemeral-storage: 5Gi}
              limits: {cpu: 100m, memory: 512Mi, ephemeral-storage: 5Gi}
        labels: {training.kubeflow.org/replica-type: launcher}
      - name: worker
        at: spec.mpiReplicaSpecs.Worker
        optional: true
        count: {at: .replicas, otherwise: 0}
        when: {at: apiVersion, words: [kubeflow.org/v1]}
        labels: {training.kubeflow.org/replica-type: worker}
        index: training.kubeflow.org/replica-index
)";

}  // namespace

std::string_view declared_mpi() {
  return kKindsOfMpi;
}

}  // namespace berth::dialect

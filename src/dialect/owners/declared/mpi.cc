// The MPI operator (v2beta1): a launcher, which is a Job of the MPIJob, and workers.
#include "dialect/owners/declared/built_in.h"

namespace berth::dialect {
namespace {

// Suspended, an MPIJob loses its workers, and its launcher's Job is suspended. With WaitForWorkersReady the launcher comes when the
// workers run: the gang starts without it, and its place is kept. The training-operator has an MPIJob of version v1, with other labels.
constexpr std::string_view kKindsOfMpi = R"(
apiVersion: berth.dev/v1alpha1
kind: OwnerKinds
kinds:
  - apiVersion: kubeflow.org/v2beta1
    kind: MPIJob
    onlyVersion: true
    resource: mpijobs
    description: MPI training of a launcher and workers.
    work: training
    suspend: spec.runPolicy.suspend
    managedBy: {at: spec.runPolicy.managedBy, own: [kubeflow.org/mpi-operator]}
    minimum: spec.runPolicy.schedulingPolicy.minAvailable
    priorityClass: spec.runPolicy.schedulingPolicy.priorityClass
    completed: {conditions: [Succeeded]}
    failed: {conditions: [Failed]}
    ready: {conditions: [Running]}
    pods:
      - name: launcher
        at: spec.mpiReplicaSpecs.Launcher
        count: 1
        laterWhen: {at: spec.launcherCreationPolicy, words: [WaitForWorkersReady]}
        labels: {training.kubeflow.org/job-role: launcher}
      - name: worker
        at: spec.mpiReplicaSpecs.Worker
        optional: true
        count: {at: .replicas, otherwise: 0}
        labels: {training.kubeflow.org/job-role: worker}
        index: training.kubeflow.org/replica-index
)";

}  // namespace

std::string_view declared_mpi() {
  return kKindsOfMpi;
}

}  // namespace berth::dialect

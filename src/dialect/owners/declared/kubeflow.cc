// Kubeflow's training-operator (v1): one kind for each framework, alike but for the names of their roles.
#include "dialect/owners/declared/built_in.h"

namespace berth::dialect {
namespace {

// Suspended, such a job loses its pods and keeps its retries. Its roles are pod sets; a role that the job lacks has no pods.
// schedulingPolicy.minAvailable is how many pods start together, in all. An elastic PyTorchJob starts with minReplicas workers. The operator
// adds an init container to the workers of a PyTorchJob with a master, in which they wait for it.
constexpr std::string_view kKindsOfKubeflow = R"(
apiVersion: berth.dev/v1alpha1
kind: OwnerKinds
kinds:
  - &job
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    resource: pytorchjobs
    description: PyTorch training of a master and workers.
    work: training
    suspend: spec.runPolicy.suspend
    managedBy: {at: spec.runPolicy.managedBy, own: [kubeflow.org/training-operator]}
    minimum: spec.runPolicy.schedulingPolicy.minAvailable
    priorityClass: spec.runPolicy.schedulingPolicy.priorityClass
    completed: {conditions: [Succeeded]}
    failed: {conditions: [Failed]}
    ready: {conditions: [Running]}
    pods:
      - name: master
        at: spec.pytorchReplicaSpecs.Master
        optional: true
        count: .replicas
        labels: {training.kubeflow.org/replica-type: master}
        index: training.kubeflow.org/replica-index
      - name: worker
        at: spec.pytorchReplicaSpecs.Worker
        optional: true
        count: .replicas
        minimum: spec.elasticPolicy.minReplicas
        adds:
          - name: init-pytorch
            init: true
            when: {at: spec.pytorchReplicaSpecs.Master, present: true}
            resources: {requests: {cpu: 50m, memory: 10Mi}, limits: {cpu: 100m, memory: 20Mi}}
        labels: {training.kubeflow.org/replica-type: worker}
        index: training.kubeflow.org/replica-index
  - <<: *job
    kind: TFJob
    resource: tfjobs
    description: TensorFlow training, with parameter servers or without.
    pods:
      - name: chief
        at: spec.tfReplicaSpecs.Chief
        optional: true
        count: .replicas
        labels: {training.kubeflow.org/replica-type: chief}
        index: training.kubeflow.org/replica-index
      - name: master
        at: spec.tfReplicaSpecs.Master
        optional: true
        count: .replicas
        labels: {training.kubeflow.org/replica-type: master}
        index: training.kubeflow.org/replica-index
      - name: ps
        at: spec.tfReplicaSpecs.PS
        optional: true
        count: .replicas
        labels: {training.kubeflow.org/replica-type: ps}
        index: training.kubeflow.org/replica-index
      - name: worker
        at: spec.tfReplicaSpecs.Worker
        optional: true
        count: .replicas
        labels: {training.kubeflow.org/replica-type: worker}
        index: training.kubeflow.org/replica-index
      - name: evaluator
        at: spec.tfReplicaSpecs.Evaluator
        optional: true
        count: .replicas
        labels: {training.kubeflow.org/replica-type: evaluator}
        index: training.kubeflow.org/replica-index
  - <<: *job
    kind: XGBoostJob
    resource: xgboostjobs
    description: XGBoost training of a master and workers.
    pods:
      - name: master
        at: spec.xgbReplicaSpecs.Master
        optional: true
        count: .replicas
        labels: {training.kubeflow.org/replica-type: master}
        index: training.kubeflow.org/replica-index
      - name: worker
        at: spec.xgbReplicaSpecs.Worker
        optional: true
        count: .replicas
        labels: {training.kubeflow.org/replica-type: worker}
        index: training.kubeflow.org/replica-index
  - <<: *job
    kind: PaddleJob
    resource: paddlejobs
    description: PaddlePaddle training of a master and workers.
    pods:
      - name: master
        at: spec.paddleReplicaSpecs.Master
        optional: true
        count: .replicas
        labels: {training.kubeflow.org/replica-type: master}
        index: training.kubeflow.org/replica-index
      - name: worker
        at: spec.paddleReplicaSpecs.Worker
        optional: true
        count: .replicas
        labels: {training.kubeflow.org/replica-type: worker}
        index: training.kubeflow.org/replica-index
  - <<: *job
    kind: JAXJob
    resource: jaxjobs
    description: JAX training of workers.
    pods:
      - name: worker
        at: spec.jaxReplicaSpecs.Worker
        count: .replicas
        labels: {training.kubeflow.org/replica-type: worker}
        index: training.kubeflow.org/replica-index
  - apiVersion: trainer.kubeflow.org/v1alpha1
    kind: TrainJob
    resource: trainjobs
    description: Training by a runtime of Kubeflow Trainer, on a JobSet that the TrainJob makes.
    work: training
    suspend: spec.suspend
    managedBy: {at: spec.managedBy, own: [trainer.kubeflow.org/trainjob-controller]}
    completed: {conditions: [Complete]}
    failed: {conditions: [Failed]}
    podsOfOwned: true
)";

}  // namespace

std::string_view declared_kubeflow() {
  return kKindsOfKubeflow;
}

}  // namespace berth::dialect

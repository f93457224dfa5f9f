// SparkApplication (Kubeflow's Spark operator): a driver, and the executors that it makes.
#include "dialect/owners/declared/built_in.h"

namespace berth::dialect {
namespace {

// The driver makes the executors once it runs, so that the gang starts without them, and their places are kept. Suspended, an application
// loses its driver, and the executors with it. With dynamic allocation it begins with as many executors as it says, and others join them.
// The operator runs spark-submit for the driver's pod, a program of Java: half a minute on a busy machine.
constexpr std::string_view kKindsOfSpark = R"(
apiVersion: berth.dev/v1alpha1
kind: OwnerKinds
kinds:
  - apiVersion: sparkoperator.k8s.io/v1beta2
    kind: SparkApplication
    resource: sparkapplications
    description: A Spark application of a driver and executors.
    suspend: spec.suspend
    podsWithin: 5m
    ready: {at: status.applicationState.state, words: [RUNNING]}
    completed: {at: status.applicationState.state, words: [COMPLETED]}
    failed: {at: status.applicationState.state, words: [FAILED]}
    podsOfPods: sparkoperator.k8s.io/app-name
    pods:
      - name: driver
        at: spec.driver
        form: spark
        labels: {spark-role: driver}
      - name: executor
        at: spec.executor
        form: spark
        count: .instances
        when: {at: spec.dynamicAllocation.enabled, words: ['false'], absent: true}
        later: true
        labels: {spark-role: executor}
      - name: executor
        at: spec.executor
        form: spark
        count: {at: spec.dynamicAllocation.initialExecutors, otherwise: 0, least: spec.dynamicAllocation.minExecutors}
        when: {at: spec.dynamicAllocation.enabled, words: ['true']}
        later: true
        labels: {spark-role: executor}
)";

}  // namespace

std::string_view declared_spark() {
  return kKindsOfSpark;
}

}  // namespace berth::dialect

// Misspelt fields of the kinds that operators serve (Ray, Kubeflow, Spark, LeaderWorkerSet, AppWrapper), down into their pod templates.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "dialect/known/misspelt_support.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::messages;

std::string object(const std::string& version, const std::string& kind, const std::string& spec) {
  return "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: x}, spec: {" + spec + "}}";
}

// A role that is not one of its kind would be left out of the gang without a word.
TEST(MisspeltKinds, RolesOfTrainingAreNamed) {
  EXPECT_THAT(messages(object("kubeflow.org/v1", "PyTorchJob",
                              "pytorchReplicaSpecs: {Master: {}, worker: {replicas: 2}}")),
              ElementsAre(HasSubstr("spec.pytorchReplicaSpecs.worker: unknown field; did you mean Worker?")));
  EXPECT_THAT(messages(object("kubeflow.org/v1", "TFJob", "tfReplicaSpecs: {Eval: {}}")),
              ElementsAre(HasSubstr("spec.tfReplicaSpecs.Eval: unknown field; did you mean Evaluator?")));
  EXPECT_THAT(messages(object("kubeflow.org/v2beta1", "MPIJob", "mpiReplicaSpecs: {Workers: {}}")),
              ElementsAre(HasSubstr("did you mean Worker?")));
}

// A mark that is not read would keep no group together.
TEST(MisspeltKinds, MarksOfLeaderWorkerSetsAreNamed) {
  const auto marked = [](const std::string& mark) {
    return messages(
        "{apiVersion: leaderworkerset.x-k8s.io/v1, kind: LeaderWorkerSet, metadata: {name: x, annotations: "
        "{leaderworkerset.sigs.k8s.io/" +
        mark + ": rack}}, spec: {}}");
  };
  EXPECT_THAT(marked("exclusive-topolgy"),
              ElementsAre(HasSubstr("did you mean leaderworkerset.sigs.k8s.io/exclusive-topology?")));
  EXPECT_THAT(marked("subgroup-exclusive-topology"), IsEmpty());
}

TEST(MisspeltKinds, EachHasItsTable) {
  const std::string ray = "ray.io/v1", kubeflow = "kubeflow.org/v1";
  const std::vector<std::pair<std::string, const char*>> cases = {
      {object(ray, "RayCluster", "workerGroupSpecs: [{replica: 2}]"), "did you mean replicas?"},
      {object(ray, "RayCluster",
              "headGroupSpec: {template: {spec: {containers: [{name: c, resource: {}}]}}}"),
       "did you mean resources?"},
      {object(ray, "RayJob", "rayClusterSpec: {workerGroupSpec: []}"), "did you mean workerGroupSpecs?"},
      {object(ray, "RayService", "rayClusterConfg: {}"), "did you mean rayClusterConfig?"},
      {object(kubeflow, "XGBoostJob", "runPolicy: {schedulingPolicy: {minAvailible: 2}}"),
       "did you mean minAvailable?"},
      {object(kubeflow, "PaddleJob", "runPolicy: {suspended: true}"), "did you mean suspend?"},
      {object(kubeflow, "JAXJob", "jaxReplicaSpec: {}"), "did you mean jaxReplicaSpecs?"},
      {object("trainer.kubeflow.org/v1alpha1", "TrainJob", "trainer: {numNode: 2}"),
       "did you mean numNodes?"},
      {object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderWorkerTemplate: {sise: 2}"),
       "did you mean size?"},
      {object("sparkoperator.k8s.io/v1beta2", "SparkApplication", "executor: {instance: 2}"),
       "did you mean instances?"},
      {object("workload.codeflare.dev/v1beta2", "AppWrapper", "component: []"), "did you mean components?"},
  };
  for (const auto& [text, hint] : cases) EXPECT_THAT(messages(text), ElementsAre(HasSubstr(hint))) << text;
}

TEST(MisspeltKinds, AVersionThatIsNotReadIsNamed) {
  EXPECT_THAT(
      messages(object("kubeflow.org/v1beta1", "TFJob", "tfReplicaSpecs: {}")),
      ElementsAre(HasSubstr("kubeflow.org has no such version of TFJob; did you mean kubeflow.org/v1?")));
  EXPECT_THAT(messages(object("kubeflow.org/v1", "MPIJob", "cleanPodPolicy: Running")), IsEmpty());
  EXPECT_THAT(messages("{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: r, labels: "
                       "{kueue.x-k8s.io/queuename: q}}}"),
              ElementsAre(HasSubstr("did you mean kueue.x-k8s.io/queue-name?")));
}

TEST(MisspeltKinds, RealNamesAreTakenForNone) {
  const std::vector<std::string> real = {
      object("ray.io/v1", "RayCluster",
             "rayVersion: v, enableInTreeAutoscaling: true, autoscalerOptions: {idleTimeoutSeconds: 60, "
             "resources: {limits: "
             "{cpu: 1}}}, headGroupSpec: {serviceType: ClusterIP, rayStartParams: {num-cpus: '0'}, template: "
             "{spec: "
             "{containers: []}}}, workerGroupSpecs: [{groupName: g, numOfHosts: 2, suspend: false, "
             "scaleStrategy: "
             "{workersToDelete: []}}]"),
      object("ray.io/v1", "RayCronJob",
             "schedule: '@daily', jobTemplate: {entrypoint: go, submissionMode: SidecarMode}"),
      object("kubeflow.org/v1", "PyTorchJob",
             "nprocPerNode: auto, elasticPolicy: {minReplicas: 1, rdzvBackend: c10d}, runPolicy: "
             "{cleanPodPolicy: None}"),
      object("kubeflow.org/v1", "Notebook", "template: {}"),
      object("kubeflow.org/v1beta1", "Experiment", "parallelTrialCount: 3"),
      object("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", "mlPolicy: {numNodes: 2}"),
      object("sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication",
             "schedule: '@daily', template: {driver: {coreLimit: 1200m, labels: {version: '4'}}, sparkConf: "
             "{a.b: c}}"),
      object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
             "networkConfig: {subdomainPolicy: Shared}, rolloutStrategy: {rollingUpdateConfiguration: "
             "{maxSurge: 1}}"),
      object("workload.codeflare.dev/v1beta2", "AppWrapper",
             "components: [{podSets: [{path: p}], template: {x: y}}]"),
  };
  for (const std::string& text : real) EXPECT_THAT(messages(text), IsEmpty()) << text;
}

}  // namespace
}  // namespace berth::dialect

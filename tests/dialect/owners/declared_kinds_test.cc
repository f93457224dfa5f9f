// The kinds that ship as declarations, with the labels that their controllers give to pods. They are those of Ray, of Kubeflow's
// training-operator and Trainer, of the MPI operator, and LeaderWorkerSet. AppWrapper: app_wrapper_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"
#include "dialect/owners/declared_support.h"
#include "text/document.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace testing;  // of the dialect: declared_support.h

std::string ray_spec(const std::string& more = "") {
  return more + "headGroupSpec: {" + kOneCpu +
         "}, workerGroupSpecs: [{groupName: gpu, replicas: 3, minReplicas: 1, " + kOneCpu +
         "}, {groupName: wide, replicas: 2, numOfHosts: 2, " + kOneCpu + "}, {groupName: none, " + kOneCpu +
         "}]";
}

std::string ray_pod(const std::string& name, const std::string& group, const std::string& cluster = "rc",
                    const std::string& spec = "") {
  return cpu_pod(name, made_by("ray.io/v1", "RayCluster", cluster),
                 "ray.io/cluster: " + cluster + ", ray.io/group: " + group +
                     ", ray.io/node-type: " + (group == "headgroup" ? "head" : "worker"),
                 spec);
}

TEST(RayClusters, HaveAHeadAndGroupsOfWorkers) {
  const Ask ask = asked(object_of("ray.io/v1", "RayCluster", "rc", kTeam, ray_spec("suspend: true, ")));
  EXPECT_EQ(sets_of(ask), "head 1, gpu 3, wide 4, none 0");
  EXPECT_TRUE(ask.suspended);
  EXPECT_EQ(ask.sets[1].enough, std::nullopt) << "minReplicas is the autoscaler's";
  const Ask scaled =
      asked(object_of("ray.io/v1", "RayCluster", "rc", kTeam, ray_spec("enableInTreeAutoscaling: true, ")));
  EXPECT_EQ(scaled.sets[1].enough, 1);
  const auto set_of = [&](const std::string& group) {
    return ask.kind->place_of(ask, std::get<Pod>(testing::objects_of(ray_pod("p", group)).at(0))).set;
  };
  EXPECT_EQ(set_of("headgroup"), 0U);
  EXPECT_EQ(set_of("gpu"), 1U);
  EXPECT_EQ(set_of("wide"), 2U);
  const auto suspend = json::parse(ask.kind->suspend(ask, false).body);
  EXPECT_EQ(suspend["spec"].dump(), R"({"suspend":true})");
}

// KubeRay keeps replicas within their bounds, makes none of a group that is suspended, and counts replicas, not pods, in minReplicas.
TEST(RayClusters, HaveSoManyWorkersAsKubeRayMakes) {
  const auto group = [](const std::string& name, const std::string& more) {
    return "{groupName: " + name + ", " + more + ", " + kOneCpu + "}";
  };
  const Ask ask = asked(object_of(
      "ray.io/v1", "RayCluster", "rc", kTeam,
      "enableInTreeAutoscaling: true, headGroupSpec: {" + std::string(kOneCpu) + "}, workerGroupSpecs: [" +
          group("few", "replicas: 1, minReplicas: 3, maxReplicas: 2147483647, numOfHosts: 2") + ", " +
          group("many", "replicas: 5, minReplicas: 0, maxReplicas: 2") + ", " +
          group("unsaid", "minReplicas: 2") + ", " +
          group("rests", "replicas: 3, minReplicas: 2, suspend: true") + ", " +
          group("awake", "replicas: 3, minReplicas: 1, numOfHosts: 2, suspend: false") + "]"));
  EXPECT_EQ(ask.problem, "");
  EXPECT_EQ(sets_of(ask), "head 1, few 6, many 2, unsaid 2, rests 0, awake 6");
  EXPECT_EQ(ask.sets[5].enough, 2) << "one replica of two hosts";
}

TEST(RayClusters, HoldStartAndAreOneGang) {
  WorldThatHolds world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(7, "2Gi") +
              object_of("ray.io/v1", "RayCluster", "rc", kTeam, ray_spec("suspend: true, ")));
  EXPECT_THAT(world.decide(), IsEmpty()) << "8 CPUs of 7";
  world.apply(queue_of_cpus(8));
  EXPECT_THAT(world.decide(), IsEmpty()) << "the queue has no memory for what KubeRay adds";
  world.apply(queue_of_cpus(8, "2Gi"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(8));
  EXPECT_EQ(world.told.at("rc").root.pod_sets.at(1).name, "gpu");
}

// Containers that KubeRay adds count before there are pods: a queue without room for them would be found too small only then.
TEST(RayClusters, AskForTheContainersThatKubeRayAdds) {
  const auto of = [](const std::string& more) {
    return asked(object_of("ray.io/v1", "RayCluster", "rc", kTeam, ray_spec(more)));
  };
  constexpr std::int64_t kMebibyte = 1 << 20;
  const Ask plain = of("");
  EXPECT_EQ(plain.sets[0].pod->requests.get("memory"), 0);
  EXPECT_EQ(plain.sets[1].pod->requests.get("cpu"), 1000) << "an init container beside a larger one";
  EXPECT_EQ(plain.sets[1].pod->requests.get("memory"), 256 * kMebibyte);
  const Ask scaled = of("enableInTreeAutoscaling: true, ");
  EXPECT_EQ(scaled.sets[0].pod->requests.get("cpu"), 1500);
  EXPECT_EQ(scaled.sets[0].pod->requests.get("memory"), 512 * kMebibyte);
  const Ask own = of("enableInTreeAutoscaling: true, autoscalerOptions: {resources: {requests: {cpu: 2}}}, ");
  EXPECT_EQ(own.sets[0].pod->requests.get("cpu"), 3000);
  EXPECT_EQ(own.sets[0].pod->requests.get("memory"), 0);
}

// The label stands on the RayService, and its switch in what it says of its cluster.
TEST(RayServices, AreTheGangOfTheirCluster) {
  const auto service = [](const std::string& more) {
    return object_of("ray.io/v1", "RayService", "rs", kTeam, "rayClusterConfig: {" + ray_spec(more) + "}");
  };
  const Ask held = asked(service("suspend: true, "));
  EXPECT_EQ(sets_of(held), "head 1, gpu 3, wide 4, none 0");
  EXPECT_TRUE(held.suspended);
  EXPECT_FALSE(held.is_led);
  EXPECT_EQ(json::parse(held.kind->suspend(held, false).body)["spec"].dump(),
            R"({"rayClusterConfig":{"suspend":true}})");
  EXPECT_TRUE(asked(object_of("ray.io/v1", "RayService", "rs", kTeam,
                              "managedBy: kueue.x-k8s.io/multikueue, rayClusterConfig: {" + ray_spec() + "}"))
                  .is_led);
  World world;
  const std::string cluster =
      object_of("ray.io/v1", "RayCluster", "rs-x2x4p",
                std::string(kTeam) + ", " + made_by("ray.io/v1", "RayService", "rs"), ray_spec());
  std::string pods = ray_pod("h", "headgroup", "rs-x2x4p");
  for (int i = 0; i < 3; ++i) pods += ray_pod("g" + std::to_string(i), "gpu", "rs-x2x4p");
  for (int i = 0; i < 3; ++i) pods += ray_pod("w" + std::to_string(i), "wide", "rs-x2x4p");
  world.apply(node_yaml("n0", 0) + queue_of_cpus(8, "2Gi") + pods + cluster);
  EXPECT_THAT(world.decide(), IsEmpty()) << "its RayService has not been seen";
  world.apply(service(""));
  EXPECT_THAT(world.decide(), IsEmpty()) << "one worker lacks";
  world.apply(ray_pod("w3", "wide", "rs-x2x4p"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].workload, "rs");
  EXPECT_THAT(started[0].slots, SizeIs(8));
}

// A RayService of a head and a worker, one of its clusters, and the pods of this.
std::string small_spec(const std::string& more = "") {
  return more + "headGroupSpec: {" + kOneCpu + "}, workerGroupSpecs: [{groupName: gpu, replicas: 1, " +
         kOneCpu + "}]";
}

std::string small_service(const std::string& more = "") {
  return object_of("ray.io/v1", "RayService", "rs", kTeam, "rayClusterConfig: {" + small_spec(more) + "}");
}

std::string cluster_of_service(const std::string& name, int born, const std::string& more = "") {
  const std::string time = ", creationTimestamp: '2026-01-01T00:00:0" + std::to_string(born) + "Z'";
  return object_of("ray.io/v1", "RayCluster", name,
                   std::string(kTeam) + ", " + made_by("ray.io/v1", "RayService", "rs") + time,
                   small_spec(more));
}

std::string pods_of_cluster(const std::string& name, const std::string& more = "") {
  return ray_pod(name + "-h", "headgroup", name, more) + ray_pod(name + "-w", "gpu", name, more);
}

void end_pods(World& world, const std::string& cluster) {
  for (const char* pod : {"-h", "-w"}) world.remove(Kind::kPod, cluster + pod);
}

// An upgrade makes a second cluster beside the first: a gang of its own, until it is the only one.
TEST(RayServices, StartTheSecondClusterOfAnUpgradeWhole) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(3, "2Gi") + small_service() + cluster_of_service("rs-b", 1) +
              pods_of_cluster("rs-b"));
  auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].workload, "rs");
  EXPECT_THAT(started[0].slots, SizeIs(2));
  world.apply(pods_of_cluster("rs-b", "nodeName: n0, "));
  world.apply(pods_of_cluster("rs-a") + cluster_of_service("rs-a", 2));
  EXPECT_THAT(world.decide(), IsEmpty()) << "one CPU is left for two pods";
  world.apply(queue_of_cpus(4, "2Gi"));
  started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].workload, "rs-a");
  EXPECT_THAT(started[0].slots, SizeIs(2));
  world.apply(pods_of_cluster("rs-a", "nodeName: n0, "));
  end_pods(world, "rs-b");
  world.remove(*kind_named("RayCluster"), "rs-b");
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_FALSE(world.intake.workload("rs-a"));
  EXPECT_THAT(world.intake.pods_of("rs"), SizeIs(2));
  EXPECT_EQ(world.told.at("rs").root.pod_sets.size(), 2U);
  EXPECT_TRUE(world.engine.audit());
}

// KubeRay does not suspend the cluster that serves while a second one is made: so neither is the service, and its pods are deleted.
TEST(RayServices, AreNotSuspendedInTheMiddleOfAnUpgrade) {
  WorldThatHolds world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4, "2Gi") + small_service() + cluster_of_service("rs-b", 1) +
              pods_of_cluster("rs-b", "nodeName: n0, "));
  const auto is_switched = [&](const char* workload) {
    const auto info = world.intake.workload(workload);
    return info && info->owner != nullptr;
  };
  EXPECT_TRUE(is_switched("rs"));
  world.apply(cluster_of_service("rs-a", 2) + pods_of_cluster("rs-a"));
  EXPECT_FALSE(is_switched("rs"));
  EXPECT_FALSE(is_switched("rs-a")) << "the service would resume its cluster";
  // Deleted, the pods of the first come again. Both gangs wait, and each starts whole.
  end_pods(world, "rs-b");
  world.apply(queue_of_cpus(3, "2Gi") + pods_of_cluster("rs-b"));
  auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(2));
  const std::string other = started[0].workload == "rs" ? "rs-a" : "rs";
  EXPECT_NE(world.intake.workload(other), std::nullopt);
  world.apply(pods_of_cluster(started[0].workload == "rs" ? "rs-b" : "rs-a", "nodeName: n0, "));
  EXPECT_THAT(world.decide(), IsEmpty()) << "one CPU is left for two pods";
  end_pods(world, "rs-b");
  world.remove(*kind_named("RayCluster"), "rs-b");
  EXPECT_TRUE(is_switched("rs")) << "one cluster is left";
  EXPECT_THAT(world.intake.pods_of("rs"), SizeIs(2));
  EXPECT_TRUE(world.engine.audit());
}

// A service that is changed while it waits suspended has two suspended clusters. KubeRay resumes the newer one alone: that is the
// service's then, and the older one is none that the service needs.
TEST(RayServices, ThatAreChangedWhileTheyWaitStartTheirNewerCluster) {
  WorldThatHolds world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(2, "2Gi") + small_service("suspend: true, ") +
              cluster_of_service("rs-b", 1, "suspend: true, ") +
              cluster_of_service("rs-a", 2, "suspend: true, "));
  auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].workload, "rs");
  world.intake.set_released("rs", true);
  world.apply(small_service() + cluster_of_service("rs-a", 2) + pods_of_cluster("rs-a"));
  EXPECT_FALSE(world.intake.workload("rs-a"));
  EXPECT_THAT(world.intake.pods_of("rs"), SizeIs(2));
  world.apply(pods_of_cluster("rs-a", "nodeName: n0, "));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// The label stands on the RayJob, whose cluster has a name of its own at each start. The submitter comes when the cluster runs.
TEST(RayJobs, AreTheGangOfTheirClusterAndKeepAPlaceForTheSubmitter) {
  const std::string job =
      object_of("ray.io/v1", "RayJob", "rj", kTeam,
                "entrypoint: python a.py, rayClusterSpec: {headGroupSpec: {" + std::string(kOneCpu) +
                    "}, workerGroupSpecs: [{groupName: gpu, replicas: 2, " + kOneCpu + "}]}");
  EXPECT_EQ(sets_of(asked(job)), "head 1, gpu 2, submitter 1 later");
  EXPECT_EQ(asked(job).sets[2].pod->requests.get("cpu"), 500);
  EXPECT_TRUE(asked(job).is_led) << "KubeRay does not suspend it";
  std::string switched = job;
  switched.replace(switched.find("entrypoint"), 10, "shutdownAfterJobFinishes: true, entrypoint");
  EXPECT_FALSE(asked(switched).is_led);
  std::string http = job;
  http.replace(http.find("entrypoint"), 10, "submissionMode: HTTPMode, entrypoint");
  EXPECT_EQ(sets_of(asked(http)), "head 1, gpu 2");

  // KubeRay's own template asks for memory too.
  std::string own = job;
  own.replace(own.find("entrypoint"), 10,
              "submitterPodTemplate: {spec: {containers: [{name: c, resources: {requests: {cpu: 500m}}}]}}, "
              "entrypoint");
  World world;
  const std::string cluster = object_of(
      "ray.io/v1", "RayCluster", "rj-x2x4p", std::string(kTeam) + ", " + made_by("ray.io/v1", "RayJob", "rj"),
      "headGroupSpec: {" + std::string(kOneCpu) + "}, workerGroupSpecs: [{groupName: gpu, replicas: 2, " +
          kOneCpu + "}]");
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4, "2Gi") + ray_pod("h", "headgroup", "rj-x2x4p") +
              ray_pod("w0", "gpu", "rj-x2x4p") + cluster);
  EXPECT_THAT(world.decide(), IsEmpty()) << "its RayJob has not been seen";
  world.apply(own);
  EXPECT_THAT(world.decide(), IsEmpty()) << "one worker lacks";
  world.apply(ray_pod("w1", "gpu", "rj-x2x4p"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].workload, "rj");
  EXPECT_THAT(started[0].slots, SizeIs(4));
  EXPECT_TRUE(world.intake.expects("rj", 2, 0));
  world.apply(object_of("batch/v1", "Job", "rj-job", made_by("ray.io/v1", "RayJob", "rj"), kOneCpu) +
              object_of("v1", "Pod", "rj-job-abcde", made_by("batch/v1", "Job", "rj-job"),
                        "containers: [{name: c, resources: {requests: {cpu: 500m}}}]"));
  EXPECT_EQ(world.intake.pod("rj-job-abcde")->workload, "rj");
  EXPECT_EQ(world.intake.pod("rj-job-abcde")->pod_set, 2);
  EXPECT_TRUE(world.engine.audit());
}

TEST(RayJobs, EndByTheirDeploymentStatus) {
  const auto with = [](const std::string& status) {
    return asked(object_of("ray.io/v1", "RayJob", "rj", kTeam,
                           "rayClusterSpec: {headGroupSpec: {" + std::string(kOneCpu) + "}}",
                           "status: {jobDeploymentStatus: " + status + "}\n"));
  };
  EXPECT_TRUE(with("Complete").finished);
  EXPECT_TRUE(with("Failed").failed);
  EXPECT_FALSE(with("Running").finished);
  EXPECT_TRUE(with("Running").is_ready);
  EXPECT_FALSE(with("Initializing").is_ready);
}

struct OfKubeflow {
  std::string kind, field, roles, sets;
};

class KubeflowJobs : public ::testing::TestWithParam<OfKubeflow> {};

TEST_P(KubeflowJobs, HaveASetForEachRole) {
  const OfKubeflow& of = GetParam();
  std::string roles;
  for (std::size_t at = 0, end = 0; at < of.roles.size(); at = end + 1) {
    end = std::min(of.roles.find(' ', at), of.roles.size());
    roles += (roles.empty() ? "" : ", ") + of.roles.substr(at, end - at) + ": {" +
             (at == 0 ? "" : "replicas: 3, ") + kOneCpu + "}";
  }
  const std::string spec = of.field + ": {" + roles + "}";
  const Ask ask =
      asked(object_of("kubeflow.org/v1", of.kind, "t", kTeam, "runPolicy: {suspend: true}, " + spec));
  EXPECT_EQ(sets_of(ask), of.sets);
  EXPECT_TRUE(ask.suspended);
  EXPECT_TRUE(ask.gang);
  EXPECT_EQ(ask.kind->work, WorkloadKind::kTraining);
  EXPECT_EQ(json::parse(ask.kind->suspend(ask, false).body)["spec"].dump(),
            R"({"runPolicy":{"suspend":true}})");
  const auto place = [&](const std::string& type, const std::string& index) {
    return ask.kind->place_of(
        ask, std::get<Pod>(
                 testing::objects_of(cpu_pod("p", made_by("kubeflow.org/v1", of.kind, "t"),
                                             "training.kubeflow.org/replica-type: " + type +
                                                 ", training.kubeflow.org/replica-index: '" + index + "'"))
                     .at(0)));
  };
  const std::string last = std::string(ask.sets.back().name);
  EXPECT_EQ(place(last, "2").set, ask.sets.size() - 1);
  EXPECT_EQ(place(last, "2").index, 2);
  const Ask done =
      asked(object_of("kubeflow.org/v1", of.kind, "t", kTeam, spec,
                      "status: {conditions: [{type: Running, status: 'False'}, {type: Succeeded, status: "
                      "'True', message: well}]}\n"));
  EXPECT_TRUE(done.finished);
  EXPECT_FALSE(done.failed);
  EXPECT_EQ(done.ending, "well");
}

INSTANTIATE_TEST_SUITE_P(
    All, KubeflowJobs,
    ::testing::Values(OfKubeflow{"PyTorchJob", "pytorchReplicaSpecs", "Master Worker", "master 1, worker 3"},
                      OfKubeflow{"TFJob", "tfReplicaSpecs", "Chief PS Worker", "chief 1, ps 3, worker 3"},
                      OfKubeflow{"XGBoostJob", "xgbReplicaSpecs", "Master Worker", "master 1, worker 3"},
                      OfKubeflow{"PaddleJob", "paddleReplicaSpecs", "Worker", "worker 1"},
                      OfKubeflow{"JAXJob", "jaxReplicaSpecs", "Worker", "worker 1"}),
    [](const auto& of) { return of.param.kind; });

std::string torch_pod(const std::string& type, int index) {
  return cpu_pod("pt-" + type + "-" + std::to_string(index), made_by("kubeflow.org/v1", "PyTorchJob", "pt"),
                 "training.kubeflow.org/job-name: pt, training.kubeflow.org/replica-type: " + type +
                     ", training.kubeflow.org/replica-index: '" + std::to_string(index) + "'");
}

std::string torch_job(const std::string& policy, const std::string& more = "") {
  return object_of("kubeflow.org/v1", "PyTorchJob", "pt", kTeam,
                   "runPolicy: {" + policy + "}, " + more + "pytorchReplicaSpecs: {Master: {replicas: 1, " +
                       kOneCpu + "}, Worker: {replicas: 3, " + kOneCpu + "}}");
}

TEST(PyTorchJobs, StartWithMinAvailableAndTheOthersJoin) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(3, "1Gi") +
              torch_job("schedulingPolicy: {minAvailable: 3}") + torch_pod("master", 0) +
              torch_pod("worker", 0) + torch_pod("worker", 1) + torch_pod("worker", 2));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(3));
  world.apply(queue_of_cpus(4, "1Gi"));
  const auto joined = world.decide();
  ASSERT_THAT(joined, SizeIs(1)) << "the fourth has room now";
  EXPECT_THAT(joined[0].slots, SizeIs(1));
}

TEST(PyTorchJobs, AnElasticOneStartsWithItsLeastWorkers) {
  const Ask ask = asked(torch_job("", "elasticPolicy: {minReplicas: 2}, "));
  EXPECT_EQ(ask.sets[1].enough, 2);
  EXPECT_EQ(ask.sets[0].enough, std::nullopt);
}

TEST(PyTorchJobs, AreTakenBackWholeByTheirSwitch) {
  WorldThatHolds world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4, "1Gi") + torch_job("suspend: true"));
  ASSERT_THAT(world.decide(), SizeIs(1));
  const Ask* owner = world.intake.owner("pt");
  ASSERT_NE(owner, nullptr);
  EXPECT_TRUE(owner->kind->can_be_held());
  EXPECT_THAT(owner->kind->suspend(*owner, false).path,
              HasSubstr("/apis/kubeflow.org/v1/namespaces/default/pytorchjobs/pt"));
}

std::string mpi_job(const std::string& more = "") {
  return object_of("kubeflow.org/v2beta1", "MPIJob", "mpi", kTeam,
                   more + "mpiReplicaSpecs: {Launcher: {replicas: 1, " + kOneCpu +
                       "}, Worker: {replicas: 2, " + kOneCpu + "}}");
}

std::string mpi_worker(int index) {
  return cpu_pod("mpi-worker-" + std::to_string(index), made_by("kubeflow.org/v2beta1", "MPIJob", "mpi"),
                 "training.kubeflow.org/job-name: mpi, training.kubeflow.org/job-role: worker, "
                 "training.kubeflow.org/replica-index: '" +
                     std::to_string(index) + "'");
}

// Its launcher is the pod of a Job of it; its workers are its own.
TEST(MpiJobs, AreLauncherAndWorkersTogether) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(3) + mpi_job() + mpi_worker(0) + mpi_worker(1));
  EXPECT_THAT(world.decide(), IsEmpty()) << "the launcher lacks";
  world.apply(object_of("batch/v1", "Job", "mpi-launcher", made_by("kubeflow.org/v2beta1", "MPIJob", "mpi"),
                        kOneCpu) +
              cpu_pod("mpi-launcher-x", made_by("batch/v1", "Job", "mpi-launcher"),
                      "training.kubeflow.org/job-role: launcher"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].workload, "mpi");
  EXPECT_THAT(started[0].slots, SizeIs(3));
  EXPECT_EQ(world.intake.pod("mpi-launcher-x")->pod_set, 0);
  EXPECT_EQ(world.intake.pod("mpi-worker-1")->index, 1);
}

TEST(MpiJobs, ALauncherThatWaitsForItsWorkersHasAPlaceKept) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(3) +
              mpi_job("launcherCreationPolicy: WaitForWorkersReady, ") + mpi_worker(0) + mpi_worker(1));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(3));
  EXPECT_TRUE(world.intake.expects("mpi", 0, 0));
}

std::string jobset_of_trainer(const std::string& suspend) {
  return object_of("jobset.x-k8s.io/v1alpha2", "JobSet", "tj",
                   made_by("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj-uid"),
                   suspend +
                       "replicatedJobs: [{name: node, template: {spec: {parallelism: 3, completions: 3, "
                       "completionMode: Indexed, " +
                       kOneCpu + "}}}]");
}

std::string train_job(const std::string& suspend) {
  std::string out = object_of("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", kTeam,
                              suspend + "runtimeRef: {name: torch}, trainer: {numNodes: 3}");
  return out.replace(out.find("uid: tj"), 7, "uid: tj-uid");
}

std::string owned_by_uid(const std::string& yaml) {  // the JobSet names its TrainJob by name and uid
  std::string out = yaml;
  return out.replace(out.find("name: tj-uid"), 12, "name: tj");
}

// Only the topmost object is suspended and released, and it has the pod sets of the JobSet that it makes.
TEST(TrainJobs, AreTheGangOfTheirJobSet) {
  WorldThatHolds world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(2) + train_job("suspend: true, "));
  EXPECT_FALSE(world.intake.workload("tj-uid")) << "nothing is known of its pods";
  world.apply(owned_by_uid(jobset_of_trainer("suspend: true, ")));
  ASSERT_TRUE(world.intake.workload("tj-uid"));
  EXPECT_FALSE(world.intake.workload("tj"));
  EXPECT_EQ(world.told.at("tj-uid").root.pod_sets.at(0).count, 3);
  EXPECT_THAT(world.decide(), IsEmpty()) << "3 CPUs of 2";
  world.apply(queue_of_cpus(3));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].workload, "tj-uid");
  const Ask* owner = world.intake.owner("tj-uid");
  ASSERT_NE(owner, nullptr);
  EXPECT_THAT(owner->kind->release(*owner, {.generation = 1, .updates = {}}).write.path,
              HasSubstr("trainjobs/tj"));
  // Released: its controller resumes the JobSet, that makes its Job, and that the pods.
  world.intake.set_released("tj-uid", true);
  world.apply(train_job("") + owned_by_uid(jobset_of_trainer("")) +
              object_of("batch/v1", "Job", "tj-node-0", made_by("jobset.x-k8s.io/v1alpha2", "JobSet", "tj"),
                        std::string("completionMode: Indexed, completions: 3, parallelism: 3, ") + kOneCpu) +
              object_of("v1", "Pod", "tj-node-0-1-abcde",
                        "annotations: {batch.kubernetes.io/job-completion-index: '1'}, " +
                            made_by("batch/v1", "Job", "tj-node-0"),
                        "containers: [{name: c, resources: {requests: {cpu: '1'}}}]"));
  EXPECT_EQ(world.intake.pod("tj-node-0-1-abcde")->workload, "tj-uid");
  EXPECT_EQ(world.intake.pod("tj-node-0-1-abcde")->index, 1);
  EXPECT_THAT(world.refused, IsEmpty());
}

std::string lws(const std::string& policy = "", const std::string& head = kTeam) {
  return object_of(
      "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "lws", head,
      policy +
          "replicas: 2, leaderWorkerTemplate: {size: 3, leaderTemplate: {spec: {containers: [{name: c, "
          "resources: {requests: {cpu: '1'}}}]}}, workerTemplate: {spec: {containers: [{name: c, "
          "resources: {requests: {cpu: '2'}}}]}}}");
}

// A StatefulSet of it, whose uid is not that of the objects of the same name.
std::string set_of_lws(const std::string& name, const std::string& owner) {
  std::string out = object_of("apps/v1", "StatefulSet", name, owner,
                              std::string("replicas: 2, podManagementPolicy: Parallel, ") + kOneCpu);
  return out.replace(out.find("uid: "), 5, "uid: set-");
}

std::string of_set(const std::string& name) {
  std::string out = made_by("apps/v1", "StatefulSet", name);
  return out.replace(out.find("uid: "), 5, "uid: set-");
}

// A leader belongs to the StatefulSet of the LeaderWorkerSet; its workers to a StatefulSet that belongs to the leader's Pod.
std::string lws_pod(int group, int worker) {
  const std::string leader = "lws-" + std::to_string(group);
  const std::string name = worker == 0 ? leader : leader + "-" + std::to_string(worker);
  return cpu_pod(name, of_set(worker == 0 ? "lws" : leader),
                 "leaderworkerset.sigs.k8s.io/name: lws, leaderworkerset.sigs.k8s.io/group-index: '" +
                     std::to_string(group) + "', leaderworkerset.sigs.k8s.io/worker-index: '" +
                     std::to_string(worker) + "'",
                 "", worker == 0 ? 1 : 2);
}

std::string lws_sets() {
  return set_of_lws("lws", made_by("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "lws")) +
         set_of_lws("lws-0", made_by("v1", "Pod", "lws-0")) +
         set_of_lws("lws-1", made_by("v1", "Pod", "lws-1"));
}

TEST(LeaderWorkerSets, EachGroupIsAGangOfItsOwn) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(5) + lws_pod(0, 0) + lws_pod(1, 0) + lws_pod(0, 1));
  EXPECT_THAT(world.decide(), IsEmpty()) << "their LeaderWorkerSet has not been seen";
  ASSERT_NE(world.intake.blocked("Gang/LeaderWorkerSet/default/lws-0/unseen"), nullptr);
  EXPECT_THAT(world.intake.blocked("Gang/LeaderWorkerSet/default/lws-0/unseen")->detail,
              HasSubstr("its LeaderWorkerSet lws has not been seen yet"));
  world.apply(lws() + lws_sets());
  EXPECT_THAT(world.decide(), IsEmpty()) << "a worker of each group lacks";
  world.apply(lws_pod(0, 2));
  const auto first = world.decide();
  ASSERT_THAT(first, SizeIs(1));
  EXPECT_EQ(first[0].workload, "Gang/LeaderWorkerSet/default/lws-0");
  EXPECT_THAT(first[0].slots, SizeIs(3));
  world.apply(lws_pod(1, 1) + lws_pod(1, 2));
  EXPECT_THAT(world.decide(), IsEmpty()) << "the queue has room for one group";
  EXPECT_EQ(world.intake.workload("Gang/LeaderWorkerSet/default/lws-1")->queue, "cq");
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

// With LeaderReady the workers come when their leader runs. It does not wait for them, and their places, which are larger, are kept.
TEST(LeaderWorkerSets, ALeaderThatStartsBeforeItsWorkersDoesNotWaitForThem) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4) + lws("startupPolicy: LeaderReady, ") + lws_sets() +
              lws_pod(0, 0));
  EXPECT_THAT(world.decide(), IsEmpty()) << "5 CPUs of 4: the workers would have no room";
  world.apply(queue_of_cpus(5));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(3)) << "the leader, and places for two workers";
  const std::string group = "Gang/LeaderWorkerSet/default/lws-0";
  EXPECT_TRUE(world.intake.expects(group, 1, 0));
  EXPECT_TRUE(world.intake.expects(group, 1, 1));
  world.apply(lws_pod(0, 1));
  EXPECT_EQ(world.intake.pod("lws-0-1")->pod_set, 1);
  EXPECT_THAT(world.refused, IsEmpty());
  EXPECT_TRUE(world.engine.audit());
}

TEST(LeaderWorkerSets, WithoutAQueueTheirPodsStartAsTheyCome) {
  World world;
  world.apply(node_yaml("n0", 0) + lws("", "labels: {}") + lws_sets() + lws_pod(0, 0));
  EXPECT_THAT(world.decide(), SizeIs(1));
}

std::string quoted(const std::string& text) {
  return "\"" + text + "\"";
}

// The chart's list, from which rights and admission policies are made.
TEST(DeclaredKinds, AreThoseOfTheChart) {
  const auto document =
      text::read_document(std::string(BERTH_SOURCE_DIR) + "/deploy/chart/berth/files/kinds.yaml");
  ASSERT_TRUE(document) << document.error().str();
  std::vector<std::string> listed, built_in;
  for (const text::Node& entry : document->root().items()) {
    std::string text = text::to_json(*entry.find("group")) + text::to_json(*entry.find("resource")) +
                       (entry.find("suspend") != nullptr ? text::to_json(*entry.find("suspend")) : "");
    for (const char* key : {"pods", "templates"}) {
      if (const text::Node* paths = entry.find(key); paths != nullptr) {
        for (const text::Node& path : paths->items()) text += " " + std::string(path.text());
      }
    }
    listed.push_back(text);
  }
  for (const Declaration* declared : declarations()) {
    if (declared->description.empty()) continue;  // of a test
    std::string text = quoted(declared->group) + quoted(declared->resource) +
                       (declared->suspend.empty() ? "" : quoted(declared->suspend.text()));
    std::vector<std::string> paths;
    for (const DeclaredSet& set : declared->sets) {
      if (set.form == PodForm::kSpark && std::find(paths.begin(), paths.end(), set.at.text()) == paths.end())
        paths.push_back(set.at.text());
    }
    for (const DeclaredSet& set : declared->sets) {
      for (const FieldPath* path : {&set.pod_template, &set.template_or}) {
        if (path->empty() || (path == &set.pod_template && path->of_set && set.at.empty())) continue;
        std::string at = path->of_set ? set.at.text() + (set.each ? "[]" : "") + path->text() : path->text();
        if (std::find(paths.begin(), paths.end(), at) == paths.end()) paths.push_back(std::move(at));
      }
    }
    for (const std::string& path : paths) text += " " + path;
    built_in.push_back(text);
  }
  EXPECT_EQ(listed, built_in);
}

// Each that ships: its declaration says what it is, and it can be found by apiVersion and kind.
TEST(DeclaredKinds, AreAllThere) {
  std::vector<std::string> words;
  for (const Declaration* declared : declarations()) {
    if (declared->description.empty()) continue;  // of a test
    words.push_back(declared->word);
    EXPECT_EQ(kind_of(declared->group + "/" + declared->version, declared->word), declared->row.kind);
    EXPECT_EQ(owner_kind(declared->row.kind), &declared->row);
    EXPECT_TRUE(is_namespaced(declared->row.kind));
  }
  EXPECT_THAT(words, ElementsAre("RayCluster", "RayJob", "RayService", "PyTorchJob", "TFJob", "XGBoostJob",
                                 "PaddleJob", "JAXJob", "TrainJob", "MPIJob", "LeaderWorkerSet", "AppWrapper",
                                 "SparkApplication"));
}

}  // namespace
}  // namespace berth::dialect

// Kinds that ship as declarations: which of their pods and containers there are, by the fields of the object.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "dialect/dialect_support.h"
#include "dialect/owners/declared_support.h"

namespace berth::dialect {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace testing;  // of the dialect: declared_support.h

constexpr std::int64_t kMebibyte = 1 << 20;

Ask ray_job(const std::string& more) {
  return asked(object_of("ray.io/v1", "RayJob", "rj", kTeam,
                         more + "entrypoint: go, rayClusterSpec: {headGroupSpec: {" + kOneCpu +
                             "}, workerGroupSpecs: [{groupName: gpu, replicas: 2, " + kOneCpu + "}]}"));
}

// In SidecarMode the submitter is a container of the head, with the resources of KubeRay's own submitter.
TEST(RayJobs, HaveTheirSubmitterInTheHeadAsASidecar) {
  const Ask plain = ray_job("");
  EXPECT_EQ(sets_of(plain), "head 1, gpu 2, submitter 1 later");
  EXPECT_EQ(plain.sets[0].pod->requests.get("cpu"), 1000);
  const Ask sidecar = ray_job("submissionMode: SidecarMode, ");
  EXPECT_EQ(sets_of(sidecar), "head 1, gpu 2");
  EXPECT_EQ(sidecar.sets[0].pod->requests.get("cpu"), 1500);
  EXPECT_EQ(sidecar.sets[0].pod->requests.get("memory"), 200 * kMebibyte);
  EXPECT_EQ(sidecar.sets[1].pod->requests.get("cpu"), 1000) << "the workers have none";
}

// A RayJob that selects a cluster runs there, whatever its rayClusterSpec says, and KubeRay refuses to suspend it.
TEST(RayJobs, ThatSelectAClusterMakeNone) {
  const std::string selects = "shutdownAfterJobFinishes: true, clusterSelector: {ray.io/cluster: there}, ";
  const Ask both = ray_job(selects);
  EXPECT_EQ(sets_of(both), "submitter 1 later");
  EXPECT_TRUE(both.is_led) << "it has no switch";
  EXPECT_FALSE(ray_job("shutdownAfterJobFinishes: true, ").is_led);
  const std::string by_http =
      object_of("ray.io/v1", "RayJob", "rj", kTeam, selects + "submissionMode: HTTPMode");
  EXPECT_EQ(problem_in(by_http), "") << "it makes no pods at all";
  EXPECT_EQ(asked(by_http).size(), 0);
  EXPECT_THAT(problem_in(object_of("ray.io/v1", "RayJob", "rj", kTeam, "submissionMode: HTTPMode")),
              HasSubstr("names no pods"))
      << "it neither makes a cluster nor selects one";
}

// The operator lets the workers wait for the master in an init container. Without a master there is none.
TEST(PyTorchJobs, AskForTheInitContainerOfTheirWorkers) {
  const auto job = [](const std::string& master) {
    return asked(
        object_of("kubeflow.org/v1", "PyTorchJob", "p", kTeam,
                  "pytorchReplicaSpecs: {" + master +
                      "Worker: {replicas: 2, template: {spec: {containers: [{name: pytorch, resources: "
                      "{limits: {nvidia.com/gpu: 1}}}]}}}}"));
  };
  const Ask led = job("Master: {replicas: 1, " + std::string(kOneCpu) + "}, ");
  EXPECT_EQ(led.sets[0].pod->requests.get("memory"), 0);
  EXPECT_EQ(led.sets[1].pod->requests.get("cpu"), 50);
  EXPECT_EQ(led.sets[1].pod->requests.get("memory"), 10 * kMebibyte);
  const Ask alone = job("");
  EXPECT_EQ(alone.sets[0].pod->requests.get("cpu"), 0);
  EXPECT_EQ(alone.sets[0].pod->requests.get("memory"), 0);
}

// Since KubeRay 1.7 the user of a RayService can suspend it: KubeRay then deletes all that it has made.
TEST(RayServices, ThatTheirUserSuspendsHaveNoPods) {
  const auto service = [](const std::string& suspend) {
    return object_of("ray.io/v1", "RayService", "rs", kTeam,
                     suspend + "rayClusterConfig: {headGroupSpec: {" + kOneCpu +
                         "}, workerGroupSpecs: [{groupName: gpu, replicas: 2, " + kOneCpu + "}]}");
  };
  EXPECT_EQ(asked(service("")).size(), 3);
  EXPECT_EQ(asked(service("suspend: false, ")).size(), 3);
  EXPECT_EQ(problem_in(service("suspend: true, ")), "");
  EXPECT_EQ(asked(service("suspend: true, ")).size(), 0);
}

// Its user stops it while it waits, and lets it go on: it waits as before, and Berth's switch is another one.
TEST(RayServices, ThatTheirUserResumesWaitForTheirPlaces) {
  const auto service = [](const std::string& suspend) {
    return object_of("ray.io/v1", "RayService", "rs", kTeam,
                     suspend + "rayClusterConfig: {suspend: true, headGroupSpec: {" + kOneCpu + "}}");
  };
  WorldThatHolds world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(1, "2Gi") + service("suspend: true, "));
  EXPECT_THAT(world.decide(), IsEmpty()) << "its user has stopped it";
  EXPECT_FALSE(world.intake.workload("rs"));
  world.apply(service("suspend: false, "));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].workload, "rs");
  EXPECT_THAT(started[0].slots, SizeIs(1));
}

// The workers come when their leader is ready, or, with exclusive-topology, has a node: a group that waited for them would wait for ever.
TEST(LeaderWorkerSets, WithWorkersThatComeLaterStartWithTheirLeader) {
  const auto sets = [](const std::string& head, const std::string& policy) {
    return sets_of(asked(
        object_of("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "lws", head,
                  policy + "leaderWorkerTemplate: {size: 3, workerTemplate: {spec: {containers: [{name: "
                           "c}]}}}")));
  };
  const std::string exclusive =
      std::string(kTeam) + ", annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: rack}";
  EXPECT_EQ(sets(kTeam, ""), "leader 1, worker 2");
  EXPECT_EQ(sets(kTeam, "startupPolicy: LeaderReady, "), "leader 1, worker 2 later");
  EXPECT_EQ(sets(exclusive, ""), "leader 1, worker 2 later");
}

// The leader takes the workers' template where it has none: that is the one to write.
TEST(LeaderWorkerSets, WithoutATemplateNameTheOneOfTheWorkers) {
  EXPECT_THAT(problem_in(object_of("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "lws", kTeam,
                                   "leaderWorkerTemplate: {size: 2}")),
              HasSubstr("spec.leaderWorkerTemplate.workerTemplate: is required"));
}

// A field that is no mapping, or lacks a name, is an error at its place. It is not read as if it were not there.
TEST(DeclaredKinds, NameTheFieldThatHasTheWrongType) {
  const auto of = [](const std::string& kind, const std::string& spec) {
    return problem_in(object_of("ray.io/v1", kind, "r", kTeam, spec));
  };
  EXPECT_THAT(of("RayJob", "rayClusterSpec: 2"),
              HasSubstr("spec.rayClusterSpec: must be a mapping, not \"2\""));
  EXPECT_THAT(of("RayCluster", "headGroupSpec: {" + std::string(kOneCpu) +
                                   "}, workerGroupSpecs: [{replicas: 1, " + kOneCpu + "}]"),
              HasSubstr("spec.workerGroupSpecs[0].groupName: is required"));
  EXPECT_THAT(
      problem_in(object_of("kubeflow.org/v1", "PyTorchJob", "p", kTeam,
                           "runPolicy: [1], pytorchReplicaSpecs: {Worker: {" + std::string(kOneCpu) + "}}")),
      HasSubstr("spec.runPolicy: must be a mapping, not a list"));
  EXPECT_THAT(problem_in(object_of("sparkoperator.k8s.io/v1beta2", "SparkApplication", "s", kTeam,
                                   "driver: {memory: {m: 1}}, executor: {}")),
              HasSubstr("spec.driver.memory: must be a number or a string"));
}

// KAI makes a gang of each of these where it names a queue of KAI. It makes none of the pods of a Job.
TEST(QueuesOfKai, MakeGangsOfOwnersThatRunAsOne) {
  for (const std::string label :
       {"kai.scheduler/queue", "runai/queue", "kueue.x-k8s.io/queue-name", "example.com/queue"}) {
    const bool is_queue = label != "example.com/queue";
    const std::string head = "labels: {" + label + ": q}";
    const auto gang = [&](const std::string& version, const std::string& kind, const std::string& spec) {
      return asked(object_of(version, kind, "x", head, spec)).gang;
    };
    const std::string pod = kOneCpu;
    EXPECT_EQ(
        gang("kubeflow.org/v1", "PyTorchJob", "pytorchReplicaSpecs: {Worker: {replicas: 2, " + pod + "}}"),
        is_queue);
    EXPECT_EQ(gang("ray.io/v1", "RayCluster", "headGroupSpec: {" + pod + "}"), is_queue);
    EXPECT_EQ(gang("jobset.x-k8s.io/v1alpha2", "JobSet",
                   "replicatedJobs: [{name: a, template: {spec: {" + pod + "}}}]"),
              is_queue);
    EXPECT_EQ(gang("batch/v1", "Job", "parallelism: 2, " + pod), label.starts_with("kueue"));
  }
}

TEST(QueuesOfKai, AreNotNeededWherePodsAskForItsScheduler) {
  const auto gang = [](const std::string& scheduler) {
    return asked(object_of("kubeflow.org/v1", "PyTorchJob", "p", "labels: {a: b}",
                           "pytorchReplicaSpecs: {Worker: {replicas: 2, template: {spec: {schedulerName: " +
                               scheduler + ", containers: [{name: pytorch}]}}}}"))
        .gang;
  };
  EXPECT_TRUE(gang("kai-scheduler"));
  EXPECT_FALSE(gang("berth"));
}

// The training-operator serves the kind as v1: other labels, an init container of the launcher, and no switch for Berth.
TEST(MpiJobs, OfTheTrainingOperatorHaveItsRoles) {
  const auto job = [](const std::string& version) {
    return asked(object_of(version, "MPIJob", "m", kTeam,
                           "runPolicy: {suspend: false}, mpiReplicaSpecs: {Launcher: {" +
                               std::string(kOneCpu) + "}, Worker: {replicas: 2, " + kOneCpu + "}}"));
  };
  const auto set_of = [](const Ask& ask, const std::string& labels) {
    const std::string pod = cpu_pod("p", made_by("kubeflow.org/v1", "MPIJob", "m"), labels);
    return ask.kind->place_of(ask, std::get<Pod>(testing::objects_of(pod).at(0)));
  };
  const Ask older = job("kubeflow.org/v1");
  EXPECT_EQ(sets_of(older), "launcher 1, worker 2");
  EXPECT_EQ(older.sets[0].pod->requests.get("memory"), 512 * kMebibyte);
  EXPECT_TRUE(older.is_led) << "its switch is not written";
  EXPECT_EQ(
      set_of(older, "training.kubeflow.org/job-role: master, training.kubeflow.org/replica-type: launcher")
          .set,
      0U);
  const OwnedPlace second =
      set_of(older, "training.kubeflow.org/replica-type: worker, training.kubeflow.org/replica-index: '1'");
  EXPECT_EQ(second.set, 1U);
  EXPECT_EQ(second.index, 1);
  const Ask newer = job("kubeflow.org/v2beta1");
  EXPECT_EQ(sets_of(newer), "launcher 1, worker 2");
  EXPECT_EQ(newer.sets[0].pod->requests.get("memory"), 0);
  EXPECT_FALSE(newer.is_led);
}

TEST(JobSets, NameWhatTheirReplicatedJobsLack) {
  const auto of = [](const std::string& job) {
    return problem_in(
        object_of("jobset.x-k8s.io/v1alpha2", "JobSet", "js", kTeam, "replicatedJobs: [" + job + "]"));
  };
  EXPECT_THAT(of("{name: a}"), HasSubstr("spec.replicatedJobs[0].template: is required"));
  EXPECT_THAT(of("{name: a, template: {}}"), HasSubstr("spec.replicatedJobs[0].template.spec: is required"));
  EXPECT_THAT(of("{template: {spec: {" + std::string(kOneCpu) + "}}}"),
              HasSubstr("spec.replicatedJobs[0].name: is required"));
}

}  // namespace
}  // namespace berth::dialect

// AppWrappers: the pods of an object are those of the objects that stand in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "dialect/owners/declared_support.h"

namespace berth::dialect::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string app_wrapper(const std::string& components, const std::string& more = "") {
  return object_of("workload.codeflare.dev/v1beta2", "AppWrapper", "aw", kTeam,
                   more + "components: [" + components + "]");
}
std::string component(const std::string& version, const std::string& kind, const std::string& name,
                      const std::string& spec) {
  return "{template: {apiVersion: " + version + ", kind: " + kind + ", metadata: {name: " + name +
         "}, spec: {" + spec + "}}}";
}
const std::string kContainer = "containers: [{name: c, resources: {requests: {cpu: '1'}}}]";
std::string components_of_four_kinds(const std::string& priority_class = "urgent") {
  const std::string roles =
      std::string("pytorchReplicaSpecs: {Master: {") + kOneCpu + "}, Worker: {replicas: 2, " + kOneCpu + "}}";
  return component("v1", "Pod", "side", kContainer) + ", " +
         component("batch/v1", "Job", "job", std::string("parallelism: 3, ") + kOneCpu) + ", " +
         component("kubeflow.org/v1", "PyTorchJob", "job-pt",
                   "runPolicy: {schedulingPolicy: {priorityClass: '" + priority_class + "'}}, " + roles) +
         ", " + component("v1", "Service", "job", "ports: [{port: 80}]");
}

TEST(AppWrappers, AskForWhatTheirComponentsAskFor) {
  const Ask ask = asked(app_wrapper(components_of_four_kinds(), "suspend: true, "));
  EXPECT_EQ(ask.problem, "");
  EXPECT_EQ(sets_of(ask), "side 1, job 3, job-pt-master 1, job-pt-worker 2");
  EXPECT_TRUE(ask.gang);
  EXPECT_TRUE(ask.suspended);
  EXPECT_FALSE(ask.is_led);
  EXPECT_EQ(ask.priority_class, "urgent");
  const auto place_of = [&](const std::string& pod) {
    const OwnedPlace place = ask.kind->place_of(ask, std::get<Pod>(objects_of(pod).at(0)));
    return std::pair(place.set, place.index.value_or(-1));
  };
  EXPECT_EQ(place_of(cpu_pod("side", made_by("workload.codeflare.dev/v1beta2", "AppWrapper", "aw"), "")),
            std::pair(std::size_t{0}, std::int64_t{0}));
  EXPECT_EQ(place_of(cpu_pod("job-xyz12", made_by("batch/v1", "Job", "job"), "")),
            std::pair(std::size_t{1}, std::int64_t{-1}));
  const std::string worker =
      "training.kubeflow.org/replica-type: worker, training.kubeflow.org/replica-index: '1'";
  EXPECT_EQ(place_of(cpu_pod("job-pt-worker-1", made_by("kubeflow.org/v1", "PyTorchJob", "job-pt"), worker)),
            std::pair(std::size_t{3}, std::int64_t{1}))
      << "the Job's name is the beginning of its name";
}

TEST(AppWrappers, MakeAsManyPodsOnPaper) {
  const Ask ask = asked(app_wrapper(components_of_four_kinds()));
  const MadePods made = ask.kind->make_pods(ask, {}, 100);
  EXPECT_EQ(made.missing, 7);
  ASSERT_THAT(made.pods, SizeIs(7));
  std::vector<const Pod*> has;
  std::vector<std::size_t> sets;
  for (const Pod& pod : made.pods) {
    has.push_back(&pod);
    sets.push_back(ask.kind->place_of(ask, pod).set);
  }
  EXPECT_THAT(sets, ElementsAre(0, 1, 1, 1, 2, 3, 3));
  EXPECT_EQ(ask.kind->make_pods(ask, has, 100).missing, 0);
}

TEST(AppWrappers, SayWhichComponentCannotBeRead) {
  const auto problem = [](const std::string& components) { return problem_in(app_wrapper(components)); };
  EXPECT_THAT(problem(component("batch/v1", "Job", "job", "parallelism: many, " + std::string(kOneCpu))),
              HasSubstr("spec.components[0].template.spec.parallelism: must be an integer"));
  EXPECT_THAT(
      problem(component("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "lws",
                        "leaderWorkerTemplate: {size: 2, workerTemplate: {spec: {" + kContainer + "}}}")),
      HasSubstr("its groups start one by one: a LeaderWorkerSet is not"));
  EXPECT_THAT(
      problem(component("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", "runtimeRef: {name: torch}")),
      HasSubstr("its pods do not stand in it: a TrainJob is not read"));
  EXPECT_THAT(problem(component("v1", "Service", "s", "ports: [{port: 80}]")), HasSubstr("names no pods"));
}

// All of its pods wait until each has room, though they are of three kinds.
TEST(AppWrappers, StartWithAllPodsOfTheirComponents) {
  WorldThatHolds world;
  const std::string object = app_wrapper(components_of_four_kinds(""), "suspend: true, ");
  world.apply(node_yaml("n0", 0) + queue_of_cpus(6, "1Gi") + object);
  EXPECT_THAT(world.decide(), IsEmpty()) << "7 CPUs of 6";
  world.apply(queue_of_cpus(7, "1Gi"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_THAT(started[0].slots, SizeIs(7));
  EXPECT_EQ(world.told.at("aw").root.pod_sets.at(3).name, "job-pt-worker");
  const Ask* owner = world.intake.owner("aw");
  ASSERT_NE(owner, nullptr);
  EXPECT_THAT(owner->kind->suspend(*owner, false).path,
              HasSubstr("/apis/workload.codeflare.dev/v1beta2/namespaces/default/appwrappers/aw"));
}

// By its defaults, AppWrapper's controller keeps pods with GPUs away from nodes whose GPUs are ill.
std::string gpu_spec(const std::string& node_affinity = "") {
  const std::string affinity =
      node_affinity.empty() ? "" : "affinity: {nodeAffinity: {" + node_affinity + "}}, ";
  return affinity + "containers: [{name: c, resources: {limits: {nvidia.com/gpu: '1'}}}]";
}
std::string required(const std::string& expressions) {
  return "requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [" +
         expressions + "]}]}";
}
const std::string kOneGpu = std::regex_replace(queue_of_cpus(1), std::regex("cpu"), "nvidia.com/gpu");
const std::string kHealthy = "{key: autopilot.ibm.com/gpuhealth, operator: NotIn, values: [TESTING, EVICT]}";
const std::string kFast = "{key: gpu, operator: In, values: [h100]}";

TEST(AppWrappers, PodsWithGpusAvoidNodesWhoseGpusAreIll) {
  const std::string job = "template: {spec: {" + gpu_spec(required(kFast)) + "}}";
  const Ask ask = asked(app_wrapper(
      component("v1", "Pod", "side", gpu_spec()) + ", " + component("batch/v1", "Job", "job", job) + ", " +
      component("batch/v1", "Job", "cpus", std::string("parallelism: 2, ") + kOneCpu)));
  ASSERT_THAT(ask.sets, SizeIs(3));
  const Requirement healthy{"autopilot.ibm.com/gpuhealth", SelectorOp::kNotIn, {"TESTING", "EVICT"}};
  const Requirement fast{"gpu", SelectorOp::kIn, {"h100"}};
  EXPECT_EQ(*ask.sets[0].pod->required_affinity, (std::vector<SelectorTerm>{{{healthy}, {}}}));
  EXPECT_EQ(*ask.sets[1].pod->required_affinity, (std::vector<SelectorTerm>{{{fast, healthy}, {}}}));
  EXPECT_THAT(*ask.sets[2].pod->required_affinity, IsEmpty());
  ASSERT_THAT(*ask.sets[0].pod->preferred_affinity, SizeIs(1));
  EXPECT_EQ(ask.sets[0].pod->preferred_affinity[0].weight, 50);
  EXPECT_EQ(ask.sets[0].pod->preferred_affinity[0].term.labels[0].values, std::vector<std::string>{"WARN"});
}

// A pod has the place that its template was promised, if it may go to at least the same nodes.
TEST(AppWrappers, PodsHaveTheirPlacesWhateverTheControllerIsConfiguredToAdd) {
  const auto revisions = [](const std::string& of_pod) {
    WorldThatHolds world;
    const auto object = [&](const char* suspend) {
      return app_wrapper(component("v1", "Pod", "side", gpu_spec()), suspend);
    };
    world.apply(node_yaml("n0", 1) + kOneGpu + object("suspend: true, "));
    EXPECT_THAT(world.decide(), SizeIs(1));
    world.intake.set_released("aw", true);
    world.apply(object("suspend: false, ") +
                object_of("v1", "Pod", "side", made_by("workload.codeflare.dev/v1beta2", "AppWrapper", "aw"),
                          of_pod));
    EXPECT_EQ(world.intake.workload("aw")->pods, 1);
    return world.intake.workload("aw")->revision;
  };
  EXPECT_EQ(revisions(gpu_spec(required(kHealthy))), 0U) << "the defaults";
  EXPECT_EQ(revisions(gpu_spec()), 0U) << "nothing is added";
  EXPECT_EQ(revisions(gpu_spec(required(kHealthy + ", " + kFast))), 1U);
  EXPECT_EQ(revisions(gpu_spec(required(kFast))), 1U);
}

}  // namespace
}  // namespace berth::dialect::testing

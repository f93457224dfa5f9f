// Effects of LimitRanges and RuntimeClasses on templates: alone, and for waiting work.
#include "dialect/upstream/template_effects.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::World;

Job effects_job(const std::string& spec, const std::string& head = "") {
  const auto objects =
      testing::objects_of("apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {" + head +
                          "spec: " + spec + "}}\n");
  return std::get<Job>(objects.at(0));
}

LimitRange range_of(const std::string& name, const std::string& limits) {
  const auto objects = testing::objects_of("apiVersion: v1\nkind: LimitRange\nmetadata: {name: " + name +
                                           "}\nspec: {limits: [" + limits + "]}\n");
  return std::get<LimitRange>(objects.at(0));
}

RuntimeClass runtime_of(const std::string& rest) {
  const auto objects = testing::objects_of(
      "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata\n" + rest +
      "\n");
  return std::get<RuntimeClass>(objects.at(0));
}

TakenTemplate taken(const Job& job, const std::vector<LimitRange>& ranges,
                    const RuntimeClass* runtime = nullptr, bool all_runtimes = false) {
  TemplateRules rules;
  for (const auto& range : ranges) rules.ranges.push_back(&range);
  rules.runtime = runtime;
  rules.all_runtimes = all_runtimes;
  return as_taken(job.spec, *job.needs, job.template_meta, rules, {});
}

TEST(TemplateEffects, DefaultsFillWhatIsMissingAndTheFirstLimitRangeWins) {
  const Job job = effects_job(
      "{containers: [{name: a, resources: {limits: {cpu: '4'}}}, {name: b, resources: {requests: {memory: "
      "1Gi}}}],"
      " initContainers: [{name: i}]}");
  const auto first =
      range_of("first", "{type: Container, defaultRequest: {cpu: '1'}, default: {cpu: '8', memory: 2Gi}}");
  const auto second =
      range_of("second", "{type: Container, defaultRequest: {cpu: '7', ephemeral-storage: '5'}}");
  const auto out = taken(job, {first, second});
  EXPECT_EQ(out.refused, "");
  // a: its own limit is its request; b and i: the default. Defaults of one container apply to each.
  EXPECT_EQ(
      out.pod.requests,
      (ResourceList{{"cpu", 5000}, {"memory", (2LL + 1) << 30}, {"ephemeral-storage", 10}, {"pods", 1}}));
}

TEST(TemplateEffects, AnInitContainerGetsDefaultsToo) {
  const Job job = effects_job(
      "{containers: [{name: a, resources: {requests: {cpu: '1'}}}], initContainers: [{name: i}]}");
  EXPECT_EQ(
      taken(job, {range_of("r", "{type: Container, defaultRequest: {cpu: '3'}}")}).pod.requests.get("cpu"),
      3000);
}

TEST(TemplateEffects, LimitsLeftOutAreCompletedAsTheApiServerDoes) {
  const auto range = range_of(
      "r", "{type: Container, max: {cpu: '4'}, default: {memory: 2Gi}, min: {ephemeral-storage: '3'}}");
  const auto& limit = range.limits.at(0);
  EXPECT_EQ(limit.default_limits, (ResourceList{{"cpu", 4000}, {"memory", 2LL << 30}}));
  EXPECT_EQ(limit.default_requests,
            (ResourceList{{"cpu", 4000}, {"memory", 2LL << 30}, {"ephemeral-storage", 3}}));
  EXPECT_TRUE(range_of("r", "{type: PersistentVolumeClaim, max: {storage: 1Gi}}").limits.empty());
  const auto pods = range_of("r", "{type: Pod, max: {cpu: '4'}}");
  EXPECT_TRUE(pods.limits.at(0).default_requests.empty()) << "bounds of pods give nothing";
}

TEST(TemplateEffects, BoundsRefuseAsTheApiServerWould) {
  const auto refused = [](const std::string& resources, const std::string& limits) {
    return taken(effects_job("{containers: [{name: a, resources: " + resources + "}]}"),
                 {range_of("r", limits)})
        .refused;
  };
  EXPECT_EQ(refused("{limits: {cpu: '4'}}", "{type: Container, max: {cpu: '4'}}"), "");
  EXPECT_EQ(refused("{limits: {cpu: '5'}}", "{type: Container, max: {cpu: '4'}}"),
            "container a: LimitRange r allows 4 of cpu, and the limit is 5");
  EXPECT_EQ(refused("{requests: {cpu: '5'}}", "{type: Container, max: {cpu: '4'}}"),
            "container a: LimitRange r allows 4 of cpu, and 5 is requested")
      << "the limit is the default";
  EXPECT_EQ(refused("{requests: {cpu: '1'}}", "{type: Container, min: {cpu: '2'}}"),
            "container a: LimitRange r wants at least 2 of cpu, and 1 is requested");
  EXPECT_EQ(refused("{}", "{type: Container, min: {cpu: '2'}}"), "") << "the least is the default";
  EXPECT_EQ(refused("{requests: {cpu: '3'}}", "{type: Container, default: {cpu: '2'}}"),
            "container a: 3 of cpu is requested, above its limit of 2");
  const std::string ratio = "{type: Container, maxLimitRequestRatio: {cpu: 1500m}}";
  EXPECT_EQ(refused("{requests: {cpu: '2'}, limits: {cpu: '3'}}", ratio), "");
  EXPECT_THAT(refused("{requests: {cpu: '1'}, limits: {cpu: '2'}}", ratio),
              HasSubstr("allows a limit of 1500m times the request of cpu"));
  EXPECT_THAT(refused("{requests: {cpu: '1'}}", ratio), HasSubstr("they are 0 and 1"));
  EXPECT_EQ(refused("{limits: {cpu: '5'}}", "{type: Pod, max: {cpu: '4'}}"),
            "its pods: LimitRange r allows 4 of cpu, and the limit is 5");
  EXPECT_EQ(refused("{requests: {cpu: '3'}}", "{type: Pod, max: {cpu: '4'}}"),
            "its pods: LimitRange r allows 4 of cpu, and there is no limit");
  EXPECT_EQ(refused("{}", "{type: Pod, min: {cpu: '4'}}"),
            "its pods: LimitRange r wants at least 4 of cpu, and nothing is requested");
}

TEST(TemplateEffects, DevicesAreClaimedAndAShareStaysAShare) {
  const auto gpus = range_of("r", "{type: Container, default: {nvidia.com/gpu: '2'}}");
  const auto whole = taken(effects_job("{containers: [{name: a}]}"), {gpus});
  ASSERT_EQ(whole.pod.claim.requests.size(), 1U);
  EXPECT_EQ(whole.pod.claim.requests[0], (DeviceRequest{"nvidia.com/gpu", 2, 1000}));
  EXPECT_FALSE(whole.pod.requests.has("nvidia.com/gpu"));
  const std::string marks = "metadata: {annotations: {berth.dev/gpu-milli: '250'}}, ";
  const auto cpus = range_of("r", "{type: Container, default: {cpu: '2'}}");
  const auto share = taken(effects_job("{containers: [{name: a}]}", marks), {cpus});
  ASSERT_EQ(share.pod.claim.requests.size(), 1U);
  EXPECT_EQ(share.pod.claim.requests[0].milli, 250);
  EXPECT_THAT(share.pod.unsupported, IsEmpty());
  const auto both = taken(effects_job("{containers: [{name: a}]}", marks), {gpus});
  EXPECT_THAT(both.pod.unsupported, ElementsAre(HasSubstr("it also requests nvidia.com/gpu")));
  const auto half = range_of("r", "{type: Container, default: {nvidia.com/gpu: 500m}}");
  EXPECT_EQ(taken(effects_job("{containers: [{name: a}]}"), {half}).refused,
            "a number of nvidia.com/gpu must be whole");
}

TEST(TemplateEffects, ARuntimeClassAddsOverheadAndNodes) {
  const Job job = effects_job(
      "{runtimeClassName: kata, nodeSelector: {a: b}, containers: [{name: a, resources: {requests: {cpu: "
      "'1'}}}]}");
  const RuntimeClass kata = runtime_of(
      "overhead: {podFixed: {cpu: 250m, memory: 64Mi}}\n"
      "scheduling: {nodeSelector: {runtime: kata}, tolerations: [{key: kata, operator: Exists}]}");
  const auto out = taken(job, {}, &kata);
  EXPECT_EQ(out.refused, "");
  EXPECT_EQ(out.pod.requests, (ResourceList{{"cpu", 1250}, {"memory", 64LL << 20}, {"pods", 1}}));
  EXPECT_EQ(out.pod.node_selector, (Labels{{"a", "b"}, {"runtime", "kata"}}));
  EXPECT_EQ(out.pod.tolerations.size(), 1U);
  // Bounds of pods do not see the overhead.
  EXPECT_EQ(taken(job, {range_of("r", "{type: Pod, max: {memory: 1Mi}}")}, &kata).refused,
            "its pods: LimitRange r allows 1Mi of memory, and there is no limit");
  EXPECT_EQ(taken(job, {}, &kata).pod, taken(job, {}, &kata, true).pod);
}

TEST(TemplateEffects, WhatARuntimeClassForbidsIsRefused) {
  const RuntimeClass kata =
      runtime_of("overhead: {podFixed: {cpu: 250m}}\nscheduling: {nodeSelector: {pool: vm}}");
  const auto refused = [&](const std::string& spec, const RuntimeClass* runtime, bool all) {
    return taken(effects_job("{" + spec + "containers: [{name: a}]}"), {}, runtime, all).refused;
  };
  EXPECT_EQ(refused("runtimeClassName: kata, ", nullptr, true), "RuntimeClass kata does not exist");
  EXPECT_EQ(refused("runtimeClassName: kata, ", nullptr, false), "") << "it may";
  EXPECT_EQ(refused("runtimeClassName: kata, overhead: {cpu: '1'}, ", &kata, true),
            "its overhead is not that of RuntimeClass kata");
  EXPECT_EQ(refused("runtimeClassName: kata, overhead: {cpu: 250m}, ", &kata, true), "");
  EXPECT_EQ(refused("overhead: {cpu: '1'}, ", nullptr, true), "it has overhead, and names no RuntimeClass");
  EXPECT_EQ(refused("runtimeClassName: kata, nodeSelector: {pool: metal}, ", &kata, true),
            "RuntimeClass kata wants nodes with pool: vm, and its nodeSelector metal");
}

// As the API server refuses containers, once LimitRanges have given their defaults.
TEST(TemplateEffects, ContainersThatTheApiServerRefuses) {
  const auto refused = [](const std::string& resources, const std::vector<LimitRange>& ranges = {}) {
    const Job job = effects_job(
        "{initContainers: [{name: i}], containers: [{name: a}, {name: b, resources: {" + resources + "}}]}");
    TemplateRules rules;
    rules.of_pods = true;
    for (const auto& range : ranges) rules.ranges.push_back(&range);
    if (!rules.concern(*job.needs)) return std::string();
    return as_taken(job.spec, *job.needs, job.template_meta, rules, {}).refused;
  };
  EXPECT_EQ(refused("requests: {nvidia.com/gpu: 2}"),
            "containers[1].resources: Limit must be set for nvidia.com/gpu, which is requested: it cannot be "
            "overcommitted");
  EXPECT_EQ(
      refused("requests: {example.com/nic: 1}, limits: {example.com/nic: 2}"),
      "containers[1].resources: the request of example.com/nic is 1, and must be equal to its limit of 2");
  EXPECT_THAT(refused("requests: {hugepages-2Mi: 4Mi}"), HasSubstr("Limit must be set for hugepages-2Mi"));
  EXPECT_THAT(refused("requests: {gpu: 1}"), HasSubstr("gpu is no resource of Kubernetes"));
  for (const char* good :
       {"limits: {nvidia.com/gpu: 2}", "requests: {nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: 2}",
        "requests: {cpu: 1, memory: 1Gi, ephemeral-storage: 1Gi}", "requests: {cpu: 1}, limits: {cpu: 2}",
        "limits: {hugepages-1Gi: 2Gi}", "requests: {kubernetes.io/batch: 1}"})
    EXPECT_EQ(refused(good), "") << good;
  const auto range = range_of("gives", "{type: Container, default: {nvidia.com/gpu: '2'}}");
  EXPECT_EQ(refused("requests: {nvidia.com/gpu: 2}", {range}), "");
  EXPECT_THAT(refused("requests: {nvidia.com/gpu: 1}", {range}),
              HasSubstr("must be equal to its limit of 2"));
}

TEST(TemplateEffects, AWrongFieldIsNamed) {
  const auto error_of = [](Kind kind, const std::string& text) {
    JsonDecoder decoder;
    const auto object = decoder.decode(text, kind);
    return object ? std::string() : object.error().message;
  };
  EXPECT_THAT(
      error_of(Kind::kLimitRange,
               R"({"metadata":{"name":"r"},"spec":{"limits":[{"type":"Container","max":{"cpu":"-1"}}]}})"),
      HasSubstr("spec.limits[0].max.cpu: is -1, but an amount must not be negative"));
  EXPECT_THAT(error_of(Kind::kLimitRange, R"({"metadata":{"name":"r"},"spec":{"limits":[{"max":{}}]}})"),
              HasSubstr("spec.limits[0].type: is required"));
  EXPECT_THAT(error_of(Kind::kLimitRange, R"({"metadata":{"name":"r"},"spec":{"limits":[
    {"type":"Pod","maxLimitRequestRatio":{"memory":"much"}}]}})"),
              HasSubstr("spec.limits[0].maxLimitRequestRatio.memory"));
  EXPECT_THAT(
      error_of(Kind::kRuntimeClass, R"({"metadata":{"name":"r"},"overhead":{"podFixed":{"cpu":[]}}})"),
      HasSubstr("overhead.podFixed.cpu"));
}

// -------------------------------------------------------------------------------------------------------- work that waits

IntakeConfig holding() {
  IntakeConfig config;
  config.hold_owners = true;
  return config;
}

std::string queues_yaml(int cpus) {
  return "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: any}\n---\n"
         "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: cq}\n"
         "spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: any, "
         "resources: "
         "[{name: cpu, nominalQuota: '" +
         std::to_string(cpus) +
         "'}]}]}]}\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: team}\n"
         "spec: {clusterQueue: cq}\n---\n";
}

std::string waiting_job(const std::string& name, bool suspend = true, const std::string& spec = "") {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: " + name + ", uid: " + name +
         ", labels: {kueue.x-k8s.io/queue-name: team}}\nspec: {suspend: " + (suspend ? "true" : "false") +
         ", parallelism: 2, completions: 2, template: {spec: {" + spec +
         "containers: [{name: main}]}}}\n---\n";
}

std::string limit_range(const std::string& limit) {
  return "apiVersion: v1\nkind: LimitRange\nmetadata: {name: r}\nspec: {limits: [" + limit + "]}\n---\n";
}

std::int64_t cpu_of(const World& world, const std::string& uid) {
  return world.told.at(uid).root.pod_sets.at(0).pod.requests.get("cpu");
}

TEST(TemplateEffects, AWaitingJobAsksForWhatItsPodsWillAskFor) {
  World world(holding());
  // Whatever comes first.
  world.apply(waiting_job("early") + queues_yaml(8) + node_yaml("n0", 0) +
              limit_range("{type: Container, default: {cpu: '3'}}") + waiting_job("late"));
  EXPECT_EQ(cpu_of(world, "early"), 3000);
  EXPECT_EQ(cpu_of(world, "late"), 3000);
  const auto sketch = world.intake.sketch("early");
  ASSERT_TRUE(sketch);
  EXPECT_EQ(sketch->sets.at(0).counted.get("cpu"), 3000) << "the Workload says the same";
  EXPECT_EQ(world.decide().size(), 1U) << "two pods of three cores are six of eight";
}

TEST(TemplateEffects, AChangeCountsForWhatWaitsAndNotForWhatHasItsPlaces) {
  World world(holding());
  world.apply(queues_yaml(100) + node_yaml("n0", 0) + limit_range("{type: Container, default: {cpu: '1'}}") +
              waiting_job("waits") + waiting_job("released") + waiting_job("held"));
  EXPECT_EQ(world.decide().size(), 3U);
  world.intake.set_released("released", true);
  world.intake.set_reserved("held", true);
  world.apply(limit_range("{type: Container, default: {cpu: '2'}}"));
  EXPECT_EQ(cpu_of(world, "waits"), 2000);
  EXPECT_EQ(cpu_of(world, "released"), 1000);
  EXPECT_EQ(cpu_of(world, "held"), 1000);
  world.apply(waiting_job("held"));  // its status changed
  EXPECT_EQ(cpu_of(world, "held"), 1000);
  // They wait as others do again.
  world.intake.set_released("released", false);
  world.intake.set_reserved("held", false);
  world.drain();
  EXPECT_EQ(cpu_of(world, "released"), 2000);
  EXPECT_EQ(cpu_of(world, "held"), 2000);
  world.remove(Kind::kLimitRange, "r");
  EXPECT_EQ(cpu_of(world, "waits"), 0);
}

TEST(TemplateEffects, WhatItsOwnerChangesWhileItHasPlacesCounts) {
  World world(holding());
  world.apply(queues_yaml(100) + node_yaml("n0", 0) + limit_range("{type: Container, default: {cpu: '1'}}") +
              waiting_job("held"));
  world.decide();
  world.intake.set_reserved("held", true);
  world.apply(limit_range("{type: Container, default: {cpu: '2'}}") +
              waiting_job("held", true, "nodeSelector: {a: b}, "));
  EXPECT_EQ(cpu_of(world, "held"), 2000);
}

TEST(TemplateEffects, AJobWhosePodsWouldBeRefusedWaitsAndSaysWhy) {
  World world(holding());
  world.apply(queues_yaml(100) + node_yaml("n0", 0) + waiting_job("j", true, "runtimeClassName: kata, ") +
              limit_range("{type: Pod, max: {cpu: '1'}}"));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(to_text(*world.intake.blocked("j")),
              HasSubstr("LimitRange r allows 1 of cpu, and there is no limit"));
  world.intake.set_all_runtimes_known();
  world.remove(Kind::kLimitRange, "r");
  EXPECT_THAT(to_text(*world.intake.blocked("j")), HasSubstr("RuntimeClass kata does not exist"));
  world.apply(
      "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\noverhead: {podFixed: {cpu: "
      "100m}}\n");
  EXPECT_EQ(world.intake.blocked("j"), nullptr);
  EXPECT_EQ(cpu_of(world, "j"), 100);
  EXPECT_EQ(world.decide().size(), 1U);
}

// The pods that are there were made by the rules of their time; those that come are made by the rules of theirs.
TEST(TemplateEffects, AJobThatWaitsAgainAsksByTheRulesOfNow) {
  World world(holding());
  world.apply(queues_yaml(100) + node_yaml("n0", 0) + limit_range("{type: Container, default: {cpu: '1'}}") +
              waiting_job("j"));
  world.decide();
  world.intake.set_released("j", true);
  const auto pod = [](int index) {
    const std::string name = "j-" + std::to_string(index);
    return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + ", uid: " + name +
           ", labels: {kueue.x-k8s.io/queue-name: team}, ownerReferences: [{kind: Job, name: j, uid: j, "
           "controller: "
           "true}]}\nspec: {nodeName: n0, containers: [{name: main, resources: {limits: {cpu: "
           "'1'}}}]}\n---\n";
  };
  world.apply(waiting_job("j", false) + pod(0) + pod(1));
  world.intake.set_released("j", false);
  world.apply(limit_range("{type: Container, default: {cpu: '2'}}"));
  EXPECT_EQ(cpu_of(world, "j"), 1000) << "it runs";
  world.apply(waiting_job("j"));
  world.remove(Kind::kPod, "j-0");
  world.remove(Kind::kPod, "j-1");
  EXPECT_EQ(cpu_of(world, "j"), 2000);
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST(TemplateEffects, WorkloadsOfAPlanWithoutNodesToo) {
  IntakeConfig config;
  config.quota_only = true;
  World world(config);
  const std::string workload =
      "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata: {name: w, uid: w}\nspec: {queueName: "
      "team, "
      "podSets: [{name: main, count: 2, template: {spec: {containers: [{name: main}]}}}]}\n---\n";
  world.apply(queues_yaml(5) + workload + limit_range("{type: Container, default: {cpu: '3'}}"));
  EXPECT_EQ(cpu_of(world, "w"), 3000);
  EXPECT_THAT(world.decide(), IsEmpty()) << "six of five";
  world.apply(limit_range("{type: Container, min: {cpu: '2'}, defaultRequest: {cpu: '1'}}"));
  EXPECT_THAT(to_text(*world.intake.blocked("w")), HasSubstr("wants at least 2 of cpu, and 1 is requested"));
  world.apply(limit_range("{type: Container, default: {cpu: '2'}}"));
  EXPECT_EQ(world.decide().size(), 1U);
}

}  // namespace
}  // namespace berth::dialect

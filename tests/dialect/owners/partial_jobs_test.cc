// Kueue's partial admission of Jobs: what their annotations say, and what is written on them.
#include "dialect/owners/job/partial_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dialect/dialect_support.h"
#include "dialect/write/writes.h"

namespace berth::dialect {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::World;

std::string job_yaml(const std::string& annotations, const std::string& spec) {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, uid: j, labels: {kueue.x-k8s.io/queue-name: "
         "team}, "
         "annotations: {" +
         annotations + "}}\nspec: {" + spec +
         ", template: {spec: {containers: [{name: main, resources: {requests: {cpu: '1'}}}]}}}\n---\n";
}

Job partial_job(const std::string& annotations, const std::string& spec) {
  return std::get<Job>(testing::objects_of(job_yaml(annotations, spec)).at(0));
}

constexpr const char* kLeast = "kueue.x-k8s.io/job-min-parallelism: '2'";
const std::string kFollow =
    std::string(kLeast) + ", kueue.x-k8s.io/job-completions-equal-parallelism: 'true'";
const std::string kIndexed = "suspend: true, completionMode: Indexed, parallelism: 6, completions: 6";

TEST(PartialJobs, WhatMayBeFewerIsSaidByKueuesAnnotations) {
  const Job job = partial_job(kLeast, "parallelism: 6, completions: 9");
  EXPECT_EQ(job.least_pods, 2);
  EXPECT_FALSE(job.completions_follow);
  EXPECT_EQ(job.partial_problem, "");
  EXPECT_FALSE(partial_job("", "parallelism: 6").least_pods);
  EXPECT_TRUE(partial_job(kFollow, kIndexed).completions_follow);
}

TEST(PartialJobs, WhatCannotBeIsNamed) {
  const auto problem = [](const std::string& annotations, const std::string& spec) {
    return partial_job(annotations, spec).partial_problem;
  };
  for (const char* wrong : {"'0'", "'-1'", "two", "''", "'2000000'"}) {
    EXPECT_THAT(problem(std::string("kueue.x-k8s.io/job-min-parallelism: ") + wrong, "parallelism: 6"),
                HasSubstr("job-min-parallelism: \""))
        << wrong;
  }
  EXPECT_THAT(problem(kFollow, "parallelism: 6, completions: 6"),
              HasSubstr("only with completionMode: Indexed"));
  EXPECT_THAT(problem(kFollow, "completionMode: Indexed, parallelism: 6, completions: 9"),
              HasSubstr("must be the same as parallelism (6)"));
  EXPECT_THAT(problem(std::string(kLeast) + ", kueue.x-k8s.io/job-completions-equal-parallelism: perhaps",
                      "parallelism: 6"),
              HasSubstr("\"perhaps\" is neither true nor false"));
  EXPECT_EQ(problem("kueue.x-k8s.io/job-completions-equal-parallelism: 'true'", "parallelism: 6"), "")
      << "without the other it says nothing";
}

TEST(PartialJobs, WhatIsWrittenSaysWhatWasThere) {
  const Job whole = partial_job(kLeast, "suspend: true, parallelism: 6, completions: 9");
  EXPECT_FALSE(size_for(whole, 0));
  EXPECT_FALSE(size_for(whole, 6));
  const auto less = size_for(whole, 4);
  ASSERT_TRUE(less);
  EXPECT_EQ(less->parallelism, 4);
  EXPECT_FALSE(less->completions);
  EXPECT_EQ(less->mark, "4/6");
  const auto both = size_for(partial_job(kFollow, kIndexed), 4);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->completions, 4);
  EXPECT_EQ(both->mark, "4/6,completions");
}

TEST(PartialJobs, OneThatIsSuspendedHasTheSizeOfItsOwner) {
  const std::string mark = std::string(kLeast) + ", berth.dev/partial-admission: 4/6";
  const Job runs = partial_job(mark, "parallelism: 4, completions: 9");
  EXPECT_EQ(runs.size(), 4);
  EXPECT_EQ(runs.asked(), 6);
  const Job waits = partial_job(mark, "suspend: true, parallelism: 4, completions: 9");
  EXPECT_EQ(waits.size(), 6);
  EXPECT_EQ(waits.asked(), 6);
  EXPECT_FALSE(size_for(waits, 4)) << "it is written so";
  EXPECT_EQ(size_for(waits, 5)->mark, "5/6");
  const auto full = size_for(waits, 0);
  ASSERT_TRUE(full);
  EXPECT_EQ(full->parallelism, 6);
  EXPECT_EQ(full->mark, "");
  EXPECT_TRUE(full->is_marked);
  // Its owner has changed it since.
  const Job changed = partial_job(mark, "suspend: true, parallelism: 5, completions: 9");
  EXPECT_EQ(changed.size(), 5);
  EXPECT_EQ(size_for(changed, 0)->parallelism, 5);
  EXPECT_TRUE(size_for(changed, 0)->is_marked) << "the mark says nothing, and goes";
  const Job too = partial_job(kFollow + ", berth.dev/partial-admission: '4/6,completions'",
                              "suspend: true, completionMode: Indexed, parallelism: 4, completions: 4");
  EXPECT_EQ(too.size(), 6);
  EXPECT_EQ(too.partial_problem, "");
  EXPECT_EQ(size_for(too, 0)->completions, 6);
  for (const char* wrong : {"6/4", "4/4", "0/6", "4", "4/6x", "4/6000000"}) {
    EXPECT_FALSE(
        partial_job(std::string("berth.dev/partial-admission: '") + wrong + "'", "parallelism: 4").reduced)
        << wrong;
  }
}

TEST(PartialJobs, TheWritesKeepToOnePatch) {
  const Job job = partial_job(kFollow, kIndexed);
  const Ask ask = ask_of(job);
  json before = json::parse(R"({"metadata":{"uid":"j","generation":3,"annotations":{"a":"b"}},
    "spec":{"suspend":true,"parallelism":6,"completions":6}})");
  const json released =
      before.patch(json::parse(ask.kind->release(ask, {.generation = 3, .pods = 4}).write.body));
  EXPECT_EQ(released["spec"], json::parse(R"({"suspend":false,"parallelism":4,"completions":4})"));
  EXPECT_EQ(released["metadata"]["annotations"]["berth.dev/partial-admission"], "4/6,completions");
  json suspended = released;
  const Job runs = partial_job(kFollow + ", berth.dev/partial-admission: '4/6,completions'",
                               "completionMode: Indexed, parallelism: 4, completions: 4");
  const Ask ask_of_runs = ask_of(runs);
  suspended.merge_patch(json::parse(ask.kind->suspend(ask_of_runs, false).body));
  EXPECT_EQ(suspended["spec"], before["spec"]);
  EXPECT_EQ(suspended["metadata"]["annotations"], before["metadata"]["annotations"]);
  const Ask plain = ask_of(partial_job("", "parallelism: 4"));
  EXPECT_EQ(json::parse(ask.kind->suspend(plain, false).body)["metadata"], json::parse(R"({"uid":"j"})"))
      << "of all others nothing else is written";
}

// ------------------------------------------------------------------------------------------------------------- the intake

IntakeConfig holding() {
  IntakeConfig config;
  config.hold_owners = true;
  return config;
}

std::string queue_yaml(int cpus) {
  return "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: any}\n---\n"
         "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: cq}\n"
         "spec: {namespaceSelector: {}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: any, "
         "resources: "
         "[{name: cpu, nominalQuota: '" +
         std::to_string(cpus) +
         "'}]}]}]}\n---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata: {name: team}\n"
         "spec: {clusterQueue: cq}\n---\n";
}

const std::string kSix = "suspend: true, parallelism: 6, completions: 6";

TEST(PartialJobs, StartsWithTheMostThatFitAndKeepsThatSize) {
  World world(holding());
  world.apply(node_yaml("n0", 0) + queue_yaml(4) + job_yaml(kLeast, kSix));
  const auto started = world.decide();
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].slots.size(), 4U);
  EXPECT_EQ(world.told.at("j").root.pod_sets.at(0).least_count(), 2);
  EXPECT_TRUE(world.told.at("j").whole_first);
  EXPECT_TRUE(world.intake.may_start_smaller("j"));
  world.intake.grant("j", 4);
  world.drain();
  EXPECT_EQ(world.told.at("j").root.pod_sets.at(0).count, 4);
  EXPECT_EQ(world.told.at("j").root.pod_sets.at(0).least_count(), 4) << "none of them may be taken alone";
  EXPECT_FALSE(world.told.at("j").whole_first);
  EXPECT_TRUE(world.engine.audit());
  EXPECT_FALSE(world.engine.slot("j", 0, 4).has_value());
  EXPECT_FALSE(world.intake.may_start_smaller("j"));
  const auto sketch = world.intake.sketch("j");
  ASSERT_TRUE(sketch);
  EXPECT_EQ(sketch->sets.at(0).count, 6) << "what it asks for is what its owner wrote";
  EXPECT_EQ(sketch->sets.at(0).least, 2);
  // It lost its places before it was released.
  world.intake.set_released("j", true);
  world.intake.set_released("j", false);
  world.intake.renew("j");
  world.drain();
  EXPECT_EQ(world.told.at("j").root.pod_sets.at(0).count, 6);
  EXPECT_EQ(world.told.at("j").root.pod_sets.at(0).least_count(), 2);
  EXPECT_EQ(world.engine.slot("j", 0, 5)->state, SlotState::kWaiting);
  EXPECT_TRUE(world.intake.may_start_smaller("j"));
  world.apply(job_yaml(kLeast, "suspend: true, parallelism: 5, completions: 6"));
  EXPECT_THAT(world.refused, IsEmpty());
}

TEST(PartialJobs, AWholeStartFixesItsSizeToo) {
  World world(holding());
  world.apply(node_yaml("n0", 0) + queue_yaml(40) + job_yaml(kLeast, kSix));
  const auto started = world.decide();
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].slots.size(), 6U);
  world.intake.grant("j", 6);
  world.drain();
  EXPECT_EQ(world.told.at("j").root.pod_sets.at(0).least_count(), 6) << "none of them may be taken alone";
  EXPECT_EQ(world.intake.granted("j"), 0);
  EXPECT_FALSE(world.intake.may_start_smaller("j"));
  // While it waits for an admission check it stays so; when that is over, it may start smaller again.
  world.intake.set_reserved("j", true);
  world.drain();
  EXPECT_EQ(world.told.at("j").root.pod_sets.at(0).least_count(), 6);
  world.intake.set_reserved("j", false);
  world.drain();
  EXPECT_EQ(world.told.at("j").root.pod_sets.at(0).least_count(), 2);
}

TEST(PartialJobs, WhatCannotShrinkStartsWhole) {
  World world(holding());
  world.apply(node_yaml("n0", 0) + queue_yaml(4) + job_yaml("", kSix));
  EXPECT_FALSE(world.intake.may_start_smaller("j"));
  world.apply(job_yaml("kueue.x-k8s.io/job-min-parallelism: '6'", kSix));
  EXPECT_FALSE(world.intake.may_start_smaller("j"));
  world.apply(job_yaml(kLeast, "parallelism: 6, completions: 6"));
  EXPECT_FALSE(world.intake.may_start_smaller("j")) << "its pods are there";
}

TEST(PartialJobs, AWrongAnnotationKeepsItWaiting) {
  World world(holding());
  world.apply(node_yaml("n0", 0) + queue_yaml(40) +
              job_yaml("kueue.x-k8s.io/job-min-parallelism: two", kSix));
  EXPECT_THAT(world.decide(), IsEmpty());
  EXPECT_THAT(to_text(*world.intake.blocked("j")), HasSubstr("job-min-parallelism: \"two\""));
  world.apply(job_yaml(kLeast, kSix));
  EXPECT_EQ(world.decide().size(), 1U);
}

}  // namespace
}  // namespace berth::dialect

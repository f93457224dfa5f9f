// Jobs as gangs: how many members they need when some of their pods have ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dialect/dialect_support.h"
#include "dialect/intake/intake.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::node_yaml;
using testing::pod_yaml;
using testing::World;

std::string job_yaml(int parallelism, const std::string& completions, int succeeded) {
  return "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, uid: j, labels: {berth.dev/gang: j}}\n"
         "spec:\n  parallelism: " +
         std::to_string(parallelism) + "\n" +
         (completions.empty() ? "" : "  completions: " + completions + "\n") +
         "  template: {spec: {containers: []}}\nstatus: {succeeded: " + std::to_string(succeeded) +
         "}\n---\n";
}

std::string job_pod(int index, const std::string& node = "", const std::string& phase = "") {
  const std::string name = "j-" + std::to_string(index);
  std::string yaml = pod_yaml(
      name, 1,
      "  uid: " + name +
          "\n  ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: j, controller: true}]\n",
      node.empty() ? "" : "  nodeName: " + node + "\n");
  if (!phase.empty()) yaml.insert(yaml.rfind("---"), "status: {phase: " + phase + "}\n");
  return yaml;
}

// A scheduler starts after another died in the middle of a gang, whose first pod has ended since.
TEST(IntakeJobs, AGangNeedsNoPodThatHasEndedWell) {
  World world;
  world.apply(node_yaml("n0", 4) + job_yaml(4, "4", 0) + job_pod(1) + job_pod(2) + job_pod(3));
  EXPECT_THAT(world.decide(), IsEmpty()) << "as far as one knows, a fourth is to come";
  world.apply(job_yaml(4, "4", 1));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/j: j-1->n0 j-2->n0 j-3->n0"));
}

TEST(IntakeJobs, WhatHasEndedWellAndIsNotMadeAgainIsReclaimable) {
  const auto reclaimable = [](int parallelism, const std::string& completions, int succeeded) {
    return std::get<Job>(testing::objects_of(job_yaml(parallelism, completions, succeeded)).at(0))
        .reclaimable();
  };
  EXPECT_EQ(reclaimable(4, "4", 0), 0);
  EXPECT_EQ(reclaimable(4, "4", 1), 1);
  EXPECT_EQ(reclaimable(4, "4", 4), 4);
  EXPECT_EQ(reclaimable(4, "10", 5), 0) << "five are left, four at once";
  EXPECT_EQ(reclaimable(4, "10", 8), 2);
  EXPECT_EQ(reclaimable(4, "2", 1), 1) << "two at once";
  EXPECT_EQ(reclaimable(4, "", 1), 1) << "one of a work queue has found it empty";
}

TEST(IntakeJobs, AGangWithoutCompletionsNeedsTheOnesThatAreThere) {
  World world;
  world.apply(node_yaml("n0", 4) + job_yaml(3, "", 1) + job_pod(1) + job_pod(2));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/j: j-1->n0 j-2->n0"));
}

TEST(IntakeJobs, WhatIsLeftOfARunningGangIsNoSurplus) {
  World world;
  world.apply(node_yaml("n0", 4) + job_yaml(4, "8", 0));
  for (int i = 0; i < 4; ++i) world.apply(job_pod(i, "n0"));
  const auto least = [&] { return world.told.at("j").root.pod_sets.at(0).least; };
  EXPECT_EQ(least(), 4);
  world.apply(job_yaml(4, "8", 7) + job_pod(0, "n0", "Succeeded"));
  EXPECT_EQ(least(), 4) << "three run; none of them may be taken alone";
  for (int i = 1; i < 4; ++i) world.remove(Kind::kPod, "j-" + std::to_string(i));
  world.apply(job_pod(7));
  EXPECT_THAT(world.started(world.decide()), ElementsAre("default/j: j-7->n0")) << "one completion is left";
}

}  // namespace
}  // namespace berth::dialect

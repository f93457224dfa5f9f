// A queue manager and a scheduler beside it, each deciding for itself (sim/replay/two_pass.h), by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/sim_support.h"

namespace berth::sim {
namespace {

using testing::HasSubstr;

constexpr const char* kTwoPassNodes =
    "{\"kind\":\"berth-trace\",\"version\":1}\n"
    "{\"kind\":\"node\",\"name\":\"n1\",\"gpus\":8}\n"
    "{\"kind\":\"node\",\"name\":\"n2\",\"gpus\":8}\n";

Result<Replayed> run_passes(const std::string& jobs, const std::string& queue, const std::string& passes,
                            const std::string& rest = "") {
  const TempFolder folder;
  folder.file("t.jsonl", kTwoPassNodes + jobs);
  return replay_of(
      "name: test\n"
      "cluster: [{kind: berth, path: t.jsonl}]\n"
      "trace: [{kind: berth, path: t.jsonl, durations: known, checkpoint_every: 1s}]\n"
      "queues: [{name: q, " +
          queue + "}]\npolicy: {placement: pack, passes: " + passes + "}\n" + rest,
      folder.path());
}

// Six GPUs on each node; c has quota and no place, and keeps its quota from d, although two GPUs are free for d.
TEST(TwoPasses, AdmittedWorkKeepsItsQuotaWithoutAPlace) {
  const std::string jobs = R"({"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":100000,"gpus":6}
{"kind":"job","id":"b","queue":"q","submit_ms":0,"duration_ms":200000,"gpus":6}
{"kind":"job","id":"c","queue":"q","submit_ms":1000,"duration_ms":50000,"gpus":4}
{"kind":"job","id":"d","queue":"q","submit_ms":2000,"duration_ms":50000,"gpus":1}
)";
  const std::string queue = "quota: [{resource: gpu, nominal: 16, borrow: 0}]";
  const auto one = run_passes(jobs, queue, "one");
  ASSERT_TRUE(one) << one.error().str();
  EXPECT_EQ(job_of(*one, "c").first_start, 100'000);
  EXPECT_EQ(job_of(*one, "d").first_start, 2'000);
  const auto two = run_passes(jobs, queue, "two");
  ASSERT_TRUE(two) << two.error().str();
  EXPECT_EQ(job_of(*two, "c").first_start, 100'000);
  EXPECT_EQ(job_of(*two, "d").first_start, 100'000);
}

// Four jobs of four GPUs; c of eight takes the two that have most left. They sit on different nodes, so it is in vain.
TEST(TwoPasses, VictimsAreTakenByCountThoughTheirRoomDoesNotFitTogether) {
  const std::string jobs =
      R"({"kind":"job","id":"a1","queue":"q","submit_ms":0,"duration_ms":900000,"gpus":4}
{"kind":"job","id":"a2","queue":"q","submit_ms":1,"duration_ms":300000,"gpus":4}
{"kind":"job","id":"b1","queue":"q","submit_ms":2,"duration_ms":800000,"gpus":4}
{"kind":"job","id":"b2","queue":"q","submit_ms":3,"duration_ms":400000,"gpus":4}
{"kind":"job","id":"c","queue":"q","submit_ms":10000,"duration_ms":100000,"gpus":8}
)";
  const std::string queue =
      "quota: [{resource: gpu, nominal: 16, borrow: 0}], order_by: remaining, within: later-in-order, "
      "victims: latest-in-order";
  const auto one = run_passes(jobs, queue, "one");
  ASSERT_TRUE(one) << one.error().str();
  EXPECT_EQ(job_of(*one, "c").first_start, 10'000);
  EXPECT_EQ(job_of(*one, "b1").evictions + job_of(*one, "b2").evictions, 2) << "two of one node";
  const auto two = run_passes(jobs, queue, "two");
  ASSERT_TRUE(two) << two.error().str();
  EXPECT_EQ(job_of(*two, "a1").evictions, 1);
  EXPECT_EQ(job_of(*two, "b1").evictions, 1);
  EXPECT_EQ(job_of(*two, "c").first_start, 300'001) << "when a2 has ended";
  EXPECT_EQ(job_of(*two, "c").evictions, 0);
  EXPECT_EQ(job_of(*two, "b1").waited, 290'001) << "beside the room that it had left";
  EXPECT_EQ(two->outcome.unfinished, 0);
}

// A node each for two jobs that wait: victims end for `short`, and their node is its own, although `long` has stood without a place
// for longer.
TEST(TwoPasses, TheNodesOfVictimsGoToTheWorkloadTheyEndedFor) {
  const std::string jobs = R"({"kind":"node","name":"n3","gpus":8}
{"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":1000000,"gpus":5}
{"kind":"job","id":"b","queue":"q","submit_ms":1,"duration_ms":2000000,"gpus":5}
{"kind":"job","id":"c","queue":"q","submit_ms":2,"duration_ms":3000000,"gpus":5}
{"kind":"job","id":"long","queue":"q","submit_ms":10000,"duration_ms":100000,"gpus":8}
{"kind":"job","id":"short","queue":"q","submit_ms":20000,"duration_ms":50000,"gpus":5}
)";
  const std::string order = "within: later-in-order, victims: latest-in-order, age_limit: 0s";
  const std::string queue = "quota: [{resource: gpu, nominal: 24, borrow: 0}], " + order + ", order_by: ";
  const auto two = run_passes(jobs, queue + "remaining", "two");
  ASSERT_TRUE(two) << two.error().str();
  EXPECT_EQ(job_of(*two, "c").evictions, 1);
  EXPECT_EQ(job_of(*two, "short").first_start, 20'000);
  EXPECT_EQ(job_of(*two, "long").first_start, 70'000);
  EXPECT_EQ(two->outcome.unfinished, 0);
}

// By duration, too, with victims that take their time to end: no other job takes their node meanwhile.
TEST(TwoPasses, NoOtherWorkTakesTheNodesOfEndingVictims) {
  const std::string jobs = R"({"kind":"node","name":"n3","gpus":8}
{"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":1000000,"gpus":5,"grace_ms":5000}
{"kind":"job","id":"b","queue":"q","submit_ms":1,"duration_ms":2000000,"gpus":5,"grace_ms":5000}
{"kind":"job","id":"c","queue":"q","submit_ms":2,"duration_ms":3000000,"gpus":5,"grace_ms":5000}
{"kind":"job","id":"long","queue":"q","submit_ms":10000,"duration_ms":100000,"gpus":8}
{"kind":"job","id":"short","queue":"q","submit_ms":20000,"duration_ms":50000,"gpus":5}
)";
  const auto two = run_passes(jobs,
                              "quota: [{resource: gpu, nominal: 24, borrow: 0}], within: later-in-order, "
                              "victims: latest-in-order, order_by: duration",
                              "two");
  ASSERT_TRUE(two) << two.error().str();
  EXPECT_EQ(job_of(*two, "short").first_start, 25'000);
  EXPECT_EQ(job_of(*two, "long").first_start, 75'000);
  EXPECT_EQ(two->outcome.unfinished, 0);
}

TEST(TwoPasses, AFailedNodeSendsItsWorkBackToTheFirstPass) {
  const std::string jobs = R"({"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":100000,"gpus":8}
{"kind":"job","id":"b","queue":"q","submit_ms":0,"duration_ms":100000,"gpus":8}
)";
  const auto two = run_passes(jobs, "quota: [{resource: gpu, nominal: 16, borrow: 0}]", "two",
                              "failures: [{unit: node, node: n1, at: 50s, repair: 20s}]\n");
  ASSERT_TRUE(two) << two.error().str();
  EXPECT_EQ(two->outcome.unfinished, 0);
  EXPECT_EQ(job_of(*two, "a").failures + job_of(*two, "b").failures, 1);
  EXPECT_EQ(std::max(job_of(*two, "a").end, job_of(*two, "b").end), 120'000);
}

TEST(TwoPasses, WhatTheyCannotDoIsRefused) {
  const std::string job = R"({"kind":"job","id":"a","queue":"q","submit_ms":0,"duration_ms":100000,"gpus":8}
)";
  const auto unlimited = run_passes(job, "unlimited: true", "two");
  ASSERT_FALSE(unlimited);
  EXPECT_THAT(unlimited.error().str(),
              HasSubstr("queue q is unlimited, but policy.passes: two counts quota"));
  const auto service = run_passes(
      job, "quota: [{resource: gpu, nominal: 16}]", "two",
      "services: [{name: s, queue: q, gpus: 1, load: {kind: sine, mean: 10, amplitude: 5, period: 1h}, "
      "capacity: 10, max: 2}]\n");
  ASSERT_FALSE(service);
  const auto three = run_passes(job, "quota: [{resource: gpu, nominal: 16}]", "three");
  ASSERT_FALSE(three);
  EXPECT_THAT(three.error().str(), HasSubstr("passes"));
}

}  // namespace
}  // namespace berth::sim

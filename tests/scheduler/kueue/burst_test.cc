// Workload objects while a stream of binds goes on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "scheduler/workload_support.h"

namespace berth::scheduler::testing {
namespace {

class BurstTest : public WorkloadObjectsTest {
 protected:
  static constexpr int kJobs = 400;

  // So much time goes by, with a hundred answers a second about binds of other pods; the number of writes of Workloads.
  int stream(DurationMs time) {
    int writes = 0;
    for (DurationMs t = 0; t < time; t += 100) {
      for (int i = 0; i < 15; ++i) w_->answer_about(Step::kBind, "another", Outcome::kOk);
      writes += settle(100);
    }
    return writes;
  }
  void submit() {
    for (int i = 0; i < kJobs; ++i) job({.name = fmt::format("job-{}", i)});
  }
};

TEST_F(BurstTest, WorkloadsAreWrittenAfterABurstAndBesideALongStream) {
  EXPECT_EQ(stream(2 * kSecond), 0);
  submit();
  EXPECT_LT(stream(8 * kSecond), 200);
  EXPECT_LT(objects_.size(), kJobs / 2);
  stream(40 * kSecond);
  EXPECT_EQ(objects_.size(), kJobs) << "it has become a long stream";
}

TEST_F(BurstTest, WorkloadsThatWaitForTheEndOfABurstAreWrittenThen) {
  EXPECT_EQ(stream(2 * kSecond), 0);
  submit();
  stream(2 * kSecond);
  EXPECT_LT(objects_.size(), kJobs / 2);
  settle(8 * kSecond);
  EXPECT_EQ(objects_.size(), kJobs);
}

// Its checks are in its Workload: without that object no other controller can answer them.
TEST_F(BurstTest, AStartThatWaitsForItsChecksIsNotHeldUp) {
  w_->object(dialect::Kind::kAdmissionCheck, "budget",
             R"({"metadata":{"name":"budget"},"spec":{"controllerName":"example.com/budget"},
                 "status":{"conditions":[{"type":"Active","status":"True"}]}})");
  w_->object(dialect::Kind::kClusterQueue, "cq",
             R"({"metadata":{"name":"cq"},"spec":{"namespaceSelector":{},
                 "admissionChecksStrategy":{"admissionChecks":[{"name":"budget"}]},
                 "resourceGroups":[{"coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{"name":"any","resources":[
                 {"name":"cpu","nominalQuota":"100"},{"name":"nvidia.com/gpu","nominalQuota":"2"}]}]}]}})");
  w_->turn();
  EXPECT_EQ(stream(2 * kSecond), 0);
  submit();
  stream(12 * kSecond);
  EXPECT_GT(objects_.size(), 320u) << "a trickle writes 240 in that time, a burst fewer";
  EXPECT_TRUE(is("job-0", "QuotaReserved"));
}

}  // namespace
}  // namespace berth::scheduler::testing

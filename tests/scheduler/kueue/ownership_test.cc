// Whose a Workload object is (scheduler/kueue/ownership.h), and the line of blockAdmission (scheduler/kueue/admission_line.h).
#include "scheduler/kueue/ownership.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scheduler/kueue/admission_line.h"

namespace berth::scheduler {
namespace {

TEST(Ownership, AForeignObjectBlocksItsNameAndItsOwners) {
  Ownership ownership;
  const std::string uid = "job";
  const std::string name = "job-train";
  dialect::WorkloadSketch sketch;
  sketch.uid = uid;
  sketch.ns = "team";
  sketch.name = name;
  sketch.owners.emplace_back();
  sketch.owners.back().uid = uid;
  EXPECT_FALSE(ownership.is_foreign(sketch));
  ownership.set_foreign("team/other", {"team/job", "team/x"});
  EXPECT_TRUE(ownership.is_foreign(sketch)) << "it has the same owner";
  ownership.set_foreign("team/other", {"team/x"});
  EXPECT_FALSE(ownership.is_foreign(sketch));
  ownership.add_foreign("team/job-train");
  EXPECT_TRUE(ownership.is_foreign(sketch)) << "it has the name of Berth's own";
  EXPECT_TRUE(ownership.forget_foreign("team/job-train").empty());
  EXPECT_FALSE(ownership.is_foreign(sketch));
  EXPECT_EQ(ownership.forget_foreign("team/other"), std::vector<std::string>{"x"});
  ownership.give("team/job-train", "another");
  EXPECT_TRUE(ownership.is_foreign(sketch)) << "other work has it";
  ownership.give("team/job-train", "job");
  EXPECT_FALSE(ownership.is_foreign(sketch));
  ownership.take("team/job-train");
  EXPECT_EQ(ownership.record_of("team/job-train"), nullptr);
}

TEST(Ownership, TheLogSaysItOnceForEachForeignObject) {
  Ownership ownership;
  ownership.set_foreign("team/other", {"team/job"});
  EXPECT_TRUE(ownership.tell_once("job"));
  EXPECT_FALSE(ownership.tell_once("job"));
  EXPECT_EQ(ownership.forget_foreign("team/other"), std::vector<std::string>{"job"});
  EXPECT_TRUE(ownership.tell_once("job")) << "another one has come";
}

TEST(Ownership, AnAnswerFindsTheRecordThatHasTheObjectNow) {
  Ownership ownership;
  ownership.redirect("job", "past/1");
  EXPECT_EQ(ownership.take_redirected("job"), "past/1");
  EXPECT_EQ(ownership.take_redirected("job"), "job") << "one answer";
}

TEST(AdmissionLine, TurnsStayInTheOrderOfTheDecisions) {
  AdmissionLine line;
  const auto first = line.join("a");
  const auto second = line.join("b");
  EXPECT_LT(first, second);
  line.hand_over(first, "c");
  EXPECT_EQ(line.all().begin()->second, "c");
  line.leave(first);
  EXPECT_EQ(line.all().size(), 1u);
  EXPECT_GT(line.join("a"), second) << "no turn comes back";
}

TEST(AdmissionLine, AllAreReadyWhenTheLastUnreadyOneIs) {
  AdmissionLine line;
  EXPECT_TRUE(line.all_ready());
  EXPECT_FALSE(line.set_unready("a", true));
  EXPECT_FALSE(line.set_unready("b", true));
  EXPECT_FALSE(line.all_ready());
  EXPECT_TRUE(line.set_unready("a", false));
  EXPECT_FALSE(line.set_unready("a", false)) << "it was ready already";
  EXPECT_FALSE(line.all_ready());
  EXPECT_TRUE(line.set_unready("b", false));
  EXPECT_TRUE(line.all_ready());
}

}  // namespace
}  // namespace berth::scheduler

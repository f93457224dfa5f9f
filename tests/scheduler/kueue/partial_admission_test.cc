// Kueue's partial admission of Jobs, from the annotation to what is written and back.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "scheduler/workload_support.h"

namespace berth::scheduler::testing {
namespace {

class PartialAdmissionTest : public WorkloadObjectsTest {
 protected:
  PartialAdmissionTest() { start(default_options(), 4); }
  void partial_job(JobText text, int least, const json& annotations = json::object()) {
    json object = json::parse(job_json(text));
    object["metadata"]["annotations"] = annotations;
    object["metadata"]["annotations"]["kueue.x-k8s.io/job-min-parallelism"] = std::to_string(least);
    object["spec"]["completionMode"] = "Indexed";
    jobs_[text.name] = object;
    update_job(text.name);
  }
  json spec(const std::string& job) { return jobs_.at(job)["spec"]; }
  std::string mark(const std::string& job) {
    return jobs_.at(job)["metadata"]
        .value("annotations", json::object())
        .value("berth.dev/partial-admission", "");
  }
  int bound(const std::string& job) {
    int out = 0;
    for (const auto& [name, pod] : pods_)
      out += name.starts_with(job + "-") && pod["spec"].contains("nodeName") ? 1 : 0;
    return out;
  }
  json set_of(const std::string& job) { return object_of(job)["spec"]["podSets"][0]; }
  json admission(const std::string& job) { return object_of(job)["status"].value("admission", json()); }
};

TEST_F(PartialAdmissionTest, StartsWithTheMostThatFitAndSaysSo) {
  partial_job({.name = "train", .pods = 6}, 2);
  settle();
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(spec("train")["parallelism"], 4);
  EXPECT_EQ(spec("train")["completions"], 6) << "the other two come when places are free";
  EXPECT_EQ(mark("train"), "4/6");
  EXPECT_EQ(bound("train"), 4);
  EXPECT_EQ(set_of("train")["count"], 6);
  EXPECT_EQ(set_of("train")["minCount"], 2);
  EXPECT_EQ(admission("train")["podSetAssignments"][0]["count"], 4);
  EXPECT_EQ(admission("train")["podSetAssignments"][0]["resourceUsage"]["nvidia.com/gpu"], "4");
  EXPECT_EQ(settle(kMinute), 0) << "and does not grow, nor write";
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(PartialAdmissionTest, OneThatFitsWholeIsNotTouched) {
  partial_job({.name = "train", .pods = 4}, 2);
  settle();
  EXPECT_EQ(spec("train")["parallelism"], 4);
  EXPECT_EQ(mark("train"), "");
  EXPECT_EQ(bound("train"), 4);
}

TEST_F(PartialAdmissionTest, CompletionsFollowWhereTheyMayAndEverythingComesBack) {
  partial_job({.name = "train", .pods = 6}, 2,
              {{"kueue.x-k8s.io/job-completions-equal-parallelism", "true"}});
  settle();
  EXPECT_EQ(spec("train")["parallelism"], 4);
  EXPECT_EQ(spec("train")["completions"], 4);
  job({.name = "urgent", .pods = 4, .priority = 10});
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(spec("train")["parallelism"], 6);
  EXPECT_EQ(spec("train")["completions"], 6);
  EXPECT_EQ(mark("train"), "");
  EXPECT_TRUE(is("train", "Evicted"));
  EXPECT_EQ(set_of("train")["count"], 6);
  EXPECT_EQ(bound("urgent"), 4);
  finish("urgent");
  settle();
  EXPECT_EQ(spec("train")["parallelism"], 4);
  EXPECT_EQ(bound("train"), 4);
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(PartialAdmissionTest, BelowItsLeastItWaits) {
  job({.name = "first", .pods = 3});
  settle();
  partial_job({.name = "train", .pods = 6}, 2);
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(condition("train", "QuotaReserved")["reason"], "WaitingForQuota");
  EXPECT_EQ(settle(kMinute), 0);
  finish("first");
  settle();
  EXPECT_EQ(spec("train")["parallelism"], 4);
  EXPECT_EQ(bound("train"), 4);
}

TEST_F(PartialAdmissionTest, AllOfItComesBeforeLessOfItWhereOthersYield) {
  job({.name = "low", .pods = 2});
  settle();
  partial_job({.name = "train", .pods = 4, .priority = 10}, 1);
  settle();
  EXPECT_TRUE(is_suspended("low"));
  EXPECT_EQ(bound("train"), 4);
  EXPECT_EQ(mark("train"), "");
}

TEST_F(PartialAdmissionTest, OthersYieldForItsLeastWhereTheyWouldNotDoForAll) {
  job({.name = "equal", .pods = 2, .priority = 10});
  job({.name = "low", .pods = 2});
  settle();
  partial_job({.name = "train", .pods = 4, .priority = 10}, 2);
  settle();
  EXPECT_TRUE(is_suspended("low"));
  EXPECT_EQ(bound("equal"), 2);
  EXPECT_EQ(bound("train"), 2);
  EXPECT_EQ(mark("train"), "2/4");
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(PartialAdmissionTest, TwoOfThemTakeTheirTurns) {
  partial_job({.name = "one", .pods = 6}, 2);
  partial_job({.name = "two", .pods = 6}, 2);
  settle();
  EXPECT_EQ(bound("one"), 4);
  EXPECT_TRUE(is_suspended("two"));
  finish("one");
  settle();
  EXPECT_EQ(bound("two"), 4);
  EXPECT_EQ(mark("two"), "4/6");
}

TEST_F(PartialAdmissionTest, ARestartChangesNothing) {
  partial_job({.name = "train", .pods = 6}, 2);
  settle();
  start(default_options(), 4);
  EXPECT_EQ(settle(kMinute), 0);
  EXPECT_EQ(spec("train")["parallelism"], 4);
  EXPECT_EQ(set_of("train")["count"], 6);
  job({.name = "urgent", .pods = 4, .priority = 10});
  settle();
  EXPECT_EQ(spec("train")["parallelism"], 6);
  EXPECT_EQ(mark("train"), "");
}

TEST_F(PartialAdmissionTest, WhatItsOwnerChangesWhileItRunsStays) {
  partial_job({.name = "train", .pods = 6}, 2);
  settle();
  jobs_["train"]["spec"]["parallelism"] = 3;
  jobs_["train"]["metadata"]["generation"] = 10;
  w_->pod_gone("train-3");
  pods_.erase("train-3");
  update_job("train");
  job({.name = "urgent", .pods = 4, .priority = 10});
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(spec("train")["parallelism"], 3);
  EXPECT_EQ(mark("train"), "");
}

TEST_F(PartialAdmissionTest, OneThatAUserSuspendsAsksForAllAgain) {
  job({.name = "first", .pods = 2});
  settle();
  partial_job({.name = "train", .pods = 4}, 2);
  settle();
  EXPECT_EQ(mark("train"), "2/4");
  finish("first");
  settle();
  jobs_["train"]["spec"]["suspend"] = true;
  jobs_["train"]["metadata"]["generation"] = 10;
  update_job("train");
  for (const char* pod : {"train-0", "train-1"}) {
    w_->pod_gone(pod);
    pods_.erase(pod);
  }
  settle();
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(spec("train")["parallelism"], 4);
  EXPECT_EQ(mark("train"), "");
  EXPECT_EQ(bound("train"), 4);
}

TEST_F(PartialAdmissionTest, AReleaseWhoseAnswerIsLostIsReadBack) {
  partial_job({.name = "train", .pods = 6}, 2);
  const std::vector<Sent> sent = w_->take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_NE(sent[0].body.find("4/6"), std::string::npos);
  w_->answer(Step::kOwner, "train", Outcome::kUnknown);
  EXPECT_EQ(w_->only(Step::kOwner), "train");
  json taken = jobs_.at("train");  // it had been taken
  taken["spec"]["parallelism"] = 4;
  taken["spec"]["suspend"] = false;
  taken["metadata"]["annotations"]["berth.dev/partial-admission"] = "4/6";
  w_->answer(Step::kOwner, "train", Outcome::kOk, "", taken.dump());
  EXPECT_TRUE(w_->take(Step::kOwner).empty());
  EXPECT_EQ(w_->slot(uid_of("train"), 3), SlotState::kBinding);
}

TEST_F(PartialAdmissionTest, AReleaseThatIsNotTakenStartsWithAllAgain) {
  partial_job({.name = "train", .pods = 6}, 2);
  ASSERT_EQ(w_->take(Step::kOwner).size(), 1U);
  w_->answer(Step::kOwner, "train", Outcome::kInvalid);
  settle(kMinute);
  EXPECT_EQ(spec("train")["parallelism"], 4);
  EXPECT_EQ(bound("train"), 4);
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(PartialAdmissionTest, AWrongAnnotationIsSaidOnItsWorkload) {
  partial_job({.name = "train", .pods = 6}, 0);
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(condition("train", "QuotaReserved")["reason"], "Misconfigured");
  EXPECT_NE(condition("train", "QuotaReserved")["message"].get<std::string>().find("job-min-parallelism"),
            std::string::npos);
}

TEST_F(PartialAdmissionTest, WhatWaitsForAnAnswerHoldsTheFewerPlaces) {
  w_->object(dialect::Kind::kAdmissionCheck, "capacity",
             R"({"metadata":{"name":"capacity"},"spec":{"controllerName":"example.com/x"},
                 "status":{"conditions":[{"type":"Active","status":"True"}]}})");
  w_->object(dialect::Kind::kClusterQueue, "cq", R"({"metadata":{"name":"cq"},"spec":{
      "namespaceSelector":{},"preemption":{"withinClusterQueue":"LowerPriority"},"cohortName":"all",
      "admissionChecksStrategy":{"admissionChecks":[{"name":"capacity"}]},
      "resourceGroups":[{"coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{"name":"any","resources":[
      {"name":"cpu","nominalQuota":"100"},{"name":"nvidia.com/gpu","nominalQuota":"4"}]}]}]}})");
  w_->turn();
  partial_job({.name = "train", .pods = 6}, 2);
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(spec("train")["parallelism"], 6);
  EXPECT_EQ(admission("train")["podSetAssignments"][0]["count"], 4);
  const auto answer = [&](const std::string& state, const json& more) {
    json& check = object_of("train")["status"]["admissionChecks"][0];
    check["state"] = state;
    check.update(more);
    object_of("train")["metadata"]["resourceVersion"] = std::to_string(++w_->version);
    show(object_name("train"));
  };
  answer("Retry", {{"requeueAfterSeconds", 5}});
  settle();
  EXPECT_TRUE(admission("train").is_null());
  settle(10 * kSecond);
  EXPECT_EQ(admission("train")["podSetAssignments"][0]["count"], 4);
  answer("Ready", json::object());
  settle();
  EXPECT_EQ(spec("train")["parallelism"], 4);
  EXPECT_EQ(mark("train"), "4/6");
  EXPECT_EQ(bound("train"), 4);
  EXPECT_TRUE(w_->core->engine().audit());
}

}  // namespace
}  // namespace berth::scheduler::testing

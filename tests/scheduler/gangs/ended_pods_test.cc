// Members of gangs that leave the watch of pods because they have ended: the watch shows them as deleted.
#include "scheduler/gangs/ended_pods.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "scheduler/world_support.h"

namespace berth::scheduler::testing {
namespace {

using kube::Outcome;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class EndedPodsTest : public ::testing::Test {
 protected:
  static PodSpecText member(const std::string& name, const std::string& node = "") {
    return {.name = name, .gang = "g", .size = 4, .owner = "ReplicaSet", .node = node};
  }
  static json ended(const std::string& name, const char* phase = "Succeeded") {
    json pod = json::parse(pod_json(member(name, "n1"), 1));
    pod["status"] = {{"phase", phase}};
    pod["status"]["containerStatuses"] = json::array(
        {{{"name", "main"},
          {"state", {{"terminated", {{"exitCode", 0}, {"finishedAt", "2026-01-01T00:05:00Z"}}}}}}});
    return pod;
  }
  static std::string list(const std::vector<json>& pods, const std::string& next = "") {
    json out = {{"kind", "PodList"}, {"apiVersion", "v1"}, {"items", pods}};
    out["metadata"] = {{"resourceVersion", "7"}};
    if (!next.empty()) out["metadata"]["continue"] = next;
    return out.dump();
  }
  // Four of four run.
  void run() {
    w_->node("n1", 8);
    w_->recover();
    for (const char* name : {"a", "b", "c", "d"}) w_->pod(member(name, "n1"));
    w_->turn();
    ASSERT_TRUE(w_->take(Step::kBind).empty());
  }
  // `b` is deleted, and made anew as `e`. Whether that is bound.
  bool is_mended() {
    PodSpecText b = member("b", "n1");
    b.deleting = true;
    w_->pod(b);
    w_->pod_gone("b");
    w_->pod(member("e"));
    w_->turn();
    return w_->take(Step::kBind).size() == 1;
  }
  std::vector<Sent> reads() { return w_->take(Step::kEnded); }

  std::unique_ptr<World> w_ = std::make_unique<World>();
};

TEST_F(EndedPodsTest, AMemberThatHasSucceededIsNotWaitedFor) {
  run();
  w_->pod_gone("a");
  w_->turn();
  const auto asked = reads();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].path, "/api/v1/namespaces/default/pods/a");
  w_->answer(Step::kEnded, "a", Outcome::kOk, "", ended("a").dump());
  EXPECT_TRUE(is_mended());
  EXPECT_TRUE(reads().empty()) << "one that was being deleted is gone";
}

TEST_F(EndedPodsTest, OneThatIsGoneOrAnotherIsWaitedFor) {
  json other = ended("a");
  other["metadata"]["uid"] = "of another";
  json leaves = ended("a");
  leaves["metadata"]["deletionTimestamp"] = "2026-01-01T00:05:00Z";
  const std::vector<std::pair<Outcome, std::string>> answers = {{Outcome::kNotFound, ""},
                                                                {Outcome::kOk, other.dump()},
                                                                {Outcome::kOk, leaves.dump()},
                                                                {Outcome::kOk, ended("a", "Failed").dump()},
                                                                {Outcome::kOk, "{}"}};
  for (const auto& [outcome, body] : answers) {
    w_ = std::make_unique<World>();
    run();
    w_->pod_gone("a");
    w_->turn();
    ASSERT_EQ(reads().size(), 1u);
    w_->answer(Step::kEnded, "a", outcome, "", body);
    EXPECT_FALSE(is_mended()) << body;
    w_->pass(kMinute);
    EXPECT_TRUE(reads().empty()) << "it is asked for once";
  }
}

TEST_F(EndedPodsTest, ANewPodOfItsNameCountsInstead) {
  run();
  w_->pod_gone("a");
  w_->turn();
  ASSERT_EQ(reads().size(), 1u);
  w_->pod(member("a", "n1"));  // before the answer about the former one
  w_->answer(Step::kEnded, "a", Outcome::kOk, "", ended("a").dump());
  EXPECT_EQ(w_->core->intake().pod_count(), 4u);
  EXPECT_TRUE(is_mended()) << "all four are there";
}

TEST_F(EndedPodsTest, AReadThatFailsIsTriedAgain) {
  run();
  w_->pod_gone("a");
  w_->turn();
  ASSERT_EQ(reads().size(), 1u);
  w_->answer(Step::kEnded, "a", Outcome::kUnknown);
  EXPECT_TRUE(reads().empty()) << "not at once";
  EXPECT_LE(w_->core->next_due(), w_->now + kSecond);
  w_->pass(kSecond);
  ASSERT_EQ(reads().size(), 1u);
  w_->answer(Step::kEnded, "a", Outcome::kOk, "", ended("a").dump());
  EXPECT_TRUE(is_mended());
}

TEST_F(EndedPodsTest, AGangThatIsOverAsksNothing) {
  run();
  for (const char* name : {"a", "b", "c", "d"}) w_->pod_gone(name);
  w_->turn();
  EXPECT_TRUE(reads().empty());
}

TEST_F(EndedPodsTest, WhatIsRememberedEndsWithTheGang) {
  run();
  w_->pod_gone("a");
  w_->turn();
  w_->answer(Step::kEnded, "a", Outcome::kOk, "", ended("a").dump());
  for (const char* name : {"b", "c", "d"}) w_->pod_gone(name);
  w_->turn();
  // A gang of the same name, whose pods do not say when they were made.
  for (const char* name : {"e", "f", "h"}) w_->pod(member(name));
  w_->turn();
  EXPECT_TRUE(w_->take(Step::kBind).empty()) << "three of four";
}

TEST_F(EndedPodsTest, NoMoreThanAHundredAreAskedForAtOnce) {
  w_->node("n1", 300);
  w_->recover();
  PodSpecText pod{.name = "x", .gang = "g", .size = 200, .node = "n1"};
  for (int i = 0; i < 200; ++i) {
    pod.name = fmt::format("p{}", i);
    w_->pod(pod);
  }
  w_->turn();
  for (int i = 0; i < 150; ++i) w_->pod_gone(fmt::format("p{}", i));
  w_->turn();
  ASSERT_EQ(reads().size(), EndedPods::kMostAsked);
  for (int i = 0; i < 100; ++i) w_->answer(Step::kEnded, fmt::format("p{}", i), Outcome::kNotFound);
  EXPECT_EQ(reads().size(), 50u);
}

// A scheduler that starts: three run, one succeeded before, and one that failed has been made anew.
class EndedBefore : public EndedPodsTest {
 protected:
  void begin() {
    w_->node("n1", 8);
    for (const char* name : {"b", "c"}) w_->pod(member(name, "n1"));
    w_->pod(member("e"));
    ASSERT_FALSE(w_->core->has_read({}, w_->now));
  }
  // Nothing is decided before recovery.
  void answer(Outcome outcome, std::string body = {}) {
    Answer answer;
    answer.step = Step::kEnded;
    answer.result.outcome = outcome;
    answer.result.body = std::move(body);
    Inbox inbox;
    inbox.push(std::move(answer));
    Batch batch;
    inbox.take(batch, 0);
    w_->core->take(batch, w_->now);
  }
  void recover() {
    EXPECT_TRUE(w_->core->has_read({}, w_->now));
    w_->recover();
    w_->turn();
  }
};

TEST_F(EndedBefore, AGangIsNotWithdrawnForMembersThatHaveSucceeded) {
  begin();
  const auto asked = reads();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_THAT(asked[0].path, StartsWith("/api/v1/namespaces/default/pods?limit="));
  EXPECT_THAT(asked[0].path,
              HasSubstr("fieldSelector=status.phase%21%3DPending%2Cstatus.phase%21%3DRunning"));
  EXPECT_FALSE(w_->core->has_read({}, w_->now)) << "no answer yet";
  EXPECT_TRUE(reads().empty()) << "one page at a time";
  answer(Outcome::kOk, list({ended("z", "Failed")}, "more"));
  EXPECT_FALSE(w_->core->has_read({}, w_->now));
  const auto second = reads();
  ASSERT_EQ(second.size(), 1u);
  EXPECT_THAT(second[0].path, HasSubstr("&continue=more"));
  answer(Outcome::kOk, list({ended("a")}));
  recover();
  EXPECT_TRUE(w_->take(Step::kMark).empty());
  EXPECT_EQ(w_->only(Step::kBind), "e");
}

TEST_F(EndedBefore, AGangIsWithdrawnWhereNoneHasSucceeded) {
  begin();
  answer(Outcome::kOk, list({ended("z", "Failed")}));
  recover();
  EXPECT_EQ(w_->take(Step::kMark).size(), 2u);
  EXPECT_TRUE(w_->take(Step::kBind).empty());
}

TEST_F(EndedBefore, AListThatFailsIsReadAgainInSmallerPages) {
  begin();
  const std::string first = reads().at(0).path;
  answer(Outcome::kUnknown);
  EXPECT_FALSE(w_->core->has_read({}, w_->now));
  EXPECT_TRUE(reads().empty()) << "not at once";
  w_->now += kSecond;
  EXPECT_FALSE(w_->core->has_read({}, w_->now));
  EXPECT_LT(reads().at(0).path, first) << "250 of 500";
  answer(Outcome::kOk, list({ended("a")}));
  recover();
  EXPECT_EQ(w_->only(Step::kBind), "e");
}

TEST_F(EndedPodsTest, AStartWithoutGangsThatLackPodsAsksNothing) {
  w_->node("n1", 8);
  for (const char* name : {"a", "b", "c", "d"}) w_->pod(member(name, "n1"));
  w_->pod({.name = "alone", .node = "n1"});
  EXPECT_TRUE(w_->core->has_read({}, w_->now));
  EXPECT_TRUE(reads().empty());
}

TEST_F(EndedPodsTest, ManyNamespacesAreListedAtOnce) {
  w_->node("n1", 8);
  for (std::size_t i = 0; i <= EndedPods::kMostLists; ++i) {
    json pod = json::parse(pod_json(member("p", "n1"), 1));
    const std::string ns = fmt::format("ns-{}", i);
    pod["metadata"]["namespace"] = ns;
    pod["metadata"]["uid"] = ns;
    w_->object(dialect::Kind::kPod, "p", pod.dump());
  }
  EXPECT_FALSE(w_->core->has_read({}, w_->now));
  const auto asked = reads();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_THAT(asked[0].path, StartsWith("/api/v1/pods?limit="));
}

}  // namespace
}  // namespace berth::scheduler::testing

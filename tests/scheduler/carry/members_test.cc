// Groups of Kueue's that start with their first pod (pod-group-fast-admission): places of the pods that are to come.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "scheduler/workload_support.h"

namespace berth::scheduler::testing {
namespace {

constexpr const char* kGroup = "Gang/kueue/default/group";

class MembersTest : public WorkloadObjectsTest {
 protected:
  MembersTest() { start(default_options(), 4); }
  struct MemberText {
    int size = 3;
    int priority = 0;
    bool gated = false;
    bool fast = true;
    std::string group = "group";
  };
  void member(const std::string& name, const MemberText& text) {
    json pod = json::parse(pod_json({.name = name, .priority = text.priority, .gated = text.gated}, 1));
    pod["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "team"},
                                 {"kueue.x-k8s.io/pod-group-name", text.group}};
    pod["metadata"]["annotations"] = {{"kueue.x-k8s.io/pod-group-total-count", std::to_string(text.size)}};
    if (text.fast) pod["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-fast-admission"] = "true";
    pods_[name] = pod;
    w_->object(dialect::Kind::kPod, name, pod.dump());
    w_->turn();
  }
  void member(const std::string& name) { member(name, MemberText()); }
  std::string node(const std::string& pod) { return pods_.at(pod)["spec"].value("nodeName", ""); }
  json condition_of(const std::string& object, const std::string& type) {
    for (const json& c : objects_.at(object)["status"].value("conditions", json::array())) {
      if (c["type"] == type) return c;
    }
    return {};
  }
  // The evicted pods are gone.
  void end_pods() {
    for (const Sent& sent : w_->take(Step::kMark)) w_->answer(Step::kMark, sent.uid.substr(4), Outcome::kOk);
    for (const Sent& sent : w_->take(Step::kDelete)) {
      const std::string name = sent.uid.substr(4);
      w_->answer(Step::kDelete, name, Outcome::kOk);
      pods_.erase(name);
      w_->pod_gone(name);
    }
    w_->turn();
  }
};

TEST_F(MembersTest, ThePlacesOfThoseToComeAreTheirs) {
  member("a");
  settle();
  EXPECT_EQ(node("a"), "n1");
  EXPECT_TRUE(condition_of("group", "Admitted")["status"] == "True");
  EXPECT_EQ(objects_["group"]["spec"]["podSets"][0]["count"], 3);
  EXPECT_EQ(objects_["group"]["status"]["admission"]["podSetAssignments"][0]["count"], 3);
  member("other", {.size = 2, .group = "others"});
  settle(2 * kMinute);
  EXPECT_EQ(node("other"), "")
      << "quota for four, and three of it is the group's, however long its pods take";
  member("b");
  settle();
  EXPECT_EQ(node("b"), "n1");
  member("c");
  settle();
  EXPECT_EQ(node("c"), "n1");
  EXPECT_EQ(objects_["group"]["metadata"]["ownerReferences"].size(), 3u);
  for (const json& owner : objects_["group"]["metadata"]["ownerReferences"])
    EXPECT_FALSE(owner.contains("controller")) << owner;
  EXPECT_EQ(node("other"), "");
  EXPECT_EQ(settle(kMinute), 0) << "nothing is written twice";
}

TEST_F(MembersTest, OneThatIsGatedGetsItsPlaceWhenItsGatesAreGone) {
  member("a");
  member("b", {.gated = true});
  settle();
  EXPECT_EQ(node("a"), "n1");
  EXPECT_EQ(node("b"), "");
  EXPECT_EQ(w_->slot(kGroup, 1), SlotState::kBinding);
  member("b");
  settle();
  EXPECT_EQ(node("b"), "n1");
  EXPECT_EQ(w_->slot(kGroup, 2), SlotState::kBinding);
}

TEST_F(MembersTest, APreemptorOfTheGroupGetsAllOfIt) {
  member("a");
  settle();
  ASSERT_EQ(node("a"), "n1");
  job({.name = "high", .pods = 4, .priority = 10});
  w_->turn();
  end_pods();
  settle();
  EXPECT_TRUE(is("high", "Admitted"));
  // Its next pod waits for all of the group again.
  member("a2");
  settle();
  EXPECT_EQ(node("a2"), "");
  EXPECT_EQ(w_->slot(kGroup, 1), SlotState::kWaiting);
}

TEST_F(MembersTest, AfterARestartThePlacesAreKeptAgain) {
  member("a");
  settle();
  ASSERT_EQ(node("a"), "n1");
  start(default_options(), 4);
  settle();
  EXPECT_EQ(w_->slot(kGroup, 0), SlotState::kRunning);
  EXPECT_EQ(w_->slot(kGroup, 1), SlotState::kBinding);
  EXPECT_EQ(w_->slot(kGroup, 2), SlotState::kBinding);
  member("b");
  settle();
  EXPECT_EQ(node("b"), "n1");
  EXPECT_EQ(condition_of("group", "Evicted"), json());
}

TEST_F(MembersTest, AGroupWhoseFirstPodHasEndedWellHasNotFinished) {
  member("a");
  settle();
  json ended = pods_["a"];
  ended["status"] = json::parse(R"({"phase":"Succeeded","containerStatuses":[{"name":"main","state":
      {"terminated":{"exitCode":0,"finishedAt":"2026-01-01T00:05:00Z"}}}]})");
  w_->object(dialect::Kind::kPod, "a", ended.dump());
  w_->turn();
  w_->pass(kSecond);
  w_->report();
  const auto reads = w_->take(Step::kLook);
  ASSERT_EQ(reads.size(), 1u);
  answer(reads[0].uid, Outcome::kOk, R"({"items":[{"status":{"phase":"Succeeded"}}]})", Step::kLook);
  settle();
  EXPECT_EQ(condition_of("group", "Finished"), json());
  EXPECT_EQ(condition_of("group", "QuotaReserved")["status"], "False");
  member("b");
  settle();
  EXPECT_EQ(node("b"), "n1");
  EXPECT_EQ(condition_of("group", "QuotaReserved")["status"], "True");
}

TEST_F(MembersTest, ARefusedBindOfOneDoesNotLoseThePlacesOfTheOthers) {
  member("a");
  const auto binds = w_->take(Step::kBind);
  ASSERT_EQ(binds.size(), 1u);
  w_->answer(Step::kBind, "a", Outcome::kInvalid, "no");
  w_->turn();
  EXPECT_EQ(w_->slot(kGroup, 1), SlotState::kBinding);
  EXPECT_EQ(w_->slot(kGroup, 2), SlotState::kBinding);
  settle();
  EXPECT_EQ(node("a"), "n1");
}

}  // namespace
}  // namespace berth::scheduler::testing

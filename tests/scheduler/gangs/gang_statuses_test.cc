// The status of the objects that gangs' pods name: what is written, when, and how often.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "scheduler/world_support.h"

namespace berth::scheduler::testing {
namespace {

using dialect::Kind;
using kube::Outcome;
using nlohmann::json;

constexpr const char* kPath = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups/train";

// Each pod is a subgroup, and one is enough.
constexpr const char* kEach =
    R"({"minMember":1,"subGroupPolicy":[{"name":"r","subGroupSize":1,"minSubGroups":1,"matchLabelKeys":["r"]}]})";

class GangStatusesTest : public ::testing::Test {
 protected:
  GangStatusesTest() { start(); }
  void start() {
    w_ = std::make_unique<World>();
    if (with_queue_) queue();
    if (!object_.is_null()) show();
    w_->node("n1", 4);
    w_->recover();
  }
  void queue() {
    w_->object(Kind::kVolcanoQueue, "default", R"({"metadata":{"name":"default"},"spec":{"weight":1}})");
  }
  void group(const std::string& spec) {
    object_ = {{"metadata", {{"name", "train"}, {"namespace", "default"}, {"uid", "uid-train"}}},
               {"spec", json::parse(spec)}};
    show();
  }
  void show() { w_->object(Kind::kVolcanoPodGroup, "train", object_.dump()); }
  void pod(const std::string& name, int gpus, const std::string& node = "", const char* phase = "Running") {
    w_->object(Kind::kPod, name, pod_text(name, gpus, node, phase));
  }
  std::string pod_text(const std::string& name, int gpus, const std::string& node, const char* phase) {
    json pod = json::parse(fmt::format(
        R"({{"metadata":{{"name":"{}","namespace":"default","uid":"{}","resourceVersion":"{}",
        "annotations":{{"scheduling.k8s.io/group-name":"train"}},"labels":{{"r":"{}"}}}},"spec":{{"schedulerName":"berth",
        "containers":[{{"name":"main","resources":{{"limits":{{"nvidia.com/gpu":"{}"}}}}}}]}}}})",
        name, uid_of(name), ++version_, name, gpus));
    if (is_made_anew_) {
      pod["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "apps/v1"},
                                                         {"kind", "ReplicaSet"},
                                                         {"name", "owner"},
                                                         {"uid", "owner"},
                                                         {"controller", true}}});
    }
    if (!node.empty()) {
      pod["spec"]["nodeName"] = node;
      pod["status"]["phase"] = phase;
    }
    return pod.dump();
  }
  void answer(const std::string& uid, Outcome outcome) {
    Inbox inbox;
    Answer answer;
    answer.step = Step::kGang;
    answer.uid = uid;
    answer.result.outcome = outcome;
    inbox.push(std::move(answer));
    Batch batch;
    inbox.take(batch, 0);
    w_->core->take(batch, w_->now);
  }
  // Takes what was sent as the API server would, and shows it; the number of writes.
  int settle(DurationMs time = 3 * kSecond, Outcome outcome = Outcome::kOk) {
    int writes = 0;
    for (DurationMs t = 0; t < time; t += 100) {
      w_->pass(100);
      w_->report();
      for (const auto& sent : w_->take(Step::kGang)) {
        ++writes;
        EXPECT_EQ(sent.path, kPath);
        EXPECT_EQ(sent.write_class, kube::WriteClass::kStatus);
        const json body = json::parse(sent.body);
        EXPECT_EQ(body["metadata"]["uid"], "uid-train");
        if (outcome == Outcome::kOk) object_.merge_patch(body);
        answer(sent.uid, outcome);
        if (outcome == Outcome::kOk) show();
      }
    }
    return writes;
  }
  std::string said() const {
    const json& status = object_["status"];
    std::string out = status["phase"];
    for (const json& c : status["conditions"])
      out += fmt::format(" {}:{}", c["type"].get<std::string>(), c["reason"].get<std::string>());
    return out;
  }

  bool with_queue_ = true;
  bool is_made_anew_ = false;  // its pods, by a controller
  json object_;
  int version_ = 100;
  std::unique_ptr<World> w_;
};

// Volcano's Job controller makes the pods now.
TEST_F(GangStatusesTest, AGroupWithoutPodsIsInqueueAtOnce) {
  group(R"({"minMember":2,"queue":"default"})");
  EXPECT_EQ(settle(), 1);
  EXPECT_EQ(said(), "Inqueue");
}

TEST_F(GangStatusesTest, WithoutItsQueueItStaysPendingAndSaysWhy) {
  with_queue_ = false;
  start();
  group(R"({"minMember":2,"queue":"default"})");
  settle();
  EXPECT_EQ(said(), "Pending Unschedulable:NotEnoughResources");
  EXPECT_NE(object_["status"]["conditions"][0]["message"].get<std::string>().find("volcano:default"),
            std::string::npos);
  queue();
  settle();
  EXPECT_EQ(said(), "Inqueue");
}

TEST_F(GangStatusesTest, ItRunsWhenItsPodsHaveNodes) {
  group(R"({"minMember":2})");
  settle();
  pod("a", 1);
  settle();
  EXPECT_EQ(said(), "Inqueue Unschedulable:NotEnoughTasks");
  pod("b", 1);
  w_->turn();
  for (const char* name : {"a", "b"}) pod(name, 1, "n1");
  settle();
  EXPECT_EQ(said(), "Running Scheduled:tasks in gang are ready to be scheduled");
  EXPECT_EQ(object_["status"]["running"], 2);
}

TEST_F(GangStatusesTest, PodsThatHaveEndedAreCounted) {
  group(R"({"minMember":2})");
  for (const char* name : {"a", "b"}) pod(name, 1, "n1", "Pending");
  settle();
  EXPECT_EQ(said(), "Running Scheduled:tasks in gang are ready to be scheduled");
  EXPECT_EQ(object_["status"]["running"], 0) << "their containers do not run yet";
  for (const char* name : {"a", "b"}) pod(name, 1, "n1");
  settle();
  EXPECT_EQ(object_["status"]["running"], 2);
  pod("a", 1, "n1", "Succeeded");
  settle();
  EXPECT_EQ(said(), "Running Scheduled:tasks in gang are ready to be scheduled");
  EXPECT_EQ(object_["status"]["succeeded"], 1);
  pod("b", 1, "n1", "Failed");
  settle();
  EXPECT_EQ(said(), "Completed Scheduled:tasks in gang are ready to be scheduled");
  EXPECT_EQ(object_["status"]["running"], 0);
  EXPECT_EQ(object_["status"]["succeeded"], 1);
  EXPECT_EQ(object_["status"]["failed"], 1);
  const json before = object_;
  start();  // another leader sees the same, and writes nothing
  pod("a", 1, "n1", "Succeeded");
  pod("b", 1, "n1", "Failed");
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(object_, before);
}

// As the watch of pods shows it: without those that have ended.
TEST_F(GangStatusesTest, PodsThatLeaveTheWatchAreCounted) {
  const auto leave = [&](const std::string& name, const char* phase) {
    w_->gone(Kind::kPod, name);
    w_->turn();
    ASSERT_EQ(w_->take(Step::kEnded).size(), 1u);
    w_->answer(Step::kEnded, name, Outcome::kOk, "", pod_text(name, 1, "n1", phase));
  };
  group(R"({"minMember":2})");
  for (const char* name : {"a", "b"}) pod(name, 1, "n1");
  settle();
  leave("a", "Succeeded");
  settle();
  EXPECT_EQ(said(), "Running Scheduled:tasks in gang are ready to be scheduled");
  EXPECT_EQ(object_["status"]["succeeded"], 1);
  leave("b", "Failed");
  settle();
  EXPECT_EQ(said(), "Completed Scheduled:tasks in gang are ready to be scheduled");
  EXPECT_EQ(object_["status"]["failed"], 1);
  // Another leader writes nothing.
  w_ = std::make_unique<World>();
  queue();
  show();
  w_->node("n1", 4);
  EXPECT_FALSE(w_->core->has_read({}, w_->now));
  const std::string all = fmt::format(R"({{"metadata":{{}},"items":[{},{}]}})",
                                      pod_text("a", 1, "n1", "Succeeded"), pod_text("b", 1, "n1", "Failed"));
  w_->answer_about(Step::kEnded, "", Outcome::kOk, "", all);
  EXPECT_TRUE(w_->core->has_read({}, w_->now));
  w_->recover();
  EXPECT_EQ(settle(), 0);
  // The PodGroup is made anew.
  w_->gone(Kind::kVolcanoPodGroup, "train");
  group(R"({"minMember":2})");
  settle();
  EXPECT_EQ(said(), "Inqueue");
  EXPECT_EQ(object_["status"]["failed"], 0);
}

// It is whole with one subgroup, whatever the other waits for.
TEST_F(GangStatusesTest, AFurtherSubgroupThatWaitsDoesNotMakeItUnknown) {
  group(kEach);
  pod("a", 1, "n1");
  pod("b", 4);
  settle();
  EXPECT_EQ(said(), "Running Scheduled:tasks in gang are ready to be scheduled");
}

TEST_F(GangStatusesTest, ARestartEndsNothingForAFurtherSubgroup) {
  for (const bool enough : {true, false}) {
    group(enough ? kEach : R"({"minMember":2})");
    w_ = std::make_unique<World>();
    queue();
    show();
    w_->node("n1", 4);
    is_made_anew_ = true;
    pod("a", 1, "n1");
    pod("b", 4);
    w_->recover();
    EXPECT_EQ(w_->take(Step::kMark).empty(), enough);
  }
}

TEST_F(GangStatusesTest, OneThatFindsNoRoomSaysSo) {
  group(R"({"minMember":2})");
  for (const char* name : {"a", "b"}) pod(name, 3);
  settle();
  EXPECT_EQ(said(), "Inqueue Unschedulable:NotEnoughResources");
}

TEST_F(GangStatusesTest, ARestartWritesNothing) {
  group(R"({"minMember":2})");
  for (const char* name : {"a", "b"}) pod(name, 1, "n1");
  EXPECT_EQ(settle(), 1);
  const json before = object_;
  start();
  for (const char* name : {"a", "b"}) pod(name, 1, "n1");
  show();
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(object_, before);
}

TEST_F(GangStatusesTest, AnotherWriterIsCorrectedLessAndLessOften) {
  group(R"({"minMember":2})");
  settle();
  int writes = 0;
  for (int i = 0; i < 30; ++i) {
    object_["status"]["phase"] = "Pending";
    show();
    writes += settle(2 * kSecond);
  }
  EXPECT_GE(writes, 2);
  EXPECT_LE(writes, 9);
}

TEST_F(GangStatusesTest, AFailedWriteIsTriedAgainLater) {
  group(R"({"minMember":2})");
  const int failed = settle(20 * kSecond, Outcome::kForbidden);
  EXPECT_GE(failed, 2);
  EXPECT_LE(failed, 7);
  settle(60 * kSecond);
  EXPECT_EQ(said(), "Inqueue");
}

}  // namespace
}  // namespace berth::scheduler::testing

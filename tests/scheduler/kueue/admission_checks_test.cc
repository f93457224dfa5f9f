// Kueue's admission checks, and its blockAdmission: what has places and may not start yet.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "dialect/kueue/workload_object.h"
#include "kube/binding_support.h"
#include "scheduler/workload_support.h"

namespace berth::scheduler::testing {
namespace {

class AdmissionChecksTest : public WorkloadObjectsTest {
 protected:
  AdmissionChecksTest() {
    check("capacity", "True");
    check("budget", "True");
  }
  void check(const std::string& name, const std::string& active) {
    json object = {{"metadata", {{"name", name}}}, {"spec", {{"controllerName", "example.com/" + name}}}};
    if (!active.empty())
      object["status"]["conditions"] = json::array({{{"type", "Active"}, {"status", active}}});
    w_->object(dialect::Kind::kAdmissionCheck, name, object.dump());
  }
  // The ClusterQueue with these checks: ["capacity", {"name": "budget", "onFlavors": ["spot"]}].
  void queue(const json& checks, int gpus = 2, bool turn = true, const std::string& stop = "") {
    json spec = {{"namespaceSelector", json::object()},
                 {"preemption", {{"withinClusterQueue", "LowerPriority"}}},
                 {"cohortName", "all"}};
    if (!stop.empty()) spec["stopPolicy"] = stop;
    spec["resourceGroups"] = json::array(
        {{{"coveredResources", {"cpu", "nvidia.com/gpu"}},
          {"flavors",
           json::array({{{"name", "any"},
                         {"resources", json::array({{{"name", "cpu"}, {"nominalQuota", "100"}},
                                                    {{"name", "nvidia.com/gpu"},
                                                     {"nominalQuota", std::to_string(gpus)}}})}}})}}});
    for (const json& rule : checks) {
      spec["admissionChecksStrategy"]["admissionChecks"].push_back(rule.is_string() ? json{{"name", rule}}
                                                                                    : rule);
    }
    w_->object(dialect::Kind::kClusterQueue, "cq",
               json{{"metadata", {{"name", "cq"}}}, {"spec", spec}}.dump());
    if (turn) w_->turn();
  }
  static json* find(json& object, const std::string& check) {
    if (!object.contains("status") || !object["status"].contains("admissionChecks")) return nullptr;
    for (json& c : object["status"]["admissionChecks"]) {
      if (c["name"] == check) return &c;
    }
    return nullptr;
  }
  void change(const std::string& object) {
    objects_.at(object)["metadata"]["resourceVersion"] = std::to_string(++w_->version);
    show(object);
  }
  // Another controller's answer, in the Workload of this name.
  void answer_in(const std::string& object, const std::string& check, const std::string& state,
                 const json& more = json::object()) {
    json* c = find(objects_.at(object), check);
    ASSERT_NE(c, nullptr) << objects_.at(object).dump();
    (*c)["state"] = state;
    c->update(more);
    change(object);
  }
  void answer_check(const std::string& job, const std::string& check, const std::string& state,
                    const json& more = json::object()) {
    answer_in(object_name(job), check, state, more);
  }
  json state(const std::string& job, const std::string& check) {
    json* c = objects_.contains(object_name(job)) ? find(object_of(job), check) : nullptr;
    return c == nullptr ? json::object() : *c;
  }
  bool runs(const std::string& job) {
    return pods_.contains(job + "-0") && pods_[job + "-0"]["spec"].contains("nodeName");
  }
  std::string reason(const std::string& job, const std::string& type) {
    return condition(job, type).value("reason", "");
  }
};

// When either queue is stopped, work with quota that is not admitted gives it back; admitted work runs on.
TEST_F(AdmissionChecksTest, AQueueThatIsStoppedTakesBackWhatItHasNotAdmitted) {
  for (const std::string kind : {"LocalQueue", "ClusterQueue"}) {
    SCOPED_TRACE(kind);
    const auto stop = [&](const std::string& policy) {
      json local = {{"metadata", {{"name", "team"}, {"namespace", "default"}}},
                    {"spec", {{"clusterQueue", "cq"}}}};
      if (kind == "LocalQueue") local["spec"]["stopPolicy"] = policy;
      w_->object(dialect::Kind::kLocalQueue, "team", local.dump());
      queue({"capacity"}, 4, true, kind == "ClusterQueue" ? policy : "");
    };
    const std::string early = "early-" + std::string(kind == "LocalQueue" ? "l" : "c");
    const std::string late = "late-" + std::string(kind == "LocalQueue" ? "l" : "c");
    stop("None");
    job({.name = early});
    settle();
    answer_check(early, "capacity", "Ready");
    settle();
    ASSERT_TRUE(is(early, "Admitted"));
    job({.name = late});
    settle();
    ASSERT_TRUE(is(late, "QuotaReserved"));
    stop("Hold");
    settle(20 * kSecond);
    EXPECT_TRUE(is(early, "Admitted"));
    EXPECT_FALSE(is(late, "QuotaReserved"));
    EXPECT_EQ(reason(late, "Evicted"), kind + "Stopped");
    EXPECT_EQ(condition(late, "Requeued")["status"], "False");
    EXPECT_EQ(state(late, "capacity")["state"], "Pending");
    answer_check(late, "capacity", "Ready");  // too late
    settle(20 * kSecond);
    EXPECT_FALSE(is(late, "QuotaReserved"));
    EXPECT_FALSE(runs(late));
    stop("None");
    settle(20 * kSecond);
    EXPECT_TRUE(is(late, "QuotaReserved"));
    EXPECT_EQ(reason(late, "Requeued"), kind + "Restarted");
    answer_check(late, "capacity", "Ready");
    settle();
    EXPECT_TRUE(is(late, "Admitted"));
    complete(early, 2);
    complete(late, 2);
    settle();
  }
}

// While binds are on their way, mere changes are handled slowly; an answer that a start waits for is not delayed by them.
TEST_F(AdmissionChecksTest, AnAnswerPassesWhatHasMerelyChanged) {
  queue({"capacity"});
  job({.name = "train"});
  settle(kMinute);
  ASSERT_EQ(state("train", "capacity")["state"], "Pending");
  for (int i = 0; i < 10; ++i) w_->node(fmt::format("wide-{}", i), 0);
  for (int i = 0; i < 600; ++i) w_->pod({.name = fmt::format("p{}", i), .gpus = 0});
  w_->turn();
  ASSERT_EQ(w_->core->carrier().places().binds(), 600u);
  w_->now += kSecond;  // all that has changed is due
  answer_check("train", "capacity", "Ready");
  for (int i = 0; i < 3; ++i) {
    w_->core->report(w_->now);
    w_->turn();
  }
  const auto sent = w_->peek();
  EXPECT_TRUE(std::any_of(sent.begin(), sent.end(), [](const Sent& s) { return s.step == Step::kOwner; }))
      << "it starts";
  for (int i = 0; i < 100; ++i) {
    w_->core->report(w_->now);
    w_->now += 1;
  }
  const auto waiting = [&] { return w_->core->workload_objects().changes(); };
  EXPECT_GT(waiting(), 500u);
  EXPECT_LT(waiting(), 570u) << "slowly, and not never";
  settle(kMinute);
  EXPECT_TRUE(runs("train"));
  EXPECT_EQ(waiting(), 0u);
}

TEST_F(AdmissionChecksTest, WhatHasPlacesStartsWhenAllChecksAreReady) {
  queue({"capacity", "budget"});
  job({.name = "train"});
  job({.name = "other"});
  settle(5 * kMinute);
  EXPECT_TRUE(is("train", "QuotaReserved"));
  EXPECT_EQ(condition("train", "Admitted")["status"], "False");
  EXPECT_EQ(reason("train", "Admitted"), "UnsatisfiedChecks");
  EXPECT_EQ(object_of("train")["status"]["admission"]["clusterQueue"], "cq");
  EXPECT_EQ(state("train", "capacity")["state"], "Pending");
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(reason("other", "QuotaReserved"), "WaitingForQuota") << "the places are held";
  EXPECT_EQ(settle(kMinute), 0);
  answer_check("train", "capacity", "Ready");
  settle();
  EXPECT_TRUE(is_suspended("train"));
  answer_check("train", "budget", "Ready", {{"message", "paid"}});
  settle();
  EXPECT_TRUE(is("train", "Admitted"));
  EXPECT_TRUE(runs("train"));
  EXPECT_EQ(state("train", "budget")["message"], "paid") << "what others say is left as they say it";
  EXPECT_EQ(settle(kMinute), 0);
  EXPECT_TRUE(is_suspended("other"));
}

TEST_F(AdmissionChecksTest, WhatIsHeldStartsWhenItsQueueHasNoChecksAnyMore) {
  queue({"capacity"});
  job({.name = "train"});
  settle();
  ASSERT_TRUE(is("train", "QuotaReserved"));
  ASSERT_TRUE(is_suspended("train"));
  queue(json::array());
  settle();
  EXPECT_TRUE(is("train", "Admitted"));
  EXPECT_TRUE(runs("train"));
}

TEST_F(AdmissionChecksTest, RetryGivesTheQuotaBackAndIsAskedAgainLater) {
  queue({"capacity"});
  job({.name = "train"});
  settle();
  job({.name = "other"});
  settle();
  answer_check("train", "capacity", "Retry", {{"requeueAfterSeconds", 60}});
  settle(5 * kSecond);
  EXPECT_EQ(reason("train", "Evicted"), "AdmissionCheck");
  EXPECT_EQ(condition("train", "Evicted")["message"], "At least one admission check is false");
  EXPECT_EQ(condition("train", "QuotaReserved")["status"], "False");
  EXPECT_EQ(state("train", "capacity")["state"], "Pending");
  EXPECT_EQ(state("train", "capacity")["retryCount"], 1);
  EXPECT_EQ(state("train", "capacity")["message"], "Reset to Pending after eviction. Previously: Retry");
  EXPECT_TRUE(is("other", "QuotaReserved")) << "it has what the first gave back";
  EXPECT_TRUE(is_suspended("train"));
  // The other one is not wanted at all: then the first is tried again, once its time has come.
  answer_check("other", "capacity", "Rejected");
  settle(20 * kSecond);
  EXPECT_FALSE(is("train", "QuotaReserved"));
  settle(60 * kSecond);
  EXPECT_TRUE(is("train", "QuotaReserved"));
  answer_check("train", "capacity", "Ready");
  settle();
  EXPECT_TRUE(runs("train"));
}

TEST_F(AdmissionChecksTest, RetryWithoutADelayIsNoCircle) {
  queue({"capacity"});
  job({.name = "train"});
  settle();
  int reserved = 0;
  int writes = 0;
  for (int i = 0; i < 100; ++i) {  // ten seconds
    if (is("train", "QuotaReserved") && state("train", "capacity")["state"] == "Pending") {
      ++reserved;
      answer_check("train", "capacity", "Retry");
    }
    writes += settle(100);
  }
  EXPECT_GE(reserved, 3);
  EXPECT_LE(reserved, 10);
  EXPECT_LE(writes, 60);
}

TEST_F(AdmissionChecksTest, RejectedDeactivatesAndReactivationAsksAnew) {
  queue({"capacity"});
  job({.name = "train"});
  settle();
  answer_check("train", "capacity", "Rejected");
  settle(10 * kSecond);
  EXPECT_EQ(object_of("train")["spec"]["active"], false);
  EXPECT_EQ(reason("train", "Evicted"), "DeactivatedDueToAdmissionCheck");
  EXPECT_EQ(condition("train", "Evicted")["message"],
            "The workload is deactivated due to Admission check(s): capacity, were rejected");
  EXPECT_EQ(state("train", "capacity")["state"], "Pending");
  EXPECT_TRUE(is_suspended("train"));
  settle(kMinute);
  object_of("train")["spec"]["active"] = true;
  change(object_name("train"));
  settle(5 * kSecond);
  EXPECT_TRUE(is("train", "QuotaReserved"));
  EXPECT_TRUE(is_suspended("train"));
  answer_check("train", "capacity", "Ready");
  settle();
  EXPECT_TRUE(runs("train"));
  // One that runs is ended all the same: its capacity was revoked.
  answer_check("train", "capacity", "Rejected");
  settle(30 * kSecond);
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_FALSE(runs("train"));
  EXPECT_EQ(object_of("train")["spec"]["active"], false);
}

TEST_F(AdmissionChecksTest, AnAnswerToFormerQuotaIsNoAnswer) {
  queue({"capacity"});
  job({.name = "low"});
  settle();
  answer_check("low", "capacity", "Ready");
  settle();
  ASSERT_TRUE(runs("low"));
  job({.name = "high", .priority = 10});
  settle(5 * kSecond);
  EXPECT_FALSE(runs("low"));
  ASSERT_TRUE(is("high", "QuotaReserved"));
  EXPECT_TRUE(is_suspended("high"));
  EXPECT_EQ(state("low", "capacity")["state"], "Pending");
  answer_check("high", "capacity", "Rejected");
  settle(20 * kSecond);
  EXPECT_TRUE(is("low", "QuotaReserved"));
  EXPECT_TRUE(is_suspended("low")) << "it was Ready for the quota that it lost";
}

TEST_F(AdmissionChecksTest, OneThatIsHeldYieldsToAHigherOne) {
  queue({"capacity"});
  job({.name = "low"});
  settle();
  ASSERT_TRUE(is("low", "QuotaReserved"));
  job({.name = "high", .priority = 10});
  settle(5 * kSecond);
  EXPECT_TRUE(is("high", "QuotaReserved"));
  EXPECT_FALSE(is("low", "QuotaReserved"));
  EXPECT_EQ(reason("low", "Evicted"), "Preempted");
  answer_check("low", "capacity", "Ready");
  answer_check("high", "capacity", "Ready");
  settle(5 * kSecond);
  EXPECT_TRUE(runs("high"));
  EXPECT_TRUE(is_suspended("low"));
}

TEST_F(AdmissionChecksTest, AMissingOrInactiveCheckDisablesItsQueue) {
  queue({"capacity", "licence"});
  job({.name = "train"});
  settle();
  EXPECT_EQ(reason("train", "QuotaReserved"), "Misconfigured");
  const auto status = [&] {
    for (const auto& q : w_->core->intake().queues().queue_states()) {
      if (q.kind == dialect::Kind::kClusterQueue) return q.status.reason + ": " + q.status.message;
    }
    return std::string();
  };
  EXPECT_EQ(
      status(),
      "AdmissionCheckNotFound: Can't admit new workloads: references missing AdmissionCheck(s): licence.");
  for (const char* active : {"", "False"}) {
    check("licence", active);
    settle();
    EXPECT_EQ(
        status(),
        "AdmissionCheckInactive: Can't admit new workloads: references inactive AdmissionCheck(s): licence.");
    EXPECT_FALSE(is("train", "QuotaReserved"));
  }
  check("licence", "True");
  settle();
  EXPECT_TRUE(is("train", "QuotaReserved"));
  // If Kueue keeps the Workloads, checks cannot be asked.
  w_->core->set_kueue_version("", w_->now);
  job({.name = "later"});
  settle();
  EXPECT_TRUE(is_suspended("later"));
}

TEST_F(AdmissionChecksTest, ACheckOfAnotherFlavorIsNotAsked) {
  queue({{{"name", "capacity"}, {"onFlavors", {"spot"}}}, {{"name", "budget"}, {"onFlavors", {"any"}}}});
  job({.name = "train"});
  settle();
  EXPECT_TRUE(state("train", "capacity").empty());
  EXPECT_EQ(state("train", "budget")["state"], "Pending");
  EXPECT_TRUE(is_suspended("train"));
  queue(json::array({{{"name", "capacity"}, {"onFlavors", {"spot"}}}}));
  settle();
  EXPECT_TRUE(runs("train"));
}

TEST_F(AdmissionChecksTest, ARestartKeepsTheAnswersAndAsksForTheRest) {
  queue({"capacity", "budget"});
  job({.name = "train"});
  settle();
  answer_check("train", "capacity", "Ready");
  settle();
  // The queue with its checks is there before anything is decided.
  const TimeMs now = w_->now;
  w_ = std::make_unique<World>(default_options());
  w_->now = now;
  w_->version = 10'000;
  w_->object(dialect::Kind::kResourceFlavor, "any", R"({"metadata":{"name":"any"}})");
  w_->object(dialect::Kind::kLocalQueue, "team",
             R"({"metadata":{"name":"team","namespace":"default"},"spec":{"clusterQueue":"cq"}})");
  w_->node("n1", 8);
  check("capacity", "True");
  check("budget", "True");
  for (const auto& [name, object] : objects_) show(name);
  for (auto& [name, job] : jobs_) w_->object(dialect::Kind::kJob, name, job.dump());
  w_->core->set_kueue_version("v1beta2", w_->now);
  queue({"capacity", "budget"}, 2, false);
  w_->recover();
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_TRUE(is("train", "QuotaReserved"));
  EXPECT_EQ(state("train", "capacity")["state"], "Ready");
  answer_check("train", "budget", "Ready");
  settle();
  EXPECT_TRUE(runs("train"));
}

TEST_F(AdmissionChecksTest, ASavedAdmissionIsNotAnAnswer) {
  queue({"capacity"});
  job({.name = "train"});
  settle();
  for (json& c : object_of("train")["status"]["conditions"]) {
    c["status"] = c["type"] == "Evicted" ? "False" : "True";
    if (c["type"] == "Admitted") c["reason"] = "Admitted";
  }
  change(object_name("train"));
  settle(10 * kSecond);
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_FALSE(is("train", "Admitted")) << "it is corrected";
}

TEST_F(AdmissionChecksTest, PodSetUpdatesGoIntoTheTemplateAndDecideAboutThePlaces) {
  templates_stay_ = true;
  w_->object(dialect::Kind::kNode, "n2", R"({"metadata":{"name":"n2","labels":{"pool":"b"}},
    "status":{"allocatable":{"cpu":"64","memory":"64Gi","pods":"110","nvidia.com/gpu":"8"}}})");
  queue({"capacity", "budget"});
  job({.name = "train"});
  settle();
  const json update = {{"name", "main"},
                       {"labels", {{"team", "a"}}},
                       {"annotations", {{"example.com/consume", "request-1"}}},
                       {"nodeSelector", {{"pool", "b"}}},
                       {"tolerations", {{{"key", "new"}, {"operator", "Exists"}}}}};
  answer_check("train", "capacity", "Ready", {{"podSetUpdates", json::array({update})}});
  answer_check("train", "budget", "Ready");
  settle();
  ASSERT_TRUE(runs("train"));
  const json& pod_template = jobs_["train"]["spec"]["template"];
  EXPECT_EQ(pod_template["metadata"]["labels"]["team"], "a");
  EXPECT_EQ(pod_template["metadata"]["annotations"]["example.com/consume"], "request-1");
  EXPECT_EQ(pod_template["spec"]["nodeSelector"].dump(), R"({"pool":"b"})");
  EXPECT_EQ(pod_template["spec"]["tolerations"].dump(), R"([{"key":"new","operator":"Exists"}])");
  EXPECT_EQ(pods_["train-0"]["spec"]["nodeName"], "n2");
  EXPECT_EQ(pods_["train-1"]["spec"]["nodeName"], "n2");
  // It comes back another time, and former updates in its template do not count.
  object_of("train")["spec"]["active"] = false;
  change(object_name("train"));
  settle(20 * kSecond);
  ASSERT_TRUE(is_suspended("train"));
  w_->object(dialect::Kind::kNode, "n2", R"({"metadata":{"name":"n2","labels":{"pool":"b"}},
    "spec":{"unschedulable":true},
    "status":{"allocatable":{"cpu":"64","memory":"64Gi","pods":"110","nvidia.com/gpu":"8"}}})");
  object_of("train")["spec"]["active"] = true;
  change(object_name("train"));
  settle(5 * kSecond);
  ASSERT_TRUE(is("train", "QuotaReserved"));
  answer_check("train", "capacity", "Ready");
  answer_check("train", "budget", "Ready");
  settle();
  ASSERT_TRUE(runs("train"));
  EXPECT_EQ(pods_["train-0"]["spec"]["nodeName"], "n1");
  EXPECT_TRUE(jobs_["train"]["spec"]["template"]["spec"]["nodeSelector"].empty());
  EXPECT_FALSE(jobs_["train"]["metadata"]["annotations"].contains("berth.dev/pod-set-updates"));
}

TEST_F(AdmissionChecksTest, WhatEndsAndStartsWithinAMomentKeepsNothingOfItsFormerAdmission) {
  w_->object(dialect::Kind::kNode, "n2", R"({"metadata":{"name":"n2","labels":{"pool":"b"}},
    "status":{"allocatable":{"cpu":"64","memory":"64Gi","pods":"110","nvidia.com/gpu":"8"}}})");
  queue({"capacity"});
  const auto turn_over = [&](const json& checks) {
    object_of("train")["spec"]["active"] = false;
    change(object_name("train"));
    for (int i = 0; i < 200 && !(is_suspended("train") && pods_.empty()); ++i) {
      w_->pass(1);
      w_->report();
      serve();
    }
    ASSERT_TRUE(pods_.empty());
    queue(checks);
    object_of("train")["spec"]["active"] = true;
    change(object_name("train"));
    settle(5 * kSecond);
  };
  job({.name = "train"});
  settle();
  const json update = {{"name", "main"}, {"nodeSelector", {{"pool", "b"}}}};
  answer_check("train", "capacity", "Ready", {{"podSetUpdates", json::array({update})}});
  settle();
  ASSERT_EQ(pods_["train-0"]["spec"]["nodeName"], "n2");
  turn_over({"capacity"});
  EXPECT_TRUE(is_suspended("train")) << "it is asked anew";
  answer_check("train", "capacity", "Ready", {{"podSetUpdates", json::array({update})}});
  settle();
  ASSERT_TRUE(runs("train"));
  turn_over(json::array());
  EXPECT_TRUE(runs("train"));
  EXPECT_TRUE(jobs_["train"]["spec"]["template"]["spec"]["nodeSelector"].empty());
}

TEST_F(AdmissionChecksTest, UpdatesThatCannotBeDoneEndTheWorkload) {
  queue({"capacity", "budget"}, 8);
  const auto wants = [&](const std::string& name, const std::string& check, const json& update) {
    answer_check(name, check, "Ready", {{"podSetUpdates", json::array({update})}});
  };
  const auto ends = [&](const std::string& name, const std::string& words) {
    settle(5 * kSecond);
    EXPECT_TRUE(is_suspended(name));
    EXPECT_EQ(object_of(name)["spec"]["active"], false);
    const std::string message = condition(name, "Evicted").value("message", "");
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  job({.name = "a"});
  job({.name = "b"});
  settle();
  wants("a", "capacity", {{"name", "main"}, {"nodeSelector", {{"pool", "a"}}}});
  wants("a", "budget", {{"name", "main"}, {"nodeSelector", {{"pool", "b"}}}});
  ends("a", "contradict");
  wants("b", "capacity", {{"name", "workers"}});
  wants("b", "budget", {{"name", "main"}});
  ends("b", "pod set workers");
}

TEST_F(AdmissionChecksTest, PodsWaitBoundToNothingAndNeverLookUnschedulable) {
  queue({"capacity"});
  for (const char* member : {"a", "b"}) {
    json pod = json::parse(pod_json({.name = member}, 1));
    pod["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "team"},
                                 {"kueue.x-k8s.io/pod-group-name", "group"}};
    pod["metadata"]["annotations"] = {{"kueue.x-k8s.io/pod-group-total-count", "2"}};
    pods_[member] = pod;
    w_->object(dialect::Kind::kPod, member, pod.dump());
  }
  w_->turn();
  std::vector<Sent> conditions;
  for (int i = 0; i < 50; ++i) {
    w_->pass(100);
    w_->report();
    for (auto& sent : w_->take(Step::kStatus)) conditions.push_back(std::move(sent));
    serve();
  }
  ASSERT_TRUE(objects_.contains("group"));
  ASSERT_EQ(conditions.size(), 2u);
  for (const auto& sent : conditions) {
    EXPECT_EQ(condition_field(sent, "reason"), "Reserved");
    EXPECT_TRUE(condition_field(sent, "message").starts_with("its quota and nodes are reserved"));
  }
  EXPECT_FALSE(pods_["a"]["spec"].contains("nodeName"));
  answer_in("group", "capacity", "Ready",
            {{"podSetUpdates",
              json::array({{{"name", "main"}, {"annotations", {{"example.com/consume", "request-1"}}}}})}});
  w_->pass(100);
  w_->report();
  const auto binds = w_->take(Step::kBind);
  ASSERT_EQ(binds.size(), 2u);
  for (const auto& bind : binds) {
    EXPECT_EQ(kube::testing::binding_of(bind.body)["metadata"]["annotations"]["example.com/consume"],
              "request-1");
  }
}

TEST_F(AdmissionChecksTest, AMemberThatGoesWhileItsGroupIsHeldIsReplaced) {
  queue({"capacity"});
  const auto member = [&](const std::string& name) {
    json pod = json::parse(pod_json({.name = name}, 1));
    pod["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "team"},
                                 {"kueue.x-k8s.io/pod-group-name", "group"}};
    pod["metadata"]["annotations"] = {{"kueue.x-k8s.io/pod-group-total-count", "2"}};
    pods_[name] = pod;
    w_->object(dialect::Kind::kPod, name, pod.dump());
    w_->turn();
  };
  member("a");
  member("b");
  settle();
  pods_.erase("b");
  w_->pod_gone("b");
  settle();
  member("c");
  settle();
  EXPECT_FALSE(pods_["a"]["spec"].contains("nodeName"));
  answer_in("group", "capacity", "Ready");
  settle();
  EXPECT_TRUE(pods_["a"]["spec"].contains("nodeName"));
  EXPECT_TRUE(pods_["c"]["spec"].contains("nodeName"));
}

TEST_F(AdmissionChecksTest, AJobThatChangesWhileItIsHeldIsDecidedAnew) {
  queue({"capacity"}, 4);
  job({.name = "train"});
  settle();
  ASSERT_EQ(object_of("train")["status"]["admission"]["podSetAssignments"][0]["count"], 2);
  jobs_["train"]["spec"]["parallelism"] = 4;
  jobs_["train"]["spec"]["completions"] = 4;
  jobs_["train"]["metadata"]["generation"] = 2;
  update_job("train");
  settle();
  EXPECT_EQ(object_of("train")["status"]["admission"]["podSetAssignments"][0]["count"], 4);
  answer_check("train", "capacity", "Ready");
  settle();
  EXPECT_TRUE(pods_["train-3"]["spec"].contains("nodeName"));
  // And one that is gone leaves nothing behind.
  job({.name = "other", .pods = 1});
  settle();
  Inbox inbox;
  inbox.push(dialect::Kind::kJob, {kube::ChangeType::kDeleted, "default", "other", uid_of("other"), "9", ""});
  Batch batch;
  inbox.take(batch, 0);
  w_->core->take(batch, w_->now);
  settle();
  EXPECT_FALSE(w_->core->carrier().places().holds(uid_of("other")));
}

TEST_F(AdmissionChecksTest, WhatCannotBeAskedAboutDoesNotStart) {
  queue({"capacity"}, 8);
  json foreign = json::parse(R"({"metadata":{"name":"job-train-kueue","namespace":"default","uid":"k",
    "ownerReferences":[{"kind":"Job","name":"train","uid":"uid-train","controller":true}]},
    "spec":{"active":true,"queueName":"team","podSets":[{"count":2,"template":{"spec":{"containers":[{"name":"c"}]}}}]},
    "status":{"admissionChecks":[{"name":"capacity","state":"Ready","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
  objects_["job-train-kueue"] = foreign;
  show("job-train-kueue");
  job({.name = "train"});
  settle(5 * kSecond);
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_FALSE(w_->core->carrier().places().holds(uid_of("train"))) << "nor does it keep places from others";
  w_->pod({.name = "g-0", .gang = "g", .size = 1, .queue = "team"});
  w_->pod({.name = "direct", .queue = "cq"});
  w_->turn();
  w_->pass(kSecond);
  EXPECT_TRUE(w_->take(Step::kBind).empty());
}

class BlockAdmissionTest : public AdmissionChecksTest {
 protected:
  BlockAdmissionTest() {
    CoreOptions options = default_options();
    options.workload_objects.pods_ready = dialect::PodsReady{.timeout = kMinute, .block_admission = true};
    start(std::move(options), 100);
    check("capacity", "True");
  }
  void ready(const std::string& name, int pods) {
    jobs_[name]["status"]["ready"] = pods;
    update_job(name);
  }
};

TEST_F(BlockAdmissionTest, OneIsAdmittedWhenThePodsOfAllBeforeItAreReady) {
  for (const char* name : {"first", "second", "third"}) job({.name = name});
  settle(5 * kSecond);
  EXPECT_TRUE(runs("first"));
  EXPECT_TRUE(is("second", "QuotaReserved"));
  EXPECT_EQ(reason("second", "Admitted"), "WaitingForPodsReady");
  EXPECT_TRUE(is_suspended("second"));
  EXPECT_TRUE(is_suspended("third"));
  ready("first", 2);
  settle(5 * kSecond);
  EXPECT_TRUE(runs("second"));
  EXPECT_TRUE(is_suspended("third"));
  // The second never gets ready: its time is over, and the next one has its turn.
  settle(80 * kSecond);
  EXPECT_TRUE(is_suspended("second"));
  EXPECT_TRUE(runs("third"));
}

TEST_F(BlockAdmissionTest, OneThatWaitsForAnAnswerIsPassed) {
  queue({"capacity"}, 100);
  job({.name = "first"});
  job({.name = "second"});
  settle();
  answer_check("second", "capacity", "Ready");
  settle();
  EXPECT_TRUE(runs("second"));
  answer_check("first", "capacity", "Ready");
  settle();
  EXPECT_TRUE(is_suspended("first"));
  ready("second", 2);
  settle();
  EXPECT_TRUE(runs("first"));
}

TEST_F(BlockAdmissionTest, OneThatHasFinishedIsWaitedForNoLonger) {
  job({.name = "first"});
  job({.name = "second"});
  settle();
  ASSERT_TRUE(runs("first"));
  complete("first", 2);
  settle(5 * kSecond);
  EXPECT_TRUE(runs("second"));
}

}  // namespace
}  // namespace berth::scheduler::testing

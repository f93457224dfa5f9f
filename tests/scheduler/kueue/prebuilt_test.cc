// Workloads that another client made for Jobs and pod groups (Kueue's prebuilt-workload-name): before their work comes, when it
// comes, and when it does not match.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "scheduler/workload_support.h"

namespace berth::scheduler::testing {
namespace {

constexpr const char* kNames = "kueue.x-k8s.io/prebuilt-workload-name";

struct PrebuiltText {
  int pods = 2;
  int gpus = 1;
  int priority = 0;
  std::string queue = "team";
  std::string set = "main";
  int least = 0;  // 0: all
};

class PrebuiltTest : public WorkloadObjectsTest {
 protected:
  void prebuilt(const std::string& name, const PrebuiltText& text) {
    const json job = json::parse(job_json({.name = "any", .gpus = text.gpus}));
    json object = {{"apiVersion", "kueue.x-k8s.io/v1beta2"}, {"kind", "Workload"}};
    object["metadata"] = {{"name", name},
                          {"namespace", "default"},
                          {"uid", "object-" + name},
                          {"creationTimestamp", "2026-01-01T00:00:00Z"},
                          {"labels", {{"kueue.x-k8s.io/multikueue-origin", "manager"}}}};
    object["spec"] = {{"active", true}, {"queueName", text.queue}, {"priority", text.priority}};
    object["spec"]["podSets"] = json::array(
        {{{"name", text.set},
          {"count", text.pods},
          {"template", {{"metadata", json::object()}, {"spec", job["spec"]["template"]["spec"]}}}}});
    if (text.least > 0) object["spec"]["podSets"][0]["minCount"] = text.least;
    objects_[name] = object;
    show(name);
    w_->turn();
  }
  void prebuilt(const std::string& name) { prebuilt(name, PrebuiltText()); }
  void named_job(const std::string& name, const std::string& workload, JobText text = {}) {
    text.name = name;
    job(text, {{kNames, workload}});
  }
  json of(const std::string& object, const std::string& type) {
    for (const json& c : objects_.at(object)["status"].value("conditions", json::array())) {
      if (c["type"] == type) return c;
    }
    return {};
  }
  bool is_of(const std::string& object, const std::string& type) {
    const json found = of(object, type);
    return found.is_object() && found.value("status", "") == "True";
  }
  int bound(const std::string& job) {
    int out = 0;
    for (const auto& [name, pod] : pods_)
      out += name.starts_with(job + "-") && pod["spec"].contains("nodeName") ? 1 : 0;
    return out;
  }
  int places_of(const std::string& object) {
    return objects_.at(object)["status"]["admission"]["podSetAssignments"][0]["count"];
  }
  // Why Berth does not consider it.
  std::string reason(const std::string& job) {
    const Reason* blocked = w_->core->intake().blocked(uid_of(job));
    return blocked == nullptr ? "" : blocked->detail;
  }
};

TEST_F(PrebuiltTest, OneHasItsPlacesBeforeItsJobComesAndTheJobGetsThem) {
  prebuilt("remote");
  settle();
  EXPECT_TRUE(is_of("remote", "QuotaReserved"));
  EXPECT_TRUE(is_of("remote", "Admitted"));
  EXPECT_EQ(objects_["remote"]["status"]["admission"]["podSetAssignments"][0]["count"], 2);
  job({.name = "other"});
  settle();
  EXPECT_TRUE(is_suspended("other"));
  const json spec = objects_["remote"]["spec"];
  const json admitted = of("remote", "Admitted");
  named_job("train", "remote");
  EXPECT_EQ(w_->slot(uid_of("train"), 0), SlotState::kBinding) << "from one hand into the other";
  settle();
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(bound("train"), 2);
  EXPECT_TRUE(is_suspended("other"));
  EXPECT_EQ(of("remote", "Admitted"), admitted) << "nothing has happened to it";
  EXPECT_EQ(objects_["remote"]["spec"], spec) << "what it asks for is its maker's";
  EXPECT_EQ(objects_["remote"]["metadata"]["ownerReferences"][0]["uid"], uid_of("train"));
  EXPECT_TRUE(objects_["remote"]["metadata"]["ownerReferences"][0]["controller"]);
  EXPECT_EQ(objects_["remote"]["metadata"]["labels"]["kueue.x-k8s.io/multikueue-origin"], "manager");
  EXPECT_EQ(objects_["remote"]["metadata"]["labels"]["kueue.x-k8s.io/job-uid"], uid_of("train"));
  EXPECT_EQ(objects_.size(), 2u) << "the Job has no other";
  complete("train", 2);
  settle();
  EXPECT_EQ(of("remote", "Finished")["reason"], "Succeeded");
  EXPECT_FALSE(is_suspended("other"));
  EXPECT_EQ(settle(kMinute), 0) << "nothing is written twice";
}

TEST_F(PrebuiltTest, AJobThatNamesOneWaitsForIt) {
  named_job("train", "remote");
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(reason("train"), fmt::format("the Workload remote that it names ({}) does not exist", kNames));
  EXPECT_TRUE(objects_.empty()) << "it gets none of its own";
  prebuilt("remote");
  settle();
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(bound("train"), 2);
  EXPECT_TRUE(is_of("remote", "Admitted"));
}

TEST_F(PrebuiltTest, OneThatAsksForSomethingElseIsOverAndItsJobDoesNotRun) {
  const auto check = [&](const std::string& name, const PrebuiltText& text, const std::string& why) {
    prebuilt(name, text);
    settle();
    named_job("job-" + name, name);
    settle();
    EXPECT_TRUE(is_suspended("job-" + name)) << name;
    EXPECT_EQ(of(name, "Finished")["reason"], "OutOfSync") << name;
    EXPECT_NE(reason("job-" + name).find(why), std::string::npos) << reason("job-" + name);
    job({.name = "after-" + name});
    settle();
    EXPECT_FALSE(is_suspended("after-" + name)) << "its quota is free";
    complete("after-" + name, 2);
    settle();
  };
  check("fewer", {.pods = 1}, "");
  check("smaller", {.gpus = 0}, "");
}

TEST_F(PrebuiltTest, AJobWhoseWorkloadIsGoneIsEnded) {
  prebuilt("remote");
  named_job("train", "remote");
  settle();
  ASSERT_EQ(bound("train"), 2);
  remove_object("remote");
  settle(20 * kSecond);
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(bound("train"), 0);
  EXPECT_TRUE(objects_.empty());
}

TEST_F(PrebuiltTest, OneIsThatOfOneJobOnly) {
  prebuilt("remote");
  settle();
  named_job("first", "remote");
  named_job("second", "remote");
  settle();
  EXPECT_FALSE(is_suspended("first"));
  EXPECT_TRUE(is_suspended("second"));
  EXPECT_EQ(reason("second"), fmt::format("the Workload remote that it names ({}) is another's", kNames));
  start(default_options(), 4);
  settle();
  EXPECT_EQ(bound("first"), 2);
  EXPECT_TRUE(is_suspended("second")) << "whose it is is written on it";
}

TEST_F(PrebuiltTest, OneOfAnotherQueueGivesItsJobNothing) {
  w_->object(dialect::Kind::kLocalQueue, "rich",
             R"({"metadata":{"name":"rich","namespace":"default"},"spec":{"clusterQueue":"cq"}})");
  prebuilt("remote", {.queue = "rich"});
  settle();
  ASSERT_TRUE(is_of("remote", "Admitted"));
  named_job("train", "remote");
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_TRUE(is_of("remote", "Admitted"));
}

TEST_F(PrebuiltTest, AForgedStatusAdmitsNothing) {
  job({.name = "runs"});
  settle();
  ASSERT_FALSE(is_suspended("runs"));
  prebuilt("forged");
  settle();
  objects_["forged"]["status"] = objects_[object_name("runs")]["status"];
  show("forged");
  named_job("train", "forged");
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_FALSE(is_of("forged", "QuotaReserved"));
  EXPECT_EQ(w_->slot(uid_of("train"), 0), SlotState::kWaiting);
}

TEST_F(PrebuiltTest, APriorityIsNoHigherThanThatOfAClass) {
  job({.name = "runs"});
  settle();
  prebuilt("high", {.priority = 1'000'000});
  settle();
  EXPECT_FALSE(is_suspended("runs"));
  EXPECT_FALSE(is_of("high", "Admitted"));
  w_->object(dialect::Kind::kWorkloadPriorityClass, "urgent",
             R"({"metadata":{"name":"urgent"},"value":100})");
  objects_["high"]["spec"]["priority"] = 99;
  show("high");
  settle();
  EXPECT_TRUE(is_suspended("runs"));
  EXPECT_TRUE(is_of("high", "Admitted"));
  EXPECT_EQ(objects_["high"]["spec"]["priority"], 99);
}

TEST_F(PrebuiltTest, OneThatIsPreemptedBeforeItsJobComesIsToldAndComesBack) {
  prebuilt("remote");
  settle();
  ASSERT_TRUE(is_of("remote", "Admitted"));
  job({.name = "high", .priority = 10});
  settle();
  EXPECT_FALSE(is_suspended("high"));
  EXPECT_EQ(of("remote", "Preempted")["reason"], "InClusterQueue");
  EXPECT_FALSE(is_of("remote", "Admitted"));
  named_job("train", "remote");
  settle();
  EXPECT_TRUE(is_suspended("train"));
  complete("high", 2);
  settle(20 * kSecond);
  EXPECT_TRUE(is_of("remote", "Admitted"));
  EXPECT_EQ(bound("train"), 2);
}

TEST_F(PrebuiltTest, OneThatMayStartWithFewerPodsDoesAndSoDoesItsJob) {
  start(default_options(), 4);
  prebuilt("remote", {.pods = 6, .least = 2});
  settle();
  ASSERT_TRUE(is_of("remote", "Admitted"));
  EXPECT_EQ(places_of("remote"), 4);
  const json spec = objects_["remote"]["spec"];
  json object = json::parse(job_json({.name = "train", .pods = 6}));
  object["metadata"]["labels"][kNames] = "remote";
  object["metadata"]["annotations"]["kueue.x-k8s.io/job-min-parallelism"] = "2";
  jobs_["train"] = object;
  update_job("train");
  EXPECT_EQ(w_->slot(uid_of("train"), 3), SlotState::kBinding);
  settle();
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(jobs_["train"]["spec"]["parallelism"], 4);
  EXPECT_EQ(bound("train"), 4);
  EXPECT_EQ(objects_["remote"]["spec"], spec);
  EXPECT_EQ(places_of("remote"), 4);
  EXPECT_EQ(settle(kMinute), 0) << "nothing is written twice";
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(PrebuiltTest, OneThatHadFewerPlacesAndLosesThemAsksForAllAgain) {
  start(default_options(), 4);
  prebuilt("remote", {.pods = 6, .least = 2});
  settle();
  ASSERT_EQ(places_of("remote"), 4);
  job({.name = "urgent", .pods = 4, .priority = 10});
  settle();
  EXPECT_FALSE(is_suspended("urgent"));
  EXPECT_TRUE(is_of("remote", "Evicted"));
  EXPECT_FALSE(is_of("remote", "QuotaReserved"));
  complete("urgent", 4);
  settle(2 * kMinute);
  EXPECT_TRUE(is_of("remote", "QuotaReserved"));
  EXPECT_EQ(places_of("remote"), 4) << "all of it, and then what there is";
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(PrebuiltTest, BelowItsLeastOneWaitsAndOneThatFitsIsWhole) {
  start(default_options(), 4);
  prebuilt("large", {.pods = 8, .least = 5});
  settle();
  EXPECT_FALSE(is_of("large", "QuotaReserved"));
  prebuilt("small", {.pods = 3, .least = 1});
  settle();
  ASSERT_TRUE(is_of("small", "QuotaReserved"));
  EXPECT_EQ(places_of("small"), 3);
}

TEST_F(PrebuiltTest, ARestartChangesNothingOfOneWhoseJobRuns) {
  prebuilt("remote");
  named_job("train", "remote");
  settle();
  ASSERT_EQ(bound("train"), 2);
  const json before = objects_["remote"]["status"];
  start(default_options(), 2);
  settle(20 * kSecond);
  EXPECT_EQ(objects_["remote"]["status"], before);
  EXPECT_EQ(objects_.size(), 1u);
  EXPECT_EQ(bound("train"), 2);
}

TEST_F(PrebuiltTest, ItsCreatorMayWantItToEnd) {
  prebuilt("remote");
  named_job("train", "remote");
  settle();
  ASSERT_EQ(bound("train"), 2);
  objects_["remote"]["status"]["conditions"].push_back({{"type", "DeactivationTarget"},
                                                        {"status", "True"},
                                                        {"reason", "EvictedOnManagerCluster"},
                                                        {"message", "Evicted on manager: Preempted"}});
  show("remote");
  settle(20 * kSecond);
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_FALSE(objects_["remote"]["spec"]["active"]);
  EXPECT_EQ(of("remote", "Evicted")["reason"], "DeactivatedDueToEvictedOnManagerCluster");
}

TEST_F(PrebuiltTest, AJobThatBeginsToNameOneAndCeasesToLeavesTheFormerOneFinished) {
  job({.name = "runs"});
  job({.name = "train"});
  settle();
  ASSERT_TRUE(is_suspended("train"));
  ASSERT_EQ(condition("train", "QuotaReserved")["status"], "False");
  // There is none yet: it waits for that one, and its own says nothing of it any more.
  jobs_["train"]["metadata"]["labels"][kNames] = "remote";
  update_job("train");
  settle();
  EXPECT_EQ(condition("train", "Finished")["reason"], "OutOfSync");
  prebuilt("remote");
  settle();
  EXPECT_EQ(of("remote", "QuotaReserved")["status"], "False");
  EXPECT_EQ(objects_["remote"]["metadata"]["ownerReferences"][0]["uid"], uid_of("train"));
  EXPECT_EQ(settle(kMinute), 0) << "nothing is written twice";
  start(default_options(), 2);
  settle(kMinute);
  EXPECT_EQ(condition("train", "Finished")["reason"], "OutOfSync");
  EXPECT_EQ(of("remote", "QuotaReserved")["status"], "False");
  EXPECT_FALSE(is_of("remote", "Finished"));
  // And back.
  jobs_["train"]["metadata"]["labels"].erase(kNames);
  update_job("train");
  settle();
  EXPECT_EQ(of("remote", "Finished")["reason"], "OutOfSync");
  EXPECT_TRUE(condition("train", "Finished").is_null() || !is("train", "Finished"));
  EXPECT_EQ(condition("train", "QuotaReserved")["status"], "False");
  start(default_options(), 4);
  settle();
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_TRUE(is("train", "Admitted"));
  EXPECT_EQ(of("remote", "Finished")["reason"], "OutOfSync");
  // One that is gone is forgotten.
  remove_object("remote");
  settle();
  EXPECT_EQ(bound("train"), 2);
  EXPECT_EQ(settle(kMinute), 0);
}

// The Workload that it names says one size.
TEST_F(PrebuiltTest, AnElasticJobThatNamesOneHasNoSlices) {
  start(default_options(), 4);
  const auto elastic = [&] {
    jobs_["train"]["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"] = "true";
    jobs_["train"]["spec"]["completions"] = 100;
    update_job("train");
  };
  job({.name = "train"});
  elastic();
  settle();
  ASSERT_EQ(bound("train"), 2);
  jobs_["train"]["metadata"]["labels"][kNames] = "remote";
  update_job("train");
  settle();
  EXPECT_TRUE(is_suspended("train")) << "there is none yet";
  EXPECT_EQ(condition("train", "Finished")["reason"], "OutOfSync");
  EXPECT_EQ(objects_.size(), 1u);
  prebuilt("remote");
  settle(kMinute);  // it was ended, and rests
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(bound("train"), 2);
  EXPECT_TRUE(is_of("remote", "Admitted"));
  EXPECT_FALSE(objects_["remote"]["metadata"]
                   .value("annotations", json::object())
                   .contains("kueue.x-k8s.io/workload-slice-name"));
  start(default_options(), 4);
  settle(kMinute);
  EXPECT_TRUE(is_of("remote", "Admitted"));
  EXPECT_EQ(condition("train", "Finished")["reason"], "OutOfSync");
  // Another size is not a slice.
  jobs_["train"]["spec"]["parallelism"] = 3;
  jobs_["train"]["metadata"]["generation"] = jobs_["train"]["metadata"]["generation"].get<int>() + 1;
  update_job("train");
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(of("remote", "Finished")["reason"], "OutOfSync");
  EXPECT_EQ(objects_.size(), 2u);
  // And back: it has slices again, and the one that has run stays over.
  jobs_["train"]["metadata"]["labels"].erase(kNames);
  update_job("train");
  settle(kMinute);
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(bound("train"), 3);
  EXPECT_TRUE(is("train", "Finished"));
  ASSERT_EQ(objects_.size(), 3u);
  for (const auto& [name, object] : objects_) {
    if (name == "remote" || name == object_name("train")) continue;
    EXPECT_TRUE(is_of(name, "Admitted"));
    EXPECT_EQ(object["spec"]["podSets"][0]["count"], 3);
  }
  EXPECT_EQ(settle(kMinute), 0);
  start(default_options(), 4);
  settle(kMinute);
  EXPECT_EQ(bound("train"), 3);
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(objects_.size(), 3u);
}

// Its creator's and Berth's slices: a slice that waits for more is finished when the Job names another.
TEST_F(PrebuiltTest, TheSliceThatWaitsIsOverToo) {
  start(default_options(), 2);
  job({.name = "train"});
  jobs_["train"]["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"] = "true";
  jobs_["train"]["spec"]["completions"] = 100;
  update_job("train");
  settle();
  ASSERT_EQ(bound("train"), 2);
  jobs_["train"]["spec"]["parallelism"] = 3;
  jobs_["train"]["metadata"]["generation"] = jobs_["train"]["metadata"]["generation"].get<int>() + 1;
  update_job("train");
  settle();
  ASSERT_EQ(objects_.size(), 2u);
  jobs_["train"]["metadata"]["labels"][kNames] = "remote";
  update_job("train");
  settle(kMinute);
  ASSERT_EQ(objects_.size(), 2u);
  for (const auto& [name, object] : objects_) EXPECT_EQ(of(name, "Finished")["reason"], "OutOfSync") << name;
  EXPECT_EQ(settle(kMinute), 0);
}

TEST_F(PrebuiltTest, AJobThatHasItsOwnTakesThePlacesOfTheOneThatItBeginsToName) {
  prebuilt("remote");
  settle();
  ASSERT_TRUE(is_of("remote", "Admitted"));
  job({.name = "train"});
  settle();
  ASSERT_TRUE(is_suspended("train"));
  jobs_["train"]["metadata"]["labels"][kNames] = "remote";
  update_job("train");
  settle();
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(bound("train"), 2);
  EXPECT_TRUE(is_of("remote", "Admitted"));
  EXPECT_EQ(condition("train", "Finished")["reason"], "OutOfSync");
  EXPECT_EQ(settle(kMinute), 0);
}

// A user of another namespace makes the very Workload that Berth keeps for this Job: uids are no secret.
TEST_F(PrebuiltTest, AWorkloadOfAnotherNamespaceHasNoOwnerHere) {
  job({.name = "train"});
  settle();
  ASSERT_EQ(bound("train"), 2);
  const json own = object_of("train");
  json forged = own;
  forged["metadata"]["namespace"] = "other";
  forged["metadata"]["uid"] = "forged";
  forged["spec"]["active"] = false;
  forged["status"] = json::object();
  const auto show_forged = [&] {
    Inbox inbox;
    inbox.push(dialect::Kind::kWorkload, {kube::ChangeType::kAdded, "other", object_name("train"), "forged",
                                          std::to_string(++w_->version), forged.dump()});
    Batch batch;
    inbox.take(batch, 0);
    w_->core->take(batch, w_->now);
    w_->turn();
  };
  const auto expect_untouched = [&] {
    settle(20 * kSecond);
    EXPECT_FALSE(is_suspended("train"));
    EXPECT_EQ(bound("train"), 2);
    EXPECT_EQ(objects_.size(), 1U);
    EXPECT_EQ(object_of("train")["status"], own["status"]);
  };
  show_forged();
  expect_untouched();
  // Seen before its Job is known, and before or after the true one.
  for (const bool first : {false, true}) {
    const auto jobs = std::exchange(jobs_, {});
    const auto pods = std::exchange(pods_, {});
    const auto objects = first ? std::exchange(objects_, {}) : objects_;
    start(default_options(), 2);
    show_forged();
    objects_ = objects;
    if (first) show(object_name("train"));
    jobs_ = jobs;
    pods_ = pods;
    for (auto& [name, job] : jobs_) w_->object(dialect::Kind::kJob, name, job.dump());
    for (auto& [name, pod] : pods_) w_->object(dialect::Kind::kPod, name, pod.dump());
    w_->turn();
    expect_untouched();
  }
}

TEST_F(PrebuiltTest, AGroupOfPodsGetsThePlacesWhenItIsWhole) {
  prebuilt("group", {.set = "a1b2c3"});
  settle();
  ASSERT_TRUE(is_of("group", "Admitted"));
  job({.name = "other"});
  for (const char* member : {"a", "b"}) {
    json pod = json::parse(pod_json({.name = member}, 1));
    pod["metadata"]["labels"] = {
        {"kueue.x-k8s.io/queue-name", "team"}, {"kueue.x-k8s.io/pod-group-name", "group"}, {kNames, "group"}};
    pod["metadata"]["annotations"] = {{"kueue.x-k8s.io/pod-group-total-count", "2"}};
    pods_[member] = pod;
    w_->object(dialect::Kind::kPod, member, pod.dump());
    w_->turn();
    settle();
    if (member == std::string("a")) {
      EXPECT_FALSE(pods_["a"]["spec"].contains("nodeName"));
    }
  }
  EXPECT_TRUE(pods_["a"]["spec"].contains("nodeName"));
  EXPECT_TRUE(pods_["b"]["spec"].contains("nodeName"));
  EXPECT_TRUE(is_of("group", "Admitted"));
  EXPECT_EQ(objects_["group"]["status"]["admission"]["podSetAssignments"][0]["name"], "a1b2c3");
  EXPECT_EQ(objects_["group"]["metadata"]["ownerReferences"].size(), 2u);
  EXPECT_TRUE(is_suspended("other"));
}

}  // namespace
}  // namespace berth::scheduler::testing

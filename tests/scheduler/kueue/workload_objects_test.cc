// Kueue's Workload objects: what is written of Jobs, pods and pod groups, when, and how often; what of them is obeyed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "dialect/kueue/workload_object.h"
#include "scheduler/workload_support.h"

namespace berth::scheduler::testing {
namespace {

TEST_F(WorkloadObjectsTest, SayWhatWaitsWhatRunsAndWhatHasFinished) {
  job({.name = "first"});
  job({.name = "second"});
  settle();
  ASSERT_EQ(objects_.size(), 2u);
  const json& first = object_of("first");
  EXPECT_EQ(first["metadata"]["ownerReferences"][0]["uid"], uid_of("first"));
  EXPECT_EQ(first["spec"]["queueName"], "team");
  EXPECT_EQ(first["spec"]["podSets"][0]["count"], 2);
  EXPECT_TRUE(is("first", "QuotaReserved"));
  EXPECT_EQ(condition("first", "QuotaReserved")["message"], "Quota reserved in ClusterQueue cq");
  EXPECT_TRUE(is("first", "Admitted"));
  EXPECT_EQ(condition("first", "Admitted")["message"], "The workload is admitted");
  const json& admission = first["status"]["admission"];
  EXPECT_EQ(admission["clusterQueue"], "cq");
  EXPECT_EQ(admission["podSetAssignments"].dump(),
            R"([{"count":2,"flavors":{"cpu":"any","nvidia.com/gpu":"any"},"name":"main",)"
            R"("resourceUsage":{"cpu":"2","nvidia.com/gpu":"2"}}])");
  EXPECT_EQ(condition("second", "QuotaReserved")["status"], "False");
  EXPECT_EQ(condition("second", "QuotaReserved")["reason"], "WaitingForQuota");
  EXPECT_EQ(condition("second", "Admitted")["reason"], "NoReservation");
  EXPECT_TRUE(object_of("second")["status"].value("admission", json()).is_null());

  for (int i = 0; i < 2; ++i) {
    const std::string pod = fmt::format("first-{}", i);
    pods_.erase(pod);
    w_->pod_gone(pod);
    w_->turn();
    if (i > 0) break;
    settle();
    EXPECT_EQ(object_of("first")["status"]["admission"]["podSetAssignments"][0]["count"], 2)
        << "a pod that ends changes nothing of what was admitted";
  }
  jobs_["first"]["status"] = json::parse(
      R"({"succeeded":2,"conditions":[{"type":"Complete","status":"True","message":"Reached expected number of succeeded pods"}]})");
  update_job("first");
  settle();
  EXPECT_TRUE(is("first", "Finished"));
  EXPECT_EQ(condition("first", "Finished")["reason"], "Succeeded");
  EXPECT_EQ(condition("first", "Finished")["message"], "Reached expected number of succeeded pods");
  EXPECT_TRUE(is("second", "Admitted"));
  jobs_["second"]["status"] = json::parse(
      R"({"conditions":[{"type":"Failed","status":"True","message":"Job has reached the specified backoff limit"}]})");
  update_job("second");
  settle();
  EXPECT_EQ(condition("second", "Finished")["reason"], "Failed");
  EXPECT_EQ(settle(kMinute), 0) << "nothing is written twice";
}

TEST_F(WorkloadObjectsTest, APreemptedOneNamesItsPreemptorAndComesBack) {
  job({.name = "low"});
  settle();
  ASSERT_TRUE(is("low", "Admitted"));
  job({.name = "high", .priority = 10});
  settle();
  EXPECT_TRUE(is("high", "Admitted"));
  EXPECT_EQ(condition("low", "Admitted")["status"], "False");
  EXPECT_EQ(condition("low", "Evicted")["reason"], "Preempted");
  EXPECT_EQ(condition("low", "Preempted")["reason"], "InClusterQueue");
  EXPECT_EQ(
      condition("low", "Preempted")["message"],
      "Preempted to accommodate a workload (UID: UNKNOWN, JobUID: uid-high) due to prioritization in the "
      "ClusterQueue; preemptor path: /all/cq; preemptee path: /all/cq")
      << "the preemptor was decided about before it had a Workload";
  EXPECT_TRUE(is("low", "Requeued"));
  EXPECT_TRUE(object_of("low")["status"].value("admission", json()).is_null());
  complete("high", 2);
  settle(20 * kSecond);
  EXPECT_TRUE(is("low", "Admitted"));
  EXPECT_EQ(condition("low", "Evicted")["status"], "False");
  EXPECT_TRUE(
      condition("low", "Evicted")["message"].get<std::string>().starts_with("Previously: Preempted to"));
}

TEST_F(WorkloadObjectsTest, AUserDeactivatesOneWhichEndsItAndKeepsItOut) {
  job({.name = "train"});
  settle();
  ASSERT_TRUE(is("train", "Admitted"));
  object_of("train")["spec"]["active"] = false;
  show(object_name("train"));
  settle(30 * kSecond);
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_TRUE(pods_.empty());
  EXPECT_EQ(condition("train", "Evicted")["reason"], "Deactivated");
  EXPECT_EQ(condition("train", "QuotaReserved")["reason"], "Deactivated");
  EXPECT_EQ(condition("train", "Requeued")["status"], "False");
  object_of("train")["spec"]["active"] = true;
  show(object_name("train"));
  settle();
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_TRUE(is("train", "Admitted"));
  EXPECT_EQ(condition("train", "Requeued")["reason"], "Reactivated");
}

TEST_F(WorkloadObjectsTest, OneThatIsDeactivatedWhileItWaitsDoesNotStart) {
  job({.name = "big", .pods = 2});
  settle();
  job({.name = "train"});
  settle();
  object_of("train")["spec"]["active"] = false;
  show(object_name("train"));
  start(default_options(), 100);  // Berth is started again, with room for both
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_TRUE(is("big", "Admitted"));
}

// Kueue's admission-gated-by: a controller still prepares it.
TEST_F(WorkloadObjectsTest, OneThatIsGatedWaitsUntilTheLastGateIsGone) {
  constexpr const char* kGates = "kueue.x-k8s.io/admission-gated-by";
  json gated = json::parse(job_json({.name = "train"}));
  gated["metadata"]["annotations"][kGates] = "a.example/sizes,b.example/c";
  jobs_["train"] = gated;
  update_job("train");
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(condition("train", "QuotaReserved")["reason"], "AdmissionGated");
  EXPECT_EQ(condition("train", "QuotaReserved")["message"],
            "Admission is gated by: a.example/sizes,b.example/c");
  jobs_["train"]["metadata"]["annotations"][kGates] = "b.example/c";
  update_job("train");
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(condition("train", "QuotaReserved")["message"], "Admission is gated by: b.example/c");
  // A deactivated one says that, whatever gates it has.
  object_of("train")["spec"]["active"] = false;
  show(object_name("train"));
  settle();
  EXPECT_EQ(condition("train", "QuotaReserved")["reason"], "Deactivated");
  object_of("train")["spec"]["active"] = true;
  show(object_name("train"));
  jobs_["train"]["metadata"]["annotations"].erase(kGates);
  update_job("train");
  settle();
  EXPECT_TRUE(is("train", "Admitted"));
  // A later one does not evict running work.
  jobs_["train"]["metadata"]["annotations"][kGates] = "late.example/x";
  update_job("train");
  settle();
  EXPECT_TRUE(is("train", "Admitted"));
  EXPECT_FALSE(is_suspended("train"));
}

// Kueue's priority-boost, on the Workload.
TEST_F(WorkloadObjectsTest, ABoostCountsForTheOrderAndForVictims) {
  constexpr const char* kBoost = "kueue.x-k8s.io/priority-boost";
  const auto boost = [&](const std::string& name, const std::string& value) {
    object_of(name)["metadata"]["annotations"][kBoost] = value;
    show(object_name(name));
    settle();
  };
  job({.name = "runs", .priority = 10});
  settle();
  job({.name = "waits", .priority = 10});
  settle();
  ASSERT_TRUE(is("runs", "Admitted"));
  for (const char* wrong : {"", "high", "-1.5", "-1x", "-99999999999"}) {
    boost("runs", wrong);
    EXPECT_TRUE(is("runs", "Admitted")) << wrong;
  }
  boost("runs", "-1");
  EXPECT_TRUE(is("waits", "Admitted"));
  EXPECT_TRUE(is_suspended("runs"));
  EXPECT_EQ(object_of("runs")["spec"]["priority"], 10) << "what it says itself stays";
  boost("runs", "5");
  EXPECT_TRUE(is("runs", "Admitted"));
  EXPECT_TRUE(is_suspended("waits"));
  object_of("runs")["metadata"]["annotations"].erase(kBoost);
  show(object_name("runs"));
  boost("waits", "1");
  EXPECT_TRUE(is("waits", "Admitted"));
  EXPECT_EQ(settle(kMinute), 0);
}

TEST_F(WorkloadObjectsTest, AForgedStatusAdmitsNothingAndIsCorrectedEverMoreSlowly) {
  job({.name = "runs"});
  job({.name = "waits"});
  settle();
  const json good = object_of("waits");
  json forged = good;
  forged["status"]["admission"] = object_of("runs")["status"]["admission"];
  for (auto& c : forged["status"]["conditions"]) c["status"] = "True";
  int writes = 0;
  for (int i = 0; i < 600; ++i) {  // a minute
    object_of("waits") = forged;
    object_of("waits")["metadata"]["resourceVersion"] = std::to_string(++w_->version);
    show(object_name("waits"));
    writes += settle(100);
  }
  EXPECT_TRUE(is_suspended("waits"));
  EXPECT_GE(writes, 4);
  EXPECT_LE(writes, 8);
  settle(10 * kMinute);
  EXPECT_EQ(condition("waits", "QuotaReserved")["status"], "False");
  EXPECT_TRUE(object_of("waits")["status"].value("admission", json()).is_null());
}

TEST_F(WorkloadObjectsTest, AForeignWorkloadIsIgnoredAndNotDoubled) {
  json foreign = json::parse(R"({"metadata":{"name":"job-train-kueue","namespace":"default","uid":"k",
    "ownerReferences":[{"kind":"Job","name":"train","uid":"uid-train","controller":true}]},
    "spec":{"active":false,"queueName":"team","podSets":[{"count":2,"template":{"spec":{"containers":[{"name":"c"}]}}}]}})");
  objects_["job-train-kueue"] = foreign;
  show("job-train-kueue");
  job({.name = "train"});
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(objects_.size(), 1u);
  EXPECT_FALSE(is_suspended("train"));
  // It goes: then Berth makes its own.
  objects_.clear();
  Inbox inbox;
  inbox.push(dialect::Kind::kWorkload,
             {kube::ChangeType::kDeleted, "default", "job-train-kueue", "k", "9999", ""});
  Batch batch;
  inbox.take(batch, 0);
  w_->core->take(batch, w_->now);
  settle();
  EXPECT_TRUE(is("train", "Admitted"));
}

TEST_F(WorkloadObjectsTest, AStartWritesNothingThatStandsThereAlready) {
  for (int i = 0; i < 5; ++i) job({.name = fmt::format("train{}", i)});
  settle();
  start(default_options(), 2);
  EXPECT_EQ(settle(20 * kSecond), 0);
  EXPECT_EQ(w_->core->workload_objects().size(), 5u);
}

TEST_F(WorkloadObjectsTest, OneThatIsDeletedIsMadeAgain) {
  job({.name = "train"});
  settle();
  objects_.clear();
  Inbox inbox;
  inbox.push(dialect::Kind::kWorkload, {kube::ChangeType::kDeleted, "default", object_name("train"),
                                        "object-" + object_name("train"), "9999", ""});
  Batch batch;
  inbox.take(batch, 0);
  w_->core->take(batch, w_->now);
  settle();
  EXPECT_TRUE(is("train", "Admitted"));
  EXPECT_FALSE(is_suspended("train"));
}

TEST_F(WorkloadObjectsTest, TheBudgetIsKeptAndTheBacklogIsOfNamesOnly) {
  CoreOptions options = default_options();
  options.object_writes_per_second = 50;
  start(std::move(options), 0);
  for (int i = 0; i < 500; ++i) job({.name = fmt::format("train{}", i)});
  int writes = 0;
  for (int second = 1; second <= 10; ++second) {
    writes += settle(kSecond);
    EXPECT_LE(writes, 6 + 50 * second);
    EXPECT_GE(writes, 50 * (second - 2));
    EXPECT_LE(w_->core->workload_objects().backlog(), 500u);
  }
  settle(20 * kSecond);
  EXPECT_EQ(objects_.size(), 500u);
  EXPECT_EQ(w_->core->workload_objects().backlog(), 0u);
}

TEST_F(WorkloadObjectsTest, PodsAndPodGroupsHaveOneTooAndItIsReadHowTheyEnded) {
  json one = json::parse(pod_json({.name = "one"}, 1));
  one["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "team";
  pods_["one"] = one;
  w_->object(dialect::Kind::kPod, "one", one.dump());
  settle();
  const std::string name = dialect::workload_name("Pod", "", "one", uid_of("one"));
  ASSERT_TRUE(objects_.contains(name));
  EXPECT_EQ(objects_[name]["metadata"]["ownerReferences"][0]["kind"], "Pod");
  EXPECT_EQ(objects_[name]["status"]["admission"]["podSetAssignments"][0]["count"], 1);
  w_->pod_gone("one");
  w_->turn();
  w_->pass(kSecond);
  w_->report();
  auto reads = w_->take(Step::kLook);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].path, "/api/v1/namespaces/default/pods/one");
  answer(reads[0].uid, Outcome::kOk, R"({"kind":"Pod","status":{"phase":"Succeeded"}})", Step::kLook);
  settle();
  json finished;
  for (const json& c : objects_[name]["status"]["conditions"]) {
    if (c["type"] == "Finished") finished = c;
  }
  EXPECT_EQ(finished["reason"], "Succeeded");
  EXPECT_EQ(finished["message"], "Pods succeeded: 1/1.");

  for (const char* member : {"a", "b"}) {
    json pod = json::parse(pod_json({.name = member}, 1));
    pod["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "team"},
                                 {"kueue.x-k8s.io/pod-group-name", "group"}};
    pod["metadata"]["annotations"] = {{"kueue.x-k8s.io/pod-group-total-count", "2"}};
    pods_[member] = pod;
    w_->object(dialect::Kind::kPod, member, pod.dump());
  }
  settle();
  ASSERT_TRUE(objects_.contains("group"));
  EXPECT_EQ(objects_["group"]["metadata"]["ownerReferences"].size(), 2u);
  EXPECT_EQ(objects_["group"]["status"]["admission"]["podSetAssignments"][0]["count"], 2);
  for (const char* member : {"a", "b"}) w_->pod_gone(member);
  w_->turn();
  w_->pass(kSecond);
  w_->report();
  reads = w_->take(Step::kLook);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_EQ(reads[0].path,
            "/api/v1/namespaces/default/pods?labelSelector=kueue.x-k8s.io%2Fpod-group-name%3Dgroup");
}

TEST_F(WorkloadObjectsTest, AQueueThatIsStoppedAndDrainedSaysSoAndSoDoesItsReturn) {
  const auto stop = [&](const std::string& policy) {
    w_->object(
        dialect::Kind::kLocalQueue, "team",
        fmt::format(R"({{"metadata":{{"name":"team","namespace":"default"}},"spec":{{"clusterQueue":"cq",
               "stopPolicy":"{}"}}}})",
                    policy));
  };
  job({.name = "train"});
  settle();
  stop("HoldAndDrain");
  settle(20 * kSecond);
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(condition("train", "Evicted")["reason"], "LocalQueueStopped");
  EXPECT_EQ(condition("train", "Evicted")["message"], "The LocalQueue is stopped");
  EXPECT_EQ(condition("train", "Requeued")["status"], "False");
  EXPECT_EQ(condition("train", "QuotaReserved")["reason"], "Suspended");
  stop("None");
  settle(20 * kSecond);
  EXPECT_TRUE(is("train", "Admitted"));
  EXPECT_EQ(condition("train", "Requeued")["reason"], "LocalQueueRestarted");
}

TEST_F(WorkloadObjectsTest, AQueueThatIsAboutToGoTakesNothingMore) {
  job({.name = "runs"});
  settle();
  json queue = {
      {"metadata", {{"name", "cq"}, {"deletionTimestamp", clock()}}},
      {"spec",
       json::parse(
           R"({"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "nvidia.com/gpu"],
                  "flavors": [{"name": "any", "resources": [{"name": "cpu", "nominalQuota": "100"},
                                                            {"name": "nvidia.com/gpu", "nominalQuota": "8"}]}]}]})")}};
  w_->object(dialect::Kind::kClusterQueue, "cq", queue.dump());
  w_->turn();
  job({.name = "late"});
  settle(20 * kSecond);
  EXPECT_TRUE(is("runs", "Admitted"));
  EXPECT_FALSE(is("late", "QuotaReserved"));
  EXPECT_EQ(condition("late", "QuotaReserved")["reason"], "Suspended");
  queue["metadata"].erase("deletionTimestamp");  // it has been made anew
  w_->object(dialect::Kind::kClusterQueue, "cq", queue.dump());
  settle(20 * kSecond);
  EXPECT_TRUE(is("late", "Admitted"));
}

TEST_F(WorkloadObjectsTest, PodsOfAGroupSayThemselvesWhetherTheyAreReady) {
  CoreOptions options = default_options();
  options.workload_objects.pods_ready = dialect::PodsReady{.timeout = kMinute};
  start(std::move(options), 2);
  const auto tell = [&](const std::string& member, bool ready) {
    json pod = json::parse(pod_json({.name = member}, 1));
    pod["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", "team"},
                                 {"kueue.x-k8s.io/pod-group-name", "group"}};
    pod["metadata"]["annotations"] = {{"kueue.x-k8s.io/pod-group-total-count", "2"}};
    if (pods_.contains(member)) pod["spec"]["nodeName"] = pods_[member]["spec"]["nodeName"];
    if (ready) pod["status"]["conditions"] = json::array({{{"type", "Ready"}, {"status", "True"}}});
    pods_[member] = pod;
    w_->object(dialect::Kind::kPod, member, pod.dump());
    w_->turn();
  };
  const auto ready = [&] {
    for (const json& c : objects_.at("group")["status"]["conditions"]) {
      if (c["type"] == "PodsReady") return c["reason"].get<std::string>();
    }
    return std::string();
  };
  tell("a", false);
  tell("b", false);
  settle();
  EXPECT_EQ(ready(), "WaitForStart");
  tell("a", true);
  settle();
  EXPECT_EQ(ready(), "WaitForStart");
  tell("b", true);
  settle();
  EXPECT_EQ(ready(), "Started");
  tell("b", false);
  settle();
  EXPECT_EQ(ready(), "WaitForRecovery");
}

TEST_F(WorkloadObjectsTest, PodsThatHaveEndedWellGiveTheirQuotaBackAndAreCounted) {
  job({.name = "train"});
  settle();
  EXPECT_FALSE(object_of("train")["status"].contains("reclaimablePods"));
  w_->pod_gone("train-0");
  pods_.erase("train-0");
  jobs_["train"]["status"]["succeeded"] = 1;
  update_job("train");
  job({.name = "other", .pods = 1});
  settle();
  const json one = json::parse(R"([{"name":"main","count":1}])");
  EXPECT_EQ(object_of("train")["status"]["reclaimablePods"], one);
  EXPECT_EQ(object_of("train")["spec"]["podSets"][0]["count"], 2);
  EXPECT_EQ(object_of("train")["status"]["admission"]["podSetAssignments"][0]["count"], 2)
      << "as it was admitted";
  EXPECT_TRUE(pods_["other-0"]["spec"].contains("nodeName")) << "its quota is another's";
  EXPECT_EQ(settle(kMinute), 0);
  start(default_options(), 2);
  EXPECT_EQ(settle(kMinute), 0) << "it stands there already";
  // Ended pods are not made again: they stay counted while the rest waits.
  job({.name = "urgent", .priority = 10});
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(object_of("train")["status"]["reclaimablePods"], one);
  EXPECT_EQ(object_of("train")["spec"]["podSets"][0]["count"], 2);
}

TEST_F(WorkloadObjectsTest, WhatItAsksForIsSaidBeforeItHasQuotaForIt) {
  const auto limit = [&](const json& limits) {
    json range = {{"metadata", {{"name", "defaults"}, {"namespace", "default"}}}};
    range["spec"]["limits"] = json::array({limits});
    w_->object(dialect::Kind::kLimitRange, "defaults", range.dump());
    w_->turn();
  };
  limit({{"type", "Container"}, {"default", {{"cpu", "2"}}}, {"max", {{"cpu", "1"}}}});
  json bare = json::parse(job_json({.name = "train"}));
  bare["spec"]["template"]["spec"]["containers"][0]["resources"] = {{"limits", {{"nvidia.com/gpu", "1"}}}};
  jobs_["train"] = bare;
  update_job("train");
  settle();
  EXPECT_EQ(condition("train", "QuotaReserved")["reason"], "Misconfigured") << "its pods would be refused";
  const auto cpu = [&] {
    return object_of(
               "train")["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"]
        .value("cpu", "");
  };
  EXPECT_EQ(cpu(), "2");
  limit({{"type", "Container"}, {"default", {{"cpu", "1"}}}});
  settle();
  EXPECT_TRUE(is("train", "Admitted"));
  EXPECT_EQ(cpu(), "1");
  EXPECT_EQ(settle(kMinute), 0);
}

TEST_F(WorkloadObjectsTest, WhereKueueRunsNothingIsWritten) {
  w_->core->set_kueue_version("", w_->now);
  job({.name = "train"});
  EXPECT_EQ(settle(10 * kSecond), 0);
  EXPECT_FALSE(is_suspended("train"));
  w_->core->set_kueue_version("v1beta2", w_->now);
  settle();
  EXPECT_TRUE(is("train", "Admitted"));
}

TEST_F(WorkloadObjectsTest, AMaximumExecutionTimeDeactivates) {
  job({.name = "train"}, {{"kueue.x-k8s.io/max-exec-time-seconds", "60"}});
  settle();
  ASSERT_TRUE(is("train", "Admitted"));
  EXPECT_EQ(object_of("train")["spec"]["maximumExecutionTimeSeconds"], 60);
  settle(50 * kSecond);
  EXPECT_FALSE(is_suspended("train"));
  settle(20 * kSecond);
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(object_of("train")["spec"]["active"], false);
  EXPECT_EQ(condition("train", "Evicted")["reason"], "DeactivatedDueToMaximumExecutionTimeExceeded");
  EXPECT_EQ(condition("train", "Evicted")["message"],
            "The workload is deactivated due to exceeding the maximum execution time");
  settle(5 * kMinute);
  EXPECT_TRUE(is_suspended("train"));
}

TEST_F(WorkloadObjectsTest, PodsThatDoNotGetReadyInTimeAreEndedAndTriedAgainLaterAndAtLastNotAtAll) {
  CoreOptions options = default_options();
  options.workload_objects.pods_ready = dialect::PodsReady{
      .timeout = kMinute, .recovery = kMinute, .most_requeues = 1, .first_rest = 30 * kSecond};
  start(std::move(options), 2);
  job({.name = "train"});
  settle();
  EXPECT_EQ(condition("train", "PodsReady")["reason"], "WaitForStart");
  ASSERT_TRUE(is("train", "Admitted"));
  settle(59 * kSecond);
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(condition("train", "Evicted")["reason"], "PodsReadyTimeout");
  EXPECT_EQ(object_of("train")["status"]["requeueState"]["count"], 1);
  EXPECT_EQ(condition("train", "Requeued")["status"], "False");
  EXPECT_EQ(condition("train", "QuotaReserved")["reason"], "WaitingForPodsReady");
  settle(35 * kSecond);
  EXPECT_TRUE(is("train", "Admitted"));
  EXPECT_EQ(condition("train", "Requeued")["reason"], "BackoffFinished");
  // Ready, and then not any more.
  jobs_["train"]["status"] = json::parse(R"({"ready":2})");
  update_job("train");
  settle(10 * kSecond);
  EXPECT_EQ(condition("train", "PodsReady")["reason"], "Started");
  settle(2 * kMinute);
  EXPECT_TRUE(is("train", "Admitted"));
  jobs_["train"]["status"] = json::parse(R"({"ready":1})");
  update_job("train");
  settle(10 * kSecond);
  EXPECT_EQ(condition("train", "PodsReady")["reason"], "WaitForRecovery");
  settle(55 * kSecond);
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(condition("train", "Evicted")["reason"], "DeactivatedDueToRequeuingLimitExceeded");
  EXPECT_EQ(object_of("train")["spec"]["active"], false);
}

// Kueue's wait-for-pods-ready of one workload.
TEST_F(WorkloadObjectsTest, AWorkloadMaySayItselfHowLongItsPodsMayTake) {
  constexpr const char* kTimes = "kueue.x-k8s.io/wait-for-pods-ready";
  const auto with_times = [&](const std::string& name, const std::string& times) {
    json object = json::parse(job_json({.name = name}));
    object["metadata"]["annotations"][kTimes] = times;
    jobs_[name] = object;
    update_job(name);
  };
  start(default_options(), 4);  // nothing is configured
  with_times("timed", R"({"timeoutSeconds": 20, "recoveryTimeoutSeconds": 10})");
  with_times("wrong", R"({"recoveryTimeoutSeconds": 10})");
  settle(15 * kSecond);
  EXPECT_TRUE(is("timed", "Admitted"));
  EXPECT_EQ(condition("timed", "PodsReady")["reason"], "WaitForStart");
  EXPECT_TRUE(condition("wrong", "PodsReady").is_null());
  jobs_["timed"]["status"] = json::parse(R"({"ready":2})");
  update_job("timed");
  settle(30 * kSecond);
  EXPECT_EQ(condition("timed", "PodsReady")["reason"], "Started");
  EXPECT_TRUE(is("timed", "Admitted"));
  jobs_["timed"]["status"] = json::parse(R"({"ready":1})");
  update_job("timed");
  settle(15 * kSecond);
  EXPECT_TRUE(is_suspended("timed"));
  EXPECT_EQ(condition("timed", "Evicted")["reason"], "PodsReadyTimeout");
  EXPECT_FALSE(is_suspended("wrong"));
}

}  // namespace
}  // namespace berth::scheduler::testing

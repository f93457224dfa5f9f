// Kueue's Workload objects and the status of its queues on a real API server: what tools read of Jobs, pods and pod groups, what a user
// may do with them, and that neither a forged status nor a running Kueue is fought.
#include <nlohmann/json.hpp>

#include "e2e/workloads_fixture.h"
#include "text/time.h"

namespace berth::e2e {
namespace {

class BerthWorkloads : public WorkloadsTest {};

TEST_F(BerthWorkloads, SayWhatToolsReadOfJobsPodsAndGroupsAndOfTheirQueues) {
  start_with_queue(4, 4000);
  ASSERT_NE(start_berth(), nullptr);
  create_job("first", 4);
  expect_condition("first", "Admitted", "True Admitted");
  create_job("second", 4);
  expect_condition("second", "QuotaReserved", "False WaitingForQuota");
  const json first = workload_of("first");
  EXPECT_EQ(first["spec"]["queueName"], "team");
  const json& assignment = first["status"]["admission"]["podSetAssignments"][0];
  EXPECT_EQ(first["status"]["admission"]["clusterQueue"], "cq");
  EXPECT_EQ(assignment["flavors"]["nvidia.com/gpu"], "any");
  EXPECT_EQ(assignment["resourceUsage"]["nvidia.com/gpu"], "4");
  EXPECT_EQ(assignment["count"], 4);
  const auto queue_says = [&](const std::string& path, int pending, int admitted) {
    return [this, path, pending, admitted] {
      const json object = get(kGroup + path);
      if (!object.is_object() || !object.contains("status")) return false;
      const json& status = object["status"];
      return status.value("pendingWorkloads", -1) == pending &&
             status.value("admittedWorkloads", -1) == admitted &&
             status.value("reservingWorkloads", -1) == admitted;
    };
  };
  for (const char* path : {"/clusterqueues/cq", "/namespaces/default/localqueues/team"}) {
    EXPECT_TRUE(eventually(queue_says(path, 1, 1))) << path << ": " << get(std::string(kGroup) + path).dump();
    const json queue = get(std::string(kGroup) + path);
    EXPECT_EQ(condition_in(queue, "Active"), "True Ready");
    EXPECT_EQ(queue["status"]["flavorsUsage"][0]["resources"][1]["total"], "4") << queue["status"].dump();
  }
  expect_condition("first", "Finished", "True Succeeded");
  expect_condition("second", "Finished", "True Succeeded");
  // Plain pods, alone and as a group, on the same queue.
  json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"spec", pod_spec()}};
  pod["metadata"] = {{"name", "one"}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
  create("/api/v1/namespaces/default/pods", pod);
  expect_condition("one", "Admitted", "True Admitted");
  for (const char* member : {"a", "b"}) {
    pod["metadata"] = {
        {"name", member},
        {"labels", {{"kueue.x-k8s.io/queue-name", "team"}, {"kueue.x-k8s.io/pod-group-name", "group"}}},
        {"annotations", {{"kueue.x-k8s.io/pod-group-total-count", "2"}}}};
    create("/api/v1/namespaces/default/pods", pod);
  }
  expect_condition("b", "Admitted", "True Admitted");
  EXPECT_EQ(workload_of("b")["metadata"]["name"], "group");
  EXPECT_TRUE(eventually(queue_says("/namespaces/default/localqueues/team", 0, 2)));
  // A Workload goes with its owner.
  ASSERT_OK(expect_ok(cluster_->client().del(std::string(kJobs) + "/first?propagationPolicy=Background"),
                      "deleting"));
  EXPECT_TRUE(eventually([&] { return workload_of("first").is_null(); }));
  expect_clean();
}

TEST_F(BerthWorkloads, AreDeactivatedByAUserAndTryAgainWhenTheyAreActive) {
  start_with_queue(4, 600'000);
  ASSERT_NE(start_berth(), nullptr);
  create_job("train", 4);
  expect_condition("train", "Admitted", "True Admitted");
  patch(path_of("train"), {{"spec", {{"active", false}}}});
  EXPECT_TRUE(eventually([&] { return is_suspended("train"); }));
  expect_condition("train", "Evicted", "True Deactivated");
  expect_condition("train", "QuotaReserved", "False Deactivated");
  create_job("other", 4);
  expect_condition("other", "Admitted", "True Admitted");
  patch(path_of("other"), {{"spec", {{"active", false}}}});
  expect_condition("other", "QuotaReserved", "False Deactivated");
  patch(path_of("train"), {{"spec", {{"active", true}}}});
  expect_condition("train", "Admitted", "True Admitted");
  EXPECT_EQ(condition("train", "Requeued"), "True Reactivated");
  expect_clean();
}

TEST_F(BerthWorkloads, WaitForControllersThatPrepareThemAndAreBoosted) {
  start_with_queue(4, 600'000);
  ASSERT_NE(start_berth(), nullptr);
  json gated = {{"apiVersion", "batch/v1"}, {"kind", "Job"}};
  gated["metadata"] = {{"name", "gated"},
                       {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}},
                       {"annotations", {{"kueue.x-k8s.io/admission-gated-by", "example.com/sizes"}}}};
  gated["spec"] = {{"parallelism", 4}, {"completions", 4}, {"suspend", true}, {"backoffLimit", 0}};
  gated["spec"]["template"]["spec"] = pod_spec();
  create(kJobs, gated);
  expect_condition("gated", "QuotaReserved", "False AdmissionGated");
  create_job("other", 4);
  expect_condition("other", "Admitted", "True Admitted");
  patch(std::string(kJobs) + "/gated",
        {{"metadata", {{"annotations", {{"kueue.x-k8s.io/admission-gated-by", nullptr}}}}}});
  expect_condition("gated", "QuotaReserved", "False WaitingForQuota");
  patch(path_of("gated"), {{"metadata", {{"annotations", {{"kueue.x-k8s.io/priority-boost", "10"}}}}}});
  expect_condition("gated", "Admitted", "True Admitted");
  expect_condition("other", "Evicted", "True Preempted");
  expect_clean();
}

TEST_F(BerthWorkloads, PodsThatHaveEndedGiveTheirQuotaBackAndAreSaidToBeReclaimable) {
  start_with_queue(3, 600'000);
  ASSERT_NE(start_berth(), nullptr);
  create_job("train", 3);
  const std::string pods_of_train =
      "/api/v1/namespaces/default/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3Dtrain";
  EXPECT_TRUE(eventually([&] {
    const json pods = get(pods_of_train);
    int running = 0;
    for (const json& pod : pods["items"]) running += pod["status"].value("phase", "") == "Running" ? 1 : 0;
    return running == 3;
  }));
  create_job("other", 1);
  expect_condition("other", "QuotaReserved", "False WaitingForQuota");
  const std::string first = get(pods_of_train)["items"][0]["metadata"]["name"];
  patch("/api/v1/namespaces/default/pods/" + first + "/status", {{"status", {{"phase", "Succeeded"}}}});
  EXPECT_TRUE(eventually([&] {
    return workload_of("train")["status"].value("reclaimablePods", json()) ==
           json::parse(R"([{"name": "main", "count": 1}])");
  })) << workload_of("train")["status"].dump();
  expect_condition("other", "Admitted", "True Admitted");
  EXPECT_EQ(workload_of("train")["spec"]["podSets"][0]["count"], 3);
  EXPECT_EQ(workload_of("train")["status"]["admission"]["podSetAssignments"][0]["count"], 3);
  expect_clean();
}

TEST_F(BerthWorkloads, ForgeriesAdmitNothingAndASecondSchedulerRewritesNothing) {
  start_with_queue(4, 600'000);
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  create_job("runs", 4);
  expect_condition("runs", "Admitted", "True Admitted");
  create_job("waits", 4);
  expect_condition("waits", "QuotaReserved", "False WaitingForQuota");
  json forged = workload_of("runs")["status"];
  patch(path_of("waits") + "/status", {{"status", forged}});
  expect_condition("waits", "QuotaReserved", "False WaitingForQuota");
  EXPECT_TRUE(is_suspended("waits"));
  EXPECT_TRUE(workload_of("waits")["status"].value("admission", json()).is_null());
  // A user's own Workload for a future Job: no second one is made, and the Job is not kept out by it.
  json foreign = json::parse(R"({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
    "metadata": {"name": "mine"}, "spec": {"active": false, "queueName": "team", "podSets": [
      {"name": "main", "count": 1, "template": {"spec": {"containers": [{"name": "c"}]}}}]}})");
  create(kWorkloads, foreign);
  std::this_thread::sleep_for(seconds(3));  // the last writes are seen
  std::map<std::string, std::string> before;
  const json first = get(kWorkloads);
  for (const json& item : first["items"])
    before[item["metadata"]["name"]] = item["metadata"]["resourceVersion"];
  EXPECT_EQ(before.size(), 3U);
  kill(*berth);
  auto* second = start_berth({.name = "berth-2"});
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(eventually([&] { return log_has(*second, "recovered:"); }));
  std::this_thread::sleep_for(seconds(3));
  const json after = get(kWorkloads);
  EXPECT_EQ(after["items"].size(), 3U);
  for (const json& item : after["items"])
    EXPECT_EQ(before[item["metadata"]["name"]], item["metadata"]["resourceVersion"]) << item.dump();
  expect_clean();
}

TEST_F(BerthWorkloads, AreLeftToKueueWhereItRuns) {
  start_with_queue(4, 600'000);
  json lease = {{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}};
  lease["metadata"]["name"] = "c1f6bfd2.kueue.x-k8s.io";
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  lease["spec"] = {{"holderIdentity", "kueue-controller-manager-0"},
                   {"leaseDurationSeconds", 600},
                   {"renewTime", text::format_time_us(now * 1000)}};
  create("/apis/coordination.k8s.io/v1/namespaces/default/leases", lease);
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  create_job("train", 4);
  EXPECT_TRUE(eventually([&] { return !is_suspended("train"); })) << "it is Berth's all the same";
  EXPECT_TRUE(eventually([&] { return log_has(*berth, "Kueue runs here"); }));
  EXPECT_TRUE(workload_of("train").is_null());
  EXPECT_FALSE(get(std::string(kGroup) + "/clusterqueues/cq")["status"].is_object());
  expect_clean();
}

TEST_F(BerthWorkloads, PodsThatDoNotGetReadyInTimeAreEndedAndTriedAgain) {
  start_with_queue(4, std::nullopt, false);  // without kubelets no pod gets ready, or ends
  const auto end_pods = [&] {
    const json pods = get("/api/v1/namespaces/default/pods");
    for (const json& pod : pods["items"]) {
      if (!pod["metadata"].contains("deletionTimestamp")) continue;
      (void)cluster_->client().del(
          "/api/v1/namespaces/default/pods/" + pod["metadata"]["name"].get<std::string>(),
          R"({"gracePeriodSeconds": 0})");
    }
  };
  const std::string config = (cluster_->folder() / "kueue.yaml").string();
  std::FILE* file = std::fopen(config.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs(
      "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwaitForPodsReady:\n  timeout: 3s\n"
      "  requeuingStrategy: {backoffBaseSeconds: 2, backoffLimitCount: 1}\n",
      file);
  std::fclose(file);
  ASSERT_NE(start_berth({.args = {"--kueue-config", config}}), nullptr);
  create_job("train", 4);
  expect_condition("train", "Evicted", "True PodsReadyTimeout");
  EXPECT_EQ(workload_of("train")["status"]["requeueState"].value("count", 0), 1);
  EXPECT_TRUE(eventually([&] {
    end_pods();
    return condition("train", "Evicted") == "True DeactivatedDueToRequeuingLimitExceeded";
  })) << condition("train", "Evicted");
  EXPECT_TRUE(eventually([&] { return workload_of("train")["spec"]["active"] == false; }));
  EXPECT_TRUE(eventually([&] { return is_suspended("train"); }));
}

}  // namespace
}  // namespace berth::e2e

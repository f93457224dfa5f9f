// Kueue's provisioning check on a real API server. The autoscaler is the test: it reads ProvisioningRequests, adds nodes, and says so.
#include <nlohmann/json.hpp>

#include "e2e/workloads_fixture.h"

namespace berth::e2e {
namespace {

constexpr const char* kRequests = "/apis/autoscaling.x-k8s.io/v1/namespaces/default/provisioningrequests";

class BerthProvisioning : public WorkloadsTest {
 protected:
  void start_with_check() {
    start_with_queue(8, 600'000);
    ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/tests/e2e/provisioning_request_crd.yaml"));
    patch(std::string(kGroup) + "/resourceflavors/any", {{"spec", {{"nodeLabels", {{"pool", "bought"}}}}}});
    create(std::string(kGroup) + "/provisioningrequestconfigs", json::parse(R"({
      "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ProvisioningRequestConfig", "metadata": {"name": "buy"},
      "spec": {"provisioningClassName": "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
               "managedResources": ["nvidia.com/gpu"],
               "retryStrategy": {"backoffLimitCount": 1, "backoffBaseSeconds": 2}}})"));
    create(std::string(kGroup) + "/admissionchecks", json::parse(R"({
      "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "AdmissionCheck", "metadata": {"name": "nodes"},
      "spec": {"controllerName": "kueue.x-k8s.io/provisioning-request", "parameters": {
        "apiGroup": "kueue.x-k8s.io", "kind": "ProvisioningRequestConfig", "name": "buy"}}})"));
    patch(
        std::string(kGroup) + "/clusterqueues/cq",
        {{"spec", {{"admissionChecksStrategy", {{"admissionChecks", json::array({{{"name", "nodes"}}})}}}}}});
  }
  // "": it has no Workload yet.
  std::string request_of(const std::string& job, int attempt) const {
    const json object = workload_of(job);
    if (!object.is_object()) return "";
    return object["metadata"]["name"].get<std::string>() + "-nodes-" + std::to_string(attempt);
  }
  bool is_asked(const std::string& job, int attempt) const {
    const std::string name = request_of(job, attempt);  // without one the path is that of the list
    return !name.empty() && get(std::string(kRequests) + "/" + name).is_object();
  }
  void say(const std::string& request, const std::string& type, const std::string& message) {
    patch(std::string(kRequests) + "/" + request + "/status",
          {{"status",
            {{"conditions", json::array({{{"type", type},
                                          {"status", "True"},
                                          {"reason", "TheTestSaysSo"},
                                          {"message", message},
                                          {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}}}});
  }
  void buy_node(const std::string& name) {
    ASSERT_OK(cluster_->create_nodes(1, {.name = name}));
    patch("/api/v1/nodes/" + name + "-0", {{"metadata", {{"labels", {{"pool", "bought"}}}}}});
  }
};

TEST_F(BerthProvisioning, QuotaIsHeldWhileNodesAreBoughtAndTheyAreUsed) {
  start_with_check();
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  create_job("train", 2);
  expect_condition("train", "QuotaReserved", "True QuotaReserved");
  EXPECT_TRUE(eventually([&] {
    return condition_in(get(std::string(kGroup) + "/admissionchecks/nodes"), "Active") == "True Active";
  }));
  ASSERT_TRUE(eventually([&] { return is_asked("train", 1); }));
  const json request = get(std::string(kRequests) + "/" + request_of("train", 1));
  EXPECT_EQ(request["spec"]["podSets"][0]["count"], 2);
  const std::string of = request["spec"]["podSets"][0]["podTemplateRef"]["name"];
  json made;
  ASSERT_TRUE(eventually([&] {
    made = get("/api/v1/namespaces/default/podtemplates/" + of);
    return made.is_object();
  }));
  EXPECT_EQ(made["template"]["spec"]["nodeSelector"]["pool"], "bought");
  EXPECT_EQ(made["template"]["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"], "1");
  EXPECT_EQ(made["metadata"]["ownerReferences"][0]["uid"], request["metadata"]["uid"]);
  // Berth dies while they are provisioned: the next leader finds the request, and requests nothing twice.
  kill(*berth);
  buy_node("new");
  ASSERT_NE(start_berth({.name = "berth-2"}), nullptr);
  expect_condition("train", "QuotaReserved", "True QuotaReserved");
  EXPECT_TRUE(is_suspended("train")) << "nobody has said that they are all there";
  say(request_of("train", 1), "Provisioned", "all of them");
  expect_condition("train", "Admitted", "True Admitted");
  EXPECT_TRUE(wait_bound(2));
  const json pods = get("/api/v1/namespaces/default/pods");
  ASSERT_EQ(pods["items"].size(), 2U);
  for (const json& pod : pods["items"]) {
    EXPECT_EQ(pod["spec"]["nodeName"], "new-0");
    EXPECT_EQ(pod["metadata"]["annotations"]["autoscaling.x-k8s.io/consume-provisioning-request"],
              request_of("train", 1));
    EXPECT_EQ(pod["metadata"]["annotations"]["autoscaling.x-k8s.io/provisioning-class-name"],
              "best-effort-atomic-scale-up.autoscaling.x-k8s.io");
  }
  EXPECT_EQ(get(kRequests)["items"].size(), 1U);
  say(request_of("train", 1), "CapacityRevoked", "they are gone");
  EXPECT_TRUE(eventually([&] { return is_suspended("train"); }));
  EXPECT_EQ(workload_of("train")["spec"]["active"], false);
  expect_clean();
}

TEST_F(BerthProvisioning, WhatCannotBeBoughtGivesItsQuotaBackAndIsTriedAgain) {
  start_with_check();
  ASSERT_NE(start_berth(), nullptr);
  create_job("train", 8);
  ASSERT_TRUE(eventually([&] { return is_asked("train", 1); }));
  create_job("other", 1);
  expect_condition("other", "QuotaReserved", "False WaitingForQuota");
  say(request_of("train", 1), "Failed", "no such machines");
  expect_condition("other", "QuotaReserved", "True QuotaReserved");
  EXPECT_TRUE(eventually([&] { return !is_asked("train", 1); })) << "it is of no use any more";
  ASSERT_TRUE(eventually([&] { return is_asked("other", 1); }));
  say(request_of("other", 1), "CapacityRevoked", "not for this one");
  ASSERT_TRUE(eventually([&] { return is_asked("train", 2); }));
  say(request_of("train", 2), "BookingExpired", "nobody came");
  EXPECT_TRUE(eventually([&] { return workload_of("train")["spec"]["active"] == false; }));
  expect_condition("train", "Evicted", "True DeactivatedDueToAdmissionCheck");
  expect_clean();
}

// No autoscaler may provision nodes for a pod that waits for quota, or for nodes that are on their way; for one that fits nowhere
// it must.
TEST_F(BerthProvisioning, OnlyWhatWantsNodesLooksUnschedulable) {
  start_with_check();
  ASSERT_NE(start_berth(), nullptr);
  const auto pod = [&](const std::string& name, const json& labels, const char* gpus) {
    json object = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"spec", pod_spec()}};
    object["metadata"] = {{"name", name}, {"labels", labels}};
    object["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = gpus;
    create("/api/v1/namespaces/default/pods", object);
  };
  const auto reason = [&](const std::string& name) {
    return condition_in(get("/api/v1/namespaces/default/pods/" + name), "PodScheduled");
  };
  const json queue = {{"kueue.x-k8s.io/queue-name", "team"}};
  pod("asks", queue, "8");
  EXPECT_TRUE(eventually([&] { return is_asked("asks", 1); }));
  pod("waits", queue, "8");
  pod("wants", json::object(), "64");
  EXPECT_TRUE(eventually([&] { return reason("wants") == "False Unschedulable"; })) << reason("wants");
  EXPECT_TRUE(eventually([&] { return reason("asks") == "False Reserved"; })) << reason("asks");
  EXPECT_TRUE(eventually([&] { return reason("waits") == "False Quota"; })) << reason("waits");
}

}  // namespace
}  // namespace berth::e2e

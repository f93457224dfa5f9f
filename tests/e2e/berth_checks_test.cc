// Kueue's admission checks on a real API server: another controller, here the test, says in the Workload whether what has quota may
// start, and what its pods get beside; and blockAdmission, by which one workload waits for the pods of another.
#include <nlohmann/json.hpp>

#include "e2e/workloads_fixture.h"

namespace berth::e2e {
namespace {

class BerthChecks : public WorkloadsTest {
 protected:
  void create_check(const std::string& name) {
    create(std::string(kGroup) + "/admissionchecks", {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                                                      {"kind", "AdmissionCheck"},
                                                      {"metadata", {{"name", name}}},
                                                      {"spec", {{"controllerName", "example.com/" + name}}}});
  }
  void activate(const std::string& name) {
    patch(std::string(kGroup) + "/admissionchecks/" + name + "/status",
          {{"status",
            {{"conditions", json::array({{{"type", "Active"},
                                          {"status", "True"},
                                          {"reason", "Active"},
                                          {"message", "it answers"},
                                          {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}}}});
  }
  void require_checks(const json& names) {
    json rules = json::array();
    for (const json& name : names) rules.push_back({{"name", name}});
    const json strategy = rules.empty() ? json() : json({{"admissionChecks", rules}});
    patch(std::string(kGroup) + "/clusterqueues/cq", {{"spec", {{"admissionChecksStrategy", strategy}}}});
  }
  // As a check's controller does: over the version that it has read.
  void say(const std::string& owner, const std::string& check, const std::string& state,
           const json& more = json::object()) {
    Reply reply;
    EXPECT_TRUE(eventually([&] {
      json object = workload_of(owner);
      if (!object.is_object()) return false;
      bool found = false;
      for (json& c : object["status"]["admissionChecks"]) {
        if (c["name"] != check) continue;
        c["state"] = state;
        c.update(more);
        found = true;
      }
      if (!found) return false;
      reply = cluster_->client().patch(
          path_of(owner) + "/status",
          json{{"metadata", {{"resourceVersion", object["metadata"]["resourceVersion"]}}},
               {"status", {{"admissionChecks", object["status"]["admissionChecks"]}}}}
              .dump(),
          kMergePatch);
      return reply.ok();
    })) << reply.describe();
  }
  std::string state_of(const std::string& owner, const std::string& check) const {
    const json object = workload_of(owner);
    if (!object.is_object() || !object.contains("status")) return "";
    for (const json& c : object["status"].value("admissionChecks", json::array())) {
      if (c["name"] == check) return c["state"];
    }
    return "";
  }
};

TEST_F(BerthChecks, WorkHasItsQuotaAndStartsWhenAllOfThemAreReady) {
  start_with_queue(4, 600'000);
  create_check("capacity");
  require_checks({"capacity"});
  ASSERT_NE(start_berth(), nullptr);
  create_job("train", 2);
  EXPECT_TRUE(eventually([&] {
    return condition_in(get(std::string(kGroup) + "/clusterqueues/cq"), "Active") ==
           "False AdmissionCheckInactive";
  })) << get(std::string(kGroup) + "/clusterqueues/cq")["status"].dump();
  expect_condition("train", "QuotaReserved", "False Misconfigured");
  activate("capacity");
  expect_condition("train", "QuotaReserved", "True QuotaReserved");
  EXPECT_TRUE(eventually([&] { return state_of("train", "capacity") == "Pending"; }));
  EXPECT_EQ(condition("train", "Admitted"), "False UnsatisfiedChecks");
  create_job("later", 4);  // the quota is taken
  expect_condition("later", "QuotaReserved", "False WaitingForQuota");
  EXPECT_TRUE(is_suspended("train"));
  // Not yet, says it: another one may have the quota meanwhile.
  say("train", "capacity", "Retry", {{"requeueAfterSeconds", 3}});
  expect_condition("train", "Evicted", "True AdmissionCheck");
  expect_condition("later", "QuotaReserved", "True QuotaReserved");
  say("later", "capacity", "Rejected");
  EXPECT_TRUE(eventually([&] { return workload_of("later")["spec"]["active"] == false; }));
  expect_condition("later", "Evicted", "True DeactivatedDueToAdmissionCheck");
  expect_condition("train", "QuotaReserved", "True QuotaReserved");
  EXPECT_TRUE(is_suspended("train"));
  say("train", "capacity", "Ready",
      {{"podSetUpdates",
        json::array(
            {{{"name", "main"},
              {"labels", {{"team", "a"}}},
              {"annotations", {{"example.com/consume", "request-1"}}},
              {"tolerations", json::array({{{"key", "example.com/new"}, {"operator", "Exists"}}})}}})}});
  expect_condition("train", "Admitted", "True Admitted");
  EXPECT_TRUE(wait_bound(2));
  const json pods = get("/api/v1/namespaces/default/pods");
  ASSERT_EQ(pods["items"].size(), 2U);
  for (const json& pod : pods["items"]) {
    EXPECT_EQ(pod["metadata"]["labels"]["team"], "a");
    EXPECT_EQ(pod["metadata"]["annotations"]["example.com/consume"], "request-1");
    EXPECT_NE(pod["spec"]["tolerations"].dump().find("example.com/new"), std::string::npos);
  }
  // Its quota can be taken back.
  say("train", "capacity", "Rejected");
  EXPECT_TRUE(eventually([&] { return is_suspended("train"); }));
  expect_clean();
}

TEST_F(BerthChecks, ANodeSelectorOfACheckDecidesThePlacesAndIsTakenAwayAgain) {
  start_with_queue(4, 600'000);
  ASSERT_OK(cluster_->create_nodes(1, {.name = "other"}));
  create_check("capacity");
  activate("capacity");
  require_checks({"capacity"});
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  create_job("train", 2);
  expect_condition("train", "QuotaReserved", "True QuotaReserved");
  EXPECT_TRUE(eventually([&] { return state_of("train", "capacity") == "Pending"; }));
  // Berth dies between the quota and the answer.
  kill(*berth);
  const std::string node = "other-0";
  patch("/api/v1/nodes/" + node, {{"metadata", {{"labels", {{"pool", "new"}}}}}});
  say("train", "capacity", "Ready",
      {{"podSetUpdates", json::array({{{"name", "main"}, {"nodeSelector", {{"pool", "new"}}}}})}});
  EXPECT_TRUE(is_suspended("train"));
  ASSERT_NE(start_berth({.name = "berth-2"}), nullptr);
  EXPECT_TRUE(wait_bound(2));
  const json pods = get("/api/v1/namespaces/default/pods");
  for (const json& pod : pods["items"]) EXPECT_EQ(pod["spec"]["nodeName"], node);
  EXPECT_EQ(get(std::string(kJobs) + "/train")["spec"]["template"]["spec"]["nodeSelector"].dump(),
            R"({"pool":"new"})");
  patch(path_of("train"), {{"spec", {{"active", false}}}});
  EXPECT_TRUE(eventually([&] { return is_suspended("train"); }));
  EXPECT_TRUE(wait_bound(0));
  require_checks(json::array());
  patch(path_of("train"), {{"spec", {{"active", true}}}});
  EXPECT_TRUE(wait_bound(2));
  const json again = get(std::string(kJobs) + "/train");
  EXPECT_EQ(again["spec"]["template"]["spec"].value("nodeSelector", json::object()), json::object())
      << again.dump();
  expect_clean();
}

TEST_F(BerthChecks, BlockAdmissionStartsOneAfterTheOther) {
  start_with_queue(4, std::nullopt, false);  // without kubelets no pod gets ready by itself
  const std::string config = (cluster_->folder() / "kueue.yaml").string();
  std::FILE* file = std::fopen(config.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs(
      "apiVersion: config.kueue.x-k8s.io/v1beta2\nkind: Configuration\nwaitForPodsReady: {timeout: 5m, "
      "blockAdmission: true}\n",
      file);
  std::fclose(file);
  ASSERT_NE(start_berth({.args = {"--kueue-config", config}}), nullptr);
  create_job("first", 2);
  expect_condition("first", "Admitted", "True Admitted");
  EXPECT_TRUE(wait_bound(2));
  create_job("second", 2);
  expect_condition("second", "Admitted", "False WaitingForPodsReady");
  EXPECT_EQ(condition("second", "QuotaReserved"), "True QuotaReserved");
  std::this_thread::sleep_for(seconds(1));
  EXPECT_TRUE(is_suspended("second"));
  const json pods = get("/api/v1/namespaces/default/pods");
  for (const json& pod : pods["items"]) {
    patch("/api/v1/namespaces/default/pods/" + pod["metadata"]["name"].get<std::string>() + "/status",
          {{"status",
            {{"phase", "Running"}, {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}});
  }
  expect_condition("second", "Admitted", "True Admitted");
  EXPECT_TRUE(wait_bound(4));
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

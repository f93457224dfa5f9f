// Changes of the API server to pods of Jobs count before there are pods: LimitRanges and RuntimeClasses on a real API server.
#include <nlohmann/json.hpp>

#include "e2e/workloads_fixture.h"

namespace berth::e2e {
namespace {

class BerthEffects : public WorkloadsTest {
 protected:
  static constexpr const char* kRanges = "/api/v1/namespaces/default/limitranges";
  static json range(const std::string& cpu) {
    json out = {{"apiVersion", "v1"}, {"kind", "LimitRange"}};
    out["metadata"]["name"] = "defaults";
    out["spec"]["limits"] =
        json::array({{{"type", "Container"}, {"default", {{"cpu", cpu}}}, {"max", {{"cpu", "4"}}}}});
    return out;
  }
  // A Job whose pods name this RuntimeClass and nothing of CPU but `limit`.
  void create_bare_job(const std::string& name, int pods, const std::string& limit = "") {
    json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}};
    job["metadata"] = {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
    job["spec"] = {{"parallelism", pods}, {"completions", pods}, {"suspend", true}};
    json spec = pod_spec();
    spec["runtimeClassName"] = "kata";
    spec["containers"][0]["resources"] = {{"limits", {{"nvidia.com/gpu", "1"}}}};
    if (!limit.empty()) spec["containers"][0]["resources"]["limits"]["cpu"] = limit;
    job["spec"]["template"]["spec"] = spec;
    create(kJobs, job);
  }
  std::string asked(const std::string& owner, const std::string& resource) const {
    const json object = workload_of(owner);
    if (!object.is_object()) return "";
    return object["spec"]["podSets"][0]["template"]["spec"]["containers"][0]["resources"]["requests"].value(
        resource, "");
  }
  std::string message(const std::string& owner) const {
    for (const json& c : workload_of(owner)["status"].value("conditions", json::array())) {
      if (c["type"] == "QuotaReserved") return c["message"];
    }
    return "";
  }
};

TEST_F(BerthEffects, TheDefaultsOfItsPodsCountBeforeThereArePods) {
  start_with_queue(8, 600'000);
  json queue = get(std::string(kGroup) + "/clusterqueues/cq");
  queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"] = "7";
  patch(std::string(kGroup) + "/clusterqueues/cq", {{"spec", queue["spec"]}});
  create("/apis/node.k8s.io/v1/runtimeclasses", json::parse(R"({
    "apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "kata"}, "handler": "kata",
    "overhead": {"podFixed": {"cpu": "500m"}}})"));
  create(kRanges, range("2"));
  ASSERT_NE(start_berth(), nullptr);
  create_bare_job("one", 2);
  expect_condition("one", "Admitted", "True Admitted");
  EXPECT_EQ(asked("one", "cpu"), "2500m");
  const json admission = workload_of("one")["status"]["admission"]["podSetAssignments"][0];
  EXPECT_EQ(admission["resourceUsage"]["cpu"], "5") << admission.dump();
  // And that is what they ask for.
  EXPECT_TRUE(eventually([&] {
    const json pods = get("/api/v1/namespaces/default/pods");
    int bound = 0;
    for (const json& pod : pods["items"]) {
      const json& spec = pod["spec"];
      EXPECT_EQ(spec["containers"][0]["resources"]["requests"]["cpu"], "2");
      EXPECT_EQ(spec["overhead"]["cpu"], "500m");
      bound += spec.contains("nodeName") ? 1 : 0;
    }
    return bound == 2;
  }));
  create_bare_job("two", 2);
  expect_condition("two", "QuotaReserved", "False WaitingForQuota");
  create_bare_job("refused", 1, "5");
  expect_condition("refused", "QuotaReserved", "False Misconfigured");
  EXPECT_NE(message("refused").find("LimitRange defaults allows 4 of cpu"), std::string::npos)
      << message("refused");
  // A change counts for what waits, and not for what runs.
  patch(std::string(kRanges) + "/defaults", {{"spec", range("500m")["spec"]}});
  expect_condition("two", "Admitted", "True Admitted");
  EXPECT_EQ(asked("two", "cpu"), "1");
  EXPECT_EQ(asked("one", "cpu"), "2500m");
  EXPECT_FALSE(is_suspended("one"));
  EXPECT_TRUE(is_suspended("refused"));
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

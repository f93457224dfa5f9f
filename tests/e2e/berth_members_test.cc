// Groups on a real API server that have their places from their first pod on: Kueue's pod-group-fast-admission, and YuniKorn's task groups.
#include <nlohmann/json.hpp>

#include "e2e/workloads_fixture.h"

namespace berth::e2e {
namespace {

constexpr const char* kPods = "/api/v1/namespaces/default/pods";

class BerthMembers : public WorkloadsTest {
 protected:
  void create_member(const std::string& name) {
    json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"spec", pod_spec()}};
    pod["metadata"] = {
        {"name", name},
        {"labels", {{"kueue.x-k8s.io/queue-name", "team"}, {"kueue.x-k8s.io/pod-group-name", "group"}}},
        {"annotations",
         {{"kueue.x-k8s.io/pod-group-total-count", "3"},
          {"kueue.x-k8s.io/pod-group-fast-admission", "true"}}}};
    create(kPods, pod);
  }
  // A pod of YuniKorn's application `spark`, of a driver and two executors.
  void create_task(const std::string& name, const std::string& group) {
    json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"spec", pod_spec()}};
    pod["metadata"] = {
        {"name", name},
        {"labels", {{"kueue.x-k8s.io/queue-name", "team"}, {"applicationId", "spark"}}},
        {"annotations",
         {{"yunikorn.apache.org/task-group-name", group},
          {"yunikorn.apache.org/task-groups",
           R"([{"name":"driver","minMember":1,"minResource":{"cpu":"1","nvidia.com/gpu":"1"}},)"
           R"({"name":"executor","minMember":2,"minResource":{"cpu":"2","nvidia.com/gpu":"1"}}])"}}}};
    create(kPods, pod);
  }
  bool is_bound(const std::string& name) const {
    const json pod = get(std::string(kPods) + "/" + name);
    return pod.is_object() && pod["spec"].contains("nodeName");
  }
  void expect_bound(const std::string& name) {
    EXPECT_TRUE(eventually([&] { return is_bound(name); }))
        << name << " is not bound" << reasons_of_waiting();
  }
};

TEST_F(BerthMembers, TheOthersOfAGroupHaveTheirPlacesBeforeTheyAreThere) {
  start_with_queue(3, 600'000);
  Berth* first = start_berth();
  ASSERT_NE(first, nullptr);
  create_member("a");
  expect_bound("a");
  expect_condition("a", "Admitted", "True Admitted");
  EXPECT_EQ(workload_of("a")["status"]["admission"]["podSetAssignments"][0]["count"], 3);
  create_job("other", 1);
  expect_condition("other", "QuotaReserved", "False WaitingForQuota");
  create_member("b");
  expect_bound("b");
  EXPECT_TRUE(eventually([&] {
    const json group = workload_of("b");
    return group.is_object() && group["metadata"]["ownerReferences"].size() == 2;
  }));
  // A Berth that starts after a crash keeps the last place again.
  first->process.kill_now();
  Berth* second = start_berth({.name = "second"});
  ASSERT_NE(second, nullptr);
  ASSERT_TRUE(eventually([&] { return log_has(*second, "recovered"); }, kLong));
  EXPECT_EQ(condition("other", "QuotaReserved"), "False WaitingForQuota");
  EXPECT_EQ(condition("a", "Admitted"), "True Admitted");
  create_member("c");
  expect_bound("c");
  EXPECT_TRUE(is_suspended("other"));
  // With the group its quota goes.
  for (const char* name : {"a", "b", "c"})
    ASSERT_OK(expect_ok(cluster_->client().del(std::string(kPods) + "/" + name), "deleting"));
  expect_condition("other", "Admitted", "True Admitted");
  expect_clean();
}

// The driver makes the executors, so it cannot wait for them: their places wait.
TEST_F(BerthMembers, TheExecutorsOfADriverHaveTheirPlacesBeforeTheyAreThere) {
  start_with_queue(2, 600'000);
  Berth* first = start_berth();
  ASSERT_NE(first, nullptr);
  create_task("driver", "driver");
  create_job("other", 2);
  expect_condition("other", "Admitted", "True Admitted");
  EXPECT_FALSE(is_bound("driver")) << "the queue has two of three GPUs";
  ASSERT_OK(expect_ok(cluster_->client().del(std::string(kJobs) + "/other?propagationPolicy=Background"),
                      "deleting"));
  patch(std::string(kGroup) + "/clusterqueues/cq",
        json::parse(R"({"spec": {"resourceGroups": [{"coveredResources": ["cpu", "nvidia.com/gpu"],
          "flavors": [{"name": "any", "resources": [{"name": "cpu", "nominalQuota": "1000"},
                                                    {"name": "nvidia.com/gpu", "nominalQuota": "3"}]}]}]}})"));
  expect_bound("driver");
  create_job("next", 1);
  expect_condition("next", "QuotaReserved", "False WaitingForQuota");
  create_task("e-1", "executor");
  expect_bound("e-1");
  // A Berth that starts after a crash keeps the last place again.
  first->process.kill_now();
  Berth* second = start_berth({.name = "second"});
  ASSERT_NE(second, nullptr);
  ASSERT_TRUE(eventually([&] { return log_has(*second, "recovered"); }, kLong));
  EXPECT_EQ(condition("next", "QuotaReserved"), "False WaitingForQuota");
  create_task("e-2", "executor");
  expect_bound("e-2");
  EXPECT_TRUE(is_suspended("next"));
  for (const char* name : {"driver", "e-1", "e-2"})
    ASSERT_OK(expect_ok(cluster_->client().del(std::string(kPods) + "/" + name), "deleting"));
  expect_condition("next", "Admitted", "True Admitted");
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

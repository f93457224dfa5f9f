// Kueue's pod-group-fast-admission on a real API server: a group has its places from its first pod on.
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
  void expect_bound(const std::string& name) {
    EXPECT_TRUE(eventually([&] {
      const json pod = get(std::string(kPods) + "/" + name);
      return pod.is_object() && pod["spec"].contains("nodeName");
    })) << name
        << " is not bound" << reasons_of_waiting();
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

}  // namespace
}  // namespace berth::e2e

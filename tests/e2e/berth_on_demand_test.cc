// Nodes that come on demand. In the first tests the autoscaler is the test: it sees pods that say Unschedulable, and makes nodes. In the
// last ones it is Karpenter with its KWOK provider, where that is built (else they skip; with BERTH_E2E_KINDS=required they fail).
//   scripts/controllers build karpenter && build/release/tests/e2e/test_e2e --gtest_filter='BerthOnDemand.*'
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "e2e/on_demand_fixture.h"

namespace berth::e2e {
namespace {

TEST_F(BerthOnDemand, SuspendedJobsAskForNodesAndStartWhole) {
  start_without_nodes(12);
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  create_job("train", 12);
  create_job("second", 12, {{"kueue.x-k8s.io/queue-name", "other"}});
  ASSERT_TRUE(eventually([&] { return all_ask("train", 12) && all_ask("second", 12); }))
      << reasons_of_waiting();
  create_job("third", 12);  // its queue has no quota left
  expect_condition("third", "QuotaReserved", "False WaitingForQuota");
  EXPECT_TRUE(is_suspended("third"));
  EXPECT_EQ(count("third", false), 0U);
  expect_condition("train", "QuotaReserved", "True QuotaReserved");
  ASSERT_OK(cluster_->create_nodes(1, {.name = "first"}));
  // Berth dies meanwhile: the next leader goes on.
  kill(*berth);
  ASSERT_NE(start_berth({.name = "berth-2"}), nullptr);
  ASSERT_TRUE(eventually([&] { return all_ask("train", 12) && all_ask("second", 12); }))
      << reasons_of_waiting();
  EXPECT_TRUE(wait_bound(0)) << "eight of twelve are no gang";
  ASSERT_OK(cluster_->create_nodes(1, {.name = "next"}));
  EXPECT_TRUE(wait_bound(12)) << reasons_of_waiting();
  EXPECT_TRUE(count("train", true) == 12 || count("second", true) == 12);
  ASSERT_OK(cluster_->create_nodes(1, {.name = "last"}));
  EXPECT_TRUE(wait_bound(24)) << reasons_of_waiting();
  expect_condition("train", "Admitted", "True Admitted");
  expect_condition("second", "Admitted", "True Admitted");
  expect_clean();
}

TEST_F(BerthOnDemand, AJobIsTakenBackWhenItsNodesDoNotCome) {
  start_without_nodes(12);
  ASSERT_NE(start_berth({.args = {"--nodes-within=5"}}), nullptr);
  create_job("train", 12);
  ASSERT_TRUE(eventually([&] { return count("train", false) == 12; }));
  EXPECT_TRUE(eventually([&] { return is_suspended("train") && count("train", false) == 0; }));
  EXPECT_TRUE(eventually([&] { return count("train", false) == 12; })) << "it asks again";
  ASSERT_OK(cluster_->create_nodes(2, {.name = "late"}));
  EXPECT_TRUE(wait_bound(12)) << reasons_of_waiting();
  const json job = get(std::string(kJobs) + "/train");
  EXPECT_EQ(job["status"].value("failed", 0), 0) << "no try is lost";
  expect_clean();
}

TEST_F(BerthOnDemand, KarpenterMakesTheNodesOfWholeJobs) {
  start_karpenter({.gpus = "64"});
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_NE(start_berth(), nullptr);
  create_job("train", 24);
  create_job("second", 16, {{"kueue.x-k8s.io/queue-name", "other"}});
  EXPECT_TRUE(wait_bound(40)) << reasons_of_waiting() << tail(cluster_->log("karpenter"), 5);
  EXPECT_EQ(items(kNodeClaims), 5U);
  create_job("small", 8);
  EXPECT_TRUE(wait_bound(48)) << reasons_of_waiting();
  EXPECT_EQ(items(kNodeClaims), 6U);
  expect_clean();
}

TEST_F(BerthOnDemand, NothingIsBoughtForAGangThatANodePoolAllowsInPart) {
  start_karpenter({.gpus = "40"});
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_NE(start_berth(), nullptr);
  create_job("train", 24);
  ASSERT_TRUE(wait_bound(24)) << reasons_of_waiting() << tail(cluster_->log("karpenter"), 5);
  ASSERT_TRUE(eventually([&] {
    return get(std::string(kNodePools) + "/gpu")["status"]["resources"].value("nvidia.com/gpu", "") == "24";
  }));
  create_job("second", 24, {{"kueue.x-k8s.io/queue-name", "other"}});
  // Long enough for Karpenter, which acts within seconds.
  std::this_thread::sleep_for(seconds(15));
  EXPECT_TRUE(is_suspended("second"));
  EXPECT_EQ(count("second", false), 0U);
  EXPECT_EQ(items(kNodeClaims), 3U) << "two nodes of three would be of no use";
  EXPECT_TRUE(eventually([&] {
    const json events = get("/apis/events.k8s.io/v1/namespaces/default/events");
    for (const json& event : events["items"]) {
      if (event.value("note", "").find("NodePool gpu allows 16 more nvidia.com/gpu") != std::string::npos)
        return true;
    }
    return false;
  })) << "its Job says why";
  patch(std::string(kNodePools) + "/gpu", {{"spec", {{"limits", {{"nvidia.com/gpu", "48"}}}}}});
  EXPECT_TRUE(wait_bound(48)) << reasons_of_waiting();
  EXPECT_EQ(items(kNodeClaims), 6U);
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

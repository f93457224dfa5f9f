// Workloads of other clients, on a real API server: actions of Kueue's MultiKueue manager on a worker, and attempts of a tenant.
#include <nlohmann/json.hpp>

#include "e2e/workloads_fixture.h"

namespace berth::e2e {
namespace {

class BerthPrebuilt : public WorkloadsTest {
 protected:
  void create_workload(const std::string& name, int pods, int least = 0) {
    json object = {{"apiVersion", "kueue.x-k8s.io/v1beta2"}, {"kind", "Workload"}};
    object["metadata"] = {{"name", name}, {"labels", {{"kueue.x-k8s.io/multikueue-origin", "manager"}}}};
    object["spec"] = {{"active", true}, {"queueName", "team"}, {"priority", 0}};
    json set = {{"name", "main"}, {"count", pods}};
    set["template"] = {{"metadata", json::object()}, {"spec", pod_spec()}};
    if (least > 0) set["minCount"] = least;
    object["spec"]["podSets"] = json::array({set});
    create(kWorkloads, object);
  }
  void create_named_job(const std::string& name, const std::string& workload, int pods) {
    create_job(name, pods,
               {{"kueue.x-k8s.io/multikueue-origin", "manager"},
                {"kueue.x-k8s.io/prebuilt-workload-name", workload}});
  }
  json workload(const std::string& name) const { return get(std::string(kWorkloads) + "/" + name); }
  void expect_of(const std::string& name, const std::string& type, const std::string& wanted) {
    expect_condition_of(
        name, [&] { return workload(name); }, type, wanted);
  }
};

TEST_F(BerthPrebuilt, AManagerMakesTheWorkloadFirstAndTheJobWhenItIsAdmitted) {
  start_with_queue(4, 3000);
  ASSERT_NE(start_berth(), nullptr);
  create_workload("remote", 4);
  expect_of("remote", "Admitted", "True Admitted");
  create_job("other", 4);
  expect_condition("other", "QuotaReserved", "False WaitingForQuota");
  const json spec = workload("remote")["spec"];
  create_named_job("train", "remote", 4);
  EXPECT_TRUE(eventually([&] {
    const json object = workload("remote");
    return object["metadata"].contains("ownerReferences") &&
           object["metadata"]["ownerReferences"][0]["name"] == "train";
  }));
  expect_of("remote", "Finished", "True Succeeded");
  EXPECT_EQ(workload("remote")["spec"], spec);
  EXPECT_EQ(workload("remote")["metadata"]["labels"]["kueue.x-k8s.io/multikueue-origin"], "manager");
  EXPECT_EQ(get(kWorkloads)["items"].size(), 2u) << "the Job has no other";
  expect_condition("other", "Finished", "True Succeeded");
  expect_clean();
}

TEST_F(BerthPrebuilt, WhereThereIsNoRoomForAllItAndItsJobStartWithFewer) {
  start_with_queue(4, 3000);
  ASSERT_NE(start_berth(), nullptr);
  create_workload("remote", 6, 2);
  expect_of("remote", "Admitted", "True Admitted");
  const auto places = [&] {
    return workload("remote")["status"]["admission"]["podSetAssignments"][0]["count"];
  };
  EXPECT_EQ(places(), 4);
  create_job("train", 6, {{"kueue.x-k8s.io/prebuilt-workload-name", "remote"}},
             {{"kueue.x-k8s.io/job-min-parallelism", "2"}});
  EXPECT_TRUE(eventually([&] { return !is_suspended("train"); }));
  EXPECT_EQ(get(std::string(kJobs) + "/train")["spec"]["parallelism"], 4);
  EXPECT_EQ(places(), 4);
  expect_of("remote", "Finished", "True Succeeded");
  EXPECT_EQ(get(kWorkloads)["items"].size(), 1u);
  expect_clean();
}

TEST_F(BerthPrebuilt, AForgedStatusOrAnotherSizeGetsNoJobPastItsQueue) {
  start_with_queue(4, 600'000);
  ASSERT_NE(start_berth(), nullptr);
  create_job("runs", 4);
  expect_condition("runs", "Admitted", "True Admitted");
  create_workload("forged", 2);
  expect_of("forged", "QuotaReserved", "False WaitingForQuota");
  const json status = workload_of("runs")["status"];
  patch(std::string(kWorkloads) + "/forged/status", {{"status", status}});
  create_named_job("thief", "forged", 2);
  expect_of("forged", "QuotaReserved", "False WaitingForQuota");
  EXPECT_TRUE(is_suspended("thief"));
  // A small one that has its quota is no way in for a large Job.
  ASSERT_OK(expect_ok(cluster_->client().del(std::string(kJobs) + "/runs?propagationPolicy=Background"),
                      "deleting"));
  expect_condition("thief", "Admitted", "True Admitted");
  create_workload("small", 1);
  expect_of("small", "Admitted", "True Admitted");
  create_named_job("large", "small", 8);
  expect_of("small", "Finished", "True OutOfSync");
  EXPECT_TRUE(is_suspended("large"));
  create_named_job("missing", "nowhere", 1);
  create_job("honest", 2);
  expect_condition("honest", "Admitted", "True Admitted");
  EXPECT_TRUE(is_suspended("missing"));
  EXPECT_TRUE(is_suspended("large"));
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

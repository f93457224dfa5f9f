// Jobs that start with fewer pods, on a real API server with its Job controller.
#include <nlohmann/json.hpp>

#include "e2e/workloads_fixture.h"

namespace berth::e2e {
namespace {

class BerthPartial : public WorkloadsTest {
 protected:
  void create_partial_job(const std::string& name, int pods, int least, bool completions_follow) {
    json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}};
    job["metadata"] = {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
    job["metadata"]["annotations"]["kueue.x-k8s.io/job-min-parallelism"] = std::to_string(least);
    if (completions_follow)
      job["metadata"]["annotations"]["kueue.x-k8s.io/job-completions-equal-parallelism"] = "true";
    job["spec"] = {
        {"parallelism", pods}, {"completions", pods}, {"suspend", true}, {"completionMode", "Indexed"}};
    job["spec"]["template"]["spec"] = pod_spec();
    create(kJobs, job);
  }
  json job(const std::string& name) const { return get(std::string(kJobs) + "/" + name); }
  // Pods of the Job that have a node and do not end.
  int bound(const std::string& name) const {
    int out = 0;
    const json pods =
        get("/api/v1/namespaces/default/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D" + name);
    if (!pods.is_object()) return -1;
    for (const json& pod : pods["items"]) {
      out += pod["spec"].contains("nodeName") && !pod["metadata"].contains("deletionTimestamp") ? 1 : 0;
    }
    return out;
  }
  int running(const std::string& name) const {
    int out = 0;
    const json pods =
        get("/api/v1/namespaces/default/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D" + name);
    if (!pods.is_object()) return -1;
    for (const json& pod : pods["items"])
      out += pod["status"].value("phase", "") == "Running" && !pod["metadata"].contains("deletionTimestamp")
                 ? 1
                 : 0;
    return out;
  }
};

TEST_F(BerthPartial, AJobStartsWithTheMostThatFitAndGetsItsSizeBackWhenItEnds) {
  start_with_queue(4, 600'000);
  ASSERT_NE(start_berth(), nullptr);
  create_partial_job("train", 6, 2, true);
  expect_condition("train", "Admitted", "True Admitted");
  EXPECT_TRUE(eventually([&] { return running("train") == 4; })) << running("train");
  EXPECT_EQ(job("train")["spec"]["parallelism"], 4);
  EXPECT_EQ(job("train")["spec"]["completions"], 4);
  json workload = workload_of("train");
  EXPECT_EQ(workload["spec"]["podSets"][0]["count"], 6);
  EXPECT_EQ(workload["spec"]["podSets"][0]["minCount"], 2);
  EXPECT_EQ(workload["status"]["admission"]["podSetAssignments"][0]["count"], 4) << workload.dump();
  // The end of its run gives it its size back.
  patch(path_of("train"), {{"spec", {{"active", false}}}});
  EXPECT_TRUE(eventually([&] { return is_suspended("train") && bound("train") == 0; }));
  EXPECT_EQ(job("train")["spec"]["parallelism"], 6);
  EXPECT_EQ(job("train")["spec"]["completions"], 6);
  EXPECT_FALSE(job("train")["metadata"]["annotations"].contains("berth.dev/partial-admission"));
  expect_condition("train", "QuotaReserved", "False Deactivated");
  // With half of the quota taken it starts with the other half.
  create_job("other", 2);
  expect_condition("other", "Admitted", "True Admitted");
  patch(path_of("train"), {{"spec", {{"active", true}}}});
  expect_condition("train", "Admitted", "True Admitted");
  EXPECT_TRUE(eventually([&] { return running("train") == 2; })) << running("train");
  EXPECT_EQ(job("train")["spec"]["parallelism"], 2);
  EXPECT_EQ(workload_of("train")["status"]["admission"]["podSetAssignments"][0]["count"], 2);
  // Below its least it waits.
  create_partial_job("late", 4, 3, false);
  expect_condition("late", "QuotaReserved", "False WaitingForQuota");
  EXPECT_TRUE(is_suspended("late"));
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

// Elastic Jobs on a real API server with its Job controller: what runs grows and shrinks, and has a Workload per size.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "e2e/workloads_fixture.h"

namespace berth::e2e {
namespace {

class BerthSlices : public WorkloadsTest {
 protected:
  void create_elastic_job(const std::string& name, int pods) {
    json job = {{"apiVersion", "batch/v1"}, {"kind", "Job"}};
    job["metadata"] = {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
    job["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"] = "true";
    job["spec"] = {{"parallelism", pods}, {"completions", 100}, {"suspend", true}};
    job["spec"]["template"]["spec"] = pod_spec();
    // As Kueue's webhook writes it.
    job["spec"]["template"]["spec"]["schedulingGates"] =
        json::array({{{"name", "kueue.x-k8s.io/elastic-job"}}});
    create(kJobs, job);
  }
  void resize(const std::string& name, int pods) {
    patch(std::string(kJobs) + "/" + name, {{"spec", {{"parallelism", pods}}}});
  }
  void set_quota(int gpus) {
    const std::string path = std::string(kGroup) + "/clusterqueues/cq";
    json groups = get(path)["spec"]["resourceGroups"];
    groups[0]["flavors"][0]["resources"][1]["nominalQuota"] = std::to_string(gpus);
    patch(path, {{"spec", {{"resourceGroups", groups}}}});
  }
  // Uids of its pods that have a node and do not end.
  std::set<std::string> bound(const std::string& name) const {
    std::set<std::string> out;
    const json pods =
        get("/api/v1/namespaces/default/pods?labelSelector=batch.kubernetes.io%2Fjob-name%3D" + name);
    if (!pods.is_object()) return out;
    for (const json& pod : pods["items"]) {
      if (pod["spec"].contains("nodeName") && !pod["metadata"].contains("deletionTimestamp"))
        out.insert(pod["metadata"]["uid"].get<std::string>());
    }
    return out;
  }
  // Its Workloads, the first slice first.
  std::vector<json> slices(const std::string& name) const {
    std::vector<std::pair<int, json>> all;
    const json list = get(kWorkloads);
    if (!list.is_object()) return {};
    for (const json& item : list["items"]) {
      if (item["metadata"]["ownerReferences"][0]["name"] != name) continue;
      const std::string slice = item["metadata"]["annotations"].value("berth.dev/workload-slice", "0");
      all.emplace_back(std::stoi(slice), item);
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<json> out;
    for (auto& [generation, item] : all) out.push_back(std::move(item));
    return out;
  }
  // "count, Admitted, QuotaReserved, Finished" of each.
  std::string said(const std::string& name) const {
    std::string out;
    for (const json& slice : slices(name)) {
      out += fmt::format("[{}, {}, {}, {}]", slice["spec"]["podSets"][0]["count"].get<int>(),
                         condition_in(slice, "Admitted"), condition_in(slice, "QuotaReserved"),
                         condition_in(slice, "Finished"));
    }
    return out;
  }
  void expect_said(const std::string& name, const std::string& wanted) {
    EXPECT_TRUE(eventually([&] { return said(name) == wanted; })) << said(name) << " is not " << wanted;
  }
  std::string used() const {
    const json queue = get(std::string(kGroup) + "/clusterqueues/cq");
    for (const json& flavor : queue["status"].value("flavorsUsage", json::array())) {
      for (const json& resource : flavor["resources"]) {
        if (resource["name"] == "nvidia.com/gpu") return resource["total"];
      }
    }
    return "";
  }
};

constexpr const char* kReplaced = "True Admitted, True QuotaReserved, True WorkloadSliceReplaced]";
constexpr const char* kRuns = "True Admitted, True QuotaReserved, ]";
constexpr const char* kWaits = "False NoReservation, False WaitingForQuota, ]";

TEST_F(BerthSlices, AJobGrowsAndShrinksWhileItRuns) {
  start_with_queue(6, 600'000);
  ASSERT_NE(start_berth(), nullptr);
  create_elastic_job("train", 3);
  EXPECT_TRUE(eventually([&] { return bound("train").size() == 3; }));
  expect_said("train", fmt::format("[3, {}", kRuns));
  const auto first = bound("train");
  resize("train", 5);
  EXPECT_TRUE(eventually([&] { return bound("train").size() == 5; }));
  expect_said("train", fmt::format("[3, {}[5, {}", kReplaced, kRuns));
  const auto grown = bound("train");
  EXPECT_TRUE(std::includes(grown.begin(), grown.end(), first.begin(), first.end())) << "none of them ended";
  const auto all = slices("train");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1]["metadata"]["annotations"]["kueue.x-k8s.io/workload-slice-replacement-for"],
            "default/" + all[0]["metadata"]["name"].get<std::string>());
  EXPECT_EQ(all[1]["status"]["admission"]["podSetAssignments"][0]["count"], 5);
  EXPECT_TRUE(eventually([&] { return used() == "5"; })) << used();
  create_job("other", 3);
  expect_condition("other", "QuotaReserved", "False WaitingForQuota");
  resize("train", 2);
  expect_condition("other", "Admitted", "True Admitted");
  EXPECT_TRUE(eventually([&] { return bound("train").size() == 2 && bound("other").size() == 3; }));
  expect_said("train", fmt::format("[3, {}[2, {}", kReplaced, kRuns));
  EXPECT_TRUE(eventually([&] { return used() == "5"; })) << used();
  EXPECT_FALSE(is_suspended("train"));
  expect_clean();
}

TEST_F(BerthSlices, WithoutRoomItRunsOnUnderAnyLeader) {
  start_with_queue(5, 600'000);
  auto* berth = start_berth({.name = "berth-0"});
  ASSERT_NE(berth, nullptr);
  create_elastic_job("train", 4);
  EXPECT_TRUE(eventually([&] { return bound("train").size() == 4; }));
  expect_said("train", fmt::format("[4, {}", kRuns));
  const auto first = bound("train");
  resize("train", 6);
  expect_said("train", fmt::format("[4, {}[6, {}", kRuns, kWaits));
  EXPECT_EQ(bound("train"), first) << "one more would fit: both or none";
  kill(*berth);
  berth = start_berth({.name = "berth-1"});
  ASSERT_NE(berth, nullptr);
  EXPECT_TRUE(eventually([&] { return log_has(*berth, "recovered:"); }));
  resize("train", 7);
  expect_said("train", fmt::format("[4, {}[7, {}", kRuns, kWaits));
  EXPECT_EQ(bound("train"), first);
  EXPECT_FALSE(is_suspended("train"));
  // Room comes while no replica decides.
  kill(*berth);
  set_quota(7);
  ASSERT_NE(start_berth({.name = "berth-2"}), nullptr);
  EXPECT_TRUE(eventually([&] { return bound("train").size() == 7; }));
  expect_said("train", fmt::format("[4, {}[7, {}", kReplaced, kRuns));
  const auto grown = bound("train");
  EXPECT_TRUE(std::includes(grown.begin(), grown.end(), first.begin(), first.end()));
  EXPECT_EQ(get(std::string(kJobs) + "/train")["status"].value("failed", 0), 0);
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

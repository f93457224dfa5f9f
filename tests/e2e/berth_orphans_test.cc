// Workloads of Berth's own that lost what they stood for (kubectl delete --cascade=orphan): they hold nothing, also after a restart,
// and the self-audit deletes them. In CI the test does what the garbage collector does, which knows new kinds half a minute later;
// BERTH_E2E_LONG=1 leaves it to the garbage collector.
#include "e2e/teams.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

class BerthOrphans : public TeamsTest {
 protected:
  static std::string workloads() { return std::string(kKueue) + "/namespaces/default/workloads"; }

  // kubectl delete --cascade=orphan.
  void orphan(const std::string& path, bool collected) {
    const json object = get(path);
    ASSERT_TRUE(object.is_object()) << path;
    const std::string uid = object["metadata"]["uid"];
    ASSERT_OK(expect_ok(cluster_->client().del(path + "?propagationPolicy=Orphan"), path));
    if (collected) return;
    for (const std::string& collection : {workloads(), pods_in("default")}) {
      const json list = get(collection);
      for (const json& item : list["items"]) {
        const json owners = item["metadata"].value("ownerReferences", json::array());
        if (owners.empty() || owners[0]["uid"] != uid) continue;
        const std::string of = collection + "/" + item["metadata"]["name"].get<std::string>();
        ASSERT_OK(expect_ok(cluster_->client().patch(of, R"({"metadata":{"ownerReferences":null}})"), of));
      }
    }
    const Reply freed = cluster_->client().patch(path, R"({"metadata":{"finalizers":null}})");
    EXPECT_TRUE(freed.ok() || freed.status == 404) << freed.describe();  // KWOK may have been first
  }

  Berth* start_auditing(const std::string& name) {
    return start_berth({.name = name, .args = {"--audit-seconds=4"}});
  }
  // By the name of the pod or Job that they were made for: whether they have an owner.
  std::map<std::string, bool> owned() const {
    std::map<std::string, bool> out;
    const json list = get(workloads());
    if (!list.is_object()) return out;
    for (const json& item : list["items"]) {
      out[item["metadata"]["name"].get<std::string>()] =
          item["metadata"].contains("ownerReferences") && !item["metadata"]["ownerReferences"].empty();
    }
    return out;
  }
  std::size_t count_of(bool with_owner) const {
    const auto all = owned();
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [&](const auto& entry) { return entry.second == with_owner; }));
  }
  std::int64_t in_use() const {
    const json queue = get(std::string(kKueue) + "/clusterqueues/team");
    if (!queue.is_object() || !queue.contains("status")) return -1;
    for (const json& flavor : queue["status"].value("flavorsReservation", json::array())) {
      for (const json& resource : flavor["resources"]) {
        if (resource["name"] == "nvidia.com/gpu")
          return amount_in_milli(resource["total"].get<std::string>()).value_or(-1) / 1000;
      }
    }
    return -1;
  }
};

TEST_F(BerthOrphans, HoldNothingAndAreDeleted) {
  const bool real = number_from_env("BERTH_E2E_LONG", 0) != 0;
  start({.controller_manager = true,
         .kwok = true,
         .service_accounts = true,
         .job_pod_runs_ms = 600'000,
         .controller_manager_args = {
             "--kube-api-qps=500", "--kube-api-burst=1000",
             real ? "--controllers=*" : "--controllers=*,-garbage-collector-controller"}});
  ASSERT_OK(cluster_->create_nodes(2));
  create_kinds();
  create_queue({.name = "team", .gpus = 8});
  create_local_queue("default", "team", "team");
  if (real) std::this_thread::sleep_for(seconds(40));  // until the garbage collector knows the kind
  auto* berth = start_auditing("berth-a");
  ASSERT_NE(berth, nullptr);
  const PodShape shape = {.requests = {{"cpu", "1"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "2"}},
                          .labels = {{"kueue.x-k8s.io/queue-name", "team"}}};
  const auto pods = [&](const std::string& name, std::size_t count) {
    PodShape of = shape;
    of.name = name;
    return cluster_->create_pods(count, of);
  };
  ASSERT_OK(pods("old", 2));
  create(jobs_in("default"), job_json({.name = "work", .queue = "team", .pods = 2, .gpus = 2}));
  ASSERT_TRUE(eventually([&] { return occupying("default/old") == 2 && occupying("default/work") == 2; }))
      << reasons_of_waiting();
  ASSERT_OK(pods("new", 2));
  ASSERT_TRUE(eventually([&] { return count_of(true) == 5; })) << owned().size();

  // A pod and a Job go; what stood for them has no owner any more. The Job's pods stay, and stay charged.
  ASSERT_NO_FATAL_FAILURE(orphan(pods_in("default") + "/old-0", real));
  ASSERT_NO_FATAL_FAILURE(orphan(jobs_in("default") + "/work", real));
  EXPECT_TRUE(eventually([&] { return occupying("default/new") == 1; })) << reasons_of_waiting();
  // The scheduler is killed before it has looked.
  EXPECT_TRUE(eventually([&] { return count_of(false) >= 1; }, seconds(40))) << "no orphan was ever seen";
  kill(*berth);
  berth = start_auditing("berth-b");
  ASSERT_NE(berth, nullptr);
  EXPECT_TRUE(eventually([&] { return in_use() == 8; }, seconds(20))) << in_use();
  EXPECT_EQ(occupying("default/new"), 1U) << "two of two, the Job's two of two, one new one";

  EXPECT_TRUE(eventually([&] { return count_of(false) == 0; }, seconds(40))) << "the audit deletes them";
  EXPECT_TRUE(eventually([&] { return log_has(*berth, "its owner is gone; it is deleted"); }));
  const auto told = [&] {
    const auto events = cluster_->client().get("/apis/events.k8s.io/v1/namespaces/default/events").body;
    return events.find("AuditDifference") != std::string::npos;
  };
  EXPECT_TRUE(eventually(told, seconds(20)));
  // Everything else ends: nothing is in use, and no Workload is left. A restart changes nothing about it.
  const json left = get(pods_in("default"));
  for (const json& pod : left["items"])
    ASSERT_OK(expect_ok(
        cluster_->client().del(pods_in("default") + "/" + pod["metadata"]["name"].get<std::string>()),
        "a pod"));
  EXPECT_TRUE(eventually([&] { return (!real || owned().empty()) && in_use() == 0; }, seconds(60)))
      << owned().size() << " Workloads, " << in_use() << " GPUs in use";
  kill(*berth);
  berth = start_auditing("berth-c");
  ASSERT_NE(berth, nullptr);
  ASSERT_OK(pods("last", 4));
  EXPECT_TRUE(eventually([&] { return occupying("default/last") == 4; })) << reasons_of_waiting();
  EXPECT_TRUE(eventually([&] { return in_use() == 8; }, seconds(20))) << in_use();
  const auto says = [&](const std::string& line) {
    return ask(*berth, "/metrics").body.find(line) != std::string::npos;
  };
  EXPECT_TRUE(eventually(
      [&] {
        return says("berth_audit_differences{kind=\"usage\"} 0") &&
               says("berth_audit_differences{kind=\"places\"} 0") &&
               says("berth_audit_differences{kind=\"accounts\"} 0") &&
               says("berth_audit_differences{kind=\"workloads\"} 0");
      },
      seconds(20)));
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

// Each right of deploy/berth.yaml is taken away from a Berth that has work for it: what is said, as a table. For minutes, so only
// with BERTH_E2E_RIGHTS=1 (all of them), or =N (every Nth).
#include <algorithm>

#include "e2e/teams.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

struct LostRight {
  std::string group, resource, verb;
  std::string full() const { return group.empty() ? resource : resource + "." + group; }
};

// Rights that nothing in this test asks for, with the reason.
const std::map<std::string, std::string> kNotAskedFor = {
    {"patch podgroups.scheduling.volcano.sh", "only where there is a PodGroup of Volcano"},
    {"get pods", "only where the answer to a bind is lost, or the pods of a Workload are gone"},
    {"get workloads.kueue.x-k8s.io", "only of a prebuilt Workload"},
    {"get jobs.batch", "only where the answer to a release is lost"},
    {"patch persistentvolumeclaims", "only with a claim that waits for a pod"},
    {"patch persistentvolumes", "only with a claim that waits for a pod"},
    {"patch jobs.batch/status", "only before Kubernetes 1.35"},
    {"create podtemplates", "only with a provisioning check"},
    {"delete workloads.kueue.x-k8s.io", "only where a Workload lost its owner"},
};

// Why nothing here asks for it; "": something does.
std::string not_asked_for(const LostRight& right, const std::string& name) {
  if (const auto known = kNotAskedFor.find(name); known != kNotAskedFor.end()) return known->second;
  for (const std::string group : {"autoscaling.x-k8s.io", "jobset.x-k8s.io", "ray.io", "kubeflow.org",
                                  "trainer.kubeflow.org", "leaderworkerset.x-k8s.io", "karpenter.sh"}) {
    if (right.group == group) return "the kind is not served here";
  }
  if (right.resource == "leases") return right.verb == "list" ? "" : "another rule grants it, too";
  if (right.verb == "list") return "lists come with the watch (sendInitialEvents); older API servers need it";
  if (right.verb == "get") return "only where the answer to a write is lost, or an owner is not seen";
  if (right.resource == "admissionchecks/status") return "only where Berth answers a check";
  if (right.group == "berth.dev" && right.resource == "queues/status") return "only where there is a Queue";
  return {};
}

class BerthRights : public TeamsTest {
 protected:
  static constexpr const char* kRole = "/apis/rbac.authorization.k8s.io/v1/clusterroles/berth";

  static std::vector<LostRight> rights_of(const json& role) {
    std::vector<LostRight> out;
    for (const json& rule : role["rules"]) {
      for (const json& group : rule["apiGroups"]) {
        for (const json& resource : rule["resources"]) {
          for (const json& verb : rule["verbs"]) out.push_back({group, resource, verb});
        }
      }
    }
    return out;
  }
  static json without(const json& role, const LostRight& lost) {
    json out = role;
    out["rules"] = json::array();
    for (const LostRight& right : rights_of(role)) {
      if (right.group == lost.group && right.resource == lost.resource && right.verb == lost.verb) continue;
      out["rules"].push_back(
          {{"apiGroups", {right.group}}, {"resources", {right.resource}}, {"verbs", {right.verb}}});
    }
    out["metadata"].erase("managedFields");
    out["metadata"].erase("resourceVersion");
    return out;
  }
  void write_role(const json& role) {
    ASSERT_OK(expect_ok(cluster_->client().put(kRole, role.dump()), "writing the ClusterRole"));
    std::this_thread::sleep_for(milliseconds(500));  // the authorizer sees it a moment later
  }

  // Something of each kind to do: binds, reasons, an eviction, Jobs, Workloads, statuses, events.
  // The number of waiting pods differs from the time before: the status of a queue has to change.
  void make_work(std::size_t round) {
    const Labels queued = {{"kueue.x-k8s.io/queue-name", "team"}};
    ASSERT_OK(cluster_->create_pods(8, {.name = "low", .labels = queued, .priority_class = "low"}));
    create(jobs_in("default"),
           job_json({.name = "job", .queue = "team", .pods = 1, .priority_class = "high"}));
    create(jobs_in("default"),
           job_json({.name = "grows", .queue = "team", .pods = 20, .priority_class = "low"}));
    ASSERT_OK(cluster_->create_pods(18 + round % 3, {.name = "waits", .labels = queued}));
  }
  // The Workload of the waiting Job has to follow its parallelism.
  void change_job(std::size_t time) {
    const json change = {{"spec", {{"parallelism", 18 + time % 2}}}};
    (void)cluster_->client().patch(jobs_in("default") + "/grows", change.dump());
  }
  void make_urgent_work() {
    ASSERT_OK(cluster_->create_pods(
        1, {.name = "high", .labels = {{"kueue.x-k8s.io/queue-name", "team"}}, .priority_class = "high"}));
  }
  void clear() {
    EXPECT_TRUE(eventually([&] {
      (void)cluster_->client().del(jobs_in("default") + "?propagationPolicy=Background");
      (void)cluster_->client().del(pods_in("default") + "?gracePeriodSeconds=0");
      return get(pods_in("default"))["items"].empty();
    }));
  }
};

TEST_F(BerthRights, EachThatIsTakenAwayIsSaid) {
  const std::size_t step = number_from_env("BERTH_E2E_RIGHTS", 0);
  if (step == 0) GTEST_SKIP() << "BERTH_E2E_RIGHTS=1 takes each right away, for minutes";
  start(
      {.controller_manager = true,
       .controller_manager_args = {"--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"}});
  ASSERT_OK(cluster_->create_nodes(1));
  ASSERT_OK(cluster_->create_priority_class("low", 10));
  ASSERT_OK(cluster_->create_priority_class("high", 100));
  create_kinds();
  create_queue({.name = "team", .gpus = 8});
  create_local_queue("default", "team", "team");
  ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/berth.yaml"));
  const auto kubeconfig =
      cluster_->kubeconfig_for("system:serviceaccount:berth-system:berth",
                               {"system:serviceaccounts", "system:serviceaccounts:berth-system"});
  ASSERT_OK(kubeconfig);
  const json role = get(kRole);
  const auto rights = rights_of(role);
  std::string table = "| right taken away | after | said by /readyz |\n|---|---|---|\n";
  std::size_t said = 0, asked = 0;
  for (std::size_t i = 0; i < rights.size(); i += step) {
    const LostRight& lost = rights[i];
    const auto slash = lost.resource.find('/');
    const std::string name = lost.verb + " " +
                             (lost.group.empty()           ? lost.resource
                              : slash == std::string::npos ? lost.resource + "." + lost.group
                                                           : lost.resource.substr(0, slash) + "." +
                                                                 lost.group + lost.resource.substr(slash));
    ASSERT_NO_FATAL_FAILURE(write_role(without(role, lost)));
    auto* berth = start_berth({.name = fmt::format("berth-{}", i),
                               .kubeconfig = *kubeconfig,
                               .args = {"--lease-namespace=berth-system"}});
    ASSERT_NE(berth, nullptr);
    berth->healthy_at_end = false;
    make_work(i / step);
    const auto begin = std::chrono::steady_clock::now();
    const std::string words = fmt::format("verbs [{}] on resources [{}] of apiGroups [\"{}\"]", lost.verb,
                                          lost.resource, lost.group);
    std::string line;
    bool urgent = false;
    std::size_t looks = 0;
    const std::string idle = not_asked_for(lost, name);
    const bool expected = idle.empty();
    const auto is_said = [&] {
      if (!urgent && occupying("default/") > 0) {
        urgent = true;
        make_urgent_work();
      }
      if (urgent) change_job(looks++);
      const std::string body = ask(*berth, "/readyz").body;
      const auto at = body.find(words);
      if (at == std::string::npos) return false;
      const auto from = body.rfind('\n', at);
      line = body.substr(from == std::string::npos ? 0 : from + 1);
      line = line.substr(0, line.find(". Grant"));
      return true;
    };
    const bool found = eventually(is_said, expected ? seconds(40) : seconds(6));
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    asked += expected ? 1 : 0;
    said += found ? 1 : 0;
    table += found ? fmt::format("| `{}` | {:.1f} s | {} |\n", name, took, line)
                   : fmt::format("| `{}` | | nothing: {} |\n", name, expected ? "NOT SAID" : idle);
    EXPECT_TRUE(found || !expected) << name << "\n" << ask(*berth, "/readyz").body << tail(berth->log, 5);
    if (found) {
      EXPECT_TRUE(eventually([&] { return log_has(*berth, words); }, seconds(30)))
          << name << " is not in the log";
      EXPECT_NE(ask(*berth, "/metrics").body.find("berth_missing_rights{"), std::string::npos) << name;
    }
    berth->process.kill_now();
    (void)cluster_->client().del("/apis/coordination.k8s.io/v1/namespaces/berth-system/leases/berth");
    write_role(without(role, {}));
    clear();
  }
  std::printf("%s%zu rights taken away, %zu said, %zu of them had something to do here\n", table.c_str(),
              (rights.size() + step - 1) / step, said, asked);
}

}  // namespace
}  // namespace berth::e2e

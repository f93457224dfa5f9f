// Moving from Kueue to Berth, and going back, with Kueue's own manager: the steps of docs/migration/kueue.md, as an operator takes
// them, and the actions of each of the two systems meanwhile.
//
// Needs Kueue's manager, which takes minutes to build, so that these tests skip themselves without it:
//   BERTH_KUEUE_MANAGER="$(scripts/kueue-oracle manager)" build/release/tests/e2e/test_e2e --gtest_filter='BerthMove.*'
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "e2e/kueue_manager.h"
#include "e2e/teams.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

constexpr const char* kAdmission = "/apis/admissionregistration.k8s.io/v1";
constexpr const char* kFinalizer = "kueue.x-k8s.io/resource-in-use";
constexpr const char* kLeftToKueue = "Workloads and the status of its queues are left to it";
constexpr const char* kKeptByBerth = "Kueue's Workloads and queues are kept up to date";

class BerthMove : public TeamsTest {
 protected:
  void SetUp() override {
    TeamsTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    if (KueueManager::program().empty()) {
      GTEST_SKIP()
          << "Kueue's manager is not there: BERTH_KUEUE_MANAGER=\"$(scripts/kueue-oracle manager)\" in "
             "front of this command builds it (five minutes) and runs this test";
    }
  }

  // Kueue alone, as its users have it: Jobs and pods of the namespaces, ClusterQueue "shared".
  void start_with_kueue(const std::vector<std::string>& teams, std::int64_t gpus) {
    prepare_observer_ = [this](ObserverOfPods& observer) {
      observer.on_pod([this](const SeenPod& pod, bool deleted) { accounts_.on_pod(pod, deleted); });
    };
    start({.controller_manager = true,
           .kube_scheduler = true,
           .kwok = true,
           .service_accounts = true,
           .job_pod_runs_ms = 86'400'000});  // until finish()
    ASSERT_OK(cluster_->create_nodes(3));
    kueue_.emplace(*cluster_);
    ASSERT_OK(kueue_->install());
    ASSERT_OK(kueue_->start());
    create(std::string(kKueue) + "/resourceflavors", json::parse(R"({
      "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}})"));
    create_queue({.name = "shared", .gpus = gpus});
    for (const auto& ns : teams) {
      ASSERT_OK(cluster_->create_namespace(ns));
      create_local_queue(ns, "team", "shared");
    }
  }
  bool has_policies() const {
    return cluster_->client().get(kAdmission).body.find("\"mutatingadmissionpolicies\"") != std::string::npos;
  }
  // With the rights that ship; waits until it has seen that Kueue is here.
  Berth* start_berth_beside() {
    std::ifstream file(BERTH_SOURCE_DIR "/deploy/berth.yaml");
    std::ostringstream text;
    text << file.rdbuf();
    const auto manifests = write("berth.yaml", documents_without(text.str(), {"kind: Deployment"}));
    const auto applied = cluster_->apply(manifests);
    EXPECT_TRUE(applied.has_value()) << applied.error().str();
    const auto kubeconfig =
        cluster_->kubeconfig_for("system:serviceaccount:berth-system:berth",
                                 {"system:serviceaccounts", "system:serviceaccounts:berth-system"});
    EXPECT_TRUE(kubeconfig.has_value());
    auto* berth = start_berth({.kubeconfig = *kubeconfig, .args = {"--lease-namespace=berth-system"}});
    EXPECT_NE(berth, nullptr);
    EXPECT_TRUE(eventually([&] { return log_has(*berth, "recovered:") && log_has(*berth, kLeftToKueue); }));
    return berth;
  }
  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (cluster_->folder() / name).string();
    std::ofstream(path) << text;
    return path;
  }
  // The policy that ships, for one namespace, or for all.
  void apply_policy(const std::string& only = "") {
    std::ifstream file(BERTH_SOURCE_DIR "/deploy/admission-policy.yaml");
    std::ostringstream text;
    text << file.rdbuf();
    std::string policy = text.str();
    const std::string all = "operator: NotIn, values: [kube-system, berth-system]";
    for (auto at = policy.find(all); !only.empty() && at != std::string::npos; at = policy.find(all))
      policy.replace(at, all.size(), fmt::format("operator: In, values: [{}]", only));
    ASSERT_OK(cluster_->apply(write("admission-policy.yaml", policy)));
    ASSERT_TRUE(eventually([&] {  // the API server heeds it a moment later
      const Reply reply = try_job(only.empty() ? "default" : only);
      return reply.ok() && json::parse(reply.body)["spec"]["template"]["spec"]["schedulerName"] == "berth";
    }));
  }
  void delete_policy() {
    for (const char* kind : {"mutatingadmissionpolicybindings", "mutatingadmissionpolicies"})
      for (const char* name : {"berth-jobs", "berth-pods"})
        remove(fmt::format("{}/{}/{}", kAdmission, kind, name));
  }

  // As teams write them: they name their LocalQueue, and nothing else.
  static json job_of_team(const std::string& ns, const std::string& name, int pods) {
    return job_json(
        {.name = name, .ns = ns, .queue = "team", .pods = pods, .suspend = false, .scheduler = ""});
  }
  void submit(const std::string& ns, const std::string& name, int pods) {
    create(jobs_in(ns), job_of_team(ns, name, pods));
  }
  void submit_pod(const std::string& ns, const std::string& name) {
    json pod = job_of_team(ns, name, 1)["spec"]["template"];
    pod.update({{"apiVersion", "v1"}, {"kind", "Pod"}});
    pod["metadata"] = {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
    create(pods_in(ns), pod);
  }
  // The API server's version of a new Job, without keeping it.
  Reply try_job(const std::string& ns) {
    return cluster_->client().post(jobs_in(ns) + "?dryRun=All", job_of_team(ns, "probe", 1).dump());
  }
  void remove(const std::string& path) {
    const auto reply = cluster_->client().del(path, R"({"propagationPolicy": "Background"})");
    EXPECT_TRUE(reply.ok()) << path << ": " << reply.describe();
  }
  void merge(const std::string& path, const json& body) {
    const auto reply = cluster_->client().patch(path, body.dump(), kMergePatch);
    EXPECT_TRUE(reply.ok()) << path << ": " << reply.describe();
  }
  void delete_job(const std::string& ns, const std::string& name) {
    const std::string path = jobs_in(ns) + "/" + name;
    remove(path);
    EXPECT_TRUE(eventually([&] { return cluster_->client().get(path).status == 404; }));
  }
  bool suspended(const std::string& ns, const std::string& name) const {
    return get(jobs_in(ns) + "/" + name)["spec"].value("suspend", false);
  }
  // Whether exactly so many pods of the Job have a node, by this scheduler.
  bool runs(const std::string& ns, const std::string& name, std::size_t pods,
            const std::string& scheduler) const {
    std::size_t found = 0;
    for (const auto& [key, pod] : observer_->pods()) {
      if (key.starts_with(fmt::format("{}/{}-", ns, name)) && pod.occupies() && pod.scheduler == scheduler)
        ++found;
    }
    return found == pods;
  }
  void expect_runs(const std::string& ns, const std::string& name, std::size_t pods,
                   const std::string& scheduler) {
    EXPECT_TRUE(eventually([&] { return runs(ns, name, pods, scheduler) && !suspended(ns, name); }))
        << ns << "/" << name << " does not run with " << pods << " pods by " << scheduler
        << reasons_of_waiting();
  }
  // The containers' later work. Not before they run: the word that they do would come last.
  void finish(const std::string& ns, const std::string& name) {
    for (const auto& [key, pod] : observer_->pods()) {
      if (!key.starts_with(fmt::format("{}/{}-", ns, name)) || !pod.occupies()) continue;
      const std::string path = fmt::format("{}/{}", pods_in(ns), key.substr(ns.size() + 1));
      EXPECT_TRUE(eventually([&] { return get(path)["status"].value("phase", "") == "Running"; })) << key;
      merge(path + "/status", {{"status", {{"phase", "Succeeded"}}}});
    }
  }

  static std::string workloads_in(const std::string& ns) {
    return fmt::format("{}/namespaces/{}/workloads", kKueue, ns);
  }
  json workload(const std::string& ns, const std::string& job) const {
    const json list = get(workloads_in(ns));
    if (!list.is_object()) return {};
    for (const json& item : list["items"])
      for (const json& owner : item["metadata"].value("ownerReferences", json::array()))
        if (owner["name"] == job) return item;
    return {};
  }
  std::size_t workloads(const std::string& ns) const {
    const json list = get(workloads_in(ns));
    return list.is_object() ? list["items"].size() : 0;
  }
  bool workload_says(const std::string& ns, const std::string& job, const std::string& type,
                     const std::string& status) const {
    const json found = workload(ns, job);
    if (!found.is_object() || !found.contains("status")) return false;
    for (const json& condition : found["status"].value("conditions", json::array()))
      if (condition["type"] == type) return condition["status"] == status;
    return false;
  }
  // Kueue's keep their finalizer, which only Kueue takes away, for work that it decides about.
  void delete_workloads(const std::string& ns) {
    const json list = get(workloads_in(ns));
    for (const json& item : list["items"]) {
      const std::string path = workloads_in(ns) + "/" + item["metadata"]["name"].get<std::string>();
      (void)cluster_->client().del(path);
      (void)cluster_->client().patch(path, R"({"metadata": {"finalizers": null}})", kMergePatch);
      EXPECT_TRUE(eventually([&] { return cluster_->client().get(path).status == 404; })) << path;
    }
  }

  std::string queue_path(const std::string& name) const {
    return fmt::format("{}/clusterqueues/{}", kKueue, name);
  }
  std::int64_t status_of_queue(const std::string& name, const char* field) const {
    const json queue = get(queue_path(name));
    return queue.is_object() && queue.contains("status") ? queue["status"].value(field, std::int64_t{0}) : -1;
  }
  // The writers of the object: the programs that its managedFields name.
  std::set<std::string> writers(const std::string& path) const {
    const json object = get(path);
    std::set<std::string> out;
    for (const json& entry : object["metadata"].value("managedFields", json::array()))
      out.insert(entry["manager"].get<std::string>());
    EXPECT_FALSE(out.empty()) << path;
    return out;
  }
  void expect_within_quota() { EXPECT_TRUE(accounts_.violations().empty()) << accounts_.str(); }

  std::optional<KueueManager> kueue_;
  // For the namespace and the scheduler of the pods, for every resourceVersion.
  Accounts accounts_{[](const SeenPod& pod) { return namespace_of(pod) + " by " + pod.scheduler; },
                     {{"team-a by default-scheduler", {{kGpu, 4}}},
                      {"team-a by berth", {{kGpu, 4}}},
                      {"team-b by default-scheduler", {{kGpu, 4}}},
                      {"team-b by berth", {{kGpu, 4}}}}};
};

TEST_F(BerthMove, TeamByTeamBothDecideEachForItsOwn) {
  start_with_kueue({"team-a", "team-b"}, 8);
  if (!has_policies())
    GTEST_SKIP() << "this API server has no MutatingAdmissionPolicy in v1 (Kubernetes 1.36 has)";
  submit("team-a", "first", 4);
  submit("team-b", "first", 3);
  submit_pod("team-b", "alone");
  expect_runs("team-a", "first", 4, "default-scheduler");
  expect_runs("team-b", "first", 3, "default-scheduler");
  EXPECT_TRUE(eventually([&] { return occupying("team-b/alone") == 1; }));
  submit("team-b", "next", 4);
  submit_pod("team-b", "gated");
  for (const char* name : {"next", "gated"})
    EXPECT_TRUE(eventually([&] { return workload_says("team-b", name, "QuotaReserved", "False"); })) << name;

  // 1. Berth beside it.
  auto* berth = start_berth_beside();
  ASSERT_NE(berth, nullptr);
  // 2. The team's part of the quota in a ClusterQueue of its own.
  create_queue({.name = "own", .gpus = 4, .ns = "team-b"});
  merge(queue_path("shared"),
        {{"spec",
          {{"resourceGroups", cluster_queue({.name = "shared", .gpus = 4})["spec"]["resourceGroups"]}}}});
  // 3. Kueue is told to leave the namespace alone, and starts again; for longer than Berth leaves between two looks it is not there.
  ASSERT_OK(kueue_->stop());
  std::this_thread::sleep_for(seconds(12));
  ASSERT_OK(kueue_->start({.left_alone = {"team-b"}}));
  EXPECT_TRUE(eventually([&] { return status_of_queue("shared", "reservingWorkloads") == 3; }));
  //    Work that it has started there keeps its quota in the former ClusterQueue until its Workload is gone, and runs on without.
  delete_workloads("team-b");
  EXPECT_TRUE(eventually([&] { return status_of_queue("shared", "reservingWorkloads") == 1; }));
  const std::string local = fmt::format("{}/namespaces/team-b/localqueues/team", kKueue);
  remove(local);
  create_local_queue("team-b", "team", "own");
  // 4. New work names Berth. Work that had waited does not, and is made anew: no scheduler handles it any more.
  ASSERT_NO_FATAL_FAILURE(apply_policy("team-b"));
  EXPECT_TRUE(suspended("team-b", "next"));
  delete_job("team-b", "next");
  const std::string gated = pods_in("team-b") + "/gated";
  remove(gated);
  EXPECT_TRUE(eventually([&] { return cluster_->client().get(gated).status == 404; })) << "Kueue's finalizer";
  submit("team-b", "next", 4);
  expect_runs("team-b", "next", 4, "berth");
  expect_runs("team-b", "first", 3, "default-scheduler");
  EXPECT_EQ(occupying("team-b/alone"), 1U);

  // Both have as much as they may, and the next one of each waits for its own.
  submit("team-b", "third", 2);
  submit("team-a", "next", 4);
  EXPECT_TRUE(eventually([&] { return workload_says("team-a", "next", "QuotaReserved", "False"); }));
  EXPECT_TRUE(eventually([&] {
    return cluster_->client()
               .get("/apis/events.k8s.io/v1/namespaces/team-b/events")
               .body.find("\"Waiting\"") != std::string::npos;
  }));
  EXPECT_TRUE(suspended("team-a", "next") && suspended("team-b", "third"));
  finish("team-a", "first");
  expect_runs("team-a", "next", 4, "default-scheduler");
  EXPECT_TRUE(suspended("team-b", "third"));
  finish("team-b", "first");
  EXPECT_TRUE(
      eventually([&] { return get(jobs_in("team-b") + "/first")["status"].value("succeeded", 0) == 3; }));
  EXPECT_TRUE(suspended("team-b", "third")) << "what Kueue had started does not count in Berth's quota";
  finish("team-b", "next");
  expect_runs("team-b", "third", 2, "berth");

  // No system has touched objects of the other.
  EXPECT_EQ(workloads("team-b"), 0U);
  EXPECT_FALSE(log_has(*berth, kKeptByBerth)) << "a Kueue that starts again is still the one that writes";
  for (const std::string& path :
       {queue_path("shared"), queue_path("own"), local,
        workloads_in("team-a") + "/" + workload("team-a", "next")["metadata"].value("name", "")}) {
    EXPECT_FALSE(writers(path).contains("berth")) << path;
  }
  expect_within_quota();
  expect_clean();
}

TEST_F(BerthMove, KueueEndsAndComesBack) {
  start_with_kueue({"team-a"}, 4);
  if (!has_policies())
    GTEST_SKIP() << "this API server has no MutatingAdmissionPolicy in v1 (Kubernetes 1.36 has)";
  submit_pod("team-a", "alone");
  submit("team-a", "old", 3);
  expect_runs("team-a", "old", 3, "default-scheduler");
  submit("team-a", "late", 3);
  submit_pod("team-a", "gated");
  for (const char* name : {"late", "gated"})
    EXPECT_TRUE(eventually([&] { return workload_says("team-a", name, "QuotaReserved", "False"); })) << name;
  auto* berth = start_berth_beside();
  ASSERT_NE(berth, nullptr);

  // The end of Kueue. Between these two no Job or pod can be made, so they are one step.
  ASSERT_OK(kueue_->stop());
  EXPECT_NE(try_job("team-a").body.find("failed calling webhook"), std::string::npos);
  ASSERT_OK(kueue_->delete_webhook_configurations());
  ASSERT_NO_FATAL_FAILURE(apply_policy());
  delete_workloads("team-a");
  submit("team-a", "new", 2);
  expect_runs("team-a", "new", 2, "berth");
  EXPECT_TRUE(eventually([&] { return log_has(*berth, kKeptByBerth); }, seconds(90)));
  EXPECT_TRUE(eventually([&] { return workload_says("team-a", "new", "Admitted", "True"); }));
  EXPECT_TRUE(eventually([&] { return status_of_queue("shared", "admittedWorkloads") == 1; }));
  EXPECT_TRUE(writers(queue_path("shared")).contains("berth"));
  // Work that Kueue had started runs on, and is not counted. Work that had waited belongs to no scheduler until it is made anew.
  expect_runs("team-a", "old", 3, "default-scheduler");
  EXPECT_TRUE(suspended("team-a", "late"));
  EXPECT_EQ(workloads("team-a"), 1U);
  delete_job("team-a", "late");
  submit("team-a", "late", 3);
  EXPECT_TRUE(eventually([&] { return workload_says("team-a", "late", "QuotaReserved", "False"); }));
  EXPECT_TRUE(suspended("team-a", "late"));
  // Remains of Kueue: its finalizer on pods (from one that has a node KWOK would take it) and on queues, and a version of its kinds
  // that only its webhook converts to.
  const std::string gated = pods_in("team-a") + "/gated";
  remove(gated);
  EXPECT_TRUE(get(gated)["metadata"].contains("deletionTimestamp"));
  merge(gated, {{"metadata", {{"finalizers", nullptr}}}});
  EXPECT_TRUE(eventually([&] { return cluster_->client().get(gated).status == 404; }));
  EXPECT_EQ(get(queue_path("shared"))["metadata"]["finalizers"], json::array({kFinalizer}));
  EXPECT_NE(
      cluster_->client().get("/apis/kueue.x-k8s.io/v1beta1/clusterqueues").body.find("conversion webhook"),
      std::string::npos);

  // The way back. One that still runs shows why the guide waits for the end of all.
  merge(queue_path("shared"), {{"spec", {{"stopPolicy", "Hold"}}}});
  finish("team-a", "old");
  delete_job("team-a", "late");
  delete_policy();
  berth->process.stop();
  EXPECT_EQ(berth->process.exit_text(), "exit status 0") << tail(berth->log, 10);
  const std::string path =
      workloads_in("team-a") + "/" + workload("team-a", "new")["metadata"].value("name", "");
  remove(path);
  EXPECT_EQ(cluster_->client().get(path).status, 404) << "no finalizer";
  EXPECT_TRUE(runs("team-a", "new", 2, "berth")) << "a Workload is no part of the work";
  ASSERT_OK(kueue_->install());
  ASSERT_OK(kueue_->start());
  EXPECT_TRUE(eventually([&] { return suspended("team-a", "new") && runs("team-a", "new", 0, "berth"); }));
  EXPECT_TRUE(eventually([&] { return workload("team-a", "new").is_object(); }))
      << "and would start it again";
  delete_job("team-a", "new");
  merge(queue_path("shared"), {{"spec", {{"stopPolicy", "None"}}}});
  submit("team-a", "late", 3);
  expect_runs("team-a", "late", 3, "default-scheduler");
  EXPECT_EQ(workload("team-a", "late")["metadata"]["finalizers"], json::array({kFinalizer}));
  EXPECT_TRUE(eventually([&] { return status_of_queue("shared", "admittedWorkloads") == 1; }));
  expect_within_quota();
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

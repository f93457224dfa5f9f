// Berth as the only scheduler of a mixed cluster (--scheduler-name default-scheduler). The work of whole_cluster.h runs under
// kube-scheduler first, for comparison, and then under Berth on a cluster of its own. There follow a roll-out on full nodes, a drain, a
// node that comes, one that goes, a scale-down, and kills while volumes are made. At last Kubernetes' own plugins judge every bind of
// Berth, in the order of its decisions (bind_tape.h).
//
// BERTH_E2E_WHOLE_NODES (40): so many nodes, with about nine pods each.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "e2e/berth_fixture.h"
#include "e2e/bind_tape.h"
#include "e2e/provisioner.h"
#include "e2e/whole_cluster.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

// How a scheduler did with the whole work.
struct Score {
  std::string scheduler;
  int wanted = 0, run = 0;            // pods that stay
  int node_wanted = 0, node_run = 0;  // of them, pods that take a whole GPU node
  int end_wanted = 0, ended = 0;      // pods of Jobs
  double last_bind_s = 0;             // since the first object was made

  std::string str() const {
    return fmt::format(
        "{:<15} {:>5} of {} pods run, {:>3} of {} with eight GPUs; {:>3} of {} pods of Jobs ended; last bind "
        "after {:.1f} s",
        scheduler, run, wanted, node_run, node_wanted, ended, end_wanted, last_bind_s);
  }
};

class BerthWholeCluster : public BerthTest {
 protected:
  void SetUp() override {
    BerthTest::SetUp();
    prepare_observer_ = [](ObserverOfPods& observer) {
      observer.add_gang_label("scheduling.x-k8s.io/pod-group", WholeWork::kRingMembers);
    };
  }
  void TearDown() override {
    provisioner_.reset();
    tape_.reset();
    BerthTest::TearDown();
  }

  void start_cluster() {
    start({.controller_manager = true,
           .kwok = true,
           .unlimited_scheduler = true,
           .job_pod_runs_ms = 500,
           .controller_manager_args = {"--pvclaimbinder-sync-period=1s", "--concurrent-deployment-syncs=20",
                                       "--concurrent-replicaset-syncs=20"}});
    ASSERT_OK(WholeWork::make_kinds(*cluster_));
    ASSERT_OK(work_.make_nodes(*cluster_));
    start_provisioner();
  }
  void end_cluster() {
    provisioner_.reset();
    observer_->stop();
    observer_.reset();
    cluster_.reset();
  }
  // Disks that all nodes of a zone can use.
  void start_provisioner() {
    provisioner_ = std::make_unique<Provisioner>(*cluster_, std::set<std::string>{}, WholeWork::kZone);
  }

  // The pods of a kind that run and are not being deleted. In phase Succeeded: with `ended`.
  std::map<std::string, int> by_kind(bool ended) const {
    std::map<std::string, int> out;
    for (const auto& [key, pod] : observer_->pods()) {
      const auto kind = pod.spec->labels.find(WholeWork::kKindLabel);
      if (kind == pod.spec->labels.end() || pod.deleting || pod.node.empty()) continue;
      if (pod.phase == (ended ? "Succeeded" : "Running")) ++out[kind->second];
    }
    return out;
  }
  // The kinds that have other numbers of pods than they should; "": none.
  std::string missing() const {
    std::string out;
    const auto run = by_kind(false);
    for (const auto& [kind, pods] : stay_) {
      const auto have = run.find(kind);
      if ((have == run.end() ? 0 : have->second) != pods)
        out += fmt::format(" {} {} of {}", kind, have == run.end() ? 0 : have->second, pods);
    }
    const auto ended = by_kind(true);
    for (const auto& [kind, pods] : work_.end()) {
      const auto have = ended.find(kind);
      if (have == ended.end() || have->second != pods)
        out += fmt::format(" {} {} of {}", kind, have == ended.end() ? 0 : have->second, pods);
    }
    return out;
  }
  bool all_run() {
    const auto poll = milliseconds(50 + work_.nodes());
    const auto end = std::chrono::steady_clock::now() + kLong + seconds(work_.nodes());
    while (!missing().empty()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(poll);
    }
    return true;
  }
  void expect_all_run(const char* after) {
    EXPECT_TRUE(all_run()) << after << ":" << missing() << reasons_of_waiting();
    say(after);
  }
  void say(const char* what) {
    fmt::print("{:>7.1f} s  {}\n", seconds_since(began_), what);
    std::fflush(stdout);
  }
  static double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  Score score(const std::string& scheduler, std::chrono::steady_clock::time_point began) const {
    Score out{.scheduler = scheduler};
    const auto run = by_kind(false);
    for (const auto& [kind, pods] : work_.stay()) {
      const int have = run.contains(kind) ? run.at(kind) : 0;
      out.wanted += pods;
      out.run += have;
      if (!WholeWork::takes_a_node(kind)) continue;
      out.node_wanted += pods;
      out.node_run += have;
    }
    const auto ended = by_kind(true);
    for (const auto& [kind, pods] : work_.end()) {
      out.end_wanted += pods;
      out.ended += ended.contains(kind) ? ended.at(kind) : 0;
    }
    out.last_bind_s = std::chrono::duration<double>(observer_->now().last_bind - began).count();
    return out;
  }

  json get(const std::string& path) const {
    const json out = json::parse(cluster_->client().get(path).body, nullptr, false);
    return out.is_object() ? out : json::object();
  }
  void patch(const std::string& path, const json& body) {
    const Reply reply = cluster_->client().patch(path, body.dump());
    EXPECT_TRUE(reply.ok()) << path << ": " << reply.describe();
  }
  static std::string of(const char* collection, const std::string& name) {
    return fmt::format("{}/{}", collection, name);
  }
  void remove(const std::string& path, const char* options = "") {
    const Reply reply = cluster_->client().del(path, options);
    EXPECT_TRUE(reply.ok() || reply.status == 404) << path << ": " << reply.describe();
  }
  static std::string kind_of(const SeenPod& pod) {
    const auto kind = pod.spec->labels.find(WholeWork::kKindLabel);
    return kind == pod.spec->labels.end() ? "" : kind->second;
  }
  // Its controller makes a pod anew that was deleted.
  static bool comes_again(const std::string& kind) {
    return !WholeWork::takes_a_node(kind) && kind != "static" && kind != "bare" && kind != "alone" &&
           kind != "gated";
  }
  static std::string path_of(const SeenPod& pod) {
    const auto slash = pod.key.find('/');
    return fmt::format("/api/v1/namespaces/{}/pods/{}", pod.key.substr(0, slash), pod.key.substr(slash + 1));
  }
  std::vector<SeenPod> pods_on(const std::string& node) const {
    std::vector<SeenPod> out;
    for (const auto& [key, pod] : observer_->pods()) {
      if (pod.node == node && !pod.terminal()) out.push_back(pod);
    }
    return out;
  }

  std::string zone_of(const std::string& node) const {
    return get("/api/v1/nodes/" + node)["metadata"]["labels"].value(WholeWork::kZone, "");
  }
  // The node of the pool "cpu" with the most pods that come again elsewhere.
  std::string fullest() const {
    std::map<std::string, int> pods;
    for (const auto& [key, pod] : observer_->pods()) {
      if (pod.node.starts_with("cpu-") && !pod.terminal() && kind_of(pod) != "agent")
        pods[pod.node] += comes_again(kind_of(pod)) ? 1 : -100;
    }
    return std::max_element(pods.begin(), pods.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }

  void roll_out(const std::string& name);
  void drain(const std::string& node);
  void lose(const std::string& node);
  void scale(const std::string& kind, const std::string& path, int replicas);
  void kill_while_volumes_are_made();
  Berth* start_only_scheduler(const std::string& name);
  void judge();

  const WholeWork work_{number_from_env("BERTH_E2E_WHOLE_NODES", 40)};
  std::map<std::string, int> stay_ = work_.stay();  // pods that must run now, by kind
  std::unique_ptr<Provisioner> provisioner_;
  std::unique_ptr<BindTape> tape_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

BerthTest::Berth* BerthWholeCluster::start_only_scheduler(const std::string& name) {
  return start_berth({.name = name,
                      .args = {"--scheduler-name=default-scheduler", "--lease-seconds=600",
                               "--decision-log=" + (cluster_->folder() / "decisions.jsonl").string()}});
}

// Every pod is made anew by a changed template, and the pods of the new revision are spread as they must be.
void BerthWholeCluster::roll_out(const std::string& name) {
  patch(of(WholeWork::kDeployments, name),
        {{"spec", {{"template", {{"metadata", {{"annotations", {{"example.com/version", "2"}}}}}}}}}});
  const bool done = eventually(
      [&] {
        const json now = get(of(WholeWork::kDeployments, name));
        if (!now.contains("status")) return false;
        const json& status = now["status"];
        const int replicas = now["spec"]["replicas"];
        return status.value("observedGeneration", 0) == now["metadata"]["generation"] &&
               status.value("updatedReplicas", 0) == replicas && status.value("replicas", 0) == replicas &&
               status.value("availableReplicas", 0) == replicas;
      },
      kLong + seconds(work_.nodes()));
  EXPECT_TRUE(done) << name
                    << " is not rolled out: " << get(of(WholeWork::kDeployments, name))["status"].dump()
                    << reasons_of_waiting();
}

// As `kubectl drain --ignore-daemonsets` does: every other pod is evicted as its budget allows.
void BerthWholeCluster::drain(const std::string& node) {
  patch("/api/v1/nodes/" + node, {{"spec", {{"unschedulable", true}}}});
  ApiClient api = cluster_->client();
  std::size_t evicted = 0, refused = 0;
  const bool empty = eventually([&] {
    bool left = false;
    for (const SeenPod& pod : pods_on(node)) {
      const std::string kind = kind_of(pod);
      if (kind == "agent" || kind == "static") continue;
      left = true;
      if (pod.deleting) continue;
      const auto slash = pod.key.find('/');
      const json eviction = {
          {"apiVersion", "policy/v1"},
          {"kind", "Eviction"},
          {"metadata", {{"namespace", pod.key.substr(0, slash)}, {"name", pod.key.substr(slash + 1)}}}};
      const Reply reply = api.post(path_of(pod) + "/eviction", eviction.dump());
      evicted += reply.ok() ? 1 : 0;
      if (reply.ok() && !comes_again(kind)) --stay_[kind];
      refused += reply.status == 429 ? 1 : 0;
      EXPECT_TRUE(reply.ok() || reply.status == 429 || reply.status == 404) << reply.describe();
    }
    return !left;
  });
  EXPECT_TRUE(empty) << node << " is not drained";
  EXPECT_GT(evicted, 0U);
  fmt::print("           {} pods left {}; budgets refused {} times\n", evicted, node, refused);
}

// The node is gone, and its pods as the garbage collector of pods ends them.
void BerthWholeCluster::lose(const std::string& node) {
  const auto pods = pods_on(node);
  EXPECT_GT(pods.size(), 1U);
  remove("/api/v1/nodes/" + node);
  for (const SeenPod& pod : pods) {
    const std::string kind = kind_of(pod);
    if (kind == "agent" || !comes_again(kind)) --stay_[kind];
    remove(path_of(pod), R"({"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0})");
  }
}

void BerthWholeCluster::scale(const std::string& kind, const std::string& path, int replicas) {
  patch(path, {{"spec", {{"replicas", replicas}}}});
  stay_[kind] = replicas;
}

// Berth has chosen nodes, and nothing makes the volumes. It is killed, and its successor too, when some volumes are there.
void BerthWholeCluster::kill_while_volumes_are_made() {
  constexpr int kPods = 8;
  constexpr seconds kWritten{2};  // the decision log is handed to the system every second
  const auto claims = [&] {
    std::map<std::string, json> out;
    for (const json& claim :
         get("/api/v1/namespaces/default/persistentvolumeclaims").value("items", json::array())) {
      if (claim["metadata"]["name"].get<std::string>().starts_with("data-late-"))
        out[claim["metadata"]["name"]] = claim;
    }
    return out;
  };
  const auto chosen = [](const json& claim) {
    return claim["metadata"]
        .value("annotations", json::object())
        .value("volume.kubernetes.io/selected-node", "");
  };
  provisioner_.reset();
  ASSERT_OK(expect_ok(
      cluster_->client().post(WholeWork::kStatefulSets, WholeWork::with_disks("late", kPods).dump()),
      "a StatefulSet"));
  stay_["late"] = kPods;
  std::map<std::string, std::string> nodes;
  ASSERT_TRUE(eventually([&] {
    nodes.clear();
    for (const auto& [name, claim] : claims()) {
      if (!chosen(claim).empty()) nodes[name] = chosen(claim);
    }
    return nodes.size() == kPods;
  })) << reasons_of_waiting();
  std::this_thread::sleep_for(kWritten);
  kill(berths_.back());
  Berth* const second = start_only_scheduler("berth-second");
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(eventually([&] { return ask(*second, "/readyz").ok(); }));
  std::this_thread::sleep_for(kWritten);
  start_provisioner();
  ASSERT_TRUE(eventually([&] {
    const auto now = claims();
    return std::any_of(now.begin(), now.end(),
                       [](const auto& one) { return one.second["spec"].contains("volumeName"); });
  }));
  kill(*second);
  ASSERT_NE(start_only_scheduler("berth-third"), nullptr);
  expect_all_run("pods run whose volumes were made while Berth was killed twice");
  for (const auto& [key, pod] : observer_->pods()) {
    if (kind_of(pod) != "late") continue;
    EXPECT_EQ(zone_of(pod.node), zone_of(nodes["data-" + pod.key.substr(pod.key.find('/') + 1)])) << key;
  }
}

void BerthWholeCluster::judge() {
  const std::string folder = cluster_->folder().string();
  const auto oracle = built_oracle(folder);
  ASSERT_OK(oracle);
  const auto verdict = tape_->judge(folder + "/decisions.jsonl", folder, *oracle);
  ASSERT_OK(verdict);
  EXPECT_TRUE(verdict->clean()) << verdict->str();
  fmt::print("{}\n", verdict->str());
  say("judged");
}

TEST_F(BerthWholeCluster, RunsEverythingAndNoBindIsOneThatKubernetesRefuses) {
  using Clock = std::chrono::steady_clock;
  const int nodes = static_cast<int>(work_.nodes());
  // The same work under kube-scheduler. Pods that find no node wait for ever there.
  ASSERT_NO_FATAL_FAILURE(start_cluster());
  ASSERT_OK(cluster_->start_kube_scheduler());
  auto began = Clock::now();
  ASSERT_OK(work_.make(*cluster_));
  const auto quiet = seconds(6 + nodes / 25);
  const auto longest = seconds(60 + 2 * nodes);
  std::size_t pods = 0;  // that controllers make
  for (const auto& kinds : {work_.stay(), work_.end()}) {
    for (const auto& [kind, count] : kinds) pods += count;
  }
  // No pod is bound any more, and not because pods are yet to be made.
  while (!missing().empty() && Clock::now() - began < longest &&
         (observer_->now().pods < pods || Clock::now() - std::max(began, observer_->now().last_bind) < quiet))
    std::this_thread::sleep_for(milliseconds(200));
  const Score other = score("kube-scheduler", began);
  end_cluster();
  say("kube-scheduler has done what it can");

  ASSERT_NO_FATAL_FAILURE(start_cluster());
  tape_ = std::make_unique<BindTape>(cluster_->endpoint());
  ASSERT_OK(tape_->start());
  ASSERT_NE(start_only_scheduler("berth"), nullptr);
  began = Clock::now();
  ASSERT_OK(work_.make(*cluster_));
  expect_all_run("everything runs under Berth");
  const Score own = score("berth", began);
  fmt::print("{} nodes\n{}\n{}\n", nodes, other.str(), own.str());

  patch("/api/v1/namespaces/default/pods/gated-0", {{"spec", {{"schedulingGates", nullptr}}}});
  stay_["gated"] = 1;
  roll_out("full");
  roll_out("web");
  expect_all_run("rolled out, on full nodes too");
  const std::string drained = fullest();
  drain(drained);
  expect_all_run("drained");
  patch("/api/v1/nodes/" + drained, {{"spec", {{"unschedulable", nullptr}}}});
  ASSERT_OK(WholeWork::make_node(*cluster_, "fresh"));
  ++stay_["agent"];
  expect_all_run("a node has come");
  lose(fullest());
  expect_all_run("a node has left");
  scale("web", of(WholeWork::kDeployments, "web"), stay_["web"] / 2);
  scale("db", of(WholeWork::kStatefulSets, "db"), 2);
  expect_all_run("scaled down");
  ASSERT_NO_FATAL_FAILURE(kill_while_volumes_are_made());
  expect_clean();
  judge();
}

}  // namespace
}  // namespace berth::e2e

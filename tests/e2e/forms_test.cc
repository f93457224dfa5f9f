// Pods and nodes of a real API server, read in its binary form and in JSON: both say the same. Two tests print what that costs.
// BERTH_E2E_FORMS_PODS=30000 and BERTH_E2E_FORMS_ROUNDS=3 are their long form. BERTH_E2E_FORMS_OTHER names a second program berth, to be
// compared with the built one: an older one.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "e2e/berth_fixture.h"
#include "kube/api_status.h"
#include "kube/config.h"
#include "kube/paths.h"
#include "kube/reflector.h"
#include "kube/transport.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

// Something of most of what a pod may have.
constexpr const char* kRichPod =
    R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"rich","namespace":"default",
 "labels":{"app":"a","empty":""},"annotations":{"text":"\"<\\&\n é 😀"},"finalizers":["example.com/f"],
 "ownerReferences":[{"apiVersion":"batch/v1","kind":"Job","name":"j","uid":"u","controller":true,"blockOwnerDeletion":false}]},
"spec":{"schedulerName":"nobody","nodeSelector":{"a":"b"},"terminationGracePeriodSeconds":0,"hostNetwork":true,"hostUsers":true,
 "securityContext":{"runAsUser":0,"supplementalGroups":[1,2],"sysctls":[{"name":"kernel.msgmax","value":"1"}]},
 "affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":1,"preference":{"matchExpressions":[{"key":"k","operator":"Exists"}]}}]},
  "podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone","labelSelector":{"matchLabels":{"x":"y"}}}]}},
 "tolerations":[{"operator":"Exists"},{"key":"t","effect":"NoExecute","tolerationSeconds":0}],
 "topologySpreadConstraints":[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule","minDomains":2,"labelSelector":{}}],
 "volumes":[{"name":"e","emptyDir":{"sizeLimit":"1Gi"}},{"name":"c","configMap":{"name":"cm","items":[{"key":"k","path":"p","mode":0}]}},
  {"name":"p","persistentVolumeClaim":{"claimName":"data"}},{"name":"d","downwardAPI":{"items":[{"path":"x","resourceFieldRef":{"containerName":"c","resource":"limits.cpu"}}]}},
  {"name":"x","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}}}],
 "initContainers":[{"name":"i","image":"none","restartPolicy":"Always"}],"schedulingGates":[{"name":"example.com/g"}],
 "containers":[{"name":"c","image":"none","command":["a",""],"env":[{"name":"E","value":"v"},{"name":"F","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}},
   {"name":"R","valueFrom":{"resourceFieldRef":{"resource":"requests.cpu","divisor":"1m"}}}],"envFrom":[{"configMapRef":{"name":"cm"}}],
  "ports":[{"containerPort":80,"name":"web"}],"resources":{"requests":{"cpu":"1500m","memory":"1Gi","nvidia.com/gpu":"1"},"limits":{"nvidia.com/gpu":"1"}},
  "livenessProbe":{"httpGet":{"port":"web","path":"/"}},"readinessProbe":{"tcpSocket":{"port":80}},"lifecycle":{"preStop":{"exec":{"command":["true"]}}},
  "volumeMounts":[{"name":"e","mountPath":"/e","readOnly":true}],"securityContext":{"capabilities":{"add":["NET_ADMIN"]}}}]}})";

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto in_seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return in_seconds(usage.ru_utime) + in_seconds(usage.ru_stime);
}

// All that one reflector has told.
struct Told {
  std::mutex mutex;
  std::map<std::string, json> objects;

  void take(const kube::Change& change) {
    const std::lock_guard lock(mutex);
    const std::string key = fmt::format("{}/{}", change.ns, change.name);
    if (change.type == kube::ChangeType::kDeleted) objects.erase(key);
    if (change.type != kube::ChangeType::kAdded && change.type != kube::ChangeType::kModified) return;
    json object = json::parse(change.object);
    object["metadata"].erase("managedFields");
    objects[key] = std::move(object);
  }
  std::map<std::string, json> now() {
    const std::lock_guard lock(mutex);
    return objects;
  }
};

class FormsTest : public BerthTest {
 protected:
  // Until the API server has done with what came before: its use of CPU is what a test measures next.
  static void wait_for_quiet(Process& server) {
    EXPECT_TRUE(eventually(
        [&] {
          const double before = server.usage().cpu_seconds;
          std::this_thread::sleep_for(seconds(1));
          return server.usage().cpu_seconds - before < 0.1;
        },
        seconds(120)));
  }

  std::unique_ptr<kube::Transport> connect() {
    auto config = kube::read_kubeconfig(cluster_->kubeconfig());
    EXPECT_TRUE(config) << config.error().str();
    auto made = kube::Transport::create(*config);
    EXPECT_TRUE(made) << made.error().str();
    return std::move(*made);
  }
};

// A reflector for each form of pods and of nodes, in each way to list.
struct Pair {
  Pair(kube::Transport& transport, const kube::ResourcePath& path, kube::ListMode mode)
      : plain(transport, {.path = path.collection(), .mode = mode, .page = 7},
              [this](const kube::Change& change) { json_told.take(change); }),
        binary(transport, {.path = path.collection(), .mode = mode, .binary = true, .page = 7},
               [this](const kube::Change& change) { binary_told.take(change); }) {}
  bool synced() const { return plain.stats().synced && binary.stats().synced; }
  bool same(std::size_t count) {
    const auto ours = binary_told.now();
    return ours.size() == count && ours == json_told.now();
  }
  std::string difference() {
    const auto theirs = json_told.now();
    for (const auto& [key, object] : binary_told.now()) {
      const auto other = theirs.find(key);
      if (other == theirs.end()) return key + " is missing in JSON";
      if (other->second != object) return key + ": " + json::diff(other->second, object).dump(1);
    }
    return fmt::format("{} objects in JSON", theirs.size());
  }

  Told json_told, binary_told;
  kube::Reflector plain, binary;
};

TEST_F(FormsTest, ListsAndWatchesSayTheSameInBothForms) {
  start();
  constexpr std::size_t kNodes = 5, kPods = 30;
  ASSERT_OK(cluster_->create_nodes(kNodes, {.labels = {{"zone", "a"}}, .taints = {{"t", "v"}}}));
  ASSERT_OK(cluster_->create_pods(kPods - 1));
  ASSERT_OK(cluster_->create_all("/api/v1/namespaces/default/pods", {kRichPod}));
  const auto transport = connect();
  std::list<Pair> pods, nodes;
  for (const auto mode : {kube::ListMode::kAuto, kube::ListMode::kPages}) {
    pods.emplace_back(*transport, kube::kPods, mode);
    nodes.emplace_back(*transport, kube::kNodes, mode);
  }
  const auto all = [](std::list<Pair>& pairs, std::size_t count) {
    return std::all_of(pairs.begin(), pairs.end(),
                       [&](Pair& pair) { return pair.synced() && pair.same(count); });
  };
  EXPECT_TRUE(eventually([&] { return all(pods, kPods) && all(nodes, kNodes); }, seconds(20)))
      << pods.front().difference() << "\n"
      << nodes.front().difference();
  // Changes, as watches tell them.
  ASSERT_OK(cluster_->create_pods(3, {.name = "bound", .node = "node-0"}));
  ASSERT_OK(cluster_->make_running("default", {"bound-0", "bound-1", "bound-2"}));
  ASSERT_TRUE(cluster_->client().del("/api/v1/namespaces/default/pods/pod-3?gracePeriodSeconds=0").ok());
  ASSERT_TRUE(cluster_->client().del("/api/v1/namespaces/default/pods/rich").ok());  // its finalizer holds it
  ASSERT_TRUE(cluster_->client().del("/api/v1/nodes/node-3").ok());
  const auto changed = [&] {
    if (!all(pods, kPods + 2) || !all(nodes, kNodes - 1)) return false;
    const auto now = pods.front().binary_told.now();
    return now.at("default/rich")["metadata"].contains("deletionTimestamp") &&
           now.at("default/bound-2")["status"]["phase"] == "Running";
  };
  EXPECT_TRUE(eventually(changed, seconds(20))) << pods.front().difference() << "\n"
                                                << nodes.front().difference();
  for (auto* pairs : {&pods, &nodes}) {
    for (const Pair& pair : *pairs) EXPECT_EQ(pair.binary.last_problem(), "");
  }
  // A refusal comes in the form that was asked for.
  const kube::Response refused =
      transport->call({.path = "/api/v1/pods?limit=1&continue=nonsense", .accept = kube::Accept::kBinary});
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.form, kube::Form::kBinary);
  const std::string said = kube::response_error("LIST", refused).message;
  EXPECT_NE(said.find("continue"), std::string::npos) << said;
  nodes.clear();
  pods.clear();
}

TEST_F(FormsTest, WhatAListOfManyPodsCosts) {
  const std::size_t count = number_from_env("BERTH_E2E_FORMS_PODS", 500);
  const std::size_t rounds = number_from_env("BERTH_E2E_FORMS_ROUNDS", 1);
  start();
  observer_->stop();
  ASSERT_OK(cluster_->create_pods(count, {.labels = {{"app", "trainer"}}}));
  Process* const server = cluster_->process("kube-apiserver");
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const auto mode : {kube::ListMode::kAuto, kube::ListMode::kPages}) {
      for (const bool binary : {false, true}) {
        const auto transport = connect();
        std::atomic<std::size_t> objects{0}, bytes{0};
        wait_for_quiet(*server);
        const double server_before = server->usage().cpu_seconds, own_before = own_cpu_seconds();
        const auto begin = std::chrono::steady_clock::now();
        const kube::Reflector pods(*transport,
                                   {.path = kube::kPods.collection(),
                                    .field_selector = "status.phase!=Succeeded,status.phase!=Failed",
                                    .mode = mode,
                                    .binary = binary},
                                   [&](const kube::Change& change) {
                                     objects += change.type == kube::ChangeType::kAdded ? 1 : 0;
                                     bytes += change.object.size();
                                   });
        ASSERT_TRUE(eventually([&] { return pods.stats().synced.load(); }, seconds(300)))
            << pods.last_problem();
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        EXPECT_EQ(objects, count);
        std::printf(
            "%zu pods, %s, %s: %.2f s, %.2f s of CPU here, %.2f s in the API server, %.1f MB read, %.1f MB "
            "of JSON\n",
            count, mode == kube::ListMode::kAuto ? "streaming list" : "pages", binary ? "binary" : "JSON",
            took.count(), own_cpu_seconds() - own_before, server->usage().cpu_seconds - server_before,
            static_cast<double>(pods.stats().bytes) / 1e6, static_cast<double>(bytes) / 1e6);
      }
    }
  }
}

// From the start of the process to the moment at which it has read everything.
TEST_F(FormsTest, WhatTheStartOfTheSchedulerCosts) {
  const std::size_t count = number_from_env("BERTH_E2E_FORMS_PODS", 500);
  const std::size_t rounds = number_from_env("BERTH_E2E_FORMS_ROUNDS", 1);
  std::vector<std::string> programs = {BERTH_PROGRAM};
  if (const char* other = std::getenv("BERTH_E2E_FORMS_OTHER")) programs.insert(programs.begin(), other);
  start();
  observer_->stop();
  constexpr std::size_t kPerNode = 40;
  const std::size_t nodes = (count + kPerNode - 1) / kPerNode;
  ASSERT_OK(cluster_->create_nodes(
      nodes,
      {.allocatable = {{"cpu", "128"}, {"memory", "1Ti"}, {"pods", "110"}, {"nvidia.com/gpu", "64"}}}));
  for (std::size_t i = 0; i < nodes; ++i) {
    ASSERT_OK(cluster_->create_pods(std::min(kPerNode, count - i * kPerNode),
                                    {.name = fmt::format("p{}", i), .node = fmt::format("node-{}", i)}));
  }
  Process* const server = cluster_->process("kube-apiserver");
  for (std::size_t round = 0; round < rounds; ++round) {
    for (const std::string& program : programs) {
      const std::string log = cluster_->log(fmt::format("berth-{}-{}", round, program == programs.back()));
      wait_for_quiet(*server);
      const double server_before = server->usage().cpu_seconds;
      const auto begin = std::chrono::steady_clock::now();
      auto process = Process::start(
          {.argv = {program, "scheduler", "--kubeconfig", cluster_->kubeconfig(), "--http-address", "off"},
           .log = log});
      ASSERT_OK(process);
      ASSERT_TRUE(eventually([&] { return !lines_with(log, {"all lists read"}).empty(); }, seconds(300)))
          << tail(log, 10);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      const Usage usage = process->usage();
      std::printf(
          "%s: %zu bound pods, all read after %.2f s, %.2f s of CPU, %.2f s in the API server, peak %.0f "
          "MiB\n",
          program.c_str(), count, took.count(), usage.cpu_seconds,
          server->usage().cpu_seconds - server_before, static_cast<double>(usage.peak_rss_bytes) / (1 << 20));
      process->kill_now();
      (void)cluster_->client().del("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth");
    }
  }
}

}  // namespace
}  // namespace berth::e2e

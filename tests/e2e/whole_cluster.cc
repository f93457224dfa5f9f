#include "e2e/whole_cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>
#include <utility>

#include "e2e/provisioner.h"

namespace berth::e2e {

using nlohmann::json;

namespace {

constexpr const char* kDaemonSets = "/apis/apps/v1/namespaces/default/daemonsets";
constexpr const char* kBatch = "/apis/batch/v1/namespaces/default/";
constexpr const char* kGroups = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups";
constexpr const char* kHost = "kubernetes.io/hostname";
constexpr const char* kGpuTaint = "nvidia.com/gpu";
constexpr std::size_t kRacks = 8;
constexpr int kPodsOnFullNode = 12;
constexpr int kPodsOnBatchNode = 6;

json container(const std::string& name, const std::string& cpu) {
  return {
      {"name", name}, {"image", "image"}, {"resources", {{"requests", {{"cpu", cpu}, {"memory", "64Mi"}}}}}};
}

json gpu_container(const std::string& cpu, int gpus) {
  json out = container("main", cpu);
  out["resources"]["limits"] = {{"nvidia.com/gpu", std::to_string(gpus)}};
  return out;
}

json selector_of(const std::string& kind) {
  return {{"matchLabels", {{WholeWork::kKindLabel, kind}}}};
}

json pod_template(const std::string& kind, const std::string& cpu) {
  return {{"metadata", {{"labels", {{WholeWork::kKindLabel, kind}}}}},
          {"spec", {{"containers", json::array({container("main", cpu)})}}}};
}

json owner(const std::string& version, const std::string& kind, const std::string& name) {
  return {{"apiVersion", version}, {"kind", kind}, {"metadata", {{"name", name}}}};
}

json tolerates(const std::string& key) {
  return json::array({{{"key", key}, {"operator", "Exists"}, {"effect", "NoSchedule"}}});
}

json claim_spec() {
  return {{"storageClassName", "late"},
          {"accessModes", json::array({"ReadWriteOnce"})},
          {"resources", {{"requests", {{"storage", "1Gi"}}}}}};
}

json spread(const std::string& kind, const std::string& key, bool must) {
  return {{"maxSkew", 1},
          {"topologyKey", key},
          {"whenUnsatisfiable", must ? "DoNotSchedule" : "ScheduleAnyway"},
          {"labelSelector", selector_of(kind)}};
}

// A required term about the pods of `kind`.
json near_term(const std::string& kind, const std::string& key) {
  return {{"requiredDuringSchedulingIgnoredDuringExecution",
           json::array({{{"labelSelector", selector_of(kind)}, {"topologyKey", key}}})}};
}

json requirement(const std::string& key, const std::string& op, const std::vector<std::string>& values) {
  return {{"key", key}, {"operator", op}, {"values", values}};
}

// Each node attaches a few volumes of the test's provisioner.
json csi_node(const std::string& node) {
  json out = owner("storage.k8s.io/v1", "CSINode", node);
  out["spec"]["drivers"] =
      json::array({{{"name", Provisioner::kName}, {"nodeID", node}, {"allocatable", {{"count", 4}}}}});
  return out;
}

int part(std::size_t of, std::size_t by) {
  return static_cast<int>(std::max<std::size_t>(1, of / by));
}

}  // namespace

WholeWork::WholeWork(std::size_t nodes)
    : nodes_(nodes),
      gpu_(nodes / 4),
      full_(std::max<std::size_t>(2, nodes / 13)),
      batch_(full_),
      cpu_(nodes - gpu_ - full_ - batch_) {
  for (const auto& [name, value] : {std::pair{"important", 1000}, {"spare", -10}})
    before_.push_back({"/apis/scheduling.k8s.io/v1/priorityclasses",
                       {{"apiVersion", "scheduling.k8s.io/v1"},
                        {"kind", "PriorityClass"},
                        {"metadata", {{"name", name}}},
                        {"value", value}}});
  json sandbox = owner("node.k8s.io/v1", "RuntimeClass", "sandbox");
  sandbox["handler"] = "sandbox";
  sandbox["overhead"]["podFixed"] = {{"cpu", "250m"}, {"memory", "128Mi"}};
  sandbox["scheduling"]["nodeSelector"] = {{"sandbox", "true"}};
  before_.push_back({"/apis/node.k8s.io/v1/runtimeclasses", sandbox});
  json late = owner("storage.k8s.io/v1", "StorageClass", "late");
  late["provisioner"] = Provisioner::kName;
  late["volumeBindingMode"] = "WaitForFirstConsumer";
  before_.push_back({"/apis/storage.k8s.io/v1/storageclasses", late});
  json driver = owner("storage.k8s.io/v1", "CSIDriver", Provisioner::kName);
  driver["spec"]["attachRequired"] = false;
  before_.push_back({"/apis/storage.k8s.io/v1/csidrivers", driver});
  add_services();
  add_constrained();
  add_stateful();
  add_daemons();
  add_jobs();
  add_pods();
  add_gangs();
  // As teams do, all at once and in no order; the same one for each scheduler.
  std::mt19937 random(30);
  for (std::size_t i = work_.size(); i > 1; --i) std::swap(work_[i - 1], work_[random() % i]);
}

json& WholeWork::deployment(const std::string& name, int pods, const std::string& cpu) {
  json out = owner("apps/v1", "Deployment", name);
  out["spec"] = {{"replicas", pods}, {"selector", selector_of(name)}, {"template", pod_template(name, cpu)}};
  stay_[name] = pods;
  add(kDeployments, std::move(out));
  return work_.back().body;
}

void WholeWork::budget(const std::string& name, const json& most_unavailable) {
  json out = owner("policy/v1", "PodDisruptionBudget", name);
  out["spec"] = {{"maxUnavailable", most_unavailable}, {"selector", selector_of(name)}};
  before_.push_back({"/apis/policy/v1/namespaces/default/poddisruptionbudgets", out});
}

// Pods that want to be near or apart from others.
void WholeWork::add_services() {
  json even = spread("web", kZone, true);
  even["matchLabelKeys"] = json::array({"pod-template-hash"});
  deployment("web", 4 * part(cpu_, 1), "300m")["spec"]["template"]["spec"]["topologySpreadConstraints"] =
      json::array({even});
  budget("web", "10%");
  json& cache = deployment("cache", part(cpu_, 8), "500m")["spec"]["template"]["spec"];
  cache["affinity"]["podAntiAffinity"] = near_term("cache", kHost);
  cache["topologySpreadConstraints"] = json::array({spread("cache", kZone, false)});
  budget("cache", 1);
  deployment("near", 2 * part(cpu_, 1), "100m")["spec"]["template"]["spec"]["affinity"]["podAffinity"] =
      near_term("cache", kRack);
  json& edge = deployment("edge", part(cpu_, 6), "100m")["spec"]["template"]["spec"];
  edge["containers"][0]["ports"] = json::array({{{"containerPort", 8443}, {"hostPort", 8443}}});
  edge["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
      json::array({{{"matchExpressions", json::array({requirement("edge", "In", {"true"})})}}});
}

// Pods that want certain nodes, or more than their containers say.
void WholeWork::add_constrained() {
  json& ssd =
      deployment("ssd", part(cpu_, 2), "200m")["spec"]["template"]["spec"]["affinity"]["nodeAffinity"];
  ssd["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] = json::array(
      {{{"matchExpressions",
         json::array({requirement("disk", "In", {"ssd"}), requirement("generation", "Gt", {"2"})})}}});
  ssd["preferredDuringSchedulingIgnoredDuringExecution"] = json::array(
      {{{"weight", 10},
        {"preference", {{"matchExpressions", json::array({requirement(kZone, "In", {"z0"})})}}}}});
  json& batch = deployment("batch", kPodsOnBatchNode * part(batch_, 1), "1")["spec"]["template"]["spec"];
  batch["nodeSelector"] = {{"pool", "batch"}};
  batch["tolerations"] = tolerates("dedicated");
  json& full = deployment("full", kPodsOnFullNode * part(full_, 1), "650m")["spec"]["template"]["spec"];
  full["nodeSelector"] = {{"pool", "full"}};
  full["tolerations"] = tolerates("dedicated");
  json& aided = deployment("aided", part(cpu_, 4), "200m")["spec"]["template"]["spec"];
  aided["initContainers"] = json::array({container("aide", "100m"), container("first", "900m")});
  aided["initContainers"][0]["restartPolicy"] = "Always";
  deployment("sandbox", part(cpu_, 4), "200m")["spec"]["template"]["spec"]["runtimeClassName"] = "sandbox";
  json& level = deployment("level", part(cpu_, 4), "100m")["spec"]["template"]["spec"];
  level["resources"]["requests"] = {{"cpu", "600m"}, {"memory", "256Mi"}};
  deployment("important", part(cpu_, 2), "200m")["spec"]["template"]["spec"]["priorityClassName"] =
      "important";
  deployment("spare", part(cpu_, 4), "200m")["spec"]["template"]["spec"]["priorityClassName"] = "spare";
  json& infer = deployment("infer", 16 * part(gpu_, 10), "1")["spec"]["template"]["spec"];
  infer["containers"] = json::array({gpu_container("1", 1)});
  infer["tolerations"] = tolerates(kGpuTaint);
  json& render = deployment("render", 4 * part(gpu_, 10), "2")["spec"]["template"]["spec"];
  render["containers"] = json::array({gpu_container("2", 2)});
  render["tolerations"] = tolerates(kGpuTaint);
  json legacy = owner("v1", "ReplicationController", "legacy");
  stay_["legacy"] = part(cpu_, 4);
  legacy["spec"] = {{"replicas", stay_["legacy"]},
                    {"selector", {{kKindLabel, "legacy"}}},
                    {"template", pod_template("legacy", "200m")}};
  add("/api/v1/namespaces/default/replicationcontrollers", legacy);
}

json WholeWork::with_disks(const std::string& kind, int replicas) {
  json out = owner("apps/v1", "StatefulSet", kind);
  out["spec"] = {
      {"replicas", replicas},
      {"serviceName", kind},
      {"podManagementPolicy", "Parallel"},
      {"selector", selector_of(kind)},
      {"template", pod_template(kind, "300m")},
      {"volumeClaimTemplates", json::array({{{"metadata", {{"name", "data"}}}, {"spec", claim_spec()}}})}};
  return out;
}

void WholeWork::add_stateful() {
  stay_["db"] = part(cpu_, 4);
  json db = with_disks("db", stay_["db"]);
  db["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
    ["preferredDuringSchedulingIgnoredDuringExecution"] =
        json::array({{{"weight", 100},
                      {"podAffinityTerm", {{"labelSelector", selector_of("db")}, {"topologyKey", kHost}}}}});
  add(kStatefulSets, db);
  budget("db", 1);
  stay_["line"] = 3;
  json line = with_disks("line", 3);
  line["spec"]["podManagementPolicy"] = "OrderedReady";
  json even = spread("line", kZone, true);
  even["minDomains"] = 3;
  line["spec"]["template"]["spec"]["topologySpreadConstraints"] = json::array({even});
  add(kStatefulSets, line);
  deployment("scratch", part(cpu_, 8), "200m")["spec"]["template"]["spec"]["volumes"] = json::array(
      {{{"name", "scratch"}, {"ephemeral", {{"volumeClaimTemplate", {{"spec", claim_spec()}}}}}}});
}

void WholeWork::add_daemons() {
  json agent = owner("apps/v1", "DaemonSet", "agent");
  agent["spec"] = {{"selector", selector_of("agent")}, {"template", pod_template("agent", "50m")}};
  json& spec = agent["spec"]["template"]["spec"];
  spec["tolerations"] = json::array({{{"operator", "Exists"}}});
  spec["priorityClassName"] = "system-node-critical";
  spec["containers"][0]["ports"] = json::array({{{"containerPort", 9100}, {"hostPort", 9100}}});
  stay_["agent"] = part(nodes_, 1);
  before_.push_back({kDaemonSets, agent});
  json plugin = owner("apps/v1", "DaemonSet", "plugin");
  plugin["spec"] = {{"selector", selector_of("plugin")}, {"template", pod_template("plugin", "50m")}};
  plugin["spec"]["template"]["spec"]["nodeSelector"] = {{"pool", "gpu"}};
  plugin["spec"]["template"]["spec"]["tolerations"] = tolerates(kGpuTaint);
  stay_["plugin"] = part(gpu_, 1);
  before_.push_back({kDaemonSets, plugin});
}

void WholeWork::add_jobs() {
  const auto job = [](const std::string& name, const std::string& kind, int pods) {
    json out = owner("batch/v1", "Job", name);
    out["spec"] = {{"completions", pods}, {"parallelism", pods}, {"template", pod_template(kind, "500m")}};
    out["spec"]["template"]["spec"]["restartPolicy"] = "Never";
    return out;
  };
  constexpr int kIndexes = 6;
  end_["once"] = part(cpu_, 8);
  for (int i = 0; i < end_["once"]; ++i)
    add(fmt::format("{}jobs", kBatch), job(fmt::format("once-{}", i), "once", 1));
  const int sets = part(cpu_, 12);
  end_["indexed"] = sets * kIndexes;
  for (int i = 0; i < sets; ++i) {
    json indexed = job(fmt::format("indexed-{}", i), "indexed", kIndexes);
    indexed["spec"]["completionMode"] = "Indexed";
    indexed["spec"]["template"]["spec"]["topologySpreadConstraints"] =
        json::array({spread("indexed", kHost, false)});
    add(fmt::format("{}jobs", kBatch), indexed);
  }
  // Once, and not again before the test is over.
  json tick = owner("batch/v1", "CronJob", "tick");
  json of = job("", "tick", 2);
  tick["spec"] = {{"schedule", "0 0 1 1 *"}, {"jobTemplate", {{"spec", of["spec"]}}}};
  end_["tick"] = 2;
  add(fmt::format("{}cronjobs", kBatch), tick);
}

// Pods without a controller that makes them anew.
void WholeWork::add_pods() {
  const auto pod = [](const std::string& ns, const std::string& kind, int i) {
    json out = owner("v1", "Pod", fmt::format("{}-{}", kind, i));
    out["metadata"]["namespace"] = ns;
    out["metadata"]["labels"] = {{kKindLabel, kind}};
    out["spec"] = pod_template(kind, "200m")["spec"];
    return out;
  };
  stay_["bare"] = part(cpu_, 4);
  for (int i = 0; i < stay_["bare"]; ++i) add("/api/v1/namespaces/default/pods", pod("default", "bare", i));
  stay_["alone"] = 1;
  json claim = owner("v1", "PersistentVolumeClaim", "alone");
  claim["spec"] = claim_spec();
  claim["spec"]["accessModes"] = json::array({"ReadWriteOncePod"});
  before_.push_back({"/api/v1/namespaces/default/persistentvolumeclaims", claim});
  json alone = pod("default", "alone", 0);
  alone["spec"]["volumes"] =
      json::array({{{"name", "alone"}, {"persistentVolumeClaim", {{"claimName", "alone"}}}}});
  add("/api/v1/namespaces/default/pods", alone);
  json gated = pod("default", "gated", 0);
  gated["spec"]["schedulingGates"] = json::array({{{"name", "example.com/later"}}});
  add("/api/v1/namespaces/default/pods", gated);
  // As a kubelet shows its static pods to the API server.
  stay_["static"] = part(cpu_, 8);
  for (int i = 0; i < stay_["static"]; ++i) {
    json mirror = pod("kube-system", "static", i);
    mirror["metadata"]["annotations"] = {{"kubernetes.io/config.mirror", "mirror"},
                                         {"kubernetes.io/config.source", "file"}};
    mirror["spec"]["nodeName"] = fmt::format("cpu-{}", i);
    mirror["spec"]["tolerations"] = json::array({{{"operator", "Exists"}, {"effect", "NoExecute"}}});
    add("/api/v1/namespaces/kube-system/pods", mirror);
  }
}

// Each member takes all GPUs of a node.
void WholeWork::add_gangs() {
  const auto member = [this](const std::string& gang, const std::string& kind, int i, json labels) {
    json out = owner("v1", "Pod", fmt::format("{}-{}", gang, i));
    labels[kKindLabel] = kind;
    out["metadata"]["labels"] = std::move(labels);
    out["spec"] = {{"containers", json::array({gpu_container("8", 8)})},
                   {"tolerations", tolerates(kGpuTaint)}};
    ++stay_[kind];
    add("/api/v1/namespaces/default/pods", out);
  };
  for (int gang = 0; gang < part(gpu_, 10); ++gang) {
    const std::string ring = fmt::format("ring-{}", gang);
    json group = owner("scheduling.x-k8s.io/v1alpha1", "PodGroup", ring);
    group["spec"]["minMember"] = kRingMembers;
    before_.push_back({kGroups, group});
    for (int i = 0; i < kRingMembers; ++i) member(ring, "ring", i, {{"scheduling.x-k8s.io/pod-group", ring}});
    const std::string pair = fmt::format("pair-{}", gang);
    for (int i = 0; i < 2; ++i)
      member(pair, "pair", i, {{"berth.dev/gang", pair}, {"berth.dev/gang-size", "2"}});
  }
}

NodeShape WholeWork::shape(const std::string& pool, std::size_t first) {
  NodeShape out;
  out.name = pool;
  out.allocatable = {{"cpu", "8"}, {"memory", "64Gi"}, {"pods", "40"}, {"ephemeral-storage", "100Gi"}};
  if (pool == "gpu") {
    out.allocatable = {{"cpu", "64"}, {"memory", "512Gi"}, {"pods", "40"}, {"nvidia.com/gpu", "8"}};
    out.taints = {{kGpuTaint, "present"}};
  } else if (pool == "batch" || pool == "full") {
    out.taints = {{"dedicated", pool}};
  }
  out.labels = {{"pool", pool}};
  out.labels_of = [first](std::size_t i) {
    const std::size_t rack = (first + i) % kRacks;
    return Labels{{kRack, fmt::format("r{}", rack)},       {kZone, fmt::format("z{}", rack % 3)},
                  {"disk", i % 2 == 0 ? "ssd" : "hdd"},    {"generation", std::to_string(1 + i % 5)},
                  {"edge", i % 4 == 1 ? "true" : "false"}, {"sandbox", i % 2 == 1 ? "true" : "false"}};
  };
  return out;
}

Status WholeWork::make_node(TestCluster& cluster, const std::string& name) {
  NodeShape one = shape("cpu", 0);
  one.name = name;
  BERTH_TRY(cluster.create_nodes(1, one));
  return cluster.create_all("/apis/storage.k8s.io/v1/csinodes", {csi_node(name + "-0").dump()});
}

Status WholeWork::make_nodes(TestCluster& cluster) const {
  std::vector<std::string> attaches;
  std::size_t first = 0;
  for (const auto& [pool, count] :
       {std::pair{"cpu", cpu_}, {"gpu", gpu_}, {"batch", batch_}, {"full", full_}}) {
    BERTH_TRY(cluster.create_nodes(count, shape(pool, first)));
    first += count;
    for (std::size_t i = 0; i < count; ++i)
      attaches.push_back(csi_node(fmt::format("{}-{}", pool, i)).dump());
  }
  return cluster.create_all("/apis/storage.k8s.io/v1/csinodes", attaches);
}

Status WholeWork::make_kinds(TestCluster& cluster) {
  BERTH_TRY(cluster.apply(BERTH_SOURCE_DIR "/deploy/crds"));
  ApiClient api = cluster.client();
  for (int i = 0; i < 300 && !api.get(kGroups).ok(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return expect_ok(api.get(kGroups), "the kind of PodGroups");
}

Status WholeWork::make(TestCluster& cluster) const {
  constexpr unsigned kAtOnce = 4;
  ApiClient api = cluster.client();
  for (const Object& one : before_)
    BERTH_TRY(expect_ok(api.post(one.path, one.body.dump()), one.body["kind"].get<std::string>()));
  // Daemons are there before other work, as on nodes that have been up for a while. Later they would displace pods of full nodes.
  const auto daemons_run = [&] {
    const json sets = json::parse(api.get(kDaemonSets).body, nullptr, false);
    int ready = 0;
    for (const json& set : sets.value("items", json::array())) ready += set["status"].value("numberReady", 0);
    return ready == stay_.at("agent") + stay_.at("plugin");
  };
  for (int i = 0; i < 600 && !daemons_run(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  if (!daemons_run()) return fail(ErrorCode::kUnavailable, "the pods of the DaemonSets do not run");
  BERTH_TRY(for_each_parallel(
      cluster.endpoint(), work_.size(), kAtOnce, [&](ApiClient& client, std::size_t i) -> Status {
        return expect_ok(client.post(work_[i].path, work_[i].body.dump()),
                         fmt::format("{} {}", work_[i].body["kind"].get<std::string>(),
                                     work_[i].body["metadata"]["name"].get<std::string>()));
      }));
  // Its time has come: the controller looks when it ran last.
  return expect_ok(api.patch(fmt::format("{}cronjobs/tick/status", kBatch),
                             R"({"status":{"lastScheduleTime":"2020-06-01T00:00:00Z"}})"),
                   "the CronJob's last run");
}

}  // namespace berth::e2e

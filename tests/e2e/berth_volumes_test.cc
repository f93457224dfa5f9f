// Claims that wait for a pod (WaitForFirstConsumer), on a real API server with Kubernetes' own binder of claims. The test plays the
// provisioner: it makes a volume for the node that is written on a claim, or takes the node off. Or it plays the administrator, and makes
// local volumes beforehand.
#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

#include "e2e/berth_fixture.h"
#include "e2e/provisioner.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

constexpr char kClaims[] = "/api/v1/namespaces/default/persistentvolumeclaims";
constexpr char kVolumes[] = "/api/v1/persistentvolumes";
constexpr char kSelected[] = "volume.kubernetes.io/selected-node";

class BerthVolumes : public BerthTest {
 protected:
  void start_cluster(std::size_t nodes, const std::string& provisioner = Provisioner::kName,
                     bool binds = true) {
    start({.controller_manager = true,
           .kwok = true,
           .controller_manager_args =
               binds ? std::vector<std::string>{"--pvclaimbinder-sync-period=1s"}
                     : std::vector<std::string>{"--controllers=*,-persistentvolume-binder-controller"}});
    ASSERT_OK(cluster_->create_nodes(nodes));
    create("/apis/storage.k8s.io/v1/storageclasses", {{"apiVersion", "storage.k8s.io/v1"},
                                                      {"kind", "StorageClass"},
                                                      {"metadata", {{"name", "late"}}},
                                                      {"provisioner", provisioner},
                                                      {"volumeBindingMode", "WaitForFirstConsumer"}});
  }
  void TearDown() override {
    provisioner_.reset();
    BerthTest::TearDown();
  }
  void create(const std::string& path, const json& object) {
    const Reply reply = cluster_->client().post(path, object.dump());
    ASSERT_TRUE(reply.ok()) << reply.describe();
  }
  void claim(const std::string& name) {
    create(kClaims, {{"apiVersion", "v1"},
                     {"kind", "PersistentVolumeClaim"},
                     {"metadata", {{"name", name}}},
                     {"spec",
                      {{"storageClassName", "late"},
                       {"accessModes", json::array({"ReadWriteOnce"})},
                       {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}});
  }
  // Each pod mounts the claim of its name.
  void pods(const std::string& name, std::size_t count, const Labels& labels, int gpus) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string of = fmt::format("{}-{}", name, i);
      claim(of);
      PodShape shape;
      shape.name = name;
      shape.labels = labels;
      shape.requests = {{"cpu", "1"}, {kGpu, std::to_string(gpus)}};
      shape.extra_spec = R"("volumes":[{"name":"v","persistentVolumeClaim":{"claimName":")" + of + R"("}}],)";
      const Reply reply = cluster_->client().post("/api/v1/namespaces/default/pods", pod_json(shape, i));
      ASSERT_TRUE(reply.ok()) << reply.describe();
    }
  }
  // An administrator's volume on one node.
  void local_volume(const std::string& name, const std::string& node) {
    const json term = {{"matchExpressions", json::array({{{"key", "kubernetes.io/hostname"},
                                                          {"operator", "In"},
                                                          {"values", json::array({node})}}})}};
    create(kVolumes, {{"apiVersion", "v1"},
                      {"kind", "PersistentVolume"},
                      {"metadata", {{"name", name}}},
                      {"spec",
                       {{"capacity", {{"storage", "1Gi"}}},
                        {"accessModes", json::array({"ReadWriteOnce"})},
                        {"storageClassName", "late"},
                        {"persistentVolumeReclaimPolicy", "Retain"},
                        {"local", {{"path", "/mnt/" + name}}},
                        {"nodeAffinity", {{"required", {{"nodeSelectorTerms", json::array({term})}}}}}}}});
  }
  json object(const std::string& path) const {
    const json out = json::parse(cluster_->client().get(path).body, nullptr, false);
    return out.is_object() ? out : json::object();
  }
  // The claim that a volume is for, "default/name"; "": none.
  std::string claim_of(const std::string& volume) const {
    const json spec = object(fmt::format("{}/{}", kVolumes, volume)).value("spec", json::object());
    return spec.contains("claimRef") ? spec["claimRef"].value("name", "") : "";
  }
  std::string volume_of(const std::string& claim) const {
    return object(fmt::format("{}/{}", kClaims, claim)).value("spec", json::object()).value("volumeName", "");
  }
  // Each pod of the gang is on the node of its volume, which is "<node>-...".
  void expect_at_volumes(const std::vector<std::string>& names) const {
    std::set<std::string> volumes;
    for (const std::string& name : names) {
      const std::string volume = volume_of(name);
      EXPECT_TRUE(volumes.insert(volume).second) << volume;
      EXPECT_EQ(volume.substr(0, node_of(name).size()), node_of(name)) << name;
    }
  }
  // The node that is written on the claim; "": none.
  std::string selected(const std::string& name) const {
    const Reply reply = cluster_->client().get(fmt::format("{}/{}", kClaims, name));
    const json claim = json::parse(reply.body, nullptr, false);
    if (!claim.is_object()) return {};
    return claim["metadata"].value("annotations", json::object()).value(kSelected, "");
  }
  std::string node_of(const std::string& pod) const {
    const auto pods = observer_->pods();
    const auto it = pods.find("default/" + pod);
    return it == pods.end() ? "" : it->second.node;
  }

  // From now on the provisioner works. `refused`: nodes on which it makes no volumes.
  void start_provisioner(std::set<std::string> refused = {}) {
    provisioner_ = std::make_unique<Provisioner>(*cluster_, std::move(refused));
  }
  int refusals() const { return provisioner_->refusals(); }

 private:
  std::unique_ptr<Provisioner> provisioner_;
};

TEST_F(BerthVolumes, AGangIsBoundWhenAllItsVolumesAreMade) {
  start_cluster(3);
  ASSERT_NE(start_berth(), nullptr);
  pods("train", 4, gang("train", 4), 4);
  const std::string why = wait_for_reasons(names_of("train", 4), "Claim");
  EXPECT_NE(why.find("waits for its volumes: claim train-"), std::string::npos) << why;
  EXPECT_EQ(bound_by_gang()["default/train"], 0u);
  EXPECT_TRUE(eventually([&] {
    for (const std::string& name : names_of("train", 4)) {
      if (selected(name).empty()) return false;
    }
    return true;
  }));
  start_provisioner();
  ASSERT_TRUE(wait_bound(4)) << reasons_of_waiting();
  for (const std::string& name : names_of("train", 4)) EXPECT_EQ(node_of(name), selected(name)) << name;
  expect_clean();
}

TEST_F(BerthVolumes, ANodeThatTheProvisionerRefusesIsLeft) {
  start_cluster(3);
  ASSERT_NE(start_berth(), nullptr);
  start_provisioner({"node-0", "node-1"});
  pods("train", 2, gang("train", 2), 4);
  ASSERT_TRUE(wait_bound(2)) << reasons_of_waiting();
  for (const std::string& name : names_of("train", 2)) EXPECT_EQ(node_of(name), "node-2");
  EXPECT_GT(refusals(), 0) << "it was tried elsewhere before";
  expect_clean();
}

TEST_F(BerthVolumes, AWaitGoesOnAfterARestart) {
  start_cluster(3);
  Berth* const first = start_berth();
  ASSERT_NE(first, nullptr);
  pods("train", 3, gang("train", 3), 8);
  wait_for_reasons(names_of("train", 3), "Claim");
  std::map<std::string, std::string> before;
  EXPECT_TRUE(eventually([&] {
    for (const std::string& name : names_of("train", 3)) before[name] = selected(name);
    return std::all_of(before.begin(), before.end(), [](const auto& one) { return !one.second.empty(); });
  }));
  kill(*first);
  ASSERT_NE(start_berth({.name = "second"}), nullptr);
  start_provisioner();
  ASSERT_TRUE(wait_bound(3)) << reasons_of_waiting();
  for (const auto& [name, node] : before) EXPECT_EQ(node_of(name), node) << name;
  expect_clean();
}

TEST_F(BerthVolumes, AGangThatIsDeletedInTheMiddleLeavesItsRoom) {
  start_cluster(1);
  ASSERT_NE(start_berth(), nullptr);
  pods("train", 2, gang("train", 2), 4);
  wait_for_reasons(names_of("train", 2), "Claim");
  EXPECT_TRUE(cluster_->client().del("/api/v1/namespaces/default/pods/train-0").ok());
  ASSERT_OK(cluster_->create_pods(1, {.name = "other", .requests = {{"cpu", "1"}, {kGpu, "8"}}}));
  EXPECT_TRUE(wait_bound(1)) << reasons_of_waiting();
  EXPECT_EQ(node_of("other-0"), "node-0");
  EXPECT_EQ(node_of("train-1"), "");
  expect_clean();
}

// Their controller writes on the claims, too.
TEST_F(BerthVolumes, APodOfAStatefulSetStaysWhereItsVolumeIsMade) {
  start_cluster(6);
  ASSERT_NE(start_berth(), nullptr);
  start_provisioner();
  json set = {{"apiVersion", "apps/v1"}, {"kind", "StatefulSet"}, {"metadata", {{"name", "db"}}}};
  json& spec = set["spec"];
  spec = {{"replicas", 12},
          {"serviceName", "db"},
          {"podManagementPolicy", "Parallel"},
          {"selector", {{"matchLabels", {{"app", "db"}}}}}};
  spec["template"]["metadata"]["labels"] = {{"app", "db"}};
  spec["template"]["spec"] = {
      {"schedulerName", "berth"},
      {"containers",
       json::array({{{"name", "main"}, {"image", "image"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}})}};
  spec["volumeClaimTemplates"] = json::array({{{"metadata", {{"name", "data"}}},
                                               {"spec",
                                                {{"storageClassName", "late"},
                                                 {"accessModes", json::array({"ReadWriteOnce"})},
                                                 {"resources", {{"requests", {{"storage", "1Gi"}}}}}}}}});
  create("/apis/apps/v1/namespaces/default/statefulsets", set);
  ASSERT_TRUE(wait_bound(12)) << reasons_of_waiting();
  EXPECT_TRUE(lines_with(berths_.front().log, {"go back"}).empty())
      << lines_with(berths_.front().log, {"go back"});
  expect_clean();
}

constexpr char kByHand[] = "kubernetes.io/no-provisioner";

TEST_F(BerthVolumes, AGangIsBoundToLocalVolumesThatExist) {
  start_cluster(3, kByHand);
  for (const std::string volume : {"node-0-a", "node-1-a", "node-1-b", "node-2-a"})
    local_volume(volume, volume.substr(0, 6));
  ASSERT_NE(start_berth(), nullptr);
  pods("train", 4, gang("train", 4), 1);
  ASSERT_TRUE(wait_bound(4)) << reasons_of_waiting();
  expect_at_volumes(names_of("train", 4));
  expect_clean();
}

TEST_F(BerthVolumes, OfTwoPodsOneGetsTheLastVolumeAndTheOtherSaysWhy) {
  start_cluster(2, kByHand);
  local_volume("node-1-a", "node-1");
  ASSERT_NE(start_berth(), nullptr);
  pods("one", 2, {}, 1);
  ASSERT_TRUE(wait_bound(1)) << reasons_of_waiting();
  const std::string waits = node_of("one-0").empty() ? "one-0" : "one-1";
  EXPECT_EQ(node_of(waits == "one-0" ? "one-1" : "one-0"), "node-1");
  EXPECT_TRUE(eventually([&] {
    return reasons_of_waiting().find(fmt::format("claim {}, by the PersistentVolumes of late (on no node)",
                                                 waits)) != std::string::npos;
  })) << reasons_of_waiting();
  local_volume("node-0-a", "node-0");
  ASSERT_TRUE(wait_bound(2)) << reasons_of_waiting();
  EXPECT_EQ(node_of(waits), "node-0");
  expect_clean();
}

TEST_F(BerthVolumes, AClaimIsWrittenOnItsVolumeBeforeARestart) {
  start_cluster(3, kByHand, false);  // nothing binds the claims, nor says that volumes are available
  for (const std::string node : {"node-0", "node-1", "node-2"}) {
    local_volume(node + "-a", node);
    const json available = {{"status", {{"phase", "Available"}}}};
    EXPECT_TRUE(
        cluster_->client().patch(fmt::format("{}/{}-a/status", kVolumes, node), available.dump()).ok());
  }
  Berth* const first = start_berth();
  ASSERT_NE(first, nullptr);
  pods("train", 3, gang("train", 3), 1);
  const std::string why = wait_for_reasons(names_of("train", 3), "Claim");
  EXPECT_NE(why.find("waits for its volumes: claim train-"), std::string::npos) << why;
  std::map<std::string, std::string> before;
  EXPECT_TRUE(eventually([&] {
    for (const std::string node : {"node-0", "node-1", "node-2"}) before[node] = claim_of(node + "-a");
    return std::all_of(before.begin(), before.end(), [](const auto& one) { return !one.second.empty(); });
  }));
  EXPECT_EQ(bound_by_gang()["default/train"], 0u);
  kill(*first);
  ASSERT_NE(start_berth({.name = "second"}), nullptr);
  const std::string still = wait_for_reasons(names_of("train", 3), "Claim");
  EXPECT_NE(still.find("is being bound to PersistentVolume node-"), std::string::npos) << still;
  // The binder of claims comes back.
  for (const auto& [node, name] : before) {
    const json bind = {{"metadata", {{"annotations", {{"pv.kubernetes.io/bind-completed", "yes"}}}}},
                       {"spec", {{"volumeName", node + "-a"}}}};
    EXPECT_TRUE(cluster_->client().patch(fmt::format("{}/{}", kClaims, name), bind.dump()).ok());
  }
  ASSERT_TRUE(wait_bound(3)) << reasons_of_waiting();
  for (const auto& [node, name] : before) EXPECT_EQ(node_of(name), node);
  expect_clean();
}

TEST_F(BerthVolumes, AnExistingVolumeIsTakenBeforeOneIsMade) {
  start_cluster(1);
  local_volume("node-0-a", "node-0");
  ASSERT_NE(start_berth(), nullptr);
  start_provisioner();
  pods("one", 2, {}, 1);
  ASSERT_TRUE(wait_bound(2)) << reasons_of_waiting();
  EXPECT_TRUE(volume_of("one-0") == "node-0-a" || volume_of("one-1") == "node-0-a");
  EXPECT_TRUE(volume_of("one-0").starts_with("pvc-") || volume_of("one-1").starts_with("pvc-"));
  expect_clean();
}

TEST_F(BerthVolumes, APodThatIsDeletedLeavesItsClaimTheVolume) {
  start_cluster(2, kByHand);
  local_volume("node-1-a", "node-1");
  ASSERT_NE(start_berth(), nullptr);
  pods("train", 2, gang("train", 2), 1);  // the second claim finds nothing
  const std::string why = wait_for_reasons(names_of("train", 2), "Unschedulable");
  EXPECT_NE(why.find("StorageClass late"), std::string::npos) << why;
  EXPECT_EQ(claim_of("node-1-a"), "") << "a gang that is not whole takes nothing";
  EXPECT_TRUE(cluster_->client().del("/api/v1/namespaces/default/pods/train-1").ok());
  pods("one", 1, {}, 1);
  ASSERT_TRUE(wait_bound(1)) << reasons_of_waiting();
  EXPECT_EQ(node_of("one-0"), "node-1");
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

#include "e2e/provisioner.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace berth::e2e {

using nlohmann::json;

namespace {
constexpr char kSelected[] = "volume.kubernetes.io/selected-node";
}  // namespace

Provisioner::Provisioner(TestCluster& cluster, std::set<std::string> refused, std::string reach)
    : cluster_(cluster), refused_(std::move(refused)), reach_(std::move(reach)), thread_([this] {
        ApiClient client = cluster_.client();
        while (!stop_) {
          look(client);
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
      }) {}

Provisioner::~Provisioner() {
  stop_ = true;
  thread_.join();
}

void Provisioner::look(ApiClient& client) {
  const json all = json::parse(client.get("/api/v1/persistentvolumeclaims").body, nullptr, false);
  if (!all.is_object() || !all.contains("items")) return;
  for (const json& claim : all["items"]) {
    const std::string node = claim["metadata"].value("annotations", json::object()).value(kSelected, "");
    if (node.empty() || claim["spec"].contains("volumeName") || made_.contains(claim["metadata"]["uid"]))
      continue;
    provision(client, claim);
  }
}

void Provisioner::provision(ApiClient& client, const json& claim) {
  const json& meta = claim["metadata"];
  const std::string node = meta["annotations"][kSelected];
  const std::string uid = meta["uid"];
  const std::string ns = meta["namespace"];
  const std::string name = meta["name"];
  if (refused_.contains(node)) {
    const json patch = {
        {"metadata",
         {{"resourceVersion", meta["resourceVersion"]}, {"annotations", {{kSelected, nullptr}}}}}};
    if (client.patch(fmt::format("/api/v1/namespaces/{}/persistentvolumeclaims/{}", ns, name), patch.dump())
            .ok())
      ++refusals_;
    return;
  }
  const json seen = json::parse(client.get("/api/v1/nodes/" + node).body, nullptr, false);
  if (!seen.is_object() || seen["metadata"].value("name", "") != node) return;  // it has left
  const json term = {{"matchExpressions",
                      json::array({{{"key", reach_},
                                    {"operator", "In"},
                                    {"values", json::array({seen["metadata"]["labels"].at(reach_)})}}})}};
  json volume = {{"apiVersion", "v1"}, {"kind", "PersistentVolume"}};
  volume["metadata"] = {{"name", "pvc-" + uid},
                        {"annotations", {{"pv.kubernetes.io/provisioned-by", kName}}}};
  volume["spec"] = {{"capacity", {{"storage", "1Gi"}}},
                    {"accessModes", claim["spec"]["accessModes"]},
                    {"storageClassName", claim["spec"]["storageClassName"]},
                    {"persistentVolumeReclaimPolicy", "Retain"},
                    {"csi", {{"driver", kName}, {"volumeHandle", uid}}},
                    {"claimRef",
                     {{"apiVersion", "v1"},
                      {"kind", "PersistentVolumeClaim"},
                      {"namespace", ns},
                      {"name", name},
                      {"uid", uid}}},
                    {"nodeAffinity", {{"required", {{"nodeSelectorTerms", json::array({term})}}}}}};
  if (client.post("/api/v1/persistentvolumes", volume.dump()).ok()) made_.insert(uid);
}

}  // namespace berth::e2e

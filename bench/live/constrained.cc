#include "constrained.h"

#include <fmt/format.h>

namespace berth::bench {
namespace {

constexpr std::size_t kZones = 3;
constexpr std::size_t kApp = 100;
constexpr std::size_t kApart = 37;  // so that apps begin on different nodes

std::string terms_of(Constraint kind, const std::string& app, const std::string& claim) {
  const std::string selector = fmt::format(R"("labelSelector":{{"matchLabels":{{"app":"{}"}}}})", app);
  switch (kind) {
    case Constraint::kNone:
      return "";
    case Constraint::kAffinity:
      return fmt::format(
          R"("affinity":{{"podAntiAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{{{0},"topologyKey":"kubernetes.io/hostname"}}]}},)"
          R"("podAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":[{{{0},"topologyKey":"topology.kubernetes.io/zone"}}]}}}},)",
          selector);
    case Constraint::kSpread:
      return fmt::format(
          R"("topologySpreadConstraints":[{{{0},"topologyKey":"topology.kubernetes.io/zone","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"}},)"
          R"({{{0},"topologyKey":"kubernetes.io/hostname","maxSkew":2,"whenUnsatisfiable":"DoNotSchedule"}}],)",
          selector);
    case Constraint::kVolume:
      return fmt::format(R"("volumes":[{{"name":"data","persistentVolumeClaim":{{"claimName":"{}"}}}}],)",
                         claim);
  }
  return "";
}

std::string volume_json(const std::string& name, std::size_t zone) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"PersistentVolume","metadata":{{"name":"{0}"}},"spec":{{"capacity":{{"storage":"1Gi"}},)"
      R"("accessModes":["ReadWriteOnce"],"storageClassName":"zonal","csi":{{"driver":"disk.example.com","volumeHandle":"{0}"}},)"
      R"("claimRef":{{"namespace":"default","name":"{0}"}},"nodeAffinity":{{"required":{{"nodeSelectorTerms":[{{"matchExpressions":)"
      R"([{{"key":"topology.kubernetes.io/zone","operator":"In","values":["zone-{1}"]}}]}}]}}}}}}}})",
      name, zone);
}

std::string claim_json(const std::string& name) {
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{{"name":"{0}","annotations":)"
      R"({{"pv.kubernetes.io/bind-completed":"yes"}}}},"spec":{{"accessModes":["ReadWriteOnce"],"storageClassName":"zonal",)"
      R"("volumeName":"{0}","resources":{{"requests":{{"storage":"1Gi"}}}}}}}})",
      name);
}

}  // namespace

e2e::NodeShape nodes_in_zones() {
  e2e::NodeShape out;
  out.labels_of = [](std::size_t i) {
    return e2e::Labels{{"topology.kubernetes.io/zone", fmt::format("zone-{}", i % kZones)}};
  };
  return out;
}

ConstrainedPods constrained_pods(Constraint kind, const e2e::PodShape& base, std::size_t count,
                                 std::size_t nodes) {
  ConstrainedPods out;
  const std::size_t in_a_zone = nodes / kZones;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t app = i / kApp;
    e2e::PodShape pod = base;
    const std::string name = fmt::format("{}-{}", pod.name, i);
    const std::string label = fmt::format("{}-app-{}", pod.name, app);
    pod.requests = {{"cpu", "1"}, {"memory", "1Gi"}};
    pod.labels.emplace_back("app", label);
    pod.extra_spec = terms_of(kind, label, name);
    const std::size_t zone = kind == Constraint::kSpread ? i % kZones : app % kZones;
    const std::size_t turn = kind == Constraint::kSpread ? i % kApp / kZones : i % kApp;
    if (nodes > 0) pod.node = fmt::format("node-{}", zone + kZones * ((app * kApart + turn) % in_a_zone));
    if (kind == Constraint::kVolume) {
      out.volumes.push_back(volume_json(name, zone));
      out.claims.push_back(claim_json(name));
    }
    out.pods.push_back(e2e::pod_json(pod, i));
    out.names.push_back(name);
  }
  return out;
}

Status create(e2e::TestCluster& cluster, const ConstrainedPods& all) {
  BERTH_TRY(cluster.create_all("/api/v1/persistentvolumes", all.volumes));
  BERTH_TRY(cluster.create_all("/api/v1/namespaces/default/persistentvolumeclaims", all.claims));
  return cluster.create_all("/api/v1/namespaces/default/pods", all.pods);
}

}  // namespace berth::bench

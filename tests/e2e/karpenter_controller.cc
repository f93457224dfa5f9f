#include "e2e/karpenter_controller.h"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "e2e/files.h"
#include "e2e/project_controller.h"

namespace berth::e2e {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPools = "/apis/karpenter.sh/v1/nodepools";
constexpr const char* kClasses = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses";

// One machine with eight GPUs.
constexpr const char* kMachines = R"([{"name": "g-64x-amd64-linux", "architecture": "amd64",
  "operatingSystems": ["linux"],
  "resources": {"cpu": "64", "memory": "512Gi", "ephemeral-storage": "100Gi", "pods": "110", "nvidia.com/gpu": "8"},
  "offerings": [{"Price": 1, "Available": true, "Requirements": [
    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["test-zone-a"]}]}]}])";

constexpr const char* kClass = R"({{"apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": "KWOKNodeClass",
  "metadata": {{"name": "default"}}, "spec": {{"nodeRegistrationDelay": "{}s"}}}})";

constexpr const char* kPool =
    R"({{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {{"name": "gpu"}},
  "spec": {{"limits": {{"nvidia.com/gpu": "{}"}},
    "disruption": {{"consolidationPolicy": "WhenEmpty", "consolidateAfter": "{}", "budgets": [{{"nodes": "100%"}}]}},
    "template": {{"spec": {{"expireAfter": "Never",
      "nodeClassRef": {{"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}},
      "requirements": [{{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}}]}}}}}}}})";

}  // namespace

Status KarpenterController::make_pool(const KarpenterPool& pool) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  const auto made = [&](const char* path, const std::string& body) {
    while (std::chrono::steady_clock::now() < end) {
      if (cluster_.client().post(path, body).ok()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  };
  if (!made(kClasses, fmt::format(fmt::runtime(kClass), pool.comes_after_s)) ||
      !made(kPools, fmt::format(fmt::runtime(kPool), pool.gpus, pool.gone_after)))
    return fail(ErrorCode::kUnavailable, "Karpenter's kinds are not served");
  return {};
}

Status KarpenterController::start(const KarpenterPool& pool) {
  std::error_code ignored;
  fs::create_directories(place(""), ignored);
  const std::string built = ProjectController::folder("karpenter");
  BERTH_TRY(cluster_.apply(built + "/manifests.yaml"));
  BERTH_TRY(write_text(place("machines.json"), kMachines));
  BERTH_TRY(make_pool(pool));
  BERTH_ASSIGN(const int metrics, free_port());
  BERTH_ASSIGN(const int health, free_port());
  BERTH_ASSIGN(process_, Process::start({.argv = {built + "/karpenter"},
                                         .log = cluster_.log("karpenter"),
                                         .env = {{"KUBECONFIG", cluster_.kubeconfig()},
                                                 {"DISABLE_LEADER_ELECTION", "true"},
                                                 {"METRICS_PORT", std::to_string(metrics)},
                                                 {"HEALTH_PROBE_PORT", std::to_string(health)},
                                                 {"SYSTEM_NAMESPACE", "kube-system"},
                                                 {"INSTANCE_TYPES_FILE_PATH", place("machines.json")}}}));
  return {};
}

}  // namespace berth::e2e

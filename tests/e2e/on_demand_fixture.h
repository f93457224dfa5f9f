// A cluster without nodes, and two queues whose nodes come on demand.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "e2e/karpenter_controller.h"
#include "e2e/kinds_fixture.h"

namespace berth::e2e {

inline constexpr const char* kAllNodes = "/api/v1/nodes";
inline constexpr const char* kNodePools = "/apis/karpenter.sh/v1/nodepools";
inline constexpr const char* kNodeClaims = "/apis/karpenter.sh/v1/nodeclaims";

class BerthOnDemand : public WorkloadsTest {
 protected:
  // No nodes, and two queues whose nodes come on demand.
  void start_without_nodes(int gpus) {
    start_with_queue(gpus, 86'400'000);
    EXPECT_TRUE(cluster_->client().del(std::string(kAllNodes) + "/node-0").ok());
    let_nodes_come();
  }
  // Makes the second queue, like the first.
  void let_nodes_come() {
    json queue = get(std::string(kGroup) + "/clusterqueues/cq");
    queue["metadata"] = {{"name", "cq-2"}, {"annotations", {{"berth.dev/nodes", "on-demand"}}}};
    queue.erase("status");
    create(std::string(kGroup) + "/clusterqueues", queue);
    create(std::string(kGroup) + "/namespaces/default/localqueues", json::parse(R"({
      "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "other"},
      "spec": {"clusterQueue": "cq-2"}})"));
    patch(std::string(kGroup) + "/clusterqueues/cq",
          {{"metadata", {{"annotations", {{"berth.dev/nodes", "on-demand"}}}}}});
  }
  std::size_t count(const std::string& job, bool bound) const {
    std::size_t out = 0;
    for (const auto& [key, pod] : observer_->pods())
      out += key.starts_with("default/" + job + "-") && (!bound || !pod.node.empty()) ? 1 : 0;
    return out;
  }
  bool all_ask(const std::string& job, std::size_t pods) const {
    std::size_t out = 0;
    for (const auto& [key, pod] : observer_->pods())
      out += key.starts_with("default/" + job + "-") && pod.scheduled_reason == "Unschedulable" ? 1 : 0;
    return out == pods;
  }
  std::size_t items(const char* path) const {
    const json list = get(path);
    return list.is_object() ? list["items"].size() : 0;
  }
  void start_karpenter(const KarpenterPool& pool, int quota = 64) {
    need_controllers({"karpenter"});
    if (IsSkipped() || HasFatalFailure()) return;
    start_without_nodes(quota);
    karpenter_ = std::make_unique<KarpenterController>(*cluster_);
    ASSERT_OK(karpenter_->start(pool));
  }
  std::unique_ptr<KarpenterController> karpenter_;
};

}  // namespace berth::e2e

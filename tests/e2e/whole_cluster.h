// A mixed cluster and the work of a real one: some twenty kinds of owners and constraints that meet on the same nodes. The same objects
// for each scheduler, in one mixed order.
//
//   const WholeWork work(40);                 // 40 nodes; about nine pods for each of them
//   ASSERT_OK(work.make_nodes(*cluster));
//   ASSERT_OK(work.make(*cluster));           // each pod says to which kind it belongs: label kKindLabel
//   for (const auto& [kind, pods] : work.stay()) ...
//
// Nodes lie in eight racks of three zones. "gpu" nodes have eight GPUs and a taint, "batch" and "full" nodes taints of their own, and
// "cpu" nodes none. Pods of "full" leave no room for one more on theirs.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "e2e/cluster.h"

namespace berth::e2e {

class WholeWork {
 public:
  static constexpr const char* kKindLabel = "whole";
  static constexpr const char* kZone = "topology.kubernetes.io/zone";
  static constexpr const char* kRack = "topology.kubernetes.io/rack";
  static constexpr const char* kDeployments = "/apis/apps/v1/namespaces/default/deployments";
  static constexpr const char* kStatefulSets = "/apis/apps/v1/namespaces/default/statefulsets";
  static constexpr int kRingMembers = 4;  // of a gang of coscheduling's PodGroups

  // `nodes`: 24 at least.
  explicit WholeWork(std::size_t nodes);

  Status make_nodes(TestCluster& cluster) const;
  // A further node of the kind "cpu": "NAME-0".
  static Status make_node(TestCluster& cluster, const std::string& name);
  // Classes, groups, budgets and DaemonSets. When those run, the other work. A scheduler must run already.
  Status make(TestCluster& cluster) const;
  // A StatefulSet whose pods come at once, each with a claim that waits for its pod.
  static nlohmann::json with_disks(const std::string& kind, int replicas);
  // The kinds that the work has beside Kubernetes' own; waits until they are served.
  static Status make_kinds(TestCluster& cluster);

  std::size_t nodes() const { return nodes_; }
  // Pods that run until they are deleted, by kind; and pods that run to their end.
  const std::map<std::string, int>& stay() const { return stay_; }
  const std::map<std::string, int>& end() const { return end_; }
  // Kinds whose pods take a whole GPU node each.
  static bool takes_a_node(const std::string& kind) { return kind == "ring" || kind == "pair"; }

 private:
  struct Object {
    std::string path;
    nlohmann::json body;
  };
  void add_services();
  void add_constrained();
  void add_stateful();
  void add_daemons();
  void add_jobs();
  void add_pods();
  void add_gangs();
  void add(const std::string& path, nlohmann::json body) { work_.push_back({path, std::move(body)}); }
  // `pods` of the kind `name`, made by a Deployment. Returns it, to be filled in.
  nlohmann::json& deployment(const std::string& name, int pods, const std::string& cpu);
  void budget(const std::string& name, const nlohmann::json& most_unavailable);
  // A pool of nodes, before which so many others are.
  static NodeShape shape(const std::string& pool, std::size_t first);

  std::size_t nodes_, gpu_, full_, batch_, cpu_;
  std::vector<Object> before_, work_;
  std::map<std::string, int> stay_, end_;
};

}  // namespace berth::e2e

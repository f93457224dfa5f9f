// The test's own provisioner of volumes (WaitForFirstConsumer): it makes a volume for the node that is written on a claim, or takes the node off.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>

#include "e2e/cluster.h"

namespace berth::e2e {

class Provisioner {
 public:
  static constexpr const char* kName = "disks.example.com";  // of its storage classes

  // Works from now on. `refused`: nodes on which it makes no volumes. `reach`: the label of nodes that share a volume; by default each
  // node has its own.
  explicit Provisioner(TestCluster& cluster, std::set<std::string> refused = {},
                       std::string reach = "kubernetes.io/hostname");
  ~Provisioner();
  Provisioner(const Provisioner&) = delete;
  Provisioner& operator=(const Provisioner&) = delete;

  int refusals() const { return refusals_; }

 private:
  void look(ApiClient& client);
  void provision(ApiClient& client, const nlohmann::json& claim);

  TestCluster& cluster_;
  const std::set<std::string> refused_;
  const std::string reach_;
  std::set<std::string> made_;
  std::atomic<bool> stop_{false};
  std::atomic<int> refusals_{0};
  std::thread thread_;
};

}  // namespace berth::e2e

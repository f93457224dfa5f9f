// A cluster in this process (tests/kube) with a kubeconfig, for commands that ask one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/ask/cluster.h"
#include "kube/fake_api_server_support.h"

namespace berth::cli::testing {

using kube::testing::FakeApiServer;
using kube::testing::FakeKind;
using kube::testing::FakeOptions;
using kube::testing::Json;

// All that Berth reads, and what a test adds.
FakeOptions all_kinds();

class FakeCluster {
 public:
  explicit FakeCluster(FakeOptions options = all_kinds());
  ~FakeCluster();
  FakeCluster(const FakeCluster&) = delete;
  FakeCluster& operator=(const FakeCluster&) = delete;

  FakeApiServer& api() { return api_; }
  // In namespace `ns`; "*": all of them.
  ClusterFlags flags(const std::string& ns = "team-a") const;
  Cluster connected(const std::string& ns = "team-a") const;

  void add_node(const std::string& name, int gpus, Json labels = Json::object());
  // A pod of Berth's with one container. `why`: what Berth has said of it ("" = nothing), with the word `reason`.
  Json add_pod(const std::string& name, int gpus, const std::string& node, const std::string& reason = {},
               const std::string& why = {}, Json labels = Json::object());
  // A Job that waits suspended, of a queue.
  Json add_job(const std::string& name, int pods, int gpus, const std::string& queue);
  void add_event(const std::string& reason, const Json& about, const std::string& note,
                 const std::string& time, const std::string& ns = "team-a");
  void add_queue(const std::string& name, const Json& spec, const Json& status = nullptr);
  // Requests with this in their target are refused.
  void refuse(const std::string& part);

 private:
  FakeApiServer api_;
  std::string folder_;
};

}  // namespace berth::cli::testing

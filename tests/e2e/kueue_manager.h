// Kueue itself beside a test cluster: its manager as its users have it, unchanged, with the manifests, rights and certificates
// that are its own. `scripts/kueue-oracle manager` builds it once; BERTH_KUEUE_MANAGER says where it is.
//
//   KueueManager kueue(*cluster);
//   kueue.install();                 // what `kubectl apply` of a release does
//   kueue.start({"team-b"});         // decides about all namespaces but this one
//
// In a cluster the API server finds Kueue's webhooks by their Service, and the kubelet lays the Secret with the certificate that
// Kueue makes for them into a folder. Here the Service is an ExternalName for 127.0.0.1, so that this certificate counts as it is,
// and start() plays the kubelet. Left out: the Deployment, and Kueue's visibility API, which would listen on every address.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "e2e/cluster.h"
#include "e2e/process.h"

namespace berth::e2e {

struct KueueOptions {
  std::vector<std::string> left_alone;  // namespaces that managedJobsNamespaceSelector leaves out
  int ready_within_s = 0;               // of waitForPodsReady; 0: it is off
  std::vector<std::string> frameworks = {"batch/job", "pod"};
  bool unlimited = false;  // no limit of its requests, and the concurrency of a release's configuration
};

class KueueManager {
 public:
  // The value of BERTH_KUEUE_MANAGER; empty: none.
  static std::string program();

  explicit KueueManager(TestCluster& cluster) : cluster_(cluster) {}

  // Also puts back what was deleted of it.
  Status install();
  // Returns when its webhooks answer and it holds its lease.
  Status start(const KueueOptions& options = {});
  Process& process() { return process_; }
  std::string log() const { return cluster_.log("kueue"); }
  // As when its Deployment is scaled to none: it gives its lease back.
  Status stop();
  Status delete_webhook_configurations();

 private:
  Status configure(const KueueOptions& options);
  Status choose_ports();
  // Whether the certificate is there, which Kueue makes when it starts for the first time.
  bool lay_certificate();
  bool holds_lease();
  std::string folder() const { return (cluster_.folder() / "kueue").string(); }

  TestCluster& cluster_;
  Process process_;
  std::string kubeconfig_;
  int webhook_port_ = 0;
  int health_port_ = 0;
};

// The documents of a file of YAML that have none of these lines ("kind: Deployment").
std::string documents_without(const std::string& yaml, const std::vector<std::string>& lines);

}  // namespace berth::e2e

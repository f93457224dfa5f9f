// The controller of JobSet beside a test cluster, unchanged, with the manifests and webhooks of its project. `scripts/controllers build
// jobset` builds it once.
//
//   JobSetController jobset(*cluster);
//   ASSERT_OK(jobset.start());          // its CRD, its rights and its webhooks are there, and it answers
//
// In a cluster its webhooks are found by their Service; here by a URL, with a certificate of the test's own. Left out: its Deployment.
#pragma once

#include <string>

#include "base/result.h"
#include "e2e/cluster.h"
#include "e2e/process.h"

namespace berth::e2e {

class JobSetController {
 public:
  // The folder of the built program; empty: it is not built.
  static std::string folder();
  // The name of its service account, as the API server sees it.
  static constexpr const char* kUser = "system:serviceaccount:jobset-system:jobset-controller-manager";

  explicit JobSetController(TestCluster& cluster) : cluster_(cluster) {}
  Status start();

 private:
  Status install();
  Status configure();
  std::string place(const std::string& file) const { return (cluster_.folder() / "jobset" / file).string(); }

  TestCluster& cluster_;
  Process process_;
  int webhook_port_ = 0;
  int health_port_ = 0;
};

}  // namespace berth::e2e

// Karpenter with its KWOK provider beside a test cluster, unchanged: it makes nodes for pods that say Unschedulable, and KWOK makes them
// Ready. `scripts/controllers build karpenter` builds it once.
//
//   KarpenterController karpenter(*cluster);
//   ASSERT_OK(karpenter.start({.gpus = "48"}));   // one NodePool "gpu", whose nodes have 8 nvidia.com/gpu, with this limit of them
#pragma once

#include <string>

#include "base/result.h"
#include "e2e/cluster.h"
#include "e2e/process.h"

namespace berth::e2e {

struct KarpenterPool {
  std::string gpus;                  // spec.limits
  std::string gone_after = "Never";  // a node without pods goes after this time ("20s")
  int comes_after_s = 0;             // from the order of a node until it registers
};

class KarpenterController {
 public:
  explicit KarpenterController(TestCluster& cluster) : cluster_(cluster) {}
  Status start(const KarpenterPool& pool);

 private:
  std::string place(const std::string& file) const {
    return (cluster_.folder() / "karpenter" / file).string();
  }
  Status make_pool(const KarpenterPool& pool);

  TestCluster& cluster_;
  Process process_;
};

}  // namespace berth::e2e

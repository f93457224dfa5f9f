// Karpenter with its KWOK provider beside a test cluster, unchanged: it makes nodes for pods that say Unschedulable, and KWOK makes them
// Ready. `scripts/controllers build karpenter` builds it once.
//
//   KarpenterController karpenter(*cluster);
//   ASSERT_OK(karpenter.start("48"));   // one NodePool "gpu", whose nodes have 8 nvidia.com/gpu, with this limit of them
#pragma once

#include <string>

#include "base/result.h"
#include "e2e/cluster.h"
#include "e2e/process.h"

namespace berth::e2e {

class KarpenterController {
 public:
  explicit KarpenterController(TestCluster& cluster) : cluster_(cluster) {}
  Status start(const std::string& gpus);

 private:
  std::string place(const std::string& file) const {
    return (cluster_.folder() / "karpenter" / file).string();
  }
  Status make_pool(const std::string& gpus);

  TestCluster& cluster_;
  Process process_;
};

}  // namespace berth::e2e

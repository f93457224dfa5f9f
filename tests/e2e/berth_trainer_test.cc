// TrainJobs with Kubeflow Trainer (v2), which makes JobSets of them.
//   scripts/controllers build jobset trainer && build/release/tests/e2e/test_e2e --gtest_filter='BerthTrainer.*'
#include <string>
#include <vector>

#include "e2e/judged_kinds.h"

namespace berth::e2e {
namespace {

class BerthTrainer : public KindsTest {
 protected:
  std::vector<std::string> controllers() const override { return {"jobset", "trainer"}; }
  // One for each priority: a TrainJob has no field for that of its pods.
  void create_runtimes(const std::string& claim = "") {
    for (const char* name : {"low", "high"}) {
      json pod = spec_of_pod(name, "node");
      if (!claim.empty()) pod = with_data(pod, claim);
      create("/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes", torch_runtime(name, pod));
    }
  }
  int restarts(const std::string& name) const {
    const json found = get("/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/" + name);
    return found.is_object() ? found.value("status", json::object()).value("restarts", 0) : 0;
  }
};

TEST_F(BerthTrainer, ATrainJobWaitsStartsWholeIsDisplacedWholeAndFinishes) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(3));
  create_runtimes();
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(train(2));
}

TEST_F(BerthTrainer, ATrainJobOfProductionDoesTheSame) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(6));
  create_claim("data");
  create_runtimes("data");
  ASSERT_NE(start_berth(), nullptr);
  JudgedKind kind = train(4);
  kind.well = [this, well = kind.well](const json& o) {
    return well(o) && restarts(o["metadata"]["name"].get<std::string>()) == 0;
  };
  expect_whole_life(kind);
}

}  // namespace
}  // namespace berth::e2e

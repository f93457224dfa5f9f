// Jobs of Kubeflow's training-operator (v1) with the operator itself: PyTorchJob, TFJob, XGBoostJob, PaddleJob, JAXJob.
//   scripts/controllers build training && build/release/tests/e2e/test_e2e --gtest_filter='BerthTraining.*'
#include <string>
#include <vector>

#include "e2e/judged_kinds.h"

namespace berth::e2e {
namespace {

class BerthTraining : public KindsTest {
 protected:
  std::vector<std::string> controllers() const override { return {"training"}; }
};

const Framework kPyTorch = {"PyTorchJob", "pytorchReplicaSpecs", "pytorch", {{"Master", 1}, {"Worker", 1}}};

TEST_F(BerthTraining, APyTorchJobWaitsStartsWholeIsDisplacedWholeAndFinishes) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(3));
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(training(kPyTorch));
}

// Its operator adds init containers of its own to the workers, beside those of the user.
TEST_F(BerthTraining, APyTorchJobOfProductionDoesTheSame) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(7));
  create_claim("data");
  ASSERT_NE(start_berth(), nullptr);
  Framework large = kPyTorch;
  large.roles[1].pods = 4;
  large.ends = "-master-";  // the operator ends the workers
  expect_whole_life(training(large, "data"));
}

// Suspended it waits for all workers. Not suspended it starts with two of four where there is no room for more, and the others join it.
TEST_F(BerthTraining, AnElasticPyTorchJobStartsWithItsLeastWorkers) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(3));
  ASSERT_NE(start_berth(), nullptr);
  JudgedKind kind = training({"PyTorchJob", "pytorchReplicaSpecs", "pytorch", {{"Worker", 4}}});
  json body = kind.body("wide", "low");
  body["spec"]["runPolicy"]["suspend"] = false;
  body["spec"]["elasticPolicy"] = {{"minReplicas", 2}, {"maxReplicas", 4}, {"rdzvBackend", "c10d"}};
  create(kind.path, body);
  EXPECT_TRUE(eventually([&] { return occupying("wide") == 3; })) << said(kind, "wide");
  grant(4);
  expect_runs(kind, "wide");
  expect_finishes(kind, "wide");
  expect_clean();
}

TEST_F(BerthTraining, EachFrameworkWaitsStartsWholeIsDisplacedWholeAndFinishes) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(3));
  ASSERT_NE(start_berth(), nullptr);
  const std::vector<Framework> frameworks = {
      {"JAXJob", "jaxReplicaSpecs", "jax", {{"Worker", 2}}},
      {"PaddleJob", "paddleReplicaSpecs", "paddle", {{"Worker", 2}}},
      {"XGBoostJob", "xgbReplicaSpecs", "xgboost", {{"Master", 1}, {"Worker", 2}}},
      {"TFJob", "tfReplicaSpecs", "tensorflow", {{"Chief", 1}, {"PS", 1}, {"Worker", 2}, {"Evaluator", 1}}},
  };
  for (const auto& framework : frameworks) {
    SCOPED_TRACE(framework.kind);
    const JudgedKind kind = training(framework);
    grant(kind.pods + kind.pods / 2);
    expect_whole_life(kind);
  }
}

}  // namespace
}  // namespace berth::e2e

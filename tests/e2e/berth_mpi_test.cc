// MPIJobs with the MPI operator.
//   scripts/controllers build mpi && build/release/tests/e2e/test_e2e --gtest_filter='BerthMpi.*'
#include <string>
#include <vector>

#include "e2e/judged_kinds.h"

namespace berth::e2e {
namespace {

class BerthMpi : public KindsTest {
 protected:
  std::vector<std::string> controllers() const override { return {"mpi"}; }
};

TEST_F(BerthMpi, AnMpiJobWaitsStartsWholeIsDisplacedWholeAndFinishes) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(4));
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(mpi(2));
}

// Its launcher is made when the workers run, and its place is kept until then.
TEST_F(BerthMpi, AnMpiJobOfProductionWhoseLauncherComesLaterDoesTheSame) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(7));
  create_claim("data");
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(mpi(4, true, "data"));
}

}  // namespace
}  // namespace berth::e2e

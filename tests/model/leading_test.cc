#include "model/leading.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

Reason reason(ReasonCode code, std::vector<Reason> children = {}) {
  return {code, "", "", 0, 0, 0, std::move(children)};
}

TEST(Leading, TheFirstCodeThatSaysWhy) {
  EXPECT_EQ(leading_code(reason(ReasonCode::kQuota)), ReasonCode::kQuota);
  EXPECT_EQ(leading_code(reason(ReasonCode::kNone)), ReasonCode::kNone);
  EXPECT_EQ(leading_code(reason(ReasonCode::kNone, {reason(ReasonCode::kNone, {reason(ReasonCode::kNodes)}),
                                                    reason(ReasonCode::kQuota)})),
            ReasonCode::kNodes);
}

TEST(Leading, NoVictimsOnlyWhereThereIsNothingElse) {
  EXPECT_EQ(
      leading_code(reason(ReasonCode::kNone, {reason(ReasonCode::kNoVictims), reason(ReasonCode::kQuota)})),
      ReasonCode::kQuota);
  EXPECT_EQ(leading_code(reason(ReasonCode::kNone, {reason(ReasonCode::kNoVictims)})),
            ReasonCode::kNoVictims);
}

}  // namespace
}  // namespace berth

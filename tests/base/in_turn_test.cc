#include "base/in_turn.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

// An item comes when its number is the next one.
TEST(ComeInTurn, TakesAnItemInALaterPassWhenItWaitsForOneBehindIt) {
  std::vector<int> left = {3, 2, 1, 5};
  int came = 0;
  EXPECT_FALSE(come_in_turn(left, [&](int item) { return item == came + 1 ? (came = item) > 0 : false; }));
  EXPECT_EQ(came, 3);
  EXPECT_EQ(left, std::vector<int>{5});
}

TEST(ComeInTurn, IsTrueWhenAllCame) {
  std::vector<int> left = {2, 1};
  int came = 0;
  EXPECT_TRUE(come_in_turn(left, [&](int item) { return item == came + 1 ? (came = item) > 0 : false; }));
  EXPECT_TRUE(left.empty());
  EXPECT_TRUE(come_in_turn(left, [](int) { return false; }));
}

}  // namespace
}  // namespace berth

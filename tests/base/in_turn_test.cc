#include "base/in_turn.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

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

// An odd item is near to others: it may come first, or when the item before it is there. Even ones come at any time.
struct Row {
  std::set<int> there;
  bool come(int item) {
    if (item % 2 == 1 && !there.empty() && there.count(item - 1) == 0) return false;
    return there.insert(item).second;
  }
};

TEST(ComeInSomeTurn, TriesEachThatMayBeTheFirst) {
  Row row;
  std::vector<int> left = {2, 3, 7};  // 7 has none beside it: it comes first or never
  const auto is_first = [](int item) { return item % 2 == 1; };
  EXPECT_TRUE(come_in_some_turn(
      left, is_first, [&](int item) { return row.come(item); }, [&](int item) { row.there.erase(item); }));
  EXPECT_EQ(row.there, (std::set<int>{2, 3, 7}));
}

TEST(ComeInSomeTurn, KeepsTheFewestWhereNotAllCanCome) {
  Row row;
  std::vector<int> left = {5, 2, 7, 3};  // one of 5 and 7 at most
  const auto is_first = [](int item) { return item % 2 == 1; };
  EXPECT_FALSE(come_in_some_turn(
      left, is_first, [&](int item) { return row.come(item); }, [&](int item) { row.there.erase(item); }));
  EXPECT_EQ(left, std::vector<int>{7});
  EXPECT_EQ(row.there, (std::set<int>{2, 3, 5}));
}

}  // namespace
}  // namespace berth

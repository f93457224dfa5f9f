#include "base/chunked.h"

#include <gtest/gtest.h>

#include <numeric>

namespace berth {
namespace {

TEST(Chunked, GrowsWithoutMovingItsItems) {
  Chunked<int, 4> list;
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.begin(), list.end());
  int* first = &list.emplace_back();
  for (int i = 1; i < 103; ++i) list.emplace_back() = i;
  EXPECT_EQ(&list[0], first);
  EXPECT_EQ(list.size(), 103u);
  for (int i = 0; i < 103; ++i) EXPECT_EQ(list[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(std::accumulate(list.begin(), list.end(), 0), 102 * 103 / 2);
  for (int& item : list) item = 1;
  const auto& same = list;
  EXPECT_EQ(std::accumulate(same.begin(), same.end(), 0), 103);
  list.clear();
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.emplace_back(), 0) << "as new";
  EXPECT_EQ(&list[0], first);
}

TEST(Chunked, IsEmptyAfterAMove) {
  Chunked<int, 4> from;
  for (int i = 0; i < 10; ++i) from.emplace_back() = i;
  Chunked<int, 4> to = std::move(from);
  EXPECT_TRUE(from.empty());
  EXPECT_EQ(from.begin(), from.end());
  from.emplace_back() = 5;
  EXPECT_EQ(from[0], 5);
  to.emplace_back();
  to = std::move(from);
  EXPECT_EQ(to.size(), 1u);
  EXPECT_EQ(to[0], 5);
  EXPECT_TRUE(from.empty());
}

}  // namespace
}  // namespace berth

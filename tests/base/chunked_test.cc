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

}  // namespace
}  // namespace berth

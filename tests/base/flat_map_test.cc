#include "base/flat_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.h"

namespace berth {
namespace {

TEST(FlatMap, HasEachKeyOnceAndInOrder) {
  FlatMap<int, std::string> map{{3, "three"}, {1, "one"}, {3, "again"}};
  EXPECT_EQ(map.size(), 2U);
  EXPECT_EQ(*map.begin(), std::pair(1, std::string("one")));
  EXPECT_EQ(*map.rbegin(), std::pair(3, std::string("three")));
  EXPECT_FALSE(map.try_emplace(1, "other").second);
  map[2] = "two";
  EXPECT_EQ(map, (FlatMap<int, std::string>{{2, "two"}, {1, "one"}, {3, "three"}}));
  EXPECT_NE(map, (FlatMap<int, std::string>{{2, "two"}, {1, "one"}}));
}

TEST(FlatMap, IsAMap) {
  FlatMap<std::int64_t, std::int64_t> map;
  std::map<std::int64_t, std::int64_t> expected;
  Random random(5);
  for (int i = 0; i < 5'000; ++i) {
    const std::int64_t key = random.between(0, 40);
    const auto [at, added] = map.try_emplace(key, 0);
    EXPECT_EQ(added, expected.try_emplace(key, 0).second);
    EXPECT_EQ(at->first, key);
    at->second += i;
    expected[key] += i;
    if (random.between(0, 2) == 0) {
      map.erase(at);
      expected.erase(key);
    }
    ASSERT_TRUE(
        std::equal(map.begin(), map.end(), expected.begin(), expected.end(),
                   [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
    ASSERT_EQ(map.empty(), expected.empty());
  }
}

}  // namespace
}  // namespace berth

// The choice of the fewest domains against all choices there are.
#include "engine/nodes/fewest.h"

#include <gtest/gtest.h>

#include <bit>

#include "base/random.h"

namespace berth::engine {
namespace {

using Items = std::vector<std::vector<FewestDomains::Item>>;

// Groups with the rooms of their leaves.
Items two_levels(const std::vector<std::vector<std::int64_t>>& groups) {
  Items out(2);
  for (const auto& leaves : groups) {
    FewestDomains::Item group;
    group.begin = static_cast<std::uint32_t>(out[1].size());
    for (const std::int64_t room : leaves) {
      group.room += room;
      out[1].push_back({0, room, false, 0, 0});
    }
    group.end = static_cast<std::uint32_t>(out[1].size());
    out[0].push_back(group);
  }
  return out;
}

// The fewest groups, then the fewest leaves, by trying every set of leaves.
std::pair<std::int64_t, std::int64_t> by_trying_all(const Items& items, std::int64_t need) {
  std::pair<std::int64_t, std::int64_t> best{1 << 20, 1 << 20};
  for (std::uint32_t mask = 1; mask < 1u << items[1].size(); ++mask) {
    std::int64_t room = 0;
    for (std::size_t i = 0; i < items[1].size(); ++i) room += (mask >> i & 1) != 0 ? items[1][i].room : 0;
    if (room < need) continue;
    std::int64_t groups = 0;
    for (const auto& group : items[0]) {
      const std::uint32_t inside = ((1u << group.end) - 1) & ~((1u << group.begin) - 1);
      groups += (mask & inside) != 0 ? 1 : 0;
    }
    best = std::min(best, {groups, std::popcount(mask)});
  }
  return best;
}

TEST(FewestDomains, AsFewAsTryingAllFinds) {
  Random r(27);
  for (int n = 0; n < 400; ++n) {
    std::vector<std::vector<std::int64_t>> groups(1 + r.below(4));
    std::int64_t total = 0;
    for (auto& leaves : groups) {
      for (auto i = 1 + r.below(3); i > 0; --i) leaves.push_back(r.between(0, 9));
      for (const std::int64_t room : leaves) total += room;
    }
    if (total == 0) continue;
    const Items items = two_levels(groups);
    const std::int64_t need = r.between(1, total);
    const auto choice = FewestDomains(items).choose(need);
    EXPECT_EQ(std::make_pair(choice.fresh[0], choice.fresh[1]), by_trying_all(items, need)) << "case " << n;
    EXPECT_GE(choice.slack[1], 0);
  }
}

TEST(FewestDomains, TheTightestOfEqualsLeavesTheLargeOnes) {
  const auto one = FewestDomains(two_levels({{8}, {5}, {4}})).choose(4);
  EXPECT_EQ(one.levels[0], std::vector<std::uint32_t>{2});
  const auto two = FewestDomains(two_levels({{10}, {6}, {6}, {5}})).choose(11);
  EXPECT_EQ(two.levels[0], (std::vector<std::uint32_t>{2, 3}));
}

// Four large leaves of two groups hold it, and eight small ones of the two largest groups do.
TEST(FewestDomains, GroupsAreChosenByTheLeavesThatTheyTake) {
  const auto choice = FewestDomains(two_levels({{5, 5, 5, 5}, {5, 5, 5, 5}, {9, 9}, {9, 9}})).choose(36);
  EXPECT_EQ(choice.fresh, (std::vector<std::int64_t>{2, 4}));
}

TEST(FewestDomains, WhatIsInUseCostsNothing) {
  Items items = two_levels({{4, 4}, {8}});
  items[0][0].used = items[1][1].used = true;
  const auto choice = FewestDomains(items).choose(3);
  EXPECT_EQ(choice.levels[1], std::vector<std::uint32_t>{1});
  EXPECT_EQ(choice.fresh, (std::vector<std::int64_t>{0, 0}));
}

// A group has two slots more than its leaves: nodes without a leaf's label.
TEST(FewestDomains, NodesWithoutALabelCount) {
  Items items = two_levels({{2, 2}});
  items[0][0].room = 6;
  const auto choice = FewestDomains(items).choose(5);
  EXPECT_EQ(choice.slack, (std::vector<std::int64_t>{1, -1}));
}

}  // namespace
}  // namespace berth::engine

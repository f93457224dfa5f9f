// The quota tree against a slow model that recounts everything from the leaves on every question.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "engine/quota/tree.h"

namespace berth::engine {
namespace {

// One resource. Formulas as published for Kueue, written down once more, without anything incremental.
struct Model {
  struct Node {
    int parent = -1;
    std::int64_t nominal = 0;
    std::optional<std::int64_t> borrowing;
    std::optional<std::int64_t> lending;
    std::int64_t own_use = 0;
  };
  std::vector<Node> nodes;

  std::int64_t subtree(int n) const {
    std::int64_t sum = nodes[n].nominal;
    for (int c = 0; c < static_cast<int>(nodes.size()); ++c) {
      if (nodes[c].parent == n) sum += subtree(c) - local(c);
    }
    return sum;
  }
  std::int64_t local(int n) const {
    return nodes[n].lending ? std::max<std::int64_t>(0, subtree(n) - *nodes[n].lending) : 0;
  }
  std::int64_t usage(int n) const {
    std::int64_t sum = nodes[n].own_use;
    for (int c = 0; c < static_cast<int>(nodes.size()); ++c) {
      if (nodes[c].parent == n) sum += std::max<std::int64_t>(0, usage(c) - local(c));
    }
    return sum;
  }
  std::int64_t available(int n) const {
    if (nodes[n].parent < 0) return subtree(n) - usage(n);
    std::int64_t up = available(nodes[n].parent);
    if (nodes[n].borrowing) {
      const std::int64_t used_above = std::max<std::int64_t>(0, usage(n) - local(n));
      up = std::min(up, subtree(n) - local(n) - used_above + *nodes[n].borrowing);
    }
    return std::max<std::int64_t>(0, local(n) - usage(n)) + up;
  }
};

Model random_tree() {
  Model m;
  const int count = *rc::gen::inRange(1, 9);
  const auto limit = [] {
    return *rc::gen::inRange(0, 3) == 0 ? std::optional<std::int64_t>(*rc::gen::inRange(0, 20))
                                        : std::nullopt;
  };
  for (int i = 0; i < count; ++i) {
    Model::Node node;
    node.parent = i == 0 ? -1 : *rc::gen::inRange(-1, i);
    node.nominal = *rc::gen::inRange(0, 20);
    if (node.parent >= 0) {
      node.borrowing = limit();
      node.lending = limit();
    }
    m.nodes.push_back(node);
  }
  return m;
}

void load(QuotaTree& tree, const Model& m) {
  std::vector<QuotaTree::Node> nodes(m.nodes.size());
  for (std::size_t i = 0; i < m.nodes.size(); ++i) {
    if (m.nodes[i].parent >= 0) nodes[i].parent = QueueId(static_cast<std::uint32_t>(m.nodes[i].parent));
    nodes[i].limits.push_back(
        {FlavorResource(0u), m.nodes[i].nominal, m.nodes[i].borrowing, m.nodes[i].lending});
  }
  tree.rebuild(std::move(nodes), 1);
}

void compare(const QuotaTree& tree, const Model& m) {
  for (int i = 0; i < static_cast<int>(m.nodes.size()); ++i) {
    const QueueId q(static_cast<std::uint32_t>(i));
    RC_ASSERT(tree.subtree(q, FlavorResource(0u)) == m.subtree(i));
    for (const Plane plane : {kNow, kAfter}) {
      RC_ASSERT(tree.usage(q, FlavorResource(0u), plane) == m.usage(i));
      RC_ASSERT(tree.available(q, FlavorResource(0u), plane) == m.available(i));
    }
  }
}

TEST(QuotaTree, EqualsTheSlowModel) {
  EXPECT_TRUE(rc::check("any tree, any use, any order of changes", [] {
    Model m = random_tree();
    QuotaTree tree;
    load(tree, m);
    compare(tree, m);
    const int steps = *rc::gen::inRange(0, 20);
    for (int s = 0; s < steps; ++s) {
      const int at = *rc::gen::inRange(0, static_cast<int>(m.nodes.size()));
      const std::int64_t amount = *rc::gen::inRange<std::int64_t>(-m.nodes[at].own_use, 15);
      m.nodes[at].own_use += amount;
      tree.add(QueueId(static_cast<std::uint32_t>(at)), FlavorResource(0u), amount, kBothPlanes);
      compare(tree, m);
    }
    // New limits, and another shape of the tree, keep the use.
    Model changed = random_tree();
    changed.nodes.resize(std::max(changed.nodes.size(), m.nodes.size()));
    for (std::size_t i = 0; i < m.nodes.size(); ++i) changed.nodes[i].own_use = m.nodes[i].own_use;
    load(tree, changed);
    compare(tree, changed);
  }));
}

// The quota of the queue in an empty cluster; and the tree's other answers, which follow from the formulas.
std::int64_t potential(const Model& m, int n) {
  Model idle = m;
  for (auto& node : idle.nodes) node.own_use = 0;
  return idle.available(n);
}

// Several flavors, deep trees, use of inner queues, the two planes apart: each pair and plane is a model of its own.
TEST(QuotaTree, PairsAndPlanesKeepApartInTreesOfAnyDepth) {
  EXPECT_TRUE(rc::check("each pair and plane as if it were alone", [] {
    constexpr std::size_t kPairs = 3;
    const int count = *rc::gen::inRange(1, 14);
    std::vector<int> parents;
    for (int i = 0; i < count; ++i) {
      // Half of the time the one before: chains as long as the tree.
      parents.push_back(i == 0 ? -1 : *rc::gen::inRange(0, 2) == 0 ? i - 1 : *rc::gen::inRange(-1, i));
    }
    const auto limit = [] {
      return *rc::gen::inRange(0, 2) == 0 ? std::optional<std::int64_t>(*rc::gen::inRange(0, 20))
                                          : std::nullopt;
    };
    std::array<std::array<Model, 2>, kPairs> models;
    std::vector<QuotaTree::Node> nodes(parents.size());
    for (std::size_t i = 0; i < parents.size(); ++i) {
      if (parents[i] >= 0) nodes[i].parent = QueueId(static_cast<std::uint32_t>(parents[i]));
      for (std::size_t p = 0; p < kPairs; ++p) {
        Model::Node node;
        node.parent = parents[i];
        const bool listed = *rc::gen::inRange(0, 4) != 0;  // a queue need not say anything of a pair
        if (listed) {
          node.nominal = *rc::gen::inRange(0, 20);
          if (parents[i] >= 0) {
            node.borrowing = limit();
            node.lending = limit();
          }
          nodes[i].limits.push_back({FlavorResource(p), node.nominal, node.borrowing, node.lending});
        }
        for (Model& model : models[p]) model.nodes.push_back(node);
      }
    }
    QuotaTree tree;
    tree.rebuild(std::move(nodes), kPairs);
    const int steps = *rc::gen::inRange(0, 25);
    for (int s = 0; s < steps; ++s) {
      const int at = *rc::gen::inRange(0, count);
      const auto p = static_cast<std::size_t>(*rc::gen::inRange<int>(0, kPairs));
      const auto planes = static_cast<PlaneMask>(*rc::gen::inRange(1, 4));
      std::int64_t least = 0;
      for (const Plane plane : {kNow, kAfter}) {
        if ((planes & (1u << plane)) != 0) least = std::max(least, -models[p][plane].nodes[at].own_use);
      }
      const std::int64_t amount = *rc::gen::inRange<std::int64_t>(std::min<std::int64_t>(least, 0), 15);
      for (const Plane plane : {kNow, kAfter}) {
        if ((planes & (1u << plane)) != 0) models[p][plane].nodes[at].own_use += amount;
      }
      tree.add(QueueId(static_cast<std::uint32_t>(at)), FlavorResource(p), amount, planes);
    }
    for (int i = 0; i < count; ++i) {
      const QueueId q(static_cast<std::uint32_t>(i));
      for (std::size_t p = 0; p < kPairs; ++p) {
        const FlavorResource pair(p);
        for (const Plane plane : {kNow, kAfter}) {
          const Model& m = models[p][plane];
          RC_ASSERT(tree.usage(q, pair, plane) == m.usage(i));
          RC_ASSERT(tree.available(q, pair, plane) == m.available(i));
        }
        const Model& after = models[p][kAfter];
        RC_ASSERT(tree.subtree(q, pair) == after.subtree(i));
        RC_ASSERT(tree.local(q, pair) == after.local(i));
        RC_ASSERT(tree.potential(q, pair) == potential(after, i));
        RC_ASSERT(tree.borrows(q, pair) == (after.usage(i) > after.subtree(i)));
        // The available amount fits, and taking all of it leaves nothing, here and for queues that share it.
        const std::int64_t room = after.available(i);
        const QuotaItem one{pair, 1};
        if (room > 0) {
          RC_ASSERT(tree.fits(q, {&one, 1}, room, Mode::kPlan));
          Model full = after;
          full.nodes[i].own_use += room;
          RC_ASSERT(full.available(i) <= 0);
        }
        RC_ASSERT(!tree.fits(q, {&one, 1}, std::max<std::int64_t>(0, room) + 1, Mode::kPlan));
      }
    }
  }));
}

TEST(QuotaTree, PlanesAreApart) {
  Model m;
  m.nodes.push_back({-1, 10, {}, {}, 0});
  QuotaTree tree;
  load(tree, m);
  const QueueId q(0u);
  const FlavorResource f(0u);
  tree.add(q, f, 4, kNowBit);
  tree.add(q, f, 7, kAfterBit);
  EXPECT_EQ(tree.available(q, f, kNow), 6);
  EXPECT_EQ(tree.available(q, f, kAfter), 3);
  const std::vector<QuotaItem> items{{f, 2}};
  EXPECT_TRUE(tree.fits(q, items, 1, Mode::kStart));
  EXPECT_FALSE(tree.fits(q, items, 2, Mode::kStart));
  EXPECT_FALSE(tree.fits(q, items, 2, Mode::kPlan));
  EXPECT_FALSE(tree.fits(q, items, kInt64Max, Mode::kPlan));
}

}  // namespace
}  // namespace berth::engine

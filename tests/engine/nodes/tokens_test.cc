// Host ports as tokens of nodes: Kubernetes' rule of what collides, and sums that undo exactly.
#include "engine/nodes/tokens.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <vector>

#include "base/random.h"

namespace berth::engine {
namespace {

HostPort tcp(std::int64_t port, std::string ip = "") {
  return {port, PortProtocol::kTcp, std::move(ip)};
}

TEST(Tokens, CollideAsKubernetesComparesThem) {
  Tokens tokens;
  const TokenId all = tokens.intern(tcp(80));
  const TokenId one = tokens.intern(tcp(80, "10.0.0.1"));
  const TokenId two = tokens.intern(tcp(80, "10.0.0.2"));
  const TokenId udp = tokens.intern({80, PortProtocol::kUdp, ""});
  const TokenId other = tokens.intern(tcp(81));
  EXPECT_EQ(tokens.intern(tcp(80, "10.0.0.1")), one);
  EXPECT_TRUE(tokens.exclude(all, all));
  EXPECT_TRUE(tokens.exclude(all, one));
  EXPECT_TRUE(tokens.exclude(two, all));
  EXPECT_TRUE(tokens.exclude(one, one));
  EXPECT_FALSE(tokens.exclude(one, two));
  EXPECT_FALSE(tokens.exclude(all, udp));
  EXPECT_FALSE(tokens.exclude(all, other));
  EXPECT_EQ(tokens.text(one), "host port 10.0.0.1:80/TCP");
}

TEST(Tokens, OneThatIsReleasedIsFreeForAPlanAndNotForAStart) {
  Tokens tokens;
  const NodeId node(3u);
  const std::array port{tokens.intern(tcp(80))};
  tokens.charge(node, port, kNowBit, +1);
  EXPECT_FALSE(tokens.taken(node, port, planes_of(Mode::kPlan)));
  EXPECT_EQ(tokens.taken(node, port, planes_of(Mode::kStart)), port[0]);
  EXPECT_FALSE(tokens.taken(NodeId(4u), port, kBothPlanes));
  tokens.charge(node, port, kNowBit, -1);
  EXPECT_FALSE(tokens.taken(node, port, kBothPlanes));
  EXPECT_TRUE(tokens.on(node).empty());
}

// A pod may have one port on two addresses; that is no collision with itself.
TEST(Tokens, AreSharedWithOthersOnly) {
  Tokens tokens;
  const NodeId node(0u);
  const std::array both{tokens.intern(tcp(80)), tokens.intern(tcp(80, "10.0.0.1"))};
  tokens.charge(node, both, kBothPlanes, +1);
  EXPECT_FALSE(tokens.shared(node, both, kBothPlanes));
  const std::array other{tokens.intern(tcp(80, "10.0.0.2"))};
  tokens.charge(node, other, kAfterBit, +1);  // by an event from outside
  EXPECT_EQ(tokens.shared(node, both, planes_of(Mode::kPlan)), both[0]);
  EXPECT_EQ(tokens.shared(node, other, planes_of(Mode::kPlan)), other[0]);
  EXPECT_FALSE(tokens.shared(node, both, kNowBit));
}

// Random ports that come and go, against a plain map.
TEST(Tokens, ANumberKeepsItsPortWhileItIsMarked) {
  rc::check([](std::uint64_t seed) {
    Random random(seed);
    Tokens tokens;
    std::map<std::uint32_t, HostPort> known;
    std::size_t most = 0;
    for (int step = 0; step < 300; ++step) {
      const HostPort port = tcp(random.between(1, 60), random.below(2) == 0 ? "" : "10.0.0.1");
      const TokenId id = tokens.intern(port);
      RC_ASSERT(known.try_emplace(id.value, port).first->second == port);
      most = std::max(most, known.size());
      if (random.below(20) != 0) continue;
      std::vector<bool> marked(tokens.size());
      std::erase_if(known, [&](const auto& entry) {
        marked[entry.first] = random.below(3) == 0;
        return !marked[entry.first];
      });
      tokens.keep_only(marked);
      for (const auto& [number, kept] : known) RC_ASSERT(tokens.intern(kept) == TokenId(number));
    }
    RC_ASSERT(tokens.size() == most);  // dropped numbers are given again
  });
}

TEST(Tokens, ChargesUndoExactly) {
  rc::check([](std::uint64_t seed) {
    Random random(seed);
    Tokens tokens;
    struct Charge {
      NodeId node;
      std::vector<TokenId> tokens;
      PlaneMask planes = 0;
    };
    std::vector<Charge> charges;
    for (int step = 0; step < 200; ++step) {
      if (random.below(3) > 0 || charges.empty()) {
        Charge c{NodeId(random.below(3)), {}, static_cast<PlaneMask>(1 + random.below(3))};
        for (auto n = random.below(3); n > 0; --n)
          c.tokens.push_back(
              tokens.intern(tcp(80 + random.between(0, 1), random.below(2) == 0 ? "" : "10.0.0.1")));
        one_each(c.tokens);
        tokens.charge(c.node, c.tokens, c.planes, +1);
        charges.push_back(std::move(c));
      } else {
        const auto at = charges.begin() + static_cast<std::ptrdiff_t>(random.below(charges.size()));
        tokens.charge(at->node, at->tokens, at->planes, -1);
        charges.erase(at);
      }
      const NodeId node(random.below(3));
      const TokenId wanted = tokens.intern(tcp(80));
      for (const Plane plane : {kNow, kAfter}) {
        std::int64_t expected = 0;
        for (const Charge& c : charges) {
          if (c.node != node || (c.planes & (1u << plane)) == 0) continue;
          expected += std::count_if(c.tokens.begin(), c.tokens.end(),
                                    [&](TokenId t) { return tokens.exclude(t, wanted); });
        }
        RC_ASSERT(tokens.holders(node, wanted, plane) == expected);
      }
    }
    for (const Charge& c : charges) tokens.charge(c.node, c.tokens, c.planes, -1);
    for (std::uint32_t node = 0; node < 3; ++node) RC_ASSERT(tokens.on(NodeId(node)).empty());
  });
}

}  // namespace
}  // namespace berth::engine

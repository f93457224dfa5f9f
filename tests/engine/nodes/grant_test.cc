// Grants are values: equal ones have one number, and a number stands for the same grant for as long as something refers to it.
#include "engine/nodes/grant.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"

namespace berth::engine {
namespace {

Grant of(std::vector<Piece> pieces, std::vector<TokenId> tokens = {}) {
  return {std::move(pieces), std::move(tokens)};
}

bool same(const GrantView& a, const GrantView& b) {
  return std::ranges::equal(a.pieces, b.pieces) && std::ranges::equal(a.tokens, b.tokens);
}

TEST(Grants, EqualOnesHaveOneNumber) {
  Grants grants;
  EXPECT_EQ(grants.intern(Grant()), Grants::nothing());
  const GrantId whole = grants.intern(of({{3}}));
  EXPECT_EQ(grants.intern(of({{3, 0, 1000}})), whole);
  EXPECT_NE(grants.intern(of({{3, 0, 500}})), whole);
  EXPECT_NE(grants.intern(of({{4, 0, 1000}})), whole);
  EXPECT_NE(grants.intern(of({{3, 2, 1000}})), whole) << "another partition";
  EXPECT_NE(grants.intern(of({{3}}, {TokenId(7u)})), whole);
  EXPECT_EQ(grants.intern(of({}, {TokenId(7u)})), grants.intern(of({}, {TokenId(7u)})));
  EXPECT_EQ(grants.known(), 7u);
  EXPECT_EQ(grants.device_list(grants.intern(of({{1}, {700}}))), (std::vector<std::int64_t>{1, 700}));
}

// Random grants that come and go, as slots do, against a plain map.
TEST(Grants, ANumberKeepsItsGrantWhileItIsMarked) {
  rc::check([](std::uint64_t seed) {
    Random random(seed);
    Grants grants;
    std::map<std::uint32_t, Grant> known;
    for (int step = 0; step < 600; ++step) {
      Grant grant;
      std::uint16_t device = 0;
      for (std::uint64_t n = random.below(6); n > 0; --n) {
        device = static_cast<std::uint16_t>(device + 1 + random.below(3));
        grant.pieces.push_back({device, 0, random.below(2) == 0 ? 1000 : 250});
      }
      for (std::uint32_t token = 0; token < 3; ++token) {
        if (random.below(4) == 0) grant.tokens.emplace_back(token);
      }
      const GrantId id = grants.intern(grant);
      const auto [at, is_new] = known.try_emplace(id.value, grant);
      RC_ASSERT(same(at->second, grant));
      if (random.below(100) != 0) continue;
      std::vector<bool> marked(grants.size());
      std::erase_if(known, [&](const auto& entry) {
        marked[entry.first] = random.below(3) > 0;
        return !marked[entry.first];
      });
      grants.keep_only(marked);
      for (const auto& [number, kept] : known) {
        RC_ASSERT(same(grants[GrantId(number)], kept));
        RC_ASSERT(grants.intern(kept) == GrantId(number));
      }
    }
  });
}

TEST(Grants, DroppedOnesTakeNoMemory) {
  Grants grants;
  for (int round = 0; round < 20; ++round) {
    for (std::uint16_t device = 0; device < 2000; ++device)
      grants.intern(of({{device}, {static_cast<std::uint16_t>(device + 1 + round)}}));
    EXPECT_TRUE(grants.grown());
    grants.keep_only({});
    EXPECT_FALSE(grants.grown());
    EXPECT_EQ(grants.known(), 1u);
  }
  EXPECT_EQ(grants.size(), 2001u);
}

}  // namespace
}  // namespace berth::engine

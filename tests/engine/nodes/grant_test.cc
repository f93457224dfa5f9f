// Grants are values: equal ones have one number, and a number stands for the same grant for as long as something refers to it.
#include "engine/nodes/grant.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <vector>

#include "base/random.h"

namespace berth::engine {
namespace {

std::vector<Piece> pieces_of(const Grants& grants, GrantId id) {
  const auto pieces = grants.pieces(id);
  return {pieces.begin(), pieces.end()};
}

TEST(Grants, EqualOnesHaveOneNumber) {
  Grants grants;
  EXPECT_EQ(grants.intern({}), Grants::nothing());
  const GrantId whole = grants.intern({{{3}}});
  EXPECT_EQ(grants.intern({{{3, 0, 1000}}}), whole);
  EXPECT_NE(grants.intern({{{3, 0, 500}}}), whole);
  EXPECT_NE(grants.intern({{{4, 0, 1000}}}), whole);
  EXPECT_NE(grants.intern({{{3, 2, 1000}}}), whole) << "another partition";
  EXPECT_EQ(grants.known(), 5u);
  EXPECT_EQ(grants.device_list(grants.intern({{{1}, {700}}})), (std::vector<std::int64_t>{1, 700}));
}

// Random grants that come and go, as slots do, against a plain map.
TEST(Grants, ANumberKeepsItsGrantWhileItIsMarked) {
  rc::check([](std::uint64_t seed) {
    Random random(seed);
    Grants grants;
    std::map<std::uint32_t, std::vector<Piece>> known;
    for (int step = 0; step < 600; ++step) {
      Grant grant;
      std::uint16_t device = 0;
      for (std::uint64_t n = random.below(6); n > 0; --n) {
        device = static_cast<std::uint16_t>(device + 1 + random.below(3));
        grant.pieces.push_back({device, 0, random.below(2) == 0 ? 1000 : 250});
      }
      const GrantId id = grants.intern(grant);
      const auto [at, is_new] = known.try_emplace(id.value, grant.pieces);
      RC_ASSERT(at->second == grant.pieces);
      if (random.below(100) != 0) continue;
      std::vector<bool> marked(grants.size());
      std::erase_if(known, [&](const auto& entry) {
        marked[entry.first] = random.below(3) > 0;
        return !marked[entry.first];
      });
      grants.keep_only(marked);
      for (const auto& [number, pieces] : known) {
        RC_ASSERT(pieces_of(grants, GrantId(number)) == pieces);
        RC_ASSERT(grants.intern({pieces}) == GrantId(number));
      }
    }
  });
}

TEST(Grants, DroppedOnesTakeNoMemory) {
  Grants grants;
  for (int round = 0; round < 20; ++round) {
    for (std::uint16_t device = 0; device < 2000; ++device)
      grants.intern({{{device}, {static_cast<std::uint16_t>(device + 1 + round)}}});
    EXPECT_TRUE(grants.grown());
    grants.keep_only({});
    EXPECT_FALSE(grants.grown());
    EXPECT_EQ(grants.known(), 1u);
  }
  EXPECT_EQ(grants.size(), 2001u);
}

}  // namespace
}  // namespace berth::engine

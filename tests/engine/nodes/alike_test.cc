#include "engine/nodes/alike.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "base/random.h"

namespace berth::engine {
namespace {

TEST(AlikeNodes, CountsEveryNodeOnceInTheOrderOfTheFirst) {
  AlikeNodes alike;
  for (const std::uint64_t spread : {1, 3, 40}) {
    std::map<std::tuple<std::uint64_t, std::uint32_t, std::int64_t>, std::int64_t> expected;
    Random random(spread);
    alike.begin(2000);
    for (int i = 0; i < 2000; ++i) {
      const std::uint64_t bits = random.below(spread) << 32;
      const auto state = static_cast<std::uint32_t>(random.below(spread));
      const auto cpu =
          static_cast<std::int64_t>(random.below(spread)) - 1;  // an overdrawn node has less than nothing
      alike.add(bits, state, cpu);
      if (expected.empty()) {
        EXPECT_EQ(alike.groups().front().cpu, cpu);
      }
      ++expected[{bits, state, cpu}];
    }
    EXPECT_EQ(alike.groups().size(), expected.size());
    for (const auto& group : alike.groups()) {
      EXPECT_EQ((expected[{group.bits, group.state, group.cpu}]), group.nodes);
    }
  }
  alike.begin(0);
  EXPECT_TRUE(alike.groups().empty());
}

}  // namespace
}  // namespace berth::engine

// Ids for text keys: dense, and used again.
#include "engine/base/keyed.h"

#include <gtest/gtest.h>

#include "base/ids.h"

namespace berth::engine {
namespace {

using ThingId = Id<struct ThingTag>;

TEST(Keyed, TheLastIdThatBecameFreeIsUsedFirst) {
  Keyed<int, ThingId> things;
  const ThingId a = things.add("a");
  const ThingId b = things.add("b");
  const ThingId c = things.add("c");
  EXPECT_EQ(c.index(), 2U);
  things.erase("a", a);
  things.erase("c", c);
  EXPECT_EQ(things.find("a"), std::nullopt);
  EXPECT_EQ(things.find("b"), b);
  EXPECT_EQ(things.add("d"), c);
  EXPECT_EQ(things.add("e"), a);
  EXPECT_EQ(things.add("f").index(), 3U);
  EXPECT_EQ(things.size(), 4U);
}

TEST(Keyed, AValueStaysUntilItsIdIsUsedAgain) {
  Keyed<int, ThingId> things;
  const ThingId id = things.add("a");
  things[id] = 7;
  things.erase("a", id);
  EXPECT_EQ(things[id], 7);
  EXPECT_EQ(things.add("b"), id);
  EXPECT_EQ(things[id], 0);
}

}  // namespace
}  // namespace berth::engine

// Ids that are listed once, in the order in which they came.
#include "engine/state/once_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ids.h"

namespace berth::engine {
namespace {

using ::testing::ElementsAre;

using ThingId = Id<struct ThingTag>;

TEST(OnceList, AnIdIsListedAgainAfterItWasTaken) {
  OnceList<ThingId> list;
  list.add(ThingId(5u));
  list.add(ThingId(2u));
  list.add(ThingId(5u));
  EXPECT_FALSE(list.empty());
  EXPECT_THAT(list.take(), ElementsAre(ThingId(5u), ThingId(2u)));
  EXPECT_TRUE(list.empty());
  list.add(ThingId(2u));
  EXPECT_THAT(list.take(), ElementsAre(ThingId(2u)));
}

}  // namespace
}  // namespace berth::engine

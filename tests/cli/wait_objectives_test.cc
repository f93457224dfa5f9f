#include "cli/wait_objectives.h"

#include <gtest/gtest.h>

namespace berth::cli {
namespace {

TEST(WaitObjectives, ArePrioritiesWithTimes) {
  const auto read = parse_wait_objectives({"1000=10m", "-5=1.5h", "0=2d"});
  ASSERT_TRUE(read) << read.error().str();
  ASSERT_EQ(read->size(), 3u);
  EXPECT_EQ((*read)[0].priority, 1000);
  EXPECT_EQ((*read)[0].within, 10 * kMinute);
  EXPECT_EQ((*read)[1].priority, -5);
  EXPECT_EQ((*read)[1].within, 90 * kMinute);
  EXPECT_TRUE(parse_wait_objectives({})->empty());
}

TEST(WaitObjectives, OthersAreRefused) {
  for (const char* text :
       {"", "10m", "=10m", "high=10m", "1000=", "1000=soon", "1000=0s", "1000=-5m", "10x=5m", "1000"}) {
    const auto read = parse_wait_objectives({text});
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().message.find("1000=10m"), std::string::npos) << read.error().message;
  }
  EXPECT_FALSE(parse_wait_objectives({"1=1m", "1=2m"}));
}

}  // namespace
}  // namespace berth::cli

#include "scheduler/report/bind_echoes.h"

#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

using std::chrono::milliseconds;

TEST(BindEchoes, EachAcknowledgedBindIsSeenOnce) {
  const BindEchoes::Time start{};
  BindEchoes echoes;
  EXPECT_TRUE(echoes.empty());
  echoes.acknowledged("a", start);
  echoes.acknowledged("b", start);
  EXPECT_DOUBLE_EQ(echoes.seen("a", start + milliseconds(250)).value(), 0.25);
  EXPECT_FALSE(echoes.seen("a", start + milliseconds(300)));
  EXPECT_FALSE(echoes.seen("other", start));
  echoes.gone("b");
  EXPECT_FALSE(echoes.seen("b", start + milliseconds(400)));
  EXPECT_TRUE(echoes.empty());
}

}  // namespace
}  // namespace berth::scheduler

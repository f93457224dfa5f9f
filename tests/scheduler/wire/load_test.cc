#include "scheduler/wire/load.h"

#include <gtest/gtest.h>

#include "scheduler/wire/allowance.h"
#include "scheduler/world_support.h"

namespace berth::scheduler {
namespace {

constexpr TimeMs kStart = 1'700'000'000'000;

TEST(LoadMeter, FewDecisionsAreNoBurst) {
  LoadMeter meter;
  TimeMs now = kStart;
  EXPECT_EQ(meter.load(false, now), Load::kIdle);
  for (int i = 0; i < 40; ++i) meter.answered(now);
  EXPECT_EQ(meter.load(false, now), Load::kIdle);
  EXPECT_EQ(meter.load(true, now), Load::kBinds);
  for (int i = 0; i < 600; ++i, now += 100) {  // ten a second, for a minute
    meter.answered(now);
    ASSERT_EQ(meter.load(false, now), Load::kIdle) << i;
  }
}

TEST(LoadMeter, AStreamIsABurstAtFirstThenShares) {
  LoadMeter meter;
  TimeMs now = kStart;
  DurationMs burst = 0;
  for (int i = 0; i < 60'000; i += 5, now += 5) {  // two hundred a second, for a minute
    meter.answered(now);
    const Load load = meter.load(i % 2 == 0, now);
    if (i < 1000) continue;
    ASSERT_NE(load, Load::kIdle) << i << ": also where nothing is on its way just then";
    burst += load == Load::kBurst ? 5 : 0;
  }
  EXPECT_GT(burst, LoadMeter::kBurstLasts - 2 * kSecond);
  EXPECT_LE(burst, LoadMeter::kBurstLasts);
  EXPECT_EQ(meter.load(false, now + kSecond), Load::kIdle) << "a second after the last it is over";
  for (int i = 0; i < 100; ++i) meter.answered(now + 2 * kSecond);
  EXPECT_EQ(meter.load(false, now + 2 * kSecond), Load::kBurst) << "and the next one begins anew";
}

TEST(LoadMeter, OnlyABurstKeepsAllButATrickleBack) {
  const auto rate = [](Load load, std::size_t waiting) {
    return giving_way(load, 20, 200, waiting, 10 * kSecond);
  };
  EXPECT_EQ(rate(Load::kIdle, 5'000), 200);
  EXPECT_EQ(rate(Load::kBurst, 5'000), 2);
  EXPECT_EQ(rate(Load::kBinds, 0), 20);
  EXPECT_EQ(rate(Load::kBinds, 1'000), 101);
  EXPECT_EQ(rate(Load::kBinds, 5'000), 200);
}

// A stream of binds: what tells of it comes after it, and pods that wait are told why meanwhile.
TEST(LoadMeter, EventsWaitForTheEndOfABurstAndReasonsDoNot) {
  testing::World w;
  for (int n = 0; n < 40; ++n) w.node("n" + std::to_string(n));
  w.recover();
  for (int i = 0; i < 300; ++i) w.pod({.name = "p" + std::to_string(i)});
  w.pod({.name = "large", .gpus = 9});
  w.turn();
  w.bind_all();
  std::size_t events = 0;
  bool told = false;
  const auto look = [&](int seconds) {
    for (int tenth = 0; tenth < 10 * seconds; ++tenth) {
      w.pass(kSecond / 10);
      w.report();
      events += w.take(Step::kEvent).size();
    }
  };
  w.report();
  events += w.take(Step::kEvent).size();
  EXPECT_LT(events, 30u);
  // The stream goes on: a pod ends and another comes, many times a second.
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 10; ++i) {
      const std::string name = "p" + std::to_string(round % 30 * 10 + i);
      w.pod_gone(name);
      w.pod({.name = name});
    }
    w.turn();
    w.bind_all();
    w.pass(kSecond / 10);
    w.report();
    events += w.take(Step::kEvent).size();
    for (const auto& status : w.take(Step::kStatus)) told = told || status.uid == testing::uid_of("large");
  }
  EXPECT_LT(events, 60u) << "of 700 binds";
  EXPECT_TRUE(told);
  look(20);
  EXPECT_GE(events, 700u) << "none is lost";
}

}  // namespace
}  // namespace berth::scheduler

#include "kube/io_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace berth::kube {
namespace {

using std::chrono::milliseconds;

struct Seen {
  int turns = 0;
  int tasks = 0;
};

// One task is posted every millisecond for 200 ms.
Seen busy_for_a_while(Nanos pace) {
  IoLoop loop;
  std::atomic<int> turns{0};
  std::atomic<int> tasks{0};
  loop.start([&] { ++turns; }, [] {});
  loop.run_sync([&] { loop.pace(pace); });
  for (int i = 0; i < 200; ++i) {
    loop.post([&] { ++tasks; });
    std::this_thread::sleep_for(milliseconds(1));
  }
  loop.stop();
  return {turns, tasks};
}

TEST(IoLoop, ServesWhatComesWithinItsPaceTogether) {
  const Seen paced = busy_for_a_while(20 * kNanosPerMs);
  EXPECT_EQ(paced.tasks, 200) << "none is lost, also at the end";
  EXPECT_GE(paced.turns, 5);
  const Seen free = busy_for_a_while(0);
  EXPECT_EQ(free.tasks, 200);
  EXPECT_GT(free.turns, 2 * paced.turns);
}

TEST(IoLoop, WakesAtOnceWhenItHasSleptLongerThanItsPace) {
  constexpr Nanos kPace = 300 * kNanosPerMs;
  IoLoop loop;
  loop.start([] {}, [] {});
  loop.run_sync([&] { loop.pace(kPace); });
  loop.run_sync([] {});  // the first turn of that pace
  std::this_thread::sleep_for(milliseconds(400));
  const Nanos posted = boottime_ns();
  loop.run_sync([] {});
  EXPECT_LT(boottime_ns() - posted, kPace / 2);
}

}  // namespace
}  // namespace berth::kube

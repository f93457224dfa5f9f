#include "kube/io_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "kube/wait_support.h"

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
  constexpr Nanos kPace = 1000 * kNanosPerMs;
  IoLoop loop;
  loop.start([] {}, [] {});
  loop.run_sync([&] { loop.pace(kPace); });
  loop.run_sync([] {});  // the first turn of that pace
  std::this_thread::sleep_for(milliseconds(1200));
  const Nanos posted = boottime_ns();
  loop.run_sync([] {});
  EXPECT_LT(boottime_ns() - posted, kPace / 2);
}

TEST(IoLoop, TakesWhatIsThereAlreadyWithoutWaitingForItsPace) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const std::string bytes(1000, 'x');
  ASSERT_EQ(write(ends[1], bytes.data(), bytes.size()), 1000);
  IoLoop loop;
  std::atomic<int> got{0};
  loop.on_ready([&](int fd, std::uint32_t) {
    char one = 0;
    if (read(fd, &one, 1) == 1) ++got;
  });
  loop.start([] {}, [] {});
  loop.run_sync([&] {
    loop.pace(50 * kNanosPerMs);
    loop.watch(ends[0], EPOLLIN, false);
  });
  EXPECT_TRUE(testing::wait_for([&] { return got == 1000; }, std::chrono::seconds(15)))
      << got << " in 300 paces";
  loop.stop();
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace berth::kube

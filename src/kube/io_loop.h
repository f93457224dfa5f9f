// One thread that waits for sockets, timers and posted work (epoll, eventfd). Everything in this room that talks to the
// API server runs on it as small state machines, so that none of them needs a lock.
//
// Threads: post() and run_sync() may be called from any thread; the rest only from the loop's own thread.
// Cost: O(1) per posted closure, O(log n) per timer.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/time.h"
#include "kube/clock.h"

namespace berth::kube {

class IoLoop {
 public:
  using Task = std::function<void()>;
  using TimerId = std::pair<Nanos, std::uint64_t>;  // due time, sequence; {0, 0} is no timer

  IoLoop();
  ~IoLoop();
  IoLoop(const IoLoop&) = delete;
  IoLoop& operator=(const IoLoop&) = delete;

  // `each_turn` runs once per turn of the loop, after timers and sockets. `at_end` runs on the loop's thread
  // after the last turn. Call once.
  void start(Task each_turn, Task at_end);
  // Ends the loop and joins its thread; what was posted before the end still runs, timers do not. Idempotent.
  void stop();

  // Runs `task` on the loop's thread, in order of posting. Dropped once the loop has been stopped.
  void post(Task task);
  // Runs `task` on the loop's thread and waits for it; inline when called there or when the loop has ended.
  void run_sync(const Task& task);
  bool on_loop_thread() const { return std::this_thread::get_id() == thread_id_.load(); }

  // Runs `task` once after `delay` milliseconds.
  TimerId after(DurationMs delay, Task task);
  // Forgets a timer that has not run; harmless for one that has.
  void cancel(TimerId id);

  // Watches a socket; `ready(epoll events)` is called when there is something. 0 events: stops watching.
  using Ready = std::function<void(int fd, std::uint32_t events)>;
  void watch(int fd, std::uint32_t events, bool known);
  void unwatch(int fd);
  void on_ready(Ready ready) { ready_ = std::move(ready); }
  // The loop wakes at this time at the latest (boottime_ns), once.
  void wake_at(Nanos due) { wake_at_ = due; }
  // A turn begins this long after the one before at the earliest, so that sockets which become ready meanwhile are served together. A
  // loop that has slept longer than that wakes at once. 0: no such bound.
  void pace(Nanos least) { pace_ = least; }

 private:
  void run();
  void run_posted();
  void run_timers();
  void wake();
  void keep_pace();
  void serve(std::span<const epoll_event> events);

  int epoll_ = -1;
  int event_ = -1;
  std::thread thread_;
  std::atomic<std::thread::id> thread_id_{};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;  // guards posted_, ended_, signalled_
  std::vector<Task> posted_;
  bool ended_ = false;
  bool signalled_ = false;
  std::vector<Task> running_;
  std::map<TimerId, Task> timers_;
  std::uint64_t next_timer_ = 1;
  Nanos wake_at_ = 0;
  Nanos pace_ = 0;
  Nanos woke_ = 0;  // when the turn began
  Task each_turn_;
  Task at_end_;
  Ready ready_;
};

}  // namespace berth::kube

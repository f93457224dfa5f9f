#include "kube/io_loop.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <future>

namespace berth::kube {
namespace {
constexpr int kMostRounds = 64;
}  // namespace

IoLoop::IoLoop() : epoll_(epoll_create1(EPOLL_CLOEXEC)), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = event_;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, event_, &event);
}

IoLoop::~IoLoop() {
  stop();
  close(event_);
  close(epoll_);
}

void IoLoop::start(Task each_turn, Task at_end) {
  each_turn_ = std::move(each_turn);
  at_end_ = std::move(at_end);
  std::promise<void> running;
  thread_ = std::thread([this, &running] {
    thread_id_.store(std::this_thread::get_id());
    running.set_value();
    run();
  });
  running.get_future().wait();
}

void IoLoop::stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  wake();
  thread_.join();
}

void IoLoop::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto n = write(event_, &one, sizeof one);
}

void IoLoop::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    posted_.push_back(std::move(task));
    // One wake-up serves everything that is posted until the loop takes the list.
    if (signalled_) return;
    signalled_ = true;
  }
  wake();
}

void IoLoop::run_sync(const Task& task) {
  if (on_loop_thread()) return task();
  std::promise<void> done;
  auto future = done.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return task();
    posted_.push_back([&task, &done] {
      task();
      done.set_value();
    });
    signalled_ = true;
  }
  wake();
  future.wait();
}

IoLoop::TimerId IoLoop::after(DurationMs delay, Task task) {
  const TimerId id{boottime_ns() + std::max<DurationMs>(delay, 0) * kNanosPerMs, next_timer_++};
  timers_.emplace(id, std::move(task));
  return id;
}

void IoLoop::cancel(TimerId id) {
  timers_.erase(id);
}

void IoLoop::watch(int fd, std::uint32_t events, bool known) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_, known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event) != 0) {
    epoll_ctl(epoll_, known ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event);
  }
}

void IoLoop::unwatch(int fd) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
}

void IoLoop::run_posted() {
  {
    const std::lock_guard lock(mutex_);
    running_.swap(posted_);
    signalled_ = false;
  }
  for (Task& task : running_) task();
  running_.clear();
}

void IoLoop::run_timers() {
  if (timers_.empty()) return;
  const Nanos now = boottime_ns();
  while (!timers_.empty() && timers_.begin()->first.first <= now) {
    Task task = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    task();
  }
}

void IoLoop::serve(std::span<const epoll_event> events) {
  for (const epoll_event& event : events) {
    if (event.data.fd == event_) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto got = read(event_, &count, sizeof count);
    } else if (ready_) {
      ready_(event.data.fd, event.events);
    }
  }
}

void IoLoop::keep_pace() {
  if (pace_ == 0) return;
  if (const Nanos left = woke_ + pace_ - boottime_ns(); left > 0)
    std::this_thread::sleep_for(std::chrono::nanoseconds(left));
}

void IoLoop::run() {
  // libcurl and OpenSSL may write to a socket whose other end is gone.
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);

  std::array<epoll_event, 128> events{};
  while (!stopping_.load()) {
    run_posted();
    run_timers();
    each_turn_();
    keep_pace();
    // The wait is bounded: epoll's own clock stands still while the machine is suspended, ours does not.
    Nanos due = boottime_ns() + 1000 * kNanosPerMs;
    if (!timers_.empty()) due = std::min(due, timers_.begin()->first.first);
    if (wake_at_ != 0) due = std::min(due, wake_at_);
    const Nanos wait = std::max<Nanos>(due - boottime_ns(), 0);
    const int timeout = static_cast<int>((wait + kNanosPerMs - 1) / kNanosPerMs);
    int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout);
    if (pace_ != 0) woke_ = boottime_ns();
    // A socket may give one piece at a time, and be ready again at once: a paced turn takes what is there already.
    for (int round = 0; n > 0; ++round) {
      serve({events.data(), static_cast<std::size_t>(n)});
      if (pace_ == 0 || round == kMostRounds) break;
      n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
    }
  }
  std::vector<Task> left;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    left.swap(posted_);
  }
  // Callers that wait in run_sync() must be released, so tasks posted before the end still run.
  for (Task& task : left) task();
  timers_.clear();
  at_end_();
}

}  // namespace berth::kube

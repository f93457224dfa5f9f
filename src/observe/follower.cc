#include "observe/follower.h"

#include <chrono>

#include "observe/replay.h"

namespace berth::observe {
namespace {

// Entries of so long are taken in together: a thread that is woken for each costs the decider more than the entry.
constexpr std::chrono::milliseconds kGather{5};

}  // namespace

Follower::Follower(const engine::EngineConfig& config, const FollowerOptions& options)
    : most_queued_(options.most_queued),
      watches_(options.watches),
      engine_(config),
      thread_([this] { run(); }) {}

Follower::~Follower() {
  {
    const std::lock_guard lock(queue_mutex_);
    stopping_ = true;
    queue_ = {};
  }
  filled_.notify_all();
  drained_.notify_all();
  thread_.join();
}

void Follower::enqueue(Entry entry) {
  bool may_wait = false;  // its thread waits only while nothing is there
  {
    std::unique_lock lock(queue_mutex_);
    drained_.wait(lock, [&] { return pushed_ - done_ < most_queued_ || stopping_; });
    if (stopping_) return;
    may_wait = queue_.empty();
    queue_.push_back(std::move(entry));
    ++pushed_;
  }
  if (may_wait) filled_.notify_one();
}

void Follower::push(Event event) {
  enqueue(std::move(event));
}
void Follower::push(TimeMs now, std::vector<Decision> expected) {
  enqueue(LogDecide{now, std::move(expected)});
}

Status Follower::push_line(std::string_view line, const std::string& file, std::uint32_t number) {
  BERTH_ASSIGN(LogLine parsed, parse_log_line(line, file, number));
  if (auto* event = std::get_if<LogEvent>(&parsed)) {
    enqueue(std::move(event->event));
  } else if (auto* decide = std::get_if<LogDecide>(&parsed)) {
    enqueue(std::move(*decide));
  } else if (const auto* session = std::get_if<LogSession>(&parsed)) {
    enqueue(*session);
  }
  return {};
}

void Follower::run() {
  // So many entries between two moments at which questions may pass.
  constexpr std::size_t kBatch = 64;
  std::vector<Entry> batch;
  for (;;) {
    batch.clear();
    {
      std::unique_lock lock(queue_mutex_);
      filled_.wait(lock, [&] { return !queue_.empty() || stopping_; });
      if (!stopping_ && queue_.size() < kBatch) {
        lock.unlock();
        std::this_thread::sleep_for(kGather);
        lock.lock();
      }
      if (stopping_) return;
      while (!queue_.empty() && batch.size() < kBatch) {
        batch.push_back(std::move(queue_.front()));
        queue_.pop_front();
      }
    }
    // A mutex is not fair: without this pause a thread that asks might never get its turn.
    if (asking_.load() > 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    {
      const std::lock_guard lock(engine_mutex_);
      for (auto& entry : batch) take(entry);
    }
    {
      const std::lock_guard lock(queue_mutex_);
      done_ += batch.size();
    }
    drained_.notify_all();
  }
}

void Follower::take(Entry& entry) {
  if (const auto* session = std::get_if<LogSession>(&entry)) {
    engine_ = engine::Engine(session->engine);
    as_of_ = 0;
    diverged_text_.clear();
    for (FollowerWatch* watch : watches_) watch->began();
    return;
  }
  if (!diverged_text_.empty()) return;
  if (const auto* event = std::get_if<Event>(&entry)) {
    // Events that the decider refused are refused here too; the decider reports them.
    if (!engine_.apply(*event)) return;
    for (FollowerWatch* watch : watches_) watch->took(*event);
    return;
  }
  const auto& decide = std::get<LogDecide>(entry);
  const auto decisions = engine_.decide(decide.now);
  as_of_ = decide.now;
  if (decisions == decide.decisions) {
    for (FollowerWatch* watch : watches_) watch->decided(decide.now, decisions);
    return;
  }
  std::string expected;
  std::string got;
  append_decide_line(expected, decide.now, decide.decisions);
  append_decide_line(got, decide.now, decisions);
  diverged_text_ = fmt::format("the follower decided otherwise than the decider: {}",
                               ReplayDifference{0, std::move(expected), std::move(got)}.str());
}

Result<Verdict> Follower::explain(std::string_view uid) const {
  BERTH_ASSIGN(auto verdict, ask([&](const engine::Engine& engine) { return engine.explain(uid); }));
  return verdict;
}

Result<std::vector<QueueState>> Follower::queues() const {
  return ask(queue_states);
}

Result<std::vector<Hold>> Follower::holds() const {
  return ask([](const engine::Engine& engine) { return engine.holds(); });
}

Result<std::string> Follower::state_json(std::size_t most_items) const {
  return ask([&](const engine::Engine& engine) { return observe::state_json(engine, most_items); });
}

TimeMs Follower::as_of() const {
  const Turn turn(*this);
  return as_of_;
}

std::size_t Follower::lag() const {
  const std::lock_guard lock(queue_mutex_);
  return pushed_ - done_;
}

std::string Follower::diverged() const {
  const Turn turn(*this);
  return diverged_text_;
}

void Follower::catch_up() {
  std::unique_lock lock(queue_mutex_);
  const std::size_t target = pushed_;
  drained_.wait(lock, [&] { return done_ >= target || stopping_; });
}

}  // namespace berth::observe

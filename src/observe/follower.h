// A second engine that follows the deciding one through the same events and decide() calls, on a thread of its own. It answers
// questions, so that they never wait for the decider or delay it. It also checks the decider: where its own decisions differ,
// diverged() says so and answers end.
//
// Bounded lag: at most `most_queued` entries wait; beyond that push() waits for room. This happens only under floods of questions,
// because the follower does the decider's work without its writes.
//
// Thread-safety: push() from one thread (the decider's), questions from any number.
// Questions answer for the moment `as_of` that the follower has reached; lag() says how many entries it is
// behind.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/chunk_queue.h"
#include "base/result.h"
#include "engine/engine.h"
#include "observe/decision_log.h"
#include "observe/state.h"

namespace berth::observe {

// Sees what the follower takes, on its thread, while it has the engine: for books of what the engine does not keep. Each call must be
// short.
class FollowerWatch {
 public:
  virtual ~FollowerWatch() = default;
  virtual void began() = 0;                   // a session: all that came before is void
  virtual void took(const Event& event) = 0;  // and the engine did not refuse it
  virtual void decided(TimeMs now, const std::vector<Decision>& decisions) = 0;
};

struct FollowerOptions {
  std::size_t most_queued = 200'000;
  std::vector<FollowerWatch*> watches;  // must outlive the follower
};

class Follower {
 public:
  explicit Follower(const engine::EngineConfig& config = {}, const FollowerOptions& options = {});
  ~Follower();  // entries that still wait are dropped
  Follower(const Follower&) = delete;
  Follower& operator=(const Follower&) = delete;

  // The decider's side.
  void push(Event event);
  void push(TimeMs now, std::vector<Decision> expected);
  // Lines of a decision log, for a follower in another process (a session line begins anew).
  Status push_line(std::string_view line, const std::string& file, std::uint32_t number);

  // Questions. Unavailable after a divergence.
  Result<Verdict> explain(std::string_view uid) const;
  Result<std::vector<QueueState>> queues() const;
  Result<std::vector<Hold>> holds() const;
  Result<std::string> state_json(std::size_t most_items) const;
  // Any other question: `look` sees the engine for as long as it runs and must return a value that owns its
  // text.
  template <class Look>
  auto ask(Look&& look) const -> Result<std::invoke_result_t<Look, const engine::Engine&>> {
    const Turn turn(*this);
    if (!diverged_text_.empty()) return fail(ErrorCode::kUnavailable, "{}", diverged_text_);
    return look(static_cast<const engine::Engine&>(engine_));
  }

  // Time of the last decide() that the follower has done.
  TimeMs as_of() const;
  std::size_t lag() const;
  // "" as long as the follower decides as the decider did.
  std::string diverged() const;
  // Waits until everything that was pushed before is done.
  void catch_up();

 private:
  using Entry = std::variant<Event, LogDecide, LogSession>;

  // The right to touch the engine. A question announces itself, so that the follower's own thread lets it
  // pass.
  class Turn {
   public:
    explicit Turn(const Follower& follower) : follower_(follower) {
      follower_.asking_.fetch_add(1);
      follower_.engine_mutex_.lock();
      follower_.asking_.fetch_sub(1);
    }
    ~Turn() { follower_.engine_mutex_.unlock(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    const Follower& follower_;
  };

  void enqueue(Entry entry);
  void run();
  void take(Entry& entry);

  const std::size_t most_queued_;
  const std::vector<FollowerWatch*> watches_;
  mutable std::mutex engine_mutex_;  // engine_, as_of_, diverged_text_
  engine::Engine engine_;
  TimeMs as_of_ = 0;
  std::string diverged_text_;
  mutable std::atomic<int> asking_{0};

  mutable std::mutex queue_mutex_;  // queue_, pushed_, done_, stopping_
  std::condition_variable filled_;
  std::condition_variable drained_;
  ChunkQueue<Entry> queue_;
  std::size_t pushed_ = 0;
  std::size_t done_ = 0;
  bool stopping_ = false;
  std::thread thread_;  // last: starts when everything above is there
};

}  // namespace berth::observe

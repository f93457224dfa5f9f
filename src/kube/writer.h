// Writes to the API server: many in flight, as many as the server bears, the important ones first.
//
// Concurrency adapts (AIMD): it grows while answers are quick, shrinks when latency rises, and is halved on 429 and 5xx;
// Retry-After stops all writes for that long. Binds and deletes come first, but every class has a least share of what is sent while
// it waits: three of sixteen for statuses, one for events. So a bind hardly waits behind an event, and no stream of binds holds
// a status up for longer than sixteen writes for each write before it. The event queue is bounded and drops its oldest.
//
// A failed write is tried again, with back-off, within its deadline, when trying again is safe: when it certainly was
// not executed (429, no connection), or when it is marked idempotent. A write that may have been executed and is not
// idempotent ends as Outcome::kUnknown: read the object back before anything else is decided about it.
//
// The fence is asked right before a request is put on the wire (see Transport), with the write's own token: with a
// LeaderElector, `[&](std::uint64_t term) { return elector.holds(term); }`.
//
// Threads: submit() from any thread. Callbacks run on the I/O thread and must be cheap. Each write gets exactly one.
// Destroy a Writer before its Transport; what is still queued then ends as kDropped.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.h"
#include "kube/api_status.h"
#include "kube/concurrency.h"
#include "kube/transport.h"

namespace berth::kube {

enum class WriteClass : std::uint8_t { kBind, kStatus, kEvent };  // highest first; kBind is also for deletes
inline constexpr std::size_t kWriteClasses = 3;

struct Write {
  WriteClass write_class = WriteClass::kBind;
  Method method = Method::kPost;
  std::string path;
  std::string body;
  BodyType body_type = BodyType::kJson;
  Accept accept =
      Accept::kJson;        // of the answer; the API server makes the binary form in a tenth of the time
  bool idempotent = false;  // doing it twice is as good as once
  DurationMs deadline = 30 * kSecond;  // from submit() to the result, queueing and retries included
  std::uint64_t fence_token = 0;       // given to the fence
  // Where not empty: a write with the same key that still waits in the queue is replaced by this one (and ends as kDropped
  // with reason "Superseded"). For statuses, where only the newest matters.
  std::string replace_key;
};

struct WriteResult {
  Outcome outcome = Outcome::kDropped;
  int status = 0;  // HTTP status of the last answer
  std::string
      reason;  // of the server's Status ("Conflict"), or of us ("Superseded", "QueueFull", "Deadline")
  std::string message;
  std::string body;            // of a success
  std::uint32_t attempts = 0;  // times it was sent
  Nanos latency = 0;           // of the last attempt
  // An earlier attempt may have been executed, so a refusal may be the answer to that: read the object back.
  bool maybe_done = false;
};
using WriteDone = std::function<void(WriteResult&&)>;

struct WriterOptions {
  ConcurrencyOptions concurrency;
  std::size_t max_queued = 200'000;  // binds and statuses, each
  std::size_t max_events = 1'000;
  DurationMs attempt_timeout = 10 * kSecond;
  DurationMs first_backoff = 50;  // doubles, with jitter, up to max_backoff
  DurationMs max_backoff = 5 * kSecond;
  std::uint64_t seed = 1;
  std::function<bool(std::uint64_t fence_token)> fence;  // empty: no fence. Called on the I/O thread
};

struct WriterStats {
  std::atomic<std::uint64_t> ok{0}, conflict{0}, retried{0}, throttled{0}, unknown{0}, fenced{0}, dropped{0},
      failed{0};
  std::atomic<std::uint64_t> in_flight{0}, limit{0};
  std::atomic<Nanos> latency{0};  // of one attempt, on average
  std::array<std::atomic<std::uint64_t>, kWriteClasses> queued{};
  // When the write that waits longest in the queue of this class was given to submit(); 0: none waits. On the clock of boottime_ns().
  std::array<std::atomic<Nanos>, kWriteClasses> oldest{};
};

class Writer {
 public:
  Writer(Transport& transport, WriterOptions options);
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void submit(Write write, WriteDone done);
  const WriterStats& stats() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace berth::kube

#include "kube/writer.h"

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace berth::kube {

namespace {

struct Pending {
  Write write;
  WriteDone done;
  Nanos since = 0;
  Nanos due = 0;
  std::uint32_t attempts = 0;
  std::uint32_t failures = 0;
  bool maybe_done = false;  // an earlier attempt may have been executed
  bool ended = false;
};
using PendingPtr = std::shared_ptr<Pending>;

constexpr DurationMs kSweep = 500;
// Least parts of what is sent, of the classes behind the first.
constexpr std::size_t kParts = 16;
constexpr std::array<std::size_t, kWriteClasses> kLeastParts = {0, 3, 1};

}  // namespace

struct Writer::Impl : std::enable_shared_from_this<Writer::Impl> {
  Impl(Transport& t, WriterOptions o)
      : transport(t), options(std::move(o)), concurrency(options.concurrency), random(options.seed) {
    note_concurrency();
  }

  Transport& transport;
  WriterOptions options;
  WriterStats stats;
  // All below: on the I/O thread only.
  Concurrency concurrency;
  Random random;
  std::array<std::deque<PendingPtr>, kWriteClasses> queues;
  std::unordered_map<std::string, PendingPtr> by_key;  // those that wait in a queue
  std::unordered_set<PendingPtr> out;                  // in flight or waiting for another try
  std::array<std::size_t, kWriteClasses> in_flight{};
  std::array<std::size_t, kWriteClasses> owed{};  // parts, to classes that wait while others are sent
  Nanos paused_until = 0;
  bool pause_timer = false;
  bool sweep_timer = false;
  bool closing = false;

  static std::size_t index(const Pending& pending) {
    return static_cast<std::size_t>(pending.write.write_class);
  }
  std::size_t total() const { return in_flight[0] + in_flight[1] + in_flight[2]; }
  void note_concurrency() {
    stats.limit.store(static_cast<std::uint64_t>(concurrency.limit()), std::memory_order_relaxed);
    stats.latency.store(concurrency.average(), std::memory_order_relaxed);
  }
  void note_queue(std::size_t c) {
    stats.queued[c].store(queues[c].size(), std::memory_order_relaxed);
    stats.oldest[c].store(queues[c].empty() ? 0 : queues[c].front()->since, std::memory_order_relaxed);
  }

  void end(const PendingPtr& pending, WriteResult result) {
    if (std::exchange(pending->ended, true)) return;
    result.attempts = pending->attempts;
    result.maybe_done = result.maybe_done || pending->maybe_done;
    switch (result.outcome) {
      case Outcome::kOk:
        stats.ok.fetch_add(1, std::memory_order_relaxed);
        break;
      case Outcome::kConflict:
        stats.conflict.fetch_add(1, std::memory_order_relaxed);
        break;
      case Outcome::kUnknown:
        stats.unknown.fetch_add(1, std::memory_order_relaxed);
        break;
      case Outcome::kFenced:
        stats.fenced.fetch_add(1, std::memory_order_relaxed);
        break;
      case Outcome::kDropped:
        stats.dropped.fetch_add(1, std::memory_order_relaxed);
        break;
      default:
        stats.failed.fetch_add(1, std::memory_order_relaxed);
        break;
    }
    if (pending->done) pending->done(std::move(result));
  }

  void end_as(const PendingPtr& pending, Outcome outcome, const char* reason, std::string message) {
    WriteResult result;
    // A later failure does not undo the possible effect of an earlier attempt.
    result.outcome = pending->maybe_done ? Outcome::kUnknown : outcome;
    result.reason = reason;
    result.message = std::move(message);
    end(pending, std::move(result));
  }

  void add(PendingPtr pending) {
    if (closing) return end_as(pending, Outcome::kDropped, "ShuttingDown", "the writer is shutting down");
    if (!pending->write.replace_key.empty()) {
      if (const auto it = by_key.find(pending->write.replace_key); it != by_key.end()) {
        // The newer one takes the place of the older one in the queue.
        std::swap(*it->second, *pending);
        std::swap(it->second->since, pending->since);  // it waits since the older one came
        return end_as(pending, Outcome::kDropped, "Superseded",
                      "a newer write of the same object replaced this one");
      }
      by_key.emplace(pending->write.replace_key, pending);
    }
    const std::size_t c = index(*pending);
    const bool event = pending->write.write_class == WriteClass::kEvent;
    auto& queue = queues[c];
    if (event && queue.size() >= options.max_events) {
      const PendingPtr oldest = std::move(queue.front());
      queue.pop_front();
      forget_key(*oldest);
      end_as(oldest, Outcome::kDropped, "QueueFull", "too many events wait; the oldest is dropped");
    } else if (!event && queue.size() >= options.max_queued) {
      forget_key(*pending);
      return end_as(pending, Outcome::kDropped, "QueueFull", "too many writes wait");
    }
    queue.push_back(std::move(pending));
    note_queue(c);
    pump();
  }

  void forget_key(const Pending& pending) {
    if (!pending.write.replace_key.empty()) by_key.erase(pending.write.replace_key);
  }

  // Lower classes leave room, so that a bind that comes now need not wait for their answers.
  bool may_send(std::size_t c, std::size_t limit) const {
    if (queues[c].empty()) return false;
    if (c >= 1 && in_flight[1] + in_flight[2] >= std::max<std::size_t>(1, limit / 2)) return false;
    return c != 2 || in_flight[2] < std::max<std::size_t>(1, limit / 4);
  }

  // The next write that may be sent now, or nothing.
  PendingPtr next() {
    const auto limit = static_cast<std::size_t>(concurrency.limit());
    if (total() >= limit) return nullptr;
    std::size_t first = kWriteClasses;  // the highest that may be sent, or one that is owed its share
    for (std::size_t c = 0; c < kWriteClasses; ++c) {
      if (queues[c].empty()) owed[c] = 0;
      if (!may_send(c, limit)) continue;
      if (first == kWriteClasses || (owed[c] >= kParts && owed[c] > owed[first])) first = c;
    }
    if (first == kWriteClasses) return nullptr;
    owed[first] -= std::min(owed[first], kParts);
    for (std::size_t c = 0; c < kWriteClasses; ++c) {
      if (c != first && !queues[c].empty()) owed[c] = std::min(owed[c] + kLeastParts[c], 2 * kParts);
    }
    PendingPtr pending = std::move(queues[first].front());
    queues[first].pop_front();
    note_queue(first);
    forget_key(*pending);
    return pending;
  }

  void pump() {
    const Nanos now = boottime_ns();
    if (now < paused_until) {
      if (!std::exchange(pause_timer, true)) {
        transport.loop().after((paused_until - now) / kNanosPerMs + 1, [self = weak_from_this()] {
          if (const auto impl = self.lock()) {
            impl->pause_timer = false;
            impl->pump();
          }
        });
      }
    } else {
      while (const PendingPtr pending = next()) send(pending, now);
    }
    if (std::any_of(queues.begin(), queues.end(), [](const auto& q) { return !q.empty(); }) &&
        !std::exchange(sweep_timer, true)) {
      transport.loop().after(kSweep, [self = weak_from_this()] {
        if (const auto impl = self.lock()) impl->sweep();
      });
    }
  }

  // Ends what waited in a queue past its deadline.
  void sweep() {
    sweep_timer = false;
    const Nanos now = boottime_ns();
    for (std::size_t c = 0; c < kWriteClasses; ++c) {
      std::deque<PendingPtr> late;
      std::erase_if(queues[c], [&](const PendingPtr& pending) {
        if (now < pending->due) return false;
        late.push_back(pending);
        return true;
      });
      for (const PendingPtr& pending : late) {
        forget_key(*pending);
        end_as(pending, Outcome::kUnavailable, "Deadline", "the deadline passed before it could be sent");
      }
      note_queue(c);
    }
    pump();
  }

  void send(const PendingPtr& pending, Nanos now) {
    const Nanos left = pending->due - now;
    if (left <= 0) {
      return end_as(pending, Outcome::kUnavailable, "Deadline",
                    "the deadline passed before it could be sent");
    }
    Request request;
    const Write& write = pending->write;
    request.method = write.method;
    request.path = write.path;
    request.body = write.body;
    request.body_type = write.body_type;
    request.accept = write.accept;
    request.timeout = std::clamp<DurationMs>(left / kNanosPerMs, 1, options.attempt_timeout);
    request.max_response = std::size_t{4} << 20;
    if (options.fence) {
      request.before_send = [self = weak_from_this(), token = write.fence_token] {
        const auto impl = self.lock();
        return impl != nullptr && !impl->closing && impl->options.fence(token);
      };
    }
    ++in_flight[index(*pending)];
    stats.in_flight.store(total(), std::memory_order_relaxed);
    out.insert(pending);
    transport.submit(std::move(request), [self = weak_from_this(), pending](Response&& response) {
      if (const auto impl = self.lock()) impl->answered(pending, std::move(response));
    });
  }

  void answered(const PendingPtr& pending, Response&& response) {
    if (closing) return;  // ended by close()
    const Nanos now = boottime_ns();
    const auto before = static_cast<double>(total());
    --in_flight[index(*pending)];
    stats.in_flight.store(total(), std::memory_order_relaxed);
    out.erase(pending);
    if (response.sent) ++pending->attempts;
    judge(pending, std::move(response), now, before);
    pump();
  }

  void judge(const PendingPtr& pending, Response&& response, Nanos now, double before) {
    WriteResult result;
    result.outcome = classify(response);
    result.status = response.status;
    result.latency = response.latency;
    result.maybe_done = response.resent;
    ApiStatus status;
    if (response.status != 0 && !response.ok()) {
      if (parse_api_status(response.body, status)) {
        result.reason = status.reason;
        result.message = status.message;
      } else {
        result.message = response.body.substr(0, 512);
      }
    } else if (response.status == 0) {
      result.reason = response.timed_out ? "Timeout" : "Connection";
      result.message = response.error;
    }
    // A patch that names another uid than the object's: the server calls it an attempt to change the uid.
    if (response.status == 422 && result.message.find("metadata.uid: Invalid value") != std::string::npos) {
      result.outcome = Outcome::kConflict;
    }
    const bool budget = status.cause == "DisruptionBudget";  // the object's refusal, not the server's
    const bool overload = (response.status == 429 && !budget) || response.status >= 500 ||
                          (response.status == 0 && !response.fenced);
    if (overload) {
      concurrency.refused(now);
    } else if (!response.fenced) {
      concurrency.answered(now, response.latency, before);
    }
    note_concurrency();
    if (response.status == 429 && !budget) {
      stats.throttled.fetch_add(1, std::memory_order_relaxed);
      const DurationMs wait =
          std::min<DurationMs>(std::max(response.retry_after, status.retry_after), 30 * kSecond);
      paused_until = std::max(paused_until, now + wait * kNanosPerMs);
    }
    switch (result.outcome) {
      case Outcome::kOk:
        result.body = std::move(response.body);
        break;
      case Outcome::kConflict:
        // Our own earlier attempt made it.
        if ((pending->maybe_done || response.resent) && pending->write.method == Method::kPost &&
            pending->write.idempotent && result.reason == "AlreadyExists") {
          result.outcome = Outcome::kOk;
        }
        break;
      case Outcome::kUnavailable:
        if (!budget && retry(pending, now)) return;
        if (!budget && result.reason.empty()) result.reason = "Deadline";
        if (pending->maybe_done) result.outcome = Outcome::kUnknown;
        break;
      case Outcome::kUnknown:
        if (!response.fenced) {
          pending->maybe_done = true;
          if (pending->write.idempotent && retry(pending, now)) return;
        }
        break;
      case Outcome::kFenced:
        result.reason = "Fenced";
        result.message = "leadership was lost before it was sent";
        if (pending->maybe_done) result.outcome = Outcome::kUnknown;
        break;
      default:
        break;
    }
    end(pending, std::move(result));
  }

  // Puts the write back into its queue after a while; false where the deadline is too near.
  bool retry(const PendingPtr& pending, Nanos now) {
    const DurationMs most = doubled(options.first_backoff, pending->failures, options.max_backoff);
    DurationMs wait = random.between(most / 2, most);
    wait = std::max(wait, (paused_until - now) / kNanosPerMs);
    if (now + wait * kNanosPerMs >= pending->due) return false;
    ++pending->failures;
    stats.retried.fetch_add(1, std::memory_order_relaxed);
    out.insert(pending);
    transport.loop().after(wait, [self = weak_from_this(), pending] {
      if (const auto impl = self.lock()) impl->again(pending);
    });
    return true;
  }

  void again(const PendingPtr& pending) {
    if (closing) return;
    out.erase(pending);
    const std::string& key = pending->write.replace_key;
    if (!key.empty() && !by_key.emplace(key, pending).second) {
      return end_as(pending, Outcome::kDropped, "Superseded",
                    "a newer write of the same object replaced this one");
    }
    queues[index(*pending)].push_front(pending);
    note_queue(index(*pending));
    pump();
  }

  void close() {
    closing = true;
    for (auto& queue : queues) {
      for (const PendingPtr& pending : std::exchange(queue, {})) {
        end_as(pending, Outcome::kDropped, "ShuttingDown", "the writer is shutting down");
      }
    }
    by_key.clear();
    for (const PendingPtr& pending : std::exchange(out, {})) {
      end_as(pending, Outcome::kUnknown, "ShuttingDown", "the writer ended before the answer came");
    }
  }
};

Writer::Writer(Transport& transport, WriterOptions options)
    : impl_(std::make_shared<Impl>(transport, std::move(options))) {}

Writer::~Writer() {
  impl_->transport.loop().run_sync([this] { impl_->close(); });
}

void Writer::submit(Write write, WriteDone done) {
  auto pending = std::make_shared<Pending>();
  pending->since = boottime_ns();
  pending->due = pending->since + write.deadline * kNanosPerMs;
  pending->write = std::move(write);
  pending->done = std::move(done);
  IoLoop& loop = impl_->transport.loop();
  if (loop.on_loop_thread()) {
    impl_->add(std::move(pending));
  } else {
    loop.post([impl = impl_, pending = std::move(pending)] { impl->add(pending); });
  }
}

const WriterStats& Writer::stats() const {
  return impl_->stats;
}

}  // namespace berth::kube

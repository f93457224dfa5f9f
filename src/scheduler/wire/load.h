// How much the decisions need of the API server, so that what only tells of them (events, Workload objects, statuses of queues) gives way.
//
// A submission of thousands of pods is over within seconds, and what tells of it costs the API server as much as its binds. So the
// first seconds of a stream of decisions belong to the decisions alone. A longer stream shares: what waits is written within a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace berth::scheduler {

enum class Load : std::uint8_t {
  kIdle,   // no decision is on its way
  kBinds,  // some are
  kBurst   // a stream of them has begun a moment ago
};

class LoadMeter {
 public:
  static constexpr DurationMs kBurstLasts = 30 * kSecond;

  // The API server has answered a write of a decision.
  void answered(TimeMs now) {
    drain(now);
    level_ = std::min(level_ + kOne, kMost);
    if (level_ >= kStream && since_ == kNone) since_ = now;
  }

  // `on_their_way`: of decisions, now.
  Load load(bool on_their_way, TimeMs now) {
    drain(now);
    if (since_ != kNone && now < since_ + kBurstLasts) return Load::kBurst;
    return on_their_way || since_ != kNone ? Load::kBinds : Load::kIdle;
  }

 private:
  static constexpr TimeMs kNone = kEndOfTime;
  static constexpr std::int64_t kOne = 10;  // drained in so many milliseconds
  static constexpr std::int64_t kStream = 50 * kOne;
  static constexpr std::int64_t kMost = 2 * kStream;  // so a stream has ended a second after its last write

  void drain(TimeMs now) {
    level_ = std::max<std::int64_t>(0, level_ - std::max<TimeMs>(0, now - last_));
    last_ = std::max(last_, now);
    if (level_ == 0) since_ = kNone;
  }

  std::int64_t level_ = 0;
  TimeMs last_ = 0;
  TimeMs since_ = kNone;  // the stream's begin
};

}  // namespace berth::scheduler

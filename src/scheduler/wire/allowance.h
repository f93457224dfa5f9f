// Tokens that come back at a rate: a budget of writes, or of their bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "scheduler/wire/load.h"

namespace berth::scheduler {

// Writes per second of something that gives way to decisions: a trickle while those are on their way, but enough to write the waiting
// entries within `within`; never more than `most`. A burst leaves a tenth of the trickle: a sign of life.
inline std::int64_t giving_way(Load load, std::int64_t trickle, std::int64_t most, std::size_t waiting,
                               DurationMs within) {
  if (load == Load::kIdle) return most;
  if (load == Load::kBurst) return std::min((trickle + 9) / 10, most);
  const auto needed = static_cast<std::int64_t>(waiting) * kSecond / within + 1;
  return std::clamp(needed, std::min(trickle, most), most);
}

class Allowance {
 public:
  // The amount regained since the last call; never more than `burst` lie there.
  void refill(TimeMs now, std::int64_t per_second, std::int64_t burst) {
    if (now > last_) milli_ = std::min(burst * 1000, milli_ + (now - last_) * per_second);
    last_ = std::max(last_, now);
  }
  bool has() const { return milli_ >= 1000; }
  bool take() {
    if (!has()) return false;
    spend(1);
    return true;
  }
  // More than lie there may be spent: then there is none until the rest has come back, too.
  void spend(std::int64_t tokens) { milli_ -= tokens * 1000; }
  // Until there is one again, at this rate.
  DurationMs wait(std::int64_t per_second) const {
    return has() ? 0 : (1000 - milli_ + per_second - 1) / per_second;
  }

 private:
  std::int64_t milli_ = 0;
  TimeMs last_ = 0;
};

}  // namespace berth::scheduler

// Tokens that come back at a rate: a budget of writes.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace berth::scheduler {

class Allowance {
 public:
  // What came back since the last call; never more than `burst` lie there.
  void refill(TimeMs now, std::int64_t per_second, std::int64_t burst) {
    if (now > last_) milli_ = std::min(burst * 1000, milli_ + (now - last_) * per_second);
    last_ = std::max(last_, now);
  }
  bool has() const { return milli_ >= 1000; }
  bool take() {
    if (!has()) return false;
    milli_ -= 1000;
    return true;
  }

 private:
  std::int64_t milli_ = 0;
  TimeMs last_ = 0;
};

}  // namespace berth::scheduler

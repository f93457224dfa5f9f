// How many writes may be in flight: additive increase, multiplicative decrease, on latency and on refusals.
//
// The limit grows by one per round of answers while it is used and the average latency stays below max(grow_below, 3 x
// best); it shrinks by a fifth, at most once per average latency, above max(shrink_above, 10 x best); it is halved, at most
// once per tenth of a second, on a refusal. `best` is the least latency of the last 10 to 20 seconds. Pure: time is given.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "kube/clock.h"

namespace berth::kube {

struct ConcurrencyOptions {
  double start = 32;
  double least = 4;
  double most = 256;
  DurationMs grow_below = 20;
  DurationMs shrink_above = 250;
};

class Concurrency {
 public:
  explicit Concurrency(const ConcurrencyOptions& options) : options_(options), limit_(options.start) {}

  // An answer came after `latency`, when `in_flight` writes (this one included) were on their way.
  void answered(Nanos now, Nanos latency, double in_flight);
  // 429, 5xx, a time-out or a lost connection.
  void refused(Nanos now);

  double limit() const { return limit_; }
  Nanos average() const { return average_; }

 private:
  void note_best(Nanos now, Nanos latency);
  Nanos best() const;

  ConcurrencyOptions options_;
  double limit_;
  Nanos average_ = 0;
  Nanos window_start_ = 0;
  Nanos best_now_ = 0;     // of the current window; 0: none
  Nanos best_before_ = 0;  // of the window before
  Nanos last_cut_ = 0;
};

}  // namespace berth::kube

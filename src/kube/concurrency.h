// How many writes may be in flight: slow start, then additive increase, multiplicative decrease, on latency and on refusals.
//
// While the limit is used and the average latency stays below max(grow_below, 3 x best), it doubles per round of answers
// until the latency has passed that once or the limit was cut, and from then on grows by one per round; it shrinks by a
// fifth, at most once per average latency, above max(shrink_above, 10 x best); it is halved, at most once per tenth of a
// second, on a refusal. `best` is the least latency of the last 10 to 20 seconds. Pure: time is given.
//
// An API server may be slow because of others. Then fewer writes in flight make it no quicker, and only less gets done. So latency
// does not hold the limit below the writes in flight that `least_per_second` takes: that rate times the average latency (Little's law),
// at most half of `most`. Below that the limit grows by one per round, whatever the latency. A refusal halves it all the same.
//
// grow_below is well above the latency of one write alone: the API server and etcd spend less on each of a hundred writes
// than on each of ten, since they commit and send together (`bench_live --contenders blind --in-flight N` shows it).
#pragma once

#include <cstdint>

#include "base/time.h"
#include "kube/clock.h"

namespace berth::kube {

struct ConcurrencyOptions {
  double start = 32;
  double least = 4;
  double most = 256;
  DurationMs grow_below = 100;
  DurationMs shrink_above = 250;
  double least_per_second = 50;
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
  double needed() const;

  ConcurrencyOptions options_;
  double limit_;
  bool slow_start_ = true;
  Nanos average_ = 0;
  Nanos window_start_ = 0;
  Nanos best_now_ = 0;     // of the current window; 0: none
  Nanos best_before_ = 0;  // of the window before
  Nanos last_cut_ = 0;
};

}  // namespace berth::kube

#include "kube/concurrency.h"

#include <algorithm>

namespace berth::kube {

namespace {
constexpr Nanos kWindow = 10'000 * kNanosPerMs;
constexpr Nanos kLeastBetweenHalvings = 100 * kNanosPerMs;
}  // namespace

void Concurrency::note_best(Nanos now, Nanos latency) {
  if (window_start_ == 0 || now - window_start_ > kWindow) {
    best_before_ = best_now_;
    best_now_ = 0;
    window_start_ = now;
  }
  best_now_ = best_now_ == 0 ? latency : std::min(best_now_, latency);
}

Nanos Concurrency::best() const {
  return best_before_ == 0 ? best_now_ : std::min(best_now_, best_before_);
}

double Concurrency::needed() const {
  const double seconds = static_cast<double>(average_) / (1000.0 * kNanosPerMs);
  return std::clamp(options_.least_per_second * seconds, options_.least,
                    std::max(options_.least, options_.most / 2));
}

void Concurrency::answered(Nanos now, Nanos latency, double in_flight) {
  note_best(now, latency);
  average_ = average_ == 0 ? latency : average_ + (latency - average_) / 8;
  const double least = needed();
  const bool used =
      in_flight >= limit_ * 0.8;  // a limit that is not used says nothing about what the server bears
  if (limit_ < least) {
    if (used) limit_ = std::min(least, limit_ + 1.0 / limit_);
    return;
  }
  if (average_ > std::max(options_.shrink_above * kNanosPerMs, 10 * best())) {
    if (now - last_cut_ < average_) return;
    last_cut_ = now;
    slow_start_ = false;
    limit_ = std::max(least, limit_ * 0.8);
    return;
  }
  if (!used) return;
  if (average_ >= std::max(options_.grow_below * kNanosPerMs, 3 * best())) {
    slow_start_ = false;
    return;
  }
  limit_ = std::min(options_.most, limit_ + (slow_start_ ? 1.0 : 1.0 / limit_));
}

void Concurrency::refused(Nanos now) {
  if (last_cut_ != 0 && now - last_cut_ < std::max(kLeastBetweenHalvings, average_)) return;
  last_cut_ = now;
  slow_start_ = false;
  limit_ = std::max(options_.least, limit_ * 0.5);
}

}  // namespace berth::kube

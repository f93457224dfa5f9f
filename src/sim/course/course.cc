#include "sim/course/course.h"

#include <algorithm>
#include <utility>

namespace berth::sim {

void Course::begin(TimeMs at, DurationMs startup, DurationMs overhead, std::int64_t speed,
                   std::int64_t weight) {
  since_ = at;
  startup_left_ = startup;
  overhead_left_ = overhead;
  phase_ = 0;
  speed_ = speed;
  weight_ = weight;
}

void Course::change(TimeMs at, std::int64_t speed, std::int64_t weight, DurationMs pause) {
  advance(at);
  speed_ = speed;
  weight_ = weight;
  overhead_left_ += pause;
}

DurationMs Course::worked(DurationMs position) const {
  return position / cycle() * rule_.every + std::min(position % cycle(), rule_.every);
}

void Course::advance(TimeMs at) {
  DurationMs time = at - since_;
  since_ = at;
  const DurationMs startup = std::min(time, startup_left_);
  startup_left_ -= startup;
  spent_.startup.add(startup, weight_);
  time -= startup;
  const DurationMs overhead = std::min(time, overhead_left_);
  overhead_left_ -= overhead;
  spent_.overhead.add(overhead, weight_);
  time -= overhead;
  if (speed_ == 0) {
    spent_.stalled.add(time, weight_);
    return;
  }
  if (time > 0) work(time);
}

void Course::work(DurationMs time) {
  const auto done = [&](DurationMs working) {
    unsaved_work_ = std::min(work_left_, saturating_add(unsaved_work_, saturating_mul(working, speed_)));
    unsaved_.add(working, weight_);
  };
  if (rule_.every == 0) return done(time);
  const DurationMs position = phase_ + time;
  const DurationMs whole = position / cycle();
  if (whole == 0) {
    const DurationMs working = worked(position) - worked(phase_);
    done(working);
    open_.add(time - working, weight_);
    unsaved_.add(time - working, weight_);
    phase_ = position;
    return;
  }
  // The last checkpoint that became whole keeps everything before it.
  const DurationMs kept = whole * rule_.every - worked(phase_);
  done(kept);
  work_left_ -= std::exchange(unsaved_work_, 0);
  spent_.working.add(unsaved_);
  spent_.working.add({-open_.time, -open_.weighted});
  spent_.checkpointing.add(std::exchange(open_, {}));
  const DurationMs checkpoints = whole * rule_.time - (phase_ - worked(phase_));
  spent_.checkpointing.add(checkpoints, weight_);
  unsaved_ = {};
  phase_ = position % cycle();
  const DurationMs working = worked(phase_);
  done(working);
  open_.add(phase_ - working, weight_);
  unsaved_.add(phase_ - working, weight_);
}

TimeMs Course::finish_at() const {
  if (speed_ == 0) return kEndOfTime;
  const TimeMs from = saturating_add(since_, startup_left_ + overhead_left_);
  const std::int64_t left = work_left_now();
  const DurationMs working = left / speed_ + (left % speed_ > 0 ? 1 : 0);
  if (rule_.every == 0 || working == 0) return saturating_add(from, working);
  // No checkpoint is written when nothing is left to do.
  const DurationMs total = worked(phase_) + working;  // of work, from the start of the cycle
  const DurationMs before = (total - 1) / rule_.every;
  const DurationMs checkpoints = std::max(saturating_mul(before, rule_.time), phase_ - worked(phase_));
  return saturating_add(from, saturating_add(total - phase_, checkpoints));
}

void Course::finish(TimeMs at) {
  advance(at);
  spent_.working.add(unsaved_);
  spent_.working.add({-open_.time, -open_.weighted});
  spent_.checkpointing.add(open_);
  unsaved_ = open_ = {};
  work_left_ = unsaved_work_ = 0;
}

Course::Amount Course::stop(TimeMs at) {
  advance(at);
  unsaved_work_ = 0;
  open_ = {};
  phase_ = 0;
  startup_left_ = overhead_left_ = 0;
  speed_ = 0;
  return std::exchange(unsaved_, {});
}

}  // namespace berth::sim

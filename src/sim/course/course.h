// How a job comes on: its work, the time that it spends on other things, and what is kept when its room is lost.
//
// Work is counted in units: a job of `work` units at `speed` units per millisecond works for work / speed. A run (from a
// start until the end, or until the loss of the room) goes like this:
//
//   pod start, image, warm-up | restart overhead | work for `every` | checkpoint | work for `every` | checkpoint | ... | end
//
// The cycle of work and checkpoints is counted in time of working, from the start of the run. While a checkpoint is written
// no work is done; it keeps what was done before it began, once it is whole. None is written at the end of the work. `every`
// of 0: no checkpoints, everything is lost with the room. A change of speed (an elastic job grows or shrinks) leaves the cycle
// where it is and may pause it.
//
// Times add up: what advance() passes over is startup + overhead + stalled + checkpointing + working time (Spent). Integers; a run
// ends within one millisecond of the exact time (rounded up). All functions are O(1).
#pragma once

#include <cstdint>

#include "base/checked.h"
#include "base/time.h"

namespace berth::sim {

struct CheckpointRule {
  DurationMs every = 0;  // of work; 0 = never
  DurationMs time = 0;   // that one takes
  bool operator==(const CheckpointRule&) const = default;
};

class Course {
 public:
  // Time with room, by what it went to. `weight` is what the job held meanwhile (GPU milli): the second number of each pair is
  // time x weight.
  struct Amount {
    DurationMs time = 0;
    Int128 weighted = 0;
    void add(DurationMs t, std::int64_t weight) {
      time += t;
      weighted += Int128{t} * weight;
    }
    void add(const Amount& other) {
      time += other.time;
      weighted += other.weighted;
    }
  };
  struct Spent {
    Amount startup;
    Amount overhead;       // restart overhead, pauses of a resize
    Amount stalled;        // with room, but with too little of it to work
    Amount checkpointing;  // whole checkpoints
    Amount working;        // that is kept
  };

  Course() = default;
  Course(std::int64_t work, CheckpointRule rule) : work_left_(work), rule_(rule) {}

  // A run begins: `startup` and then `overhead` pass before the work goes on.
  void begin(TimeMs at, DurationMs startup, DurationMs overhead, std::int64_t speed, std::int64_t weight);
  // From `at` on, the job works at another speed (0 = it cannot work) and holds another weight; `pause` is added to what it waits
  // for before it works on.
  void change(TimeMs at, std::int64_t speed, std::int64_t weight, DurationMs pause);
  // Takes in the time up to `at`, which never goes back and never passes finish_at().
  void advance(TimeMs at);
  // When the work is done if nothing changes; kEndOfTime at speed 0.
  TimeMs finish_at() const;
  // The work is done.
  void finish(TimeMs at);
  // The room is lost: what was not kept by a checkpoint is to be done again. Gives the time that was spent on it, with the
  // checkpoint that was not whole.
  Amount stop(TimeMs at);

  std::int64_t speed() const { return speed_; }
  std::int64_t weight() const { return weight_; }
  // Units that are left, with and without what the next loss of room would take back.
  std::int64_t work_left() const { return work_left_; }
  std::int64_t work_left_now() const { return work_left_ - unsaved_work_; }
  // Since the start of the job, up to the last advance(); without what stop() gave back.
  const Spent& spent() const { return spent_; }

 private:
  DurationMs cycle() const { return rule_.every + rule_.time; }
  // The time of work before `position`, which is in cycles.
  DurationMs worked(DurationMs position) const;
  void work(DurationMs time);

  std::int64_t work_left_ = 0;     // not kept yet
  std::int64_t unsaved_work_ = 0;  // of these, done in this run
  CheckpointRule rule_;
  std::int64_t speed_ = 0;
  std::int64_t weight_ = 0;
  TimeMs since_ = 0;             // up to where time was taken in
  DurationMs startup_left_ = 0;  // of this run
  DurationMs overhead_left_ = 0;
  DurationMs phase_ = 0;  // in the present cycle
  Amount unsaved_;        // time of work and of a checkpoint that is not whole
  Amount open_;           // of these, the checkpoint
  Spent spent_;
};

}  // namespace berth::sim

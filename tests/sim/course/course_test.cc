// How a job comes on: by hand, and that nothing of its time or its work is lost on the way.
#include "sim/course/course.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace berth::sim {
namespace {

TEST(Course, WorksItsDurationAtSpeedOne) {
  Course course(10'000, {});
  course.begin(5000, 0, 0, 1, 8000);
  EXPECT_EQ(course.finish_at(), 15'000);
  course.finish(15'000);
  EXPECT_EQ(course.spent().working.time, 10'000);
  EXPECT_EQ(course.spent().working.weighted, Int128{10'000} * 8000);
  EXPECT_EQ(course.work_left(), 0);
}

TEST(Course, StartsAndCheckpointsTakeTime) {
  // 3 s of start, 2 s of overhead, then 4 s of work and 1 s of checkpoint in turn; none at the end.
  Course course(12'000, {4000, 1000});
  course.begin(0, 3000, 2000, 1, 1);
  EXPECT_EQ(course.finish_at(), 3000 + 2000 + 12'000 + 2 * 1000);
  course.advance(4000);
  EXPECT_EQ(course.spent().startup.time, 3000);
  EXPECT_EQ(course.spent().overhead.time, 1000);
  course.advance(9500);  // in the midst of the first checkpoint
  EXPECT_EQ(course.work_left(), 12'000);
  EXPECT_EQ(course.work_left_now(), 8000);
  course.advance(10'000);
  EXPECT_EQ(course.work_left(), 8000);
  EXPECT_EQ(course.spent().checkpointing.time, 1000);
  EXPECT_EQ(course.finish_at(), 19'000);
  course.finish(19'000);
  EXPECT_EQ(course.spent().working.time, 12'000);
  EXPECT_EQ(course.spent().checkpointing.time, 2000);
}

TEST(Course, ALossTakesBackWhatNoCheckpointKept) {
  Course course(20'000, {4000, 1000});
  course.begin(0, 0, 0, 1, 10);
  // 0-4 work, 4-5 checkpoint, 5-9 work, 9-9.5 a checkpoint that is not whole.
  const Course::Amount lost = course.stop(9500);
  EXPECT_EQ(lost.time, 4500);
  EXPECT_EQ(lost.weighted, 45'000);
  EXPECT_EQ(course.work_left(), 16'000);
  EXPECT_EQ(course.finish_at(), kEndOfTime);
  course.begin(20'000, 0, 1000, 1, 10);
  EXPECT_EQ(course.finish_at(), 20'000 + 1000 + 16'000 + 3 * 1000);
}

TEST(Course, AnElasticJobChangesItsSpeed) {
  // 8 slots for 10 s; 4 of them for the first 10 s, then all: 5 s are left.
  Course course(8000 * 10'000, {});
  course.begin(0, 0, 0, 4000, 4);
  EXPECT_EQ(course.finish_at(), 20'000);
  course.change(10'000, 8000, 8, 0);
  EXPECT_EQ(course.finish_at(), 15'000);
  course.change(12'000, 0, 2, 0);  // too little of it is left to work
  EXPECT_EQ(course.finish_at(), kEndOfTime);
  course.change(13'000, 8000, 8, 500);
  EXPECT_EQ(course.finish_at(), 13'000 + 500 + 3000);
  course.finish(16'500);
  EXPECT_EQ(course.spent().stalled.time, 1000);
  EXPECT_EQ(course.spent().overhead.time, 500);
  EXPECT_EQ(course.spent().working.time, 15'000);
}

// Whatever happens: the times add up, and the work that is kept and the work that is left are all of it.
TEST(Course, TimeAndWorkAreConserved) {
  Random random(11);
  for (int round = 0; round < 20'000; ++round) {
    const std::int64_t full = random.between(1, 8);
    const CheckpointRule rule{random.chance(1, 3) ? 0 : random.between(1, 40),
                              random.chance(1, 2) ? 0 : random.between(0, 15)};
    const std::int64_t work = random.between(0, 300) * full;
    Course course(work, rule);
    TimeMs now = 0;
    DurationMs with_room = 0;
    DurationMs lost = 0;
    Int128 kept_work = 0;
    std::int64_t left = work;
    bool done = false;
    for (int run = 0; run < 12 && !done; ++run) {
      const bool last = run == 11;
      course.begin(now, random.between(0, 5), random.between(0, 5), last ? full : random.between(0, full),
                   full);
      const TimeMs from = now;
      const int changes = last ? 0 : static_cast<int>(random.between(0, 3));
      for (int i = 0; i < changes && !done; ++i) {
        const TimeMs at = now + random.between(0, 30);
        if (course.finish_at() <= at) break;
        course.change(at, random.between(0, full), full, random.between(0, 3));
        now = at;
      }
      const TimeMs cut = now + random.between(0, 120);
      if (last || course.finish_at() <= cut) {
        now = course.finish_at();
        // One millisecond earlier something is left to do, or to wait for.
        if (now - 1 >= from && course.work_left_now() > 0) {
          Course before = course;
          before.advance(now - 1);
          ASSERT_GT(before.work_left_now(), 0);
        }
        course.finish(now);
        done = true;
      } else {
        now = cut;
        lost += course.stop(now).time;
        ASSERT_LE(course.work_left(), left);
        kept_work += left - course.work_left();
        left = course.work_left();
      }
      with_room += now - from;
      const Course::Spent& spent = course.spent();
      ASSERT_EQ(with_room, lost + spent.startup.time + spent.overhead.time + spent.stalled.time +
                               spent.checkpointing.time + spent.working.time)
          << "round " << round << ", run " << run;
      ASSERT_TRUE(rule.time > 0 || spent.checkpointing.time == 0);
      now += random.between(0, 50);
    }
    ASSERT_TRUE(done);
    ASSERT_EQ(course.work_left(), 0);
    ASSERT_EQ(kept_work + left, work);
    // At full speed all the time, kept work took exactly its time.
    ASSERT_GE(course.spent().working.time * full, work);
  }
}

}  // namespace
}  // namespace berth::sim

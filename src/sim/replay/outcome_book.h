// Writes the outcome of a replay: what becomes of each job and service, the series over time, and the Gantt chart. Internal to the
// room.
//
// Cost: O(1) per call, O(devices) per occupation.
#pragma once

#include <cstdint>
#include <vector>

#include "base/checked.h"
#include "base/time.h"
#include "sim/replay/replay.h"
#include "sim/replay/replay_work.h"
#include "sim/trace/books.h"

namespace berth::sim {

class OutcomeBook {
 public:
  // All must outlive it.
  OutcomeBook(const Input& input, const ReplayWork& work, Outcome& out)
      : input_(input), work_(work), out_(out) {}
  // Times, leaves, series; so many nodes with GPUs in the Gantt chart, evenly over the cluster.
  void prepare(std::int64_t gantt_nodes);

  JobOutcome& of(std::uint32_t index);
  // `live`: of the work; at the time `now`.
  void end_waiting(std::uint32_t index, TimeMs now);
  void end_ending(std::uint32_t index, TimeMs now);
  void change_allocated(std::uint32_t index, std::int64_t gpu_milli, TimeMs now);
  // The series over time of its queue; for waiting, `gpu_milli` asked for by so many workloads.
  void count(std::uint32_t index, QueueTrack track, std::int64_t change, TimeMs now);
  void count_waiting(std::uint32_t index, std::int64_t workloads, std::int64_t gpu_milli, TimeMs now);
  void lose(std::uint32_t index, Int128 gpu_milli_ms, TimeMs now);
  // The times of the job's course, beside the work lost with its room.
  void settle_account(std::uint32_t index, TimeMs now);
  void note_idle(const IdleGpus& idle, TimeMs now);
  void occupy(std::uint32_t index, const ReplayWork::PlacedSlot& slot, bool evicted, bool running,
              TimeMs now);

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  const Input& input_;
  const ReplayWork& work_;
  Outcome& out_;
  std::vector<std::uint32_t> gantt_of_;  // per node: its line in the chart, or kNone
};

}  // namespace berth::sim

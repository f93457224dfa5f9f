#include "sim/replay/outcome_book.h"

#include <algorithm>
#include <utility>

namespace berth::sim {
namespace {

constexpr std::size_t kMostOccupations = 1'000'000;
// With more series over time than this they are kept at a quarter of the resolution: 8 KB each.
constexpr std::size_t kManyTracks = 512;

}  // namespace

void OutcomeBook::prepare(std::int64_t gantt_nodes) {
  const auto& jobs = input_.trace.jobs;
  out_.begin = jobs.front().submit;
  for (const Service& service : input_.services) out_.begin = std::min(out_.begin, service.load.front().at);
  out_.last_submit = jobs.back().submit;
  out_.end = out_.begin;
  out_.jobs.resize(jobs.size());
  out_.leaf_of.resize(input_.queues.size(), 0);
  for (std::uint32_t i = 0; i < input_.queues.size(); ++i) {
    if (!input_.queues[i].leaf) continue;
    out_.leaf_of[i] = static_cast<std::uint32_t>(out_.leaves.size());
    out_.leaves.push_back(i);
  }
  const std::size_t tracks = queue_track(out_.leaves.size(), QueueTrack::kAllocated);
  out_.series = BinnedSeries(tracks, out_.begin, tracks <= kManyTracks ? 2048 : 512);
  for (std::size_t i = 0; i < input_.services.size(); ++i) {
    out_.services.emplace_back();
    out_.services.back().series = BinnedSeries(3, out_.begin, 512);
  }
  std::vector<std::uint32_t> candidates;
  for (std::uint32_t i = 0; i < input_.nodes.size(); ++i) {
    if (!input_.nodes[i].devices.empty()) candidates.push_back(i);
  }
  const auto want = std::min<std::size_t>(static_cast<std::size_t>(gantt_nodes), candidates.size());
  gantt_of_.assign(input_.nodes.size(), kNone);
  for (std::size_t i = 0; i < want; ++i) {
    const std::uint32_t node = candidates[i * candidates.size() / want];
    gantt_of_[node] = static_cast<std::uint32_t>(out_.gantt_nodes.size());
    out_.gantt_nodes.push_back(node);
  }
}

JobOutcome& OutcomeBook::of(std::uint32_t index) {
  return work_.is_service(index) ? out_.services[work_.service_of(index)].room : out_.jobs[index];
}

void OutcomeBook::end_waiting(std::uint32_t index, TimeMs now) {
  JobOutcome& result = of(index);
  const DurationMs wait = now - work_.live(index).since;
  result.waited += wait;
  if (wait > result.longest_wait) {
    result.longest_wait = wait;
    result.waited_for = work_.live(index).held_by;
  }
  count_waiting(index, -1, -work_.asked_gpu_milli(index), now);
}

// The time after an eviction, until the room was free or the work had room again.
void OutcomeBook::end_ending(std::uint32_t index, TimeMs now) {
  of(index).lost += now - work_.live(index).since;
}

void OutcomeBook::change_allocated(std::uint32_t index, std::int64_t gpu_milli, TimeMs now) {
  if (gpu_milli == 0) return;
  out_.series.add(kTrackAllocated, gpu_milli, now);
  count(index, QueueTrack::kAllocated, gpu_milli, now);
}

void OutcomeBook::count(std::uint32_t index, QueueTrack track, std::int64_t change, TimeMs now) {
  const std::size_t leaf =
      out_.leaf_of[work_.is_service(index) ? input_.service_queue[work_.service_of(index)]
                                           : input_.queue_of[work_.job(index).queue]];
  out_.series.add(queue_track(leaf, track), change, now);
}

void OutcomeBook::count_waiting(std::uint32_t index, std::int64_t workloads, std::int64_t gpu_milli,
                                TimeMs now) {
  out_.series.add(kTrackPending, workloads, now);
  out_.series.add(kTrackPendingGpu, gpu_milli, now);
  const bool large = !work_.is_service(index) && work_.shape(index).gpu_milli >= kLargeGpuMilli;
  if (large) out_.series.add(kTrackPendingLarge, gpu_milli, now);
  count(index, QueueTrack::kPending, workloads, now);
  count(index, QueueTrack::kPendingGpu, gpu_milli, now);
}

void OutcomeBook::lose(std::uint32_t index, Int128 gpu_milli_ms, TimeMs now) {
  std::int64_t& lost = of(index).lost_gpu_ms;
  lost = saturating_add(lost, clamp_to_int64(gpu_milli_ms));
  count(index, QueueTrack::kLost, clamp_to_int64(gpu_milli_ms / kSecond), now);
}

void OutcomeBook::settle_account(std::uint32_t index, TimeMs now) {
  JobOutcome& result = of(index);
  const Course::Spent& spent = work_.live(index).course.spent();
  result.startup += spent.startup.time;
  result.checkpointing += spent.checkpointing.time;
  result.lost += spent.overhead.time + spent.stalled.time;
  lose(index, spent.overhead.weighted + spent.stalled.weighted, now);
}

void OutcomeBook::note_idle(const IdleGpus& idle, TimeMs now) {
  const auto set = [&](std::size_t track, std::int64_t milli) {
    const std::int64_t change = milli - out_.series.value(track);
    if (change != 0) out_.series.add(track, change, now);
  };
  set(kTrackIdleNodes, idle.free_nodes_milli);
  set(kTrackIdleWhole, idle.whole_milli);
  set(kTrackIdleParts, idle.parts_milli);
}

void OutcomeBook::occupy(std::uint32_t index, const ReplayWork::PlacedSlot& slot, bool evicted, bool running,
                         TimeMs now) {
  const std::uint32_t lane = gantt_of_[slot.node];
  if (lane == kNone || slot.placement.devices.empty() || now <= slot.since || work_.is_service(index)) return;
  if (out_.occupations.size() >= kMostOccupations) {
    ++out_.occupations_left_out;
    return;
  }
  Occupation occupation{lane, index, slot.since, now, evicted, running, 0, {}};
  for (const DeviceRequest& request : slot.pod->claim.requests) occupation.gpu_milli += request.total();
  for (const std::int64_t device : slot.placement.devices)
    occupation.devices.push_back(static_cast<int>(device));
  out_.occupations.push_back(std::move(occupation));
}

}  // namespace berth::sim

// Work in and out of its room.
#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/course/elastic.h"
#include "sim/replay/replay_run.h"

namespace berth::sim {
namespace {

std::int64_t gpu_milli_of(const PodTemplate& pod) {
  std::int64_t sum = 0;
  for (const DeviceRequest& request : pod.claim.requests) {
    if (request.resource == kGpu) sum += request.total();
  }
  return sum;
}

void add_to(std::int64_t& sum, Int128 amount) {
  sum = saturating_add(sum, clamp_to_int64(amount));
}

}  // namespace

// ------------------------------------------------------------------------------------------------------ coming and going

Status ReplayRun::submit(std::uint32_t index) {
  work_.open(index);
  const Job& job = input_.trace.jobs[index];
  const CheckpointRule rule{work_.restart(index).checkpoint_every, work_.costs(index).checkpoint_time};
  const std::int64_t speed =
      work_.shape(index).elastic ? input_.trace.scalings[job.scaling].speed(work_.shape(index).slots) : 1;
  work_.live(index).course = Course(job.duration * speed, rule);
  set_waiting(index);
  BERTH_TRY(apply(WorkloadUpsert{make_workload(input_, index, engine_time(now_))}));
  if (index + 1 == input_.trace.jobs.size()) {
    out_.gpu_ms_while_arriving = out_.series.integral(kTrackAllocated, now_);
  }
  return {};
}

void ReplayRun::set_waiting(std::uint32_t index) {
  book_.of(index).state = JobState::kWaiting;
  work_.live(index).since = now_;
  work_.live(index).held_by = ReasonCode::kNone;
  waits_.push_back(index);
  book_.count_waiting(index, 1, work_.asked_gpu_milli(index), now_);
}

// --------------------------------------------------------------------------------------------------------------- starts

Status ReplayRun::take_room(std::uint32_t index, const Decision& decision) {
  Live& at = work_.live(index);
  const auto& pods = work_.sets(index);
  std::int64_t gpus = 0;
  for (const SlotPlacement& slot : decision.slots) {
    if (slot.pod_set < 0 || slot.pod_set >= static_cast<std::int64_t>(pods.size()) || slot.index < 0 ||
        slot.index >= pods[static_cast<std::size_t>(slot.pod_set)]->count) {
      return fail(ErrorCode::kInternal, "{} has no slot {}/{}", work_.text_of(index), slot.pod_set,
                  slot.index);
    }
    const auto same = [&](const PlacedSlot& other) {
      return other.placement.pod_set == slot.pod_set && other.placement.index == slot.index;
    };
    const auto where = std::lower_bound(
        at.active.begin(), at.active.end(), slot, [](const PlacedSlot& a, const SlotPlacement& b) {
          return std::tie(a.placement.pod_set, a.placement.index) < std::tie(b.pod_set, b.index);
        });
    if ((where != at.active.end() && same(*where)) || std::any_of(at.ending.begin(), at.ending.end(), same)) {
      return fail(ErrorCode::kInternal, "at {} ms slot {}/{} of {} is started, but it has a place", now_,
                  slot.pod_set, slot.index, work_.text_of(index));
    }
    PlacedSlot placed;
    placed.placement = slot;
    placed.pod = &pods[static_cast<std::size_t>(slot.pod_set)]->pod;
    BERTH_ASSIGN(placed.node, books_.node(slot.node));
    BERTH_TRY(books_.charge(placed.node, *placed.pod, slot));
    placed.gpu_milli = gpu_milli_of(*placed.pod);
    placed.since = now_;
    placed.ready = works_from(work_.costs(index), images_, placed.node, now_, input_.seed, work_.name(index),
                              at.starts++);
    gpus += placed.gpu_milli;
    work_.arrive(placed.node, index);
    at.active.insert(where, std::move(placed));
  }
  at.gpu_milli += gpus;
  book_.change_allocated(index, gpus, now_);
  return {};
}

Status ReplayRun::start(std::uint32_t index, const Decision& decision) {
  JobOutcome& result = book_.of(index);
  Live& at = work_.live(index);
  const bool first = at.active.empty();
  if (work_.is_service(index)) account_service(work_.service_of(index));
  BERTH_TRY(take_room(index, decision));
  if (first && !is_whole(work_.root(index), work_.slots_by_set(index))) {
    return fail(ErrorCode::kInternal, "at {} ms {} slots of {} are started: a partial gang", now_,
                at.active.size(), work_.text_of(index));
  }
  started_.push_back(index);
  if (result.state == JobState::kWaiting) book_.end_waiting(index, now_);
  if (result.state == JobState::kEnding) book_.end_ending(index, now_);
  if (result.first_start == kEndOfTime) result.first_start = now_;
  if (result.state != JobState::kRunning) at.since = now_;
  result.state = JobState::kRunning;
  TimeMs all_ready = now_;
  for (const PlacedSlot& slot : at.active) all_ready = std::max(all_ready, slot.ready);
  if (work_.is_service(index)) {
    for (const PlacedSlot& slot : at.active) {
      if (slot.since == now_ && slot.ready > now_) events_.push(slot.ready, SimEventKind::kReady, index, 0);
    }
    show_ready(work_.service_of(index));
    return {};
  }
  if (!first && at.since < now_) {
    ++result.resizes;
    for (const PlacedSlot& slot : at.active) {
      if (slot.since == now_ && slot.ready > now_) events_.push(slot.ready, SimEventKind::kReady, index, 0);
    }
    set_pace(index);
    return {};
  }
  // A job that starts as one works when its last pod does.
  at.barrier = first ? all_ready : std::max(at.barrier, all_ready);
  for (PlacedSlot& slot : at.active) slot.ready = now_;
  const bool back = result.evictions + result.failures > 0;
  at.course.begin(now_, at.barrier - now_, back ? work_.restart(index).overhead : 0,
                  work_.speed_of(index, now_), at.gpu_milli);
  set_finish(index);
  return {};
}

void ReplayRun::set_pace(std::uint32_t index) {
  Live& at = work_.live(index);
  const std::int64_t speed = work_.speed_of(index, now_);
  const bool pauses = speed != at.course.speed() && speed > 0;
  at.course.change(now_, speed, at.gpu_milli, pauses ? work_.costs(index).resize : 0);
  set_finish(index);
}

void ReplayRun::set_finish(std::uint32_t index) {
  Live& at = work_.live(index);
  ++at.run;
  const TimeMs end = at.course.finish_at();
  if (end != kEndOfTime) events_.push(end, SimEventKind::kFinish, index, at.run);
}

// Started jobs are reported as running, except those that the same round evicted again.
Status ReplayRun::report_running() {
  for (const std::uint32_t index : started_) {
    if (!work_.is_live(index)) continue;
    const std::string uid = job_uid(index);
    for (PlacedSlot& slot : work_.live(index).active) {
      if (slot.reported) continue;
      slot.reported = true;
      BERTH_TRY(apply(SlotUpdate{uid, slot.placement.pod_set, slot.placement.index, SlotState::kRunning,
                                 slot.placement.node}));
    }
  }
  return {};
}

// ----------------------------------------------------------------------------------------------------------------- ends

void ReplayRun::stop(std::uint32_t index, bool by_failure) {
  if (work_.is_service(index)) return;
  JobOutcome& result = book_.of(index);
  const Course::Amount gone = work_.live(index).course.stop(now_);
  ++work_.live(index).run;
  result.lost += gone.time;
  book_.lose(index, gone.weighted, now_);
  if (by_failure) add_to(result.failed_gpu_ms, gone.weighted);
}

Status ReplayRun::evict(std::uint32_t index, const Decision& decision) {
  JobOutcome& result = book_.of(index);
  Live& at = work_.live(index);
  const TimeMs free = saturating_add(now_, work_.restart(index).grace);
  std::vector<std::pair<std::int64_t, std::int64_t>> out;
  for (const SlotPlacement& slot : decision.slots) out.emplace_back(slot.pod_set, slot.index);
  std::sort(out.begin(), out.end());
  const auto stays = [&](const PlacedSlot& slot) {
    return !std::binary_search(out.begin(), out.end(),
                               std::pair(slot.placement.pod_set, slot.placement.index));
  };
  const auto first_out = std::stable_partition(at.active.begin(), at.active.end(), stays);
  const auto evicted = static_cast<std::size_t>(at.active.end() - first_out);
  if (evicted == 0 || evicted != out.size()) {
    return fail(ErrorCode::kInternal, "at {} ms {} slots of {} are evicted, {} of them have a place: {}",
                now_, out.size(), work_.text_of(index), evicted, to_text(decision.reason));
  }
  if (work_.is_service(index)) account_service(work_.service_of(index));
  std::int64_t gpus = 0;
  for (auto slot = first_out; slot != at.active.end(); ++slot) {
    slot->free = free;
    gpus += slot->gpu_milli;
    at.ending.push_back(std::move(*slot));
  }
  at.active.erase(first_out, at.active.end());
  at.gpu_milli -= gpus;
  book_.lose(index, Int128{gpus} * work_.restart(index).grace, now_);
  events_.push(free, SimEventKind::kRoomFree, index, 0);
  if (!at.active.empty()) {
    if (!is_whole(work_.root(index), work_.slots_by_set(index))) {
      return fail(ErrorCode::kInternal, "at {} ms an eviction leaves a partial gang of {}: {} slots", now_,
                  work_.text_of(index), at.active.size());
    }
    ++result.resizes;
    if (work_.is_service(index)) {
      show_ready(work_.service_of(index));
    } else {
      set_pace(index);
    }
    return {};
  }
  stop(index, false);
  ++result.evictions;
  book_.count(index, QueueTrack::kEvictions, 1, now_);
  if (is_reclaim(decision.reason.code)) ++result.reclaims;
  result.state = JobState::kEnding;
  at.since = now_;
  if (work_.is_service(index)) show_ready(work_.service_of(index));
  return {};
}

void ReplayRun::leave(std::uint32_t index, const PlacedSlot& slot, bool lost) {
  books_.release(slot.node, *slot.pod, slot.placement);
  work_.depart(slot.node, index);
  book_.occupy(index, slot, lost, false, now_);
  book_.change_allocated(index, -slot.gpu_milli, now_);
}

// The slots' pods are gone, and new ones wait in their stead.
Status ReplayRun::wait_again(std::uint32_t index, const std::vector<PlacedSlot>& slots) {
  const std::string uid = job_uid(index);
  for (const PlacedSlot& slot : slots) {
    BERTH_TRY(apply(SlotUpdate{uid, slot.placement.pod_set, slot.placement.index, SlotState::kGone, {}}));
  }
  const auto& pods = work_.sets(index);
  for (const PlacedSlot& slot : slots) {
    // A service may ask for fewer replicas by now.
    if (slot.placement.index >= pods[static_cast<std::size_t>(slot.placement.pod_set)]->count) continue;
    BERTH_TRY(apply(SlotUpdate{uid, slot.placement.pod_set, slot.placement.index, SlotState::kWaiting, {}}));
  }
  return {};
}

Status ReplayRun::room_free(std::uint32_t index) {
  Live& at = work_.live(index);
  std::vector<PlacedSlot> gone;
  const auto due = std::stable_partition(at.ending.begin(), at.ending.end(),
                                         [&](const PlacedSlot& slot) { return slot.free > now_; });
  std::move(due, at.ending.end(), std::back_inserter(gone));
  at.ending.erase(due, at.ending.end());
  for (const PlacedSlot& slot : gone) leave(index, slot, true);
  BERTH_TRY(wait_again(index, gone));
  if (book_.of(index).state != JobState::kEnding || !at.ending.empty()) return {};
  book_.end_ending(index, now_);
  set_waiting(index);
  return {};
}

Status ReplayRun::finish_job(std::uint32_t index) {
  JobOutcome& result = book_.of(index);
  Live& at = work_.live(index);
  at.course.finish(now_);
  book_.settle_account(index, now_);
  result.state = JobState::kDone;
  result.end = now_;
  for (const PlacedSlot& slot : at.active) leave(index, slot, false);
  for (const PlacedSlot& slot : at.ending) leave(index, slot, true);
  work_.close(index);
  ++ended_;
  return apply(WorkloadRemove{job_uid(index)});
}

}  // namespace berth::sim

// Work in and out of its room.
#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/course/elastic.h"
#include "sim/replay/replay_run.h"

namespace berth::sim {
namespace {

constexpr std::size_t kMostOccupations = 1'000'000;

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

// ------------------------------------------------------------------------------------------------------------- look-ups

const std::string& ReplayRun::name(std::uint32_t index) const {
  return is_service(index) ? input_.services[service_of(index)].name : job(index).name;
}
const Group& ReplayRun::root(std::uint32_t index) const {
  return is_service(index) ? services_[service_of(index)].root : shape(index).root;
}
const std::vector<const PodSet*>& ReplayRun::sets(std::uint32_t index) const {
  return is_service(index) ? services_[service_of(index)].sets : pod_sets_[job(index).shape];
}
const Restart& ReplayRun::restart(std::uint32_t index) const {
  return is_service(index) ? input_.services[service_of(index)].restart
                           : input_.trace.restarts[job(index).restart];
}
const StartCosts& ReplayRun::costs(std::uint32_t index) const {
  return is_service(index) ? input_.services[service_of(index)].costs : input_.trace.costs[job(index).costs];
}
std::int64_t ReplayRun::asked_gpu_milli(std::uint32_t index) const {
  if (!is_service(index)) return shape(index).gpu_milli;
  const std::uint32_t service = service_of(index);
  return saturating_mul(input_.services[service].gpu_milli, services_[service].target);
}
std::size_t ReplayRun::leaf(std::uint32_t index) const {
  return out_.leaf_of[is_service(index) ? input_.service_queue[service_of(index)]
                                        : input_.queue_of[job(index).queue]];
}
JobOutcome& ReplayRun::outcome(std::uint32_t index) {
  return is_service(index) ? out_.services[service_of(index)].room : out_.jobs[index];
}

// ------------------------------------------------------------------------------------------------------ coming and going

void ReplayRun::open(std::uint32_t index) {
  if (free_live_.empty()) {
    live_of_[index] = static_cast<std::uint32_t>(pool_.size());
    pool_.emplace_back();
  } else {
    live_of_[index] = free_live_.back();
    free_live_.pop_back();
  }
  live(index) = Live();
  live(index).index = index;
  live(index).used = true;
}

void ReplayRun::close(std::uint32_t index) {
  live(index) = Live();
  free_live_.push_back(live_of_[index]);
  live_of_[index] = kNone;
}

Status ReplayRun::submit(std::uint32_t index) {
  open(index);
  const Job& job = input_.trace.jobs[index];
  const CheckpointRule rule{restart(index).checkpoint_every, costs(index).checkpoint_time};
  const std::int64_t speed =
      shape(index).elastic ? input_.trace.scalings[job.scaling].speed(shape(index).slots) : 1;
  live(index).course = Course(job.duration * speed, rule);
  set_waiting(index);
  BERTH_TRY(apply(WorkloadUpsert{make_workload(input_, index, engine_time(now_))}));
  if (index + 1 == input_.trace.jobs.size()) {
    out_.gpu_ms_while_arriving = out_.series.integral(kTrackAllocated, now_);
  }
  return {};
}

void ReplayRun::set_waiting(std::uint32_t index) {
  outcome(index).state = JobState::kWaiting;
  live(index).since = now_;
  live(index).held_by = ReasonCode::kNone;
  waits_.push_back(index);
  count_waiting(index, 1, asked_gpu_milli(index));
}

void ReplayRun::end_waiting(std::uint32_t index) {
  JobOutcome& result = outcome(index);
  const DurationMs wait = now_ - live(index).since;
  result.waited += wait;
  if (wait > result.longest_wait) {
    result.longest_wait = wait;
    result.waited_for = live(index).held_by;
  }
  count_waiting(index, -1, -asked_gpu_milli(index));
}

// The time after an eviction, until the room was free or the work had room again.
void ReplayRun::end_ending(std::uint32_t index) {
  outcome(index).lost += now_ - live(index).since;
}

void ReplayRun::change_allocated(std::uint32_t index, std::int64_t gpu_milli) {
  if (gpu_milli == 0) return;
  out_.series.add(kTrackAllocated, gpu_milli, now_);
  count(index, QueueTrack::kAllocated, gpu_milli);
}

void ReplayRun::count(std::uint32_t index, QueueTrack track, std::int64_t change) {
  out_.series.add(queue_track(leaf(index), track), change, now_);
}

void ReplayRun::count_waiting(std::uint32_t index, std::int64_t workloads, std::int64_t gpu_milli) {
  out_.series.add(kTrackPending, workloads, now_);
  out_.series.add(kTrackPendingGpu, gpu_milli, now_);
  const bool large = !is_service(index) && shape(index).gpu_milli >= kLargeGpuMilli;
  if (large) out_.series.add(kTrackPendingLarge, gpu_milli, now_);
  count(index, QueueTrack::kPending, workloads);
  count(index, QueueTrack::kPendingGpu, gpu_milli);
}

void ReplayRun::lose(std::uint32_t index, Int128 gpu_milli_ms) {
  add_to(outcome(index).lost_gpu_ms, gpu_milli_ms);
  count(index, QueueTrack::kLost, clamp_to_int64(gpu_milli_ms / kSecond));
}

// --------------------------------------------------------------------------------------------------------------- starts

Status ReplayRun::take_room(std::uint32_t index, const Decision& decision) {
  Live& at = live(index);
  const auto& pods = sets(index);
  std::int64_t gpus = 0;
  for (const SlotPlacement& slot : decision.slots) {
    if (slot.pod_set < 0 || slot.pod_set >= static_cast<std::int64_t>(pods.size()) || slot.index < 0 ||
        slot.index >= pods[static_cast<std::size_t>(slot.pod_set)]->count) {
      return fail(ErrorCode::kInternal, "{} has no slot {}/{}", text_of(index), slot.pod_set, slot.index);
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
                  slot.pod_set, slot.index, text_of(index));
    }
    PlacedSlot placed;
    placed.placement = slot;
    placed.pod = &pods[static_cast<std::size_t>(slot.pod_set)]->pod;
    BERTH_ASSIGN(placed.node, books_.node(slot.node));
    BERTH_TRY(books_.charge(placed.node, *placed.pod, slot));
    placed.gpu_milli = gpu_milli_of(*placed.pod);
    placed.since = now_;
    placed.ready =
        works_from(costs(index), images_, placed.node, now_, input_.seed, name(index), at.starts++);
    gpus += placed.gpu_milli;
    on_node_[placed.node].push_back(live_of_[index]);
    at.active.insert(where, std::move(placed));
  }
  at.gpu_milli += gpus;
  change_allocated(index, gpus);
  return {};
}

Status ReplayRun::start(std::uint32_t index, const Decision& decision) {
  JobOutcome& result = outcome(index);
  Live& at = live(index);
  const bool first = at.active.empty();
  if (is_service(index)) account_service(service_of(index));
  BERTH_TRY(take_room(index, decision));
  if (first && !is_whole(root(index), slots_by_set(index, false))) {
    return fail(ErrorCode::kInternal, "at {} ms {} slots of {} are started: a partial gang", now_,
                at.active.size(), text_of(index));
  }
  started_.push_back(index);
  if (result.state == JobState::kWaiting) end_waiting(index);
  if (result.state == JobState::kEnding) end_ending(index);
  if (result.first_start == kEndOfTime) result.first_start = now_;
  if (result.state != JobState::kRunning) at.since = now_;
  result.state = JobState::kRunning;
  TimeMs all_ready = now_;
  for (const PlacedSlot& slot : at.active) all_ready = std::max(all_ready, slot.ready);
  if (is_service(index)) {
    for (const PlacedSlot& slot : at.active) {
      if (slot.since == now_ && slot.ready > now_) events_.push(slot.ready, SimEventKind::kReady, index, 0);
    }
    show_ready(service_of(index));
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
  at.course.begin(now_, at.barrier - now_, back ? restart(index).overhead : 0, speed_of(index), at.gpu_milli);
  set_finish(index);
  return {};
}

std::vector<std::int64_t> ReplayRun::slots_by_set(std::uint32_t index, bool ready_only) {
  std::vector<std::int64_t> out(sets(index).size(), 0);
  for (const PlacedSlot& slot : live(index).active) {
    if (!ready_only || slot.ready <= now_) ++out[static_cast<std::size_t>(slot.placement.pod_set)];
  }
  return out;
}

std::int64_t ReplayRun::speed_of(std::uint32_t index) {
  const std::vector<std::int64_t> slots = slots_by_set(index, true);
  if (!is_whole(root(index), slots)) return 0;
  if (!shape(index).elastic) return 1;
  std::int64_t sum = 0;
  for (const std::int64_t n : slots) sum += n;
  return input_.trace.scalings[job(index).scaling].speed(sum);
}

void ReplayRun::set_pace(std::uint32_t index) {
  Live& at = live(index);
  const std::int64_t speed = speed_of(index);
  const bool pauses = speed != at.course.speed() && speed > 0;
  at.course.change(now_, speed, at.gpu_milli, pauses ? costs(index).resize : 0);
  set_finish(index);
}

void ReplayRun::set_finish(std::uint32_t index) {
  Live& at = live(index);
  ++at.run;
  const TimeMs end = at.course.finish_at();
  if (end != kEndOfTime) events_.push(end, SimEventKind::kFinish, index, at.run);
}

// Started jobs are reported as running, except those that the same round evicted again.
Status ReplayRun::report_running() {
  for (const std::uint32_t index : started_) {
    if (live_of_[index] == kNone) continue;
    const std::string uid = job_uid(index);
    for (PlacedSlot& slot : live(index).active) {
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
  if (is_service(index)) return;
  JobOutcome& result = outcome(index);
  const Course::Amount gone = live(index).course.stop(now_);
  ++live(index).run;
  result.lost += gone.time;
  lose(index, gone.weighted);
  if (by_failure) add_to(result.failed_gpu_ms, gone.weighted);
}

// The times of the job's course, beside the work lost with its room.
void ReplayRun::settle_account(std::uint32_t index) {
  JobOutcome& result = outcome(index);
  const Course::Spent& spent = live(index).course.spent();
  result.startup += spent.startup.time;
  result.checkpointing += spent.checkpointing.time;
  result.lost += spent.overhead.time + spent.stalled.time;
  lose(index, spent.overhead.weighted + spent.stalled.weighted);
}

Status ReplayRun::evict(std::uint32_t index, const Decision& decision) {
  JobOutcome& result = outcome(index);
  Live& at = live(index);
  const TimeMs free = saturating_add(now_, restart(index).grace);
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
                now_, out.size(), text_of(index), evicted, to_text(decision.reason));
  }
  if (is_service(index)) account_service(service_of(index));
  std::int64_t gpus = 0;
  for (auto slot = first_out; slot != at.active.end(); ++slot) {
    slot->free = free;
    gpus += slot->gpu_milli;
    at.ending.push_back(std::move(*slot));
  }
  at.active.erase(first_out, at.active.end());
  at.gpu_milli -= gpus;
  lose(index, Int128{gpus} * restart(index).grace);
  events_.push(free, SimEventKind::kRoomFree, index, 0);
  if (!at.active.empty()) {
    if (!is_whole(root(index), slots_by_set(index, false))) {
      return fail(ErrorCode::kInternal, "at {} ms an eviction leaves a partial gang of {}: {} slots", now_,
                  text_of(index), at.active.size());
    }
    ++result.resizes;
    if (is_service(index)) {
      show_ready(service_of(index));
    } else {
      set_pace(index);
    }
    return {};
  }
  stop(index, false);
  ++result.evictions;
  count(index, QueueTrack::kEvictions, 1);
  if (is_reclaim(decision.reason.code)) ++result.reclaims;
  result.state = JobState::kEnding;
  at.since = now_;
  if (is_service(index)) show_ready(service_of(index));
  return {};
}

void ReplayRun::leave(std::uint32_t index, const PlacedSlot& slot, bool lost) {
  books_.release(slot.node, *slot.pod, slot.placement);
  auto& there = on_node_[slot.node];
  std::iter_swap(std::find(there.begin(), there.end(), live_of_[index]), there.end() - 1);
  there.pop_back();
  occupy(index, slot, lost, false);
  change_allocated(index, -slot.gpu_milli);
}

// The slots' pods are gone, and new ones wait in their stead.
Status ReplayRun::wait_again(std::uint32_t index, const std::vector<PlacedSlot>& slots) {
  const std::string uid = job_uid(index);
  for (const PlacedSlot& slot : slots) {
    BERTH_TRY(apply(SlotUpdate{uid, slot.placement.pod_set, slot.placement.index, SlotState::kGone, {}}));
  }
  const auto& pods = sets(index);
  for (const PlacedSlot& slot : slots) {
    // A service may ask for fewer replicas by now.
    if (slot.placement.index >= pods[static_cast<std::size_t>(slot.placement.pod_set)]->count) continue;
    BERTH_TRY(apply(SlotUpdate{uid, slot.placement.pod_set, slot.placement.index, SlotState::kWaiting, {}}));
  }
  return {};
}

Status ReplayRun::room_free(std::uint32_t index) {
  Live& at = live(index);
  std::vector<PlacedSlot> gone;
  const auto due = std::stable_partition(at.ending.begin(), at.ending.end(),
                                         [&](const PlacedSlot& slot) { return slot.free > now_; });
  std::move(due, at.ending.end(), std::back_inserter(gone));
  at.ending.erase(due, at.ending.end());
  for (const PlacedSlot& slot : gone) leave(index, slot, true);
  BERTH_TRY(wait_again(index, gone));
  if (outcome(index).state != JobState::kEnding || !at.ending.empty()) return {};
  end_ending(index);
  set_waiting(index);
  return {};
}

Status ReplayRun::finish_job(std::uint32_t index) {
  JobOutcome& result = outcome(index);
  Live& at = live(index);
  at.course.finish(now_);
  settle_account(index);
  result.state = JobState::kDone;
  result.end = now_;
  for (const PlacedSlot& slot : at.active) leave(index, slot, false);
  for (const PlacedSlot& slot : at.ending) leave(index, slot, true);
  close(index);
  ++ended_;
  return apply(WorkloadRemove{job_uid(index)});
}

void ReplayRun::occupy(std::uint32_t index, const PlacedSlot& slot, bool evicted, bool running) {
  const std::uint32_t lane = gantt_of_[slot.node];
  if (lane == kNone || slot.placement.devices.empty() || now_ <= slot.since || is_service(index)) return;
  if (out_.occupations.size() >= kMostOccupations) {
    ++out_.occupations_left_out;
    return;
  }
  Occupation occupation{lane, index, slot.since, now_, evicted, running, 0, {}};
  for (const DeviceRequest& request : slot.pod->claim.requests) occupation.gpu_milli += request.total();
  for (const std::int64_t device : slot.placement.devices)
    occupation.devices.push_back(static_cast<int>(device));
  out_.occupations.push_back(std::move(occupation));
}

}  // namespace berth::sim

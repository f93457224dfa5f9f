#include "sim/replay.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/books.h"
#include "sim/event_queue.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMostRoundsAtOneMoment = 10'000;
constexpr std::size_t kMostOccupations = 1'000'000;
constexpr TimeMs kEngineStart = kSecond;

struct PlacedSlot {
  SlotPlacement placement;
  std::uint32_t node = 0;
  const PodTemplate* pod = nullptr;
  TimeMs since = 0;
};

// A reason that only holds others together is named after the first of them.
ReasonCode leading_code(const Reason& reason) {
  const Reason* at = &reason;
  while (at->code == ReasonCode::kNone && !at->children.empty()) at = &at->children.front();
  return at->code;
}

// What a job does now; only of jobs that wait or have room.
struct Live {
  DurationMs work_left = 0;
  DurationMs overhead = 0;  // of this run
  TimeMs since = 0;         // of its state
  std::uint32_t run = 0;
  std::vector<PlacedSlot> slots;
};

class Replay {
 public:
  Replay(const Input& input, Decider& decider, const ReplayOptions& options)
      : input_(input), decider_(decider), options_(options), books_(input.nodes) {}

  Result<Outcome> run() {
    BERTH_TRY(prepare());
    queue_submission();
    while (true) {
      const TimeMs at = std::min(events_.next_time(), engine_wakes_at());
      if (at == kEndOfTime) break;
      BERTH_TRY(moment(at));
    }
    finish();
    return std::move(out_);
  }

 private:
  const Job& job(std::uint32_t index) const { return input_.trace.jobs[index]; }
  const JobShape& shape(std::uint32_t index) const { return input_.trace.shapes[job(index).shape]; }
  const Restart& restart(std::uint32_t index) const { return input_.trace.restarts[job(index).restart]; }
  std::size_t leaf(std::uint32_t index) const { return out_.leaf_of[input_.queue_of[job(index).queue]]; }
  TimeMs engine_time(TimeMs at) const { return at - out_.begin + kEngineStart; }
  // When the engine wants to be asked although nothing has happened; never once nobody has work any more.
  TimeMs engine_wakes_at() const {
    const TimeMs at = decider_.engine().next_time();
    return at == kEndOfTime ? at : std::max(now_, at - kEngineStart + out_.begin);
  }

  Status prepare() {
    const auto& jobs = input_.trace.jobs;
    out_.begin = jobs.front().submit;
    out_.last_submit = jobs.back().submit;
    out_.end = out_.begin;
    out_.jobs.resize(jobs.size());
    live_.resize(jobs.size());
    out_.leaf_of.resize(input_.queues.size(), 0);
    for (std::uint32_t i = 0; i < input_.queues.size(); ++i) {
      if (!input_.queues[i].leaf) continue;
      out_.leaf_of[i] = static_cast<std::uint32_t>(out_.leaves.size());
      out_.leaves.push_back(i);
    }
    out_.series = BinnedSeries(kTrackQueues + 2 * out_.leaves.size(), out_.begin);
    out_.gpu_capacity_milli = books_.gpu_capacity_milli();
    for (const JobShape& shape : input_.trace.shapes) pod_sets_.push_back(pod_sets_of(shape.root));
    choose_gantt_nodes();
    return set_up(input_, decider_);
  }

  // Nodes with GPUs, evenly over the cluster.
  void choose_gantt_nodes() {
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t i = 0; i < input_.nodes.size(); ++i) {
      if (!input_.nodes[i].devices.empty()) candidates.push_back(i);
    }
    const auto want =
        std::min<std::size_t>(static_cast<std::size_t>(options_.gantt_nodes), candidates.size());
    gantt_of_.assign(input_.nodes.size(), kNotShown);
    for (std::size_t i = 0; i < want; ++i) {
      const std::uint32_t node = candidates[i * candidates.size() / want];
      gantt_of_[node] = static_cast<std::uint32_t>(out_.gantt_nodes.size());
      out_.gantt_nodes.push_back(node);
    }
  }

  // Submissions are not queued: the jobs are sorted, and a queue of all of them would cost memory.
  TimeMs next_submit() const {
    return next_ < input_.trace.jobs.size() ? input_.trace.jobs[next_].submit : kEndOfTime;
  }

  Status moment(TimeMs at) {
    now_ = at;
    ++out_.moments;
    std::int64_t rounds = 0;
    bool acted = true;
    while (acted) {
      if (++rounds > kMostRoundsAtOneMoment) {
        return fail(ErrorCode::kInternal, "at {} ms the engine decides without end: {} rounds at one moment",
                    at, rounds);
      }
      while (events_.next_time() == at) BERTH_TRY(take(events_.pop()));
      while (next_submit() == at) BERTH_TRY(submit(next_++));
      if (next_ < input_.trace.jobs.size() && !submission_queued_) queue_submission();
      ++out_.decide_calls;
      BERTH_ASSIGN(const std::vector<Decision> decisions, decider_.decide(engine_time(at)));
      started_.clear();
      for (const Decision& decision : decisions) BERTH_TRY(carry_out(decision));
      BERTH_TRY(report_running());
      acted = events_.next_time() == at;
    }
    out_.end = at;
    if (options_.audit_every > 0 && out_.moments % options_.audit_every == 0)
      BERTH_TRY(decider_.engine().audit());
    if (options_.progress && out_.moments % 256 == 0) report_progress();
    return {};
  }

  void report_progress() const {
    options_.progress({static_cast<std::int64_t>(input_.trace.jobs.size()), static_cast<std::int64_t>(next_),
                       ended_, now_});
  }

  // One event stands for the next submission, whichever it is.
  void queue_submission() {
    submission_queued_ = true;
    events_.push(next_submit(), SimEventKind::kSubmit, static_cast<std::uint32_t>(next_), 0);
  }

  Status take(const SimEvent& event) {
    switch (event.kind) {
      case SimEventKind::kSubmit:
        submission_queued_ = false;
        return {};
      case SimEventKind::kFinish:
        if (out_.jobs[event.job].state != JobState::kRunning || live_[event.job].run != event.run) return {};
        return finish_job(event.job);
      case SimEventKind::kRoomFree:
        return room_free(event.job);
    }
    return {};
  }

  Status submit(std::size_t next) {
    const auto index = static_cast<std::uint32_t>(next);
    live_[index].work_left = job(index).duration;
    set_waiting(index);
    BERTH_TRY(apply(WorkloadUpsert{make_workload(input_, index, engine_time(now_))}));
    if (next + 1 == input_.trace.jobs.size()) {
      out_.gpu_ms_while_arriving = out_.series.integral(kTrackAllocated, now_);
    }
    return {};
  }

  Status apply(const Event& event) {
    auto applied = decider_.apply(event);
    if (!applied) {
      return fail(ErrorCode::kInternal, "at {} ms the engine refuses an event: {}", now_,
                  applied.error().message);
    }
    return {};
  }

  void set_waiting(std::uint32_t index) {
    out_.jobs[index].state = JobState::kWaiting;
    live_[index].since = now_;
    out_.series.add(kTrackPending, 1, now_);
    out_.series.add(kTrackPendingGpu, shape(index).gpu_milli, now_);
    out_.series.add(kTrackQueues + 2 * leaf(index) + 1, 1, now_);
  }
  void end_waiting(std::uint32_t index) {
    out_.jobs[index].waited += now_ - live_[index].since;
    out_.series.add(kTrackPending, -1, now_);
    out_.series.add(kTrackPendingGpu, -shape(index).gpu_milli, now_);
    out_.series.add(kTrackQueues + 2 * leaf(index) + 1, -1, now_);
  }
  void change_allocated(std::uint32_t index, std::int64_t gpu_milli) {
    if (gpu_milli == 0) return;
    out_.series.add(kTrackAllocated, gpu_milli, now_);
    out_.series.add(kTrackQueues + 2 * leaf(index), gpu_milli, now_);
  }

  Status carry_out(const Decision& decision) {
    const std::uint32_t index = job_of_uid(decision.workload);
    if (index >= out_.jobs.size()) {
      return fail(ErrorCode::kInternal, "a decision names the workload '{}', which does not exist",
                  decision.workload);
    }
    switch (decision.kind) {
      case DecisionKind::kStart:
        return start(index, decision);
      case DecisionKind::kEvict:
        return evict(index, decision);
      case DecisionKind::kHold:
        ++out_.holds;
        return {};
      case DecisionKind::kReleaseHold:
        return {};
      case DecisionKind::kReject:
        end_waiting(index);
        out_.jobs[index].state = JobState::kRejected;
        ++ended_;
        return apply(WorkloadRemove{decision.workload});
      case DecisionKind::kMove:
      case DecisionKind::kProvision:
        break;
    }
    return fail(ErrorCode::kInternal, "the decision '{}' of workload {} has no meaning in this simulation",
                enum_name(decision.kind), decision.workload);
  }

  Status start(std::uint32_t index, const Decision& decision) {
    JobOutcome& outcome = out_.jobs[index];
    Live& live = live_[index];
    if (outcome.state != JobState::kWaiting) {
      return fail(ErrorCode::kInternal, "at {} ms job {} is started, but it does not wait", now_,
                  job(index).name);
    }
    const auto& sets = pod_sets_[job(index).shape];
    for (const SlotPlacement& slot : decision.slots) {
      if (slot.pod_set < 0 || slot.pod_set >= static_cast<std::int64_t>(sets.size())) {
        return fail(ErrorCode::kInternal, "job {} has no pod set {}", job(index).name, slot.pod_set);
      }
      const PodTemplate& pod = sets[static_cast<std::size_t>(slot.pod_set)]->pod;
      BERTH_ASSIGN(const std::uint32_t node, books_.node(slot.node));
      BERTH_TRY(books_.charge(node, pod, slot));
      live.slots.push_back({slot, node, &pod, now_});
    }
    if (static_cast<std::int64_t>(live.slots.size()) != shape(index).slots) {
      return fail(ErrorCode::kInternal, "at {} ms {} of {} slots of job {} are started: a partial gang", now_,
                  live.slots.size(), shape(index).slots, job(index).name);
    }
    started_.push_back(index);
    end_waiting(index);
    change_allocated(index, shape(index).gpu_milli);
    outcome.state = JobState::kRunning;
    if (outcome.first_start == kEndOfTime) outcome.first_start = now_;
    live.since = now_;
    ++live.run;
    live.overhead = outcome.evictions > 0 ? restart(index).overhead : 0;
    events_.push(now_ + live.overhead + live.work_left, SimEventKind::kFinish, index, live.run);
    return {};
  }

  // What was started is seen running; not what the same round evicted again.
  Status report_running() {
    for (const std::uint32_t index : started_) {
      if (out_.jobs[index].state != JobState::kRunning) continue;
      const std::string uid = job_uid(index);
      for (const PlacedSlot& slot : live_[index].slots) {
        BERTH_TRY(apply(SlotUpdate{uid, slot.placement.pod_set, slot.placement.index, SlotState::kRunning,
                                   slot.placement.node}));
      }
    }
    return {};
  }

  Status evict(std::uint32_t index, const Decision& decision) {
    JobOutcome& outcome = out_.jobs[index];
    Live& live = live_[index];
    if (outcome.state != JobState::kRunning || decision.slots.size() != live.slots.size()) {
      return fail(ErrorCode::kInternal, "at {} ms {} of {} slots of job {} are evicted, in state {}: {}",
                  now_, decision.slots.size(), live.slots.size(), job(index).name,
                  static_cast<int>(outcome.state), to_text(decision.reason));
    }
    const DurationMs elapsed = now_ - live.since;
    const DurationMs worked = std::max<DurationMs>(0, elapsed - live.overhead);
    const DurationMs every = restart(index).checkpoint_every;
    const DurationMs kept = every > 0 ? worked / every * every : 0;
    live.work_left -= kept;
    outcome.lost += elapsed - kept + restart(index).grace;
    ++outcome.evictions;
    if (is_reclaim(decision.reason.code)) ++outcome.reclaims;
    outcome.state = JobState::kEnding;
    live.since = now_;
    events_.push(now_ + restart(index).grace, SimEventKind::kRoomFree, index, live.run);
    return {};
  }

  void leave_nodes(std::uint32_t index, bool evicted) {
    Live& live = live_[index];
    for (const PlacedSlot& slot : live.slots) {
      books_.release(slot.node, *slot.pod, slot.placement);
      occupy(index, slot, evicted, false);
    }
    change_allocated(index, -shape(index).gpu_milli);
  }

  void occupy(std::uint32_t index, const PlacedSlot& slot, bool evicted, bool running) {
    const std::uint32_t lane = gantt_of_[slot.node];
    if (lane == kNotShown || slot.placement.devices.empty() || now_ <= slot.since) return;
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

  Status finish_job(std::uint32_t index) {
    JobOutcome& outcome = out_.jobs[index];
    outcome.lost += live_[index].overhead;
    outcome.state = JobState::kDone;
    outcome.end = now_;
    leave_nodes(index, false);
    live_[index] = Live();
    ++ended_;
    return apply(WorkloadRemove{job_uid(index)});
  }

  Status room_free(std::uint32_t index) {
    leave_nodes(index, true);
    const std::string uid = job_uid(index);
    for (const PlacedSlot& slot : live_[index].slots) {
      BERTH_TRY(apply(SlotUpdate{uid, slot.placement.pod_set, slot.placement.index, SlotState::kGone, {}}));
    }
    for (const PlacedSlot& slot : live_[index].slots) {
      BERTH_TRY(
          apply(SlotUpdate{uid, slot.placement.pod_set, slot.placement.index, SlotState::kWaiting, {}}));
    }
    live_[index].slots.clear();
    set_waiting(index);
    return {};
  }

  // Jobs that still wait when nothing can happen any more: why.
  void finish() {
    std::map<std::string, Outcome::Stuck> stuck;
    for (std::uint32_t i = 0; i < out_.jobs.size(); ++i) {
      if (out_.jobs[i].state != JobState::kWaiting) continue;
      ++out_.unfinished;
      out_.jobs[i].waited += now_ - live_[i].since;
      const auto verdict = decider_.engine().verdict(job_uid(i));
      const std::string reason(verdict ? enum_name(leading_code(verdict->reason)) : "Unknown");
      Outcome::Stuck& entry = stuck[reason];
      if (entry.jobs++ > 0) continue;
      entry.reason = reason;
      const auto in_full = decider_.engine().explain(job_uid(i));
      entry.example = fmt::format("job {}: {}", job(i).name,
                                  in_full ? to_text(in_full->reason) : in_full.error().message);
    }
    for (auto& [reason, entry] : stuck) out_.stuck.push_back(std::move(entry));
    std::stable_sort(out_.stuck.begin(), out_.stuck.end(),
                     [](const Outcome::Stuck& a, const Outcome::Stuck& b) { return a.jobs > b.jobs; });
    out_.series.finish(out_.end);
    if (options_.progress) report_progress();
  }

  static constexpr std::uint32_t kNotShown = 0xffffffffu;

  const Input& input_;
  Decider& decider_;
  const ReplayOptions& options_;
  Books books_;
  EventQueue events_;
  Outcome out_;
  std::vector<Live> live_;
  std::vector<std::vector<const PodSet*>> pod_sets_;  // per shape
  std::vector<std::uint32_t> gantt_of_;
  std::vector<std::uint32_t> started_;  // in this round
  std::size_t next_ = 0;
  bool submission_queued_ = false;
  std::int64_t ended_ = 0;
  TimeMs now_ = 0;
};

}  // namespace

Status set_up(const Input& input, Decider& decider) {
  for (const Flavor& flavor : input.flavors) BERTH_TRY(decider.apply(FlavorUpsert{flavor}));
  for (const Queue& queue : input.queues) BERTH_TRY(decider.apply(QueueUpsert{queue}));
  for (const Node& node : input.nodes) BERTH_TRY(decider.apply(NodeUpsert{node}));
  return {};
}

Result<Outcome> replay(const Input& input, Decider& decider, const ReplayOptions& options) {
  return Replay(input, decider, options).run();
}

}  // namespace berth::sim

// The clock of a replay, and decisions on their way to what they are about.
#include "sim/replay/replay.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/replay/replay_run.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMostRoundsAtOneMoment = 10'000;
// With more series over time than this they are kept at a quarter of the resolution: 8 KB each.
constexpr std::size_t kManyTracks = 512;
constexpr std::int64_t kMostIdleWakes = 1000;

// A reason that only holds others together is named after the first of them.
ReasonCode leading_code(const Reason& reason) {
  const Reason* at = &reason;
  while (at->code == ReasonCode::kNone && !at->children.empty()) at = &at->children.front();
  return at->code;
}

}  // namespace

ReplayRun::ReplayRun(const Input& input, Decider& decider, const ReplayOptions& options)
    : input_(input), decider_(decider), options_(options), books_(input.nodes) {}

Result<Outcome> ReplayRun::run() {
  BERTH_TRY(prepare());
  queue_submission();
  // Wakes of the engine that decide nothing, one after the other, while nothing else is ahead.
  std::int64_t idle = 0;
  while (idle < kMostIdleWakes) {
    const TimeMs wake = engine_wakes_at();
    if (!events_.busy() && wake == kEndOfTime) break;
    const std::int64_t decisions = decisions_;
    BERTH_TRY(moment(std::min(events_.next_time(), wake)));
    idle = events_.busy() || decisions_ > decisions ? 0 : idle + 1;
  }
  finish();
  return std::move(out_);
}

Status ReplayRun::prepare() {
  const auto& jobs = input_.trace.jobs;
  out_.begin = jobs.front().submit;
  for (const Service& service : input_.services) out_.begin = std::min(out_.begin, service.load.front().at);
  out_.last_submit = jobs.back().submit;
  out_.end = out_.begin;
  out_.jobs.resize(jobs.size());
  live_of_.resize(count(), kNone);
  on_node_.resize(input_.nodes.size());
  out_.leaf_of.resize(input_.queues.size(), 0);
  for (std::uint32_t i = 0; i < input_.queues.size(); ++i) {
    if (!input_.queues[i].leaf) continue;
    out_.leaf_of[i] = static_cast<std::uint32_t>(out_.leaves.size());
    out_.leaves.push_back(i);
  }
  const std::size_t tracks = queue_track(out_.leaves.size(), QueueTrack::kAllocated);
  out_.series = BinnedSeries(tracks, out_.begin, tracks <= kManyTracks ? 2048 : 512);
  note_idle(out_.begin);
  out_.gpu_capacity_milli = books_.gpu_capacity_milli();
  for (const JobShape& shape : input_.trace.shapes) pod_sets_.push_back(pod_sets_of(shape.root));
  choose_gantt_nodes();
  prepare_services();
  BERTH_TRY(prepare_faults());
  return set_up(input_, decider_);
}

// The time of the next decide() without an event; never, once there is no work any more.
TimeMs ReplayRun::engine_wakes_at() const {
  const TimeMs at = decider_.next_time();
  return at == kEndOfTime ? at : std::max(now_, at - engine_time(0));
}

// Nodes with GPUs, evenly over the cluster.
void ReplayRun::choose_gantt_nodes() {
  std::vector<std::uint32_t> candidates;
  for (std::uint32_t i = 0; i < input_.nodes.size(); ++i) {
    if (!input_.nodes[i].devices.empty()) candidates.push_back(i);
  }
  const auto want = std::min<std::size_t>(static_cast<std::size_t>(options_.gantt_nodes), candidates.size());
  gantt_of_.assign(input_.nodes.size(), kNone);
  for (std::size_t i = 0; i < want; ++i) {
    const std::uint32_t node = candidates[i * candidates.size() / want];
    gantt_of_[node] = static_cast<std::uint32_t>(out_.gantt_nodes.size());
    out_.gantt_nodes.push_back(node);
  }
}

// Submissions are not queued: the jobs are sorted, and a queue of all of them would cost memory.
TimeMs ReplayRun::next_submit() const {
  return next_ < input_.trace.jobs.size() ? input_.trace.jobs[next_].submit : kEndOfTime;
}

// One event stands for the next submission, whichever it is.
void ReplayRun::queue_submission() {
  submission_queued_ = true;
  events_.push(next_submit(), SimEventKind::kSubmit, 0, 0);
}

Status ReplayRun::moment(TimeMs at) {
  now_ = at;
  ++out_.moments;
  waits_.clear();
  std::int64_t rounds = 0;
  bool acted = true;
  while (acted) {
    if (++rounds > kMostRoundsAtOneMoment) {
      return fail(ErrorCode::kInternal, "at {} ms the engine decides without end: {} rounds at one moment",
                  at, rounds);
    }
    while (events_.next_time() == at) BERTH_TRY(take(events_.pop()));
    while (next_submit() == at) BERTH_TRY(submit(static_cast<std::uint32_t>(next_++)));
    if (next_ < input_.trace.jobs.size() && !submission_queued_) queue_submission();
    ++out_.decide_calls;
    BERTH_ASSIGN(const std::vector<Decision> decisions, decider_.decide(engine_time(at)));
    started_.clear();
    decisions_ += static_cast<std::int64_t>(decisions.size());
    for (const Decision& decision : decisions) BERTH_TRY(carry_out(decision));
    BERTH_TRY(report_running());
    acted = events_.next_time() == at;
  }
  note_reasons();
  note_idle(now_);
  // Failures that had nothing to hit go on with the work.
  if (events_.working()) {
    for (const std::uint32_t rule : std::exchange(resting_rules_, {})) {
      events_.push(faults_.next(rule, now_), SimEventKind::kFail, rule, 0);
    }
  }
  out_.end = at;
  if (options_.audit_every > 0 && out_.moments % options_.audit_every == 0) BERTH_TRY(decider_.audit());
  if (options_.progress && out_.moments % 256 == 0) report_progress();
  return {};
}

void ReplayRun::report_progress() const {
  options_.progress(
      {static_cast<std::int64_t>(input_.trace.jobs.size()), static_cast<std::int64_t>(next_), ended_, now_});
}

// The obstacles of jobs that began to wait in this moment and still do.
void ReplayRun::note_reasons() {
  for (const std::uint32_t index : waits_) {
    if (outcome(index).state != JobState::kWaiting) continue;
    const auto verdict = decider_.verdict(job_uid(index));
    if (verdict) live(index).held_by = leading_code(verdict->reason);
  }
}

void ReplayRun::note_idle(TimeMs at) {
  const IdleGpus& idle = books_.idle();
  const auto set = [&](std::size_t track, std::int64_t milli) {
    const std::int64_t change = milli - out_.series.value(track);
    if (change != 0) out_.series.add(track, change, at);
  };
  set(kTrackIdleNodes, idle.free_nodes_milli);
  set(kTrackIdleWhole, idle.whole_milli);
  set(kTrackIdleParts, idle.parts_milli);
}

Status ReplayRun::take(const SimEvent& event) {
  switch (event.kind) {
    case SimEventKind::kSubmit:
      submission_queued_ = false;
      return {};
    case SimEventKind::kFinish:
      if (out_.jobs[event.subject].state != JobState::kRunning || live(event.subject).run != event.run)
        return {};
      return finish_job(event.subject);
    case SimEventKind::kRoomFree:
      return live_of_[event.subject] == kNone ? Status() : room_free(event.subject);
    case SimEventKind::kReady:
      if (live_of_[event.subject] == kNone) return {};
      if (is_service(event.subject)) {
        show_ready(service_of(event.subject));
      } else if (outcome(event.subject).state == JobState::kRunning) {
        if (speed_of(event.subject) != live(event.subject).course.speed()) set_pace(event.subject);
      }
      return {};
    case SimEventKind::kRepair:
      return repair(event.subject);
    case SimEventKind::kFail:
      return strike(event.subject);
    case SimEventKind::kService:
      return service_event(event.subject);
  }
  return {};
}

Status ReplayRun::apply(const Event& event) {
  auto applied = decider_.apply(event);
  if (!applied) {
    return fail(ErrorCode::kInternal, "at {} ms the engine refuses an event: {}", now_,
                applied.error().message);
  }
  return {};
}

Status ReplayRun::carry_out(const Decision& decision) {
  const std::uint32_t index = job_of_uid(decision.workload);
  if (index >= count() || live_of_[index] == kNone) {
    return fail(ErrorCode::kInternal, "at {} ms a decision names the workload '{}', which does not exist",
                now_, decision.workload);
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
  }
  return fail(ErrorCode::kInternal, "the decision '{}' of workload {} has no meaning in this simulation",
              enum_name(decision.kind), decision.workload);
}

std::string ReplayRun::text_of(std::uint32_t index) const {
  return fmt::format("{} {}", is_service(index) ? "service" : "job", name(index));
}

// Jobs that still wait, or stand still in their room, when nothing can happen any more: why.
void ReplayRun::finish() {
  std::map<std::string, Outcome::Stuck> stuck;
  for (std::uint32_t i = 0; i < out_.jobs.size(); ++i) {
    const JobState state = out_.jobs[i].state;
    if (state != JobState::kWaiting && state != JobState::kRunning) continue;
    ++out_.unfinished;
    if (state == JobState::kWaiting) out_.jobs[i].waited += now_ - live(i).since;
    if (state == JobState::kRunning) {
      live(i).course.advance(now_);
      for (const PlacedSlot& slot : live(i).active) occupy(i, slot, false, true);
    }
    settle_account(i);
    const auto verdict = decider_.verdict(job_uid(i));
    const std::string reason(verdict ? enum_name(leading_code(verdict->reason)) : "Unknown");
    Outcome::Stuck& entry = stuck[reason];
    if (entry.jobs++ > 0) continue;
    entry.reason = reason;
    const auto in_full = decider_.explain(job_uid(i));
    entry.example =
        fmt::format("job {}: {}", job(i).name, in_full ? to_text(in_full->reason) : in_full.error().message);
  }
  for (auto& [reason, entry] : stuck) out_.stuck.push_back(std::move(entry));
  std::stable_sort(out_.stuck.begin(), out_.stuck.end(),
                   [](const Outcome::Stuck& a, const Outcome::Stuck& b) { return a.jobs > b.jobs; });
  out_.series.finish(out_.end);
  for (ServiceOutcome& service : out_.services) service.series.finish(out_.end);
  out_.image_pulls = images_.pulls();
  if (options_.progress) report_progress();
}

Status set_up(const Input& input, Decider& decider) {
  for (const Topology& topology : input.topologies) BERTH_TRY(decider.apply(TopologyUpsert{topology}));
  for (const Flavor& flavor : input.flavors) BERTH_TRY(decider.apply(FlavorUpsert{flavor}));
  for (const Queue& queue : input.queues) BERTH_TRY(decider.apply(QueueUpsert{queue}));
  for (const Node& node : input.nodes) BERTH_TRY(decider.apply(NodeUpsert{node}));
  if (!input.demand.kinds.empty()) BERTH_TRY(decider.apply(DemandMixUpdate{input.demand}));
  return {};
}

Result<Outcome> replay(const Input& input, Decider& decider, const ReplayOptions& options) {
  return ReplayRun(input, decider, options).run();
}

}  // namespace berth::sim

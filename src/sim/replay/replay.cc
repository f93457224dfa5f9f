// The clock of a replay, and decisions on their way to what they are about.
#include "sim/replay/replay.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/replay/replay_run.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMostRoundsAtOneMoment = 10'000;
constexpr std::int64_t kMostIdleWakes = 1000;

// A reason that only holds others together is named after the first of them.
ReasonCode leading_code(const Reason& reason) {
  const Reason* at = &reason;
  while (at->code == ReasonCode::kNone && !at->children.empty()) at = &at->children.front();
  return at->code;
}

}  // namespace

ReplayRun::ReplayRun(const Input& input, Decider& decider, const ReplayOptions& options)
    : input_(input),
      decider_(decider),
      options_(options),
      books_(input.nodes),
      work_(input),
      book_(input, work_, out_),
      outages_(input) {}

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
  book_.prepare(options_.gantt_nodes);
  book_.note_idle(books_.idle(), out_.begin);
  out_.gpu_capacity_milli = books_.gpu_capacity_milli();
  prepare_services();
  BERTH_TRY(prepare_faults());
  return set_up(input_, decider_);
}

// The time of the next decide() without an event; never, once there is no work any more.
TimeMs ReplayRun::engine_wakes_at() const {
  const TimeMs at = decider_.next_time();
  return at == kEndOfTime ? at : std::max(now_, at - engine_time(0));
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
  book_.note_idle(books_.idle(), now_);
  // Failures that had nothing to hit go on with the work.
  if (events_.working()) {
    for (const std::uint32_t rule : outages_.take_resting()) {
      events_.push(outages_.next(rule, now_), SimEventKind::kFail, rule, 0);
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
    if (book_.of(index).state != JobState::kWaiting) continue;
    const auto verdict = decider_.verdict(job_uid(index));
    if (verdict) work_.live(index).held_by = leading_code(verdict->reason);
  }
}

Status ReplayRun::take(const SimEvent& event) {
  switch (event.kind) {
    case SimEventKind::kSubmit:
      submission_queued_ = false;
      return {};
    case SimEventKind::kFinish:
      if (out_.jobs[event.subject].state != JobState::kRunning || work_.live(event.subject).run != event.run)
        return {};
      return finish_job(event.subject);
    case SimEventKind::kRoomFree:
      return !work_.is_live(event.subject) ? Status() : room_free(event.subject);
    case SimEventKind::kReady:
      if (!work_.is_live(event.subject)) return {};
      if (work_.is_service(event.subject)) {
        show_ready(work_.service_of(event.subject));
      } else if (book_.of(event.subject).state == JobState::kRunning) {
        if (work_.speed_of(event.subject, now_) != work_.live(event.subject).course.speed())
          set_pace(event.subject);
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
  if (index >= work_.count() || !work_.is_live(index)) {
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

// Jobs that still wait, or stand still in their room, when nothing can happen any more: why.
void ReplayRun::finish() {
  std::map<std::string, Outcome::Stuck> stuck;
  for (std::uint32_t i = 0; i < out_.jobs.size(); ++i) {
    const JobState state = out_.jobs[i].state;
    if (state != JobState::kWaiting && state != JobState::kRunning) continue;
    ++out_.unfinished;
    if (state == JobState::kWaiting) out_.jobs[i].waited += now_ - work_.live(i).since;
    if (state == JobState::kRunning) {
      work_.live(i).course.advance(now_);
      for (const PlacedSlot& slot : work_.live(i).active) book_.occupy(i, slot, false, true, now_);
    }
    book_.settle_account(i, now_);
    const auto verdict = decider_.verdict(job_uid(i));
    const std::string reason(verdict ? enum_name(leading_code(verdict->reason)) : "Unknown");
    Outcome::Stuck& entry = stuck[reason];
    if (entry.jobs++ > 0) continue;
    entry.reason = reason;
    const auto in_full = decider_.explain(job_uid(i));
    entry.example = fmt::format("job {}: {}", work_.job(i).name,
                                in_full ? to_text(in_full->reason) : in_full.error().message);
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

// Services: their load and their targets over time, and how much of the load is served.
#include <algorithm>
#include <utility>

#include "sim/replay/replay_run.h"

namespace berth::sim {

void ReplayRun::prepare_services() {
  for (std::uint32_t i = 0; i < input_.services.size(); ++i) queue_service(i);
}

void ReplayRun::queue_service(std::uint32_t service) {
  const Service& spec = input_.services[service];
  const ReplayWork::ServiceRun& run = work_.service(service);
  TimeMs next = spec.end;
  if (run.next_load < spec.load.size()) next = std::min(next, spec.load[run.next_load].at);
  if (run.next_step < spec.plan.size()) next = std::min(next, spec.plan[run.next_step].at);
  events_.push(next, SimEventKind::kService, service, 0);
}

Status ReplayRun::service_event(std::uint32_t service) {
  const Service& spec = input_.services[service];
  ReplayWork::ServiceRun& run = work_.service(service);
  if (run.gone) return {};
  account_service(service);
  if (now_ >= spec.end) return end_service(service);
  for (; run.next_load < spec.load.size() && spec.load[run.next_load].at <= now_; ++run.next_load) {
    const std::int64_t load = spec.load[run.next_load].load_milli;
    BinnedSeries& series = out_.services[service].series;
    series.add(kServiceNeeded, replicas_for(load, spec.rule.per_replica_milli) - series.value(kServiceNeeded),
               now_);
    run.load_milli = load;
  }
  for (; run.next_step < spec.plan.size() && spec.plan[run.next_step].at <= now_; ++run.next_step) {
    BERTH_TRY(set_target(service, spec.plan[run.next_step].replicas));
  }
  queue_service(service);
  return {};
}

Workload ReplayRun::service_workload(std::uint32_t service) const {
  const Service& spec = input_.services[service];
  Workload workload;
  workload.uid = job_uid(work_.index_of(service));
  workload.name = spec.name;
  workload.queue = spec.queue;
  workload.kind = WorkloadKind::kService;
  workload.priority = spec.priority;
  workload.preemptible = spec.preemptible;
  workload.created = engine_time(spec.load.front().at);
  workload.restart = spec.restart;
  workload.root = work_.root(work_.index_of(service));
  return workload;
}

// Pods beyond the new target end at once, the highest numbers first.
Status ReplayRun::set_target(std::uint32_t service, std::int64_t target) {
  const std::uint32_t index = work_.index_of(service);
  ReplayWork::ServiceRun& run = work_.service(service);
  const bool fresh = !work_.is_live(index);
  BinnedSeries& series = out_.services[service].series;
  series.add(kServiceTarget, target - run.target, now_);
  if (!fresh && book_.of(index).state == JobState::kWaiting) {
    book_.count_waiting(index, 0, -work_.asked_gpu_milli(index), now_);
  }
  const std::int64_t before = std::exchange(run.target, target);
  PodSet& replicas = run.root.pod_sets.front();
  replicas.count = target;
  replicas.least = std::min(target, input_.services[service].rule.min);
  // All that the load asks for has the service's priority; what is above the minimum may be reclaimed.
  const std::int64_t sure = replicas.least_count();
  replicas.bands = {DemandBand{sure, 0, true, 0, 0}, DemandBand{target - sure, 0, false, 0, 0}};
  if (fresh) {
    work_.open(index);
    set_waiting(index);
    return apply(WorkloadUpsert{service_workload(service)});
  }
  if (book_.of(index).state == JobState::kWaiting) {
    book_.count_waiting(index, 0, work_.asked_gpu_milli(index), now_);
  }
  Live& at = work_.live(index);
  std::vector<PlacedSlot> gone;
  while (!at.active.empty() && at.active.back().placement.index >= target) {
    at.gpu_milli -= at.active.back().gpu_milli;
    gone.push_back(std::move(at.active.back()));
    at.active.pop_back();
  }
  for (const PlacedSlot& slot : gone) leave(index, slot, false);
  BERTH_TRY(wait_again(index, gone));  // none of them waits again: the target is lower
  BERTH_TRY(apply(WorkloadUpsert{service_workload(service)}));
  // A slot that was given up once is asked for anew; one that still ends will be when it is gone.
  for (std::int64_t slot = before; slot < target; ++slot) {
    const auto same = [&](const PlacedSlot& other) { return other.placement.index == slot; };
    if (std::any_of(at.ending.begin(), at.ending.end(), same)) continue;
    BERTH_TRY(apply(SlotUpdate{job_uid(index), 0, slot, SlotState::kWaiting, {}}));
  }
  show_ready(service);
  if (gone.empty() || !at.active.empty()) return {};
  book_.of(index).state = JobState::kEnding;
  at.since = now_;
  if (at.ending.empty()) set_waiting(index);
  return {};
}

Status ReplayRun::end_service(std::uint32_t service) {
  const std::uint32_t index = work_.index_of(service);
  work_.service(service).gone = true;
  if (!work_.is_live(index)) return {};
  Live& at = work_.live(index);
  JobOutcome& result = book_.of(index);
  if (result.state == JobState::kWaiting) book_.end_waiting(index, now_);
  if (result.state == JobState::kEnding) book_.end_ending(index, now_);
  for (const PlacedSlot& slot : at.active) leave(index, slot, false);
  for (const PlacedSlot& slot : at.ending) leave(index, slot, true);
  at.active.clear();
  result.state = JobState::kDone;
  result.end = now_;
  BinnedSeries& series = out_.services[service].series;
  for (const std::size_t track : {kServiceNeeded, kServiceTarget, kServiceReady}) {
    series.add(track, -series.value(track), now_);
  }
  work_.close(index);
  return apply(WorkloadRemove{job_uid(index)});
}

void ReplayRun::account_service(std::uint32_t service) {
  ReplayWork::ServiceRun& run = work_.service(service);
  // The number that served until now is the one shown last.
  const std::int64_t ready = out_.services[service].series.value(kServiceReady);
  const std::int64_t per_replica = input_.services[service].rule.per_replica_milli;
  if (run.target > 0) {
    out_.services[service].account.pass(now_ - run.accounted, run.load_milli, run.target, ready, per_replica);
  }
  run.accounted = now_;
}

void ReplayRun::show_ready(std::uint32_t service) {
  account_service(service);
  BinnedSeries& series = out_.services[service].series;
  series.add(kServiceReady, work_.ready_replicas(service, now_) - series.value(kServiceReady), now_);
}

}  // namespace berth::sim

// Services: their load and their targets over time, and how much of the load is served.
#include <algorithm>
#include <utility>

#include "sim/replay/replay_run.h"

namespace berth::sim {

void ReplayRun::prepare_services() {
  for (std::uint32_t i = 0; i < input_.services.size(); ++i) {
    const Service& service = input_.services[i];
    ServiceRun run;
    PodSet replicas;
    replicas.name = "replicas";
    replicas.pod = service.pod;
    run.root.name = "service";
    run.root.disruption = Disruption::kOne;
    run.root.pod_sets.push_back(std::move(replicas));
    services_.push_back(std::move(run));
    out_.services.emplace_back();
    out_.services.back().series = BinnedSeries(3, out_.begin, 512);
  }
  // The vector is whole: pointers into it stay.
  for (std::uint32_t i = 0; i < services_.size(); ++i) {
    services_[i].sets = pod_sets_of(services_[i].root);
    queue_service(i);
  }
}

void ReplayRun::queue_service(std::uint32_t service) {
  const Service& spec = input_.services[service];
  const ServiceRun& run = services_[service];
  TimeMs next = spec.end;
  if (run.next_load < spec.load.size()) next = std::min(next, spec.load[run.next_load].at);
  if (run.next_step < spec.plan.size()) next = std::min(next, spec.plan[run.next_step].at);
  events_.push(next, SimEventKind::kService, service, 0);
}

Status ReplayRun::service_event(std::uint32_t service) {
  const Service& spec = input_.services[service];
  ServiceRun& run = services_[service];
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
  workload.uid = job_uid(index_of(service));
  workload.name = spec.name;
  workload.queue = spec.queue;
  workload.kind = WorkloadKind::kService;
  workload.priority = spec.priority;
  workload.preemptible = spec.preemptible;
  workload.created = engine_time(spec.load.front().at);
  workload.restart = spec.restart;
  workload.root = services_[service].root;
  return workload;
}

// Pods beyond the new target end at once, the highest numbers first.
Status ReplayRun::set_target(std::uint32_t service, std::int64_t target) {
  const std::uint32_t index = index_of(service);
  ServiceRun& run = services_[service];
  const bool fresh = live_of_[index] == kNone;
  BinnedSeries& series = out_.services[service].series;
  series.add(kServiceTarget, target - run.target, now_);
  if (!fresh && outcome(index).state == JobState::kWaiting) {
    count_waiting(index, 0, -asked_gpu_milli(index));
  }
  const std::int64_t before = std::exchange(run.target, target);
  PodSet& replicas = run.root.pod_sets.front();
  replicas.count = target;
  replicas.least = std::min(target, input_.services[service].rule.min);
  // All that the load asks for has the service's priority; what is above the minimum may be reclaimed.
  const std::int64_t sure = replicas.least_count();
  replicas.bands = {DemandBand{sure, 0, true, 0, 0}, DemandBand{target - sure, 0, false, 0, 0}};
  if (fresh) {
    open(index);
    set_waiting(index);
    return apply(WorkloadUpsert{service_workload(service)});
  }
  if (outcome(index).state == JobState::kWaiting) {
    count_waiting(index, 0, asked_gpu_milli(index));
  }
  Live& at = live(index);
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
  outcome(index).state = JobState::kEnding;
  at.since = now_;
  if (at.ending.empty()) set_waiting(index);
  return {};
}

Status ReplayRun::end_service(std::uint32_t service) {
  const std::uint32_t index = index_of(service);
  services_[service].gone = true;
  if (live_of_[index] == kNone) return {};
  Live& at = live(index);
  JobOutcome& result = outcome(index);
  if (result.state == JobState::kWaiting) end_waiting(index);
  if (result.state == JobState::kEnding) end_ending(index);
  for (const PlacedSlot& slot : at.active) leave(index, slot, false);
  for (const PlacedSlot& slot : at.ending) leave(index, slot, true);
  at.active.clear();
  result.state = JobState::kDone;
  result.end = now_;
  BinnedSeries& series = out_.services[service].series;
  for (const std::size_t track : {kServiceNeeded, kServiceTarget, kServiceReady}) {
    series.add(track, -series.value(track), now_);
  }
  close(index);
  return apply(WorkloadRemove{job_uid(index)});
}

std::int64_t ReplayRun::ready_replicas(std::uint32_t service) {
  const std::uint32_t index = index_of(service);
  if (live_of_[index] == kNone) return 0;
  const auto& active = live(index).active;
  return std::count_if(active.begin(), active.end(),
                       [&](const PlacedSlot& slot) { return slot.ready <= now_; });
}

void ReplayRun::account_service(std::uint32_t service) {
  ServiceRun& run = services_[service];
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
  series.add(kServiceReady, ready_replicas(service) - series.value(kServiceReady), now_);
}

}  // namespace berth::sim

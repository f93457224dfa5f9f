#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/owners/asked_set.h"
#include "dialect/owners/job_set/job_set.h"
#include "dialect/owners/owner.h"
#include "dialect/owners/pod_number.h"
#include "dialect/owners/switch.h"

namespace berth::dialect {

std::int64_t ReplicatedJob::pods_of_job() const {
  return std::min(parallelism, completions.value_or(parallelism));
}

void JobSet::keep_status(const JobSet& there) {
  finished = there.finished;
  failed = there.failed;
  ending = there.ending;
  restarts = there.restarts;
  generation = there.generation;
  for (ReplicatedJob& job : jobs) {
    for (const ReplicatedJob& known : there.jobs) {
      if (known.name != job.name) continue;
      job.ready = known.ready;
      job.succeeded = known.succeeded;
    }
  }
}

namespace {

const JobSet& job_set_of(const Ask& ask) {
  return *static_cast<const JobSet*>(ask.own.get());
}

std::string_view why_over(const JobSet& own) {
  if (own.finished) return own.failed ? "it has failed" : "it is complete";
  return own.meta.deleting ? "it is being deleted" : "";
}

AskedSet set_of_jobs(ReplicatedJob& job, bool later) {
  AskedSet out = asked_by_template(job.marks, job.spec, job.needs,
                                   job.exclusive ? kExclusiveTopology : std::string_view());
  out.name = job.name;
  out.annotated = job.annotated;
  out.later = later;
  return out;
}

// Which Job of its set an owner or a pod is of, by the name of a Job: "<jobset>-<replicated job>-<job>".
std::optional<std::pair<std::size_t, std::int64_t>> job_named(const JobSet& own, std::string_view name) {
  if (!name.starts_with(own.meta.name) || !name.substr(own.meta.name.size()).starts_with('-'))
    return std::nullopt;
  name.remove_prefix(own.meta.name.size() + 1);
  for (std::size_t s = 0; s < own.jobs.size(); ++s) {
    if (const auto number = number_behind(name, own.jobs[s].name)) return std::pair(s, *number);
  }
  return std::nullopt;
}

// By its own spec and status, as long as none of its Jobs is known; the Jobs say what has ended in them.
void count_jobs(Ask& ask, const std::vector<const Ask*>& below) {
  const JobSet& own = job_set_of(ask);
  std::vector<std::map<std::int64_t, const Ask*>> known(own.jobs.size());
  for (const Ask* job : below) {
    const auto at = job_named(own, job->meta->name);
    if (at && at->second < own.jobs[at->first].replicas) known[at->first][at->second] = job;
  }
  for (std::size_t s = 0; s < own.jobs.size(); ++s) {
    const ReplicatedJob& job = own.jobs[s];
    AskedSet& set = ask.sets[s];
    const std::int64_t pods = job.pods_of_job();
    set.most = set.asked = job.replicas * pods;
    set.size = 0;
    std::int64_t ended = 0;
    for (const auto& [number, each] : known[s]) {
      set.size += each->size();
      ended += each->finished ? 1 : 0;
    }
    // Jobs that ended well and are gone, and those that are to be made.
    const auto unknown = job.replicas - static_cast<std::int64_t>(known[s].size());
    set.size += std::max<std::int64_t>(0, unknown - std::max<std::int64_t>(0, job.succeeded - ended)) * pods;
    if (!why_over(own).empty()) set.size = 0;
    set.reclaimable = std::max<std::int64_t>(0, set.asked - set.size);
  }
}

Ask ask_job_set(std::shared_ptr<void> object) {
  const auto shared = std::static_pointer_cast<JobSet>(std::move(object));
  JobSet& own = *shared;
  Ask out;
  out.kind = &JobSet::kOwner;
  out.own = shared;
  out.meta = &own.meta;
  out.generation = own.generation;
  out.over = why_over(own);
  out.ending = own.ending;
  out.problem = own.problem;
  out.suspended = own.suspend;
  out.makes_pods = out.over.empty();
  out.has_run = own.restarts > 0;
  out.finished = own.finished;
  out.failed = own.failed;
  out.is_led =
      !own.meta.controller->kind.empty() || (!own.managed_by.empty() && own.managed_by != kJobSetController);
  out.is_ready = true;
  for (ReplicatedJob& job : own.jobs) {
    out.sets.push_back(set_of_jobs(job, !out.sets.empty() && (own.in_order || job.depends)));
    out.gang = out.gang || names_a_gang(own.meta, job.marks) ||
               is_for_kai(own.meta, job.marks, job.spec.scheduler_name);
    out.succeeded += job.succeeded * job.pods_of_job();
    out.ready += job.ready * job.pods_of_job();
    out.is_ready = out.is_ready && job.ready + job.succeeded >= job.replicas;
    out.has_run = out.has_run || job.succeeded > 0;
  }
  count_jobs(out, {});
  return out;
}

// The same JobSet, suspended or not.
Ask with_suspend(const Ask& ask, bool suspend) {
  const auto next = std::make_shared<JobSet>(job_set_of(ask));
  next->suspend = suspend;
  Ask out = ask_job_set(next);
  for (std::size_t s = 0; s < out.sets.size(); ++s) {
    out.sets[s].pod = ask.sets[s].pod;
    out.sets[s].needs = ask.sets[s].needs;
    out.sets[s].size = ask.sets[s].size;
    out.sets[s].reclaimable = ask.sets[s].reclaimable;
  }
  return out;
}

// By the name of its Job. A pod that `berth plan` makes belongs to the JobSet itself, and ends its name with its index.
OwnedPlace place_in_set(const Ask& ask, const Pod& pod) {
  const JobSet& own = job_set_of(ask);
  std::string_view job = pod.meta.controller->name;
  if (pod.meta.controller->uid == own.meta.uid)
    job = std::string_view(pod.meta.name).substr(0, pod.meta.name.rfind('-'));
  const auto at = job_named(own, job);
  if (!at) return {};
  const auto index = index_of(pod);
  if (!index) return {at->first, std::nullopt};
  return {at->first, at->second * own.jobs[at->first].pods_of_job() + *index};
}

Switch switch_of(const Ask& ask) {
  const JobSet& own = job_set_of(ask);
  Switch out{"/spec/suspend", {}, own.annotated};
  for (std::size_t s = 0; s < ask.sets.size(); ++s)
    out.templates.push_back(fmt::format("/spec/replicatedJobs/{}/template/spec/template", s));
  return out;
}

ReleaseWrite release_job_set(const Ask& ask, const Release& how) {
  return release_by(switch_of(ask), ask, how);
}

kube::Write suspend_job_set(const Ask& ask, bool) {
  return suspend_by(switch_of(ask), ask);
}

MadePods make_job_pods(const Ask& ask, const std::vector<const Pod*>& has, std::int64_t most) {
  const JobSet& own = job_set_of(ask);
  MadePods out;
  if (!ask.makes_pods) return out;
  if (ask.is_led) {
    out.none = own.meta.controller->kind.empty()
                   ? fmt::format("is managed by {}, which makes its pods: none are planned", own.managed_by)
                   : fmt::format("belongs to {} {}, which may change it: none of its pods are planned",
                                 own.meta.controller->kind, own.meta.controller->name);
    return out;
  }
  std::vector<std::set<std::int64_t>> taken(own.jobs.size());
  std::vector<std::int64_t> running(own.jobs.size());
  for (const Pod* pod : has) {
    if (pod->phase == PodPhase::kFailed) continue;
    const OwnedPlace place = place_in_set(ask, *pod);
    if (place.index) taken[place.set].insert(*place.index);
    if (pod->phase != PodPhase::kSucceeded) ++running[place.set];
  }
  for (std::size_t s = 0; s < own.jobs.size(); ++s)
    out.missing += std::max<std::int64_t>(0, ask.sets[s].size - running[s]);
  if (out.missing > most) return out;
  for (std::size_t s = 0; s < own.jobs.size(); ++s) {
    const std::int64_t each = own.jobs[s].pods_of_job();
    std::int64_t lacks = ask.sets[s].size - running[s];
    for (std::int64_t slot = 0; slot < own.jobs[s].replicas * each && lacks > 0; ++slot) {
      if (taken[s].contains(slot)) continue;
      --lacks;
      Pod pod = pod_of(ask, ask.sets[s]);
      pod.meta.name = fmt::format("{}-{}-{}-{}", own.meta.name, own.jobs[s].name, slot / each, slot % each);
      pod.meta.uid = fmt::format("{}/{}/{}", own.meta.uid, own.jobs[s].name, slot);
      pod.meta.annotations.insert_or_assign(std::string(kJobIndex), fmt::format("{}", slot % each));
      out.pods.push_back(std::move(pod));
    }
  }
  return out;
}

}  // namespace

const OwnerKind JobSet::kOwner{
    .kind = Kind::kJobSet,
    .version = "v1alpha2",
    .work = WorkloadKind::kBatch,
    .ask = ask_job_set,
    .count = count_jobs,
    .place_of = place_in_set,
    .release = release_job_set,
    .suspend = suspend_job_set,
    .make_changeable = nullptr,
    .make_pods = make_job_pods,
    .released = [](const Ask& ask, std::int64_t) { return with_suspend(ask, false); },
    .suspended = [](const Ask& ask) { return with_suspend(ask, true); },
};

}  // namespace berth::dialect

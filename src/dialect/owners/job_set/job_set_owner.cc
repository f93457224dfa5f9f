#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/owners/asked_set.h"
#include "dialect/owners/job_set/exclusive_jobs.h"
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

std::string job_name(const JobSet& own, const ReplicatedJob& job, std::int64_t number) {
  return fmt::format("{}-{}-{}", own.meta.name, job.name, number);
}

// Which Job of its set an owner or a pod is of, by the name of a Job: "<jobset>-<replicated job>-<job>".
std::optional<std::pair<std::size_t, std::int64_t>> job_named(const JobSet& own, std::string_view name) {
  if (!name.starts_with(own.meta.name) || !name.substr(own.meta.name.size()).starts_with('-'))
    return std::nullopt;
  name.remove_prefix(own.meta.name.size() + 1);
  for (std::size_t j = 0; j < own.jobs.size(); ++j) {
    if (const auto number = number_behind(name, own.jobs[j].name)) return std::pair(j, *number);
  }
  return std::nullopt;
}

// The pod set of a Job of a replicated job. Jobs beyond its replicas are of its last one.
std::size_t set_of_job(const JobSet& own, std::size_t job, std::int64_t number) {
  const auto after = std::upper_bound(
      own.sets.begin(), own.sets.end(), std::pair(job, number),
      [](const auto& wanted, const JobPods& set) { return wanted < std::pair(set.job, set.first); });
  return static_cast<std::size_t>(after - own.sets.begin()) - 1;
}

// By its own spec and status, as long as none of its Jobs is known; the Jobs say what has ended in them.
void count_jobs(Ask& ask, const std::vector<const Ask*>& below) {
  const JobSet& own = job_set_of(ask);
  std::vector<std::map<std::int64_t, const Ask*>> known(own.jobs.size());
  for (const Ask* job : below) {
    const auto at = job_named(own, job->meta->name);
    if (at && at->second < own.jobs[at->first].replicas) known[at->first][at->second] = job;
  }
  // Jobs that ended well and are gone, by replicated job. The first are taken to be those.
  std::vector<std::int64_t> gone;
  for (std::size_t j = 0; j < own.jobs.size(); ++j) {
    const auto ended = std::count_if(known[j].begin(), known[j].end(),
                                     [](const auto& each) { return each.second->finished; });
    gone.push_back(std::max<std::int64_t>(0, own.jobs[j].succeeded - ended));
  }
  for (std::size_t s = 0; s < own.sets.size(); ++s) {
    const JobPods& of = own.sets[s];
    AskedSet& set = ask.sets[s];
    const std::int64_t pods = own.jobs[of.job].pods_of_job();
    set.most = set.asked = of.jobs * pods;
    set.size = 0;
    std::int64_t unknown = of.jobs;
    const auto& jobs = known[of.job];
    for (auto each = jobs.lower_bound(of.first); each != jobs.end() && each->first < of.first + of.jobs;
         ++each) {
      set.size += each->second->size();
      --unknown;
    }
    const std::int64_t lacks = std::min(unknown, gone[of.job]);
    gone[of.job] -= lacks;
    set.size += (unknown - lacks) * pods;
    if (!why_over(own).empty()) set.size = 0;
    set.reclaimable = std::max<std::int64_t>(0, set.asked - set.size);
  }
}

// All Jobs of a replicated job, or each for itself.
void divide(JobSet& own) {
  own.sets.clear();
  for (std::size_t j = 0; j < own.jobs.size(); ++j) {
    const ReplicatedJob& job = own.jobs[j];
    const std::int64_t each = is_split(own, job) ? 1 : std::max<std::int64_t>(1, job.replicas);
    for (std::int64_t first = 0; first == 0 || first < job.replicas; first += each) {
      JobPods& set =
          own.sets.emplace_back(JobPods{j, first, std::min(each, job.replicas), job.marks, job.spec});
      set.spec.pod.clear();
      // That of one Job in the set: no pod is looked for by the keys of the others.
      add_job_key(set.marks, job_name(own, job, first));
    }
  }
}

void add_sets_of(JobSet& own, std::size_t j, bool later, Ask& out) {
  ReplicatedJob& job = own.jobs[j];
  const bool split = is_split(own, job);
  const AskedSet of_template = asked_by_template(job.marks, job.spec, job.needs, job.unsupported);
  for (JobPods& of : own.sets) {
    if (of.job != j) continue;
    AskedSet set = of_template;
    set.name = job.name;
    set.marks = &of.marks;
    set.spec = &of.spec;
    set.annotated = job.annotated;
    set.later = later;
    set.continues = of.first > 0;
    if (split) {
      set.after_first = true;
      PodTemplate pod = *set.pod;
      add_exclusive_terms(exclusive_by(job), of.marks.labels.find(kJobKey)->second, of.spec, pod);
      set.pod = std::make_shared<const PodTemplate>(std::move(pod));
    }
    out.sets.push_back(std::move(set));
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
  divide(own);
  for (std::size_t j = 0; j < own.jobs.size(); ++j) {
    const ReplicatedJob& job = own.jobs[j];
    add_sets_of(own, j, j > 0 && (own.in_order || job.depends), out);
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
  const std::size_t set = set_of_job(own, at->first, at->second);
  const std::int64_t each = own.jobs[at->first].pods_of_job();
  const auto index = index_of(pod);
  if (!index || (ask.sets[set].after_first && *index >= each)) return {set, std::nullopt};
  return {set, (at->second - own.sets[set].first) * each + *index};
}

std::optional<AskedPod> as_asked_job_set(const Ask& ask, std::size_t set, const Pod& pod,
                                         const PodTemplate& shape) {
  const JobSet& own = job_set_of(ask);
  const ReplicatedJob& job = own.jobs[own.sets[set].job];
  if (!is_split(own, job)) return std::nullopt;
  return as_exclusive(exclusive_by(job), ask.sets[set], pod, shape);
}

// Its templates are written, one for each replicated job: without what is said of single Jobs.
ReleaseWrite release_job_set(const Ask& ask, const Release& how) {
  const JobSet& own = job_set_of(ask);
  Ask written = ask;
  written.sets.clear();
  Switch by{"/spec/suspend", {}, own.annotated};
  for (std::size_t s = 0; s < ask.sets.size(); ++s) {
    if (ask.sets[s].continues) continue;
    const std::size_t j = own.sets[s].job;
    written.sets.push_back(ask.sets[s]);
    written.sets.back().marks = &own.jobs[j].marks;
    by.templates.push_back(fmt::format("/spec/replicatedJobs/{}/template/spec/template", j));
  }
  return release_by(by, written, how);
}

kube::Write suspend_job_set(const Ask& ask, bool) {
  return suspend_by({"/spec/suspend", {}, job_set_of(ask).annotated}, ask);
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
  std::vector<std::set<std::int64_t>> taken(own.sets.size());
  std::vector<std::int64_t> running(own.sets.size());
  for (const Pod* pod : has) {
    if (pod->phase == PodPhase::kFailed) continue;
    const OwnedPlace place = place_in_set(ask, *pod);
    if (place.index) taken[place.set].insert(*place.index);
    if (pod->phase != PodPhase::kSucceeded) ++running[place.set];
  }
  for (std::size_t s = 0; s < own.sets.size(); ++s)
    out.missing += std::max<std::int64_t>(0, ask.sets[s].size - running[s]);
  if (out.missing > most) return out;
  for (std::size_t s = 0; s < own.sets.size(); ++s) {
    const JobPods& of = own.sets[s];
    const ReplicatedJob& job = own.jobs[of.job];
    const std::int64_t each = job.pods_of_job();
    std::int64_t lacks = ask.sets[s].size - running[s];
    for (std::int64_t slot = 0; slot < of.jobs * each && lacks > 0; ++slot) {
      if (taken[s].contains(slot)) continue;
      --lacks;
      Pod pod = pod_of(ask, ask.sets[s]);
      pod.meta.name = fmt::format("{}-{}", job_name(own, job, of.first + slot / each), slot % each);
      pod.meta.uid = fmt::format("{}/{}/{}", own.meta.uid, job.name, of.first * each + slot);
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
    .as_asked = as_asked_job_set,
    .release = release_job_set,
    .suspend = suspend_job_set,
    .make_changeable = nullptr,
    .make_pods = make_job_pods,
    .released = [](const Ask& ask, std::int64_t) { return with_suspend(ask, false); },
    .suspended = [](const Ask& ask) { return with_suspend(ask, true); },
};

}  // namespace berth::dialect

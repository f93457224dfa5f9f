#include "dialect/owners/job/job_owner.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/owners/asked_set.h"
#include "dialect/owners/job/partial_jobs.h"
#include "dialect/owners/pod_number.h"
#include "kube/writes.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

const Job& job_of(const Ask& ask) {
  return *static_cast<const Job*>(ask.own.get());
}

Ask ask_job(std::shared_ptr<void> object) {
  const auto own = std::static_pointer_cast<Job>(std::move(object));
  Job& job = *own;
  AskedSet set = asked_by_template(job.template_meta, job.spec, job.needs);
  set.annotated = job.template_annotated;
  set.size = job.size();
  set.most = job.parallelism;
  set.asked = job.asked();
  set.reclaimable = job.reclaimable();
  set.least = job.least_pods;
  Ask out;
  out.kind = &Job::kOwner;
  out.own = own;
  out.meta = &job.meta;
  out.sets.push_back(std::move(set));
  out.generation = job.generation;
  out.succeeded = job.succeeded;
  out.ready = job.ready;
  out.started = job.started;
  out.over = job.why_over();
  out.conflict = job.partial_problem;
  out.ending = job.ending;
  out.problem = job.problem;
  out.gang = names_a_gang(job.meta, job.template_meta);
  out.suspended = job.suspend;
  out.makes_pods = job.makes_pods();
  out.is_ready = job.settled() + job.ready >= job.pods();
  out.has_run = job.succeeded + job.failed_pods > 0;
  out.finished = job.finished;
  out.failed = job.failed;
  out.elastic = job.elastic;
  out.is_led = job.is_managed_elsewhere() || job.has_owner();
  return out;
}

// The same Job with other numbers.
Ask changed(const Ask& ask, Job&& job) {
  Ask out = ask_job(std::make_shared<Job>(std::move(job)));
  out.sets.front().pod = ask.sets.front().pod;
  out.sets.front().needs = ask.sets.front().needs;
  return out;
}

OwnedPlace place_of(const Ask&, const Pod& pod) {
  return {0, index_of(pod)};
}

// Its completion index, or the number that ends its name.
std::optional<std::int64_t> index_by_name(const Pod& pod, const Meta& job) {
  if (const auto index = index_of(pod)) return index;
  return number_behind(pod.meta.name, job.name);
}

MadePods make_pods(const Ask& ask, const std::vector<const Pod*>& has, std::int64_t most) {
  const Job& job = job_of(ask);
  MadePods out;
  if (!job.makes_pods()) return out;
  if (job.is_managed_elsewhere()) {
    out.none = fmt::format("is managed by {}, which makes its pods: none are planned", job.managed_by);
    return out;
  }
  if (job.suspend && job.has_owner()) {
    out.none = fmt::format("is suspended, and {} {} releases it: none of its pods are planned",
                           job.meta.controller->kind, job.meta.controller->name);
    return out;
  }
  JobIndexes taken;
  std::int64_t have = 0;
  std::int64_t succeeded = 0;
  Job counted = job;  // its status may be older than its pods, or left out
  for (const auto* pod : has) {
    if (pod->phase == PodPhase::kFailed) continue;
    const bool done = pod->phase == PodPhase::kSucceeded;
    // One that is ending has a successor at once, unless the Job says otherwise.
    if (!done && pod->meta.deleting && !job.replaces_when_gone) continue;
    if (const auto index = index_by_name(*pod, job.meta)) {
      taken.add(*index);
      if (done && job.indexed) counted.completed.add(*index);
    }
    ++(done ? succeeded : have);
  }
  counted.succeeded = std::max(job.succeeded, succeeded);
  if (job.indexed) {
    taken.add(counted.completed);
    taken.add(counted.failed_indexes);
  }
  out.missing = counted.size() - have;
  if (out.missing <= most) out.pods = pods_of_job(ask, taken, out.missing);
  return out;
}

Ask released(const Ask& ask, std::int64_t pods) {
  Job next = job_of(ask);
  if (pods > 0 && pods < next.size()) {
    next.reduced = Job::Reduced{pods, next.parallelism, next.completions_follow};
    next.parallelism = pods;
    if (next.completions_follow) next.completions = pods;
  }
  next.suspend = false;
  return changed(ask, std::move(next));
}

Ask suspended(const Ask& ask) {
  Job next = job_of(ask);
  if (next.reduced) {
    next.parallelism = next.reduced->full;
    if (next.reduced->completions_too) next.completions = next.reduced->full;
    next.reduced.reset();
  }
  next.suspend = true;
  return changed(ask, std::move(next));
}

void write_size(text::JsonWriter& json, const JobSize& size) {
  const auto set = [&](std::string_view path, std::int64_t value) {
    json.begin_object().field("op", "add").field("path", path).field("value", value).end_object();
  };
  set("/spec/parallelism", size.parallelism);
  if (size.completions) set("/spec/completions", *size.completions);
  if (size.mark.empty() && !size.is_marked) return;
  json.begin_object().field("op", size.mark.empty() ? "remove" : "add");
  json.field("path", fmt::format("/metadata/annotations/{}", pointer(kPartialAdmission)));
  if (!size.mark.empty()) json.field("value", size.mark);
  json.end_object();
}

// A write of something else, of its status for example, is no reason to refuse it. The gate of an elastic Job is taken out of its
// template. Berth binds no pod before its turn, and no other controller takes that gate off.
ReleaseWrite release_job(const Ask& ask, const Release& how) {
  const Job& job = job_of(ask);
  ReleaseWrite out;
  text::JsonWriter json;
  const auto test = [&](std::string_view path, const auto& value) {
    json.begin_object().field("op", "test").field("path", path).field("value", value).end_object();
  };
  json.begin_array();
  test("/metadata/uid", std::string_view(job.meta.uid));
  if (how.generation != 0) test("/metadata/generation", how.generation);
  test("/spec/suspend", true);
  json.begin_object()
      .field("op", "replace")
      .field("path", "/spec/suspend")
      .field("value", false)
      .end_object();
  if (const auto size = size_for(job, how.pods)) {
    out.reduces = !size->mark.empty();
    write_size(json, *size);
  }
  const PodSetUpdate* update = update_of(ask, 0, how.updates);
  if (update != nullptr || !amended_keys(job.meta).empty()) {
    out.changes_template = true;
    const TemplatePatch patch{"/spec/template", &ask.sets.front(), update};
    write_changes(json, {&patch, 1}, job.meta, job.annotated);
  }
  if (job.elastic && job.spec.elastic_gate) {
    out.changes_template = true;
    const std::string gate = fmt::format("/spec/template/spec/schedulingGates/{}", *job.spec.elastic_gate);
    test(gate + "/name", kKueueElastic);
    json.begin_object().field("op", "remove").field("path", gate).end_object();
  }
  json.end_array();
  out.write = kube::patch_object(ask.kind->path().object(job.meta.ns, job.meta.name), json.take(),
                                 kube::BodyType::kJsonPatch);
  out.write.write_class = kube::WriteClass::kBind;
  return out;
}

// Before Kubernetes 1.35 the template of a Job that has ever run cannot be changed: it forgets when it was started.
kube::Write forget_start(const Ask& ask) {
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("uid", ask.meta->uid).end_object();
  json.key("status").begin_object().key("startTime").null().end_object().end_object();
  kube::Write write = kube::patch_object(ask.kind->path().object(ask.meta->ns, ask.meta->name, "status"),
                                         json.take(), kube::BodyType::kMergePatch);
  write.write_class = kube::WriteClass::kBind;
  write.idempotent = true;
  return write;
}

// The size that its user wrote comes back.
kube::Write suspend_job(const Ask& ask, bool reduced) {
  const Job& job = job_of(ask);
  const auto size = reduced ? std::optional(full_size(job)) : size_for(job, 0);
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("uid", job.meta.uid);
  if (size) json.key("annotations").begin_object().key(kPartialAdmission).null().end_object();
  json.end_object().key("spec").begin_object().field("suspend", true);
  if (size) json.field("parallelism", size->parallelism);
  if (size && size->completions) json.field("completions", *size->completions);
  json.end_object().end_object();
  kube::Write write = kube::patch_object(ask.kind->path().object(job.meta.ns, job.meta.name), json.take(),
                                         kube::BodyType::kMergePatch);
  write.write_class = kube::WriteClass::kBind;  // room is waiting for it
  write.idempotent = true;
  return write;
}

}  // namespace

const OwnerKind Job::kOwner{
    .kind = Kind::kJob,
    .version = "v1",
    .work = WorkloadKind::kBatch,
    .ask = ask_job,
    .count = nullptr,
    .place_of = place_of,
    .release = release_job,
    .suspend = suspend_job,
    .make_changeable = forget_start,
    .make_pods = make_pods,
    .released = released,
    .suspended = suspended,
};

std::vector<Pod> pods_of_job(const Ask& ask, const JobIndexes& taken, std::int64_t missing) {
  const Job& job = job_of(ask);
  std::vector<Pod> out;
  const std::int64_t end = job.indexed ? job.completions.value_or(kInt64Max) : kInt64Max;
  for (std::int64_t index = taken.next_free(0);
       static_cast<std::int64_t>(out.size()) < missing && index < end; index = taken.next_free(index + 1)) {
    Pod pod = pod_of(ask, ask.sets.front());
    pod.meta.name = fmt::format("{}-{}", job.meta.name, index);
    pod.meta.uid = fmt::format("{}/{}", job.meta.uid, index);
    if (job.indexed) pod.meta.annotations.insert_or_assign(std::string(kJobIndex), fmt::format("{}", index));
    out.push_back(std::move(pod));
  }
  return out;
}

}  // namespace berth::dialect

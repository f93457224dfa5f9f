// Decoder of Job. Included by decode.cc only.
#pragma once

#include <string_view>
#include <utility>

#include "dialect/owners/job.h"
#include "dialect/owners/partial_jobs.h"
#include "dialect/upstream/decode_core.h"

namespace berth::dialect {

// The fields by which the Job controller makes pods, or none.
template <class V>
void read_job_progress(FieldReader<V>& f, const V& spec, const V& status, Job& job) {
  const bool by_index = spec.find("backoffLimitPerIndex").present();
  job.most_failed = f.integer(spec, "backoffLimit", by_index ? kInt64Max : std::int64_t{6}, 0, 2'147'483'647);
  job.most_failed_indexes = f.integer(spec, "maxFailedIndexes", kInt64Max, 0, 100'000'000);
  const std::string_view replaced = f.string(spec, "podReplacementPolicy");
  job.replaces_when_gone =
      replaced == "Failed" || (replaced.empty() && f.map(spec, "podFailurePolicy").present());
  job.succeeded = f.integer(status, "succeeded", 0, 0, 100'000'000);
  job.failed_pods = f.integer(status, "failed", 0, 0, 2'147'483'647);
  job.ready = f.integer(status, "ready", 0, 0, 100'000'000);
  job.started = f.time(status, "startTime");
  if (job.indexed && job.completions) {
    job.completed = JobIndexes::parse(f.string(status, "completedIndexes"), *job.completions);
    job.failed_indexes = JobIndexes::parse(f.string(status, "failedIndexes"), *job.completions);
  }
  f.list(status, "conditions", [&](const V& c) {
    const std::string_view type = f.string(c, "type");
    if (f.string(c, "status") != "True") return;
    job.is_closing |= type == "SuccessCriteriaMet" || type == "FailureTarget";
    if (type != "Complete" && type != "Failed") return;
    job.finished = true;
    job.failed = type == "Failed";
    job.ending = f.string(c, "message");
  });
}

template <class V>
Job read_job(FieldReader<V>& f, const V& object) {
  Job job;
  job.meta = read_meta(f, object, Kind::kJob, false);
  const V spec = f.map(object, "spec");
  if (!spec.present()) f.error(object, "spec", "is required");
  job.parallelism = f.integer(spec, "parallelism", 1, 0, 1'000'000);
  if (spec.find("completions").present()) job.completions = f.integer(spec, "completions", 1, 0, 100'000'000);
  job.suspend = f.boolean(spec, "suspend", false);
  job.indexed = f.string(spec, "completionMode") == "Indexed";
  job.managed_by = f.string(spec, "managedBy");
  job.generation = f.integer(f.map(object, "metadata"), "generation", 0, 0, kInt64Max);
  job.annotated = f.map(f.map(object, "metadata"), "annotations").present();
  read_job_progress(f, spec, f.map(object, "status"), job);
  const V pod_template = f.map(spec, "template");
  const V meta = f.map(pod_template, "metadata");
  job.template_meta.ns = job.meta.ns;
  job.template_meta.labels = f.labels(meta, "labels", Entry::kLabel);
  Labels marks = read_marks(f, meta, "labels");
  job.template_meta.labels.merge(marks);
  job.template_annotated = f.map(meta, "annotations").present();
  job.template_meta.annotations = read_marks(f, meta, "annotations");
  const V pod_spec = f.map(pod_template, "spec");
  if (!pod_spec.present())
    f.error(pod_template.present() ? pod_template : spec, pod_template.present() ? "spec" : "template",
            "is required");
  job.spec = read_pod_spec(f, pod_spec, V(), job.template_meta, &job.needs);
  job.elastic = job.meta.annotation(kKueueElastic) == "true";
  read_partial(job);
  return job;
}

}  // namespace berth::dialect

// Decoder of Job. Included by decode.cc only.
#pragma once

#include <string_view>

#include "dialect/owners/decode_template.h"
#include "dialect/owners/job/job.h"
#include "dialect/owners/job/partial_jobs.h"

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
  job.template_annotated = read_template(f, spec, job.meta.ns, job.template_meta, job.spec, job.needs);
  job.elastic = job.meta.annotation(kKueueElastic) == "true";
  read_partial(job);
  return job;
}

}  // namespace berth::dialect

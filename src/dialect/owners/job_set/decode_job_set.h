// Decoder of JobSet. Included by decode.cc only.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dialect/owners/decode_template.h"
#include "dialect/owners/job_set/exclusive_jobs.h"
#include "dialect/owners/job_set/job_set.h"

namespace berth::dialect {

inline constexpr std::int64_t kMostPodsOfJobSet = 1'000'000;

// The mark of exclusive topology, and the one that makes its controller go another way.
template <class V>
struct ExclusiveMarks {
  ExclusiveMarks(FieldReader<V>& f, const V& meta) {
    const V annotations = f.map(meta, "annotations");
    if (annotations.find(kExclusiveTopology).present()) key = f.string(annotations, kExclusiveTopology);
    by_selector = key && annotations.find(kNodeSelectorStrategy).present();
  }
  std::optional<std::string> key;
  bool by_selector = false;
};

// The mark of the replicated job goes before that of the JobSet, and this before that of its pod template.
template <class V>
void read_exclusive(FieldReader<V>& f, const V& job_template, const ExclusiveMarks<V>& of_set,
                    ReplicatedJob& out) {
  const V spec = f.map(job_template, "spec");
  const ExclusiveMarks<V> own(f, f.map(job_template, "metadata"));
  const ExclusiveMarks<V> of_pods(f, f.map(f.map(spec, "template"), "metadata"));
  out.exclusive = own.key ? own.key : of_set.key ? of_set.key : of_pods.key;
  if (!out.exclusive) return;
  if (own.by_selector || of_set.by_selector || of_pods.by_selector) {
    out.unsupported = kNodeSelectorStrategy;
  } else if (out.exclusive->empty()) {
    out.unsupported = fmt::format("{} that names no node label", kExclusiveTopology);
  } else if (f.string(spec, "completionMode") == "NonIndexed") {
    out.unsupported = fmt::format("{} with completionMode NonIndexed", kExclusiveTopology);
  } else if (is_near_to_pods(*out.spec.pod)) {
    out.unsupported = fmt::format("{} with required podAffinity", kExclusiveTopology);
  }
}

// One entry of spec.replicatedJobs.
template <class V>
ReplicatedJob read_replicated_job(FieldReader<V>& f, const V& entry, const std::string& ns,
                                  const ExclusiveMarks<V>& exclusive) {
  ReplicatedJob out;
  out.name = f.string(entry, "name");
  if (out.name.empty()) f.error(entry, "name", "is required");
  out.replicas = f.integer(entry, "replicas", 1, 0, 1'000'000);
  f.list(entry, "dependsOn", [&](const V&) { out.depends = true; });
  const V job_template = f.map(entry, "template");
  const V spec = f.map(job_template, "spec");
  if (!job_template.present()) {
    f.error(entry, "template", "is required");
  } else if (!spec.present()) {
    f.error(job_template, "spec", "is required");
  }
  out.parallelism = f.integer(spec, "parallelism", 1, 0, 1'000'000);
  if (spec.find("completions").present()) out.completions = f.integer(spec, "completions", 1, 0, 100'000'000);
  out.annotated = read_template(f, spec, ns, out.marks, out.spec, out.needs);
  const V meta = f.map(job_template, "metadata");
  // Those of the pod template win.
  Labels labels = read_marks(f, meta, "labels");
  out.marks.annotations.merge(labels);
  Labels annotations = read_marks(f, meta, "annotations");
  out.marks.annotations.merge(annotations);
  read_exclusive(f, job_template, exclusive, out);
  return out;
}

template <class V>
JobSet read_job_set(FieldReader<V>& f, const V& object) {
  JobSet out;
  out.meta = read_meta(f, object, Kind::kJobSet, false);
  const V meta = f.map(object, "metadata");
  out.generation = f.integer(meta, "generation", 0, 0, kInt64Max);
  const V annotations = f.map(meta, "annotations");
  out.annotated = annotations.present();
  const ExclusiveMarks<V> exclusive(f, meta);
  const V spec = f.map(object, "spec");
  if (!spec.present()) f.error(object, "spec", "is required");
  out.suspend = f.boolean(spec, "suspend", false);
  out.managed_by = f.string(spec, "managedBy");
  out.in_order = f.string(f.map(spec, "startupPolicy"), "startupPolicyOrder") == "InOrder";
  f.list(spec, "replicatedJobs",
         [&](const V& entry) { out.jobs.push_back(read_replicated_job(f, entry, out.meta.ns, exclusive)); });
  if (out.jobs.empty()) f.error(spec.present() ? spec : object, "replicatedJobs", "is required");
  std::int64_t pods = 0;
  for (const ReplicatedJob& job : out.jobs) pods += job.replicas * job.pods_of_job();
  if (pods > kMostPodsOfJobSet)
    f.error(spec, "replicatedJobs", fmt::format("asks for {} pods, more than {}", pods, kMostPodsOfJobSet));
  if (const std::int64_t jobs = exclusive_jobs(out); jobs > kMostExclusiveJobs)
    f.error(spec, "replicatedJobs",
            fmt::format("has {} Jobs with {}, more than {}", jobs, kExclusiveTopology, kMostExclusiveJobs));
  const V status = f.map(object, "status");
  out.restarts = f.integer(status, "restarts", 0, 0, 2'147'483'647);
  f.list(status, "replicatedJobsStatus", [&](const V& entry) {
    const std::string_view name = f.string(entry, "name");
    for (ReplicatedJob& job : out.jobs) {
      if (job.name != name) continue;
      job.ready = f.integer(entry, "ready", 0, 0, 1'000'000);
      job.succeeded = f.integer(entry, "succeeded", 0, 0, 1'000'000);
    }
  });
  f.list(status, "conditions", [&](const V& c) {
    const std::string_view type = f.string(c, "type");
    if (f.string(c, "status") != "True" || (type != "Completed" && type != "Failed")) return;
    out.finished = true;
    out.failed = type == "Failed";
    out.ending = f.string(c, "message");
  });
  return out;
}

}  // namespace berth::dialect

// Kubernetes' Job: an object that makes pods.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/checked.h"
#include "dialect/owners/job/job_indexes.h"
#include "dialect/upstream/objects.h"

namespace berth::dialect {

struct OwnerKind;

struct Job {
  static constexpr Kind kKind = Kind::kJob;
  static const OwnerKind kOwner;  // job_owner.cc
  Meta meta;
  std::int64_t parallelism = 1;
  std::optional<std::int64_t> completions;
  bool suspend = false;
  bool indexed = false;
  bool finished = false;         // condition Complete or Failed
  bool failed = false;           // the latter
  bool is_closing = false;       // condition SuccessCriteriaMet or FailureTarget: its pods are being ended
  std::string ending;            // what that condition says
  std::int64_t ready = 0;        // pods that are ready, as the Job's status counts them
  std::int64_t succeeded = 0;    // pods that have ended well, as the Job's status counts them
  std::int64_t failed_pods = 0;  // and those that have not
  std::int64_t most_failed = 6;  // backoffLimit: with more of these the Job fails
  JobIndexes completed;          // of an Indexed Job
  JobIndexes failed_indexes;     // of one with backoffLimitPerIndex: nothing more is tried for these
  std::int64_t most_failed_indexes = kInt64Max;  // with more of these the Job fails
  bool replaces_when_gone = false;  // podReplacementPolicy: a pod that is ending has no successor yet
  TimeMs started = 0;               // status.startTime: of its present run
  std::int64_t generation = 0;      // of the spec; 0 = unknown
  std::string managed_by;           // the controller that runs it; "" = Kubernetes' own
  Meta template_meta;               // labels and annotations of the pod template
  bool annotated = false;           // it has annotations, whichever
  bool template_annotated = false;  // its template has
  PodSpec spec;
  std::shared_ptr<const PodNeeds> needs;  // of its template's containers, as they are written

  // Kueue's partial admission (partial_jobs.h).
  struct Reduced {
    std::int64_t parallelism = 0;  // as it is written
    std::int64_t full = 0;         // as its owner wrote it
    bool completions_too = false;
    bool operator==(const Reduced&) const = default;
  };
  std::optional<std::int64_t>
      least_pods;                   // with so many it may start where not all have room; none: all or none
  bool completions_follow = false;  // its completions are its parallelism, whatever that is
  std::optional<Reduced>
      reduced;                  // Berth released it with fewer pods. While it is suspended, parallelism and
                                // completions are its owner's all the same
  std::string partial_problem;  // what is wrong with its marks
  bool elastic = false;         // kKueueElastic: what it grows by waits, and it runs on (intake_elastic.cc)
  std::string problem;  // a field that cannot be read, and has its default here: none of its pods is to start

  // The fields that the API server writes, and keeps where a manifest is applied over the object.
  void keep_status(const Job& there);
  // Completions for which no pod will be made any more: those that were reached, and those that were given up.
  std::int64_t settled() const;
  // Why its controller takes away what waits of it; "": it does not.
  std::string_view why_over() const;
  // Whether its controller makes pods where some are missing (and it is not suspended). Kubernetes' rules: pkg/controller/job,
  // syncJob() and manageJob().
  bool makes_pods() const;
  // Another controller than Kubernetes' own makes its pods, here or in another cluster.
  bool is_managed_elsewhere() const;
  // It is part of another object, which suspends and releases it.
  bool has_owner() const;
  // Pods that run at once: the smaller of parallelism and the completions that are left. 0: it makes none any more.
  std::int64_t size() const;
  // Pods that ran at once in the beginning, and how many of them have ended well and are not made again.
  std::int64_t pods() const;
  std::int64_t reclaimable() const;
  // pods(), as its owner asked for them.
  std::int64_t asked() const;
};

}  // namespace berth::dialect

// Kueue's partial admission of Jobs: a Job with the annotation kueue.x-k8s.io/job-min-parallelism may start with fewer pods, at least so
// many. A release with fewer pods writes its parallelism (and its completions, with job-completions-equal-parallelism), and stores
// the owner's values in an annotation (names.h kPartialAdmission). A suspension writes these back. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dialect/owners/job/job.h"

namespace berth::dialect {

// Sets what the annotations of the Job say. If its parallelism differs from the value written with kPartialAdmission, it was
// changed since, and that change counts.
void read_partial(Job& job);

struct JobSize {
  std::int64_t parallelism = 0;
  std::optional<std::int64_t> completions;  // none: as they are
  std::string mark;                         // kPartialAdmission; "" = none
  bool is_marked = false;                   // as it is now
};
// The write that gives the Job `pods` pods at once (0: all that its owner asked for). Nothing where it has.
std::optional<JobSize> size_for(const Job& job, std::int64_t pods);
// The same for all pods, if it is unknown whether fewer were written.
JobSize full_size(const Job& job);

}  // namespace berth::dialect

// Kueue's partial admission of Jobs: a Job with the annotation kueue.x-k8s.io/job-min-parallelism may start with fewer pods, at least so
// many. Whoever releases it with fewer writes its parallelism (and its completions, with job-completions-equal-parallelism) and
// says on it what its owner wrote (names.h kPartialAdmission); whoever suspends it writes that back. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dialect/objects.h"

namespace berth::dialect {

// Sets what the annotations of the Job say. Where its parallelism is not what was written with kPartialAdmission, somebody has changed it
// since, and that counts.
void read_partial(Job& job);

struct JobSize {
  std::int64_t parallelism = 0;
  std::optional<std::int64_t> completions;  // none: as they are
  std::string mark;                         // kPartialAdmission; "" = none
  bool is_marked = false;                   // as it is now
};
// What is to be written so that the Job has `pods` pods at once (0: all that its owner asked for). Nothing where it has.
std::optional<JobSize> size_for(const Job& job, std::int64_t pods);
// The same for all pods, where nobody knows whether fewer were written.
JobSize full_size(const Job& job);

}  // namespace berth::dialect

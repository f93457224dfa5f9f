#include "dialect/owners/job/job.h"

#include <algorithm>

#include "dialect/base/names.h"

namespace berth::dialect {

void Job::keep_status(const Job& there) {
  finished = there.finished;
  failed = there.failed;
  ending = there.ending;
  ready = there.ready;
  is_closing = there.is_closing;
  succeeded = there.succeeded;
  failed_pods = there.failed_pods;
  completed = there.completed;
  failed_indexes = there.failed_indexes;
  started = there.started;
  generation = there.generation;
}

std::int64_t Job::settled() const {
  const std::int64_t reached = completed.count();  // of an Indexed Job, whatever the number beside it says
  return (reached > 0 ? reached : succeeded) + failed_indexes.count();
}

std::string_view Job::why_over() const {
  if (finished) return failed ? "it has failed" : "it is complete";
  if (is_closing) return "its pods are being ended (condition SuccessCriteriaMet or FailureTarget)";
  if (meta.deleting) return "it is being deleted";
  if (failed_pods > most_failed) return "more of its pods have failed than its backoffLimit";
  if (failed_indexes.count() > most_failed_indexes)
    return "more of its indexes have failed than its maxFailedIndexes";
  if (completions && settled() >= *completions) return "all of its completions are done";
  return {};
}

// Without completions the first pod that ends well is the last that is made: the others are waited for.
bool Job::makes_pods() const {
  return why_over().empty() && (completions || succeeded == 0);
}

bool Job::is_managed_elsewhere() const {
  return !managed_by.empty() && managed_by != kJobController;
}

bool Job::has_owner() const {
  return !meta.controller->kind.empty() && meta.controller->kind != "CronJob";
}

std::int64_t Job::size() const {
  if (!makes_pods()) return 0;
  if (!completions) return parallelism;
  return std::min(parallelism, *completions - settled());
}

std::int64_t Job::pods() const {
  return std::min(parallelism, completions.value_or(parallelism));
}

std::int64_t Job::reclaimable() const {
  const std::int64_t left = std::max<std::int64_t>(0, completions.value_or(parallelism) - settled());
  return std::max<std::int64_t>(0, pods() - left);
}

std::int64_t Job::asked() const {
  if (!reduced) return pods();
  return reduced->completions_too ? reduced->full
                                  : std::min(reduced->full, completions.value_or(reduced->full));
}

}  // namespace berth::dialect

// Elastic Jobs (kKueueElastic). To the engine one is a gang of its size, like any Job. One that runs and whose parallelism is raised is a
// gang that is not complete: what it lacks is placed as a whole or not at all, in the flavor that it has and near its pods. All that is
// special is that nobody gives up on it for that: docs/contributors/elastic-jobs.md.
#include "dialect/intake_state.h"

namespace berth::dialect {

bool Intake::Impl::is_elastic(const Load& load) const {
  // What somebody else has made says one size only.
  if (load.kind != GangKind::kJob || !load.prebuilt_key.empty()) return false;
  const JobRecord* record = job_record(load.uid);
  return record != nullptr && record->job.elastic;
}

void Intake::accept_size(std::string_view workload) {
  Impl& s = *impl_;
  const auto ix = s.find_load(workload);
  if (ix != kNoIx && s.is_elastic(s.loads[ix])) s.loads[ix].whole = s.loads[ix].bound;
}

}  // namespace berth::dialect

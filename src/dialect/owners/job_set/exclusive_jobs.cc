#include "dialect/owners/job_set/exclusive_jobs.h"

#include <fmt/format.h>

#include "base/sha1.h"

namespace berth::dialect {

std::int64_t exclusive_jobs(const JobSet& own) {
  std::int64_t out = 0;
  for (const ReplicatedJob& job : own.jobs) {
    if (job.exclusive && job.unsupported.empty()) out += job.replicas;
  }
  return out;
}

bool is_split(const JobSet& own, const ReplicatedJob& job) {
  return job.exclusive && job.unsupported.empty() && job.replicas > 0 &&
         exclusive_jobs(own) <= kMostExclusiveJobs;
}

ExclusiveBy exclusive_by(const ReplicatedJob& job) {
  return {kJobKey, *job.exclusive, {}};
}

void add_job_key(Meta& marks, std::string_view job) {
  marks.labels.insert_or_assign(std::string(kJobKey), sha1(fmt::format("{}/{}", marks.ns, job)));
}

}  // namespace berth::dialect

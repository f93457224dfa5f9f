// The Job as an owner of pods (dialect/owners/owner.h).
#pragma once

#include <cstdint>
#include <vector>

#include "dialect/owners/job/job.h"
#include "dialect/owners/owner.h"

namespace berth::dialect {

// The pods that the Job controller would make now, for `berth plan`: `missing` of them, with indices from the lowest that
// is not in `taken`; of an Indexed Job none beyond its completions. They are named "<job>-<index>" and belong to the Job.
std::vector<Pod> pods_of_job(const Ask& ask, const JobIndexes& taken, std::int64_t missing);

}  // namespace berth::dialect

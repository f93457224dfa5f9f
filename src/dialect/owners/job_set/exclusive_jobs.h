// Exclusive topology of a JobSet (annotation kExclusiveTopology). All pods of a Job lie in one domain of a node label. No pod of another
// JobSet lies there, nor one of another Job of it.
//
// The controller makes the pod with completion index 0 (leader) with the terms of dialect/owners/exclusive.h. The key is the job key of its
// Job, a label of all pods of JobSets. Its webhook refuses the other pods until the leader has a node.
//
// So each such Job has a pod set of its own. The first pod comes alone, and the places of the others are kept (AskedSet::after_first). The
// controller keeps only pods of the leader's own priority apart, for the sake of preemption by the default scheduler. Here all are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "dialect/owners/exclusive.h"
#include "dialect/owners/job_set/job_set.h"

namespace berth::dialect {

// Each is a pod set with a selector of its own. Each pod of a JobSet is compared with all of them.
inline constexpr std::int64_t kMostExclusiveJobs = 256;  // of one JobSet

// All Jobs that have a domain for themselves.
std::int64_t exclusive_jobs(const JobSet& own);
// Whether each Job of this replicated job has a pod set of its own.
bool is_split(const JobSet& own, const ReplicatedJob& job);
// How the Jobs of one that is split are told apart: in all namespaces.
ExclusiveBy exclusive_by(const ReplicatedJob& job);

// Gives the pods of a Job, by its name, the label that selects them.
void add_job_key(Meta& marks, std::string_view job);

}  // namespace berth::dialect

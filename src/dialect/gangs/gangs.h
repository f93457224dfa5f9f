// Which pods start together: the marks of coscheduling, Kueue, Jobs and Berth itself, and what they ask of the gang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "dialect/gangs/pod_group.h"
#include "dialect/owners/job.h"
#include "dialect/upstream/objects.h"

namespace berth::dialect {

enum class GangKind : std::uint8_t {
  kSingle,    // a pod of its own
  kPodGroup,  // coscheduling: size and settings come from the PodGroup object
  kSized,     // name and size stand on every member (berth.dev/gang, Kueue's pod groups, oldest coscheduling)
  kJob,       // the pods of one Job start together; size and settings come from the Job
  kKueueWorkload,  // Kueue's Workload object says it all; there are no pods (IntakeConfig::quota_only)
};

struct Membership {
  GangKind kind = GangKind::kSingle;
  std::string uid;                   // of the workload; stable over restarts
  std::string name;                  // of the gang within its namespace
  std::optional<std::int64_t> size;  // kSized: what this pod says
  std::string size_key;              // kSized: where it says so, for messages
  bool operator==(const Membership&) const = default;
};

// Where a pod belongs. `job` is its Job where that is known, else nullptr.
//   1. label scheduling.x-k8s.io/pod-group (or the older pod-group.scheduling.sigs.k8s.io)
//   2. pod-group.scheduling.sigs.k8s.io/name with /min-available
//   3. berth.dev/gang with berth.dev/gang-size
//   4. kueue.x-k8s.io/pod-group-name with pod-group-total-count
//   5. its Job, where that is a gang
Membership membership_of(const Pod& pod, const Job* job);

// A Job is a gang of its parallelism when it, or its template, names a queue or a gang without a size.
bool is_gang(const Job& job);

// The slot that a pod asks for: its completion index or its index in the group. Nothing where it has none.
std::optional<std::int64_t> index_of(const Pod& pod);

// Topology that is asked for by marks; Kueue's marks count for each pod set, Berth's for the gang as a whole.
struct TopologyMarks {
  TopologyRequest request;
  bool per_pod_set = false;
  bool operator==(const TopologyMarks&) const = default;
};
TopologyMarks topology_of(const Meta& meta);

// The cost of losing the workload and its run time, from its labels. Marks that cannot be read count as absent.
Restart restart_of(const Meta& meta, DurationMs grace);
std::optional<DurationMs> duration_of(const Meta& meta, std::optional<DurationMs> deadline);

// The pods that the Job controller would make now, for `berth plan`: `missing` of them, with indices from the lowest that
// is not in `taken`; of an Indexed Job none beyond its completions. They are named "<job>-<index>" and belong to the Job.
std::vector<Pod> pods_of_job(const Job& job, const JobIndexes& taken, std::int64_t missing);

}  // namespace berth::dialect

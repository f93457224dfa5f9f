// Which pods start together: the marks of coscheduling, Kueue, owners and Berth itself, and what they ask of the gang.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/shared.h"
#include "dialect/gangs/gang_system.h"
#include "dialect/gangs/said_gang.h"
#include "dialect/owners/owner.h"
#include "dialect/upstream/objects.h"

namespace berth::dialect {

enum class GangKind : std::uint8_t {
  kSingle,    // a pod of its own
  kPodGroup,  // size and settings come from an object that its pods name (gang_system.h)
  kSized,  // name and size stand on every member (berth.dev/gang, Kueue's pod groups, oldest coscheduling, said_gang.h)
  kOwner,          // the pods of one owner start together; size and settings come from the owner
  kKueueWorkload,  // Kueue's Workload object says it all; there are no pods (IntakeConfig::quota_only)
};

// A pod of its own has no more than its kind: its workload has the uid and the name of the pod.
struct Membership {
  GangKind kind = GangKind::kSingle;
  std::string uid;                     // of the workload; stable over restarts
  std::string name;                    // of the gang within its namespace
  std::optional<std::int64_t> size;    // kSized: what this pod says
  std::string size_key;                // kSized: where it says so, for messages
  const GangSystem* system = nullptr;  // kPodGroup: of that object
  std::string part = {};               // kPodGroup, `said`: which part of the gang this pod is of
  bool kept = false;                   // kPodGroup: this pod is never a victim (GangSystem::kept_mark)
  Shared<SaidGang> said = {};          // kSized: without a `size`, what this pod says of the gang's parts
  bool operator==(const Membership&) const = default;
};

// The gang that a pod names by its marks: by an object, or one that has none.
struct NamedGang {
  const GangSystem* system = nullptr;  // of the object
  std::optional<SaidGang> said = {};
};

// Where a pod belongs. `owner` is its topmost owner where one is known, else nullptr; `named`: of its marks (objects/gang_systems.h).
//   1. the object that it names
//   2. pod-group.scheduling.sigs.k8s.io/name with /min-available; with marks of Koordinator beside them it is Koordinator's gang
//   3. berth.dev/gang with berth.dev/gang-size
//   4. kueue.x-k8s.io/pod-group-name with pod-group-total-count
//   5. a gang of another system, without an object
//   6. its owner, where that is a gang
Membership membership_of(const Pod& pod, NamedGang named, const Ask* owner);

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

}  // namespace berth::dialect

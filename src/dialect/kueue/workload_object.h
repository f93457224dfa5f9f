// Kueue's Workload object for a workload of Berth's: its name, what it says, and the writes that make it so. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dialect/kueue/objects.h"
#include "dialect/kueue/workload_status.h"
#include "dialect/owners/owner.h"
#include "kube/writer.h"
#include "model/workload.h"

namespace berth::dialect {

// Berth's own Workloads say so (annotation), and of which workload they are; its value is a digest of what they say.
inline constexpr std::string_view kWorkloadOf = "berth.dev/workload";
inline constexpr std::string_view kWorkloadSpec = "berth.dev/workload-spec";
// And which slice of an elastic owner it is: the generation of the owner when it was named, which is part of its name. The first has
// none.
inline constexpr std::string_view kWorkloadSlice = "berth.dev/workload-slice";

// The owner in a Workload. Views are valid until the intake's next change.
struct WorkloadSketch {
  struct Owner {
    std::string_view name;
    std::string_view uid;
  };
  // One pod set of it, and the pod sets of the workload that it stands for: those of one template.
  struct Set {
    std::string name;
    std::int64_t count = 0;
    std::int64_t least = 0;
    const PodTemplate* pod = nullptr;
    ResourceList counted;          // what quota counts of one pod
    std::int64_t reclaimable = 0;  // pods that have ended well and are not made again
    std::int64_t before = 0;       // pods that run by the slice before it, which count as its own
    std::int64_t first = 0;        // of the workload's pod sets
    std::int64_t parts = 1;        // how many they are

    bool has(std::int64_t pod_set) const { return pod_set >= first && pod_set < first + parts; }
    void set_size(std::int64_t asked, std::optional<std::int64_t> at_least, std::int64_t ended) {
      count = asked;
      least = std::min(asked, at_least.value_or(asked));
      reclaimable = ended;
    }
    // One part more.
    void add(std::int64_t asked, std::int64_t ended) {
      ++parts;
      count += asked;
      least += asked;
      reclaimable += ended;
    }
  };
  std::string_view uid;  // of the workload
  std::string_view ns;
  std::string name;                  // of the Workload object; "": it has none
  const OwnerKind* owner = nullptr;  // of its owner; nullptr: pods own it
  bool is_group = false;             // of pods
  bool is_prebuilt = false;          // another client made its object, and its spec stays as it is
  bool is_elastic = false;           // of an elastic owner: it has one pod set
  std::string slice;                 // kWorkloadSlice; "": the first
  std::string replaces;              // namespace/name of the slice before it, made by Berth or not; "": none
  std::vector<Owner> owners;         // the owner, or the pods
  std::int64_t to_come = 0;        // members of the group that are not there yet, and have slots all the same
  std::string_view cluster_queue;  // "" where its LocalQueue does not exist
  std::string_view local_queue;    // within its namespace
  std::string_view lane;           // namespace/name of the LocalQueue, where that exists
  std::string_view stopped;        // "LocalQueue" or "ClusterQueue", where that is
  std::int64_t priority = 0;
  std::string_view priority_class;
  bool workload_class = false;  // it is a WorkloadPriorityClass, not a PriorityClass
  std::optional<std::int64_t> most_seconds;
  std::string_view gates;        // controllers that still prepare it (kKueueGatedBy), if that is why it waits
  std::string_view ready_times;  // kKueueReadyTimes
  Labels parameters;             // of a ProvisioningRequest: kProvisioningParameter, without that prefix
  std::vector<Set> sets;

  // The one that stands for this pod set of the workload; nullptr: none does.
  const Set* find(std::int64_t pod_set) const {
    const auto it = std::find_if(sets.begin(), sets.end(), [&](const Set& set) { return set.has(pod_set); });
    return it == sets.end() ? nullptr : &*it;
  }
};

// As Kueue names them: "<kind>-<name>-<5 digits>", the digits from the SHA-1 of kind, group, name and uid; at most 253 bytes.
// A group of pods gives its own name.
// `extra`: makes the digits others; "": nothing.
std::string workload_name(std::string_view kind, std::string_view group, std::string_view name,
                          std::string_view uid, std::string_view extra = {});
// The name of the object of one slice, for a sketch that has an owner.
std::string slice_name(const WorkloadSketch& sketch, std::string_view slice = {});
// Changes with what spec_of() writes.
std::string digest_of(const WorkloadSketch& sketch, std::string_view version);

// `version`: of the API, "v1beta1" or "v1beta2", whose names for the priority class differ.
kube::Write create_workload(std::string_view version, const WorkloadSketch& sketch);
// Merge patches with the uid, so that a newer object of this name is left alone (409).
kube::Write update_workload(std::string_view version, std::string_view name, std::string_view object_uid,
                            const WorkloadSketch& sketch);
// Adds owners that have come since it was made, whatever else it says. `known`: those that it has.
kube::Write own_workload(std::string_view version, std::string_view name, std::string_view object_uid,
                         const WorkloadSketch& sketch, const std::vector<Owner>& known);
bool lacks_owners(const WorkloadSketch& sketch, const std::vector<Owner>& known);
kube::Write deactivate_workload(std::string_view version, std::string_view ns, std::string_view name,
                                std::string_view object_uid);
// With `resource_version` the answers of admission checks are written too, if the object is still of that version (409 otherwise);
// without it they are left as they are.
kube::Write write_workload_status(std::string_view version, std::string_view ns, std::string_view name,
                                  std::string_view object_uid, const WorkloadStatus& status,
                                  std::string_view resource_version = {});

// The value of kKueuePriorityBoost; 0 if it is no whole number of 32 bits.
std::int64_t boost_of(const KueueWorkload& object);
// The priority with that; it does not overflow.
std::int64_t boosted(std::int64_t priority, std::int64_t boost);

// The workload whose object Berth made this one for; "": it is not Berth's. It must say so, and have the name and the owner that go
// with it.
std::string_view workload_of(const KueueWorkload& object);

// How pods of a list, or one pod, ended. An error where the text is neither.
struct PodEndings {
  std::int64_t succeeded = 0;
  std::int64_t failed = 0;
  std::int64_t others = 0;
};
Result<PodEndings> read_endings(std::string_view body);

}  // namespace berth::dialect

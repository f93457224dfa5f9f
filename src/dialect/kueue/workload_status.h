// The status of Kueue's Workload object, as it is read and written.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/enums.h"
#include "base/time.h"
#include "dialect/kueue/admission_checks.h"
#include "model/queue.h"
#include "model/resources.h"

namespace berth::dialect {

enum class WorkloadCondition : std::uint8_t {
  kAdmitted,
  kEvicted,
  kFinished,
  kPodsReady,
  kPreempted,
  kQuotaReserved,
  kRequeued,
};

}  // namespace berth::dialect

template <>
struct berth::EnumNames<berth::dialect::WorkloadCondition> {
  static constexpr std::array names{"Admitted"sv,  "Evicted"sv,       "Finished"sv, "PodsReady"sv,
                                    "Preempted"sv, "QuotaReserved"sv, "Requeued"sv};
};

namespace berth::dialect {

// accumulatedPastExecutionTimeSeconds, as Kueue's v1beta1 has it.
inline constexpr std::string_view kPastSecondsOfV1Beta1 = "accumulatedPastExexcutionTimeSeconds";

struct WorkloadStatus {
  struct Condition {
    WorkloadCondition type = WorkloadCondition::kAdmitted;
    bool is_true = false;
    std::string reason;
    std::string message;
    TimeMs since = 0;  // of is_true
  };
  struct Assignment {  // of a pod set
    std::string name;
    std::int64_t count = 0;
    std::vector<ChosenFlavor> flavors;  // by resource
    ResourceList usage;                 // of all of its pods; base units
  };

  // Pods of a pod set that have ended well and are not made again: their quota is given back while the others run.
  struct Reclaimable {
    std::string name;
    std::int64_t count = 0;
    bool operator==(const Reclaimable&) const = default;
  };

  std::vector<Condition> conditions;    // by type, each at most once
  std::string cluster_queue;            // whose quota it holds; "" = none
  std::vector<Assignment> assignments;  // empty where it holds none
  std::int64_t requeues = 0;            // evictions because its pods did not get ready
  TimeMs requeue_at = 0;                // it is not tried before; 0 = no matter
  std::int64_t past_seconds = 0;        // that it was admitted, before it was evicted
  AdmissionChecks checks;               // what others answer
  std::vector<Reclaimable> reclaimable;

  const Condition* find(WorkloadCondition type) const;
  bool is(WorkloadCondition type) const;
  // The time changes only where `is_true` does. True: something changed.
  bool set(WorkloadCondition type, bool is_true, std::string_view reason, std::string message, TimeMs now);
};

// {"conditions": ...}: the value of "status" in a merge patch. Without times: a text by which two statuses that say the same can
// be told to be the same. Without checks: the patch leaves alone what others have answered meanwhile. `version`: v1beta1 spells one of
// the names otherwise.
std::string to_json(const WorkloadStatus& status, bool with_times, bool with_checks = true,
                    std::string_view version = "v1beta2");
// The checks alone, by which they can be told to be the same.
std::string checks_text(const WorkloadStatus& status);

}  // namespace berth::dialect

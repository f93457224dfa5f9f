// Kueue's admission checks of one workload, as its Workload object's status has them: what other controllers have answered, and what
// they want changed in its pods before it starts. Values; pure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enums.h"
#include "base/result.h"
#include "base/time.h"
#include "dialect/owners/template_change.h"
#include "model/labels.h"
#include "model/queue.h"
#include "text/json.h"

namespace berth::dialect {

enum class CheckState : std::uint8_t { kPending, kReady, kRetry, kRejected };

// A check that work of a ClusterQueue must pass before it is admitted.
struct CheckRule {
  std::string name;                  // of the AdmissionCheck
  std::vector<std::string> flavors;  // only for work that holds quota of one of these; empty: for all
  bool operator==(const CheckRule&) const = default;
};

// Whether Kueue's admission checks can be asked.
enum class CheckMode : std::uint8_t {
  kNone,  // no: there are no Workload objects. A ClusterQueue with checks is disabled
  kLive,  // by Workload objects; the caller holds what starts (IntakeQueues::checks) until they have answered
  kAssumed,  // no controller can be asked (berth plan): existing checks count as passed
};

struct AdmissionCheckState {
  std::string name;
  CheckState state = CheckState::kPending;
  std::string message;
  TimeMs since = 0;                         // of `state`
  std::optional<std::int64_t> retry_after;  // s; with kRetry
  std::int64_t retries = 0;
  std::vector<PodSetUpdate> updates;
  bool operator==(const AdmissionCheckState&) const = default;
};

}  // namespace berth::dialect

template <>
struct berth::EnumNames<berth::dialect::CheckState> {
  static constexpr std::array names{"Pending"sv, "Ready"sv, "Retry"sv, "Rejected"sv};
};

namespace berth::dialect {

using AdmissionChecks = std::vector<AdmissionCheckState>;  // by name

// The checks that apply to a workload which holds quota of these flavors; nullptr: it holds none yet. Then a queue with some checks
// only for certain flavors has no checks, as in Kueue.
std::vector<std::string> checks_for(const std::vector<CheckRule>& rules,
                                    const std::vector<ChosenFlavor>* flavors);
// Adds those that are wanted and missing as pending, and takes away the rest. True: something changed.
bool sync_checks(AdmissionChecks& checks, const std::vector<std::string>& wanted, TimeMs now);
// Asks all of them anew, because the workload lost its quota. True: something changed.
bool reset_checks(AdmissionChecks& checks, TimeMs now);
bool all_ready(const AdmissionChecks& checks);
// The names of those in this state, with commas.
std::string names_in(const AdmissionChecks& checks, CheckState state);

// The changes of all checks together, by pod set. An error where two of them want different values under one key.
Result<std::vector<PodSetUpdate>> merged_updates(const AdmissionChecks& checks);

// The value of "admissionChecks"; `with_times`: see to_json() of a status.
void write_checks(text::JsonWriter& json, const AdmissionChecks& checks, bool with_times);
// A field with an object of these; nothing where there are none.
void write_map(text::JsonWriter& json, std::string_view key, const Labels& values);

}  // namespace berth::dialect

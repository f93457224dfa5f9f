// The keys of a scenario for work after its start: costs of starting, expected run times, failures, elastic jobs, services. Their
// meaning: sim/scenario/scenario_keys.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/course/estimates.h"
#include "sim/course/faults.h"
#include "sim/course/start_costs.h"
#include "sim/trace/trace.h"
#include "text/fields.h"

namespace berth::sim {

// A decimal number in thousandths, not negative, with at most three digits after the point.
std::int64_t decimal_or(text::Fields& f, std::string_view key, std::int64_t otherwise);
// A share, in thousandths: "25%", or a number from 0 to 1.
std::int64_t share_or(text::Fields& f, std::string_view key, std::int64_t otherwise);

// durations, estimate, estimate_factor of a source of jobs; `seed` is that source's own.
void read_estimates(text::Fields& f, std::uint64_t seed, EstimateRules& out);

inline constexpr DurationMs kMostCost = 366 * 24 * kHour;  // of one start, checkpoint or pause
// pod_start, pod_start_spread, image, image_pull or image_size and image_bandwidth, warm_up.
void read_start_costs(text::Fields& f, StartCosts& out, std::string& image);
// elastic_share, elastic_least, efficiency of a source of jobs.
void read_elastic(text::Fields& f, std::uint64_t seed, JobRules& out);
// A list of [slots, efficiency]; linear where it is absent.
Scaling read_efficiency(text::Fields& f, std::string_view key);
// The request of one pod: gpus, gpu_milli, cpu, memory, node_selector, gpu_models.
PodTemplate read_pod(text::Fields& f);
// One of the failures.
FaultRule read_fault_rule(text::Fields& f);

}  // namespace berth::sim

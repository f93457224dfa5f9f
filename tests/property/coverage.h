// The cases that histories have met, so that a test that never saw a case is not taken for a proof: kinds of decisions, verdicts,
// reasons, policies, steps from outside. A count of zero over thousands of histories fails the test.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace berth::property {

// How often something was seen: "start", "evict Preempted", ...
using Coverage = std::map<std::string, std::int64_t>;

// The cases that a run of thousands of histories must have met at least once. Every value of an enumeration of policies is in it.
std::vector<std::string> must_meet();

}  // namespace berth::property

// --wait-objective PRIORITY=TIME: how soon work of a priority is to start.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "observe/work_metrics.h"

namespace berth::cli {

// Invalid: not PRIORITY=TIME, a time that is not above 0, or a priority twice.
Result<std::vector<observe::WaitObjective>> parse_wait_objectives(const std::vector<std::string>& texts);

}  // namespace berth::cli

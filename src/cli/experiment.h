// The part of `berth simulate` that runs several scenarios, variants and seeds and compares them.
#pragma once

#include <iosfwd>

#include "base/result.h"
#include "cli/simulate.h"

namespace berth::cli {

// Whether the arguments ask for more than one run, or name an experiment file.
Result<bool> asks_for_experiment(const SimulateArguments& arguments);

// Exit codes as run_simulate().
int run_experiment(const SimulateArguments& arguments, std::ostream& out, std::ostream& err, bool terminal);

}  // namespace berth::cli

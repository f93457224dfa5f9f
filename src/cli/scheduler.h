// `berth scheduler`: the live loop against one cluster (scheduler/loop/scheduler.h).
#pragma once

#include <CLI/CLI.hpp>

namespace berth::cli {

// Adds the subcommand. When it is chosen, it runs within parse() and sets `exit_code`: 0 after SIGTERM or SIGINT, 1 when the
// lease was lost or the API server cannot be used, 2 for wrong options or configuration.
void register_scheduler(CLI::App& app, int& exit_code);

}  // namespace berth::cli

// `berth replay LOG`: runs a decision log again on a fresh engine and compares every decision byte for byte.
#pragma once

#include <CLI/CLI.hpp>

namespace berth::cli {

// Adds the subcommand. exit_code: 0 the same, 1 a difference, 2 the log cannot be read.
void register_replay(CLI::App& app, int& exit_code);

}  // namespace berth::cli

// `berth simulate SCENARIO`: runs a trace through the engine and reports what came out.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace berth::cli {

struct SimulateArguments {
  std::string scenario;
  std::string out;  // folder, "" = no files
  std::optional<std::uint64_t> seed;
  std::string log;
  bool quiet = false;
  bool explain_scenario = false;
};

// 0: done, 1: an expectation of the scenario was not met, 2: wrong input (nothing was written), 3: a defect
// of Berth. `terminal`: whether `err` is one, and progress is shown there.
int run_simulate(const SimulateArguments& arguments, std::ostream& out, std::ostream& err, bool terminal);

// Adds the subcommand; its callback sets `exit_code`.
void register_simulate(CLI::App& app, int& exit_code);

}  // namespace berth::cli

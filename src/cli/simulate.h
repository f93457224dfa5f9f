// `berth simulate SCENARIO...`: runs traces through the engine and reports what came out: one scenario, or an
// experiment of several scenarios, variants and seeds side by side.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace berth::cli {

struct SimulateArguments {
  std::vector<std::string> scenarios;  // or one experiment file
  std::string program;                 // name and version, for the foot of reports
  std::string out;                     // folder, "" = no files
  std::optional<std::uint64_t> seed;
  std::string log;
  bool quiet = false;
  bool explain_scenario = false;
  bool fill = false;
  std::vector<std::string> set;      // KEY=VALUE, for every run
  std::vector<std::string> vary;     // KEY=V1,V2,...
  std::string sweep;                 // KEY=FROM..TO:STEP
  std::string seeds;                 // N, A..B or A,B,C
  std::vector<std::string> metrics;  // columns of the table
  bool compare = false;              // an experiment even of one run
  bool each = false;                 // also every run's own files, each in a folder below `out`
  std::int64_t audit = 0;            // moments between recounts of the engine; 0 = none
  std::size_t jobs = 0;              // runs at a time; 0 = as many as there are cores
};

// 0: done, 1: an expectation of a scenario was not met, 2: wrong input (nothing was written; of an experiment,
// the runs that went through are written), 3: a defect of Berth. `terminal`: whether `err` is one, and
// progress is shown there.
int run_simulate(const SimulateArguments& arguments, std::ostream& out, std::ostream& err, bool terminal);

// Adds the subcommand; its callback sets `exit_code`.
void register_simulate(CLI::App& app, int& exit_code);

}  // namespace berth::cli

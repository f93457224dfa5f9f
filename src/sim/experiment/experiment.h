// An experiment: several scenarios, or one scenario in several variants, each with one or more seeds. It is
// made of command-line arguments (`berth simulate A.yaml B.yaml --vary ... --seeds ...`) or read from a file:
//
//   experiment: one pool or walls           # what it is called
//   description: ...
//   scenario: october.yaml                  # of every variant that names none; relative to this file
//   seeds: 1..5                             # or 5 (= 1..5), or [1, 7]; without: the scenarios' own
//   metrics: [waiting_mean_s, ...]          # columns of the table, first the ones that matter
//   variants:
//     - {name: walls, scenario: walls.yaml}
//     - {name: strict, set: {"queues[0].children[*].order": strict}}
//
// Errors name file, line and key, or the argument.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/scenario/scenario.h"

namespace berth::sim {

inline constexpr std::size_t kMostRuns = 10'000;

struct Variant {
  std::string name;
  std::string scenario;  // path
  std::vector<ScenarioChange> changes;
  std::string series;                    // of a sweep: which of its curves it belongs to
  std::optional<std::int64_t> at_milli;  // of a sweep: its place on the axis
};

struct Experiment {
  std::string name;
  std::string description;
  std::string file;  // "" where it was made of arguments
  std::string text;  // the file as it was
  std::vector<Variant> variants;
  std::vector<std::uint64_t> seeds;  // empty: each scenario's own
  std::string axis;                  // the key of a sweep, or ""
  std::vector<std::string> metrics;  // empty: default_metrics() of sim/experiment/compare.h
  bool fill = false;                 // ScenarioOptions::fill

  // The number of runs.
  std::size_t runs() const { return variants.size() * (seeds.empty() ? 1 : seeds.size()); }
};

// Whether the file has the key `experiment` at its top; errors where it cannot be read.
Result<bool> is_experiment(const std::string& path);
Result<Experiment> read_experiment(const std::string& path);
// One variant per scenario, named after the file.
Experiment experiment_of(const std::vector<std::string>& scenarios);

// "KEY=VALUE" of --set.
Result<ScenarioChange> parse_change(std::string_view argument);
// The same for every variant.
Status set_in_all(Experiment& experiment, std::string_view argument);
// "KEY=V1,V2,...": every variant once with each value. Commas within [], {} or quotes do not divide.
Status vary(Experiment& experiment, std::string_view argument);
// "KEY=FROM..TO:STEP", numbers with at most three digits after the point: the same along an axis. Once only.
Status sweep(Experiment& experiment, std::string_view argument);
// "N" (1 to N), "A..B" or "A,B,C".
Result<std::vector<std::uint64_t>> parse_seeds(std::string_view text);

}  // namespace berth::sim

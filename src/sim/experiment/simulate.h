// One simulation from a scenario to its results: reads the sources, runs the engine over them, and makes the
// table, the files and the report. Writes nothing but the decision log, where one is asked for.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/measure/metrics.h"
#include "sim/page/report_data.h"
#include "sim/replay/decider.h"
#include "sim/replay/replay.h"
#include "sim/results/output.h"
#include "sim/scenario/input.h"
#include "sim/scenario/scenario.h"

namespace berth::sim {

struct SimulateOptions {
  // The decision log of the run (observe/decision_log.h), "" = none; compressed where the name ends in .gz or
  // .zst. It is written beside its place and renamed when the run is over.
  std::string log;
  bool report = true;  // whether the report's data is wanted
  std::function<void(const Progress&)> progress;
  std::int64_t audit_every = 0;
  bool files = true;  // whether the files and the table are wanted
  // Looks at the whole outcome before it is let go; may be empty.
  std::function<void(const Input&, const Outcome&, const ReplaySummary&)> look_at_replay;
  std::function<void(const Input&, const InflationOutcome&)> look_at_inflation;
};

struct SimulateResult {
  std::string table;
  std::vector<OutputFile> files;
  ReportData report;
  std::vector<Metric> metrics;
  std::vector<Check> checks;
  std::int64_t jobs = 0;
  std::int64_t decide_calls = 0;
  std::string quota_gap;  // sim/scenario/quota_gap.h; "" where there is none

  bool as_expected() const;
};

// The decider in a run of this scenario: one engine, or two passes (sim/replay/two_pass.h). Nothing is recorded.
std::unique_ptr<Decider> make_decider(const Scenario& scenario);

// Errors: kInvalid for wrong input (with its place), kInternal where the engine misbehaves.
Result<SimulateResult> simulate(const Scenario& scenario, const SimulateOptions& options = {});
// The same with the input read already (sim/scenario/input.h).
Result<SimulateResult> simulate(const Scenario& scenario, const Input& input, const SimulateOptions& options);

}  // namespace berth::sim

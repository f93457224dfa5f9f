// `berth plan`: manifests in, decisions out. Prints the decisions of a plan: starts with their nodes, evictions with their
// preemptors, holds, and waiting work with reasons. Writes nothing to any cluster. With expectations it is the runner of scenario
// tests (docs/scenarios.md). A decision log in place of manifests is replayed and shown (plan_log.h).
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "cli/plan_live.h"
#include "text/document.h"

namespace berth::cli {

enum class PlanFormat : std::uint8_t { kTable, kWide, kJson };

// The handling of names that are probably misspelt (dialect/known/misspelt.h).
enum class Validation : std::uint8_t {
  kOff,     // nothing
  kWarn,    // they are named
  kStrict,  // and the exit code is 2
};

struct PlanOptions {
  // Files, folders (*.yaml, *.yml, *.json, in order of their names), "-" for standard input; or one decision log.
  std::vector<std::string> files;
  std::optional<LiveOptions> live;  // a cluster as it is now, with the files laid over it
  std::string expect;               // expectations; "" = none
  PlanFormat format = PlanFormat::kTable;
  Validation validation = Validation::kWarn;
  std::vector<std::string> explain;  // workloads whose whole reason is shown instead of the plan
  std::optional<TimeMs>
      now;  // absent: the newest creation time in the input, plus one minute; of a live cluster, now
  std::uint64_t max_document = text::kMostDocumentBytes;  // bytes of one JSON text or YAML document
  std::int64_t rounds = 1;                   // between rounds starts are carried out and evicted pods end
  std::vector<std::string> scheduler_names;  // empty: every pod that is not bound
  std::vector<std::string> kinds;            // files of kinds that are read besides (docs/kinds.md)
};

// 0: done, and as expected (of a log: the recorded decisions again). 1: not as expected, `err` says what differs. 2: wrong input,
// `err` names file, line, column and field; the plan of what can be read is written to `out`, where there is any.
int run_plan(const PlanOptions& options, std::ostream& out, std::ostream& err);

// Adds the subcommand; its callback sets `exit_code`.
void register_plan(CLI::App& app, int& exit_code);

}  // namespace berth::cli

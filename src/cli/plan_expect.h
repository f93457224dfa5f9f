// The expectations of a scenario, read from YAML (docs/scenarios.md documents every key), and their comparison with the decisions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cli/plan_world.h"
#include "model/queue.h"

namespace berth::cli {

struct ExpectedLine {
  std::string workload;  // namespace/name
  std::optional<std::int64_t> pods;
  std::map<std::string, std::int64_t> nodes;   // node -> pods; empty: anywhere
  std::vector<std::string> on;                 // only these nodes; empty: any
  std::string same;                            // all nodes share the value of this label
  std::map<std::string, std::string> flavors;  // resource -> flavor
  std::string beneficiary;                     // namespace/name
  std::optional<std::int64_t> cost;
  std::string reason;                 // name of a ReasonCode, anywhere in the reason
  std::vector<std::string> messages;  // each is part of the text
  std::uint32_t line = 0;             // of the file
};

struct ExpectedProblem {
  std::string object;
  std::string message;
};

struct ExpectedStep {
  std::string name;
  // Done before deciding.
  bool complete_evictions = false;
  std::vector<std::string> apply;                           // paths, relative to the file
  std::vector<std::pair<std::string, std::string>> remove;  // kind, namespace/name or name
  std::vector<std::string> finish;
  DurationMs after = 0;
  // Expected of the decisions.
  std::vector<ExpectedLine> starts, evictions, holds, waiting, refused;
  std::vector<std::string> unchanged;
  std::vector<ExpectedProblem> problems;
};

struct Expectations {
  std::string file;
  std::optional<TimeMs> now;
  Placement placement = Placement::kDefault;
  bool ignore_uncovered = false;
  std::vector<ExpectedStep> steps;  // at least one
};

Result<Expectations> read_expectations(const std::string& path);

// The differences, one sentence each; empty: as expected.
std::vector<std::string> compare(const ExpectedStep& expected, const PlanRound& round,
                                 const PlanWorld& world);

}  // namespace berth::cli

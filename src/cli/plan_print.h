// The output of `berth plan`: tables for people, JSON for programs (docs/plan.schema.json).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/plan_input.h"
#include "cli/plan_world.h"

namespace berth::cli {

struct PlanReport {
  std::vector<PlanRound> rounds;
  std::vector<std::string> notes;
  std::vector<dialect::Problem> problems;
  std::map<std::string, std::int64_t> unread;
  std::vector<std::string>
      warnings;  // names that are probably misspelt: in the JSON only, they are on standard error too
};

// Not wide: no line is longer than 159 characters, pods that one controller made and of which the table says the same are one line,
// and so are notes of one kind. Wide: priority, age and place in line as well, whole reasons, every note.
std::string to_table(const PlanReport& report, bool wide);
// The whole reasons of these workloads (namespace/name; without a slash: of the namespace default; or the name of what made the pods)
// after the last round, as trees. NotFound names the nearest one that there is.
Result<std::string> to_explanation(const PlanReport& report, const std::vector<std::string>& names);
std::string to_json(const PlanReport& report);

}  // namespace berth::cli

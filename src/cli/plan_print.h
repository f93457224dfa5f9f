// What `berth plan` shows: tables for people, JSON for programs (docs/scenarios.md has its schema).
#pragma once

#include <string>
#include <vector>

#include "cli/plan_input.h"
#include "cli/plan_world.h"

namespace berth::cli {

struct PlanReport {
  std::vector<PlanRound> rounds;
  std::vector<std::string> notes;
  std::vector<dialect::Problem> problems;
  std::map<std::string, std::int64_t> unread;
};

std::string to_table(const PlanReport& report);
std::string to_json(const PlanReport& report);

}  // namespace berth::cli

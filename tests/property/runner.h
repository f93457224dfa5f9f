// Runs a history against an engine, with every check after every decide(), and makes failing histories small.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "property/checker.h"
#include "property/history.h"

namespace berth::property {

struct Outcome {
  std::string failure;  // "" = all well
  std::string log;      // the decision log up to the failure
  std::string trial;    // where a trial failed (trial.h): its own decision log, with what it was told
  std::int64_t decide_calls = 0;
  std::int64_t decisions = 0;
};

// All steps; then the outside comes to rest until nothing more is decided, the reasons of some that wait are tried out
// (reasons.h), and what runs ends, one workload after the other (starvation.h).
Outcome run_history(const History& history, Coverage& coverage);

// The events and decide() times of a decision log against the present engine, with the same checks. Decisions of the log
// are not compared: it may come from an engine that was wrong.
Outcome run_log(const std::string& path, Coverage& coverage);

// A failure without its numbers: what kind it is.
std::string kind_of(const std::string& failure);

// Leaves out steps (delta debugging) as long as it fails in the same way.
History shrink(History history);

}  // namespace berth::property

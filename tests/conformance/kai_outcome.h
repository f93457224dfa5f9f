// The result of a case of KAI's suites, and how it compares with KAI's. Format and verdicts: README of the shared conformance folder.
//
//   exact       The expected states and nodes are there. Tasks of one job with equal requests, pod set, initial state and initial node are
//               alike.
//   as good     The case is a tie. The states of each pod set are those of the expectation, or of an alternative. No more nodes are used
//               than by KAI.
// Beyond that no more pods that ran are evicted than by KAI (measured.evictionsOfRunning), where the case runs in rounds.
#pragma once

#include <map>
#include <string>

#include "conformance/peer_cases.h"
#include "text/document.h"

namespace berth::conformance {

struct KaiTask {
  std::string state;  // as KAI names it
  std::string node;   // "" = none
  bool operator==(const KaiTask&) const = default;
  auto operator<=>(const KaiTask&) const = default;
};

struct KaiOutcome {
  std::map<std::string, KaiTask> tasks;  // by name
  int evictions = 0;                     // of pods that ran at the start of a round
  bool rests = true;                     // nothing more is decided
};

Comparison compare(const text::Node& the_case, const KaiOutcome& outcome);

}  // namespace berth::conformance

// One session's decisions about a case of Volcano's suites, and how they compare with Volcano's. Format and verdicts: README of the shared
// conformance folder.
//
//   exact       The bound pods with their nodes, the evicted ones, reservations and phases are those of the case. Where it expects a
//               number of binds alone, the nodes are the measured ones. Pods of one PodGroup with equal spec, role and volcano.sh/preemptable
//               are alike.
//   as good     The case is a tie, or expects a number alone. The outcome is another one of Volcano's, or has as many pods of each
//               PodGroup. They are within the tiers of a hard networkTopology, and of a soft one no wider than Volcano's.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "conformance/peer_cases.h"
#include "text/document.h"

namespace berth::conformance {

struct VolcanoOutcome {
  std::map<std::string, std::string> binds;      // pod -> node; pods and groups by namespace/name
  std::set<std::string> evicted;                 // pods
  std::map<std::string, std::string> pipelined;  // pods with a reservation -> node
  std::map<std::string, std::string> phases;     // of groups, as the session begins
};

Comparison compare(const text::Node& the_case, const VolcanoOutcome& outcome);

// "namespace/name" of an object, or its name alone.
std::string key_of_object(const text::Node& object);
// The PodGroup that a pod names, by namespace/name; of none its own key.
std::string group_of_pod(const text::Node& pod);

}  // namespace berth::conformance

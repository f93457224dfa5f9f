// Pods with the constraints of C1 to C3 (scenarios.h), and nodes in three zones for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "e2e/cluster.h"

namespace berth::bench {

enum class Constraint : std::uint8_t {
  kNone,
  kAffinity,  // apart from pods of its app on each node, and in their zone
  kSpread,    // evenly over zones, and over nodes
  kVolume,    // a claim of a volume that one zone reaches
};

// Node i is in zone-(i mod 3).
e2e::NodeShape nodes_in_zones();

// Bodies of `count` pods, in apps of 100, and of their claims and volumes.
struct ConstrainedPods {
  std::vector<std::string> volumes;
  std::vector<std::string> claims;
  std::vector<std::string> pods;
  std::vector<std::string> names;
};
// `nodes`: 0: the pods wait; else they are bound, so that all constraints hold among so many nodes.
ConstrainedPods constrained_pods(Constraint kind, const e2e::PodShape& base, std::size_t count,
                                 std::size_t nodes);

Status create(e2e::TestCluster& cluster, const ConstrainedPods& all);

}  // namespace berth::bench

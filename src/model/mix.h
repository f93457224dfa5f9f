// The demand mix: what kinds of pods are expected, and how often. Placement that keeps room for what comes
// (engine/nodes/fragments.h) measures free room against it.
#pragma once

#include <cstdint>
#include <vector>

#include "model/workload.h"

namespace berth {

// Pods like this one, `weight` of them among the sum of all weights.
struct DemandKind {
  PodTemplate pod;
  std::int64_t weight = 0;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("pod", s.pod);
    v("weight", s.weight);
  }
  bool operator==(const DemandKind&) const = default;
};

// A given mix. Without kinds: none is given, and the engine measures against what it has seen arrive.
struct DemandMix {
  std::vector<DemandKind> kinds;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("kinds", s.kinds);
  }
  bool operator==(const DemandMix&) const = default;
};

}  // namespace berth

// Amounts that quota counts for a pod instead of its requests: Kueue's resources.excludeResourcePrefixes and
// resources.transformations. Nodes and placement always use the real requests.
//
//   excluded     a resource whose name begins with one of the prefixes is not counted; first of all
//   transformed  an input gives its amount, in whole units rounded up, times each factor, to the outputs. With multiply_by its
//                amount is first multiplied by the pod's own amount of that resource (in whole units rounded up; where the pod
//                asks for none, by one). A retained input is counted too, as it is then; a replaced one is not
// What reaches one resource from several sides is added up. Exact: factors are decimals of at most nine places, sums are rounded
// once, at the end: cpu up to a thousandth, all else up to a whole unit, as Kueue reads them.
//
// Source: kubernetes-sigs/kueue, pkg/workload (facts in research/kueue.md 1.3).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/workload.h"

namespace berth::dialect {

struct Transformation {
  struct Output {
    std::string resource;
    std::int64_t nano = 0;  // the factor, in units of 10^-9
    bool operator==(const Output&) const = default;
  };
  std::string input;
  bool retain = true;
  std::string multiply_by;  // "" = nothing
  std::vector<Output> outputs;
  bool operator==(const Transformation&) const = default;
};

struct QuotaCounts {
  std::vector<std::string> excluded;            // prefixes
  std::vector<Transformation> transformations;  // each of another input

  bool empty() const { return excluded.empty() && transformations.empty(); }
  // Sets what quota counts of the pod, where that differs from what it asks for. Amounts that no quota could hold stay at the
  // most of 64 bits, which the engine refuses by name.
  void apply(PodTemplate& pod) const;
  bool operator==(const QuotaCounts&) const = default;
};

}  // namespace berth::dialect

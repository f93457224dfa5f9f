// `berth plan --live`: a cluster as it is now, with manifests laid over it.
#pragma once

#include <iosfwd>
#include <string>

#include "base/result.h"
#include "cli/plan_input.h"

namespace berth::cli {

struct LiveOptions {
  std::string kubeconfig;  // empty: as kubectl would find it
  std::string context;     // empty: the kubeconfig's current one
};

// Puts the objects of the cluster in front of those of `input`, which stand for what is to be applied: an object that the cluster has
// keeps its identity and what the cluster says of it, and is otherwise as its manifest says. For a pod, which cannot be changed,
// the cluster's version counts. Says in the notes of `input` what was read. Shows progress on `err` where that is a terminal.
// Errors: no configuration, no connection, a right that is missing (it is named), more than a million objects.
Status add_cluster(const LiveOptions& options, PlanInput& input, std::ostream& err);

// The second half of it.
void lay_over(std::vector<dialect::Object> cluster, PlanInput& input);

}  // namespace berth::cli

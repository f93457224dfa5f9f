// The use of each right, and reports about missing ones: on /readyz, in the log and as a metric.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/rights.h"

namespace berth::scheduler {

// The loss without the right; "" for one that Berth does not use.
std::string_view lost_without(const kube::Right& right);

// The settings that decide which rights Berth uses.
struct RightsOf {
  bool hold_jobs = true;
  bool kueue_objects = true;
  std::string lease_namespace = "kube-system";  // "": no lease is used
  std::string lease_name = "berth";
  // Whether the API server serves the resource of a group; empty: all of them.
  std::function<bool(std::string_view group, std::string_view resource)> serves;
};
struct NeededRight {
  kube::Right right;
  std::string ns;    // "": in all namespaces
  std::string name;  // "": of any name
  bool operator==(const NeededRight&) const = default;
};
// All of them, each once: those of deploy/berth.yaml with the settings of a RightsOf.
std::vector<NeededRight> needed_rights(const RightsOf& of);

// "may not create pods/binding: no pod is bound. Grant verbs [create] on resources [pods/binding] of apiGroups [""] ..."
std::string told(const kube::Right& right);

}  // namespace berth::scheduler

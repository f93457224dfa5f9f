// The changes of the API server to a pod template: the defaults of its namespace's LimitRanges, the overhead and the nodes of its
// RuntimeClass; or why it would refuse the pods. So that a Job which waits without pods is decided by what its pods will really ask
// for. Pure.
//
// The order is the API server's: a container's own limit replaces a missing request; then each LimitRange, by name, fills what is
// missing; then the RuntimeClass adds its parts. Bounds (min, max, maxLimitRequestRatio, of containers and of pods without
// overhead) are checked against the outcome. So are the rules for single containers: a resource must be one that Kubernetes knows,
// or have a domain; devices, other extended resources and huge pages need a limit that is the request.
//
// Source: Kubernetes' admission plugins LimitRanger and RuntimeClass; research/kueue.md 1.3 for what Kueue does of it.
// Cost: linear in containers x limits.
#pragma once

#include <string>
#include <vector>

#include "dialect/base/fields.h"
#include "dialect/upstream/objects.h"

namespace berth::dialect {

// The reason for which the API server refuses single containers; "": it does not.
std::string check_containers(const PodNeeds& needs);

struct TemplateRules {
  std::vector<const LimitRange*> ranges;  // of the namespace, by name
  const RuntimeClass* runtime = nullptr;  // that the template names; nullptr: not known
  bool all_runtimes = false;              // all that there are are known: one that is not does not exist
  bool of_pods = false;  // the API server sees the containers: of a pod or a Job, not of a Workload

  // Whether a template that needs this could be changed, or refused.
  bool concern(const PodNeeds& needs) const {
    return !ranges.empty() || !needs.runtime_class.empty() || (all_runtimes && !needs.overhead.empty()) ||
           (of_pods && !check_containers(needs).empty());
  }
};

struct TakenTemplate {
  PodTemplate pod;
  std::vector<std::string> zero_requests;
  std::string refused;  // why the API server would refuse such pods; "" = it would not
};

// `spec` and `needs` are as written; `meta` has the template's marks.
TakenTemplate as_taken(const PodSpec& spec, const PodNeeds& needs, const Meta& meta,
                       const TemplateRules& rules, const DeviceNames& devices);

}  // namespace berth::dialect

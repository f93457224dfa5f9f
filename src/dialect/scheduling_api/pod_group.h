// Kubernetes' own PodGroup (scheduling.k8s.io), which pods name in spec.schedulingGroup: v1alpha2 of 1.36, v1alpha3 and v1beta1 of 1.37.
//
//   gang            its minCount pods start together, further ones when there is room
//   basic           its pods start as they come
//   disruptionMode  all (PodGroup in v1alpha2): all its pods that run end together. single (Pod): pods beyond minCount may end alone; a
//                   pod without which the gang is none takes the others with it
//   topology        all pods in one domain of the key
//
// Its status has the conditions that the default scheduler writes. The first start is final there: it stays True. DisruptionTarget
// stands from a preemption until the gang runs again.
#pragma once

#include <string>

#include "dialect/gangs/gang_object.h"
#include "dialect/gangs/gang_system.h"

namespace berth::dialect {

struct UpstreamPodGroup : GangObject {
  static constexpr Kind kKind = Kind::kUpstreamPodGroup;
  static const GangSystem kGang;
  std::string problem;
};

// The conditions of its status, as they stand or are to stand.
struct UpstreamConditions {
  std::string started;  // "True", "False"; "" = nothing was said
  std::string reason, message;
  TimeMs started_since = 0;
  std::string displaced;  // the message of DisruptionTarget; "" = there is none
  TimeMs displaced_since = 0;

  // As JSON; `with_times`: false for comparing. `version`: of the API.
  std::string json(std::string_view version, bool with_times) const;
};

}  // namespace berth::dialect

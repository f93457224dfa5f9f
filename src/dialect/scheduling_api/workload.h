// Kubernetes' Workload of 1.35 (scheduling.k8s.io/v1alpha1), which pods name in spec.workloadRef. Each of its pod groups is a policy for
// gangs: the pods of one podGroupReplicaKey are one gang. In later versions a Workload is a template of PodGroups, and says nothing here.
#pragma once

#include <vector>

#include "dialect/gangs/gang_object.h"
#include "dialect/gangs/gang_system.h"

namespace berth::dialect {

// A pod group of it. Its name is "workload/podGroup".
struct WorkloadPodGroup : GangObject {
  static const GangSystem kGang;
};

struct UpstreamWorkload {
  static constexpr Kind kKind = Kind::kUpstreamWorkload;
  Meta meta;
  std::vector<WorkloadPodGroup> groups;
};

}  // namespace berth::dialect

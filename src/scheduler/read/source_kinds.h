// The kinds that are read from an API server, and where they are.
#pragma once

#include <array>
#include <string_view>

#include "dialect/base/names.h"
#include "dialect/objects/object.h"

namespace berth::scheduler {

struct SourceKind {
  dialect::Kind kind;
  std::string_view group;
  std::string_view resource;
  // Nothing can be decided without it; others may not be served (a CRD, an API that is turned off).
  bool vital = false;
  std::string_view selector = {};  // of fields: the others are not needed
};

inline constexpr std::array kSourceKinds = {
    SourceKind{dialect::Kind::kNode, "", "nodes", true},
    SourceKind{dialect::Kind::kPod, "", "pods", true, "status.phase!=Succeeded,status.phase!=Failed"},
    SourceKind{dialect::Kind::kNamespace, "", "namespaces"},
    SourceKind{dialect::Kind::kPriorityClass, "scheduling.k8s.io", "priorityclasses"},
    SourceKind{dialect::Kind::kJob, "batch", "jobs"},
    SourceKind{dialect::Kind::kLimitRange, "", "limitranges"},
    SourceKind{dialect::Kind::kRuntimeClass, "node.k8s.io", "runtimeclasses"},
    SourceKind{dialect::Kind::kPodGroup, dialect::kCoschedulingGroup, "podgroups"},
    SourceKind{dialect::Kind::kClusterQueue, dialect::kKueueGroup, "clusterqueues"},
    SourceKind{dialect::Kind::kCohort, dialect::kKueueGroup, "cohorts"},
    SourceKind{dialect::Kind::kLocalQueue, dialect::kKueueGroup, "localqueues"},
    SourceKind{dialect::Kind::kResourceFlavor, dialect::kKueueGroup, "resourceflavors"},
    SourceKind{dialect::Kind::kTopology, dialect::kKueueGroup, "topologies"},
    SourceKind{dialect::Kind::kWorkloadPriorityClass, dialect::kKueueGroup, "workloadpriorityclasses"},
    SourceKind{dialect::Kind::kAdmissionCheck, dialect::kKueueGroup, "admissionchecks"},
    SourceKind{dialect::Kind::kWorkload, dialect::kKueueGroup, "workloads"},
    SourceKind{dialect::Kind::kProvisioningRequestConfig, dialect::kKueueGroup, "provisioningrequestconfigs"},
    SourceKind{dialect::Kind::kProvisioningRequest, dialect::kAutoscalingGroup, "provisioningrequests"},
    SourceKind{dialect::Kind::kQueue, dialect::kBerthGroup, "queues"},
    SourceKind{dialect::Kind::kVolcanoQueue, dialect::kVolcanoGroup, "queues"},
    SourceKind{dialect::Kind::kKaiQueue, dialect::kKaiGroup, "queues"},
};

// Only of use where Workloads are kept.
inline bool is_of_workloads(dialect::Kind kind) {
  return kind == dialect::Kind::kWorkload || kind == dialect::Kind::kProvisioningRequestConfig ||
         kind == dialect::Kind::kProvisioningRequest;
}

}  // namespace berth::scheduler

#include "dialect/scheduling_api/workload.h"

#include "dialect/base/names.h"

namespace berth::dialect {

const GangSystem WorkloadPodGroup::kGang{.kind = Kind::kUpstreamWorkload,
                                         .name = "Kubernetes 1.35",
                                         .names = {kWorkloadRef, {}},
                                         .labels_count = false};

}  // namespace berth::dialect

// An object of any kind that Berth reads, as a value: what is needed of it, and nothing else. One struct per kind, whatever the API
// version that it came in; each stands in the folder of its system. Filled by decode.h from manifests (with places in messages) and
// from watches (fast).
#pragma once

#include <variant>

#include "dialect/gangs/pod_group.h"
#include "dialect/kueue/objects.h"
#include "dialect/owners/job.h"
#include "dialect/tree/objects.h"
#include "dialect/upstream/objects.h"

namespace berth::dialect {

using Object = std::variant<Pod, NodeObject, Namespace, PriorityClass, Job, PodGroup, ClusterQueue, Cohort,
                            LocalQueue, ResourceFlavor, TopologyObject, WorkloadPriorityClass, KueueWorkload,
                            BerthQueue, VolcanoQueue, KaiQueue, AdmissionCheck, LimitRange, RuntimeClass,
                            ProvisioningRequestConfig, ProvisioningRequest>;

Kind kind_of(const Object& object);
const Meta& meta_of(const Object& object);

}  // namespace berth::dialect

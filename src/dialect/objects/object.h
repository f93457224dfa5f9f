// An object of any kind that Berth reads, as a value: what is needed of it, and nothing else. One struct per kind, whatever the API
// version that it came in; each stands in the folder of its system. Filled by decode.h from manifests (with places in messages) and
// from watches (fast).
#pragma once

#include <variant>

#include "dialect/gangs/pod_group.h"
#include "dialect/kai/pod_group.h"
#include "dialect/kai/topology.h"
#include "dialect/kueue/objects.h"
#include "dialect/owners/declared/declared.h"
#include "dialect/owners/deployment/deployment.h"
#include "dialect/owners/job/job.h"
#include "dialect/owners/job_set/job_set.h"
#include "dialect/owners/owner.h"
#include "dialect/owners/stateful_set/stateful_set.h"
#include "dialect/scheduling_api/pod_group.h"
#include "dialect/scheduling_api/workload.h"
#include "dialect/tree/objects.h"
#include "dialect/upstream/objects.h"
#include "dialect/volcano/hyper_node.h"
#include "dialect/volcano/pod_group.h"
#include "dialect/volumes/objects.h"

namespace berth::dialect {

using Object =
    std::variant<Pod, NodeObject, Namespace, PriorityClass, Job, PodGroup, ClusterQueue, Cohort, LocalQueue,
                 ResourceFlavor, TopologyObject, WorkloadPriorityClass, KueueWorkload, BerthQueue,
                 VolcanoQueue, KaiQueue, AdmissionCheck, LimitRange, RuntimeClass, ProvisioningRequestConfig,
                 ProvisioningRequest, StatefulSet, JobSet, ReplicaSet, Deployment, PersistentVolumeClaim,
                 PersistentVolume, StorageClass, CsiNode, VolumeAttachment, VolcanoPodGroup, KaiPodGroup,
                 CsiDriver, CsiStorageCapacity, HyperNode, DisruptionBudget, UpstreamPodGroup, KaiTopology,
                 OlderPodGroup, UpstreamWorkload, Declared>;

Kind kind_of(const Object& object);
const Meta& meta_of(const Object& object);
// The field that cannot be read, of an object that comes all the same; "": none.
std::string_view problem_of(const Object& object);

// The functions of the kind, where its objects own pods: each such struct has a kOwner. nullptr otherwise.
const OwnerKind* owner_kind(Kind kind);
// The same by the controller of an object.
const OwnerKind* owner_kind(const Owner& controller);
const OwnerKind* owner_kind_of_word(std::string_view word);
// Takes apart an object of such a kind.
Ask ask_of(Object object);

}  // namespace berth::dialect

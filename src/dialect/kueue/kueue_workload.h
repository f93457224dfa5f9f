// Kueue's Workload object -> the model's group tree and slots.
#pragma once

#include <cstdint>
#include <vector>

#include "dialect/kueue/objects.h"
#include "model/workload.h"

namespace berth::dialect {

// Slots of a pod set that ask for, or hold, quota: fewer than its count where pods have ended well (reclaimablePods) or where
// it was admitted partially.
std::int64_t slots_of(const KueueWorkload& object, std::size_t pod_set);

// The form of the held quota; nullptr if the pod set holds none.
const KueueWorkload::Assignment* assignment_of(const KueueWorkload& object, std::size_t pod_set);

// All pod sets start together; each with its topology request, in a group of its own where there are several with one.
Group root_of(const KueueWorkload& object);

}  // namespace berth::dialect

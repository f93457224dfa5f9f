#include "dialect/gangs/pod_group.h"

#include "dialect/base/names.h"

namespace berth::dialect {

const GangSystem PodGroup::kGang{
    .kind = Kind::kPodGroup, .name = "coscheduling", .names = {kPodGroupLabel, kOlderPodGroupLabel}};

}  // namespace berth::dialect

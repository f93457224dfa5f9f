// Coscheduling of scheduler-plugins.
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kCoschedulingFields = R"(
PodGroup: apiVersion kind metadata=ObjectMeta spec=PodGroupSpec status=PodGroupStatus
PodGroupSpec: minMember minResources scheduleTimeoutSeconds
PodGroupStatus: failed occupiedBy phase running scheduleStartTime succeeded scheduled
)";

constexpr std::string_view kCoschedulingPrefixes[] = {"scheduling.x-k8s.io/",
                                                      "pod-group.scheduling.sigs.k8s.io/"};

constexpr std::string_view kCoschedulingKeys[] = {
    "pod-group.scheduling.sigs.k8s.io/match-policy",
    "pod-group.scheduling.sigs.k8s.io/min-available",
    "pod-group.scheduling.sigs.k8s.io/name",
    "scheduling.x-k8s.io/pod-group",
};

constexpr KnownKind kCoschedulingKinds[] = {
    {"scheduling.x-k8s.io", "PodGroup", "v1alpha1", "PodGroup"},
    {"scheduling.sigs.k8s.io", "PodGroup", "v1alpha1", "PodGroup"},
    // Not read, and no mistakes.
    {"scheduling.x-k8s.io", "ElasticQuota", "", ""},
    {"scheduling.sigs.k8s.io", "ElasticQuota", "", ""},
};

}  // namespace

KnownSystem known_coscheduling() {
  return {"coscheduling", kCoschedulingKinds, kCoschedulingFields, kCoschedulingPrefixes, kCoschedulingKeys};
}

}  // namespace berth::dialect

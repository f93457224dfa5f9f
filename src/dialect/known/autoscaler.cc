// Cluster Autoscaler's ProvisioningRequest.
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kFields = R"(
ProvisioningRequest: apiVersion kind metadata=ObjectMeta spec=ProvisioningRequestSpec status=ProvisioningRequestStatus
ProvisioningRequestSpec: parameters podSets=PodSet provisioningClassName
PodSet: count podTemplateRef=Reference
Reference: name
ProvisioningRequestStatus: conditions=Condition provisioningClassDetails
)";

constexpr std::string_view kPrefixes[] = {"autoscaling.x-k8s.io/"};

constexpr std::string_view kKeys[] = {
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "autoscaling.x-k8s.io/provisioning-class-name",
};

constexpr KnownKind kKinds[] = {
    {"autoscaling.x-k8s.io", "ProvisioningRequest", "v1 v1beta1", "ProvisioningRequest"},
    // Not read, and no mistakes.
    {"autoscaling.x-k8s.io", "CapacityBuffer", "", ""},
};

}  // namespace

KnownSystem known_autoscaler() {
  return {"Cluster Autoscaler", kKinds, kFields, kPrefixes, kKeys};
}

}  // namespace berth::dialect

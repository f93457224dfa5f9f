// Cluster Autoscaler's ProvisioningRequest.
#include "dialect/known/known.h"

namespace berth::dialect {
namespace {

constexpr std::string_view kAutoscalerFields = R"(
ProvisioningRequest: apiVersion kind metadata=ObjectMeta spec=ProvisioningRequestSpec status=ProvisioningRequestStatus
ProvisioningRequestSpec: parameters podSets=PodSet provisioningClassName
PodSet: count podTemplateRef=Reference
Reference: name
ProvisioningRequestStatus: conditions=Condition provisioningClassDetails
)";

constexpr std::string_view kAutoscalerPrefixes[] = {"autoscaling.x-k8s.io/"};

constexpr std::string_view kAutoscalerKeys[] = {
    "autoscaling.x-k8s.io/consume-provisioning-request",
    "autoscaling.x-k8s.io/provisioning-class-name",
};

constexpr KnownKind kAutoscalerKinds[] = {
    {"autoscaling.x-k8s.io", "ProvisioningRequest", "v1 v1beta1", "ProvisioningRequest"},
    // Not read, and no mistakes.
    {"autoscaling.x-k8s.io", "CapacityBuffer", "", ""},
};

}  // namespace

KnownSystem known_autoscaler() {
  return {"Cluster Autoscaler", kAutoscalerKinds, kAutoscalerFields, kAutoscalerPrefixes, kAutoscalerKeys};
}

}  // namespace berth::dialect

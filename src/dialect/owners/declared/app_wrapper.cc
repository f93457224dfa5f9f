// AppWrapper (CodeFlare): objects of any kinds that start and end together.
#include "dialect/owners/declared/built_in.h"

namespace berth::dialect {
namespace {

// Suspended, an AppWrapper has no components: its controller deletes them, and makes them anew. So what it asks for stands in it alone.
// Its configuration decides which nodes pods avoid: these are the ones of its defaults (NewAppWrapperConfig).
constexpr std::string_view kKindsOfAppWrapper = R"(
apiVersion: berth.dev/v1alpha1
kind: OwnerKinds
kinds:
  - apiVersion: workload.codeflare.dev/v1beta2
    kind: AppWrapper
    resource: appwrappers
    description: Objects of several kinds that start and end together.
    suspend: spec.suspend
    managedBy: {at: spec.managedBy, own: [workload.codeflare.dev/appwrapper-controller]}
    completed: {at: status.phase, words: [Succeeded]}
    failed: {at: status.phase, words: [Failed]}
    ready: {conditions: [PodsReady]}
    podsOfObjects:
      each: spec.components
      at: .template
      avoids:
        - {resource: nvidia.com/gpu, label: autopilot.ibm.com/gpuhealth, values: [TESTING, EVICT]}
        - {resource: nvidia.com/gpu, label: autopilot.ibm.com/gpuhealth, values: [WARN], weight: 50}
)";

}  // namespace

std::string_view declared_app_wrapper() {
  return kKindsOfAppWrapper;
}

}  // namespace berth::dialect

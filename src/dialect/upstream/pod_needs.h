// The requests of a pod's containers, one by one, before and after the changes of the API server. For a pod that the API server has
// accepted the sum is enough. For a template it is not: a LimitRange gives defaults to each container (template_effects.h).
//
// Source of the rules: Kubernetes' effective requests of pods, restated exactly. Amounts in base units.
// Cost: linear in the containers and their resources.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/resources.h"
#include "model/workload.h"

namespace berth::dialect {

struct DeviceNames;

struct ContainerNeeds {
  std::string name;
  ResourceList requests;  // a limit without a request is the request too
  ResourceList limits;
  bool init = false;
  bool sidecar = false;  // an init container that stays
  bool operator==(const ContainerNeeds&) const = default;
};

struct PodNeeds {
  std::vector<ContainerNeeds> containers;  // init containers first, each list in its order
  ResourceList requests;                   // of the pod as a whole, where it says so
  ResourceList limits;
  ResourceList overhead;
  std::string runtime_class;  // "" = none
  bool operator==(const PodNeeds&) const = default;
};

// Whether Kubernetes knows the resource by its name alone: it counts in whole numbers then.
bool is_extended(std::string_view resource);

// Whether a pod may say of this resource what it wants as a whole.
bool counts_for_pod(std::string_view resource);

// Adds each amount, as Kubernetes adds quantities: a sum that does not fit is the most that does.
void add_capped(ResourceList& sum, const ResourceList& more);

// Adds up containers: those that run together, and init containers by their peak. A sum is as large as can be counted at most.
class EffectiveRequests {
 public:
  void container(const ResourceList& requests) { add_capped(main_, requests); }
  void init_container(const ResourceList& requests, bool sidecar);
  ResourceList total() const;

 private:
  ResourceList main_;
  ResourceList sidecars_;   // so far
  ResourceList init_peak_;  // of any init container with the sidecars before it
};

// The sum over containers where `requests_of` says what one asks for.
template <class F>
ResourceList aggregate(const std::vector<ContainerNeeds>& containers, F&& requests_of) {
  EffectiveRequests sum;
  for (const auto& c : containers) {
    if (c.init) {
      sum.init_container(requests_of(c), c.sidecar);
    } else {
      sum.container(requests_of(c));
    }
  }
  return sum.total();
}

// Requests of the pod as a whole go before the sum of its containers.
void override_by_pod(const PodNeeds& needs, ResourceList& total);

// Makes `total` the pod's requests, with devices as a claim. Names that are asked for with an amount of zero are in `zero` alone. Gives the
// device that is not asked for in whole numbers, "" where all are.
std::string set_requests(const PodNeeds& needs, const DeviceNames& devices, ResourceList total,
                         PodTemplate& pod, std::vector<std::string>& zero);

}  // namespace berth::dialect

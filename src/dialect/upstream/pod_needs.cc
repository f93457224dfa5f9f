#include "dialect/upstream/pod_needs.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "dialect/base/fields.h"

namespace berth::dialect {

void add_capped(ResourceList& sum, const ResourceList& more) {
  for (const auto& [resource, amount] : more)
    sum.set(resource, clamp_to_int64(Int128{sum.get(resource)} + amount));
}

void EffectiveRequests::init_container(const ResourceList& requests, bool sidecar) {
  ResourceList peak = sidecars_;
  add_capped(peak, requests);
  init_peak_.raise_to(peak);
  if (sidecar) sidecars_ = std::move(peak);
}

ResourceList EffectiveRequests::total() const {
  ResourceList sum = main_;
  add_capped(sum, sidecars_);
  sum.raise_to(init_peak_);
  return sum;
}

bool is_extended(std::string_view resource) {
  const auto slash = resource.find('/');
  return slash != std::string_view::npos &&
         resource.substr(0, slash).find("kubernetes.io") == std::string_view::npos;
}

bool counts_for_pod(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

void override_by_pod(const PodNeeds& needs, ResourceList& total) {
  for (const auto& [resource, amount] : needs.limits) {
    if (counts_for_pod(resource) && !total.has(resource)) total.set(resource, amount);
  }
  for (const auto& [resource, amount] : needs.requests) {
    if (counts_for_pod(resource)) total.set(resource, amount);
  }
}

std::string set_requests(const PodNeeds& needs, const DeviceNames& devices, ResourceList total,
                         PodTemplate& pod, std::vector<std::string>& zero) {
  zero.clear();
  for (const auto& [resource, amount] : total) {
    if (amount == 0) zero.push_back(resource);
  }
  for (const auto& resource : zero) total.erase(resource);
  for (const auto& c : needs.containers) {
    for (const auto& [resource, amount] : c.requests) {
      const bool known = std::find(zero.begin(), zero.end(), resource) != zero.end();
      if (amount == 0 && total.get(resource) == 0 && !known) zero.push_back(resource);
    }
  }
  std::string broken;
  pod.claim = {};
  for (const auto& [resource, amount] : total) {
    if (!devices.is_device(resource)) continue;
    const bool is_capped = amount == kInt64Max;  // as many as can be counted
    if (amount % 1000 != 0 && !is_capped && broken.empty()) broken = resource;
    pod.claim.requests.push_back(DeviceRequest{resource, amount / 1000, 1000});
  }
  for (const auto& request : pod.claim.requests) total.erase(request.resource);
  total.set("pods", 1);
  pod.requests = std::move(total);
  return broken;
}

}  // namespace berth::dialect

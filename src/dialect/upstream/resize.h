// Pods that are being resized in place, while what they ask for, what the kubelet has given them and what is in effect differ.
#pragma once

#include <optional>
#include <string_view>

#include "dialect/base/fields.h"
#include "dialect/upstream/pod_needs.h"

namespace berth::dialect {

// `needs` of a bound pod as Kubernetes counts them (determineEffectiveRequests of component-helpers 1.36). The largest of the three counts for
// each container, and for the pod as a whole where it asks as a whole. A resize that is infeasible asks for nothing. Then CPU and memory, which
// alone can be resized, count as the status has them: zero where it does not name them. Other resources that it does not name stay as
// they are asked for. Not set where nothing changes. Kubernetes 1.37 takes the largest of three sums, which is never more.
template <class V>
std::optional<PodNeeds> needs_in_resize(FieldReader<V>& f, const V& status, const PodNeeds& needs) {
  std::optional<bool> infeasible;
  const auto is_infeasible = [&] {
    if (infeasible) return *infeasible;
    infeasible = false;
    f.list(status, "conditions", [&](const V& c) {
      *infeasible |= f.string(c, "type") == "PodResizePending" && f.string(c, "reason") == "Infeasible" &&
                     f.string(c, "status") == "True";
    });
    return *infeasible;
  };
  std::optional<PodNeeds> out;
  // `part` of the status speaks for the requests that `of` finds, and only for what they name where `named`.
  const auto count = [&](const V& part, bool named, auto&& of) {
    const V effective = f.map(part, "resources");
    if (!effective.present() && !part.find("allocatedResources").present()) return;
    const ResourceList* asked = of(needs);
    if (asked == nullptr) return;
    ResourceList has = f.amounts(part, "allocatedResources");
    has.raise_to(f.amounts(effective, "requests"));
    for (const auto& [resource, amount] : has) {
      if (amount == asked->get(resource) || (named && !asked->has(resource))) continue;
      if (amount < asked->get(resource) && !is_infeasible()) continue;
      if (!out) out = needs;
      of(*out)->set(resource, amount);
    }
    if (!effective.present() || !is_infeasible()) return;
    for (const std::string_view resource : {"cpu", "memory"}) {
      if (!asked->has(resource) || has.has(resource)) continue;
      if (!out) out = needs;
      of(*out)->set(resource, 0);
    }
  };
  for (const std::string_view list : {"containerStatuses", "initContainerStatuses"}) {
    f.list(status, list, [&](const V& item) {
      const std::string_view name = f.string(item, "name");
      count(item, false, [&](auto& all) -> decltype(&all.requests) {
        for (auto& c : all.containers) {
          if (c.name == name && (!c.init || c.sidecar)) return &c.requests;
        }
        return nullptr;
      });
    });
  }
  count(status, true, [](auto& all) { return &all.requests; });
  return out;
}

}  // namespace berth::dialect

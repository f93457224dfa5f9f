// Decoders of what the API server lets pods be changed by, LimitRange (v1) and RuntimeClass (node.k8s.io/v1), and of
// PodDisruptionBudget (policy/v1).
// Included by decode.cc only.
#pragma once

#include <string_view>
#include <utility>

#include "dialect/base/fields.h"
#include "dialect/upstream/objects.h"

namespace berth::dialect {

// As the API server completes what is left out.
inline void complete_defaults(LimitRange::Limit& limit) {
  for (const auto& [resource, amount] : limit.most) {
    if (!limit.default_limits.has(resource)) limit.default_limits.set(resource, amount);
  }
  for (const auto& [resource, amount] : limit.default_limits) {
    if (!limit.default_requests.has(resource)) limit.default_requests.set(resource, amount);
  }
  for (const auto& [resource, amount] : limit.least) {
    if (!limit.default_requests.has(resource)) limit.default_requests.set(resource, amount);
  }
}

// Limits of other types (volume claims) are left out.
template <class V>
LimitRange read_limit_range(FieldReader<V>& f, const V& object) {
  LimitRange out;
  out.meta = read_meta(f, object, Kind::kLimitRange, false);
  f.list(f.map(object, "spec"), "limits", [&](const V& item) {
    const std::string_view type = f.string(item, "type");
    if (type.empty()) f.error(item, "type", "is required: Container, Pod or another");
    LimitRange::Limit limit;
    limit.of_pods = type == "Pod";
    if (!limit.of_pods && type != "Container") return;
    limit.most = f.amounts(item, "max");
    limit.least = f.amounts(item, "min");
    constexpr std::int64_t kThousandths = 1000;
    f.map(item, "maxLimitRequestRatio").each_entry([&](std::string_view resource, const V& value) {
      limit.most_ratio.set(resource, f.amount_of(value, resource, kThousandths));
    });
    if (!limit.of_pods) {
      limit.default_limits = f.amounts(item, "default");
      limit.default_requests = f.amounts(item, "defaultRequest");
      complete_defaults(limit);
    }
    out.limits.push_back(std::move(limit));
  });
  return out;
}

inline constexpr std::int64_t kMaxDisruptions = 2'147'483'647;  // an int32 there

template <class V>
DisruptionBudget read_disruption_budget(FieldReader<V>& f, const V& object) {
  DisruptionBudget out;
  out.meta = read_meta(f, object, Kind::kDisruptionBudget, false);
  out.pods = read_label_selector(f, f.map(object, "spec"), "selector");
  out.allowed = f.integer(f.map(object, "status"), "disruptionsAllowed", 0, 0, kMaxDisruptions);
  return out;
}

template <class V>
RuntimeClass read_runtime_class(FieldReader<V>& f, const V& object) {
  RuntimeClass out;
  out.meta = read_meta(f, object, Kind::kRuntimeClass, false);
  const V overhead = f.map(object, "overhead");
  if (overhead.present()) out.overhead = f.amounts(overhead, "podFixed");
  const V scheduling = f.map(object, "scheduling");
  out.node_selector = f.labels(scheduling, "nodeSelector");
  out.tolerations = read_tolerations(f, scheduling, "tolerations");
  return out;
}

}  // namespace berth::dialect

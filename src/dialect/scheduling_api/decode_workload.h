// Decoder of Kubernetes' Workload of 1.35. Included by decode.cc only.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "dialect/base/decode_meta.h"
#include "dialect/scheduling_api/workload.h"

namespace berth::dialect {

template <class V>
UpstreamWorkload read_upstream_workload(FieldReader<V>& f, const V& object) {
  UpstreamWorkload out;
  out.meta = read_meta(f, object, Kind::kUpstreamWorkload, false);
  const V spec = f.map(object, "spec");
  f.list(spec, "podGroups", [&](const V& item) {
    if (!f.takes(Entry::kPart, spec, "podGroups")) return;
    WorkloadPodGroup group;
    group.meta = out.meta;
    group.meta.labels.clear();  // no policy for tenants looks at the marks of a Workload
    group.meta.annotations.clear();
    group.meta.name = fmt::format("{}/{}", out.meta.name, f.string(item, "name"));
    const V gang = f.map(f.map(item, "policy"), "gang");
    if (gang.present()) group.least = f.integer(gang, "minCount", 1, 1, 1'000'000);
    out.groups.push_back(std::move(group));
  });
  return out;
}

}  // namespace berth::dialect

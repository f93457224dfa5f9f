// Decoder of Kubernetes' own PodGroup. Included by decode.cc only.
#pragma once

#include <string>

#include "dialect/base/decode_meta.h"
#include "dialect/scheduling_api/pod_group.h"

namespace berth::dialect {

template <class V>
void read_upstream_status(FieldReader<V>& f, const V& status, UpstreamPodGroup& out) {
  UpstreamConditions stands;
  std::string_view version;
  bool others = false;
  f.list(status, "conditions", [&](const V& condition) {
    const std::string_view type = f.string(condition, "type");
    const bool is_true = f.string(condition, "status") == "True";
    if (type == "PodGroupInitiallyScheduled" || type == "PodGroupScheduled") {
      version = type == "PodGroupScheduled" ? "v1alpha2" : "";
      stands.started = f.string(condition, "status");
      stands.reason = f.string(condition, "reason");
      stands.message = f.string(condition, "message");
      out.stage = stands.started;
      out.since = f.time(condition, "lastTransitionTime");
    } else if (type == "DisruptionTarget" && is_true) {
      out.displaced = stands.displaced = f.string(condition, "message");
      out.displaced_since = f.time(condition, "lastTransitionTime");
    } else {
      others = true;
    }
  });
  if (!others) out.stands = stands.json(version, false);
}

// v1alpha2 says it in a word, later versions by the field that is there.
template <class V>
bool ends_as_one(FieldReader<V>& f, const V& spec) {
  const V mode = spec.find("disruptionMode");
  return mode.is_map() ? mode.find("all").present() : f.string(spec, "disruptionMode") == "PodGroup";
}

template <class V>
UpstreamPodGroup read_upstream_pod_group(FieldReader<V>& f, const V& object) {
  UpstreamPodGroup out;
  out.meta = read_meta(f, object, Kind::kUpstreamPodGroup, false);
  const V spec = f.map(object, "spec");
  const V gang = f.map(f.map(spec, "schedulingPolicy"), "gang");
  if (gang.present()) out.least = f.integer(gang, "minCount", 1, 1, 1'000'000);
  out.as_one = ends_as_one(f, spec);
  out.priority_class = f.string(spec, "priorityClassName");
  f.list(f.map(spec, "schedulingConstraints"), "topology", [&](const V& topology) {
    if (!out.topology.required.empty()) out.unsupported = "schedulingConstraints: several topologies";
    out.topology.required = f.string(topology, "key");
  });
  f.list(spec, "resourceClaims", [&](const V&) { out.unsupported = "resourceClaims"; });
  if (!f.string(spec, "parentCompositePodGroupName").empty()) out.unsupported = "parentCompositePodGroupName";
  read_upstream_status(f, f.map(object, "status"), out);
  return out;
}

}  // namespace berth::dialect

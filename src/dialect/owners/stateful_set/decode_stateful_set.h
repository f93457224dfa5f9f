// Decoder of StatefulSet. Included by decode.cc only.
#pragma once

#include "dialect/owners/decode_template.h"
#include "dialect/owners/stateful_set/stateful_set.h"

namespace berth::dialect {

template <class V>
StatefulSet read_stateful_set(FieldReader<V>& f, const V& object) {
  StatefulSet out;
  out.meta = read_meta(f, object, Kind::kStatefulSet, false);
  const V spec = f.map(object, "spec");
  if (!spec.present()) f.error(object, "spec", "is required");
  out.replicas = f.integer(spec, "replicas", 1, 0, 1'000'000);
  out.start = f.integer(f.map(spec, "ordinals"), "start", 0, 0, 2'147'483'647);
  out.parallel = f.string(spec, "podManagementPolicy") == "Parallel";
  f.list(spec, "volumeClaimTemplates", [&](const V& claim) {
    if (f.takes(Entry::kClaim, spec, "volumeClaimTemplates"))
      out.claims.emplace_back(f.string(f.map(claim, "metadata"), "name"));
  });
  out.ready = f.integer(f.map(object, "status"), "readyReplicas", 0, 0, 1'000'000);
  out.generation = f.integer(f.map(object, "metadata"), "generation", 0, 0, kInt64Max);
  read_template(f, spec, out.meta.ns, out.template_meta, out.spec, out.needs);
  return out;
}

}  // namespace berth::dialect

// Decoder of Deployment and ReplicaSet. Included by decode.cc only.
#pragma once

#include "dialect/owners/decode_template.h"
#include "dialect/owners/deployment/deployment.h"

namespace berth::dialect {

template <class T, class V>
T read_replicas(FieldReader<V>& f, const V& object) {
  T out;
  out.meta = read_meta(f, object, T::kKind, false);
  const V spec = f.map(object, "spec");
  if (!spec.present()) f.error(object, "spec", "is required");
  out.replicas = f.integer(spec, "replicas", 1, 0, 1'000'000);
  out.ready = f.integer(f.map(object, "status"), "readyReplicas", 0, 0, 1'000'000);
  out.generation = f.integer(f.map(object, "metadata"), "generation", 0, 0, kInt64Max);
  if (out.replicas > 0) read_template(f, spec, out.meta.ns, out.template_meta, out.spec, out.needs);
  return out;
}

}  // namespace berth::dialect

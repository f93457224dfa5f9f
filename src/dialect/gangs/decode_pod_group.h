// Decoder of coscheduling's PodGroup. Included by decode.cc only.
#pragma once

#include "dialect/base/decode_meta.h"
#include "dialect/gangs/pod_group.h"

namespace berth::dialect {

template <class V>
PodGroup read_pod_group(FieldReader<V>& f, const V& object) {
  PodGroup out;
  out.meta = read_meta(f, object, Kind::kPodGroup, false);
  out.least = f.integer(f.map(object, "spec"), "minMember", 1, 1, 1'000'000);
  return out;
}

}  // namespace berth::dialect

// Decoder of coscheduling's PodGroup. Included by decode.cc only.
#pragma once

#include <set>
#include <string>

#include "dialect/base/decode_meta.h"
#include "dialect/gangs/koordinator_groups.h"
#include "dialect/gangs/pod_group.h"

namespace berth::dialect {

template <class V, class T>
T read_pod_group(FieldReader<V>& f, const V& object) {
  T out;
  out.meta = read_meta(f, object, T::kKind, false);
  out.least = f.integer(f.map(object, "spec"), "minMember", 1, 1, 1'000'000);
  out.wrong = wrong_total(out.meta, "minMember", out.least);
  std::set<std::string> together = koordinator_groups(out.meta, out.wrong);
  together.insert(out.meta.name);
  if (together.size() > 1) out.together.assign(together.begin(), together.end());
  return out;
}

}  // namespace berth::dialect

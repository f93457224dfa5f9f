// The pod set of an owner by its template. Included by the kinds of owners only.
#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "dialect/owners/owner.h"

namespace berth::dialect {

// Takes the pod and the needs of its containers out of the object, which owns `marks` and `spec` and outlives the set. The pod is
// shared from then on. `unsupported`: a part of the template that Berth does not honour; "": none. The numbers are the caller's to set.
inline AskedSet asked_by_template(const Meta& marks, PodSpec& spec, std::shared_ptr<const PodNeeds>& needs,
                                  std::string_view unsupported = {}) {
  AskedSet out;
  PodTemplate pod = std::move(spec.pod.edit());
  spec.pod.clear();
  if (!unsupported.empty()) pod.unsupported.emplace_back(unsupported);
  out.marks = &marks;
  out.spec = &spec;
  out.pod = std::make_shared<const PodTemplate>(std::move(pod));
  out.needs = std::exchange(needs, nullptr);
  return out;
}

}  // namespace berth::dialect

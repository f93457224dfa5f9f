// How a gang does whose object its pods name.
#include <fmt/format.h>

#include "dialect/intake/intake_state.h"

namespace berth::dialect {

std::optional<GangView> Intake::gang(Kind kind, std::string_view key) const {
  const Impl& s = *impl_;
  const GangSystem* system = gang_system(kind);
  const GangObject* object = system == nullptr ? nullptr : s.books.objects.gang(kind, key);
  if (object == nullptr) return std::nullopt;
  GangView out;
  out.system = system;
  out.object = object;
  out.least = object->least;
  out.workload = fmt::format("{}/{}", enum_name(kind), key);
  const auto ix = s.books.drafts.find(out.workload);
  if (ix == kNoIx) {
    out.stopped = s.books.objects.why_not_queued(*system, *object);
    return out;
  }
  const Draft& draft = s.books.drafts[ix];
  out.pods = draft.pods;
  out.bound = draft.bound;
  out.least = 0;
  for (const auto& count : draft.given.counts) out.least += count.least;
  if (draft.given.blocked) out.stopped = draft.given.blocked;
  return out;
}

}  // namespace berth::dialect

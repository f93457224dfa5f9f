// How a gang does whose object its pods name, and which of its members end unseen.
#include <algorithm>
#include <utility>

#include "dialect/intake/intake_state.h"

namespace berth::dialect {

std::optional<GangView> IntakeView::gang(Kind kind, std::string_view key) const {
  const Impl& s = *impl_;
  const GangSystem* system = gang_system(kind);
  const GangObject* object = system == nullptr ? nullptr : s.books.objects.gangs().find(kind, key);
  if (object == nullptr) return std::nullopt;
  GangView out;
  out.system = system;
  out.object = object;
  out.workload = gang_uid(kind, key);
  GangReport& report = out.report;
  const auto [succeeded, failed] = s.books.ended_members.tally(out.workload);
  report.succeeded = succeeded;
  report.failed = failed;
  report.least = object->least;
  const auto ix = s.books.drafts.find(out.workload);
  if (ix == kNoIx) {
    if (!report.over()) out.stopped = s.books.objects.why_not_queued(*system, *object);
    return out;
  }
  const Draft& draft = s.books.drafts[ix];
  report.pods = draft.pods;
  report.bound = draft.bound;
  report.least = std::max(draft.given->needs, object->least);
  for (const Role& role : draft.roles) {
    for (const auto pod : role.slots) {
      if (pod == kNoIx) continue;
      const Pod& its = s.books.pods[pod].pod;
      report.ending += its.meta.deleting ? 1 : 0;
      report.running += its.phase == PodPhase::kRunning && !its.meta.deleting ? 1 : 0;
    }
  }
  if (draft.given->blocked) out.stopped = draft.given->blocked;
  return out;
}

std::set<std::string> IntakeView::namespaces_with_ended() const {
  return impl_->ends.with_ended();
}

std::vector<PodName> Intake::take_left_members() {
  return impl_->ends.take_left();
}

void Intake::ended(const Pod& pod) {
  if (impl_->ends.counts(pod)) impl_->note_ended(pod, nullptr);
}

}  // namespace berth::dialect

#include "engine/state/bands.h"

#include <algorithm>
#include <optional>

#include "base/checked.h"

namespace berth::engine {
namespace {

// The place of the last slot that must run, or of the next one where more than that runs.
std::int64_t claimed_place(const PodSetState& set) {
  return set.active >= set.least ? set.active : set.least - 1;
}

}  // namespace

BandView band_at(const PodSetState& set, std::int64_t place) {
  BandView view;
  const std::vector<DemandBand>& bands = set.marks->bands;
  std::int64_t begin = 0;
  for (const DemandBand& band : bands) {
    view.end = begin + band.count;
    if (place < view.end) {
      view.declared = true;
      view.priority = band.priority;
      view.protected_from_reclaim = band.protected_from_reclaim;
      view.reclaim_within = band.reclaim_within;
      view.cost = band.cost;
      return view;
    }
    begin = view.end;
  }
  if (!bands.empty()) view.priority = std::min<std::int64_t>(0, bands.back().priority);
  const auto count = static_cast<std::int64_t>(set.slots.size());
  view.end = bands.empty() && place < set.least ? set.least : std::max(count, place + 1);
  return view;
}

bool grows(const WorkloadState& w) {
  return w.running() > 0 && std::none_of(w.sets.begin(), w.sets.end(), [](const PodSetState& set) {
           return set.waiting > 0 && set.active < set.least;
         });
}

Claim claim_of(const WorkloadState& w) {
  const bool growth = grows(w);
  std::optional<BandView> best;
  DurationMs within = 0;
  for (const PodSetState& set : w.sets) {
    if (set.waiting == 0) continue;
    if (!growth && set.active >= set.least && set.least > 0) continue;
    const BandView band = band_at(set, claimed_place(set));
    const bool better =
        best && (growth || w.needs_all ? band.priority > best->priority : band.priority < best->priority);
    if (!best || better || (band.priority == best->priority && band.declared)) best = band;
    if (band.reclaim_within > 0)
      within = within == 0 ? band.reclaim_within : std::min(within, band.reclaim_within);
  }
  if (!best) return {w.priority, 0, growth};
  return {saturating_add(w.priority, best->priority), within, growth && !best->declared};
}

std::vector<Extent> extents_of(const WorkloadState& w, Ask ask) {
  const bool growth = grows(w);
  const std::int64_t priority = claim_of(w).priority;
  std::vector<Extent> out(w.sets.size());
  std::vector<std::size_t> one;  // sets of which one more slot would do
  bool any = false;
  for (std::size_t s = 0; s < w.sets.size(); ++s) {
    const PodSetState& set = w.sets[s];
    Extent& extent = out[s];
    extent.need = std::max<std::int64_t>(0, set.least - set.active);
    if (set.waiting == 0) continue;
    const BandView band = band_at(set, claimed_place(set));
    const bool surplus = growth || (set.active >= set.least && set.least > 0);
    const bool claimed = !surplus || (!growth && ask == Ask::kFree) ||
                         ((growth || band.declared) && saturating_add(w.priority, band.priority) >= priority);
    const std::int64_t more = claimed ? std::clamp<std::int64_t>(band.end - set.active, 0, set.waiting) : 0;
    switch (ask) {
      case Ask::kLeast:
        extent.want = extent.need;
        break;
      case Ask::kClaim:
      case Ask::kFree:
        extent.want = std::max(extent.need, more);
        break;
      case Ask::kWholeClaim:
        extent.want = std::max(extent.need, more);
        extent.need = extent.want;
        break;
    }
    any = any || extent.want > 0;
    if (ask == Ask::kLeast && claimed && extent.need == 0) one.push_back(s);
  }
  if (!any && !one.empty()) out[one.front()] = {1, 1};
  return out;
}

}  // namespace berth::engine

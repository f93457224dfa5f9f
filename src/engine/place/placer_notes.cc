// Reasons that a search for places notes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "engine/place/placer.h"
#include "engine/state/limits.h"

namespace berth::engine {
namespace {
constexpr std::size_t kMostReasons = 8;
}  // namespace

std::int64_t least_charge(const State& state, std::span<const ChargeId> choices, FlavorResource pair) {
  std::int64_t fewest = kInt64Max;
  for (const ChargeId choice : choices) {
    const auto& quota = state.charges[choice].quota;
    const auto item =
        std::find_if(quota.begin(), quota.end(), [&](const QuotaItem& i) { return i.pair == pair; });
    fewest = std::min(fewest, item == quota.end() ? 0 : item->amount);
  }
  return choices.empty() ? 0 : fewest;
}

std::string set_mark(const WorkloadState& w, std::size_t set) {
  return w.sets.size() > 1 ? fmt::format("{}", set) : std::string();
}

Reason lacks_pods_of(const WorkloadState& w) {
  Reason out{ReasonCode::kIncompleteGang, "", "", 0, 0, 0, {}};
  for (const PodSetState& set : w.sets) {
    out.need = saturating_add(out.need, set.least);
    out.have += std::min(set.least, set.active + set.waiting);
  }
  return out;
}

Reason firm_limit_reason(const State& state, const WorkloadState& w, FlavorResource pair, std::int64_t need,
                         std::int64_t room) {
  const QueueId queue = state.accounts.firm().tightest(w.queue, pair, Mode::kStart);
  return {ReasonCode::kFirmLimit,
          state.queues[queue.index()].spec.name,
          std::string(state.resource_name(pair)),
          need,
          room,
          0,
          {}};
}

void Placer::note(Reason reason) {
  const auto same = [&](const Reason& r) {
    return r.code == reason.code && r.subject == reason.subject && r.detail == reason.detail;
  };
  const auto it = std::find_if(failure_.reasons.begin(), failure_.reasons.end(), same);
  if (it != failure_.reasons.end()) {
    // Among several tries (flavors, domains) the one that came nearest counts.
    if (reason.need - reason.have < it->need - it->have) *it = std::move(reason);
  } else if (failure_.reasons.size() < kMostReasons) {
    failure_.reasons.push_back(std::move(reason));
  }
}

// For the workload as a whole: the requests of its other pod sets count, and their charges in this search are still there.
void Placer::note_quota(std::uint32_t set, const Charge& c, std::int64_t slots) {
  for (const QuotaItem& item : c.quota) {
    const std::int64_t own = saturating_mul(item.amount, slots);
    const std::int64_t given = given_before(item.pair);
    const std::int64_t need = saturating_add(saturating_add(own, given), asked_later(set, item.pair));
    if (const std::int64_t room = state_.lane_room(w_, item.pair, mode_); own > room && own > 0) {
      note({ReasonCode::kLaneLimit,
            state_.queues[w_.queue.index()].lanes.name(w_.lane),
            std::string(state_.resource_name(item.pair)),
            need,
            saturating_add(room, given),
            0,
            {}});
    }
    if (const std::int64_t room = firm_room(state_, w_, item.pair, mode_); own > room && own > 0)
      note(firm_limit_reason(state_, w_, item.pair, need, saturating_add(room, given)));
    const std::int64_t have = state_.quota.available(w_.queue, item.pair, mode_);
    if (own <= have) continue;
    const std::int64_t most = state_.quota.potential(w_.queue, item.pair);
    const bool never = need > most;
    note({never ? ReasonCode::kQuotaMax : ReasonCode::kQuota,
          std::string(state_.resource_name(item.pair)),
          std::string(state_.pairs.flavor(item.pair)),
          need,
          never ? most : saturating_add(have, given),
          0,
          {}});
  }
}

std::int64_t Placer::given_before(FlavorResource pair) const {
  std::int64_t sum = 0;
  for (const PlacedSlot& p : scope_.placed) {
    for (const QuotaItem& item : state_.charges[p.charge].quota) {
      if (item.pair == pair) sum = saturating_add(sum, item.amount);
    }
  }
  return sum;
}

// The least charge of any choice, over the pod sets without a place in this search.
std::int64_t Placer::asked_later(std::uint32_t set, FlavorResource pair) {
  std::int64_t sum = 0;
  for (std::uint32_t other = 0; other < w_.sets.size(); ++other) {
    const bool placed = std::any_of(scope_.placed.begin(), scope_.placed.end(),
                                    [&](const PlacedSlot& p) { return p.set == other; });
    if (other == set || placed || !w_.needs_all) continue;
    sum = saturating_add(
        sum, saturating_mul(least_charge(state_, scope_.choices(other), pair), scope_.must(other)));
  }
  return sum;
}

}  // namespace berth::engine

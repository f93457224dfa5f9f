#include "engine/quota/firm_limits.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace berth::engine {

bool FirmLimits::set(std::vector<QueueId> parents, std::size_t pairs, std::vector<Limit> limits) {
  if (limits.empty() && limits_.empty()) return false;
  if (parents == parents_ && pairs == pairs_ && limits == limits_) return false;
  parents_ = std::move(parents);
  pairs_ = pairs;
  limits_ = std::move(limits);
  widest_.clear();
  cells_.clear();
  if (limits_.empty()) return true;
  cells_.resize(parents_.size() * pairs_);
  std::vector<bool> has(parents_.size(), false);
  for (const Limit& limit : limits_) {
    cells_[limit.queue.index() * pairs_ + limit.pair.index()].limit = limit.amount;
    has[limit.queue.index()] = true;
  }
  widest_.assign(parents_.size(), QueueId());
  for (std::size_t q = 0; q < parents_.size(); ++q) {
    for (QueueId at(q); at.valid(); at = parents_[at.index()]) {
      if (has[at.index()]) widest_[q] = at;
    }
  }
  return true;
}

void FirmLimits::add(QueueId queue, FlavorResource pair, std::int64_t amount, PlaneMask planes) {
  each(*this, queue, pair, [&](QueueId, Cell& c) {
    for (const Plane plane : {kNow, kAfter}) {
      if ((planes & (1u << plane)) != 0) c.used[plane] += amount;
    }
  });
}

std::int64_t FirmLimits::room(QueueId queue, FlavorResource pair, Plane plane) const {
  std::int64_t least = kInt64Max;
  each(*this, queue, pair,
       [&](QueueId, const Cell& c) { least = std::min(least, saturating_sub(c.limit, c.used[plane])); });
  return least;
}

QueueId FirmLimits::tightest(QueueId queue, FlavorResource pair, Mode mode) const {
  QueueId found;
  std::int64_t least = kInt64Max;
  each(*this, queue, pair, [&](QueueId at, const Cell& c) {
    std::int64_t room = saturating_sub(c.limit, c.used[kAfter]);
    if (mode == Mode::kStart) room = std::min(room, saturating_sub(c.limit, c.used[kNow]));
    if (found.valid() && room >= least) return;
    found = at;
    least = room;
  });
  return found;
}

}  // namespace berth::engine

#include "engine/decide/reserved.h"

#include <algorithm>
#include <utility>

#include "engine/state/limits.h"
#include "engine/state/trial.h"

namespace berth::engine {

void Reserved::begin(ClassId from, std::int64_t height, std::vector<const Reservation*> room) {
  from_ = from;
  height_ = height;
  room_ = std::move(room);
}

void Reserved::learn(const WorkloadState& w, std::span<const PlacedSlot> placed, Mode mode) {
  if (std::exchange(known_, true) || state_.keepers.empty()) return;
  const auto charge = [&](int sign) {
    for (const PlacedSlot& p : placed) {
      for (const QuotaItem& item : state_.charges[p.charge].quota)
        state_.quota.add(w.queue, item.pair, sign * item.amount, planes_of(mode));
    }
  };
  charge(-1);
  quota_ = strict_.reserved_from(from_, height_);
  charge(+1);
}

bool Reserved::stands_beside(const WorkloadState& w, std::span<const PlacedSlot> placed, Mode mode) {
  if (empty()) return true;
  std::vector<QuotaItem> asked;
  for (const PlacedSlot& p : placed) {
    for (const QuotaItem& item : state_.charges[p.charge].quota) {
      if (item.amount > 0) add_item(asked, item.pair, item.amount);
    }
  }
  missing_.clear();
  Trial trial(state_);
  charge_quota(+1);
  charge_room(+1);
  for (const QuotaItem& item : asked) {
    const std::int64_t left = state_.quota.available(w.queue, item.pair, mode);
    if (left >= 0) continue;
    missing_.push_back({ReasonCode::kQuota,
                        std::string(state_.resource_name(item.pair)),
                        std::string(state_.pairs.flavor(item.pair)),
                        item.amount,
                        std::max<std::int64_t>(0, item.amount + left),
                        0,
                        {}});
  }
  const bool beside_reserved =
      room_.empty() || std::all_of(placed.begin(), placed.end(), [&](const PlacedSlot& p) {
        if (state_.accounts.overdrawn_on_node(charged(w, p), mode)) return false;
        const auto& items = state_.charges[p.charge].quota;
        return std::all_of(items.begin(), items.end(), [&](const QuotaItem& i) {
          return i.amount == 0 || limit_room(state_, w, i.pair, mode) >= 0;
        });
      });
  const bool in_turn = room_.empty() || state_.accounts.fit_in_turn(placed, mode);
  trial.rollback();
  charge_quota(-1);
  return missing_.empty() && beside_reserved && in_turn;
}

void Reserved::charge_quota(int sign) {
  for (const Kept& kept : quota_) kept.charge(state_, sign);
}

void Reserved::charge_room(int sign) {
  for (const Reservation* reservation : room_) charge_reserved(state_, *reservation, sign);
}

}  // namespace berth::engine

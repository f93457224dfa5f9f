#include "engine/state/accounts.h"

#include <algorithm>
#include <utility>

#include "engine/nodes/room.h"

namespace berth::engine {

const LaneLimits& Accounts::limits(QueueId queue) const {
  static const LaneLimits kNone;
  return queue.index() < limits_.size() ? limits_[queue.index()] : kNone;
}

bool Accounts::set_limits(QueueId queue, std::vector<QuotaItem> limits) {
  if (queue.index() >= limits_.size()) limits_.resize(queue.index() + 1);
  LaneLimits& mine = limits_[queue.index()];
  if (mine.limits() == limits) return false;
  mine.set(std::move(limits));
  return true;
}

void Accounts::charge_lane(const Charged& slot, PlaneMask planes, int sign) {
  if (slot.queue.index() >= limits_.size()) return;
  LaneLimits& lanes = limits_[slot.queue.index()];
  if (!lanes.any()) return;
  for (const QuotaItem& item : charges_[slot.charge].quota)
    lanes.add(slot.lane, item.pair, sign * item.amount, planes);
}

void Accounts::charge_firm(const Charged& slot, PlaneMask planes, int sign) {
  if (!slot.firm || !firm_.bind(slot.queue)) return;
  for (const QuotaItem& item : charges_[slot.charge].quota)
    firm_.add(slot.queue, item.pair, sign * item.amount, planes);
}

// Facts and decisions.
void Accounts::charge(const Charged& slot, PlaneMask planes, int sign) {
  if (planes == 0) return;
  if (counted_.any() && counted_of(slot).valid()) counted_.news().note();
  change(slot, planes, sign);
}

void Accounts::change(const Charged& slot, PlaneMask planes, int sign) {
  if (planes == 0) return;
  const Charge& c = charges_[slot.charge];
  const Shape& shape = shapes_[c.shape].shape;
  nodes_.charge(slot.node, shape, grants_[slot.grant], planes, sign);
  if (shape.counted.valid()) counted_.add(slot.node, shape.counted, planes, sign);
  for (const QuotaItem& item : c.quota) quota_.add(slot.queue, item.pair, sign * item.amount, planes);
  charge_lane(slot, planes, sign);
  charge_firm(slot, planes, sign);
}

void Accounts::try_charge(const Charged& slot, PlaneMask planes, int sign) {
  change(slot, planes, sign);
  undo_.push_back({slot, planes, sign});
}

void Accounts::rollback(std::size_t mark) {
  while (undo_.size() > mark) {
    const Undo& last = undo_.back();
    change(last.slot, last.planes, -last.sign);
    undo_.pop_back();
  }
}

void Accounts::commit() {
  const auto has_terms = [&](const Undo& undo) { return counted_of(undo.slot).valid(); };
  if (counted_.any() && std::any_of(undo_.begin(), undo_.end(), has_terms)) counted_.news().note();
  undo_.clear();
}

std::optional<Overdraft> Accounts::overdrawn_on_node(const Charged& slot, Mode mode) const {
  std::optional<Overdraft> out;
  if (nodes_.is_opaque(slot.node)) return out;
  for (const ShapeAmount& a : shapes_[charges_[slot.charge].shape].shape.amounts) {
    if (nodes_.account(slot.node, a.resource).free(mode) < 0)
      out = Overdraft{Overdraft::Of::kAmount, a.resource, {}, {}};
  }
  for (const VolumeId volume : shapes_[charges_[slot.charge].shape].shape.mounts) {
    const ResourceId places = nodes_.held().mounted.places_of(volume);
    if (nodes_.account(slot.node, places).free(mode) < 0)
      out = Overdraft{Overdraft::Of::kAmount, places, {}, {}};
  }
  const auto& devices = nodes_.record(slot.node).devices;
  const GrantView grant = grants_[slot.grant];
  for (const Piece& piece : grant.pieces) {
    const auto& device = devices[piece.device];
    if (device.account.free(mode) < 0) out = Overdraft{Overdraft::Of::kDevice, device.resource, {}, {}};
  }
  if (const auto token = nodes_.held().tokens.shared(slot.node, grant.tokens, planes_of(mode)))
    out = Overdraft{Overdraft::Of::kToken, {}, *token, {}};
  if (const CountedId counted = counted_of(slot);
      counted.valid() && !counted_.may_stay(slot.node, counted, planes_of(mode)))
    out = Overdraft{Overdraft::Of::kTerm, {}, {}, {}};
  return out;
}

std::optional<Overdraft> Accounts::overdrawn_in_queue(const Charged& slot, Mode mode) const {
  std::optional<Overdraft> out;
  for (const QuotaItem& item : charges_[slot.charge].quota) {
    if (quota_.available(slot.queue, item.pair, mode) < 0) {
      out = Overdraft{Overdraft::Of::kQuota, {}, {}, item.pair};
    } else if (limits(slot.queue).room(slot.lane, item.pair, mode) < 0) {
      out = Overdraft{Overdraft::Of::kLane, {}, {}, item.pair};
    } else if (slot.firm && firm_.room(slot.queue, item.pair, mode) < 0) {
      out = Overdraft{Overdraft::Of::kFirm, {}, {}, item.pair};
    }
  }
  return out;
}

bool Accounts::overdraws_a_queue(const Charged& slot, Mode mode) const {
  const auto& quota = charges_[slot.charge].quota;
  return std::any_of(quota.begin(), quota.end(), [&](const QuotaItem& item) {
    if (room_in_limits(slot, item.pair, mode) < 0) return true;
    for (QueueId at = slot.queue; at.valid() && item.amount > 0; at = quota_.parent(at)) {
      if (quota_.available(at, item.pair, mode) < 0) return true;
    }
    return false;
  });
}

bool Accounts::has_room(const Charged& slot, Plane plane) const {
  const Shape& shape = shapes_[charges_[slot.charge].shape].shape;
  const auto planes = static_cast<PlaneMask>(1u << plane);
  if (!nodes_.is_opaque(slot.node) && shape.counted.valid() &&
      !counted_.admits(slot.node, shape.counted, planes))
    return false;
  return has_room_beside_terms(slot, plane);
}

bool Accounts::has_room_beside_terms(const Charged& slot, Plane plane) const {
  const Charge& c = charges_[slot.charge];
  const Shape& shape = shapes_[c.shape].shape;
  const auto left = [&](const NodeTable::Account& account) { return account.capacity - account.used[plane]; };
  const auto planes = static_cast<PlaneMask>(1u << plane);
  if (!nodes_.is_opaque(slot.node)) {  // of opaque capacity only quota is known
    for (const ShapeAmount& a : shape.amounts) {
      if (left(nodes_.account(slot.node, a.resource)) < a.amount) return false;
    }
    if (!shape.mounts.empty() && lacks_places(nodes_, slot.node, shape, planes)) return false;
    const auto& devices = nodes_.record(slot.node).devices;
    const GrantView grant = grants_[slot.grant];
    for (const Piece& piece : grant.pieces) {
      if (left(devices[piece.device].account) < piece.milli) return false;
    }
    if (nodes_.held().tokens.taken(slot.node, grant.tokens, planes)) return false;
  }
  return std::all_of(c.quota.begin(), c.quota.end(), [&](const QuotaItem& item) {
    if (item.amount > quota_.available(slot.queue, item.pair, plane)) return false;
    return item.amount == 0 || item.amount <= room_in_limits(slot, item.pair, plane);
  });
}

}  // namespace berth::engine

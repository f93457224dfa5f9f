// The accounts of all that a slot takes. They are amounts of its node and its grant there (nodes/grant.h), quota of its queues, and
// limits of its lane and of firm work. Counted terms (nodes/counted.h) are the last. No other code changes them, and no other code judges whether a slot still fits.
//
// Two kinds of change:
//   - Facts and decisions (charge()) last.
//   - Trials (try_charge()) write an undo log. A Trial rolls back to where it began unless its charges stay(). commit() makes all
//     open charges last: from then on no trial can take them back.
// A charge and its undo cancel exactly. Trials nest: the inner ends before the outer.
//
// Cost of a charge: O(resources of the slot x depth of its queue). A judgement costs the same, and changes nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "engine/base/plane.h"
#include "engine/catalog/catalog.h"
#include "engine/nodes/counted.h"
#include "engine/nodes/grant.h"
#include "engine/nodes/nodes.h"
#include "engine/quota/firm_limits.h"
#include "engine/quota/lane_limits.h"
#include "engine/quota/tree.h"

namespace berth::engine {

// One slot of a workload, where it is or may be.
struct Charged {
  QueueId queue;
  std::uint32_t lane = 0;
  bool firm = false;  // of a workload that is not preemptible
  ChargeId charge;
  NodeId node;
  GrantId grant = Grants::nothing();
};

// The account that a slot overdraws.
struct Overdraft {
  enum class Of : std::uint8_t { kAmount, kDevice, kToken, kTerm, kQuota, kLane, kFirm };
  Of of = Of::kAmount;
  ResourceId resource;  // kAmount
  TokenId token;        // kToken
  FlavorResource pair;  // kQuota, kLane, kFirm
};

class Accounts {
 public:
  Accounts(NodeTable& nodes, QuotaTree& quota, const Pool<Charge, ChargeId>& charges,
           const Pool<ShapeEntry, ShapeId>& shapes)
      : nodes_(nodes), quota_(quota), charges_(charges), shapes_(shapes) {}

  // The limits of the lanes of a queue.
  const LaneLimits& limits(QueueId queue) const;
  // Gives the lanes of a queue these limits. True: they had others. Then no slot counts against them until charge_lane().
  bool set_limits(QueueId queue, std::vector<QuotaItem> limits);
  // Counts a charged slot against the limits of its lane alone, or (-1) no longer.
  void charge_lane(const Charged& slot, PlaneMask planes, int sign);
  // The limits of firm work, with the use that counts. set_firm_limits() and charge_firm() as set_limits() and charge_lane().
  const FirmLimits& firm() const { return firm_; }
  bool set_firm_limits(std::vector<QueueId> parents, std::size_t pairs,
                       std::vector<FirmLimits::Limit> limits) {
    return firm_.set(std::move(parents), pairs, std::move(limits));
  }
  void charge_firm(const Charged& slot, PlaneMask planes, int sign);

  Counted& counted() { return counted_; }
  const Counted& counted() const { return counted_; }

  void charge(const Charged& slot, PlaneMask planes, int sign);

  // The grants that slots and plans refer to by number.
  Grants& grants() { return grants_; }
  const Grants& grants() const { return grants_; }

  // ---- Trials.
  void try_charge(const Charged& slot, PlaneMask planes, int sign);
  std::size_t mark() const { return undo_.size(); }
  void rollback(std::size_t mark);
  void commit();

  // ---- Judgements of a slot that is charged, on the planes of `mode`. None: it fits.
  // An amount, a device or a token of its node that is overdrawn, or a pod there that it must be apart from: the last one. Opaque
  // capacity has no accounts.
  std::optional<Overdraft> overdrawn_on_node(const Charged& slot, Mode mode) const;
  // Whether slots of one workload, charged on the planes of the mode, could have come one after the other (nodes/counted.h).
  template <class Slots>
  bool fit_in_turn(const Slots& slots, Mode mode) {
    return !counted_.any() || counted_.fit_in_turn(places_of(slots), mode);
  }
  // The same for their other terms, charged on these planes.
  template <class Slots>
  bool all_come(const Slots& slots, PlaneMask planes) {
    return !counted_.any() || counted_.never_come(places_of(slots), planes).empty();
  }
  // The quota of its queue, or the limit of its lane or of firm work, that is overdrawn: the last one.
  std::optional<Overdraft> overdrawn_in_queue(const Charged& slot, Mode mode) const;
  // Whether the quota of its queue or of a queue above, or the limit of its lane or of firm work, is overdrawn.
  bool overdraws_a_queue(const Charged& slot, Mode mode) const;

  // Of a slot that is not charged on this plane: all its accounts have room for it there.
  bool has_room(const Charged& slot, Plane plane) const;
  // The same without the terms about other pods.
  bool has_room_beside_terms(const Charged& slot, Plane plane) const;

 private:
  template <class Slots>
  std::vector<Counted::Place> places_of(const Slots& slots) const {
    std::vector<Counted::Place> places;
    for (const auto& slot : slots)
      places.emplace_back(slot.node, shapes_[charges_[slot.charge].shape].shape.counted);
    return places;
  }

  struct Undo {
    Charged slot;
    PlaneMask planes = 0;
    int sign = 1;
  };

  CountedId counted_of(const Charged& slot) const {
    return shapes_[charges_[slot.charge].shape].shape.counted;
  }

  void change(const Charged& slot, PlaneMask planes, int sign);

  NodeTable& nodes_;
  QuotaTree& quota_;
  Counted counted_{nodes_};
  const Pool<Charge, ChargeId>& charges_;
  const Pool<ShapeEntry, ShapeId>& shapes_;
  // How much more of the pair the limits of its lane and of firm work leave a slot; kInt64Max: there are none.
  template <class PlaneOrMode>
  std::int64_t room_in_limits(const Charged& slot, FlavorResource pair, PlaneOrMode on) const {
    const std::int64_t room = limits(slot.queue).room(slot.lane, pair, on);
    return slot.firm ? std::min(room, firm_.room(slot.queue, pair, on)) : room;
  }

  std::vector<LaneLimits> limits_;  // by queue
  FirmLimits firm_;
  Grants grants_;
  std::vector<Undo> undo_;
};

}  // namespace berth::engine

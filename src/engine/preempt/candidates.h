// Who may be a victim of one workload, in the order in which the policy takes them, and the trial in which some of them are gone.
//
// Who may yield (the policy of the preemptor's queue, model/queue.h, and nothing else):
//   within     work of the same queue of lower priority (or equal and newer, or that stands behind in line:
//              order/standing.h, where the policy says so)
//   reclaim    work of other queues of the same tree that run on borrowed quota: every queue from the victim's up to below the
//              common ancestor uses more than its subtree's quota of a pair that both need, and the preemptor's side stays
//              within its own subtree's quota with the request. Work that does not borrow is never taken, nor is a demand band
//              that says it is protected.
//   borrow     with `borrow_within` the same where the preemptor's side would borrow itself, of lower priority and up to the
//              threshold; but nobody who, with the other victims gone, fits into its own queue's quota: it would take back at once
//              what was borrowed (Kueue does take it, where its turn comes early); and not where that has turned out so (force.h)
//   fair       where queues share by their dominant shares, neither: instead work of every queue that borrows, in the turns
//              of fair_order.h, which FairUnits gives the candidates to
//   minimum    nobody yields before it has run its minimum runtime, unless the preemptor's queue says otherwise; surplus may
//              at any time
//   bound      where the preemptor's band says within what time it must have its room, only who is gone by then
// Priority is that of the demand band, on both sides. Work that only holds room (it waits for its own victims to end) yields
// first: nothing is lost.
//
// A candidate is one unit (units.h). Whoever takes the whole of an elastic workload takes its surplus first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/preempt/fair_order.h"
#include "engine/preempt/units.h"
#include "engine/preempt/yield.h"

namespace berth::engine {

// What the preemptor asks for, in one flavor: charged at least per pair, and the shapes of its slots.
struct Wanted {
  std::vector<QuotaItem> quota;
  std::vector<ShapeId> shapes;
  std::vector<std::int64_t> slots;  // of each shape, at least
};

class Candidates {
 public:
  struct Candidate {
    Unit unit;
    YieldCause cause = YieldCause::kWithinQueue;
    bool freed = false;
    bool handed = false;               // of fair ones: it has had its turn
    std::uint32_t whole = kNone;       // of a part: the unit that takes everything else of its workload
    std::vector<std::uint32_t> parts;  // of a whole: what goes before it

    bool of_other_queue() const { return cause != YieldCause::kWithinQueue; }
  };
  static constexpr std::uint32_t kNone = 0xffffffffu;

  // `fair`: for the turns of fair_order.h.
  Candidates(State& state, UnitLists& lists, WorkloadId preemptor, const Wanted& wanted, std::int64_t& steps,
             bool fair);

  // The next one in order; kNone after the last. One step for each unit that is looked at. Not of fair ones.
  std::uint32_t next();
  // The same of one queue, where they are fair: the first that was not dropped.
  std::uint32_t front(QueueId queue);
  void drop_front(QueueId queue);
  QueueId queue_of(std::uint32_t i) const { return state_.workloads[all_[i].unit.workload.index()].queue; }
  void set_cause(std::uint32_t i, YieldCause cause) { all_[i].cause = cause; }
  // The pairs that are short; where none is, all that are asked for: then nodes are.
  std::span<const FlavorResource> contested() const { return contested_; }
  std::size_t size() const { return all_.size(); }
  const Candidate& operator[](std::uint32_t i) const { return all_[i]; }
  VictimOrder order() const { return order_; }
  // The most slots of a candidate that runs on several nodes (who only holds room is not counted); 1: none does.
  std::int64_t widest() const { return widest_; }

  // Frees the room of a unit on the after plane, the parts of its workload first; what was freed is added to `taken`. False
  // where the policy does not let it go any more (its queue borrows no longer).
  bool take(std::uint32_t i, std::vector<std::uint32_t>& taken);
  // The same without a look at the policy, of a unit that stands alone or whose parts are freed.
  void free(std::uint32_t i);
  void give_back(std::uint32_t i);
  // A part cannot come back while everything else of its workload is gone.
  bool may_come_back(std::uint32_t i) const { return all_[i].whole == kNone || !all_[all_[i].whole].freed; }
  void mark_freed(std::uint32_t i) { all_[i].freed = true; }
  // The child of the common ancestor on our side.
  QueueId side_towards(QueueId other) const { return chain_[meets(other) - 1]; }
  // After a rollback of the trial.
  void forget_freed(std::span<const std::uint32_t> taken) {
    for (const std::uint32_t i : taken) all_[i].freed = false;
  }
  void forget_all_freed() {
    for (Candidate& c : all_) c.freed = false;
  }
  bool still_borrows(std::uint32_t i) const;
  // What a unit frees of a pair.
  std::int64_t frees(std::uint32_t i, FlavorResource pair) const;

  // Calls f(slot, set, index) for the slots of a unit.
  template <class F>
  void each_slot(const Unit& unit, F&& f) const {
    const WorkloadState& v = state_.workloads[unit.workload.index()];
    if (!unit.whole && !unit.holder) {
      f(v.sets[unit.set].slots[unit.slot], unit.set, unit.slot);
      return;
    }
    const bool all = v.incomplete();
    for (std::uint32_t s = 0; s < v.sets.size(); ++s) {
      const PodSetState& set = v.sets[s];
      if (unit.holder) {
        for (std::uint32_t i = 0; i < set.slots.size() && set.held > 0; ++i) {
          if (set.slots[i].state == SlotState::kHeld) f(set.slots[i], s, i);
        }
      } else {
        each_active(set, [&](const Slot& slot, std::uint32_t i, std::int64_t place) {
          if (all || place < set.least) f(slot, s, i);
        });
      }
    }
  }

  // Of those who would yield but for their minimum runtime, or will stand behind in line by then, added as candidates in the order
  // of time: when each may.
  std::vector<std::pair<TimeMs, std::uint32_t>> add_young();
  bool some_are_young() const { return !young_.empty(); }
  TimeMs first_young() const;
  bool some_are_slow() const { return slow_; }
  // It could borrow by force, and does not for a while (force.h).
  bool stands_back() const { return policy_.borrow_within != BorrowWithin::kNever && !by_force_; }
  // Whose queue borrowed no longer when it was its turn.
  bool some_were_protected() const { return protected_; }

 private:
  struct Line {
    QueueId queue;
    std::span<const Unit> units;
    std::size_t next = 0;
    YieldCause cause = YieldCause::kWithinQueue;
    std::uint32_t front = kNone;  // of fair ones: handed out, and not dropped yet
  };

  bool accepts(Unit& unit, YieldCause cause);
  // From when on its place in the ranks lets it yield: now or before, later, or never (kEndOfTime).
  TimeMs rank_yields_from(const Unit& unit, YieldCause cause) const;
  bool relevant(const Unit& unit) const;
  std::uint32_t add(const Unit& unit, YieldCause cause);
  void charge(const Unit& unit, int sign);  // the slots of a unit, on the after plane
  void open_lines();
  void open_holders(QueueId queue, YieldCause cause);
  // Why work of another queue may have to yield; none: it may not.
  std::optional<YieldCause> cause_of(QueueId queue) const;
  // Where the path of another queue meets ours: an index into chain_; kNone: in another tree.
  std::uint32_t meets(QueueId other) const;
  bool borrows_below(QueueId queue, std::uint32_t meeting, FlavorResource pair) const;

  State& state_;
  UnitLists& lists_;
  WorkloadId id_;
  const WorkloadState& w_;
  const Wanted& wanted_;
  std::int64_t& steps_;
  PreemptionPolicy policy_;
  VictimOrder order_;
  Claim claim_;
  bool fair_;
  bool by_force_;
  std::vector<QueueId> chain_;  // our queue and those above it
  std::vector<std::uint8_t>
      own_quota_;                 // by place in chain_: with the request, it stays within its own quota
  std::vector<QuotaItem> short_;  // of wanted_.quota: more than is there now
  std::vector<FlavorResource> contested_;
  std::vector<Line> lines_;
  std::int64_t widest_ = 1;
  std::vector<std::uint32_t> heap_;   // of lines_
  std::uint32_t holders_handed_ = 0;  // they stand first in all_
  std::vector<Candidate> all_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> parts_;  // by workload; looked up only
  struct Young {
    TimeMs from = 0;
    Unit unit;
    YieldCause cause = YieldCause::kWithinQueue;
  };
  std::vector<Young> young_;
  bool slow_ = false;
  mutable bool protected_ = false;
};

// The candidates in the hands of fair_order.h.
class FairUnits final : public FairCandidates {
 public:
  explicit FairUnits(Candidates& of) : of_(of) {}
  std::uint32_t front(QueueId queue) override { return of_.front(queue); }
  void drop_front(QueueId queue) override { of_.drop_front(queue); }
  QueueId queue_of(std::uint32_t candidate) const override { return of_.queue_of(candidate); }
  bool yields_before(std::uint32_t a, std::uint32_t b) const override {
    return engine::yields_before(of_.order(), of_[a].unit, of_[b].unit);
  }
  // With a whole go the parts of its workload that are still there.
  void free(std::uint32_t candidate, int sign) override;

 private:
  Candidates& of_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> with_;  // what each freed; looked up only
};

}  // namespace berth::engine

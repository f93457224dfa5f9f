// The possible victims of one preemptor, in the order of its policy, and the trial in which some of them are gone.
//
// VictimRights says which units these are. Work that only holds room (it waits for its own victims) goes first, because nothing is lost.
//
// A candidate is one unit (units.h). Taking the whole of an elastic workload takes its surplus first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/budget.h"
#include "engine/preempt/quota_only/fair_order.h"
#include "engine/preempt/with_places/units.h"
#include "engine/preempt/with_places/victim_rights.h"

namespace berth::engine {

// The preemptor's request in one flavor: the least amounts that it charges per pair, and the shapes of its slots.
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
    std::uint32_t whole = kNone;       // for a part: the unit of the rest of its workload
    std::vector<std::uint32_t> parts;  // for a whole: its parts, which go first

    bool of_other_queue() const { return cause != YieldCause::kWithinQueue; }
  };
  static constexpr std::uint32_t kNone = 0xffffffffu;

  enum class For : std::uint8_t {
    kRank,    // in order of rank, without pods that the preemptor must be near to
    kTurns,   // for the turns of fair_order.h
    kNearby,  // as kRank, pods that it must be near to among them
  };
  Candidates(State& state, UnitLists& lists, WorkloadId preemptor, const Wanted& wanted, Budget& steps,
             For purpose);

  // The next candidate in order; kNone after the last. One step per unit that is examined. Not for fair candidates.
  std::uint32_t next();
  // For fair candidates: the first of one queue that was not dropped.
  std::uint32_t front(QueueId queue);
  void drop_front(QueueId queue);
  QueueId queue_of(std::uint32_t i) const { return state_.workloads[all_[i].unit.workload.index()].queue; }
  void set_cause(std::uint32_t i, YieldCause cause) { all_[i].cause = cause; }
  const VictimRights& rights() const { return rights_; }
  std::size_t size() const { return all_.size(); }
  const Candidate& operator[](std::uint32_t i) const { return all_[i]; }
  VictimOrder order() const { return rights_.order(); }
  // The most slots of any candidate that runs on several nodes (holds not counted); 1: all run on one node.
  std::int64_t widest() const { return widest_; }

  // Frees the room of a unit on the after plane, after the parts of its workload; freed units are appended to `taken`. False if the
  // policy no longer allows it (its queue has stopped borrowing).
  bool take(std::uint32_t i, std::vector<std::uint32_t>& taken);
  // The same without the policy check, for a unit that stands alone or whose parts are freed.
  void free(std::uint32_t i);
  void give_back(std::uint32_t i);
  // A part cannot come back while everything else of its workload is gone.
  bool may_come_back(std::uint32_t i) const { return all_[i].whole == kNone || !all_[all_[i].whole].freed; }
  void mark_freed(std::uint32_t i) { all_[i].freed = true; }
  // After a rollback of the trial.
  void forget_freed(std::span<const std::uint32_t> taken) {
    for (const std::uint32_t i : taken) all_[i].freed = false;
  }
  void forget_all_freed() {
    for (Candidate& c : all_) c.freed = false;
  }
  bool still_borrows(std::uint32_t i) const;
  // The amount of a pair that a unit frees.
  std::int64_t frees(std::uint32_t i, FlavorResource pair) const;

  // Its pods are disrupted, too. Those of a hold run nowhere.
  void disrupt(const Unit& unit, Disrupted& by) const {
    if (unit.holder) return;
    const WorkloadState& v = state_.workloads[unit.workload.index()];
    each_slot(unit, [&](const Slot&, std::uint32_t set, std::uint32_t) { by.add(*v.sets[set].budgets); });
  }

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

  // Adds as candidates the units that only time protects: their minimum runtime, or their place in line. In order of the time at
  // which each may be evicted.
  std::vector<std::pair<TimeMs, std::uint32_t>> add_young();
  bool some_are_young() const { return !young_.empty(); }
  TimeMs first_young() const;
  bool some_are_slow() const { return slow_; }
  // Pods that the preemptor must be near to may be among them, so that others must stay.
  bool are_nearby() const { return purpose_ == For::kNearby; }
  // Some were left out because the preemptor must be near to them.
  bool some_are_nearby() const { return nearby_; }
  // Some candidates were skipped because their queue had stopped borrowing when their turn came.
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
  bool relevant(const Unit& unit) const;
  std::uint32_t add(const Unit& unit, YieldCause cause);
  void charge(const Unit& unit, int sign);  // the slots of a unit, on the after plane
  void open_lines();
  void open_holders(QueueId queue, YieldCause cause);

  State& state_;
  UnitLists& lists_;
  WorkloadId id_;
  const WorkloadState& w_;
  const Wanted& wanted_;
  Budget& steps_;
  For purpose_;
  VictimRights rights_;
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
  mutable bool nearby_ = false;
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
  // With a whole unit its remaining parts are freed too.
  void free(std::uint32_t candidate, int sign) override;

 private:
  Candidates& of_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> with_;  // what each freed; looked up only
};

}  // namespace berth::engine

// The decisions of one decide() are net. A start that was not announced yet is taken back instead of evicted:
//
//   victims    A workload that started in this decide(), and becomes a victim in it, has not started. The search begins anew without
//              it: a queue that would borrow by that start alone has nothing to give back.
//   own quota  Work that fits within its own queue's quota may find no room for its least. It then gets the room of work that
//              started or grew in this decide() on borrowed quota, whatever the policies say: it would have gone first if it had
//              been tried first. So work within its own quota goes before work that borrows over the whole round, and not only
//              among the heads of queues. Within a queue its order stays.
//
// Rules for the rest of the same decide(), so that no cycle of rights closes in it:
//   - Work that lost a start preempts nothing, and waits for no room that is about to be free. It starts in free room, or is tried
//     again at the next decide(). The same holds for work that has started in it and would grow.
//   - Work that lost slots does not grow.
//   - Work that got a hold, started from one, or grew cannot be evicted. The same holds for work that started before an eviction in
//     it, since the eviction was needed beside that start.
//   - A hold that becomes a start is reported as a start only. One that ends without effect is not reported.
//   - A hold behind a start in a strict queue ends with that start.
//   - Each start stands behind those that it must be near to, or that let it be spread (turns.h).
//
// An eviction for work that must be near to pods is net, too. Pods that start later in the same decide() may be near enough, so that the
// work fits beside what has yielded for it. Then that has not yielded (decisions_reprieve.cc), and is not evicted in this decide().
// The same holds for any work if a hold of this decide() has ended in it, since that has given room back.
//
// Cost: nothing where nothing borrows. Otherwise one search for places for work that could be within its own quota. If that finds
// none, O(log n) searches, for n starts on borrowed quota.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/place/placer.h"
#include "engine/preempt/with_places/victims.h"
#include "engine/state/state.h"

namespace berth::engine {

class Decisions {
 public:
  explicit Decisions(State& state) : state_(state) {}

  // Work from the line starts. The charges are in the state already, without a trial. Growth joins a start of the same decide().
  void start(WorkloadId id, const std::vector<PlacedSlot>& placed);
  // The same of work that had its quota before: no growth joins it, and it is not taken back.
  void start_alone(WorkloadId id, const std::vector<PlacedSlot>& placed);
  // Held slots start. They are charged on both planes by now.
  void start_held(WorkloadId id, const std::vector<PlacedSlot>& placed);
  // It holds room; the victims of the plan yield.
  void hold(WorkloadId id, const VictimPlan& plan);
  using SlotName = std::pair<std::uint32_t, std::uint32_t>;  // pod set and index
  using SlotNames = std::vector<SlotName>;
  // `part`: only these slots; empty: all that run. `freed`: planes that a kept trial has freed already.
  void evict(WorkloadId id, Reason reason, std::string beneficiary, std::int64_t cost, PlaneMask freed,
             const SlotNames& part = {});
  void release_hold(WorkloadId id, Reason reason, PlaneMask freed);
  // Takes evictions back that starts of this decide() have made needless. True: there were some. O(evictions for work that must be near
  // to pods x decisions); of all evictions where a hold has ended.
  bool reprieve();

  // In this decide() it starts where there is room, and takes nothing.
  bool takes_nothing(WorkloadId id) const;
  // Whether some victims of the plan started in this decide().
  bool started_victims(const VictimPlan& plan) const;
  // Victims of the plan that started in this decide() did not start. Returns how many; 0: the trial stands.
  std::int64_t take_back(const VictimPlan& plan);
  // Workloads that started on borrowed quota, in the order of their starts.
  const std::vector<WorkloadId>& borrowers() const { return borrowers_; }
  // Does a borrower of another queue of the tree run on borrowed quota of a pair that is asked for? It counts if all queues borrow
  // from the borrower's up to below the common ancestor.
  bool borrows_from(WorkloadId borrower, const WorkloadState& w, std::span<const QuotaItem> asked) const;
  // In a trial: what has started of it in this decide().
  void charge_start(WorkloadId id, int sign);
  // With that charged: is no node, device, queue or limit of it beyond what it has?
  bool start_fits(WorkloadId id) const;
  // In a trial in which these are not charged: what goes with them, and they. None: then these slots of a workload do not stand, or what
  // started of it before. Starts go that are behind one of them in a strict queue, or have their places by one. So do those that have
  // passed work which stands aside no more.
  // O(starts of the decide() x those that go).
  std::optional<std::vector<WorkloadId>> going_with(const std::vector<WorkloadId>& all, WorkloadId id,
                                                    const std::vector<PlacedSlot>& placed);
  // The first `all` of these have not started. The others have if they stand beside what is charged now. `freed`: planes that a kept
  // trial has freed already.
  void cancel_starts(const std::vector<WorkloadId>& going, std::size_t all, PlaneMask freed);
  // All decisions, but those of which nothing is left. Ends the use of this object.
  std::vector<Decision> net();
  bool holds_since_now(WorkloadId id) const { return held_at_.contains(id.value); }

 private:
  // Most work starts with one slot, in one decision: those need no memory of their own.
  struct Begun {
    boost::container::small_vector<SlotName, 2> slots;         // that started in this decide() from the line
    boost::container::small_vector<std::size_t, 1> decisions;  // in out_, that say so
    std::size_t start = 0;                                     // in out_: growth in the same stretch joins it
    std::uint64_t stretch = 0;                                 // 0: none, nothing joins
    bool ran = false;                                          // some of it before
    bool borrows = false;                                      // it is one of borrowers_
    std::int64_t priority = 0;                                 // by which it stood in line
    Progress progress;                                         // before
    TimeMs took_at = kEndOfTime;
  };

  // An eviction for work that must be near to pods, and its workload as it was before.
  struct Yield {
    WorkloadId workload;
    WorkloadId to;
    std::size_t at = 0;  // in out_
    std::vector<std::pair<SlotName, SlotState>> slots;
    Progress progress;
    TimeMs started = 0;
    TimeMs evicted_at = 0;
    Takings takings;
  };

  SlotPlacement placement(std::uint32_t set, std::uint32_t index, NodeId node, GrantId grant) const;
  void describe(Decision& decision, const WorkloadState& w, const std::vector<PlacedSlot>& placed) const;
  bool started_now(const VictimPlan::Victim& victim) const;
  // The slots of a victim that yield.
  SlotNames slots_of(const VictimPlan::Victim& victim) const;
  void note_begun(WorkloadId id, Begun& begun, bool is_new, const std::vector<PlacedSlot>& placed);
  void drop_ended_hold(WorkloadId id);
  void drop_holds_without_effect();
  // Growth behind it is a decision of its own.
  void end_start(WorkloadId id);
  void cancel(WorkloadId id, PlaneMask freed, const SlotNames& part = {});
  using Chosen = std::function<bool(WorkloadId)>;
  void cancel_behind(const Chosen& may_lean);
  std::vector<std::pair<std::size_t, WorkloadId>> begun_behind(QueueId queue, std::size_t first) const;
  std::vector<WorkloadId> passers() const;
  std::optional<WorkloadId> first_leaning(const Chosen& among) const;
  bool cancel_leaning(const Chosen& among);
  std::vector<Slot> begun_places(WorkloadId id) const;
  // Whether the spreads of what has started of it let its slots come one after the other.
  bool begun_in_turn(WorkloadId id) const;
  void settle_begun();
  Yield yield_of(const VictimPlan::Victim& victim, WorkloadId to) const;
  // The end of work that others yielded to. kStays: they have yielded, whatever it is.
  enum class Outcome : std::uint8_t { kStays, kStarts, kHolds, kEnded };
  Outcome outcome_of(WorkloadId id) const;
  bool reprieve(WorkloadId id);
  bool gave_way(const std::string& uid, DecisionKind kind) const;
  bool was_reclaimed_from(QueueId queue) const;
  bool was_needed(QueueId queue, std::size_t at) const;
  std::vector<Slot> placed_by(DecisionKind kind) const;
  bool was_held_behind(std::size_t at) const;
  bool may_stay(const std::vector<std::size_t>& yields);
  void keep(const Yield& yield);
  void tell_last(WorkloadId id);
  void note_cause(WorkloadId id);
  bool some_yielded(WorkloadId id) const;

  State& state_;
  std::vector<Decision> out_;
  std::unordered_map<std::uint32_t, Begun> begun_;          // by workload; looked up only
  std::uint64_t stretch_ = 1;                               // of decisions that are starts alone
  std::unordered_map<std::uint32_t, std::size_t> held_at_;  // workload -> its hold in out_
  std::vector<WorkloadId> borrowers_;                       // of begun_, in the order in which they started
  std::vector<std::pair<QueueId, std::size_t>>
      passed_;  // for cancel_behind(): a strict queue, and a place in out_; no queue: a limit has room again
  bool order_changed_ = false;  // a start may stand before the one that it was decided by
  std::vector<Yield> yields_;
  struct Taker {
    Takings before;  // others yielded for it
    bool may_need_less = false;
  };
  std::map<std::uint32_t, Taker> takers_;  // of yields_
  bool hold_ended_ = false;                // one that began in this decide()
  bool gave_back_ = false;                 // some have not yielded after all
};

}  // namespace berth::engine

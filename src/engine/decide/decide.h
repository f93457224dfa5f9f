// One round of decisions over the state, in this order:
//   1. withdrawals and drains
//   2. held work whose room has become free
//   3. work that has quota and whose nodes have come
//   4. pending work in its order: each is started, or gets a hold (with victims), or is parked with its reasons
// until nothing more changes.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/base/budget.h"
#include "engine/place/placer.h"
#include "engine/plan/plans.h"
#include "engine/preempt/with_places/units.h"
#include "engine/preempt/with_places/victims.h"
#include "engine/state/state.h"
#include "engine/state/trial.h"

namespace berth::engine {

class Decider {
 public:
  Decider(State& state, Plans& plans) : state_(state), plans_(plans), lists_(state) {}
  std::vector<Decision> run();

 private:
  void end_withdrawn();
  void drain_stopped();
  void start_holders();
  // Finds places for work that has quota alone and no longer awaits nodes, in its flavors: all slots at once, if there is room.
  // Comes before all other work, and preempts nothing.
  void place_awaited();
  // Records why place_awaited() found no places for `id`.
  void tell_no_places(WorkloadId id, const Failure& failure);
  void check_holds();
  std::string overdraft_of(const WorkloadState& w, const Slot& slot) const;
  void wake();
  void review_old();
  // The aged work of each queue takes turns (decide_reserve.cc).
  void give_turns();
  void give_turn(QueueId queue);
  bool takes_turn(WorkloadId id);
  bool has_turn(const QueueState& q);
  // New charges may put waiting work of limited lanes beyond its limit: it no longer blocks the work behind it. True: some work is
  // awake because of that.
  bool let_pass();
  void ask_empty(ClassId id);
  void attempt(ClassId id);
  void attempt_once(ClassId class_id, WorkloadId id);
  bool may_try(ClassId class_id, WorkloadId id);
  void attempt_places(ClassId class_id, WorkloadId id, Budget& steps);
  void attempt_victims(ClassId class_id, WorkloadId id, const Failure& lacking, Budget& steps);
  // True if the class lacked only room when it was parked, and total room is still too small. Updates the numbers of the reason.
  bool lacks_room(ClassId id);
  // Tries assignments of flavors to pod sets one after the other, if the queue does not take the first that fits (FlavorSearch).
  // True: it started, or got a hold (decide_flavors.cc).
  bool try_flavors(WorkloadId id, Budget& steps);
  // The same for work whose flavors are opaque: only quota matters (decide_quota.cc).
  void attempt_quota(ClassId class_id, WorkloadId id);
  bool try_quota(WorkloadId id, std::span<const std::int64_t> counts, bool only_ask);
  bool try_quota_anyhow(WorkloadId id, std::span<const std::int64_t> counts, bool only_ask);
  std::optional<VictimPlan> quota_plan(WorkloadId id, const FlavorChooser& chooser);
  bool hold_quota(WorkloadId id, std::span<const ChargeId> charges, std::span<const std::int64_t> counts,
                  VictimPlan plan);
  bool places_are_unknown(const WorkloadState& w) const;
  // 0 where queues share by their dominant shares.
  std::int64_t borrowing_height(const WorkloadState& w) const;
  std::vector<Reason> never_starts(const WorkloadState& w, const PodSetState& set);
  // Returns no reasons if enough of its pod sets have their pods, and a flavor whose largest possible quota is enough. Needs no
  // search.
  Failure lacks_parts(const WorkloadState& w);
  // True for surplus, work that lacks parts, and work that waits for other work of its own lane: it blocks no other work.
  bool holds_up_nobody(const WorkloadState& w);
  // Returns no reasons if its lane has room for the request, or if that is unknown. `found`: the failure of a search.
  Failure beyond_lane(const WorkloadState& w, const Failure& found);
  void park(ClassId id, const Failure& failure, const VictimSearch* search, TimeMs more_at = kEndOfTime);
  void choose_group(ClassId id, Parked& why) const;
  // Room that is reserved for old work, and the work that it is reserved against (decide_reserve.cc).
  struct OldHead {
    ClassId head;
    WorkloadId workload;
    std::int64_t height = 0;  // borrowing_height()
  };
  std::vector<OldHead> old_heads();
  std::vector<const Reservation*> reservations_of(const std::vector<OldHead>& heads);
  std::vector<const Reservation*> reserved_before(ClassId id, std::int64_t height);
  void charge_reserved(int sign);
  void wake_reserved();
  // Quota that is reserved for blocked heads of strict queues (decide_keep.cc).
  struct Kept {
    QueueId queue;
    WorkloadId by;
    FlavorResource pair;
    std::array<std::int64_t, 2> amount{};  // by plane
  };
  std::vector<Kept> kept_from(ClassId id, std::int64_t height);
  ClassId head_of(QueueId queue);
  const Asked& asked_by_head(ClassId head);
  bool goes_before(ClassId a, std::int64_t a_height, ClassId b, std::int64_t b_height);
  void charge_kept(const Kept& kept, int sign);
  void charge_kept(int sign);
  void learn_kept(const WorkloadState& w, std::span<const PlacedSlot> placed = {}, Mode mode = Mode::kPlan);
  bool stands_beside_kept(const WorkloadState& w, std::span<const PlacedSlot> placed, Mode mode);
  // make(placer) puts a new one there.
  template <class Make>
  bool run_beside_kept(std::optional<Placer>& placer, WorkloadId id, Mode mode, const Make& make) {
    Trial trial(state_);
    kept_out_ = false;
    make(placer);
    if (!placer->run()) return false;
    const WorkloadState& w = state_.workloads[id.index()];
    learn_kept(w, placer->placed(), mode);
    if (stands_beside_kept(w, placer->placed(), mode)) {
      trial.stay();
      return true;
    }
    trial.rollback();
    charge_kept(+1);
    charge_reserved(+1);
    make(placer);
    const bool found = placer->run();
    charge_reserved(-1);
    charge_kept(-1);
    if (found) trial.stay();
    kept_out_ = !found;
    beside_failed_ = beside_failed_ || kept_out_;
    return found;
  }
  // The result of search(), with reserved quota charged; by then the reserved quota is known.
  template <class Search>
  auto beside_kept(const WorkloadState& w, Budget& steps, const Search& search) {
    const Budget left = steps;
    auto plan = search();
    if (!plan || kept_known_ || state_.keepers.empty()) return plan;
    state_.abandon();
    learn_kept(w);
    steps = left;
    return search();
  }
  void wake_kept_out();
  void start(WorkloadId id, const std::vector<PlacedSlot>& placed);
  // The decisions of one decide() are net (decide_net.cc).
  using SlotNames = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // pod set and index
  struct Begun {
    SlotNames slots;                     // that started in this decide() from the line
    std::vector<std::size_t> decisions;  // in out_, that say so
    bool ran = false;                    // some of it before
    Progress progress;                   // before
    TimeMs took_at = kEndOfTime;
  };
  bool takes_nothing(WorkloadId id) const;
  void note_begun(WorkloadId id, const std::vector<PlacedSlot>& placed, std::size_t at);
  void cancel(WorkloadId id, const SlotNames& slots, PlaneMask freed);
  void cancel_behind();
  void settle_begun();
  bool take_back(const VictimPlan& plan);
  std::vector<Decision> net();
  // True: it started within its own queue's quota, in the room of work that started on borrowed quota.
  bool take_from_borrowers(WorkloadId id, Budget& steps);
  bool is_within_own(const WorkloadState& w, const Assignment& assignment,
                     const std::vector<std::int64_t>& needs, std::vector<QuotaItem>& asked) const;
  bool borrows_from(WorkloadId id, const WorkloadState& w, std::span<const QuotaItem> asked) const;
  void charge_begun(WorkloadId id, int sign);
  bool begun_fits(WorkloadId id) const;
  void hold(WorkloadId id, const VictimPlan& plan);
  // `part`: only these slots (pod set and index); empty: all that run.
  void evict(WorkloadId id, Reason reason, std::string beneficiary, std::int64_t cost, PlaneMask freed,
             const std::vector<std::pair<std::uint32_t, std::uint32_t>>& part = {});
  void release_hold(WorkloadId id, Reason reason, PlaneMask freed);
  void describe(Decision& decision, const WorkloadState& w, const std::vector<PlacedSlot>& placed) const;

  State& state_;
  Plans& plans_;
  UnitLists lists_;
  std::vector<Decision> out_;
  TimeMs more_at_ = kEndOfTime;  // of attempt_quota
  Budget quota_steps_{0};        // left to it for assignments of flavors
  // Quota reserved against the workload that is being attempted. Known only once the workload would start or hold room without it:
  // most waiting work lacks more than that.
  std::vector<Kept> kept_;
  bool kept_known_ = false;
  bool kept_out_ = false;  // the last run_beside_kept() found places, but none beside the reserved quota
  std::vector<Reason> short_beside_kept_;     // the pairs that it lacks because of that
  std::vector<const Reservation*> reserved_;  // for old work in front of the workload being attempted
  bool beside_failed_ = false;  // in this attempt it found room, but none beside reserved quota and room
  std::int64_t took_back_ = 0;  // starts that this attempt has taken back
  ClassId attempted_;
  std::int64_t attempted_height_ = 0;
  std::unordered_map<std::uint32_t, std::size_t>
      fresh_;  // workload -> its start in out_, while only starts follow it
  std::unordered_map<std::uint32_t, Begun> begun_;          // by workload; looked up only
  std::unordered_map<std::uint32_t, std::size_t> held_at_;  // workload -> its hold in out_
  std::vector<WorkloadId> borrowers_;                       // of begun_, in the order in which they started
  std::vector<std::pair<QueueId, std::size_t>>
      passed_;  // for cancel_behind(): a strict queue, and a place in out_
};

// Device indices of a mask, ascending.
std::vector<std::int64_t> device_list(std::uint64_t mask);

}  // namespace berth::engine

// One round of decisions over the state. Order of work: withdrawals and drains; held work whose room has become free; work that
// has quota and whose nodes have come; then pending work in its order, each either started, or given a hold (with victims), or
// parked with its reasons; until nothing more comes of it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/core/reservations.h"
#include "engine/core/state.h"
#include "engine/place/placer.h"
#include "engine/preempt/units.h"
#include "engine/preempt/victims.h"

namespace berth::engine {

class Decider {
 public:
  explicit Decider(State& state) : state_(state), lists_(state) {}
  std::vector<Decision> run();

 private:
  void end_withdrawn();
  void drain_stopped();
  void start_holders();
  // Places for work that has quota alone and awaits nodes no longer, in the flavors that it has: all of them at once, where there is
  // room. Before anybody else is looked at; nobody yields for it.
  void place_awaited();
  // There is none for it, and this is what it lacks.
  void tell_no_places(WorkloadId id, const Failure& failure);
  void check_holds();
  void wake();
  void review_old();
  // The aged work of each queue takes turns (decide_reserve.cc).
  void give_turns();
  void give_turn(QueueId queue);
  bool takes_turn(WorkloadId id);
  bool has_turn(const QueueState& q);
  // What was charged to lanes with limits put those who wait in them beyond these: they bar nobody any more. True: somebody
  // is awake for it.
  bool let_pass();
  void ask_empty(ClassId id);
  void attempt(ClassId id);
  void attempt_once(ClassId class_id, WorkloadId id);
  // The class lacked nothing but room when it was parked, and there still is too little in all: the reason gets the numbers
  // of now.
  bool lacks_room(ClassId id);
  // Assignments of flavors to pod sets one after the other, where the queue would not have the first that fits (FlavorSearch): true
  // where it started, or was given a hold (decide_flavors.cc).
  bool try_flavors(WorkloadId id, std::int64_t& steps);
  // The same for work whose flavors are opaque: quota is all there is to find (decide_quota.cc).
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
  // No reasons: enough of its pod sets have their pods, and a flavor whose quota ever may be enough. Known without a search.
  Failure lacks_parts(const WorkloadState& w);
  // Surplus, or it lacks parts, or it waits for work of its own lane.
  bool holds_up_nobody(const WorkloadState& w);
  // No reasons: its lane may have what it asks for, or that is not known. `found`: what a search found it to lack.
  Failure beyond_lane(const WorkloadState& w, const Failure& found);
  void park(ClassId id, const Failure& failure, const VictimSearch* search, TimeMs more_at = kEndOfTime);
  void choose_group(ClassId id, Parked& why) const;
  // Room that is reserved for old work, and from what (decide_reserve.cc).
  struct OldHead {
    ClassId head;
    WorkloadId workload;
    std::int64_t height = 0;  // borrowing_height()
  };
  std::vector<OldHead> old_heads();
  std::vector<const Reservation*> reservations_of(const std::vector<OldHead>& heads);
  std::vector<const Reservation*> reserved_before(ClassId id, std::int64_t height);
  bool room_as_charged(ChargeId charge, NodeId node, std::uint64_t devices, Mode mode) const;
  void charge_reserved(int sign);
  void wake_reserved();
  // What blocked heads of strict queues keep from others (decide_keep.cc).
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
    const std::size_t mark = state_.mark();
    kept_out_ = false;
    make(placer);
    if (!placer->run()) return false;
    const WorkloadState& w = state_.workloads[id.index()];
    learn_kept(w, placer->placed(), mode);
    if (stands_beside_kept(w, placer->placed(), mode)) return true;
    state_.rollback(mark);
    charge_kept(+1);
    charge_reserved(+1);
    make(placer);
    const bool found = placer->run();
    charge_reserved(-1);
    charge_kept(-1);
    if (!found) state_.rollback(mark);
    kept_out_ = !found;
    beside_failed_ = beside_failed_ || kept_out_;
    return found;
  }
  // What search() finds, with it charged; what is kept is known by then.
  template <class Search>
  auto beside_kept(const WorkloadState& w, std::int64_t& steps, const Search& search) {
    const std::int64_t left = steps;
    auto plan = search();
    if (!plan || kept_known_ || state_.keepers.empty()) return plan;
    state_.rollback(0);
    learn_kept(w);
    steps = left;
    return search();
  }
  void wake_kept_out();
  void start(WorkloadId id, const std::vector<PlacedSlot>& placed);
  // What this decide() decides is net (decide_net.cc).
  using SlotNames = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // pod set and index
  struct Begun {
    SlotNames slots;                     // that started in this decide(), out of the line
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
  // True: it started within its own queue's quota, in room of what started on borrowed quota.
  bool take_from_borrowers(WorkloadId id, std::int64_t& steps);
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
  UnitLists lists_;
  std::vector<Decision> out_;
  TimeMs more_at_ = kEndOfTime;   // of attempt_quota
  std::int64_t quota_steps_ = 0;  // left to it for assignments of flavors
  // From whom is being attempted, as soon as it would start or hold room without: most that wait lack more than that.
  std::vector<Kept> kept_;
  bool kept_known_ = false;
  bool kept_out_ = false;  // the last run_beside_kept() found places, and none beside what is kept
  std::vector<Reason> short_beside_kept_;     // of which it lacks some because of that
  std::vector<const Reservation*> reserved_;  // for old work that goes before what is being attempted
  bool beside_failed_ = false;  // in this attempt it found room, and none beside what is kept and reserved
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

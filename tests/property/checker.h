// The invariants 1 to 5 of the design (6: starvation.h, 7: reasons.h, 8: runner.h), checked on every decision from events and
// decisions alone (ledger.h).
//
//   1  no decision leaves a group between nothing and its least number
//   2  no decision takes more of a node, a device or a queue's quota than there is, now or once releasing pods are gone
//      (which is also what keeps held room for its holder); an excess made outside is never made larger
//   3  rights of eviction: within a queue by its policy; across queues only work on borrowed quota, never protected work; no work
//   before its minimum runtime
//   4  every eviction serves a workload that then holds the room; no victim could have stayed
//   5  (by the runner) nothing more is decided without news
//   9  what one decide() decides is net, and what is within its own queue's quota goes before what borrows (checker_net.cc)
// And: a hold ends by a start, a release with a reason, or outside; strict queues start in order; places suit their pods.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "model/decision.h"
#include "model/event.h"
#include "property/coverage.h"
#include "property/ledger.h"

namespace berth::property {

// The reason, or one below it, has this code.
bool contains(const Reason& reason, ReasonCode code);

class Checker {
 public:
  explicit Checker(const engine::EngineConfig& config)
      : placement_(config.placement), ledger_(config.ignore_uncovered) {}

  void on_event(const Event& event);
  // The first violation, or "". After a violation the checker is of no more use.
  std::string on_decisions(const std::vector<Decision>& decisions, TimeMs now, Coverage& coverage);
  // A strict queue starts nothing behind work that only a lack of room blocks. Asked after on_decisions(); what blocks the ones in
  // front is taken from the engine's own verdicts.
  std::string check_lines(const engine::Engine& engine);
  // Work within its own queue's quota went before work that borrows. Asked after on_decisions().
  std::string check_own_first(const engine::Engine& engine, Coverage& coverage);
  // Compares what the decisions said with what the engine holds to be true: slots of every workload, and holds.
  std::string compare(const engine::Engine& engine) const;
  // The rules when nothing is ending or being bound any more: every hold has become a start or was released.
  std::string at_rest() const;

  const Ledger& ledger() const { return ledger_; }

 private:
  using Slots = std::vector<std::pair<std::size_t, std::size_t>>;  // set, index
  // A workload that gave way for another in this round.
  struct Yielded {
    std::string workload;
    Slots slots;
    std::vector<SlotRecord> before;
    ReasonCode why = ReasonCode::kNone;
  };

  // Starts of this round from the line that took queues beyond their own quota.
  struct Began {
    Slots slots;
    std::set<std::pair<std::string, FlavorResource>> beyond;
    bool least_borrows = false;  // also without its surplus
  };

  static std::string check_net(const std::vector<Decision>& decisions);
  struct Own {
    std::vector<std::string> flavors;
    std::vector<FlavorResource> pairs;  // of what it takes there
  };
  std::vector<Own> flavors_within_own(const WorkloadRecord& w) const;
  bool could_start_now(const std::string& uid, const std::vector<std::string>& flavors) const;
  Began beyond_own(const WorkloadRecord& w, const Slots& slots) const;
  Began beyond_own_without(const WorkloadRecord& w, const Slots& slots,
                           const std::map<std::string, Slots>& others);
  void note_beyond_own(const Decision& d, const WorkloadRecord& w);
  Slots surplus_of(const WorkloadRecord& w, const Slots& began) const;
  bool borrows_beside(const std::string& uid, const std::string& queue, const Own& own) const;
  std::string start(const Decision& d, Coverage& coverage);
  std::string check_taken(const Decision& d, const WorkloadRecord& w, const std::string& unclaimed);
  std::string hold(const Decision& d, Coverage& coverage);
  // Before it is placed: surplus that is worth less than a possible preemptor.
  std::string unclaimed_surplus(const Decision& d, const WorkloadRecord& w) const;
  std::string evict(const Decision& d, Coverage& coverage);
  std::string release(const Decision& d, Coverage& coverage);
  // Puts the slots of a start or hold to their places, each checked against what is left.
  std::string place(const Decision& d, WorkloadRecord& w, SlotState to);
  std::string place_slot(SlotRecord& slot, const Taken& taken, SlotState to);
  std::string check_groups(const Decision& d, const WorkloadRecord& w, const GroupView& group,
                           bool with_held) const;
  std::string check_topology(const Decision& d, const WorkloadRecord& w, const GroupView& group) const;
  std::string check_segments(const Decision& d, const WorkloadRecord& w, const GroupView& group) const;
  std::string check_flavor_groups(const Decision& d, const WorkloadRecord& w) const;
  using Rank = std::pair<int, std::int64_t>;  // tier and priority, with that of the band
  std::string may_yield(const WorkloadRecord& victim, const Rank& rank, const WorkloadRecord& to) const;
  std::string bands_yield(const Decision& d, const WorkloadRecord& victim, const WorkloadRecord& to,
                          Rank& rank, Coverage& coverage) const;
  std::string ran_its_minimum(const WorkloadRecord& victim, const WorkloadRecord& to,
                              Coverage& coverage) const;
  std::string may_yield_so(const Rank& rank, const WorkloadRecord& to, ReasonCode cause) const;
  bool could_force(const WorkloadRecord& other, const WorkloadRecord& w) const;
  bool shares(const std::string& queue) const;  // by dominant shares, with its siblings
  std::string check_reclaimer(const WorkloadRecord& w) const;
  std::string beyond_own_quota(const WorkloadRecord& w, const std::string& queue) const;
  std::string check_minimal(const WorkloadRecord& holder, bool starts);
  std::string still_needless();
  bool behind_what_leans(const std::string& queue) const;
  bool behind_what_is_limited(const engine::Engine& engine, const std::string& queue) const;
  bool came_now(const SlotRecord& slot) const;  // this decide() gave it its place
  bool come_in_some_order(const std::vector<Ledger::Coming>& coming, When when);
  std::vector<Ledger::Coming> stayed() const;
  bool could_stay(const WorkloadRecord& holder, const Yielded& victim, bool starts);
  bool over_quota(const WorkloadRecord& w, const Slots& slots) const;
  bool over_somewhere(const WorkloadRecord& w,
                      const std::vector<std::pair<std::size_t, std::size_t>>& slots) const;
  std::int64_t started_slots(const WorkloadRecord& w, std::size_t set, bool with_held) const;
  void count_twins(const WorkloadRecord& w, Coverage& coverage) const;
  bool is_bound_by_firm_limit(const WorkloadRecord& w) const;
  std::string stays_broken(const WorkloadRecord& w) const;
  void count_policies(const WorkloadRecord& w, Coverage& coverage) const;
  void count_shape(const Decision& d, const WorkloadRecord& w, Coverage& coverage) const;

  Placement placement_;  // of queues that do not choose one
  Ledger ledger_;
  std::map<std::string, std::vector<Yielded>> yielded_;  // by beneficiary, of this round
  std::set<std::string> served_;                         // preemptors of this round
  struct Needless {
    std::string holder;
    std::vector<Yielded> yielded;
    bool starts = false;
  };
  std::vector<Needless> needless_;  // of this round, when their decision was read
  struct NotNear {
    std::string workload;
    const PodTemplate* pod;
    const SlotRecord* slot;
  };
  // Slots of this round that were near to no pod once releasing ones are gone, when their decision was read.
  std::vector<NotNear> not_near_;
  std::string still_not_near() const;
  // Slots that were placed in this round, in the order of the decisions. And the first trouble with the spreads of one decision once
  // releasing pods are gone.
  std::vector<Ledger::Coming> came_;
  std::string not_spread_;
  std::string still_not_spread() const;
  std::set<std::string> released_;  // holds that ended in this round
  std::set<std::string> lacking_;   // work that lacked room after the round before
  std::set<std::string> started_;   // anew, without a hold, in this round
  std::map<std::string, Began> began_;
  std::map<std::string, Slots> growth_;  // told in this round, beyond the least of each
};

}  // namespace berth::property

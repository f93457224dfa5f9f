// Evictions and ends of holds: checks that each was allowed and needed.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/in_turn.h"
#include "property/checker.h"

namespace berth::property {

std::string Checker::evict(const Decision& d, Coverage& coverage) {
  WorkloadRecord& w = ledger_.workloads.at(d.workload);
  if (d.slots.empty()) return "it has no slots";
  if (d.cost < 0) return "its cost is negative";
  const ReasonCode cause = d.reason.code;
  const bool for_somebody = cause == ReasonCode::kPreempted || is_reclaim(cause);
  if (for_somebody != !d.beneficiary.empty())
    return fmt::format("it is {} for \"{}\"", enum_name(cause), d.beneficiary);
  if (cause == ReasonCode::kWithdrawn) {
    if (!w.withdrawn) return "nobody asked to withdraw it";
    w.withdrawn = false;
  } else if (cause == ReasonCode::kDrained) {
    const auto queue = ledger_.queues.find(w.spec.queue);
    if (queue == ledger_.queues.end() || queue->second.stop != StopPolicy::kHoldAndDrain)
      return "its queue is not drained";
  } else if (cause == ReasonCode::kBroken) {
    if (auto wrong = stays_broken(w); !wrong.empty()) return wrong;
  } else if (for_somebody) {
    const auto to = ledger_.workloads.find(d.beneficiary);
    if (to == ledger_.workloads.end()) return "its beneficiary is not known";
    if (d.reason.subject != d.beneficiary) return "its reason names another beneficiary";
    if (to->second.count(SlotState::kWaiting) == 0) return "its beneficiary does not wait for anything";
    if (!w.spec.preemptible) return "it may not be preempted";
    const bool same = w.spec.queue == to->second.spec.queue;
    if (same != (cause == ReasonCode::kPreempted))
      return fmt::format("the cause {} does not suit its queue", enum_name(cause));
    Rank rank;
    if (auto wrong = bands_yield(d, w, to->second, rank, coverage); !wrong.empty()) return wrong;
    if (auto wrong = may_yield(w, rank, to->second); !wrong.empty()) return wrong;
    if (auto wrong = may_yield_so(rank, to->second, cause); !wrong.empty()) return wrong;
    const bool part = static_cast<std::int64_t>(d.slots.size()) < w.active();
    if (auto wrong = part ? "" : ran_its_minimum(w, to->second, coverage); !wrong.empty()) return wrong;
  } else {
    return fmt::format("{} is no cause of an eviction", enum_name(cause));
  }

  Yielded yielded{d.workload, {}, {}, cause};
  for (const SlotPlacement& p : d.slots) {
    const auto s = static_cast<std::size_t>(p.pod_set);
    const auto i = static_cast<std::size_t>(p.index);
    if (s >= w.sets.size() || i >= w.sets[s].size())
      return fmt::format("there is no slot {}/{}", p.pod_set, p.index);
    SlotRecord& slot = w.sets[s][i];
    if (!is_active(slot.state)) return fmt::format("slot {}/{} is {}", s, i, enum_name(slot.state));
    if (slot.taken.node != p.node)
      return fmt::format("slot {}/{} is on {}, not {}", s, i, slot.taken.node, p.node);
    yielded.slots.emplace_back(s, i);
    yielded.before.push_back(slot);
    slot.state = SlotState::kReleasing;
  }
  ledger_.note_run(w);
  w.evicted = ledger_.now;
  // A gang is evicted as a whole or not at all.
  if (w.active() > 0) {
    if (auto wrong = check_groups(d, w, view_of(w.spec.root), false); !wrong.empty())
      return "it leaves a part: " + wrong;
    ++coverage["evict (a part)"];
  }
  if (for_somebody) {
    began_.clear();  // that a workload yields was decided beside these
    yielded_[d.beneficiary].push_back(std::move(yielded));
    const auto queue = ledger_.queues.find(ledger_.workloads.at(d.beneficiary).spec.queue);
    if (queue != ledger_.queues.end()) {
      const PreemptionPolicy& policy = queue->second.preemption;
      ++coverage[fmt::format("victims by {}", enum_name(policy.victims))];
      ++coverage[cause == ReasonCode::kPreempted
                     ? fmt::format("preempted under {}", enum_name(policy.within))
                     : fmt::format("reclaimed under {}", enum_name(policy.reclaim))];
    }
  }
  ++coverage[fmt::format("evict {}", enum_name(cause))];
  if (for_somebody && ledger_.is_opaque(w.spec.queue))
    ++coverage[cause == ReasonCode::kPreempted ? "given quota only: preempted"
                                               : "given quota only: reclaimed"];
  return "";
}

std::string Checker::release(const Decision& d, Coverage& coverage) {
  WorkloadRecord& w = ledger_.workloads.at(d.workload);
  if (d.slots.empty()) return "it has no slots";
  const ReasonCode cause = d.reason.code;
  Yielded yielded{d.workload, {}, {}, cause};
  for (const SlotPlacement& p : d.slots) {
    SlotRecord& slot = w.sets.at(static_cast<std::size_t>(p.pod_set)).at(static_cast<std::size_t>(p.index));
    if (slot.state != SlotState::kHeld)
      return fmt::format("slot {}/{} is {}", p.pod_set, p.index, enum_name(slot.state));
    yielded.slots.emplace_back(p.pod_set, p.index);
    yielded.before.push_back(slot);
  }
  if (cause == ReasonCode::kHoldOvertaken) {
    const auto to = ledger_.workloads.find(d.reason.subject);
    if (to == ledger_.workloads.end()) return "whoever overtook it is not known";
    Rank rank = ledger_.rank(w);
    rank.second += w.held_band;
    if (auto wrong = may_yield(w, rank, to->second); !wrong.empty()) return wrong;
    began_.clear();
    yielded_[d.reason.subject].push_back(yielded);
    if (served_.count(d.workload) > 0) ++coverage["hold overtaken in the round of its victims"];
  } else if (cause == ReasonCode::kWithdrawn) {
    if (!w.withdrawn) return "nobody asked to withdraw it";
    if (w.active() == 0) w.withdrawn = false;
  } else if (cause == ReasonCode::kBroken) {
    if (auto wrong = stays_broken(w); !wrong.empty()) return wrong;
  } else if (cause != ReasonCode::kHoldBroken && cause != ReasonCode::kDrained) {
    return fmt::format("{} is no cause for the end of a hold", enum_name(cause));
  }
  for (const auto& [s, i] : yielded.slots) w.sets[s][i] = SlotRecord{SlotState::kWaiting, {}};
  if (w.count(SlotState::kHeld) > 0) return "a part of the hold stays";
  released_.insert(d.workload);
  ++coverage[fmt::format("release-hold {}", enum_name(cause))];
  return "";
}

// "" where it is a gang that ends because it lacks slots.
std::string Checker::stays_broken(const WorkloadRecord& w) const {
  if (!w.spec.broken_for) return "it may stay broken";
  if (w.active() == 0 || w.is_complete() || w.spec.asks_more_since) return "it lacks nothing that it had";
  return "";
}

std::string Checker::ran_its_minimum(const WorkloadRecord& victim, const WorkloadRecord& to,
                                     Coverage& coverage) const {
  const auto queue = ledger_.queues.find(victim.spec.queue);
  const DurationMs of_queue = queue == ledger_.queues.end() ? 0 : queue->second.preemption.minimum_runtime;
  const DurationMs least = victim.spec.minimum_runtime.value_or(of_queue);
  const DurationMs ran = ledger_.now - victim.started;
  if (least == 0) return "";
  ++coverage[ran >= least ? "evict after a minimum runtime" : "evict before a minimum runtime"];
  const auto ours = ledger_.queues.find(to.spec.queue);
  if (ran >= least || (ours != ledger_.queues.end() && ours->second.preemption.ignores_minimum_runtime))
    return "";
  return fmt::format("it ran for {} ms of its minimum of {}", ran, least);
}

std::string Checker::unclaimed_surplus(const Decision& d, const WorkloadRecord& w) const {
  if (ledger_.may_look_for_quota_only(w)) return "";  // admitted with all its pods, as Kueue does
  const auto specs = pod_sets_of(w.spec.root);
  const Asked asked = asked_of(w);
  std::map<std::size_t, std::int64_t> more;  // by pod set
  for (const SlotPlacement& p : d.slots) {
    const auto s = static_cast<std::size_t>(p.pod_set);
    if (s >= specs.size() || w.active(s) < specs[s]->least_count()) continue;
    const std::int64_t place = w.active(s) + more[s]++;
    if (w.spec.priority + band_priority(*specs[s], place) < asked.priority)
      return fmt::format("somebody is ended also for slot {}/{}, which is worth less", s, p.index);
  }
  return "";
}

// The rank of what is taken, by its bands; and what they forbid. Asked before the slots are ended.
std::string Checker::bands_yield(const Decision& d, const WorkloadRecord& victim, const WorkloadRecord& to,
                                 Rank& rank, Coverage& coverage) const {
  const auto specs = pod_sets_of(victim.spec.root);
  const Asked asked = asked_of(to);
  if (to.grows() && !asked.declared) return "somebody is ended for surplus that no band declares";
  if (to.grows()) ++coverage["evict for the growth of a band"];
  bool first = true;
  for (const SlotPlacement& p : d.slots) {
    const auto s = static_cast<std::size_t>(p.pod_set);
    const auto i = static_cast<std::size_t>(p.index);
    if (s >= specs.size() || i >= victim.sets[s].size()) continue;  // a place that a revision took away
    const DemandBand* band = band_of(*specs[s], victim.place_of(s, i));
    Rank of_slot = ledger_.rank(victim);
    of_slot.second += band_priority(*specs[s], victim.place_of(s, i));
    rank = first ? of_slot : std::max(rank, of_slot);
    first = false;
    if (band == nullptr) continue;
    ++coverage["evict from a band"];
    if (band->protected_from_reclaim && victim.spec.queue != to.spec.queue)
      return fmt::format("slot {}/{} is in a protected band", s, i);
  }
  if (asked.within > 0) {
    ++coverage["evict within a bound"];
    if (victim.spec.restart.grace > asked.within)
      return fmt::format("it ends in {} ms, but its room is needed within {}", victim.spec.restart.grace,
                         asked.within);
  }
  return "";
}

// Asked before the victim's slots are ended. `rank` is that of what is taken.
std::string Checker::may_yield(const WorkloadRecord& victim, const Rank& rank,
                               const WorkloadRecord& to) const {
  if (!to.spec.may_preempt) return "its beneficiary never preempts";
  if (to.spec.preempts_after > 0 &&
      ledger_.now < std::max(to.spec.created, to.evicted) + to.spec.preempts_after)
    return "its beneficiary may not preempt yet";
  PreemptionPolicy policy;
  if (to.spec.queue.empty()) {
    policy.within = WithinQueue::kLowerPriority;  // work without a queue
  } else if (const auto it = ledger_.queues.find(to.spec.queue); it != ledger_.queues.end()) {
    policy = it->second.preemption;
  }
  const bool same_queue = victim.spec.queue == to.spec.queue;
  const Rank claimed{ledger_.rank(to).first,
                     ledger_.rank(to).second + asked_of(to).priority - to.spec.priority};
  const bool lower = rank < claimed;
  const bool newer = victim.spec.created > to.came();
  if (same_queue && policy.within == WithinQueue::kLaterInOrder) {
    static const Ordering kByCreation;
    const Ordering& ordering =
        to.spec.queue.empty() ? kByCreation : ledger_.queues.at(to.spec.queue).ordering;
    bool behind = true;  // by what changes with time: not known here
    const bool ages = ordering.limit() > 0;
    if (ordering.by == OrderBy::kCreation && !ages) behind = newer;
    if (ordering.by == OrderBy::kDuration && !ages) {
      const DurationMs theirs = victim.spec.expected_duration.value_or(kInt64Max);
      const DurationMs ours = to.spec.expected_duration.value_or(kInt64Max);
      behind = theirs > ours || (theirs == ours && (lower || (rank == claimed && newer)));
    }
    if (ordering.priority_first && rank != claimed) behind = lower;
    if (behind) return "";
    return fmt::format("{} does not stand behind {} in the order of queue {}", victim.spec.uid, to.spec.uid,
                       to.spec.queue);
  }
  if (same_queue) {
    const bool equal_newer = policy.within == WithinQueue::kLowerOrNewerEqual && rank == claimed && newer;
    if (policy.within == WithinQueue::kNever || (!lower && !equal_newer)) {
      return fmt::format(
          "the policy \"{}\" of queue {} does not let {} (priority {}) have its room (priority {})",
          enum_name(policy.within), to.spec.queue, to.spec.uid, claimed.second, rank.second);
    }
    return "";
  }
  if (policy.reclaim == Reclaim::kNever || (policy.reclaim == Reclaim::kLowerPriority && !lower)) {
    return fmt::format("the policy \"{}\" of queue {} does not let {} reclaim from it",
                       enum_name(policy.reclaim), to.spec.queue, to.spec.uid);
  }
  if (!ledger_.limited(victim.spec.queue) || !ledger_.limited(to.spec.queue))
    return "one of the queues has no quota";
  const auto ours = ledger_.chain(to.spec.queue);
  const auto theirs = ledger_.chain(victim.spec.queue);
  if (ours.back() != theirs.back()) return "the queues are of different trees";
  // Some pair that it uses and the other asks for is over quota in every queue from its own up to the common ancestor. Where only
  // quota is known Kueue's rule holds, which looks at each of these queues by itself: some pair that is asked for is over it.
  ResourceList asked;
  for (const PodSet* set : pod_sets_of(to.spec.root)) {
    const ResourceList total = set->pod.total().value();
    for (const auto& [resource, amount] : total) asked.set(resource, asked.get(resource) + amount);
  }
  const auto is_asked = [&](const FlavorResource& pair) {
    return asked.get(pair.second) != 0 || pair.second == "pods";
  };
  const auto over = [&](const std::string& queue, const FlavorResource& pair) {
    return ledger_.usage(queue, pair, When::kAfter) > ledger_.subtree_quota(queue, pair);
  };
  std::set<FlavorResource> contested;  // where only quota is known
  if (ledger_.may_look_for_quota_only(to)) {
    for (const auto& [uid, w] : ledger_.workloads) {
      for (const auto& set : w.sets) {
        for (const auto& slot : set) {
          for (const auto& [pair, amount] : slot.taken.charges) {
            if (is_asked(pair)) contested.insert(pair);
          }
        }
      }
    }
  }
  for (const auto& set : victim.sets) {
    for (const auto& slot : set) {
      if (!is_active(slot.state) && slot.state != SlotState::kHeld) continue;
      for (const auto& [pair, amount] : slot.taken.charges) {
        if (!is_asked(pair)) continue;
        bool borrowed = true;
        for (const std::string& queue : theirs) {
          if (std::count(ours.begin(), ours.end(), queue) > 0) break;
          if (shares(to.spec.queue) && queue != theirs.front()) break;  // above, any resource makes a share
          borrowed = borrowed && (over(queue, pair) ||
                                  std::any_of(contested.begin(), contested.end(),
                                              [&](const auto& other) { return over(queue, other); }));
        }
        if (borrowed) return "";
      }
    }
  }
  return fmt::format("it is protected: its queue {} does not run on borrowed quota", victim.spec.queue);
}

bool Checker::shares(const std::string& queue) const {
  const auto own = ledger_.queues.find(queue);
  if (own == ledger_.queues.end()) return false;
  const auto parent = ledger_.queues.find(own->second.parent);
  return parent != ledger_.queues.end() && parent->second.sharing == Sharing::kDominantShare;
}

// Whether the policy of the beneficiary's queue knows this cause, and the rank suits it.
std::string Checker::may_yield_so(const Rank& rank, const WorkloadRecord& to, ReasonCode cause) const {
  if (cause == ReasonCode::kReclaimedFairly && !shares(to.spec.queue))
    return "its beneficiary does not share by dominant shares";
  if (cause != ReasonCode::kReclaimedWhileBorrowing) return "";
  const PreemptionPolicy& policy = ledger_.queues.at(to.spec.queue).preemption;
  if (policy.borrow_within == BorrowWithin::kNever || shares(to.spec.queue))
    return "its beneficiary may not borrow by force";
  const Rank claimed{ledger_.rank(to).first,
                     ledger_.rank(to).second + asked_of(to).priority - to.spec.priority};
  if (!(rank < claimed)) return "it is not of lower priority than who borrows by force";
  if (policy.borrow_threshold && rank.first == 0 && rank.second > *policy.borrow_threshold)
    return fmt::format("its priority {} is above the threshold {}", rank.second, *policy.borrow_threshold);
  return "";
}

// Whether `w` may have overtaken a hold of `other` to borrow by force: for which of their bands is not known any more.
bool Checker::could_force(const WorkloadRecord& other, const WorkloadRecord& w) const {
  const PreemptionPolicy& policy = ledger_.queues.at(w.spec.queue).preemption;
  if (policy.borrow_within == BorrowWithin::kNever) return false;
  const auto rank = [&](const WorkloadRecord& of, bool highest) {
    std::int64_t band = 0;
    for (const PodSet* set : pod_sets_of(of.spec.root)) {
      for (const DemandBand& b : set->bands)
        band = highest ? std::max(band, b.priority) : std::min(band, b.priority);
    }
    Rank out = ledger_.rank(of);
    out.second += band;
    return out;
  };
  const Rank lowest = rank(other, false);
  const bool above = policy.borrow_threshold && lowest.first == 0 && lowest.second > *policy.borrow_threshold;
  return lowest < rank(w, true) && !above;
}

// Reclaiming work must not borrow itself: its side of the common ancestor stays within its own quota. Not where it takes its fair
// share, or may borrow by force; of a hold that is overtaken, its reason does not say which it was.
std::string Checker::check_reclaimer(const WorkloadRecord& w) const {
  const auto ours = ledger_.chain(w.spec.queue);
  for (const Yielded& victim : yielded_.at(w.spec.uid)) {
    const auto& other = ledger_.workloads.at(victim.workload);
    if (other.spec.queue == w.spec.queue || shares(w.spec.queue)) continue;
    if (victim.why == ReasonCode::kReclaimedWhileBorrowing) continue;
    if (victim.why == ReasonCode::kHoldOvertaken && could_force(other, w)) continue;
    const auto theirs = ledger_.chain(other.spec.queue);
    std::vector<std::string> sides;
    for (const std::string& queue : ours) {
      if (std::count(theirs.begin(), theirs.end(), queue) > 0) break;
      sides.push_back(queue);
    }
    // Where only quota is counted it is Kueue's rule: some part of the tree around it, short of the common ancestor, does.
    if (!ledger_.may_look_for_quota_only(w)) sides.erase(sides.begin(), std::prev(sides.end()));
    std::string wrong;
    for (const std::string& side : sides) {
      wrong = beyond_own_quota(w, side);
      if (wrong.empty()) break;
    }
    if (!wrong.empty()) return fmt::format("it reclaims from queue {}, but then {}", other.spec.queue, wrong);
  }
  return "";
}

// The part of its room beyond the queue's own quota, or "".
std::string Checker::beyond_own_quota(const WorkloadRecord& w, const std::string& queue) const {
  for (const auto& set : w.sets) {
    for (const auto& slot : set) {
      if (slot.state != SlotState::kHeld) continue;
      for (const auto& [pair, amount] : slot.taken.charges) {
        const std::int64_t use = ledger_.usage(queue, pair, When::kAfter);
        const std::int64_t quota = ledger_.subtree_quota(queue, pair);
        if (amount == 0 || use <= quota) continue;
        return fmt::format("{} uses {} of its own {} of {} in flavor {}", queue, use, quota, pair.second,
                           pair.first);
      }
    }
  }
  return "";
}

// With the holder's places as they are decided: could one of the victims have stayed where it was?
std::string Checker::check_minimal(const WorkloadRecord& holder, bool starts) {
  const auto& yielded = yielded_.at(holder.spec.uid);
  const auto of_hold = [](const Yielded& y) { return y.before.front().state == SlotState::kHeld; };
  for (const Yielded& victim : yielded) {
    const WorkloadRecord& record = ledger_.workloads.at(victim.workload);
    const bool all_ended = record.active() == 0;
    // With all that runs of a workload, what it held to grow ends too.
    const bool with_all =
        of_hold(victim) && all_ended && std::any_of(yielded.begin(), yielded.end(), [&](const Yielded& y) {
          return y.workload == victim.workload && !of_hold(y);
        });
    const bool holds_again =
        of_hold(victim) && std::any_of(victim.slots.begin(), victim.slots.end(), [&](const auto& of) {
          return record.sets[of.first][of.second].state != SlotState::kWaiting;
        });
    if (with_all || holds_again) continue;
    if (could_stay(holder, victim, starts)) {
      return fmt::format("{} gave way to it for nothing: both fit as they were placed", victim.workload);
    }
    // A hold ends as one, also that of what grows or is short of its least.
    if (all_ended || of_hold(victim)) continue;
    for (std::size_t k = 0; k < victim.slots.size(); ++k) {
      if (could_stay(holder, {victim.workload, {victim.slots[k]}, {victim.before[k]}}, starts)) {
        return fmt::format("slot {}/{} of {} gave way to it for nothing: both fit as they were placed",
                           victim.slots[k].first, victim.slots[k].second, victim.workload);
      }
    }
  }
  return "";
}

// An earlier decide() may have begun a part of the workload: that part stands.
bool Checker::came_now(const SlotRecord& slot) const {
  return (slot.state == SlotState::kHeld || slot.state == SlotState::kBinding) &&
         std::any_of(came_.begin(), came_.end(),
                     [&](const Ledger::Coming& one) { return one.slot == &slot; });
}

// Without its victims work may be the first of its kind, which may go anywhere. Beside them its slots come one after the other. To be
// near to each other alone is not enough, and each stays within its spreads when it comes.
bool Checker::come_in_some_order(const std::vector<Ledger::Coming>& coming, When when) {
  std::vector<std::pair<SlotRecord*, SlotRecord>> all;
  for (auto& [uid, w] : ledger_.workloads) {
    for (auto& set : w.sets) {
      for (SlotRecord& slot : set) {
        const auto is_it = [&](const Ledger::Coming& one) { return one.slot == &slot; };
        if (std::any_of(coming.begin(), coming.end(), is_it)) all.emplace_back(&slot, slot);
      }
    }
  }
  const auto near_to_those = [&](const Ledger::Coming& next, const std::vector<const SlotRecord*>& before) {
    for (auto& [slot, is] : all)
      *slot = std::count(before.begin(), before.end(), slot) > 0 ? is : SlotRecord{};
    const bool near = ledger_.term_trouble(*next.pod, next.node, when, next.slot, {}) != Ledger::kNotNear;
    for (auto& [slot, is] : all) *slot = is;
    return near;
  };
  return ledger_.spread_trouble(coming, {when, when, when == When::kNow}, near_to_those).empty();
}

// All that came in this round, and stays.
std::vector<Ledger::Coming> Checker::stayed() const {
  std::vector<Ledger::Coming> stay;
  std::copy_if(came_.begin(), came_.end(), std::back_inserter(stay), [](const Ledger::Coming& one) {
    return is_active(one.slot->state) || one.slot->state == SlotState::kHeld;
  });
  return stay;
}

bool Checker::could_stay(const WorkloadRecord& holder, const Yielded& victim, bool starts) {
  WorkloadRecord& v = ledger_.workloads.at(victim.workload);
  const bool borrows_without = !beyond_own_quota(holder, holder.spec.queue).empty();
  std::vector<SlotRecord> present;
  for (std::size_t k = 0; k < victim.slots.size(); ++k) {
    SlotRecord& slot = v.sets[victim.slots[k].first][victim.slots[k].second];
    present.push_back(slot);
    slot = victim.before[k];
    if (slot.state != SlotState::kHeld) slot.state = SlotState::kRunning;
  }
  bool fits = !over_somewhere(v, victim.slots) && !over_quota(v, victim.slots);
  // Where only quota is counted, a queue whose own work is evicted may reclaim more than otherwise, and a preemptor avoids
  // borrowing if it can.
  if (ledger_.may_look_for_quota_only(holder)) {
    const bool borrows_then = !beyond_own_quota(holder, holder.spec.queue).empty();
    if (!check_reclaimer(holder).empty() || (borrows_then && !borrows_without)) fits = false;
  }
  const auto holder_sets = pod_sets_of(holder.spec.root);
  std::vector<Ledger::Coming> coming;
  for (std::size_t s = 0; s < holder.sets.size(); ++s) {
    for (const auto& slot : holder.sets[s]) {
      if (slot.state != SlotState::kHeld && slot.state != SlotState::kBinding) continue;
      if (!slot.taken.opaque && came_now(slot))
        coming.push_back({&holder_sets[s]->pod, slot.taken.node, &slot});
      for (const auto& [pair, amount] : slot.taken.charges) {
        // Both are counted: over a limit anywhere on the holder's way up shows as less than nothing left.
        if (amount > 0 && ledger_.available(holder.spec.queue, pair, When::kAfter) < 0) fits = false;
        if (amount == 0) continue;
        const auto room = ledger_.lane_room(holder.spec.queue, holder.spec.lane, pair, When::kAfter);
        if (room && *room < 0) fits = false;
        const auto firm = ledger_.firm_room(holder.spec.queue, pair, When::kAfter);
        if (firm && !holder.spec.preemptible && firm->room < 0) fits = false;
        const auto path = ledger_.chain(holder.spec.queue);
        for (const std::string& queue : path) {
          if (ledger_.available(queue, pair, When::kAfter) < 0) fits = false;
        }
      }
    }
  }
  fits = fits && come_in_some_order(coming, When::kAfter);
  // A start comes beside the pods that there are: room that is held may never get its pods.
  fits = fits && (!starts || come_in_some_order(coming, When::kNow));
  // Other work of the round may be spread, or the first of its kind, by the end of the victim.
  const bool all_come = !fits || come_in_some_order(stayed(), When::kAfter);
  for (std::size_t k = 0; k < victim.slots.size(); ++k) {
    v.sets[victim.slots[k].first][victim.slots[k].second] = present[k];
  }
  return fits && (all_come || !come_in_some_order(stayed(), When::kAfter));
}

// A hold that came between them and ended in the same round is not told. So some may seem to have given way for nothing where their room
// is taken by the end of the round.
std::string Checker::still_needless() {
  for (const Needless& one : needless_) {
    const WorkloadRecord& holder = ledger_.workloads.at(one.holder);
    yielded_[one.holder] = one.yielded;
    if (auto wrong = check_minimal(holder, one.starts); !wrong.empty())
      return fmt::format("{}: {}", one.holder, wrong);
    yielded_.erase(one.holder);
  }
  return "";
}

// Other work of the same round may have the quota by now.
bool Checker::over_quota(const WorkloadRecord& w, const Slots& slots) const {
  return std::any_of(slots.begin(), slots.end(), [&](const auto& of) {
    const auto& charges = w.sets[of.first][of.second].taken.charges;
    return std::any_of(charges.begin(), charges.end(), [&](const auto& charge) {
      return charge.second > 0 && ledger_.available(w.spec.queue, charge.first, When::kAfter) < 0;
    });
  });
}

bool Checker::over_somewhere(const WorkloadRecord& w,
                             const std::vector<std::pair<std::size_t, std::size_t>>& slots) const {
  for (const auto& [s, i] : slots) {
    const Taken& taken = w.sets[s][i].taken;
    if (taken.opaque) continue;
    if (ledger_.port_holders(taken.node, taken.ports, When::kAfter) > 1) return true;
    const PodTemplate& pod = pod_sets_of(w.spec.root)[s]->pod;
    if (!ledger_.term_trouble(pod, taken.node, When::kAfter, &w.sets[s][i]).empty() ||
        !ledger_.spread_trouble({{&pod, taken.node, &w.sets[s][i]}}, {When::kAfter, When::kAfter, true})
             .empty())
      return true;
    ResourceList amounts = taken.amounts;
    for (const SharedVolume& volume : taken.mounts) amounts.set(Ledger::places_of(volume), 1);
    for (const auto& [resource, amount] : amounts) {
      if (amount > 0 &&
          ledger_.used(taken.node, resource, When::kAfter) > ledger_.capacity(taken.node, resource))
        return true;
    }
    for (const DeviceRequest& d : taken.devices) {
      // A node's devices are also counted together, as Kubernetes does: what runs on one that is not healthy any more takes the room
      // of a healthy one.
      std::int64_t first = 0;
      if (const DevicePool* pool = ledger_.pool(taken.node, d.resource, &first)) {
        std::int64_t used = 0;
        for (std::int64_t index = first; index < first + pool->count; ++index) {
          used += ledger_.device_used(taken.node, d.resource, index, When::kAfter);
        }
        if (used > 1000 * (pool->count - static_cast<std::int64_t>(pool->unhealthy.size()))) return true;
      }
      for (const std::int64_t index : taken.indices) {
        if (ledger_.device_used(taken.node, d.resource, index, When::kAfter) > 1000) return true;
      }
    }
    // Where it is only known how many devices are used, and not which, it is unknown whether it could have stayed.
    if (!taken.indices_known && !taken.devices.empty()) return true;
  }
  return false;
}

}  // namespace berth::property

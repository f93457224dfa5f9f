// Invariant 9: what one decide() decides is net, and what is within its own queue's quota goes before what borrows.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "property/checker.h"

namespace berth::property {
namespace {

// It may have its place by other pods: by one that it must be near to, or that lets it be spread.
bool leans(const PodTemplate& pod) {
  return std::any_of(pod.terms.begin(), pod.terms.end(),
                     [](const CountedTerm& term) { return term.kind != TermKind::kApart; });
}

}  // namespace

// No workload starts and ends, gets a hold and ends, or gets a hold and starts. A hold of before may end, and its holder start elsewhere.
std::string Checker::check_net(const std::vector<Decision>& decisions) {
  std::map<std::string, std::set<DecisionKind>> kinds;
  for (const Decision& d : decisions) {
    if (d.kind == DecisionKind::kHold && kinds[d.workload].count(d.kind) > 0)
      return fmt::format("{} gets two holds in one decision", d.workload);
    kinds[d.workload].insert(d.kind);
  }
  for (const auto& [uid, all] : kinds) {
    const auto both = [&, &of = all](DecisionKind a, DecisionKind b) {
      return of.count(a) + of.count(b) > 1;
    };
    if (both(DecisionKind::kStart, DecisionKind::kEvict))
      return fmt::format("{} starts and is evicted in one decision", uid);
    if (both(DecisionKind::kHold, DecisionKind::kEvict))
      return fmt::format("{} gets a hold and is evicted in one decision", uid);
    if (both(DecisionKind::kHold, DecisionKind::kStart))
      return fmt::format("{} gets a hold and starts in one decision", uid);
  }
  return "";
}

// For one pod in one flavor of each group, the certain cases: it may start within its own queue's quota.
std::vector<Checker::Own> Checker::flavors_within_own(const WorkloadRecord& w) const {
  const Queue& queue = ledger_.queues.at(w.spec.queue);
  const PodSet& set = *pod_sets_of(w.spec.root).front();
  std::vector<Own> out;
  for (const std::string& flavor : queue.groups.front().flavors) {
    std::vector<std::string> names{flavor};
    std::vector<FlavorChoice> chosen;
    for (std::size_t g = 0; g < queue.groups.size(); ++g) {
      if (g > 0) names.push_back(queue.groups[g].flavors.front());
      for (const std::string& resource : queue.groups[g].resources)
        chosen.push_back({0, resource, names.back()});
    }
    std::string why_not;
    const Taken one = ledger_.taken(w, set, 0, chosen, why_not);
    if (!why_not.empty() || one.charges.empty()) continue;
    if (std::any_of(names.begin(), names.end(), [&](const std::string& name) {
          return ledger_.flavors.count(name) == 0 || !ledger_.flavor_suits(set.pod, name);
        }))
      continue;
    if (std::all_of(one.charges.begin(), one.charges.end(), [&](const auto& charge) {
          return ledger_.usage(w.spec.queue, charge.first, When::kAfter) + charge.second <=
                 ledger_.subtree_quota(w.spec.queue, charge.first);
        }))
      out.push_back({names, {}});
    else
      continue;
    for (const auto& [pair, amount] : one.charges) {
      if (amount > 0) out.back().pairs.push_back(pair);
    }
  }
  return out;
}

bool Checker::could_start_now(const std::string& uid, const std::vector<std::string>& flavors) const {
  const WorkloadRecord& w = ledger_.workloads.at(uid);
  const PodTemplate& pod = pod_sets_of(w.spec.root).front()->pod;
  if (!ledger_.has_quota(uid, 0, 1, flavors)) return false;
  if (ledger_.is_opaque(w.spec.queue)) return true;
  return std::any_of(ledger_.nodes.begin(), ledger_.nodes.end(), [&](const auto& entry) {
    return ledger_.static_trouble(pod, flavors, entry.second).empty() &&
           ledger_.room_is_known(pod, entry.first) && ledger_.slots_that_fit(pod, entry.first) > 0 &&
           ledger_.term_trouble(pod, entry.first, When::kNow, nullptr).empty() &&
           ledger_.term_trouble(pod, entry.first, When::kAfter, nullptr).empty() &&
           ledger_.spread_trouble({{&pod, entry.first, nullptr}}, {When::kNow, When::kNow, true}).empty() &&
           ledger_.spread_trouble({{&pod, entry.first, nullptr}}, {When::kAfter, When::kNow, false}).empty();
  });
}

// With its slots placed: which queues use more than their own quota of what these take?
Checker::Began Checker::beyond_own(const WorkloadRecord& w, const Slots& slots) const {
  Began began{slots, {}, false};
  for (const auto& [set, index] : slots) {
    for (const auto& [pair, amount] : w.sets[set][index].taken.charges) {
      for (const std::string& queue : ledger_.chain(w.spec.queue)) {
        if (amount > 0 && ledger_.usage(queue, pair, When::kAfter) > ledger_.subtree_quota(queue, pair))
          began.beyond.emplace(queue, pair);
      }
    }
  }
  return began;
}

// The queues that slots take beyond their own quota, also if these others had not come.
Checker::Began Checker::beyond_own_without(const WorkloadRecord& w, const Slots& slots,
                                           const std::map<std::string, Slots>& others) {
  std::vector<std::pair<SlotRecord*, SlotRecord>> away;
  for (const auto& [uid, of] : others) {
    const auto known = ledger_.workloads.find(uid);
    if (known == ledger_.workloads.end()) continue;
    for (const auto& [set, index] : of) {
      SlotRecord& slot = known->second.sets[set][index];
      away.emplace_back(&slot, std::exchange(slot, SlotRecord{}));
    }
  }
  Began began = beyond_own(w, slots);
  for (auto& [slot, was] : away) *slot = std::move(was);
  return began;
}

// Growth is told with the start that it joins, and may have come behind starts that are told behind both. So a start borrows for certain
// only if it does without the growth that is told before it.
void Checker::note_beyond_own(const Decision& d, const WorkloadRecord& w) {
  if (!ledger_.limited(w.spec.queue)) return;
  Slots slots;
  for (const SlotPlacement& p : d.slots) slots.emplace_back(p.pod_set, p.index);
  const Began began = beyond_own_without(w, slots, growth_);
  std::map<std::string, Slots> growth = growth_;
  const Slots surplus = surplus_of(w, slots);
  growth[d.workload].insert(growth[d.workload].end(), surplus.begin(), surplus.end());
  const bool least_borrows = !beyond_own_without(w, slots, growth).beyond.empty();
  growth_ = std::move(growth);
  if (began.beyond.empty()) return;
  Began& all = began_[d.workload];
  all.slots.insert(all.slots.end(), began.slots.begin(), began.slots.end());
  all.beyond.insert(began.beyond.begin(), began.beyond.end());
  all.least_borrows = all.least_borrows || least_borrows;
}

// Whether what started of it in this round runs on borrowed quota of what is asked for there, that it has from the queue's side.
bool Checker::borrows_beside(const std::string& uid, const std::string& queue, const Own& own) const {
  const WorkloadRecord& s = ledger_.workloads.at(uid);
  if (!ledger_.limited(s.spec.queue)) return false;
  const auto ours = ledger_.chain(queue);
  const auto theirs = ledger_.chain(s.spec.queue);
  if (s.spec.queue == queue || ours.back() != theirs.back()) return false;
  const Began& began = began_.at(uid);
  for (const auto& [set, index] : began.slots) {
    for (const auto& [pair, amount] : s.sets[set][index].taken.charges) {
      bool borrowed = amount > 0 && std::count(own.pairs.begin(), own.pairs.end(), pair) > 0;
      for (const std::string& at : theirs) {
        if (std::count(ours.begin(), ours.end(), at) > 0) break;
        borrowed = borrowed && began.beyond.count({at, pair}) > 0 &&
                   ledger_.usage(at, pair, When::kAfter) > ledger_.subtree_quota(at, pair);
      }
      if (borrowed) return true;
    }
  }
  return false;
}

// Those of `began` that its pod sets have beyond their least counts, the last ones to begin.
Checker::Slots Checker::surplus_of(const WorkloadRecord& w, const Slots& began) const {
  const auto sets = pod_sets_of(w.spec.root);
  std::map<std::size_t, std::int64_t> spare;
  for (std::size_t set = 0; set < sets.size(); ++set)
    spare[set] = started_slots(w, set, true) - sets[set]->least_count();
  Slots out;
  for (auto slot = began.rbegin(); slot != began.rend(); ++slot) {
    if (spare[slot->first]-- > 0) out.push_back(*slot);
  }
  return out;
}

// Whether it is so for some work of the queue, which is strict.
template <class Pred>
bool any_in_strict(const Ledger& ledger, const std::string& queue, const Pred& pred) {
  const auto it = ledger.queues.find(queue);
  if (it == ledger.queues.end() || it->second.order != QueueOrder::kStrict) return false;
  return std::any_of(ledger.workloads.begin(), ledger.workloads.end(), [&](const auto& entry) {
    return entry.second.spec.queue == queue && pred(entry.first, entry.second);
  });
}

// Whether something started in this round in the strict queue that may have its place by what started beside it. It stands in front,
// and goes with that.
bool Checker::behind_what_leans(const std::string& queue) const {
  return any_in_strict(ledger_, queue, [&](const std::string&, const WorkloadRecord& w) {
    const auto sets = pod_sets_of(w.spec.root);
    for (std::size_t s = 0; s < sets.size(); ++s) {
      if (leans(sets[s]->pod) && std::any_of(w.sets[s].begin(), w.sets[s].end(),
                                             [&](const SlotRecord& slot) { return came_now(slot); }))
        return true;
    }
    return false;
  });
}

// Whether some work of the strict queue waits in a limit, and lets others pass. With less in the limit it may stand in front again.
bool Checker::behind_what_is_limited(const engine::Engine& engine, const std::string& queue) const {
  return any_in_strict(ledger_, queue, [&](const std::string& uid, const WorkloadRecord& w) {
    if (w.count(SlotState::kWaiting) == 0) return false;
    const auto verdict = engine.verdict(uid);
    return verdict && (contains(verdict->reason, ReasonCode::kLaneLimit) ||
                       contains(verdict->reason, ReasonCode::kFirmLimit));
  });
}

// No work of one pod waits that would start within its own queue's quota if something had not started in this round on borrowed
// quota.
std::string Checker::check_own_first(const engine::Engine& engine, Coverage& coverage) {
  if (engine.next_time() <= ledger_.now + 1) return "";  // a workload is to be tried again at once
  for (const auto& [uid, w] : ledger_.workloads) {
    if (began_.empty()) return "";
    const auto sets = pod_sets_of(w.spec.root);
    const bool simple = sets.size() == 1 && sets[0]->count == 1 && w.spec.root.groups.empty() &&
                        w.spec.root.topology == TopologyRequest{} && sets[0]->pod.awaited_flavors.empty() &&
                        sets[0]->pod.unsupported.empty();
    // A pod that it must be near to, or that lets it be spread, may have started behind the borrower.
    if (simple && leans(sets[0]->pod)) continue;
    if (w.active() > 0) continue;  // it has its least: growth waits for free room
    if (!simple || w.count(SlotState::kWaiting) != 1 || !ledger_.limited(w.spec.queue)) continue;
    if (!w.spec.active || w.withdrawn || !ledger_.queue_trouble(w).empty()) continue;
    const auto verdict = engine.verdict(uid);
    if (!verdict || verdict->kind != VerdictKind::kBlocked) continue;
    bool other_cause =
        !contains(verdict->reason, ReasonCode::kQuota) && !contains(verdict->reason, ReasonCode::kNodes);
    for (const ReasonCode code :
         {ReasonCode::kSearchBudget, ReasonCode::kQuotaKept, ReasonCode::kReserved, ReasonCode::kBehindHead})
      other_cause = other_cause || contains(verdict->reason, code);
    if (other_cause) continue;
    const auto own = flavors_within_own(w);
    if (own.empty() || behind_what_leans(w.spec.queue) || behind_what_is_limited(engine, w.spec.queue))
      continue;
    for (const auto& [borrower, began] : began_) {
      const auto borrows = [&, &name = borrower, &queue = w.spec.queue](const Own& one) {
        return borrows_beside(name, queue, one);
      };
      std::vector<Own> beside;
      std::copy_if(own.begin(), own.end(), std::back_inserter(beside), borrows);
      if (beside.empty()) continue;
      ++coverage["waits within its own quota beside a new borrower"];
      WorkloadRecord& s = ledger_.workloads.at(borrower);
      std::vector<SlotRecord> before;
      const auto take_away = [&](const Slots& slots) {
        for (const auto& [set, index] : slots)
          before.push_back(std::exchange(s.sets[set][index], SlotRecord{}));
      };
      const auto put_back = [&](const Slots& slots) {
        for (std::size_t k = 0; k < slots.size(); ++k) s.sets[slots[k].first][slots[k].second] = before[k];
        before.clear();
      };
      // Where its least counts were within its own quota, it borrows for its surplus alone. So much of that as is borrowed stands
      // behind.
      const auto still_borrows = [&] { return std::any_of(beside.begin(), beside.end(), borrows); };
      Slots slots;
      for (const auto& slot : surplus_of(s, began.slots)) {
        if (!still_borrows()) break;
        slots.push_back(slot);
        take_away({slot});
      }
      if (still_borrows() && began.least_borrows) {
        put_back(slots);
        slots = began.slots;
        take_away(slots);
      }
      const bool fits = std::any_of(beside.begin(), beside.end(), [&, &id = uid](const Own& one) {
        return could_start_now(id, one.flavors);
      });
      put_back(slots);
      if (!fits) continue;
      return fmt::format(
          "{} waits within the quota of its queue {}, and {} started on borrowed quota where it fits: {}",
          uid, w.spec.queue, borrower, to_text(verdict->reason));
    }
  }
  return "";
}

}  // namespace berth::property

#include "engine/preempt/victims.h"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "engine/order/standing.h"
#include "engine/preempt/cost.h"

namespace berth::engine {
namespace {

constexpr std::size_t kMostDomains = 32;
constexpr std::size_t kFirstPrefix = 512;  // victims taken in plain order before the node-wise order is tried

bool occupies(const Slot& slot) {
  return slot.state == SlotState::kBinding || slot.state == SlotState::kRunning ||
         slot.state == SlotState::kHeld;
}

}  // namespace

VictimSearch::VictimSearch(State& state, WorkloadId preemptor, std::int64_t& steps)
    : state_(state), id_(preemptor), w_(state.workloads[preemptor.index()]), steps_(steps) {}

// Without a look at any candidate: is there anybody whom the policy could touch?
bool VictimSearch::could_help() const {
  const QueueState& q = state_.queues[w_.queue.index()];
  const PreemptionPolicy policy = q.spec.preemption;
  if (!w_.may_preempt) return false;
  if (!state_.holders.empty()) return true;
  if (policy.within == WithinQueue::kLaterInOrder && !q.started.empty()) return true;
  if (policy.within != WithinQueue::kNever && !q.priorities.empty()) {
    const std::int64_t lowest = q.priorities.begin()->first;
    if (lowest < w_.priority || (policy.within == WithinQueue::kLowerOrNewerEqual && lowest == w_.priority))
      return true;
  }
  return policy.reclaim != Reclaim::kNever && !q.spec.unlimited && state_.quota.parent(w_.queue).valid();
}

// The child of the lowest common ancestor on our side; none where the other queue lies below ours.
QueueId VictimSearch::side_towards(QueueId other) const {
  const QuotaTree& quota = state_.quota;
  std::vector<QueueId> theirs;
  for (QueueId at = other; at.valid(); at = quota.parent(at)) theirs.push_back(at);
  const auto common = [&](QueueId q) { return std::find(theirs.begin(), theirs.end(), q) != theirs.end(); };
  if (common(w_.queue)) return {};
  QueueId side = w_.queue;
  while (quota.parent(side).valid() && !common(quota.parent(side))) side = quota.parent(side);
  return side;
}

// The preemptor's side of the common ancestor stays within its own quota; the victim's side is checked when it is taken.
bool VictimSearch::reclaim_allowed(QueueId victim_queue) const {
  const QuotaTree& quota = state_.quota;
  if (victim_queue == w_.queue || quota.root(victim_queue) != quota.root(w_.queue)) return false;
  const QueueId side = side_towards(victim_queue);
  if (!side.valid()) return false;
  return std::all_of(needs_.begin(), needs_.end(), [&](const QuotaItem& item) {
    return saturating_add(quota.usage(side, item.pair, kAfter), item.amount) <=
           quota.subtree(side, item.pair);
  });
}

bool VictimSearch::still_borrows(QueueId victim_queue, const WorkloadState& victim) const {
  const QuotaTree& quota = state_.quota;
  std::vector<QueueId> ours;
  for (QueueId at = w_.queue; at.valid(); at = quota.parent(at)) ours.push_back(at);
  const auto common = [&](QueueId q) { return std::find(ours.begin(), ours.end(), q) != ours.end(); };
  for (const auto& set : victim.sets) {
    for (const auto& slot : set.slots) {
      if (!occupies(slot)) continue;
      for (const QuotaItem& item : state_.charges[slot.charge].quota) {
        const bool needed = std::any_of(needs_.begin(), needs_.end(),
                                        [&](const QuotaItem& n) { return n.pair == item.pair; });
        if (!needed) continue;
        bool all = true;
        for (QueueId at = victim_queue; at.valid() && !common(at); at = quota.parent(at)) {
          all = all && quota.borrows(at, item.pair);
        }
        if (all) return true;
      }
    }
  }
  return false;
}

void VictimSearch::collect() {
  const QueueState& mine = state_.queues[w_.queue.index()];
  const PreemptionPolicy policy = mine.spec.preemption;
  const auto relevant = [&](const WorkloadState& v) {
    for (const auto& set : v.sets) {
      for (const auto& slot : set.slots) {
        if (!occupies(slot)) continue;
        for (const QuotaItem& item : state_.charges[slot.charge].quota) {
          if (std::any_of(needs_.begin(), needs_.end(),
                          [&](const QuotaItem& n) { return n.pair == item.pair; }))
            return true;
        }
        for (const ShapeId shape : shapes_) {
          if (state_.index(shape, Mode::kPlan).eligible(slot.node)) return true;
        }
      }
    }
    return false;
  };
  const auto offer = [&](WorkloadId id, bool reclaim, bool holder) {
    const WorkloadState& v = state_.workloads[id.index()];
    --steps_;
    if (id == id_ || v.withdraw || (!holder && !v.preemptible) || !relevant(v)) return;
    if (!holder && !policy.ignores_minimum_runtime) {
      const TimeMs until = yields_from(state_, v);
      if (until > state_.now) {
        more_at_ = std::min(more_at_, until);
        return;
      }
    }
    candidates_.push_back({id, reclaim, holder, v.priority, holder ? 0 : victim_cost(state_, v, state_.now),
                           v.started, v.arrival,
                           policy.victims == VictimOrder::kLatestInOrder ? standing(state_, v) : 0});
  };
  const auto within_ok = [&](const WorkloadState& v) {
    if (policy.within == WithinQueue::kNever) return false;
    if (policy.within == WithinQueue::kLaterInOrder) {
      if (stands_behind(state_, v, w_)) return true;
      more_at_ = std::min(more_at_, stands_behind_at(state_, v, w_));
      return false;
    }
    if (v.priority < w_.priority) return true;
    return policy.within == WithinQueue::kLowerOrNewerEqual && v.priority == w_.priority &&
           std::tie(v.created, v.arrival) > std::tie(w_.created, w_.arrival);
  };
  for (const WorkloadId id : mine.started) {
    const WorkloadState& v = state_.workloads[id.index()];
    if (v.held() == 0 && within_ok(v)) offer(id, false, false);
  }
  std::map<QueueId, bool> may_reclaim;
  const auto queue_ok = [&](QueueId queue) {
    const auto [it, fresh] = may_reclaim.try_emplace(queue, false);
    if (fresh) it->second = reclaim_allowed(queue);
    return it->second;
  };
  const auto reclaim_ok = [&](const WorkloadState& v) {
    if (policy.reclaim == Reclaim::kNever || mine.spec.unlimited) return false;
    if (policy.reclaim == Reclaim::kLowerPriority && v.priority >= w_.priority) return false;
    return queue_ok(v.queue);
  };
  if (policy.reclaim != Reclaim::kNever && !mine.spec.unlimited) {
    for (std::size_t q = 0; q < state_.queues.size(); ++q) {
      if (QueueId(q) == w_.queue || state_.queues[q].started.empty()) continue;
      if (state_.queues[q].spec.unlimited || !queue_ok(QueueId(q))) continue;
      for (const WorkloadId id : state_.queues[q].started) {
        const WorkloadState& v = state_.workloads[id.index()];
        if (v.held() == 0 && reclaim_ok(v)) offer(id, true, false);
      }
    }
  }
  for (const auto& [order, id] : state_.holders) {
    const WorkloadState& v = state_.workloads[id.index()];
    if (v.running() > 0) continue;  // grows: its running part is no hold
    if (v.queue == w_.queue ? within_ok(v) : reclaim_ok(v)) offer(id, v.queue != w_.queue, true);
  }
  const VictimOrder order = policy.victims;
  const auto key = [order](const Candidate& c) {
    const std::int64_t priority = order == VictimOrder::kYoungestFirst ? 0 : c.priority;
    const bool by_cost = order == VictimOrder::kCost || order == VictimOrder::kLatestInOrder;
    return std::make_tuple(!c.holder, priority, ~c.standing, by_cost ? c.cost : 0, -c.started, ~c.arrival);
  };
  std::sort(candidates_.begin(), candidates_.end(),
            [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
}

// sign -1 frees the candidate's room on the after plane; +1 gives it back.
void VictimSearch::free(const Candidate& c, int sign) {
  const WorkloadState& v = state_.workloads[c.workload.index()];
  for (const auto& set : v.sets) {
    for (const auto& slot : set.slots) {
      if (occupies(slot)) state_.try_charge(v.queue, slot.charge, slot.node, slot.devices, kAfterBit, sign);
    }
  }
}

bool VictimSearch::fits(std::vector<PlacedSlot>* placed) {
  --steps_;
  Placer placer(state_, id_, Mode::kPlan, steps_, rank_);
  if (!placer.may_fit()) return false;
  const std::size_t mark = state_.mark();
  if (!placer.run()) return false;
  if (placed != nullptr) {
    *placed = placer.placed();
  } else {
    state_.rollback(mark);
  }
  return true;
}

std::optional<VictimSearch::Sequence> VictimSearch::take(const Sequence& sequence, std::size_t most) {
  const std::size_t start = state_.mark();
  Sequence taken;
  bool found = false;
  for (const std::uint32_t i : sequence) {
    if (steps_ < 0 || taken.size() >= most) break;
    const Candidate& c = candidates_[i];
    const WorkloadState& v = state_.workloads[c.workload.index()];
    if (c.reclaim && !still_borrows(v.queue, v)) continue;
    free(c, -1);
    taken.push_back(i);
    if (fits(nullptr)) {
      found = true;
      break;
    }
  }
  if (found) {
    Sequence kept;
    for (std::size_t i = taken.size(); i-- > 0;) {
      const Candidate& c = candidates_[taken[i]];
      if (steps_ > 0) {
        free(c, +1);
        if (fits(nullptr)) continue;
        free(c, -1);
      }
      kept.push_back(taken[i]);
    }
    std::reverse(kept.begin(), kept.end());
    // Whether all of them are needed was not found out within the bound: nobody is ended on a guess.
    if (steps_ <= 0) {
      steps_ = -1;
      found = false;
    }
    taken = std::move(kept);
  }
  state_.rollback(start);
  if (!found) return std::nullopt;
  return taken;
}

// Candidates node by node, the node first whose next slot costs least.
VictimSearch::Sequence VictimSearch::by_node(const Sequence& among) {
  std::map<NodeId, Sequence> on_node;
  for (const std::uint32_t i : among) {
    const WorkloadState& v = state_.workloads[candidates_[i].workload.index()];
    for (const auto& set : v.sets) {
      for (const auto& slot : set.slots) {
        if (!occupies(slot)) continue;
        auto& list = on_node[slot.node];
        if (list.empty() || list.back() != i) list.push_back(i);
      }
    }
  }
  struct Priced {
    std::int64_t priority = 0;
    std::int64_t cost = 0;
    NodeId node;
    Sequence victims;
  };
  std::vector<Priced> nodes;
  for (const ShapeId shape_id : shapes_) {
    const Shape& shape = state_.shapes[shape_id].shape;
    for (const auto& [node, list] : on_node) {
      if (!state_.index(shape_id, Mode::kPlan).eligible(node)) continue;
      const std::size_t mark = state_.mark();
      const std::int64_t before = state_.nodes.fit_by_room(node, shape, Mode::kPlan);
      Priced priced{kInt64Min, 0, node, {}};
      bool gained = false;
      for (const std::uint32_t i : list) {
        --steps_;
        const WorkloadState& v = state_.workloads[candidates_[i].workload.index()];
        for (const auto& set : v.sets) {
          for (const auto& slot : set.slots) {
            if (occupies(slot) && slot.node == node) {
              state_.try_charge(v.queue, slot.charge, node, slot.devices, kAfterBit, -1);
            }
          }
        }
        priced.victims.push_back(i);
        priced.priority =
            std::max(priced.priority, candidates_[i].holder ? kInt64Min : candidates_[i].priority);
        priced.cost = saturating_add(priced.cost, candidates_[i].cost);
        if (state_.nodes.fit_by_room(node, shape, Mode::kPlan) > before) {
          gained = true;
          break;
        }
      }
      state_.rollback(mark);
      if (gained) nodes.push_back(std::move(priced));
    }
  }
  std::sort(nodes.begin(), nodes.end(), [](const Priced& a, const Priced& b) {
    return std::tie(a.priority, a.cost, a.node) < std::tie(b.priority, b.cost, b.node);
  });
  Sequence out;
  std::vector<std::uint8_t> seen(candidates_.size(), 0);
  for (const Priced& priced : nodes) {
    for (const std::uint32_t i : priced.victims) {
      if (seen[i] != 0) continue;
      seen[i] = 1;
      out.push_back(i);
    }
  }
  return out;
}

VictimSearch::Sequence VictimSearch::within_domain(DomainId domain) const {
  const std::uint32_t level = state_.nodes.domain(domain).level;
  Sequence out;
  for (std::uint32_t i = 0; i < candidates_.size(); ++i) {
    const WorkloadState& v = state_.workloads[candidates_[i].workload.index()];
    const bool inside = std::any_of(v.sets.begin(), v.sets.end(), [&](const PodSetState& set) {
      return std::any_of(set.slots.begin(), set.slots.end(), [&](const Slot& slot) {
        return occupies(slot) && state_.nodes.domain_of(slot.node, level) == domain;
      });
    });
    if (inside) out.push_back(i);
  }
  return out;
}

bool VictimSearch::better(const Sequence& a, const Sequence& b) const {
  const auto worth = [&](const Sequence& s) {
    std::int64_t priority = kInt64Min;
    std::int64_t cost = 0;
    std::int64_t evicted = 0;
    for (const std::uint32_t i : s) {
      if (!candidates_[i].holder) {
        priority = std::max(priority, candidates_[i].priority);
        ++evicted;
      }
      cost = saturating_add(cost, candidates_[i].cost);
    }
    return std::make_tuple(priority, cost, evicted, s.size());
  };
  return worth(a) < worth(b);
}

void VictimSearch::consider(std::optional<Sequence> found) {
  if (found && (!best_ || better(*found, *best_))) best_ = std::move(found);
}

std::optional<VictimPlan> VictimSearch::run() {
  const PreemptionPolicy policy = state_.queues[w_.queue.index()].spec.preemption;
  why_not_ = {ReasonCode::kNoVictims, "", "", 0, 0, 0, {}};
  why_not_.detail = w_.may_preempt ? fmt::format("within its queue: {}, from other queues: {}",
                                                 enum_name(policy.within), enum_name(policy.reclaim))
                                   : "its pods never preempt";
  if (!could_help()) return std::nullopt;
  ++state_.stats.victim_searches;
  std::size_t ranks = 1;
  for (const auto& set : w_.sets) ranks = std::max(ranks, state_.choices(set).size());
  for (std::size_t rank = 0; rank < ranks && steps_ >= 0; ++rank) {
    if (auto plan = run_rank(static_cast<int>(rank))) return plan;
  }
  if (steps_ < 0) why_not_ = {ReasonCode::kSearchBudget, "", "", 0, 0, 0, {}};
  if (more_at_ != kEndOfTime) why_not_.detail += "; some may have to yield later";
  return std::nullopt;
}

std::optional<VictimPlan> VictimSearch::run_rank(int rank) {
  rank_ = rank;
  needs_.clear();
  shapes_.clear();
  candidates_.clear();
  best_.reset();
  std::map<FlavorResource, std::int64_t> needs;
  for (const auto& set : w_.sets) {
    const std::int64_t least = std::max<std::int64_t>(0, set.least - set.active);
    const std::vector<ChargeId> choices = state_.choices(set);
    if (choices.empty()) continue;
    const Charge& c = state_.charges[choices[std::min(static_cast<std::size_t>(rank), choices.size() - 1)]];
    if (std::find(shapes_.begin(), shapes_.end(), c.shape) == shapes_.end()) shapes_.push_back(c.shape);
    for (const QuotaItem& item : c.quota) {
      auto& need = needs[item.pair];
      need = saturating_add(
          need, saturating_mul(item.amount, std::max<std::int64_t>(least, w_.sets.size() == 1 ? 1 : 0)));
    }
  }
  for (const auto& [pair, amount] : needs) needs_.push_back({pair, amount});

  collect();
  if (candidates_.empty()) return std::nullopt;
  Sequence all(candidates_.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;

  const bool by_cost = state_.queues[w_.queue.index()].spec.preemption.victims == VictimOrder::kCost;
  const std::string& required = state_.structures[w_.structure].groups[0].topology.required;
  const auto level = required.empty() ? std::nullopt : state_.nodes.level_of(required);
  if (level) {
    std::size_t tried = 0;
    for (const DomainId domain : state_.nodes.levels()[*level].domains) {
      const Sequence inside = within_domain(domain);
      if (inside.empty() || steps_ < 0 || ++tried > kMostDomains) continue;
      consider(take(inside, kFirstPrefix));
      if (by_cost && inside.size() > 1) consider(take(by_node(inside), inside.size()));
    }
  } else {
    consider(take(all, kFirstPrefix));
    // One victim of least rank and cost cannot be beaten by another order, several may be.
    if (by_cost && (!best_ || best_->size() > 1)) consider(take(by_node(all), all.size()));
  }
  if (!best_ && steps_ >= 0) consider(take(all, all.size()));
  if (!best_) return std::nullopt;

  VictimPlan plan;
  for (const std::uint32_t i : *best_) {
    const Candidate& c = candidates_[i];
    free(c, -1);
    plan.victims.push_back({c.workload, c.reclaim, c.holder, c.cost,
                            c.reclaim ? ReasonCode::kReclaimed : ReasonCode::kPreempted});
  }
  steps_ = std::max<std::int64_t>(steps_,
                                  100'000);  // the plan is known to fit: it must not fail for lack of steps
  // What is reclaimed may only serve quota that is the preemptor's own, also with the surplus that fits beyond the least.
  if (!fits(&plan.placed) || !own_quota_suffices(plan)) {
    state_.rollback(0);
    return std::nullopt;
  }
  keep_only_needed(plan, *best_);
  return plan;
}

// The search asks whether a fit can be found without a victim, and finds fits greedily. With the places as they are now,
// some victim may stay after all: then it does.
void VictimSearch::keep_only_needed(VictimPlan& plan, const Sequence& victims) {
  for (std::size_t i = plan.victims.size(); i-- > 0;) {
    const Candidate& c = candidates_[victims[i]];
    free(c, +1);
    if (fits_beside(plan, state_.workloads[c.workload.index()])) {
      plan.victims.erase(plan.victims.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      free(c, -1);
    }
  }
}

// With both charged: is no node of the victim, and no queue on the preemptor's way up, beyond what it has?
bool VictimSearch::fits_beside(const VictimPlan& plan, const WorkloadState& victim) const {
  for (const auto& set : victim.sets) {
    for (const auto& slot : set.slots) {
      if (!occupies(slot)) continue;
      const Shape& shape = state_.shape_of(slot.charge);
      for (const auto& a : shape.amounts) {
        if (state_.nodes.account(slot.node, a.resource).free(Mode::kPlan) < 0) return false;
      }
      const auto& record = state_.nodes.record(slot.node);
      for (std::uint64_t rest = slot.devices; rest != 0; rest &= rest - 1) {
        const auto& device = record.devices[static_cast<std::size_t>(std::countr_zero(rest))];
        if (device.account.free(Mode::kPlan) < 0) return false;
      }
    }
  }
  for (const PlacedSlot& p : plan.placed) {
    for (const QuotaItem& item : state_.charges[p.charge].quota) {
      for (QueueId at = w_.queue; at.valid(); at = state_.quota.parent(at)) {
        if (item.amount > 0 && state_.quota.available(at, item.pair, kAfter) < 0) return false;
      }
    }
  }
  return true;
}

// With the places charged, does our side of the tree still stay within its own quota wherever something was reclaimed?
// Slots beyond the least count are given back until it does.
bool VictimSearch::own_quota_suffices(VictimPlan& plan) {
  const auto within = [&] {
    return std::all_of(plan.victims.begin(), plan.victims.end(), [&](const VictimPlan::Victim& v) {
      if (!v.reclaim) return true;
      const QueueId side = side_towards(state_.workloads[v.workload.index()].queue);
      return std::all_of(needs_.begin(), needs_.end(), [&](const QuotaItem& item) {
        return state_.quota.usage(side, item.pair, kAfter) <= state_.quota.subtree(side, item.pair);
      });
    });
  };
  std::vector<std::int64_t> spare(w_.sets.size());
  for (const PlacedSlot& p : plan.placed) ++spare[p.set];
  for (std::size_t s = 0; s < spare.size(); ++s) {
    spare[s] -= std::max<std::int64_t>(w_.sets.size() == 1 ? 1 : 0, w_.sets[s].least - w_.sets[s].active);
  }
  while (!within()) {
    const auto surplus = std::find_if(plan.placed.rbegin(), plan.placed.rend(),
                                      [&](const PlacedSlot& p) { return spare[p.set] > 0; });
    if (surplus == plan.placed.rend() || plan.placed.size() == 1) return false;
    --spare[surplus->set];
    state_.try_charge(w_.queue, surplus->charge, surplus->node, surplus->devices, kAfterBit, -1);
    plan.placed.erase(std::next(surplus).base());
  }
  return true;
}

}  // namespace berth::engine

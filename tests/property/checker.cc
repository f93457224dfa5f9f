#include "property/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <tuple>

namespace berth::property {

void Checker::on_event(const Event& event) {
  ledger_.apply(event);
}

// ------------------------------------------------------------------------------------------------------ whole rounds

std::string Checker::on_decisions(const std::vector<Decision>& decisions, TimeMs now, Coverage& coverage) {
  ledger_.begin_decide(now);
  yielded_.clear();
  needless_.clear();
  released_.clear();
  served_.clear();
  started_.clear();
  began_.clear();
  growth_.clear();
  not_near_.clear();
  came_.clear();
  not_spread_.clear();
  if (auto wrong = check_net(decisions); !wrong.empty()) return wrong;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    const Decision& d = decisions[i];
    std::string wrong;
    if (ledger_.workloads.count(d.workload) == 0) {
      wrong = "the workload is not known";
    } else {
      switch (d.kind) {
        case DecisionKind::kStart:
          wrong = start(d, coverage);
          break;
        case DecisionKind::kHold:
          wrong = hold(d, coverage);
          break;
        case DecisionKind::kEvict:
          wrong = evict(d, coverage);
          break;
        case DecisionKind::kReleaseHold:
          wrong = release(d, coverage);
          break;
      }
    }
    if (!wrong.empty()) {
      return fmt::format("decision {} ({} {}): {}", i + 1, enum_name(d.kind), d.workload, wrong);
    }
  }
  for (const auto& [uid, victims] : yielded_) {
    const WorkloadRecord& w = ledger_.workloads.at(uid);
    // A hold may pass on to another workload in the same round, by rule.
    if (w.count(SlotState::kHeld) + w.active() == 0 && released_.count(uid) == 0) {
      return fmt::format("{} gave way to {}, which does not hold the room", victims.front().workload, uid);
    }
  }
  if (auto wrong = still_needless(); !wrong.empty()) return wrong;
  if (auto wrong = still_not_near(); !wrong.empty()) return wrong;
  return still_not_spread();
}

std::string Checker::still_not_near() const {
  for (const NotNear& one : not_near_) {
    const std::string& node = one.slot->taken.node;
    const bool stays = is_active(one.slot->state) || one.slot->state == SlotState::kHeld;
    if (!stays || ledger_.term_trouble(*one.pod, node, When::kAfter, one.slot) != Ledger::kNotNear) continue;
    return fmt::format("{} on node {} (once releasing pods are gone): {}", one.workload, node,
                       Ledger::kNotNear);
  }
  return "";
}

// A hold, again, may rest on a start behind it.
std::string Checker::still_not_spread() const {
  if (not_spread_.empty()) return "";
  return ledger_.spread_trouble(stayed(), {When::kAfter, When::kAfter, true}).empty() ? "" : not_spread_;
}

std::string Checker::at_rest() const {
  for (const auto& [uid, w] : ledger_.workloads) {
    if (w.count(SlotState::kReleasing) > 0) return "";
  }
  for (const auto& [uid, w] : ledger_.workloads) {
    if (w.count(SlotState::kHeld) > 0)
      return fmt::format("{} still holds room although nothing is ending", uid);
  }
  return "";
}

std::string Checker::compare(const engine::Engine& engine) const {
  std::map<std::string, engine::WorkloadView> views;
  for (const auto& view : engine.workloads()) views.emplace(std::string(view.uid), view);
  if (views.size() != ledger_.workloads.size()) return "the engine knows other workloads than it was told of";
  for (const auto& [uid, w] : ledger_.workloads) {
    const auto it = views.find(uid);
    if (it == views.end()) return fmt::format("the engine does not know {}", uid);
    const auto mine = std::make_tuple(w.active(), w.count(SlotState::kHeld), w.count(SlotState::kReleasing),
                                      w.count(SlotState::kWaiting));
    const auto& v = it->second;
    const auto its = std::make_tuple(v.slots_running, v.slots_held, v.slots_releasing, v.slots_waiting);
    if (mine == its) continue;
    return fmt::format(
        "{}: by its decisions running {}, held {}, releasing {}, waiting {}; in its state {}, {}, {}, {}",
        uid, std::get<0>(mine), std::get<1>(mine), std::get<2>(mine), std::get<3>(mine), v.slots_running,
        v.slots_held, v.slots_releasing, v.slots_waiting);
  }
  std::size_t held = 0;
  for (const Hold& h : engine.holds()) {
    const auto& w = ledger_.workloads.at(h.holder);
    for (const SlotPlacement& p : h.slots) {
      const auto& slot = w.sets.at(static_cast<std::size_t>(p.pod_set)).at(static_cast<std::size_t>(p.index));
      if (slot.state != SlotState::kHeld || slot.taken.node != p.node || slot.taken.indices != p.devices) {
        return fmt::format("the engine's hold of {} is not what it decided", h.holder);
      }
      ++held;
    }
  }
  std::size_t expected = 0;
  for (const auto& [uid, w] : ledger_.workloads)
    expected += static_cast<std::size_t>(w.count(SlotState::kHeld));
  return held == expected ? "" : "the engine's holds are not all that it decided";
}

// --------------------------------------------------------------------------------------------------- starts and holds

namespace {

SlotRecord& slot_of(WorkloadRecord& w, const SlotPlacement& p) {
  return w.sets[static_cast<std::size_t>(p.pod_set)][static_cast<std::size_t>(p.index)];
}

}  // namespace

std::string Checker::start(const Decision& d, Coverage& coverage) {
  WorkloadRecord& w = ledger_.workloads.at(d.workload);
  const bool had_hold = w.count(SlotState::kHeld) > 0;
  const bool grows = w.active() > 0;
  const bool arrives = std::any_of(d.slots.begin(), d.slots.end(), [&](const SlotPlacement& p) {
    const auto s = static_cast<std::size_t>(p.pod_set);
    const auto i = static_cast<std::size_t>(p.index);
    if (p.node.empty() || s >= w.sets.size() || i >= w.sets[s].size()) return false;
    return is_active(w.sets[s][i].state) && w.sets[s][i].taken.awaited;
  });
  const std::string unclaimed = unclaimed_surplus(d, w);
  if (const auto wrong = place(d, w, SlotState::kBinding); !wrong.empty()) return wrong;
  for (const SlotPlacement& p : d.slots) {
    const auto sets = pod_sets_of(w.spec.root);
    for (const CountedTerm& term : sets[static_cast<std::size_t>(p.pod_set)]->pod.terms)
      ++coverage[fmt::format("placed {}", enum_name(term.kind))];
  }
  if (arrives && w.awaits_nodes()) return "a part of it stays without a place";
  const GroupView root = view_of(w.spec.root);
  ledger_.note_run(w);
  if (auto wrong = check_groups(d, w, root, false); !wrong.empty()) return wrong;
  if (auto wrong = check_topology(d, w, root); !wrong.empty()) return wrong;
  if (auto wrong = check_flavor_groups(d, w); !wrong.empty()) return wrong;
  if (!had_hold && !grows) started_.insert(d.workload);
  if (!had_hold && !arrives) note_beyond_own(d, w);
  if (!had_hold && yielded_.count(d.workload) > 0) {
    // Only holds gave way, and it started at once.
    for (const SlotPlacement& p : d.slots) slot_of(w, p).state = SlotState::kHeld;
    const std::string wrong = check_taken(d, w, unclaimed);
    for (const SlotPlacement& p : d.slots) slot_of(w, p).state = SlotState::kBinding;
    if (!wrong.empty()) return wrong;
    began_.erase(d.workload);
  }
  count_policies(w, coverage);
  count_twins(w, coverage);
  ++coverage[had_hold  ? "start of a hold"
             : arrives ? "start (nodes came)"
             : grows   ? "start (growth)"
                       : "start"];
  count_shape(d, w, coverage);
  return "";
}

std::string Checker::hold(const Decision& d, Coverage& coverage) {
  WorkloadRecord& w = ledger_.workloads.at(d.workload);
  if (w.count(SlotState::kHeld) > 0) return "it holds room already";
  w.held_band = asked_of(w).priority - w.spec.priority;
  const std::string unclaimed = unclaimed_surplus(d, w);
  if (const auto wrong = place(d, w, SlotState::kHeld); !wrong.empty()) return wrong;
  const GroupView root = view_of(w.spec.root);
  if (auto wrong = check_groups(d, w, root, true); !wrong.empty()) return wrong;
  if (auto wrong = check_topology(d, w, root); !wrong.empty()) return wrong;
  if (auto wrong = check_flavor_groups(d, w); !wrong.empty()) return wrong;
  const bool preempts = yielded_.count(d.workload) > 0;
  const auto expected = preempts ? ReasonCode::kPreemptor : ReasonCode::kReleasingRoom;
  if (d.reason.code != expected) return fmt::format("its cause is {}", enum_name(d.reason.code));
  if (preempts) {
    if (auto wrong = check_taken(d, w, unclaimed); !wrong.empty()) return wrong;
  }
  ++coverage[fmt::format("hold {}", enum_name(d.reason.code))];
  count_shape(d, w, coverage);
  return "";
}

// Others gave way for what it holds now.
std::string Checker::check_taken(const Decision& d, const WorkloadRecord& w, const std::string& unclaimed) {
  if (!unclaimed.empty()) return unclaimed;
  if (auto wrong = check_reclaimer(w); !wrong.empty()) return wrong;
  const bool starts = d.kind == DecisionKind::kStart;
  if (!check_minimal(w, starts).empty()) needless_.push_back({d.workload, yielded_.at(d.workload), starts});
  yielded_.erase(d.workload);
  served_.insert(d.workload);
  return "";
}

std::string Checker::place(const Decision& d, WorkloadRecord& w, SlotState to) {
  if (d.slots.empty()) return "it has no slots";
  if (!w.spec.active) return "it is held back by its owner";
  if (w.withdrawn) return "it is to be withdrawn";
  if (const auto trouble = ledger_.queue_trouble(w); !trouble.empty()) return trouble;
  const auto sets = pod_sets_of(w.spec.root);

  // Its own hold ends here, slot by slot; what it asks of the quota is checked for all slots together.
  struct Placed {
    SlotRecord* slot;
    Taken taken;
    const PodTemplate* pod;
  };
  std::vector<Placed> placed;
  Charges total;
  std::vector<std::int64_t> starting(w.sets.size(), 0);
  for (const SlotPlacement& p : d.slots) {
    const auto s = static_cast<std::size_t>(p.pod_set);
    if (s < starting.size() && !p.node.empty()) ++starting[s];
  }
  // Growth behind a start of the same round is in one decision with it: so it may fill up from then on.
  std::vector<bool> fills_up;
  std::vector<bool> fills_up_behind;
  for (std::size_t s = 0; s < std::min(sets.size(), w.sets.size()); ++s) {
    fills_up.push_back(w.fills_up(s));
    fills_up_behind.push_back(w.fills_up(s, starting));
  }
  for (const SlotPlacement& p : d.slots) {
    const auto s = static_cast<std::size_t>(p.pod_set);
    const auto i = static_cast<std::size_t>(p.index);
    if (s >= w.sets.size() || i >= w.sets[s].size() || s >= sets.size()) {
      return fmt::format("there is no slot {}/{}", p.pod_set, p.index);
    }
    SlotRecord& slot = w.sets[s][i];
    const bool held = slot.state == SlotState::kHeld;
    // Work that had quota alone gets its place.
    const bool arrives = is_active(slot.state) && slot.taken.awaited && !p.node.empty();
    const bool may = slot.state == SlotState::kWaiting || (to == SlotState::kBinding && (held || arrives));
    if (!may) return fmt::format("slot {}/{} is {}", s, i, enum_name(slot.state));
    if (held && (slot.taken.node != p.node || slot.taken.indices != p.devices)) {
      return fmt::format("slot {}/{} starts elsewhere than where it holds room", s, i);
    }
    if (!sets[s]->pod.unsupported.empty()) return "it has a constraint that is not supported";
    const auto flavors = ledger_.flavors_of(s, d.flavors);
    const bool awaited = held ? slot.taken.awaited
                              : (!arrives && (fills_up[s] || (fills_up_behind[s] && p.node.empty()))) ||
                                    ledger_.is_awaited(w.spec.queue, sets[s]->pod, flavors);
    const bool opaque = awaited || ledger_.is_opaque(w.spec.queue);
    if (opaque && !(p.node.empty() && p.devices.empty())) return "it has a place where only quota is known";
    if (!opaque && ledger_.nodes.count(p.node) == 0) return fmt::format("node {} does not exist", p.node);
    std::string why_not;
    Taken taken;
    if (held) {
      taken = slot.taken;
    } else {
      const auto trouble =
          opaque ? "" : ledger_.static_trouble(sets[s]->pod, flavors, ledger_.nodes.at(p.node));
      if (!trouble.empty()) return fmt::format("slot {}/{} on {}: {}", s, i, p.node, trouble);
      if (opaque && std::any_of(flavors.begin(), flavors.end(), [&](const std::string& flavor) {
            return ledger_.flavors.count(flavor) > 0 && !ledger_.flavor_suits(sets[s]->pod, flavor);
          }))
        return fmt::format("slot {}/{} gets a flavor that does not suit its pod", s, i);
      taken = ledger_.taken(w, *sets[s], s, d.flavors, why_not);
      taken.node = p.node;
      taken.indices = p.devices;
      taken.opaque = opaque;
      taken.awaited = awaited;
    }
    if (!why_not.empty()) return why_not;
    for (const auto& [pair, amount] : slot.taken.charges) {
      if (arrives && amount > 0 && taken.charges.count(pair) == 0)
        return fmt::format("slot {}/{} has its quota in {}, and gets a place in another flavor", s, i,
                           pair.first);
    }
    for (const auto& [pair, amount] : taken.charges) total[pair] += amount;
    slot = SlotRecord{SlotState::kAbsent, {}};  // also says so if the decision names it twice
    placed.push_back({&slot, std::move(taken), &sets[s]->pod});
  }
  for (const auto& [pair, amount] : total) {
    if (amount == 0) continue;
    for (const When when : {When::kNow, When::kAfter}) {
      if (when == When::kNow && to == SlotState::kHeld) continue;
      const auto room = ledger_.lane_room(w.spec.queue, w.spec.lane, pair, when);
      if (room && amount > *room) {
        return fmt::format("it takes {} of {} in flavor {}, and its lane \"{}\" may have {} more in {}",
                           amount, pair.second, pair.first, w.spec.lane, *room, w.spec.queue);
      }
      const auto firm = ledger_.firm_room(w.spec.queue, pair, when);
      if (firm && !w.spec.preemptible && amount > firm->room) {
        return fmt::format(
            "it takes {} of {} in flavor {}, and work that is not preemptible may have {} more in {}", amount,
            pair.second, pair.first, firm->room, firm->queue);
      }
      const std::int64_t available = ledger_.available(w.spec.queue, pair, when);
      if (amount <= available) continue;
      return fmt::format("it takes {} of {} in flavor {}, and queue {} has {} left ({})", amount, pair.second,
                         pair.first, w.spec.queue, available,
                         when == When::kNow ? "now" : "once releasing pods are gone");
    }
  }
  for (const Placed& p : placed) {
    if (auto wrong = place_slot(*p.slot, p.taken, to); !wrong.empty()) return wrong;
  }
  std::vector<const SlotRecord*> together;
  std::vector<Ledger::Coming> coming;
  for (const Placed& p : placed) {
    together.push_back(p.slot);
    if (!p.taken.opaque) coming.push_back({p.pod, p.taken.node, p.slot});
  }
  if (to != SlotState::kHeld) {
    if (auto wrong = ledger_.spread_trouble(coming, {When::kNow, When::kNow, true}); !wrong.empty())
      return "now: " + wrong;
  }
  if (auto wrong = ledger_.spread_trouble(coming, {When::kAfter, When::kAfter, true});
      !wrong.empty() && not_spread_.empty())
    not_spread_ = fmt::format("{}, once releasing pods are gone: {}", d.workload, wrong);
  came_.insert(came_.end(), coming.begin(), coming.end());
  for (const Placed& p : placed) {
    for (const When when : {When::kNow, When::kAfter}) {
      if (p.taken.opaque || (when == When::kNow && to == SlotState::kHeld)) continue;
      const std::string wrong = ledger_.term_trouble(*p.pod, p.taken.node, when, p.slot, together);
      // A start comes after those that it is near to. A hold may rest on a start that stands behind it.
      if (wrong == Ledger::kNotNear && when == When::kAfter) {
        not_near_.push_back({d.workload, p.pod, p.slot});
      } else if (!wrong.empty())
        return fmt::format("node {} ({}): {}", p.taken.node,
                           when == When::kNow ? "now" : "once releasing pods are gone", wrong);
    }
  }
  return "";
}

std::string Checker::place_slot(SlotRecord& slot, const Taken& taken, SlotState to) {
  const std::string& node = taken.node;
  if (taken.opaque) {
    slot = SlotRecord{to, taken};
    return "";
  }
  for (const When when : {When::kNow, When::kAfter}) {
    if (when == When::kNow && to == SlotState::kHeld) continue;
    const std::string_view moment = when == When::kNow ? "now" : "once releasing pods are gone";
    for (const auto& [resource, amount] : ledger_.amounts_on(node, taken.amounts, taken.mounts, when)) {
      if (amount == 0) continue;
      const std::int64_t left = ledger_.capacity(node, resource) - ledger_.used(node, resource, when);
      if (amount > left) {
        return fmt::format("node {} has {} of {} left {}, it takes {}", node, left, resource, moment, amount);
      }
    }
    if (ledger_.port_holders(node, taken.ports, when) > 0)
      return fmt::format("another pod has a host port of it on node {} {}", node, moment);
    for (const DeviceRequest& d : taken.devices) {
      std::int64_t first = 0;
      const DevicePool* pool = ledger_.pool(node, d.resource, &first);
      if (pool == nullptr) return fmt::format("node {} has no devices {}", node, d.resource);
      std::int64_t own = 0;
      for (const std::int64_t index : taken.indices) {
        if (index < first || index >= first + pool->count) continue;
        ++own;
        if (std::count(pool->unhealthy.begin(), pool->unhealthy.end(), index - first) > 0) {
          return fmt::format("device {} of node {} is not healthy", index, node);
        }
        const std::int64_t used = ledger_.device_used(node, d.resource, index, when);
        if (used + d.milli > 1000) {
          return fmt::format("device {} of node {} has {} thousandths in use {}, it takes {}", index, node,
                             used, moment, d.milli);
        }
      }
      if (own != d.count) return fmt::format("it gets {} devices {} of {}", own, d.resource, d.count);
    }
  }
  std::set<std::int64_t> distinct(taken.indices.begin(), taken.indices.end());
  std::int64_t asked = 0;
  for (const DeviceRequest& d : taken.devices) asked += d.count;
  if (static_cast<std::int64_t>(distinct.size()) != asked || distinct.size() != taken.indices.size()) {
    return fmt::format("it gets {} devices, some perhaps twice, and asked for {}", taken.indices.size(),
                       asked);
  }
  slot = SlotRecord{to, taken};
  return "";
}

bool contains(const Reason& reason, ReasonCode code) {
  return reason.code == code || std::any_of(reason.children.begin(), reason.children.end(),
                                            [&](const Reason& child) { return contains(child, code); });
}

// -------------------------------------------------------------------------------------------------------- order

namespace {

bool contains_any(const Reason& reason, std::initializer_list<ReasonCode> codes) {
  return std::any_of(codes.begin(), codes.end(), [&](ReasonCode code) { return contains(reason, code); });
}

bool lacks_room(const Reason& reason) {
  return contains_any(
      reason, {ReasonCode::kQuota, ReasonCode::kNodes, ReasonCode::kTopology, ReasonCode::kNoVictims});
}

// Some of its parts cannot start whatever ends, as things are.
bool lacks_parts(const Reason& reason) {
  return contains_any(reason,
                      {ReasonCode::kIncompleteGang, ReasonCode::kQuotaMax, ReasonCode::kQuotaUncovered,
                       ReasonCode::kUnsupported, ReasonCode::kNodeFlavor});
}

}  // namespace

std::string Checker::check_lines(const engine::Engine& engine) {
  std::set<std::string> lacking;
  for (const auto& [uid, w] : ledger_.workloads) {
    const auto verdict = engine.verdict(uid);
    if (!verdict || verdict->kind != VerdictKind::kBlocked || !lacks_room(verdict->reason)) continue;
    // Where parts may be left out, and some cannot start: whether the others are enough is not known here.
    if (!all_children_needed(w.spec.root) && lacks_parts(verdict->reason)) continue;
    // At its turn it may have waited in a limit of its own alone, and lack room since others passed it.
    if (!contains(verdict->reason, ReasonCode::kLaneLimit) &&
        !contains(verdict->reason, ReasonCode::kFirmLimit))
      lacking.insert(uid);
  }
  // Only work that was blocked before this round, and still is, has been in front all the time.
  std::set<std::string> in_line;
  std::set_intersection(lacking.begin(), lacking.end(), lacking_.begin(), lacking_.end(),
                        std::inserter(in_line, in_line.end()));
  lacking_ = std::move(lacking);
  for (const std::string& uid : started_) {
    const auto it = ledger_.workloads.find(uid);
    const auto queue = ledger_.queues.find(it->second.spec.queue);
    if (queue == ledger_.queues.end() || queue->second.order != QueueOrder::kStrict) continue;
    const WorkloadRecord& w = it->second;
    const auto sets = pod_sets_of(w.spec.root);
    // For work with bands, its request before the start is unknown here.
    if (std::any_of(sets.begin(), sets.end(), [](const PodSet* set) { return !set->bands.empty(); }))
      continue;
    const Ordering& ordering = queue->second.ordering;
    // Changes with time are unknown here.
    if (ordering.by != OrderBy::kCreation && ordering.by != OrderBy::kDuration) continue;
    if (ordering.limit() > 0) continue;
    const auto place = [&](const WorkloadRecord& of) {
      const auto tier = ledger_.rank(of).first;
      const auto number = ledger_.rank(of).second + asked_of(of).priority - of.spec.priority;
      const std::int64_t key =
          ordering.by == OrderBy::kDuration ? of.spec.expected_duration.value_or(kInt64Max) : 0;
      return ordering.priority_first
                 ? std::make_tuple(std::int64_t{-tier}, -number, key, std::int64_t{0}, std::int64_t{0},
                                   of.spec.created, of.arrival)
                 : std::make_tuple(std::int64_t{0}, std::int64_t{0}, key, std::int64_t{-tier}, -number,
                                   of.spec.created, of.arrival);
    };
    for (const auto& [other, x] : ledger_.workloads) {
      const bool in_front = place(x) < place(w);
      const bool waits = x.spec.active && !x.withdrawn && x.count(SlotState::kWaiting) > 0 &&
                         x.active() == 0 && x.count(SlotState::kHeld) == 0 &&
                         x.count(SlotState::kReleasing) == 0;
      if (x.spec.queue != w.spec.queue || !in_front || !waits || released_.count(other) > 0) continue;
      if (in_line.count(other) == 0) continue;
      // It may have started in front, and yielded at once to what may take its room: then neither is decided. What runs of it ranks by
      // its bands.
      Rank running = ledger_.rank(x);
      const auto sets_of_x = pod_sets_of(x.spec.root);
      std::int64_t band = kInt64Min;
      for (const PodSet* set : sets_of_x) {
        if (set->bands.empty()) band = std::max<std::int64_t>(band, 0);
        for (const DemandBand& b : set->bands) band = std::max(band, b.priority);
      }
      if (band != kInt64Min) running.second += band;
      if (may_yield(x, running, w).empty()) continue;
      return fmt::format("{} started in front of {} in the strict queue {}, which waits: {}", uid, other,
                         w.spec.queue, to_text(engine.verdict(other)->reason));
    }
  }
  return "";
}

void Checker::count_shape(const Decision& d, const WorkloadRecord& w, Coverage& coverage) const {
  const auto sets = pod_sets_of(w.spec.root);
  const GroupView root = view_of(w.spec.root);
  bool shares = false;
  for (const PodSet* set : sets) {
    for (const auto& request : set->pod.claim.requests) shares = shares || request.milli < 1000;
  }
  if (shares) ++coverage["placed shares of devices"];
  if (d.slots.size() > 1) ++coverage["placed gangs"];
  if (sets.size() > 1) ++coverage["placed gangs of several pod sets"];
  const TopologyRequest& topology = root.group->topology;
  if (!topology.required.empty()) ++coverage["placed in a required " + topology.required];
  if (!topology.preferred.empty()) ++coverage["placed with a preferred " + topology.preferred];
  if (!root.groups.empty()) ++coverage["placed trees of groups"];
  if (const auto it = ledger_.queues.find(w.spec.queue);
      it != ledger_.queues.end() && !it->second.lanes.limits.empty())
    ++coverage["placed within a limit of its lane"];
  if (!w.spec.preemptible && is_bound_by_firm_limit(w)) ++coverage["placed within a limit of firm work"];
  std::int64_t count = 0;
  for (const PodSet* set : sets) count += set->count;
  if (w.active() + w.count(SlotState::kHeld) < count) ++coverage["placed with fewer than all pods"];
  if (topology.segment > 1) ++coverage["placed in segments"];
  if (std::any_of(sets.begin(), sets.end(), [](const PodSet* set) { return !set->flavor_group.empty(); }))
    ++coverage["placed in a flavor group"];
  if (!d.flavors.empty()) ++coverage["placed with a flavor"];
  if (ledger_.is_opaque(w.spec.queue)) ++coverage["given quota only"];
  if (w.awaits_nodes()) ++coverage["given quota until nodes come"];
  if (w.awaits_nodes() && !topology.required.empty())
    ++coverage["given quota until nodes come in one domain"];
}

bool Checker::is_bound_by_firm_limit(const WorkloadRecord& w) const {
  const auto path = ledger_.chain(w.spec.queue);
  return std::any_of(path.begin(), path.end(), [&](const std::string& at) {
    const auto it = ledger_.queues.find(at);
    return it != ledger_.queues.end() &&
           std::any_of(it->second.quotas.begin(), it->second.quotas.end(),
                       [](const Quota& quota) { return quota.firm_limit.has_value(); });
  });
}

void Checker::count_twins(const WorkloadRecord& w, Coverage& coverage) const {
  for (const auto& [uid, other] : ledger_.workloads) {
    if (other.active() > 0 || other.count(SlotState::kWaiting) == 0 || other.spec.root != w.spec.root)
      continue;
    ++coverage[other.spec.queue == w.spec.queue ? "placed while an equal of its queue waits"
                                                : "placed while an equal of another queue waits"];
  }
}

void Checker::count_policies(const WorkloadRecord& w, Coverage& coverage) const {
  const auto it = ledger_.queues.find(w.spec.queue);
  if (it == ledger_.queues.end()) return;
  const Queue& q = it->second;
  const Placement placement = q.placement == Placement::kDefault ? placement_ : q.placement;
  ++coverage[fmt::format("placed by {}", enum_name(placement))];
  if (placement == Placement::kFragmentation)
    ++coverage[ledger_.mix_given ? "placed for a given mix" : "placed for the live mix"];
  ++coverage[fmt::format("ordered by {}", enum_name(q.order))];
  ++coverage[fmt::format("in the order of {}", enum_name(q.ordering.by))];
  ++coverage[fmt::format("tiers {}", enum_name(q.ordering.tiers))];
  if (const auto up = ledger_.queues.find(q.parent); up != ledger_.queues.end())
    ++coverage[fmt::format("shared by {}", enum_name(up->second.sharing))];
  ++coverage[fmt::format("started under within {}", enum_name(q.preemption.within))];
  ++coverage[fmt::format("started under reclaim {}", enum_name(q.preemption.reclaim))];
}

}  // namespace berth::property

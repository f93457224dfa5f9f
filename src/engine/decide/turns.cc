#include "engine/decide/turns.h"

#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "base/in_turn.h"
#include "engine/preempt/rights/yield.h"

namespace berth::engine {

bool may_come_by_others(const State& state, ChargeId charge) {
  const Counted& counted = state.accounts.counted();
  const CountedId id = state.shape_of(charge).counted;
  return id.valid() && (counted.has_near(id) || counted.has_spread(id));
}

std::vector<std::size_t> never_in_turn(Counted& counted,
                                       const std::vector<std::vector<Counted::Place>>& groups,
                                       PlaneMask planes, bool spreads) {
  std::vector<std::size_t> left;
  bool any = false;
  for (std::size_t k = 0; k < groups.size(); ++k) {
    left.push_back(k);
    any = any || std::any_of(groups[k].begin(), groups[k].end(), [&](const Counted::Place& place) {
            return spreads ? counted.has_spread(place.second) : counted.has_near(place.second);
          });
  }
  if (!any) return {};
  // Those that fare alike take turns, and few passes are needed.
  std::map<std::vector<std::uint32_t>, std::size_t> alike;
  std::vector<std::size_t> turn;
  for (const auto& places : groups) turn.push_back(alike[counted.domains_of(places)]++);
  std::stable_sort(left.begin(), left.end(), [&](std::size_t a, std::size_t b) { return turn[a] < turn[b]; });
  const auto charge = [&](std::size_t k, int sign) {
    for (const auto& [node, id] : groups[k]) counted.add(node, id, planes, sign);
  };
  for (const std::size_t k : left) charge(k, -1);
  const auto is_first = [&](std::size_t k) {
    return std::any_of(groups[k].begin(), groups[k].end(),
                       [&](const Counted::Place& place) { return counted.is_first(place.second, planes); });
  };
  const auto come = [&](std::size_t k) {
    charge(k, +1);
    const bool comes = counted.never_come(groups[k], planes).empty() &&
                       (!spreads || counted.fit_in_turn(groups[k], Mode::kPlan));
    if (!comes) charge(k, -1);
    return comes;
  };
  (void)come_in_some_turn(left, is_first, come, [&](std::size_t k) { charge(k, -1); });
  for (const std::size_t k : left) charge(k, +1);
  std::sort(left.begin(), left.end());
  return left;
}

std::vector<Slot> places_of(const State& state, const Decision& d) {
  std::vector<Slot> out;
  const auto id = state.find_workload(d.workload);
  for (const SlotPlacement& p : d.slots) {
    const auto& set = state.workloads[id->index()].sets[static_cast<std::size_t>(p.pod_set)];
    const Slot& slot = set.slots[static_cast<std::size_t>(p.index)];
    const bool is_there = d.kind == DecisionKind::kEvict
                              ? slot.state == SlotState::kReleasing
                              : takes_room(slot) && slot.state != SlotState::kReleasing;
    if (is_there) out.push_back(slot);
  }
  return out;
}

namespace {

// A start, or an eviction: a spread does not count pods that end.
struct Step {
  std::size_t at;  // in the decisions
  std::vector<Slot> slots;
  bool evicts;
  bool by_others;                    // may_come_by_others()
  std::size_t evictions;             // told before it
  std::optional<std::size_t> after;  // growth comes behind this start of its workload
  bool came = true;
};

// Starts that come one after the other, between evictions that come when they are told. Each is near to pods that are there then, and
// pods that end are there. Once those are gone all that started is there, whatever its turn was.
class Turns {
 public:
  Turns(State& state, const std::vector<Decision>& decisions, std::span<const std::size_t> without)
      : state_(state) {
    std::map<std::string_view, std::size_t> last;
    for (std::size_t at = 0; at < decisions.size(); ++at) {
      const Decision& d = decisions[at];
      const bool evicts = d.kind == DecisionKind::kEvict;
      if (!evicts && d.kind != DecisionKind::kStart) continue;
      if (std::find(without.begin(), without.end(), at) != without.end()) continue;
      Step step{at, places_of(state, d), evicts, false, evictions_, {}};
      std::erase_if(step.slots, [&](const Slot& slot) {
        return !state.shape_of(slot.charge).counted.valid() || state.nodes.is_opaque(slot.node);
      });
      if (step.slots.empty() && (evicts || !last.contains(d.workload))) continue;
      if (evicts) {
        ++evictions_;
      } else {
        step.by_others = may_come_by_others(state, step.slots);
        const auto [before, is_first] = last.try_emplace(d.workload, steps_.size());
        if (!is_first) step.after = std::exchange(before->second, steps_.size());
      }
      steps_.push_back(std::move(step));
    }
  }
  bool needed() const {
    return std::any_of(steps_.begin(), steps_.end(), [](const Step& step) { return step.by_others; });
  }
  std::size_t size() const { return steps_.size(); }

  // The order in which all of them come, or as many as this finds: places in the decisions. Those that never come have come too late: they
  // are tried again as the first ones.
  std::vector<std::size_t> in_order() {
    std::vector<std::size_t> line(steps_.size());
    std::iota(line.begin(), line.end(), std::size_t{0});
    std::vector<std::size_t> best;
    for (int round = 0; round < kMostRounds; ++round) {
      std::vector<std::size_t> order = in_turn(line);
      if (order.size() > best.size()) best = std::move(order);
      if (best.size() == steps_.size()) break;
      std::stable_partition(line.begin(), line.end(), [&](std::size_t step) { return !steps_[step].came; });
    }
    for (Step& step : steps_) {
      if (!step.came) count(step, true);
    }
    for (std::size_t& step : best) step = steps_[step].at;
    return best;
  }

 private:
  static constexpr int kMostRounds = 4;
  static constexpr int kMostTries = 1 << 16;

  // Those that cannot come yet are tried again behind each that comes.
  std::vector<std::size_t> in_turn(const std::vector<std::size_t>& line) {
    take_all_away();
    std::vector<std::size_t> order, waiting;
    const auto come = [&](std::size_t step) { return comes(step, order); };
    for (const std::size_t next : line) {
      if (!come(next)) {
        waiting.push_back(next);
        continue;
      }
      for (;;) {
        const auto other = std::find_if(waiting.begin(), waiting.end(), come);
        if (other == waiting.end()) break;
        waiting.erase(other);
      }
    }
    return order;
  }

  void take_all_away() {
    tries_ = kMostTries;
    evictions_ = 0;
    for (Step& step : steps_) {
      if (std::exchange(step.came, false)) count(step, false);
    }
  }

  void count(const Step& step, bool came) {
    const PlaneMask planes = step.evicts ? freed_of(SlotState::kRunning) : kBothPlanes;
    for (const Slot& slot : step.slots)
      state_.accounts.counted().add(slot.node, state_.shape_of(slot.charge).counted, planes,
                                    came == step.evicts ? -1 : +1);
  }

  bool comes(std::size_t number, std::vector<std::size_t>& order) {
    Step& step = steps_[number];
    if (step.evictions > evictions_ || (step.after && !steps_[*step.after].came) || --tries_ < 0)
      return false;
    count(step, true);
    step.came = !step.by_others || terms_hold(state_, step.slots, kNowBit);
    if (!step.came) {
      count(step, false);
      return false;
    }
    if (step.evicts) ++evictions_;
    order.push_back(number);
    return true;
  }

  State& state_;
  std::vector<Step> steps_;
  std::size_t evictions_ = 0;  // that have come
  int tries_ = 0;
};

}  // namespace

bool all_have_turns(State& state, const std::vector<Decision>& decisions,
                    std::span<const std::size_t> without) {
  if (!state.accounts.counted().any()) return true;
  Turns turns(state, decisions, without);
  return !turns.needed() || turns.in_order().size() == turns.size();
}

void put_in_turn(State& state, std::vector<Decision>& decisions) {
  if (!state.accounts.counted().any()) return;
  Turns turns(state, decisions, {});
  if (!turns.needed()) return;
  std::vector<std::pair<std::size_t, std::size_t>> moves;  // behind which, and which
  std::size_t last = 0;
  for (const std::size_t at : turns.in_order()) {
    if (at < last) moves.emplace_back(last, at);
    last = std::max(last, at);
  }
  if (moves.empty()) return;
  std::vector<Decision> all = std::exchange(decisions, {});
  std::vector<bool> moved(all.size(), false);
  for (const auto& [behind, at] : moves) moved[at] = true;
  auto next = moves.begin();
  for (std::size_t at = 0; at < all.size(); ++at) {
    if (!moved[at]) decisions.push_back(std::move(all[at]));
    for (; next != moves.end() && next->first == at; ++next)
      decisions.push_back(std::move(all[next->second]));
  }
}

}  // namespace berth::engine

#include "engine/decide/turns.h"

#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/preempt/rights/yield.h"

namespace berth::engine {

bool may_come_by_others(const State& state, ChargeId charge) {
  const Counted& counted = state.accounts.counted();
  const CountedId id = state.shape_of(charge).counted;
  return id.valid() && (counted.has_near(id) || counted.has_spread(id));
}

std::vector<Slot> places_of(const State& state, const Decision& d) {
  std::vector<Slot> out;
  const auto id = state.find_workload(d.workload);
  for (const SlotPlacement& p : d.slots) {
    const auto& set = state.workloads[id->index()].sets[static_cast<std::size_t>(p.pod_set)];
    const Slot& slot = set.slots[static_cast<std::size_t>(p.index)];
    if (takes_room(slot) && slot.state != SlotState::kReleasing) out.push_back(slot);
  }
  return out;
}

namespace {

struct Start {
  std::size_t at;  // in the decisions
  std::vector<Slot> slots;
  bool by_others;                    // may_come_by_others()
  std::optional<std::size_t> after;  // growth comes behind this start of its workload
  bool came = true;
};

// Starts that come one after the other.
class Turns {
 public:
  Turns(State& state, const std::vector<Decision>& decisions) : state_(state) {
    std::map<std::string_view, std::size_t> last;
    for (std::size_t at = 0; at < decisions.size(); ++at) {
      if (decisions[at].kind != DecisionKind::kStart) continue;
      Start start{at, places_of(state, decisions[at]), false, {}};
      std::erase_if(start.slots, [&](const Slot& slot) {
        return !state.shape_of(slot.charge).counted.valid() || state.nodes.is_opaque(slot.node);
      });
      if (start.slots.empty() && !last.contains(decisions[at].workload)) continue;
      start.by_others = may_come_by_others(state, start.slots);
      const auto [before, is_first] = last.try_emplace(decisions[at].workload, starts_.size());
      if (!is_first) start.after = std::exchange(before->second, starts_.size());
      starts_.push_back(std::move(start));
    }
  }
  bool needed() const {
    return std::any_of(starts_.begin(), starts_.end(), [](const Start& start) { return start.by_others; });
  }

  std::size_t starts() const { return starts_.size(); }

  // The order in which all of them come, or as many as this finds: places in the decisions. Those that never come have come too late: they
  // are tried again as the first ones.
  std::vector<std::size_t> in_order() {
    std::vector<std::size_t> line(starts_.size());
    std::iota(line.begin(), line.end(), std::size_t{0});
    std::vector<std::size_t> best;
    for (int round = 0; round < kMostRounds; ++round) {
      std::vector<std::size_t> order = in_turn(line);
      if (order.size() > best.size()) best = std::move(order);
      if (best.size() == starts_.size()) break;
      std::stable_partition(line.begin(), line.end(),
                            [&](std::size_t start) { return !starts_[start].came; });
    }
    for (Start& start : starts_) {
      if (!start.came) charge(start, +1);
    }
    for (std::size_t& start : best) start = starts_[start].at;
    return best;
  }

 private:
  static constexpr int kMostRounds = 4;
  static constexpr int kMostTries = 1 << 16;

  // Those that cannot come yet are tried again behind each that comes.
  std::vector<std::size_t> in_turn(const std::vector<std::size_t>& line) {
    take_all_away();
    std::vector<std::size_t> order, waiting;
    const auto come = [&](std::size_t start) { return comes(start, order); };
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
    for (Start& start : starts_) {
      if (std::exchange(start.came, false)) charge(start, -1);
    }
  }

  void charge(const Start& start, int sign) {
    for (const Slot& slot : start.slots)
      state_.accounts.counted().add(slot.node, state_.shape_of(slot.charge).counted, kBothPlanes, sign);
  }

  bool comes(std::size_t number, std::vector<std::size_t>& order) {
    Start& start = starts_[number];
    if ((start.after && !starts_[*start.after].came) || --tries_ < 0) return false;
    charge(start, +1);
    start.came = !start.by_others || terms_hold(state_, start.slots);
    start.came ? order.push_back(number) : charge(start, -1);
    return start.came;
  }

  State& state_;
  std::vector<Start> starts_;
  int tries_ = 0;
};

}  // namespace

bool all_have_turns(State& state, const std::vector<Decision>& decisions) {
  if (!state.accounts.counted().any()) return true;
  Turns turns(state, decisions);
  return !turns.needed() || turns.in_order().size() == turns.starts();
}

void put_in_turn(State& state, std::vector<Decision>& decisions) {
  if (!state.accounts.counted().any()) return;
  Turns turns(state, decisions);
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

#include "engine/preempt/with_places/assignments.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace berth::engine {

std::vector<std::int64_t> needs_of(const WorkloadState& w, Ask ask) {
  std::vector<std::int64_t> out;
  for (const Extent& extent : extents_of(w, ask)) out.push_back(extent.need);
  return out;
}

Assignments::Assignments(State& state, const WorkloadState& workload, std::vector<std::int64_t> needs,
                         Budget& steps, bool leaving_out)
    : state_(state), w_(workload), needs_(std::move(needs)), steps_(steps), leaving_out_(leaving_out) {
  for (std::size_t s = 0; s < w_.sets.size(); ++s) {
    options_.push_back(choices_of(state_, w_, s));
    several_ = several_ || options_.back().size() > 1;
  }
  for (std::size_t s = 0; s < options_.size(); ++s) {
    std::vector<ChargeId>& options = options_[s];
    const bool waits = w_.sets[s].waiting > 0;
    if (!waits && options.size() > 1) options.resize(1);
    if (several_ && waits) std::erase_if(options, [&](ChargeId choice) { return !could_have(s, choice); });
    const bool possible = !options.empty();
    if (!possible && several_ && waits && needs_[s] > 0 && w_.needs_all) {
      options_.front().clear();  // nothing will do
      break;
    }
    if (!possible || (leaving_out_ && waits && needs_[s] > 0)) options.emplace_back();
  }
  at_.assign(options_.size(), 0);
  picked_.resize(options_.size());
}

bool Assignments::could_have(std::size_t set, ChargeId choice) {
  const Charge& charge = state_.charges[choice];
  const std::int64_t need = needs_[set];
  for (const QuotaItem& item : charge.quota) {
    if (saturating_mul(item.amount, need) > state_.quota.potential(w_.queue, item.pair)) return false;
  }
  const Shape& shape = state_.shapes[charge.shape].shape;
  if (shape.opaque || need == 0) return true;
  const ShapeIndex& index = state_.index(charge.shape, Mode::kPlan);
  std::int64_t room = index.total();
  for (std::size_t n = 0; n < state_.nodes.size() && room < need; ++n) {
    const NodeId node(n);
    if (state_.nodes.is_opaque(node) || !index.eligible(node)) continue;
    std::int64_t here = need;
    for (const ShapeAmount& a : shape.amounts)
      here = std::min(here, state_.nodes.account(node, a.resource).capacity / a.amount);
    room = saturating_add(room, std::max<std::int64_t>(0, here - index.fit(node)));
  }
  return room >= need;
}

bool Assignments::goes_with_those_before(std::size_t set) const {
  const ChargeId mine = picked_[set];
  if (!several_ || !mine.valid() || w_.sets[set].waiting == 0) return true;
  const std::string& group = w_.sets[set].marks->flavor_group;
  for (std::size_t before = 0; before < set; ++before) {
    if (group.empty() || w_.sets[before].marks->flavor_group != group) continue;
    if (w_.sets[before].waiting == 0 || !picked_[before].valid()) continue;
    if (!same_flavors(state_, mine, picked_[before])) return false;
  }
  for (const QuotaItem& item : state_.charges[mine].quota) {
    std::int64_t sum = 0;
    for (std::size_t s = 0; s <= set; ++s) {
      if (!picked_[s].valid()) continue;
      for (const QuotaItem& other : state_.charges[picked_[s]].quota) {
        if (other.pair == item.pair) sum = saturating_add(sum, saturating_mul(other.amount, needs_[s]));
      }
    }
    if (sum > state_.quota.potential(w_.queue, item.pair)) return false;
  }
  return true;
}

// Where some are left out: not all have something, and those that have are enough for their groups.
bool Assignments::is_enough() const {
  if (!leaving_out_) return true;
  const Structure& structure = state_.structures[w_.structure];
  std::vector<std::int64_t> can(structure.groups.size(), 0);
  bool all = true;
  for (std::size_t s = 0; s < picked_.size(); ++s) {
    const bool has = picked_[s].valid() || needs_[s] == 0;
    if (has) ++can[structure.group_of[s]];
    all = all && (has || options_[s].size() == 1);
  }
  return !all && enough_children(structure, std::move(can));
}

const Assignment* Assignments::next() {
  if (options_.empty() || steps_.ended()) return nullptr;
  std::size_t set = begun_ ? options_.size() - 1 : 0;
  if (std::exchange(begun_, true)) ++at_[set];
  while (true) {
    if (at_[set] >= options_[set].size()) {
      if (set == 0) return nullptr;
      ++at_[--set];
      continue;
    }
    if (!steps_.spend()) return nullptr;
    picked_[set] = options_[set][at_[set]];
    if (!goes_with_those_before(set)) {
      ++at_[set];
    } else if (set + 1 < options_.size()) {
      at_[++set] = 0;
    } else if (is_enough()) {
      return &picked_;
    } else {
      ++at_[set];
    }
  }
}

}  // namespace berth::engine

#include "engine/place/one_by_one.h"

#include <algorithm>

#include "engine/state/trial.h"

namespace berth::engine {
namespace {

constexpr std::int64_t kMostSteps = 512;
constexpr std::int64_t kShare = 16;  // it takes no more than this part of the budget that is left
constexpr std::int64_t kMostDomains = 32;
constexpr std::size_t kMostNodes = 64;      // that a member tries
constexpr std::int64_t kNodesOfAStep = 64;  // that it looks at

}  // namespace

OneByOne::OneByOne(Scope& scope, const Nearness& near, Budget& steps)
    : scope_(scope),
      near_(near),
      state_(scope.state),
      steps_(steps),
      left_(std::min(kMostSteps, steps.left() / kShare)),
      charges_(scope.w.sets.size()),
      open_(scope.w.sets.size(), 0),
      slots_(scope.w.sets.size(), 0) {}

CountedId OneByOne::counted(std::uint32_t set) const {
  return state_.shape_of(charges_[set]).counted;
}

ShapeIndex& OneByOne::index(std::uint32_t set) {
  return state_.index(state_.charges[charges_[set]].shape, scope_.mode);
}

bool OneByOne::run() {
  if (!scope_.placed.empty() || scope_.structure.groups.size() > 1 || scope_.put_off) return false;
  const StructureGroup& root = scope_.structure.groups[0];
  if (root.least < root.children || !root.topology.segment_level.empty()) return false;
  std::int64_t members = 0;
  for (std::uint32_t set = 0; set < open_.size(); ++set) members += open_[set] = scope_.must(set);
  if (members < 2) return false;
  if (root.topology.required.empty()) return choose(0);
  const auto level = state_.nodes.domains().level_of(root.topology.required);
  if (!level) return false;
  const Nearness::Fixed fixed = near_.fixed_domain(root, *level);
  if (fixed.adrift) return false;
  for (const DomainId domain : state_.nodes.domains().levels()[*level].domains) {
    if (fixed.domain.valid() && domain != fixed.domain) continue;
    scope_.domains.push_back(domain);
    const bool found = choose(0);
    scope_.domains.pop_back();
    if (found || left_ <= 0) return found;
  }
  return false;
}

// A charge for each pod set from this one on.
bool OneByOne::choose(std::uint32_t set) {
  while (set < open_.size() && open_[set] == 0) ++set;
  if (set == open_.size()) return may_help() && in_each_domain();
  for (const ChargeId charge : scope_.choices(set)) {
    const Charge& c = state_.charges[charge];
    if (c.awaited || !has_quota(c, open_[set])) continue;
    if (leaves_group(set, charge)) continue;
    charges_[set] = charge;
    if (choose(set + 1)) return true;
  }
  return false;
}

// Another pod set of its flavor group has other flavors.
bool OneByOne::leaves_group(std::uint32_t set, ChargeId charge) const {
  const std::string& group = scope_.w.sets[set].marks->flavor_group;
  for (std::uint32_t other = 0; other < set && !group.empty(); ++other) {
    const bool same = scope_.w.sets[other].marks->flavor_group == group && scope_.must(other) > 0;
    if (same && !same_flavors(state_, charge, charges_[other])) return true;
  }
  return false;
}

// Some pod set counts others.
bool OneByOne::may_help() const {
  const Counted& terms = state_.accounts.counted();
  bool some = false;
  for (std::uint32_t a = 0; a < open_.size(); ++a) {
    if (open_[a] == 0 || !counted(a).valid()) continue;
    for (std::uint32_t b = 0; b < open_.size(); ++b) {
      if (open_[b] == 0 || !counted(b).valid()) continue;
      some = some || terms.conflict(counted(a), counted(b)) ||
             terms.counts(counted(a), TermKind::kNear, counted(b));
    }
  }
  return some;
}

bool OneByOne::in_each_domain() {
  std::vector<std::vector<NodeId>> lists;
  for (std::uint32_t set = 0; set < open_.size(); ++set) {
    if (open_[set] == 0 || !counted(set).valid()) continue;
    const auto some = state_.accounts.counted().to_choose_from(counted(set), scope_.mode);
    lists.insert(lists.end(), some.begin(), some.end());
  }
  if (lists.size() > static_cast<std::size_t>(kMostDomains)) lists.resize(kMostDomains);
  const auto parts = static_cast<std::int64_t>(lists.size());
  for (std::vector<NodeId>& list : lists) {
    if (left_ > 0 && within(std::move(list), left_ / (2 * parts))) return true;
  }
  return left_ > 0 && within({}, left_);
}

bool OneByOne::within(std::vector<NodeId> among, std::int64_t steps) {
  Trial trial(state_);
  among_ = std::move(among);
  floor_ = left_ - steps;
  seen_.clear();
  std::fill(slots_.begin(), slots_.end(), 0);
  if (!next()) return false;
  trial.stay();
  return true;
}

bool OneByOne::spend() {
  const auto looked = static_cast<std::int64_t>(among_.empty() ? state_.nodes.size() : among_.size());
  const std::int64_t cost = 1 + looked / kNodesOfAStep;
  left_ -= cost;
  return left_ >= floor_ && steps_.spend(cost);
}

// Where others bring no room to a pod set, its room only shrinks.
bool OneByOne::lacks_room(std::uint32_t set) {
  const CountedId id = counted(set);
  const Counted& terms = state_.accounts.counted();
  if (id.valid() && (terms.has_near(id) || terms.has_spread(id))) return false;
  return !scope_.has_room(index(set), open_[set]);
}

bool OneByOne::next() {
  std::vector<std::uint64_t> key;
  for (const PlacedSlot& p : scope_.placed)
    key.push_back((static_cast<std::uint64_t>(p.set) << 32U) | p.node.value);
  std::sort(key.begin(), key.end());
  if (!seen_.insert(std::move(key)).second) return false;
  std::vector<std::uint32_t> sets;
  for (std::uint32_t set = 0; set < open_.size(); ++set) {
    if (open_[set] == 0) continue;
    if (lacks_room(set)) return false;
    sets.push_back(set);
  }
  return sets.empty() ||
         std::any_of(sets.begin(), sets.end(), [&](std::uint32_t set) { return put_one(set); });
}

bool OneByOne::has_quota(const Charge& charge, std::int64_t slots) {
  const bool has = state_.fits(scope_.w, charge.quota, slots, scope_.mode);
  lacked_quota_ = lacked_quota_ || !has;
  return has;
}

bool OneByOne::put_one(std::uint32_t set) {
  const Charge& c = state_.charges[charges_[set]];
  if (!has_quota(c, 1)) return false;
  const std::size_t slot = slots_[set];
  for (const NodeId node : candidates(set)) {
    if (!spend()) return false;
    Trial trial(state_);
    scope_.put(set, charges_[set], node, slots_[set]);
    --open_[set];
    if (next()) {
      trial.stay();
      return true;
    }
    ++open_[set];
    scope_.placed.pop_back();
    slots_[set] = slot;
  }
  return false;
}

// The best first.
std::vector<NodeId> OneByOne::candidates(std::uint32_t set) {
  const ShapeIndex& room = index(set);
  std::vector<NodeId> out;
  const auto look = [&](NodeId node) {
    if (room.fit(node) > 0 && scope_.inside(node)) out.push_back(node);
  };
  if (among_.empty()) {
    for (std::uint32_t n = 0; n < state_.nodes.size(); ++n) look(NodeId(n));
  } else {
    std::for_each(among_.begin(), among_.end(), look);
  }
  const auto wins = [&](NodeId a, NodeId b) { return room.wins(state_.nodes, a, b); };
  const std::size_t most = std::min(out.size(), kMostNodes);
  std::partial_sort(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(most), out.end(), wins);
  out.resize(most);
  return out;
}

}  // namespace berth::engine

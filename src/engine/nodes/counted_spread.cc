// Counted terms of kSpread, and preferred ones: the fewest of any domain, and what that means for the others (counted.h).
#include <fmt/format.h>

#include <algorithm>

#include "base/in_turn.h"
#include "engine/nodes/counted.h"

namespace berth::engine {
namespace {

// Slots of a domain weigh from here on.
std::int64_t lean_base(const CountedPair& term, std::int64_t filled) {
  constexpr std::int64_t kStep = 16;
  return std::max<std::int64_t>(term.fewest_sure.of(filled), 0) / kStep * kStep;
}

}  // namespace

void CountedFewest::change(std::int64_t before, std::int64_t after) {
  if (before == after) return;
  if (before != 0) {
    --some;
    if (const auto at = domains.find(before); --at->second == 0) domains.erase(at);
  }
  if (after != 0) {
    ++some;
    ++domains[after];
  }
}

void CountedPair::keep_fewest() {
  fewest_pods = {};
  fewest_sure = {};
  for (const auto& [at, tally] : by_domain) {  // sums: in whatever order
    fewest_pods.change(0, tally.counted.pods);
    fewest_sure.change(0, tally.counted.least());
  }
}

void Counted::note_spread(std::uint32_t number, std::uint32_t at, const CountedSlots& before,
                          const CountedSlots& after) {
  CountedPair& term = terms_[number];
  const std::int64_t filled = levels_[term.level].filled;
  const auto fewest_of = [&] { return std::pair(term.fewest_pods.of(filled), term.fewest_sure.of(filled)); };
  const auto had = fewest_of();
  const std::int64_t base = lean_base(term, filled);
  term.fewest_pods.change(before.pods, after.pods);
  term.fewest_sure.change(before.least(), after.least());
  using Of = CountedCrossing::Of;
  const bool changed = before.most() != after.most();
  if (changed && term.spreads > 0) log_.add({number, at, Of::kSpread});
  if (changed && term.leanings > 0) log_.add({number, at, Of::kLeaning});
  if (term.spreads > 0 && fewest_of() != had) log_.add({number, CountedCrossing::kEverywhere, Of::kSpread});
  if (term.leanings > 0 && lean_base(term, filled) != base)
    log_.add({number, CountedCrossing::kEverywhere, Of::kLeaning});
}

void Counted::note_filled(std::uint32_t level) {
  for (std::uint32_t number = 0; number < terms_.size(); ++number) {
    const CountedPair& term = terms_[number];
    if (term.level != level) continue;
    if (term.spreads > 0) log_.add({number, CountedCrossing::kEverywhere, CountedCrossing::Of::kSpread});
    if (term.leanings > 0) log_.add({number, CountedCrossing::kEverywhere, CountedCrossing::Of::kLeaning});
  }
}

std::int64_t Counted::lean(NodeId node, CountedId id) const {
  if (nodes_.is_opaque(node)) return 0;
  std::int64_t sum = 0;
  for (const std::uint32_t selector : sets_[id.index()].selectors) {
    for (const std::uint32_t number : selectors_[selector].terms) {
      if (terms_[number].pulls == 0) continue;
      if (const CountedTally* here = tally(terms_[number], node)) sum += here->pull();
    }
  }
  for (const CountedLeaning& leaning : sets_[id.index()].leanings) {
    const CountedPair& term = terms_[leaning.term];
    const bool outside = domain(term, node) == kNone;
    const CountedTally* here = tally(term, node);
    const std::int64_t count = here == nullptr ? 0 : here->counted.most();
    if (leaning.kind == TermKind::kNear) {
      sum += leaning.weight * std::min(count, CountedTally::kMostLean);
    } else if (!outside) {
      sum -= leaning.weight * std::clamp<std::int64_t>(count - lean_base(term, levels_[term.level].filled), 0,
                                                       CountedTally::kMostLean);
    } else if (leaning.kind == TermKind::kSpread) {
      sum -= leaning.weight * (CountedTally::kMostLean + 1);
    }
  }
  return sum;
}

// A start is judged by the pods that are there, a plan by those that will be.
std::int64_t Counted::fewest(const CountedRule& rule, PlaneMask planes) const {
  const CountedPair& term = terms_[rule.term];
  const std::int64_t filled = levels_[term.level].filled;
  if (filled < rule.min_domains) return 0;
  return ((planes & kNowBit) != 0 ? term.fewest_pods : term.fewest_sure).of(filled);
}

// On the now plane alone nothing is known: held slots of one gang come there together (fit_in_turn()).
bool Counted::within_skew(const CountedRule& rule, NodeId node, PlaneMask planes, std::int64_t standing,
                          bool pods_alone) const {
  if ((planes & kAfterBit) == 0) return true;
  const CountedPair& term = terms_[rule.term];
  if (domain(term, node) == kNone) return false;
  const CountedTally* here = tally(term, node);
  const std::int64_t there = here == nullptr ? 0 : here->counted.there(pods_alone);
  const std::int64_t with_it = there + (rule.self ? 1 - standing : 0);
  return with_it - fewest(rule, planes) <= rule.max_skew;
}

namespace {

// Tries the orders one by one, where those by pod set fail. A slot with a narrow skew may come only between two of another set.
template <class MayCome>
struct Orders {
  Counted& counted;
  PlaneMask planes;
  const MayCome& may_come;
  int steps = 512;

  // They are counted afterwards where all of them can come, and none is where not.
  bool all_come(std::vector<Counted::Place>& left) {
    if (left.empty()) return true;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const Counted::Place next = left[i];
      if (std::find(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(i), next) !=
          left.begin() + static_cast<std::ptrdiff_t>(i))
        continue;
      if (--steps < 0) return false;
      if (!may_come(next)) continue;
      counted.add(next.first, next.second, planes, +1);
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
      const bool come = all_come(left);
      left.insert(left.begin() + static_cast<std::ptrdiff_t>(i), next);
      if (come) return true;
      counted.add(next.first, next.second, planes, -1);
    }
    return false;
  }
};

}  // namespace

// Part by part, in each order of the parts: a search for places takes the pod sets in one of these. Then slot by slot.
bool Counted::fit_in_turn(std::vector<Place> places, Mode mode) {
  constexpr int kMostOrders = 24;
  std::erase_if(places, [&](const Place& p) { return !p.second.valid() || nodes_.is_opaque(p.first); });
  if (std::none_of(places.begin(), places.end(), [&](const Place& p) { return has_spread(p.second); }))
    return true;
  std::vector<CountedId> parts;
  for (const auto& [node, id] : places) {
    add(node, id, planes_of(mode), -1);
    parts.push_back(id);
  }
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  // In the same order each is near to those that it must be near to. Holds of others keep no start from being the first of its kind.
  const PlaneMask near_on = mode == Mode::kStart ? kNowBit : kAfterBit;
  const auto may_come = [&](const Place& p) {
    return cap_of_spread(p.first, p.second, mode, mode == Mode::kStart) > 0 &&
           (!has_near(p.second) || stands(p.first, p.second, near_on, 0));
  };
  const auto all_come = [&] {
    std::vector<Place> came;
    std::vector<Place> left = places;
    for (std::size_t had = left.size() + 1; !left.empty() && left.size() < had;) {
      had = left.size();
      for (const CountedId part : parts) {
        (void)come_in_turn(left, [&](const Place& p) {
          if (p.second != part || !may_come(p)) return false;
          add(p.first, part, planes_of(mode), +1);
          came.push_back(p);
          return true;
        });
      }
    }
    if (left.empty()) return true;
    for (const auto& [node, id] : came) add(node, id, planes_of(mode), -1);
    return false;
  };
  for (int order = 0; order < kMostOrders; ++order) {
    if (all_come()) return true;
    if (!std::next_permutation(parts.begin(), parts.end())) break;
  }
  if (parts.size() > 1 && Orders{*this, planes_of(mode), may_come}.all_come(places)) return true;
  for (const auto& [node, id] : places) add(node, id, planes_of(mode), +1);
  return false;
}

std::int64_t Counted::cap_of_spread(NodeId node, CountedId id, Mode mode, bool pods_alone) const {
  std::int64_t cap = kInt64Max;
  const CountedSet& set = sets_[id.index()];
  if (!set.spreads || nodes_.is_opaque(node)) return cap;
  for (const CountedRule& rule : set.rules) {
    if (rule.kind != TermKind::kSpread) continue;
    if (!within_skew(rule, node, planes_of(mode), 0, pods_alone)) return 0;
    if (!rule.self) continue;
    const CountedTally* here = tally(terms_[rule.term], node);
    const std::int64_t there = here == nullptr ? 0 : here->counted.there(pods_alone);
    cap = std::min(cap, rule.max_skew + fewest(rule, planes_of(mode)) - there);
  }
  return cap;
}

// A domain with the fewest can always take one more, unless it has no room, or unless held slots fill it up. In the end such a domain
// has the fewest. All others have max_skew more, or as much as they have room for.
std::int64_t Counted::most_within_skew(const CountedRule& rule, Mode mode,
                                       std::span<const std::int64_t> room) const {
  const CountedPair& term = terms_[rule.term];
  const LabelDomains::Level& level = levels_[term.level];
  std::vector<std::int64_t> have(room.size(), 0);
  std::vector<std::int64_t> least(room.size(), 0);
  for (const auto& [at, tally] : term.by_domain) {  // to places of their own: in whatever order
    have[at] = tally.counted.most();
    least[at] = mode == Mode::kStart ? tally.counted.pods : tally.counted.least();
  }
  std::int64_t end = level.filled < rule.min_domains || level.filled == 0 ? 0 : kInt64Max;
  for (std::size_t d = 0; d < room.size() && end > 0; ++d) {
    if (level.nodes[d].empty()) continue;
    end = std::min(end, least[d] + (have[d] - least[d] >= rule.max_skew ? 0 : room[d]));
  }
  std::int64_t sum = 0;
  for (std::size_t d = 0; d < room.size(); ++d)
    sum += std::clamp<std::int64_t>(rule.max_skew + end - have[d], 0, room[d]);
  return sum;
}

std::string Counted::spread_text(const CountedRule& rule) const {
  const CountedPair& term = terms_[rule.term];
  const LabelDomains::Level& level = levels_[term.level];
  std::string out = fmt::format("maxSkew {} per {}", rule.max_skew, level.key);
  if (level.filled < rule.min_domains)
    return out + fmt::format(", {} of minDomains {}", level.filled, rule.min_domains);
  const std::string* where = nullptr;
  const std::int64_t fewest = term.fewest_pods.of(level.filled);
  for (const auto& [value, at] : level.values) {  // the first by name: in whatever order
    const auto tally = term.by_domain.find(at);
    const std::int64_t here = tally == term.by_domain.end() ? 0 : tally->second.counted.pods;
    if (!level.nodes[at].empty() && here == fewest && (where == nullptr || value < *where)) where = &value;
  }
  return where == nullptr ? out : out + fmt::format(", fewest in {}", *where);
}

}  // namespace berth::engine

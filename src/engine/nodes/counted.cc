#include "engine/nodes/counted.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/digest.h"
#include "base/in_turn.h"

namespace berth::engine {
namespace {

// More than `but` on one of the planes.
bool on_any(const std::array<std::int64_t, 2>& counts, PlaneMask planes, std::int64_t but) {
  return ((planes & kNowBit) != 0 && counts[kNow] > but) ||
         ((planes & kAfterBit) != 0 && counts[kAfter] > but);
}

// More than `but` on each of the planes, those aside that only a plan keeps room for.
bool is_sure(const CountedSlots& slots, PlaneMask planes, std::int64_t but) {
  return ((planes & kNowBit) == 0 || slots.sure(kNow) > but) &&
         ((planes & kAfterBit) == 0 || slots.sure(kAfter) > but);
}

}  // namespace

void put_terms(std::string& key, const std::vector<CountedTerm>& required,
               const std::vector<PreferredCountedTerm>& preferred) {
  const auto put = [&](const CountedTerm& term) {
    key += static_cast<char>('a' + static_cast<int>(term.kind));
    put_part(key, term.selector);
    put_part(key, term.level);
    if (term.kind != TermKind::kSpread) return;
    put_all(key, term.max_skew, ',', term.min_domains, ',', term.all_nodes ? 'a' : '-',
            term.tolerated ? 't' : '-');
  };
  for (const CountedTerm& term : required) put(term);
  for (const PreferredCountedTerm& wish : preferred) {
    put_all(key, '~', wish.weight);
    put(wish.term);
  }
}

// ------------------------------------------------------------------------------------------------------------- interning

CountedId Counted::intern(const std::vector<CountedTerm>& terms, const std::vector<std::string>& selected,
                          const Shape& pod, const std::vector<PreferredCountedTerm>& preferred) {
  if (terms.empty() && selected.empty() && preferred.empty()) return {};
  std::vector<std::string> names = selected;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string key;
  for (const std::string& name : names) put_part(key, name);
  key += '/';
  std::vector<CountedTerm> rules;
  for (const CountedTerm& term : terms) {
    if (std::find(rules.begin(), rules.end(), term) == rules.end()) rules.push_back(term);
  }
  std::vector<CountedTerm> wishes;
  for (const PreferredCountedTerm& wish : preferred) wishes.push_back(wish.term);
  put_terms(key, rules, preferred);
  const auto is_spread = [](const CountedTerm& term) { return term.kind == TermKind::kSpread; };
  const bool spreads = std::any_of(rules.begin(), rules.end(), is_spread);
  if (spreads || std::any_of(wishes.begin(), wishes.end(), is_spread)) put_part(key, shape_key(pod));
  if (const auto known = by_key_.find(key); known != by_key_.end()) return known->second;
  CountedSet set;
  set.used = true;
  set.key = key;
  for (const std::string& name : names) {
    const std::uint32_t selector = selector_of(name);
    ++selectors_[selector].users;
    set.selectors.push_back(selector);
  }
  std::sort(set.selectors.begin(), set.selectors.end());
  for (const CountedTerm& term : rules) {
    const std::uint32_t at = use_term(term, rules, pod);
    CountedPair& pair = terms_[at];
    if (is_spread(term) && ++pair.spreads + pair.leanings == 1) pair.keep_fewest();
    if (term.kind == TermKind::kNear) ++pair.pulls;
    const bool self = std::binary_search(set.selectors.begin(), set.selectors.end(), pair.selector);
    set.rules.push_back({at, term.kind, self, term.max_skew, term.min_domains});
  }
  for (const PreferredCountedTerm& wish : preferred) {
    const std::uint32_t at = use_term(wish.term, wishes, pod);
    if (terms_[at].spreads + ++terms_[at].leanings == 1) terms_[at].keep_fewest();
    if (!is_spread(wish.term)) ++terms_[at].pulls;
    set.leanings.push_back({at, wish.term.kind, wish.weight});
  }
  set.spreads = spreads;
  const CountedId id(sets_.take());
  sets_[id.index()] = std::move(set);
  by_key_.emplace(std::move(key), id);
  ++live_;
  return id;
}

std::uint32_t Counted::selector_of(const std::string& name) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
  const std::uint32_t at = selectors_.take();
  selectors_[at].name = name;
  by_name_.emplace(name, at);
  return at;
}

// The pair of a term, with one more user. `beside`: all terms of the pod that are required, or all that are preferred.
std::uint32_t Counted::use_term(const CountedTerm& asked, const std::vector<CountedTerm>& beside,
                                const Shape& pod) {
  const std::uint32_t selector = selector_of(asked.selector);
  ++selectors_[selector].users;
  const std::uint32_t among = asked.kind == TermKind::kSpread ? levels_.among_of(asked, beside, pod) : kNone;
  const std::uint32_t level = levels_.find_or_make(asked.level, among);
  for (const std::uint32_t known : selectors_[selector].terms) {
    if (terms_[known].level != level) continue;
    ++terms_[known].users;
    return known;
  }
  const std::uint32_t at = terms_.take();
  terms_[at].selector = selector;
  terms_[at].level = level;
  terms_[at].users = 1;
  selectors_[selector].terms.push_back(at);
  levels_.use(level);
  // Slots that stand there already.
  for (std::size_t n = 0; n < standing_.size(); ++n) {
    for (const CountedStanding& standing : standing_[n])
      count_all(NodeId(n), standing.id, standing.slots, at, kNone);
  }
  return at;
}

void Counted::keep_only(const std::vector<bool>& used) {
  for (std::uint32_t set = 0; set < sets_.size(); ++set) {
    if (sets_[set].used && (set >= used.size() || !used[set])) drop(set);
  }
}

void Counted::drop(std::uint32_t number) {
  CountedSet& set = sets_[number];
  for (const CountedRule& rule : set.rules) {
    if (rule.kind == TermKind::kSpread) --terms_[rule.term].spreads;
    if (rule.kind == TermKind::kNear) --terms_[rule.term].pulls;
    leave_term(rule.term);
  }
  for (const CountedLeaning& leaning : set.leanings) {
    --terms_[leaning.term].leanings;
    if (leaning.kind != TermKind::kSpread) --terms_[leaning.term].pulls;
    leave_term(leaning.term);
  }
  for (const std::uint32_t selector : set.selectors) leave_selector(selector);
  by_key_.erase(set.key);
  sets_.give_back(number);
  --live_;
}

void Counted::leave_term(std::uint32_t number) {
  CountedPair& term = terms_[number];
  const std::uint32_t selector = term.selector;
  if (--term.users == 0) {
    log_.forget();
    std::erase(selectors_[selector].terms, number);
    levels_.leave(term.level);
    terms_.give_back(number);
  }
  leave_selector(selector);
}

void Counted::leave_selector(std::uint32_t selector) {
  if (--selectors_[selector].users > 0) return;
  by_name_.erase(selectors_[selector].name);
  selectors_.give_back(selector);
}

// -------------------------------------------------------------------------------------------------------------- counting

void Counted::set_node(NodeId node) {
  for (std::uint32_t l = 0; l < levels_.size(); ++l) {
    if (!levels_.is_outdated(l, node)) continue;
    const std::int64_t filled = levels_[l].filled;
    const auto each_standing = [&](int sign) {
      if (node.index() >= standing_.size()) return;
      for (const CountedStanding& s : standing_[node.index()])
        count_all(node, s.id, s.slots.times(sign), kNone, l);
    };
    each_standing(-1);
    levels_.move(l, node);
    each_standing(+1);
    if (levels_[l].filled != filled) note_filled(l);
    news_.note();
  }
}

void Counted::add(NodeId node, CountedId id, PlaneMask planes, int sign) {
  if (nodes_.is_opaque(node)) return;
  const bool reserved = (planes & kReservedBit) != 0;
  const bool ending = (planes & kEndingBit) != 0;
  const bool pod = (planes & kBothPlanes) == kBothPlanes || (planes & kPodBit) != 0;
  const CountedSlots change{{(planes & kNowBit) != 0 ? sign : 0, (planes & kAfterBit) != 0 ? sign : 0},
                            reserved ? sign : 0,
                            ending ? sign : 0,
                            pod && !reserved && !ending ? sign : 0};
  if (standing_.size() <= node.index()) standing_.resize(std::max(nodes_.size(), node.index() + 1));
  auto& here = standing_[node.index()];
  auto at = std::find_if(here.begin(), here.end(), [&](const CountedStanding& s) { return s.id == id; });
  if (at == here.end()) at = here.insert(at, CountedStanding{id, {}});
  at->slots += change;
  if (at->slots == CountedSlots{}) here.erase(at);
  count_all(node, id, change, kNone, kNone);
}

// In all terms, in one, or in those of one level.
void Counted::count_all(NodeId node, CountedId id, const CountedSlots& change, std::uint32_t only_term,
                        std::uint32_t only_level) {
  const auto domain_in = [&](std::uint32_t number) {
    if (only_term != kNone && number != only_term) return kNone;
    const CountedPair& term = terms_[number];
    return only_level != kNone && term.level != only_level ? kNone : domain(term, node);
  };
  const auto one = [&](std::uint32_t number, CountedSlots CountedTally::*what) {
    if (const std::uint32_t at = domain_in(number); at != kNone) count(number, at, what, change);
  };
  const auto pulls = [&](std::uint32_t number, std::int64_t CountedTally::*what, std::int64_t weight) {
    const std::uint32_t at = domain_in(number);
    if (at == kNone || change.most() == 0) return;
    auto& by_domain = terms_[number].by_domain;
    const auto tally = by_domain.try_emplace(at).first;
    const std::int64_t before = tally->second.pull();
    tally->second.*what += weight * change.most();
    const std::int64_t after = tally->second.pull();
    if (tally->second == CountedTally{}) by_domain.erase(tally);
    if (before != after) log_.add({number, at, CountedCrossing::Of::kPull});
  };
  const CountedSet& set = sets_[id.index()];
  for (const std::uint32_t selector : set.selectors) {
    for (const std::uint32_t term : selectors_[selector].terms) one(term, &CountedTally::counted);
  }
  for (const CountedRule& rule : set.rules) {
    if (rule.kind == TermKind::kApart) one(rule.term, &CountedTally::apart);
    if (rule.kind == TermKind::kNear) pulls(rule.term, &CountedTally::needs, 1);
  }
  for (const CountedLeaning& leaning : set.leanings) {
    if (leaning.kind == TermKind::kSpread) continue;
    pulls(leaning.term, &CountedTally::wishes,
          leaning.kind == TermKind::kNear ? leaning.weight : -leaning.weight);
  }
}

void Counted::count(std::uint32_t number, std::uint32_t at, CountedSlots CountedTally::*what,
                    const CountedSlots& change) {
  CountedPair& term = terms_[number];
  const auto tally = term.by_domain.try_emplace(at).first;
  const CountedSlots had = tally->second.counted;
  const auto change_by = [&](CountedSlots& counts) {
    const CountedSlots before = counts;
    counts += change;
    const auto crosses = [](std::int64_t one, std::int64_t other) { return (one > 0) != (other > 0); };
    return crosses(before.planes[kNow], counts.planes[kNow]) ||
           crosses(before.planes[kAfter], counts.planes[kAfter]) ||
           crosses(before.sure(kNow), counts.sure(kNow)) || crosses(before.sure(kAfter), counts.sure(kAfter));
  };
  const bool crossed = change_by(tally->second.*what);
  if (what == &CountedTally::counted && change_by(term.counted)) log_.add({number});
  const CountedSlots has = tally->second.counted;
  if (tally->second == CountedTally{}) term.by_domain.erase(tally);
  if (crossed) log_.add({number, at});
  if (term.spreads + term.leanings > 0 && what == &CountedTally::counted) note_spread(number, at, had, has);
}

// ------------------------------------------------------------------------------------------------------------- questions

const CountedTally* Counted::tally(const CountedPair& term, NodeId node) const {
  if (term.by_domain.empty()) return nullptr;
  const auto found = term.by_domain.find(domain(term, node));
  return found == term.by_domain.end() ? nullptr : &found->second;
}

// Its own term, or with `self` unset that of another slot, which is one of kApart. Said last: a term that keeps nothing away that stands
// there.
std::optional<CountedRule> Counted::hinders(CountedId id, NodeId node, PlaneMask planes,
                                            std::int64_t standing) const {
  const CountedSet& set = sets_[id.index()];
  const bool first = is_first(id, planes, standing);
  std::optional<CountedRule> last;
  const auto own_rule = [](CountedRule rule) {
    rule.self = true;
    return rule;
  };
  for (const CountedRule& rule : set.rules) {
    if (rule.kind == TermKind::kSpread) {
      if (!last && !within_skew(rule, node, planes, standing)) last = own_rule(rule);
      continue;
    }
    const CountedPair& term = terms_[rule.term];
    const CountedTally* here = tally(term, node);
    const std::int64_t own = rule.self ? standing : 0;
    const bool holds = rule.kind == TermKind::kApart
                           ? here == nullptr || !on_any(here->counted.planes, planes, own)
                           : domain(term, node) != kNone &&
                                 (first || (here != nullptr && is_sure(here->counted, planes, own)));
    if (!holds && rule.kind == TermKind::kApart) return own_rule(rule);
    if (!holds) last = own_rule(rule);
  }
  const auto says = [&](std::uint32_t number) {
    return std::any_of(set.rules.begin(), set.rules.end(), [&](const CountedRule& rule) {
      return rule.term == number && rule.kind == TermKind::kApart;
    });
  };
  for (const std::uint32_t selector : set.selectors) {
    for (const std::uint32_t number : selectors_[selector].terms) {
      const CountedTally* here = tally(terms_[number], node);
      if (here != nullptr && on_any(here->apart.planes, planes, standing > 0 && says(number) ? standing : 0))
        return CountedRule{number, TermKind::kApart, false, 0, 0};
    }
  }
  return last;
}

std::optional<Counted::Hindrance> Counted::hindrance(NodeId node, CountedId id, PlaneMask planes) const {
  const auto found = hinders(id, node, planes, 0);
  if (!found) return std::nullopt;
  const CountedPair& term = terms_[found->term];
  if (found->kind == TermKind::kSpread) {
    if (domain(term, node) == kNone) return Hindrance{found->kind, "", levels_[term.level].key};
    return Hindrance{found->kind, selectors_[term.selector].name, spread_text(*found)};
  }
  return Hindrance{found->kind, selectors_[term.selector].name, levels_[term.level].key};
}

std::int64_t Counted::cap_beside_spread(NodeId node, CountedId id, Mode mode) const {
  if (nodes_.is_opaque(node)) return kInt64Max;
  const auto broken = hinders(id, node, planes_of(mode), 0);
  if (broken && broken->kind != TermKind::kSpread) return 0;
  for (const CountedRule& rule : sets_[id.index()].rules) {
    if (rule.self && rule.kind == TermKind::kApart && domain(terms_[rule.term], node) != kNone) return 1;
  }
  return kInt64Max;
}

bool Counted::is_first(CountedId id, PlaneMask planes, std::int64_t standing) const {
  bool any = false;
  for (const CountedRule& rule : sets_[id.index()].rules) {
    if (rule.kind != TermKind::kNear) continue;
    any = true;
    const CountedSlots& all = terms_[rule.term].counted;
    const std::array<std::int64_t, 2> sure{all.sure(kNow), all.sure(kAfter)};
    if (!rule.self || on_any(sure, planes, standing)) return false;
  }
  return any;
}

std::vector<Counted::Place> Counted::never_come(std::vector<Place> places, PlaneMask planes) {
  std::erase_if(places, [&](const Place& p) { return !p.second.valid() || nodes_.is_opaque(p.first); });
  const bool all_stand = std::all_of(places.begin(), places.end(),
                                     [&](const Place& p) { return stands(p.first, p.second, planes); });
  // Without a slot that is near to others, none needs another.
  if (all_stand &&
      std::none_of(places.begin(), places.end(), [&](const Place& p) { return has_near(p.second); }))
    return {};
  for (const auto& [node, id] : places) add(node, id, planes, -1);
  std::set<Place> firsts;
  const auto is_one = [&](const Place& p) { return is_first(p.second, planes) && firsts.insert(p).second; };
  const auto come = [&](const Place& p) {
    if (!stands(p.first, p.second, planes, 0)) return false;
    add(p.first, p.second, planes, +1);
    return true;
  };
  (void)come_in_some_turn(places, is_one, come, [&](const Place& p) { add(p.first, p.second, planes, -1); });
  for (const auto& [node, id] : places) add(node, id, planes, +1);
  return places;
}

std::vector<std::uint32_t> Counted::domains_of(std::span<const Place> places) const {
  std::vector<std::uint32_t> out;
  for (const auto& [node, id] : places) {
    out.push_back(id.value);
    for (const CountedRule& rule : sets_[id.index()].rules) out.push_back(domain(terms_[rule.term], node));
  }
  return out;
}

bool Counted::limits_itself(CountedId id, Mode mode) const {
  const CountedSet& set = sets_[id.index()];
  if (is_first(id, planes_of(mode))) return true;
  return std::any_of(set.rules.begin(), set.rules.end(), [&](const CountedRule& rule) {
    if (!rule.self) return false;
    return rule.kind == TermKind::kSpread ||
           (rule.kind == TermKind::kApart && levels_[terms_[rule.term].level].wide > 0);
  });
}

std::span<const std::vector<NodeId>> Counted::to_choose_from(CountedId id, Mode mode) const {
  const CountedSet& set = sets_[id.index()];
  if (!is_first(id, planes_of(mode))) return {};
  const auto rule = std::find_if(set.rules.begin(), set.rules.end(),
                                 [](const CountedRule& of) { return of.kind == TermKind::kNear; });
  return levels_[terms_[rule->term].level].nodes;
}

bool Counted::counts(CountedId a, TermKind kind, CountedId b) const {
  const auto& selectors = sets_[b.index()].selectors;
  const auto& rules = sets_[a.index()].rules;
  return std::any_of(rules.begin(), rules.end(), [&](const CountedRule& rule) {
    return rule.kind == kind &&
           std::binary_search(selectors.begin(), selectors.end(), terms_[rule.term].selector);
  });
}

bool Counted::conflict(CountedId a, CountedId b) const {
  const auto binds = [&](CountedId one, CountedId other) {
    const auto& selectors = sets_[other.index()].selectors;
    const auto& rules = sets_[one.index()].rules;
    return std::any_of(rules.begin(), rules.end(), [&](const CountedRule& rule) {
      return (rule.kind == TermKind::kApart || (rule.kind == TermKind::kSpread && one == a)) &&
             std::binary_search(selectors.begin(), selectors.end(), terms_[rule.term].selector);
    });
  };
  return binds(a, b) || binds(b, a);
}

bool Counted::concerns(CountedId id, const CountedCrossing& crossing) const {
  if (crossing.term >= terms_.size() || terms_[crossing.term].users == 0) return false;
  const CountedSet& set = sets_[id.index()];
  if (crossing.of == CountedCrossing::Of::kLeaning) {
    return std::any_of(set.leanings.begin(), set.leanings.end(),
                       [&](const CountedLeaning& leaning) { return leaning.term == crossing.term; });
  }
  if (crossing.of == CountedCrossing::Of::kPull)
    return std::binary_search(set.selectors.begin(), set.selectors.end(), terms_[crossing.term].selector);
  if (crossing.of == CountedCrossing::Of::kSpread) {
    return set.spreads && std::any_of(set.rules.begin(), set.rules.end(), [&](const CountedRule& rule) {
             return rule.term == crossing.term && rule.kind == TermKind::kSpread;
           });
  }
  if (crossing.domain == CountedCrossing::kEverywhere) {
    return std::any_of(set.rules.begin(), set.rules.end(), [&](const CountedRule& rule) {
      return rule.term == crossing.term && rule.kind == TermKind::kNear;
    });
  }
  return std::binary_search(set.selectors.begin(), set.selectors.end(), terms_[crossing.term].selector) ||
         std::any_of(set.rules.begin(), set.rules.end(), [&](const CountedRule& rule) {
           return rule.term == crossing.term && rule.kind != TermKind::kSpread;
         });
}

std::span<const NodeId> Counted::nodes_of(const CountedCrossing& crossing) const {
  const auto& nodes = levels_[terms_[crossing.term].level].nodes;
  if (crossing.domain >= nodes.size()) return {};
  return nodes[crossing.domain];
}

void Counted::forget_counts() {
  standing_.clear();
  for (CountedPair& term : terms_) {
    term.by_domain.clear();
    term.counted = {};
    term.fewest_pods = {};
    term.fewest_sure = {};
  }
}

std::string Counted::to_text() const {
  std::map<std::string, CountedTally> all;
  for (const CountedPair& term : terms_) {
    if (term.users == 0) continue;
    const LabelDomains::Level& level = levels_[term.level];
    for (const auto& [value, at] :
         std::map<std::string, std::uint32_t>(level.values.begin(), level.values.end())) {
      const auto tally = term.by_domain.find(at);
      if (tally == term.by_domain.end()) continue;
      std::string name = fmt::format("{} | {}={}", selectors_[term.selector].name, level.key, value);
      if (level.among != kNone) name += fmt::format(" of {}", level.among);
      all[std::move(name)] = tally->second;
    }
  }
  std::string out;
  for (const auto& [name, tally] : all) {
    out += fmt::format("{}: {} {} counted, {} pods, {} {} apart\n", name, tally.counted.planes[kNow],
                       tally.counted.planes[kAfter], tally.counted.pods, tally.apart.planes[kNow],
                       tally.apart.planes[kAfter]);
    if (tally.wishes != 0 || tally.needs != 0)
      out += fmt::format("  {} wished, {} needed\n", tally.wishes, tally.needs);
  }
  return out;
}

}  // namespace berth::engine

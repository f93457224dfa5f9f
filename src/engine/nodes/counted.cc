#include "engine/nodes/counted.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace berth::engine {
namespace {

// Length-prefixed, so that no choice of names makes two different sets look alike.
void put_name(std::string& out, std::string_view text) {
  fmt::format_to(std::back_inserter(out), "{}:{}", text.size(), text);
}

// More than `but` on one of the planes.
bool on_any(const std::array<std::int64_t, 2>& counts, PlaneMask planes, std::int64_t but) {
  return ((planes & kNowBit) != 0 && counts[kNow] > but) ||
         ((planes & kAfterBit) != 0 && counts[kAfter] > but);
}

// An index that is not in use.
template <class T>
std::uint32_t take_free(std::vector<std::uint32_t>& unused, std::vector<T>& all) {
  if (unused.empty()) {
    all.emplace_back();
    return static_cast<std::uint32_t>(all.size() - 1);
  }
  const std::uint32_t at = unused.back();
  unused.pop_back();
  return at;
}

}  // namespace

// ------------------------------------------------------------------------------------------------------------- interning

CountedId Counted::intern(const std::vector<CountedTerm>& terms, const std::vector<std::string>& selected) {
  if (terms.empty() && selected.empty()) return {};
  std::vector<std::string> names = selected;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string key;
  for (const std::string& name : names) put_name(key, name);
  key += '/';
  std::vector<CountedTerm> rules;
  for (const CountedTerm& term : terms) {
    if (std::find(rules.begin(), rules.end(), term) != rules.end()) continue;
    rules.push_back(term);
    key += static_cast<char>('a' + static_cast<int>(term.kind));
    put_name(key, term.selector);
    put_name(key, term.level);
  }
  if (const auto known = by_key_.find(key); known != by_key_.end()) return known->second;
  Set set;
  set.used = true;
  set.key = key;
  for (const std::string& name : names) {
    const std::uint32_t selector = selector_of(name);
    ++selectors_[selector].users;
    set.selectors.push_back(selector);
  }
  std::sort(set.selectors.begin(), set.selectors.end());
  for (const CountedTerm& term : rules) {
    const std::uint32_t selector = selector_of(term.selector);
    ++selectors_[selector].users;
    const std::uint32_t at = term_of(selector, level_of(term.level));
    ++terms_[at].users;
    const bool self = std::binary_search(set.selectors.begin(), set.selectors.end(), selector);
    set.rules.push_back({at, term.kind, self});
  }
  const CountedId id(take_free(free_sets_, sets_));
  sets_[id.index()] = std::move(set);
  by_key_.emplace(std::move(key), id);
  ++live_;
  return id;
}

std::uint32_t Counted::selector_of(const std::string& name) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
  const std::uint32_t at = take_free(free_selectors_, selectors_);
  selectors_[at].name = name;
  by_name_.emplace(name, at);
  return at;
}

std::uint32_t Counted::level_of(const std::string& key) {
  const auto known = std::find_if(levels_.begin(), levels_.end(),
                                  [&](const Level& level) { return level.terms > 0 && level.key == key; });
  if (known != levels_.end()) return static_cast<std::uint32_t>(known - levels_.begin());
  const auto unused =
      std::find_if(levels_.begin(), levels_.end(), [](const Level& l) { return l.terms == 0; });
  const auto at = static_cast<std::uint32_t>(unused - levels_.begin());
  if (unused == levels_.end()) levels_.emplace_back();
  levels_[at] = Level{};
  levels_[at].key = key;
  for (std::size_t n = 0; n < nodes_.size(); ++n) put_in_domain(levels_[at], NodeId(n));
  return at;
}

std::uint32_t Counted::term_of(std::uint32_t selector, std::uint32_t level) {
  for (const std::uint32_t known : selectors_[selector].terms) {
    if (terms_[known].level == level) return known;
  }
  const std::uint32_t at = take_free(free_terms_, terms_);
  terms_[at].selector = selector;
  terms_[at].level = level;
  selectors_[selector].terms.push_back(at);
  ++levels_[level].terms;
  // Slots that stand there already.
  for (std::size_t n = 0; n < standing_.size(); ++n) {
    for (const Standing& standing : standing_[n])
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
  Set& set = sets_[number];
  const auto leave = [&](std::uint32_t selector) {
    if (--selectors_[selector].users > 0) return;
    by_name_.erase(selectors_[selector].name);
    selectors_[selector] = Selector{};
    free_selectors_.push_back(selector);
  };
  for (const Rule& rule : set.rules) {
    Term& term = terms_[rule.term];
    const std::uint32_t selector = term.selector;
    if (--term.users == 0) {
      std::erase(selectors_[selector].terms, rule.term);
      if (--levels_[term.level].terms == 0) levels_[term.level] = Level{};
      term = Term{};
      free_terms_.push_back(rule.term);
    }
    leave(selector);
  }
  for (const std::uint32_t selector : set.selectors) leave(selector);
  by_key_.erase(set.key);
  set = Set{};
  free_sets_.push_back(number);
  --live_;
}

// -------------------------------------------------------------------------------------------------------------- counting

void Counted::put_in_domain(Level& level, NodeId node) {
  if (level.domain_of.size() <= node.index())
    level.domain_of.resize(std::max(nodes_.size(), node.index() + 1), kNone);
  const NodeTable::Record& record = nodes_.record(node);
  if (!record.alive || nodes_.is_opaque(node)) return;
  const auto label = record.spec.labels.find(level.key);
  if (label == record.spec.labels.end()) return;
  const auto fresh = static_cast<std::uint32_t>(level.nodes.size());
  const std::uint32_t at = level.values.try_emplace(label->second, fresh).first->second;
  if (at == fresh) level.nodes.emplace_back();
  level.nodes[at].push_back(node);
  if (level.nodes[at].size() == 2) ++level.wide;
  level.domain_of[node.index()] = at;
}

void Counted::set_node(NodeId node) {
  for (std::uint32_t l = 0; l < levels_.size(); ++l) {
    Level& level = levels_[l];
    if (level.terms == 0) continue;
    const std::uint32_t before =
        node.index() < level.domain_of.size() ? level.domain_of[node.index()] : kNone;
    const NodeTable::Record& record = nodes_.record(node);
    const auto label = record.alive ? record.spec.labels.find(level.key) : record.spec.labels.end();
    if (before != kNone && label != record.spec.labels.end()) {
      const auto same = level.values.find(label->second);
      if (same != level.values.end() && same->second == before) continue;
    }
    if (before == kNone && label == record.spec.labels.end()) continue;
    const auto each_standing = [&](int sign) {
      if (node.index() >= standing_.size()) return;
      for (const Standing& s : standing_[node.index()]) count_all(node, s.id, s.slots.times(sign), kNone, l);
    };
    each_standing(-1);
    if (before != kNone) {
      std::erase(level.nodes[before], node);
      if (level.nodes[before].size() == 1) --level.wide;
      level.domain_of[node.index()] = kNone;
    }
    put_in_domain(level, node);
    each_standing(+1);
    news_ = true;
  }
}

std::uint32_t Counted::domain(const Term& term, NodeId node) const {
  const auto& domain_of = levels_[term.level].domain_of;
  return node.index() < domain_of.size() ? domain_of[node.index()] : kNone;
}

void Counted::add(NodeId node, CountedId id, PlaneMask planes, int sign) {
  if (nodes_.is_opaque(node)) return;
  const Slots change{{(planes & kNowBit) != 0 ? sign : 0, (planes & kAfterBit) != 0 ? sign : 0},
                     (planes & kReservedBit) != 0 ? sign : 0};
  if (standing_.size() <= node.index()) standing_.resize(std::max(nodes_.size(), node.index() + 1));
  auto& here = standing_[node.index()];
  auto at = std::find_if(here.begin(), here.end(), [&](const Standing& s) { return s.id == id; });
  if (at == here.end()) at = here.insert(at, Standing{id, {}});
  at->slots += change;
  if (at->slots == Slots{}) here.erase(at);
  count_all(node, id, change, kNone, kNone);
}

// In all terms, in one, or in those of one level.
void Counted::count_all(NodeId node, CountedId id, const Slots& change, std::uint32_t only_term,
                        std::uint32_t only_level) {
  const auto one = [&](std::uint32_t number, Slots Tally::*what) {
    if (only_term != kNone && number != only_term) return;
    const Term& term = terms_[number];
    if (only_level != kNone && term.level != only_level) return;
    if (const std::uint32_t at = domain(term, node); at != kNone) count(number, at, what, change);
  };
  const Set& set = sets_[id.index()];
  for (const std::uint32_t selector : set.selectors) {
    for (const std::uint32_t term : selectors_[selector].terms) one(term, &Tally::counted);
  }
  for (const Rule& rule : set.rules) {
    if (rule.kind == TermKind::kApart) one(rule.term, &Tally::apart);
  }
}

void Counted::count(std::uint32_t number, std::uint32_t at, Slots Tally::*what, const Slots& change) {
  Term& term = terms_[number];
  const auto tally = term.by_domain.try_emplace(at).first;
  const auto change_by = [&](Slots& counts) {
    const Slots before = counts;
    counts += change;
    const auto crosses = [](std::int64_t one, std::int64_t other) { return (one > 0) != (other > 0); };
    return crosses(before.planes[kNow], counts.planes[kNow]) ||
           crosses(before.planes[kAfter], counts.planes[kAfter]) ||
           crosses(before.sure(kNow), counts.sure(kNow)) || crosses(before.sure(kAfter), counts.sure(kAfter));
  };
  const bool crossed = change_by(tally->second.*what);
  if (what == &Tally::counted && change_by(term.counted)) log(number, kEverywhere);
  if (tally->second == Tally{}) term.by_domain.erase(tally);
  if (crossed) log(number, at);
}

void Counted::log(std::uint32_t term, std::uint32_t at) {
  constexpr std::size_t kMost = 4096;
  log_.push_back({term, at});
  if (log_.size() <= kMost) return;
  log_.erase(log_.begin(), log_.begin() + kMost / 2);
  log_begin_ += kMost / 2;
}

// ------------------------------------------------------------------------------------------------------------- questions

const Counted::Tally* Counted::tally(const Term& term, NodeId node) const {
  if (term.by_domain.empty()) return nullptr;
  const auto found = term.by_domain.find(domain(term, node));
  return found == term.by_domain.end() ? nullptr : &found->second;
}

// Its own term, or with `self` unset that of another slot, which is one of kApart.
std::optional<Counted::Rule> Counted::hinders(const Set& set, NodeId node, PlaneMask planes,
                                              std::int64_t standing) const {
  const bool first = is_first(set, planes, standing);
  std::optional<Rule> lonely;  // said last: it keeps nothing away that stands there
  for (const Rule& rule : set.rules) {
    const Term& term = terms_[rule.term];
    const Tally* here = tally(term, node);
    const std::int64_t own = rule.self ? standing : 0;
    const bool holds = rule.kind == TermKind::kApart
                           ? here == nullptr || !on_any(here->counted.planes, planes, own)
                           : domain(term, node) != kNone &&
                                 (first || (here != nullptr && is_sure(here->counted, planes, own)));
    if (!holds && rule.kind == TermKind::kApart) return Rule{rule.term, rule.kind, true};
    if (!holds) lonely = Rule{rule.term, rule.kind, true};
  }
  const auto says = [&](std::uint32_t number) {
    return std::any_of(set.rules.begin(), set.rules.end(), [&](const Rule& rule) {
      return rule.term == number && rule.kind == TermKind::kApart;
    });
  };
  for (const std::uint32_t selector : set.selectors) {
    for (const std::uint32_t number : selectors_[selector].terms) {
      const Tally* here = tally(terms_[number], node);
      if (here != nullptr && on_any(here->apart.planes, planes, standing > 0 && says(number) ? standing : 0))
        return Rule{number, TermKind::kApart, false};
    }
  }
  return lonely;
}

std::optional<Counted::Hindrance> Counted::hindrance(NodeId node, CountedId id, PlaneMask planes) const {
  const auto found = hinders(sets_[id.index()], node, planes, 0);
  if (!found) return std::nullopt;
  const Term& term = terms_[found->term];
  return Hindrance{found->kind, selectors_[term.selector].name, levels_[term.level].key};
}

// More than `but` on each of the planes, those aside that only a plan keeps room for.
bool Counted::is_sure(const Slots& slots, PlaneMask planes, std::int64_t but) {
  return ((planes & kNowBit) == 0 || slots.sure(kNow) > but) &&
         ((planes & kAfterBit) == 0 || slots.sure(kAfter) > but);
}

std::int64_t Counted::cap(NodeId node, CountedId id, Mode mode) const {
  if (nodes_.is_opaque(node)) return kInt64Max;
  if (!admits(node, id, planes_of(mode))) return 0;
  for (const Rule& rule : sets_[id.index()].rules) {
    if (rule.self && rule.kind == TermKind::kApart && domain(terms_[rule.term], node) != kNone) return 1;
  }
  return kInt64Max;
}

// Terms that it must be near to: each counts it, and nothing else stands in their domains.
bool Counted::is_first(const Set& set, PlaneMask planes, std::int64_t standing) const {
  bool any = false;
  for (const Rule& rule : set.rules) {
    if (rule.kind != TermKind::kNear) continue;
    any = true;
    const Slots& all = terms_[rule.term].counted;
    const Planes sure{all.sure(kNow), all.sure(kAfter)};
    if (!rule.self || on_any(sure, planes, standing)) return false;
  }
  return any;
}

bool Counted::limits_itself(CountedId id, Mode mode) const {
  const Set& set = sets_[id.index()];
  if (is_first(set, planes_of(mode), 0)) return true;
  return std::any_of(set.rules.begin(), set.rules.end(), [&](const Rule& rule) {
    return rule.self && rule.kind == TermKind::kApart && levels_[terms_[rule.term].level].wide > 0;
  });
}

std::span<const std::vector<NodeId>> Counted::to_choose_from(CountedId id, Mode mode) const {
  const Set& set = sets_[id.index()];
  if (!is_first(set, planes_of(mode), 0)) return {};
  const auto rule = std::find_if(set.rules.begin(), set.rules.end(),
                                 [](const Rule& of) { return of.kind == TermKind::kNear; });
  return levels_[terms_[rule->term].level].nodes;
}

bool Counted::leans_on(CountedId a, CountedId b) const {
  const auto& selectors = sets_[b.index()].selectors;
  const auto& rules = sets_[a.index()].rules;
  return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
    return rule.kind == TermKind::kNear &&
           std::binary_search(selectors.begin(), selectors.end(), terms_[rule.term].selector);
  });
}

bool Counted::conflict(CountedId a, CountedId b) const {
  const auto binds = [&](CountedId one, CountedId other) {
    const auto& selectors = sets_[other.index()].selectors;
    const auto& rules = sets_[one.index()].rules;
    return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) {
      return rule.kind == TermKind::kApart &&
             std::binary_search(selectors.begin(), selectors.end(), terms_[rule.term].selector);
    });
  };
  return binds(a, b) || binds(b, a);
}

bool Counted::concerns(CountedId id, const Crossing& crossing) const {
  if (crossing.term >= terms_.size() || terms_[crossing.term].users == 0) return false;
  const Set& set = sets_[id.index()];
  if (crossing.domain == kEverywhere) {
    return std::any_of(set.rules.begin(), set.rules.end(), [&](const Rule& rule) {
      return rule.term == crossing.term && rule.kind == TermKind::kNear;
    });
  }
  return std::binary_search(set.selectors.begin(), set.selectors.end(), terms_[crossing.term].selector) ||
         std::any_of(set.rules.begin(), set.rules.end(),
                     [&](const Rule& rule) { return rule.term == crossing.term; });
}

std::span<const NodeId> Counted::nodes_of(const Crossing& crossing) const {
  const auto& nodes = levels_[terms_[crossing.term].level].nodes;
  if (crossing.domain >= nodes.size()) return {};
  return nodes[crossing.domain];
}

void Counted::forget_counts() {
  standing_.clear();
  for (Term& term : terms_) {
    term.by_domain.clear();
    term.counted = {};
  }
}

std::string Counted::to_text() const {
  std::map<std::string, Tally> all;
  for (const Term& term : terms_) {
    if (term.users == 0) continue;
    const Level& level = levels_[term.level];
    for (const auto& [value, at] :
         std::map<std::string, std::uint32_t>(level.values.begin(), level.values.end())) {
      const auto tally = term.by_domain.find(at);
      if (tally == term.by_domain.end()) continue;
      all[fmt::format("{} | {}={}", selectors_[term.selector].name, level.key, value)] = tally->second;
    }
  }
  std::string out;
  for (const auto& [name, tally] : all) {
    out += fmt::format("{}: {} {} counted, {} {} apart\n", name, tally.counted.planes[kNow],
                       tally.counted.planes[kAfter], tally.apart.planes[kNow], tally.apart.planes[kAfter]);
  }
  return out;
}

}  // namespace berth::engine

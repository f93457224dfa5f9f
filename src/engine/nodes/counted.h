// Counted terms: pods that a selector counts, per domain of a node label, on both planes (engine/base/plane.h). They cap how many
// more slots of a shape a node takes, and never score.
//
// A CountedId is the part of a shape in terms: the selectors that count it, and the terms that it must hold (model/labels.h,
// CountedTerm). Both are interned, so that shapes carry a number and not the labels of pods; shapes without either have no id and pay
// for nothing. A selector is a name here: the caller finds out which pods it selects.
//
// A pair (selector, level) has two counts in each domain: the slots that the selector counts, and the slots that must stand apart
// from those. Both are needed, because "apart" binds both sides.
//   apart  a slot fits where its domain has no slot that its selector counts, and no slot that must stand apart from it. On the
//          planes of a start a slot that is ending still counts, and so does one that is held.
//   near   a slot fits where its domain has a slot that the selector counts, on each of the planes. Slots that are ending, or only held,
//          are none, and neither is room that only a plan keeps (kReservedBit). The first of its kind fits anywhere with the label: its
//          selector counts it, and no other slot in any domain.
// Nodes without the label, nodes that are gone and the opaque node are in no domain: nothing is counted there, and nothing is kept
// away.
//
// One placement changes the cap of all nodes of its domain. Therefore:
//   - Indices (nodes/index.h) of shapes with an id also follow log(), the domains where a count became or ceased to be zero.
//   - The caps of several nodes are not independent where a term counts its own shape: its fits add up to an upper bound only.
//     at_most() is the bound that knows of that; limits_itself() says where it is needed.
//
// Only Accounts and the facts about foreign pods and nodes change the counts. Adding and taking away cancel exactly.
// Cost: add() O(terms that count or that it must hold), cap() the same; intern() of a new pair O(nodes), else O(length). Nothing where
// there are no terms.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "engine/base/plane.h"
#include "engine/nodes/nodes.h"
#include "model/labels.h"

namespace berth::engine {

class Counted {
 public:
  // `nodes` outlives this.
  explicit Counted(const NodeTable& nodes) : nodes_(nodes) {}

  // Invalid where there are neither terms nor selectors.
  CountedId intern(const std::vector<CountedTerm>& terms, const std::vector<std::string>& selected);
  // Forgets all ids but those of which `used` is true. Nothing is counted for the others any more.
  void keep_only(const std::vector<bool>& used);
  bool any() const { return live_ > 0; }
  std::size_t size() const { return sets_.size(); }  // ids are below this

  // Labels, or liveness, of a node may have changed.
  void set_node(NodeId node);
  // One slot, or foreign pod, comes (+1) or goes (-1).
  void add(NodeId node, CountedId id, PlaneMask planes, int sign);

  // `standing`: how many such slots stand there and are not to count, 0 or 1.
  bool admits(NodeId node, CountedId id, PlaneMask planes, std::int64_t standing = 0) const {
    return !hinders(sets_[id.index()], node, planes, standing);
  }
  // The same for a slot that stands there and may stay, whatever it must be near to.
  bool may_stay(NodeId node, CountedId id, PlaneMask planes) const {
    const auto rule = hinders(sets_[id.index()], node, planes, 1);
    return !rule || rule->kind == TermKind::kNear;
  }
  // How many more slots the domains of a node admit, each slot for itself: 0, or so many that room decides.
  std::int64_t cap(NodeId node, CountedId id, Mode mode) const;
  // The first term that keeps such a slot from the node.
  struct Hindrance {
    TermKind kind = TermKind::kApart;
    std::string selector;
    std::string level;
  };
  std::optional<Hindrance> hindrance(NodeId node, CountedId id, PlaneMask planes) const;

  // Whether a placement of such a slot can change how many of its kind fit on other nodes.
  bool limits_itself(CountedId id, Mode mode) const;
  // With `fit` slots on each of these nodes at most: how many they take together at most. O(nodes).
  template <class Fit>
  std::int64_t at_most(CountedId id, Mode mode, std::span<const NodeId> nodes, const Fit& fit) const;
  // The domains of which the first of such slots chooses one for all that follow; none where that is no matter.
  std::span<const std::vector<NodeId>> to_choose_from(CountedId id, Mode mode) const;
  // Whether the slots of one and of the other hinder each other in the same domain.
  bool conflict(CountedId a, CountedId b) const;
  // Whether slots of `a` must be near some that are like `b`.
  bool leans_on(CountedId a, CountedId b) const;

  // Domains in which a count became or ceased to be zero, in order. Or the sum of all domains did.
  struct Crossing {
    std::uint32_t term = 0;
    std::uint32_t domain = kEverywhere;
  };
  static constexpr std::uint32_t kEverywhere = 0xffffffffu;
  std::uint64_t log_begin() const { return log_begin_; }
  std::uint64_t log_end() const { return log_begin_ + log_.size(); }
  const Crossing& crossing(std::uint64_t number) const { return log_[number - log_begin_]; }
  bool concerns(CountedId id, const Crossing& crossing) const;
  // The nodes of one domain.
  std::span<const NodeId> nodes_of(const Crossing& crossing) const;

  // Whether slots or foreign pods with terms came, went or moved since the last call. Trials do not count.
  void note_news() { news_ = true; }
  bool take_news() { return std::exchange(news_, false); }
  bool news() const { return news_; }

  // Keeps the ids, as if nothing had been added.
  void forget_counts();
  // All counts, for audits and tests: the same text exactly where the counts are the same.
  std::string to_text() const;

 private:
  static constexpr std::uint32_t kNone = kEverywhere;
  using Planes = std::array<std::int64_t, 2>;
  struct Slots {
    Planes planes{};
    std::int64_t reserved = 0;  // of those on each plane
    // The others.
    std::int64_t sure(Plane plane) const { return planes[plane] - reserved; }
    Slots times(std::int64_t by) const { return {{by * planes[kNow], by * planes[kAfter]}, by * reserved}; }
    Slots& operator+=(const Slots& other) {
      for (const Plane plane : {kNow, kAfter}) planes[plane] += other.planes[plane];
      reserved += other.reserved;
      return *this;
    }
    bool operator==(const Slots&) const = default;
  };

  struct Level {
    std::string key;
    std::int64_t terms = 0;                                 // that use it; 0: free
    std::unordered_map<std::string, std::uint32_t> values;  // looked up, never iterated
    std::vector<std::uint32_t> domain_of;                   // by node
    std::vector<std::vector<NodeId>> nodes;                 // by domain
    std::int64_t wide = 0;                                  // domains with more than one node
  };
  struct Tally {
    Slots counted;  // slots that the selector counts
    Slots apart;    // slots that must stand apart from them
    bool operator==(const Tally&) const = default;
  };
  struct Term {
    std::uint32_t selector = 0;
    std::uint32_t level = 0;
    std::int64_t users = 0;                              // rules of sets
    Slots counted;                                       // in all domains
    std::unordered_map<std::uint32_t, Tally> by_domain;  // where some count is not zero; looked up
  };
  struct Selector {
    std::string name;
    std::int64_t users = 0;
    std::vector<std::uint32_t> terms;
  };
  struct Rule {
    std::uint32_t term = 0;
    TermKind kind = TermKind::kApart;
    bool self = false;  // its selector counts the slot itself
  };
  struct Set {
    bool used = false;
    std::string key;
    std::vector<std::uint32_t> selectors;  // ascending
    std::vector<Rule> rules;
  };
  struct Standing {
    CountedId id;
    Slots slots;
  };

  std::uint32_t selector_of(const std::string& name);
  std::uint32_t level_of(const std::string& key);
  std::uint32_t term_of(std::uint32_t selector, std::uint32_t level);
  void put_in_domain(Level& level, NodeId node);
  std::uint32_t domain(const Term& term, NodeId node) const;
  void count(std::uint32_t term, std::uint32_t domain, Slots Tally::*what, const Slots& change);
  void count_all(NodeId node, CountedId id, const Slots& change, std::uint32_t only_term,
                 std::uint32_t only_level);
  void log(std::uint32_t term, std::uint32_t domain);
  void drop(std::uint32_t set);
  const Tally* tally(const Term& term, NodeId node) const;
  bool is_first(const Set& set, PlaneMask planes, std::int64_t standing) const;
  static bool is_sure(const Slots& slots, PlaneMask planes, std::int64_t but);
  std::optional<Rule> hinders(const Set& set, NodeId node, PlaneMask planes, std::int64_t standing) const;

  const NodeTable& nodes_;
  std::vector<Set> sets_;
  std::vector<Selector> selectors_;
  std::vector<Term> terms_;
  std::vector<Level> levels_;
  std::vector<std::uint32_t> free_sets_;
  std::vector<std::uint32_t> free_selectors_;
  std::vector<std::uint32_t> free_terms_;
  std::unordered_map<std::string, CountedId> by_key_;       // looked up, never iterated
  std::unordered_map<std::string, std::uint32_t> by_name_;  // selectors
  std::vector<std::vector<Standing>> standing_;             // by node
  std::size_t live_ = 0;                                    // sets
  std::vector<Crossing> log_;
  std::uint64_t log_begin_ = 0;
  bool news_ = false;
};

// The exact number for one rule, where the nodes of a domain have room for one at least; for several rules a bound.
template <class Fit>
std::int64_t Counted::at_most(CountedId id, Mode mode, std::span<const NodeId> nodes, const Fit& fit) const {
  std::int64_t sum = 0;
  for (const NodeId node : nodes) sum += fit(node);
  const Set& set = sets_[id.index()];
  const bool first = is_first(set, planes_of(mode), 0);
  std::vector<std::int64_t> taken;
  for (const Rule& rule : set.rules) {
    if (!rule.self || (rule.kind == TermKind::kNear && !first)) continue;
    const Term& term = terms_[rule.term];
    taken.assign(levels_[term.level].nodes.size(), 0);
    std::int64_t apart = 0;
    std::int64_t fullest = 0;
    for (const NodeId node : nodes) {
      const std::int64_t here = fit(node);
      const std::uint32_t at = domain(term, node);
      if (here <= 0) continue;
      if (at == kNone || taken[at] == 0) apart += at == kNone ? here : 1;
      if (at != kNone) fullest = std::max(fullest, taken[at] += here);
    }
    sum = std::min(sum, rule.kind == TermKind::kNear ? fullest : apart);
  }
  return sum;
}

}  // namespace berth::engine

// Counted terms: pods that a selector counts, per domain of a node label, on both planes (engine/base/plane.h). They cap how many
// more slots of a shape a node takes, and never score.
//
// A CountedId is the part of a shape in terms: the selectors that count it, and the terms that it must hold (model/labels.h,
// CountedTerm). Both are interned, so that shapes carry a number and not the labels of pods; shapes without either have no id and pay
// for nothing. A selector is a name here: the caller finds out which pods it selects.
//
// A pair (selector, level) has two counts in each domain: the slots that the selector counts, and the slots that must stand apart
// from those. Both are needed, because "apart" binds both sides. A level is a node label. A spread may look at some nodes only
// (label_domains.h).
//   apart  a slot fits where its domain has no slot that its selector counts, and no slot that must stand apart from it. On the
//          planes of a start a slot that is ending still counts, and so does one that is held.
//   near   a slot fits where its domain has a slot that the selector counts, on each of the planes. Slots that are ending, or only held,
//          are none, and neither is room that only a plan keeps (kReservedBit). The first of its kind fits anywhere with the label: its
//          selector counts it, and no other slot in any domain.
//   spread a slot fits where its domain has, with it, at most max_skew more than the domain with the fewest. Held slots count where
//          there are many, and not where there are few: each start is right without those that have not started. Slots that
//          are ending do not count. Those of one gang count for each other: they start together.
// Nodes without the label, nodes that are gone and the opaque node are in no domain: nothing is counted there, and nothing is kept
// away.
//
// Preferred terms (leanings) cap nothing. lean() is their weight on a node: a slot of apart or spread weighs against it, a slot of
// near for it. They look at the slots that will stay. Beyond 64 slots a domain weighs no more. For apart and spread slots are counted
// from the fewest of any domain on, in steps of 16, so that large counts still differ. Terms of near and apart weigh both ways: lean()
// has the weights of the slots in the domain whose terms select the slot (pull). A required term of near weighs 1 there.
//
// One placement changes the cap of all nodes of its domain. Therefore:
//   - Indices (nodes/index.h) of shapes with an id also follow log(), the domains where a count became or ceased to be zero. For a
//     spread it has all changes.
//   - The caps of several nodes are not independent where a term counts its own shape: its fits add up to an upper bound only.
//     at_most() is the bound that knows of that; limits_itself() says where it is needed.
//
// Only Accounts and the facts about foreign pods and nodes change the counts. Adding and taking away cancel exactly.
// Cost: add() O(terms that count or that it must hold), cap() the same; intern() of a new pair O(nodes), else O(length). Nothing where
// there are no terms. The part of kSpread alone stands in counted_spread.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "engine/base/plane.h"
#include "engine/nodes/counted_parts.h"
#include "engine/nodes/label_domains.h"
#include "engine/nodes/nodes.h"
#include "engine/nodes/shape.h"
#include "model/labels.h"

namespace berth::engine {

class Counted {
 public:
  // `nodes` outlives this.
  explicit Counted(const NodeTable& nodes) : nodes_(nodes) {}

  // Invalid where there are neither terms nor selectors. `pod`: its node selector, required affinity and tolerations, for terms of
  // kSpread.
  CountedId intern(const std::vector<CountedTerm>& terms, const std::vector<std::string>& selected,
                   const Shape& pod = {}, const std::vector<PreferredCountedTerm>& preferred = {});
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
    return !hinders(id, node, planes, standing);
  }
  // The same for a slot that stands there and may stay, whatever it must be near to.
  bool may_stay(NodeId node, CountedId id, PlaneMask planes) const {
    const auto rule = hinders(id, node, planes, 1);
    return !rule || rule->kind != TermKind::kApart;
  }
  // The same for what it must be near to as well: only its spreads may be broken.
  bool stands(NodeId node, CountedId id, PlaneMask planes, std::int64_t standing = 1) const {
    const auto rule = hinders(id, node, planes, standing);
    return !rule || rule->kind == TermKind::kSpread;
  }
  // Slots that stand there, charged on the planes of the mode: whether they could have come one after the other. Each then comes within
  // its spreads, and near to those that it must be near to.
  // A start is judged by the pods that are there: two holds that both may start do not keep each other from it.
  // Changes nothing in the end. O(slots x rounds), and nothing where none of them has a spread.
  using Place = std::pair<NodeId, CountedId>;
  bool fit_in_turn(std::vector<Place> places, Mode mode);
  // The same for their other terms: those of such slots that cannot come. They may stand near to each other alone.
  std::vector<Place> never_come(std::vector<Place> places, PlaneMask planes);
  // Whether such a slot may go anywhere, as the first of its kind. Each of its near terms counts it, and nothing else stands in their
  // domains. `standing`: as for admits().
  bool is_first(CountedId id, PlaneMask planes, std::int64_t standing = 0) const;
  // For each such slot its part, and the domains that its required terms look at: slots for which these are the same fare alike.
  std::vector<std::uint32_t> domains_of(std::span<const Place> places) const;
  bool has_spread(CountedId id) const { return sets_[id.index()].spreads; }
  bool has_near(CountedId id) const {
    const auto is_near = [](const CountedRule& rule) { return rule.kind == TermKind::kNear; };
    return std::any_of(sets_[id.index()].rules.begin(), sets_[id.index()].rules.end(), is_near);
  }
  // The weight of preferred terms on the node, its own and those that select it: more is better; 0 where there are none.
  std::int64_t lean(NodeId node, CountedId id) const;
  // How many more slots the domains of a node admit, each slot for itself. Without a spread that is none, or so many that room
  // decides.
  std::int64_t cap(NodeId node, CountedId id, Mode mode) const {
    return std::min(cap_beside_spread(node, id, mode), cap_of_spread(node, id, mode));
  }
  // The two parts of it: slots of its own kind elsewhere raise the second.
  std::int64_t cap_beside_spread(NodeId node, CountedId id, Mode mode) const;
  std::int64_t cap_of_spread(NodeId node, CountedId id, Mode mode, bool pods_alone = false) const;
  // The first term that keeps such a slot from the node.
  struct Hindrance {
    TermKind kind = TermKind::kApart;
    std::string selector;
    std::string
        level;  // of a spread: all that there is to say; with no selector: the label that the node lacks
  };
  std::optional<Hindrance> hindrance(NodeId node, CountedId id, PlaneMask planes) const;

  // Whether a placement of such a slot can change how many of its kind fit on other nodes.
  bool limits_itself(CountedId id, Mode mode) const;
  // With `fit` slots on each of these nodes at most, a spread of its own aside: how many they take together at most. O(nodes + domains).
  template <class Fit>
  std::int64_t at_most(CountedId id, Mode mode, std::span<const NodeId> nodes, const Fit& fit) const;
  // The domains of which the first of such slots chooses one for all that follow; none where that is no matter.
  std::span<const std::vector<NodeId>> to_choose_from(CountedId id, Mode mode) const;
  // Whether slots of one hinder those of the other in the same domain: either of kApart, or `b` counts for a spread of `a`.
  bool conflict(CountedId a, CountedId b) const;
  // Whether a rule of `a` of this kind counts slots that are like `b`.
  bool counts(CountedId a, TermKind kind, CountedId b) const;

  const CountedLog& log() const { return log_; }
  bool concerns(CountedId id, const CountedCrossing& crossing) const;
  // The nodes of one domain.
  std::span<const NodeId> nodes_of(const CountedCrossing& crossing) const;

  CountedNews& news() { return news_; }

  // Keeps the ids, as if nothing had been added.
  void forget_counts();
  // All counts, for audits and tests: the same text exactly where the counts are the same.
  std::string to_text() const;

 private:
  static constexpr std::uint32_t kNone = LabelDomains::kNone;
  std::uint32_t selector_of(const std::string& name);
  std::uint32_t domain(const CountedPair& term, NodeId node) const { return levels_.of(term.level, node); }
  void count(std::uint32_t term, std::uint32_t domain, CountedSlots CountedTally::*what,
             const CountedSlots& change);
  void count_all(NodeId node, CountedId id, const CountedSlots& change, std::uint32_t only_term,
                 std::uint32_t only_level);
  std::uint32_t use_term(const CountedTerm& term, const std::vector<CountedTerm>& beside, const Shape& pod);
  void leave_term(std::uint32_t term);
  void leave_selector(std::uint32_t selector);
  // For spreads and leanings: a count has changed; or a domain has its first node, or lost its last.
  void note_spread(std::uint32_t term, std::uint32_t domain, const CountedSlots& before,
                   const CountedSlots& after);
  void note_filled(std::uint32_t level);
  std::int64_t fewest(const CountedRule& rule, PlaneMask planes) const;
  // `pods_alone`: held slots count nowhere.
  bool within_skew(const CountedRule& rule, NodeId node, PlaneMask planes, std::int64_t standing,
                   bool pods_alone = false) const;
  std::string spread_text(const CountedRule& rule) const;
  // `room`: by domain.
  std::int64_t most_within_skew(const CountedRule& rule, Mode mode, std::span<const std::int64_t> room) const;
  void drop(std::uint32_t set);
  const CountedTally* tally(const CountedPair& term, NodeId node) const;
  std::optional<CountedRule> hinders(CountedId id, NodeId node, PlaneMask planes,
                                     std::int64_t standing) const;

  const NodeTable& nodes_;
  Reused<CountedSet> sets_;
  Reused<CountedSelector> selectors_;
  Reused<CountedPair> terms_;
  LabelDomains levels_{nodes_};
  std::unordered_map<std::string, CountedId> by_key_;       // looked up, never iterated
  std::unordered_map<std::string, std::uint32_t> by_name_;  // selectors
  std::vector<std::vector<CountedStanding>> standing_;      // by node
  std::size_t live_ = 0;                                    // sets
  CountedLog log_;
  CountedNews news_;
};

// The exact number for one rule, where the nodes of a domain have room for one at least; for several rules a bound.
template <class Fit>
std::int64_t Counted::at_most(CountedId id, Mode mode, std::span<const NodeId> nodes, const Fit& fit) const {
  const CountedSet& set = sets_[id.index()];
  // Spreads that do not count the slot itself hold there, or do not.
  const auto open = [&](NodeId node) {
    return std::all_of(set.rules.begin(), set.rules.end(), [&](const CountedRule& rule) {
      return rule.kind != TermKind::kSpread || rule.self || within_skew(rule, node, planes_of(mode), 0);
    });
  };
  const auto room = [&](NodeId node) { return set.spreads && !open(node) ? 0 : fit(node); };
  std::int64_t sum = 0;
  for (const NodeId node : nodes) sum += room(node);
  const bool first = is_first(id, planes_of(mode));
  std::vector<std::int64_t> taken;
  for (const CountedRule& rule : set.rules) {
    if (!rule.self || (rule.kind == TermKind::kNear && !first)) continue;
    const CountedPair& term = terms_[rule.term];
    taken.assign(levels_[term.level].nodes.size(), 0);
    std::int64_t apart = 0;
    std::int64_t fullest = 0;
    for (const NodeId node : nodes) {
      const std::int64_t here = room(node);
      const std::uint32_t at = domain(term, node);
      if (here <= 0) continue;
      if (at == kNone || taken[at] == 0) apart += at == kNone ? here : 1;
      if (at != kNone) fullest = std::max(fullest, taken[at] += here);
    }
    if (rule.kind == TermKind::kSpread) {
      sum = std::min(sum, most_within_skew(rule, mode, taken));
    } else {
      sum = std::min(sum, rule.kind == TermKind::kNear ? fullest : apart);
    }
  }
  return sum;
}

}  // namespace berth::engine

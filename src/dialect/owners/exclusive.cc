#include "dialect/owners/exclusive.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace berth::dialect {
namespace {

PodSelector selector_of(const ExclusiveBy& by, std::vector<Requirement> requirements) {
  PodSelector out;
  out.pods = {.nothing = false, .requirements = std::move(requirements)};
  TermNamespaces& within = out.within.emplace_back();
  if (by.ns.empty()) {
    within.selected = LabelSelector{.nothing = false, .requirements = {}};
  } else {
    within.named.push_back(by.ns);
  }
  out.set_name();
  return out;
}

// The terms for the sake of exclusive topology, and the others.
struct Terms {
  Terms(const ExclusiveBy& by, const std::vector<CountedTerm>& all,
        const std::vector<PodSelector>& selectors) {
    const auto names_key = [&](const CountedTerm& term) {
      const auto selector = std::find_if(selectors.begin(), selectors.end(),
                                         [&](const PodSelector& s) { return s.name == term.selector; });
      return selector != selectors.end() &&
             std::any_of(selector->pods.requirements.begin(), selector->pods.requirements.end(),
                         [&](const Requirement& r) { return r.key == by.key; });
    };
    for (const CountedTerm& term : all)
      (term.level == by.level && names_key(term) ? exclusive : others).push_back(term);
  }
  std::vector<CountedTerm> exclusive;
  std::vector<CountedTerm> others;
};

}  // namespace

bool is_near_to_pods(const PodTemplate& pod) {
  return std::any_of(pod.terms.begin(), pod.terms.end(),
                     [](const CountedTerm& term) { return term.kind == TermKind::kNear; });
}

void add_exclusive_terms(const ExclusiveBy& by, const std::string& value, PodSpec& spec, PodTemplate& pod) {
  const auto add = [&](TermKind kind, PodSelector selector) {
    pod.terms.edit().push_back({.kind = kind, .selector = selector.name, .level = by.level});
    spec.selectors.push_back(std::move(selector));
  };
  const std::string key(by.key);
  add(TermKind::kApart,
      selector_of(by, {{key, SelectorOp::kExists, {}}, {key, SelectorOp::kNotIn, {value}}}));
  add(TermKind::kNear, selector_of(by, {{key, SelectorOp::kIn, {value}}}));
}

std::optional<AskedPod> as_exclusive(const ExclusiveBy& by, const AskedSet& set, const Pod& pod,
                                     const PodTemplate& shape) {
  AskedPod out{shape, by.level, {}};
  std::vector<CountedTerm> terms = Terms(by, shape.terms, pod.spec.selectors).others;
  const Terms own(by, set.pod->terms, set.spec->selectors);
  terms.insert(terms.end(), own.exclusive.begin(), own.exclusive.end());
  out.shape.terms = std::move(terms);
  const auto named = shape.node_selector->find(by.level);
  if (named == shape.node_selector->end() || set.pod->node_selector->contains(by.level)) return out;
  out.domain = named->second;
  out.shape.node_selector.edit().erase(by.level);
  return out;
}

}  // namespace berth::dialect

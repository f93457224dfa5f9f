#include "dialect/upstream/objects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/digest.h"

namespace berth::dialect {
namespace {

constexpr std::size_t kMostName = 400;

// As it stands where Kubernetes could have such a name; else with its length, so that no two different selectors have one name.
std::string word(const std::string& text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_' || c == '/';
  });
  return plain ? text : fmt::format("\"{}:{}\"", text.size(), text);
}

std::string words(std::vector<std::string> list) {
  for (std::string& text : list) text = word(text);
  std::sort(list.begin(), list.end());
  return fmt::format("{}", fmt::join(list, ","));
}

std::string text_of(const Requirement& r) {
  switch (r.op) {
    case SelectorOp::kIn:
      return r.values.size() == 1 ? fmt::format("{}={}", word(r.key), word(r.values.front()))
                                  : fmt::format("{} in ({})", word(r.key), words(r.values));
    case SelectorOp::kNotIn:
      return fmt::format("{} not in ({})", word(r.key), words(r.values));
    case SelectorOp::kExists:
      return word(r.key);
    case SelectorOp::kDoesNotExist:
      return fmt::format("!{}", word(r.key));
    default:
      return fmt::format("{} {} ({})", word(r.key), enum_name(r.op), words(r.values));
  }
}

std::string text_of(const LabelSelector& selector) {
  if (selector.nothing) return "none";
  std::vector<std::string> all;
  for (const Requirement& r : selector.requirements) all.push_back(text_of(r));
  std::sort(all.begin(), all.end());
  return all.empty() ? "all" : fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace

bool TermNamespaces::have(std::string_view ns, const Labels& of_ns) const {
  return std::find(named.begin(), named.end(), ns) != named.end() || (selected && selected->matches(of_ns));
}

bool PodSelector::asks_namespaces() const {
  return std::any_of(within.begin(), within.end(),
                     [](const TermNamespaces& n) { return n.selected.has_value(); });
}

bool PodSelector::selects(std::string_view ns, const Labels& of_ns, const Labels& labels) const {
  return std::all_of(within.begin(), within.end(),
                     [&](const TermNamespaces& n) { return n.have(ns, of_ns); }) &&
         pods.matches(labels);
}

void PodSelector::set_name() {
  name = text_of(pods);
  for (const TermNamespaces& n : within) {
    if (&n != &within.front()) name += " and";
    if (!n.named.empty()) name += fmt::format(" in {}", words(n.named));
    if (n.selected) name += fmt::format(" in namespaces with {}", text_of(*n.selected));
  }
  if (name.size() <= kMostName) return;
  const auto digest = sha256(name);
  name.resize(kMostName / 2);
  name += fmt::format("... ({:02x})", fmt::join(digest, ""));
}

void PodSpec::drop_spreads() {
  const auto is_spread = [](const CountedTerm& term) { return term.kind == TermKind::kSpread; };
  const auto wants_spread = [&](const PreferredCountedTerm& wish) { return is_spread(wish.term); };
  const bool spreads = std::any_of(pod->terms.begin(), pod->terms.end(), is_spread);
  const bool wishes = std::any_of(pod->preferred_terms.begin(), pod->preferred_terms.end(), wants_spread);
  if (!spreads && !wishes) return;
  if (spreads) std::erase_if(pod.edit().terms.edit(), is_spread);
  if (wishes) std::erase_if(pod.edit().preferred_terms.edit(), wants_spread);
  std::erase_if(selectors, [&](const PodSelector& selector) {
    const auto names = [&](const CountedTerm& term) { return term.selector == selector.name; };
    return std::none_of(pod->terms.begin(), pod->terms.end(), names) &&
           std::none_of(pod->preferred_terms.begin(), pod->preferred_terms.end(),
                        [&](const PreferredCountedTerm& wish) { return names(wish.term); });
  });
}

}  // namespace berth::dialect

#include "dialect/books/selector_book.h"

#include <algorithm>
#include <utility>

namespace berth::dialect {

std::optional<SelectorBook::Number> SelectorBook::use(const PodSelector& selector, int delta) {
  const auto known = by_name_.find(selector.name);
  if (known != by_name_.end()) {
    const Number number = known->second;
    Entry& entry = entries_[number];
    entry.users += delta;
    if (entry.users > 0) return std::nullopt;
    ++version_;
    by_name_.erase(known);
    if (entry.what.asks_namespaces()) --by_namespaces_;
    others_.erase(number);
    if (!entry.key.empty()) {
      auto& values = by_label_[entry.key];
      for (const std::string& value : entry.values) {
        values[value].erase(number);
        if (values[value].empty()) values.erase(value);
      }
      if (values.empty()) by_label_.erase(entry.key);
    }
    free_.push_back(number);
    return number;
  }
  ++version_;
  Number number = static_cast<Number>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[number];
  entry = Entry{selector, delta, {}, {}};
  by_name_.emplace(selector.name, number);
  if (selector.asks_namespaces()) ++by_namespaces_;
  const auto& requirements = selector.pods.requirements;
  const auto first = std::find_if(requirements.begin(), requirements.end(),
                                  [](const Requirement& r) { return r.op == SelectorOp::kIn; });
  if (first == requirements.end()) {
    others_.insert(number);
    return number;
  }
  entry.key = first->key;
  entry.values = first->values;
  for (const std::string& value : entry.values) by_label_[entry.key][value].insert(number);
  return number;
}

SelectorBook::Pods SelectorBook::with_label(Number number) const {
  const Entry& entry = entries_[number];
  const auto values = listed_.find(entry.key);
  Pods out;
  if (values == listed_.end()) return out;
  for (const std::string& value : entry.values) {
    if (const auto pods = values->second.find(value); pods != values->second.end())
      out.insert(pods->second.begin(), pods->second.end());
  }
  return out;
}

void SelectorBook::add(std::uint32_t pod, const Labels& labels, const std::string* only) {
  for (auto& [key, values] : listed_) {
    if (only != nullptr && key != *only) continue;
    if (const auto label = labels.find(key); label != labels.end()) values[label->second].insert(pod);
  }
}

void SelectorBook::remove(std::uint32_t pod, const Labels& labels) {
  for (auto& [key, values] : listed_) {
    const auto label = labels.find(key);
    if (label == labels.end()) continue;
    const auto pods = values.find(label->second);
    if (pods == values.end()) continue;
    pods->second.erase(pod);
    if (pods->second.empty()) values.erase(pods);
  }
  // A key that no selector begins with any more is listed no longer.
  std::erase_if(listed_, [&](const auto& entry) { return !by_label_.contains(entry.first); });
}

std::vector<SelectorBook::Number> SelectorBook::selecting(const std::string& ns, const Labels& labels,
                                                          const std::function<Labels()>& of_ns) const {
  std::vector<Number> out;
  if (!any()) return out;
  std::optional<Labels> ns_labels;
  const auto look_at = [&](const std::set<Number>& numbers) {
    for (const Number number : numbers) {
      const PodSelector& what = entries_[number].what;
      if (!ns_labels && what.asks_namespaces()) ns_labels = of_ns();
      static const Labels kNone;
      if (what.selects(ns, ns_labels ? *ns_labels : kNone, labels)) out.push_back(number);
    }
  };
  for (const auto& [key, values] : by_label_) {
    const auto label = labels.find(key);
    if (label == labels.end()) continue;
    if (const auto numbers = values.find(label->second); numbers != values.end()) look_at(numbers->second);
  }
  look_at(others_);
  std::sort(out.begin(), out.end());
  std::int64_t budgets = 0;
  std::erase_if(out, [&](Number number) { return is_budget(number) && ++budgets > kMostBudgets; });
  return out;
}

}  // namespace berth::dialect

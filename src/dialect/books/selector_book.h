// The pod selectors that some term or PodDisruptionBudget names (selectors in use), and the pods that they may select. Private to the
// intake.
//
// A selector is in use while a pod, or the template of an owner that waits for its places, has a term with it. A
// PodDisruptionBudget has a selector of its own, with the name of the budget. Pods are told from the
// others by the label that a selector asks for first: they are listed by the values of the keys that selectors in use begin with.
// Selectors without such a label are compared with every pod.
// Cost: use() of a known selector O(1); of the first with its key O(pods), else O(pods with its label). selecting() O(labels of the pod
// + selectors that begin with one of them). Nothing where no selector is in use.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dialect/upstream/objects.h"

namespace berth::dialect {

class SelectorBook {
 public:
  using Number = std::uint32_t;
  using Pods = std::set<std::uint32_t>;  // by their index in the book of pods

  // More budgets per pod are not looked at: pods x budgets must not grow without a bound. The Eviction API refuses two already.
  static constexpr std::int64_t kMostBudgets = 8;

  bool any() const { return !by_name_.empty(); }
  // Another number from each selector that comes or goes on: what a number means, and what selects a pod's labels, is the same until then.
  // It does not count namespaces whose labels change: forget() says so.
  std::uint64_t version() const { return version_; }
  void forget() { ++version_; }
  const std::string& name(Number number) const { return entries_[number].what.name; }
  bool is_budget(Number number) const { return entries_[number].what.budget; }

  // One more user (+1), or one fewer (-1). The selector, if it is in use from now on, or no longer.
  std::optional<Number> use(const PodSelector& selector, int delta);
  // The key of the label by which pods are listed for it; "": it is compared with all.
  const std::string& key(Number number) const { return entries_[number].key; }
  bool is_listed(const std::string& key) const { return listed_.contains(key); }
  void list(const std::string& key) { listed_.try_emplace(key); }
  // The pods with its label; only where it has a key.
  Pods with_label(Number number) const;
  // A pod with these labels comes, or goes: in the lists of all keys, or of one.
  void add(std::uint32_t pod, const Labels& labels, const std::string* only = nullptr);
  void remove(std::uint32_t pod, const Labels& labels);

  // The selectors in use that select such a pod, ascending, and of budgets the first kMostBudgets. `of_ns`: the labels of its
  // namespace, asked for only where they matter.
  std::vector<Number> selecting(const std::string& ns, const Labels& labels,
                                const std::function<Labels()>& of_ns) const;
  // Whether some selector in use goes by labels of namespaces.
  bool reads_namespaces() const { return by_namespaces_ > 0; }

  // Workloads that selectors count otherwise than the engine was told, by their index in the book of drafts.
  void note(std::uint32_t draft) { noted_.insert(draft); }
  std::set<std::uint32_t> take_noted() { return std::exchange(noted_, {}); }

 private:
  struct Entry {
    PodSelector what;
    std::int64_t users = 0;
    std::string key;
    std::vector<std::string> values;
  };

  std::vector<Entry> entries_;
  std::vector<Number> free_;
  std::unordered_map<std::string, Number> by_name_;
  std::map<std::string, std::map<std::string, std::set<Number>>, std::less<>> by_label_;  // key, value
  std::set<Number> others_;                                                               // without a key
  std::map<std::string, std::map<std::string, Pods>, std::less<>> listed_;                // key, value
  std::int64_t by_namespaces_ = 0;
  std::uint64_t version_ = 0;
  std::set<std::uint32_t> noted_;
};

}  // namespace berth::dialect

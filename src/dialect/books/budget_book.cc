#include "dialect/books/budget_book.h"

#include <utility>

namespace berth::dialect {

namespace {

// As the default scheduler: without a requirement it selects nothing.
std::optional<PodSelector> covered_by(const DisruptionBudget& object, std::string name) {
  if (object.pods.nothing || object.pods.requirements.empty()) return std::nullopt;
  PodSelector out;
  out.pods = object.pods;
  out.within = {TermNamespaces{{object.meta.ns}, std::nullopt}};
  out.name = std::move(name);
  out.budget = true;
  return out;
}

// The name of the budget for the engine and in reasons. No selector of a term has such a name.
std::string name_of(const std::string& key) {
  return "PodDisruptionBudget " + key;
}

}  // namespace

BudgetBook::Change BudgetBook::put(const std::string& key, const DisruptionBudget& object) {
  Change out;
  auto pods = covered_by(object, name_of(key));
  const auto [it, is_new] = budgets_.try_emplace(key);
  Budget& budget = it->second;
  // Their names are the same, whatever they select.
  const bool same = pods.has_value() == budget.pods.has_value() && (!pods || pods->pods == budget.pods->pods);
  if (!same) {
    if (budget.pods) out.gone.push_back(*budget.pods);
    if (pods) out.come.push_back(*pods);
    budget.pods = std::move(pods);
  }
  if (!is_new && budget.allowed == object.allowed) return out;
  budget.allowed = object.allowed;
  out.event = DisruptionBudgetUpdate{name_of(key), object.allowed};
  return out;
}

BudgetBook::Change BudgetBook::remove(const std::string& key) {
  Change out;
  const auto it = budgets_.find(key);
  if (it == budgets_.end()) return out;
  if (it->second.pods) out.gone.push_back(*it->second.pods);
  budgets_.erase(it);
  out.event = DisruptionBudgetRemove{name_of(key)};
  return out;
}

}  // namespace berth::dialect

// PodDisruptionBudgets: which pods have them, and how many of these may be disrupted now.
#include <utility>

#include "dialect/intake/intake_state.h"

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

void Intake::Impl::upsert_budget(const DisruptionBudget& object) {
  const std::string key = key_of(object.meta.ns, object.meta.name);
  auto pods = covered_by(object, name_of(key));
  const auto [it, is_new] = budgets.try_emplace(key);
  Budget& budget = it->second;
  // Their names are the same, whatever they select.
  const bool same = pods.has_value() == budget.pods.has_value() && (!pods || pods->pods == budget.pods->pods);
  if (!same) {
    if (budget.pods) slots.use_selectors(std::vector{*budget.pods}, -1);
    if (pods) slots.use_selectors(std::vector{*pods}, +1);
    budget.pods = std::move(pods);
  }
  if (!is_new && budget.allowed == object.allowed) return;
  budget.allowed = object.allowed;
  events.add(DisruptionBudgetUpdate{name_of(key), object.allowed});
}

void Intake::Impl::remove_budget(const std::string& key) {
  const auto it = budgets.find(key);
  if (it == budgets.end()) return;
  if (it->second.pods) slots.use_selectors(std::vector{*it->second.pods}, -1);
  budgets.erase(it);
  events.add(DisruptionBudgetRemove{name_of(key)});
}

}  // namespace berth::dialect

#include "dialect/intake/named_selectors.h"

#include <algorithm>
#include <utility>

namespace berth::dialect {
namespace {

// Nothing is known any more where the book or the owner is another.
NamedSelectors& known_now(const SelectorBook& book, Draft& draft, const OwnerRecord* owner) {
  const auto object = owner != nullptr ? owner->ask.own : nullptr;
  auto& named = draft.named;
  if (named == nullptr || named->version != book.version() || named->owner != object) {
    named = std::make_shared<NamedSelectors>();
    named->version = book.version();
    named->owner = object;
  }
  return *named;
}

std::vector<SelectorBook::Number> selecting_template(const IntakeBooks& books, Draft& draft,
                                                     const OwnerRecord* owner, std::size_t role) {
  if (owner == nullptr || role >= owner->ask.sets.size()) return {};
  const SelectorBook& book = books.pods.selectors();
  const auto select = [&] {
    const auto of_ns = [&] { return books.objects.labels_of_namespace(draft.ns); };
    return book.selecting(draft.ns, owner->ask.sets[role].marks->labels, of_ns);
  };
  if (draft.roles.size() < 2) return select();
  NamedSelectors& named = known_now(book, draft, owner);
  named.templates.resize(draft.roles.size());
  named.looked_up.resize(draft.roles.size());
  if (!std::exchange(named.looked_up[role], true)) named.templates[role] = select();
  return named.templates[role];
}

// In the order of the names. Where no role has any, there are no roles.
CommonSettings::NamesByRole names_of(const SelectorBook& book, const NamedSelectors::ByRole& numbers,
                                     bool budgets) {
  std::vector<std::vector<std::string>> out;
  bool any = false;
  for (const auto& of_role : numbers) {
    auto& names = out.emplace_back();
    for (const auto number : of_role) {
      if (book.is_budget(number) == budgets) names.push_back(book.name(number));
    }
    std::sort(names.begin(), names.end());
    any = any || !names.empty();
  }
  if (!any) out.clear();
  return out;
}

}  // namespace

std::string name_selectors(const IntakeBooks& books, Draft& draft, const OwnerRecord* owner,
                           CommonSettings& out) {
  const SelectorBook& book = books.pods.selectors();
  if (!book.any()) return {};
  std::string differs;
  NamedSelectors::ByRole numbers;
  for (std::size_t r = 0; r < draft.roles.size(); ++r) {
    const Role& role = draft.roles[r];
    const auto pods = static_cast<std::int64_t>(role.slots.size() - role.holes.size());
    if (pods == 0) {
      numbers.push_back(selecting_template(books, draft, owner, r));
      continue;
    }
    auto& of_role = numbers.emplace_back();
    for (const auto& [number, selected] : role.selected) {
      of_role.push_back(number);
      if (selected < pods && !book.is_budget(number)) differs = book.name(number);
    }
  }
  const auto& known = draft.named;
  if (known != nullptr && known->version == book.version() && known->numbers == numbers) {
    out.selected = known->selected;
    out.budgets = known->budgets;
    return differs;
  }
  out.selected = names_of(book, numbers, false);
  out.budgets = names_of(book, numbers, true);
  if (draft.roles.size() < 2) return differs;
  NamedSelectors& named = known_now(book, draft, owner);
  named.numbers = std::move(numbers);
  named.selected = out.selected;
  named.budgets = out.budgets;
  return differs;
}

}  // namespace berth::dialect

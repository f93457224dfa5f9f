// The selectors that count the pods of a draft, by role, and their PodDisruptionBudgets. Pods that are still to come are those of the
// template. Private to the intake.
//
// Names are made again only where others are meant. Pods of Jobs that keep all other Jobs away have as many selectors as there are such
// Jobs. Each pod that comes asks for the names of all.
// Cost: O(selectors of all roles), and O(length of their names) where something has changed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dialect/books/intake_books.h"

namespace berth::dialect {

// As they were named last.
struct NamedSelectors {
  using ByRole = std::vector<std::vector<SelectorBook::Number>>;
  std::uint64_t version = 0;          // SelectorBook::version()
  std::shared_ptr<const void> owner;  // the object whose templates stand for pods that are still to come
  std::vector<char> looked_up;        // by role: whether its template was
  ByRole templates;
  ByRole numbers;
  CommonSettings::NamesByRole selected;
  CommonSettings::NamesByRole budgets;
};

// `owner`: whose pod sets the draft has; nullptr: none is known. Gives a selector that selects some pods of a role, and not all; "": there is none.
std::string name_selectors(const IntakeBooks& books, Draft& draft, const OwnerRecord* owner,
                           CommonSettings& out);

}  // namespace berth::dialect

// A draft as the engine gets it: the workload with its pod sets, as its settings say. Private to the intake.
//
// Cost: O(size of its templates).
#pragma once

#include <cstddef>
#include <string>

#include "dialect/books/intake_books.h"

namespace berth::dialect {

Workload workload_of(const IntakeBooks& books, const Draft& draft, const Settings& settings);

// The pod set of a role: named as its owner names it. `owner`: nullptr where there is none.
std::string role_name(const Draft& draft, const OwnerRecord* owner, std::size_t role);

}  // namespace berth::dialect

// The requests of groups that ask for pods of their own (OwnerKind::of_group): kept in the book of owners as long as their gangs are there.
// Private to the intake.
//
// Cost: O(size of the owner's templates) each.
#pragma once

#include <string>

#include "dialect/books/owner_book.h"
#include "dialect/books/template_book.h"

namespace berth::dialect {

// That of a group whose owner is known, by the uid of its gang.
void put_group(OwnerBook& owners, TemplateBook& templates, const std::string& gang, const OwnedGroup& group);
// Those of the groups of an owner (uid) that are there: it is another than before.
void put_groups(OwnerBook& owners, TemplateBook& templates, const std::string& owner);

}  // namespace berth::dialect

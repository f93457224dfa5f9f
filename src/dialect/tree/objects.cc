#include "dialect/tree/objects.h"

#include <algorithm>

namespace berth::dialect {

bool TreeQueue::limits_users() const {
  return std::any_of(amounts.begin(), amounts.end(), [](const Amount& a) { return a.per_user.has_value(); });
}

}  // namespace berth::dialect

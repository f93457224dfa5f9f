#include "dialect/kueue/objects.h"

#include <algorithm>

namespace berth::dialect {

const ProvisioningRequest::Condition* ProvisioningRequest::find(std::string_view type) const {
  const auto it = std::find_if(conditions.begin(), conditions.end(),
                               [&](const Condition& condition) { return condition.type == type; });
  return it == conditions.end() ? nullptr : &*it;
}

bool ProvisioningRequest::is(std::string_view type) const {
  const Condition* condition = find(type);
  return condition != nullptr && condition->is_true;
}

}  // namespace berth::dialect

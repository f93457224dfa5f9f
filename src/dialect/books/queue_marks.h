// The marks that name a queue.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "dialect/base/kind.h"
#include "dialect/base/meta.h"
#include "dialect/base/names.h"

namespace berth::dialect {

// The first that says something counts.
inline constexpr std::array kQueueKeys = {kBerthQueue,        kVolcanoQueueName, kKaiQueueName,
                                          kOlderKaiQueueName, kYuniKornQueue,    kKoordinatorQuota,
                                          kKueueQueue};

// Whether an object names a queue by a mark.
inline bool names_queue(const Meta& meta) {
  return std::any_of(kQueueKeys.begin(), kQueueKeys.end(),
                     [&](std::string_view key) { return !meta.mark(key).empty(); });
}

// The kind of the cluster's queues that such a mark names.
inline Kind queue_kind_of(std::string_view mark) {
  if (mark == kVolcanoQueueName) return Kind::kVolcanoQueue;
  return mark == kKaiQueueName || mark == kOlderKaiQueueName ? Kind::kKaiQueue : Kind::kQueue;
}

}  // namespace berth::dialect

// Words and weights that the queues of several systems share. Included by decoders only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "dialect/base/fields.h"
#include "model/queue.h"

namespace berth::dialect {

inline constexpr std::pair<std::string_view, StopPolicy> kStopPolicies[] = {
    {"None", StopPolicy::kNone}, {"Hold", StopPolicy::kHold}, {"HoldAndDrain", StopPolicy::kHoldAndDrain}};

// Possible victims within a queue: Kueue's three values, and Berth's own last one.
inline constexpr std::pair<std::string_view, WithinQueue> kWithinQueue[] = {
    {"Never", WithinQueue::kNever},
    {"LowerPriority", WithinQueue::kLowerPriority},
    {"LowerOrNewerEqualPriority", WithinQueue::kLowerOrNewerEqual},
    {"LaterInOrder", WithinQueue::kLaterInOrder}};
inline constexpr std::span<const std::pair<std::string_view, WithinQueue>> kKueueWithinQueue{
    kWithinQueue, std::size(kWithinQueue) - 1};
inline constexpr std::pair<std::string_view, Reclaim> kReclaims[] = {
    {"Never", Reclaim::kNever}, {"LowerPriority", Reclaim::kLowerPriority}, {"Any", Reclaim::kAny}};

// A weight, a quantity in thousandths: "1", "0.5", "2500m". One where it is absent.
template <class V>
Rational read_weight_of(FieldReader<V>& f, const V& object, std::string_view key) {
  const V weight = object.find(key);
  if (!weight.present()) return {};
  std::string buffer;
  const auto text = weight.scalar(buffer);
  const auto milli = text ? text::parse_quantity_capped(*text, 1000) : Result<std::int64_t>(0);
  if (!text || !milli || *milli < 0) {
    f.wrong(weight, key, "a quantity that is not negative, such as \"1\" or \"0.5\"");
    return {};
  }
  return {*milli, 1000};
}

}  // namespace berth::dialect

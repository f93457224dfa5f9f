#include "dialect/kueue/quota_counts.h"

#include <algorithm>
#include <map>

#include "base/checked.h"
#include "model/resources.h"

namespace berth::dialect {
namespace {

constexpr std::int64_t kNano = 1'000'000'000;
// Beyond this nothing is told apart: products stay in 128 bits, and 64 bits hold less.
constexpr Int128 kMost = static_cast<Int128>(kInt64Max) * kNano;

Int128 times(Int128 a, std::int64_t b) {
  return b != 0 && a > kMost / b ? kMost : a * b;
}

std::int64_t round_up(Int128 amount, std::int64_t part) {
  return clamp_to_int64((amount + part - 1) / part);
}

// In units of 10^-9 of what people write.
Int128 nano_of(std::string_view resource, std::int64_t base_units) {
  return static_cast<Int128>(base_units) * (kNano / units_per_one(resource));
}

std::int64_t base_units_of(std::string_view resource, Int128 nano) {
  if (resource == "cpu") return round_up(nano, kNano / 1000);
  return saturating_mul(round_up(nano, kNano), units_per_one(resource));
}

}  // namespace

void QuotaCounts::apply(PodTemplate& pod) const {
  const auto total = pod.total();
  if (!total) return;  // refused for that
  ResourceList asks;
  for (const auto& [name, amount] : *total) {
    const bool out = std::any_of(excluded.begin(), excluded.end(),
                                 [&](const std::string& prefix) { return name.starts_with(prefix); });
    if (!out) asks.set(name, amount);
  }
  const auto rule_of = [&](const std::string& name) {
    return std::find_if(transformations.begin(), transformations.end(),
                        [&](const Transformation& t) { return t.input == name; });
  };
  const bool touched =
      asks.size() < total->size() || std::any_of(asks.begin(), asks.end(), [&](const auto& ask) {
        return rule_of(ask.first) != transformations.end();
      });
  if (!touched) return;
  std::map<std::string, Int128> sums;
  const auto add = [&](const std::string& name, Int128 nano) {
    Int128& sum = sums[name];
    sum = std::min(kMost, sum + nano);
  };
  for (const auto& [name, amount] : asks) {
    const auto rule = rule_of(name);
    Int128 nano = nano_of(name, amount);
    if (rule == transformations.end()) {
      add(name, nano);
      continue;
    }
    if (asks.has(rule->multiply_by))
      nano = times(nano, round_up(nano_of(rule->multiply_by, asks.get(rule->multiply_by)), kNano));
    for (const auto& output : rule->outputs) add(output.resource, times(output.nano, round_up(nano, kNano)));
    if (rule->retain) add(name, nano);
  }
  ResourceList counted;
  for (const auto& [name, nano] : sums) {
    // Resources without a rule keep their exact amounts: a share of a device is no whole one.
    const bool plain = asks.has(name) && nano == nano_of(name, asks.get(name));
    counted.set(name, plain ? asks.get(name) : base_units_of(name, nano));
  }
  pod.counted = std::move(counted);
}

}  // namespace berth::dialect

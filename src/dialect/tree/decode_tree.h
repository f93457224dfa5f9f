// Decoders of the queues of the cluster's own tree (cluster_tree.h): Berth's, Volcano's and KAI's. Included by decode.cc only.
#pragma once

#include <limits>
#include <string>
#include <utility>

#include "dialect/base/decode_meta.h"
#include "dialect/base/decode_queue_words.h"
#include "dialect/tree/objects.h"

namespace berth::dialect {

// The entry of a flavor and resource, made where there is none yet.
inline TreeQueue::Amount& amount_in(TreeQueue& queue, std::string_view flavor, std::string_view resource) {
  for (auto& amount : queue.amounts) {
    if (amount.flavor == flavor && amount.resource == resource) return amount;
  }
  return queue.amounts.emplace_back(TreeQueue::Amount{std::string(flavor), std::string(resource), 0,
                                                      std::nullopt, std::nullopt, std::nullopt});
}

// ----------------------------------------------------------------------------------------------------------------- Berth

// guaranteed, limit, lendable and perUser.limit of a queue, or of one of its flavors.
template <class V>
void read_amounts(FieldReader<V>& f, const V& object, std::string_view flavor, TreeQueue& out) {
  for (const auto& [resource, amount] : f.amounts(object, "guaranteed"))
    amount_in(out, flavor, resource).guaranteed = amount;
  for (const auto& [resource, amount] : f.amounts(object, "limit"))
    amount_in(out, flavor, resource).limit = amount;
  for (const auto& [resource, amount] : f.amounts(object, "lendable"))
    amount_in(out, flavor, resource).lendable = amount;
  for (const auto& [resource, amount] : f.amounts(f.map(object, "perUser"), "limit"))
    amount_in(out, flavor, resource).per_user = amount;
}

template <class V>
DurationMs read_duration(FieldReader<V>& f, const V& object, std::string_view key, DurationMs otherwise,
                         DurationMs least = 0) {
  constexpr DurationMs kMost = 100LL * 365 * 24 * kHour;
  const V value = object.find(key);
  if (!value.present()) return otherwise;
  const auto duration = text::parse_duration_ms(f.string_of(value, key));
  if (duration && *duration >= least && *duration <= kMost) return *duration;
  f.wrong(value, key, "a duration such as \"90s\", \"30m\" or \"72h\"");
  return otherwise;
}

template <class V>
void read_order(FieldReader<V>& f, const V& order, TreeQueue& out) {
  static constexpr std::pair<std::string_view, OrderBy> kBy[] = {
      {"Creation", OrderBy::kCreation},
      {"Duration", OrderBy::kDuration},
      {"Remaining", OrderBy::kRemaining},
      {"AttainedService", OrderBy::kAttained},
      {"AttainedServiceLevels", OrderBy::kAttainedLevels}};
  static constexpr std::pair<std::string_view, bool> kPriority[] = {{"First", true}, {"Second", false}};
  static constexpr std::pair<std::string_view, Tiers> kTiers[] = {{"None", Tiers::kNone},
                                                                  {"ByKind", Tiers::kByKind}};
  out.order = f.boolean(order, "strict", false) ? QueueOrder::kStrict : QueueOrder::kBestEffort;
  out.ordering.by = f.choice(order, "by", kBy, OrderBy::kCreation);
  out.ordering.priority_first = f.choice(order, "priority", kPriority, true);
  out.ordering.tiers = f.choice(order, "tiers", kTiers, Tiers::kNone);
  if (order.find("ageLimit").present()) out.ordering.age_limit = read_duration(f, order, "ageLimit", 0);
}

template <class V>
void read_preemption(FieldReader<V>& f, const V& preemption, PreemptionPolicy& out) {
  static constexpr std::pair<std::string_view, VictimOrder> kVictims[] = {
      {"Cost", VictimOrder::kCost},
      {"YoungestFirst", VictimOrder::kYoungestFirst},
      {"LowestPriorityFirst", VictimOrder::kLowestPriorityFirst},
      {"LatestInOrder", VictimOrder::kLatestInOrder}};
  out.within = f.choice(preemption, "withinQueue", kWithinQueue, out.within);
  out.reclaim = f.choice(preemption, "reclaim", kReclaims, out.reclaim);
  out.victims = f.choice(preemption, "victims", kVictims, out.victims);
  out.minimum_runtime = read_duration(f, preemption, "minimumRuntime", 0);
  if (preemption.find("minimumRuntimeAcross").present())
    out.minimum_runtime_across = read_duration(f, preemption, "minimumRuntimeAcross", 0);
  out.ignores_minimum_runtime = f.boolean(preemption, "ignoresMinimumRuntime", false);
  out.reclaimable = f.boolean(preemption, "reclaimable", true);
}

template <class V>
BerthQueue read_berth_queue(FieldReader<V>& f, const V& object) {
  static constexpr std::pair<std::string_view, Sharing> kSharing[] = {
      {"Priority", Sharing::kPriority},
      {"DominantShare", Sharing::kDominantShare},
      {"GuaranteedShare", Sharing::kGuaranteedShare},
      {"DecayedUse", Sharing::kDecayedUse}};
  static constexpr std::pair<std::string_view, Placement> kPlacements[] = {
      {"Pack", Placement::kPack},
      {"Spread", Placement::kSpread},
      {"BestFit", Placement::kBestFit},
      {"First", Placement::kFirst},
      {"Fragmentation", Placement::kFragmentation}};
  BerthQueue out;
  out.meta = read_meta(f, object, Kind::kQueue, false);
  const V spec = f.map(object, "spec");
  out.parent = f.string(spec, "parent");
  read_amounts(f, spec, "", out);
  f.list(spec, "flavors", [&](const V& flavor) {
    const std::string name(f.string(flavor, "name"));
    if (name.empty()) f.error(flavor, "name", "a flavor must have a name");
    if (std::find(out.flavors.begin(), out.flavors.end(), name) != out.flavors.end())
      f.error(flavor, "name", fmt::format("flavor {} appears twice", name));
    out.flavors.push_back(name);
    read_amounts(f, flavor, name, out);
  });
  out.weight = read_weight_of(f, spec, "weight");
  out.priority = f.integer(spec, "priority", 0, -2147483648ll, 2147483647ll);
  const V sharing = f.map(spec, "sharing");
  out.sharing = f.choice(sharing, "by", kSharing, Sharing::kGuaranteedShare);
  out.half_life = read_duration(f, sharing, "halfLife", out.half_life, kSecond);
  read_order(f, f.map(spec, "order"), out);
  read_preemption(f, f.map(spec, "preemption"), out.preemption);
  out.stop = f.choice(spec, "stopPolicy", kStopPolicies, StopPolicy::kNone);
  out.placement = f.choice(spec, "placement", kPlacements, Placement::kDefault);
  if (spec.find("namespaceSelector").present())
    out.namespaces = read_label_selector(f, spec, "namespaceSelector");
  return out;
}

// --------------------------------------------------------------------------------------------------------------- Volcano

// capability is the limit, deserved the guarantee, guarantee.resource what is never lent. Volcano divides by `deserved`
// or by weight, as its scheduler is configured (plugin capacity or proportion). Where no queue has the one, the other is meant.
template <class V>
VolcanoQueue read_volcano_queue(FieldReader<V>& f, const V& object) {
  VolcanoQueue out;
  out.meta = read_meta(f, object, Kind::kVolcanoQueue, false);
  const V spec = f.map(object, "spec");
  out.parent = f.string(spec, "parent");
  for (const auto& [resource, amount] : f.amounts(spec, "capability"))
    amount_in(out, "", resource).limit = amount;
  for (const auto& [resource, amount] : f.amounts(spec, "deserved"))
    amount_in(out, "", resource).guaranteed = amount;
  for (const auto& [resource, amount] : f.amounts(f.map(spec, "guarantee"), "resource")) {
    auto& entry = amount_in(out, "", resource);
    entry.guaranteed = std::max(entry.guaranteed, amount);
    entry.lendable = entry.guaranteed - amount;
  }
  out.weight = {f.integer(spec, "weight", 1, 0, 1'000'000), 1};
  out.by_weight = f.amounts(spec, "deserved").empty();
  out.priority = f.integer(spec, "priority", 0, -2147483648ll, 2147483647ll);
  out.preemption.reclaimable = f.boolean(spec, "reclaimable", true);
  static constexpr std::pair<std::string_view, QueueOrder> kOrders[] = {{"traverse", QueueOrder::kBestEffort},
                                                                        {"fifo", QueueOrder::kStrict}};
  out.order = f.choice(spec, "dequeueStrategy", kOrders, QueueOrder::kBestEffort);
  // Only open queues start work; one without a state is new, and will be open.
  const std::string_view state = f.string(f.map(object, "status"), "state");
  if (!state.empty() && state != "Open") out.stop = StopPolicy::kHold;
  if (spec.find("affinity").present()) {
    out.problem =
        "spec.affinity (groups of nodes) is not supported: use a berth.dev Queue with flavors instead";
  }
  return out;
}

// ------------------------------------------------------------------------------------------------------------------- KAI

// One of resources.cpu (thousandths), .memory (10^6 bytes), .gpu (devices). -1: without bound; 0 or absent: nothing.
template <class V>
void read_kai_resource(FieldReader<V>& f, const V& resources, std::string_view key, std::string_view resource,
                       std::int64_t scale, KaiQueue& out) {
  const V value = f.map(resources, key);
  const auto read = [&](std::string_view field, bool& unbounded) -> std::int64_t {
    const V number = value.find(field);
    if (!number.present()) return 0;
    std::string buffer;
    const auto text = number.scalar(buffer);
    unbounded = text && *text == "-1";
    if (unbounded) return 0;
    const auto amount = text ? text::parse_quantity_capped(*text, scale) : Result<std::int64_t>(-1);
    if (amount && *amount >= 0) return *amount;
    f.wrong(number, field, "a number that is not negative, or -1 for no bound");
    return 0;
  };
  bool all_guaranteed = false;
  bool no_limit = false;
  const std::int64_t quota = read("quota", all_guaranteed);
  const std::int64_t limit = read("limit", no_limit);
  if (all_guaranteed && no_limit) {  // more than Berth counts: all that there is (cluster_tree.h)
    amount_in(out, "", resource).guaranteed = kMostQuota;
    return;
  }
  auto& entry = amount_in(out, "", resource);
  // A guarantee without bound is one up to the limit.
  entry.guaranteed = all_guaranteed ? limit : quota;
  if (!no_limit) entry.limit = limit;
  // KAI guarantees no more than the limit.
  if (entry.limit) entry.guaranteed = std::min(entry.guaranteed, *entry.limit);
}

template <class V>
KaiQueue read_kai_queue(FieldReader<V>& f, const V& object) {
  KaiQueue out;
  out.meta = read_meta(f, object, Kind::kKaiQueue, false);
  const V spec = f.map(object, "spec");
  out.parent = f.string(spec, "parentQueue");
  const V resources = f.map(spec, "resources");
  read_kai_resource(f, resources, "gpu", "nvidia.com/gpu", 1000, out);
  read_kai_resource(f, resources, "cpu", "cpu", 1, out);
  read_kai_resource(f, resources, "memory", "memory", 1'000'000, out);
  // One weight for all resources: that of GPUs, which are what queues compete for, else of CPU. KAI's absent weight is 0: no surplus.
  const V gpu = f.map(resources, "gpu");
  const V of = gpu.find("overQuotaWeight").present() ? gpu : f.map(resources, "cpu");
  out.weight =
      of.find("overQuotaWeight").present() ? read_weight_of(f, of, "overQuotaWeight") : Rational{0, 1000};
  out.priority = f.integer(spec, "priority", 100, -2147483648ll, 2147483647ll);
  out.firm_within_guaranteed = true;
  out.cuts_guarantees = true;
  // A queue below it with less than its part of the surplus takes that back from one with more.
  out.sharing = Sharing::kDominantShare;
  out.ranks_within_quota = true;
  out.preemption.victims = VictimOrder::kLatestInOrder;
  out.preemption.minimum_runtime = read_duration(f, spec, "preemptMinRuntime", 0);
  out.preemption.minimum_runtime_across = read_duration(f, spec, "reclaimMinRuntime", 0);
  return out;
}

}  // namespace berth::dialect

// Decoders of Kueue's kinds (v1beta1 and v1beta2). Included by decode.cc only.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "dialect/base/decode_levels.h"
#include "dialect/base/decode_queue_words.h"
#include "dialect/kueue/objects.h"
#include "dialect/upstream/decode_core.h"

namespace berth::dialect {

// spec.resourceGroups. Errors of meaning (not of type) go to `problem`. A ClusterQueue lends at most its own nominal quota
// (`lends_its_own`), as Kueue's webhook says; a Cohort lends what its subtree has, and its limit may be above its own nominal
// quota.
template <class V>
void read_quotas(FieldReader<V>& f, const V& spec, bool lends_its_own, std::vector<ResourceGroup>& groups,
                 std::vector<Quota>& quotas, std::string& problem) {
  std::set<std::string, std::less<>> flavors_seen;
  const auto wrong = [&](std::string text) {
    if (problem.empty()) problem = std::move(text);
  };
  f.list(spec, "resourceGroups", [&](const V& item) {
    ResourceGroup group;
    group.resources = f.strings(item, "coveredResources");
    if (group.resources.empty()) wrong("a resource group covers no resources");
    // A resource may stand in several groups (engine/state/choices.cc).
    if (const std::set<std::string> once(group.resources.begin(), group.resources.end());
        once.size() < group.resources.size())
      wrong("a resource group covers a resource twice");
    f.list(item, "flavors", [&](const V& flavor) {
      const std::string name(f.string(flavor, "name"));
      if (name.empty()) f.error(flavor, "name", "a flavor must have a name");
      if (!flavors_seen.insert(name).second) wrong(fmt::format("flavor {} appears twice", name));
      group.flavors.push_back(name);
      std::set<std::string, std::less<>> listed;
      f.list(flavor, "resources", [&](const V& r) {
        Quota quota;
        quota.flavor = name;
        quota.resource = f.string(r, "name");
        const auto limit = [&](std::string_view key) -> std::optional<std::int64_t> {
          const V value = r.find(key);
          if (!value.present()) return std::nullopt;
          std::string buffer;
          const auto text = value.scalar(buffer);
          const auto amount = text ? text::parse_quantity_capped(*text, units_per_one(quota.resource))
                                   : Result<std::int64_t>(tl::unexpected<Error>(Error{}));
          // More than Berth counts is as good as all there could be.
          if (amount && *amount > kMostQuota) return kMostQuota;
          if (!amount) {
            f.wrong(value, key, "a quantity such as \"64\" or \"1Ti\"");
            return std::nullopt;
          }
          if (*amount < 0) wrong(fmt::format("{} of {} in flavor {} is negative", key, quota.resource, name));
          return *amount;
        };
        if (quota.resource.empty()) f.error(r, "name", "a resource must have a name");
        if (!r.find("nominalQuota").present()) f.error(r, "nominalQuota", "is required");
        quota.nominal = limit("nominalQuota").value_or(0);
        quota.borrowing_limit = limit("borrowingLimit");
        quota.lending_limit = limit("lendingLimit");
        if (lends_its_own && quota.lending_limit && *quota.lending_limit > quota.nominal) {
          wrong(
              fmt::format("lendingLimit of {} in flavor {} is above its nominalQuota", quota.resource, name));
        }
        if (!listed.insert(quota.resource).second || std::find(group.resources.begin(), group.resources.end(),
                                                               quota.resource) == group.resources.end()) {
          wrong(fmt::format("flavor {} lists {} twice or outside coveredResources", name, quota.resource));
        }
        quotas.push_back(std::move(quota));
      });
      if (listed.size() != group.resources.size()) {
        wrong(fmt::format("flavor {} does not give a quota for each of coveredResources", name));
      }
    });
    if (group.flavors.empty()) wrong("a resource group has no flavors");
    groups.push_back(std::move(group));
  });
}

// fairSharing.weight.
template <class V>
Rational read_weight(FieldReader<V>& f, const V& spec) {
  return read_weight_of(f, f.map(spec, "fairSharing"), "weight");
}

// kNodes of the object itself.
template <class V>
NodeSupply read_node_supply(FieldReader<V>& f, const V& object) {
  static constexpr std::pair<std::string_view, NodeSupply> kSupplies[] = {
      {"on-demand", NodeSupply::kOnDemand}, {"at-hand", NodeSupply::kAtHand}};
  return f.choice(f.map(f.map(object, "metadata"), "annotations"), kNodes, kSupplies, NodeSupply::kUnsaid);
}

template <class V>
ClusterQueue read_cluster_queue(FieldReader<V>& f, const V& object) {
  static constexpr std::pair<std::string_view, QueueOrder> kOrders[] = {
      {"BestEffortFIFO", QueueOrder::kBestEffort}, {"StrictFIFO", QueueOrder::kStrict}};
  static constexpr std::pair<std::string_view, BorrowWithin> kBorrowWithin[] = {
      {"Never", BorrowWithin::kNever}, {"LowerPriority", BorrowWithin::kLowerPriority}};
  // v1beta1 calls stopping by what it does then: Borrow, Preempt.
  static constexpr std::pair<std::string_view, bool> kStopOrTryNext[] = {
      {"MayStopSearch", false}, {"TryNextFlavor", true}, {"Borrow", false}, {"Preempt", false}};
  static constexpr std::pair<std::string_view, bool> kPreferences[] = {{"BorrowingOverPreemption", false},
                                                                       {"PreemptionOverBorrowing", true}};
  ClusterQueue out;
  out.meta = read_meta(f, object, Kind::kClusterQueue, false);
  const V spec = f.map(object, "spec");
  out.cohort = f.string(spec, "cohortName");                      // v1beta2
  if (out.cohort.empty()) out.cohort = f.string(spec, "cohort");  // v1beta1
  read_quotas(f, spec, true, out.groups, out.quotas, out.problem);
  out.order = f.choice(spec, "queueingStrategy", kOrders, QueueOrder::kBestEffort);
  const V preemption = f.map(spec, "preemption");
  out.preemption.within = f.choice(preemption, "withinClusterQueue", kKueueWithinQueue, WithinQueue::kNever);
  out.preemption.reclaim = f.choice(preemption, "reclaimWithinCohort", kReclaims, Reclaim::kNever);
  const V borrowing = f.map(preemption, "borrowWithinCohort");
  out.preemption.borrow_within = f.choice(borrowing, "policy", kBorrowWithin, BorrowWithin::kNever);
  if (borrowing.find("maxPriorityThreshold").present()) {
    out.preemption.borrow_threshold =
        f.integer(borrowing, "maxPriorityThreshold", 0, -2147483648ll, 2147483647ll);
  }
  const V fungibility = f.map(spec, "flavorFungibility");
  out.flavor_search.past_borrowing = f.choice(fungibility, "whenCanBorrow", kStopOrTryNext, false);
  out.flavor_search.past_preempting = f.choice(fungibility, "whenCanPreempt", kStopOrTryNext, true);
  out.flavor_search.preempt_rather_than_borrow = f.choice(fungibility, "preference", kPreferences, false);
  out.stop = f.choice(spec, "stopPolicy", kStopPolicies, StopPolicy::kNone);
  out.weight = read_weight(f, spec);
  static constexpr std::pair<std::string_view, bool> kAdmissionModes[] = {
      {"UsageBasedAdmissionFairSharing", true}, {"NoAdmissionFairSharing", false}};
  out.by_use = f.choice(f.map(spec, "admissionScope"), "admissionMode", kAdmissionModes, false);
  out.namespaces = read_label_selector(f, spec, "namespaceSelector");
  for (auto& name : f.strings(spec, "admissionChecks"))
    out.checks.push_back({std::move(name), {}});  // v1beta1
  f.list(f.map(spec, "admissionChecksStrategy"), "admissionChecks", [&](const V& item) {
    CheckRule rule;
    rule.name = f.string(item, "name");
    if (rule.name.empty()) f.error(item, "name", "an admission check must have a name");
    rule.flavors = f.strings(item, "onFlavors");
    out.checks.push_back(std::move(rule));
  });
  std::sort(out.checks.begin(), out.checks.end(),
            [](const CheckRule& a, const CheckRule& b) { return a.name < b.name; });
  out.nodes = read_node_supply(f, object);
  return out;
}

template <class V>
Cohort read_cohort(FieldReader<V>& f, const V& object) {
  Cohort out;
  out.meta = read_meta(f, object, Kind::kCohort, false);
  const V spec = f.map(object, "spec");
  out.parent = f.string(spec, "parentName");                      // v1beta2
  if (out.parent.empty()) out.parent = f.string(spec, "parent");  // v1alpha1
  read_quotas(f, spec, false, out.groups, out.quotas, out.problem);
  out.weight = read_weight(f, spec);
  return out;
}

template <class V>
LocalQueue read_local_queue(FieldReader<V>& f, const V& object) {
  LocalQueue out;
  out.meta = read_meta(f, object, Kind::kLocalQueue, false);
  const V spec = f.map(object, "spec");
  out.cluster_queue = f.string(spec, "clusterQueue");
  if (out.cluster_queue.empty()) f.error(spec.present() ? spec : object, "clusterQueue", "is required");
  out.stop = f.choice(spec, "stopPolicy", kStopPolicies, StopPolicy::kNone);
  out.weight = read_weight(f, spec);
  // v1beta1 calls it fairSharing.admissionFairSharingStatus too.
  const V history = f.map(f.map(f.map(object, "status"), "fairSharing"), "admissionFairSharingStatus");
  out.used_at = f.time(history, "lastUpdate");
  f.map(history, "consumedResources").each_entry([&](std::string_view resource, const V& value) {
    std::string buffer;
    const auto text = value.scalar(buffer);
    const auto amount =
        text ? text::parse_quantity_capped(*text, units_per_one(resource)) : Result<std::int64_t>(0);
    if (amount && *amount > 0) out.used.set(resource, *amount);
  });
  return out;
}

template <class V>
AdmissionCheck read_admission_check(FieldReader<V>& f, const V& object) {
  AdmissionCheck out;
  out.meta = read_meta(f, object, Kind::kAdmissionCheck, false);
  const V spec = f.map(object, "spec");
  out.controller = f.string(spec, "controllerName");
  if (out.controller.empty()) f.error(spec.present() ? spec : object, "controllerName", "is required");
  const V parameters = f.map(spec, "parameters");
  if (f.string(parameters, "kind") == enum_name(Kind::kProvisioningRequestConfig) &&
      f.string(parameters, "apiGroup") == kKueueGroup)
    out.config = f.string(parameters, "name");
  f.list(f.map(object, "status"), "conditions", [&](const V& c) {
    if (f.string(c, "type") != "Active") return;
    out.active = f.string(c, "status") == "True";
  });
  return out;
}

template <class V>
ResourceFlavor read_flavor(FieldReader<V>& f, const V& object) {
  ResourceFlavor out;
  out.meta = read_meta(f, object, Kind::kResourceFlavor, false);
  const V spec = f.map(object, "spec");
  out.node_labels = f.labels(spec, "nodeLabels");
  out.node_taints = read_taints(f, spec, "nodeTaints");
  out.tolerations = read_tolerations(f, spec, "tolerations");
  out.topology = f.string(spec, "topologyName");
  out.nodes = read_node_supply(f, object);
  return out;
}

template <class V>
TopologyObject read_topology(FieldReader<V>& f, const V& object) {
  TopologyObject out;
  out.meta = read_meta(f, object, Kind::kTopology, false);
  out.levels = read_levels(f, object);
  return out;
}

template <class V>
WorkloadPriorityClass read_workload_priority_class(FieldReader<V>& f, const V& object) {
  WorkloadPriorityClass out;
  out.meta = read_meta(f, object, Kind::kWorkloadPriorityClass, false);
  out.value = f.integer(object, "value", 0, -2147483648ll, 2147483647ll);
  return out;
}

}  // namespace berth::dialect

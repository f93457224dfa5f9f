// Decoder of Volcano's PodGroup. Included by decode.cc only.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "dialect/base/decode_meta.h"
#include "dialect/volcano/hyper_node.h"
#include "dialect/volcano/pod_group.h"
#include "text/time.h"

namespace berth::dialect {

inline constexpr std::int64_t kMostMembers = 1'000'000;

template <class V>
std::optional<TierRequest> read_network_topology(FieldReader<V>& f, const V& object) {
  static constexpr std::pair<std::string_view, bool> kModes[] = {{"hard", true}, {"soft", false}};
  const V topology = f.map(object, "networkTopology");
  if (!topology.present()) return std::nullopt;
  TierRequest out;
  out.strict = f.choice(topology, "mode", kModes, true);
  if (topology.find("highestTierAllowed").present())
    out.most = f.integer(topology, "highestTierAllowed", 0, 0, kMostTier);
  out.most_name = f.string(topology, "highestTierName");
  if (out.most && !out.most_name.empty())
    f.error(topology, "highestTierName", "and highestTierAllowed contradict each other: give one of them");
  return out;
}

template <class V>
void read_sub_groups(FieldReader<V>& f, const V& spec, VolcanoPodGroup& out) {
  f.list(spec, "subGroupPolicy", [&](const V& policy) {
    if (!f.takes(Entry::kPart, spec, "subGroupPolicy")) return;
    GangSplit split;
    split.name = f.string(policy, "name");
    split.selector = read_label_selector(f, policy, "labelSelector");
    if (split.selector.nothing) split.selector = LabelSelector{false, {}};  // of all pods
    f.list(policy, "matchLabelKeys", [&](const V& key) {
      if (f.takes(Entry::kPart, policy, "matchLabelKeys"))
        split.keys.emplace_back(f.string_of(key, "matchLabelKeys"));
    });
    split.least = f.integer(policy, "subGroupSize", 1, 1, kMostMembers);
    split.parts = f.integer(policy, "minSubGroups", 0, 0, kMostMembers);
    const auto same = [&](const GangSplit& other) { return other.name == split.name; };
    if (std::any_of(out.splits.begin(), out.splits.end(), same))
      f.error(policy, "name", fmt::format("the subGroupPolicy {} appears twice", split.name));
    split.tiers = read_network_topology(f, policy);
    out.splits.push_back(std::move(split));
  });
}

// minResources counts as quota does: "requests.cpu" is cpu. Limits and numbers of objects are not compared.
template <class V>
void read_min_resources(FieldReader<V>& f, const V& spec, VolcanoPodGroup& out) {
  constexpr std::string_view kRequests = "requests.";
  f.map(spec, "minResources").each_entry([&](std::string_view name, const V& value) {
    if (name.starts_with("limits.") || name.starts_with("count/") || name == "pods") return;
    const std::string_view resource = name.starts_with(kRequests) ? name.substr(kRequests.size()) : name;
    if (f.takes(Entry::kResource, spec, "minResources")) out.asks.set(resource, f.amount_of(value, resource));
  });
}

template <class V>
void read_volcano_status(FieldReader<V>& f, const V& status, VolcanoPodGroup& out) {
  VolcanoStatus stands;
  stands.phase = f.string(status, "phase");
  stands.running = f.integer(status, "running", 0, 0, kMostMembers);
  stands.succeeded = f.integer(status, "succeeded", 0, 0, kMostMembers);
  stands.failed = f.integer(status, "failed", 0, 0, kMostMembers);
  int conditions = 0;
  f.list(status, "conditions", [&](const V& condition) {
    ++conditions;
    stands.type = f.string(condition, "type");
    stands.reason = f.string(condition, "reason");
    stands.message = f.string(condition, "message");
    if (f.string(condition, "status") != "True") stands.type += " no more";
    out.since = f.time(condition, "lastTransitionTime");
  });
  out.stage = stands.type;
  if (conditions < 2) out.stands = stands.json(0);  // Berth writes one
}

template <class V>
VolcanoPodGroup read_volcano_pod_group(FieldReader<V>& f, const V& object) {
  VolcanoPodGroup out;
  out.meta = read_meta(f, object, Kind::kVolcanoPodGroup, false);
  const V spec = f.map(object, "spec");
  out.least = std::max<std::int64_t>(1, f.integer(spec, "minMember", 1, 0, kMostMembers));
  std::int64_t sum = 0;
  f.map(spec, "minTaskMember").each_entry([&](std::string_view task, const V& value) {
    if (!f.takes(Entry::kPart, spec, "minTaskMember")) return;
    const auto least = value.integer();
    if (!least || *least < 0 || *least > kMostMembers)
      return f.error(value, task, fmt::format("is to be an integer from 0 to {}", kMostMembers));
    if (*least > 0) out.parts.push_back({std::string(task), *least});
    sum += *least;
  });
  if (sum > out.least) out.parts.clear();  // as in Volcano: then the least number of all counts alone
  out.queue = f.string(spec, "queue");
  out.priority_class = f.string(spec, "priorityClassName");
  out.preemptible = f.boolean(spec, "preemptable", true) && out.meta.mark(kVolcanoPreemptable) != "false";
  read_min_resources(f, spec, out);
  out.tiers = read_network_topology(f, spec);
  read_sub_groups(f, spec, out);
  if (!out.splits.empty() && !out.parts.empty())
    out.unsupported = "minTaskMember and subGroupPolicy together: give each task a subGroupPolicy";
  read_volcano_status(f, f.map(object, "status"), out);
  return out;
}

}  // namespace berth::dialect

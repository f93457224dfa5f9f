// Decoders of KAI's PodGroup and Topology. Included by decode.cc only.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dialect/base/decode_levels.h"
#include "dialect/base/decode_meta.h"
#include "dialect/kai/pod_group.h"
#include "dialect/kai/topology.h"
#include "text/time.h"

namespace berth::dialect {

inline constexpr std::int64_t kMostOfKai = 1'000'000;

// A duration, negative ones too; absent: none. The field of the object, else its annotation.
template <class V>
std::optional<DurationMs> read_kai_duration(FieldReader<V>& f, const V& object, std::string_view key,
                                            std::string_view mark) {
  const V value = object.find(key);
  const std::string_view said = value.present() ? f.string_of(value, key) : mark;
  if (said.empty()) return std::nullopt;
  const bool negative = said.starts_with('-');
  const auto duration = text::parse_duration_ms(said.substr(negative ? 1 : 0));
  if (duration) return negative ? -*duration : *duration;
  if (value.present()) f.wrong(value, key, "a duration such as \"90s\" or \"30m\"");
  return std::nullopt;
}

template <class V>
void read_kai_times(FieldReader<V>& f, const V& spec, KaiPodGroup& out) {
  const auto grace =
      read_kai_duration(f, spec, "stalenessGracePeriod", out.meta.annotation(kKaiStalenessGraceMark));
  out.broken_for = grace.value_or(kKaiStalenessGrace);
  if (*out.broken_for < 0) out.broken_for = std::nullopt;
  const auto since = text::parse_time_ms(out.meta.annotation(kKaiStaleSince));
  if (since) out.broken_since = *since;
  const auto delay = read_kai_duration(f, spec, "preemptionDelay", out.meta.annotation(kKaiPreemptionDelay));
  out.preempts_after = std::max<DurationMs>(0, delay.value_or(0));
}

template <class V>
TopologyRequest read_kai_topology(FieldReader<V>& f, const V& object) {
  const V topology = f.map(object, "topologyConstraint");
  TopologyRequest out;
  out.required = f.string(topology, "requiredTopologyLevel");
  out.preferred = f.string(topology, "preferredTopologyLevel");
  return out;
}

template <class V>
std::optional<std::int64_t> read_min_sub_group(FieldReader<V>& f, const V& object) {
  if (!object.find("minSubGroup").present()) return std::nullopt;
  return f.integer(object, "minSubGroup", 1, 0, kMostOfKai);
}

template <class V>
void read_kai_subgroups(FieldReader<V>& f, const V& spec, KaiPodGroup& out) {
  std::vector<KaiSubgroup> all;
  const auto knows = [&](std::string_view name) {
    return std::any_of(all.begin(), all.end(), [&](const KaiSubgroup& other) { return other.name == name; });
  };
  f.list(spec, "subGroups", [&](const V& object) {
    if (!f.takes(Entry::kPart, spec, "subGroups")) return;
    KaiSubgroup subgroup;
    subgroup.name = f.string(object, "name");
    if (subgroup.name.empty() || knows(subgroup.name))
      f.error(object, "name", "each subgroup needs a name of its own");
    subgroup.parent = f.string(object, "parent");
    subgroup.least = f.integer(object, "minMember", 1, 0, kMostOfKai);
    subgroup.parts = read_min_sub_group(f, object);
    subgroup.topology = read_kai_topology(f, object);
    all.push_back(std::move(subgroup));
  });
  for (const KaiSubgroup& subgroup : all) {
    if (!subgroup.parent.empty() && !knows(subgroup.parent))
      out.wrong = fmt::format("there is no subgroup {}, the parent of {}", subgroup.parent, subgroup.name);
  }
  if (!all.empty()) arrange(out, all, read_min_sub_group(f, spec));
}

template <class V>
KaiPodGroup read_kai_pod_group(FieldReader<V>& f, const V& object) {
  static constexpr std::pair<std::string_view, bool> kPreemptibility[] = {{"preemptible", true},
                                                                          {"non-preemptible", false}};
  KaiPodGroup out;
  out.meta = read_meta(f, object, Kind::kKaiPodGroup, false);
  const V spec = f.map(object, "spec");
  out.least = f.integer(spec, "minMember", 1, 0, kMostOfKai);
  read_kai_subgroups(f, spec, out);
  out.queue = f.string(spec, "queue");
  out.priority_class = f.string(spec, "priorityClassName");
  out.preemptible = f.choice(spec, "preemptibility", kPreemptibility, true);
  if (!spec.find("preemptibility").present()) out.protected_from = kKaiNoVictim;
  out.topology = read_kai_topology(f, spec);
  read_kai_times(f, spec, out);
  return out;
}

template <class V>
KaiTopology read_kai_topology_object(FieldReader<V>& f, const V& object) {
  KaiTopology out;
  out.meta = read_meta(f, object, Kind::kKaiTopology, false);
  out.levels = read_levels(f, object);
  return out;
}

}  // namespace berth::dialect

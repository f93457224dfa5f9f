#include "dialect/gangs/gangs.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/integers.h"
#include "dialect/base/names.h"
#include "text/time.h"

namespace berth::dialect {
namespace {

std::optional<DurationMs> to_duration(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto value = text::parse_duration_ms(text);
  if (!value || *value < 0) return std::nullopt;
  return *value;
}

Membership sized(const Pod& pod, std::string_view what, std::string_view name, std::string_view size_key) {
  Membership m;
  m.kind = GangKind::kSized;
  m.uid = fmt::format("{}/{}/{}", what, pod.meta.ns, name);
  m.name = name;
  m.size = to_integer(pod.meta.mark(size_key), 1, 1'000'000);
  m.size_key = size_key;
  return m;
}

}  // namespace

Membership membership_of(const Pod& pod, NamedGang named, const Ask* owner) {
  const GangSystem* system = named.system;
  if (system != nullptr) {
    std::string name(system->name_in(pod.meta));
    std::string uid = gang_uid(system->kind, fmt::format("{}/{}", pod.meta.ns, name));
    return {GangKind::kPodGroup, std::move(uid), std::move(name), std::nullopt, {}, system, {}};
  }
  const bool more = named.said && named.said->oldest_label;
  if (const auto name = pod.meta.mark(kOldestPodGroupName); !name.empty() && !more) {
    return sized(pod, "Gang/coscheduling", name, kOldestPodGroupSize);
  }
  const auto gang = pod.meta.mark(kGang);
  if (!gang.empty() && (!pod.meta.mark(kGangSize).empty() || owner == nullptr)) {
    return sized(pod, "Gang/berth", gang, kGangSize);
  }
  if (const auto name = pod.meta.mark(kKueuePodGroup); !name.empty()) {
    return sized(pod, "Gang/kueue", name, kKueuePodGroupSize);
  }
  if (named.said) {
    SaidGang& said = *named.said;
    Membership out{GangKind::kSized, fmt::format("Gang/{}/{}/{}", said.system, pod.meta.ns, said.name),
                   said.name, std::nullopt, std::string(said.key)};
    out.part = said.part;
    out.said = std::move(said);
    return out;
  }
  if (owner != nullptr && owner->gang) {
    return {GangKind::kOwner, owner->meta->uid, owner->meta->name, std::nullopt, {}};
  }
  return {};
}

TopologyMarks topology_of(const Meta& meta) {
  TopologyMarks out;
  out.request.required = meta.mark(kTopologyRequired);
  out.request.preferred = meta.mark(kTopologyPreferred);
  if (!out.request.empty()) return out;
  out.request.required = meta.mark(kKueueRequired);
  out.request.preferred = meta.mark(kKueuePreferred);
  const auto segment = to_integer(meta.mark(kKueueSliceSize));
  if (segment && *segment >= 1 && *segment <= 1'000'000 && !meta.mark(kKueueSliceRequired).empty()) {
    out.request.segment = *segment;
    out.request.segment_level = meta.mark(kKueueSliceRequired);
  }
  out.per_pod_set = !out.request.empty();
  return out;
}

Restart restart_of(const Meta& meta, DurationMs grace) {
  Restart out;
  out.checkpoint_every = to_duration(meta.mark(kCheckpointEvery)).value_or(0);
  out.overhead = to_duration(meta.mark(kRestartOverhead)).value_or(0);
  out.grace = grace;
  if (const auto last = meta.mark(kLastCheckpoint); !last.empty()) {
    if (const auto time = text::parse_time_ms(last)) out.last_checkpoint = *time;
  }
  return out;
}

std::optional<DurationMs> duration_of(const Meta& meta, std::optional<DurationMs> deadline) {
  if (const auto said = to_duration(meta.mark(kExpectedDuration))) return said;
  if (const auto most = to_integer(meta.mark(kKueueMaxSeconds));
      most && *most >= 0 && *most < 4'000'000'000) {
    return *most * kSecond;
  }
  return deadline;
}

}  // namespace berth::dialect

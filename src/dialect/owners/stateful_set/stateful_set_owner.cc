#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "dialect/owners/asked_set.h"
#include "dialect/owners/owner.h"
#include "dialect/owners/pod_number.h"
#include "dialect/owners/stateful_set/stateful_set.h"

namespace berth::dialect {
namespace {

const StatefulSet& set_of(const Ask& ask) {
  return *static_cast<const StatefulSet*>(ask.own.get());
}

Ask ask_set(std::shared_ptr<void> object) {
  const auto own = std::static_pointer_cast<StatefulSet>(std::move(object));
  StatefulSet& stateful = *own;
  AskedSet set = asked_by_template(stateful.template_meta, stateful.spec, stateful.needs);
  set.size = set.most = set.asked = stateful.replicas;
  Ask out;
  out.kind = &StatefulSet::kOwner;
  out.own = own;
  out.meta = &stateful.meta;
  out.sets.push_back(std::move(set));
  out.generation = stateful.generation;
  out.ready = stateful.ready;
  out.problem = stateful.problem;
  if (stateful.meta.deleting) out.over = "it is being deleted";
  out.makes_pods = !stateful.meta.deleting && stateful.replicas > 0;
  out.is_ready = stateful.ready >= stateful.replicas;
  out.is_led = !stateful.meta.controller->kind.empty();
  // Not the marks of its template: pods that name their queue themselves are work of their own.
  out.gang = stateful.parallel && !out.is_led && names_a_gang(stateful.meta, Meta{});
  return out;
}

OwnedPlace place_by_ordinal(const Ask& ask, const Pod& pod) {
  const auto ordinal = number_behind(pod.meta.name, ask.meta->name);
  const std::int64_t start = set_of(ask).start;
  if (!ordinal || *ordinal < start) return {};
  return {0, *ordinal - start};
}

// All that it lacks, also where it makes them one after the other.
MadePods make_replicas(const Ask& ask, const std::vector<const Pod*>& has, std::int64_t most) {
  const StatefulSet& stateful = set_of(ask);
  MadePods out;
  if (!ask.makes_pods) return out;
  if (ask.is_led) {
    out.none = fmt::format("belongs to {} {}, which may change it: none of its pods are planned",
                           stateful.meta.controller->kind, stateful.meta.controller->name);
    return out;
  }
  std::set<std::int64_t> taken;
  for (const Pod* pod : has) {
    if (pod->phase == PodPhase::kFailed || pod->phase == PodPhase::kSucceeded) continue;
    if (const auto ordinal = number_behind(pod->meta.name, stateful.meta.name)) taken.insert(*ordinal);
  }
  const std::int64_t end = stateful.start + stateful.replicas;
  out.missing = stateful.replicas - std::distance(taken.lower_bound(stateful.start), taken.lower_bound(end));
  for (std::int64_t ordinal = stateful.start; ordinal < end && out.missing <= most; ++ordinal) {
    if (taken.contains(ordinal)) continue;
    Pod pod = pod_of(ask, ask.sets.front());
    pod.meta.name = fmt::format("{}-{}", stateful.meta.name, ordinal);
    pod.meta.uid = fmt::format("{}/{}", stateful.meta.uid, ordinal);
    for (const std::string& claim : stateful.claims)
      pod.spec.claims.edit().push_back({claim, fmt::format("{}-{}", claim, pod.meta.name)});
    out.pods.push_back(std::move(pod));
  }
  return out;
}

}  // namespace

const OwnerKind StatefulSet::kOwner{
    .kind = Kind::kStatefulSet,
    .version = "v1",
    .work = WorkloadKind::kService,
    .ask = ask_set,
    .count = nullptr,
    .place_of = place_by_ordinal,
    .release = nullptr,
    .suspend = nullptr,
    .make_changeable = nullptr,
    .make_pods = make_replicas,
    .released = nullptr,
    .suspended = nullptr,
};

}  // namespace berth::dialect

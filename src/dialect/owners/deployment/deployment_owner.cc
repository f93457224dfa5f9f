#include <fmt/format.h>

#include <memory>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/owners/asked_set.h"
#include "dialect/owners/deployment/deployment.h"
#include "dialect/owners/owner.h"

namespace berth::dialect {
namespace {

template <class T>
Ask ask_replicas(std::shared_ptr<void> object) {
  const auto own = std::static_pointer_cast<T>(std::move(object));
  Replicas& replicas = *own;
  AskedSet set = asked_by_template(replicas.template_meta, replicas.spec, replicas.needs);
  set.size = set.most = set.asked = replicas.replicas;
  Ask out;
  out.kind = &T::kOwner;
  out.own = own;
  out.meta = &replicas.meta;
  out.sets.push_back(std::move(set));
  out.generation = replicas.generation;
  out.ready = replicas.ready;
  out.problem = replicas.problem;
  if (replicas.meta.deleting) out.over = "it is being deleted";
  out.makes_pods = !replicas.meta.deleting && replicas.replicas > 0;
  out.is_ready = replicas.ready >= replicas.replicas;
  out.is_led = !replicas.meta.controller->kind.empty();
  // A queue alone makes no gang, unlike that of a Job.
  out.gang = !replicas.meta.mark(kGang).empty();
  return out;
}

OwnedPlace any_place(const Ask&, const Pod&) {
  return {};
}

MadePods make_alike(const Ask& ask, const std::vector<const Pod*>& has, std::int64_t most) {
  MadePods out;
  if (!ask.makes_pods) return out;
  if (ask.is_led) {
    out.none = fmt::format("belongs to {} {}, which may change it: none of its pods are planned",
                           ask.meta->controller->kind, ask.meta->controller->name);
    return out;
  }
  out.missing = ask.size();
  for (const Pod* pod : has) {
    if (pod->phase != PodPhase::kFailed && pod->phase != PodPhase::kSucceeded) --out.missing;
  }
  for (std::int64_t number = 0; number < out.missing && out.missing <= most; ++number) {
    Pod pod = pod_of(ask, ask.sets.front());
    pod.meta.name = fmt::format("{}-{}", ask.meta->name, number);
    pod.meta.uid = fmt::format("{}/{}", ask.meta->uid, number);
    out.pods.push_back(std::move(pod));
  }
  return out;
}

template <class T>
constexpr OwnerKind row_of() {
  return {.kind = T::kKind,
          .version = "v1",
          .work = WorkloadKind::kService,
          .ask = ask_replicas<T>,
          .count = nullptr,
          .place_of = any_place,
          .release = nullptr,
          .suspend = nullptr,
          .make_changeable = nullptr,
          .make_pods = make_alike,
          .released = nullptr,
          .suspended = nullptr};
}

}  // namespace

const OwnerKind ReplicaSet::kOwner = row_of<ReplicaSet>();
const OwnerKind Deployment::kOwner = row_of<Deployment>();

}  // namespace berth::dialect

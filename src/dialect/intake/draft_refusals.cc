// The steps of DraftSettings that stand alone, and the settings of a Workload that is work itself. Work waits for marks of other
// schedulers, classes that do not exist, scheduling gates, a suspended owner that nothing resumes, checks, and nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "dialect/base/foreign_marks.h"
#include "dialect/base/names.h"
#include "dialect/gangs/gangs.h"
#include "dialect/intake/draft_settings.h"
#include "dialect/intake/queue_choice.h"
#include "dialect/kueue/workload_object.h"

namespace berth::dialect {

Reason reason_of(ReasonCode code, std::string detail) {
  Reason out;
  out.code = code;
  out.detail = std::move(detail);
  return out;
}

void DraftSettings::wait_for_end(const Draft& draft, const Ask& ask, Settings& settings) const {
  if (ask.over.empty() || draft.bound == draft.pods || settings.blocked) return;
  settings.blocked = Reason{};
  settings.blocked->code = ReasonCode::kInactive;
  settings.blocked->detail =
      fmt::format("its {} {} starts no more pods: {}", ask.kind->word(), ask.meta->name, ask.over);
}

// Whether the API knows a queue of the name that was resolved.
bool DraftSettings::has_queue(const Draft& draft, const Settings& settings) const {
  if (settings.queue.empty() || !draft.queue_mark) return true;
  if (draft.queue_mark->first == kKueueQueue)
    return books_.objects.local_queue(key_of(draft.ns, draft.queue_mark->second)) != nullptr;
  return true;  // the engine says that it is missing
}

void DraftSettings::refuse(const Draft& draft, const Pod& pod, const std::vector<const Meta*>& sources,
                           const std::vector<PriorityKey>& priorities, Settings& settings,
                           std::vector<std::string>& depends) const {
  if (draft.bound > 0 || draft.released) return;
  // Those of the pod itself are in its template.
  for (const Meta* meta : sources) {
    if (meta == &pod.meta || settings.blocked) continue;
    if (auto mark = foreign_key(*meta, pod.meta, pod.spec.scheduler_name))
      settings.blocked = reason_of(ReasonCode::kUnsupported, std::move(*mark));
  }
  for (const PriorityKey& key : priorities) {
    if (settings.blocked) break;
    if (auto missing = books_.objects.missing_class(key); !missing.empty()) {
      settings.blocked = reason_of(ReasonCode::kInvalid, std::move(missing));
      depends.emplace_back(kAllClasses);  // which of them was meant
    }
  }
  for (const Meta* meta : sources) {
    if (settings.blocked) break;
    const std::string_view name = meta->mark(kKueuePriorityClass);
    if (name.empty()) continue;
    if (auto missing = books_.objects.missing_workload_class(name); !missing.empty()) {
      settings.blocked = reason_of(ReasonCode::kInvalid, std::move(missing));
      depends.emplace_back(kAllClasses);
    }
    break;
  }
  const OwnerRecord* owner = books_.owners.top_of(pod.meta);
  // One that is a gang Berth has suspended itself, or releases it as it releases work of a queue.
  if (owner != nullptr && owner->ask.suspended && !owner->ask.gang && !books_.config.hold_owners &&
      !owner->ask.is_led && settings.queue.empty() && !settings.blocked) {
    settings.blocked = reason_of(
        ReasonCode::kInactive,
        fmt::format("{} {} is suspended and names no queue, so nothing resumes it: give it the label {}, or "
                    "set spec.suspend to false",
                    owner->ask.kind->word(), owner->ask.meta->name, kKueueQueue));
  }
}

std::optional<Reason> DraftSettings::refused_claims(const Draft& draft, const Settings& settings) {
  std::map<std::string, std::int64_t> users;
  for (std::size_t r = 0; r < draft.roles.size(); ++r) {
    for (const CountedTerm& term : draft.roles[r].shape->terms) {
      if (term.level.empty()) users[term.selector] += settings.counts[r].least;
    }
  }
  for (const auto& [claim, pods] : users) {
    if (pods < 2) continue;
    return reason_of(
        ReasonCode::kInvalid,
        fmt::format("{} of its pods mount {}, which only one pod may use (ReadWriteOncePod): create it with "
                    "another access mode, or one for each pod",
                    pods, claim));
  }
  return std::nullopt;
}

void DraftSettings::say_gates(const Draft& draft, const Pod& pod, Settings& settings) const {
  const auto& gates = pod.spec.gates;
  if (gates.empty()) return;
  settings.blocked->detail = fmt::format("held back by the scheduling gate{} {}",
                                         gates.size() == 1 ? "" : "s", fmt::join(gates, ", "));
  if (!has_queue(draft, settings))
    settings.blocked->detail += fmt::format("; its queue {} does not exist", settings.queue);
}

void DraftSettings::apply_standing(const Draft& draft, Settings& settings) const {
  const Standing* said = books_.promises.standing(draft.uid);
  if (said == nullptr) return;
  if (said->stop) {
    settings.blocked = said->stop;
    settings.gates.clear();
  }
  const std::int64_t before = settings.priority;
  settings.priority = boosted(before, said->boost);
  settings.boost = settings.priority - before;
  if (said->queued_from != 0) settings.created = said->queued_from;
  settings.asks_more_since = said->asks_more_since;
}

void DraftSettings::require_checks(const Draft& draft, Settings& settings) const {
  if (settings.blocked || books_.objects.queues().check_mode() != CheckMode::kLive) return;
  const ClusterQueue* queue = books_.objects.queues().cluster_queue(settings.queue);
  if (queue == nullptr || queue->checks.empty() || (!settings.lane.empty() && has_object(draft))) return;
  settings.blocked = Reason{};
  settings.blocked->code = ReasonCode::kUnsupported;
  settings.blocked->detail = fmt::format(
      "ClusterQueue {} has admission checks, which need a Workload object: only Jobs, pods and pod groups "
      "({}) of a LocalQueue have one",
      settings.queue, kKueuePodGroup);
}

// Running work has its places. Pod sets that ask for none of the managed resources are placed at once, unless all of the gang must
// be near each other: then it is laid out as a whole.
void DraftSettings::await_nodes(const Draft& draft, Settings& settings) const {
  if (draft.bound > 0 || books_.promises.nodes_came(draft.uid)) return;
  const ClusterQueue* queue = books_.objects.queues().cluster_queue(settings.queue);
  if (queue == nullptr) return;
  if (!draft.object && books_.promises.asks_nodes(draft.uid)) {
    const auto flavors = books_.objects.queues().on_demand_flavors(*queue);
    if (!flavors.empty()) settings.awaited.assign(draft.roles.size(), flavors);
  }
  if (books_.objects.queues().check_mode() != CheckMode::kLive || queue->checks.empty() ||
      settings.lane.empty() || !has_object(draft))
    return;
  std::vector<std::string> any;
  const auto await = [&](PodTemplate pod) {
    books_.config.counts.apply(pod);
    const auto total = pod.total();
    settings.awaited.push_back(
        total ? books_.objects.queues().provisioned_flavors(*queue, pod.counted.value_or(*total))
              : std::vector<std::string>());
    if (any.empty()) any = settings.awaited.back();
  };
  for (const Role& role : draft.roles) await(*role.shape);
  if (draft.object) {
    for (const auto& set : draft.object->pod_sets) await(*set.spec.pod);
  }
  if (any.empty()) settings.awaited.clear();
  if (!settings.topology.empty()) {
    for (auto& of_set : settings.awaited) of_set = any;
  }
}

Settings DraftSettings::of_object(const Draft& draft, std::vector<std::string>& depends) const {
  const KueueWorkload& object = *draft.object;
  const KueueWorkload& holder = draft.former != nullptr ? *draft.former : object;
  Settings out;
  out.created = holder.requeued_from != 0 ? holder.requeued_from : holder.meta.created;
  if (draft.former != nullptr) out.asks_more_since = object.meta.created;
  out.kind = WorkloadKind::kBatch;
  out.priority = priority_of_object(books_, object, out.may_preempt, depends);
  if (books_.config.quota_only) {  // else it is part of its standing
    out.boost = boost_of(object);
    out.priority = boosted(out.priority, out.boost);
  }
  for (const auto& set : object.pod_sets) {
    out.restart.grace = std::max(out.restart.grace, set.spec.grace);
    out.may_preempt = out.may_preempt && set.spec.may_preempt;
  }
  if (object.admitted_to.empty() || object.evicted) {
    if (object.queue.empty()) {
      out.blocked = Reason{};
      out.blocked->code = ReasonCode::kInvalid;
      out.blocked->detail = "spec.queueName is empty";
    } else {
      QueueChoice(books_.objects, draft, rules_.is_admitted(draft), out, depends)
          .by_local_queue(object.queue);
    }
  }
  // Its quota stays in the queue that granted it, whatever its LocalQueue says now.
  if (!holder.admitted_to.empty()) {
    out.queue = holder.admitted_to;
    if (!object.queue.empty()) out.lane = key_of(draft.ns, object.queue);
  }
  if (const auto gates = object.meta.annotation(kKueueGatedBy);
      !gates.empty() && object.admitted_to.empty() && !out.blocked) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInactive;
    out.blocked->detail = fmt::format("Admission is gated by: {}", gates);
    out.gates = gates;
  }
  if (!draft.inadmissible.empty() && !out.blocked && object.admitted_to.empty()) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInvalid;
    out.blocked->detail = draft.inadmissible;
  }
  for (const auto& set : object.pod_sets) {
    for (const ClaimUse& use : set.spec.claims) {
      depends.push_back(use.ephemeral ? fmt::format("{}{}", kOnClaim, kMadeClaims)
                                      : fmt::format("{}{}/{}", kOnClaim, draft.ns, use.claim));
    }
  }
  if (draft.claim_wait != nullptr && !out.blocked && object.admitted_to.empty())
    out.blocked = *draft.claim_wait;
  if (!object.active && !out.blocked) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInactive;
  }
  out.granted = draft.granted;
  if (!books_.config.quota_only) {
    out.whole_first = objects_.may_shrink(draft);
    await_nodes(draft, out);
    apply_standing(draft, out);
  }
  if (!draft.refused.empty()) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInvalid;
    out.blocked->detail = draft.refused;
    out.invalid = true;
  }
  std::sort(depends.begin(), depends.end());
  return out;
}

}  // namespace berth::dialect

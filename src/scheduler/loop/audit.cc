#include "scheduler/loop/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/checked.h"
#include "dialect/base/names.h"
#include "dialect/kueue/workload_object.h"
#include "kube/paths.h"

namespace berth::scheduler {
namespace {

using dialect::PodView;

const kube::ObjectRef kNothing{"", "", "", "", ""};  // no object of the API

bool takes_place(SlotState state) {
  return state == SlotState::kBinding || state == SlotState::kRunning || state == SlotState::kReleasing;
}

kube::ObjectRef ref_of(const PodView& pod) {
  return {"v1", "Pod", std::string(pod.ns), std::string(pod.name), std::string(pod.uid)};
}

SlotUpdate update_of(const PodView& pod, SlotState state) {
  SlotUpdate out;
  out.workload = pod.workload;
  out.pod_set = pod.pod_set;
  out.index = pod.index;
  out.state = state;
  if (takes_place(state)) {
    out.node = pod.node;
    out.devices.assign(pod.devices.begin(), pod.devices.end());
  }
  return out;
}

}  // namespace

Audit::Audit(const dialect::IntakePromises& intake, const engine::Engine& engine, dialect::QuotaCounts counts,
             Outbox& outbox, AuditOptions options)
    : intake_(intake),
      engine_(engine),
      quota_counts_(std::move(counts)),
      outbox_(outbox),
      options_(options) {}

void Audit::workload_seen(const dialect::KueueWorkload& object, TimeMs now) {
  const std::string key = fmt::format("{}/{}", object.meta.ns, object.meta.name);
  const std::string_view of = object.meta.annotation(dialect::kWorkloadOf);
  const bool says_all = !of.empty() && !object.meta.annotation(dialect::kWorkloadSpec).empty();
  if (!says_all || !object.owners.empty() || object.meta.deleting) {
    ownerless_.erase(key);
    return;
  }
  const auto [it, fresh] = ownerless_.try_emplace(
      key, Ownerless{object.meta.ns, object.meta.name, object.meta.uid, std::string(of), now});
  if (!fresh && it->second.uid != object.meta.uid) {
    it->second.uid = object.meta.uid;
    it->second.workload = of;
    it->second.since = now;
  }
}

std::string Audit::workload_gone(std::string_view ns, std::string_view name) {
  const auto it = ownerless_.find(fmt::format("{}/{}", ns, name));
  if (it == ownerless_.end()) return {};
  std::string out = std::move(it->second.workload);
  ownerless_.erase(it);
  return out;
}

std::vector<AuditDifference> Audit::work(TimeMs now) {
  std::vector<AuditDifference> out;
  if (next_ == 0) next_ = now + options_.every;  // what was found at the start is still being put right
  if (now < next_) return out;
  ++looks_;
  Found found;
  Amounts used;
  std::set<std::string> unsettled;
  look_at_places(found, used, unsettled);
  look_at_usage(used, unsettled, found);
  if (const auto accounts = options_.recount(engine_); !accounts)
    found.emplace("accounts", AuditDifference{.kind = AuditKind::kAccounts,
                                              .text = accounts.error().message,
                                              .regarding = kNothing,
                                              .mend = {},
                                              .starts_over = true});
  look_at_workloads(found, now);
  if (std::exchange(confirms_, false)) {
    counts_ = {};
    for (auto& [key, difference] : found) {
      if (!suspected_.contains(key)) continue;
      ++counts_[static_cast<std::size_t>(difference.kind)];
      if (difference.kind == AuditKind::kWorkloads) {
        const Ownerless& object =
            ownerless_.at(fmt::format("{}/{}", difference.regarding.ns, difference.regarding.name));
        const kube::ResourcePath path{dialect::kKueueGroup, version_, "workloads"};
        outbox_.write(
            kube::status_write(kube::delete_object(path.object(object.ns, object.name), object.uid)),
            Step::kAudit, object.uid);
      }
      const bool mends = !difference.mend.empty() || !difference.anew.empty() || difference.starts_over;
      if (out.size() < options_.most_told || mends) out.push_back(std::move(difference));
    }
    suspected_.clear();
    next_ = now + options_.every;
  } else if (!found.empty()) {
    suspected_ = std::move(found);
    confirms_ = true;
    next_ = now + options_.confirm_after;
  } else {
    counts_ = {};
    next_ = now + options_.every;
  }
  return out;
}

// ----------------------------------------------------------------------------------------------------------- places

void Audit::look_at_places(Found& found, Amounts& used, std::set<std::string>& unsettled) const {
  std::unordered_map<std::string_view, std::string> queues;
  for (const engine::WorkloadView& workload : engine_.workloads()) {
    const std::string uid(workload.uid);
    const auto info = intake_.workload(uid);
    if (!info) {
      const bool takes = workload.slots_running + workload.slots_releasing > 0;
      if (takes) unsettled.emplace(workload.queue);
      AuditDifference difference{
          AuditKind::kPlaces,
          fmt::format("the engine has workload {}, but no pod or Job belongs to it", uid),
          kNothing,
          {WorkloadRemove{uid}}};
      found.emplace("unknown/" + uid, std::move(difference));
      continue;
    }
    std::int64_t with_pods = 0;
    for (const PodView& pod : intake_.pods_of(uid)) {
      const auto slot = engine_.slot(uid, pod.pod_set, pod.index);
      if (!slot) continue;
      look_at_pod(pod, *slot, found);
      if (!takes_place(slot->state)) continue;
      ++with_pods;
      add_usage(pod, workload.queue, used);
    }
    if (workload.slots_running + workload.slots_releasing == with_pods) continue;
    unsettled.emplace(workload.queue);
    if (!intake_.is_without_pods(uid) && !intake_.is_released(uid)) look_at_lone_slots(workload, found);
  }
}

void Audit::look_at_pod(const PodView& pod, const engine::SlotView& slot, Found& found) const {
  const auto tell = [&](std::string text, std::vector<Event> mend) {
    found.emplace(fmt::format("pod/{}", pod.uid),
                  AuditDifference{AuditKind::kPlaces, fmt::format("pod {}/{}: {}", pod.ns, pod.name, text),
                                  ref_of(pod), std::move(mend)});
  };
  const bool has_place = slot.state == SlotState::kRunning || slot.state == SlotState::kReleasing;
  if (!pod.node.empty() && (!has_place || slot.node != pod.node)) {
    std::vector<Event> mend;
    if (has_place) mend.emplace_back(update_of(pod, SlotState::kGone));
    mend.emplace_back(update_of(pod, SlotState::kRunning));
    if (pod.state == SlotState::kReleasing) mend.emplace_back(update_of(pod, SlotState::kReleasing));
    return tell(has_place ? fmt::format("it is on node {}, but the engine has it on {}", pod.node, slot.node)
                          : fmt::format("it is on node {}, but the engine has placed it nowhere", pod.node),
                std::move(mend));
  }
  if (pod.node.empty() && slot.state == SlotState::kRunning) {
    const SlotState state = pod.state == SlotState::kAbsent ? SlotState::kGone : SlotState::kWaiting;
    return tell(fmt::format("it has no node, but the engine has it on {}", slot.node),
                {update_of(pod, state)});
  }
}

// Slots that have a place, and neither a pod nor one that is to come.
void Audit::look_at_lone_slots(const engine::WorkloadView& workload, Found& found) const {
  const std::string uid(workload.uid);
  for (std::int64_t set = 0; engine_.slot(uid, set, 0); ++set) {
    for (std::int64_t index = 0;; ++index) {
      const auto slot = engine_.slot(uid, set, index);
      if (!slot) break;
      const bool has_place = slot->state == SlotState::kRunning || slot->state == SlotState::kReleasing;
      if (!has_place || intake_.pod_at(uid, set, index) || intake_.expects(uid, set, index)) continue;
      SlotUpdate gone;
      gone.workload = uid;
      gone.pod_set = set;
      gone.index = index;
      gone.state = SlotState::kGone;
      const auto info = intake_.workload(uid);
      found.emplace(
          fmt::format("slot/{}/{}/{}", uid, set, index),
          AuditDifference{AuditKind::kPlaces,
                          fmt::format("slot {} of pod set {} of {} occupies node {}, but it has no pod",
                                      index, set, info ? info->name : uid, slot->node),
                          kNothing,
                          {std::move(gone)}});
    }
  }
}

// ------------------------------------------------------------------------------------------------------------ usage

void Audit::add_usage(const PodView& pod, std::string_view queue, Amounts& used) const {
  if (pod.asks == nullptr) return;
  const auto add = [&](const ResourceList& amounts) {
    for (const auto& [resource, amount] : amounts) {
      std::int64_t& sum = used[{std::string(queue), resource}];
      sum = saturating_add(sum, amount);
    }
    if (!amounts.has("pods")) ++used[{std::string(queue), "pods"}];
  };
  if (!quota_counts_.empty()) {
    PodTemplate counted = *pod.asks;
    quota_counts_.apply(counted);
    if (counted.counted) return add(*counted.counted);
  }
  if (const auto total = pod.asks->total()) add(*total);
}

void Audit::look_at_usage(const Amounts& used, const std::set<std::string>& unsettled, Found& found) const {
  for (const engine::QueueView& queue : engine_.queues()) {
    const std::string name(queue.name);
    if (!queue.leaf || unsettled.contains(name)) continue;
    std::map<std::string, std::int64_t> in_engine;
    for (const engine::QuotaView& quota : queue.quotas) {
      std::int64_t& sum = in_engine[std::string(quota.resource)];
      sum = saturating_add(sum, quota.usage);
    }
    for (const auto& [resource, amount] : in_engine) {
      const auto it = used.find({name, resource});
      const std::int64_t of_pods = it == used.end() ? 0 : it->second;
      if (of_pods == amount) continue;
      found.emplace(fmt::format("usage/{}/{}", name, resource),
                    AuditDifference{AuditKind::kUsage,
                                    fmt::format("queue {} counts {} {} in use, but its pods ask for {}", name,
                                                format_amount(resource, amount), resource,
                                                format_amount(resource, of_pods)),
                                    intake_.queues().has_cluster_queue(name)
                                        ? kube::ObjectRef{fmt::format("{}/v1beta1", dialect::kKueueGroup),
                                                          "ClusterQueue", "", name, ""}
                                        : kNothing,
                                    {},
                                    at_rest_in(name)});
    }
  }
}

std::vector<std::string> Audit::at_rest_in(std::string_view queue) const {
  std::vector<std::string> out;
  for (const engine::WorkloadView& workload : engine_.workloads()) {
    if (workload.queue != queue || workload.slots_held > 0) continue;
    std::string uid(workload.uid);
    const auto pods = intake_.pods_of(uid);
    const bool binds = std::any_of(pods.begin(), pods.end(), [&](const PodView& pod) {
      const auto slot = engine_.slot(uid, pod.pod_set, pod.index);
      return slot && slot->state == SlotState::kBinding;
    });
    if (!binds) out.push_back(std::move(uid));
  }
  return out;
}

// -------------------------------------------------------------------------------------------------------- Workloads

void Audit::look_at_workloads(Found& found, TimeMs now) const {
  if (version_.empty()) return;
  for (const auto& [key, object] : ownerless_) {
    if (now - object.since < options_.stale_after) continue;
    // Work that names it is its owner from now on (kKueuePrebuilt).
    if (const auto owner = intake_.prebuilt_owner(object.ns, object.name);
        !owner.empty() && owner != object.uid)
      continue;
    const bool is_group = object.workload == fmt::format("Gang/kueue/{}/{}", object.ns, object.name);
    if (is_group && intake_.workload(object.workload)) continue;  // its pods are written on it again
    found.emplace(
        "workload/" + object.uid,
        AuditDifference{AuditKind::kWorkloads,
                        fmt::format("Workload {}: Berth made it and its owner is gone; it is deleted", key),
                        {fmt::format("{}/{}", dialect::kKueueGroup, version_), "Workload", object.ns,
                         object.name, object.uid},
                        {}});
  }
}

}  // namespace berth::scheduler

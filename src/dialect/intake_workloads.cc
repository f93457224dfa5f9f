// Kueue's Workload objects as work of their own (IntakeConfig::quota_only).
#include <fmt/format.h>

#include <algorithm>

#include "dialect/intake_state.h"
#include "dialect/kueue_workload.h"
#include "dialect/names.h"

namespace berth::dialect {

void Intake::Impl::upsert_workload(KueueWorkload&& object) {
  if (!config.quota_only) return upsert_prebuilt(std::move(object));
  if (object.finished) return remove_workload(object.meta.ns, object.meta.name);
  const std::string uid = object.meta.uid;
  std::uint32_t ix = find_load(uid);
  if (ix == kNoIx) {
    remove_workload(object.meta.ns,
                    object.meta.name);  // another one of the same name: the former one is gone
    PodRecord none;
    none.membership = {GangKind::kKueueWorkload, uid, object.meta.name, std::nullopt, {}};
    none.pod.meta.ns = object.meta.ns;
    ix = load_for(none);
    workload_by_name.insert_or_assign(key_of(object.meta.ns, object.meta.name), uid);
  }
  Load& load = loads[ix];
  if (object.meta.created == 0) object.meta.created = ++arrivals;
  load.first_created = object.meta.created;
  load.refused.clear();
  load.written = std::make_shared<const KueueWorkload>(std::move(object));
  take(load);
  // Its counts, requests and quota may all be others: it is told whole.
  load.emitted = false;
  refresh(ix);
  emit_admission(loads[ix]);
}

void Intake::Impl::remove_workload(std::string_view ns, std::string_view name) {
  if (!config.quota_only) return remove_prebuilt(key_of(ns, name));
  const auto it = workload_by_name.find(key_of(ns, name));
  if (it == workload_by_name.end()) return;
  const std::uint32_t ix = find_load(it->second);
  workload_by_name.erase(it);
  free_load(ix);
}

Settings Intake::Impl::settings_of_object(const Load& load, std::vector<std::string>& depends) const {
  const KueueWorkload& object = *load.object;
  Settings out;
  out.created = object.requeued_from != 0 ? object.requeued_from : object.meta.created;
  out.kind = WorkloadKind::kBatch;
  out.priority = priority_of_object(object, out, depends);
  if (config.quota_only) {  // else it is part of its standing
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
      resolve_queue(load, object.queue, out, depends);
    }
  }
  // What it holds it holds in the queue that granted it, whatever its LocalQueue says by now.
  if (!object.admitted_to.empty()) {
    out.queue = object.admitted_to;
    if (!object.queue.empty()) out.lane = key_of(load.ns, object.queue);
  }
  if (const auto gates = object.meta.annotation(kKueueGatedBy);
      !gates.empty() && object.admitted_to.empty() && !out.blocked) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInactive;
    out.blocked->detail = fmt::format("Admission is gated by: {}", gates);
    out.gates = gates;
  }
  if (!load.inadmissible.empty() && !out.blocked && object.admitted_to.empty()) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInvalid;
    out.blocked->detail = load.inadmissible;
  }
  if (!object.active && !out.blocked) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInactive;
  }
  if (!config.quota_only) {
    await_nodes(load, out);
    apply_standing(load, out);
  }
  if (!load.refused.empty()) {
    out.blocked = Reason{};
    out.blocked->code = ReasonCode::kInvalid;
    out.blocked->detail = load.refused;
    out.invalid = true;
  }
  std::sort(depends.begin(), depends.end());
  return out;
}

void Intake::Impl::emit_admission(const Load& load) {
  const KueueWorkload& object = *load.object;
  if (object.admitted_to.empty() || load.given.invalid) return;
  for (std::size_t set = 0; set < object.pod_sets.size(); ++set) {
    const auto* assignment = assignment_of(object, set);
    if (assignment == nullptr) continue;
    for (std::int64_t i = 0; i < slots_of(object, set); ++i) {
      SlotUpdate update{load.uid, static_cast<std::int64_t>(set), i, SlotState::kRunning, ""};
      update.flavors = assignment->flavors;
      update.since = object.reserved_at;
      work.push_back(update);
      if (!object.evicted) continue;
      update.state = SlotState::kReleasing;
      work.push_back(std::move(update));
    }
  }
}

}  // namespace berth::dialect

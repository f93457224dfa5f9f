#include "observe/work_book.h"

#include <algorithm>
#include <utility>

namespace berth::observe {
namespace {

bool has_place(SlotState state) {
  return state == SlotState::kBinding || state == SlotState::kRunning || state == SlotState::kReleasing;
}

bool is_preemption(ReasonCode code) {
  return code == ReasonCode::kPreempted || is_reclaim(code);
}

}  // namespace

bool KnownWork::has_devices() const {
  return std::any_of(sets.begin(), sets.end(), [](const Set& set) { return !set.devices.empty(); });
}

void WorkBook::clear() {
  work_.clear();
  nodes_.clear();
  anew_.clear();
}

const KnownWork* WorkBook::work(std::string_view uid) const {
  const auto it = work_.find(uid);
  return it == work_.end() ? nullptr : &it->second;
}

const KnownNode* WorkBook::node(std::string_view name) const {
  const auto it = nodes_.find(name);
  return it == nodes_.end() ? nullptr : &it->second;
}

std::string WorkBook::pool_of(const Node& node) const {
  for (const std::string& label : pool_labels_) {
    const auto it = node.labels.find(label);
    if (it != node.labels.end() && !it->second.empty()) return it->second;
  }
  return "none";
}

void WorkBook::took(const Event& event) {
  if (const auto* upsert_of = std::get_if<WorkloadUpsert>(&event)) {
    upsert(upsert_of->workload);
  } else if (const auto* gone = std::get_if<WorkloadRemove>(&event)) {
    work_.erase(gone->uid);
  } else if (const auto* slot = std::get_if<SlotUpdate>(&event)) {
    mark(slot->workload, slot->pod_set, slot->index, has_place(slot->state));
  } else if (const auto* node = std::get_if<NodeUpsert>(&event)) {
    nodes_.insert_or_assign(node->node.name, KnownNode{pool_of(node->node), node->node.unschedulable});
  } else if (const auto* lost = std::get_if<NodeRemove>(&event)) {
    nodes_.erase(lost->name);
  }
}

void WorkBook::waits_anew(const std::string& uid, KnownWork& work) {
  work.since = 0;
  anew_.push_back(uid);
}

void WorkBook::upsert(const Workload& workload) {
  const auto [it, is_new] = work_.try_emplace(workload.uid);
  KnownWork& work = it->second;
  const bool was_active = work.active;
  const TimeMs was_created = work.created;
  work.queue = workload.queue;
  work.priority = workload.priority;
  work.active = workload.active;
  work.created = workload.created;
  const auto sets = pod_sets_of(workload.root);
  work.sets.resize(sets.size());
  work.pods = 0;
  work.live = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    KnownWork::Set& set = work.sets[i];
    set.devices = sets[i]->pod.claim.requests;
    set.count = sets[i]->count;
    work.pods += set.count;
    work.live += std::count(set.live.begin(), set.live.end(), true);
  }
  if (work.live > 0) return;
  // Its owner held it back, or it is not known when it came: it waits since it may run.
  if (work.active && (!was_active || work.created <= 0)) {
    waits_anew(workload.uid, work);
  } else if (is_new || was_created != work.created) {
    work.since = work.created;
  }
}

void WorkBook::mark(const std::string& uid, std::int64_t set, std::int64_t index, bool live) {
  const auto it = work_.find(uid);
  if (it == work_.end() || set < 0 || index < 0) return;
  KnownWork& work = it->second;
  if (static_cast<std::size_t>(set) >= work.sets.size()) return;
  auto& slots = work.sets[static_cast<std::size_t>(set)].live;
  const auto at = static_cast<std::size_t>(index);
  if (at >= slots.size()) {
    if (!live) return;
    slots.resize(at + 1);
  }
  if (slots[at] == live) return;
  slots[at] = live;
  work.live += live ? 1 : -1;
  if (live) {
    work.started = true;
  } else if (work.live == 0) {
    waits_anew(uid, work);
  }
}

std::vector<FreshStart> WorkBook::decided(TimeMs now, const std::vector<Decision>& decisions) {
  for (const std::string& uid : std::exchange(anew_, {})) {
    const auto it = work_.find(uid);
    if (it != work_.end() && it->second.since == 0) it->second.since = now;
  }
  std::vector<FreshStart> out;
  std::unordered_map<const KnownWork*, std::size_t> at;  // of this call's starts
  for (const Decision& decision : decisions) {
    if (decision.kind != DecisionKind::kStart) continue;
    const auto it = work_.find(decision.workload);
    if (it == work_.end()) continue;
    const KnownWork& work = it->second;
    if (work.live == 0 && at.emplace(&work, out.size()).second)
      out.push_back({&work, std::max<DurationMs>(0, now - work.since), 0, !work.started});
    if (const auto start = at.find(&work); start != at.end())
      out[start->second].pods += static_cast<std::int64_t>(decision.slots.size());
    for (const auto& slot : decision.slots) mark(decision.workload, slot.pod_set, slot.index, true);
  }
  return out;
}

bool WorkBook::first_preemption(const Decision& decision) {
  const auto it = work_.find(decision.workload);
  if (it == work_.end() || !is_preemption(decision.reason.code)) return false;
  return !std::exchange(it->second.preempted, true);
}

}  // namespace berth::observe

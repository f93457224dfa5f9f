#include "engine/explain/explain.h"

#include <algorithm>
#include <map>
#include <utility>

namespace berth::engine {
namespace {

// Counts the nodes by the first thing that each lacks for a slot of the shape. Most frequent first, ties by code and name.
std::vector<Reason> count_nodes(const State& state, const Shape& shape) {
  std::map<std::pair<ReasonCode, std::string>, std::int64_t> counts;
  for (std::size_t i = 0; i < state.nodes.size(); ++i) {
    const NodeId id(i);
    const auto& record = state.nodes.record(id);
    if (!record.alive || state.nodes.is_opaque(id)) continue;
    const StaticMismatch mismatch = static_mismatch(shape, record.spec);
    if (mismatch.code != ReasonCode::kNone) {
      ++counts[{mismatch.code, mismatch.subject}];
      continue;
    }
    // A node with room for some pods, but not for enough of them, counts by what ends first there.
    const auto shortage = state.nodes.shortage(id, shape, Mode::kStart);
    if (!shortage) {
      const auto [resource, device] = state.nodes.tightest(id, shape);
      if (!resource.valid()) continue;  // asks for nothing
      ++counts[{device ? ReasonCode::kNodeDevice : ReasonCode::kNodeResource,
                std::string(state.nodes.resource_name(resource))}];
      continue;
    }
    // Room that is physically there but promised: held.
    bool there = true;
    for (const auto& a : shape.amounts) {
      const auto& account = state.nodes.account(id, a.resource);
      there = there && account.capacity - account.used[kNow] >= a.amount;
    }
    for (const auto& d : shape.devices) {
      std::int64_t pieces = 0;
      for (const auto& device : record.devices) {
        if (device.resource == d.resource && device.account.capacity - device.account.used[kNow] >= d.milli)
          ++pieces;
      }
      there = there && pieces >= d.count;
    }
    if (there) {
      ++counts[{ReasonCode::kNodeHeld, ""}];
    } else {
      ++counts[{shortage->device ? ReasonCode::kNodeDevice : ReasonCode::kNodeResource,
                std::string(state.nodes.resource_name(shortage->resource))}];
    }
  }
  std::vector<Reason> out;
  for (const auto& [key, count] : counts) out.push_back({key.first, key.second, "", 0, 0, count, {}});
  std::stable_sort(out.begin(), out.end(),
                   [](const Reason& a, const Reason& b) { return a.nodes > b.nodes; });
  return out;
}

void add_nodes(const State& state, const WorkloadState& w, Reason& reason) {
  if (reason.code == ReasonCode::kNodes && reason.children.empty()) {
    for (const auto& set : w.sets) {
      if (set.waiting == 0) continue;
      for (const ChargeId choice : state.specs[set.spec].choices) {
        if (state.charges[choice].awaited) continue;  // there it lacks no nodes
        for (Reason& r : count_nodes(state, state.shape_of(choice))) {
          if (std::find(reason.children.begin(), reason.children.end(), r) == reason.children.end()) {
            reason.children.push_back(std::move(r));
          }
        }
      }
    }
    return;
  }
  for (Reason& child : reason.children) add_nodes(state, w, child);
}

}  // namespace

Verdict verdict_of(const State& state, WorkloadId id) {
  const WorkloadState& w = state.workloads[id.index()];
  if (w.held() > 0) {
    std::int64_t blocked = 0;
    for (const auto& set : w.sets) {
      for (const auto& slot : set.slots) {
        if (slot.state == SlotState::kHeld) ++blocked;
      }
    }
    return {VerdictKind::kHeld, {ReasonCode::kWaitingForRoom, "", "", blocked, 0, 0, {}}};
  }
  if (!w.active) return {VerdictKind::kBlocked, {ReasonCode::kInactive, "", "", 0, 0, 0, {}}};
  if (w.pending.valid()) {
    const Pending::Class& c = state.pending.at(w.pending);
    if (c.parked) return {c.why.verdict, c.why.reason};
    if (const WorkloadId head = state.pending.blocked_by(w.pending); head.valid()) {
      return {VerdictKind::kBlocked,
              {ReasonCode::kBehindHead, state.workloads[head.index()].name, "", 0, 0, 0, {}}};
    }
    return {VerdictKind::kBlocked, {}};  // not tried yet
  }
  if (w.running() > 0) {
    const bool known = std::none_of(w.sets.begin(), w.sets.end(), [&](const PodSetState& set) {
      return std::any_of(set.slots.begin(), set.slots.end(), [&](const Slot& slot) {
        return slot.node.valid() && state.nodes.is_opaque(slot.node);
      });
    });
    const auto lacking = state.no_places.find(id.value);
    if (!known && lacking != state.no_places.end()) return {VerdictKind::kQuotaOnly, lacking->second};
    return {known ? VerdictKind::kPlaced : VerdictKind::kQuotaOnly, {ReasonCode::kFits, "", "", 0, 0, 0, {}}};
  }
  std::int64_t least = 0;
  for (const auto& set : w.sets) least += set.least;
  return {VerdictKind::kBlocked, {ReasonCode::kIncompleteGang, "", "", least, w.waiting(), 0, {}}};
}

Verdict explain(const State& state, WorkloadId id) {
  Verdict verdict = verdict_of(state, id);
  add_nodes(state, state.workloads[id.index()], verdict.reason);
  return verdict;
}

}  // namespace berth::engine

// Groups of parked classes, and the classes that a gain wakes (order/sleepers.h).
#include <algorithm>
#include <utility>

#include "engine/decide/decide.h"
#include "engine/place/empty_cluster.h"
#include "engine/preempt/quota_only/quota_victims.h"
#include "engine/preempt/rights/force.h"
#include "engine/state/bands.h"

namespace berth::engine {

void Decider::wake() {
  auto nodes = std::exchange(state_.gained_nodes, {});
  const auto roots = std::exchange(state_.gained_roots, {});
  const auto sides = std::exchange(state_.gained_sides, {});
  for (const NodeId node : nodes) state_.is_gained[node.index()] = 0;
  if (nodes.empty() && roots.empty()) return;
  Pending& pending = state_.pending;
  std::vector<ClassId> called;
  const auto call = [&](const Sleepers::Classes& classes) {
    for (const ClassId id : classes) {
      if (!lacks_room(id)) called.push_back(id);
    }
  };
  for (const auto& [queue, classes] : pending.sleepers().by_quota()) {
    if (roots.count(state_.quota.root(queue)) > 0) call(classes);
  }
  // With less in use on its side a queue may take back what others have borrowed.
  for (const auto& [queue, classes] : pending.sleepers().by_side()) {
    bool hit = false;
    for (QueueId at = queue; !hit && at.valid(); at = state_.quota.parent(at)) hit = sides.count(at) > 0;
    if (hit) call(classes);
  }
  for (const auto& [id, classes] : pending.sleepers().by_shape()) {
    const Shape& shape = state_.shapes[id].shape;
    const bool fits = std::any_of(nodes.begin(), nodes.end(), [&](const NodeId node) {
      return state_.nodes.fits(node, shape, Mode::kPlan) && state_.index(id, Mode::kPlan).fit(node) > 0;
    });
    if (fits) call(classes);
  }
  pending.call(called);
}

bool Decider::let_pass() {
  bool any = false;
  for (const QueueId queue : std::exchange(state_.filled_lanes, {})) {
    for (const ClassId id : state_.pending.in_line(queue)) {
      const WorkloadState& w = state_.workloads[state_.pending.at(id).members.begin()->workload.index()];
      const bool is_known = w.needs_all && !grows(w);
      if (is_known && beyond_lane(w, {}).reasons.empty()) continue;
      state_.pending.wake(id);
      any = true;
    }
  }
  return any;
}

// Checks which old blocked classes could still start: the answer changes with nodes and quota.
void Decider::review_old() {
  std::vector<ClassId> ask;
  for (const ClassId id : state_.pending.old()) {
    if (state_.pending.at(id).could_start_version != state_.place_version) ask.push_back(id);
  }
  for (const ClassId id : ask) ask_empty(id);
}

void Decider::ask_empty(ClassId id) {
  if (!plans_.empty) plans_.empty = std::make_unique<EmptyCluster>(state_);
  const WorkloadId first = state_.pending.at(id).members.begin()->workload;
  ++state_.stats.empty_searches;
  state_.pending.set_could_start(id, plans_.empty->could_start(state_, first), state_.place_version);
}

// Of which other blocked classes is it so that they cannot start where this one, in front of them, could not?
void Decider::choose_group(ClassId class_id, Parked& why) const {
  const Pending::Class& c = state_.pending.at(class_id);
  const QueueState& q = state_.queues[c.queue.index()];
  const WorkloadState& w = state_.workloads[c.members.begin()->workload.index()];
  if (!why.by_quota && !why.by_nodes) return;
  if (w.running() > 0 || w.releasing() > 0) return;
  const PreemptionPolicy& policy = q.spec.preemption;
  const bool reclaims =
      policy.reclaim != Reclaim::kNever && !q.spec.unlimited && state_.quota.parent(c.queue).valid();
  const bool never_preempts = !w.may_preempt || (policy.within == WithinQueue::kNever && !reclaims);
  // Only room is short, and there can be no victims: work with the same request in other queues waits as well. Starts must not
  // change the order among these queues, or the first of them would not stay the first. Starts on borrowed quota in this decide() may
  // give way to work of one of these queues, and not to that of another (decide_net.cc).
  if (borrowers_.empty() && why.room_only != 0 && never_preempts && c.members.begin()->young &&
      q.spec.order == QueueOrder::kBestEffort && state_.one_line(c.queue)) {
    why.group = fmt::format("{}", std::max<std::int64_t>(1, w.sets.front().least));
    for (const ShapeId shape : why.shapes) fmt::format_to(std::back_inserter(why.group), ",{}", shape.value);
    why.across_queues = true;
    return;
  }
  // The same work of the same queue at a lower priority has no victims that this one has not. By its place in line it might.
  if (!q.spec.ordering.priority_first || policy.within == WithinQueue::kLaterInOrder || places_are_unknown(w))
    return;
  // Work that has had its fair turn may not evict by shares until something changes; work behind it may.
  if (shares_dominantly(state_, c.queue) && w.took_fairly_at == state_.outside_version) return;
  if (w.lost_force_at == state_.outside_version) return;  // the same of room that it took by force
  if (is_patient(state_, w) || state_.is_done(c.members.begin()->workload, State::kYielded)) return;
  why.group = State::kin_of(c);
}

}  // namespace berth::engine

#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "engine/decide/decide.h"
#include "engine/decide/decisions.h"
#include "engine/explain/audit.h"
#include "engine/explain/explain.h"
#include "engine/plan/plans.h"
#include "engine/preempt/rights/cost.h"
#include "engine/state/queue_lanes.h"
#include "engine/state/state.h"
#include "model/bounds.h"

namespace berth::engine {

struct Engine::Impl {
  explicit Impl(EngineConfig config) : state(config) {}

  Result<WorkloadId> find(std::string_view uid) const {
    const auto id = state.find_workload(uid);
    if (!id) return fail(ErrorCode::kNotFound, "workload {} is not known", uid);
    return *id;
  }

  // With all queues and flavors taken over.
  State& settled() {
    state.settle_configuration();
    return state;
  }

  State state;
  Plans plans;
};

Engine::Engine(EngineConfig config) : impl_(std::make_unique<Impl>(config)) {}
Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

Status Engine::apply(const Event& event) {
  State& s = impl_->state;
  ++s.stats.events;
  struct Visitor {
    State& s;
    Status operator()(const NodeUpsert& e) const { return s.node_upsert(e.node); }
    Status operator()(const NodeRemove& e) const { return s.node_remove(e.name); }
    Status operator()(const TopologyUpsert& e) const { return s.topology_upsert(e.topology); }
    Status operator()(const TopologyRemove& e) const { return s.topology_remove(e.name); }
    Status operator()(const FlavorUpsert& e) const { return s.flavor_upsert(e.flavor); }
    Status operator()(const FlavorRemove& e) const { return s.flavor_remove(e.name); }
    Status operator()(const QueueUpsert& e) const { return s.queue_upsert(e.queue); }
    Status operator()(const QueueRemove& e) const { return s.queue_remove(e.name); }
    Status operator()(const ForeignPodUpsert& e) const { return s.foreign_upsert(e.pod); }
    Status operator()(const ForeignPodRemove& e) const { return s.foreign_remove(e.uid); }
    Status operator()(const WorkloadUpsert& e) const { return s.workload_upsert(e.workload); }
    Status operator()(const WorkloadRemove& e) const { return s.workload_remove(e.uid); }
    Status operator()(const SlotUpdate& e) const { return s.slot_update(e); }
    Status operator()(const Withdraw& e) const { return s.withdraw(e); }
    Status operator()(const DemandMixUpdate& e) const { return s.demand_mix(e.mix); }
    Status operator()(const DisruptionBudgetUpdate& e) const { return s.disruptions.set(e.name, e.allowed); }
    Status operator()(const DisruptionBudgetRemove& e) const {
      s.disruptions.remove(e.name);
      return {};
    }
  };
  BERTH_TRY(check_bounds(event));
  const bool of_configuration =
      std::holds_alternative<QueueUpsert>(event) || std::holds_alternative<QueueRemove>(event) ||
      std::holds_alternative<FlavorUpsert>(event) || std::holds_alternative<FlavorRemove>(event);
  if (!of_configuration) s.settle_configuration();
  Status taken = std::visit(Visitor{s}, event);
  if (taken && impl_->plans.empty) impl_->plans.empty->tell(s, event);
  return taken;
}

std::vector<Decision> Engine::decide(TimeMs now) {
  State& s = impl_->settled();
  s.now = std::max(s.now, std::min(now, kLastTime));
  return Decider(s, impl_->plans).run();
}

TimeMs Engine::next_time() const {
  const State& state = impl_->settled();
  const TimeMs broken = state.endings.broken.empty() ? kEndOfTime : state.endings.broken.begin()->first;
  const TimeMs next =
      std::min({state.pending.next_time(), state.next_old(), state.news.look_at_holds, broken});
  return next > kLastTime ? kEndOfTime : next;  // decide() gets no later time
}

Result<Verdict> Engine::explain(std::string_view uid) const {
  BERTH_ASSIGN(const WorkloadId id, impl_->find(uid));
  return engine::explain(impl_->settled(), impl_->plans.reservations, id);
}

Result<Verdict> Engine::verdict(std::string_view uid) const {
  BERTH_ASSIGN(const WorkloadId id, impl_->find(uid));
  return verdict_of(impl_->settled(), id);
}

std::optional<std::uint64_t> Engine::alike(std::string_view uid) const {
  const State& s = impl_->settled();
  const auto id = s.find_workload(uid);
  if (!id) return std::nullopt;
  const ClassId pending = s.workloads[id->index()].pending;
  if (!pending.valid()) return std::nullopt;
  return s.pending.at(pending).members.begin()->arrival;
}

std::uint64_t Engine::changes() const {
  const EngineStats& s = impl_->state.stats;
  return static_cast<std::uint64_t>(s.events + s.slots_started + s.evictions + s.holds + s.holds_released);
}

std::vector<std::string> Engine::take_changed() {
  State& s = impl_->settled();
  std::vector<std::string> out;
  for (const WorkloadId id : s.changed_work.take()) {
    if (s.workloads[id.index()].used) out.push_back(s.workloads[id.index()].uid);
  }
  return out;
}

Result<std::int64_t> Engine::victim_cost(std::string_view uid, TimeMs now) const {
  BERTH_ASSIGN(const WorkloadId id, impl_->find(uid));
  const State& s = impl_->settled();
  return engine::victim_cost(s, s.workloads[id.index()], now);
}

const EngineConfig& Engine::config() const {
  return impl_->state.config;
}
const EngineStats& Engine::stats() const {
  return impl_->state.stats;
}
std::size_t Engine::node_count() const {
  return impl_->state.nodes.alive();
}
std::size_t Engine::pending_count() const {
  return impl_->settled().pending.size();
}

std::size_t Engine::workload_count() const {
  const auto& all = impl_->state.workloads;
  return static_cast<std::size_t>(
      std::count_if(all.begin(), all.end(), [](const auto& w) { return w.used; }));
}

std::vector<Hold> Engine::holds() const {
  const State& s = impl_->settled();
  std::vector<Hold> out;
  for (const auto& [order, id] : s.holders) {
    const WorkloadState& w = s.workloads[id.index()];
    Hold hold;
    hold.holder = w.uid;
    hold.from = s.now;
    hold.cause.code = w.hold_cause;
    for (std::size_t set = 0; set < w.sets.size(); ++set) {
      for (std::size_t i = 0; i < w.sets[set].slots.size(); ++i) {
        const Slot& slot = w.sets[set].slots[i];
        if (slot.state != SlotState::kHeld) continue;
        hold.slots.push_back({static_cast<std::int64_t>(set), static_cast<std::int64_t>(i),
                              s.nodes.record(slot.node).spec.name,
                              s.accounts.grants().device_list(slot.grant)});
      }
    }
    out.push_back(std::move(hold));
  }
  return out;
}

std::vector<NodeView> Engine::nodes() const {
  const State& s = impl_->settled();
  std::vector<NodeView> out;
  for (std::size_t n = 0; n < s.nodes.size(); ++n) {
    const auto& record = s.nodes.record(NodeId(n));
    if (!record.alive || s.nodes.is_opaque(NodeId(n))) continue;
    NodeView view;
    view.name = record.spec.name;
    for (std::size_t r = 0; r < s.nodes.resources(); ++r) {
      const auto& account = s.nodes.account(NodeId(n), ResourceId(r));
      if (account.capacity == 0 && account.used[kNow] == 0 && account.used[kAfter] == 0) continue;
      if (account.capacity == kMostAmount && s.nodes.is_of_volumes(ResourceId(r))) continue;  // no limit
      view.amounts.push_back(
          {s.nodes.resource_name(ResourceId(r)), account.capacity, account.used[kNow], account.used[kAfter]});
    }
    for (const auto& device : record.devices) {
      view.devices.push_back({s.nodes.resource_name(device.resource), device.account.used[kNow],
                              device.account.used[kAfter], device.healthy});
    }
    for (const ResourceId r : record.counted) view.counted.push_back(s.nodes.resource_name(r));
    out.push_back(std::move(view));
  }
  return out;
}

std::vector<QueueView> Engine::queues() const {
  const State& s = impl_->settled();
  std::vector<QueueView> out;
  for (std::size_t q = 0; q < s.queues.size(); ++q) {
    const QueueState& queue = s.queues[q];
    if (!queue.exists) continue;
    QueueView view;
    view.name = s.queue_names.name(static_cast<std::uint32_t>(q));
    if (s.fairness.counts(QueueId(q))) {
      const Share share = s.fairness.share(QueueId(q), QueueId(q), {});
      view.share_milli =
          share.weightless ? kInt64Max : clamp_to_int64((share.num * 1000 + share.den - 1) / share.den);
    }
    view.leaf = queue.spec.leaf;
    view.pending = static_cast<std::int64_t>(s.pending.size_of(QueueId(q)));
    view.started = static_cast<std::int64_t>(queue.started.size());
    for (std::size_t p = 0; p < s.quota.pairs(); ++p) {
      const FlavorResource pair(p);
      if (!s.quota.declares(QueueId(q), pair) && s.quota.usage(QueueId(q), pair, kNow) == 0) continue;
      view.quotas.push_back({s.pairs.flavor(pair), s.resource_name(pair), s.quota.nominal(QueueId(q), pair),
                             s.quota.usage(QueueId(q), pair, kNow),
                             s.quota.available(QueueId(q), pair, kNow)});
    }
    out.push_back(std::move(view));
  }
  return out;
}

std::vector<WorkloadView> Engine::workloads() const {
  const State& s = impl_->settled();
  std::vector<WorkloadView> out;
  for (const WorkloadState& w : s.workloads) {
    if (!w.used) continue;
    out.push_back({w.uid, s.queue_names.name(w.queue.value), w.own_priority, w.started, w.running(), w.held(),
                   w.releasing(), w.waiting(), w.created});
  }
  return out;
}

Status Engine::each_in_line(std::string_view queue, const std::function<bool(const LineView&)>& f) const {
  const State& s = impl_->settled();
  const auto id = s.queue_names.find(queue);
  if (!id || !s.queues[*id].exists) return fail(ErrorCode::kNotFound, "queue {} is not known", queue);
  const auto tell = [&](WorkloadId of, bool holds) {
    const WorkloadState& w = s.workloads[of.index()];
    const std::string& lane = s.queues[w.queue.index()].lanes.name(w.lane);
    return f({w.uid, lane, w.own_priority, holds, w.running() > 0});
  };
  for (const auto& [order, holder] : s.queues[*id].holders) {
    if (!tell(holder, true)) return {};
  }
  s.pending.each_in(QueueId(*id), [&](const Pending::Class&, const Pending::Member& member) {
    return tell(member.workload, false);
  });
  return {};
}

Status Engine::each_lane_use(std::string_view queue, TimeMs at, const LaneUse& f) const {
  const State& s = impl_->settled();
  const auto id = s.queue_names.find(queue);
  if (!id || !s.queues[*id].exists) return fail(ErrorCode::kNotFound, "queue {} is not known", queue);
  engine::each_lane_use(s, QueueId(*id), at, f);
  return {};
}

Result<SlotView> Engine::slot(std::string_view uid, std::int64_t pod_set, std::int64_t index) const {
  BERTH_ASSIGN(const WorkloadId id, impl_->find(uid));
  const WorkloadState& w = impl_->settled().workloads[id.index()];
  if (pod_set < 0 || pod_set >= static_cast<std::int64_t>(w.sets.size()) || index < 0 ||
      index >= static_cast<std::int64_t>(w.sets[static_cast<std::size_t>(pod_set)].slots.size())) {
    return fail(ErrorCode::kNotFound, "workload {} has no slot {}/{}", w.name, pod_set, index);
  }
  const Slot& slot = w.sets[static_cast<std::size_t>(pod_set)].slots[static_cast<std::size_t>(index)];
  return SlotView{slot.state, slot.node.valid()
                                  ? std::string_view(impl_->settled().nodes.record(slot.node).spec.name)
                                  : ""};
}

FragmentationView Engine::fragmentation() const {
  State& s = impl_->settled();
  const FragmentMeter::Sums& sums = s.meter.read(s.nodes, s.fragments);
  FragmentationView view;
  view.capacity = s.nodes.device_capacity();
  view.idle = sums.idle;
  view.fragments = clamp_to_int64((sums.fragments + Mix::kTotal / 2) / Mix::kTotal);
  view.mix_epoch = static_cast<std::int64_t>(s.fragments.mix_epoch());
  view.mix_given = s.fragments.given();
  return view;
}

Status Engine::audit() const {
  return engine::audit(impl_->settled());
}

}  // namespace berth::engine

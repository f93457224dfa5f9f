#include "scheduler/board/chronicle.h"

#include <algorithm>
#include <set>
#include <utility>

namespace berth::scheduler {
namespace {

std::int64_t devices_of(const PodTemplate& pod) {
  std::int64_t out = 0;
  for (const DeviceRequest& request : pod.claim.requests) out += request.total();
  return out;
}

StoryStep::Kind step_of(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::kStart:
      return StoryStep::Kind::kStart;
    case DecisionKind::kEvict:
      return StoryStep::Kind::kEvict;
    case DecisionKind::kHold:
      return StoryStep::Kind::kHold;
    case DecisionKind::kReleaseHold:
      return StoryStep::Kind::kReleaseHold;
  }
  return StoryStep::Kind::kChanged;
}

template <class Map>
auto value_or_default(const Map& map, std::string_view name) {
  const auto it = map.find(name);
  return it == map.end() ? typename Map::mapped_type() : it->second;
}

}  // namespace

std::string_view namespace_of(std::string_view name) {
  const auto slash = name.find('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

void Chronicle::began() {
  const std::lock_guard lock(mutex_);
  workloads_.clear();
  ended_.clear();
  ended_order_.clear();
  nodes_.clear();
  queues_.clear();
  topologies_.clear();
}

void Chronicle::took(const Event& event) {
  const std::lock_guard lock(mutex_);
  if (const auto* workload = std::get_if<WorkloadUpsert>(&event)) {
    upsert(workload->workload);
  } else if (const auto* gone = std::get_if<WorkloadRemove>(&event)) {
    remove(gone->uid);
  } else if (const auto* node = std::get_if<NodeUpsert>(&event)) {
    nodes_.insert_or_assign(node->node.name, NodeFacts{node->node.labels, node->node.unschedulable});
  } else if (const auto* lost = std::get_if<NodeRemove>(&event)) {
    nodes_.erase(lost->name);
  } else if (const auto* queue = std::get_if<QueueUpsert>(&event)) {
    const Queue& q = queue->queue;
    queues_.insert_or_assign(q.name, QueueFacts{q.parent, q.stop, q.disabled});
  } else if (const auto* closed = std::get_if<QueueRemove>(&event)) {
    queues_.erase(closed->name);
  } else if (const auto* topology = std::get_if<TopologyUpsert>(&event)) {
    topologies_.insert_or_assign(topology->topology.name, topology->topology.levels);
  } else if (const auto* without = std::get_if<TopologyRemove>(&event)) {
    topologies_.erase(without->name);
  }
}

void Chronicle::upsert(const Workload& workload) {
  auto facts = std::make_shared<Facts>();
  facts->uid = workload.uid;
  facts->name = workload.name;
  facts->queue = workload.queue;
  facts->kind = workload.kind;
  facts->priority = workload.priority;
  facts->created = workload.created;
  facts->active = workload.active;
  for (const PodSet* set : pod_sets_of(workload.root)) {
    facts->slots += set->count;
    facts->devices += set->count * devices_of(set->pod);
  }
  auto node = workloads_.extract(facts->uid);
  if (node.empty()) {
    Known& known = workloads_[facts->uid];
    add_step(known, {workload.created, StoryStep::Kind::kCreated, facts->slots, {}, {}});
    known.facts = std::move(facts);
    return;
  }
  Known& known = node.mapped();
  if (known.facts->slots != facts->slots || known.facts->queue != facts->queue ||
      known.facts->priority != facts->priority || known.facts->active != facts->active) {
    add_step(known, {std::max(now_, workload.created), StoryStep::Kind::kChanged, facts->slots, {}, {}});
  }
  node.key() = facts->uid;
  known.facts = std::move(facts);
  workloads_.insert(std::move(node));
}

void Chronicle::remove(const std::string& uid) {
  auto node = workloads_.extract(uid);
  if (node.empty()) return;
  add_step(node.mapped(), {now_, StoryStep::Kind::kEnded, node.mapped().facts->slots, {}, {}});
  if (ended_.erase(uid) == 0) ended_order_.push_back(uid);
  ended_.insert(std::move(node));
  while (ended_order_.size() > kMostEnded) {
    ended_.erase(ended_order_.front());
    ended_order_.pop_front();
  }
}

void Chronicle::add_step(Known& known, StoryStep step) {
  if (known.steps.size() >= kMostSteps) known.steps.erase(known.steps.begin() + 1);
  known.steps.push_back(std::move(step));
}

void Chronicle::decided(TimeMs now, const std::vector<Decision>& decisions) {
  const std::lock_guard lock(mutex_);
  now_ = std::max(now_, now);
  if (decisions.empty()) return;
  Minute& sums = minute(now);
  for (const Decision& decision : decisions) {
    sums.starts += decision.kind == DecisionKind::kStart ? 1 : 0;
    sums.evictions += decision.kind == DecisionKind::kEvict ? 1 : 0;
    sums.holds += decision.kind == DecisionKind::kHold ? 1 : 0;
    const auto known = workloads_.find(decision.workload);
    if (known == workloads_.end()) continue;
    std::set<std::string_view> nodes;
    for (const auto& slot : decision.slots) nodes.insert(slot.node);
    MadeDecision made;
    made.seq = ++seq_;
    made.at = now;
    made.kind = decision.kind;
    made.of = known->second.facts;
    if (const Known* other = find(decision.beneficiary)) made.beneficiary = other->facts;
    made.slots = static_cast<std::int64_t>(decision.slots.size());
    made.nodes = static_cast<std::int64_t>(nodes.size());
    made.reason = decision.reason;
    add_step(known->second, {now, step_of(decision.kind), made.slots, decision.beneficiary, decision.reason});
    decisions_.push_back(std::move(made));
    if (decisions_.size() > kMostDecisions) decisions_.pop_front();
  }
}

Minute& Chronicle::minute(TimeMs now) {
  const TimeMs at = now - now % kMinute;
  if (minutes_.empty() || minutes_.back().at < at) {
    Minute next = minutes_.empty() ? Minute() : minutes_.back();
    next.at = at;
    next.starts = next.evictions = next.holds = 0;
    minutes_.push_back(next);
    if (minutes_.size() > kMostMinutes) minutes_.pop_front();
  }
  return minutes_.back();
}

void Chronicle::look(TimeMs now, std::int64_t devices_used, std::int64_t devices, std::int64_t pending,
                     std::int64_t running) {
  if (now <= 0) return;  // before the first decision the engine has no time
  const std::lock_guard lock(mutex_);
  Minute& sums = minute(now);
  sums.devices_used = devices_used;
  sums.devices = devices;
  sums.pending = pending;
  sums.running = running;
}

const Chronicle::Known* Chronicle::find(std::string_view uid) const {
  if (const auto it = workloads_.find(uid); it != workloads_.end()) return &it->second;
  const auto it = ended_.find(uid);
  return it == ended_.end() ? nullptr : &it->second;
}

std::shared_ptr<const Facts> Chronicle::facts(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  const Known* known = find(uid);
  return known == nullptr ? nullptr : known->facts;
}

std::vector<StoryStep> Chronicle::steps(std::string_view uid) const {
  const std::lock_guard lock(mutex_);
  const Known* known = find(uid);
  return known == nullptr ? std::vector<StoryStep>() : known->steps;
}

std::shared_ptr<const Facts> Chronicle::named(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [uid, known] : workloads_) {
    if (known.facts->name == name) return known.facts;
  }
  return nullptr;
}

NodeFacts Chronicle::node(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return value_or_default(nodes_, name);
}

QueueFacts Chronicle::queue(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  return value_or_default(queues_, name);
}

std::vector<std::string> Chronicle::levels() const {
  const std::lock_guard lock(mutex_);
  const std::vector<std::string>* best = nullptr;
  for (const auto& [name, levels] : topologies_) {
    if (best == nullptr || levels.size() > best->size()) best = &levels;
  }
  return best != nullptr ? *best : std::vector<std::string>{"topology.kubernetes.io/zone"};
}

std::int64_t Chronicle::last_decision() const {
  const std::lock_guard lock(mutex_);
  return seq_;
}

void Chronicle::each_decision(const std::function<bool(const MadeDecision&)>& f) const {
  const std::lock_guard lock(mutex_);
  for (auto it = decisions_.rbegin(); it != decisions_.rend(); ++it) {
    if (!f(*it)) return;
  }
}

std::vector<Minute> Chronicle::minutes(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  const auto from =
      minutes_.size() > most ? minutes_.end() - static_cast<std::ptrdiff_t>(most) : minutes_.begin();
  return {from, minutes_.end()};
}

}  // namespace berth::scheduler

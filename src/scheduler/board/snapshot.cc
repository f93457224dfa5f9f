#include "scheduler/board/snapshot.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace berth::scheduler {
namespace {

char mark_of(const engine::NodeView::Device& device) {
  if (!device.healthy) return 'x';
  if (device.used >= kWholeDevice) return '9';
  if (device.used > 0) {
    const std::int64_t eighths = device.used * 9 / kWholeDevice;
    return static_cast<char>('0' + std::clamp<std::int64_t>(eighths, 1, 8));
  }
  return device.promised > 0 ? 'p' : '0';
}

BoardNode node_of(const engine::NodeView& view, const NodeFacts& facts,
                  const std::vector<std::string>& levels) {
  BoardNode out;
  out.name = view.name;
  out.cordoned = facts.cordoned;
  for (const std::string& level : levels) {
    const auto it = facts.labels.find(level);
    if (it == facts.labels.end()) break;
    out.path.push_back(it->second);
  }
  for (const auto& device : view.devices) {
    if (out.devices.empty() || out.devices.back().first != device.resource)
      out.devices.emplace_back(device.resource, "");
    out.devices.back().second += mark_of(device);
  }
  for (const auto& amount : view.amounts)
    out.amounts.push_back({std::string(amount.resource), amount.capacity, amount.used});
  return out;
}

bool alike(const BoardNode& a, const BoardNode& b) {
  return a.path == b.path && a.cordoned == b.cordoned && a.devices == b.devices && a.amounts == b.amounts;
}
bool alike(const BoardQueue& a, const BoardQueue& b) {
  return a.queue == b.queue && a.leaf == b.leaf && a.facts.parent == b.facts.parent &&
         a.facts.stop == b.facts.stop && a.facts.disabled == b.facts.disabled;
}

// Sets `changed` of each new item, and notes those that are gone.
template <class Items>
void compare(Items& now, const Items* before, std::uint64_t revision,
             std::vector<std::pair<std::uint64_t, std::string>>& gone) {
  for (auto& [name, item] : now) {
    item.changed = revision;
    if (before == nullptr) continue;
    const auto it = before->find(name);
    if (it != before->end() && alike(it->second, item)) item.changed = it->second.changed;
  }
  if (before == nullptr) return;
  for (const auto& [name, unused] : *before) {
    if (!now.contains(name)) gone.emplace_back(revision, name);
  }
}

BoardState state_of(const engine::WorkloadView& view, const Facts& facts) {
  if (view.slots_running > 0 || view.slots_releasing > 0) return BoardState::kRunning;
  if (view.slots_held > 0) return BoardState::kHeld;
  return facts.active ? BoardState::kPending : BoardState::kInactive;
}

void add_workloads(Snapshot& out, const engine::Engine& engine, const Chronicle& chronicle) {
  std::unordered_map<std::uint64_t, std::shared_ptr<const Reason>> shared;
  for (const engine::WorkloadView& view : engine.workloads()) {
    auto facts = chronicle.facts(view.uid);
    if (facts == nullptr) continue;
    BoardWorkload row;
    row.created = facts->created;
    row.state = state_of(view, *facts);
    row.started = view.started;
    row.running = view.slots_running;
    if (row.state == BoardState::kPending || row.state == BoardState::kHeld) {
      const auto number = engine.alike(view.uid);
      auto known = number ? shared[*number] : nullptr;
      if (known == nullptr) {
        if (auto verdict = engine.verdict(view.uid))
          known = std::make_shared<const Reason>(std::move(verdict->reason));
        if (number) shared[*number] = known;
      }
      row.reason = std::move(known);
    }
    row.facts = std::move(facts);
    out.workloads.push_back(std::move(row));
  }
}

void add_queues(Snapshot& out, const engine::Engine& engine, const Chronicle& chronicle) {
  std::map<std::string, bool, std::less<>> leaves;
  for (const auto& view : engine.queues()) leaves.emplace(view.name, view.leaf);
  for (auto& state : observe::queue_states(engine)) {
    BoardQueue queue;
    queue.facts = chronicle.queue(state.name);
    queue.leaf = leaves[state.name];
    const std::string name = state.name;
    queue.queue = std::move(state);
    out.queues.emplace(name, std::move(queue));
  }
  constexpr int kMostLevels = 64;
  for (auto& [name, queue] : out.queues) {
    std::string_view above = queue.facts.parent;
    for (int i = 0; i < kMostLevels && !above.empty(); ++i) {
      queue.parent_path.append(above).append("\n");
      const auto it = out.queues.find(std::string(above));
      above = it == out.queues.end() ? std::string_view() : std::string_view(it->second.facts.parent);
    }
  }
}

void forget_old(Snapshot& out, std::vector<std::pair<std::uint64_t, std::string>>& gone) {
  if (gone.size() <= Snapshot::kMostGone) return;
  const auto extra = static_cast<std::ptrdiff_t>(gone.size() - Snapshot::kMostGone);
  out.oldest_known = std::max(out.oldest_known, gone[static_cast<std::size_t>(extra) - 1].first);
  gone.erase(gone.begin(), gone.begin() + extra);
}

}  // namespace

std::shared_ptr<const Snapshot> take_snapshot(const engine::Engine& engine, const Chronicle& chronicle,
                                              TimeMs as_of, const Snapshot* last) {
  auto out = std::make_shared<Snapshot>();
  out->revision =
      last == nullptr ? std::max<std::uint64_t>(1, static_cast<std::uint64_t>(as_of)) : last->revision + 1;
  out->as_of = as_of;
  out->engine_changes = engine.changes();
  out->levels = chronicle.levels();
  if (last != nullptr) {
    out->gone_queues = last->gone_queues;
    out->gone_nodes = last->gone_nodes;
    out->oldest_known = last->levels == out->levels ? last->oldest_known : last->revision;
  }
  add_workloads(*out, engine, chronicle);
  add_queues(*out, engine, chronicle);
  for (const engine::NodeView& view : engine.nodes()) {
    for (const auto& amount : view.amounts) {
      BoardSum& sum = out->sums[std::string(amount.resource)];
      sum.capacity += amount.capacity;
      sum.used += amount.used;
      sum.promised += amount.promised;
    }
    out->nodes.emplace(view.name, node_of(view, chronicle.node(view.name), out->levels));
  }
  compare(out->queues, last == nullptr ? nullptr : &last->queues, out->revision, out->gone_queues);
  compare(out->nodes, last == nullptr ? nullptr : &last->nodes, out->revision, out->gone_nodes);
  forget_old(*out, out->gone_queues);
  forget_old(*out, out->gone_nodes);
  return out;
}

}  // namespace berth::scheduler

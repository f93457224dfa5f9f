// The parts of a plan beside its decisions: lines, totals, places in line, unknown facts.
#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "cli/plan_world.h"

namespace berth::cli {

PlanLine PlanWorld::line_of(const dialect::WorkloadInfo& info) const {
  PlanLine line;
  line.name = info.name;
  line.queue = info.queue;
  line.priority = info.priority;
  line.pods = info.pods;
  const auto pods = intake_.pods_of(info.uid);
  if (pods.size() != 1) return line;
  const auto pod = pods_.find(std::string(pods.front().uid));
  if (pod == pods_.end()) return line;
  const dialect::Owner& controller = pod->second.meta.controller;
  if (!controller.kind.empty())
    line.owner = fmt::format("{} {}/{}", controller.kind, pod->second.meta.ns, controller.name);
  return line;
}

PlanTotals PlanWorld::totals() const {
  PlanTotals out;
  std::map<std::string, PlanTotal> devices;
  for (const auto& node : engine_.nodes()) {
    ++out.nodes;
    for (const auto& device : node.devices) devices[std::string(device.resource)];
    for (const auto resource : node.counted) devices[std::string(resource)];
    for (const auto& amount : node.amounts) {
      const auto it = devices.find(std::string(amount.resource));
      if (it == devices.end()) continue;
      it->second.capacity += amount.capacity;
      it->second.used += std::max(amount.used, amount.promised);
    }
  }
  std::map<std::string, PlanTotal> quotas;
  for (const auto& queue : engine_.queues()) {
    out.queues += queue.leaf ? 1 : 0;
    for (const auto& quota : queue.quotas) {
      PlanTotal& total = quotas[std::string(quota.resource)];
      total.capacity = saturating_add(total.capacity, quota.nominal);
      if (queue.leaf) total.used = saturating_add(total.used, quota.usage);
    }
  }
  for (auto* map : {&devices, &quotas}) {
    for (auto& [resource, total] : *map) {
      total.resource = resource;
      (map == &devices ? out.devices : out.quotas).push_back(total);
    }
  }
  return out;
}

std::map<std::string, std::int64_t> PlanWorld::places() const {
  std::map<std::string, std::int64_t> out;
  for (const auto& queue : engine_.queues()) {
    std::int64_t place = 0;
    (void)engine_.each_in_line(queue.name, [&](const engine::LineView& view) {
      out.emplace(view.uid, ++place);
      return true;
    });
  }
  return out;
}

void PlanWorld::note_missing_nodes() {
  if (nodes_.empty() && !quota_only_ && noted_.insert("no nodes").second)
    notes_.emplace_back("No nodes are given: nothing can start");
  std::set<std::string_view> missing;
  std::int64_t count = 0;
  for (const auto& [uid, pod] : pods_) {
    const bool runs = pod.phase == dialect::PodPhase::kPending || pod.phase == dialect::PodPhase::kRunning;
    if (pod.spec.node_name.empty() || !runs || nodes_.contains(pod.spec.node_name)) continue;
    missing.insert(pod.spec.node_name);
    ++count;
  }
  if (count == 0 || !noted_.insert("missing nodes").second) return;
  constexpr std::size_t kMostNamed = 5;
  std::string names;
  std::size_t named = 0;
  for (const auto name : missing) {
    if (named++ < kMostNamed) names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
  }
  if (named > kMostNamed) names += fmt::format(" and {} more", named - kMostNamed);
  notes_.push_back(fmt::format(
      "{} {} bound to nodes that are not given ({}): {}", count, count == 1 ? "pod is" : "pods are", names,
      several_flavors_
          ? "the flavors of their quota are not known, and each counts in the first that its queue allows"
          : "what room these have is not known"));
}

}  // namespace berth::cli

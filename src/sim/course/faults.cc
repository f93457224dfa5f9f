#include "sim/course/faults.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/checked.h"
#include "base/samplers.h"

namespace berth::sim {
namespace {

std::int64_t devices_of(const Node& node) {
  std::int64_t sum = 0;
  for (const DevicePool& pool : node.devices) sum += pool.count;
  return sum;
}

Result<std::vector<Fault>> units_of(const FaultRule& rule, const std::vector<Node>& nodes) {
  std::vector<Fault> units;
  bool known = rule.node.empty();
  std::map<std::string, Fault> domains;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    if (!rule.node.empty() && node.name != rule.node) continue;
    known = true;
    switch (rule.unit) {
      case FaultUnit::kNode:
        units.push_back({{i}, -1, 0});
        break;
      case FaultUnit::kDevice:
        for (std::int64_t d = 0; d < devices_of(node); ++d) {
          if (rule.device < 0 || rule.device == d) units.push_back({{i}, d, 0});
        }
        break;
      case FaultUnit::kDomain: {
        const auto label = node.labels.find(rule.label);
        if (label == node.labels.end() || (!rule.value.empty() && label->second != rule.value)) break;
        domains[label->second].nodes.push_back(i);
        break;
      }
    }
  }
  if (!known) return fail_at(rule.place, "node '{}' is not in the cluster", rule.node);
  for (auto& [value, fault] : domains) units.push_back(std::move(fault));
  if (!units.empty()) return units;
  if (rule.unit == FaultUnit::kDomain) {
    return fail_at(rule.place, "no node has the label {}{}; give the nodes labels (cluster[].labels)",
                   rule.label, rule.value.empty() ? "" : "=" + rule.value);
  }
  return fail_at(rule.place, "there is no such device: the node{} fewer devices, or none",
                 rule.node.empty() ? "s have" : " has");
}

}  // namespace

Result<Faults> Faults::make(const std::vector<FaultRule>& rules, const std::vector<Node>& nodes,
                            std::uint64_t seed) {
  Faults out;
  for (const FaultRule& rule : rules) {
    BERTH_ASSIGN(std::vector<Fault> units, units_of(rule, nodes));
    out.processes_.push_back(
        {rule, std::move(units), Random(derived_seed(seed, "faults", out.processes_.size()))});
  }
  return out;
}

TimeMs Faults::first(std::size_t rule, TimeMs begin) {
  const Process& process = processes_[rule];
  if (process.rule.at) return *process.rule.at < begin ? kEndOfTime : *process.rule.at;
  return next(rule, begin);
}

// Many independent processes together are one faster process, and the unit that it hits is drawn evenly.
TimeMs Faults::next(std::size_t rule, TimeMs now) {
  Process& process = processes_[rule];
  if (process.rule.at) return kEndOfTime;
  // The mean in microseconds, so that large clusters do not round it to nothing.
  const auto units = static_cast<std::int64_t>(process.units.size());
  const std::int64_t mean_us = std::max<std::int64_t>(1, saturating_mul(process.rule.every, 1000) / units);
  const DurationMs wait = sample_exponential(process.random, mean_us) / 1000;
  return saturating_add(now, std::max<DurationMs>(1, wait));
}

Fault Faults::strike(std::size_t rule) {
  Process& process = processes_[rule];
  Fault fault = process.units[process.random.below(process.units.size())];
  const DurationMs mean = process.rule.repair;
  switch (process.rule.spread) {
    case RepairSpread::kFixed:
      fault.repair = mean;
      break;
    case RepairSpread::kExponential:
      fault.repair = sample_exponential(process.random, mean);
      break;
    case RepairSpread::kWide:
      fault.repair = sample_log_uniform(process.random, std::max<DurationMs>(1, mean / 4),
                                        std::max<DurationMs>(1, mean * 4));
      break;
  }
  fault.repair = std::max<DurationMs>(1, fault.repair);
  return fault;
}

}  // namespace berth::sim

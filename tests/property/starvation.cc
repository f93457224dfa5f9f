#include "property/starvation.h"

#include <fmt/format.h>

#include <algorithm>

#include "property/choose.h"
#include "property/reasons.h"

namespace berth::property {
namespace {

bool waits(const WorkloadRecord& w) {
  return w.spec.active && w.active() == 0 && w.count(SlotState::kWaiting) > 0;
}

void look_again(Trial& trial, Workload spec) {
  spec.active = false;
  trial.tell(WorkloadUpsert{spec});
  spec.active = true;
  trial.tell(WorkloadUpsert{spec});
}

// The engine that has seen all, with everybody else gone, made to look at it again.
bool starts_without_others(const engine::EngineConfig& config, const Tape& tape, const Checker& checker,
                           const std::string& uid) {
  Trial trial(config, tape, checker);
  for (const std::string& other : names_of(checker.ledger().workloads)) {
    if (other != uid) trial.tell(WorkloadRemove{other});
  }
  look_again(trial, checker.ledger().workloads.at(uid).spec);
  return trial.decide().empty() && trial.ledger().workloads.at(uid).active() > 0;
}

// Looked at again as things are, its search ends at its bound: with others in line it may look elsewhere first.
bool is_cut_short(const engine::EngineConfig& config, const Tape& tape, const Checker& checker,
                  const std::string& uid) {
  Trial trial(config, tape, checker);
  look_again(trial, checker.ledger().workloads.at(uid).spec);
  return trial.decide().empty() && contains(trial.engine().verdict(uid)->reason, ReasonCode::kSearchBudget);
}

// Work in the same queue that nothing may pass, and that finds no places at present; in a strict queue also work that never fits.
bool behind_hopeless(const engine::EngineConfig& config, const Tape& tape, const Checker& checker,
                     const WorkloadRecord& w) {
  const Ledger& ledger = checker.ledger();
  const auto queue = ledger.queues.find(w.spec.queue);
  if (queue == ledger.queues.end()) return false;
  return std::any_of(ledger.workloads.begin(), ledger.workloads.end(), [&](const auto& entry) {
    const WorkloadRecord& x = entry.second;
    if (x.spec.queue != w.spec.queue || x.spec.uid == w.spec.uid || !waits(x)) return false;
    if (is_cut_short(config, tape, checker, entry.first)) return true;
    if (queue->second.order != QueueOrder::kStrict) return false;
    if (!fits_alone(config, ledger, entry.first)) return true;
    return pod_sets_of(x.spec.root).size() > 1 && !starts_without_others(config, tape, checker, entry.first);
  });
}

}  // namespace

bool fits_alone(const engine::EngineConfig& config, const Ledger& ledger, const std::string& uid) {
  engine::Engine engine(config);
  const WorkloadRecord& w = ledger.workloads.at(uid);
  bool taken = true;
  const auto tell = [&](const Event& event) { taken = taken && engine.apply(event).has_value(); };
  for (const auto& [name, topology] : ledger.topologies) tell(TopologyUpsert{topology});
  for (const auto& [name, flavor] : ledger.flavors) tell(FlavorUpsert{flavor});
  for (const auto& [name, node] : ledger.nodes) tell(NodeUpsert{node});
  for (const auto& [name, queue] : ledger.queues) tell(QueueUpsert{queue});
  for (const auto& [name, pod] : ledger.foreign) tell(ForeignPodUpsert{pod});
  tell(WorkloadUpsert{w.spec});
  const auto sets = pod_sets_of(w.spec.root);
  for (std::size_t s = 0; s < w.sets.size() && s < sets.size(); ++s) {
    for (std::size_t i = 0; i < w.sets[s].size(); ++i) {
      if (static_cast<std::int64_t>(i) >= sets[s]->count) continue;
      const bool there = w.sets[s][i].state == SlotState::kWaiting;
      tell(SlotUpdate{uid, static_cast<std::int64_t>(s), static_cast<std::int64_t>(i),
                      there ? SlotState::kWaiting : SlotState::kAbsent, ""});
    }
  }
  return taken && !engine.decide(1).empty();
}

std::string next_to_end(const Ledger& ledger, std::uint64_t seed) {
  return pick(seed, workloads_where(ledger, [](const auto& w) { return w.active() > 0; })).value_or("");
}

std::string starved(const engine::EngineConfig& config, const Tape& tape, const Checker& checker,
                    Coverage& coverage) {
  const Ledger& ledger = checker.ledger();
  for (const auto& [uid, w] : ledger.workloads) {
    if (!waits(w) || !fits_alone(config, ledger, uid) || behind_hopeless(config, tape, checker, w)) continue;
    if (pod_sets_of(w.spec.root).size() > 1 && !starts_without_others(config, tape, checker, uid)) {
      ++coverage["fits alone, in another order of places"];
      continue;
    }
    if (is_cut_short(config, tape, checker, uid)) {
      ++coverage["fits alone, and its search ends at its bound"];
      continue;
    }
    return fmt::format("{} fits the empty cluster, everybody else has ended, and it still waits", uid);
  }
  return "";
}

}  // namespace berth::property

#include "scheduler/kueue/admission.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dialect/kueue/workload_object.h"

namespace berth::scheduler {

using dialect::WorkloadCondition;
using dialect::WorkloadSketch;

bool Admission::must_wait(const Decision& start, TimeMs now) {
  // Work with quota alone has no places to start in.
  const bool unplaced = std::any_of(start.slots.begin(), start.slots.end(),
                                    [](const SlotPlacement& slot) { return slot.node.empty(); });
  const auto runs = [&] {
    const auto pods = intake_.pods_of(start.workload);
    return std::any_of(pods.begin(), pods.end(),
                       [](const auto& pod) { return pod.state == SlotState::kRunning; });
  };
  const auto known = records_.find(start.workload);
  bool ended = false;
  if (known != records_.end() && known->second.evicting && known->second.told == std::optional(true) &&
      !runs()) {
    // It ended and is started again before anybody has looked: what it was admitted with is void.
    WorkloadRecord& former = known->second;
    former.evicting = false;
    former.life.ended_unseen(now);
    former.told = false;
    changes_.push_back({start.workload, false, {}});
    ended = true;
  }
  const bool block = pods_ready_ && pods_ready_->block_admission;
  const bool is_early = intake_.is_without_pods(start.workload);  // its work is still to come
  const bool is_known = known != records_.end();
  if (!is_early && !ended && !block && intake_.queues().checks(start.workload).empty()) return unplaced;
  if (!is_early && !unplaced && is_known && known->second.life.is_admitted()) return false;
  const auto sketch = intake_.sketch(start.workload);
  if (!sketch || sketch->name.empty()) return unplaced;
  WorkloadRecord& record = records_[start.workload];
  if (!start.flavors.empty()) record.flavors = start.flavors;
  // A gang that runs in part is completed.
  if (runs()) {
    record.life.runs_already();
    return unplaced;
  }
  if (block && record.turn == 0) record.turn = line_.join(start.workload);
  if (!record.told) record.told = false;  // it is held: take_admissions() must let it go
  book_.schedule(start.workload, now);
  return true;
}

void Admission::ask(const std::string& workload, const WorkloadSketch& sketch, const WorkloadRecord& record,
                    WorkloadFacts& facts, std::vector<dialect::PodSetUpdate>& updates) {
  facts.may_admit = may_go(record);
  const auto& rules = intake_.queues().checks(workload);
  if (rules.empty()) return;
  std::vector<ChosenFlavor> flavors;
  for (const auto& assignment : facts.assignments)
    flavors.insert(flavors.end(), assignment.flavors.begin(), assignment.flavors.end());
  facts.checks = dialect::checks_for(rules, facts.runs ? &flavors : nullptr);
  auto merged = dialect::merged_updates(record.life.status().checks);
  if (!merged) {
    facts.refused = merged.error().message;
    return;
  }
  for (auto& update : *merged) {
    const auto has_name = [&](const auto& set) { return set.name == update.name; };
    if (std::none_of(sketch.sets.begin(), sketch.sets.end(), has_name)) {
      facts.refused =
          "the podSetUpdates of its admission checks name pod set " + update.name + ", which does not exist";
    } else if ((sketch.owner == nullptr || !sketch.owner->can_be_held()) && !sketch.owners.empty() &&
               !(update.labels.empty() && update.node_selector.empty() && update.tolerations.empty())) {
      facts.refused =
          "the podSetUpdates of its admission checks change more than annotations: Berth can change the "
          "template of a Job, but not existing pods";
    }
    updates.push_back(std::move(update));
  }
}

bool Admission::ask_for_nodes(const std::string& workload, const WorkloadSketch& sketch,
                              WorkloadRecord& record, const WorkloadFacts& facts, TimeMs now) {
  if (!facts.runs) {
    provisioner_.drop(record.object_uid);  // also what was asked for before a restart
    if (std::exchange(record.asks, false)) book_.add_news(intake_.set_nodes_came(workload, false));
    return false;
  }
  bool changed = false;
  bool supplied = true;
  const bool may_ask = !facts.releasing && !record.life.is_asking() && !record.object_uid.empty() &&
                       !record.life.standing(now).stop;
  for (const auto& name : facts.checks) {
    const auto* config = intake_.queues().provisioning(name);
    if (config == nullptr) continue;
    record.asks = true;
    const auto& checks = record.life.status().checks;
    const auto known =
        std::find_if(checks.begin(), checks.end(), [&](const auto& c) { return c.name == name; });
    supplied = supplied && known != checks.end();
    if (known == checks.end()) continue;
    std::vector<dialect::CheckRule> rules = intake_.queues().checks(workload);
    std::erase_if(rules, [&](const auto& rule) { return rule.name != name; });
    dialect::AdmissionCheckState state = *known;
    if (may_ask) {
      dialect::NodeAsk asks{sketch.ns, sketch.name, record.object_uid, writes_.version(),
                            name,      {},          sketch.parameters};
      for (std::size_t s = 0; s < sketch.sets.size() && s < facts.assignments.size(); ++s) {
        const auto& set = sketch.sets[s];
        const bool managed = config->managed.empty() ||
                             std::any_of(config->managed.begin(), config->managed.end(),
                                         [&](const auto& resource) { return set.counted.get(resource) > 0; });
        const std::vector<ChosenFlavor>& flavors = facts.assignments[s].flavors;
        const bool applies = !dialect::checks_for(rules, &flavors).empty();
        if (!managed || !applies || facts.assignments[s].count == 0) continue;
        asks.sets.push_back({set.name, facts.assignments[s].count, set.pod, {}});
        for (const auto& chosen : flavors) {
          const auto* flavor = intake_.queues().flavor(chosen.flavor);
          auto& all = asks.sets.back().flavors;
          if (flavor != nullptr && std::find(all.begin(), all.end(), flavor) == all.end())
            all.push_back(flavor);
        }
      }
      state = provisioner_.state(asks, *config, state, record.life.is_admitted(), now);
      changed = record.life.answer(state) || changed;
    }
    supplied = supplied && state.state == dialect::CheckState::kReady;
  }
  if (record.asks && supplied) book_.add_news(intake_.set_nodes_came(workload, true));
  return changed;
}

void Admission::version_changed() {
  provisioner_.set_versions(writes_.version(), provisioning_version_);
}

void Admission::set_provisioning_version(std::string_view version, TimeMs now) {
  provisioning_version_ = version;
  version_changed();
  checks_changed(now);
}

void Admission::request_seen(const dialect::ProvisioningRequest& request, TimeMs now) {
  provisioner_.seen(request);
  book_.wake(fmt::format("{}/{}", request.meta.ns, request.workload), now);
}

void Admission::request_gone(std::string_view ns, std::string_view name, TimeMs now) {
  book_.wake(provisioner_.gone(ns, name), now);
}

void Admission::checks_changed(TimeMs now) {
  for (const auto& [workload, record] : records_) {
    if (record.asks || !record.life.is_admitted()) book_.schedule(workload, now);
  }
}

void Admission::tell(const std::string& workload, WorkloadRecord& record, bool has_places,
                     std::vector<dialect::PodSetUpdate> updates, TimeMs now) {
  const bool admitted = record.life.is_admitted();
  const bool block = pods_ready_ && pods_ready_->block_admission;
  if (!block && !record.told && intake_.queues().checks(workload).empty()) return;
  if ((admitted || record.told) && record.told != std::optional(admitted)) {
    record.told = admitted;
    changes_.push_back({workload, admitted, std::move(updates)});
    book_.add_news(true);
  }
  if (admitted || !has_places) leave_line(record, now);
  if (!block) return;
  const auto& status = record.life.status();
  set_unready(
      workload,
      admitted && has_places && !record.life.is_finished() && !status.is(WorkloadCondition::kPodsReady), now);
}

bool Admission::may_go(const WorkloadRecord& record) const {
  if (!pods_ready_ || !pods_ready_->block_admission) return true;
  if (record.turn == 0 || !line_.all_ready()) return false;
  for (const auto& [turn, workload] : line_.all()) {
    if (turn >= record.turn) return true;
    const auto before = records_.find(workload);
    if (before != records_.end() && dialect::all_ready(before->second.life.status().checks)) return false;
  }
  return true;
}

void Admission::queue_seen(const dialect::ClusterQueue& queue, TimeMs now) {
  const Rules now_says{queue.checks, queue.stop != StopPolicy::kNone};
  const auto known = rules_.find(queue.meta.name);
  const Rules said = known == rules_.end() ? Rules{} : known->second;
  if (now_says == said) return;
  // A queue that goes on may have thousands that wait: they are looked at when something becomes of them.
  const bool all = now_says.checks != said.checks;
  if (now_says == Rules{}) {
    rules_.erase(known);
  } else {
    rules_.insert_or_assign(queue.meta.name, now_says);
  }
  for (const auto& [workload, record] : records_) {
    const bool holds = now_says.stops && record.life.status().is(WorkloadCondition::kQuotaReserved);
    if ((all || holds) && !record.life.is_admitted() && !record.life.is_finished())
      book_.schedule(workload, now);
  }
}

void Admission::leave_line(WorkloadRecord& record, TimeMs now) {
  if (record.turn == 0) return;
  line_.leave(std::exchange(record.turn, 0));
  wake_line(now);
}

void Admission::wake_line(TimeMs now) {
  if (!line_.all_ready()) return;
  for (const auto& [turn, workload] : line_.all()) {
    book_.schedule(workload, now);
    const auto next = records_.find(workload);
    if (next != records_.end() && dialect::all_ready(next->second.life.status().checks)) return;
  }
}

void Admission::leaves(const std::string& workload, WorkloadRecord& record, TimeMs now) {
  leave_line(record, now);
  set_unready(workload, false, now);
  provisioner_.drop(record.object_uid);
  if (!record.told) return;
  record.told.reset();
  changes_.push_back({workload, false, {}});
}

void Admission::set_unready(const std::string& workload, bool unready, TimeMs now) {
  if (line_.set_unready(workload, unready)) wake_line(now);
}

}  // namespace berth::scheduler

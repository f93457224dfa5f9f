// The part of WorkloadObjects (workload_objects.h) that decides what may start of what has places.
#include <algorithm>

#include "dialect/workload_object.h"
#include "scheduler/workload_objects.h"

namespace berth::scheduler {

using dialect::WorkloadCondition;
using dialect::WorkloadSketch;

bool WorkloadObjects::must_wait(const Decision& start, TimeMs now) {
  if (!options_.enabled) return false;
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
    Record& former = known->second;
    former.evicting = false;
    former.life.ended_unseen(now);
    former.told = false;
    admissions_.push_back({start.workload, false, {}});
    ended = true;
  }
  const bool block = options_.pods_ready && options_.pods_ready->block_admission;
  if (!ended && !block && intake_.checks(start.workload).empty()) return false;
  if (known != records_.end() && known->second.life.is_admitted()) return false;
  const auto sketch = intake_.sketch(start.workload);
  if (!sketch || sketch->name.empty()) return false;
  Record& record = records_[start.workload];
  if (!start.flavors.empty()) record.flavors = start.flavors;
  // A gang that runs in part is completed.
  if (runs()) {
    record.life.runs_already();
    return false;
  }
  if (block && record.turn == 0) {
    record.turn = ++turns_;
    line_.emplace(record.turn, start.workload);
  }
  if (!record.told) record.told = false;  // it is held: somebody must say so when it may go
  schedule(start.workload, now);
  return true;
}

void WorkloadObjects::ask(const std::string& workload, const WorkloadSketch& sketch, const Record& record,
                          WorkloadFacts& facts, std::vector<dialect::PodSetUpdate>& updates) {
  facts.may_admit = may_go(record);
  const auto& rules = intake_.checks(workload);
  if (rules.empty()) return;
  std::vector<ChosenFlavor> flavors;
  for (const auto& assignment : facts.assignments)
    flavors.insert(flavors.end(), assignment.flavors.begin(), assignment.flavors.end());
  facts.checks = checks_for(rules, facts.runs ? &flavors : nullptr);
  auto merged = dialect::merged_updates(record.life.status().checks);
  if (!merged) {
    facts.refused = merged.error().message;
    return;
  }
  for (auto& update : *merged) {
    const auto has_name = [&](const auto& set) { return set.name == update.name; };
    if (std::none_of(sketch.sets.begin(), sketch.sets.end(), has_name)) {
      facts.refused =
          "the podSetUpdates of its admission checks name pod set " + update.name + ", which it has not";
    } else if (!sketch.is_job &&
               !(update.labels.empty() && update.node_selector.empty() && update.tolerations.empty())) {
      facts.refused =
          "the podSetUpdates of its admission checks are more than annotations: those can be put into a "
          "Job's "
          "template, not onto pods that are there";
    }
    updates.push_back(std::move(update));
  }
}

void WorkloadObjects::tell(const std::string& workload, Record& record, bool has_places,
                           std::vector<dialect::PodSetUpdate> updates, TimeMs now) {
  const bool admitted = record.life.is_admitted();
  const bool block = options_.pods_ready && options_.pods_ready->block_admission;
  if (!block && !record.told && intake_.checks(workload).empty()) return;
  if ((admitted || record.told) && record.told != std::optional(admitted)) {
    record.told = admitted;
    admissions_.push_back({workload, admitted, std::move(updates)});
    stood_ = true;
  }
  if (admitted || !has_places) leave_line(record, now);
  if (!block) return;
  const auto& status = record.life.status();
  set_unready(
      workload,
      admitted && has_places && !record.life.is_finished() && !status.is(WorkloadCondition::kPodsReady), now);
}

bool WorkloadObjects::may_go(const Record& record) const {
  if (!options_.pods_ready || !options_.pods_ready->block_admission) return true;
  if (record.turn == 0 || !unready_.empty()) return false;
  for (const auto& [turn, workload] : line_) {
    if (turn >= record.turn) return true;
    const auto before = records_.find(workload);
    if (before != records_.end() && all_ready(before->second.life.status().checks)) return false;
  }
  return true;
}

void WorkloadObjects::queue_seen(const dialect::ClusterQueue& queue, TimeMs now) {
  const auto known = rules_.find(queue.meta.name);
  if (known == rules_.end() ? queue.checks.empty() : known->second == queue.checks) return;
  if (queue.checks.empty()) {
    rules_.erase(known);
  } else {
    rules_.insert_or_assign(queue.meta.name, queue.checks);
  }
  for (const auto& [workload, record] : records_) {
    if (!record.life.is_admitted() && !record.life.is_finished()) schedule(workload, now);
  }
}

void WorkloadObjects::leave_line(Record& record, TimeMs now) {
  if (record.turn == 0) return;
  line_.erase(std::exchange(record.turn, 0));
  wake_line(now);
}

void WorkloadObjects::wake_line(TimeMs now) {
  if (!unready_.empty()) return;
  for (const auto& [turn, workload] : line_) {
    schedule(workload, now);
    const auto next = records_.find(workload);
    if (next != records_.end() && all_ready(next->second.life.status().checks)) return;
  }
}

void WorkloadObjects::leaves(const std::string& workload, Record& record, TimeMs now) {
  leave_line(record, now);
  set_unready(workload, false, now);
  if (!record.told) return;
  record.told.reset();
  admissions_.push_back({workload, false, {}});
}

void WorkloadObjects::set_unready(const std::string& workload, bool unready, TimeMs now) {
  if (unready) {
    unready_.insert(workload);
  } else if (unready_.erase(workload) > 0) {
    wake_line(now);
  }
}

}  // namespace berth::scheduler

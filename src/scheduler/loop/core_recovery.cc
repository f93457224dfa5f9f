// The start of the live loop: bound work first (core.h).
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/text_index.h"
#include "scheduler/loop/core.h"

namespace berth::scheduler {

const std::string* Core::workload_of(const Event& event) {
  if (const auto* e = std::get_if<WorkloadUpsert>(&event)) return &e->workload.uid;
  if (const auto* e = std::get_if<WorkloadRemove>(&event)) return &e->uid;
  if (const auto* e = std::get_if<SlotUpdate>(&event)) return &e->workload;
  if (const auto* e = std::get_if<Withdraw>(&event)) return &e->workload;
  return nullptr;
}

class Core::BoundWork {
 public:
  Bound* find(std::string_view workload) {
    const std::uint32_t at =
        index_.find(workload, [&](std::uint32_t i) { return all_[i].workload == workload; });
    return at == TextIndex::kNone ? nullptr : &all_[at];
  }
  void add(const std::string& workload) {
    if (find(workload) != nullptr) return;
    index_.add(workload, static_cast<std::uint32_t>(all_.size()));
    all_.push_back({workload, {}, false});
  }
  // By their uids. It is not to be searched after this.
  std::vector<Bound> take_sorted() {
    std::sort(all_.begin(), all_.end(),
              [](const Bound& a, const Bound& b) { return a.workload < b.workload; });
    return std::move(all_);
  }

 private:
  std::vector<Bound> all_;
  TextIndex index_;
};

EventQueue Core::adopt_bound(EventQueue all, BoundWork& bound) {
  EventQueue later;
  while (!all.empty()) {
    Event event = all.take();
    const std::string* workload = workload_of(event);
    Bound* known = workload == nullptr ? nullptr : bound.find(*workload);
    if (workload != nullptr && known == nullptr) {
      later.push_back(std::move(event));
      continue;
    }
    if (const auto* upsert = std::get_if<WorkloadUpsert>(&event)) {
      known->least.clear();
      for (const PodSet* set : pod_sets_of(upsert->workload.root)) known->least.push_back(set->least_count());
    }
    apply(event);
  }
  return later;
}

Core::Recovered Core::complete_or_withdraw(const std::string& workload,
                                           const std::vector<std::int64_t>& least, TimeMs now) {
  std::vector<std::int64_t> placed(least.size(), 0);
  bool waits = false;
  bool binds = false;
  for (const auto& pod : intake_.pods_of(workload)) {
    const auto slot = engine_.engine().slot(workload, pod.pod_set, pod.index);
    if (!slot || static_cast<std::size_t>(pod.pod_set) >= placed.size()) continue;
    waits |= slot->state == SlotState::kWaiting;
    binds |= slot->state == SlotState::kBinding;
    if (slot->state != SlotState::kWaiting && slot->state != SlotState::kAbsent)
      ++placed[static_cast<std::size_t>(pod.pod_set)];
  }
  bool partial = false;
  for (std::size_t i = 0; i < placed.size(); ++i) partial |= placed[i] < least[i];
  const auto info = intake_.workload(workload);
  const bool enough = info && info->enough;
  if (partial && !waits && !binds && !enough)
    carrier_.found_bound(workload, now);  // the rest is still to be made
  const bool may_lack = enough || (info && info->elastic);
  if (!partial || !waits || may_lack) return binds ? Recovered::kCompletes : Recovered::kWhole;
  const bool helps = carrier_.withdraw(
      workload, "only some of its pods were bound before a restart, and the rest do not fit");
  return helps ? Recovered::kWithdrawn : Recovered::kWhole;
}

void Core::recover(TimeMs now) {
  intake_.pass(now);
  EventQueue all = intake_.take_events();
  BoundWork found;
  all.each_of<SlotUpdate>([&](const SlotUpdate& update) {
    if (update.state != SlotState::kWaiting) found.add(update.workload);
  });
  EventQueue later = adopt_bound(std::move(all), found);
  std::vector<Bound> bound = found.take_sorted();
  std::size_t resumed = 0;
  for (Bound& work : bound) {
    intake_.accept_size(work.workload);
    if (work.least.empty() || !carrier_.resume_eviction(work.workload, work.least, now)) continue;
    work.resumed = true;
    ++resumed;
  }
  feed(now);
  decide(now);
  feed(now);
  std::size_t withdrawn = 0;
  std::size_t completed = 0;
  for (const Bound& work : bound) {
    if (work.least.empty() || work.resumed) continue;
    const Recovered what = complete_or_withdraw(work.workload, work.least, now);
    withdrawn += what == Recovered::kWithdrawn ? 1 : 0;
    completed += what == Recovered::kCompletes ? 1 : 0;
  }
  feed(now);
  if (withdrawn > 0) decide(now);
  spdlog::info(
      "recovered: {} workloads have bound pods; {} are being completed, {} are withdrawn, {} evictions "
      "continue",
      bound.size(), completed, withdrawn, resumed);
  for (const Bound& work : bound) workload_objects_.changed(work.workload, now);
  while (!later.empty()) {
    Event event = later.take();
    if (const std::string* workload = workload_of(event)) workload_objects_.changed(*workload, now);
    apply(event, now);
  }
  missing_.next_look = now + options_.missing_owners_every;
  feed(now);
  decide(now);
  turn(now);
}

}  // namespace berth::scheduler

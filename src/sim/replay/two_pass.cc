#include "sim/replay/two_pass.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"

namespace berth::sim {

TwoPassDecider::TwoPassDecider(const engine::EngineConfig& config) : quota_(config), nodes_(config) {}

// ----------------------------------------------------------------------------------------------------------------- facts

Status TwoPassDecider::apply(const Event& event) {
  if (const auto* e = std::get_if<WorkloadUpsert>(&event)) return workload(*e);
  if (const auto* e = std::get_if<WorkloadRemove>(&event)) return remove(*e);
  if (const auto* e = std::get_if<SlotUpdate>(&event)) return slot(*e);
  if (const auto* e = std::get_if<FlavorUpsert>(&event)) {
    Flavor counted = e->flavor;
    counted.opaque = true;
    return quota_.apply(FlavorUpsert{std::move(counted)});
  }
  if (const auto* e = std::get_if<QueueUpsert>(&event)) {
    BERTH_TRY(quota_.apply(event));
    if (!e->queue.leaf) return {};
    Queue line;
    line.name = e->queue.name;
    line.unlimited = true;
    line.ordering = e->queue.ordering;
    line.placement = e->queue.placement;
    return nodes_.apply(QueueUpsert{std::move(line)});
  }
  if (std::holds_alternative<FlavorRemove>(event)) return quota_.apply(event);
  if (const auto* e = std::get_if<QueueRemove>(&event)) {
    BERTH_TRY(quota_.apply(event));
    return nodes_.apply(*e);
  }
  return nodes_.apply(event);  // nodes, topologies, foreign pods, the demand mix
}

// The second pass knows all work, and ignores work that is not admitted.
Status TwoPassDecider::show(const Work& work, bool active) {
  WorkloadUpsert shown{work.spec};
  shown.workload.active = work.spec.active && active;
  return nodes_.apply(shown);
}

Status TwoPassDecider::workload(const WorkloadUpsert& event) {
  Work& work = works_[event.workload.uid];
  work.spec = event.workload;
  BERTH_TRY(quota_.apply(event));
  return show(work, !work.quota.empty());
}

Status TwoPassDecider::remove(const WorkloadRemove& event) {
  standing_.erase(event.uid);
  BERTH_TRY(pass_on(event.uid));
  if (const auto found = works_.find(event.uid); found != works_.end()) {
    if (const auto told = ended_.find(found->second.ended_for); told != ended_.end())
      std::erase_if(told->second, [&](const SlotUpdate& e) { return e.workload == event.uid; });
  }
  works_.erase(event.uid);
  BERTH_TRY(quota_.apply(event));
  return nodes_.apply(event);
}

Status TwoPassDecider::slot(const SlotUpdate& event) {
  const auto found = works_.find(event.workload);
  if (found == works_.end()) return fail(ErrorCode::kNotFound, "no workload {}", event.workload);
  Work& work = found->second;
  if (work.ended_for.empty()) {
    BERTH_TRY(nodes_.apply(event));
  } else {
    ended_[work.ended_for].push_back(event);
  }
  const bool ended = event.state == SlotState::kGone || event.state == SlotState::kWaiting;
  if (!ended) return {};  // where it runs is nothing to the first pass
  // Work that loses its place to a failure is admitted anew.
  if (!work.places.empty()) {
    work.places.clear();
    work.quota.clear();
    BERTH_TRY(show(work, false));
  }
  SlotUpdate counted = event;
  counted.node.clear();
  counted.devices.clear();
  return quota_.apply(counted);
}

// ------------------------------------------------------------------------------------------------------------- decisions

Status TwoPassDecider::stand(Work& work, TimeMs now) {
  work.stood = saturating_sub(now, work.admitted);
  if (!work.spec.expected_duration) return {};
  WorkloadUpsert told{work.spec};
  told.workload.expected_duration =
      saturating_add(*work.spec.expected_duration, saturating_add(work.stood_before, work.stood));
  return quota_.apply(told);
}

Status TwoPassDecider::admit(const Decision& decision, TimeMs now) {
  Work& work = works_.at(decision.workload);
  work.quota = decision.slots;
  work.admitted = now;
  standing_.emplace(decision.workload, &work);
  return show(work, true);
}

Result<bool> TwoPassDecider::take_back(const Decision& decision, std::vector<Decision>& out) {
  Work& work = works_.at(decision.workload);
  standing_.erase(decision.workload);
  work.stood_before = saturating_add(work.stood_before, std::exchange(work.stood, 0));
  const std::vector<SlotPlacement> places = std::exchange(work.places, {});
  const std::vector<SlotPlacement> quota = std::exchange(work.quota, {});
  BERTH_TRY(show(work, false));
  if (!places.empty()) {
    if (decision.beneficiary.empty()) {
      for (const SlotPlacement& at : places) {
        BERTH_TRY(nodes_.apply(
            SlotUpdate{decision.workload, at.pod_set, at.index, SlotState::kReleasing, at.node, {}, {}, 0}));
      }
    } else {
      work.ended_for = decision.beneficiary;  // for the second pass it runs on
      ended_[decision.beneficiary];
    }
    Decision evict = decision;
    evict.slots = places;
    evict.flavors.clear();
    out.push_back(std::move(evict));
    return false;
  }
  for (const SlotState state : {SlotState::kGone, SlotState::kWaiting}) {
    for (const SlotPlacement& at : quota) {
      BERTH_TRY(quota_.apply(SlotUpdate{decision.workload, at.pod_set, at.index, state, {}, {}, {}, 0}));
    }
  }
  return true;
}

Status TwoPassDecider::place(const Decision& decision, TimeMs now) {
  Work& work = works_.at(decision.workload);
  work.places = decision.slots;
  standing_.erase(decision.workload);
  return stand(work, now);
}

Result<bool> TwoPassDecider::pass_on(const std::string& beneficiary) {
  auto told = ended_.extract(beneficiary);
  if (told.empty()) return false;
  for (auto& [uid, work] : works_) {
    if (work.ended_for == beneficiary) work.ended_for.clear();
  }
  for (const SlotUpdate& event : told.mapped()) BERTH_TRY(nodes_.apply(event));
  return true;
}

Status TwoPassDecider::look_for_places(const std::vector<std::string>& first, TimeMs now,
                                       std::vector<Decision>& out) {
  std::vector<Work*> others;
  if (!first.empty()) {
    for (const auto& [uid, work] : standing_) {
      if (std::find(first.begin(), first.end(), uid) == first.end()) others.push_back(work);
    }
  }
  const auto decide = [&]() -> Status {
    for (Decision& decision : nodes_.decide(now)) {
      if (decision.kind == DecisionKind::kStart) BERTH_TRY(place(decision, now));
      out.push_back(std::move(decision));
    }
    return {};
  };
  if (!others.empty()) {
    for (Work* work : others) BERTH_TRY(show(*work, false));
    BERTH_TRY(decide());
    for (Work* work : others) BERTH_TRY(show(*work, true));
  }
  return decide();
}

Result<std::vector<Decision>> TwoPassDecider::decide(TimeMs now) {
  for (auto& [uid, work] : standing_) BERTH_TRY(stand(*work, now));
  std::vector<Decision> out;
  std::vector<std::string> first;  // admitted now, with victims
  bool again = true;
  while (again) {
    again = false;
    for (const Decision& decision : quota_.decide(now)) {
      switch (decision.kind) {
        case DecisionKind::kStart: {
          BERTH_TRY(admit(decision, now));
          BERTH_ASSIGN(const bool had_victims, pass_on(decision.workload));
          if (had_victims) first.push_back(decision.workload);
          break;
        }
        case DecisionKind::kReleaseHold:
          BERTH_TRY(pass_on(decision.workload));
          out.push_back(decision);
          break;
        case DecisionKind::kEvict: {
          BERTH_ASSIGN(const bool at_once, take_back(decision, out));
          again = again || at_once;
          break;
        }
        default:
          out.push_back(decision);
      }
    }
  }
  BERTH_TRY(look_for_places(first, now, out));
  return out;
}

// ------------------------------------------------------------------------------------------------------------- questions

TimeMs TwoPassDecider::next_time() const {
  return std::min(quota_.next_time(), nodes_.next_time());
}

Result<Verdict> TwoPassDecider::verdict(std::string_view uid) const {
  return standing_.find(uid) != standing_.end() ? nodes_.verdict(uid) : quota_.verdict(uid);
}

Result<Verdict> TwoPassDecider::explain(std::string_view uid) const {
  return standing_.find(uid) != standing_.end() ? nodes_.explain(uid) : quota_.explain(uid);
}

Status TwoPassDecider::audit() const {
  BERTH_TRY(quota_.audit());
  return nodes_.audit();
}

}  // namespace berth::sim

#include "scheduler/kueue/workload_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/kueue/workload_object.h"
#include "dialect/write/writes.h"
#include "kube/paths.h"
#include "scheduler/wire/object_version.h"

namespace berth::scheduler {
namespace {

using dialect::KueueWorkload;
using dialect::WorkloadCondition;
using dialect::WorkloadSketch;

// Kueue's reasons of Preempted, and its words for them.
struct Preemption {
  std::string_view reason;
  std::string_view words;
};
std::optional<Preemption> preemption_of(ReasonCode code) {
  switch (code) {
    case ReasonCode::kPreempted:
      return Preemption{"InClusterQueue", "prioritization in the ClusterQueue"};
    case ReasonCode::kReclaimed:
      return Preemption{"InCohortReclamation", "reclamation within the cohort"};
    case ReasonCode::kReclaimedWhileBorrowing:
      return Preemption{"InCohortReclaimWhileBorrowing", "reclamation within the cohort while borrowing"};
    case ReasonCode::kReclaimedFairly:
      return Preemption{"InCohortFairSharing", "Fair Sharing within the cohort"};
    default:
      return std::nullopt;
  }
}

}  // namespace

WorkloadObjects::WorkloadObjects(dialect::Intake& intake, const engine::Engine& engine,
                                 dialect::JsonDecoder& decoder, LaneBook& lanes, Outbox& outbox,
                                 WorkloadObjectOptions options)
    : intake_(intake),
      engine_(engine),
      decoder_(decoder),
      lanes_(lanes),
      outbox_(outbox),
      options_(options),
      provisioner_(outbox) {}

std::size_t WorkloadObjects::digest(const dialect::WorkloadStatus& status) {
  return std::hash<std::string>{}(dialect::to_json(status, false));
}

DurationMs WorkloadObjects::rest(int times) const {
  return doubled(options_.first_rest, times, options_.most_rest);
}

const WorkloadLife* WorkloadObjects::life(std::string_view workload) const {
  const auto it = records_.find(std::string(workload));
  return it == records_.end() ? nullptr : &it->second.life;
}

dialect::PendingPlace WorkloadObjects::place_of(const std::string& workload, bool grows,
                                                std::string_view lane, std::int64_t priority) const {
  dialect::PendingPlace out;
  const std::string name = grows ? next_of(workload) : workload;
  const auto it = records_.find(name);
  if (grows && it == records_.end()) return out;
  const auto api_version = [](std::string_view word) {
    const dialect::OwnerKind* kind = dialect::owner_kind_of_word(word);
    return kind != nullptr ? kind->api_version() : std::string("v1");
  };
  if (it != records_.end() && !it->second.key.empty()) {
    const Record& record = it->second;
    const auto slash = record.key.find('/');
    out.ns = record.key.substr(0, slash);
    out.name = record.key.substr(slash + 1);
    out.created = record.created;
    out.priority = priority - record.boost;
    for (const auto& owner : record.owners)
      out.owners.push_back({api_version(owner.kind), owner.kind, owner.name, owner.uid});
  } else if (const auto sketch = sketch_of(name); sketch && !sketch->name.empty()) {
    out.ns = sketch->ns;
    out.name = sketch->name;
    out.priority = sketch->priority;
    const std::string kind(sketch->owner != nullptr ? sketch->owner->word() : "Pod");
    for (const auto& owner : sketch->owners)
      out.owners.push_back({api_version(kind), kind, std::string(owner.name), std::string(owner.uid)});
  } else {
    return out;
  }
  out.local_queue = lane.substr(std::min(lane.size(), out.ns.size() + 1));
  return out;
}

void WorkloadObjects::set_version(std::string_view version, TimeMs now) {
  if (version_ == version) return;
  version_ = version;
  provisioner_.set_versions(version_, provisioning_version_);
  for (const auto& [workload, record] : records_) schedule(workload, now);
}

void WorkloadObjects::schedule(const std::string& workload, TimeMs at) {
  due_.put(workload, at);
  next_due_ = std::min(next_due_, at);
}

void WorkloadObjects::changed(std::string_view workload, TimeMs now) {
  if (!options_.enabled) return;
  changes_.put(std::string(workload), now + options_.settle);
  next_due_ = std::min(next_due_, now + options_.settle);
}

void WorkloadObjects::owner_seen(const dialect::Ask& ask, TimeMs now) {
  const auto it = records_.find(ask.meta->uid);
  if (it == records_.end()) return;
  if (ask.finished) {
    it->second.life.finished(!ask.failed, std::string(ask.ending), now);
    set_unready(it->first, false, now);
    stand(it->first, it->second, now);
    compare(it->first, it->second, now);
    leave_next(it->first, now);
  } else {
    const dialect::Ask* before = intake_.owner(ask.meta->uid);
    if (ask.elastic && before != nullptr && ask.most() > before->most()) {
      it->second.raised_at = now;
      stand(it->first, it->second, now);
    }
    if (looks_at_pods() || before == nullptr || before->succeeded != ask.succeeded)
      changed(ask.meta->uid, now);
  }
}

void WorkloadObjects::decided(const Decision& decision, TimeMs now) {
  if (decision.kind == DecisionKind::kStart) {
    changed(decision.workload, now);
    if (decision.flavors.empty()) return;
    if (const auto it = records_.find(decision.workload); it != records_.end())
      it->second.flavors = decision.flavors;
    return;
  }
  if (decision.kind != DecisionKind::kEvict) return;
  const auto it = records_.find(decision.workload);
  if (it == records_.end()) return;
  changed(decision.workload, now);
  it->second.evicting = true;
  WorkloadLife& life = it->second.life;
  const ReasonCode code = decision.reason.code;
  if (const auto preemption = preemption_of(code)) {
    std::string object = "UNKNOWN";
    std::string job = "UNKNOWN";
    std::string path = "UNKNOWN";
    std::string own = "UNKNOWN";
    if (const auto whom = records_.find(decision.beneficiary);
        whom != records_.end() && !whom->second.object_uid.empty())
      object = whom->second.object_uid;
    if (const auto whom = intake_.workload(decision.beneficiary)) {
      if (whom->owner != nullptr) job = decision.beneficiary;
      path = intake_.queue_path(whom->queue);
    }
    if (const auto self = intake_.workload(decision.workload)) own = intake_.queue_path(self->queue);
    life.evicting(
        "Preempted",
        fmt::format("Preempted to accommodate a workload (UID: {}, JobUID: {}) due to {}; preemptor "
                    "path: {}; preemptee path: {}",
                    object, job, preemption->words, path, own),
        preemption->reason);
    return;
  }
  if (life.is_evicting()) return;  // it knows why
  if (life.is_inactive()) return life.evicting("Deactivated", "The workload is deactivated");
  const Reason* blocked = intake_.blocked(decision.workload);
  if (code == ReasonCode::kDrained) {
    life.evicting("ClusterQueueStopped", "The ClusterQueue is stopped");
  } else if (blocked != nullptr && blocked->code == ReasonCode::kQueueStopped) {
    life.evicting("LocalQueueStopped", "The LocalQueue is stopped");
  } else {
    life.evicting("PodsReadyTimeout", to_text(decision.reason));
  }
}

// ------------------------------------------------------------------------------------------------------------------ facts

WorkloadFacts WorkloadObjects::facts_of(const WorkloadSketch& sketch, const Record& record) const {
  WorkloadFacts facts;
  facts.cluster_queue = sketch.cluster_queue;
  facts.most_seconds = sketch.most_seconds;
  facts.stopped = sketch.stopped;
  for (std::size_t s = 0; s < sketch.sets.size(); ++s) {
    const auto set = static_cast<std::int64_t>(s);
    dialect::WorkloadStatus::Assignment assignment;
    std::string_view node;
    for (std::int64_t i = 0;; ++i) {  // also of pods beyond its size, which are about to end
      const auto slot = engine_.slot(sketch.uid, set, i);
      if (!slot) break;
      const bool runs = slot->state == SlotState::kBinding || slot->state == SlotState::kRunning;
      if (!runs && slot->state != SlotState::kReleasing) continue;
      facts.runs |= runs;
      facts.active += runs ? 1 : 0;
      facts.bound |= slot->state == SlotState::kRunning;
      facts.releasing |= !runs;
      ++assignment.count;
      facts.unplaced |= runs && slot->node.empty();
      if (node.empty()) node = slot->node;
    }
    assignment.name = sketch.sets[s].name;
    for (const auto& choice : record.flavors) {
      if (choice.pod_set == set) assignment.flavors.push_back({choice.resource, choice.flavor});
    }
    std::sort(assignment.flavors.begin(), assignment.flavors.end(),
              [](const auto& a, const auto& b) { return a.resource < b.resource; });
    if (assignment.flavors.empty()) assignment.flavors = intake_.flavors_on(sketch.uid, set, node);
    for (const auto& flavor : assignment.flavors) {
      const std::int64_t each = flavor.resource == "pods" ? 1 : sketch.sets[s].counted.get(flavor.resource);
      assignment.usage.set(flavor.resource, each * assignment.count);
    }
    facts.assignments.push_back(std::move(assignment));
    if (sketch.sets[s].reclaimable > 0)
      facts.reclaimable.push_back({sketch.sets[s].name, sketch.sets[s].reclaimable});
  }
  if (!facts.runs && !facts.releasing) facts.assignments.clear();
  return facts;
}

// A slice that another client made includes the pods of the former one.
void WorkloadObjects::add_former(const WorkloadSketch& sketch, WorkloadFacts& facts) {
  for (std::size_t s = 0; s < facts.assignments.size(); ++s) {
    auto& assignment = facts.assignments[s];
    const std::int64_t before = sketch.sets[s].before;
    if (before == 0) continue;
    assignment.count += before;
    for (const auto& flavor : assignment.flavors) {
      const std::int64_t each = flavor.resource == "pods" ? 1 : sketch.sets[s].counted.get(flavor.resource);
      assignment.usage.set(flavor.resource, each * assignment.count);
    }
  }
}

void WorkloadObjects::look(const std::string& workload, TimeMs now) {
  if (is_next(workload)) return look(work_of(workload), now);
  if (is_past(workload)) {
    const auto past = records_.find(workload);
    return past == records_.end() ? void() : compare(workload, past->second, now);
  }
  auto sketch = intake_.sketch(workload);
  if (!sketch) lanes_.set(workload, {}, {}, LaneBook::State::kNone, {});
  if (sketch &&
      sketch->name.empty()) {  // of another kind, or it names one that is not there: it counts all the same
    const WorkloadFacts facts = facts_of(*sketch, {});
    if (sketch->is_prebuilt) {
      settle_object(workload, *sketch, now);
      if (!follow_size(workload, *sketch, facts, now)) changed(workload, now);
    }
    count(*sketch, facts, true);
  }
  if (!sketch || sketch->name.empty()) {
    const auto it = records_.find(workload);
    if (it == records_.end()) return;
    leave_next(workload, now);
    if (!sketch) leaves(workload, it->second, now);
    if (const dialect::Ask* ask = intake_.owner(workload); ask != nullptr && ask->finished) {
      it->second.life.finished(!ask->failed, std::string(ask->ending), now);
      compare(workload, it->second, now);
    }
    if (!intake_.workload(workload)) ended(workload, it->second);
    return forget_if_done(workload);
  }
  settle_object(workload, *sketch, now);
  Record& record = records_[workload];
  if (sketch->is_prebuilt && record.object_uid.empty()) {
    adopt(workload, record, *sketch);
    if (record.flying) return;  // what it was comes first
  }
  WorkloadFacts facts = facts_of(*sketch, record);
  if (!follow_size(workload, *sketch, facts, now)) return changed(workload, now);
  if (sketch->is_elastic) sketch = sketch_of(workload);
  const auto pods_ready = dialect::with_own_times(options_.pods_ready, sketch->ready_times);
  if (sketch->ready_times.empty()) {
    own_times_.erase(workload);
  } else {
    own_times_.insert(workload);
  }
  facts.gated = !sketch->gates.empty();
  if (pods_ready && facts.runs) facts.ready = intake_.is_ready(workload);
  // For an elastic owner, the pods with places: others may wait.
  if (const dialect::Ask* ask = sketch->is_elastic ? intake_.owner(workload) : nullptr)
    facts.ready = facts.active > 0 && ask->ready >= facts.active;
  std::optional<Reason> why;
  if (!facts.runs && !facts.releasing) {
    record.flavors.clear();
    if (const Reason* blocked = intake_.blocked(workload)) {
      why = *blocked;
    } else if (auto verdict = engine_.verdict(workload)) {
      why = std::move(verdict->reason);
    }
    if (why) why = dialect::readable(std::move(*why), intake_);
    if (why) facts.why = &*why;
  } else if (sketch->owner == nullptr && !sketch->owners.empty()) {
    record.to_come = sketch->to_come;
    record.pods = std::max(record.pods, static_cast<std::int64_t>(sketch->owners.size()) + sketch->to_come);
    record.path =
        sketch->owners.size() == 1 && sketch->sets.front().count == 1
            ? kube::kPods.object(sketch->ns, sketch->owners.front().name)
            : fmt::format("{}?labelSelector={}", kube::kPods.collection(sketch->ns),
                          kube::escape(fmt::format("{}={}", dialect::kKueuePodGroup, sketch->name)));
  }
  std::vector<dialect::PodSetUpdate> updates;
  ask(workload, *sketch, record, facts, updates);
  record.evicting = record.evicting && (facts.runs || facts.releasing);
  auto own = facts.assignments;
  add_former(*sketch, facts);
  bool is_news = record.life.look(facts, pods_ready, now);
  if (ask_for_nodes(workload, *sketch, record, facts, now)) {
    updates.clear();
    ask(workload, *sketch, record, facts, updates);
    is_news = record.life.look(facts, pods_ready, now) || is_news;
  }
  facts.assignments = std::move(own);
  count(*sketch, facts, record.life.is_admitted());
  if (is_news || !facts.checks.empty()) stand(workload, record, now);
  tell(workload, record, facts.runs || facts.releasing, std::move(updates), now);
  if (const TimeMs next = record.life.deadline(); next != kEndOfTime)
    schedule(workload, std::max(next, now + 1));
  compare(workload, record, now);
  look_at_next(workload, facts, pods_ready, now);
}

void WorkloadObjects::count(const WorkloadSketch& sketch, const WorkloadFacts& facts, bool admitted) {
  using State = LaneBook::State;
  const std::string workload(sketch.uid);
  const Reason* blocked = intake_.blocked(workload);
  const State waits =
      blocked != nullptr && blocked->code == ReasonCode::kInactive ? State::kNone : State::kPending;
  State state = waits;
  if (facts.runs || facts.releasing)
    state = facts.runs && !facts.releasing && !admitted ? State::kHeld : State::kAdmitted;
  lanes_.set(workload, sketch.lane, sketch.cluster_queue, state, facts.assignments);
}

void WorkloadObjects::stand(const std::string& workload, const Record& record, TimeMs now) {
  if (is_next(workload) || is_past(workload)) return;
  dialect::Standing standing = record.life.standing(now);
  standing.boost = record.boost;
  standing.queued_from = std::max(standing.queued_from, record.asked_at);
  const auto next = records_.find(next_of(workload));
  standing.asks_more_since = next == records_.end() ? record.raised_at : next->second.asked_at;
  if (!standing.stop && !record.life.is_admitted() && !intake_.checks(workload).empty()) {
    if (const auto sketch = sketch_of(workload); sketch && is_foreign(*sketch)) {
      standing.stop = Reason{};
      standing.stop->code = ReasonCode::kUnsupported;
      standing.stop->detail =
          "its ClusterQueue has admission checks, but Berth did not make its Workload object: delete that "
          "object";
    }
  }
  intake_.set_standing(workload, std::move(standing));
  stood_ = true;
}

// --------------------------------------------------------------------------------------------------------------- the watch

void WorkloadObjects::seen(const KueueWorkload& object, std::string_view version, TimeMs now) {
  const std::string key = fmt::format("{}/{}", object.meta.ns, object.meta.name);
  std::string workload(dialect::workload_of(object));
  const bool prebuilt = workload.empty();
  if (prebuilt) workload = intake_.prebuilt_owner(object.meta.ns, object.meta.name);
  // Its owner is in another namespace: its creator has read that uid, or guessed it.
  if (is_of_another_namespace(workload, object.meta.ns)) workload.clear();
  if (workload.empty()) {
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
      if (known->second == past_of(object.meta.uid) && !object.finished) {  // it is still to be told
        Record& past = records_.at(known->second);
        past.version = version_number(version);
        past.stands = digest(object.status);
        return compare(known->second, past, now);
      }
      gone(object.meta.ns, object.meta.name, now);
    }
    auto& owners = foreign_[key];
    for (const auto& owner : owners) foreign_owners_.erase(owner);
    owners.clear();
    for (const auto& owner : object.owners) {
      if (object.finished) break;  // it blocks no other work
      owners.push_back(fmt::format("{}/{}", object.meta.ns, owner.uid));
      foreign_owners_.insert_or_assign(owners.back(), key);
      if (intake_.workload(owner.uid)) changed(owner.uid, now);
    }
    return;
  }
  if (foreign_.contains(key)) gone(object.meta.ns, object.meta.name, now);
  const std::string at = prebuilt ? workload : record_of(workload, key, object, now);
  if (at.empty()) return;
  if (prebuilt && records_.contains(at) && records_.at(at).key != key) {
    const auto [reason, message] =
        why_over(object.meta.annotation(dialect::kKueueSliceFor), object.meta.name, records_.at(at).key);
    retire(at, reason, message, now);
  }
  Record& record = records_[at];
  record.prebuilt = prebuilt;
  const std::uint64_t number = version_number(version);
  if (record.object_uid == object.meta.uid && number < record.version) return;
  const bool known = record.object_uid == object.meta.uid;
  if (!known && record.life.status().conditions.empty())
    record.life.adopt(object.status, object.active,
                      options_.pods_ready && options_.pods_ready->from_eviction);
  by_key_.insert_or_assign(key, at);
  record.key = key;
  record.object_uid = object.meta.uid;
  record.created = object.meta.created;
  if (!object.pod_sets.empty()) record.says_count = object.pod_sets.front().count;
  if (!known && !prebuilt) {
    record.slice = object.meta.annotation(dialect::kWorkloadSlice);
    record.replaces = object.meta.annotation(dialect::kKueueSliceFor);
    if (record.count == 0) record.count = record.says_count;
    record.asked_at = record.slice.empty() ? 0 : object.meta.created;
  }
  record.version = number;
  record.stands = digest(object.status);
  record.reserved = object.status.is(WorkloadCondition::kQuotaReserved);
  record.checks = checks_text(object.status);
  record.life.take_checks(object.status.checks,
                          [&](std::string_view check) { return intake_.provisioning(check) != nullptr; });
  record.boost = dialect::boost_of(object);
  record.owners = object.owners;
  const auto spec = object.meta.annotations.find(dialect::kWorkloadSpec);
  record.spec = spec == object.meta.annotations.end() ? std::string() : spec->second;
  // Its own digest counts only while the rest is unchanged.
  record.says_active = object.active;
  const bool deactivating = record.life.wants_deactivation() && object.active;
  if (!deactivating) (void)record.life.set_active(object.active, now);
  if (prebuilt && !object.deactivate.empty())
    record.life.deactivate_for(object.deactivate, object.deactivate_why);
  stand(at, record, now);
  if (const auto main = records_.find(workload); is_next(at) && main != records_.end())
    stand(workload, main->second, now);
  if (known && record.written == record.stands) record.failures = 0;
  if (is_past(at)) return past_seen(at, workload, object.finished, now);
  if (object.status.checks.empty()) return changed(work_of(at), now);
  if (options_.enabled) schedule(workload, now);  // a start waits for this answer
}

void WorkloadObjects::adopt(const std::string& workload, Record& record, const WorkloadSketch& sketch) {
  const std::string key = fmt::format("{}/{}", sketch.ns, sketch.name);
  if (record.flying || version_.empty() || !foreign_.contains(key)) return;
  record.flying = true;
  ++flying_;
  const kube::ResourcePath path{dialect::kKueueGroup, version_, "workloads"};
  outbox_.read(path.object(sketch.ns, sketch.name), workload, Step::kWorkload);
}

void WorkloadObjects::gone(std::string_view ns, std::string_view name, TimeMs now) {
  const std::string key = fmt::format("{}/{}", ns, name);
  if (const auto it = foreign_.find(key); it != foreign_.end()) {
    const std::vector<std::string> owners = std::move(it->second);
    foreign_.erase(it);
    for (const auto& owner : owners) {
      foreign_owners_.erase(owner);
      const std::string uid = owner.substr(owner.find('/') + 1);
      told_.erase(uid);
      if (intake_.workload(uid)) changed(uid, now);
    }
    return;
  }
  const auto it = by_key_.find(key);
  if (it == by_key_.end()) return;
  const std::string workload = it->second;
  by_key_.erase(it);
  Record& record = records_.at(workload);
  if (is_next(workload) || is_past(workload)) {  // one that waits is made again, where it still does
    if (record.flying) --flying_;
    records_.erase(workload);
    lanes_.set(workload, {}, {}, LaneBook::State::kNone, {});
    return changed(work_of(workload), now);
  }
  record.key.clear();
  record.object_uid.clear();
  record.prebuilt = false;
  record.version = 0;
  record.stands = record.written = 0;
  record.checks.clear();
  record.life.lost_checks();
  record.spec.clear();
  record.owners.clear();
  record.boost = 0;
  record.reserved = false;
  record.says_active = true;
  (void)record.life.set_active(true, now);
  stand(workload, record, now);
  changed(workload, now);
}

void WorkloadObjects::forget_if_done(const std::string& workload) {
  const auto it = records_.find(workload);
  if (it == records_.end() || it->second.flying || it->second.looking || !it->second.key.empty()) return;
  if (intake_.workload(workload)) return;
  intake_.set_standing(workload, {});
  own_times_.erase(workload);
  records_.erase(it);
  told_.erase(workload);
}

bool WorkloadObjects::is_foreign(const WorkloadSketch& sketch) const {
  const std::string key = fmt::format("{}/{}", sketch.ns, sketch.name);
  if (const auto other = by_key_.find(key); other != by_key_.end() && other->second != sketch.uid)
    return true;
  if (foreign_.empty()) return false;
  if (foreign_.contains(key)) return true;
  return std::any_of(sketch.owners.begin(), sketch.owners.end(), [&](const auto& owner) {
    return foreign_owners_.contains(fmt::format("{}/{}", sketch.ns, owner.uid));
  });
}

// Pods that have ended well are gone like those that were deleted: how they ended is read once.
void WorkloadObjects::ended(const std::string& workload, Record& record) {
  if (record.path.empty() || record.object_uid.empty() || record.looking || record.life.is_finished() ||
      !record.life.status().is(WorkloadCondition::kAdmitted))
    return;
  record.looking = true;
  outbox_.read(record.path, workload, Step::kLook);
}

void WorkloadObjects::endings_read(const std::string& workload, Record& record, const Answer& answer,
                                   TimeMs now) {
  record.looking = false;
  if (answer.result.outcome == kube::Outcome::kOk && !intake_.workload(workload)) {
    const auto endings = dialect::read_endings(answer.result.body);
    // When a group is deleted, its Workload is deleted too.
    const std::int64_t ended = endings && endings->others == 0 ? endings->succeeded + endings->failed : 0;
    if (ended > 0 && record.to_come > 0 &&
        ended < record.pods) {  // the others of its group are still to come
      (void)record.life.look({}, options_.pods_ready, now);
    } else if (ended > 0) {
      record.life.finished(endings->failed == 0,
                           fmt::format("Pods succeeded: {}/{}.", endings->succeeded, record.pods), now);
    }
  }
  compare(workload, record, now);
  forget_if_done(workload);
}

}  // namespace berth::scheduler

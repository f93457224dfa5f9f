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

constexpr DurationMs kAgainAfter = 20;  // when the budget is spent
constexpr int kPerCall = 32;            // a few at a time: decisions come first
constexpr int kPerBusyCall = 4;
// Looks at what has changed, while binds are on their way. On two cores with an API server each look takes a part from the binds.
constexpr std::int64_t kBusyLooksPerSecond = 500;
constexpr std::size_t kBurstBacklog = 16;  // objects to write, in a burst

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

// A slice that another client made includes the pods of the former one.
void add_former(const WorkloadSketch& sketch, WorkloadFacts& facts) {
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

}  // namespace

WorkloadObjects::WorkloadObjects(dialect::IntakePromises& intake, const engine::Engine& engine,
                                 dialect::JsonDecoder& decoder, LaneBook& lanes, Outbox& outbox,
                                 WorkloadObjectOptions options)
    : intake_(intake),
      engine_(engine),
      decoder_(decoder),
      lanes_(lanes),
      outbox_(outbox),
      options_(options),
      book_(intake, engine, lanes, options.enabled, options.settle),
      records_(book_.records()),
      provisioner_(outbox),
      writes_(book_, outbox,
              {.most_flying = options.most_flying,
               .first_rest = options.first_rest,
               .most_rest = options.most_rest}),
      succession_(intake, book_, writes_, line_, provisioner_),
      slices_(intake, lanes, book_, writes_, succession_),
      admission_(intake, book_, writes_, line_, provisioner_, options.pods_ready) {}

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
    const WorkloadRecord& record = it->second;
    out.ns = namespace_of(record.key);
    out.name = name_of(record.key);
    out.created = record.created;
    out.priority = priority - record.boost;
    for (const auto& owner : record.owners)
      out.owners.push_back({api_version(owner.kind), owner.kind, owner.name, owner.uid});
  } else if (const auto sketch = book_.sketch_of(name); sketch && !sketch->name.empty()) {
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
  if (!writes_.set_version(version)) return;
  admission_.version_changed();
  for (const auto& [workload, record] : records_) book_.schedule(workload, now);
}

void WorkloadObjects::handed_over(const dialect::HandOver& what, TimeMs now) {
  if (records_.contains(what.from)) own_times_.erase(what.from);
  succession_.handed_over(what, now);
}

void WorkloadObjects::owner_seen(const dialect::Ask& ask, TimeMs now) {
  const auto it = records_.find(ask.meta->uid);
  if (it == records_.end()) return;
  if (ask.finished) {
    it->second.life.finished(!ask.failed, std::string(ask.ending), now);
    admission_.set_unready(it->first, false, now);
    book_.stand(it->first, it->second, now);
    writes_.compare(it->first, it->second, now);
    slices_.leave_next(it->first, now);
  } else {
    const dialect::Ask* before = intake_.owner(ask.meta->uid);
    if (ask.elastic && before != nullptr && ask.most() > before->most()) {
      it->second.raised_at = now;
      book_.stand(it->first, it->second, now);
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
      path = intake_.queues().queue_path(whom->queue);
    }
    if (const auto self = intake_.workload(decision.workload)) own = intake_.queues().queue_path(self->queue);
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

WorkloadFacts WorkloadObjects::facts_of(const WorkloadSketch& sketch, const WorkloadRecord& record) const {
  WorkloadFacts facts;
  facts.cluster_queue = sketch.cluster_queue;
  facts.most_seconds = sketch.most_seconds;
  facts.stopped = sketch.stopped;
  for (const auto& set : sketch.sets) {
    dialect::WorkloadStatus::Assignment assignment;
    std::string_view node;
    for (std::int64_t part = set.first; part < set.first + set.parts; ++part) {
      for (std::int64_t i = 0;; ++i) {  // also of pods beyond its size, which are about to end
        const auto slot = engine_.slot(sketch.uid, part, i);
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
    }
    assignment.name = set.name;
    for (const auto& choice : record.flavors) {
      const auto& known = assignment.flavors;
      const bool is_known = std::any_of(known.begin(), known.end(),
                                        [&](const auto& f) { return f.resource == choice.resource; });
      if (set.has(choice.pod_set) && !is_known)
        assignment.flavors.push_back({choice.resource, choice.flavor});
    }
    std::sort(assignment.flavors.begin(), assignment.flavors.end(),
              [](const auto& a, const auto& b) { return a.resource < b.resource; });
    if (assignment.flavors.empty())
      assignment.flavors = intake_.queues().flavors_on(sketch.uid, set.first, node);
    for (const auto& flavor : assignment.flavors) {
      const std::int64_t each = flavor.resource == "pods" ? 1 : set.counted.get(flavor.resource);
      assignment.usage.set(flavor.resource, each * assignment.count);
    }
    facts.assignments.push_back(std::move(assignment));
    if (set.reclaimable > 0) facts.reclaimable.push_back({set.name, set.reclaimable});
  }
  if (!facts.runs && !facts.releasing) facts.assignments.clear();
  return facts;
}

std::optional<PodsReady> WorkloadObjects::times_of(const std::string& workload,
                                                   const WorkloadSketch& sketch) {
  if (sketch.ready_times.empty()) {
    own_times_.erase(workload);
  } else {
    own_times_.insert(workload);
  }
  return dialect::with_own_times(options_.pods_ready, sketch.ready_times);
}

void WorkloadObjects::note_pods(const WorkloadSketch& sketch, WorkloadRecord& record) {
  if (sketch.owner != nullptr || sketch.owners.empty()) return;
  record.to_come = sketch.to_come;
  record.pods = std::max(record.pods, static_cast<std::int64_t>(sketch.owners.size()) + sketch.to_come);
  record.path = sketch.owners.size() == 1 && sketch.sets.front().count == 1
                    ? kube::kPods.object(sketch.ns, sketch.owners.front().name)
                    : fmt::format("{}?labelSelector={}", kube::kPods.collection(sketch.ns),
                                  kube::escape(fmt::format("{}={}", dialect::kKueuePodGroup, sketch.name)));
}

void WorkloadObjects::look_without_object(const std::string& workload,
                                          const std::optional<WorkloadSketch>& sketch, TimeMs now) {
  if (!sketch) {
    book_.leave_lanes(workload);
  } else {  // it counts all the same
    const WorkloadFacts facts = facts_of(*sketch, {});
    if (sketch->is_prebuilt) {
      succession_.settle(workload, *sketch, now);
      if (!slices_.follow_size(workload, *sketch, facts, now)) changed(workload, now);
    }
    count(*sketch, facts, true);
  }
  const auto it = records_.find(workload);
  if (it == records_.end()) return;
  slices_.leave_next(workload, now);
  if (!sketch) admission_.leaves(workload, it->second, now);
  if (const dialect::Ask* ask = intake_.owner(workload); ask != nullptr && ask->finished) {
    it->second.life.finished(!ask->failed, std::string(ask->ending), now);
    writes_.compare(workload, it->second, now);
  }
  if (!intake_.workload(workload)) ended(workload, it->second);
  forget_if_done(workload);
}

void WorkloadObjects::look(const std::string& workload, TimeMs now) {
  if (is_next(workload)) return look(work_of(workload), now);
  if (is_past(workload)) {
    const auto past = records_.find(workload);
    return past == records_.end() ? void() : writes_.compare(workload, past->second, now);
  }
  auto sketch = intake_.sketch(workload);
  if (!sketch || sketch->name.empty()) return look_without_object(workload, sketch, now);
  succession_.settle(workload, *sketch, now);
  WorkloadRecord& record = records_[workload];
  if (sketch->is_prebuilt && record.object_uid.empty()) {
    writes_.adopt(workload, record, *sketch);
    if (record.flying) return;  // what it was comes first
  }
  WorkloadFacts facts = facts_of(*sketch, record);
  if (!slices_.follow_size(workload, *sketch, facts, now)) return changed(workload, now);
  if (sketch->is_elastic) sketch = book_.sketch_of(workload);
  const auto pods_ready = times_of(workload, *sketch);
  facts.gated = !sketch->gates.empty();
  if (pods_ready && facts.runs) facts.ready = intake_.is_ready(workload);
  // For an elastic owner, the pods with places: others may wait.
  if (const dialect::Ask* ask = sketch->is_elastic ? intake_.owner(workload) : nullptr)
    facts.ready = facts.active > 0 && ask->ready >= facts.active;
  std::optional<Reason> why;
  if (!facts.runs && !facts.releasing) {
    record.flavors.clear();
    why = book_.why_waiting(workload);
    if (why) facts.why = &*why;
  } else {
    note_pods(*sketch, record);
  }
  std::vector<dialect::PodSetUpdate> updates;
  admission_.ask(workload, *sketch, record, facts, updates);
  record.evicting = record.evicting && (facts.runs || facts.releasing);
  auto own = facts.assignments;
  add_former(*sketch, facts);
  bool is_news = record.life.look(facts, pods_ready, now);
  if (admission_.ask_for_nodes(workload, *sketch, record, facts, now)) {
    updates.clear();
    admission_.ask(workload, *sketch, record, facts, updates);
    is_news = record.life.look(facts, pods_ready, now) || is_news;
  }
  facts.assignments = std::move(own);
  count(*sketch, facts, record.life.is_admitted());
  if (is_news || !facts.checks.empty()) {
    book_.stand(workload, record, now);
    facts.why = nullptr;  // it may wait for another reason now
  }
  admission_.tell(workload, record, facts.runs || facts.releasing, std::move(updates), now);
  if (const TimeMs next = record.life.deadline(); next != kEndOfTime)
    book_.schedule(workload, std::max(next, now + 1));
  writes_.compare(workload, record, now);
  slices_.look_at_next(workload, facts, pods_ready, now);
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

// --------------------------------------------------------------------------------------------------------------- the watch

void WorkloadObjects::foreign_seen(const KueueWorkload& object, const std::string& key,
                                   std::string_view version, TimeMs now) {
  if (const std::string* const known = book_.ownership().record_of(key)) {
    if (*known == past_of(object.meta.uid) && !object.finished) {  // it is still to be told
      WorkloadRecord& past = records_.at(*known);
      past.version = version_number(version);
      past.stands = digest_of(object.status);
      return writes_.compare(std::string(*known), past, now);
    }
    gone(object.meta.ns, object.meta.name, now);
  }
  std::vector<std::string> owners;
  for (const auto& owner : object.owners) {
    if (object.finished) break;  // it blocks no other work
    owners.push_back(fmt::format("{}/{}", object.meta.ns, owner.uid));
  }
  book_.ownership().set_foreign(key, std::move(owners));
  for (const auto& owner : object.owners) {
    if (!object.finished && intake_.workload(owner.uid)) changed(owner.uid, now);
  }
}

void WorkloadObjects::read_object(const KueueWorkload& object, WorkloadRecord& record, bool known) {
  record.key = fmt::format("{}/{}", object.meta.ns, object.meta.name);
  record.object_uid = object.meta.uid;
  record.created = object.meta.created;
  if (!object.pod_sets.empty()) record.says_count = object.pod_sets.front().count;
  if (!known && !record.prebuilt) {
    record.slice = object.meta.annotation(dialect::kWorkloadSlice);
    record.replaces = object.meta.annotation(dialect::kKueueSliceFor);
    if (record.count == 0) record.count = record.says_count;
    record.asked_at = record.slice.empty() ? 0 : object.meta.created;
  }
  record.stands = digest_of(object.status);
  record.reserved = object.status.is(WorkloadCondition::kQuotaReserved);
  record.checks = checks_text(object.status);
  record.life.take_checks(object.status.checks, [&](std::string_view check) {
    return intake_.queues().provisioning(check) != nullptr;
  });
  record.boost = dialect::boost_of(object);
  record.owners = object.owners;
  const auto spec = object.meta.annotations.find(dialect::kWorkloadSpec);
  record.spec = spec == object.meta.annotations.end() ? std::string() : spec->second;
  // Its own digest counts only while the rest is unchanged.
  record.says_active = object.active;
}

void WorkloadObjects::seen(const KueueWorkload& object, std::string_view version, TimeMs now) {
  const std::string key = fmt::format("{}/{}", object.meta.ns, object.meta.name);
  std::string workload(dialect::workload_of(object));
  const bool prebuilt = workload.empty();
  if (prebuilt) workload = intake_.prebuilt_owner(object.meta.ns, object.meta.name);
  // Its owner is in another namespace: its creator has read that uid, or guessed it.
  if (succession_.is_of_another_namespace(workload, object.meta.ns)) workload.clear();
  if (workload.empty()) return foreign_seen(object, key, version, now);
  if (book_.ownership().is_foreign(key)) gone(object.meta.ns, object.meta.name, now);
  const std::string at = prebuilt ? workload : slices_.record_of(workload, key, object, now);
  if (at.empty()) return;
  if (prebuilt && records_.contains(at) && records_.at(at).key != key) {
    const auto [reason, message] = Succession::why_over(object.meta.annotation(dialect::kKueueSliceFor),
                                                        object.meta.name, records_.at(at).key);
    succession_.retire(at, reason, message, now);
  }
  WorkloadRecord& record = records_[at];
  record.prebuilt = prebuilt;
  const std::uint64_t number = version_number(version);
  const bool known = record.object_uid == object.meta.uid;
  if (known && number < record.version) return;
  if (!known && record.life.status().conditions.empty())
    record.life.adopt(object.status, object.active,
                      options_.pods_ready && options_.pods_ready->from_eviction);
  book_.ownership().give(key, at);
  record.version = number;
  read_object(object, record, known);
  const bool deactivating = record.life.wants_deactivation() && object.active;
  if (!deactivating) (void)record.life.set_active(object.active, now);
  if (prebuilt && !object.deactivate.empty())
    record.life.deactivate_for(object.deactivate, object.deactivate_why);
  book_.stand(at, record, now);
  if (const auto main = records_.find(workload); is_next(at) && main != records_.end())
    book_.stand(workload, main->second, now);
  if (known && record.written == record.stands) record.failures = 0;
  if (is_past(at)) return succession_.past_seen(at, workload, object.finished, now);
  if (object.status.checks.empty()) return changed(work_of(at), now);
  if (options_.enabled) book_.schedule(workload, now);  // a start waits for this answer
}

void WorkloadObjects::gone(std::string_view ns, std::string_view name, TimeMs now) {
  const std::string key = fmt::format("{}/{}", ns, name);
  Ownership& ownership = book_.ownership();
  if (ownership.is_foreign(key)) {
    for (const auto& uid : ownership.forget_foreign(key)) {
      if (intake_.workload(uid)) changed(uid, now);
    }
    return;
  }
  const std::string* const has = ownership.record_of(key);
  if (has == nullptr) return;
  const std::string workload = *has;
  ownership.take(key);
  WorkloadRecord& record = records_.at(workload);
  if (is_next(workload) || is_past(workload)) {  // one that waits is made again, where it still does
    book_.set_flying(record, false);
    records_.erase(workload);
    book_.leave_lanes(workload);
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
  book_.stand(workload, record, now);
  changed(workload, now);
}

void WorkloadObjects::forget_if_done(const std::string& workload) {
  const auto it = records_.find(workload);
  if (it == records_.end() || it->second.flying || it->second.looking || !it->second.key.empty()) return;
  if (intake_.workload(workload)) return;
  intake_.set_standing(workload, {});
  own_times_.erase(workload);
  records_.erase(it);
  book_.ownership().forget_told(workload);
}

// Pods that have ended well are gone like those that were deleted: how they ended is read once.
void WorkloadObjects::ended(const std::string& workload, WorkloadRecord& record) {
  if (record.path.empty() || record.object_uid.empty() || record.looking || record.life.is_finished() ||
      !record.life.status().is(WorkloadCondition::kAdmitted))
    return;
  record.looking = true;
  outbox_.read(record.path, workload, Step::kLook);
}

void WorkloadObjects::endings_read(const std::string& workload, WorkloadRecord& record, const Answer& answer,
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
  writes_.compare(workload, record, now);
  forget_if_done(workload);
}

// -------------------------------------------------------------------------------------------------------------- the writes

void WorkloadObjects::answered(const Answer& answer, TimeMs now) {
  if (answer.step == Step::kProvision) {
    if (const auto again = provisioner_.answered(answer, now))
      book_.wake(again->workload, std::max(again->at, now));
    return;
  }
  const std::string workload = book_.ownership().take_redirected(answer.uid);
  const auto it = records_.find(workload);
  if (it == records_.end()) return;
  WorkloadRecord& record = it->second;
  if (answer.step == Step::kLook) return endings_read(it->first, record, answer, now);
  if (!record.flying) return;
  book_.set_flying(record, false);
  const auto outcome = answer.result.outcome;
  if (outcome == kube::Outcome::kOk) {
    record.failures = 0;
    if (const auto object = decoder_.decode(answer.result.body, dialect::Kind::kWorkload)) {
      const auto& value = std::get<KueueWorkload>(*object);
      if (record.object_uid.empty() && !dialect::workload_of(value).empty()) {
        record.object_uid = value.meta.uid;
        book_.ownership().give(record.key, it->first);
      }
      seen(value, version_in(answer.result.body), now);
    }
    const auto still = records_.find(workload);
    if (still != records_.end()) writes_.compare(still->first, still->second, now);
    return;
  }
  if (outcome == kube::Outcome::kFenced) return;
  const bool missing = outcome == kube::Outcome::kNotFound || outcome == kube::Outcome::kGone;
  if (record.object_uid.empty())
    record.key.clear();  // it was not made; or it is there, and the watch will say so
  if (missing && !record.object_uid.empty()) {
    const std::string key = record.key;
    gone(namespace_of(key), name_of(key), now);
    if (!records_.contains(workload)) return;
  }
  if (outcome == kube::Outcome::kConflict && record.object_uid.empty()) book_.name_anew(workload);
  writes_.failed(it->first, record, answer, now);
}

bool WorkloadObjects::work(TimeMs now, Load load, Allowance& allowance) {
  const bool busy = load != Load::kIdle;
  const int most = busy ? kPerBusyCall : kPerCall;
  bool any = false;
  Due& due = book_.due();
  for (int left = most; left > 0 && due.next() <= now; --left) {
    look(due.take(), now);
    any = true;
  }
  bool starved = false;
  Due& changes = book_.changes();
  busy_looks_.refill(now, kBusyLooksPerSecond, kBusyLooksPerSecond * kAgainAfter / kSecond);
  for (int left = most; left > 0 && changes.next() <= now; --left) {
    // In a burst most of them change again before they can be written.
    if ((load == Load::kBurst && backlog() >= kBurstBacklog) || (busy && !busy_looks_.take())) {
      starved = true;
      break;
    }
    look(changes.take(), now);
    any = true;
  }
  any = any || backlog() > 0;
  if (!writes_.send(most, allowance)) starved = true;
  book_.set_next_due(std::min(due.next(), starved ? now + kAgainAfter : changes.next()));
  if (!starved && backlog() > 0) book_.set_next_due(now);
  return book_.take_news() || (next_due() <= now && any);
}

}  // namespace berth::scheduler

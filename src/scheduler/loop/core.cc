#include "scheduler/loop/core.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "dialect/kueue/workload_object.h"
#include "dialect/write/writes.h"
#include "kube/clock.h"
#include "kube/paths.h"

namespace berth::scheduler {
namespace {

constexpr DurationMs kObjectsWithin =
    10 * kSecond;                   // Workloads and statuses of queues follow, also beside a stream of binds
constexpr int kReportsPerCall = 8;  // an explanation costs some 100 us; a bind must not wait for more
constexpr DurationMs kAuditPatience = kMinute;  // with binds on their way
constexpr std::size_t kMostAsked = 100;         // missing owners that are being read

// On these objects it is written how they do.
bool has_status(dialect::Kind kind) {
  return kind == dialect::Kind::kLocalQueue || kind == dialect::Kind::kClusterQueue ||
         kind == dialect::Kind::kQueue || kind == dialect::Kind::kAdmissionCheck;
}

// On objects of these gangs, too.
bool is_told_gang(dialect::Kind kind) {
  const dialect::GangSystem* system = dialect::gang_system(kind);
  return system != nullptr && system->status != nullptr;
}

// These say whether nodes come on demand.
bool says_supply(dialect::Kind kind) {
  return kind == dialect::Kind::kClusterQueue || kind == dialect::Kind::kResourceFlavor;
}

// By these it changes which checks Berth answers itself, and how.
bool is_of_checks(dialect::Kind kind) {
  return kind == dialect::Kind::kAdmissionCheck || kind == dialect::Kind::kProvisioningRequestConfig;
}

}  // namespace

Core::Core(CoreOptions options, Outbox& outbox, observe::RecordedEngine::Sink sink,
           observe::Follower* follower, observe::Metrics* metrics)
    : options_(std::move(options)),
      intake_(options_.intake),
      decoder_(options_.intake.devices),
      engine_(options_.engine, std::move(sink), follower),
      outbox_(outbox),
      carrier_(intake_, decoder_, outbox, *this, options_.carrier),
      reporter_(intake_, engine_.engine(), carrier_, outbox, options_.reporter),
      workload_objects_(intake_, engine_.engine(), decoder_, lanes_, outbox, options_.workload_objects),
      on_demand_(intake_, engine_.engine(), outbox, options_.on_demand),
      queue_statuses_(intake_, engine_.engine(), lanes_, outbox, options_.queue_statuses),
      gangs_{GangStatuses(intake_, engine_.engine(), outbox, options_.gang_statuses),
             EndedPods(intake_, decoder_, outbox)},
      audit_(intake_, engine_.engine(), options_.intake.counts, outbox, options_.audit),
      metrics_(metrics) {
  reporter_.set_why_not(
      [this](const std::string& workload, TimeMs at) { return on_demand_.why_not(workload, at); });
}

void Core::take(Batch& batch, TimeMs now) {
  for (const Batch::Item& item : batch.items()) {
    switch (item.what) {
      case Batch::Item::What::kChange:
        take_change(batch, item, now);
        break;
      case Batch::Item::What::kAnswer:
        take_answer(std::move(batch.answer(item)), now);
        break;
      case Batch::Item::What::kQuestion:
        batch.question(item)();
        break;
    }
  }
}

void Core::take_answer(Answer&& answer, TimeMs now) {
  switch (answer.step) {
    case Step::kStatus:
      if (answer.result.outcome != kube::Outcome::kOk && answer.result.reason != "Superseded")
        reporter_.failed(answer.uid, now);
      return;
    case Step::kWorkload:
    case Step::kLook:
    case Step::kProvision:
      return workload_objects_.answered(answer, now);
    case Step::kQueue:
      return queue_statuses_.answered(answer, now);
    case Step::kGang:
      return gangs_.statuses.answered(answer, now);
    case Step::kNodePools:
      return on_demand_.answered(answer, now);
    case Step::kEnded:
      return gangs_.ended.answered(std::move(answer), now);
    case Step::kMissing:
      return missing_owner_read(answer);
    case Step::kAudit:  // what is still there is found again
      if (answer.result.outcome != kube::Outcome::kOk && answer.result.outcome != kube::Outcome::kNotFound)
        spdlog::warn("a Workload without an owner cannot be deleted: {}", answer.result.message);
      return;
    default:
      pace_.load.answered(now);
      return carrier_.answered(std::move(answer), now);
  }
}

void Core::set_kueue_version(std::string_view version, TimeMs now) {
  intake_.set_check_mode(version.empty() ? dialect::CheckMode::kNone : dialect::CheckMode::kLive);
  workload_objects_.set_version(version, now);
  audit_.set_version(version);
  queue_statuses_.set_version(version);
}

void Core::set_provisioning_version(std::string_view version, TimeMs now) {
  if (provisioning_version_ == version) return;
  provisioning_version_ = version;
  intake_.set_provisioning_served(!version.empty());
  workload_objects_.set_provisioning_version(version, now);
  queue_statuses_.changed();
}

void Core::checks_changed(TimeMs now) {
  workload_objects_.checks_changed(now);
  queue_statuses_.changed();
}

void Core::take_change(Batch& batch, const Batch::Item& item, TimeMs now) {
  if (item.type == kube::ChangeType::kSynced) {
    synced_[static_cast<std::size_t>(item.kind)] = true;
    if (item.kind == dialect::Kind::kRuntimeClass) intake_.set_all_runtimes_known();
    return;
  }
  const std::string_view uid = batch.uid(item);
  const bool is_pod = item.kind == dialect::Kind::kPod;
  const bool is_owner = dialect::owner_kind(item.kind) != nullptr;
  if (item.type == kube::ChangeType::kDeleted) {
    if (item.kind == dialect::Kind::kWorkload) {
      const std::string had = audit_.workload_gone(batch.ns(item), batch.name(item));
      intake_.remove(item.kind, batch.ns(item), batch.name(item), uid);
      if (!had.empty()) workload_objects_.changed(had, now);  // where that is still there, it gets another
      return workload_objects_.gone(batch.ns(item), batch.name(item), now);
    }
    if (item.kind == dialect::Kind::kProvisioningRequest)
      return workload_objects_.request_gone(batch.ns(item), batch.name(item), now);
    if (has_status(item.kind)) queue_statuses_.gone(item.kind, batch.ns(item), batch.name(item));
    if (is_told_gang(item.kind)) gangs_.statuses.gone(item.kind, batch.ns(item), batch.name(item));
    intake_.remove(item.kind, batch.ns(item), batch.name(item), uid);
    if (is_of_checks(item.kind)) checks_changed(now);
    if (says_supply(item.kind)) on_demand_.supply_changed();
    if (is_pod) {
      carrier_.seen(uid, true, now);
      reporter_.forget(uid);
      if (!echoes_.empty()) echoes_.gone(std::string(uid));
    } else if (is_owner) {
      carrier_.owner_gone(uid);
      reporter_.forget(uid);
      workload_objects_.changed(uid, now);
    }
    return;
  }
  if ((is_pod || is_owner) && carrier_.is_stale(uid, batch.version(item))) return;
  auto object = item.pod ? Result<dialect::Object>(batch.take_pod(item))
                         : decoder_.decode(batch.object(item), item.kind, true);
  if (!object) {  // kept as it was known before
    intake_.unreadable(item.kind, batch.ns(item), batch.name(item), object.error().message);
    return;
  }
  if (item.kind == dialect::Kind::kWorkload) {
    auto& workload = std::get<dialect::KueueWorkload>(*object);
    audit_.workload_seen(workload, now);
    if (dialect::workload_of(workload).empty()) {
      intake_.upsert(workload);
    } else {
      intake_.remove(item.kind, batch.ns(item), batch.name(item));
    }
    return workload_objects_.seen(workload, batch.version(item), now);
  }
  if (item.kind == dialect::Kind::kProvisioningRequest)
    return workload_objects_.request_seen(std::get<dialect::ProvisioningRequest>(*object), now);
  if (has_status(item.kind))
    queue_statuses_.seen(item.kind, batch.ns(item), batch.name(item), batch.object(item),
                         batch.version(item));
  if (const auto* queue = std::get_if<dialect::ClusterQueue>(&*object))
    workload_objects_.queue_seen(*queue, now);
  if (is_owner) {
    dialect::Ask ask = dialect::ask_of(std::move(*object));
    workload_objects_.owner_seen(ask, now);
    intake_.upsert(std::move(ask));
    return carrier_.owner_seen(uid);
  }
  intake_.upsert(std::move(*object));
  if (is_told_gang(item.kind)) gangs_.statuses.seen(item.kind, batch.ns(item), batch.name(item), now);
  if (is_of_checks(item.kind)) checks_changed(now);
  if (says_supply(item.kind)) on_demand_.supply_changed();
  if (!is_pod) return;
  tell_echo(uid);
  carrier_.seen(uid, false, now);
  const bool looks = workload_objects_.looks_at_pods();
  if (!looks && !carrier_.places().has_out()) return;
  const auto pod = intake_.pod(uid);
  if (looks && pod) workload_objects_.changed(pod->workload, now);
  // It asks for nodes: the engine learns nothing new from it, and it is to say so.
  if (pod && carrier_.places().is_out(pod->workload)) changed_.emplace_back(pod->workload);
}

void Core::apply(Event& event, std::optional<TimeMs> now) {
  std::string found;  // the workload of a pod that is bound, and was not to be bound
  if (auto* update = std::get_if<SlotUpdate>(&event)) {
    const auto state = [&](const SlotUpdate& u) {
      const auto slot = engine_.engine().slot(u.workload, u.pod_set, u.index);
      return slot ? slot->state : SlotState::kAbsent;
    };
    if (!carrier_.correct(*update, state)) return;
    if (now && update->state == SlotState::kRunning && state(*update) == SlotState::kWaiting)
      found = update->workload;
  }
  if (const auto* removal = std::get_if<WorkloadRemove>(&event)) carrier_.forget_held(removal->uid);
  if (const auto status = engine_.apply(event); !status) {
    spdlog::debug("the engine refused an event: {}", status.error().message);
    intake_.refused(event, status.error().message);
    return;
  }
  if (!found.empty()) carrier_.found_bound(found, *now);
  if (metrics_ != nullptr) tell_slots(event);
}

void Core::tell_slots(const Event& event) {
  if (const auto* removal = std::get_if<WorkloadRemove>(&event))
    return metrics_->work().forget_pods(removal->uid);
  const auto* slot = std::get_if<SlotUpdate>(&event);
  if (slot == nullptr || slot->state == SlotState::kReleasing || slot->state == SlotState::kBinding) return;
  if (slot->state != SlotState::kRunning)
    return metrics_->work().forget_pod(slot->workload, slot->pod_set, slot->index);
  const auto pod = intake_.pod_at(slot->workload, slot->pod_set, slot->index);
  if (pod && pod->asks != nullptr && !pod->asks->claim.requests.empty())
    metrics_->work().set_pod(slot->workload, slot->pod_set, slot->index, pod->ns, pod->name);
}

void Core::tell_echo(std::string_view uid) {
  if (echoes_.empty()) return;
  const auto pod = intake_.pod(uid);
  if (!pod || pod->node.empty()) return;
  const auto late = echoes_.seen(std::string(uid), std::chrono::steady_clock::now());
  if (late) metrics_->watched(*late);
}

bool Core::feed(TimeMs now) {
  bool any = false;
  for (int round = 0; round < 100; ++round) {  // refusals make events, which may be refused; each once
    EventQueue events = intake_.take_events();
    for (const auto& what : intake_.take_hand_overs()) {
      workload_objects_.handed_over(what, now);
      carrier_.hand_over(what, now);
    }
    for (const auto& key : intake_.take_out_of_sync()) workload_objects_.out_of_sync(key, now);
    for (const auto& gang : intake_.take_changed_gangs()) gangs_.statuses.changed(gang, now);
    for (Event& event : carrier_.take_events()) events.push_back(std::move(event));
    for (Event& event : on_demand_.take_events()) events.push_back(std::move(event));
    if (events.empty()) break;
    any = true;
    queue_statuses_.changed();
    while (!events.empty()) {
      Event event = events.take();
      if (const std::string* workload = workload_of(event)) {
        workload_objects_.changed(*workload, now);
        gangs_.statuses.changed(*workload, now);
      }
      apply(event, now);
    }
  }
  return any;
}

void Core::decide(TimeMs now) {
  const auto start = std::chrono::steady_clock::now();
  auto decisions = engine_.decide(now);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (metrics_ != nullptr) metrics_->decided(decisions, took.count());
  grant_sizes(decisions);
  for (Decision& decision : decisions) {
    workload_objects_.decided(decision, now);
    const bool starts = decision.kind == DecisionKind::kStart;
    const bool waits = starts && workload_objects_.must_wait(decision, now);
    if (on_demand_.decided(decision, now)) {
      carrier_.carry_out(decision, now);  // its pods ask for nodes
    } else if (waits) {
      carrier_.hold(decision);
    } else {
      if (starts) carrier_.join_held(decision);
      carrier_.carry_out(decision, now);
    }
  }
}

void Core::grant_sizes(std::vector<Decision>& decisions) {
  std::vector<std::size_t> firsts;
  std::vector<std::size_t> more;  // decisions that have become parts of others
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    Decision& decision = decisions[i];
    if (decision.kind != DecisionKind::kStart || !intake_.may_start_smaller(decision.workload)) continue;
    const auto same = [&](std::size_t first) { return decisions[first].workload == decision.workload; };
    const auto first = std::find_if(firsts.begin(), firsts.end(), same);
    if (first == firsts.end()) {
      firsts.push_back(i);
      continue;
    }
    auto& slots = decisions[*first].slots;
    slots.insert(slots.end(), decision.slots.begin(), decision.slots.end());
    more.push_back(i);
  }
  for (const std::size_t first : firsts)
    intake_.grant(decisions[first].workload, static_cast<std::int64_t>(decisions[first].slots.size()));
  for (auto i = more.rbegin(); i != more.rend(); ++i)
    decisions.erase(decisions.begin() + static_cast<std::ptrdiff_t>(*i));
}

void Core::turn(TimeMs now) {
  intake_.pass(now);
  carrier_.tick(now);
  on_demand_.tick(now);
  gangs_.ended.work(now);
  ask_for_missing_owners(now);
  // Events from carrying out one round of decisions may need another round (a pod that vanished meanwhile).
  bool due = now >= engine_.engine().next_time();
  const auto note_verdicts = [&] {
    for (std::string& workload : engine_.engine().take_changed()) {
      (void)on_demand_.changed(workload, now);
      changed_.push_back(std::move(workload));
    }
  };
  note_verdicts();
  for (std::string& workload : on_demand_.take_news()) changed_.push_back(std::move(workload));
  for (int round = 0; round < 10 && (feed(now) || due); ++round) {
    decide(now);
    due = false;
    note_verdicts();
  }
  if (look_at_audit(now)) {
    decide(now);
    (void)feed(now);
  }
  for (const std::string& workload : std::exchange(changed_, {})) {
    reporter_.changed(workload, now);
    workload_objects_.changed(workload, now);
    gangs_.statuses.changed(workload, now);
  }
  tell_unreadable();
  const auto problems = intake_.problems();
  if (problems.size() != told_.problems) {
    told_.problems = problems.size();
    for (const auto& problem : problems) spdlog::warn("{}: {}", problem.object, problem.message);
  }
}

bool Core::look_at_audit(TimeMs now) {
  const TimeMs at = audit_.next_due();
  // Binds go first, but not for ever.
  if (now < at || (carrier_.busy() > 0 && now < at + kAuditPatience)) return false;
  const std::size_t looks = audit_.looks();
  bool mended = false;
  std::set<std::string> anew;
  for (const AuditDifference& difference : audit_.work(now)) {
    spdlog::warn("self-audit, {}: {}", enum_name(difference.kind), difference.text);
    if (!difference.regarding.kind.empty())
      reporter_.add_event(dialect::audit_event(difference.regarding, difference.text,
                                               options_.reporter.instance, kube::wall_us()));
    for (Event event : difference.mend) {
      apply(event, now);
      mended = true;
    }
    for (const std::string& workload : difference.anew) anew.insert(workload);
    if (difference.starts_over) starts_over_ = difference.text;
  }
  for (const std::string& workload : anew) intake_.tell_anew(workload);
  mended = (!anew.empty() && feed(now)) || mended;
  if (metrics_ != nullptr && audit_.looks() != looks) {
    for (std::size_t k = 0; k < EnumNames<AuditKind>::names.size(); ++k)
      metrics_->set_audit_differences(EnumNames<AuditKind>::names[k],
                                      audit_.count(static_cast<AuditKind>(k)));
  }
  if (mended) queue_statuses_.changed();
  return mended;
}

// The watch of owners may be late for one, or it may be gone. Its pods must not bypass its queue in the first case, and must not wait
// for ever in the second.
void Core::ask_for_missing_owners(TimeMs now) {
  if (now < missing_.next_look) return;
  missing_.next_look = now + options_.missing_owners_every;
  for (const auto& owner : intake_.missing_owners()) {
    if (owner.kind == nullptr) {
      reporter_.add_event(dialect::unread_owner_event(owner, options_.reporter.instance, kube::wall_us()));
      continue;
    }
    if (missing_.asked_for.size() >= kMostAsked) continue;
    if (!missing_.asked_for.emplace(owner.uid, owner.kind).second) continue;
    outbox_.read(owner.kind->path().object(owner.ns, owner.name), owner.uid, Step::kMissing);
  }
}

void Core::missing_owner_read(const Answer& answer) {
  const auto asked = missing_.asked_for.find(answer.uid);
  if (asked == missing_.asked_for.end()) return;
  const dialect::OwnerKind* kind = asked->second;
  missing_.asked_for.erase(asked);
  bool missing = answer.result.outcome == kube::Outcome::kNotFound;
  if (answer.result.outcome == kube::Outcome::kOk) {
    const auto owner = decoder_.decode(answer.result.body, kind->kind);
    // Another one of its name. One that cannot be read is there: the watch tells what is wrong with it.
    missing = owner && dialect::meta_of(*owner).uid != answer.uid;
  }
  if (missing) intake_.release_orphans(answer.uid);
}

void Core::tell_unreadable() {
  if (intake_.unreadable_changes() == told_.unreadable) return;
  told_.unreadable = intake_.unreadable_changes();
  std::array<std::size_t, dialect::kMostKinds> count{};
  for (const auto& [object, message] : intake_.unreadable()) {
    ++count[static_cast<std::size_t>(object.first)];
    auto& logged = told_.logged[object];
    if (logged == message) continue;
    logged = message;
    spdlog::warn("{} {} cannot be read: {}", enum_name(object.first), object.second, message);
  }
  std::erase_if(told_.logged, [&](const auto& entry) { return !intake_.unreadable().contains(entry.first); });
  if (metrics_ == nullptr) return;
  for (const dialect::KindInfo& info : dialect::kinds())
    metrics_->set_unreadable(enum_name(info.kind), count[static_cast<std::size_t>(info.kind)]);
}

bool Core::report(TimeMs now) {
  const Load load = pace_.load.load(carrier_.busy() > 0, now);
  // Starts wait for answers to these objects: admission checks, and Volcano's Inqueue.
  const bool are_awaited = carrier_.places().holds_any() || gangs_.statuses.backlog() > 0;
  const Load load_of_objects = load == Load::kBurst && are_awaited ? Load::kBinds : load;
  const std::size_t objects = workload_objects_.backlog() + workload_objects_.changes() +
                              queue_statuses_.backlog() + gangs_.statuses.backlog();
  pace_.object_writes.refill(now,
                             giving_way(load_of_objects, options_.busy_object_writes_per_second,
                                        options_.object_writes_per_second, objects, kObjectsWithin),
                             options_.object_writes_per_second / 10 + 1);
  const bool queues = queue_statuses_.work(now, load, pace_.object_writes);
  const bool gangs = gangs_.statuses.work(now, pace_.object_writes);
  const bool workloads = workload_objects_.work(now, load_of_objects, pace_.object_writes);
  for (auto& admission : workload_objects_.take_admissions()) {
    if (admission.admitted) {
      carrier_.admit(admission.workload, std::move(admission.updates), now);
    } else {
      carrier_.unadmit(admission.workload);
    }
  }
  return reporter_.work(now, load, kReportsPerCall) || queues || gangs || workloads;
}

TimeMs Core::next_due() const {
  const TimeMs audit = audit_.next_due() + (carrier_.busy() > 0 ? kAuditPatience : 0);
  return std::min({carrier_.next_due(), on_demand_.next_due(), reporter_.next_due(),
                   workload_objects_.next_due(), queue_statuses_.next_due(), gangs_.statuses.next_due(),
                   audit, gangs_.ended.next_due(), missing_.next_look, engine_.engine().next_time(),
                   intake_.next_time()});
}

void Core::on_bound(const dialect::PodView& pod, std::string_view node, DurationMs since_decision) {
  if (metrics_ != nullptr) {
    metrics_->bound(static_cast<double>(since_decision) / 1000.0);
    if (pod.node.empty()) {
      echoes_.acknowledged(pod.uid, std::chrono::steady_clock::now());
    } else {
      metrics_->watched(0);  // it was there before the answer
    }
  }
  reporter_.forget(pod.uid);
  reporter_.add_event(dialect::scheduled_event(pod, node, options_.reporter.instance, kube::wall_us()));
}

void Core::on_owner(const dialect::Ask& owner, std::string_view reason, std::string note) {
  reporter_.add_event(
      dialect::owner_event(owner, reason, std::move(note), options_.reporter.instance, kube::wall_us()));
}

void Core::on_evicting(const dialect::PodView& pod, const Reason& reason, std::string_view beneficiary) {
  reporter_.add_event(
      dialect::preempted_event(pod, reason, beneficiary, options_.reporter.instance, kube::wall_us()));
  gangs_.statuses.displaced(std::string(pod.workload), dialect::eviction_text(reason, beneficiary));
}

}  // namespace berth::scheduler

#include "cli/plan_world.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/checked.h"
#include "dialect/gangs/gangs.h"
#include "dialect/upstream/core.h"
#include "dialect/write/writes.h"
#include "scheduler/kueue/workload_life.h"

namespace berth::cli {
namespace {

constexpr std::int64_t kMostGenerated = 100'000;  // pods made from the template of one Job

std::string key_of(const dialect::Meta& meta) {
  return fmt::format("{}/{}", meta.ns, meta.name);
}

// The latest time that the object says. A time that is still to come, such as the end of a rest, is none of these.
TimeMs newest_of(const dialect::Object& object) {
  TimeMs out = dialect::meta_of(object).created;
  const auto see = [&](TimeMs at) { out = std::max(out, at); };
  if (const auto* pod = std::get_if<dialect::Pod>(&object)) {
    see(pod->started);
    see(pod->ended);
    see(dialect::restart_of(pod->meta, 0).last_checkpoint.value_or(0));
  } else if (const auto* job = std::get_if<dialect::Job>(&object)) {
    see(job->started);
  } else if (const auto* workload = std::get_if<dialect::KueueWorkload>(&object)) {
    for (const auto& condition : workload->status.conditions) see(condition.since);
  }
  return out;
}

// The index of a Job's pod: its completion index, or the number that ends its name.
std::optional<std::int64_t> job_index(const dialect::Pod& pod, const dialect::Job& job) {
  if (const auto index = dialect::index_of(pod)) return index;
  std::string_view name = pod.meta.name;
  if (!name.starts_with(job.meta.name + "-")) return std::nullopt;
  name.remove_prefix(job.meta.name.size() + 1);
  std::int64_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  if (error != std::errc() || end != name.data() + name.size() || index < 0) return std::nullopt;
  return index;
}

}  // namespace

PlanWorld::PlanWorld(dialect::IntakeConfig intake, engine::EngineConfig engine_config, bool from_eviction)
    : intake_(intake), engine_(engine_config), quota_only_(intake.quota_only), from_eviction_(from_eviction) {
  intake_.set_all_runtimes_known();  // the input is all that there is
  if (intake.quota_only) {
    notes_.emplace_back(
        "No nodes are given: quota alone decides, and whether nodes have room is not checked");
  }
}

Status PlanWorld::apply(std::vector<dialect::Object> objects) {
  // Without creation times, the order of the text is the order of creation.
  for (auto& object : objects) {
    newest_ = std::max(newest_, newest_of(object));
    std::visit(
        [&](auto& value) {
          if (value.meta.created == 0) value.meta.created = ++sequence_;
        },
        object);
    if (auto* job = std::get_if<dialect::Job>(&object)) jobs_.insert_or_assign(key_of(job->meta), *job);
  }
  // They change what is made of pods that come, wherever they stand in the text.
  bool effects = false;
  for (const auto& object : objects) {
    const auto kind = dialect::kind_of(object);
    if (kind != dialect::Kind::kLimitRange && kind != dialect::Kind::kRuntimeClass) continue;
    intake_.upsert(object);
    effects = true;
  }
  if (effects) take_in_again();
  std::vector<const dialect::Job*> jobs;
  for (auto& object : objects) {
    if (auto* pod = std::get_if<dialect::Pod>(&object)) {
      // An owner reference without a uid means the Job of that name.
      auto& owner = pod->meta.controller;
      if (owner.kind == "Job" && owner.uid.empty()) {
        const auto job = jobs_.find(fmt::format("{}/{}", pod->meta.ns, owner.name));
        if (job != jobs_.end()) owner.uid = job->second.meta.uid;
      }
      put_pod(std::move(*pod));
      continue;
    }
    if (const auto* queue = std::get_if<dialect::ClusterQueue>(&object)) {
      for (const auto& group : queue->groups) several_flavors_ = several_flavors_ || group.flavors.size() > 1;
    }
    if (const auto* node = std::get_if<dialect::NodeObject>(&object)) {
      nodes_.insert_or_assign(node->meta.name, node->meta.labels);
    }
    if (const auto* job = std::get_if<dialect::Job>(&object)) {
      if (job->size() > kMostGenerated) {
        return fail(ErrorCode::kExhausted,
                    "Job {}: {} pods at once; berth plan makes at most {} from one Job", key_of(job->meta),
                    job->size(), kMostGenerated);
      }
      jobs.push_back(&jobs_.at(key_of(job->meta)));
    }
    if (const auto* workload = std::get_if<dialect::KueueWorkload>(&object);
        workload != nullptr && !quota_only_)
      objects_.insert_or_assign(key_of(workload->meta), *workload);
    intake_.upsert(std::move(object));
  }
  make_job_pods(jobs);
  for (const auto& job : intake_.missing_jobs()) intake_.release_orphans(job.uid);
  drain();
  return {};
}

void PlanWorld::put_pod(dialect::Pod pod) {
  take_in(pod);
  intake_.upsert(pod);
  std::string uid = pod.meta.uid;
  pods_.insert_or_assign(std::move(uid), std::move(pod));
}

void PlanWorld::make_job_pods(const std::vector<const dialect::Job*>& jobs) {
  std::map<std::string_view, std::vector<const dialect::Pod*>> owned;
  for (const auto& [uid, pod] : pods_) owned[pod.meta.controller.uid].push_back(&pod);
  for (const auto* job : jobs) make_job_pods(*job, owned[job->meta.uid]);
}

// As the Job controller would: where that is another one, or the Job's owner has yet to release it, none are made here.
void PlanWorld::make_job_pods(const dialect::Job& job, const std::vector<const dialect::Pod*>& owned) {
  if (!job.makes_pods()) return;
  const auto note = [&](std::string text) {
    if (noted_.insert(key_of(job.meta)).second) notes_.push_back(std::move(text));
  };
  if (job.is_managed_elsewhere()) {
    return note(fmt::format("Job {} is managed by {}, which makes its pods: none are planned",
                            key_of(job.meta), job.managed_by));
  }
  if (job.suspend && job.has_owner()) {
    return note(fmt::format("Job {} is suspended, and {} {} releases it: none of its pods are planned",
                            key_of(job.meta), job.meta.controller.kind, job.meta.controller.name));
  }
  dialect::JobIndexes taken;
  std::set<std::string_view> names;
  std::int64_t have = 0;
  std::int64_t succeeded = 0;
  dialect::Job counted = job;  // its status may be older than its pods, or left out
  for (const auto* pod : owned) {
    if (pod->phase == dialect::PodPhase::kFailed) continue;
    const bool done = pod->phase == dialect::PodPhase::kSucceeded;
    if (!done) names.insert(pod->meta.name);
    // One that is ending has a successor at once, unless the Job says otherwise.
    if (!done && pod->meta.deleting && !job.replaces_when_gone) continue;
    if (const auto index = job_index(*pod, job)) {
      taken.add(*index);
      if (done && job.indexed) counted.completed.add(*index);
    }
    ++(done ? succeeded : have);
  }
  counted.succeeded = std::max(job.succeeded, succeeded);
  if (job.indexed) {
    taken.add(counted.completed);
    taken.add(counted.failed_indexes);
  }
  const std::int64_t wanted = counted.size() - have;
  if (wanted > kMostMade - made_) {
    return note(
        fmt::format("Job {} lacks {} pods (spec.parallelism): a plan makes at most {} pods of Jobs in all, "
                    "and none of its pods are planned",
                    key_of(job.meta), wanted, kMostMade));
  }
  const auto made = dialect::pods_of_job(job, taken, wanted);
  made_ += static_cast<std::int64_t>(made.size());
  for (dialect::Pod pod : made) {
    while (pods_.contains(pod.meta.uid)) pod.meta.uid += "+";  // a retry
    while (names.contains(pod.meta.name)) pod.meta.name += "-again";
    put_pod(std::move(pod));
  }
  if (made.empty()) return;
  note(fmt::format("Job {} {}: planned with {} pod{} made from its template", key_of(job.meta),
                   job.suspend ? "is suspended" : "lacks pods", made.size(), made.size() == 1 ? "" : "s"));
}

// As the API server would: of a pod that was made from a Job's template, by the rules as they are now.
void PlanWorld::take_in(dialect::Pod& pod) const {
  const auto job = jobs_.find(fmt::format("{}/{}", pod.meta.ns, pod.meta.controller.name));
  if (job != jobs_.end() && pod.needs != nullptr && pod.needs == job->second.needs)
    pod.spec.pod = job->second.spec.pod;
  pod.problem.clear();
  intake_.take_in(pod);
}

// Pods of a Job that waits suspended are still to be made.
void PlanWorld::take_in_again() {
  for (auto& [uid, pod] : pods_) {
    if (pod.needs == nullptr || !pod.spec.node_name.empty()) continue;
    const auto job = jobs_.find(fmt::format("{}/{}", pod.meta.ns, pod.meta.controller.name));
    if (job == jobs_.end() || !job->second.suspend || pod.needs != job->second.needs) continue;
    take_in(pod);
    intake_.upsert(pod);
  }
}

bool PlanWorld::remove(dialect::Kind kind, const std::string& ns, const std::string& name) {
  bool known = kind != dialect::Kind::kPod && kind != dialect::Kind::kNode && kind != dialect::Kind::kJob;
  if (kind == dialect::Kind::kNode) known = nodes_.erase(name) > 0;
  std::string job_uid;
  if (kind == dialect::Kind::kJob) {
    const auto job = jobs_.find(fmt::format("{}/{}", ns, name));
    known = job != jobs_.end();
    if (known) {
      job_uid = job->second.meta.uid;
      jobs_.erase(job);
    }
  }
  for (auto it = pods_.begin(); it != pods_.end();) {
    const auto& meta = it->second.meta;
    const bool named = kind == dialect::Kind::kPod && meta.ns == ns && meta.name == name;
    const bool owned = !job_uid.empty() && meta.controller.uid == job_uid;  // the garbage collector's work
    if (!named && !owned) {
      ++it;
      continue;
    }
    known = true;
    intake_.remove(dialect::Kind::kPod, meta.ns, meta.name, meta.uid);
    it = pods_.erase(it);
  }
  if (kind == dialect::Kind::kWorkload) objects_.erase(fmt::format("{}/{}", ns, name));
  if (kind != dialect::Kind::kPod) intake_.remove(kind, ns, name);
  if (kind == dialect::Kind::kLimitRange || kind == dialect::Kind::kRuntimeClass) take_in_again();
  drain();
  return known;
}

bool PlanWorld::finish(const std::string& workload) {
  for (const auto& info : intake_.workloads()) {
    if (info.name != workload) continue;
    const auto views = intake_.pods_of(std::string(info.uid));
    if (views.empty()) {  // a Workload that is work of its own
      const auto slash = workload.find('/');
      return remove(dialect::Kind::kWorkload, workload.substr(0, slash), workload.substr(slash + 1));
    }
    for (const auto& view : views) {
      auto it = pods_.find(std::string(view.uid));
      if (it == pods_.end()) continue;
      it->second.phase = dialect::PodPhase::kSucceeded;
    }
    for (auto& [uid, pod] : pods_) {
      if (pod.phase == dialect::PodPhase::kSucceeded)
        intake_.remove(dialect::Kind::kPod, pod.meta.ns, pod.meta.name, uid);
    }
    drain();
    return true;
  }
  return false;
}

void PlanWorld::drain() {
  std::vector<Event> events;
  // Refused events come back as other events; each refusal settles one workload, so this ends.
  for (int round = 0; round < 16; ++round) {
    events.clear();
    intake_.drain(events);
    // A plan binds nothing: what a Workload has got is not handed over to its Job, which is decided on the same room.
    (void)intake_.take_hand_overs();
    (void)intake_.take_out_of_sync();
    if (events.empty()) return;
    for (const auto& event : events) {
      if (const auto status = engine_.apply(event); !status) intake_.refused(event, status.error().message);
    }
  }
}

std::string PlanWorld::work_of(const dialect::KueueWorkload& object) const {
  if (const auto own = dialect::workload_of(object); !own.empty()) return std::string(own);
  if (const auto named = intake_.prebuilt_owner(object.meta.ns, object.meta.name); !named.empty())
    return std::string(named);
  for (const auto& owner : object.owners) {
    std::string uid = owner.uid;
    if (uid.empty() && owner.kind == "Job") {
      const auto job = jobs_.find(fmt::format("{}/{}", object.meta.ns, owner.name));
      if (job != jobs_.end()) uid = job->second.meta.uid;
    }
    if (intake_.workload(uid)) return uid;
    if (const auto pod = intake_.pod(uid)) return std::string(pod->workload);
  }
  return {};
}

void PlanWorld::stand(TimeMs now) {
  std::map<std::string, const dialect::KueueWorkload*> said;
  for (const auto& [key, object] : objects_) {
    if (object.finished) continue;
    const std::string uid = work_of(object);
    if (uid.empty()) continue;
    const auto [at, first] = said.try_emplace(uid, &object);
    // For an elastic Job, the slice that it runs with.
    if (!first && object.status.is(dialect::WorkloadCondition::kQuotaReserved)) at->second = &object;
  }
  std::set<std::string> before = std::exchange(stood_, {});
  for (const auto& [uid, object] : said) {
    before.erase(uid);
    stood_.insert(uid);
    const bool prebuilt = !intake_.prebuilt_owner(object->meta.ns, object->meta.name).empty();
    scheduler::WorkloadLife life;
    life.adopt(prebuilt ? dialect::WorkloadStatus{} : object->status, object->active, from_eviction_);
    if (prebuilt && !object->deactivate.empty())
      life.deactivate_for(object->deactivate, object->deactivate_why);
    dialect::Standing standing = life.standing(now);
    standing.boost = dialect::boost_of(*object);
    intake_.set_standing(uid, std::move(standing));
  }
  for (const auto& uid : before) intake_.set_standing(uid, {});
  drain();
}

PlanRound PlanWorld::decide(TimeMs now) {
  note_missing_nodes();
  PlanRound round;
  round.now = now;
  decided_at_ = now;
  stand(now);
  last_ = engine_.decide(now);
  std::map<std::string_view, engine::WorkloadView> views;
  const auto listed = engine_.workloads();
  for (const auto& view : listed) views.emplace(view.uid, view);
  const auto line_places = places();
  const auto add_standing = [&](PlanLine& line, const std::string& uid) {
    if (const auto view = views.find(uid); view != views.end() && view->second.created > sequence_)
      line.created = view->second.created;
    if (const auto at = line_places.find(uid); at != line_places.end()) line.place = at->second;
  };
  std::map<std::uint64_t, Verdict> shared;  // of work that waits for the same
  const auto explain = [&](const std::string& uid) -> Result<Verdict> {
    const auto alike = engine_.alike(uid);
    if (!alike) return engine_.explain(uid);
    if (const auto known = shared.find(*alike); known != shared.end()) return known->second;
    BERTH_ASSIGN(Verdict verdict, engine_.explain(uid));
    return shared.emplace(*alike, std::move(verdict)).first->second;
  };
  std::set<std::string> touched;
  std::set<std::string> started;
  for (const auto& decision : last_) {
    const auto info = intake_.workload(decision.workload);
    if (!info) continue;
    PlanLine line = line_of(*info);
    add_standing(line, decision.workload);
    line.slots = decision.slots;
    line.pods = static_cast<std::int64_t>(decision.slots.size());
    line.flavors = decision.flavors;
    line.cost = decision.cost;
    line.reason = dialect::readable(decision.reason, intake_);
    if (const auto whom = intake_.workload(decision.beneficiary)) line.beneficiary = whom->name;
    const bool grows = !info->former.empty() && !grown_.contains(decision.workload);
    switch (decision.kind) {
      case DecisionKind::kStart:
        if (grows) {
          grown_.insert(decision.workload);
          notes_.push_back(
              fmt::format("{} replaces {} (workload slice), whose pods run on", info->name, info->former));
        }
        round.starts.push_back(std::move(line));
        touched.insert(decision.workload);
        started.insert(decision.workload);
        break;
      case DecisionKind::kEvict:
        if (grows) line.name = info->former;
        for (const auto& slot : decision.slots) {
          if (const auto pod = intake_.pod_at(decision.workload, slot.pod_set, slot.index)) {
            ending_.insert(std::string(pod->uid));
          } else {
            leaving_.push_back(
                SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kWaiting, "", {}, {}, 0});
          }
        }
        round.evictions.push_back(std::move(line));
        touched.insert(decision.workload);
        break;
      case DecisionKind::kHold:
        round.holds.push_back(std::move(line));
        touched.insert(decision.workload);
        break;
      case DecisionKind::kReleaseHold:
        round.released.push_back(std::move(line));
        break;
    }
  }
  for (const auto& info : intake_.workloads()) {
    const std::string uid(info.uid);
    PlanLine line = line_of(info);
    add_standing(line, uid);
    const auto verdict = explain(uid);
    line.reason = verdict ? dialect::readable(verdict->reason, intake_)
                          : Reason{ReasonCode::kInvalid, "", verdict.error().message, 0, 0, 0, {}};
    const auto view = views.find(uid);
    const bool runs = view != views.end() && view->second.slots_running > 0;
    const bool ends = view != views.end() && view->second.slots_releasing > 0;
    const bool waits = view == views.end() || view->second.slots_waiting > 0 || (!runs && !ends);
    const bool held = view != views.end() && view->second.slots_held > 0;
    // Pods of a running gang that wait are the surplus of an elastic one, or replacements.
    PlanLine holder = line;
    if (!info.former.empty() && !grown_.contains(uid)) {
      holder.name = info.former;
      holder.pods = view == views.end() ? 0 : view->second.slots_running + view->second.slots_releasing;
    }
    if (runs && !touched.contains(uid)) round.running.push_back(holder);
    if (ends && !touched.contains(uid)) round.ending.push_back(holder);
    if (held) {
      if (!touched.contains(uid)) {
        for (const auto& hold : engine_.holds()) {
          if (hold.holder == uid) line.slots = hold.slots;
        }
        line.pods = static_cast<std::int64_t>(line.slots.size());
        line.reason = Reason{ReasonCode::kWaitingForRoom, "", "", line.pods, 0, 0, {}};
        round.holds.push_back(line);
      }
      continue;
    }
    if (!waits || (ends && view->second.slots_waiting == 0)) continue;
    if (started.contains(uid) && intake_.starts_once(uid)) continue;  // the rest will not be made
    if (view != views.end() && view->second.slots_waiting > 0) line.pods = view->second.slots_waiting;
    if (const Reason* own = intake_.blocked(uid)) {
      line.reason = *own;
      (own->code == ReasonCode::kInvalid && !verdict ? round.refused : round.waiting)
          .push_back(std::move(line));
      continue;
    }
    const bool refused = verdict && verdict->kind == VerdictKind::kRefused;
    (refused ? round.refused : round.waiting).push_back(std::move(line));
  }
  round.totals = totals();
  return round;
}

void PlanWorld::carry_out_starts() {
  std::set<std::string> started;
  for (const auto& decision : last_) {
    if (decision.kind != DecisionKind::kStart) continue;
    started.insert(decision.workload);
    for (const auto& slot : decision.slots) {
      const auto view = intake_.pod_at(decision.workload, slot.pod_set, slot.index);
      if (!view) continue;
      const auto it = pods_.find(std::string(view->uid));
      if (it == pods_.end() || ending_.contains(it->first)) continue;
      it->second.spec.node_name = slot.node;
      it->second.phase = dialect::PodPhase::kRunning;
      it->second.started = decided_at_;
      intake_.upsert(it->second);
    }
  }
  last_.clear();
  for (const auto& workload : started) release(workload);
  drain();
}

// As the scheduler releases what it has started (scheduler/carry/carrier.h): a suspended Job runs from now on, and what could start with fewer
// pods keeps those that it has got.
void PlanWorld::release(const std::string& workload) {
  const auto job = std::find_if(jobs_.begin(), jobs_.end(),
                                [&](const auto& known) { return known.second.meta.uid == workload; });
  if (job == jobs_.end() || !job->second.suspend) {
    if (!intake_.starts_once(workload)) return;
    const auto listed = engine_.workloads();
    const auto view =
        std::find_if(listed.begin(), listed.end(), [&](const auto& v) { return v.uid == workload; });
    if (view != listed.end()) intake_.grant(workload, view->slots_running);
    return;
  }
  std::set<std::string> kept, rest;  // pods
  for (const auto& pod : intake_.pods_of(workload)) {
    const auto slot = engine_.slot(workload, pod.pod_set, pod.index);
    const bool has_place = slot && (slot->state == SlotState::kBinding || slot->state == SlotState::kRunning);
    (has_place ? kept : rest).emplace(pod.uid);
  }
  dialect::Job next = job->second;
  const auto pods = static_cast<std::int64_t>(kept.size());
  if (intake_.starts_once(workload) && pods < next.size()) {
    next.reduced = dialect::Job::Reduced{pods, next.parallelism, next.completions_follow};
    next.parallelism = pods;
    if (next.completions_follow) next.completions = pods;
    for (const auto& uid : rest) {
      const auto pod = pods_.find(uid);
      intake_.remove(dialect::Kind::kPod, pod->second.meta.ns, pod->second.meta.name, uid);
      pods_.erase(pod);
    }
  }
  next.suspend = false;
  job->second = next;
  intake_.upsert(std::move(next));
}

// Jobs of which nothing runs any more wait suspended again, with the size that their owner gave them.
void PlanWorld::suspend(const std::set<std::string>& jobs) {
  const auto listed = engine_.workloads();
  std::vector<const dialect::Job*> again;
  for (const auto& key : jobs) {
    dialect::Job& job = jobs_.at(key);
    const bool runs = std::any_of(listed.begin(), listed.end(), [&](const auto& view) {
      return view.uid == job.meta.uid && view.slots_running > 0;
    });
    if (runs || job.suspend || !dialect::is_gang(job) || job.has_owner() || job.is_managed_elsewhere())
      continue;
    if (job.reduced) {
      job.parallelism = job.reduced->full;
      if (job.reduced->completions_too) job.completions = job.reduced->full;
      job.reduced.reset();
    }
    job.suspend = true;
    intake_.upsert(job);
    again.push_back(&job);
  }
  make_job_pods(again);
}

void PlanWorld::complete_evictions() {
  std::vector<dialect::Pod> remade;
  std::set<std::string> jobs;
  for (const auto& uid : ending_) {
    const auto it = pods_.find(uid);
    if (it == pods_.end()) continue;
    dialect::Pod pod = std::move(it->second);
    pods_.erase(it);
    intake_.remove(dialect::Kind::kPod, pod.meta.ns, pod.meta.name, uid);
    if (!dialect::is_recreated(pod.meta)) continue;
    if (pod.meta.controller.kind == "Job") {
      const auto job = jobs_.find(fmt::format("{}/{}", pod.meta.ns, pod.meta.controller.name));
      if (job != jobs_.end() && !job->second.makes_pods()) continue;
      if (job != jobs_.end()) jobs.insert(job->first);
    }
    pod.meta.uid = fmt::format("{}#{}", uid.substr(0, uid.find('#')), ++remade_);
    pod.meta.deleting = false;
    pod.spec.node_name.clear();
    pod.phase = dialect::PodPhase::kPending;
    pod.started = 0;
    remade.push_back(std::move(pod));
  }
  ending_.clear();
  std::set<std::string> left;
  for (const auto& update : std::exchange(leaving_, {})) {
    if (const auto status = engine_.apply(update); !status) intake_.refused(update, status.error().message);
    left.insert(update.workload);
  }
  for (const auto& workload : left) {
    if (intake_.starts_once(workload)) intake_.grant(workload, kInt64Max);  // it is tried whole again
  }
  for (auto& pod : remade) put_pod(std::move(pod));
  drain();
  suspend(jobs);
  drain();
}

const Labels* PlanWorld::node_labels(const std::string& node) const {
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? nullptr : &it->second;
}

}  // namespace berth::cli

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

constexpr std::int64_t kMostGenerated = 100'000;  // pods made from the templates of one owner

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
  } else if (const auto* workload = std::get_if<dialect::KueueWorkload>(&object)) {
    for (const auto& condition : workload->status.conditions) see(condition.since);
  }
  return out;
}

std::string key_of(dialect::Kind kind, std::string_view ns, std::string_view name) {
  return fmt::format("{} {}/{}", enum_name(kind), ns, name);
}

std::string key_of(const dialect::Ask& ask) {
  return key_of(ask.kind->kind, ask.meta->ns, ask.meta->name);
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
    if (dialect::owner_kind(dialect::kind_of(object)) == nullptr) continue;
    dialect::Ask ask = dialect::ask_of(object);
    newest_ = std::max(newest_, ask.started);
    owners_.insert_or_assign(key_of(ask), std::move(ask));
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
  std::vector<const dialect::Ask*> owners;
  for (auto& object : objects) {
    if (auto* pod = std::get_if<dialect::Pod>(&object)) {
      // An owner reference without a uid means the owner of that name.
      auto& controller = pod->meta.controller;
      if (const dialect::Ask* owner = controller->uid.empty() ? owner_of(pod->meta) : nullptr)
        controller.edit().uid = owner->meta->uid;
      put_pod(std::move(*pod));
      continue;
    }
    if (const auto* queue = std::get_if<dialect::ClusterQueue>(&object)) {
      for (const auto& group : queue->groups) several_flavors_ = several_flavors_ || group.flavors.size() > 1;
    }
    if (const auto* node = std::get_if<dialect::NodeObject>(&object)) {
      nodes_.insert_or_assign(node->meta.name, node->meta.labels);
    }
    if (const auto* kind = dialect::owner_kind(dialect::kind_of(object))) {
      const dialect::Meta& meta = dialect::meta_of(object);
      const dialect::Ask& ask = owners_.at(key_of(kind->kind, meta.ns, meta.name));
      if (ask.size() > kMostGenerated) {
        return fail(ErrorCode::kExhausted, "{}: {} pods at once; berth plan makes at most {} from one {}",
                    key_of(ask), ask.size(), kMostGenerated, kind->word());
      }
      owners.push_back(&ask);
      intake_.upsert(ask);
      continue;
    }
    if (const auto* workload = std::get_if<dialect::KueueWorkload>(&object);
        workload != nullptr && !quota_only_)
      objects_.insert_or_assign(key_of(workload->meta), *workload);
    intake_.upsert(std::move(object));
  }
  make_pods(owners);
  for (const auto& owner : intake_.missing_owners()) intake_.release_orphans(owner.uid);
  drain();
  return {};
}

void PlanWorld::put_pod(dialect::Pod pod) {
  take_in(pod);
  intake_.upsert(pod);
  std::string uid = pod.meta.uid;
  pods_.insert_or_assign(std::move(uid), std::move(pod));
}

const dialect::Ask* PlanWorld::owner_of(const dialect::Meta& object) const {
  const dialect::OwnerKind* kind = dialect::owner_kind(object.controller);
  if (kind == nullptr) return nullptr;
  const auto it = owners_.find(key_of(kind->kind, object.ns, object.controller->name));
  return it == owners_.end() ? nullptr : &it->second;
}

const dialect::Ask* PlanWorld::top_of(const dialect::Meta& object) const {
  constexpr int kMostLevels = 8;
  if (const auto group = dialect::group_named_by(object)) {
    const auto it = owners_.find(key_of(group->declared->row.kind, object.ns, group->owner));
    if (it != owners_.end()) return &it->second;
  }
  const dialect::Ask* top = owner_of(object);
  for (int level = 1; top != nullptr && level < kMostLevels; ++level) {
    const dialect::Ask* above = owner_of(*top->meta);
    if (above == nullptr) break;
    top = above;
  }
  return top;
}

// The topmost of a chain of owners makes all pods of those below it.
void PlanWorld::make_pods(const std::vector<const dialect::Ask*>& owners) {
  std::map<std::string_view, std::vector<const dialect::Pod*>> owned;
  for (const auto& [uid, pod] : pods_) {
    const dialect::Ask* top = top_of(pod.meta);
    owned[top != nullptr ? std::string_view(top->meta->uid) : pod.meta.controller->uid].push_back(&pod);
  }
  for (const auto* ask : owners) {
    if (owner_of(*ask->meta) == nullptr) make_pods(*counted(ask), owned[ask->meta->uid]);
  }
}

const dialect::Ask* PlanWorld::counted(const dialect::Ask* ask) const {
  const dialect::Ask* now = ask == nullptr ? nullptr : intake_.owner(ask->meta->uid);
  return now != nullptr ? now : ask;
}

// As its controller would: where that is another one, or its own owner has yet to release it, none are made here.
void PlanWorld::make_pods(const dialect::Ask& ask, const std::vector<const dialect::Pod*>& owned) {
  if (!ask.makes_pods) return;
  const auto note = [&](std::string text) {
    if (noted_.insert(key_of(ask)).second) notes_.push_back(std::move(text));
  };
  std::set<std::string_view> names;
  for (const auto* pod : owned) {
    const bool ended =
        pod->phase == dialect::PodPhase::kFailed || pod->phase == dialect::PodPhase::kSucceeded;
    if (!ended) names.insert(pod->meta.name);
  }
  const dialect::MadePods made = ask.kind->make_pods(ask, owned, kMostMade - made_);
  if (!made.none.empty()) return note(fmt::format("{} {}", key_of(ask), made.none));
  if (made.missing > kMostMade - made_) {
    return note(
        fmt::format("{} lacks {} pods: a plan makes at most {} pods of owners in all, and none of its "
                    "pods are planned",
                    key_of(ask), made.missing, kMostMade));
  }
  made_ += static_cast<std::int64_t>(made.pods.size());
  for (dialect::Pod pod : made.pods) {
    while (pods_.contains(pod.meta.uid)) pod.meta.uid += "+";  // a retry
    while (names.contains(pod.meta.name)) pod.meta.name += "-again";
    put_pod(std::move(pod));
  }
  if (made.pods.empty()) return;
  note(fmt::format("{} {}: planned with {} pod{} made from its template", key_of(ask),
                   ask.suspended ? "is suspended" : "lacks pods", made.pods.size(),
                   made.pods.size() == 1 ? "" : "s"));
}

// As the API server would: of a pod that was made from an owner's template, by the rules as they are now.
void PlanWorld::take_in(dialect::Pod& pod) const {
  const dialect::Ask* owner = pod.needs == nullptr ? nullptr : counted(top_of(pod.meta));
  if (owner != nullptr) {
    for (const dialect::AskedSet& set : owner->sets) {
      if (set.needs == pod.needs) pod.spec.pod = *set.pod;
    }
    // Templates that need the same may differ otherwise.
    const auto set = owner->kind->place_of(*owner, pod).set;
    if (set < owner->sets.size() && owner->sets[set].needs == pod.needs) pod.spec.pod = *owner->sets[set].pod;
  }
  pod.problem.clear();
  intake_.take_in(pod);
}

// Pods of an owner that waits suspended are still to be made.
void PlanWorld::take_in_again() {
  for (auto& [uid, pod] : pods_) {
    if (pod.needs == nullptr || !pod.spec.node_name.empty()) continue;
    const dialect::Ask* owner = counted(top_of(pod.meta));
    const auto is_of = [&](const dialect::AskedSet& set) { return set.needs == pod.needs; };
    if (owner == nullptr || !owner->suspended || std::none_of(owner->sets.begin(), owner->sets.end(), is_of))
      continue;
    take_in(pod);
    intake_.upsert(pod);
  }
}

bool PlanWorld::remove(dialect::Kind kind, const std::string& ns, const std::string& name) {
  const bool is_owner = dialect::owner_kind(kind) != nullptr;
  bool known = kind != dialect::Kind::kPod && kind != dialect::Kind::kNode && !is_owner;
  if (kind == dialect::Kind::kNode) known = nodes_.erase(name) > 0;
  std::string owner_uid;
  if (const auto owner = is_owner ? owners_.find(key_of(kind, ns, name)) : owners_.end();
      owner != owners_.end()) {
    known = true;
    owner_uid = owner->second.meta->uid;
    owners_.erase(owner);
  }
  for (auto it = pods_.begin(); it != pods_.end();) {
    const auto& meta = it->second.meta;
    const bool named = kind == dialect::Kind::kPod && meta.ns == ns && meta.name == name;
    const bool owned =
        !owner_uid.empty() && meta.controller->uid == owner_uid;  // the garbage collector's work
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
    // A plan binds nothing: what a Workload has got is not handed over to its owner, which is decided on the same room.
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
    if (const dialect::OwnerKind* kind = uid.empty() ? dialect::owner_kind(owner) : nullptr) {
      const auto known = owners_.find(key_of(kind->kind, object.meta.ns, owner.name));
      if (known != owners_.end()) uid = known->second.meta->uid;
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
    // For an elastic owner, the slice that it runs with.
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

// The sources of the lines of one round.
struct PlanWorld::Round {
  PlanRound round;
  std::map<std::string_view, engine::WorkloadView> views;
  std::map<std::string, std::int64_t> places;
  std::map<std::uint64_t, Verdict> shared;  // of work that waits for the same
  std::set<std::string> touched;            // workloads that a decision was about
  std::set<std::string> started;

  const engine::WorkloadView* view_of(const std::string& uid) const {
    const auto it = views.find(uid);
    return it == views.end() ? nullptr : &it->second;
  }
};

PlanLine PlanWorld::line_in(const Round& of, const dialect::WorkloadInfo& info) const {
  PlanLine line = line_of(info);
  const std::string uid(info.uid);
  if (const auto* view = of.view_of(uid); view != nullptr && view->created > sequence_)
    line.created = view->created;
  if (const auto at = of.places.find(uid); at != of.places.end()) line.place = at->second;
  return line;
}

Result<Verdict> PlanWorld::explain(Round& of, const std::string& uid) {
  const auto alike = engine_.alike(uid);
  if (!alike) return engine_.explain(uid);
  if (const auto known = of.shared.find(*alike); known != of.shared.end()) return known->second;
  BERTH_ASSIGN(Verdict verdict, engine_.explain(uid));
  return of.shared.emplace(*alike, std::move(verdict)).first->second;
}

// A plan makes and binds no volumes.
void PlanWorld::note_volumes(const dialect::PodView& pod, const std::string& node) {
  for (const dialect::ClaimStep& step : intake_.claim_steps(pod.uid, node)) {
    const bool open = step.need == dialect::ClaimNeed::kNode || step.need == dialect::ClaimNeed::kElsewhere;
    notes_.push_back(
        fmt::format("{}/{} starts when its volumes are there: {}", pod.ns, pod.name,
                    open ? fmt::format("claim {} still needs one on node {}", step.name, node) : step.why));
  }
}

void PlanWorld::show(Round& of, const Decision& decision) {
  const auto info = intake_.workload(decision.workload);
  if (!info) return;
  PlanLine line = line_in(of, *info);
  line.slots = decision.slots;
  line.pods = static_cast<std::int64_t>(decision.slots.size());
  for (const auto& slot : decision.slots) {
    const auto pod = intake_.pod_at(decision.workload, slot.pod_set, slot.index);
    line.pods_of_slots.push_back(pod ? fmt::format("{}/{}", pod->ns, pod->name) : std::string());
    if (pod && decision.kind == DecisionKind::kStart) note_volumes(*pod, slot.node);
  }
  line.flavors = decision.flavors;
  line.cost = decision.cost;
  line.reason = dialect::readable(decision.reason, intake_);
  if (const auto whom = intake_.workload(decision.beneficiary)) line.beneficiary = whom->name;
  const bool grows = !info->former.empty() && !grown_.contains(decision.workload);
  if (decision.kind != DecisionKind::kReleaseHold) of.touched.insert(decision.workload);
  switch (decision.kind) {
    case DecisionKind::kStart:
      if (grows) {
        grown_.insert(decision.workload);
        notes_.push_back(
            fmt::format("{} replaces {} (workload slice), whose pods run on", info->name, info->former));
      }
      of.round.starts.push_back(std::move(line));
      of.started.insert(decision.workload);
      return;
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
      return of.round.evictions.push_back(std::move(line));
    case DecisionKind::kHold:
      return of.round.holds.push_back(std::move(line));
    case DecisionKind::kReleaseHold:
      return of.round.released.push_back(std::move(line));
  }
}

void PlanWorld::show(Round& of, const dialect::WorkloadInfo& info) {
  const std::string uid(info.uid);
  PlanLine line = line_in(of, info);
  const auto verdict = explain(of, uid);
  line.reason = verdict ? dialect::readable(verdict->reason, intake_)
                        : Reason{ReasonCode::kInvalid, "", verdict.error().message, 0, 0, 0, {}};
  const auto* view = of.view_of(uid);
  const bool runs = view != nullptr && view->slots_running > 0;
  const bool ends = view != nullptr && view->slots_releasing > 0;
  const bool waits = view == nullptr || view->slots_waiting > 0 || (!runs && !ends);
  const bool held = view != nullptr && view->slots_held > 0;
  const bool touched = of.touched.contains(uid);
  // Pods of a running gang that wait are the surplus of an elastic one, or replacements.
  PlanLine holder = line;
  if (!info.former.empty() && !grown_.contains(uid)) {
    holder.name = info.former;
    holder.pods = view == nullptr ? 0 : view->slots_running + view->slots_releasing;
  }
  if (runs && !touched) of.round.running.push_back(holder);
  if (ends && !touched) of.round.ending.push_back(holder);
  if (held && touched) return;
  if (held) {
    for (const auto& hold : engine_.holds()) {
      if (hold.holder == uid) line.slots = hold.slots;
    }
    line.pods = static_cast<std::int64_t>(line.slots.size());
    line.reason = Reason{ReasonCode::kWaitingForRoom, "", "", line.pods, 0, 0, {}};
    return of.round.holds.push_back(line);
  }
  if (!waits || (ends && view->slots_waiting == 0)) return;
  if (of.started.contains(uid) && intake_.starts_once(uid)) return;  // the rest will not be made
  if (view != nullptr && view->slots_waiting > 0) line.pods = view->slots_waiting;
  if (const Reason* own = intake_.blocked(uid)) {
    line.reason = *own;
    const bool refused = own->code == ReasonCode::kInvalid && !verdict;
    return (refused ? of.round.refused : of.round.waiting).push_back(std::move(line));
  }
  const bool refused = verdict && verdict->kind == VerdictKind::kRefused;
  (refused ? of.round.refused : of.round.waiting).push_back(std::move(line));
}

PlanRound PlanWorld::decide(TimeMs now) {
  note_missing_nodes();
  Round of;
  of.round.now = now;
  decided_at_ = now;
  intake_.pass(now);
  drain();
  stand(now);
  last_ = engine_.decide(now);
  const auto listed = engine_.workloads();
  for (const auto& view : listed) of.views.emplace(view.uid, view);
  of.places = places();
  for (const auto& decision : last_) show(of, decision);
  for (const auto& info : intake_.workloads()) show(of, info);
  of.round.totals = totals();
  return std::move(of.round);
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

// As the scheduler releases what it has started (scheduler/carry/carrier.h): a suspended owner runs from now on, and what could start
// with fewer pods keeps those that it has got.
void PlanWorld::release(const std::string& workload) {
  const auto owner = std::find_if(owners_.begin(), owners_.end(),
                                  [&](const auto& known) { return known.second.meta->uid == workload; });
  if (owner == owners_.end() || !owner->second.suspended) {
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
  const dialect::Ask& ask = owner->second;
  const auto pods = static_cast<std::int64_t>(kept.size());
  const bool fewer = intake_.starts_once(workload) && pods < ask.size();
  if (fewer) {
    for (const auto& uid : rest) {
      const auto pod = pods_.find(uid);
      intake_.remove(dialect::Kind::kPod, pod->second.meta.ns, pod->second.meta.name, uid);
      pods_.erase(pod);
    }
  }
  owner->second = ask.kind->released(ask, fewer ? pods : 0);
  intake_.upsert(owner->second);
}

// Owners of which nothing runs any more wait suspended again, with the size that their user gave them.
void PlanWorld::suspend(const std::set<std::string>& owners) {
  const auto listed = engine_.workloads();
  std::vector<const dialect::Ask*> again;
  for (const auto& key : owners) {
    dialect::Ask& ask = owners_.at(key);
    const bool runs = std::any_of(listed.begin(), listed.end(), [&](const auto& view) {
      return view.uid == ask.meta->uid && view.slots_running > 0;
    });
    if (runs || ask.suspended || !ask.gang || ask.is_led || !ask.kind->can_be_held()) continue;
    ask = ask.kind->suspended(ask);
    intake_.upsert(ask);
    again.push_back(&ask);
  }
  make_pods(again);
}

void PlanWorld::complete_evictions() {
  std::vector<dialect::Pod> remade;
  std::set<std::string> owners;
  for (const auto& uid : ending_) {
    const auto it = pods_.find(uid);
    if (it == pods_.end()) continue;
    dialect::Pod pod = std::move(it->second);
    pods_.erase(it);
    intake_.remove(dialect::Kind::kPod, pod.meta.ns, pod.meta.name, uid);
    if (!dialect::is_recreated(pod.meta)) continue;
    if (const dialect::Ask* owner = top_of(pod.meta)) {
      if (!owner->makes_pods) continue;
      owners.insert(key_of(*owner));
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
  suspend(owners);
  drain();
}

const Labels* PlanWorld::node_labels(const std::string& node) const {
  const auto it = nodes_.find(node);
  return it == nodes_.end() ? nullptr : &it->second;
}

}  // namespace berth::cli

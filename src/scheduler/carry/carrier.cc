#include "scheduler/carry/carrier.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/write/writes.h"
#include "kube/paths.h"
#include "scheduler/wire/object_version.h"

namespace berth::scheduler {
namespace {

// Thousands of binds may wait in the writer's queue; that is no failure.
constexpr DurationMs kBindTime = 5 * kMinute;
constexpr int kMostUnknowns = 5;  // binds of unknown outcome in a row before the pod may go elsewhere
constexpr std::uint64_t kGoneForGood = std::numeric_limits<std::uint64_t>::max();

std::vector<std::int64_t> devices_of(const dialect::PodView& pod) {
  return {pod.devices.begin(), pod.devices.end()};
}

}  // namespace

Carrier::Carrier(dialect::Intake& intake, dialect::JsonDecoder& decoder, Outbox& outbox,
                 CarrierListener& listener, CarrierOptions options)
    : intake_(intake),
      decoder_(decoder),
      outbox_(outbox),
      listener_(listener),
      options_(options),
      owners_(intake, outbox,
              {.pods_within = options.gang_deadline,
               .first_rest = options.owner_rest,
               .most_rest = options.owner_most_rest,
               .first_pause = options.first_rest,
               .most_pause = options.most_rest}) {}

void Carrier::set_stage(Stage& stage, Stage to) {
  const bool was = stage != Stage::kDone;
  const bool is = to != Stage::kDone;
  stage = to;
  if (was && !is) --busy_;
  if (!was && is) ++busy_;
}

DurationMs Carrier::pause(int failures) const {
  return doubled(options_.first_rest, failures, options_.most_rest);
}

std::vector<Event> Carrier::take_events() {
  for (Event& event : owners_.take_events()) events_.push_back(std::move(event));
  return std::exchange(events_, {});
}

void Carrier::carry_out(const Decision& decision, TimeMs now) {
  switch (decision.kind) {
    case DecisionKind::kStart:
      return start(decision, now);
    case DecisionKind::kEvict:
      return evict(decision, now);
    default:
      return;  // holds are the engine's own; their reasons reach the pods as statuses
  }
}

// ------------------------------------------------------------------------------------------------------------------ binds

void Carrier::start(const Decision& decision, TimeMs now) {
  const auto info = intake_.workload(decision.workload);
  const bool released = info && info->suspended;  // its pods are still to be made
  Flight* flight = nullptr;
  if (info && info->gang && !released) {
    flight = &flight_of(decision.workload, now);
  }
  std::vector<SlotPlacement> places;
  Decision awaited;
  awaited.workload = decision.workload;
  for (const SlotPlacement& slot : decision.slots) {
    const auto pod = intake_.pod_at(decision.workload, slot.pod_set, slot.index);
    if (!released && intake_.expects(decision.workload, slot.pod_set, slot.index)) {
      awaited.slots.push_back(slot);
      continue;
    }
    // A pod that is there nevertheless is about to be deleted: the place is for the one that is made instead.
    if (released && (!pod || (pod->node.empty() && !is_binding(pod->uid)))) {
      places.push_back(slot);
      continue;
    }
    if (!pod) {
      events_.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kGone, ""});
      continue;
    }
    if (!pod->node.empty()) {
      events_.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kRunning,
                                   std::string(pod->node), devices_of(*pod)});
      continue;
    }
    std::string uid(pod->uid);
    if (flight != nullptr) flight->open.insert(uid);
    const auto [it, fresh] = binds_.try_emplace(std::move(uid));
    Bind& bind = it->second;
    if (!fresh) {  // decided again while the former bind is on its way: that one counts
      events_.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kBinding,
                                   bind.node, bind.devices});
      continue;
    }
    begin(bind, *pod, slot, now);
    if (!failures_.empty() && failures_.contains(bind.uid)) {
      rest(bind, false, now);
    } else {
      send(bind);
    }
  }
  if (flight != nullptr && flight->landed()) flights_.erase(decision.workload);
  if (!awaited.slots.empty()) awaited_.add(awaited, 0);
  if (places.empty()) return;
  release(*info, decision, std::move(places), now);
}

void Carrier::begin(Bind& bind, const dialect::PodView& pod, const SlotPlacement& place, TimeMs now) const {
  bind.ns = pod.ns;
  bind.name = pod.name;
  bind.uid = pod.uid;
  bind.node = place.node;
  bind.devices = place.devices;
  bind.annotations = annotations_of(pod);
  if (std::string charged = intake_.charged_to(pod.workload); !charged.empty())
    bind.annotations.insert_or_assign(std::string(dialect::kChargedTo), std::move(charged));
  bind.workload = pod.workload;
  bind.decided = now;
  bind.stage = Stage::kDone;
}

Carrier::Flight& Carrier::flight_of(const std::string& workload, TimeMs now) {
  const auto [it, fresh] = flights_.try_emplace(workload);
  if (fresh) {
    it->second.deadline = now + options_.gang_deadline;
    timers_.emplace(it->second.deadline, Timer{TimerKind::kGang, workload});
  }
  return it->second;
}

void Carrier::send(Bind& bind) {
  set_stage(bind.stage, Stage::kFlying);
  kube::Write write = dialect::bind(bind.ns, bind.name, bind.uid, bind.node, bind.devices, bind.annotations);
  write.deadline = kBindTime;
  outbox_.write(std::move(write), Step::kBind, bind.uid);
}

void Carrier::read(Bind& bind) {
  set_stage(bind.stage, Stage::kReading);
  outbox_.read(kube::kPods.object(bind.ns, bind.name), bind.uid, Step::kRead);
}

void Carrier::rest(Bind& bind, bool read_next, TimeMs now) {
  set_stage(bind.stage, Stage::kResting);
  bind.read_next = read_next;
  timers_.emplace(now + pause(failures_[bind.uid]), Timer{TimerKind::kBind, bind.uid});
}

void Carrier::forget_bind(const std::string& uid) {
  const auto it = binds_.find(uid);
  if (it == binds_.end()) return;
  set_stage(it->second.stage, Stage::kDone);
  const std::string key = it->first;  // `uid` may live in what is erased now
  const std::string workload = it->second.workload;
  const bool was_to_end = it->second.evict;
  binds_.erase(it);
  if (was_to_end && !evictions_.contains(key)) marked(workload, key, false);
}

void Carrier::give_back(const std::string& uid) {
  ++failures_[uid];
  forget_bind(uid);
  intake_.retry(uid);
}

void Carrier::vanished(std::string uid, std::string_view ns, std::string_view name) {
  intake_.remove(dialect::Kind::kPod, ns, name, uid);
  seen(uid, true, 0);                      // the time is of arrivals only
  floors_[std::move(uid)] = kGoneForGood;  // until the watch says so too
}

void Carrier::bound(Bind& bind, TimeMs now) {
  set_stage(bind.stage, Stage::kDone);
  const std::string uid = bind.uid;
  failures_.erase(uid);
  if (const auto it = flights_.find(bind.workload); it != flights_.end()) {
    it->second.open.erase(uid);
    if (it->second.landed()) flights_.erase(it);
  }
  const auto pod = intake_.pod(uid);
  if (!pod) return forget_bind(uid);
  listener_.on_bound(*pod, bind.node, now - bind.decided);
  if (bind.evict) {
    const Bind copy = bind;
    binds_.erase(uid);
    return begin_eviction(*pod, copy.reason, copy.beneficiary, now);
  }
  if (bind.seen) binds_.erase(uid);
}

void Carrier::bind_answered(Answer&& answer, TimeMs now) {
  const auto it = binds_.find(answer.uid);
  if (it == binds_.end() || it->second.stage != Stage::kFlying) return;
  Bind& bind = it->second;
  const kube::WriteResult result = kube::bind_outcome(std::move(answer.result), bind.node);
  if (result.outcome != kube::Outcome::kOk) {
    spdlog::info("binding {}/{} to {}: {} {} {}", bind.ns, bind.name, bind.node, enum_name(result.outcome),
                 result.reason, result.message);
  }
  switch (result.outcome) {
    case kube::Outcome::kOk:
      return bound(bind, now);
    case kube::Outcome::kUnknown:
      ++bind.unknowns;
      return read(bind);
    case kube::Outcome::kConflict:
    case kube::Outcome::kNotFound:
    case kube::Outcome::kGone:
      bind.unknowns = 0;
      return read(bind);
    case kube::Outcome::kFenced:
      return set_stage(bind.stage, Stage::kDone);  // another replica leads: nothing more is decided here
    case kube::Outcome::kForbidden:
    case kube::Outcome::kInvalid:
    case kube::Outcome::kUnavailable:
    case kube::Outcome::kDropped:
      return give_back(std::string(answer.uid));
  }
}

void Carrier::read_answered(Answer&& answer, TimeMs now) {
  const auto it = binds_.find(answer.uid);
  if (it == binds_.end() || it->second.stage != Stage::kReading) return;
  Bind& bind = it->second;
  const std::string uid = bind.uid;
  if (answer.result.outcome == kube::Outcome::kNotFound)
    return vanished(uid, std::string(bind.ns), std::string(bind.name));
  if (answer.result.outcome != kube::Outcome::kOk) {
    ++failures_[uid];
    return rest(bind, true, now);
  }
  auto object = decoder_.decode(answer.result.body, dialect::Kind::kPod);
  if (!object) {
    spdlog::warn("reading {}/{} back: {}", bind.ns, bind.name, object.error().str());
    ++failures_[uid];
    return rest(bind, true, now);
  }
  const dialect::Pod& pod = std::get<dialect::Pod>(*object);
  if (pod.meta.uid != uid) return vanished(uid, std::string(bind.ns), std::string(bind.name));
  const std::string node = pod.spec.node_name;
  floors_[uid] = version_number(version_in(answer.result.body));
  const std::string wanted = bind.node;
  const bool unknown = bind.unknowns > 0 && bind.unknowns < kMostUnknowns;
  if (node.empty()) {
    if (unknown) {
      ++failures_[uid];
      return rest(bind, false, now);
    }
    if (pod.meta.deleting) return vanished(uid, std::string(bind.ns), std::string(bind.name));
    return give_back(uid);
  }
  intake_.upsert(std::move(*object));
  const auto still = binds_.find(uid);
  if (still == binds_.end()) return;
  if (node == wanted) {
    still->second.seen = true;
    return bound(still->second, now);
  }
  spdlog::warn("{}/{} was bound to {} by another client; Berth had chosen {}", still->second.ns,
               still->second.name, node, wanted);
  seen(uid, false, now);
}

void Carrier::seen(std::string_view uid_view, bool gone, TimeMs now) {
  if (owners_.expects_pods() && !gone) {
    const auto pod = intake_.pod(uid_view);
    if (pod && pod->state == SlotState::kWaiting && !is_binding(uid_view)) {
      if (const auto place = owners_.take(*pod, now)) came(*pod, *place, now);
    }
  }
  if (!awaited_.empty() && !gone) {
    const auto pod = intake_.pod(uid_view);
    if (pod && pod->state == SlotState::kWaiting && !is_binding(uid_view)) {
      if (const auto place = awaited_.take(pod->workload, pod->pod_set, pod->index)) came(*pod, *place, now);
    }
  }
  if (binds_.empty() && evictions_.empty() && failures_.empty() && floors_.empty()) return;
  const std::string uid(uid_view);
  if (gone) {
    floors_.erase(uid);
    failures_.erase(uid);
    if (const auto it = binds_.find(uid); it != binds_.end()) {
      if (const auto flight = flights_.find(it->second.workload); flight != flights_.end()) {
        flight->second.lost |= flight->second.open.erase(uid) > 0;
        if (flight->second.landed()) flights_.erase(flight);
      }
      forget_bind(uid);
    }
    if (const auto it = evictions_.find(uid); it != evictions_.end()) {
      set_stage(it->second.stage, Stage::kDone);
      const std::string workload = it->second.workload;
      const bool was_marked = it->second.marked;
      evictions_.erase(it);
      if (!was_marked) marked(workload, uid, false);
    }
    return;
  }
  const auto it = binds_.find(uid);
  if (it == binds_.end()) return;
  const auto pod = intake_.pod(uid);
  if (!pod || pod->node.empty()) return;
  Bind& bind = it->second;
  bind.seen = true;
  if (pod->node != bind.node && bind.stage != Stage::kFlying) {
    if (const auto flight = flights_.find(bind.workload); flight != flights_.end()) {
      flight->second.open.erase(uid);
      if (flight->second.landed()) flights_.erase(flight);
    }
    return forget_bind(uid);
  }
  if (bind.stage == Stage::kDone) binds_.erase(it);
}

bool Carrier::is_stale(std::string_view uid, std::string_view resource_version) {
  if (floors_.empty()) return false;
  const auto it = floors_.find(std::string(uid));
  if (it == floors_.end()) return false;
  if (it->second == kGoneForGood) return true;
  if (version_number(resource_version) < it->second) return true;
  floors_.erase(it);
  return false;
}

bool Carrier::correct(SlotUpdate& update,
                      const std::function<SlotState(const SlotUpdate&)>& state_in_engine) {
  const bool open = update.state == SlotState::kWaiting || update.state == SlotState::kGone;
  if (open && owners_.keeps_place(update.workload, update.pod_set, update.index)) return false;
  if (open && !held_.empty() && keeps_held(update)) return false;
  if (open && !awaited_.empty() && keeps_awaited(update)) return false;
  // Pods of an owner that was suspended meanwhile are ignored, but a bind may still succeed.
  if (open && !binds_.empty()) {
    const auto pod = intake_.pod_at(update.workload, update.pod_set, update.index);
    if (!pod) return true;
    const auto it = binds_.find(std::string(pod->uid));
    if (it == binds_.end()) return true;
    if (state_in_engine(update) == SlotState::kReleasing) return false;
    update.state = SlotState::kBinding;
    update.node = it->second.node;
    update.devices = it->second.devices;
    return true;
  }
  if (update.state == SlotState::kRunning && (!evictions_.empty() || !binds_.empty())) {
    const auto pod = intake_.pod_at(update.workload, update.pod_set, update.index);
    if (!pod) return true;
    const std::string uid(pod->uid);
    const auto bind = binds_.find(uid);
    if (!evictions_.contains(uid) && (bind == binds_.end() || !bind->second.evict)) return true;
    // It is about to be deleted: it must not count as running again. An engine that knows nothing of it learns both.
    if (state_in_engine(update) == SlotState::kReleasing) return false;
    SlotUpdate releasing = update;
    releasing.state = SlotState::kReleasing;
    events_.push_back(std::move(releasing));
  }
  return true;
}

// -------------------------------------------------------------------------------------------------------------- evictions

void Carrier::evict(const Decision& decision, TimeMs now) {
  if (end_held(decision)) return;
  if (!suspend(decision, now)) evict_pods(decision, now);
}

void Carrier::owner_answered(Answer&& answer, TimeMs now) {
  if (answer.result.outcome == kube::Outcome::kOk) {
    const dialect::OwnerKind* kind = owners_.kind_of(answer.uid);
    auto object = kind == nullptr ? Result<dialect::Object>(fail(ErrorCode::kNotFound, "unknown owner"))
                                  : decoder_.decode(answer.result.body, kind->kind);
    if (object) {
      floors_[answer.uid] = version_number(version_in(answer.result.body));
      intake_.upsert(std::move(*object));
    }
  }
  const bool knew = answer.result.outcome != kube::Outcome::kOk && owners_.knows(answer.uid);
  if (const auto by_pod = owners_.answered(answer, now)) return evict_pods(*by_pod, now);
  // The owner changed, so its decision is void. But some of its pods may exist already (another client released it), and the gang may
  // stay short of others.
  if (!knew || owners_.knows(answer.uid)) return;
  const auto pods = intake_.pods_of(answer.uid);
  if (std::any_of(pods.begin(), pods.end(),
                  [&](const auto& pod) { return !pod.node.empty() || is_binding(pod.uid); })) {
    flight_of(answer.uid, now).lost = true;
  }
}

std::string Carrier::workload_name(std::string_view workload) const {
  const auto info = intake_.workload(workload);
  return std::string(info ? info->name : workload);
}

bool Carrier::withdraw(std::string_view workload, std::string why) {
  flights_.erase(std::string(workload));
  const auto pods = intake_.pods_of(workload);
  const auto info = intake_.workload(workload);
  const bool helps = (info && info->owner != nullptr) ||
                     std::any_of(pods.begin(), pods.end(), [&](const dialect::PodView& pod) {
                       return pod.recreated && (!pod.node.empty() || is_binding(pod.uid));
                     });
  spdlog::warn("gang {}: {}; {}", workload_name(workload), why,
               helps ? "it is withdrawn" : "its bound pods have no controller, so they keep their room");
  if (helps) events_.push_back(Withdraw{std::string(workload), std::move(why)});
  return helps;
}

// ------------------------------------------------------------------------------------------------------------------- time

void Carrier::answered(Answer&& answer, TimeMs now) {
  switch (answer.step) {
    case Step::kBind:
      return bind_answered(std::move(answer), now);
    case Step::kRead:
      return read_answered(std::move(answer), now);
    case Step::kMark:
    case Step::kDelete:
      return eviction_answered(std::move(answer), now);
    case Step::kOwner:
      return owner_answered(std::move(answer), now);
    default:
      return;  // the others' (core.cc)
  }
}

void Carrier::tick(TimeMs now) {
  owners_.tick(now);
  while (!timers_.empty() && timers_.begin()->first <= now) {
    const Timer timer = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    switch (timer.kind) {
      case TimerKind::kBind:
        if (const auto it = binds_.find(timer.key);
            it != binds_.end() && it->second.stage == Stage::kResting) {
          it->second.read_next ? read(it->second) : send(it->second);
        }
        break;
      case TimerKind::kEviction:
        if (const auto it = evictions_.find(timer.key);
            it != evictions_.end() && it->second.stage == Stage::kResting) {
          send(it->second);
        }
        break;
      case TimerKind::kGang:
        if (const auto it = flights_.find(timer.key); it != flights_.end() && it->second.deadline <= now) {
          // Members whose first bind is still on its way, or waits behind others, have not failed.
          const bool failed =
              std::any_of(it->second.open.begin(), it->second.open.end(),
                          [&](const auto& uid) { return failures_.contains(uid) || !binds_.contains(uid); });
          if (!failed && !it->second.open.empty()) {
            it->second.deadline = now + options_.gang_deadline;
            timers_.emplace(it->second.deadline, Timer{TimerKind::kGang, timer.key});
            break;
          }
          const auto info = intake_.workload(timer.key);
          if (info && info->elastic && info->whole > 0) {  // it runs; what it is to have beside waits
            flights_.erase(it);
            break;
          }
          const auto pods = intake_.pods_of(timer.key);
          const auto bound =
              std::count_if(pods.begin(), pods.end(), [](const auto& pod) { return !pod.node.empty(); });
          const auto to_come = static_cast<std::int64_t>(awaited_.places(timer.key));
          const std::int64_t open = info ? std::max<std::int64_t>(0, info->least - bound - to_come) : 0;
          if (open == 0) {  // others came in the place of those that vanished
            flights_.erase(it);
            break;
          }
          withdraw(timer.key, fmt::format("{} of its pods could not be bound within {} s", open,
                                          options_.gang_deadline / kSecond));
        }
        break;
    }
  }
}

}  // namespace berth::scheduler

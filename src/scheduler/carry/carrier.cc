#include "scheduler/carry/carrier.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/write/writes.h"
#include "kube/paths.h"
#include "scheduler/carry/let_out.h"
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

// Whether the slot of this event is to keep its place without a pod that has it. `has_pod`: a pod waits in it.
bool is_still_due(const dialect::IntakeView& intake, const Places::Place& place, const SlotUpdate& update,
                  bool has_pod) {
  if (place.state == PlaceState::kPromised && place.comes == Comes::kOfRelease) return true;
  if (intake.expects(update.workload, update.pod_set, update.index)) return true;
  if (place.state == PlaceState::kPromised) return false;
  const auto info = intake.workload(update.workload);
  return has_pod || (info && info->suspended) || intake.is_without_pods(update.workload);
}

}  // namespace

Carrier::Carrier(dialect::Intake& intake, dialect::JsonDecoder& decoder, Outbox& outbox,
                 CarrierListener& listener, CarrierOptions options)
    : intake_(intake),
      decoder_(decoder),
      outbox_(outbox),
      listener_(listener),
      options_(options),
      bind_data_(intake),
      places_(intake),
      owners_(intake, places_, outbox,
              {.pods_within = options.gang_deadline,
               .first_rest = options.owner_rest,
               .most_rest = options.owner_most_rest,
               .first_pause = options.first_rest,
               .most_pause = options.most_rest}),
      evictions_(intake, places_, outbox, listener, options.first_rest, options.most_rest),
      flights_(options.gang_deadline),
      volumes_(options.volumes) {}

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
  if (info && is_without_nodes(decision)) {
    auto to_come = let_out(decision, *info, intake_, places_, events_);
    return to_come.empty() ? void() : release(*info, decision, std::move(to_come), now);
  }
  const bool was_out = places_.take_out(decision.workload);
  const bool released = info && info->suspended;  // its pods are still to be made
  const bool flies = info && info->gang && !released;
  std::vector<SlotPlacement> places;
  std::vector<std::string> binds;
  for (const SlotPlacement& slot : decision.slots) {
    const auto pod = intake_.pod_at(decision.workload, slot.pod_set, slot.index);
    if (comes_later(decision, slot, pod.has_value(), released ? &*info : nullptr, intake_)) {
      places_.promise(decision.workload, Comes::kOfGroup, slot);
      continue;
    }
    // It was let out, and its pod is still to come.
    if (was_out && !pod && places_.take(decision.workload, Comes::kOfRelease, slot.pod_set, slot.index)) {
      places_.promise(decision.workload, Comes::kOfRelease, slot);
      continue;
    }
    // A pod that is there nevertheless is about to be deleted: the place is for the one that is made instead.
    if (released && (!pod || (pod->node.empty() && !places_.is_binding(pod->uid)))) {
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
    if (flies) flights_.expect(decision.workload, std::string(pod->uid), now);
    const auto [bind, fresh] = places_.add_bind(pod->uid);
    if (!fresh) {  // decided again while the former bind is on its way: that one counts
      events_.push_back(SlotUpdate{decision.workload, slot.pod_set, slot.index, SlotState::kBinding,
                                   bind.node, bind.devices});
      continue;
    }
    bind_data_.fill(bind, *pod, slot, now);
    binds.push_back(bind.uid);
  }
  launch(decision.workload, binds, now);
  if (!places.empty()) release(*info, decision, std::move(places), now);
}

void Carrier::send(Bind& bind) {
  places_.set_stage(bind.stage, Stage::kFlying);
  kube::Write write = dialect::bind(bind.ns, bind.name, bind.uid, bind.node, bind.devices, bind.annotations);
  write.deadline = kBindTime;
  outbox_.write(std::move(write), Step::kBind, bind.uid);
}

void Carrier::read(Bind& bind) {
  places_.set_stage(bind.stage, Stage::kReading);
  outbox_.read(kube::kPods.object(bind.ns, bind.name), bind.uid, Step::kRead);
}

void Carrier::rest(Bind& bind, bool read_next, TimeMs now) {
  places_.set_stage(bind.stage, Stage::kResting);
  bind.read_next = read_next;
  timers_.emplace(now + doubled(options_.first_rest, failures_[bind.uid], options_.most_rest), bind.uid);
}

void Carrier::forget_bind(const std::string& uid) {
  const auto bind = places_.take_bind(uid);
  volumes_.leave(uid);
  if (bind && bind->evict && places_.eviction(bind->uid) == nullptr)
    evictions_.settle(bind->workload, bind->uid);
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
  places_.set_stage(bind.stage, Stage::kDone);
  const std::string uid = bind.uid;
  failures_.erase(uid);
  flights_.landed(bind.workload, uid);
  const auto pod = intake_.pod(uid);
  if (!pod) return forget_bind(uid);
  listener_.on_bound(*pod, bind.node, now - bind.decided);
  if (bind.evict) {
    const auto ends = places_.take_bind(uid);
    return evictions_.begin(*pod, ends->reason, ends->beneficiary, now);
  }
  if (bind.seen) (void)places_.take_bind(uid);
}

void Carrier::bind_answered(Answer&& answer, TimeMs now) {
  Bind* const of = places_.bind(answer.uid);
  if (of == nullptr || of->stage != Stage::kFlying) return;
  Bind& bind = *of;
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
      return places_.set_stage(bind.stage,
                               Stage::kDone);  // another replica leads: nothing more is decided here
    case kube::Outcome::kForbidden:
    case kube::Outcome::kInvalid:
    case kube::Outcome::kUnavailable:
    case kube::Outcome::kDropped:
      return give_back(std::string(answer.uid));
  }
}

void Carrier::read_answered(Answer&& answer, TimeMs now) {
  Bind* const of = places_.bind(answer.uid);
  if (of == nullptr || of->stage != Stage::kReading) return;
  Bind& bind = *of;
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
  Bind* const still = places_.bind(uid);
  if (still == nullptr) return;
  if (node == wanted) {
    still->seen = true;
    return bound(*still, now);
  }
  spdlog::warn("{}/{} was bound to {} by another client; Berth had chosen {}", still->ns, still->name, node,
               wanted);
  seen(uid, false, now);
}

void Carrier::seen(std::string_view uid_view, bool gone, TimeMs now) {
  if (!gone) take_promised(uid_view, now);
  if (!places_.has_pods() && failures_.empty() && floors_.empty()) return;
  const std::string uid(uid_view);
  if (gone) {
    floors_.erase(uid);
    failures_.erase(uid);
    if (const Bind* bind = places_.bind(uid)) {
      flights_.gone(bind->workload, uid);
      volumes_.gone(uid);
      forget_bind(uid);
    }
    return evictions_.gone(uid);
  }
  Bind* const bind = places_.bind(uid);
  if (bind == nullptr) return;
  const auto pod = intake_.pod(uid);
  if (!pod || pod->node.empty()) return;
  bind->seen = true;
  const bool by_another = pod->node != bind->node || bind->stage == Stage::kWaits;
  if (by_another && bind->stage != Stage::kFlying) {
    flights_.landed(bind->workload, uid);
    return forget_bind(uid);
  }
  if (bind->stage == Stage::kDone) (void)places_.take_bind(uid);
}

void Carrier::take_promised(std::string_view uid, TimeMs now) {
  const bool of_release = places_.promises(Comes::kOfRelease);
  const bool of_group = places_.promises(Comes::kOfGroup);
  if (!of_release && !of_group) return;
  const auto pod = intake_.pod(uid);
  if (!pod || pod->state != SlotState::kWaiting || places_.is_binding(uid)) return;
  std::optional<SlotPlacement> place;
  if (of_release) place = owners_.take(*pod, now);
  if (!place && of_group) place = places_.take(pod->workload, Comes::kOfGroup, pod->pod_set, pod->index);
  if (!place) return;
  if (place->node.empty()) return places_.await(pod->workload, std::move(*place));
  const auto [bind, fresh] = places_.add_bind(pod->uid);
  if (!fresh) return;
  bind_data_.fill(bind, *pod, *place, now);
  flights_.expect(bind.workload, bind.uid, now);
  launch(bind.workload, {bind.uid}, now);
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
  if (places_.empty() || (!open && update.state != SlotState::kRunning)) return true;
  const auto pod = intake_.pod_at(update.workload, update.pod_set, update.index);
  const Places::Place place =
      places_.find(update.workload, update.pod_set, update.index, pod ? pod->uid : std::string_view());
  switch (place.state) {
    case PlaceState::kNone:
      return true;
    case PlaceState::kHeld:
    case PlaceState::kPromised:
      if (!open) return true;
      if (is_still_due(intake_, place, update, pod.has_value())) return false;
      (void)places_.drop(update.workload, update.pod_set, update.index);
      places_.end_reservation(update.workload);
      return true;
    case PlaceState::kBinding:
    case PlaceState::kBound:
    case PlaceState::kEnding:
      break;
  }
  if (open) {
    // Pods of an owner that was suspended meanwhile are ignored, but a bind may still succeed.
    if (place.bind == nullptr) return true;
    if (state_in_engine(update) == SlotState::kReleasing) return false;
    update.state = SlotState::kBinding;
    update.node = place.bind->node;
    update.devices = place.bind->devices;
    return true;
  }
  if (place.state != PlaceState::kEnding) return true;
  // It is about to be deleted: it must not count as running again. An engine that knows nothing of it learns both.
  if (state_in_engine(update) == SlotState::kReleasing) return false;
  SlotUpdate releasing = update;
  releasing.state = SlotState::kReleasing;
  events_.push_back(std::move(releasing));
  return true;
}

// -------------------------------------------------------------------------------------------------------------- evictions

void Carrier::evict(const Decision& decision, TimeMs now) {
  if (!ends_owner(decision, intake_, places_) && end_held(decision)) return;
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
                  [&](const auto& pod) { return !pod.node.empty() || places_.is_binding(pod.uid); })) {
    flights_.lose(answer.uid, now);
  }
}

void Carrier::found_bound(const std::string& workload, TimeMs now) {
  const auto info = intake_.workload(workload);
  if (info && info->gang) flights_.find(workload, now);
}

bool Carrier::withdraw(std::string_view workload, std::string why) {
  flights_.forget(workload);
  const auto pods = intake_.pods_of(workload);
  const auto info = intake_.workload(workload);
  const bool helps = (info && info->owner != nullptr) ||
                     std::any_of(pods.begin(), pods.end(), [&](const dialect::PodView& pod) {
                       return pod.recreated && (!pod.node.empty() || places_.is_binding(pod.uid));
                     });
  spdlog::warn("gang {}: {}; {}", info ? info->name : workload, why,
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
      if (const Eviction* missed = evictions_.answered(answer, now))
        vanished(missed->uid, std::string(missed->ns), std::string(missed->name));
      return;
    case Step::kOwner:
      return owner_answered(std::move(answer), now);
    case Step::kClaim: {
      const bool done = answer.result.outcome == kube::Outcome::kOk;
      if (answer.result.outcome == kube::Outcome::kFenced) return;  // another replica leads
      return volumes_.answered(
          answer.uid, done ? version_in(answer.result.body) : std::string_view(),
          done ? std::string() : fmt::format("{} {}", answer.result.reason, answer.result.message), now);
    }
    default:
      return;  // the others' (core.cc)
  }
}

void Carrier::tick(TimeMs now) {
  owners_.tick(now);
  evictions_.tick(now);
  work_volumes(now);
  while (!timers_.empty() && timers_.begin()->first <= now) {
    Bind* const bind = places_.bind(timers_.begin()->second);
    timers_.erase(timers_.begin());
    if (bind == nullptr || bind->stage != Stage::kResting) continue;
    bind->read_next ? read(*bind) : send(*bind);
  }
  for (const std::string& workload : flights_.due(now)) gang_due(workload, now);
}

void Carrier::gang_due(const std::string& workload, TimeMs now) {
  if (volumes_.holds(workload)) return flights_.extend(workload, now);  // they have a deadline of their own
  // Members whose first bind is still on its way, or waits behind others, have not failed.
  const auto& members = flights_.open(workload);
  const bool failed = std::any_of(members.begin(), members.end(), [&](const auto& uid) {
    return failures_.contains(uid) || !places_.is_binding(uid);
  });
  if (!failed && !members.empty()) return flights_.extend(workload, now);
  const auto info = intake_.workload(workload);
  // It runs; what it is to have beside waits.
  if (info && info->elastic && info->whole > 0) return flights_.forget(workload);
  const auto pods = intake_.pods_of(workload);
  const auto bound =
      std::count_if(pods.begin(), pods.end(), [](const auto& pod) { return !pod.node.empty(); });
  const auto to_come = static_cast<std::int64_t>(places_.promised(workload, Comes::kOfGroup));
  const std::int64_t open = info ? std::max<std::int64_t>(0, info->least - bound - to_come) : 0;
  if (open == 0) return flights_.forget(workload);  // others came in the place of those that vanished
  const bool waits = bound < std::ssize(pods);
  if (flights_.was_found(workload) && !waits) return flights_.extend(workload, now);
  withdraw(workload, fmt::format("{} of its pods could not be bound within {} s", open,
                                 options_.gang_deadline / kSecond));
}

}  // namespace berth::scheduler

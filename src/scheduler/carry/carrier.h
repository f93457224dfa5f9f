// Carries decisions out: binds, evictions and withdrawals, as writes with answers, until the watch shows the result. Lives on the
// decision thread; answers come back through the inbox.
//
// Binds: one request per pod, always with its uid. A gang's members are independent writes.
//   - "already assigned" to the same node is a success
//   - not executed (429, no connection, deadline): the slot waits again and the engine places it anew, near its gang
//   - possibly executed (time-out, 5xx): the pod is read back. If it is unbound, the same node is tried again, because a bind may
//     still be in flight
//   - another conflict or 404: the pod is read back, and its state is adopted
//   - refused (403, 422): tried again with back-off
// A gang that is incomplete `gang_deadline` after its first bind is withdrawn, if the controller of any bound member makes it anew.
// A withdrawal never deletes bare pods: they keep their room, and Berth keeps trying the rest of the gang.
//
// Volumes: pods with a claim that waits for a pod (WaitForFirstConsumer) have their places first. Then the node is written on the claim.
// When the claims of all pods of the workload are bound to volumes, its pods are bound together (volume_wait.h, carrier_volumes.cc).
//
// Evictions: all pods that are to end are marked, then they are deleted (evictions.h).
//
// Owners that Berth holds suspended (owners.h): a start without pods unsuspends the owner and keeps the places. Each new pod is bound to
// its place at once. An owner that is to end as a whole is suspended, and its controller deletes its pods.
//
// Future members of a group (IntakeView::expects()) keep their places as long as the group has them, and are bound when they come.
// carrier_held.cc.
//
// Starts that await admission: hold() records them, admit() executes them. If its owner changes, or the engine ends it meanwhile, the
// work waits again; carrier_held.cc.
//
// Starts of quota alone let work out, so that its pods ask an autoscaler for nodes: let_out.h.
//
// One book says which slot has a place, and in which state: places.h. It also states the life of a slot, and the words between Core,
// WorkloadObjects and Carrier. Cost: O(1) per pod and answer, O(log n) per timer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake.h"
#include "dialect/objects/decode.h"
#include "kube/writes.h"
#include "model/decision.h"
#include "scheduler/carry/bind_data.h"
#include "scheduler/carry/evictions.h"
#include "scheduler/carry/flights.h"
#include "scheduler/carry/listener.h"
#include "scheduler/carry/owners.h"
#include "scheduler/carry/places.h"
#include "scheduler/carry/volume_wait.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

struct CarrierOptions {
  DurationMs gang_deadline = 30 * kSecond;
  DurationMs first_rest = 100;  // after a failure, doubled up to most_rest
  DurationMs most_rest = 10 * kSecond;
  DurationMs owner_rest =
      10 * kSecond;  // after the pods of a released owner did not come, doubled up to owner_most_rest
  DurationMs owner_most_rest = 10 * kMinute;
  VolumeWaitOptions volumes;
};

class Carrier {
 public:
  Carrier(dialect::Intake& intake, dialect::JsonDecoder& decoder, Outbox& outbox, CarrierListener& listener,
          CarrierOptions options);

  void carry_out(const Decision& decision, TimeMs now);
  // The start is not carried out before admit().
  void hold(const Decision& start);
  // Adds the held places of its workload to this start, except slots that have other places in it.
  void join_held(Decision& start);
  // Carries out the held start, and later starts of the workload. `updates`: further changes of its pods.
  void admit(std::string_view workload, std::vector<dialect::PodSetUpdate> updates, TimeMs now);
  void unadmit(std::string_view workload);
  // Moves the places of a held start to other work, which is held in turn. To be called before the engine learns that the former
  // work is gone.
  void hand_over(const dialect::HandOver& what, TimeMs now);
  // The workload is removed from the engine, or reported anew: it has no places, not even for future pods.
  void forget_held(std::string_view workload);
  void answered(Answer&& answer, TimeMs now);
  // Whether this state of a pod is older than what is known already (from reading it back).
  bool is_stale(std::string_view uid, std::string_view resource_version);
  // The watch showed the pod; the intake knows it. `gone`: it was deleted or has ended.
  void seen(std::string_view uid, bool gone, TimeMs now);
  void owner_seen(std::string_view uid);
  void owner_gone(std::string_view uid);
  void tick(TimeMs now);
  // When tick() has something to do; kEndOfTime: never.
  TimeMs next_due() const {
    return std::min({owners_.next_due(), evictions_.next_due(), flights_.next_due(), volumes_.next_due(),
                     timers_.empty() ? kEndOfTime : timers_.begin()->first});
  }

  // Events for the engine that follow from answers since the last call: in order, after the intake's own events.
  std::vector<Event> take_events();
  // Corrects an event of the intake before the engine gets it: the book of places counts, not the watch. False: drop the event.
  bool correct(SlotUpdate& update, const std::function<SlotState(const SlotUpdate&)>& state_in_engine);

  // A pod of the workload is bound without a start of this process, and its gang may never be whole. See gang_deadline above: its time
  // begins anew while none of its pods waits.
  void found_bound(const std::string& workload, TimeMs now);
  // Gives back the room of started gangs that will not be whole: at recovery. See gang_deadline above.
  bool withdraw(std::string_view workload, std::string why);
  // At recovery: ends pods whose eviction was announced before a crash. Also ends the rest of their gang if fewer than `least` (per
  // pod set) would stay. False: nothing of it was announced.
  bool resume_eviction(std::string_view workload, const std::vector<std::int64_t>& least, TimeMs now);
  // Requests that are out, or wait to be sent again.
  std::size_t busy() const { return places_.busy() + owners_.busy(); }
  const Owners& owners() const { return owners_; }
  const Places& places() const { return places_; }
  // Why a workload with places is not bound yet: its volumes are still to be made. Nothing: it does not wait for them.
  std::optional<Reason> volumes_waited_for(const std::string& workload) const;

 private:
  void start(const Decision& decision, TimeMs now);
  void evict(const Decision& decision, TimeMs now);
  // An owner that ends as a whole is suspended; false: it is not one.
  bool suspend(const Decision& decision, TimeMs now);
  void evict_pods(const Decision& decision, TimeMs now);
  // The owner has places for pods that are still to be made.
  void release(const dialect::WorkloadInfo& info, const Decision& start, std::vector<SlotPlacement> places,
               TimeMs now);
  // An owner is released again before its suspension has ended all pods that it was to end: those are deleted one by one.
  void end_the_rest(const Decision& start, TimeMs now);
  // The pod has come; if a place is promised to it, it is bound.
  void take_promised(std::string_view uid, TimeMs now);
  // The binds of these pods begin: at once, or when the volumes of all of them are there.
  void launch(const std::string& workload, const std::vector<std::string>& pods, TimeMs now);
  // Nodes are written on claims; waits for volumes end.
  void work_volumes(TimeMs now);
  void owner_answered(Answer&& answer, TimeMs now);
  // Nothing of these slots is on the server: they wait again. False: some of them have started.
  bool end_held(const Decision& eviction);
  void send(Bind& bind);
  void read(Bind& bind);
  void rest(Bind& bind, bool read_next, TimeMs now);
  void bind_answered(Answer&& answer, TimeMs now);
  void read_answered(Answer&& answer, TimeMs now);
  void bound(Bind& bind, TimeMs now);
  // The slot waits again; the engine may place it elsewhere.
  void give_back(const std::string& uid);
  // `uid` is a copy: the caller's may live in what is forgotten now.
  void vanished(std::string uid, std::string_view ns, std::string_view name);
  void forget_bind(const std::string& uid);
  // The gang is incomplete at its deadline.
  void gang_due(const std::string& workload, TimeMs now);

  dialect::Intake& intake_;
  dialect::JsonDecoder& decoder_;
  Outbox& outbox_;
  CarrierListener& listener_;
  const CarrierOptions options_;
  BindData bind_data_;
  Places places_;
  Owners owners_;
  Evictions evictions_;
  Flights flights_;
  VolumeWait volumes_;
  std::unordered_map<std::string, int> failures_;          // by pod, since its last success
  std::unordered_map<std::string, std::uint64_t> floors_;  // by pod: older states are not taken in
  std::multimap<TimeMs, std::string> timers_;              // by pod: when its bind goes on
  std::vector<Event> events_;
};

}  // namespace berth::scheduler

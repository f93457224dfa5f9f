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
// Evictions: first the condition DisruptionTarget on all pods that are to end. Only when the server has accepted all of these, the
// deletes follow, with the uid. So after a crash the remaining pods carry the mark, and resume_eviction() completes the eviction.
// No pod of a gang is gone while another is unmarked. A bind in flight is awaited; if it failed, there is nothing to delete.
//
// Owners that Berth holds suspended (owners.h): a start without pods unsuspends the owner and keeps the places. Each new pod is bound to
// its place at once. An owner that is to end as a whole is suspended, and its controller deletes its pods.
//
// Future members of a group (Intake::expects()) keep their places as long as the group has them, and are bound when they come.
// carrier_held.cc.
//
// Starts that await admission: hold() records them, admit() executes them. Meanwhile the engine counts their slots as binding, and
// nothing is written to the API. If its owner changes, or the engine ends it meanwhile, the work waits again; carrier_held.cc.
//
// Invariant: a pod is in at most one of binds and evictions. Cost: O(1) per pod and answer, O(log n) per timer.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake.h"
#include "dialect/objects/decode.h"
#include "kube/writes.h"
#include "model/decision.h"
#include "scheduler/carry/held_starts.h"
#include "scheduler/carry/owners.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

// Receives what happened, for events and metrics.
class CarrierListener {
 public:
  virtual ~CarrierListener() = default;
  virtual void on_bound(const dialect::PodView& pod, std::string_view node, DurationMs since_decision) = 0;
  virtual void on_evicting(const dialect::PodView& pod, const Reason& reason,
                           std::string_view beneficiary) = 0;
  // An owner was released ("Released"), or is suspended to end it ("Preempted", "Withdrawn").
  virtual void on_owner(const dialect::Ask& owner, std::string_view reason, std::string note) = 0;
};

struct CarrierOptions {
  DurationMs gang_deadline = 30 * kSecond;
  DurationMs first_rest = 100;  // after a failure, doubled up to most_rest
  DurationMs most_rest = 10 * kSecond;
  DurationMs owner_rest =
      10 * kSecond;  // after the pods of a released owner did not come, doubled up to owner_most_rest
  DurationMs owner_most_rest = 10 * kMinute;
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
  bool holds(std::string_view workload) const { return held_.has(workload); }
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
    return std::min(owners_.next_due(), timers_.empty() ? kEndOfTime : timers_.begin()->first);
  }

  // Events for the engine that follow from answers since the last call: in order, after the intake's own events.
  std::vector<Event> take_events();
  // Corrects an event of the intake before the engine gets it: a pod with a bind in flight is binding, whatever the watch has
  // shown. False: drop the event.
  bool correct(SlotUpdate& update, const std::function<SlotState(const SlotUpdate&)>& state_in_engine);

  // Gives back the room of started gangs that will not be whole: at recovery. See gang_deadline above.
  bool withdraw(std::string_view workload, std::string why);
  // At recovery: ends pods whose eviction was announced before a crash. Also ends the rest of their gang if fewer than `least` (per
  // pod set) would stay. False: nothing of it was announced.
  bool resume_eviction(std::string_view workload, const std::vector<std::int64_t>& least, TimeMs now);
  // Whether a bind of the pod is on its way or has been answered well.
  bool is_binding(std::string_view uid) const { return binds_.contains(std::string(uid)); }
  // Requests that are out, or wait to be sent again.
  std::size_t busy() const { return busy_ + owners_.busy(); }
  const Owners& owners() const { return owners_; }
  std::size_t binds() const { return binds_.size(); }
  std::size_t evictions() const { return evictions_.size(); }

 private:
  enum class Stage : std::uint8_t { kFlying, kReading, kResting, kDone };
  struct Bind {
    std::string ns, name, uid, node, workload;
    std::vector<std::int64_t> devices;
    Labels annotations;  // that it writes beside
    TimeMs decided = 0;
    Stage stage = Stage::kFlying;
    bool read_next = false;  // after the rest: read it, not bind it
    bool seen = false;       // the watch has shown it on its node
    bool evict = false;      // as soon as it is known to be bound
    int unknowns = 0;
    Reason reason;  // of the eviction
    std::string beneficiary;
  };
  struct Eviction {
    std::string ns, name, uid, workload;
    kube::PodCondition condition;
    bool marked = false;
    bool deleting = false;  // its delete was sent
    Stage stage = Stage::kFlying;
    int failures = 0;
  };
  // The pods of one workload that are to end.
  struct Ending {
    std::set<std::string> unmarked;   // the condition is not on the server yet, or its bind is on its way
    std::vector<std::string> marked;  // deleted when there is no unmarked one
  };
  struct Flight {
    std::set<std::string> open;  // members not known to be bound
    TimeMs deadline = 0;
    // A member vanished before it was bound, or its place went back before it came. The deadline shows whether the gang is complete
    // all the same.
    bool lost = false;
    bool landed() const { return open.empty() && !lost; }
  };
  enum class TimerKind : std::uint8_t { kBind, kEviction, kGang };
  struct Timer {
    TimerKind kind;
    std::string key;
  };

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
  // An elastic owner is smaller than it was when it was released: places of pods that will not come go back.
  void fit_places(std::string_view uid);
  // A pod whose place is kept has come.
  void came(const dialect::PodView& pod, const SlotPlacement& place, TimeMs now);
  // The data of a new bind.
  void begin(Bind& bind, const dialect::PodView& pod, const SlotPlacement& place, TimeMs now) const;
  // That of the gang; a new one is due at the gang's deadline.
  Flight& flight_of(const std::string& workload, TimeMs now);
  void owner_answered(Answer&& answer, TimeMs now);
  // Nothing of these slots is on the server: they wait again. False: some of them have started.
  bool end_held(const Decision& eviction);
  // Whether the slot stays binding, although its pod merely waits.
  bool keeps_held(const SlotUpdate& update);
  // Whether it stays binding, since a pod is to come for it.
  bool keeps_awaited(const SlotUpdate& update);
  Labels annotations_of(const dialect::PodView& pod) const;
  void begin_eviction(const dialect::PodView& pod, const Reason& reason, std::string_view beneficiary,
                      TimeMs now);
  Eviction& add_eviction(const dialect::PodView& pod, kube::PodCondition condition);
  // The pod is marked, or will not be; when all of its workload are, those that are marked are deleted.
  void marked(const std::string& workload, const std::string& uid, bool is_marked);
  std::string workload_name(std::string_view workload) const;
  void send(Bind& bind);
  void read(Bind& bind);
  void rest(Bind& bind, bool read_next, TimeMs now);
  void send(Eviction& eviction);
  void bind_answered(Answer&& answer, TimeMs now);
  void read_answered(Answer&& answer, TimeMs now);
  void eviction_answered(Answer&& answer, TimeMs now);
  void bound(Bind& bind, TimeMs now);
  // The slot waits again; the engine may place it elsewhere.
  void give_back(const std::string& uid);
  // `uid` is a copy: the caller's may live in what is forgotten now.
  void vanished(std::string uid, std::string_view ns, std::string_view name);
  void forget_bind(const std::string& uid);
  void set_stage(Stage& stage, Stage to);
  DurationMs pause(int failures) const;

  dialect::Intake& intake_;
  dialect::JsonDecoder& decoder_;
  Outbox& outbox_;
  CarrierListener& listener_;
  const CarrierOptions options_;
  std::unordered_map<std::string, std::vector<dialect::PodSetUpdate>> updates_;  // by workload
  Owners owners_;
  HeldStarts held_;
  HeldStarts awaited_;  // places of group members that are to come
  std::unordered_map<std::string, Bind> binds_;
  std::unordered_map<std::string, Eviction> evictions_;
  std::unordered_map<std::string, Ending> endings_;        // by workload
  std::unordered_map<std::string, Flight> flights_;        // by workload
  std::unordered_map<std::string, int> failures_;          // by pod, since its last success
  std::unordered_map<std::string, std::uint64_t> floors_;  // by pod: older states are not taken in
  std::multimap<TimeMs, Timer> timers_;
  std::vector<Event> events_;
  std::size_t busy_ = 0;
};

}  // namespace berth::scheduler

// The book of places: which slot has a place whose result the watch has not shown yet, and in which state. It is the only holder of
// that answer; Carrier, Owners and Evictions write it, Core asks it through Carrier::correct(). Lives on the decision thread.
//
// The life of a slot, from the engine's start to what the watch shows:
//
//      engine: start ──► WorkloadObjects::must_wait()
//                          │ yes                     │ no: Carrier::join_held(), carry_out()
//                          ▼                         │
//        unadmit(),      held ──admit()──────────────┤
//        end_held()  ◄──   │ ▲                       │
//                          │ └ hand_over()           ▼
//                          │                 has it a pod? ──no──► promised ──its pod comes──┐
//                          │                         │ yes             │                     │
//                          │                         ▼                 │ give_up()           │
//                          │                      binding ◄────────────┼─────────────────────┘
//                          │       not executed:  │     │              │
//                          │       waits again ◄──┘     │ answered     │
//                          │                            ▼ well         │
//                          │                          bound ──the watch shows it──► (the intake knows)
//                          ▼                            │              ▼
//        engine: evict ─► waits again                ending        gone, or waits again
//                                                       └──the pod is gone──► (the intake knows)
//
//   held      decided, but it awaits admission: its checks, blockAdmission, its nodes, or the work that its Workload is for
//             (WorkloadObjects). Nothing of it is on the server. Or its pod was let out, and waits for nodes (await())
//   promised  its pod is still to be made: by an owner that is being released, or as a member of a group that runs
//   binding   a bind of its pod is on its way, or is to be tried again, or waits for the volumes of the pod
//   bound     the bind was answered well, and the watch has not shown it yet
//   ending    its pod is being evicted: marked, deleted, or to be as soon as its bind is known
//
// In the engine, slots that are held, promised, binding or bound are binding, and those that are ending are releasing. The events
// of the intake say otherwise, because the server or the watch does not show it yet. So Carrier::correct() looks each of them up.
//
// The words between the parts, all through Core:
//   must_wait()         WorkloadObjects: this start awaits admission. Core calls hold() then, else join_held() and carry_out()
//   hold()              Carrier: the slots of the start are held
//   let_out()           Carrier: slots with quota alone are promised to pods that are still to be made, and held when these are there
//   take_admissions()   WorkloadObjects: work was admitted, or is not any longer. Core calls admit() or unadmit()
//   admit()             Carrier: held slots that have a node are carried out
//   unadmit()           Carrier: what its checks changed of its pods is void; where that decides about places, they are given back
//   join_held()         Carrier: a later start of work that is admitted takes its held slots along
//   hand_over()         Carrier: held slots become those of the work that has come for them. Before the engine learns that the former
//                       work is gone
//   forget_held()       Carrier: the engine forgets the workload: its slots are neither held nor promised to a member
//   end_reservation()   Places: what was held of the workload is carried out, or given up. The intake knows from this book alone which
//                       work without pods has places (IntakePromises::set_reserved()); Owners tells it which owners are being released
//
// Invariants.
//   - A slot without a pod has at most one place: it is held or promised. A new one takes the place of the former.
//   - A pod has at most one: it binds (binding, bound), or it ends. A pod that is to end while its bind is on its way does both, and
//     is ending.
//   - A place is known by its slot until its pod has come, and by its pod from then on: pods may change their slots.
//   - A workload has a held start exactly while one of its slots is held. It is reserved, where it has no pods, from hold() until
//     end_reservation() finds no slot held.
// Only in memory: after a restart what was held or promised waits, and is decided again. The watch shows what binds and ends.
//
// Cost: O(log slots of the workload) per look-up and change of a slot, O(slots) per change of a whole start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake_promises.h"
#include "kube/writes.h"
#include "model/decision.h"

namespace berth::scheduler {

enum class PlaceState : std::uint8_t { kNone, kHeld, kPromised, kBinding, kBound, kEnding };

// Whose pod a promised slot is for.
enum class Comes : std::uint8_t {
  kOfRelease,  // an owner makes it that is being released
  kOfGroup,    // a later member of its group, or of an owner that runs (IntakeView::expects())
};

// A write about a pod, or a read of it. kWaits: it is not sent before the volumes of the pod are there (volume_wait.h).
enum class Stage : std::uint8_t { kFlying, kReading, kResting, kDone, kWaits };

struct Bind {
  std::string ns, name, uid, node, workload;
  std::vector<std::int64_t> devices;
  Labels annotations;  // that it writes beside
  TimeMs decided = 0;
  Stage stage = Stage::kDone;
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
  Stage stage = Stage::kDone;
  int failures = 0;
};

class Places {
 public:
  explicit Places(dialect::IntakePromises& intake) : intake_(intake) {}

  // The place of a slot, and of the pod that has it ("": none has).
  struct Place {
    PlaceState state = PlaceState::kNone;
    Comes comes = Comes::kOfRelease;  // where it is promised
    const Bind* bind = nullptr;       // where its pod binds, also where it is to end then
  };
  Place find(std::string_view workload, std::int64_t pod_set, std::int64_t index,
             std::string_view pod_uid) const;
  bool empty() const { return works_.empty() && binds_.empty() && evictions_.empty(); }
  bool has_pods() const { return !binds_.empty() || !evictions_.empty(); }
  // It is neither held nor promised any longer. False: it was neither.
  bool drop(std::string_view workload, std::int64_t pod_set, std::int64_t index);

  // ---- held. `generation`: of the spec of a suspended owner; 0: it is none. `reserve`: it has no pods, so that only the intake can
  // keep what it asks for as it was decided.
  void hold(const Decision& start, std::int64_t generation, bool reserve);

  // ---- let out on quota alone (let_out.h)
  void set_out(std::string_view workload) { out_.insert(std::string(workload)); }
  bool is_out(std::string_view workload) const { return out_.contains(std::string(workload)); }
  bool has_out() const { return !out_.empty(); }
  // It has nodes; true: it was out.
  bool take_out(std::string_view workload) { return !out_.empty() && out_.erase(std::string(workload)) > 0; }
  // None of its slots has a place any more, but those that are promised by a release.
  void forget_out(std::string_view workload);
  // A slot with quota alone, whose pod is there and asks for nodes.
  void await(std::string_view workload, SlotPlacement place);
  // Slots that are held or promised.
  std::size_t size(std::string_view workload) const;

  bool holds(std::string_view workload) const;
  bool holds_any() const { return held_ > 0; }
  bool holds(std::string_view workload, std::int64_t pod_set, std::int64_t index) const;
  std::int64_t generation(std::string_view workload) const;
  // To be carried out, and not held any longer.
  std::optional<Decision> take_held(std::string_view workload);
  // The same of those of its slots that have a node: quota alone goes on being held.
  std::optional<Decision> take_placed(std::string_view workload);
  void forget_held(std::string_view workload);
  // To be called when what was taken is carried out.
  void end_reservation(const std::string& workload);

  // ---- promised
  void promise(const std::string& workload, Comes comes, SlotPlacement place);
  bool promises(Comes comes) const { return promised_[static_cast<std::size_t>(comes)] > 0; }
  std::size_t promised(std::string_view workload, Comes comes) const;
  std::optional<SlotPlacement> take(std::string_view workload, Comes comes, std::int64_t pod_set,
                                    std::int64_t index);
  // The last of them, by pod set and index.
  std::optional<SlotPlacement> take_last(std::string_view workload, Comes comes);
  void forget_promised(std::string_view workload, Comes comes);

  // ---- pods that bind
  // The bind of the pod; nullptr: it has none.
  Bind* bind(std::string_view uid);
  const Bind* bind(std::string_view uid) const;
  bool is_binding(std::string_view uid) const { return bind(uid) != nullptr; }
  // The second: it is new.
  std::pair<Bind&, bool> add_bind(std::string_view uid);
  std::optional<Bind> take_bind(std::string_view uid);
  std::size_t binds() const { return binds_.size(); }

  // ---- pods that end
  Eviction* eviction(std::string_view uid);
  Eviction& add_eviction(std::string_view uid) { return evictions_[std::string(uid)]; }
  std::optional<Eviction> take_eviction(std::string_view uid);
  std::size_t evictions() const { return evictions_.size(); }

  // Requests about pods that are out, or wait to be sent again.
  void set_stage(Stage& stage, Stage to);
  std::size_t busy() const { return busy_; }

 private:
  using Slot = std::pair<std::int64_t, std::int64_t>;  // pod set, index
  struct Kept {
    bool held = false;
    Comes comes = Comes::kOfRelease;
    SlotPlacement place;
  };
  struct Work {
    std::map<Slot, Kept> slots;
    std::size_t held = 0;  // of the slots
    std::size_t promised[2] = {0, 0};
    Decision start;  // of the held ones, without its slots
    std::int64_t generation = 0;
  };
  using Works = std::unordered_map<std::string, Work>;
  const Work* work(std::string_view workload) const;
  void put(const std::string& workload, Kept kept);
  // Takes out those slots of the workload that `which` wants, in order.
  template <class Which>
  std::vector<SlotPlacement> take_if(std::string_view workload, const Which& which);
  void count(Work& work, const Kept& kept, bool in);
  template <class Request>
  std::optional<Request> take_request(std::unordered_map<std::string, Request>& all, std::string_view uid);
  // Where it has no slot here any more, or none that is held.
  void close(Works::iterator work);

  dialect::IntakePromises& intake_;
  Works works_;
  std::size_t held_ = 0;                      // slots
  std::size_t promised_[2] = {0, 0};          // by Comes
  std::unordered_set<std::string> reserved_;  // workloads
  std::unordered_set<std::string> out_;       // workloads
  std::unordered_map<std::string, Bind> binds_;
  std::unordered_map<std::string, Eviction> evictions_;
  std::size_t busy_ = 0;
};

}  // namespace berth::scheduler

// Owners of pods that wait suspended: released when their places are held, suspended again to end them. Lives on the decision thread,
// beside the carrier, which asks it. The writes are those of each kind of owners (dialect/owners/owner.h).
//
// Release: the engine has started an owner that has no pods: its slots are binding, so their room and quota are theirs. One patch
// unsuspends the owner. The API server accepts it only while the owner is unchanged since the decision (uid, generation of its spec,
// still suspended). Its places are promised (places.h), and the pods that come are given them one by one (take()). Not taken: the places are given back, and after a
// pause the owner is decided anew.
//   - pods that do not come in time: the gang is withdrawn, which suspends the owner again, and it rests, longer each time. In time
//     means gang_deadline after the release, or after the last pod of any owner came. One controller makes the pods of all owners of
//     a kind. It is never longer than twenty times gang_deadline.
//   - pods that are larger than the template, or need other nodes (Intake's revision): the places are void, and the gang is decided
//     anew for its real pods, within the same time.
// End: the owner is suspended by one patch with its uid; its controller deletes its pods, none of which counts as failed. Where
// that is refused (403, 422), answered() says so, and the carrier deletes the pods one by one. If another client releases it before
// its pods are gone, it is suspended again, most_pause later: its room already belongs to other work.
//
// A release may have been executed if its answer was lost, or if it was refused after such an attempt. The owner is read back until
// that succeeds, and counts as released if it is not suspended any more.
//
// A release that changes the template (admission checks) may be refused where the owner has run before. Then it is made changeable
// (OwnerKind::make_changeable), and the release is sent once more.
//
// Where a controller leaves the switch of what the owner makes alone, that one's switch is written too (owned_switches.h).
//
// An owner that may start with fewer pods is released with as many as it has places for. Its user's size is written back when it is
// suspended.
//
// One write per owner is under way at any time, so that what was decided last is what comes out. After a restart there is nothing to
// recover. A suspended owner waits, another one has its pods, and a gang that is bound in part is completed or withdrawn.
//
// Cost: O(slots) per release, O(log n) per pod and timer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake_promises.h"
#include "model/decision.h"
#include "scheduler/carry/owned_switches.h"
#include "scheduler/carry/places.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

struct OwnerOptions {
  DurationMs pods_within = 30 * kSecond;
  DurationMs first_rest = 10 * kSecond;  // after pods did not come, doubled up to most_rest
  DurationMs most_rest = 10 * kMinute;
  DurationMs first_pause = 100;  // after a write failed, doubled up to most_pause
  DurationMs most_pause = 10 * kSecond;
};

class Owners {
 public:
  Owners(dialect::IntakePromises& intake, Places& places, Outbox& outbox, OwnerOptions options)
      : intake_(intake), places_(places), outbox_(outbox), options_(options), owned_(intake, outbox) {}

  // Places for pods that do not exist yet, of a workload that is a suspended owner. `updates`: go into its pod templates.
  void release(const std::string& workload, std::vector<SlotPlacement> places, TimeMs now,
               std::vector<dialect::PodSetUpdate> updates = {});
  // The place that is kept for this pod, which has come and waits; from now on the caller's.
  std::optional<SlotPlacement> take(const dialect::PodView& pod, TimeMs now);
  // The place is not kept any longer; nothing where none is.
  void give_up(std::string_view workload, std::int64_t pod_set, std::int64_t index);
  // The last of its places that no pod has taken is not kept any longer; nothing where there is none.
  std::optional<SlotPlacement> give_up_last(std::string_view workload);
  // The places of the workload that no pod has taken yet are given up, and the owner is suspended. `decision`: what is carried out.
  // `rest`: after a withdrawal; kShort: only until its pods are gone.
  enum class Rest : std::uint8_t { kGrows, kShort };
  void suspend(const Decision& decision, Rest rest, TimeMs now);

  // The intake has taken in the owner of a good answer already. Gives a decision that must be carried out pod by pod, because the
  // owner may not be suspended.
  std::optional<Decision> answered(const Answer& answer, TimeMs now);
  // The owner is gone, or has ended.
  void forget(std::string_view workload);
  void tick(TimeMs now);
  TimeMs next_due() const {
    return std::min(owned_.next_due(), timers_.empty() ? kEndOfTime : timers_.begin()->first);
  }

  // For the engine, since the last call.
  std::vector<Event> take_events() { return std::exchange(events_, {}); }
  bool knows(std::string_view workload) const { return entries_.contains(std::string(workload)); }
  // nullptr: it knows no such owner.
  const dialect::OwnerKind* kind_of(std::string_view workload) const;
  // The pods that its suspension ends, while it is suspended.
  std::optional<Decision> ending(std::string_view workload) const;
  std::size_t busy() const { return flying_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    dialect::Ask ask;  // as it was when this was decided
    std::uint64_t revision = 0;
    std::vector<dialect::PodSetUpdate> updates;
    bool reduced = false;           // it was to be released with fewer pods
    bool changes_template = false;  // its release does
    bool made_changeable = false;   // it was, for that
    bool making = false;            // that write is under way
    bool suspend = false;           // what is wanted
    bool flying = false;            // a write is under way
    bool wrote_suspend = false;
    bool reading = false;  // it is read back, since it is not known whether the write was executed
    bool unread = false;   // that read failed: it is tried again
    bool settled = false;  // the last write was taken, and nothing else is wanted
    TimeMs released = 0;
    TimeMs deadline = 0;
    std::optional<Decision> ending;
  };
  void send(const std::string& workload, Entry& entry);
  void read_back(const std::string& workload, Entry& entry);
  // After a failed release: its result, by reading the owner or by the write's answer. `made`: of the write that makes it changeable.
  struct Released {
    kube::Outcome outcome;
    bool read;
    bool made;
  };
  void release_failed(const Answer& answer, Entry& entry, const Released& released, TimeMs now);
  // The same of a suspension; gives what answered() gives.
  std::optional<Decision> suspension_failed(const Answer& answer, Entry& entry, TimeMs now);
  kube::Write release_of(const std::string& workload, Entry& entry) const;
  void make_changeable(const std::string& workload, Entry& entry);
  // As it is now.
  const dialect::Ask& ask_of(const std::string& workload, const Entry& entry) const;
  void take_back(const std::string& workload, std::string why, TimeMs now);
  void rest(const std::string& workload, std::string why, DurationMs time, TimeMs now);
  void settle(const std::string& workload);
  bool expects_pods_of(std::string_view workload) const {
    return places_.promised(workload, Comes::kOfRelease) > 0;
  }
  DurationMs pods_within(const Entry& entry) const {
    return std::max(options_.pods_within, entry.ask.kind->pods_within);
  }
  // A place of it was the last that a pod was to take.
  void all_taken(const std::string& workload);
  void late(const std::string& workload, Entry& entry, TimeMs now);

  dialect::IntakePromises& intake_;
  Places& places_;
  Outbox& outbox_;
  const OwnerOptions options_;
  OwnedSwitches owned_;
  std::unordered_map<std::string, Entry> entries_;
  std::unordered_map<std::string, int> failures_;  // of writes, since the last success
  std::unordered_map<std::string, int> misses_;    // pods that did not come, since they came last
  std::unordered_map<std::string, TimeMs> rests_;  // until when
  std::multimap<TimeMs, std::string> timers_;      // by owner; what is due is seen then
  std::vector<Event> events_;
  TimeMs last_arrival_ = 0;
  std::size_t flying_ = 0;
};

}  // namespace berth::scheduler

// Jobs that wait suspended: released when their places are held, suspended again to end them. Lives on the decision thread, beside
// the carrier, which asks it.
//
// Release: the engine has started a Job that has no pods: its slots are binding, so their room and quota are theirs. One patch
// unsuspends the Job. The API server accepts it only while the Job is unchanged since the decision (uid, generation of its spec,
// still suspended). The pods that come are given the places one by one (take()). Not taken: the places are given back, and after a
// pause the Job is decided anew.
//   - pods that do not come in time: the gang is withdrawn, which suspends the Job again, and it rests, longer each time. In time
//     means gang_deadline after the release, or after the last pod of any Job came, because one controller makes the pods of all
//     Jobs. It is never longer than twenty times gang_deadline.
//   - pods that are larger than the template, or need other nodes (Intake's revision): the places are void, and the gang is decided
//     anew for its real pods, within the same time.
// End: the Job is suspended by one patch with its uid; the Job controller deletes its pods, none of which counts as failed. Where
// that is refused (403, 422), answered() says so, and the carrier deletes the pods one by one. If another client releases it before
// its pods are gone, it is suspended again, most_pause later: its room already belongs to other work.
//
// A release may have been executed if its answer was lost, or if it was refused after such an attempt. The Job is read back until
// that succeeds, and counts as released if it is not suspended any more.
//
// Before Kubernetes 1.35 a release that changes the template (admission checks) is refused if the Job has run before. Then
// status.startTime is cleared, and the release is sent once more.
//
// A Job that may start with fewer pods (dialect/owners/partial_jobs.h) is released with as many as it has places for. Its owner's size is
// written back when it is suspended.
//
// One write per Job is under way at any time, so that what was decided last is what comes out. After a restart there is nothing to
// recover. A suspended Job waits, another one has its pods, and a gang that is bound in part is completed or withdrawn.
//
// Cost: O(slots) per release, O(log n) per pod and timer.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake.h"
#include "model/decision.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

struct JobOptions {
  DurationMs pods_within = 30 * kSecond;
  DurationMs first_rest = 10 * kSecond;  // after pods did not come, doubled up to most_rest
  DurationMs most_rest = 10 * kMinute;
  DurationMs first_pause = 100;  // after a write failed, doubled up to most_pause
  DurationMs most_pause = 10 * kSecond;
};

class Jobs {
 public:
  Jobs(dialect::Intake& intake, Outbox& outbox, JobOptions options)
      : intake_(intake), outbox_(outbox), options_(options) {}

  // Places for pods that do not exist yet, of a workload that is a suspended Job. `update`: goes into its pod template.
  void release(const std::string& workload, std::vector<SlotPlacement> places, TimeMs now,
               std::optional<dialect::PodSetUpdate> update = {});
  // The place that is kept for this pod, which has come and waits; from now on the caller's.
  std::optional<SlotPlacement> take(const dialect::PodView& pod, TimeMs now);
  // The place is not kept any longer; nothing where none is.
  void give_up(std::string_view workload, std::int64_t pod_set, std::int64_t index);
  // The last of its places that no pod has taken is not kept any longer; nothing where there is none.
  using Place = std::pair<std::int64_t, std::int64_t>;  // pod set, index
  std::optional<Place> give_up_last(std::string_view workload);
  // The places of the workload that no pod has taken yet are given up, and the Job is suspended. `decision`: what is carried out.
  void suspend(const Decision& decision, TimeMs now);

  // The intake has taken in the Job of a good answer already. Gives a decision that must be carried out pod by pod, because the
  // Job may not be suspended.
  std::optional<Decision> answered(const Answer& answer, TimeMs now);
  // The Job is gone, or has ended.
  void forget(std::string_view workload);
  void tick(TimeMs now);
  TimeMs next_due() const { return timers_.empty() ? kEndOfTime : timers_.begin()->first; }

  // For the engine, since the last call.
  std::vector<Event> take_events() { return std::exchange(events_, {}); }
  // Whether a place of the workload is kept for a pod that has not come.
  bool keeps_place(std::string_view workload, std::int64_t pod_set, std::int64_t index) const;
  bool expects_pods() const { return expecting_ > 0; }
  // Places that are kept for pods that have not come.
  std::size_t open_places(std::string_view workload) const;
  bool knows(std::string_view workload) const { return jobs_.contains(std::string(workload)); }
  // The pods that its suspension ends, while it is suspended.
  std::optional<Decision> ending(std::string_view workload) const;
  std::size_t busy() const { return flying_; }
  std::size_t size() const { return jobs_.size(); }

 private:
  struct Entry {
    std::string ns, name;
    std::int64_t generation = 0;
    std::uint64_t revision = 0;
    std::map<Place, SlotPlacement> open;
    std::optional<dialect::PodSetUpdate> update;
    bool reduced = false;           // it was to be released with fewer pods
    bool changes_template = false;  // its release does
    bool forgot_start = false;      // it was made to
    bool forgetting = false;        // that write is under way
    bool suspend = false;           // what is wanted
    bool flying = false;            // a write is under way
    bool wrote_suspend = false;
    bool reading = false;  // its Job is read back, since it is not known whether the write was executed
    bool unread = false;   // that read failed: it is tried again
    bool settled = false;  // the last write was taken, and nothing else is wanted
    TimeMs released = 0;
    TimeMs deadline = 0;
    std::optional<Decision> ending;
  };
  void send(const std::string& workload, Entry& entry);
  void read_back(const std::string& workload, Entry& entry);
  // After a failed release: its result, by reading the Job or by the write's answer, to `forgot` its start or to release it.
  struct Released {
    kube::Outcome outcome;
    bool read;
    bool forgot;
  };
  void release_failed(const Answer& answer, Entry& entry, const Released& released, TimeMs now);
  // The same of a suspension; gives what answered() gives.
  std::optional<Decision> suspension_failed(const Answer& answer, Entry& entry, TimeMs now);
  kube::Write release_of(const std::string& workload, Entry& entry) const;
  void forget_start(const std::string& workload, Entry& entry);
  kube::Write suspension_of(const std::string& workload, const Entry& entry) const;
  void take_back(const std::string& workload, std::string why, TimeMs now);
  void rest(const std::string& workload, std::string why, DurationMs time, TimeMs now);
  void settle(const std::string& workload);
  void close(Entry& entry);
  void late(const std::string& workload, Entry& entry, TimeMs now);

  dialect::Intake& intake_;
  Outbox& outbox_;
  const JobOptions options_;
  std::unordered_map<std::string, Entry> jobs_;
  std::unordered_map<std::string, int> failures_;  // of writes, since the last success
  std::unordered_map<std::string, int> misses_;    // pods that did not come, since they came last
  std::unordered_map<std::string, TimeMs> rests_;  // until when
  std::multimap<TimeMs, std::string> timers_;      // by Job; what is due is seen then
  std::vector<Event> events_;
  TimeMs last_arrival_ = 0;
  std::size_t expecting_ = 0;  // entries with open places
  std::size_t flying_ = 0;
};

}  // namespace berth::scheduler

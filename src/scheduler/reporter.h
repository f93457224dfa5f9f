// Says on the pods what Berth thinks of them: condition PodScheduled=False with the reason of every pending pod, and events. A Job that
// waits suspended has no pods: it gets the event ("Waiting") itself.
// Lives on the decision thread, works only when it has nothing better to do, and never competes with binds: while binds are on
// their way it writes at a trickle, otherwise at a bounded rate.
//
// Conditions are written on change only, a moment after the verdict has settled (a gang whose members are still being made
// is not told of each), and where only numbers in the text differ no more often than every half minute. The condition's reason is
// "Unschedulable" only where nodes lack room, since autoscalers buy nodes for that word; every other cause (quota, incomplete
// gang, held room, unsupported constraint) has a word of its own.
//
// Bounded: events beyond `most_events` are dropped, oldest first. Cost: O(1) per changed workload, one explanation
// (O(nodes x pod sets)) per condition that is looked at.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/time.h"
#include "dialect/intake.h"
#include "engine/engine.h"
#include "kube/writes.h"
#include "scheduler/allowance.h"
#include "scheduler/carrier.h"
#include "scheduler/due.h"
#include "scheduler/outbox.h"

namespace berth::scheduler {

struct ReporterOptions {
  std::string instance;  // reportingInstance of events
  DurationMs settle = kSecond;
  DurationMs refresh = 30 * kSecond;  // texts that differ in numbers only
  // What holds its places while victims end is told so when it lasts longer than this. Most victims end within it, and a write
  // for every pod of the preemptor would delay their deletion.
  DurationMs room_is_freed = 5 * kSecond;
  std::int64_t statuses_per_second = 500;
  std::int64_t events_per_second = 50;
  std::int64_t busy_statuses_per_second = 20;  // while binds are on their way
  std::int64_t busy_events_per_second = 2;
  std::size_t most_events = 10'000;
};

// The condition's reason for a pod that waits for this.
std::string_view condition_reason(const Reason& reason);
// The first code in the tree that says why it waits, others than "no victims" before it.
ReasonCode leading_code(const Reason& reason);
// No node had a place for it.
bool is_about_nodes(ReasonCode code);
// Whether two texts differ in digits only.
bool same_words(std::string_view a, std::string_view b);

class Reporter {
 public:
  Reporter(const dialect::Intake& intake, const engine::Engine& engine, const Carrier& carrier,
           Outbox& outbox, ReporterOptions options);

  // The verdict of this workload may have changed.
  void changed(std::string_view workload, TimeMs now);
  void add_event(kube::EventNote event);
  // The pod is bound, gone, or was told something else by somebody: what was written no longer counts.
  void forget(std::string_view pod_uid);
  // A status write did not succeed: it is looked at again.
  void failed(std::string_view pod_uid, TimeMs now);

  // Writes what is due, at most `most` workloads and events; false: nothing was due.
  bool work(TimeMs now, bool busy, int most);
  TimeMs next_due() const { return next_due_; }
  std::size_t waiting() const { return due_.size() + events_.size(); }

 private:
  struct Told {
    std::string reason;
    std::string message;
    TimeMs at = 0;
  };
  // Looks at one workload; false: no allowance is left, it stays due.
  bool look(const std::string& workload, TimeMs now);
  // One whose start is held: nodes are not what it lacks, so that no autoscaler must act for it. `job`: it is a Job without pods.
  bool look_at_held(const dialect::WorkloadInfo* job, const std::vector<dialect::PodView>& pods, TimeMs now);
  // Writes the condition on this pod where that is news; false: no allowance is left.
  bool tell(const dialect::PodView& pod, const Reason& reason, const kube::PodCondition& condition,
            TimeMs now);
  bool tell(const dialect::WorkloadInfo& job, const kube::PodCondition& condition, TimeMs now);
  void schedule(const std::string& workload, TimeMs at);
  // Whether this is not what `uid` was told; where only numbers differ it becomes due later.
  bool is_news(const std::string& uid, const std::string& workload, const kube::PodCondition& condition,
               TimeMs now);

  // Whether the workload's places become free soon, so that it need not be told that it waits; looked at again when not. `teller`:
  // what is told of it, a pod or a Job.
  bool starts_soon(const Verdict& verdict, const std::string& workload, const std::string& teller,
                   TimeMs now);

  const dialect::Intake& intake_;
  const engine::Engine& engine_;
  const Carrier& carrier_;
  Outbox& outbox_;
  const ReporterOptions options_;
  Due due_;                                     // workloads
  std::unordered_map<std::string, Told> told_;  // by pod, or Job
  std::unordered_map<std::string, TimeMs>
      freeing_;  // by teller: until when its places are expected to be free
  std::deque<kube::EventNote> events_;
  Allowance statuses_;
  Allowance event_allowance_;
  TimeMs next_due_ = kEndOfTime;
  std::uint32_t event_number_ = 0;
};

}  // namespace berth::scheduler

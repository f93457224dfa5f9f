// Says on the pods what Berth thinks of them: condition PodScheduled=False with the reason of every pending pod, and events. A Job that
// waits suspended has no pods: it gets the event ("Waiting") itself.
// Lives on the decision thread, works only when that is idle, and gives way to binds. While binds are in flight it writes at a
// trickle, or just fast enough to report waiting work within `within`; otherwise at a bounded rate. Events wait for the end of a burst
// (load.h), conditions do not.
//
// Conditions are written on change only, a moment after the verdict has settled: one write per gang, not one per new member.
// Waiting work is examined in rounds, the oldest look first, as soon as anything has changed in the engine: the text follows the
// free room within `refresh`, as long as the rates allow it. Identical work shares one explanation for as long. Writes that change
// only the text, and not its reason, have a rate of their own. So ten thousand pods whose numbers change all the time cost the API
// server no more than that, and one write per pod and `refresh`. The condition's reason is "Unschedulable" only if nodes lack room,
// because autoscalers provision nodes for that word. Every other cause (quota, incomplete gang, held room, unsupported constraint)
// has a word of its own.
//
// Bounded: events beyond `most_events` are dropped, oldest first. Cost: O(1) per changed workload, one explanation
// (O(nodes x pod sets)) per condition that is looked at; nothing for a round while nothing changes in the engine.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/time.h"
#include "dialect/intake/intake_view.h"
#include "engine/engine.h"
#include "kube/writes.h"
#include "scheduler/carry/carrier.h"
#include "scheduler/wire/allowance.h"
#include "scheduler/wire/due.h"
#include "scheduler/wire/load.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

struct ReporterOptions {
  std::string instance;  // reportingInstance of events
  DurationMs settle = kSecond;
  DurationMs refresh =
      5 * kSecond;  // between two looks at what waits, and between two texts that differ in numbers only
  DurationMs owner_refresh = 30 * kSecond;  // the same of owners without pods: they are told by events
  // Work with a hold gets a condition if its victims take longer than this to end. Most victims end within it, and a write for
  // every pod of the preemptor would delay their deletion.
  DurationMs room_is_freed = 5 * kSecond;
  DurationMs within = 8 * kSecond;
  std::int64_t statuses_per_second = 500;
  std::int64_t refreshes_per_second = 50;  // of these, of texts whose reason is the same
  std::int64_t looks_per_second = 2'000;   // in rounds, at work that shares an explanation
  std::int64_t explains_per_second = 100;  // in rounds; each some 100 us of the decision thread
  std::int64_t events_per_second =
      200;  // two for each bind: with fewer than that, a long run of binds loses some
  // For pods of more than large_pod bytes. The API server reads and writes a whole pod for one condition: it takes a fifth of a second
  // for a pod of a megabyte. More of such writes in that time would hold up the binds of all others.
  std::uint32_t large_pod = 64 << 10;
  std::int64_t large_bytes_per_second = 1 << 20;
  std::int64_t busy_statuses_per_second = 20;  // while binds are on their way
  std::int64_t busy_events_per_second = 2;
  std::int64_t busy_refreshes_per_second = 5;
  std::int64_t busy_explains_per_second = 10;
  std::size_t most_events = 10'000;
};

// The condition's reason for a pod that waits for this.
std::string_view condition_reason(const Reason& reason);
// No node had a place for it.
bool is_about_nodes(ReasonCode code);
// Whether two texts differ in digits only.
bool same_words(std::string_view a, std::string_view b);

class Reporter {
 public:
  Reporter(const dialect::IntakeView& intake, const engine::Engine& engine, const Carrier& carrier,
           Outbox& outbox, ReporterOptions options);

  // The verdict of this workload may have changed.
  void changed(std::string_view workload, TimeMs now);
  void add_event(kube::EventNote event);
  // The pod is bound, gone, or was changed by another client: the written text no longer counts.
  void forget(std::string_view pod_uid);
  // A status write did not succeed: it is looked at again.
  void failed(std::string_view pod_uid, TimeMs now);

  // Why pods of this workload may not ask an autoscaler for nodes, although nodes lack.
  using WhyNot = std::function<std::optional<std::string>(const std::string& workload, TimeMs now)>;
  void set_why_not(WhyNot why_not) { why_not_ = std::move(why_not); }

  // Writes what is due, at most `most` workloads and events; false: nothing was due.
  bool work(TimeMs now, Load load, int most);
  TimeMs next_due() const { return next_due_; }
  std::size_t waiting() const { return due_.size() + events_.size(); }
  // The time of the oldest comparison of a written text with the present state; kEndOfTime: nothing has changed since.
  TimeMs oldest_look() const;

 private:
  struct Told {
    std::string reason;
    std::string message;
    TimeMs at = 0;
    std::string nominated;
  };
  enum class Why : std::uint8_t { kNews, kRound };
  // Looks at one workload; false: no allowance is left, it stays due. `waits`: it is to be looked at in rounds.
  bool look(const std::string& workload, TimeMs now, Why why, bool& waits);
  bool look_at_later(const std::string& workload, const std::vector<dialect::PodView>& pods, TimeMs now,
                     Why why, bool& waits);
  // Pods with places whose volumes are not there yet.
  bool look_at_volumes(const std::string& workload, const std::vector<dialect::PodView>& pods, TimeMs now,
                       Why why, bool& waits);
  // One of the round; false: nothing of it is due, or no allowance is left (then `starved`).
  bool look_in_round(TimeMs now, bool& starved);
  // Not older than `age`, or than the last change in the engine; none: it is not known, or no allowance is left (then `starved`).
  std::optional<Verdict> explain(const std::string& workload, TimeMs now, Why why, bool& starved);
  // One whose start is held: nodes are not what it lacks, so that no autoscaler must act for it. `job`: it is a Job without pods.
  bool look_at_held(const dialect::WorkloadInfo* job, const std::vector<dialect::PodView>& pods, TimeMs now,
                    Why why);
  // Writes the condition on this pod where that is news, and its nominated node; false: no allowance is left. A large pod waits for
  // its own allowance alone.
  bool tell(const dialect::PodView& pod, const Reason& reason, const kube::PodCondition& condition,
            TimeMs now, Why why);
  // The node that the pod gets when its victims have ended; "" = none.
  std::string nominated(const dialect::PodView& pod) const;
  bool tell(const dialect::WorkloadInfo& job, const kube::PodCondition& condition, TimeMs now, Why why);
  // The right to write this on `uid`, which is news.
  bool may_write(const std::string& uid, const kube::PodCondition& condition, Why why);
  void schedule(const std::string& workload, TimeMs at);
  // Whether this is not what `uid` was told; where it was told a moment ago, or only numbers differ, later.
  bool is_news(const std::string& uid, const kube::PodCondition& condition, TimeMs now) const;

  // Whether the workload's places become free soon, so that it need not be told that it waits; looked at again when not. `teller`:
  // what is told of it, a pod or a Job.
  bool starts_soon(const Verdict& verdict, const std::string& workload, const std::string& teller,
                   TimeMs now);

  const dialect::IntakeView& intake_;
  const engine::Engine& engine_;
  const Carrier& carrier_;
  Outbox& outbox_;
  const ReporterOptions options_;
  WhyNot why_not_;
  struct Explained {
    Verdict verdict;
    std::uint64_t changes = 0;  // of the engine
    TimeMs at = 0;
  };
  Due due_;    // workloads
  Due round_;  // workloads that wait, by when they were last looked at
  std::unordered_map<std::string, std::uint64_t>
      looked_;  // those of the round: the engine's changes until then
  std::unordered_map<std::uint64_t, Explained> explained_;  // by what is alike
  TimeMs swept_ = 0;                                        // explained_
  std::unordered_map<std::string, Told> told_;              // by pod, or owner
  std::unordered_map<std::string, TimeMs>
      freeing_;  // by teller: until when its places are expected to be free
  std::deque<kube::EventNote> events_;
  Allowance statuses_;
  Allowance large_bytes_;
  Allowance refreshes_;
  Allowance looks_;
  Allowance explains_;
  Allowance event_allowance_;
  TimeMs next_due_ = kEndOfTime;
  std::uint32_t event_number_ = 0;
};

}  // namespace berth::scheduler

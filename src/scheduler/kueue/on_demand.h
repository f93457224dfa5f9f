// Work of ClusterQueues whose nodes come on demand (dialect kNodes). Work that has quota and lacks nodes alone is let out on its quota.
// Then its pods say that they are Unschedulable, and an autoscaler makes nodes for all of them. Lives on the decision thread.
//
//   tries      the engine tries it on the nodes that are there, as all work
//   asks       its verdict says that nodes lack, and Karpenter's limits allow them (node_limits.h): from now on it may get quota first
//              (PodTemplate::awaited_flavors). Amounts that other work asks for and does not have yet count, too
//   is out     it has quota, and no nodes: scheduler/carry/let_out.h. The engine places all of it at once when nodes have come
//              While it is out, other work that lacks quota may ask, too. So it takes that quota by the queue's preemption policy
//   started    it has its nodes: for some seconds, until Karpenter has counted them, its amounts still count beside the limits
//   rests      they have not come in time: quota goes back, its Job is suspended again. It is tried on nodes that are there, and asks
//              again after as long as it waited, doubled each time, at most an hour
//
// Only in memory: after a restart, work that is out is a released Job whose pods wait. It tries, asks and is out again; its time and
// its rests begin anew. Cost: O(log n) per change of a verdict.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake_promises.h"
#include "engine/engine.h"
#include "model/decision.h"
#include "model/event.h"
#include "scheduler/kueue/node_limits.h"

namespace berth::scheduler {

struct OnDemandOptions {
  // Kueue's blockAdmission lets work in one by one, when nodes are there: nothing is let out beside it.
  bool enabled = true;
  DurationMs within = 15 * kMinute;  // nodes must have come
  DurationMs most_rest = kHour;
};

class OnDemand {
 public:
  OnDemand(dialect::IntakePromises& intake, const engine::Engine& engine, Outbox& outbox,
           OnDemandOptions options)
      : intake_(intake), engine_(engine), limits_(outbox), options_(options) {}

  // The verdict about the workload may have changed. True: it asks, or does so no more, which the engine must learn.
  bool changed(const std::string& workload, TimeMs now);
  // Queues or flavors may say otherwise now: with the next tick() all work is looked at, if they do. Statuses of queues come often.
  void supply_changed() { anew_ = true; }
  // Before the decision is carried out. True: this start is of quota alone, and to be let out.
  bool decided(const Decision& decision, TimeMs now);
  void tick(TimeMs now);
  // The answer of Step::kNodePools.
  void answered(const Answer& answer, TimeMs now);
  // Work with another why_not(), since the last call.
  std::vector<std::string> take_news() { return std::exchange(news_, {}); }
  TimeMs next_due() const { return anew_ ? 0 : timers_.empty() ? kEndOfTime : timers_.begin()->first; }
  std::vector<Event> take_events() { return std::exchange(events_, {}); }
  // Why its pods may not ask an autoscaler for nodes now, although nodes lack; nothing: they may, or their nodes do not come on demand.
  std::optional<std::string> why_not(const std::string& workload, TimeMs now) const;

 private:
  enum class Stage : std::uint8_t { kTries, kAsks, kOut, kStarted };
  struct Entry {
    Stage stage = Stage::kTries;
    TimeMs due =
        0;  // kOut: its nodes must have come; kStarted: the limits know of them; else it may ask again
    int misses = 0;
    bool in_line = false;  // until the limits are known
    ResourceList asked;    // kAsks, kOut, kStarted: of the limits
    std::set<std::string> pools;
    std::string lack;  // kTries: the limit that does not allow it; "": none
  };
  using Entries = std::map<std::string, Entry>;
  // It asks no more, and has no quota of this kind.
  void take_back(const std::string& workload, Entry& entry);
  // Notes the amounts that it asks for beside the places that are there. Whether the limits allow them.
  bool is_allowed(const std::string& workload, const Reason& why, Entry& entry) const;
  void late(const std::string& workload, Entry& entry, TimeMs now);

  dialect::IntakePromises& intake_;
  const engine::Engine& engine_;
  NodeLimits limits_;
  const OnDemandOptions options_;
  Entries entries_;  // by workload
  std::multimap<TimeMs, std::string> timers_;
  std::vector<Event> events_;
  std::vector<std::string> line_;  // workloads, until the limits are known
  std::vector<std::string> news_;
  std::size_t outs_ = 0;  // of the entries
  bool anew_ = false;
  dialect::IntakeQueues::NodeSupplies supplies_;  // as all work was looked at last
};

}  // namespace berth::scheduler

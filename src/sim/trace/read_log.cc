// A decision log (observe/decision_log.h) of a live scheduler or a simulation as a trace: nodes, queues and jobs, to try another
// policy on.
//
//   time       events carry none: each counts as of the decide() that follows. The first decide() is time 0.
//   nodes, topologies, queues, flavors: as they are when the log ends, without what was removed before.
// Memory: about 200 bytes per job, at most rules.max_jobs of them, and what is alive: nodes, queues, workloads that have
// not ended and events that wait for their decide(), of which at most kMostAliveBytes of text are held.
//   submission the creation of the workload, or when it was first seen active.
//   a run      begins with the decision that starts the workload, or when it is first seen running, and ends
//              with an eviction, with the end of its last slot, or with the workload.
//   duration   the undisturbed work that the runs make together: the last run, and of each run that was cut
//              short the part up to its last checkpoint (none, where it makes none), less the restart overhead
//              of every run but the first. For a log of a simulation this is the duration of its trace, to the
//              millisecond. Other waiting of a run (image pulls) counts as work.
//   still running when the log ends: the run so far, or the expected duration where that is longer.
//   never started: the expected duration where there is one, otherwise the workload is left out.
// Not taken over: pods that are not Berth's, kinds of workloads, holds, how many pods of elastic work ran.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "observe/codec.h"
#include "observe/decision_log.h"
#include "sim/trace/readers.h"

namespace berth::sim {
namespace {

using Slot = std::pair<std::int64_t, std::int64_t>;  // pod set, index

constexpr std::size_t kMostAliveBytes = std::size_t{1} << 30;
constexpr std::size_t kSlotBytes = 48;  // of a slot that runs: a node of the set

struct Seen {
  Workload workload;
  std::size_t bytes = 0;  // of its line
  std::uint32_t line = 0;
  std::optional<TimeMs> submit;
  std::set<Slot> running;
  std::optional<TimeMs> run_since;
  DurationMs last_run =
      0;  // the run that ended by itself, of which it is not known yet whether it is the last
  bool ended = false;
  std::int64_t runs = 0;
  DurationMs kept = 0;  // of runs that were cut short
};

// Values by name, in the order in which the names first came: where nothing else decides, nodes are taken in
// that order.
template <class T>
class ByName {
 public:
  // `bytes`: of the text that the value was read from.
  void put(const std::string& name, T value, std::size_t bytes) {
    const auto [it, fresh] = places_.try_emplace(name, next_);
    if (fresh) ++next_;
    Entry& entry = values_[it->second];
    bytes_ += bytes - entry.bytes;
    entry = {std::move(value), bytes};
  }
  void erase(const std::string& name) {
    const auto it = places_.find(name);
    if (it == places_.end()) return;
    const auto value = values_.find(it->second);
    bytes_ -= value->second.bytes;
    values_.erase(value);
    places_.erase(it);
  }
  void clear() { *this = ByName(); }
  std::size_t bytes() const { return bytes_; }
  std::vector<T> take() {
    std::vector<T> out;
    for (auto& [place, entry] : values_) out.push_back(std::move(entry.value));
    return out;
  }

 private:
  struct Entry {
    T value;
    std::size_t bytes = 0;
  };
  std::map<std::string, std::uint64_t, std::less<>> places_;
  std::map<std::uint64_t, Entry> values_;
  std::uint64_t next_ = 0;
  std::size_t bytes_ = 0;
};

// A job that is known whole, until the log has been read.
struct Known {
  std::uint32_t line = 0;
  Job job;
  std::string queue;
};

void make_all_pods_present(Group& group) {
  for (PodSet& set : group.pod_sets) set.present.reset();
  for (Group& child : group.groups) make_all_pods_present(child);
}

class LogTrace {
 public:
  LogTrace(std::string file, const JobRules& rules, TraceBuilder& out)
      : file_(std::move(file)), rules_(rules), out_(out) {}

  // `bytes`: of the line.
  Status take(const observe::LogLine& line, std::uint32_t number, std::size_t bytes) {
    number_ = number;
    if (std::holds_alternative<observe::LogSession>(line)) {
      // A fresh engine is told everything again. Workloads stay: what runs was not stopped by that.
      nodes_.clear();
      topologies_.clear();
      queues_.clear();
      flavors_.clear();
    } else if (const auto* event = std::get_if<observe::LogEvent>(&line)) {
      if (event->refused.empty()) {
        waiting_.push_back({event->event, number, bytes});
        waiting_bytes_ += bytes;
      }
    } else if (const auto* decide = std::get_if<observe::LogDecide>(&line)) {
      now_ = decide->now;
      if (!zero_) zero_ = now_;
      BERTH_TRY(take_events());
      number_ = number;
      for (const Decision& decision : decide->decisions) take_decision(decision);
    }
    return within_limits();
  }

  Result<TraceWorld> finish() {
    BERTH_TRY(take_events());
    for (auto& [uid, seen] : workloads_) BERTH_TRY(give(seen));
    // In the order in which they came, not in which they ended: equal submissions keep their order.
    std::sort(known_.begin(), known_.end(), [](const Known& x, const Known& y) { return x.line < y.line; });
    for (Known& known : known_) {
      BERTH_TRY(out_.add(std::move(known.job), known.queue, rules_, {file_, known.line, 0}));
    }
    TraceWorld world;
    world.nodes = nodes_.take();
    world.topologies = topologies_.take();
    world.flavors = flavors_.take();
    world.queues = queues_.take();
    return world;
  }

 private:
  Status take_events() {
    for (const Waiting& waiting : waiting_) {
      number_ = waiting.line;
      bytes_ = waiting.bytes;
      BERTH_TRY(std::visit([this](const auto& e) { return on(e); }, waiting.event));
    }
    waiting_.clear();
    waiting_bytes_ = 0;
    return {};
  }

  Status within_limits() const {
    const std::size_t alive = waiting_bytes_ + workload_bytes_ + slots_ * kSlotBytes + nodes_.bytes() +
                              topologies_.bytes() + flavors_.bytes() + queues_.bytes();
    if (alive > kMostAliveBytes) {
      return fail_at({file_, number_, 0},
                     "the objects that are alive here take more than {} bytes of the log; convert a log of a "
                     "smaller cluster, or a part of it",
                     kMostAliveBytes);
    }
    if (static_cast<std::int64_t>(known_.size() + workloads_.size()) > rules_.max_jobs) {
      return fail_at({file_, number_, 0},
                     "more than {} jobs in a decision log, which are held; raise --max-jobs",
                     rules_.max_jobs);
    }
    return {};
  }

  Status on(const NodeUpsert& event) {
    nodes_.put(event.node.name, event.node, bytes_);
    return {};
  }
  Status on(const NodeRemove& event) {
    nodes_.erase(event.name);
    return {};
  }
  Status on(const TopologyUpsert& event) {
    topologies_.put(event.topology.name, event.topology, bytes_);
    return {};
  }
  Status on(const TopologyRemove& event) {
    topologies_.erase(event.name);
    return {};
  }
  Status on(const FlavorUpsert& event) {
    flavors_.put(event.flavor.name, event.flavor, bytes_);
    return {};
  }
  Status on(const FlavorRemove& event) {
    flavors_.erase(event.name);
    return {};
  }
  Status on(const QueueUpsert& event) {
    queues_.put(event.queue.name, event.queue, bytes_);
    return {};
  }
  Status on(const QueueRemove& event) {
    queues_.erase(event.name);
    return {};
  }
  Status on(const WorkloadUpsert& event) {
    Seen& seen = workloads_[event.workload.uid];
    if (seen.line == 0) seen.line = number_;
    workload_bytes_ += bytes_ - seen.bytes;
    seen.bytes = bytes_;
    seen.workload = event.workload;
    if (!seen.submit && event.workload.active) {
      const TimeMs created = event.workload.created;
      seen.submit = created > 0 ? std::min(created, now_) : now_;
    }
    return {};
  }
  Status on(const WorkloadRemove& event) {
    const auto it = workloads_.find(event.uid);
    if (it == workloads_.end()) return {};
    Seen& seen = it->second;
    if (seen.run_since) {
      seen.last_run = now_ - *seen.run_since;
      seen.run_since.reset();
      seen.ended = true;
    }
    BERTH_TRY(give(seen));
    workload_bytes_ -= seen.bytes;
    slots_ -= seen.running.size();
    workloads_.erase(it);
    return {};
  }
  Status on(const SlotUpdate& event) {
    const auto it = workloads_.find(event.workload);
    if (it == workloads_.end()) return {};
    const Slot slot{event.pod_set, event.index};
    switch (event.state) {
      case SlotState::kBinding:
      case SlotState::kRunning:
        begin(it->second, slot);
        break;
      case SlotState::kGone:
      case SlotState::kAbsent:
        if (stop(it->second, slot) && it->second.running.empty()) end(it->second);
        break;
      case SlotState::kWaiting:
      case SlotState::kHeld:
      case SlotState::kReleasing:
        break;
    }
    return {};
  }
  template <class Event>  // pods that are not Berth's, withdrawals
  Status on(const Event&) {
    return {};
  }

  void take_decision(const Decision& decision) {
    const auto it = workloads_.find(decision.workload);
    if (it == workloads_.end()) return;
    Seen& seen = it->second;
    if (decision.kind == DecisionKind::kStart) {
      for (const SlotPlacement& slot : decision.slots) begin(seen, {slot.pod_set, slot.index});
    } else if (decision.kind == DecisionKind::kEvict) {
      for (const SlotPlacement& slot : decision.slots) stop(seen, {slot.pod_set, slot.index});
      if (!seen.running.empty() || !seen.run_since) return;
      seen.kept = saturating_add(seen.kept, kept_of(seen, now_ - *seen.run_since));
      seen.run_since.reset();
    }
  }

  // The kept part of a run that was cut short.
  static DurationMs kept_of(const Seen& seen, DurationMs run) {
    const Restart& restart = seen.workload.restart;
    const DurationMs worked = std::max<DurationMs>(0, run - (seen.runs > 1 ? restart.overhead : 0));
    return restart.checkpoint_every > 0 ? worked / restart.checkpoint_every * restart.checkpoint_every : 0;
  }

  void begin(Seen& seen, const Slot& slot) {
    if (seen.running.insert(slot).second) ++slots_;
    if (seen.run_since) return;
    // It comes back: the run before did not end the work after all.
    if (seen.ended) seen.kept = saturating_add(seen.kept, kept_of(seen, seen.last_run));
    seen.ended = false;
    seen.run_since = now_;
    ++seen.runs;
  }
  // Whether the slot ran.
  bool stop(Seen& seen, const Slot& slot) {
    const std::size_t stopped = seen.running.erase(slot);
    slots_ -= stopped;
    return stopped > 0;
  }
  void end(Seen& seen) {
    if (!seen.run_since) return;  // evicted
    seen.last_run = now_ - *seen.run_since;
    seen.run_since.reset();
    seen.ended = true;
  }

  Status give(const Seen& seen) {
    const Workload& workload = seen.workload;
    Job job;
    job.name = workload.name.empty() ? workload.uid : workload.name;
    job.submit = seen.submit.value_or(now_) - zero_.value_or(0);
    job.priority = workload.priority;
    job.preemptible = workload.preemptible;
    job.expected = workload.expected_duration.value_or(kNotSaid);
    const DurationMs overhead = seen.runs > 1 ? workload.restart.overhead : 0;
    if (seen.ended) {
      job.duration = saturating_add(seen.kept, std::max<DurationMs>(0, seen.last_run - overhead));
    } else if (seen.runs > 0) {
      const DurationMs so_far =
          seen.run_since ? std::max<DurationMs>(0, now_ - *seen.run_since - overhead) : 0;
      job.duration = std::max(job.expected, saturating_add(seen.kept, so_far));
      out_.remark(
          "had not ended when the log ends, or were removed after an eviction: they get the work done "
          "so far, or the expected duration where that is longer");
    } else if (workload.expected_duration) {
      job.duration = *workload.expected_duration;
      out_.remark("never started: they get their expected duration");
    } else {
      out_.leave_out("never started, so that their run time is unknown");
      return {};
    }
    Group root = workload.root;
    make_all_pods_present(root);
    std::string key = "log " + observe::encode(root) + shape_rules_key(rules_);
    BERTH_ASSIGN(job.shape, out_.shape(key, [&] { return std::move(root); }));
    Restart restart = workload.restart;
    restart.last_checkpoint.reset();
    job.restart = out_.restart(restart);
    if (workload.kind == WorkloadKind::kService) out_.remark("are services; here they are jobs that end");
    known_.push_back({seen.line, std::move(job), workload.queue});
    return out_.within_limits({file_, seen.line, 0});
  }

  std::string file_;
  const JobRules& rules_;
  TraceBuilder& out_;
  struct Waiting {
    Event event;
    std::uint32_t line = 0;
    std::size_t bytes = 0;
  };
  std::vector<Waiting> waiting_;  // for the next decide()
  std::size_t waiting_bytes_ = 0;
  std::size_t workload_bytes_ = 0;
  std::size_t slots_ = 0;  // that run
  TimeMs now_ = 0;
  std::optional<TimeMs> zero_;
  std::uint32_t number_ = 0;
  std::size_t bytes_ = 0;  // of the line of the event that is taken
  ByName<Node> nodes_;
  ByName<Topology> topologies_;
  ByName<Flavor> flavors_;
  ByName<Queue> queues_;
  std::map<std::string, Seen, std::less<>> workloads_;  // that have not ended
  std::vector<Known> known_;
};

}  // namespace

Result<TraceWorld> read_log(const std::string& path, const JobRules& rules, TraceBuilder& jobs) {
  BERTH_ASSIGN(observe::LogReader reader, observe::LogReader::open(path));
  LogTrace trace(path, rules, jobs);
  for (;;) {
    BERTH_ASSIGN(const auto line, reader.next());
    if (!line) return trace.finish();
    BERTH_TRY(trace.take(*line, reader.line(), reader.raw().size()));
  }
}

}  // namespace berth::sim

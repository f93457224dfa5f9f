// The world of `berth plan`: objects, the intake and engine behind them, and the carrying out of decisions on paper.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "dialect/intake/intake.h"
#include "engine/engine.h"
#include "model/decision.h"
#include "model/event.h"

namespace berth::cli {

// A workload as one round left it.
struct PlanLine {
  std::string name;   // namespace/name
  std::string queue;  // "" = none
  std::int64_t priority = 0;
  std::string owner;       // of a single pod: "Job default/train"; "" = none
  TimeMs created = 0;      // 0: not known
  std::int64_t place = 0;  // in the line of its queue, from 1; 0: it does not stand in line
  std::int64_t pods = 0;   // that start, end, or wait
  std::vector<SlotPlacement> slots;
  std::vector<std::string> pods_of_slots;  // namespace/name, one per slot; "": it has no pod yet
  std::vector<FlavorChoice> flavors;
  std::string beneficiary;  // eviction: the preemptor
  std::int64_t cost = 0;
  Reason reason;
};

// For the whole cluster, after the round. Base units.
struct PlanTotal {
  std::string resource;
  std::int64_t capacity = 0;
  std::int64_t used = 0;  // by what runs, starts, and holds room
};

struct PlanTotals {
  std::int64_t nodes = 0;
  std::vector<PlanTotal> devices;  // of all nodes
  std::int64_t queues = 0;         // that take work
  std::vector<PlanTotal> quotas;   // of all queues: capacity is the nominal quota
};

struct PlanRound {
  TimeMs now = 0;
  PlanTotals totals;
  std::vector<PlanLine> starts, evictions, holds, released, waiting, refused;
  std::vector<PlanLine> running;  // as before, and not touched
  std::vector<PlanLine> ending;   // evicted in an earlier round, pods are still there
};

class PlanWorld {
 public:
  // `intake.quota_only`: no nodes are known, quota alone decides (dialect/intake/intake.h).
  // `from_eviction`: work evicted because its pods were not ready queues from that time on (dialect/kueue/pods_ready.h).
  PlanWorld(dialect::IntakeConfig intake, engine::EngineConfig engine_config, bool from_eviction = false);

  // Adds or replaces objects; owners get the pods that their controller would make.
  Status apply(std::vector<dialect::Object> objects);
  // This object cannot be read: what was known of it before stays.
  void unreadable(dialect::Kind kind, const std::string& ns, const std::string& name,
                  const std::string& message) {
    intake_.unreadable(kind, ns, name, message);
  }
  // False: there is no such object.
  bool remove(dialect::Kind kind, const std::string& ns, const std::string& name);
  // All pods of the workload (namespace/name) succeed. False: there is none.
  bool finish(const std::string& workload);

  PlanRound decide(TimeMs now);
  // Pods that were started run.
  void carry_out_starts();
  // Evicted pods are gone; those that a controller owns are made again.
  void complete_evictions();

  // The latest of the times in the objects: creations, starts and ends of pods, starts of owners, conditions of Workloads,
  // checkpoints.
  TimeMs newest() const { return newest_; }
  const std::vector<std::string>& notes() const { return notes_; }
  std::vector<dialect::Problem> problems() const { return intake_.problems(); }
  const Labels* node_labels(const std::string& node) const;

 private:
  void drain();
  void make_pods(const dialect::Ask& ask, const std::vector<const dialect::Pod*>& owned);
  void make_pods(const std::vector<const dialect::Ask*>& owners);
  // By the name that the object has of its controller; nullptr: none is known.
  const dialect::Ask* owner_of(const dialect::Meta& object) const;
  // The topmost of those above it; nullptr: none is known.
  const dialect::Ask* top_of(const dialect::Meta& object) const;
  // The same owner as the intake has it: with what the owners below it have done, and with the shared templates of its pods.
  const dialect::Ask* counted(const dialect::Ask* ask) const;
  void release(const std::string& workload);
  void suspend(const std::set<std::string>& owners);  // keys of owners_
  PlanLine line_of(const dialect::WorkloadInfo& info) const;
  struct Round;
  // With its place in line, and since when it stands there.
  PlanLine line_in(const Round& of, const dialect::WorkloadInfo& info) const;
  Result<Verdict> explain(Round& of, const std::string& uid);
  // Adds the line of a decision, or of work that none was about.
  void show(Round& of, const Decision& decision);
  void show(Round& of, const dialect::WorkloadInfo& info);
  PlanTotals totals() const;
  // Facts that are unknown because their nodes are not among the objects.
  void note_missing_nodes();
  void note_volumes(const dialect::PodView& pod, const std::string& node);
  // For all waiting work, by uid: its place in the line of its queue.
  std::map<std::string, std::int64_t> places() const;
  void put_pod(dialect::Pod pod);
  void take_in(dialect::Pod& pod) const;
  void take_in_again();
  // The state in Kueue's Workloads, as the scheduler reads it after a start (scheduler/kueue/workload_life.h).
  void stand(TimeMs now);
  std::string work_of(const dialect::KueueWorkload& object) const;

  dialect::Intake intake_;
  engine::Engine engine_;
  std::map<std::string, dialect::Pod> pods_;    // by uid
  std::map<std::string, dialect::Ask> owners_;  // by kind, namespace and name
  std::map<std::string, Labels> nodes_;
  std::vector<Decision> last_;
  TimeMs decided_at_ = 0;
  std::set<std::string> ending_;                           // pods that were evicted and are not gone
  std::vector<SlotUpdate> leaving_;                        // the same, of work without pods
  std::map<std::string, dialect::KueueWorkload> objects_;  // by namespace/name, where there are nodes
  std::set<std::string> stood_;                            // workloads of which one of them says something
  bool quota_only_;
  bool from_eviction_;
  std::set<std::string> grown_;  // workloads that replaced their former slice
  std::vector<std::string> notes_;
  // Pods that were made for owners; each takes some kilobytes.
  static constexpr std::int64_t kMostMade = 100'000;
  std::int64_t made_ = 0;
  std::set<std::string> noted_;
  bool several_flavors_ = false;  // some ClusterQueue has
  TimeMs newest_ = 0;
  TimeMs sequence_ = 0;
  std::int64_t remade_ = 0;
};

}  // namespace berth::cli

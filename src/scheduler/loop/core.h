// The decision thread's work without its thread: changes and answers in, decisions carried out. Everything that it knows came
// from the API; nothing lives only here.
//
//   core.take(batch, now) for each batch until core.has_read(kinds, now); core.recover(now); then for ever:
//   core.take(batch, now); core.turn(now); core.report(now)
//
// Recovery: what is bound is adopted by the intake. Gangs that are bound in part are decided first, in an engine without other
// pending work. Gangs that still lack existing members are withdrawn (carrier.h). Only then all other work comes in. Before all of
// that, evictions that were announced on their pods and cut short are taken up again: no victim stays half.
//
// Not thread-safe. Time is given: milliseconds since 1970 that never go back.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dialect/intake/intake.h"
#include "dialect/objects/decode.h"
#include "observe/follower.h"
#include "observe/metrics.h"
#include "observe/recorded_engine.h"
#include "scheduler/carry/carrier.h"
#include "scheduler/gangs/ended_pods.h"
#include "scheduler/gangs/gang_statuses.h"
#include "scheduler/kueue/on_demand.h"
#include "scheduler/kueue/queue_statuses.h"
#include "scheduler/kueue/workload_objects.h"
#include "scheduler/loop/audit.h"
#include "scheduler/report/bind_echoes.h"
#include "scheduler/report/reporter.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/load.h"

namespace berth::scheduler {

struct CoreOptions {
  dialect::IntakeConfig intake;
  engine::EngineConfig engine;
  CarrierOptions carrier;
  ReporterOptions reporter;
  WorkloadObjectOptions workload_objects;
  OnDemandOptions on_demand;
  QueueStatusOptions queue_statuses;
  GangStatusOptions gang_statuses;
  AuditOptions audit;
  // Writes of Workloads and of the status of queues and gangs, together.
  std::int64_t object_writes_per_second = 200;
  std::int64_t busy_object_writes_per_second = 20;  // while binds are on their way
  // How often the API is asked for Jobs that pods name and no watch has shown.
  DurationMs missing_owners_every = 5 * kSecond;
};

// Owners that pods name and no watch has shown.
struct MissingOwners {
  TimeMs next_look = 0;
  std::map<std::string, const dialect::OwnerKind*> asked_for;  // by uid
};

// Objects that are misconfigured, or cannot be read, and were logged.
struct Told {
  std::size_t problems = 0;
  std::uint64_t unreadable = 0;  // IntakeView::unreadable_changes()
  std::map<std::pair<dialect::Kind, std::string>, std::string> logged;
};

struct Gangs {
  GangStatuses statuses;
  EndedPods ended;
};

// The pace at which things are written that give way to decisions.
struct Pace {
  LoadMeter load;
  Allowance object_writes;
};

class Core : private CarrierListener {
 public:
  // `follower` and `metrics` may be null; all must outlive the core.
  Core(CoreOptions options, Outbox& outbox, observe::RecordedEngine::Sink sink, observe::Follower* follower,
       observe::Metrics* metrics);

  void take(Batch& batch, TimeMs now);
  void recover(TimeMs now);
  void turn(TimeMs now);
  // Statuses and events that are due, a few at a time; false: nothing is due now.
  bool report(TimeMs now);
  // Time of the next work without any input.
  TimeMs next_due() const;

  // Whether the first lists of all these kinds are in. Then asks which members of gangs had ended before: true when that is known, too.
  bool has_read(const std::vector<dialect::Kind>& kinds, TimeMs now) {
    const auto is_in = [&](dialect::Kind kind) { return synced_[static_cast<std::size_t>(kind)]; };
    return std::all_of(kinds.begin(), kinds.end(), is_in) && gangs_.ended.are_known(now);
  }
  dialect::Intake& intake() { return intake_; }
  const dialect::Intake& intake() const { return intake_; }
  const observe::RecordedEngine& recorded() const { return engine_; }
  const engine::Engine& engine() const { return engine_.engine(); }
  const Carrier& carrier() const { return carrier_; }
  const Reporter& reporter() const { return reporter_; }
  const WorkloadObjects& workload_objects() const { return workload_objects_; }
  const QueueStatuses& queue_statuses() const { return queue_statuses_; }
  const Audit& audit() const { return audit_; }
  // Why this core must be given up and made anew; "": it need not.
  const std::string& starts_over() const { return starts_over_; }
  // In which version Kueue's objects are written ("v1beta2"); empty: they are not.
  void set_kueue_version(std::string_view version, TimeMs now);
  // And ProvisioningRequests ("v1"); empty: the API server has none.
  void set_provisioning_version(std::string_view version, TimeMs now);
  // And those in which the objects of gangs are served.
  void set_gang_versions(std::shared_ptr<const std::map<dialect::Kind, std::string>> served) {
    gangs_.statuses.set_versions(std::move(served));
  }

 private:
  void take_answer(Answer&& answer, TimeMs now);
  void take_change(Batch& batch, const Batch::Item& item, TimeMs now);
  // `now`: of a change; none: at recovery, where pods are bound already.
  void apply(Event& event, std::optional<TimeMs> now = std::nullopt);
  // For the metrics: which pod has a slot with devices; how late the watch is.
  void tell_slots(const Event& event);
  void tell_echo(std::string_view uid);
  // Parts of recover(): work with bound pods.
  struct Bound {
    std::string workload;
    std::vector<std::int64_t> least;  // of each pod set; none: the engine was not told of it
    bool resumed = false;             // its eviction goes on: nothing of it is to be completed
  };
  class BoundWork;
  // The workload that an event is about; nullptr for nodes, queues and foreign pods.
  static const std::string* workload_of(const Event& event);
  enum class Recovered : std::uint8_t { kWhole, kCompletes, kWithdrawn };
  // Takes in what has bound pods, event by event, so that `all` shrinks as the engine grows; gives the events of all other work.
  EventQueue adopt_bound(EventQueue all, BoundWork& bound);
  Recovered complete_or_withdraw(const std::string& workload, const std::vector<std::int64_t>& least,
                                 TimeMs now);
  // Everything from intake and carrier into the engine, until nothing more comes.
  bool feed(TimeMs now);
  void decide(TimeMs now);
  void ask_for_missing_owners(TimeMs now);
  void missing_owner_read(const Answer& answer);
  void checks_changed(TimeMs now);
  // Says what the self-audit finds, and mends it. True: the engine was told of something.
  bool look_at_audit(TimeMs now);
  // Work that starts with fewer pods than it asks for: this is its size from now on.
  void grant_sizes(std::vector<Decision>& decisions);
  // Logs and counts the objects that cannot be read, each once per message.
  void tell_unreadable();
  void on_bound(const dialect::PodView& pod, std::string_view node, DurationMs since_decision) override;
  void on_evicting(const dialect::PodView& pod, const Reason& reason, std::string_view beneficiary) override;
  void on_owner(const dialect::Ask& owner, std::string_view reason, std::string note) override;

  const CoreOptions options_;
  dialect::Intake intake_;
  dialect::JsonDecoder decoder_;
  observe::RecordedEngine engine_;
  Outbox& outbox_;
  Carrier carrier_;
  Reporter reporter_;
  LaneBook lanes_;
  WorkloadObjects workload_objects_;
  OnDemand on_demand_;
  QueueStatuses queue_statuses_;
  Gangs gangs_;
  Audit audit_;
  Pace pace_;
  observe::Metrics* metrics_;
  BindEchoes echoes_;
  std::vector<std::string> changed_;  // workloads whose verdict may have changed, not reported yet
  std::array<bool, dialect::kMostKinds> synced_{};
  MissingOwners missing_;
  Told told_;
  std::string provisioning_version_;
  std::string starts_over_;
};

}  // namespace berth::scheduler

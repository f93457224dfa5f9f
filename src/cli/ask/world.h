// The work of a namespace, or of the whole cluster, as API objects say it. They are read with the rights of the user alone; the
// scheduler is not asked. Objects become workloads by the rules of the scheduler (dialect/intake/intake.h).
//
// Reasons are Berth's own words: the condition PodScheduled of a pod, else the event Waiting of its owner, else the condition of its
// Workload. Where everything that Berth decides by can be read (is_whole()), an engine knows the lines of
// the queues. It explains work as the scheduler's own engine would.
//
// Bounds: those of a snapshot (scheduler/read/snapshot.h) and of events (events.h); kMostLines LocalQueues are asked for their line.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enums.h"
#include "base/result.h"
#include "base/time.h"
#include "cli/ask/events.h"
#include "dialect/intake/intake.h"
#include "dialect/objects/decode.h"
#include "engine/engine.h"
#include "kube/transport.h"
#include "model/decision.h"
#include "model/resources.h"

namespace berth::cli {

enum class WorkState : std::uint8_t {
  kPending,   // no pod has a node
  kReserved,  // it has its room, and waits until that is free
  kRunning,   // pods have nodes
  kEnding,    // all that have are being deleted
  kInactive,  // held back: gates, a controller that prepares it, its Workload is deactivated
};

}  // namespace berth::cli
template <>
struct berth::EnumNames<berth::cli::WorkState> {
  static constexpr std::array names{"Pending"sv, "Reserved"sv, "Running"sv, "Ending"sv, "Inactive"sv};
};

namespace berth::cli {

// Berth's words about a workload that waits.
struct Said {
  enum class By : std::uint8_t { kNothing, kWorkload, kEvent, kPod };  // a later one counts more
  By by = By::kNothing;
  std::string source;  // "Pod team-a/train-0"
  std::string reason;  // one word
  std::string message;
  TimeMs since = 0;
};

struct WorkLine {
  std::string uid;
  std::string name;   // namespace/name
  std::string owner;  // "Job", "JobSet"; "": pods alone
  std::string queue;
  WorkState state = WorkState::kPending;
  std::int64_t priority = 0;
  TimeMs created = 0;
  std::int64_t pods = 0;
  std::int64_t bound = 0;
  ResourceList asked;                         // by all pods
  ResourceList used;                          // by those that have nodes
  std::map<std::string, std::int64_t> nodes;  // pods by node
  std::optional<std::int64_t> place;          // in the line of its queue, from 1
  Said said;                                  // where it waits
};

struct WorldOptions {
  std::string ns;  // "": all namespaces
  std::vector<std::string> scheduler_names{"berth"};
  bool live = false;  // it is kept up to date after it has been read
};

class World {
 public:
  static constexpr std::size_t kMostLines = 50;
  using Progress = std::function<void(dialect::Kind, std::size_t)>;

  explicit World(WorldOptions options);

  // Reads everything once. Unauthorized: pods may not be listed. Other kinds that may not are named in notes().
  Status read(kube::Transport& transport, const Progress& progress);
  // Places in line from the API of pending workloads, where that is served and may be read; for work without one. Whether they differ
  // from those of the last time.
  bool ask_for_places(kube::Transport& transport);

  // Changes that come later. The JSON must be followed by kube::kJsonPadding readable bytes.
  void upsert(dialect::Kind kind, std::string_view json);
  void remove(dialect::Kind kind, std::string_view ns, std::string_view name);
  // The first complete list of a watch, as namespace/name: what read() found and it lacks is gone. Live worlds only.
  void keep_only(dialect::Kind kind, const std::set<std::string>& names);
  // An event of Berth's about work without pods; others are left out.
  void hear(const EventLine& event);
  // Once after any number of these.
  void settle();

  // In the order of namespaces and names.
  std::vector<WorkLine> lines() const;
  // The line with this name (namespace/name), or of the owner with it. NotFound names the nearest one.
  Result<WorkLine> line(std::string_view name) const;
  // Everything that Berth decides by has been read, so that explain() and places are as the scheduler has them.
  bool is_whole() const { return options_.ns.empty() && refused_.empty(); }
  // Its reason, with names of workloads, after the engine here has decided at `now` as the scheduler's would. Only if is_whole(). From
  // then on the lines of the queues lack the work that this engine has started on paper.
  Result<Verdict> explain(const std::string& uid, TimeMs now);

  // The uids of the workload, its owner and its pods.
  std::set<std::string> uids_of(const std::string& uid) const;

  const std::set<dialect::Kind>& read_kinds() const { return read_; }
  bool may_read_events() const { return !events_refused_; }
  // Things that are not shown, each with the right that is missing.
  std::vector<std::string> notes() const;

 private:
  struct Facts {  // of a workload
    TimeMs created = 0;
    bool active = true;
    ResourceList asked;
    std::int64_t pods = 0;
  };
  void take(dialect::Object object, std::string_view json);
  void read_events(kube::Transport& transport);
  void take_condition(const dialect::KueueWorkload& workload);
  void note_said(const std::string& uid, Said said);
  void take_in(const Event& event);
  WorkLine line_of(const dialect::WorkloadInfo& info,
                   const std::map<std::string, std::int64_t>& places) const;
  Said said_of(const dialect::WorkloadInfo& info, const std::vector<dialect::PodView>& pods) const;
  std::map<std::string, std::int64_t> places() const;

  WorldOptions options_;
  dialect::Intake intake_;
  engine::Engine engine_;
  dialect::JsonDecoder decoder_;
  std::map<std::string, Facts> facts_;  // by workload
  std::map<std::string, Said> said_;    // by pod or owner
  std::map<std::string, std::int64_t> asked_places_;
  std::vector<std::pair<std::string, std::string>> local_queues_;  // namespace, name
  std::set<dialect::Kind> refused_, read_;
  std::map<dialect::Kind, std::set<std::string>> listed_;  // by read(), where it is live
  bool events_refused_ = false;
};

// The kinds of which work is made, with all owners of pods and all gangs, and those that name its queue and priority.
std::vector<dialect::Kind> kinds_of_work();

}  // namespace berth::cli

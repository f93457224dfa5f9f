// Replay: a trace in time through the engine.
//
//   submit -> waiting -> (start) running -> finish
//                 ^          |
//                 |       (evict, or the loss of a node)
//                 +-- room free after the grace period
//
// All events of one moment are taken in first, in the order of event_queue.h; then the engine decides once.
// Effects of a decision at the same moment (a grace period of zero, a job of zero length) lead to another decision, until the
// moment is quiet.
//
// A job owes its work: its duration, at the speed that it has with all its slots. How it comes on, and what it pays for starts,
// checkpoints and returns: sim/course/course.h, sim/course/start_costs.h, sim/course/elastic.h. After an eviction of all its slots, or a failure of the
// gang, the work up to the last checkpoint is kept. Each return costs the restart overhead. An elastic job that loses only slots
// goes on with the others. Waiting is all the time between submission and end without room. So end - submission = waited + startup
// + checkpointing + lost + time of kept work.
//
// Services (sim/service/service.h) are workloads beside the jobs: numbered after the last job.
//
// The engine's clock starts at 1 s, at the first submission. Equal input gives equal outcomes, byte for byte.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/result.h"
#include "sim/course/series.h"
#include "sim/replay/decider.h"
#include "sim/scenario/input.h"
#include "sim/service/service.h"

namespace berth::sim {

enum class JobState : std::uint8_t { kFuture, kWaiting, kRunning, kEnding, kDone };

struct JobOutcome {
  JobState state = JobState::kFuture;
  TimeMs first_start = kEndOfTime;
  TimeMs end = kEndOfTime;
  DurationMs waited = 0;
  DurationMs lost = 0;     // time with room that came to nothing: lost work, restart overhead, grace, stalls
  DurationMs startup = 0;  // pod start, image, warm-up
  DurationMs checkpointing = 0;  // checkpoints that became whole
  DurationMs longest_wait = 0;
  std::int64_t lost_gpu_ms = 0;               // GPU milli x ms: what `lost` was worth
  std::int64_t failed_gpu_ms = 0;             // of these, lost to failures
  std::int32_t evictions = 0;                 // of all its slots
  std::int32_t reclaims = 0;                  // evictions by another queue
  std::int32_t failures = 0;                  // that took slots from it
  std::int32_t resizes = 0;                   // growth and shrinking while it ran
  ReasonCode waited_for = ReasonCode::kNone;  // what held it back at the beginning of its longest wait
};

// The result of a service: its account and, as for a job, its evictions.
struct ServiceOutcome {
  JobOutcome room;
  ServiceAccount account;
  BinnedSeries series{0, 0};  // replicas: kServiceNeeded, kServiceTarget, kServiceReady
};
inline constexpr std::size_t kServiceNeeded = 0;  // for the load, without headroom or bounds
inline constexpr std::size_t kServiceTarget = 1;
inline constexpr std::size_t kServiceReady = 2;

// A time on a node of the Gantt chart.
struct Occupation {
  std::uint32_t node = 0;  // in Outcome::gantt_nodes
  std::uint32_t job = 0;
  TimeMs begin = 0;
  TimeMs end = 0;
  bool evicted = false;
  bool running = false;  // still at the end
  std::int64_t gpu_milli = 0;
  std::vector<int> devices;
};

// Tracks of Outcome::series.
inline constexpr std::size_t kTrackAllocated = 0;     // GPU milli with room taken, all queues
inline constexpr std::size_t kTrackPending = 1;       // workloads waiting
inline constexpr std::size_t kTrackPendingGpu = 2;    // GPU milli that they ask for
inline constexpr std::size_t kTrackDown = 3;          // GPU milli out of service
inline constexpr std::size_t kTrackPendingLarge = 4;  // of kTrackPendingGpu that of kLargeGpuMilli and more
inline constexpr std::size_t kTrackIdleNodes = 5;     // idle GPU milli by what they are good for (IdleGpus)
inline constexpr std::size_t kTrackIdleWhole = 6;
inline constexpr std::size_t kTrackIdleParts = 7;
inline constexpr std::size_t kTrackQueues = 8;  // then one QueueTrack after the other per leaf queue
enum class QueueTrack : std::uint8_t {
  kAllocated,   // GPU milli
  kPending,     // workloads waiting
  kPendingGpu,  // GPU milli that they ask for
  kEvictions,   // up to here
  kLost,        // GPU milli x seconds lost up to here (JobOutcome::lost_gpu_ms)
};
inline constexpr std::size_t kQueueTracks = 5;
inline constexpr std::size_t queue_track(std::size_t leaf, QueueTrack track) {
  return kTrackQueues + kQueueTracks * leaf + static_cast<std::size_t>(track);
}

inline constexpr std::int64_t kLargeGpuMilli = 32'000;  // jobs of this size are reported apart

struct Outcome {
  TimeMs begin = 0;  // first submission
  TimeMs last_submit = 0;
  TimeMs end = 0;  // last event
  std::vector<JobOutcome> jobs;
  std::vector<ServiceOutcome> services;  // as Input::services
  BinnedSeries series{0, 0};
  std::vector<std::uint32_t> leaves;   // indices into Input::queues, in their order
  std::vector<std::uint32_t> leaf_of;  // per Input::queues: its place in leaves
  std::int64_t gpu_capacity_milli = 0;
  Int128 gpu_ms_while_arriving = 0;        // allocated GPU milli x ms up to last_submit
  std::vector<std::uint32_t> gantt_nodes;  // indices into Input::nodes
  std::vector<Occupation> occupations;
  std::int64_t occupations_left_out = 0;
  std::int64_t moments = 0;  // decided
  std::int64_t decide_calls = 0;
  std::int64_t holds = 0;
  std::int64_t failures = 0;    // of nodes, devices and domains
  std::int64_t nodes_lost = 0;  // nodes that went out with them, each time counted
  std::int64_t image_pulls = 0;
  // Why jobs that never ended wait, by reason, most first; with an example in full.
  struct Stuck {
    std::string reason;
    std::int64_t jobs = 0;
    std::string example;  // name of a job and the engine's sentence
  };
  std::vector<Stuck> stuck;
  std::int64_t unfinished = 0;
};

struct Progress {
  std::int64_t jobs = 0;  // all
  std::int64_t submitted = 0;
  std::int64_t ended = 0;
  TimeMs now = 0;
};

struct ReplayOptions {
  std::int64_t gantt_nodes = 8;
  std::function<void(const Progress&)> progress;  // called about every 256 moments; may be empty
  std::int64_t audit_every = 0;                   // moments between audits of the engine; 0 = never
};

// Errors: kInternal where the engine refuses an event, oversubscribes a node or fails its audit.
Result<Outcome> replay(const Input& input, Decider& decider, const ReplayOptions& options);

// Feeds flavors, queues and nodes to the engine.
Status set_up(const Input& input, Decider& decider);

}  // namespace berth::sim

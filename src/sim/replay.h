// Replay: a trace in time through the engine.
//
//   submit -> waiting -> (start) running -> finish
//                 ^          |
//                 |       (evict)
//                 +-- room free after the grace period
//
// All events of one moment are taken in first, in the order of event_queue.h; then the engine decides once.
// What a decision brings about at the same moment (a grace period of zero, a job of zero length) is taken in
// and decided again, until the moment is quiet.
//
// A job owes its duration of work. An eviction keeps what was done up to the last checkpoint (every
// `checkpoint_every` of work since it started or came back); each return costs the restart overhead on top.
// Waiting is all the time between submission and end during which it has no room.
//
// The engine's clock starts at 1 s, at the first submission. Equal input gives equal outcomes, byte for byte.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/result.h"
#include "sim/decider.h"
#include "sim/input.h"
#include "sim/series.h"

namespace berth::sim {

enum class JobState : std::uint8_t { kFuture, kWaiting, kRunning, kEnding, kDone, kRejected };

struct JobOutcome {
  JobState state = JobState::kFuture;
  TimeMs first_start = kEndOfTime;
  TimeMs end = kEndOfTime;
  DurationMs waited = 0;
  DurationMs lost = 0;  // time with room that did not become kept work (lost work, overhead, grace)
  std::int32_t evictions = 0;
  std::int32_t reclaims = 0;  // evictions by another queue
};

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
inline constexpr std::size_t kTrackAllocated = 0;   // GPU milli with room taken, all queues
inline constexpr std::size_t kTrackPending = 1;     // workloads waiting
inline constexpr std::size_t kTrackPendingGpu = 2;  // GPU milli that they ask for
inline constexpr std::size_t kTrackQueues = 3;      // then two per leaf queue: allocated, waiting workloads

struct Outcome {
  TimeMs begin = 0;  // first submission
  TimeMs last_submit = 0;
  TimeMs end = 0;  // last event
  std::vector<JobOutcome> jobs;
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

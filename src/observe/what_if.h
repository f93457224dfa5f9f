// Compares two decision logs of the same work, for example of two policies, workload by workload: earlier and later starts, and the
// obstacles in between.
//
// A workload is the same in both logs where its uid is, and where its name is as far as the log says one.
// Logs made by `berth simulate` number workloads by their place in the trace, so two runs over one trace
// match. Times are compared as times since the workload was created, so the two clocks need not agree.
//
// Why: both logs are replayed (observe/replay.h) beside an engine. For each of the workloads that moved most, the later log gives
// its verdict at every decide() between the two starts. The report has the reasons with their shares of that time, and the last one
// in full.
//
// Cost: two passes over each log; memory O(workloads), and O(chosen) for the reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::observe {

// A workload in one log.
struct WorkloadStory {
  TimeMs created = 0;
  std::optional<TimeMs> started;  // the first start
  std::int64_t starts = 0;
  std::int64_t evictions = 0;
};

// A reason that stood in the way, and for how long of the time between the two starts.
struct ReasonPart {
  std::string reason;  // the name of its code
  DurationMs time = 0;
};

struct WhatIfRow {
  std::string uid;
  std::string name;
  std::string queue;
  WorkloadStory before;
  WorkloadStory after;
  // started(after) - started(before), each since its creation. Where one log has no start: until its end.
  DurationMs change = 0;
  std::vector<ReasonPart> reasons;  // longest first
  std::string in_full;              // the last verdict before the later start, as a sentence
};

struct WhatIf {
  std::int64_t both = 0;  // workloads in both logs
  std::int64_t only_before = 0;
  std::int64_t only_after = 0;
  std::int64_t earlier = 0;
  std::int64_t later = 0;
  std::int64_t equal = 0;
  Int128 saved_ms = 0;  // by those that started earlier
  Int128 added_ms = 0;
  std::int64_t evictions_before = 0;
  std::int64_t evictions_after = 0;
  std::vector<WhatIfRow> moved;  // greatest change first
};

// Compares the logs in two files (compressed or not), with reasons for the `most` workloads that moved most.
// Errors: a log cannot be read, or is not reproduced by this engine (then reasons would be wrong): the message
// names the line.
Result<WhatIf> what_if(const std::string& before, const std::string& after, std::size_t most);

}  // namespace berth::observe

// `berth log`: Berth's decisions as they happen, from the events that it writes (cli/ask/events.h).
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/ask/cluster.h"
#include "cli/ask/events.h"

namespace berth::cli {

struct LogOptions {
  ClusterFlags cluster;
  std::vector<std::string> scheduler_names{"berth"};
  std::vector<std::string> reasons;  // these alone; empty: all
  DurationMs since = kHour;          // of what has happened already
  bool follow = true;
  bool json = false;  // one object a line
};

// In the order of their times.
std::vector<EventLine> decisions_of(std::vector<EventLine> events, const LogOptions& options, TimeMs now);
std::string line_of(const EventLine& event, bool json);

// 0: done. 1: a right is missing, or the API server cannot be used.
int run_log(const LogOptions& options, std::ostream& out, std::ostream& err);

void register_log(CLI::App& app, int& exit_code);

}  // namespace berth::cli

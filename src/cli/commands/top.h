// `berth top`: devices by queue, from API objects: what runs, what waits, what is guaranteed. Use of a device by its processes is no part
// of any API object, so there is no column for it.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/ask/cluster.h"
#include "cli/ask/queues.h"
#include "cli/ask/world.h"
#include "cli/base/show.h"

namespace berth::cli {

struct TopOptions {
  ClusterFlags cluster;
  std::string resource;  // "": every device resource, or CPU where there is none
  ListFormat format = ListFormat::kTable;
  std::vector<std::string> scheduler_names{"berth"};
};

// One queue and one resource. Base units.
struct TopLine {
  std::string queue;  // "": work without a queue
  std::string resource;
  std::int64_t allocated = 0;  // by pods that have nodes
  std::int64_t asked = 0;      // by pods that wait
  std::int64_t running = 0;    // workloads
  std::int64_t waiting = 0;
  std::optional<std::int64_t> guaranteed;  // none: the queue's object cannot be read, or does not count it
};

// By what is allocated, the most first; then by name. `resource` as in the options.
std::vector<TopLine> top_of(const std::vector<WorkLine>& work, const std::vector<QueueLine>& queues,
                            const std::string& resource);
Listing top_listing(const std::vector<TopLine>& lines);

int run_top(const TopOptions& options, std::ostream& out, std::ostream& err);

void register_top(CLI::App& app, int& exit_code);

}  // namespace berth::cli

// `berth top`: devices by queue, from API objects: what runs, what waits, what is guaranteed. How busy a device is, no API object says: a
// Prometheus is asked for that, where its address is given.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/ask/cluster.h"
#include "cli/ask/prometheus.h"
#include "cli/ask/queues.h"
#include "cli/ask/world.h"
#include "cli/base/show.h"

namespace berth::cli {

struct TopOptions {
  ClusterFlags cluster;
  std::string resource;  // "": every device resource, or CPU where there is none
  ListFormat format = ListFormat::kTable;
  std::vector<std::string> scheduler_names{"berth"};
  std::string prometheus;  // "": not asked (cli/ask/prometheus.h)
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
  std::optional<GpuUse> use;  // none: not asked, not a device, or not known of this resource alone
};

// By what is allocated, the most first; then by name. `resource` as in the options.
std::vector<TopLine> top_of(const std::vector<WorkLine>& work, const std::vector<QueueLine>& queues,
                            const std::string& resource);
// Writes down how busy devices are. Prometheus sums up all devices of a queue: with several resources there it is known of none. Returns
// the queues where that is so.
std::vector<std::string> add_use(std::vector<TopLine>& lines, const std::map<std::string, GpuUse>& use);
Listing top_listing(const std::vector<TopLine>& lines);

int run_top(const TopOptions& options, std::ostream& out, std::ostream& err);

void register_top(CLI::App& app, int& exit_code);

}  // namespace berth::cli

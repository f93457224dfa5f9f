// `berth get workloads|queues|nodes`: lists of what there is, from API objects, with the rights of the user (cli/ask).
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/ask/cluster.h"
#include "cli/ask/queues.h"
#include "cli/ask/world.h"
#include "cli/base/show.h"

namespace berth::cli {

struct GetOptions {
  enum class What : std::uint8_t { kWorkloads, kQueues, kNodes };
  What what = What::kWorkloads;
  ClusterFlags cluster;
  ListFormat format = ListFormat::kTable;
  std::string queue;  // workloads of this queue alone; "": of all
  std::string state;  // in this state alone; "": in any
  std::vector<std::string> scheduler_names{"berth"};
  bool watch = false;
};

// 0: done. 1: a right is missing, or the API server cannot be used; `err` says which. With `watch` until SIGINT or SIGTERM.
int run_get(const GetOptions& options, std::ostream& out, std::ostream& err);

// The lists, `now` being the time that ages are counted to.
Listing workload_listing(const std::vector<WorkLine>& lines, bool all_namespaces, TimeMs now);
Listing queue_listing(const QueueList& queues, TimeMs now);
Listing node_listing(const NodeList& nodes, TimeMs now);

// The lines that the options ask for.
std::vector<WorkLine> chosen(std::vector<WorkLine> lines, const GetOptions& options);

// "8/64 nvidia.com/gpu": an amount of a whole.
std::string share_text(const std::string& resource, std::optional<std::int64_t> used,
                       std::optional<std::int64_t> whole);

void register_get(CLI::App& app, int& exit_code);

}  // namespace berth::cli

// `berth explain NAMESPACE/NAME`: why a workload waits, since when, and what would help.
//
// Two sources. Berth's own words stand on API objects, which the role view shows. The tree of reasons comes from an engine in this
// process, which reads all that Berth decides by, if the user may list it. With --server the dashboard gives it.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/ask/board.h"
#include "cli/ask/cluster.h"
#include "cli/ask/events.h"
#include "cli/ask/world.h"
#include "cli/base/reasons.h"

namespace berth::cli {

struct ExplainOptions {
  ClusterFlags cluster;
  std::string name;  // NAME or NAMESPACE/NAME of a workload, its owner or one of its pods
  std::vector<std::string> scheduler_names{"berth"};
  BoardFlags board;
  bool quick = false;  // no tree
  bool json = false;
};

// All that is known of one workload.
struct Explanation {
  WorkLine line;
  std::optional<ReasonTree> tree;
  std::string tree_by;           // where it comes from; without a tree: why there is none
  std::vector<EventLine> story;  // oldest first
  std::vector<std::string> notes;
};

// 0: explained. 1: there is no such workload, a right is missing, or the API server cannot be used.
int run_explain(const ExplainOptions& options, std::ostream& out, std::ostream& err);

std::string to_text(const Explanation& explanation, TimeMs now);
std::string to_json(const Explanation& explanation);

void register_explain(CLI::App& app, int& exit_code);

}  // namespace berth::cli

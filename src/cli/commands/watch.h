// `berth get workloads --watch`: the list, and then each workload again when it has changed.
#pragma once

#include <iosfwd>

#include "cli/commands/get.h"

namespace berth::cli {

// As run_get(); until SIGINT or SIGTERM.
int watch_workloads(const GetOptions& options, const Cluster& cluster, std::ostream& out, std::ostream& err);

// The rows that are new or say something else than those of `before`, and those that are gone, as text. Ages alone are no change.
std::string changes_of(const Listing& before, const Listing& now, ListFormat format, std::size_t most);

}  // namespace berth::cli

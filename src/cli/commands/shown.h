// The parts that several commands share: a world that is read with progress on a terminal, and one that is watched.
#pragma once

#include <functional>
#include <iosfwd>
#include <set>
#include <string>

#include "cli/ask/cluster.h"
#include "cli/ask/world.h"

namespace berth::cli {

// Shows the kind that is being read on `err`, where that is a terminal.
Status read_shown(World& world, kube::Transport& transport, std::ostream& err);

// Calls `changed` after each batch of changes, about twice a second at most, until SIGINT or SIGTERM. The kinds are those that
// `world` has read.
Status follow(World& world, const Cluster& cluster, const std::function<void()>& changed);

}  // namespace berth::cli

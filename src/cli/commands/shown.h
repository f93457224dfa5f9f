// The parts that several commands share: a world that is read with progress on a terminal, one that is watched, a connection that is
// lost.
#pragma once

#include <chrono>
#include <functional>
#include <iosfwd>
#include <set>
#include <string>

#include "cli/ask/cluster.h"
#include "cli/ask/world.h"

namespace berth::cli {

// Shows the kind that is being read on `err`, where that is a terminal.
Status read_shown(World& world, kube::Transport& transport, std::ostream& err);

// Says once on `err` that watches do not get through, and once that they do again. Cuts that are mended within kPatience are not said.
class Contact {
 public:
  static constexpr std::chrono::seconds kPatience{3};
  explicit Contact(std::ostream& err) : err_(err) {}
  // `problem`: of the watches at this moment; "": all is well.
  void look(const std::string& problem);

 private:
  std::ostream& err_;
  bool troubled_ = false;
  bool said_ = false;
  std::chrono::steady_clock::time_point since_;
};

// Calls `changed` after each batch of changes, about twice a second at most, until SIGINT or SIGTERM. The kinds are those that
// `world`, a live one, has read; places in line are asked for again every kPlacesEvery.
inline constexpr std::chrono::seconds kPlacesEvery{10};
Status follow(World& world, const Cluster& cluster, std::ostream& err, const std::function<void()>& changed);

}  // namespace berth::cli

// The present shortages of blocked work, for explanations (explain.h): quota, lanes, nodes, domains.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/budget.h"
#include "engine/state/bands.h"
#include "engine/state/state.h"

namespace berth::engine {

// The request of one pod of the set: devices, else CPU and memory. "": nothing.
std::string asks_of(const State& state, const PodSetState& set);

class RoomNow {
 public:
  RoomNow(State& state, WorkloadId id);

  // Brings the numbers of a blocked workload's reason up to date, and adds what the nodes lack. A number that is no longer short
  // stays as it was: then something else keeps the workload, or its next attempt is due.
  void renew(Reason& reason);
  // Adds what would be enough (kEnough) where nothing else is short.
  void say_enough(Reason& reason);

 private:
  struct Best {
    ChargeId charge;
    std::int64_t room = 0;
  };
  // The choice of flavors with the most room, of those whose quota suffices, where there are any.
  std::optional<Best> best_choice(std::size_t set);
  std::int64_t quota_left(FlavorResource pair) const;
  void renew_each(Reason& reason);
  void renew_quota(Reason& reason) const;
  void renew_limit(Reason& reason) const;
  void renew_nodes(Reason& reason);
  void renew_domain(Reason& reason);
  std::vector<Reason> short_sets();
  void renew_sets(Reason& reason);
  std::int64_t room_for_all(const StructureGroup& group, DomainId domain);
  // Slots that find places one after the other in the domain, `most` at most; charged in the trial.
  std::int64_t fill(ChargeId charge, DomainId domain, std::int64_t most);
  // The nodes among these by what each lacks for one slot of the charge, most frequent first.
  std::vector<Reason> count_nodes(std::size_t set, ChargeId charge, std::span<const NodeId> among);
  // No node that the pod set may use is large enough.
  std::optional<Reason> too_large(std::size_t set);
  std::vector<NodeId> all_nodes() const;

  State& state_;
  WorkloadId id_;
  const WorkloadState& w_;
  std::vector<Extent> extents_;
  Budget steps_;
};

}  // namespace berth::engine

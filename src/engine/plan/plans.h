// All that the engine plans with beside its state: the empty cluster, and the room that old work waits for.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/place/empty_cluster.h"
#include "engine/plan/reservations.h"

namespace berth::engine {

struct Plans {
  std::unique_ptr<EmptyCluster> empty;  // made when the first question comes
  Reservations reservations;
  // The old work that reservations were made for when sleepers were last woken, with how many of its pods waited; and as of which
  // versions of use, places, lanes and plans.
  std::vector<std::pair<std::uint64_t, std::int64_t>> reserved_for;
  std::array<std::uint64_t, 4> reserved_as_of{};
};

}  // namespace berth::engine

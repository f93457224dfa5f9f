// The state of the cluster as a dashboard shows it, at one moment: values that never change, shared by all clients. The board (board.h)
// makes a new one of the follower's views while a client asks.
//
// Each queue and node knows the revision at which it changed last, so that a client asks for the changes alone.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/enums.h"
#include "base/result.h"
#include "engine/engine.h"
#include "observe/state.h"
#include "scheduler/board/chronicle.h"

namespace berth::scheduler {

enum class BoardState : std::uint8_t { kPending, kHeld, kRunning, kInactive };

}  // namespace berth::scheduler
template <>
struct berth::EnumNames<berth::scheduler::BoardState> {
  static constexpr std::array names{"pending"sv, "held"sv, "running"sv, "inactive"sv};
};

namespace berth::scheduler {

struct BoardWorkload {
  std::shared_ptr<const Facts> facts;
  TimeMs created = 0;  // that of the facts: an order of all rows by age reads the rows alone
  BoardState state = BoardState::kPending;
  TimeMs started = 0;
  std::int64_t running = 0;
  std::shared_ptr<const Reason> reason;  // of waiting work; work that waits for the same reason shares it
};

struct BoardQueue {
  observe::QueueState queue;
  QueueFacts facts;
  bool leaf = true;
  std::string parent_path;  // "" of a root; else the names of all above it, each with a "\n" behind it
  std::uint64_t changed = 0;
};

struct BoardNode {
  std::string name;
  std::vector<std::string> path;  // values of the levels
  bool cordoned = false;
  // Per device resource one character for each device: 0 free, 1 to 8 used in part, 9 used whole, p free and promised, x unhealthy.
  std::vector<std::pair<std::string, std::string>> devices;
  struct Amount {
    std::string resource;
    std::int64_t capacity = 0;
    std::int64_t used = 0;
    bool operator==(const Amount&) const = default;
  };
  std::vector<Amount> amounts;
  std::uint64_t changed = 0;
};

struct BoardSum {
  std::int64_t capacity = 0, used = 0, promised = 0;
};

struct Snapshot {
  // The first is the time in milliseconds, so that no later process gives a number twice for another state.
  std::uint64_t revision = 0;
  TimeMs as_of = 0;
  std::uint64_t engine_changes = 0;
  std::vector<BoardWorkload> workloads;  // in the order of the engine
  std::map<std::string, BoardQueue> queues;
  std::map<std::string, BoardNode> nodes;
  std::vector<std::string> levels;
  std::map<std::string, BoardSum> sums;  // of live nodes, by resource
  // Names that are gone, with the revision at which they went; the latest kMostGone.
  std::vector<std::pair<std::uint64_t, std::string>> gone_queues, gone_nodes;
  // A client with an older revision than this gets everything.
  std::uint64_t oldest_known = 0;
  static constexpr std::size_t kMostGone = 2'000;
};

// The next snapshot behind `last` (nullptr: there is none). O(workloads + nodes + queues).
std::shared_ptr<const Snapshot> take_snapshot(const engine::Engine& engine, const Chronicle& chronicle,
                                              TimeMs as_of, const Snapshot* last);

}  // namespace berth::scheduler

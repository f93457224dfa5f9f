// Names, labels of nodes, parents of queues, the latest decisions and the story of each workload. A dashboard shows them, and the engine
// does not keep them. The follower tells of them, so the deciding engine pays nothing.
//
// Bounds: kMostDecisions, kMostMinutes, kMostSteps of one workload (the first, and the last others), kMostEnded workloads that have ended.
//
// Thread-safe. Facts are values that never change: a new revision makes new ones.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/by_name.h"
#include "base/shared.h"
#include "base/time.h"
#include "model/decision.h"
#include "model/event.h"
#include "observe/follower.h"

namespace berth::scheduler {

// A workload, as its last revision says.
struct Facts {
  std::string uid;
  std::string name;  // namespace/name
  std::string queue;
  WorkloadKind kind = WorkloadKind::kTraining;
  std::int64_t priority = 0;
  TimeMs created = 0;
  std::int64_t slots = 0;
  std::int64_t devices = 0;  // thousandths that all slots ask for
  bool active = true;
};

// The first part of namespace/name; "": it has none.
std::string_view namespace_of(std::string_view name);

struct StoryStep {
  enum class Kind : std::uint8_t { kCreated, kChanged, kStart, kEvict, kHold, kReleaseHold, kEnded };
  TimeMs at = 0;
  Kind kind = Kind::kCreated;
  std::int64_t slots = 0;
  std::string other;  // uid of the workload that it served
  Shared<Reason> reason;
};

struct MadeDecision {
  std::int64_t seq = 0;  // from 1
  TimeMs at = 0;
  DecisionKind kind = DecisionKind::kStart;
  std::shared_ptr<const Facts> of;
  std::shared_ptr<const Facts> beneficiary;  // nullptr: none
  std::int64_t slots = 0;
  std::int64_t nodes = 0;
  Reason reason;
};

// The sums of one minute. The engine's numbers are those of its last look (Chronicle::look).
struct Minute {
  TimeMs at = 0;
  std::int64_t starts = 0, evictions = 0, holds = 0;
  std::int64_t devices_used = 0, devices = 0, pending = 0, running = 0;
};

struct NodeFacts {
  Labels labels;
  bool cordoned = false;
};

struct QueueFacts {
  std::string parent;
  StopPolicy stop = StopPolicy::kNone;
  std::string disabled;
};

class Chronicle : public observe::FollowerWatch {
 public:
  static constexpr std::size_t kMostDecisions = 20'000;
  static constexpr std::size_t kMostMinutes = 720;
  static constexpr std::size_t kMostSteps = 64;
  static constexpr std::size_t kMostEnded = 10'000;

  void began() override;
  void took(const Event& event) override;
  void decided(TimeMs now, const std::vector<Decision>& decisions) override;

  // nullptr: unknown, or forgotten.
  std::shared_ptr<const Facts> facts(std::string_view uid) const;
  std::vector<StoryStep> steps(std::string_view uid) const;
  // The one with this name, while it has not ended. O(workloads).
  std::shared_ptr<const Facts> named(std::string_view name) const;
  NodeFacts node(std::string_view name) const;
  QueueFacts queue(std::string_view name) const;
  // The levels of the topology with the most of them, the first by name among equals; without one, the zone.
  std::vector<std::string> levels() const;

  std::int64_t last_decision() const;
  // Calls f from the newest to the oldest, until it returns false.
  void each_decision(const std::function<bool(const MadeDecision&)>& f) const;
  std::vector<Minute> minutes(std::size_t most) const;
  // The engine's numbers for the minute of `now`.
  void look(TimeMs now, std::int64_t devices_used, std::int64_t devices, std::int64_t pending,
            std::int64_t running);

 private:
  struct Known {
    std::shared_ptr<const Facts> facts;
    std::vector<StoryStep> steps;
  };
  // By the uid that their facts have.
  using Works = std::unordered_map<std::string_view, Known, TextHash, std::equal_to<>>;

  const Known* find(std::string_view uid) const;
  void upsert(const Workload& workload);
  void remove(const std::string& uid);
  void add_step(Known& known, StoryStep step);
  Minute& minute(TimeMs now);

  mutable std::mutex mutex_;
  Works workloads_;
  Works ended_;
  std::deque<std::string> ended_order_;
  ByName<NodeFacts> nodes_;
  ByName<QueueFacts> queues_;
  std::map<std::string, std::vector<std::string>> topologies_;
  std::deque<MadeDecision> decisions_;
  std::deque<Minute> minutes_;
  std::int64_t seq_ = 0;
  TimeMs now_ = 0;
};

}  // namespace berth::scheduler

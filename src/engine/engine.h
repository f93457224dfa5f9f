// The decision engine: events in, decisions out. One transaction decides which work may run (quota, order, priority), where (nodes,
// devices, topology), and which victims make room (together with places).
//
// Contract
//   - Deterministic: the same apply() and decide() calls in the same order give the same decisions, byte for byte, on every
//     machine. All orders are total; no clock, no randomness, no floating point, no threads, no I/O.
//   - State is kept up to date, never rebuilt: the cost of decide() follows the changes and the work that is awake, not the size of
//     the cluster or the backlog.
//   - apply() refuses a bad event with an error and no change of state. Outside facts (a foreign pod, a slot seen on a node, a
//     shrunk quota) are never refused for exceeding a limit. Decisions never make an excess larger.
//   - A decision is in force when decide() returns it: slots of a start are binding, slots of an eviction releasing, slots of a
//     hold held. The caller carries it out and reports what it sees as SlotUpdate.
//   - Search is bounded in steps (EngineConfig::search_steps), never in time.
//
// Not thread-safe. Questions of others than the decider go to a second engine fed with the same log (observe/follower.h).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "engine/base/config.h"
#include "engine/views.h"
#include "model/decision.h"
#include "model/event.h"

namespace berth::engine {

class Engine {
 public:
  explicit Engine(EngineConfig config = {});
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  // Takes a fact in. O(log n) for workloads and slots, O(nodes) at most for changed selectors of live shapes.
  Status apply(const Event& event);

  // Decides everything that can be decided at `now`, which never goes back (an earlier time counts as the last one).
  // Order of the result: as decided; an eviction comes before the hold or start that it serves.
  std::vector<Decision> decide(TimeMs now);

  // The earliest time at which decide() could decide something without a new event: the caller calls decide() again then.
  // kEndOfTime: only an event can change anything. Later than the last decide(). O(1).
  TimeMs next_time() const;

  // Explains the state of the workload at present, with the nodes counted by what they lack (explain/explain.h). It decides nothing
  // and changes nothing. O(nodes x pod sets), and a bounded search where pod sets compete. NotFound error.
  Result<Verdict> explain(std::string_view uid) const;
  // The same as its last attempt left it: O(1). For statuses of many workloads.
  Result<Verdict> verdict(std::string_view uid) const;
  // Workloads with the same number wait for the same reason, and share one verdict and one explanation. None: it shares with no
  // other. The number changes when the first of them leaves. O(1).
  std::optional<std::uint64_t> alike(std::string_view uid) const;
  // Grows with every event and decision: an explanation can differ from an earlier one only where this does, or time passed. O(1).
  std::uint64_t changes() const;
  // Workloads whose verdict may have changed since the last call, in a stable order (for status writers).
  std::vector<std::string> take_changed();

  // The cost of evicting a started workload at `now`: GPU-milliseconds since its last checkpoint, plus restart overhead and grace
  // on all its devices. (Device-milliseconds in general; CPU-milliseconds/1000 without devices.)
  Result<std::int64_t> victim_cost(std::string_view uid, TimeMs now) const;

  const EngineConfig& config() const;
  const EngineStats& stats() const;
  std::vector<Hold> holds() const;
  std::size_t node_count() const;
  std::size_t workload_count() const;
  // Pending workloads that are awake or parked; held ones are not counted.
  std::size_t pending_count() const;
  std::vector<NodeView> nodes() const;
  std::vector<QueueView> queues() const;
  std::vector<WorkloadView> workloads() const;
  // Calls f(lane, resource, base units) for the recent use of the lanes of a queue: an average whose weights halve with every
  // half-life. As of `at`, or of the last decide() if that is later; zero amounts too. Nothing if the queue's line does not go by
  // lanes. NotFound: there is no such queue. O(lanes x resources x ticks that ended).
  Status each_lane_use(std::string_view queue, TimeMs at, const LaneUse& f) const;
  // Calls f for all waiting work of a queue, until f returns false: first work with a hold, in the order of the holds; then the
  // line, in order. It is the order of the line, not of starts: blocking and passing are ignored. O(holders + (classes + called)
  // log classes). NotFound: there is no such queue.
  Status each_in_line(std::string_view queue, const std::function<bool(const LineView&)>& f) const;
  Result<SlotView> slot(std::string_view uid, std::int64_t pod_set, std::int64_t index) const;

  // For live nodes at present, with releasing pods still in place. O(nodes that changed since the last call), or O(nodes) after a
  // change of the mix.
  FragmentationView fragmentation() const;

  // Checks every account against a recount from the slots: an error names the first that is off. O(everything); for tests
  // and self-audits.
  Status audit() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::engine

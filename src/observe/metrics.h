// Berth's metrics for Prometheus. Names, labels and meanings are a contract with dashboards; a test checks
// this table against the registry.
//
//   name                       kind       labels                    meaning
//   berth_decisions_total      counter    kind                      decisions: start, evict, hold, ...
//   berth_slots_started_total  counter                              pods that start decisions placed
//   berth_evictions_total      counter    cause                     evictions: Preempted, Reclaimed, ...
//   berth_decide_seconds       histogram                            time of one decide() call
//   berth_bind_seconds         histogram                            from the decision to the acknowledged bind
//   berth_api_writes_total     counter    kind, outcome             writes to the API: ok, conflict, ...
//   berth_queue_depth          gauge      stage                     entries between parts of the live loop
//   berth_api_write_oldest_seconds  gauge  class                    how long the oldest waiting write has waited
//   berth_api_writes_in_flight gauge                                writes on their way
//   berth_api_write_limit      gauge                                how many may be
//   berth_leader               gauge                                1 while this process decides
//   berth_follower_lag         gauge                                entries that the follower is behind
//   berth_log_bytes            gauge                                bytes of lines in the decision log
//   berth_unreadable_objects   gauge      kind                      objects with a field that cannot be read
//   berth_missing_rights       gauge      verb, resource            1: the API server refused it for lack of this right
//   berth_audit_differences    gauge      kind                      differences that the last self-audit found
//   berth_pending_workloads    gauge      queue                     workloads that wait
//   berth_started_workloads    gauge      queue                     workloads that run
//   berth_quota_nominal        gauge      queue, flavor, resource   nominal quota: cores, bytes, devices
//   berth_quota_usage          gauge      queue, flavor, resource   usage: binding, running, releasing
//   berth_quota_available      gauge      queue, flavor, resource   what the queue could take now
//   berth_slots                gauge      state                     slots: running, held, releasing, waiting
//   berth_nodes                gauge                                nodes
//   berth_series_dropped       gauge                                series beyond the bound, not shown
//
// Bounded: at most `most_queue_series` series that carry a queue's name. Labels with a bounded set of values
// only are taken from callers (kinds, outcomes, stages). Thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/enums.h"
#include "engine/engine.h"
#include "model/decision.h"

namespace berth::observe {

struct MetricsOptions {
  std::size_t most_queue_series = 20'000;
};

enum class WriteOutcome : std::uint8_t { kOk, kConflict, kThrottled, kError };

}  // namespace berth::observe

template <>
struct berth::EnumNames<berth::observe::WriteOutcome> {
  static constexpr std::array names{"ok"sv, "conflict"sv, "throttled"sv, "error"sv};
};

namespace berth::observe {

class Metrics {
 public:
  explicit Metrics(const MetricsOptions& options = {});
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // One decide() call: its decisions and how long it took.
  void decided(std::span<const Decision> decisions, double seconds);
  void bound(double seconds);
  void wrote(std::string_view kind, WriteOutcome outcome);
  void set_queue_depth(std::string_view stage, std::size_t entries);
  // How long the write that waits longest in this class has waited.
  void set_oldest_write(std::string_view write_class, double seconds);
  void set_writes_in_flight(std::uint64_t now, std::uint64_t limit);
  void set_leader(bool leader);
  void set_follower_lag(std::size_t entries);
  void set_log_bytes(std::int64_t bytes);
  void set_unreadable(std::string_view kind, std::size_t objects);
  // All that are missing now, as (verb, resource).
  void set_missing_rights(std::span<const std::pair<std::string, std::string>> rights);
  void set_audit_differences(std::string_view kind, std::size_t differences);
  // Sets every gauge that is a fact about the engine; those of queues that are gone vanish. O(queues +
  // workloads).
  void look_at(const engine::Engine& engine);

  // All of it in Prometheus' text format.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::observe

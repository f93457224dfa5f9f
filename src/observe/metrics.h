// Berth's metrics for Prometheus. Names, labels and meanings are a contract with dashboards; a test checks
// this table against the registry.
//
//   name                       kind       labels                    meaning
//   berth_decisions_total      counter    kind                      decisions: start, evict, hold, ...
//   berth_slots_started_total  counter                              pods that start decisions placed
//   berth_decide_seconds       histogram                            time of one decide() call
//   berth_bind_seconds         histogram                            from the decision to the acknowledged bind
//   berth_watch_seconds        histogram                            from there until the watch shows it
//   berth_watch_silence_seconds  gauge    kind                      since the last byte of a watch
//   berth_api_writes_total     counter    kind, outcome             writes to the API: ok, conflict, ...
//   berth_queue_depth          gauge      stage                     entries between parts of the live loop
//   berth_api_write_oldest_seconds  gauge  class                    how long the oldest waiting write has waited
//   berth_api_writes_in_flight gauge                                writes on their way
//   berth_api_write_limit      gauge                                how many may be
//   berth_leader               gauge                                1 while this process decides
//   berth_follower_lag         gauge                                entries that the follower is behind
//   berth_follower_differs     gauge                                1: it decided otherwise than the decider
//   berth_build_info           gauge      version, commit           1
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
//   berth_series_dropped       gauge                                series beyond the bounds, not shown
//
// About work and devices (work_metrics.h):
//
//   berth_workload_wait_seconds           histogram  queue, priority  from when work may start until it starts
//   berth_workload_oldest_wait_seconds    gauge      queue, priority  the longest wait of those that wait now
//   berth_workload_wait_objective_seconds  gauge     priority         the time within which it is to start
//   berth_waiting_workloads               gauge      queue, reason    workloads that wait, by the leading reason
//   berth_workloads                       gauge      state, pods      workloads by size: 1, 2-7, 8-31, ...
//   berth_workload_pods                   histogram                   sizes of the workloads that started
//   berth_workloads_started_total         counter    queue            first starts
//   berth_workloads_preempted_total       counter    queue            workloads that were preempted once or more
//   berth_evictions_total                 counter    queue, cause     evictions: Preempted, Reclaimed, ...
//   berth_evicted_gpu_seconds_total       counter    queue, cause     GPU time lost by them (decision.h: cost)
//   berth_allocated_gpus                  gauge      queue, pool, resource  devices that work has
//   berth_pod_gpus                        gauge      pod_namespace, pod_name, node_name, queue, pool  the same of a pod
//   berth_gpus                            gauge      pool, resource, state  devices: used, free, cordoned, unhealthy
//   berth_idle_nodes                      gauge      pool             nodes with devices, none of them in use
//   berth_fragmented_gpus                 gauge      pool, resource, profile  free, and of no use to pods of this size
//   berth_fitting_pods                    gauge      pool, resource, profile  pods of this size that have free devices
//
// Bounded: at most `most_queue_series` series of the gauges of quota and counts by queue; those about work and devices as
// WorkMetricsOptions says. Labels with a bounded set of values only are taken from callers (kinds, outcomes, stages). Thread-safe,
// but for work(), which is the follower's.
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
#include "observe/work_metrics.h"

namespace berth::observe {

struct MetricsOptions {
  std::size_t most_queue_series = 20'000;
  WorkMetricsOptions work;
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
  explicit Metrics(MetricsOptions options = {});
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // One decide() call: its decisions and how long it took.
  void decided(std::span<const Decision> decisions, double seconds);
  void bound(double seconds);
  void watched(double seconds);
  void wrote(std::string_view kind, WriteOutcome outcome);
  void set_queue_depth(std::string_view stage, std::size_t entries);
  // How long the write that waits longest in this class has waited.
  void set_oldest_write(std::string_view write_class, double seconds);
  void set_writes_in_flight(std::uint64_t now, std::uint64_t limit);
  void set_leader(bool leader);
  void set_follower_lag(std::size_t entries);
  void set_follower_differs(bool differs);
  void set_build(std::string_view version, std::string_view commit);
  void set_log_bytes(std::int64_t bytes);
  // All kinds that are watched, with the seconds since their watch last said something.
  void set_watch_silence(std::span<const std::pair<std::string, double>> kinds);
  void set_unreadable(std::string_view kind, std::size_t objects);
  // All that are missing now, as (verb, resource).
  void set_missing_rights(std::span<const std::pair<std::string, std::string>> rights);
  void set_audit_differences(std::string_view kind, std::size_t differences);
  // Sets every gauge that is a fact about the engine; those of queues that are gone vanish. `now`: for what waits. O(queues +
  // workloads + slots with devices + nodes).
  void look_at(const engine::Engine& engine, TimeMs now);
  // The facts are not known any more: these gauges vanish, so that old ones are not taken for true.
  void look_away();
  // To be told by the follower (FollowerOptions::watches), in whose engine look_at() looks.
  WorkMetrics& work();

  // All of it in Prometheus' text format.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::observe

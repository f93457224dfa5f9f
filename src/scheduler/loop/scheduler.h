// The live loop: readers (sources.h) -> inbox -> the decision thread (core.h) -> writers (kube/writer.h), with leadership,
// health, metrics and questions around it. One Scheduler per process and cluster.
//
//   BERTH_ASSIGN(auto scheduler, Scheduler::create(config, options));
//   ... another thread, or a signal: scheduler->stop();
//   BERTH_TRY(scheduler->run());
//
// run() waits for the lease, reads everything, recovers, and decides until stop() or the loss of the lease. After stop() it waits a
// moment for binds in flight, and gives the lease back. A lost lease is an error: the supervisor restarts the process as a
// candidate. Every write asks the lease right before it is sent, on a clock that goes on while the process is stopped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "dialect/intake/intake.h"
#include "kube/config.h"
#include "kube/leader.h"
#include "kube/writer.h"
#include "observe/http_server.h"
#include "scheduler/board/board.h"
#include "scheduler/loop/core.h"
#include "scheduler/serve/visibility.h"

namespace berth::scheduler {

struct SchedulerOptions {
  std::vector<std::string> scheduler_names{"berth"};
  std::vector<std::string> device_resources;  // besides everything that ends in /gpu
  bool hold_jobs = true;                      // dialect/intake/intake.h
  bool kueue_objects = true;  // Workloads and statuses of queues are written (workload_objects.h)
  engine::EngineConfig engine;
  dialect::IntakeConfig intake;  // names and devices are filled in
  CarrierOptions carrier;
  ReporterOptions reporter;  // `instance` is filled in
  WorkloadObjectOptions workload_objects;
  OnDemandOptions on_demand;
  AuditOptions audit;
  std::int64_t object_writes_per_second =
      200;  // of Kueue's objects; a tenth of it while binds are on their way
  bool leader_elect = true;
  kube::LeaderOptions leader;  // identity and callbacks are filled in
  // Pages that name workloads of all namespaces: create() refuses another address than one of loopback. They have health and
  // metrics, too.
  std::optional<observe::HttpOptions> http;
  // Each with its own thread and its own bound on connections, so that no other client keeps a probe out.
  std::optional<observe::HttpOptions> health;   // /healthz, /readyz
  std::optional<observe::HttpOptions> metrics;  // /metrics
  std::optional<VisibilityOptions> visibility;  // needs the follower; the namespace is filled in
  std::optional<BoardOptions> dashboard;        // needs the follower
  std::string decision_log;                     // path; empty: none
  observe::WorkMetricsOptions work_metrics;     // need the follower
  std::string version, commit;                  // of Berth, for berth_build_info; "": not told
  bool follower = true;  // answers questions; without it /explain and the gauges of queues are missing
  kube::TransportOptions transport;                // `gather` and `answered` are the scheduler's own
  kube::WriterOptions writer;                      // the fence is filled in
  DurationMs look_for_kinds_every = 10 * kSecond;  // two reads of what is served, and one of Kueue's lease
  DurationMs finish_binds = 5 * kSecond;           // at stop()
  std::function<TimeMs()> clock;  // empty: the wall clock at start, then one that never goes back
};

class Scheduler {
 public:
  static Result<std::unique_ptr<Scheduler>> create(const kube::ClusterConfig& config,
                                                   SchedulerOptions options);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  Status run();
  // From any thread; safe to call more than once.
  void stop();

  bool is_leader() const;
  // Whether decisions are being made: leader, all lists read, recovered.
  bool is_deciding() const;
  // The ports of the HTTP servers; 0 if there is none.
  std::uint16_t http_port() const;
  std::uint16_t health_port() const;
  std::uint16_t metrics_port() const;
  std::uint16_t visibility_port() const;
  std::uint16_t dashboard_port() const;

 private:
  struct Impl;
  explicit Scheduler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::scheduler

// The scenarios on 1,000 nodes of 8 GPUs, 128 cores, 1 TiB; every pod asks for one GPU, one core, one GiB.
//
//   S1  8,000 pods without a gang, all made before the scheduler starts
//   S2  500 gangs of 8, all made before the scheduler starts
//   S3  1,000 running gangs of 8 of low priority fill everything, then 100 gangs of 8 of high priority arrive
//   S4  one pod waits when the scheduler starts, and 8,000 run
//   S5  1,008 gangs of 8 for 1,000 places, arriving interleaved pod by pod at a running scheduler
//
// with constraints of Kubernetes, for Berth and kube-scheduler, on nodes in three zones. 8,000 pods run, a third of them with such
// constraints, and 8,000 arrive (usual: --nodes 5000 --running 30000 --pods 10000):
//
//   C1  they are apart from pods of their app on each node, in the zone of their app
//   C2  they spread over zones and over nodes
//   C3  each mounts a volume of one zone
//
// and with Kueue's queues, for Berth; the others do the same work without any queue:
//
//   Q1  2,000 Jobs of 4 pods, 500 in each of four LocalQueues, made suspended while the scheduler runs (the others: made to run, or with
//       blind-released released by the benchmark); the Job controller makes their pods
//   Q2  8,000 pods wait in a ClusterQueue that is stopped, and have been told why; then it is released (the others: S1)
//   Q3  S3 within one ClusterQueue, whose preemption is LowerPriority
//   Q4  100,000 suspended Jobs of one pod wait for a ClusterQueue without free quota: memory
//   Q5  S2 with 500 JobSets of 8 pods, which wait suspended in a ClusterQueue that is stopped, until it is released; JobSet's controller
//       and the Job controller make their pods. For Berth, for Kueue's manager with kube-scheduler, and for the blind binder, whose
//       JobSets name no queue and are unsuspended one by one: so fast are the controllers
//   Q6  S2 with 500 JobSets of 8 pods as users write them, without `suspend`. Their pods wait when the scheduler starts. Kueue's webhook
//       suspends them, and they wait in a queue that is stopped, until it is released
//
// Each run has a cluster of its own, so that nothing is left from the run before. Times are those of an observer's watch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contender.h"
#include "dashboards.h"
#include "e2e/observer.h"

namespace berth::bench {

enum class Scenario : std::uint8_t { kS1, kS2, kS3, kS4, kS5, kC1, kC2, kC3, kQ1, kQ2, kQ3, kQ4, kQ5, kQ6 };

struct Scale {
  std::size_t nodes = 1000;
  std::size_t pods = 8000;        // S1, Q2, C1 to C3
  std::size_t gangs = 500;        // S2, Q5, Q6
  std::size_t high_gangs = 100;   // S3
  std::size_t running = 8000;     // S4, C1 to C3
  std::size_t surplus_gangs = 8;  // S5: more than there are places
  std::size_t jobs = 2000;        // Q1
  std::size_t waiting = 100'000;  // Q4
  int time_limit_s = 300;         // of one run; what is not bound by then counts as never
  bool keep = false;              // the folders of the clusters stay, with all logs
  std::size_t dashboards = 10;    // open, where the contender is watched
  std::string then;               // Q4: a shell command to run once all Jobs wait; "": none
  std::string kubernetes;
};

struct Outcome {
  Scenario scenario{};
  std::string contender;
  bool finished = false;
  std::size_t bound = 0;
  double first_to_last_s = 0;  // from the first bind to the last
  // S1, S2, Q6: from the start of the scheduler; S3, Q3: from the first high pod's creation; Q1: from the first Job's creation;
  // Q2, Q5, and Q6 with Kueue: from the release
  double start_to_last_s = 0;
  double after_last_pod_s = 0;  // S5: last bind after the last pod was made
  double to_first_s = 0;  // Q2, Q5, and Q6 with Kueue: from the release to the first bind; S4: from the start
  std::uint64_t idle_rss_bytes = 0;  // Q4: once all of them wait; S4: once it has nothing to do
  Histogram think;                   // C1 to C3 (Running::think_times)
  e2e::Usage scheduler;
  double api_server_cpu_s = 0;  // during the run, like etcd's
  double etcd_cpu_s = 0;
  e2e::GangCounts gangs;
  std::size_t whole_victims = 0;    // S3: gangs of which all members were deleted
  std::size_t partial_victims = 0;  // S3: gangs that lost some members only
  std::size_t unwarned = 0;         // S3: victims without DisruptionTarget before their deletion
  Dashboards::Seen dashboards;      // where the contender is watched
  std::string judgement;            // of the observer, empty when clean
  double rate() const { return first_to_last_s > 0 ? static_cast<double>(bound) / first_to_last_s : 0; }
  // Pods that it decides on in a second of thinking.
  double decisions() const { return think.sum > 0 ? static_cast<double>(bound) / think.sum : 0; }
  double rate_from_start() const {
    return start_to_last_s > 0 ? static_cast<double>(bound) / start_to_last_s : 0;
  }
};

bool applies(Scenario scenario, const Contender& contender);
Result<Outcome> run_scenario(Scenario scenario, const Contender& contender, const Scale& scale);

}  // namespace berth::bench

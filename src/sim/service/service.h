// Services: a load that comes and goes, and the number of replicas that a rule wants for it.
//
// The rule, at every moment t:
//   wanted(t) = load(t) x (1 + headroom) / load per replica, rounded up, within min..max
//   the target goes up to the least that was wanted during the last `up_delay`, if that is more, and down to the most that was
//   wanted during the last `down_delay`, where that is less
// (the windows of Kubernetes' horizontal autoscaler). The target is the count of the service's pod set in the engine; `min` of
// them are its least count. A replica serves once it has started (sim/course/start_costs.h). Load beyond what the replicas that serve
// can take is not served: it does not wait, and it is counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/checked.h"
#include "base/result.h"
#include "base/time.h"
#include "model/workload.h"
#include "sim/course/start_costs.h"

namespace berth::sim {

// The load from `at` on, in thousandths of a request per second.
struct LoadPoint {
  TimeMs at = 0;
  std::int64_t load_milli = 0;
};

struct ReplicaRule {
  std::int64_t per_replica_milli = 1000;  // load that one replica serves, at least 1
  std::int64_t headroom_milli = 0;        // of the load
  std::int64_t min = 1;                   // at least 1
  std::int64_t max = 1;                   // at most 1,000,000
  DurationMs up_delay = 0;
  DurationMs down_delay = 0;
};

// A change of the target.
struct ReplicaStep {
  TimeMs at = 0;
  std::int64_t replicas = 0;
  bool operator==(const ReplicaStep&) const = default;
};

// Replicas that would serve this load, without headroom or bounds, and those that the rule wants.
std::int64_t replicas_for(std::int64_t load_milli, std::int64_t per_replica_milli);
std::int64_t wanted_replicas(const ReplicaRule& rule, std::int64_t load_milli);
// The target over time, from the first point of the load to `end`; only changes, the first at the first point. Points rise in
// time. O(n log n).
std::vector<ReplicaStep> replica_steps(const ReplicaRule& rule, const std::vector<LoadPoint>& load,
                                       TimeMs end);

struct Service {
  std::string name;
  std::string queue;
  std::int64_t priority = 0;
  bool preemptible = true;
  PodTemplate pod;
  std::int64_t gpu_milli = 0;  // of one replica
  ReplicaRule rule;
  Restart restart;
  StartCosts costs;
  std::vector<LoadPoint> load;  // at least one, rising in time
  std::vector<ReplicaStep> plan;
  TimeMs end = 0;  // it is removed
};

// How well a service was served.
struct ServiceAccount {
  DurationMs time = 0;        // since it began
  DurationMs time_short = 0;  // with load that was not served
  Int128 offered = 0;         // thousandths of requests/s x ms: 1,000,000 = one request
  Int128 unserved = 0;
  std::int64_t worst_milli = 0;  // most load that was not served at one moment
  Int128 replica_ms_target = 0;
  Int128 replica_ms_ready = 0;
  // `load_milli` has come in for `time` while so many replicas served.
  void pass(DurationMs time, std::int64_t load_milli, std::int64_t target, std::int64_t ready,
            std::int64_t per_replica_milli);
};

}  // namespace berth::sim

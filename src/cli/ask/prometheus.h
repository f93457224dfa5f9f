// How busy GPUs are, as a Prometheus knows it by Berth's rules (deploy/chart/berth/files/rules.yaml, docs/metrics.md). It is asked with
// instant queries: https://prometheus.io/docs/prometheus/latest/querying/api/.
//
// The address is a URL (http://localhost:9090, https://prometheus.example/path), or NAMESPACE/SERVICE:PORT. A service is reached through the
// API server, with the identity of the user and the right to get services/proxy.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/transport.h"

namespace berth::cli {

// GPUs of a queue: whole ones are 1. `used` <= `measured`.
struct GpuUse {
  double used = 0;      // busy: 0.5 is one that is busy half of the time
  double measured = 0;  // allocated ones that an exporter tells of
};

// By queue, "" for work without one. `ns`: of this namespace alone; "": of the whole cluster. `cluster` is asked for a service.
// Errors: Invalid, an address of neither form; Unauthorized, a missing right; Unavailable, no answer, or none of Prometheus.
Result<std::map<std::string, GpuUse>> gpu_use(const std::string& address, const std::string& ns,
                                              kube::Transport& cluster);

}  // namespace berth::cli

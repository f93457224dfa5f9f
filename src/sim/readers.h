// Readers of nodes and jobs. Each reads its file as a stream (one record in memory; gzip and zstd are told by
// their first bytes) and gives errors with file, line and column name. Formats: docs/simulator.md.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/node.h"
#include "model/queue.h"
#include "sim/trace.h"

namespace berth::sim {

inline constexpr std::int64_t kMostNodes = 1'000'000;

// A file of the published openb arrival orders: line 1 the rank of each node, nodes by name; line 2 the
// arriving pods as indices into the pods sorted by name (a pod may arrive several times).
struct OpenbOrder {
  std::string file;
  std::vector<std::int64_t> node_rank;
  std::vector<std::int64_t> pods;
};
Result<OpenbOrder> read_openb_order(const std::string& path);

// openb node list: sn, cpu_milli, memory_mib, gpu, model. `order` (may be null) gives the nodes their ranks.
Result<std::vector<Node>> read_openb_nodes(const std::string& path, const OpenbOrder* order);

// openb pod list: name, cpu_milli, memory_mib, num_gpu, gpu_milli and, where present, gpu_spec,
// creation_time, scheduled_time, deletion_time. With `order` the pods arrive in that order, one per second,
// and last for ever; without, at their creation times, which the file must then have.
Status read_openb_pods(const std::string& path, const OpenbOrder* order, const JobRules& rules,
                       TraceBuilder& out);

// Philly-style job list: job_id, submit_s, gpus, duration_s and, where present, vc (the tenant).
Status read_philly_jobs(const std::string& path, const JobRules& rules, TraceBuilder& out);

// What all nodes of a list without shapes have besides their GPUs.
struct NodeShape {
  std::string name_prefix = "node";
  std::int64_t gpus = 8;
  std::string gpu_model;
  std::int64_t cpu_milli = 0;     // 0 = not counted
  std::int64_t memory_bytes = 0;  // 0 = not counted
  Labels labels;
};
Node make_node(std::string name, const NodeShape& shape);
// `count` nodes NAME-0000, ...
std::vector<Node> make_nodes(const NodeShape& shape, std::int64_t count);

// Machine list: machine_id, gpus. Machines of less than `least_gpus` GPUs are left out.
Result<std::vector<Node>> read_machines(const std::string& path, const NodeShape& shape,
                                        std::int64_t least_gpus);

// Tenant sizes: vc, nodes_of_8_gpus.
Result<std::vector<std::pair<std::string, std::int64_t>>> read_tenant_nodes(const std::string& path);

// Berth's own trace form, JSON lines (docs/simulator.md, "Berth trace").
struct BerthTrace {
  std::vector<Node> nodes;
  std::vector<Queue> queues;
};
enum class BerthTracePart : std::uint8_t { kNodes, kQueues, kJobs };
// Reads one part; the other lines are checked for their kind only. `rules` and `jobs` are for kJobs.
Result<BerthTrace> read_berth_trace(const std::string& path, BerthTracePart part, const JobRules& rules,
                                    TraceBuilder* jobs);

}  // namespace berth::sim

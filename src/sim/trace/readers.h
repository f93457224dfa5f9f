// Readers of nodes and jobs. Each reads its file as a stream (one record in memory; gzip and zstd are told by
// their first bytes) and gives errors with file, line and column name. Forms: docs/traces.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/node.h"
#include "model/queue.h"
#include "sim/trace/fleet.h"
#include "sim/trace/trace.h"
#include "text/csv.h"

namespace berth::sim {

inline constexpr std::int64_t kMostNodes = 200'000;  // about 3 KiB each, in all rooms together
inline constexpr std::size_t kMostTopologies = 1'000;
inline constexpr std::size_t kMostQueues = 100'000;  // and as many flavors
// For everything in a file that is held beside its jobs, as text: nodes, queues and the like.
inline constexpr std::size_t kMostWorldBytes = std::size_t{512} << 20;

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

// Standard Workload Format. Processors are GPUs or CPUs (rules.processors); the number allocated counts, or
// that requested where it is unknown. Run time = duration, requested time = expected duration. Left out, and
// counted: lines without run time or processors, lines for parts of a job (status 2, 3, 4). Dependencies,
// think times, memory and CPU time are ignored.
enum class SwfTenant : std::uint8_t { kQueue, kUser, kGroup, kPartition };
struct SwfRules {
  SwfTenant tenant = SwfTenant::kQueue;  // the queue of a job is "queue-3", "user-3", ...; -1 = none
};
Status read_swf_jobs(const std::string& path, const SwfRules& swf, const JobRules& rules, TraceBuilder& out);

// The contents of the comments in front of the first job.
struct SwfHeader {
  std::optional<std::int64_t> max_nodes;
  std::optional<std::int64_t> max_processors;
  std::optional<std::int64_t> max_jobs;
  std::optional<std::int64_t> unix_start_s;
  std::string computer;
};
Result<SwfHeader> read_swf_header(const std::string& path);
// MaxNodes nodes of MaxProcs / MaxNodes processors each.
Result<std::vector<Node>> read_swf_nodes(const std::string& path, Processors processors, NodeShape shape);

// Seconds with at most three digits after the point, as milliseconds; nullopt for anything else.
std::optional<std::int64_t> parse_seconds(std::string_view text);
// The same of a column, with an error that names it.
Result<std::int64_t> csv_seconds(const text::CsvReader& csv, std::size_t column);

// Gangs: submission, GPUs, run time and, where present, a name and a tenant; the columns may be called
// submit_s, gpus, duration_s, job_id, vc, or as in the published Lingjun job list.
Status read_gangs(const std::string& path, const JobRules& rules, TraceBuilder& out);

// Host list with a column per level of the network, widest first. The label of a level holds the way to it
// ("G6.P10.S14"), since names of switches may repeat in different groups.
struct HostLevel {
  std::string column;
  std::string label;
};
struct HostColumns {
  std::string host = "ip";
  std::vector<HostLevel> levels{{"DSW", std::string(kCoreLabel)},
                                {"PSW", std::string(kAggregationLabel)},
                                {"ASW", std::string(kLeafLabel)}};
  std::string topology = std::string(kNetworkTopology);
};
Result<Fleet> read_hosts(const std::string& path, const HostColumns& columns, const NodeShape& shape);

// Machine list: machine_id, gpus. Machines of less than `least_gpus` GPUs are left out.
Result<std::vector<Node>> read_machines(const std::string& path, const NodeShape& shape,
                                        std::int64_t least_gpus);

// Tenant sizes: vc, nodes_of_8_gpus.
Result<std::vector<std::pair<std::string, std::int64_t>>> read_tenant_nodes(const std::string& path);

// The parts besides jobs in forms with nodes and queues.
struct TraceWorld {
  std::vector<Node> nodes;
  std::vector<Topology> topologies;
  std::vector<Flavor> flavors;
  std::vector<Queue> queues;
};

// Berth's own trace form, JSON lines (docs/traces.md, "Berth trace").
// kNodes: nodes and topologies. kQueues: queues and flavors.
enum class BerthTracePart : std::uint8_t { kNodes, kQueues, kJobs, kAll };
// Reads one part; the other lines are checked for their kind only. `rules` and `jobs` are for kJobs and kAll.
Result<TraceWorld> read_berth_trace(const std::string& path, BerthTracePart part, const JobRules& rules,
                                    TraceBuilder* jobs);

// A decision log as a trace: see read_log.cc for what becomes of what.
Result<TraceWorld> read_log(const std::string& path, const JobRules& rules, TraceBuilder& jobs);

}  // namespace berth::sim

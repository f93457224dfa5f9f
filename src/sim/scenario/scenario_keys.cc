// The reference of the scenario file: the one place where its keys are described.
#include <algorithm>
#include <array>

#include "sim/scenario/scenario.h"

namespace berth::sim {
namespace {

constexpr auto kKeys = std::to_array<ScenarioKey>({
    {"name", "text", "required", "Names the simulation in its report."},
    {"description", "text", "none", "One or two sentences for the readers of the report."},
    {"mode", "replay | inflation", "replay",
     "replay: jobs arrive in time, run, end, are evicted and come back. inflation: jobs are offered one by "
     "one to an empty "
     "cluster, nothing leaves; a job that fits nowhere is dropped."},
    {"fill_to", "percentage", "the whole trace",
     "mode inflation: ends when jobs for this many percent of the cluster's GPUs have arrived."},
    {"seed", "integer", "1", "The seed of every generator; ${SEED} in paths. --seed replaces it."},
    {"origin", "time (RFC 3339)", "none", "The date of the trace's time 0, for the axes of the report."},

    {"cluster", "list", "required", "Where the nodes come from; all entries together."},
    {"cluster[].kind", "shape | openb | machines | tenant-nodes | hosts | swf | berth | generate", "required",
     "shape: equal nodes. openb: an openb node list. machines: a list machine_id,gpus. tenant-nodes: a list "
     "vc,nodes_of_8_gpus, with the tenant as a label. hosts: a list of hosts and the switches above them, as "
     "a "
     "topology. swf: as the first comments of a file in Standard Workload Format say. berth: the nodes of a "
     "Berth trace. generate: a fleet like a published one."},
    {"cluster[].count", "integer", "required", "shape, generate: how many nodes."},
    {"cluster[].name", "text", "node",
     "shape, swf, generate: the nodes are called NAME-0000, NAME-0001, ..."},
    {"cluster[].path", "path", "required",
     "openb, machines, tenant-nodes, hosts, swf, berth: the file; gzip and zstd are recognised."},
    {"cluster[].order", "path", "none",
     "openb: an arrival order file, whose first line ranks the nodes (lower rank wins ties)."},
    {"cluster[].gpus", "integer", "required", "shape, hosts: GPUs per node, 0 to 64."},
    {"cluster[].gpu_model", "text", "none",
     "shape, machines, tenant-nodes, hosts, swf: the model, also as label nvidia.com/gpu.product."},
    {"cluster[].cpu", "quantity", "not counted", "shape, machines, tenant-nodes, hosts, swf: CPU per node."},
    {"cluster[].memory", "quantity", "not counted",
     "shape, machines, tenant-nodes, hosts, swf: memory per node."},
    {"cluster[].labels", "mapping", "none",
     "shape, machines, tenant-nodes, hosts, swf: labels of the nodes."},
    {"cluster[].least_gpus", "integer", "1", "machines: machines with fewer GPUs are left out."},
    {"cluster[].label", "text", "required", "tenant-nodes: the label key that gets the tenant's name."},
    {"cluster[].total_nodes", "integer", "as in the file",
     "tenant-nodes: scales all tenants so that they sum to this many nodes (each rounded down)."},
    {"cluster[].host", "text", "ip", "hosts: the column with the host's name."},
    {"cluster[].levels", "list", "DSW, PSW, ASW",
     "hosts: the columns that name the switches above a host, widest first. The labels are berth.dev/core, "
     "berth.dev/aggregation and berth.dev/leaf where the list is left out."},
    {"cluster[].levels[].column", "text", "required", "The column."},
    {"cluster[].levels[].label", "text", "required", "The label key that gets the way to the switch."},
    {"cluster[].topology", "text", "network", "hosts: what the topology is called."},
    {"cluster[].processors", "gpu | cpu", "gpu", "swf: the meaning of a processor."},
    {"cluster[].like", "philly | openb | helios | acme-seren | acme-kalos | lingjun", "openb",
     "generate: whose fleet. openb: in the proportions of its GPU nodes. lingjun: hosts of 8 GPUs below "
     "leaf, "
     "aggregation and core switches. Others: nodes of 8 GPUs."},

    {"trace", "list", "required", "Where the jobs come from; all entries together, in order of submission."},
    {"trace[].kind", "philly | openb | gangs | swf | berth | generate", "required",
     "philly: a list job_id,submit_s,gpus,duration_s and possibly vc. openb: an openb pod list. gangs: a "
     "list "
     "submit_s,gpus,duration_s, or the published Lingjun job list. swf: Standard Workload Format. berth: the "
     "jobs of a Berth "
     "trace. generate: drawn from published distributions."},
    {"trace[].path", "path", "required",
     "philly, openb, gangs, swf, berth: the file; gzip and zstd are recognised."},
    {"trace[].order", "path", "none",
     "openb in mode inflation: an arrival order file, whose second line lists the pods."},
    {"trace[].from", "duration", "the beginning",
     "Jobs submitted before this time of the trace are left out."},
    {"trace[].to", "duration", "the end", "Jobs submitted at this time of the trace or later are left out."},
    {"trace[].max_jobs", "integer", "5000000", "More jobs in the window are an error: the bound of memory."},
    {"trace[].queue", "text", "the file's", "The queue of all jobs, whatever the file says."},
    {"trace[].no_tenant_queue", "text", "none", "The queue of jobs for which the file names none."},
    {"trace[].drop_without_tenant", "true | false", "false",
     "Leaves such jobs out; the report says how many."},
    {"trace[].priority", "integer", "0", "The priority of jobs without one in the file."},
    {"trace[].node_selector", "mapping", "none", "Labels that every pod's node must have."},
    {"trace[].queue_label", "text", "none",
     "A label key: a pod runs only on nodes where this label has its queue's name (walls between tenants)."},
    {"trace[].gpus_per_task", "integer", "8",
     "philly, gangs, swf, berth, generate: a job of more GPUs is a gang of tasks of this size, and one task "
     "for the "
     "rest."},
    {"trace[].topology", "mapping", "none",
     "philly, gangs, swf, berth, generate: where the tasks of a job with several of them should lie, for "
     "jobs "
     "whose file says nothing of its own."},
    {"trace[].topology.required", "text", "none", "A label key: all tasks in one domain of this level."},
    {"trace[].topology.preferred", "text", "none",
     "A label key: tried first at this level, then at each wider one, then anywhere."},
    {"trace[].processors", "gpu | cpu", "gpu", "swf: the meaning of a processor."},
    {"trace[].cpus_per_task", "integer", "64",
     "swf with processors: cpu: a job of more CPUs is a gang of tasks of this size, and one task for the "
     "rest."},
    {"trace[].tenant", "queue | user | group | partition", "queue",
     "swf: which field names a job's queue: queue-3, user-3, group-3, partition-3."},
    {"trace[].checkpoint_every", "duration", "0",
     "An evicted job goes on from its last checkpoint. 0: from its beginning."},
    {"trace[].restart_overhead", "duration", "0", "Added to the work of a job each time that it comes back."},
    {"trace[].restart_overheads", "list", "none",
     "The same by size: the first entry that is large enough for the job, instead of restart_overhead."},
    {"trace[].restart_overheads[].up_to_gpus", "integer", "no limit", "For jobs of at most so many GPUs."},
    {"trace[].restart_overheads[].overhead", "duration", "required", "Their restart overhead."},
    {"trace[].grace", "duration", "0", "Between an eviction and the moment when the room is free."},
    {"trace[].durations", "unknown | known | estimated", "unknown",
     "The expected run time that the engine gets for jobs of this source."},
    {"trace[].estimate", "factor | over | given", "factor",
     "durations: estimated: factor = the truth times a factor that lies log-uniformly between 1/F and F. "
     "over "
     "= times a "
     "factor that lies uniformly between 1 and F, then up to the next round time, as users do. given = what "
     "the trace says (expected_ms of a Berth trace)."},
    {"trace[].estimate_factor", "number", "3",
     "F, from 1 to 1000. The error of a job follows from the seed and its name."},
    {"trace[].pod_start", "duration", "0",
     "From the start of a pod to its first work, the image being there."},
    {"trace[].pod_start_spread", "share", "0",
     "Each pod's start lies uniformly within this share of pod_start, by the seed: 20% = 0.8 to 1.2 times."},
    {"trace[].image", "text", "one per queue", "The image of the pods of this source, for image_pull."},
    {"trace[].image_pull", "duration", "0",
     "Time until a node has the image, once per node and image; later pods find it there."},
    {"trace[].image_size", "quantity", "none", "Instead of image_pull: bytes, pulled with image_bandwidth."},
    {"trace[].image_bandwidth", "quantity", "none", "Bytes per second that one node pulls."},
    {"trace[].warm_up", "duration", "0", "Added to every start of a pod: loading, compiling, joining."},
    {"trace[].checkpoint_time", "duration", "0", "How long a job stands still for each checkpoint."},
    {"trace[].resize_time", "duration", "0",
     "How long an elastic job stands still each time that it grows or shrinks."},
    {"trace[].elastic_share", "share", "0",
     "This share of the jobs of more than one slot may run with fewer; drawn by the seed and the job's "
     "name."},
    {"trace[].elastic_least", "share", "50%",
     "The least of such a job: this share of the slots of each pod set, rounded up."},
    {"trace[].efficiency", "list of [slots, share]", "1 for all",
     "Speed per slot of elastic jobs, against one slot alone; straight lines in between."},
    {"trace[].like", "philly | openb | helios | acme-seren | acme-kalos | lingjun", "philly",
     "generate: whose sizes and run times (docs/traces.md)."},
    {"trace[].jobs", "integer", "required", "generate: how many jobs."},
    {"trace[].span", "duration", "7d",
     "generate: jobs arrive within this time, many of them by day and few by night; time 0 is a Monday."},
    {"trace[].max_gpus", "integer", "2048", "generate: larger jobs are not drawn."},
    {"trace[].tenants", "list", "none",
     "generate: the tenants that submit jobs, in proportion to their weights; the name is the queue."},
    {"trace[].tenants[].name", "text", "required", "The tenant, and its queue."},
    {"trace[].tenants[].weight", "integer", "1", "Its share of the jobs."},

    {"flavors", "list", "none",
     "Classes of nodes with quota of their own; one called default, of all nodes, exists anyway."},
    {"flavors[].name", "text", "required", "Named in quotas."},
    {"flavors[].node_labels", "mapping", "none",
     "Work charged to this flavor runs on nodes with these labels."},

    {"queues", "list, or {from: path}", "required", "The queue tree; or the queues of a Berth trace."},
    {"queues.from", "path", "none", "A Berth trace whose queue lines are used."},
    {"queues[].name", "text", "required", "Unique. Jobs name the queue they go to."},
    {"queues[].parent", "text", "none", "The queue above, where it does not stand as one of its children."},
    {"queues[].children", "list", "none",
     "Queues below this one, with the same keys. A queue with children takes no jobs."},
    {"queues[].unlimited", "true | false", "false", "No quota is kept: nodes alone decide."},
    {"queues[].quota", "list", "none", "The guaranteed quota of the queue, per resource."},
    {"queues[].quota[].resource", "text", "required",
     "gpu (= nvidia.com/gpu), cpu, memory, or another name."},
    {"queues[].quota[].nominal", "quantity", "0", "The guarantee."},
    {"queues[].quota[].borrow", "quantity", "no limit",
     "At most this much more, where the tree has room. 0: never."},
    {"queues[].quota[].lend", "quantity", "no limit",
     "At most this much of the guarantee is lent to others."},
    {"queues[].quota[].flavor", "text", "default", "The class of nodes that it is for."},
    {"queues[].order", "best-effort | strict", "best-effort",
     "strict: the oldest workload of highest priority blocks those behind it. best-effort: every job that "
     "fits starts."},
    {"queues[].sharing", "priority | dominant-share | guaranteed-share | decayed-use", "priority",
     "How the queues below this one stand in line: by their first jobs as if they were one queue, by "
     "weighted use above "
     "the guarantee, by the part of the guarantee in use, by use in the past. docs/policies.md."},
    {"queues[].half_life", "duration", "7d",
     "sharing: decayed-use: half of the past use is forgotten in this time."},
    {"queues[].weight", "number", "1",
     "Its share of capacity beyond the guarantees, relative to its siblings."},
    {"queues[].order_by", "creation | duration | remaining | attained | attained-levels", "creation",
     "The order of its jobs: creation (first in first out), expected duration (SJF), expected rest "
     "(SRTF), "
     "device time used so far in steps (LAS) or in levels (two-dimensional LAS). docs/policies.md."},
    {"queues[].priority", "first | second", "first", "Whether priority ranks before order_by or after it."},
    {"queues[].tiers", "none | by-kind", "none",
     "by-kind: services and interactive work above training above batch; priority ranks within."},
    {"queues[].age_limit", "duration", "never by creation, else 3d",
     "Work that has waited this long in all goes first, and room is reserved for it. 0: never."},
    {"queues[].attained_first", "duration", "1h",
     "attained, attained-levels: the step, and the end of the first level, as the time of one GPU."},
    {"queues[].attained_ratio", "integer", "8",
     "attained-levels: each level ends at so many times the one before."},
    {"queues[].attained_levels", "integer", "4", "attained-levels: how many."},
    {"queues[].within", "never | lower-priority | lower-or-newer-equal | later-in-order", "never",
     "The jobs of its own queue that a job may preempt. later-in-order: jobs behind it by order_by, by more "
     "than the preemption destroys."},
    {"queues[].reclaim", "never | lower-priority | any", "never",
     "The jobs of other queues, running on borrowed quota, from which the queue may take back its "
     "guarantee."},
    {"queues[].victims", "cost | youngest-first | lowest-priority-first | latest-in-order", "cost",
     "The victims among the jobs that may be preempted: least work lost, last started, lowest priority, or "
     "last in the queue's order."},
    {"queues[].minimum_runtime", "duration", "0",
     "No job of the queue is preempted before it has run this long since its start."},
    {"queues[].ignores_minimum_runtime", "true | false", "false",
     "Jobs of the queue may preempt jobs that have not run their minimum."},
    {"queues[].placement", "default | fragmentation | pack | spread | best-fit | first", "default",
     "How its jobs are placed on nodes; default: policy.placement."},
    {"queues[].tenants", "mapping", "none",
     "One queue per tenant of a file vc,nodes_of_8_gpus, below this one."},
    {"queues[].tenants.path", "path", "required", "The file."},
    {"queues[].tenants.gpus_per_node", "integer", "8", "A tenant's guarantee is its nodes times this."},
    {"queues[].tenants.total_gpus", "integer", "none",
     "Scales the guarantees so that they sum to this many GPUs (each rounded down)."},
    {"queues[].tenants.borrow", "quantity", "no limit", "As in quota, for each."},
    {"queues[].tenants.lend", "quantity", "no limit", "As in quota, for each."},
    {"queues[].tenants.order", "best-effort | strict", "best-effort", "As of a queue, for each."},
    {"queues[].tenants.weight", "number", "1", "As of a queue, for each."},
    {"queues[].tenants.weight_by_size", "true | false", "false",
     "The weight of a tenant is its nodes in the file."},
    {"queues[].tenants.order_by", "creation | duration | remaining | attained | attained-levels", "creation",
     "As of a queue, for each; so are the six keys below."},
    {"queues[].tenants.priority", "first | second", "first", "As of a queue, for each."},
    {"queues[].tenants.tiers", "none | by-kind", "none", "As of a queue, for each."},
    {"queues[].tenants.age_limit", "duration", "never by creation, else 3d", "As of a queue, for each."},
    {"queues[].tenants.attained_first", "duration", "1h", "As of a queue, for each."},
    {"queues[].tenants.attained_ratio", "integer", "8", "As of a queue, for each."},
    {"queues[].tenants.attained_levels", "integer", "4", "As of a queue, for each."},
    {"queues[].tenants.within", "never | lower-priority | lower-or-newer-equal | later-in-order", "never",
     "As of a queue, for each."},
    {"queues[].tenants.reclaim", "never | lower-priority | any", "never", "As of a queue, for each."},
    {"queues[].tenants.victims", "cost | youngest-first | lowest-priority-first | latest-in-order", "cost",
     "As of a queue, for each."},
    {"queues[].tenants.minimum_runtime", "duration", "0", "As of a queue, for each."},
    {"queues[].tenants.ignores_minimum_runtime", "true | false", "false", "As of a queue, for each."},
    {"queues[].tenants.placement", "default | fragmentation | pack | spread | best-fit | first", "default",
     "As of a queue, for each."},

    {"services", "list", "none",
     "Services: as many replicas as a load needs, in the same queues as the jobs. Load that is not served is "
     "counted."},
    {"services[].name", "text", "required", "Named in metrics and reports."},
    {"services[].queue", "text", "required", "The queue that it goes to."},
    {"services[].priority", "integer", "0", "As of a job."},
    {"services[].preemptible", "true | false", "true", "Whether it may be evicted."},
    {"services[].gpus", "integer", "0", "GPUs of one replica."},
    {"services[].gpu_milli", "integer", "1000", "Below 1000: a share of one GPU."},
    {"services[].cpu", "quantity", "0", "CPU of one replica."},
    {"services[].memory", "quantity", "0", "Memory of one replica."},
    {"services[].node_selector", "mapping", "none", "Labels that a replica's node must have."},
    {"services[].gpu_models", "list", "any", "Models of GPU that a replica may run on."},
    {"services[].requests_per_replica", "number", "required", "Requests per second that one replica serves."},
    {"services[].headroom", "number", "0", "So much more than the load is provided for: 0.2 = a fifth."},
    {"services[].min", "integer", "1", "Fewest replicas; it starts with these or not at all."},
    {"services[].max", "integer", "required", "Most replicas."},
    {"services[].up_delay", "duration", "0",
     "The target goes up to the least that was wanted during this time."},
    {"services[].down_delay", "duration", "5m",
     "The target goes down to the most that was wanted during this time."},
    {"services[].grace", "duration", "0", "Between an eviction and the moment when the room is free."},
    {"services[].pod_start", "duration", "0", "As of a source of jobs, for each replica."},
    {"services[].pod_start_spread", "share", "0", "As of a source of jobs."},
    {"services[].image", "text", "one of its own", "As of a source of jobs."},
    {"services[].image_pull", "duration", "0", "As of a source of jobs."},
    {"services[].image_size", "quantity", "none", "As of a source of jobs."},
    {"services[].image_bandwidth", "quantity", "none", "As of a source of jobs."},
    {"services[].warm_up", "duration", "0", "As of a source of jobs: loading the model."},
    {"services[].from", "duration", "0", "When it begins, in the time of the trace."},
    {"services[].for", "duration", "required", "How long it is there."},
    {"services[].load", "mapping", "required", "The requests per second over time."},
    {"services[].load.form", "csv | jsonl | requests | daily", "csv",
     "csv: time_s,requests_per_s. jsonl: lines {time_ms, requests_per_s}. requests: one row per request. "
     "daily: "
     "made up, low at 4 and high at 16 o'clock of the trace's time."},
    {"services[].load.path", "path", "required", "csv, jsonl, requests: the file; its first time is `from`."},
    {"services[].load.column", "text", "TIMESTAMP", "requests: the column of the time."},
    {"services[].load.bin", "duration", "1m; daily 5m",
     "requests: counted in bins of this length. daily: its steps."},
    {"services[].load.low", "number", "0", "daily: requests per second at night."},
    {"services[].load.high", "number", "required", "daily: requests per second in the afternoon."},
    {"services[].load.noise", "share", "0",
     "daily: each step lies uniformly within this share, by the seed."},
    {"services[].load.scale", "number", "1", "Times this."},
    {"services[].load.repeat", "duration", "once", "csv, jsonl, requests: begins again after this time."},
    {"failures", "list", "none", "Failures: random ones by the seed, and ones at given times."},
    {"failures[].unit", "node | device | domain", "node",
     "One node, one device of a node, or all nodes that share a value of the label."},
    {"failures[].every", "duration", "none",
     "Random: each unit fails once in this time on average, independently (a Poisson process)."},
    {"failures[].at", "duration", "none", "Not random: at this time of the trace."},
    {"failures[].repair", "duration", "required",
     "How long it is out: mean, or exactly, as repair_spread says."},
    {"failures[].repair_spread", "fixed | exponential | wide", "exponential with every, else fixed",
     "fixed: always the same. exponential: around the mean. wide: from a quarter to four times, "
     "log-uniformly."},
    {"failures[].node", "text", "all", "Only this node fails; required with at."},
    {"failures[].device", "integer", "all",
     "unit: device: its number on the node, from 0; required with at."},
    {"failures[].label", "text", "none", "unit: domain: the label key, for example rack."},
    {"failures[].value", "text", "all", "unit: domain: only the domain of this value; required with at."},
    {"policy", "mapping", "none", "The engine's settings."},
    {"policy.placement", "fragmentation | pack | spread | best-fit | first", "fragmentation",
     "How workloads are placed on nodes, unless their queue says otherwise."},
    {"policy.demand_mix", "live | trace", "live",
     "The jobs for which fragmentation placement keeps free room usable: those that have arrived so far, or "
     "all of the trace. (An openb list: every row once, as in the published runs.)"},
    {"policy.passes", "one | two", "one",
     "one: Berth, quota and nodes in one decision. two: a queue manager and a separate scheduler, to compare "
     "with. Quota is decided without nodes; an admitted job then looks for nodes, and keeps its quota "
     "meanwhile. Every leaf queue needs a quota; not with elastic jobs or services."},
    {"policy.tiers", "none | by-kind", "as each queue says",
     "For all queues: by-kind ranks services and interactive work above training above batch."},
    {"policy.search_steps", "integer", "200000", "Bound of one search for places and victims, in steps."},
    {"policy.ignore_uncovered", "true | false", "true",
     "Resources that a queue has no quota for: true = not counted, false = workloads that ask for them do "
     "not start."},

    {"output", "mapping", "none", "The parts of the report."},
    {"output.gantt_nodes", "integer", "8", "How many nodes the Gantt chart shows, 0 to 64."},

    {"expect", "list", "none",
     "Expectations: exit code 1 where one is not met. Names of metrics: metrics.csv of a run."},
    {"expect[].metric", "text", "required",
     "A name of metrics.csv, for example queue.7f04ca.waiting_mean_s."},
    {"expect[].value", "number", "required", "The expected value, at most three digits after the point."},
    {"expect[].within", "number or percentage", "required", "How far it may be off, for example 0.5%."},
    {"expect_curve", "mapping", "none",
     "mode inflation: a published curve, compared at every one of its points for this seed."},
    {"expect_curve.path", "path", "required", "The file: pod_list,policy,seed,arrived_pct,allocated_pct."},
    {"expect_curve.list", "text", "required", "Rows with this pod_list count."},
    {"expect_curve.policy", "text", "required", "Rows with this policy count."},
    {"expect_curve.within_points", "number", "0.05",
     "How far each point may be off, in points of a percent."},
});

}  // namespace

std::span<const ScenarioKey> scenario_keys() {
  return kKeys;
}

std::string scenario_reference() {
  std::string out =
      "A scenario is one YAML file. Durations: 90s, 1h30m, 7d. Quantities as in Kubernetes: 8, 1500m, "
      "512Gi.\n"
      "Paths are relative to the file; ${NAME} is an environment variable, ${SEED} the seed, and "
      "${BERTH_TRACES}\n"
      "is looked for beside the scenario (shared/traces) where it is not set.\n\n";
  for (const ScenarioKey& key : kKeys) {
    out += fmt::format("{}: {}{}\n", key.path, key.value,
                       key.otherwise == "required" ? std::string("  (required)")
                                                   : fmt::format("  (default: {})", key.otherwise));
    // Lines of at most 100 columns.
    std::string line = "   ";
    std::string_view rest = key.meaning;
    while (!rest.empty()) {
      const std::size_t space = std::min(rest.find(' '), rest.size());
      if (line.size() + 1 + space > 100) {
        out += line + "\n";
        line = "   ";
      }
      line += ' ';
      line += rest.substr(0, space);
      rest = space == rest.size() ? std::string_view() : rest.substr(space + 1);
    }
    out += line + "\n";
  }
  return out;
}

std::string scenario_reference_markdown() {
  std::string out = "| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
  const auto cell = [](std::string_view text) {
    std::string escaped;
    for (const char c : text) {
      if (c == '|') escaped += '\\';
      escaped += c;
    }
    return escaped;
  };
  for (const ScenarioKey& key : kKeys) {
    out += fmt::format("| `{}` | {} | {} | {} |\n", key.path, cell(key.value), cell(key.otherwise),
                       cell(key.meaning));
  }
  return out;
}

}  // namespace berth::sim

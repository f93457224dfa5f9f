#include "sim/scenario/input.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include "base/checked.h"
#include "sim/trace/queue_fields.h"

namespace berth::sim {
namespace {

Result<std::vector<Node>> read_tenant_fleet(const ClusterSource& source) {
  BERTH_ASSIGN(const auto tenants, read_tenant_nodes(source.path));
  std::int64_t sum = 0;
  for (const auto& tenant : tenants) sum += tenant.second;
  if (source.total_nodes == 0 && sum > kMostNodes) {
    return fail_at({source.path, 0, 0}, "the tenants have {} nodes, more than {}; say total_nodes", sum,
                   kMostNodes);
  }
  std::vector<Node> nodes;
  for (const auto& [name, size] : tenants) {
    NodeShape shape = source.shape;
    shape.name_prefix = name;
    shape.labels[source.tenant_label] = name;
    const std::int64_t count = source.total_nodes > 0 && sum > 0 ? size * source.total_nodes / sum : size;
    for (Node& node : make_nodes(shape, count)) nodes.push_back(std::move(node));
  }
  return nodes;
}

// The nodes of a source; its topologies go to `topologies`.
Result<std::vector<Node>> load_nodes(const ClusterSource& source, std::uint64_t seed,
                                     std::vector<Topology>& topologies) {
  switch (source.kind) {
    case ClusterKind::kShape:
      return make_nodes(source.shape, source.count);
    case ClusterKind::kOpenb: {
      if (source.order.empty()) return read_openb_nodes(source.path, nullptr);
      BERTH_ASSIGN(const OpenbOrder order, read_openb_order(source.order));
      return read_openb_nodes(source.path, &order);
    }
    case ClusterKind::kMachines:
      return read_machines(source.path, source.shape, source.least_gpus);
    case ClusterKind::kTenantNodes:
      return read_tenant_fleet(source);
    case ClusterKind::kHosts: {
      BERTH_ASSIGN(Fleet fleet, read_hosts(source.path, source.hosts, source.shape));
      topologies.push_back(std::move(*fleet.topology));
      return std::move(fleet.nodes);
    }
    case ClusterKind::kSwf:
      return read_swf_nodes(source.path, source.processors, source.shape);
    case ClusterKind::kBerth: {
      BERTH_ASSIGN(TraceWorld trace, read_berth_trace(source.path, BerthTracePart::kNodes, {}, nullptr));
      for (Topology& topology : trace.topologies) topologies.push_back(std::move(topology));
      return std::move(trace.nodes);
    }
    case ClusterKind::kGenerate: {
      Fleet fleet = generate_fleet(source.like, seed, source.count, source.shape.name_prefix);
      if (fleet.topology) topologies.push_back(std::move(*fleet.topology));
      return std::move(fleet.nodes);
    }
  }
  return std::vector<Node>();
}

Status load_jobs(const TraceSource& source, std::uint64_t seed, TraceBuilder& out) {
  out.begin_source();
  switch (source.kind) {
    case TraceKind::kPhilly:
      return read_philly_jobs(source.path, source.rules, out);
    case TraceKind::kOpenb: {
      if (source.order.empty()) return read_openb_pods(source.path, nullptr, source.rules, out);
      BERTH_ASSIGN(const OpenbOrder order, read_openb_order(source.order));
      return read_openb_pods(source.path, &order, source.rules, out);
    }
    case TraceKind::kGangs:
      return read_gangs(source.path, source.rules, out);
    case TraceKind::kSwf:
      return read_swf_jobs(source.path, source.swf, source.rules, out);
    case TraceKind::kBerth: {
      const auto read = read_berth_trace(source.path, BerthTracePart::kJobs, source.rules, &out);
      if (!read) return tl::unexpected<Error>(read.error());
      return {};
    }
    case TraceKind::kGenerate: {
      auto generated = generate_jobs(seed, source.generator, source.rules, out);
      if (!generated && generated.error().place.file.empty()) {
        return fail_at(source.place, "{}", generated.error().message);
      }
      return generated;
    }
  }
  return {};
}

// Parents in front of their children, otherwise in the order of the file. The tree is known to have no cycle.
std::vector<Queue> parents_first(std::vector<Queue> queues) {
  std::vector<Queue> out;
  std::set<std::string, std::less<>> placed;
  std::vector<bool> done(queues.size(), false);
  while (out.size() < queues.size()) {
    for (std::size_t i = 0; i < queues.size(); ++i) {
      if (done[i] || (!queues[i].parent.empty() && !placed.contains(queues[i].parent))) continue;
      done[i] = true;
      placed.insert(queues[i].name);
      out.push_back(std::move(queues[i]));
    }
  }
  return out;
}

// The index of a queue that takes workloads.
Result<std::uint32_t> find_leaf(const Input& input, const std::string& name, std::string_view who,
                                const SourcePlace& place) {
  const auto it = std::find_if(input.queues.begin(), input.queues.end(),
                               [&](const Queue& queue) { return queue.name == name; });
  if (it == input.queues.end()) {
    return fail_at(place,
                   "{} name the queue '{}', which is not defined; add it, or give these {} another queue",
                   who, name, who);
  }
  if (!it->leaf)
    return fail_at(place, "{} name the queue '{}', which has children and takes none", who, name);
  return static_cast<std::uint32_t>(it - input.queues.begin());
}

}  // namespace

namespace {

// Two passes count quota, and know whole jobs only.
Status check_two_passes(const Input& input, const Scenario& scenario, const SourcePlace& place) {
  for (const Queue& queue : input.queues) {
    if (queue.leaf && queue.unlimited)
      return fail_at(place, "queue {} is unlimited, but policy.passes: two counts quota; give it one",
                     queue.name);
  }
  if (!scenario.services.empty())
    return fail_at(scenario.services.front().place, "services need policy.passes: one");
  for (const JobShape& shape : input.trace.shapes) {
    if (shape.elastic) return fail_at(scenario.trace.front().place, "elastic jobs need policy.passes: one");
  }
  return {};
}

// `stream`: the last number of a source's random numbers.
Status load_cluster(const Scenario& scenario, std::uint64_t& stream, Input& input) {
  std::set<std::string, std::less<>> names;
  for (const ClusterSource& source : scenario.cluster) {
    BERTH_ASSIGN(std::vector<Node> nodes, load_nodes(source, ++stream, input.topologies));
    for (Node& node : nodes) {
      if (!names.insert(node.name).second) {
        return fail_at(source.place, "node '{}' comes from two sources; give the shapes different names",
                       node.name);
      }
      input.nodes.push_back(std::move(node));
    }
    if (static_cast<std::int64_t>(input.nodes.size()) > kMostNodes) {
      return fail_at(source.place, "more than {} nodes", kMostNodes);
    }
  }
  if (input.nodes.empty()) {
    return fail_at(scenario.cluster.front().place, "the cluster has no nodes");
  }

  // Two sources may bring the same topology; two different ones of one name contradict each other.
  std::sort(input.topologies.begin(), input.topologies.end(),
            [](const Topology& a, const Topology& b) { return a.name < b.name; });
  input.topologies.erase(std::unique(input.topologies.begin(), input.topologies.end()),
                         input.topologies.end());
  for (std::size_t i = 1; i < input.topologies.size(); ++i) {
    if (input.topologies[i].name == input.topologies[i - 1].name) {
      return fail_at(
          scenario.cluster.front().place,
          "two sources of nodes give the topology '{}' different levels; name one of them otherwise",
          input.topologies[i].name);
    }
  }
  return {};
}

// Gives where the queues stand, for errors.
Result<SourcePlace> load_queues(const Scenario& scenario, Input& input) {
  std::vector<Queue> queues = scenario.queues;
  std::vector<Flavor> flavors = scenario.flavors;
  SourcePlace place = scenario.queues_place;
  if (!scenario.queues_from.empty()) {
    BERTH_ASSIGN(TraceWorld trace,
                 read_berth_trace(scenario.queues_from, BerthTracePart::kQueues, {}, nullptr));
    queues = std::move(trace.queues);
    for (Flavor& flavor : trace.flavors) {
      const bool known = std::any_of(flavors.begin(), flavors.end(),
                                     [&](const Flavor& other) { return other.name == flavor.name; });
      if (!known) flavors.push_back(std::move(flavor));
    }
    place = {scenario.queues_from, 0, 0};
    if (queues.empty()) return fail_at(place, "names no queue");
    BERTH_TRY(complete_queues(queues, {place}));
  }
  input.queues = parents_first(std::move(queues));
  for (Queue& queue : input.queues) {
    if (scenario.nobody_preempts) queue.preemption = PreemptionPolicy();
  }

  Flavor everything;
  everything.name = "default";
  const bool named = std::any_of(flavors.begin(), flavors.end(),
                                 [](const Flavor& flavor) { return flavor.name == "default"; });
  if (!named) input.flavors.push_back(std::move(everything));
  input.flavors.insert(input.flavors.end(), flavors.begin(), flavors.end());
  return place;
}

Status load_trace(const Scenario& scenario, std::uint64_t& stream, Input& input) {
  TraceBuilder builder;
  for (const TraceSource& source : scenario.trace) BERTH_TRY(load_jobs(source, ++stream, builder));
  input.outside_window = builder.outside_window();
  input.without_tenant = builder.without_queue();
  for (const auto& [why, jobs] : builder.left_out()) {
    input.remarks.push_back(fmt::format("{} jobs left out: {}", jobs, why));
  }
  for (const auto& [what, jobs] : builder.remarks()) {
    input.remarks.push_back(fmt::format("{} jobs {}", jobs, what));
  }
  input.trace = builder.finish();
  if (scenario.demand == DemandSource::kTrace) input.demand = demand_mix(input.trace);
  if (input.trace.jobs.empty()) {
    return fail_at(scenario.trace.front().place, "there are no jobs{}",
                   input.outside_window > 0
                       ? fmt::format(": {} lie outside the window from..to", input.outside_window)
                       : std::string());
  }
  return {};
}

}  // namespace

Result<Input> load(const Scenario& scenario) {
  Input input;
  std::uint64_t stream = scenario.seed;
  BERTH_TRY(load_cluster(scenario, stream, input));
  BERTH_ASSIGN(const SourcePlace place, load_queues(scenario, input));
  BERTH_TRY(load_trace(scenario, stream, input));
  input.seed = scenario.seed;
  input.failures = scenario.failures;
  // A rule that nothing can follow is wrong input: said before the run.
  BERTH_TRY(Faults::make(input.failures, input.nodes, input.seed));

  for (std::uint32_t i = 0; i < input.trace.queues.size(); ++i) {
    BERTH_ASSIGN(const std::uint32_t queue, find_leaf(input, input.trace.queues.name(i), "jobs", place));
    input.queue_of.push_back(queue);
  }
  for (const ServiceSource& source : scenario.services) {
    BERTH_ASSIGN(Service service, make_service(source, scenario.seed));
    if (service.costs.image_pull > 0) {
      service.costs.image = input.trace.images.intern(source.image.empty() ? service.name : source.image);
    }
    BERTH_ASSIGN(const std::uint32_t queue, find_leaf(input, service.queue, "services", source.place));
    input.service_queue.push_back(queue);
    input.services.push_back(std::move(service));
  }
  if (scenario.passes == Passes::kTwo) BERTH_TRY(check_two_passes(input, scenario, place));
  return input;
}

std::string job_uid(std::uint32_t job) {
  return fmt::format("{:08}", job);
}

std::uint32_t job_of_uid(std::string_view uid) {
  std::uint32_t job = 0;
  std::from_chars(uid.data(), uid.data() + uid.size(), job);
  return job;
}

Workload make_workload(const Input& input, std::uint32_t index, TimeMs created) {
  const Job& job = input.trace.jobs[index];
  Workload workload;
  workload.uid = job_uid(index);
  workload.name = job.name;
  workload.queue = input.trace.queues.name(job.queue);
  workload.priority = job.priority;
  workload.preemptible = job.preemptible;
  workload.created = created;
  if (job.expected != kNotSaid) workload.expected_duration = job.expected;
  workload.restart = input.trace.restarts[job.restart];
  workload.root = input.trace.shapes[job.shape].root;
  return workload;
}

}  // namespace berth::sim

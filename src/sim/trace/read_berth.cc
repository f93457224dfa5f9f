// Berth's own trace form: JSON lines.
#include <set>
#include <utility>

#include "base/checked.h"
#include "model/bounds.h"
#include "observe/codec.h"
#include "sim/trace/queue_fields.h"
#include "sim/trace/readers.h"
#include "sim/trace/runtime_fields.h"
#include "text/fields.h"
#include "text/json.h"
#include "text/source.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMostMs = kLastTime / 4;
constexpr std::uint64_t kMostLineValues = 1'000'000;

Labels labels_of(text::Fields& f, std::string_view key) {
  Labels labels;
  for (auto& [name, value] : f.string_map(key)) labels.emplace(std::move(name), std::move(value));
  return labels;
}

// A value in the form of the decision log (observe/codec.h) under `key`.
template <class T>
T read_model(text::Fields& f, std::string_view key) {
  const text::Node* node = f.find(key);
  if (node == nullptr) return T();
  auto value = observe::decode<T>(f.document(), *node, key);
  if (value) return *std::move(value);
  f.error(key, "{}", value.error().message);
  return T();
}

Node read_node(text::Fields& f) {
  if (f.has("node")) {
    Node node = read_model<Node>(f, "node");
    if (f.ok() && node.name.empty()) f.error("node", "has no name");
    return node;
  }
  NodeShape shape;
  const std::string name = f.string("name");
  shape.gpus = f.integer_or("gpus", 0, 0, 64);
  shape.gpu_model = f.string_or("gpu_model");
  shape.cpu_milli = f.quantity_or("cpu", 1000, 0);
  shape.memory_bytes = f.quantity_or("memory", 1, 0);
  shape.labels = labels_of(f, "labels");
  Node node = make_node(name, shape);
  if (f.has("rank")) node.rank = f.integer("rank", 0, kMostMs);
  return node;
}

PodSet read_pod_set(text::Fields& f, const JobRules& rules) {
  PodSet set;
  set.name = f.string_or("name", "worker");
  set.count = f.integer_or("count", 1, 1, 1'000'000);
  if (f.has("least")) set.least = f.integer("least", 1, set.count);
  set.pod = read_pod(f);
  for (const auto& [label, value] : rules.node_selector) set.pod.node_selector.edit()[label] = value;
  return set;
}

// The text of the tree is the key of its shape: equal texts mean equal trees.
std::string shape_key(std::string_view form, const text::Node* node, const TopologyRequest& topology,
                      const JobRules& rules) {
  std::string key = fmt::format("berth {} {} {} ", form, topology.required, topology.preferred);
  if (node != nullptr) key += text::to_json(*node);
  return key + shape_rules_key(rules);
}

void select_nodes(Group& group, const Labels& selector) {
  for (PodSet& set : group.pod_sets) {
    for (const auto& [label, value] : selector) set.pod.node_selector.edit()[label] = value;
  }
  for (Group& child : group.groups) select_nodes(child, selector);
}

// The form of a job's pods: one of `gpus`, `pod_sets` and `root`.
struct JobTree {
  Group root;
  std::string key;
};
JobTree read_tree(text::Fields& f, const JobRules& rules) {
  JobTree tree;
  tree.root.name = "job";
  const int forms = (f.has("gpus") ? 1 : 0) + (f.has("pod_sets") ? 1 : 0) + (f.has("root") ? 1 : 0);
  if (forms > 1)
    f.error(f.has("gpus") ? "gpus" : "root", "a job has one of gpus, pod_sets and root, not two");
  JobRules own = rules;
  if (text::Fields topology = f.optional_child("topology"); topology) {
    own.topology = {};
    own.topology.required = topology.string_or("required");
    own.topology.preferred = topology.string_or("preferred");
    (void)topology.done();
  }
  if (f.has("root")) {
    if (f.has("topology")) f.error("topology", "stands inside root, in the groups that it is for");
    tree.root = read_model<Group>(f, "root");
    select_nodes(tree.root, rules.node_selector);
    tree.key = shape_key("root", f.find("root"), {}, rules);
  } else if (f.has("pod_sets")) {
    std::int64_t pods = 0;
    f.each("pod_sets", [&](text::Fields& set) {
      tree.root.pod_sets.push_back(read_pod_set(set, rules));
      pods += tree.root.pod_sets.back().count;
    });
    if (f.ok() && tree.root.pod_sets.empty()) f.error("pod_sets", "must name at least one pod set");
    if (pods > 1) tree.root.topology = own.topology;
    tree.key = shape_key("sets", f.find("pod_sets"), own.topology, rules);
  } else {
    const std::int64_t gpus = f.integer("gpus", 1, 1'000'000);
    if (f.ok()) tree.root = gang_of(gpus, own);
    tree.key = shape_key(fmt::format("gpus {}", gpus), nullptr, own.topology, rules);
  }
  return tree;
}

constexpr text::Choice<Disruption> kDisruptions[] = {{"all", Disruption::kAll}, {"one", Disruption::kOne}};

Status read_job(text::Fields& f, const JobRules& rules, TraceBuilder& out) {
  Job job;
  job.name = f.string("id");
  const std::string queue = f.string_or("queue");
  job.submit = f.integer("submit_ms", -kMostMs, kMostMs);
  job.duration = f.integer("duration_ms", 0, kMostMs);
  job.priority = f.integer_or("priority", rules.priority, -2'000'000'000, 2'000'000'000);
  job.preemptible = f.boolean_or("preemptible", true);
  job.expected = f.integer_or("expected_ms", kNotSaid, 0, kMostMs);
  Restart restart = rules.restart;
  restart.checkpoint_every = f.integer_or("checkpoint_every_ms", restart.checkpoint_every, 0, kMostMs);
  restart.overhead = f.integer_or("restart_overhead_ms", restart.overhead, 0, kMostMs);
  restart.grace = f.integer_or("grace_ms", restart.grace, 0, kMostMs);
  if (f.has("efficiency")) job.scaling = out.scaling(read_efficiency(f, "efficiency"));
  StartCosts costs = rules.costs;
  costs.pod_start = f.integer_or("pod_start_ms", costs.pod_start, 0, kMostCost);
  costs.image_pull = f.integer_or("image_pull_ms", costs.image_pull, 0, kMostCost);
  costs.warm_up = f.integer_or("warm_up_ms", costs.warm_up, 0, kMostCost);
  costs.checkpoint_time = f.integer_or("checkpoint_ms", costs.checkpoint_time, 0, kMostCost);
  costs.resize = f.integer_or("resize_ms", costs.resize, 0, kMostCost);
  const std::string& source_queue = rules.queue.empty() ? queue : rules.queue;
  const std::string image = f.string_or("image", rules.image.empty() ? source_queue : rules.image);
  job.costs = out.costs(costs, image);
  const bool one = f.choice_or("disruption", kDisruptions, Disruption::kAll) == Disruption::kOne;
  JobTree tree = read_tree(f, rules);
  if (one) {
    if (f.has("root")) f.error("disruption", "stands inside root, in the groups that it is for");
    tree.root.disruption = Disruption::kOne;
    tree.key += "\none";
  }
  BERTH_TRY(f.done());
  const SourcePlace place = f.document().place(f.node());
  const auto shape = out.shape(tree.key, [&] { return std::move(tree.root); });
  if (!shape) return fail_at(place, "{}", shape.error().message);
  job.shape = *shape;
  job.restart = out.restart(restart);
  return out.add(std::move(job), queue, rules, place);
}

enum class LineKind : std::uint8_t { kHeader, kNode, kTopology, kQueue, kFlavor, kJob };
constexpr text::Choice<LineKind> kLineKinds[] = {
    {"berth-trace", LineKind::kHeader}, {"node", LineKind::kNode},     {"topology", LineKind::kTopology},
    {"queue", LineKind::kQueue},        {"flavor", LineKind::kFlavor}, {"job", LineKind::kJob}};

// The state of reading one trace.
struct Reading {
  const BerthTracePart part;
  const JobRules& rules;
  TraceBuilder* const jobs;
  TraceWorld world;
  std::set<std::string, std::less<>> node_names;

  bool wants(BerthTracePart of) const { return part == of || part == BerthTracePart::kAll; }
};

Status read_header(text::Fields& f, LineKind kind) {
  if (kind != LineKind::kHeader) {
    f.error("kind", "the first line must be {{\"kind\":\"berth-trace\",\"version\":1}}");
  } else {
    (void)f.integer("version", 1, 1);
  }
  return f.done();
}

Status read_node_line(text::Fields& f, Reading& into) {
  Node node = read_node(f);
  if (f.ok() && !into.node_names.insert(node.name).second) f.error("name", "this node stood above already");
  if (static_cast<std::int64_t>(into.node_names.size()) > kMostNodes)
    f.error("name", "more than {} nodes", kMostNodes);
  BERTH_TRY(f.done());
  into.world.nodes.push_back(std::move(node));
  return {};
}

Status read_topology_line(text::Fields& f, TraceWorld& world) {
  Topology topology{f.string("name"), f.strings("levels")};
  if (f.ok() && topology.levels.empty()) f.error("levels", "must name at least one label key, widest first");
  for (const Topology& above : world.topologies) {
    if (above.name == topology.name) f.error("name", "this topology stood above already");
  }
  if (world.topologies.size() >= kMostTopologies) f.error("name", "more than {} topologies", kMostTopologies);
  BERTH_TRY(f.done());
  world.topologies.push_back(std::move(topology));
  return {};
}

// One line behind the header. The parts that are not wanted are skipped.
Status read_line(text::Fields& f, LineKind kind, Reading& into) {
  switch (kind) {
    case LineKind::kHeader:
      f.error("kind", "a trace has one header line, the first");
      return f.done();
    case LineKind::kNode:
      return into.wants(BerthTracePart::kNodes) ? read_node_line(f, into) : Status();
    case LineKind::kTopology:
      return into.wants(BerthTracePart::kNodes) ? read_topology_line(f, into.world) : Status();
    case LineKind::kQueue:
      if (!into.wants(BerthTracePart::kQueues)) return {};
      if (f.has("queue")) {
        into.world.queues.push_back(read_model<Queue>(f, "queue"));
      } else {
        read_queue(f, {}, nullptr, into.world.queues);
      }
      if (into.world.queues.size() > kMostQueues) f.error("kind", "more than {} queues", kMostQueues);
      return f.done();
    case LineKind::kFlavor:
      if (!into.wants(BerthTracePart::kQueues)) return {};
      if (!f.has("flavor")) f.error("flavor", "is missing");
      into.world.flavors.push_back(read_model<Flavor>(f, "flavor"));
      if (into.world.flavors.size() > kMostQueues) f.error("kind", "more than {} flavors", kMostQueues);
      return f.done();
    case LineKind::kJob:
      return into.wants(BerthTracePart::kJobs) ? read_job(f, into.rules, *into.jobs) : Status();
  }
  return {};
}

}  // namespace

Result<TraceWorld> read_berth_trace(const std::string& path, BerthTracePart part, const JobRules& rules,
                                    TraceBuilder* jobs) {
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path));
  text::LineReader lines(source);
  Reading into{part, rules, jobs, {}, {}};
  bool header = false;
  std::size_t held = 0;
  text::Limits limits;
  limits.max_nodes = kMostLineValues;
  for (;;) {
    BERTH_ASSIGN(const auto line, lines.next());
    if (!line) break;
    if (line->find_first_not_of(" \t") == std::string_view::npos) continue;
    BERTH_ASSIGN(const text::Document document,
                 text::parse_json(std::string(*line), path, limits, lines.line()));
    text::Fields f(document, document.root(), text::Unknown::kRefuse);
    const LineKind kind = f.choice("kind", kLineKinds);
    if (!f.ok()) return tl::unexpected<Error>(f.done().error());
    if (!header) {
      BERTH_TRY(read_header(f, kind));
      header = true;
      continue;
    }
    if (kind != LineKind::kJob) held += line->size();
    if (held > kMostWorldBytes) {
      f.error("kind", "nodes, topologies, queues and flavors take more than {} bytes", kMostWorldBytes);
      return tl::unexpected<Error>(f.done().error());
    }
    BERTH_TRY(read_line(f, kind, into));
  }
  if (!header) {
    return fail_at({path, 1, 0}, "empty; the first line must be {{\"kind\":\"berth-trace\",\"version\":1}}");
  }
  return std::move(into.world);
}

}  // namespace berth::sim

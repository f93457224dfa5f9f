// Berth's own trace form: JSON lines.
#include <set>
#include <utility>

#include "base/checked.h"
#include "sim/queue_fields.h"
#include "sim/readers.h"
#include "sim/runtime_fields.h"
#include "text/fields.h"
#include "text/json.h"
#include "text/source.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMostMs = kInt64Max / 4;

Labels labels_of(text::Fields& f, std::string_view key) {
  Labels labels;
  for (auto& [name, value] : f.string_map(key)) labels.emplace(std::move(name), std::move(value));
  return labels;
}

Node read_node(text::Fields& f) {
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
  for (const auto& [label, value] : rules.node_selector) set.pod.node_selector[label] = value;
  return set;
}

// The text of the pod sets is the key of their shape: equal texts mean equal trees.
std::string shape_key(const text::Node* sets, const JobRules& rules) {
  std::string key = "berth ";
  if (sets != nullptr) key += text::to_json(*sets);
  for (const auto& [label, value] : rules.node_selector) key += fmt::format("\n{}={}", label, value);
  return key;
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
  if (f.has("gpus") && f.has("pod_sets")) f.error("gpus", "a job has gpus or pod_sets, not both");
  Group root;
  root.name = "job";
  std::string key;
  if (f.has("pod_sets")) {
    f.each("pod_sets", [&](text::Fields& set) { root.pod_sets.push_back(read_pod_set(set, rules)); });
    if (f.ok() && root.pod_sets.empty()) f.error("pod_sets", "must name at least one pod set");
    key = shape_key(f.find("pod_sets"), rules);
  } else {
    const std::int64_t gpus = f.integer("gpus", 1, 1'000'000);
    if (f.ok()) root = gang_of(gpus, rules.gpus_per_task, rules.node_selector);
    key = shape_key(nullptr, rules) + fmt::format("{} {}", gpus, rules.gpus_per_task);
  }
  if (one) {
    root.disruption = Disruption::kOne;
    key += "\none";
  }
  BERTH_TRY(f.done());
  const SourcePlace place = f.document().place(f.node());
  const auto shape = out.shape(key, [&] { return std::move(root); });
  if (!shape) return fail_at(place, "{}", shape.error().message);
  job.shape = *shape;
  job.restart = out.restart(restart);
  return out.add(std::move(job), queue, rules, place);
}

enum class LineKind : std::uint8_t { kHeader, kNode, kQueue, kJob };
constexpr text::Choice<LineKind> kLineKinds[] = {{"berth-trace", LineKind::kHeader},
                                                 {"node", LineKind::kNode},
                                                 {"queue", LineKind::kQueue},
                                                 {"job", LineKind::kJob}};

}  // namespace

Result<BerthTrace> read_berth_trace(const std::string& path, BerthTracePart part, const JobRules& rules,
                                    TraceBuilder* jobs) {
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path));
  text::LineReader lines(source);
  BerthTrace trace;
  std::set<std::string, std::less<>> node_names;
  bool header = false;
  for (;;) {
    BERTH_ASSIGN(const auto line, lines.next());
    if (!line) break;
    if (line->find_first_not_of(" \t") == std::string_view::npos) continue;
    BERTH_ASSIGN(const text::Document document, text::parse_json(std::string(*line), path, {}, lines.line()));
    text::Fields f(document, document.root(), text::Unknown::kRefuse);
    const LineKind kind = f.choice("kind", kLineKinds);
    if (!f.ok()) return tl::unexpected<Error>(f.done().error());
    if (!header) {
      if (kind != LineKind::kHeader) {
        f.error("kind", "the first line must be {{\"kind\":\"berth-trace\",\"version\":1}}");
      } else {
        (void)f.integer("version", 1, 1);
      }
      BERTH_TRY(f.done());
      header = true;
      continue;
    }
    switch (kind) {
      case LineKind::kHeader:
        f.error("kind", "a trace has one header line, the first");
        return tl::unexpected<Error>(f.done().error());
      case LineKind::kNode: {
        if (part != BerthTracePart::kNodes) break;
        Node node = read_node(f);
        if (f.ok() && !node_names.insert(node.name).second) f.error("name", "this node stood above already");
        if (static_cast<std::int64_t>(node_names.size()) > kMostNodes)
          f.error("name", "more than {} nodes", kMostNodes);
        BERTH_TRY(f.done());
        trace.nodes.push_back(std::move(node));
        break;
      }
      case LineKind::kQueue:
        if (part != BerthTracePart::kQueues) break;
        read_queue(f, {}, nullptr, trace.queues);
        BERTH_TRY(f.done());
        break;
      case LineKind::kJob:
        if (part != BerthTracePart::kJobs) break;
        BERTH_TRY(read_job(f, rules, *jobs));
        break;
    }
  }
  if (!header) {
    return fail_at({path, 1, 0}, "empty; the first line must be {{\"kind\":\"berth-trace\",\"version\":1}}");
  }
  return trace;
}

}  // namespace berth::sim

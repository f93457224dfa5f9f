#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "observe/codec.h"
#include "sim/measure/metrics.h"
#include "sim/trace/trace_file.h"
#include "text/json.h"
#include "text/quantity.h"

namespace berth::sim {
namespace {

constexpr std::string_view kBerthHeader = "{\"kind\":\"berth-trace\",\"version\":1}";
constexpr std::string_view kSwfHeader =
    "; Version: 2.2\n"
    "; Note: written by berth trace; processors are GPUs; unknown fields are -1";
constexpr std::string_view kCsvHeader = "job_id,submit_s,gpus,duration_s,vc";

// Seconds of milliseconds, with a point only where it is needed.
std::string seconds(std::int64_t ms) {
  const std::int64_t whole = ms / kSecond;
  std::int64_t rest = ms % kSecond;
  std::string out = ms < 0 && whole == 0 ? "-0" : std::to_string(whole);
  if (rest == 0) return out;
  rest = rest < 0 ? -rest : rest;
  out += fmt::format(".{:03}", rest);
  while (out.back() == '0') out.pop_back();
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + '"';
}

// The short form of a node, where it says everything: what make_node() makes of it is the node.
std::optional<std::string> short_node(const Node& node) {
  NodeShape shape;
  shape.gpus = 0;
  for (const DevicePool& pool : node.devices) {
    shape.gpus = pool.count;
    shape.gpu_model = pool.model;
  }
  shape.cpu_milli = node.allocatable.get("cpu");
  shape.memory_bytes = node.allocatable.get("memory");
  shape.labels = node.labels;
  shape.labels.erase(std::string(kHostLabel));
  if (!shape.gpu_model.empty()) shape.labels.erase(std::string(kGpuModelLabel));
  Node same = make_node(node.name, shape);
  same.rank = node.rank;
  if (!(same == node)) return std::nullopt;
  text::JsonWriter json;
  json.begin_object().field("kind", "node").field("name", node.name);
  if (shape.gpus > 0) json.field("gpus", shape.gpus);
  if (!shape.gpu_model.empty()) json.field("gpu_model", shape.gpu_model);
  if (shape.cpu_milli > 0) json.field("cpu", text::format_quantity(shape.cpu_milli, 1000));
  if (shape.memory_bytes > 0) {
    json.field("memory", text::format_quantity(shape.memory_bytes, 1, text::QuantityForm::kBinary));
  }
  if (!shape.labels.empty()) {
    json.key("labels").begin_object();
    for (const auto& [label, value] : shape.labels) json.field(label, value);
    json.end_object();
  }
  if (node.rank) json.field("rank", *node.rank);
  json.end_object();
  return json.take();
}

// `"gpus":4` and the like for a gang that rules would make of a number of GPUs, otherwise the whole tree.
std::string tree_text(const JobShape& shape) {
  const std::int64_t gpus = shape.gpu_milli / 1000;
  JobRules rules;
  rules.topology = shape.root.topology;
  if (gpus > 0 && shape.root == gang_of(gpus, rules)) {
    text::JsonWriter json;
    json.begin_object().field("gpus", gpus);
    if (!rules.topology.empty() && rules.topology.segment_level.empty()) {
      json.key("topology").begin_object();
      if (!rules.topology.required.empty()) json.field("required", rules.topology.required);
      if (!rules.topology.preferred.empty()) json.field("preferred", rules.topology.preferred);
      json.end_object();
    }
    json.end_object();
    std::string out = json.take();
    if (rules.topology.segment_level.empty()) return out.substr(1, out.size() - 2);
  }
  std::string out = "\"root\":";
  observe::encode(out, shape.root);
  return out;
}

void write_costs(text::JsonWriter& json, const Trace& tables, const StartCosts& costs) {
  if (costs.pod_start != 0) json.field("pod_start_ms", costs.pod_start);
  if (costs.image_pull != 0) {
    json.field("image_pull_ms", costs.image_pull).field("image", tables.images.name(costs.image));
  }
  if (costs.warm_up != 0) json.field("warm_up_ms", costs.warm_up);
  if (costs.checkpoint_time != 0) json.field("checkpoint_ms", costs.checkpoint_time);
  if (costs.resize != 0) json.field("resize_ms", costs.resize);
}

}  // namespace

Result<TraceWriter> TraceWriter::open(const std::string& path, WrittenForm form) {
  BERTH_ASSIGN(text::ByteSink sink, text::ByteSink::open(path));
  TraceWriter writer(std::move(sink), path, form);
  switch (form) {
    case WrittenForm::kBerth:
      writer.line_ = kBerthHeader;
      break;
    case WrittenForm::kSwf:
      writer.line_ = kSwfHeader;
      break;
    case WrittenForm::kCsv:
      writer.line_ = kCsvHeader;
      break;
  }
  BERTH_TRY(writer.line());
  return writer;
}

Status TraceWriter::line() {
  line_ += '\n';
  return sink_.write(line_);
}

Status TraceWriter::world(const TraceWorld& world) {
  if (form_ != WrittenForm::kBerth) {
    const auto lost = [&](std::size_t count, const char* what) {
      if (count > 0) losses_[what] = static_cast<std::int64_t>(count);
    };
    lost(world.nodes.size(), "nodes are not written: this form has none");
    lost(world.queues.size(), "queues are not written: this form knows only their names");
    return {};
  }
  const auto model_line = [&](std::string_view kind, const auto& value) -> Status {
    line_ = fmt::format("{{\"kind\":\"{}\",\"{}\":", kind, kind);
    observe::encode(line_, value);
    line_ += '}';
    return line();
  };
  for (const Topology& topology : world.topologies) {
    text::JsonWriter json;
    json.begin_object().field("kind", "topology").field("name", topology.name).key("levels").begin_array();
    for (const std::string& level : topology.levels) json.value(level);
    json.end_array().end_object();
    line_ = json.take();
    BERTH_TRY(line());
  }
  for (const Node& node : world.nodes) {
    if (auto text = short_node(node)) {
      line_ = *std::move(text);
      BERTH_TRY(line());
    } else {
      BERTH_TRY(model_line("node", node));
    }
  }
  for (const Flavor& flavor : world.flavors) BERTH_TRY(model_line("flavor", flavor));
  for (const Queue& queue : world.queues) BERTH_TRY(model_line("queue", queue));
  return {};
}

Status TraceWriter::job(const Job& job, const Trace& tables) {
  switch (form_) {
    case WrittenForm::kBerth:
      return berth_job(job, tables);
    case WrittenForm::kSwf:
      return swf_job(job, tables);
    case WrittenForm::kCsv:
      return csv_job(job, tables);
  }
  return {};
}

Status TraceWriter::berth_job(const Job& job, const Trace& tables) {
  shapes_.resize(std::max(shapes_.size(), tables.shapes.size()));
  std::string& tree = shapes_[job.shape];
  if (tree.empty()) tree = tree_text(tables.shapes[job.shape]);
  text::JsonWriter json;
  json.begin_object().field("kind", "job").field("id", job.name);
  const std::string& queue = tables.queues.name(job.queue);
  if (!queue.empty()) json.field("queue", queue);
  json.field("submit_ms", job.submit).field("duration_ms", job.duration);
  if (job.expected != kNotSaid) json.field("expected_ms", job.expected);
  if (job.priority != 0) json.field("priority", job.priority);
  if (!job.preemptible) json.field("preemptible", false);
  const Restart& restart = tables.restarts[job.restart];
  if (restart.checkpoint_every != 0) json.field("checkpoint_every_ms", restart.checkpoint_every);
  if (restart.overhead != 0) json.field("restart_overhead_ms", restart.overhead);
  if (restart.grace != 0) json.field("grace_ms", restart.grace);
  if (job.costs != kOfRules) write_costs(json, tables, tables.costs[job.costs]);
  if (job.scaling != kOfRules && !tables.scalings[job.scaling].points().empty()) {
    json.key("efficiency").begin_array();
    for (const EfficiencyPoint& point : tables.scalings[job.scaling].points()) {
      json.begin_array().value(point.slots).raw(format_milli(point.milli)).end_array();
    }
    json.end_array();
  }
  json.end_object();
  line_ = json.take();
  line_.back() = ',';
  line_ += tree;
  line_ += '}';
  ++jobs_;
  return line();
}

std::int64_t TraceWriter::whole_gpus(const Job& job, const Trace& tables) {
  const JobShape& shape = tables.shapes[job.shape];
  if (shape.gpu_milli <= 0) {
    ++losses_["left out: jobs without a GPU"];
    return 0;
  }
  if (shape.gpu_milli % 1000 != 0) ++losses_["shares of a GPU written as whole ones"];
  if (job.priority != 0) ++losses_["written without their priority"];
  if (shape.cpu_milli > 0) ++losses_["written without their CPUs"];
  return (shape.gpu_milli + 999) / 1000;
}

Status TraceWriter::swf_job(const Job& job, const Trace& tables) {
  const std::int64_t gpus = whole_gpus(job, tables);
  if (gpus == 0) return {};
  if (job.submit < 0) {
    return fail(ErrorCode::kInvalid,
                "{}: job '{}' is submitted at {} s, and SWF knows no time before 0; add --from-zero", path_,
                job.name, seconds(job.submit));
  }
  if (job.submit < last_submit_) {
    return fail(ErrorCode::kInvalid,
                "{}: job '{}' is submitted before the job in front of it, and SWF is in order of submission; "
                "add --sort",
                path_, job.name);
  }
  last_submit_ = job.submit;
  queue_ids_.resize(std::max<std::size_t>(queue_ids_.size(), tables.queues.size()));
  const std::string& queue = tables.queues.name(job.queue);
  std::int64_t& id = queue_ids_[job.queue];
  if (id == 0 && !queue.empty()) {
    id = ++queues_;
    line_ = fmt::format("; Queue: {} {}", id, queue);
    BERTH_TRY(line());
  }
  ++jobs_;
  line_ = fmt::format("{} {} -1 {} {} -1 -1 {} {} -1 -1 -1 -1 -1 {} -1 -1 -1", jobs_, seconds(job.submit),
                      seconds(job.duration), gpus, gpus,
                      job.expected == kNotSaid ? "-1" : seconds(job.expected), id == 0 ? -1 : id);
  return line();
}

Status TraceWriter::csv_job(const Job& job, const Trace& tables) {
  const std::int64_t gpus = whole_gpus(job, tables);
  if (gpus == 0) return {};
  if (job.expected != kNotSaid) ++losses_["written without their expected duration"];
  ++jobs_;
  line_ = fmt::format("{},{},{},{},{}", csv_field(job.name), seconds(job.submit), gpus, seconds(job.duration),
                      csv_field(tables.queues.name(job.queue)));
  return line();
}

}  // namespace berth::sim

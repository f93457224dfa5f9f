// openb: node list, pod lists, published arrival orders.
#include <algorithm>
#include <charconv>
#include <numeric>
#include <tuple>
#include <unordered_map>

#include "base/checked.h"
#include "sim/trace/readers.h"
#include "text/csv.h"
#include "text/source.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;
constexpr std::int64_t kMostIndices = 50'000'000;
constexpr std::int64_t kMostCpuMilli = 1'000'000'000;
constexpr std::size_t kMostSpecBytes = 4096;
constexpr std::int64_t kMostMiB = std::int64_t{1} << 32;

Result<std::vector<std::int64_t>> read_numbers(std::string_view line, const std::string& file,
                                               std::uint32_t number) {
  std::vector<std::int64_t> out;
  std::size_t at = 0;
  for (;;) {
    while (at < line.size() && line[at] == ' ') ++at;
    if (at == line.size()) return out;
    std::size_t end = at;
    while (end < line.size() && line[end] != ' ') ++end;
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(line.data() + at, line.data() + end, value);
    if (error != std::errc() || stop != line.data() + end || value < 0) {
      return fail_at({file, number, static_cast<std::uint32_t>(at + 1)},
                     "must be a number that is not negative, not '{}'",
                     line.substr(at, std::min<std::size_t>(end - at, 40)));
    }
    if (static_cast<std::int64_t>(out.size()) >= kMostIndices) {
      return fail_at({file, number, 0}, "more than {} numbers", kMostIndices);
    }
    out.push_back(value);
    at = end;
  }
}

struct PodRow {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t gpus = 0;
  std::int64_t gpu_milli = 0;
  std::string spec;
  TimeMs submit = 0;  // submission and duration: without an arrival order
  DurationMs duration = 0;
  std::uint32_t line = 0;
};

Result<std::vector<std::string>> split_models(const text::CsvReader& csv, std::size_t column) {
  std::vector<std::string> models;
  std::string_view rest = csv.field(column);
  while (!rest.empty()) {
    const std::size_t bar = rest.find('|');
    const std::string_view model = rest.substr(0, bar);
    if (model.empty()) return csv.error(column, "has an empty model name; write A|B");
    models.emplace_back(model);
    if (bar == std::string_view::npos) break;
    rest = rest.substr(bar + 1);
    if (rest.empty()) return csv.error(column, "has an empty model name; write A|B");
  }
  return models;
}

Group pod_group(const PodRow& row, const Labels& selector) {
  PodSet set;
  set.name = "pod";
  set.pod.node_selector = selector;
  if (row.cpu_milli > 0) set.pod.requests.set("cpu", row.cpu_milli);
  if (row.memory_mib > 0) set.pod.requests.set("memory", row.memory_mib * kMiB);
  if (row.gpus > 0) set.pod.claim.requests.push_back({std::string(kGpu), row.gpus, row.gpu_milli});
  std::vector<std::string> models;
  std::string_view rest = row.spec;
  while (!rest.empty()) {
    const std::size_t bar = rest.find('|');
    models.emplace_back(rest.substr(0, bar));
    rest = bar == std::string_view::npos ? std::string_view() : rest.substr(bar + 1);
  }
  require_models(set.pod, models);
  Group root;
  root.name = "pod";
  root.pod_sets.push_back(std::move(set));
  return root;
}

// The columns that both forms have.
Result<PodRow> read_pod_row(const text::CsvReader& csv, std::size_t spec) {
  PodRow row;
  row.line = csv.line();
  row.name = csv.field(0);
  if (row.name.empty()) return csv.error(0, "must not be empty");
  if (row.name.size() > kMostNameBytes) {
    return csv.error(0, fmt::format("must not be longer than {} bytes", kMostNameBytes));
  }
  BERTH_ASSIGN(row.cpu_milli, csv.integer(1, 0, kMostCpuMilli));
  BERTH_ASSIGN(row.memory_mib, csv.integer(2, 0, kMostMiB));
  BERTH_ASSIGN(row.gpus, csv.integer(3, 0, 64));
  BERTH_ASSIGN(row.gpu_milli, csv.integer(4, 0, 1000));
  if (row.gpus > 0 && row.gpu_milli == 0) return csv.error(4, "must be 1 to 1000 where num_gpu is not 0");
  if (row.gpus > 1 && row.gpu_milli < 1000) {
    return csv.error(4, "must be 1000 where num_gpu is above 1: only one GPU can be shared");
  }
  if (row.gpus == 0) row.gpu_milli = 0;
  if (csv.has(spec)) {
    BERTH_ASSIGN(const auto models, split_models(csv, spec));
    row.spec = models.empty() ? std::string() : std::string(csv.field(spec));
    if (row.spec.size() > kMostSpecBytes) {
      return csv.error(spec, fmt::format("must not be longer than {} bytes", kMostSpecBytes));
    }
  }
  return row;
}

// Adds the rows as the order names them; `add`: (row, name, submission, duration).
template <class Add>
Status add_in_order(std::vector<PodRow>& rows, const OpenbOrder& order, const std::string& path,
                    const Add& add) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const PodRow& a, const PodRow& b) { return a.name < b.name; });
  std::vector<std::int64_t> arrivals(rows.size(), 0);
  TimeMs at = 0;
  for (const std::int64_t index : order.pods) {
    if (index >= static_cast<std::int64_t>(rows.size())) {
      return fail_at({order.file, 2, 0}, "names pod {}, but {} has {} pods (counted from 0)", index, path,
                     rows.size());
    }
    const PodRow& row = rows[static_cast<std::size_t>(index)];
    const std::int64_t copy = arrivals[static_cast<std::size_t>(index)]++;
    BERTH_TRY(
        add(row, copy == 0 ? row.name : fmt::format("{}.clone-{}", row.name, copy), at, kHour * 24 * 365));
    at += kSecond;
  }
  return {};
}

}  // namespace

Result<OpenbOrder> read_openb_order(const std::string& path) {
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path));
  text::LineReader lines(source, std::size_t{512} << 20);
  OpenbOrder order;
  order.file = path;
  BERTH_ASSIGN(const auto ranks, lines.next());
  if (!ranks) return fail_at({path, 1, 0}, "empty; line 1 must hold the rank of each node");
  BERTH_ASSIGN(order.node_rank, read_numbers(*ranks, path, 1));
  BERTH_ASSIGN(const auto pods, lines.next());
  if (!pods) return fail_at({path, 2, 0}, "missing; line 2 must hold the pods in order of arrival");
  BERTH_ASSIGN(order.pods, read_numbers(*pods, path, 2));
  BERTH_ASSIGN(const auto more, lines.next());
  if (more) return fail_at({path, 3, 0}, "an arrival order has two lines: node ranks, then pods");
  return order;
}

Result<std::vector<Node>> read_openb_nodes(const std::string& path, const OpenbOrder* order) {
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path, {kMostWorldBytes}));
  BERTH_ASSIGN(text::CsvReader csv,
               text::CsvReader::open(source, {"sn", "cpu_milli", "memory_mib", "gpu", "model"}));
  std::vector<Node> nodes;
  for (;;) {
    BERTH_ASSIGN(const bool more, csv.next());
    if (!more) break;
    if (static_cast<std::int64_t>(nodes.size()) >= kMostNodes) {
      return fail_at({path, csv.line(), 0}, "more than {} nodes", kMostNodes);
    }
    Node node;
    node.name = csv.field(0);
    if (node.name.empty()) return csv.error(0, "must not be empty");
    BERTH_ASSIGN(const std::int64_t cpu, csv.integer(1, 0, kMostCpuMilli));
    BERTH_ASSIGN(const std::int64_t memory, csv.integer(2, 0, kMostMiB));
    BERTH_ASSIGN(const std::int64_t gpus, csv.integer(3, 0, 64));
    node.allocatable.set("cpu", cpu);
    node.allocatable.set("memory", memory * kMiB);
    const std::string model(csv.field(4));
    if (!model.empty()) node.labels[std::string(kGpuModelLabel)] = model;
    if (gpus > 0) {
      DevicePool pool;
      pool.count = gpus;
      pool.model = model;
      node.devices.push_back(std::move(pool));
    }
    nodes.push_back(std::move(node));
  }
  std::stable_sort(nodes.begin(), nodes.end(), [](const Node& a, const Node& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i].name == nodes[i - 1].name) {
      return fail_at({path, 0, 0}, "node '{}' stands twice", nodes[i].name);
    }
  }
  if (order != nullptr) {
    if (order->node_rank.size() != nodes.size()) {
      return fail_at({order->file, 1, 0}, "has ranks for {} nodes, but {} has {} nodes",
                     order->node_rank.size(), path, nodes.size());
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i].rank = order->node_rank[i];
  }
  return nodes;
}

Status read_openb_pods(const std::string& path, const OpenbOrder* order, const JobRules& rules,
                       TraceBuilder& out) {
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path));
  std::vector<std::string> required{"name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"};
  std::vector<std::string> optional{"gpu_spec"};
  auto& times = order == nullptr ? required : optional;
  times.insert(times.end(), {"creation_time", "deletion_time"});
  const std::size_t spec = order == nullptr ? 7 : 5;
  const std::size_t creation = order == nullptr ? 5 : 6;
  optional.push_back("scheduled_time");
  constexpr std::size_t kScheduled = 8;
  BERTH_ASSIGN(text::CsvReader csv, text::CsvReader::open(source, required, optional));

  const auto shape_of = [&](const PodRow& row) {
    // The selector is the same for the whole source; it is part of the key because sources share the table.
    std::string key =
        fmt::format("openb {} {} {} {} {}", row.cpu_milli, row.memory_mib, row.gpus, row.gpu_milli, row.spec);
    for (const auto& [label, value] : rules.node_selector) key += fmt::format("\n{}={}", label, value);
    return out.shape(key, [&] { return pod_group(row, rules.node_selector); });
  };
  const auto add = [&](const PodRow& row, std::string name, TimeMs submit, DurationMs duration) -> Status {
    const SourcePlace place{path, row.line, 0};
    BERTH_ASSIGN(const std::uint32_t shape, shape_of(row));
    Job job;
    job.name = std::move(name);
    job.submit = submit;
    job.duration = duration;
    job.priority = rules.priority;
    job.shape = shape;
    job.restart = out.restart(rules.restart);
    return out.add(std::move(job), {}, rules, place);
  };

  constexpr std::int64_t kMostSeconds = kMostTime / kSecond;
  std::vector<PodRow> rows;  // with an order: all, since it names them by their place
  for (;;) {
    BERTH_ASSIGN(const bool more, csv.next());
    if (!more) break;
    const SourcePlace place{path, csv.line(), 0};
    if (static_cast<std::int64_t>(rows.size()) >= rules.max_jobs) {
      return fail_at(place, "more than {} pods; raise max_jobs", rules.max_jobs);
    }
    BERTH_ASSIGN(PodRow row, read_pod_row(csv, spec));
    if (order == nullptr) {
      BERTH_ASSIGN(const std::int64_t created, csv.integer(creation, -kMostSeconds, kMostSeconds));
      BERTH_ASSIGN(const std::int64_t ended, csv.integer(creation + 1, created, kMostSeconds));
      std::int64_t started = created;
      if (csv.has(kScheduled)) {
        BERTH_ASSIGN(started, csv.integer_or(kScheduled, created, created, ended));
      }
      row.submit = created * kSecond;
      row.duration = (ended - started) * kSecond;
      BERTH_TRY(add(row, row.name, row.submit, row.duration));
      continue;
    }
    rows.push_back(std::move(row));
  }
  if (order == nullptr) return {};
  BERTH_TRY(add_in_order(rows, *order, path, add));
  for (const PodRow& row : rows) {
    BERTH_ASSIGN(const std::uint32_t shape, shape_of(row));
    out.listed(shape);
  }
  return {};
}

}  // namespace berth::sim

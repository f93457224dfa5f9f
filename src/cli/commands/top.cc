#include "cli/commands/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "base/checked.h"
#include "cli/ask/prometheus.h"
#include "cli/commands/shown.h"
#include "model/resources.h"
#include "text/json.h"

namespace berth::cli {
namespace {

std::set<std::string> resources_of(const std::vector<WorkLine>& work, const std::string& resource) {
  if (!resource.empty()) return {resource};
  const dialect::DeviceNames names;
  std::set<std::string> out;
  for (const WorkLine& line : work) {
    for (const auto& [name, amount] : line.asked) {
      if (names.is_device(name)) out.insert(name);
    }
  }
  if (out.empty()) out.insert("cpu");
  return out;
}

std::optional<std::int64_t> guarantee_of(const std::vector<QueueLine>& queues, const std::string& queue,
                                         const std::string& resource) {
  for (const QueueLine& line : queues) {
    if (line.name != queue || line.kind == dialect::Kind::kLocalQueue || line.kind == dialect::Kind::kCohort)
      continue;
    const auto amount = line.amounts.find(resource);
    if (amount != line.amounts.end()) return amount->second.guaranteed;
  }
  return std::nullopt;
}

bool has_children(const std::vector<QueueLine>& queues, const QueueLine& queue) {
  return std::any_of(queues.begin(), queues.end(), [&](const QueueLine& other) {
    return other.parent == queue.name && other.kind != dialect::Kind::kLocalQueue;
  });
}

std::string line_json(const TopLine& line) {
  text::JsonWriter json;
  json.begin_object().field("queue", line.queue).field("resource", line.resource);
  json.field("allocated", format_amount(line.resource, line.allocated));
  json.field("waitingFor", format_amount(line.resource, line.asked));
  if (line.guaranteed) json.field("guaranteed", format_amount(line.resource, *line.guaranteed));
  if (line.use) {
    json.field("used", fmt::format("{:.2f}", line.use->used));
    json.field("measured", fmt::format("{:.2f}", line.use->measured));
  }
  json.field("running", line.running).field("waiting", line.waiting).end_object();
  return json.take();
}

}  // namespace

std::vector<TopLine> top_of(const std::vector<WorkLine>& work, const std::vector<QueueLine>& queues,
                            const std::string& resource) {
  std::map<std::pair<std::string, std::string>, TopLine> lines;
  for (const auto& name : resources_of(work, resource)) {
    for (const WorkLine& one : work) {
      const std::int64_t asked = one.asked.get(name);
      const std::int64_t used = one.used.get(name);
      if (asked == 0 && used == 0) continue;
      TopLine& line = lines[{one.queue, name}];
      line.allocated = saturating_add(line.allocated, used);
      if (asked > used) line.asked = saturating_add(line.asked, asked - used);
      line.running += one.bound > 0 ? 1 : 0;
      line.waiting += one.bound == 0 ? 1 : 0;
    }
    // A queue without work has its guarantee all the same: that is what lies idle. Work is in queues without children.
    for (const QueueLine& queue : queues) {
      if (queue.amounts.contains(name) && guarantee_of(queues, queue.name, name) &&
          !has_children(queues, queue))
        (void)lines[{queue.name, name}];
    }
  }
  std::vector<TopLine> out;
  for (auto& [key, line] : lines) {
    std::tie(line.queue, line.resource) = key;
    line.guaranteed = guarantee_of(queues, line.queue, line.resource);
    out.push_back(std::move(line));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const TopLine& a, const TopLine& b) { return a.allocated > b.allocated; });
  return out;
}

std::vector<std::string> add_use(std::vector<TopLine>& lines, const std::map<std::string, GpuUse>& use) {
  const dialect::DeviceNames names;
  std::map<std::string, std::vector<TopLine*>> by_queue;
  for (TopLine& line : lines) {
    if (names.is_device(line.resource) && line.allocated > 0) by_queue[line.queue].push_back(&line);
  }
  std::vector<std::string> unclear;
  for (const auto& [queue, of] : by_queue) {
    const auto found = use.find(queue);
    if (found == use.end()) continue;
    if (of.size() == 1) {
      of.front()->use = found->second;
    } else {
      unclear.push_back(queue);
    }
  }
  return unclear;
}

Listing top_listing(const std::vector<TopLine>& lines) {
  Listing out;
  out.format = "berth-top";
  out.empty = "No work runs or waits here, and no queue is to be seen.";
  const bool some = std::any_of(lines.begin(), lines.end(), [](const auto& line) { return line.guaranteed; });
  out.columns = {{"QUEUE"}, {"RESOURCE"}, {"ALLOCATED"}};
  const bool busy =
      std::any_of(lines.begin(), lines.end(), [](const auto& line) { return line.use.has_value(); });
  if (busy) out.columns.insert(out.columns.end(), {{"USED"}, {"IDLE"}});
  if (some) out.columns.insert(out.columns.end(), {{"GUARANTEED"}, {"BORROWED"}});
  out.columns.insert(out.columns.end(), {{"WAITING FOR"}, {"RUNNING"}, {"WAITING"}});
  for (const TopLine& line : lines) {
    const auto amount = [&](std::int64_t units) { return format_amount(line.resource, units); };
    Listing::Row row;
    row.name = line.queue;
    row.words = {line.queue.empty() ? "(no queue)" : line.queue, line.resource, amount(line.allocated)};
    if (busy) {
      row.words.push_back(line.use ? fmt::format("{:.1f}", line.use->used) : "-");
      row.words.push_back(line.use ? fmt::format("{:.1f}", line.use->measured - line.use->used) : "-");
    }
    if (some) {
      row.words.push_back(line.guaranteed ? amount(*line.guaranteed) : "-");
      const std::int64_t beyond = line.guaranteed ? line.allocated - *line.guaranteed : 0;
      row.words.push_back(beyond > 0 ? amount(beyond) : "-");
    }
    row.words.push_back(amount(line.asked));
    row.words.push_back(fmt::format("{}", line.running));
    row.words.push_back(fmt::format("{}", line.waiting));
    row.json = line_json(line);
    out.rows.push_back(std::move(row));
  }
  return out;
}

namespace {

Status add_use_of(const Cluster& cluster, const TopOptions& options, std::vector<TopLine>& lines,
                  std::vector<std::string>& notes) {
  const auto use = gpu_use(options.prometheus, cluster.ns, *cluster.transport);
  if (!use) return tl::unexpected<Error>(use.error());
  for (const std::string& queue : add_use(lines, *use)) {
    notes.push_back(
        fmt::format("not shown: how busy devices of queue {} are, for it has several resources of devices, "
                    "and Prometheus sums them up",
                    queue.empty() ? "\"\"" : queue));
  }
  if (use->empty())
    notes.emplace_back(
        "Prometheus has no GPU of Berth's work: docs/metrics.md says which rules and exporter it needs");
  return {};
}

}  // namespace

int run_top(const TopOptions& options, std::ostream& out, std::ostream& err) {
  const auto cluster = connect(options.cluster);
  Status status = cluster ? Status() : tl::unexpected<Error>(cluster.error());
  if (status) {
    World world({cluster->ns, options.scheduler_names});
    status = read_shown(world, *cluster->transport, err);
    // Guarantees are of the whole cluster, so they stand beside the work of the whole cluster.
    QueueList queues;
    if (status && cluster->ns.empty()) {
      if (auto read = read_queues(*cluster->transport, "")) queues = std::move(*read);
    }
    std::vector<TopLine> lines;
    if (status) lines = top_of(world.lines(), queues.queues, options.resource);
    if (status && !options.prometheus.empty()) status = add_use_of(*cluster, options, lines, queues.notes);
    if (status) {
      Listing listing = top_listing(lines);
      listing.notes = queues.notes;
      out << to_text(listing, options.format, 0);
      const bool for_people = options.format == ListFormat::kTable;
      for (const auto& note : listing.notes) {
        if (for_people) err << "note: " << note << "\n";
      }
      return 0;
    }
  }
  err << "berth top: " << status.error().str() << "\n";
  return 1;
}

void register_top(CLI::App& app, int& exit_code) {
  const auto o = std::make_shared<TopOptions>();
  const auto format = std::make_shared<std::string>("table");
  CLI::App* command = app.add_subcommand("top", "GPUs by queue: allocated, guaranteed, borrowed, waited for");
  add_cluster_flags(*command, o->cluster, Scope::kNamespaces);
  command->add_option("--resource", o->resource,
                      "Another resource than devices: cpu, memory, nvidia.com/gpu");
  command->add_option("--scheduler-name", o->scheduler_names, "The schedulerName of Berth's pods")
      ->type_size(1)
      ->allow_extra_args(false)
      ->capture_default_str();
  command
      ->add_option("--prometheus", o->prometheus,
                   "Prometheus with Berth's rules, for how busy GPUs are: a URL, or NAMESPACE/SERVICE:PORT")
      ->envname("BERTH_PROMETHEUS_ADDRESS");
  command->add_option("-o,--output", *format, "table; json, yaml: docs/commands.md")
      ->check(CLI::IsMember({"table", "json", "yaml"}))
      ->capture_default_str();
  command->footer(
      "Examples:\n  berth top -A                    # which queue has the GPUs, which borrows\n"
      "  berth top -n team-a             # of one namespace\n"
      "  berth top -A --resource cpu\n"
      "  berth top -A --prometheus monitoring/prometheus-operated:9090   # and how busy they are\n\n"
      "Guarantees are shown with -A. How busy a GPU is, no API object says: --prometheus needs\n"
      "Berth's rules and DCGM's exporter (docs/metrics.md).");
  command->callback([o, format, &exit_code] {
    o->format = *enum_parse<ListFormat>(*format);
    exit_code = run_top(*o, std::cout, std::cerr);
  });
}

}  // namespace berth::cli

#include "cli/commands/top.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <tuple>

#include "base/checked.h"
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

Listing top_listing(const std::vector<TopLine>& lines) {
  Listing out;
  out.format = "berth-top";
  out.empty = "No work runs or waits here, and no queue is to be seen.";
  const bool some = std::any_of(lines.begin(), lines.end(), [](const auto& line) { return line.guaranteed; });
  out.columns = {{"QUEUE"}, {"RESOURCE"}, {"ALLOCATED"}};
  if (some) out.columns.insert(out.columns.end(), {{"GUARANTEED"}, {"BORROWED"}});
  out.columns.insert(out.columns.end(), {{"WAITING FOR"}, {"RUNNING"}, {"WAITING"}});
  for (const TopLine& line : lines) {
    const auto amount = [&](std::int64_t units) { return format_amount(line.resource, units); };
    Listing::Row row;
    row.name = line.queue;
    row.words = {line.queue.empty() ? "(no queue)" : line.queue, line.resource, amount(line.allocated)};
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
    if (status) {
      Listing listing = top_listing(top_of(world.lines(), queues.queues, options.resource));
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
  command->add_option("-o,--output", *format, "table; json, yaml: docs/commands.md")
      ->check(CLI::IsMember({"table", "json", "yaml"}))
      ->capture_default_str();
  command->footer(
      "Examples:\n  berth top -A                    # which queue has the GPUs, which borrows\n"
      "  berth top -n team-a             # of one namespace\n"
      "  berth top -A --resource cpu\n\n"
      "Guarantees are shown with -A. How busy a GPU is, no API object says: docs/metrics.md.");
  command->callback([o, format, &exit_code] {
    o->format = *enum_parse<ListFormat>(*format);
    exit_code = run_top(*o, std::cout, std::cerr);
  });
}

}  // namespace berth::cli

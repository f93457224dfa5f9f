#include "cli/commands/get.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <utility>

#include "cli/base/daemon.h"
#include "cli/commands/shown.h"
#include "cli/commands/watch.h"
#include "kube/clock.h"
#include "model/resources.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::cli {
namespace {

using dialect::Kind;
using text::JsonWriter;

constexpr std::string_view kNothing = "-";

std::string or_dash(std::string_view text) {
  return std::string(text.empty() ? kNothing : text);
}

std::string number_text(std::optional<std::int64_t> number) {
  return number ? fmt::format("{}", *number) : std::string(kNothing);
}

// "64 nvidia.com/gpu" of the devices that it asks for.
std::string devices_text(const ResourceList& asked) {
  std::vector<std::string> all;
  for (const auto& [resource, amount] : asked) all.push_back(resource);
  const dialect::DeviceNames names;
  std::string out;
  for (const auto& resource : all) {
    if (!names.is_device(resource)) continue;
    out += fmt::format("{}{}", out.empty() ? "" : ", ", format_amount(resource, asked.get(resource)));
    if (resource != "nvidia.com/gpu") out += " " + resource;
  }
  return out.empty() ? "0" : out;
}

void write_amounts(JsonWriter& json, std::string_view key, const ResourceList& amounts) {
  json.key(key).begin_object();
  for (const auto& [resource, amount] : amounts) json.field(resource, format_amount(resource, amount));
  json.end_object();
}

std::string json_of(const WorkLine& line) {
  JsonWriter json;
  const auto slash = line.name.find('/');
  json.begin_object().field("namespace", std::string_view(line.name).substr(0, slash));
  json.field("name", slash == std::string::npos ? line.name : line.name.substr(slash + 1));
  json.field("uid", line.uid).field("owner", line.owner).field("queue", line.queue);
  json.field("state", enum_name(line.state)).field("priority", line.priority);
  if (line.created > 0) json.field("created", text::format_time_ms(line.created));
  if (line.place) json.field("place", *line.place);
  json.field("pods", line.pods).field("bound", line.bound);
  write_amounts(json, "asked", line.asked);
  write_amounts(json, "used", line.used);
  json.key("nodes").begin_object();
  for (const auto& [node, pods] : line.nodes) json.field(node, pods);
  json.end_object();
  if (!line.said.message.empty()) {
    json.field("reason", line.said.reason).field("message", line.said.message);
    json.field("saidBy", line.said.source);
    if (line.said.since > 0) json.field("since", text::format_time_ms(line.said.since));
  }
  json.end_object();
  return json.take();
}

std::string state_of(const QueueLine& queue) {
  if (queue.stop == StopPolicy::kHold) return "Stopped";
  if (queue.stop == StopPolicy::kHoldAndDrain) return "Draining";
  return queue.active ? "Active" : "Disabled";
}

// As kubectl takes it: "queues.berth.dev/research".
std::string object_name(const QueueLine& queue) {
  const auto& info = dialect::info_of(queue.kind);
  return fmt::format("{}.{}/{}", info.resource, info.group, queue.name);
}

std::string json_of(const QueueLine& queue) {
  JsonWriter json;
  json.begin_object().field("kind", dialect::info_of(queue.kind).word);
  json.field("group", dialect::info_of(queue.kind).group).field("name", queue.name);
  if (!queue.ns.empty()) json.field("namespace", queue.ns);
  json.field("parent", queue.parent).field("state", state_of(queue));
  if (!queue.why.empty()) json.field("message", queue.why);
  if (queue.pending) json.field("pending", *queue.pending);
  if (queue.running) json.field("running", *queue.running);
  if (queue.created > 0) json.field("created", text::format_time_ms(queue.created));
  json.key("resources").begin_array();
  for (const auto& [resource, amount] : queue.amounts) {
    json.begin_object().field("name", resource);
    if (amount.guaranteed) json.field("guaranteed", format_amount(resource, *amount.guaranteed));
    if (amount.limit) json.field("limit", format_amount(resource, *amount.limit));
    if (amount.used) {
      json.field("used", format_amount(resource, *amount.used));
      json.field("borrowed", format_amount(resource, amount.borrowed));
    }
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

std::string json_of(const NodeLine& node, bool has_use) {
  JsonWriter json;
  json.begin_object().field("name", node.name).field("ready", node.ready).field("cordoned", node.cordoned);
  if (node.created > 0) json.field("created", text::format_time_ms(node.created));
  if (has_use) json.field("pods", node.pods);
  json.key("domains").begin_array();
  for (const auto& value : node.path) json.value(value);
  json.end_array().key("taints").begin_array();
  for (const auto& taint : node.taints) json.value(taint);
  json.end_array().key("resources").begin_array();
  for (const auto& [resource, amount] : node.amounts) {
    json.begin_object().field("name", resource);
    json.field("allocatable", format_amount(resource, amount.capacity));
    if (has_use) json.field("used", format_amount(resource, amount.used));
    json.end_object();
  }
  json.end_array().end_object();
  return json.take();
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return words.empty() ? std::string(kNothing) : fmt::format("{}", fmt::join(words, between));
}

template <class Amounts>
std::vector<std::string> resources_in(const Amounts& amounts, bool devices_alone) {
  std::vector<std::string> all;
  for (const auto& [resource, amount] : amounts) all.push_back(resource);
  return devices_alone ? shown_resources(all) : all;
}

std::string quota_cell(const QueueLine& queue, bool devices_alone) {
  std::vector<std::string> out;
  for (const auto& resource : resources_in(queue.amounts, devices_alone)) {
    const auto& amount = queue.amounts.at(resource);
    out.push_back(share_text(resource, amount.used, amount.guaranteed));
  }
  return joined(out, ", ");
}

std::string cell_of(const QueueLine& queue, std::int64_t QueueLine::Amount::*field) {
  std::vector<std::string> out;
  for (const auto& resource : resources_in(queue.amounts, true)) {
    const std::int64_t amount = queue.amounts.at(resource).*field;
    if (amount > 0) out.push_back(format_amount(resource, amount));
  }
  return joined(out, ", ");
}

std::string limit_cell(const QueueLine& queue) {
  std::vector<std::string> out;
  for (const auto& resource : resources_in(queue.amounts, true)) {
    const auto& limit = queue.amounts.at(resource).limit;
    if (limit) out.push_back(format_amount(resource, *limit));
  }
  return joined(out, ", ");
}

}  // namespace

std::string share_text(const std::string& resource, std::optional<std::int64_t> used,
                       std::optional<std::int64_t> whole) {
  const auto text = [&](std::optional<std::int64_t> amount) {
    return amount ? format_amount(resource, *amount) : std::string(kNothing);
  };
  return fmt::format("{}/{} {}", text(used), text(whole), resource);
}

std::vector<WorkLine> chosen(std::vector<WorkLine> lines, const GetOptions& options) {
  std::erase_if(lines, [&](const WorkLine& line) {
    return (!options.queue.empty() && line.queue != options.queue) ||
           (!options.state.empty() && enum_name(line.state) != options.state);
  });
  return lines;
}

Listing workload_listing(const std::vector<WorkLine>& lines, bool all_namespaces, TimeMs now) {
  Listing out;
  out.format = "berth-workloads";
  out.empty = "No workloads wait or run here.";
  out.columns = {{"WORKLOAD"}, {"OWNER", true}, {"QUEUE"}, {"STATE"},       {"PLACE"},       {"AGE"},
                 {"PRIORITY"}, {"PODS"},        {"GPUS"},  {"NODES", true}, {"SINCE", true}, {"WHY"}};
  for (const WorkLine& line : lines) {
    const auto slash = line.name.find('/');
    const bool short_name = !all_namespaces && slash != std::string::npos;
    std::vector<std::string> nodes;
    for (const auto& [node, pods] : line.nodes) nodes.push_back(node);
    Listing::Row row;
    row.name = line.name;
    row.words = {short_name ? line.name.substr(slash + 1) : line.name,
                 or_dash(line.owner),
                 or_dash(line.queue),
                 std::string(enum_name(line.state)),
                 number_text(line.place),
                 age(line.created, now),
                 fmt::format("{}", line.priority),
                 fmt::format("{}/{}", line.bound, line.pods),
                 devices_text(line.asked),
                 joined(nodes, ","),
                 age(line.said.since, now),
                 line.said.message};
    row.json = json_of(line);
    row.key = line.uid;
    out.rows.push_back(std::move(row));
  }
  return out;
}

Listing queue_listing(const QueueList& queues, TimeMs now) {
  Listing out;
  out.format = "berth-queues";
  out.notes = queues.notes;
  out.empty = "No queues are to be seen here.";
  out.columns = {{"QUEUE"}, {"KIND"},    {"PARENT"},  {"STATE"},     {"USED/GUARANTEED"},     {"BORROWED"},
                 {"LIMIT"}, {"WAITING"}, {"RUNNING"}, {"AGE", true}, {"ALL RESOURCES", true}, {"WHY"}};
  for (const QueueLine& queue : queues.queues) {
    const bool empty = queue.amounts.empty();
    Listing::Row row;
    row.name = object_name(queue);
    row.words = {queue.full_name(),
                 std::string(enum_name(queue.kind)),
                 or_dash(queue.parent),
                 state_of(queue),
                 empty ? std::string(kNothing) : quota_cell(queue, true),
                 cell_of(queue, &QueueLine::Amount::borrowed),
                 limit_cell(queue),
                 number_text(queue.pending),
                 number_text(queue.running),
                 age(queue.created, now),
                 empty ? std::string(kNothing) : quota_cell(queue, false),
                 queue.why};
    row.json = json_of(queue);
    out.rows.push_back(std::move(row));
  }
  return out;
}

Listing node_listing(const NodeList& nodes, TimeMs now) {
  Listing out;
  out.format = "berth-nodes";
  out.notes = nodes.notes;
  out.empty = "No nodes are to be seen here.";
  out.columns = {{"NODE"}, {"STATE"}, {"AGE"}, {nodes.has_use ? "DEVICES USED/ALL" : "DEVICES"}};
  if (nodes.has_use) out.columns.push_back({"PODS"});
  out.columns.push_back({"DOMAIN", true});
  out.columns.push_back({"ALL RESOURCES", true});
  out.columns.push_back({"TAINTS"});
  for (const NodeLine& node : nodes.nodes) {
    const auto cell = [&](bool devices_alone) {
      std::vector<std::string> words;
      for (const auto& resource : resources_in(node.amounts, devices_alone)) {
        const auto& amount = node.amounts.at(resource);
        if (amount.capacity == 0 && amount.used == 0) continue;
        words.push_back(nodes.has_use
                            ? share_text(resource, amount.used, amount.capacity)
                            : fmt::format("{} {}", format_amount(resource, amount.capacity), resource));
      }
      return joined(words, ", ");
    };
    std::vector<std::string> state{node.ready ? "Ready" : "NotReady"};
    if (node.cordoned) state.emplace_back("Cordoned");
    Listing::Row row;
    row.name = "node/" + node.name;
    row.words = {node.name, joined(state, ","), age(node.created, now), cell(true)};
    if (nodes.has_use) row.words.push_back(fmt::format("{}", node.pods));
    row.words.push_back(joined(node.path, "/"));
    row.words.push_back(cell(false));
    row.words.push_back(joined(node.taints, ","));
    row.json = json_of(node, nodes.has_use);
    out.rows.push_back(std::move(row));
  }
  return out;
}

namespace {

constexpr std::size_t kMostColumns = 159;

TimeMs now_ms() {
  return kube::wall_us() / 1000;
}

Result<Listing> list_once(const GetOptions& options, const Cluster& cluster, std::ostream& err) {
  if (options.what == GetOptions::What::kQueues) {
    BERTH_ASSIGN(auto queues, read_queues(*cluster.transport, cluster.ns));
    if (!queues.any_served) {
      return fail(
          ErrorCode::kUnsupported,
          "{} serves no kind of queues. Install one: kubectl apply -f deploy/crds/berth.dev_queues.yaml",
          cluster.config.server);
    }
    if (!queues.any_allowed)
      return fail(ErrorCode::kUnauthorized, "no queues may be listed: {}", fmt::join(queues.notes, "; "));
    if (!options.queue.empty()) {
      std::erase_if(queues.queues,
                    [&](const auto& q) { return q.name != options.queue && q.parent != options.queue; });
    }
    return queue_listing(queues, now_ms());
  }
  if (options.what == GetOptions::What::kNodes) {
    BERTH_ASSIGN(const auto nodes, read_nodes(*cluster.transport));
    return node_listing(nodes, now_ms());
  }
  World world({cluster.ns, options.scheduler_names});
  BERTH_TRY(read_shown(world, *cluster.transport, err));
  world.ask_for_places(*cluster.transport);
  Listing out = workload_listing(chosen(world.lines(), options), cluster.ns.empty(), now_ms());
  out.notes = world.notes();
  return out;
}

}  // namespace

int run_get(const GetOptions& options, std::ostream& out, std::ostream& err) {
  if (options.watch) (void)block_end_signals();  // before there are threads
  const auto cluster = connect(options.cluster);
  if (!cluster) {
    err << "berth get: " << cluster.error().str() << "\n";
    return 1;
  }
  if (options.watch) {
    unblock_end_signals();  // until it follows: reading may take long
    return watch_workloads(options, *cluster, out, err);
  }
  const auto listing = list_once(options, *cluster, err);
  if (!listing) {
    err << "berth get: " << listing.error().str() << "\n";
    return 1;
  }
  out << to_text(*listing, options.format, kMostColumns);
  const bool for_people = options.format == ListFormat::kTable || options.format == ListFormat::kWide;
  for (const auto& note : listing->notes) {
    if (for_people) err << "note: " << note << "\n";
  }
  return 0;
}

void register_get(CLI::App& app, int& exit_code) {
  CLI::App* get = app.add_subcommand("get", "Lists workloads, queues or nodes, with your own rights");
  get->require_subcommand(1);
  get->footer(
      "Examples:\n"
      "  berth get workloads -n team-a              # what waits and runs there, and why\n"
      "  berth get workloads -A --state Pending     # all that waits in the cluster\n"
      "  berth get queues                           # guarantees, use, what is borrowed\n"
      "  berth get nodes -o wide                    # devices in use, domains, taints");
  const auto add = [&](const char* name, const char* help, GetOptions::What what) {
    const auto o = std::make_shared<GetOptions>();
    o->what = what;
    const auto format = std::make_shared<std::string>("table");
    CLI::App* command = get->add_subcommand(name, help);
    add_cluster_flags(*command, o->cluster,
                      what == GetOptions::What::kNodes ? Scope::kCluster : Scope::kNamespaces);
    command
        ->add_option("-o,--output", *format,
                     "table; wide: whole texts and more columns; json, yaml: docs/commands.md; name")
        ->check(CLI::IsMember({"table", "wide", "json", "yaml", "name"}))
        ->capture_default_str();
    if (what == GetOptions::What::kWorkloads) {
      command->add_option("--queue", o->queue, "Only workloads of this queue");
      command->add_option("--state", o->state, "Only workloads in this state")
          ->check(CLI::IsMember({"Pending", "Reserved", "Running", "Ending", "Inactive"}));
      command->add_option("--scheduler-name", o->scheduler_names, "The schedulerName of Berth's pods")
          ->type_size(1)
          ->allow_extra_args(false)
          ->capture_default_str();
      command->add_flag("-w,--watch", o->watch, "Go on, and print each workload again when it changes");
    } else if (what == GetOptions::What::kQueues) {
      command->add_option("--queue", o->queue, "Only this queue and those right below it");
    }
    command->callback([o, format, &exit_code] {
      o->format = *enum_parse<ListFormat>(*format);
      exit_code = run_get(*o, std::cout, std::cerr);
    });
    return command;
  };
  add("workloads", "Work that waits and runs: state, place in line, age, priority, pods, GPUs and why",
      GetOptions::What::kWorkloads)
      ->footer(
          "Examples:\n  berth get workloads\n  berth get workloads -A --queue research -o wide\n"
          "  berth get workloads -o name | xargs -n 1 berth explain\n\n"
          "It reads pods, Jobs and their like in the namespace: the role view is enough. PLACE is the place "
          "in\n"
          "the line of the queue. With -A and the right to list everything (deploy/plan.yaml) it is always\n"
          "there, otherwise where the API of pending workloads is served (docs/install.md).");
  add("queues", "Queues of Berth, Kueue, Volcano and KAI: guarantee, use, borrowed, waiting, running",
      GetOptions::What::kQueues)
      ->footer(
          "Examples:\n  berth get queues\n  berth get queues --queue science -o yaml\n\n"
          "Queues of the cluster need the ClusterRole berth-view; LocalQueues the role view.");
  add("nodes", "Nodes with their devices: in use, allocatable, cordoned, domain", GetOptions::What::kNodes)
      ->footer(
          "Examples:\n  berth get nodes\n  berth get nodes -o json\n\n"
          "It needs the right to list nodes; what is in use needs that of pods in all namespaces.");
}

}  // namespace berth::cli

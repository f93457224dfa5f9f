#include "cli/commands/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <utility>

#include "cli/ask/rights.h"
#include "cli/base/show.h"
#include "cli/commands/shown.h"
#include "kube/clock.h"
#include "model/resources.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::cli {
namespace {

constexpr std::size_t kMostStory = 20;
constexpr std::size_t kMostNodes = 8;

// Whether everything that Berth decides by may be listed: nodes, and pods of all namespaces. The rest shows when it is read.
bool may_list_all(kube::Transport& transport) {
  const auto answers =
      ask_rights(transport, {}, {{{"list", "", "pods"}, {}, {}}, {{"list", "", "nodes"}, {}, {}}});
  return answers && (*answers)[0] && (*answers)[1];
}

// Events about the workload, its owner and its pods.
std::vector<EventLine> story_of(const World& world, kube::Transport& transport, const WorkLine& line,
                                const std::vector<std::string>& names, std::vector<std::string>& notes) {
  const std::string ns = line.name.substr(0, line.name.find('/'));
  const auto uids = world.uids_of(line.uid);
  std::vector<EventLine> out;
  const auto status = each_event(transport, ns, "", [&](EventLine event) {
    if (event.ns == ns && uids.contains(event.uid) && is_decision(event, names))
      out.push_back(std::move(event));
  });
  if (!status) notes.push_back(fmt::format("no story: {}", status.error().str()));
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  if (out.size() > kMostStory) out.erase(out.begin(), out.end() - kMostStory);
  return out;
}

Result<Explanation> explain(const ExplainOptions& options, Cluster& cluster, std::ostream& err) {
  std::string name = options.name;
  if (const auto slash = name.find('/'); slash != std::string::npos) {
    cluster.ns = name.substr(0, slash);
  } else {
    name = cluster.ns + "/" + name;
  }
  const bool whole = !options.quick && options.board.server.empty() && may_list_all(*cluster.transport);
  World world({whole ? std::string() : cluster.ns, options.scheduler_names});
  BERTH_TRY(read_shown(world, *cluster.transport, err));
  world.ask_for_places(*cluster.transport);
  Explanation out;
  BERTH_ASSIGN(out.line, world.line(name));
  out.notes = world.notes();
  const bool waits = out.line.bound < out.line.pods;
  if (!options.board.server.empty()) {
    BERTH_ASSIGN(out.tree, ask_board_why(options.board, cluster.config, out.line.name));
    out.tree_by = fmt::format("by the dashboard at {}", options.board.server);
  } else if (!waits) {
    out.tree_by = "";
  } else if (world.is_whole()) {
    const auto verdict = world.explain(out.line.uid, kube::wall_us() / 1000);
    if (verdict && verdict->kind == VerdictKind::kPlaced) {
      out.tree_by = "an engine here would start it now. If Berth does not within seconds: berth check";
    } else if (verdict) {
      out.tree = tree_of(verdict->reason);
      out.tree_by = "by an engine here, from all objects that Berth decides by";
    }
  } else if (!options.quick) {
    out.tree_by =
        "no tree of reasons: list everything that Berth decides by (ClusterRole berth-plan), or give "
        "--server with the address of the dashboard";
  }
  out.story = story_of(world, *cluster.transport, out.line, options.scheduler_names, out.notes);
  return out;
}

std::string nodes_text(const WorkLine& line) {
  std::string out;
  std::size_t shown = 0;
  for (const auto& [node, pods] : line.nodes) {
    if (shown++ == kMostNodes) return fmt::format("{} and {} more", out, line.nodes.size() - kMostNodes);
    out += fmt::format("{}{}", out.empty() ? "" : ", ", node);
    if (pods > 1) out += fmt::format(" x{}", pods);
  }
  return out;
}

std::string head_of(const WorkLine& line, TimeMs now) {
  std::string out = fmt::format("{}  {}\n", line.name, enum_name(line.state));
  out += fmt::format("  {}queue {}, priority {}, {} of {} pods have nodes, made {} ago",
                     line.owner.empty() ? "" : line.owner + ", ", line.queue.empty() ? "-" : line.queue,
                     line.priority, line.bound, line.pods, age(line.created, now));
  if (line.place) out += fmt::format(", place {} in the line of its queue", *line.place);
  out += "\n";
  if (!line.asked.empty()) out += fmt::format("  asks for {}\n", line.asked.str());
  if (!line.nodes.empty()) out += fmt::format("  on {}\n", nodes_text(line));
  return out;
}

}  // namespace

std::string to_text(const Explanation& explanation, TimeMs now) {
  const WorkLine& line = explanation.line;
  std::string out = head_of(line, now);
  if (!line.said.message.empty()) {
    out +=
        fmt::format("\nWhy it waits ({}{}{}):\n  {}\n", line.said.reason,
                    line.said.since > 0 ? fmt::format(", for {}", age(line.said.since, now)) : "",
                    line.said.source.empty() ? "" : ", as " + line.said.source + " says", line.said.message);
  }
  if (explanation.tree) {
    out += fmt::format("\nReasons ({}):\n", explanation.tree_by);
    add_tree(out, *explanation.tree, 1);
  } else if (!explanation.tree_by.empty()) {
    out += fmt::format("\n{}\n", explanation.tree_by);
  }
  std::vector<std::string> help =
      explanation.tree ? enough_in(*explanation.tree) : enough_in(line.said.message);
  if (const auto remedy = remedy_for(line.said.reason); !remedy.empty()) help.emplace_back(remedy);
  if (!help.empty()) out += "\nThis would help:\n";
  for (const auto& one : help) out += fmt::format("  {}\n", one);
  if (!explanation.story.empty()) out += "\nStory:\n";
  for (const EventLine& event : explanation.story) {
    out +=
        fmt::format("  {:>5} ago  {:<16} {}: {}\n", age(event.at, now), event.reason, event.name, event.note);
  }
  std::string clean;
  for (std::size_t at = 0; at < out.size();) {
    const auto end = std::min(out.find('\n', at), out.size());
    clean += printable(std::string_view(out).substr(at, end - at)) + "\n";
    at = end + 1;
  }
  return clean;
}

std::string to_json(const Explanation& explanation) {
  const WorkLine& line = explanation.line;
  text::JsonWriter json(text::JsonStyle::kIndented);
  json.begin_object().field("format", "berth-explanation").field("version", 1);
  json.field("workload", line.name).field("uid", line.uid).field("queue", line.queue);
  json.field("state", enum_name(line.state)).field("priority", line.priority);
  if (line.created > 0) json.field("created", text::format_time_ms(line.created));
  if (line.place) json.field("place", *line.place);
  json.field("pods", line.pods).field("bound", line.bound);
  json.field("reason", line.said.reason).field("message", line.said.message);
  if (line.said.since > 0) json.field("since", text::format_time_ms(line.said.since));
  if (explanation.tree) {
    json.key("tree");
    write_tree(json, *explanation.tree);
  }
  const auto help = explanation.tree ? enough_in(*explanation.tree) : enough_in(line.said.message);
  json.key("enough").begin_array();
  for (const auto& one : help) json.value(one);
  json.end_array().key("story").begin_array();
  for (const EventLine& event : explanation.story) {
    json.begin_object().field("at", text::format_time_ms(event.at)).field("reason", event.reason);
    json.field("about", event.about()).field("text", event.note).end_object();
  }
  json.end_array().key("notes").begin_array();
  for (const auto& note : explanation.notes) json.value(note);
  json.end_array().end_object();
  return json.take() + "\n";
}

int run_explain(const ExplainOptions& options, std::ostream& out, std::ostream& err) {
  auto cluster = connect(options.cluster);
  if (!cluster) {
    err << "berth explain: " << cluster.error().str() << "\n";
    return 1;
  }
  const auto explanation = explain(options, *cluster, err);
  if (!explanation) {
    err << "berth explain: " << explanation.error().str() << "\n";
    return 1;
  }
  out << (options.json ? to_json(*explanation) : to_text(*explanation, kube::wall_us() / 1000));
  for (const auto& note : explanation->notes) {
    if (!options.json) err << "note: " << note << "\n";
  }
  return 0;
}

void register_explain(CLI::App& app, int& exit_code) {
  const auto o = std::make_shared<ExplainOptions>();
  const auto format = std::make_shared<std::string>("text");
  CLI::App* command =
      app.add_subcommand("explain", "Says why a workload waits, since when, and what would help");
  command->add_option("NAME", o->name, "NAME or NAMESPACE/NAME of the workload, its owner or one of its pods")
      ->required();
  add_cluster_flags(*command, o->cluster, Scope::kNamespace);
  command->add_option("-o,--output", *format, "text, or json: docs/commands.md")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  command->add_flag("--quick", o->quick, "Berth's own words alone, which only takes reading one namespace");
  command->add_option("--scheduler-name", o->scheduler_names, "The schedulerName of Berth's pods")
      ->type_size(1)
      ->allow_extra_args(false)
      ->capture_default_str();
  add_board_flags(*command, o->board);
  command->footer(
      "Examples:\n  berth explain team-a/train\n  berth explain train -n team-a --quick\n"
      "  berth explain team-a/train --server https://berth.example:10265\n\n"
      "With the role view in the namespace it shows Berth's own words. The tree of reasons takes the right "
      "to\n"
      "list everything that Berth decides by (deploy/plan.yaml), or --server.");
  command->callback([o, format, &exit_code] {
    o->json = *format == "json";
    exit_code = run_explain(*o, std::cout, std::cerr);
  });
}

}  // namespace berth::cli

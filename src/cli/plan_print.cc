#include "cli/plan_print.h"

#include <algorithm>

#include "cli/table.h"
#include "dialect/writes.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::cli {
namespace {

constexpr std::size_t kMostNodesShown = 6;

// Where no nodes are known: the flavors.
std::string flavors(const PlanLine& line) {
  std::string out;
  for (const auto& choice : line.flavors) {
    const std::string one = fmt::format("{} from {}", choice.resource, choice.flavor);
    if (out.find(one) == std::string::npos) out += (out.empty() ? "" : ", ") + one;
  }
  return out;
}

std::string places(const PlanLine& line) {
  if (!line.slots.empty() && line.slots.front().node.empty()) return flavors(line);
  std::vector<std::pair<std::string, std::int64_t>> nodes;
  for (const auto& slot : line.slots) {
    const auto it =
        std::find_if(nodes.begin(), nodes.end(), [&](const auto& n) { return n.first == slot.node; });
    if (it == nodes.end()) {
      nodes.emplace_back(slot.node, 1);
    } else {
      ++it->second;
    }
  }
  std::string out;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (i == kMostNodesShown && nodes.size() > kMostNodesShown + 1) {
      return fmt::format("{} and {} more nodes", out, nodes.size() - i);
    }
    out += fmt::format("{}{}", i == 0 ? "" : ", ", nodes[i].first);
    if (nodes[i].second > 1) out += fmt::format(" x{}", nodes[i].second);
  }
  return out;
}

std::string queue_name(const PlanLine& line) {
  return line.queue.empty() ? "-" : line.queue;
}

std::string table_of(const PlanRound& round) {
  std::string out;
  if (!round.starts.empty()) {
    Table table({"WORKLOAD", "QUEUE", "PODS", "NODES"});
    for (const auto& line : round.starts)
      table.add({line.name, queue_name(line), fmt::format("{}", line.pods), places(line)});
    out += "Starts\n" + table.str();
  }
  if (!round.evictions.empty()) {
    Table table({"WORKLOAD", "PODS", "FOR", "COST", "WHY"});
    for (const auto& line : round.evictions) {
      table.add({line.name, fmt::format("{}", line.pods), line.beneficiary.empty() ? "-" : line.beneficiary,
                 fmt::format("{}", line.cost), dialect::text_of(line.reason)});
    }
    out += "Evictions\n" + table.str();
  }
  if (!round.holds.empty()) {
    Table table({"WORKLOAD", "PODS", "NODES", "WHY"});
    for (const auto& line : round.holds) {
      table.add({line.name, fmt::format("{}", line.pods), places(line), dialect::text_of(line.reason)});
    }
    out += "Held\n" + table.str();
  }
  const auto reasons = [&](std::string_view title, const std::vector<PlanLine>& lines) {
    if (lines.empty()) return;
    Table table({"WORKLOAD", "QUEUE", "PODS", "WHY"});
    for (const auto& line : lines) {
      table.add({line.name, queue_name(line), fmt::format("{}", line.pods), dialect::text_of(line.reason)});
    }
    out += fmt::format("{}\n{}", title, table.str());
  };
  reasons("Holds that ended", round.released);
  reasons("Waiting", round.waiting);
  reasons("Refused", round.refused);
  out += fmt::format("{} start, {} evicted, {} held, {} wait, {} refused, {} run on\n", round.starts.size(),
                     round.evictions.size(), round.holds.size(), round.waiting.size(), round.refused.size(),
                     round.running.size());
  return out;
}

void write_reason(text::JsonWriter& json, const Reason& reason) {
  json.begin_object().field("code", enum_name(reason.code));
  if (!reason.subject.empty()) json.field("subject", reason.subject);
  if (!reason.detail.empty()) json.field("detail", reason.detail);
  if (reason.need != 0) json.field("need", reason.need);
  if (reason.have != 0 || reason.need != 0) json.field("have", reason.have);
  if (reason.nodes != 0) json.field("nodes", reason.nodes);
  if (!reason.children.empty()) {
    json.key("children").begin_array();
    for (const auto& child : reason.children) write_reason(json, child);
    json.end_array();
  }
  json.end_object();
}

void write_lines(text::JsonWriter& json, std::string_view key, const std::vector<PlanLine>& lines) {
  json.key(key).begin_array();
  for (const auto& line : lines) {
    json.begin_object()
        .field("workload", line.name)
        .field("queue", line.queue)
        .field("priority", line.priority);
    json.field("pods", line.pods);
    if (!line.slots.empty()) {
      json.key("slots").begin_array();
      for (const auto& slot : line.slots) {
        json.begin_object().field("podSet", slot.pod_set).field("index", slot.index).field("node", slot.node);
        json.key("devices").begin_array();
        for (const auto device : slot.devices) json.value(device);
        json.end_array().end_object();
      }
      json.end_array();
    }
    if (!line.flavors.empty()) {
      json.key("flavors").begin_array();
      for (const auto& choice : line.flavors) {
        json.begin_object().field("podSet", choice.pod_set).field("resource", choice.resource);
        json.field("flavor", choice.flavor).end_object();
      }
      json.end_array();
    }
    if (!line.beneficiary.empty()) json.field("for", line.beneficiary);
    if (key == "evictions") json.field("cost", line.cost);
    json.field("message", dialect::text_of(line.reason)).key("reason");
    write_reason(json, line.reason);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string to_table(const PlanReport& report) {
  std::string out;
  for (std::size_t i = 0; i < report.rounds.size(); ++i) {
    if (report.rounds.size() > 1) out += fmt::format("{}Round {}\n", i == 0 ? "" : "\n", i + 1);
    out += table_of(report.rounds[i]);
  }
  for (const auto& problem : report.problems)
    out += fmt::format("problem: {}: {}\n", problem.object, problem.message);
  for (const auto& note : report.notes) out += fmt::format("note: {}\n", note);
  for (const auto& [kind, count] : report.unread) {
    out += fmt::format("note: {} {} not read: Berth does not know this kind\n", count, kind);
  }
  return out;
}

std::string to_json(const PlanReport& report) {
  text::JsonWriter json(text::JsonStyle::kIndented);
  json.begin_object().key("rounds").begin_array();
  for (const auto& round : report.rounds) {
    json.begin_object().field("now", text::format_time_ms(round.now));
    write_lines(json, "starts", round.starts);
    write_lines(json, "evictions", round.evictions);
    write_lines(json, "holds", round.holds);
    write_lines(json, "holdsEnded", round.released);
    write_lines(json, "waiting", round.waiting);
    write_lines(json, "refused", round.refused);
    write_lines(json, "running", round.running);
    json.end_object();
  }
  json.end_array().key("problems").begin_array();
  for (const auto& problem : report.problems) {
    json.begin_object().field("object", problem.object).field("message", problem.message).end_object();
  }
  json.end_array().key("notes").begin_array();
  for (const auto& note : report.notes) json.value(note);
  json.end_array().key("notRead").begin_object();
  for (const auto& [kind, count] : report.unread) json.field(kind, count);
  json.end_object().end_object();
  return json.take() + "\n";
}

}  // namespace berth::cli

#include "cli/plan_print.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "cli/base/reasons.h"
#include "cli/base/show.h"
#include "cli/base/table.h"
#include "dialect/write/writes.h"
#include "model/resources.h"
#include "text/fields.h"
#include "text/json.h"
#include "text/time.h"

namespace berth::cli {
namespace {

constexpr std::size_t kMostNodesShown = 6;
constexpr std::size_t kMostColumns = 159;  // of a line of the table
constexpr std::size_t kMostWord = 56;      // of a cell before the last

constexpr std::int64_t kJsonVersion = 1;

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

// Lines of pods that one controller made, and of which the table would say the same, are one line.
struct Row {
  PlanLine line;
  std::string why;
  std::int64_t workloads = 1;
};

std::vector<Row> rows_of(const std::vector<PlanLine>& lines, bool wide) {
  std::vector<Row> out;
  std::map<std::string, std::size_t> first;
  for (const auto& line : lines) {
    std::string why = wide ? dialect::text_of(line.reason) : dialect::brief_of(line.reason);
    std::size_t at = out.size();
    if (!line.owner.empty()) {
      at = first
               .try_emplace(fmt::format("{}|{}|{}|{}|{}", line.owner, line.queue, line.priority,
                                        line.beneficiary, why),
                            at)
               .first->second;
    }
    if (at == out.size()) {
      out.push_back({line, std::move(why), 1});
      continue;
    }
    Row& row = out[at];
    ++row.workloads;
    row.line.pods += line.pods;
    row.line.cost += line.cost;
    row.line.slots.insert(row.line.slots.end(), line.slots.begin(), line.slots.end());
    row.line.created = std::min(row.line.created, line.created);
    if (line.place > 0)
      row.line.place = row.line.place > 0 ? std::min(row.line.place, line.place) : line.place;
  }
  return out;
}

class RoundTable {
 public:
  RoundTable(const PlanRound& round, bool wide) : round_(round), wide_(wide) {}

  std::string str() {
    const auto pods = [](const Row& row) { return fmt::format("{}", row.line.pods); };
    const auto nodes = [](const Row& row) { return places(row.line); };
    const auto why = [](const Row& row) { return row.why; };
    const auto queue = [](const Row& row) { return queue_name(row.line); };
    const auto whom = [](const Row& row) {
      return row.line.beneficiary.empty() ? "-" : row.line.beneficiary;
    };
    const auto cost = [](const Row& row) { return fmt::format("{}", row.line.cost); };
    add("Starts", round_.starts, {{"QUEUE", queue}, {"PODS", pods}, {"NODES", nodes}});
    add("Evictions", round_.evictions, {{"PODS", pods}, {"FOR", whom}, {"COST", cost}, {"WHY", why}});
    add("Held", round_.holds, {{"PODS", pods}, {"NODES", nodes}, {"WHY", why}});
    add("Holds that ended", round_.released, {{"QUEUE", queue}, {"PODS", pods}, {"WHY", why}});
    add("Waiting", round_.waiting, {{"QUEUE", queue}, {"PODS", pods}, {"WHY", why}});
    add("Refused", round_.refused, {{"QUEUE", queue}, {"PODS", pods}, {"WHY", why}});
    out_ += fmt::format("{} start, {} evicted, {} held, {} wait, {} refused, {} run on\n",
                        round_.starts.size(), round_.evictions.size(), round_.holds.size(),
                        round_.waiting.size(), round_.refused.size(), round_.running.size());
    add_totals();
    return std::move(out_);
  }

 private:
  struct Column {
    std::string head;
    std::function<std::string(const Row&)> text;
  };

  void add(std::string_view title, const std::vector<PlanLine>& lines, const std::vector<Column>& columns) {
    if (lines.empty()) return;
    std::vector<std::string> head{"WORKLOAD"};
    if (wide_) head.insert(head.end(), {"PRIORITY", "AGE", "PLACE"});
    for (const auto& column : columns) head.push_back(column.head);
    Table table(std::move(head));
    for (const Row& row : rows_of(lines, wide_)) {
      std::vector<std::string> words{
          row.workloads == 1 ? row.line.name : fmt::format("{} ({} pods)", row.line.owner, row.workloads)};
      if (wide_) {
        words.push_back(fmt::format("{}", row.line.priority));
        words.push_back(age(row.line.created, round_.now));
        words.push_back(row.line.place > 0 ? fmt::format("{}", row.line.place) : "-");
      }
      for (const auto& column : columns) words.push_back(column.text(row));
      for (std::size_t i = 0; i + 1 < words.size() && !wide_; ++i) words[i] = cut(words[i], kMostWord);
      table.add(std::move(words));
    }
    out_ += fmt::format("{}\n{}", title, table.str(wide_ ? 0 : kMostColumns));
  }

  void add_totals() {
    const PlanTotals& t = round_.totals;
    if (t.nodes > 0) {
      std::string text = fmt::format("{} {}", t.nodes, t.nodes == 1 ? "node" : "nodes");
      for (const auto& d : t.devices)
        text += fmt::format(", {} of {} {} taken", format_amount(d.resource, d.used),
                            format_amount(d.resource, d.capacity), d.resource);
      out_ += cut(text, wide_ ? text.size() : kMostColumns) + "\n";
    }
    if (t.quotas.empty()) return;
    std::string text = fmt::format("quota of {} {}: ", t.queues, t.queues == 1 ? "queue" : "queues");
    for (std::size_t i = 0; i < t.quotas.size(); ++i) {
      const auto& q = t.quotas[i];
      text += fmt::format("{}{} of {} {}", i == 0 ? "" : ", ", format_amount(q.resource, q.used),
                          format_amount(q.resource, q.capacity), q.resource);
    }
    out_ += cut(text, wide_ ? text.size() : kMostColumns) + "\n";
  }

  const PlanRound& round_;
  const bool wide_;
  std::string out_;
};

// The common part of two notes of one kind: the words that name no object and no number.
std::string kind_of_note(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const bool names = word.find('/') != std::string_view::npos ||
                       std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
    std::string_view said = names ? "*" : word;
    if (said == "pods") said = "pod";
    out += fmt::format("{} ", said);
    at = end + 1;
  }
  return out;
}

std::string listed(std::string_view title, const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) out += fmt::format("{}: {}\n", title, text);
  return out;
}

// One line per kind, in the order of the first ones.
std::string grouped(std::string_view title, const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::size_t>> lines;
  std::map<std::string, std::size_t> known;
  for (const auto& text : texts) {
    const auto [at, is_new] = known.try_emplace(kind_of_note(text), lines.size());
    if (is_new) lines.emplace_back(text, 0);
    ++lines[at->second].second;
  }
  std::string out;
  for (const auto& [text, count] : lines) {
    out += fmt::format("{}: {}", title, text);
    if (count > 1) out += fmt::format(" (and {} more such {})", count - 1, count == 2 ? "line" : "lines");
    out += "\n";
  }
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
    if (!line.owner.empty()) json.field("owner", line.owner);
    if (line.created > 0) json.field("created", text::format_time_ms(line.created));
    if (line.place > 0) json.field("place", line.place);
    json.field("pods", line.pods);
    if (!line.slots.empty()) {
      json.key("slots").begin_array();
      for (std::size_t i = 0; i < line.slots.size(); ++i) {
        const SlotPlacement& slot = line.slots[i];
        json.begin_object().field("podSet", slot.pod_set).field("index", slot.index).field("node", slot.node);
        if (i < line.pods_of_slots.size() && !line.pods_of_slots[i].empty())
          json.field("pod", line.pods_of_slots[i]);
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

void write_totals(text::JsonWriter& json, const PlanTotals& totals) {
  const auto list = [&](std::string_view key, const std::vector<PlanTotal>& all) {
    json.key(key).begin_array();
    for (const auto& t : all) {
      json.begin_object().field("resource", t.resource).field("capacity", t.capacity).field("used", t.used);
      json.end_object();
    }
    json.end_array();
  };
  json.key("totals").begin_object().field("nodes", totals.nodes);
  list("devices", totals.devices);
  json.field("queues", totals.queues);
  list("quotas", totals.quotas);
  json.end_object();
}

}  // namespace

std::string to_table(const PlanReport& report, bool wide) {
  std::string out;
  for (std::size_t i = 0; i < report.rounds.size(); ++i) {
    if (report.rounds.size() > 1) out += fmt::format("{}Round {}\n", i == 0 ? "" : "\n", i + 1);
    out += RoundTable(report.rounds[i], wide).str();
  }
  std::vector<std::string> problems;
  for (const auto& problem : report.problems)
    problems.push_back(fmt::format("{}: {}", problem.object, problem.message));
  out += wide ? listed("problem", problems) : grouped("problem", problems);
  out += wide ? listed("note", report.notes) : grouped("note", report.notes);
  for (const auto& [kind, count] : report.unread) {
    out += fmt::format("note: {} {} not read: Berth does not know this kind\n", count, kind);
  }
  return out;
}

Result<std::string> to_explanation(const PlanReport& report, const std::vector<std::string>& names) {
  struct Found {
    std::string_view what;
    const PlanLine* line;
  };
  std::map<std::string, std::vector<Found>> known;
  const PlanRound& round = report.rounds.back();
  const auto add = [&](std::string_view what, const std::vector<PlanLine>& lines) {
    for (const auto& line : lines) {
      known[line.name].push_back({what, &line});
      if (line.owner.empty()) continue;
      auto& of_owner = known[line.owner.substr(line.owner.find(' ') + 1)];
      if (of_owner.empty()) of_owner.push_back({what, &line});
    }
  };
  add("starts", round.starts);
  add("is evicted", round.evictions);
  add("holds room", round.holds);
  add("waits", round.waiting);
  add("is refused", round.refused);
  add("runs on", round.running);
  add("is ending", round.ending);
  std::string out;
  for (const auto& name : names) {
    const std::string whole = name.find('/') == std::string::npos ? "default/" + name : name;
    const auto it = known.find(whole);
    if (it == known.end()) {
      std::vector<std::string_view> all;
      for (const auto& [other, lines] : known) all.push_back(other);
      const auto near = text::nearest(whole, all);
      return fail(ErrorCode::kNotFound, "--explain {}: there is no workload {}{}", name, whole,
                  near.empty() ? "" : fmt::format("; did you mean {}?", near));
    }
    for (const Found& found : it->second) {
      const PlanLine& line = *found.line;
      out += fmt::format("{} {}\n  {} {}, queue {}, priority {}, age {}", line.name, found.what, line.pods,
                         line.pods == 1 ? "pod" : "pods", queue_name(line), line.priority,
                         age(line.created, round.now));
      if (line.place > 0) out += fmt::format(", place {} in the line of its queue", line.place);
      out += "\n";
      if (const std::string where = places(line); !where.empty()) out += fmt::format("  on {}\n", where);
      if (!line.beneficiary.empty()) out += fmt::format("  for {}\n", line.beneficiary);
      const bool said = line.reason.code == ReasonCode::kFits;
      if (!said) add_tree(out, tree_of(line.reason), 1);
    }
  }
  return out;
}

std::string to_json(const PlanReport& report) {
  text::JsonWriter json(text::JsonStyle::kIndented);
  json.begin_object().field("format", "berth-plan").field("version", kJsonVersion);
  json.key("rounds").begin_array();
  for (const auto& round : report.rounds) {
    json.begin_object().field("now", text::format_time_ms(round.now));
    write_lines(json, "starts", round.starts);
    write_lines(json, "evictions", round.evictions);
    write_lines(json, "holds", round.holds);
    write_lines(json, "holdsEnded", round.released);
    write_lines(json, "waiting", round.waiting);
    write_lines(json, "refused", round.refused);
    write_lines(json, "running", round.running);
    write_totals(json, round.totals);
    json.end_object();
  }
  json.end_array().key("problems").begin_array();
  for (const auto& problem : report.problems) {
    json.begin_object().field("object", problem.object).field("message", problem.message).end_object();
  }
  json.end_array().key("notes").begin_array();
  for (const auto& note : report.notes) json.value(note);
  json.end_array().key("warnings").begin_array();
  for (const auto& warning : report.warnings) json.value(warning);
  json.end_array().key("notRead").begin_object();
  for (const auto& [kind, count] : report.unread) json.field(kind, count);
  json.end_object().end_object();
  return json.take() + "\n";
}

}  // namespace berth::cli

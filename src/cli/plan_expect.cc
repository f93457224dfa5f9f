#include "cli/plan_expect.h"

#include <algorithm>
#include <set>

#include "dialect/write/writes.h"
#include "text/fields.h"

namespace berth::cli {
namespace {

std::string full_name(const std::string& name) {
  return name.find('/') == std::string::npos ? "default/" + name : name;
}

constexpr text::Choice<Placement> kPlacements[] = {
    {"default", Placement::kDefault}, {"pack", Placement::kPack},
    {"spread", Placement::kSpread},   {"best-fit", Placement::kBestFit},
    {"first", Placement::kFirst},     {"fragmentation", Placement::kFragmentation}};

std::vector<std::string> strings_or_one(text::Fields& f, std::string_view key) {
  const auto* node = f.find(key);
  if (node != nullptr && node->is_scalar()) return {f.string(key)};
  return f.strings(key);
}

void read_line(text::Fields& f, ExpectedLine& out) {
  out.line = f.node().line();
  out.workload = full_name(f.string("workload"));
  if (f.has("pods")) out.pods = f.integer("pods", 0, 1'000'000);
  for (const auto& entry : f.mapping("nodes")) {
    const auto count = entry.value.as_int();
    if (!count || *count < 1) {
      f.error("nodes", "{}: must be the number of pods on that node", entry.name());
      continue;
    }
    out.nodes.emplace(entry.name(), *count);
  }
  out.on = f.strings("on");
  out.same = f.string_or("same");
  for (auto& [resource, flavor] : f.string_map("flavors")) out.flavors.emplace(resource, flavor);
  if (f.has("for")) out.beneficiary = full_name(f.string("for"));
  if (f.has("cost")) out.cost = f.integer("cost", 0);
  out.reason = f.string_or("reason");
  if (!out.reason.empty() && !enum_parse<ReasonCode>(out.reason)) {
    std::string known;
    for (const auto name : EnumNames<ReasonCode>::names)
      known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    f.error("reason", "\"{}\" is no reason; one of {}", out.reason, known);
  }
  out.messages = strings_or_one(f, "message");
}

// The keys of a step; `whole`: the file is one step and has the keys of the file beside them.
void read_step(text::Fields& f, ExpectedStep& step) {
  step.name = f.string_or("name");
  step.complete_evictions = f.boolean_or("complete_evictions", false);
  step.apply = strings_or_one(f, "apply");
  for (auto& item : f.strings("delete")) {
    const auto slash = item.find('/');
    if (slash == std::string::npos || !dialect::kind_named(std::string_view(item).substr(0, slash))) {
      f.error("delete", "\"{}\": write Kind/name or Kind/namespace/name, for example Pod/default/a", item);
      continue;
    }
    step.remove.emplace_back(item.substr(0, slash), item.substr(slash + 1));
  }
  for (const auto& name : strings_or_one(f, "finish")) step.finish.push_back(full_name(name));
  step.after = f.duration_or("after", 0);
  const auto lines = [&](std::string_view key, std::vector<ExpectedLine>& out) {
    f.each(key, [&](text::Fields& item) { read_line(item, out.emplace_back()); });
  };
  lines("starts", step.starts);
  lines("evictions", step.evictions);
  lines("holds", step.holds);
  lines("waiting", step.waiting);
  lines("refused", step.refused);
  for (const auto& name : strings_or_one(f, "unchanged")) step.unchanged.push_back(full_name(name));
  f.each("problems", [&](text::Fields& item) {
    step.problems.push_back({item.string("object"), item.string_or("message")});
  });
}

bool has_code(const Reason& reason, std::string_view name) {
  return enum_name(reason.code) == name ||
         std::any_of(reason.children.begin(), reason.children.end(),
                     [&](const Reason& child) { return has_code(child, name); });
}

std::map<std::string, std::int64_t> by_node(const PlanLine& line) {
  std::map<std::string, std::int64_t> out;
  for (const auto& slot : line.slots) ++out[slot.node];
  return out;
}

std::string places(const std::map<std::string, std::int64_t>& nodes) {
  std::string out;
  for (const auto& [node, count] : nodes)
    out += fmt::format("{}{} x{}", out.empty() ? "" : ", ", node, count);
  return out.empty() ? "nowhere" : out;
}

// How one line differs from what is expected of it; empty: it does not.
std::string differs(const ExpectedLine& want, const PlanLine& have, const PlanWorld& world) {
  const auto nodes = by_node(have);
  if (want.pods && *want.pods != have.pods) return fmt::format("{} pods, not {}", have.pods, *want.pods);
  if (!want.nodes.empty() && want.nodes != nodes) {
    return fmt::format("on {}, not on {}", places(nodes), places(want.nodes));
  }
  for (const auto& [node, count] : nodes) {
    if (!want.on.empty() && std::find(want.on.begin(), want.on.end(), node) == want.on.end()) {
      return fmt::format("on {}, which is not one of {}", node, fmt::join(want.on, ", "));
    }
  }
  if (!want.same.empty()) {
    std::set<std::string> values;
    for (const auto& [node, count] : nodes) {
      const Labels* labels = world.node_labels(node);
      const auto it = labels == nullptr ? Labels::const_iterator() : labels->find(want.same);
      values.insert(labels == nullptr || it == labels->end() ? "(none)" : it->second);
    }
    if (values.size() != 1)
      return fmt::format("over {} values of {}: {}", values.size(), want.same, fmt::join(values, ", "));
  }
  for (const auto& [resource, flavor] : want.flavors) {
    for (const auto& choice : have.flavors) {
      if (choice.resource == resource && choice.flavor != flavor) {
        return fmt::format("{} in flavor {}, not {}", resource, choice.flavor, flavor);
      }
    }
    if (std::none_of(have.flavors.begin(), have.flavors.end(),
                     [&](const auto& c) { return c.resource == resource; })) {
      return fmt::format("no flavor for {}, not {}", resource, flavor);
    }
  }
  if (!want.beneficiary.empty() && want.beneficiary != have.beneficiary) {
    return fmt::format("for {}, not for {}", have.beneficiary.empty() ? "nobody" : have.beneficiary,
                       want.beneficiary);
  }
  if (want.cost && *want.cost != have.cost)
    return fmt::format("at a cost of {}, not {}", have.cost, *want.cost);
  const std::string text = dialect::text_of(have.reason);
  if (!want.reason.empty() && !has_code(have.reason, want.reason)) {
    return fmt::format("the reason is {} (\"{}\"), not {}", enum_name(have.reason.code), text, want.reason);
  }
  for (const auto& message : want.messages) {
    if (text.find(message) == std::string::npos)
      return fmt::format("it says \"{}\", not \"{}\"", text, message);
  }
  return {};
}

// Every expected line is required and every line must be expected.
void compare_lists(std::string_view what, const std::vector<ExpectedLine>& want,
                   const std::vector<PlanLine>& have, const PlanWorld& world, std::vector<std::string>& out) {
  std::vector<bool> met(have.size(), false);
  for (const auto& line : want) {
    std::string nearest;
    bool found = false;
    for (std::size_t i = 0; i < have.size() && !found; ++i) {
      if (met[i] || have[i].name != line.workload) continue;
      nearest = differs(line, have[i], world);
      if (nearest.empty()) {
        met[i] = true;
        found = true;
      }
    }
    if (found) continue;
    if (nearest.empty()) {
      out.push_back(
          fmt::format("line {}: {} {} is expected, but does not happen", line.line, line.workload, what));
    } else {
      out.push_back(fmt::format("line {}: {} {}: {}", line.line, line.workload, what, nearest));
      for (std::size_t i = 0; i < have.size(); ++i) {  // one difference is told once
        if (!met[i] && have[i].name == line.workload) {
          met[i] = true;
          break;
        }
      }
    }
  }
  for (std::size_t i = 0; i < have.size(); ++i) {
    if (met[i]) continue;
    const std::string text = dialect::text_of(have[i].reason);
    out.push_back(fmt::format("{} {} ({} pods{}{}{}), which is not expected", have[i].name, what,
                              have[i].pods, have[i].slots.empty() ? "" : " on " + places(by_node(have[i])),
                              text.empty() ? "" : ": ", text));
  }
}

}  // namespace

Result<Expectations> read_expectations(const std::string& path) {
  BERTH_ASSIGN(const auto document, text::read_document(path));
  Expectations out;
  out.file = path;
  text::Fields f(document, document.root());
  f.ignore("description");
  if (f.has("now")) out.now = f.time_or("now", 0);
  out.placement = f.choice_or("placement", kPlacements, Placement::kDefault);
  out.ignore_uncovered = f.boolean_or("ignore_uncovered", false);
  if (f.has("steps")) {
    f.each("steps", [&](text::Fields& item) { read_step(item, out.steps.emplace_back()); });
    if (out.steps.empty()) f.error("steps", "must have at least one step");
  } else {
    read_step(f, out.steps.emplace_back());
  }
  BERTH_TRY(f.done());
  return out;
}

std::vector<std::string> compare(const ExpectedStep& want, const PlanRound& round, const PlanWorld& world) {
  std::vector<std::string> out;
  compare_lists("starts", want.starts, round.starts, world, out);
  compare_lists("is evicted", want.evictions, round.evictions, world, out);
  compare_lists("holds room", want.holds, round.holds, world, out);
  compare_lists("waits", want.waiting, round.waiting, world, out);
  compare_lists("is refused", want.refused, round.refused, world, out);
  for (const auto& name : want.unchanged) {
    const auto runs = [&](const PlanLine& line) { return line.name == name; };
    if (std::none_of(round.running.begin(), round.running.end(), runs)) {
      out.push_back(fmt::format("{} should run on as before, but does not", name));
    }
  }
  const auto problems = world.problems();
  for (const auto& problem : want.problems) {
    const auto met = [&](const dialect::Problem& p) {
      return p.object == problem.object && p.message.find(problem.message) != std::string::npos;
    };
    if (std::none_of(problems.begin(), problems.end(), met)) {
      std::string all;
      for (const auto& p : problems) all += fmt::format("; {}: {}", p.object, p.message);
      out.push_back(fmt::format("{} should be reported (\"{}\"); reported are{}", problem.object,
                                problem.message, all.empty() ? " none" : all.substr(1)));
    }
  }
  return out;
}

}  // namespace berth::cli

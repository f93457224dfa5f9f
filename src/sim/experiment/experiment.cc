#include "sim/experiment/experiment.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "base/checked.h"
#include "sim/measure/metrics.h"
#include "text/edit.h"
#include "text/fields.h"
#include "text/quantity.h"
#include "text/source.h"

namespace berth::sim {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

std::string file_title(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  for (const std::string_view ending : {".yaml", ".yml", ".json"}) {
    if (name.size() > ending.size() && name.ends_with(ending)) name.resize(name.size() - ending.size());
  }
  return name;
}

struct KeyValue {
  std::string key;
  std::string value;
};
Result<KeyValue> key_value(std::string_view argument, std::string_view option, std::string_view form) {
  const std::size_t equals = argument.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == argument.size()) {
    return fail(ErrorCode::kInvalid, "{} {}: write {}", option, argument, form);
  }
  return KeyValue{std::string(argument.substr(0, equals)), std::string(argument.substr(equals + 1))};
}

// Divides at commas that stand outside of brackets, braces and quotes.
std::vector<std::string> divided(std::string_view text) {
  std::vector<std::string> out(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      out.emplace_back();
      continue;
    }
    out.back() += c;
  }
  return out;
}

// Every variant once with each of the values, the values of a variant side by side.
Status multiply(Experiment& experiment, const std::string& key, const std::vector<std::string>& values,
                const std::vector<std::int64_t>& at) {
  if (experiment.variants.size() * values.size() > kMostRuns)
    return fail(ErrorCode::kInvalid, "{}: more than {} variants", key, kMostRuns);
  const bool named = experiment.variants.size() > 1 || !experiment.variants.front().changes.empty();
  std::vector<Variant> out;
  for (const Variant& variant : experiment.variants) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      Variant made = variant;
      BERTH_ASSIGN(ScenarioChange change, make_change(key, values[i]));
      const std::string name = fmt::format("{}={}", key, values[i]);
      made.name = named ? fmt::format("{}, {}", variant.name, name) : name;
      made.changes.push_back(std::move(change));
      if (!at.empty()) {
        made.series = variant.name;
        made.at_milli = at[i];
      }
      out.push_back(std::move(made));
    }
  }
  experiment.variants = std::move(out);
  return {};
}

std::optional<std::int64_t> thousandths(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto value = text::parse_quantity_exact(text, 1000);
  if (!value || !value->exact) return std::nullopt;
  return negative ? -value->value : value->value;
}

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The text of a value as a change shows it: scalars as they are, others by their kind.
std::string shown(const text::Node& node) {
  if (node.is_scalar()) return std::string(node.text());
  if (node.is_null()) return "null";
  std::string out;
  for (const text::Node& item : node.items()) out += (out.empty() ? "" : ", ") + shown(item);
  if (node.is_sequence()) return "[" + out + "]";
  for (const text::Entry& entry : node.entries()) {
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", entry.name(), shown(entry.value));
  }
  return "{" + out + "}";
}

}  // namespace

Result<bool> is_experiment(const std::string& path) {
  BERTH_ASSIGN(std::string text, text::read_file(path, kMostBytes));
  BERTH_ASSIGN(const text::Document document, text::parse_document(std::move(text), path));
  return document.root().find("experiment") != nullptr;
}

Result<Experiment> read_experiment(const std::string& path) {
  Experiment out;
  out.file = path;
  BERTH_ASSIGN(out.text, text::read_file(path, kMostBytes));
  BERTH_ASSIGN(text::Document parsed, text::parse_document(out.text, path));
  const auto document = std::make_shared<const text::Document>(std::move(parsed));
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash);

  text::Fields f(*document, document->root());
  out.name = f.string("experiment");
  out.description = f.string_or("description");
  // Paths of scenarios know no ${SEED}: a variant is one file.
  const auto scenario_path = [&](text::Fields& fields) -> std::string {
    const std::string written = fields.string_or("scenario");
    if (written.empty()) return {};
    auto expanded = expand_path(written, folder, 0);
    if (expanded) return *std::move(expanded);
    fields.error("scenario", "{}", expanded.error().message);
    return {};
  };
  const std::string base = scenario_path(f);
  if (const text::Node* node = f.find("seeds"); node != nullptr) {
    std::string text = std::string(node->text());
    for (const text::Node& item : node->items()) text += (text.empty() ? "" : ",") + std::string(item.text());
    if (node->items().size() == 1) text += ".." + text;  // a list of one seed, not so many seeds
    auto seeds = parse_seeds(text);
    if (seeds) {
      out.seeds = *std::move(seeds);
    } else {
      f.error("seeds", "{}", seeds.error().message);
    }
  }
  out.metrics = f.strings("metrics");
  std::set<std::string> names;
  f.each("variants", [&](text::Fields& entry) {
    Variant variant;
    variant.name = entry.string("name");
    if (!names.insert(variant.name).second)
      entry.error("name", "two variants are called {}; give them different names", variant.name);
    variant.scenario = scenario_path(entry);
    if (variant.scenario.empty()) variant.scenario = base;
    if (entry.ok() && variant.scenario.empty())
      entry.error("scenario", "is missing; name it here, or at the top of the file for all variants");
    for (const text::Entry& change : entry.mapping("set")) {
      const auto steps = text::parse_path(change.name());
      if (!steps) entry.error("set", "{}", steps.error().message);
      variant.changes.push_back({std::string(change.name()), shown(change.value), document, &change.value});
    }
    out.variants.push_back(std::move(variant));
  });
  if (f.ok() && out.variants.empty()) {
    if (base.empty()) f.error("variants", "is missing, and so is scenario: there is nothing to run");
    out.variants.push_back({file_title(base), base, {}, "", std::nullopt});
  }
  BERTH_TRY(f.done());
  return out;
}

Experiment experiment_of(const std::vector<std::string>& scenarios) {
  Experiment out;
  for (const std::string& path : scenarios) {
    std::string name = file_title(path);
    const auto same = std::count_if(scenarios.begin(), scenarios.end(),
                                    [&](const std::string& other) { return file_title(other) == name; });
    out.variants.push_back({same > 1 ? path : std::move(name), path, {}, "", std::nullopt});
  }
  if (out.variants.size() == 1) out.name = out.variants.front().name;
  for (std::size_t i = 0; out.variants.size() > 1 && i < out.variants.size(); ++i) {
    out.name += (i == 0 ? "" : i + 1 == out.variants.size() ? " and " : ", ") + out.variants[i].name;
  }
  return out;
}

Result<ScenarioChange> parse_change(std::string_view argument) {
  BERTH_ASSIGN(const KeyValue pair, key_value(argument, "--set", "KEY=VALUE"));
  return make_change(pair.key, pair.value);
}

Status set_in_all(Experiment& experiment, std::string_view argument) {
  BERTH_ASSIGN(const ScenarioChange change, parse_change(argument));
  for (Variant& variant : experiment.variants) variant.changes.push_back(change);
  return {};
}

Status vary(Experiment& experiment, std::string_view argument) {
  BERTH_ASSIGN(const KeyValue pair, key_value(argument, "--vary", "KEY=VALUE,VALUE,..."));
  return multiply(experiment, pair.key, divided(pair.value), {});
}

Status sweep(Experiment& experiment, std::string_view argument) {
  constexpr std::string_view kForm = "KEY=FROM..TO:STEP, for example cluster[0].count=100..200:25";
  BERTH_ASSIGN(const KeyValue pair, key_value(argument, "--sweep", kForm));
  if (!experiment.axis.empty())
    return fail(ErrorCode::kInvalid, "--sweep {}: there is an axis already, {}; use --vary for the others",
                argument, experiment.axis);
  const std::string_view value = pair.value;
  const std::size_t dots = value.find("..");
  const std::size_t colon = value.find(':');
  if (dots == std::string_view::npos || colon == std::string_view::npos || colon < dots)
    return fail(ErrorCode::kInvalid, "--sweep {}: write {}", argument, kForm);
  const auto from = thousandths(value.substr(0, dots));
  const auto to = thousandths(value.substr(dots + 2, colon - dots - 2));
  const auto step = thousandths(value.substr(colon + 1));
  if (!from || !to || !step || *step <= 0 || *to < *from)
    return fail(ErrorCode::kInvalid,
                "--sweep {}: FROM, TO and STEP must be numbers with at most three digits "
                "after the point, FROM at most TO, STEP above 0",
                argument);
  if ((static_cast<Int128>(*to) - *from) / *step >= static_cast<Int128>(kMostRuns))
    return fail(ErrorCode::kInvalid, "--sweep {}: more than {} steps", argument, kMostRuns);
  std::vector<std::string> values;
  std::vector<std::int64_t> at;
  for (std::int64_t x = *from; x <= *to; x += *step) {
    values.push_back(format_milli(x));
    at.push_back(x);
  }
  experiment.axis = pair.key;
  return multiply(experiment, pair.key, values, at);
}

Result<std::vector<std::uint64_t>> parse_seeds(std::string_view text) {
  const auto wrong = [&] {
    return fail(ErrorCode::kInvalid,
                "'{}' names no seeds: write a number of seeds (5), a range (3..7), or a "
                "list (1,4,9); at most {}",
                text, kMostRuns);
  };
  std::vector<std::uint64_t> out;
  const std::size_t dots = text.find("..");
  if (dots != std::string_view::npos || text.find(',') == std::string_view::npos) {
    const auto from = dots == std::string_view::npos ? 1 : whole(text.substr(0, dots));
    const auto to = whole(dots == std::string_view::npos ? text : text.substr(dots + 2));
    if (!from || !to || *to < *from || *to - *from >= kMostRuns) return wrong();
    for (std::uint64_t seed = *from; seed <= *to; ++seed) out.push_back(seed);
    return out;
  }
  for (const std::string& part : divided(text)) {
    const auto seed = whole(part);
    if (!seed || std::find(out.begin(), out.end(), *seed) != out.end()) return wrong();
    out.push_back(*seed);
  }
  return out;
}

}  // namespace berth::sim

#include "sim/experiment/compare.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/checked.h"
#include "sim/page/report.h"
#include "text/json.h"

namespace berth::sim {
namespace {

// The greatest integer whose square is at most `value`.
std::int64_t root(Int128 value) {
  Int128 low = 0;
  Int128 high = Int128{1} << 62;
  while (low < high) {
    const Int128 middle = (low + high + 1) / 2;
    if (middle <= value / middle) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return static_cast<std::int64_t>(low);
}

const Metric* find(const std::vector<Metric>& metrics, std::string_view name) {
  for (const Metric& metric : metrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

struct Named {
  std::string_view name;
  std::string_view title;
};
// The last part of a metric's name, and what it is called.
constexpr Named kTitles[] = {{"gpu_allocation_while_arriving_pct", "GPUs allocated"},
                             {"gpu_allocation_pct", "GPUs allocated, whole run"},
                             {"lost_gpu_hours", "GPU-hours lost"},
                             {"below_share_gpu_hours", "GPU-hours below share"},
                             {"below_guarantee_gpu_hours", "GPU-hours below guarantee"},
                             {"held_gpu_hours", "GPU-hours held"},
                             {"deserved_gpu_hours", "GPU-hours deserved"},
                             {"gpu_hours_allocated", "GPU-hours allocated"},
                             {"fairness_index", "Fairness index"},
                             {"idle_on_free_nodes_pct", "Idle, free nodes"},
                             {"idle_on_used_nodes_pct", "Idle, used nodes"},
                             {"idle_parts_pct", "Idle, parts of GPUs"},
                             {"makespan_s", "Length of the run"},
                             {"allocated_pct", "Allocated at the end"},
                             {"arrived_pct", "Arrived"}};
// Per group of jobs: "waiting_mean_s".
constexpr Named kMeasures[] = {
    {"waiting_", "Waiting"}, {"completion_", "Completion"}, {"slowdown_", "Slowdown"}};

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

MetricStatistics statistics_of(std::vector<std::int64_t> values) {
  MetricStatistics out;
  out.count = static_cast<std::int64_t>(values.size());
  if (values.empty()) return out;
  std::sort(values.begin(), values.end());
  out.min = values.front();
  out.max = values.back();
  Int128 sum = 0;
  for (const std::int64_t value : values) sum += value;
  out.mean = clamp_to_int64(divide_rounded(sum, out.count));
  if (out.count < 2) return out;
  Int128 squares = 0;
  for (const std::int64_t value : values) {
    const Int128 off = static_cast<Int128>(value) - out.mean;
    squares += off * off;
  }
  out.deviation = root(squares / (out.count - 1));
  return out;
}

MetricStatistics Comparison::statistics(std::size_t variant, std::string_view metric) const {
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < plans->size(); ++i) {
    if ((*plans)[i].variant != variant || (*results)[i].error) continue;
    if (const Metric* found = find((*results)[i].metrics, metric)) values.push_back(found->milli);
  }
  return statistics_of(std::move(values));
}

PairedDifference Comparison::difference(std::size_t variant, std::size_t base,
                                        std::string_view metric) const {
  const auto values_of = [&](std::size_t of) {
    std::map<std::uint64_t, std::int64_t> values;
    for (std::size_t i = 0; i < plans->size(); ++i) {
      if ((*plans)[i].variant != of || (*results)[i].error) continue;
      const std::uint64_t seed = experiment->seeds.empty() ? 0 : (*plans)[i].scenario.seed;
      if (const Metric* found = find((*results)[i].metrics, metric)) values[seed] = found->milli;
    }
    return values;
  };
  const auto before = values_of(base);
  std::vector<std::int64_t> differences;
  for (const auto& [seed, value] : values_of(variant)) {
    const auto at = before.find(seed);
    if (at != before.end()) differences.push_back(saturating_sub(value, at->second));
  }
  return paired_difference(differences);
}

std::string Comparison::difference_from_first(std::size_t variant, std::string_view metric) const {
  const PairedDifference off = difference(variant, 0, metric);
  if (off.pairs == 0) return "";
  const std::int64_t base = statistics(0, metric).mean;
  const auto percent = [&](std::int64_t by) { return difference_text(saturating_add(base, by), base); };
  if (off.low == off.high) return percent(off.mean);  // one seed, or the same difference with each
  if (!off.clear) return "unclear";
  const std::string mean = percent(off.mean);
  return mean.empty() ? mean : fmt::format("{} ({} to {})", mean, percent(off.low), percent(off.high));
}

bool Comparison::has(std::string_view metric) const {
  return std::any_of(results->begin(), results->end(),
                     [&](const RunResult& run) { return find(run.metrics, metric) != nullptr; });
}

bool Comparison::inflation() const {
  return std::all_of(plans->begin(), plans->end(),
                     [](const RunPlan& plan) { return plan.scenario.mode == Mode::kInflation; });
}

std::vector<std::string> Comparison::columns() const {
  std::vector<std::string> wanted = experiment->metrics;
  if (wanted.empty() && inflation()) {
    for (const std::int64_t mark : kFillMarks) wanted.push_back(fmt::format("allocated_pct_at.{}", mark));
    for (const std::int64_t mark : {100, 130}) wanted.push_back(fmt::format("published_pct_at.{}", mark));
    for (const std::int64_t mark : {100, 130}) wanted.push_back(fmt::format("above_published_at.{}", mark));
  } else if (wanted.empty()) {
    wanted = {"waiting_mean_s",
              "waiting_p99_s",
              "large.waiting_mean_s",
              "large.waiting_p99_s",
              "completion_mean_s",
              "slowdown_mean",
              "evictions",
              "lost_gpu_hours",
              "fairness_index",
              "gpu_allocation_while_arriving_pct"};
  }
  std::erase_if(wanted, [&](const std::string& metric) { return !has(metric); });
  return wanted;
}

std::vector<std::string> Comparison::missed() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < plans->size(); ++i) {
    for (const Check& check : (*results)[i].checks) {
      if (!check.met())
        out.push_back(fmt::format("{}: {} should be {} within {}, and is {}", (*plans)[i].name, check.what,
                                  format_milli(check.want_milli), format_milli(check.tolerance_milli),
                                  format_milli(check.got_milli)));
    }
  }
  return out;
}

std::vector<std::string> Comparison::failed() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < plans->size(); ++i) {
    if ((*results)[i].error)
      out.push_back(fmt::format("{}: {}", (*plans)[i].name, (*results)[i].error->str()));
  }
  return out;
}

std::vector<std::string> Comparison::quota_gaps() const {
  std::vector<std::string> out;
  std::set<std::size_t> said;
  for (std::size_t i = 0; i < plans->size(); ++i) {
    const std::size_t variant = (*plans)[i].variant;
    if ((*results)[i].quota_gap.empty() || !said.insert(variant).second) continue;
    out.push_back(fmt::format("{}: {}", experiment->variants[variant].name, (*results)[i].quota_gap));
  }
  return out;
}

std::string metric_title(std::string_view metric) {
  const std::size_t dot = metric.rfind('.');
  if (dot != std::string_view::npos && contains(metric, "_pct_at.")) {
    const std::string_view mark = metric.substr(dot + 1);
    return fmt::format("{} at {} %", metric.starts_with("published") ? "Published" : "Allocated", mark);
  }
  if (metric.starts_with("above_published_at."))
    return fmt::format("Above published at {} %", metric.substr(dot + 1));
  const std::string_view group = dot == std::string_view::npos ? std::string_view() : metric.substr(0, dot);
  const std::string_view last = dot == std::string_view::npos ? metric : metric.substr(dot + 1);
  std::string title;
  for (const Named& named : kTitles) {
    if (last == named.name) title = named.title;
  }
  for (const Named& named : kMeasures) {
    if (!title.empty() || !last.starts_with(named.name)) continue;
    std::string_view what = last.substr(named.name.size());
    if (what.ends_with("_s")) what.remove_suffix(2);
    title = fmt::format("{}, {}", named.title, what);
  }
  if (title.empty()) {
    for (const char c : last) title += c == '_' ? ' ' : c;
    title = capital(std::move(title));
  }
  if (group.empty()) return title;
  if (group == "large") return title + ", 32 GPUs and more";
  const std::size_t kind = group.find('.');
  return fmt::format("{}, {}", title, kind == std::string_view::npos ? group : group.substr(kind + 1));
}

std::string metric_text(std::string_view metric, std::int64_t milli) {
  if (metric.ends_with("_s")) return human_duration(milli);
  if (metric.ends_with("_pct") || contains(metric, "_pct_at.")) return human_amount(milli, 1000, 2) + " %";
  if (metric.starts_with("above_published_at."))
    return (milli > 0 ? "+" : "") + human_amount(milli, 1000, 2) + " points";
  if (metric.ends_with("_index")) return human_amount(milli, 1000, 3);
  if (contains(metric, "slowdown_")) return human_amount(milli, 1000, 2);
  return human_amount(milli, 1000, 1);
}

int metric_direction(std::string_view metric) {
  for (const std::string_view worse :
       {"waiting_", "completion_", "slowdown_", "evictions", "lost_", "below_", "unfinished", "reclaims",
        "idle_on_used", "idle_parts", "makespan", "dropped.", "failure"}) {
    if (contains(metric, worse)) return -1;
  }
  for (const std::string_view better :
       {"allocat", "fairness_index", "above_published", "placed", "completed"}) {
    if (contains(metric, better)) return 1;
  }
  return 0;
}

std::string difference_text(std::int64_t value, std::int64_t base) {
  if (base == 0) return value == 0 ? "0 %" : "";
  const Int128 size = base < 0 ? -static_cast<Int128>(base) : static_cast<Int128>(base);
  const std::int64_t permille =
      clamp_to_int64(divide_rounded((static_cast<Int128>(value) - base) * 1000, size));
  return (permille > 0 ? "+" : "") + human_amount(permille, 10, 1) + " %";
}

namespace {

std::string differences_table(const Comparison& comparison, const std::vector<std::string>& columns) {
  const Experiment& experiment = *comparison.experiment;
  const bool several = experiment.seeds.size() > 1;
  std::vector<std::vector<std::string>> rows{{several ? "against the first (95 %)" : "against the first"}};
  for (const std::string& column : columns) rows.front().push_back(metric_title(column));
  for (std::size_t v = 1; v < experiment.variants.size(); ++v) {
    std::vector<std::string> row{experiment.variants[v].name};
    for (const std::string& column : columns) {
      const std::string text = comparison.difference_from_first(v, column);
      row.push_back(text.empty() ? "-" : text);
    }
    rows.push_back(std::move(row));
  }
  return aligned(rows);
}

std::string differences_csv(const Comparison& comparison, const std::vector<std::string>& metrics) {
  std::string csv = "variant,metric,pairs,difference,low,high,clear\n";
  for (std::size_t v = 1; v < comparison.experiment->variants.size(); ++v) {
    for (const std::string& metric : metrics) {
      const PairedDifference off = comparison.difference(v, 0, metric);
      if (off.pairs == 0) continue;
      csv += fmt::format("{},{},{},{},{},{},{}\n", csv_field(comparison.experiment->variants[v].name),
                         csv_field(metric), off.pairs, format_milli(off.mean),
                         off.known() ? format_milli(off.low) : "", off.known() ? format_milli(off.high) : "",
                         !off.known() ? ""
                         : off.clear  ? "yes"
                                      : "no");
    }
  }
  return csv;
}

}  // namespace

std::string comparison_table(const Comparison& comparison) {
  const Experiment& experiment = *comparison.experiment;
  const std::vector<std::string> columns = comparison.columns();
  std::string out = experiment.variants.size() == 1
                        ? experiment.name
                        : fmt::format("{}: {} variants", experiment.name, experiment.variants.size());
  if (!experiment.seeds.empty()) out += fmt::format(", {} seeds each", experiment.seeds.size());
  out += "\n\n";
  const bool several = experiment.seeds.size() > 1;
  using Cell = std::string (*)(std::string_view, const MetricStatistics&);
  const auto table = [&](const std::string& title, Cell cell) {
    std::vector<std::vector<std::string>> rows{{title}};
    for (const std::string& column : columns) rows.front().push_back(metric_title(column));
    for (std::size_t v = 0; v < experiment.variants.size(); ++v) {
      std::vector<std::string> row{experiment.variants[v].name};
      for (const std::string& column : columns) {
        const MetricStatistics mine = comparison.statistics(v, column);
        row.push_back(mine.count == 0 ? "-" : cell(column, mine));
      }
      rows.push_back(std::move(row));
    }
    return aligned(rows);
  };
  using S = const MetricStatistics&;
  out += table(several ? "mean" : "", [](std::string_view m, S s) { return metric_text(m, s.mean); });
  if (several) {
    out += "\n" + table("deviation", [](std::string_view m, S s) { return metric_text(m, s.deviation); });
    out += "\n" + table("least", [](std::string_view m, S s) { return metric_text(m, s.min); });
    out += "\n" + table("greatest", [](std::string_view m, S s) { return metric_text(m, s.max); });
  }
  if (experiment.variants.size() > 1) out += "\n" + differences_table(comparison, columns);
  const auto list = [&](const char* title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    out += fmt::format("\n{}\n", title);
    for (const std::string& line : lines) out += "  " + line + "\n";
  };
  list("expectations that are not met:", comparison.missed());
  list("runs that failed:", comparison.failed());
  return out;
}

std::vector<OutputFile> comparison_files(const Comparison& comparison) {
  const Experiment& experiment = *comparison.experiment;
  // All metrics, in the order in which runs name them.
  std::vector<std::string> names;
  std::set<std::string_view> known;
  for (const RunResult& run : *comparison.results) {
    for (const Metric& metric : run.metrics) {
      if (known.insert(metric.name).second) names.push_back(metric.name);
    }
  }
  text::JsonWriter json(text::JsonStyle::kIndented);
  json.begin_object();
  json.field("format", "berth-comparison").field("version", 1).field("name", experiment.name);
  if (!experiment.axis.empty()) json.field("axis", experiment.axis);
  json.key("seeds").begin_array();
  for (const std::uint64_t seed : experiment.seeds) json.value(seed);
  json.end_array();
  json.key("variants").begin_array();
  std::string csv = "variant,metric,runs,mean,deviation,min,max\n";
  for (std::size_t v = 0; v < experiment.variants.size(); ++v) {
    const Variant& variant = experiment.variants[v];
    json.begin_object().field("name", variant.name).field("scenario", variant.scenario);
    if (variant.at_milli) json.key("at").raw(format_milli(*variant.at_milli));
    json.key("changes").begin_object();
    for (const ScenarioChange& change : variant.changes) json.field(change.path, change.shown);
    json.end_object();
    json.key("metrics").begin_object();
    for (const std::string& name : names) {
      const MetricStatistics s = comparison.statistics(v, name);
      if (s.count == 0) continue;
      json.key(name).begin_object();
      json.key("mean").raw(format_milli(s.mean)).key("deviation").raw(format_milli(s.deviation));
      json.key("min").raw(format_milli(s.min)).key("max").raw(format_milli(s.max));
      json.end_object();
      csv += fmt::format("{},{},{},{},{},{},{}\n", csv_field(variant.name), csv_field(name), s.count,
                         format_milli(s.mean), format_milli(s.deviation), format_milli(s.min),
                         format_milli(s.max));
    }
    json.end_object().end_object();
  }
  json.end_array();
  json.key("failed").begin_array();
  for (const std::string& line : comparison.failed()) json.value(line);
  json.end_array();
  json.key("missed").begin_array();
  for (const std::string& line : comparison.missed()) json.value(line);
  json.end_array().end_object();
  std::string runs = "variant,seed,metric,value\n";
  for (std::size_t i = 0; i < comparison.plans->size(); ++i) {
    const RunPlan& plan = (*comparison.plans)[i];
    for (const Metric& metric : (*comparison.results)[i].metrics) {
      runs += fmt::format("{},{},{},{}\n", csv_field(experiment.variants[plan.variant].name),
                          plan.scenario.seed, csv_field(metric.name), format_milli(metric.milli));
    }
  }
  return {{"comparison.json", json.take() + "\n"},
          {"comparison.csv", std::move(csv)},
          {"differences.csv", differences_csv(comparison, names)},
          {"runs.csv", std::move(runs)}};
}

}  // namespace berth::sim

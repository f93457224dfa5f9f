// The page of an experiment: runs side by side.
#include <algorithm>
#include <map>
#include <utility>

#include "base/checked.h"
#include "sim/experiment/compare.h"
#include "sim/page/report.h"
#include "sim/results/report_parts.h"

namespace berth::sim {
namespace {

constexpr std::size_t kMostMovers = 20;
constexpr std::size_t kMostSweptMetrics = 12;

bool is_duration(std::string_view metric) {
  return metric.ends_with("_s");
}

// A cell that sorts as the number it is.
Column value_column(const std::string& metric) {
  return {metric_title(metric), is_duration(metric) ? ColumnKind::kDurationMs : ColumnKind::kNumber, "", 0};
}
std::string value_cell(const std::string& metric, std::int64_t milli) {
  return is_duration(metric) ? fmt::format("{}", milli) : metric_text(metric, milli);
}

struct Overlay {
  std::string name;
  const RunCourse* course = nullptr;
};

class ComparisonPage {
 public:
  explicit ComparisonPage(const Comparison& comparison)
      : comparison_(comparison), experiment_(*comparison.experiment), columns_(comparison.columns()) {
    for (std::size_t i = 0; i < comparison.plans->size(); ++i) {
      const auto& course = (*comparison.results)[i].course;
      if (course != nullptr)
        overlays_.push_back({experiment_.variants[(*comparison.plans)[i].variant].name, course.get()});
    }
  }

  ReportData make() {
    head();
    side_by_side();
    swept();
    over_seeds();
    if (comparison_.inflation()) {
      curves();
    } else {
      over_time();
      distributions();
      movers();
    }
    notes();
    return std::move(data_);
  }

 private:
  bool swept_at_all() const { return !experiment_.axis.empty(); }

  void head() {
    data_.title = experiment_.name;
    const std::size_t seeds = experiment_.seeds.size();
    data_.subtitle =
        fmt::format("{} variants{}, {} runs", experiment_.variants.size(),
                    seeds > 1 ? fmt::format(" with {} seeds each", seeds) : "", comparison_.plans->size());
    data_.generated_by = experiment_.file.empty() ? std::string("berth simulate --compare")
                                                  : "berth simulate " + experiment_.file;
    if (seeds > 0)
      data_.seeds = fmt::format("{} {}", seeds > 1 ? "seeds" : "seed", fmt::join(experiment_.seeds, ", "));
    data_.files = {"comparison.json", "comparison.csv", "differences.csv", "runs.csv"};
    data_.scenario = experiment_.text;
    if (!comparison_.plans->empty()) {
      const Scenario& first = comparison_.plans->front().scenario;
      data_.origin_unix_ms = first.origin_unix_ms;
      if (data_.scenario.empty()) data_.scenario = first.text;
      if (data_.seeds.empty()) data_.seeds = fmt::format("seed {}", first.seed);
    }
    for (const Variant& variant : experiment_.variants) data_.color_order.push_back(variant.name);
    if (!experiment_.description.empty())
      data_.sections.push_back({"About", "", {TextBlock{experiment_.description, false, ""}}});
    best_figures();
  }

  // Variants whose difference from `best` is not clear, over several seeds; over one seed those with the same value.
  std::size_t not_clearly_off(std::size_t best, const std::string& metric) const {
    std::size_t out = 0;
    for (std::size_t v = 0; v < experiment_.variants.size(); ++v) {
      const PairedDifference off = comparison_.difference(v, best, metric);
      if (v != best && off.pairs > 0 && (off.known() ? !off.clear : off.mean == 0)) ++out;
    }
    return out;
  }

  // The best variant by each of the first metrics that have a better end.
  void best_figures() {
    for (const std::string& metric : columns_) {
      const int direction = metric_direction(metric);
      if (direction == 0 || data_.key_figures.size() >= 6 || experiment_.variants.size() < 2) continue;
      std::optional<std::size_t> best;
      MetricStatistics found;
      for (std::size_t v = 0; v < experiment_.variants.size(); ++v) {
        const MetricStatistics s = comparison_.statistics(v, metric);
        if (s.count == 0) continue;
        if (!best || (direction > 0 ? s.mean > found.mean : s.mean < found.mean)) {
          best = v;
          found = s;
        }
      }
      if (!best) continue;
      const std::size_t equal = not_clearly_off(*best, metric);
      const std::string others = equal == 0   ? ""
                                 : equal == 1 ? "; one more is not clearly off"
                                              : fmt::format("; {} more are not clearly off", equal);
      data_.key_figures.push_back({metric_title(metric) + (direction > 0 ? ", most" : ", least"),
                                   metric_text(metric, found.mean), "",
                                   experiment_.variants[*best].name + others});
    }
  }

  void side_by_side() {
    Section section;
    section.title = "Side by side";
    if (experiment_.variants.size() > 1)
      section.lead =
          fmt::format("Differences are against the first variant, {}.", experiment_.variants[0].name);
    Table values;
    values.title = experiment_.seeds.size() > 1 ? "Means over the seeds" : "Results";
    values.columns.push_back({"Variant", ColumnKind::kText, "", 0});
    Table differences;
    differences.title = "Differences";
    differences.note =
        experiment_.seeds.size() > 1
            ? fmt::format(
                  "Paired by seed, over {} seeds, with the 95 % interval of the mean "
                  "(Student's t). Unclear: the "
                  "interval has 0 in it, so the seeds alone may be the cause.",
                  experiment_.seeds.size())
            : "Each variant has one run. Where the work is drawn by a seed, --seeds 5 tells which "
              "differences are more than "
              "chance.";
    differences.columns.push_back({"Variant", ColumnKind::kText, "", 0});
    for (const std::string& metric : columns_) {
      values.columns.push_back(value_column(metric));
      differences.columns.push_back(
          {metric_title(metric), ColumnKind::kDifference, "", metric_direction(metric)});
    }
    for (std::size_t v = 0; v < experiment_.variants.size(); ++v) {
      std::vector<std::string> row{experiment_.variants[v].name};
      std::vector<std::string> off{experiment_.variants[v].name};
      for (const std::string& metric : columns_) {
        const MetricStatistics mine = comparison_.statistics(v, metric);
        row.push_back(mine.count == 0 ? "" : value_cell(metric, mine.mean));
        off.push_back(comparison_.difference_from_first(v, metric));
      }
      values.rows.push_back(std::move(row));
      if (v > 0) differences.rows.push_back(std::move(off));
    }
    section.blocks.emplace_back(std::move(values));
    if (!differences.rows.empty()) section.blocks.emplace_back(std::move(differences));
    changes(section);
    data_.sections.push_back(std::move(section));
  }

  void changes(Section& section) const {
    Table table;
    table.title = "The variants";
    table.columns = {{"Variant", ColumnKind::kText, "", 0},
                     {"Scenario", ColumnKind::kText, "", 0},
                     {"Otherwise than there", ColumnKind::kText, "", 0}};
    for (const Variant& variant : experiment_.variants) {
      std::string text;
      for (const ScenarioChange& change : variant.changes)
        text += fmt::format("{}{}={}", text.empty() ? "" : ", ", change.path, change.shown);
      table.rows.push_back({variant.name, variant.scenario, std::move(text)});
    }
    section.blocks.emplace_back(std::move(table));
  }

  void swept() {
    if (!swept_at_all()) return;
    Section section;
    section.title = "Sweep";
    section.lead = fmt::format("Each metric over {}.", experiment_.axis);
    if (experiment_.seeds.size() > 1)
      section.lead += " Points are means over the seeds, lines span least to greatest.";
    for (std::size_t m = 0; m < std::min(columns_.size(), kMostSweptMetrics); ++m) {
      const std::string& metric = columns_[m];
      XyChart chart;
      chart.title = metric_title(metric);
      chart.x_title = experiment_.axis;
      chart.x_divisor = 1000;
      chart.y_kind = is_duration(metric) ? SampleKind::kDurationMs : SampleKind::kAmount;
      chart.y_divisor = is_duration(metric) ? 1 : 1000;
      chart.y_title = is_duration(metric)                        ? "duration"
                      : metric.find("_pct") != std::string::npos ? "%"
                                                                 : metric_title(metric);
      std::map<std::string, std::size_t> place;
      for (std::size_t v = 0; v < experiment_.variants.size(); ++v) {
        const Variant& variant = experiment_.variants[v];
        const MetricStatistics s = comparison_.statistics(v, metric);
        if (s.count == 0 || !variant.at_milli) continue;
        const auto [at, fresh] = place.try_emplace(variant.series, chart.series.size());
        if (fresh) chart.series.push_back({variant.series, {}, false});
        chart.series[at->second].points.push_back({*variant.at_milli, s.mean, s.min, s.max});
      }
      section.blocks.emplace_back(std::move(chart));
    }
    data_.sections.push_back(std::move(section));
  }

  void over_seeds() {
    if (experiment_.seeds.size() < 2) return;
    Section section;
    section.title = "Seeds";
    section.lead =
        "How much of a difference is chance: mean and deviation, least and greatest over the seeds.";
    for (std::size_t m = 0; m < std::min(columns_.size(), kMostSweptMetrics); ++m) {
      const std::string& metric = columns_[m];
      Table table;
      table.title = metric_title(metric);
      const ColumnKind kind = value_column(metric).kind;
      table.columns = {{"Variant", ColumnKind::kText, "", 0},
                       {"Mean", kind, "", 0},
                       {"Deviation", kind, "", 0},
                       {"Least", kind, "", 0},
                       {"Greatest", kind, "", 0},
                       {"Runs", ColumnKind::kNumber, "", 0}};
      for (std::size_t v = 0; v < experiment_.variants.size(); ++v) {
        const MetricStatistics s = comparison_.statistics(v, metric);
        if (s.count == 0) continue;
        table.rows.push_back({experiment_.variants[v].name, value_cell(metric, s.mean),
                              value_cell(metric, s.deviation), value_cell(metric, s.min),
                              value_cell(metric, s.max), human_amount(s.count)});
      }
      section.blocks.emplace_back(std::move(table));
    }
    data_.sections.push_back(std::move(section));
  }

  void curves() {
    XyChart chart;
    chart.title = "GPUs allocated as demand arrives";
    chart.x_title = "Demand arrived, % of the GPUs";
    chart.y_title = "GPUs allocated, %";
    chart.y_divisor = 1000;
    chart.marks = false;
    const auto points = [](const std::vector<CurvePoint>& curve) {
      std::vector<XyPoint> out;
      for (const CurvePoint& point : curve)
        out.push_back({point.arrived_pct, point.allocated_pct_milli, point.allocated_pct_milli,
                       point.allocated_pct_milli});
      return out;
    };
    for (const Overlay& overlay : overlays_)
      chart.series.push_back({overlay.name, points(overlay.course->curve), false});
    if (!overlays_.empty() && !overlays_.front().course->published.empty())
      chart.series.push_back({"published", points(overlays_.front().course->published), true});
    if (chart.series.empty()) return;
    Section section;
    section.title = "Curves";
    section.lead = first_only("Jobs are offered one by one to an empty cluster; nothing leaves.");
    XyChart end = chart;
    end.title = "The same from 80 % on";
    end.from_zero = false;
    for (XySeries& series : end.series)
      std::erase_if(series.points, [](const XyPoint& point) { return point.x < 80; });
    std::erase_if(end.series, [](const XySeries& series) { return series.points.empty(); });
    section.blocks.emplace_back(std::move(chart));
    if (!end.series.empty()) section.blocks.emplace_back(std::move(end));
    data_.sections.push_back(std::move(section));
  }

  std::string first_only(std::string text) const {
    if (experiment_.seeds.size() > 1)
      text += fmt::format(" Pictures show the first seed, {}.", experiment_.seeds.front());
    if (overlays_.size() < experiment_.variants.size())
      text += fmt::format(" They show {} of {} variants.", overlays_.size(), experiment_.variants.size());
    return text;
  }

  void over_time() {
    if (overlays_.empty()) return;
    Section section;
    section.title = "Over time";
    section.lead = first_only("");
    using Values = std::vector<std::int64_t> RunCourse::*;
    const auto chart = [&](Values values, std::string title, std::string note, std::string unit,
                           std::int64_t divisor, bool capacity) {
      TimeChart out;
      out.title = std::move(title);
      out.note = std::move(note);
      out.unit = std::move(unit);
      out.divisor = divisor;
      out.begin_ms = overlays_.front().course->begin;
      out.end_ms = overlays_.front().course->end;
      std::int64_t most = 0;
      bool anything = false;
      for (const Overlay& overlay : overlays_) {
        const RunCourse& course = *overlay.course;
        out.begin_ms = std::min(out.begin_ms, course.begin);
        out.end_ms = std::max(out.end_ms, course.end);
        most = std::max(most, course.gpu_capacity_milli);
        Series series{overlay.name, binned_points(course.begin, course.width, course.*values)};
        // Cumulative series keep their last value, and queues without demand count as satisfied; other series end with the run.
        const bool stays = values == &RunCourse::evictions || values == &RunCourse::lost_gpu_s_milli ||
                           values == &RunCourse::fairness_milli;
        if (!stays) series.points.push_back({course.end, 0});
        for (const SeriesPoint& point : series.points) anything |= point.value != 0;
        out.series.push_back(std::move(series));
      }
      if (!anything) return;
      if (capacity) out.capacity = Series{"GPUs of the cluster", {{out.begin_ms, most}}};
      section.blocks.emplace_back(std::move(out));
    };
    chart(&RunCourse::allocated_milli, "GPUs allocated", "", "GPU", 1000, true);
    chart(&RunCourse::pending, "Jobs waiting", "", "jobs", 1, false);
    chart(&RunCourse::pending_gpu_milli, "GPUs that waiting jobs ask for", "", "GPU", 1000, false);
    chart(&RunCourse::evictions, "Evictions so far", "", "evictions", 1, false);
    chart(&RunCourse::lost_gpu_s_milli, "GPU-hours lost so far", "", "GPU-hours", 3'600'000, false);
    chart(&RunCourse::fairness_milli, "Fairness index",
          "Jain's index over held and deserved shares of the queues: 1 is even.", "index", 1000, false);
    data_.sections.push_back(std::move(section));
  }

  void distributions() {
    if (overlays_.empty()) return;
    Section section;
    section.title = "Distributions";
    section.lead = first_only("");
    const auto add = [&](std::string title, std::string note, std::int64_t least_gpu_milli) {
      Distribution out;
      out.title = std::move(title);
      out.note = std::move(note);
      out.subject = "jobs";
      out.overall = "";
      bool anything = false;
      for (const Overlay& overlay : overlays_) {
        SampleGroup group{overlay.name, {}};
        for (const JobCourse& job : overlay.course->jobs) {
          if (job.end == kEndOfTime || job.gpu_milli < least_gpu_milli) continue;
          group.samples.push_back(job.waited);
          anything = true;
        }
        out.groups.push_back(std::move(group));
      }
      if (anything) section.blocks.emplace_back(std::move(out));
    };
    add("Waiting time", "Completed jobs only.", 0);
    add("Waiting time of jobs of 32 GPUs and more", "", kLargeGpuMilli);
    Distribution slowdown;
    slowdown.title = "Slowdown";
    slowdown.note = "Completion over run time; run times below 10 s count as 10 s.";
    slowdown.subject = "jobs";
    slowdown.kind = SampleKind::kAmount;
    slowdown.unit = "times";
    slowdown.divisor = 1000;
    slowdown.overall = "";
    for (const Overlay& overlay : overlays_)
      slowdown.groups.push_back({overlay.name, overlay.course->slowdown_milli});
    section.blocks.emplace_back(std::move(slowdown));
    data_.sections.push_back(std::move(section));
  }

  void movers() {
    if (overlays_.size() < 2 || swept_at_all()) return;
    Section section;
    section.title = "Jobs that gained or lost";
    section.lead =
        first_only(fmt::format("Jobs whose waiting changed most against {}, weighted by their GPUs. A job is "
                               "met by name, submission and "
                               "size.",
                               overlays_.front().name));
    for (std::size_t i = 1; i < overlays_.size(); ++i) {
      const Movers movers = movers_of(*overlays_.front().course, *overlays_[i].course, kMostMovers);
      std::string text = fmt::format(
          "{} jobs waited shorter, {} in all, and {} longer, {} in all; {} waited as long as before.",
          human_amount(movers.shorter), human_duration(clamp_to_int64(movers.saved_ms)),
          human_amount(movers.longer), human_duration(clamp_to_int64(movers.added_ms)),
          human_amount(movers.jobs - movers.shorter - movers.longer));
      if (movers.only_before + movers.only_after > 0) {
        text += fmt::format(" {} jobs are only in the first, {} only in the second.",
                            human_amount(movers.only_before), human_amount(movers.only_after));
      }
      section.blocks.emplace_back(TextBlock{std::move(text), false, overlays_[i].name});
      const auto table = [&](const std::vector<Mover>& list, std::string title) {
        if (list.empty()) return;
        Table out;
        out.title = std::move(title);
        out.columns = {{"Job", ColumnKind::kText, "", 0},
                       {"Queue", ColumnKind::kText, "", 0},
                       {"GPUs", ColumnKind::kNumber, "", 0},
                       {"Waited before", ColumnKind::kDurationMs, "", 0},
                       {"Waited after", ColumnKind::kDurationMs, "", 0},
                       {"Change", ColumnKind::kDurationMs, "", 0},
                       {"Why", ColumnKind::kText, "", 0}};
        for (const Mover& mover : list) {
          const JobCourse& job = *mover.before;
          out.rows.push_back({job.name, overlays_.front().course->queues[job.queue],
                              human_amount(job.gpu_milli, 1000, 2), fmt::format("{}", job.waited),
                              fmt::format("{}", mover.after->waited), fmt::format("{}", mover.change),
                              why_moved(mover)});
        }
        section.blocks.emplace_back(std::move(out));
      };
      table(movers.gained, "Waited shorter");
      table(movers.lost, "Waited longer");
    }
    data_.sections.push_back(std::move(section));
  }

  void notes() {
    for (const std::string& line : comparison_.failed())
      data_.notes.push_back({NoteKind::kWarning, "A run failed and is not part of the numbers: " + line});
    for (const std::string& line : comparison_.quota_gaps())
      data_.notes.push_back({NoteKind::kWarning, "Quota no longer covers the nodes. " + line + "."});
    for (const std::string& line : comparison_.missed())
      data_.notes.push_back({NoteKind::kWarning, "An expectation is not met: " + line});
  }

  const Comparison& comparison_;
  const Experiment& experiment_;
  std::vector<std::string> columns_;
  std::vector<Overlay> overlays_;
  ReportData data_;
};

}  // namespace

ReportData comparison_report(const Comparison& comparison) {
  return ComparisonPage(comparison).make();
}

}  // namespace berth::sim

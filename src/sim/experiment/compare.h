// The results of an experiment side by side: statistics over seeds, tables, files, and the jobs that gained or lost. Numbers are
// thousandths of the metric's unit (sim/measure/metrics.h), all arithmetic is exact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/experiment/experiment.h"
#include "sim/experiment/paired.h"
#include "sim/experiment/runs.h"
#include "sim/page/report_data.h"
#include "sim/results/output.h"

namespace berth::sim {

// A metric over the seeds of a variant. Runs that failed, or have no such metric, do not count.
struct MetricStatistics {
  std::int64_t count = 0;
  std::int64_t mean = 0;       // rounded to nearest
  std::int64_t deviation = 0;  // of the sample (n - 1), rounded down; 0 with fewer than two
  std::int64_t min = 0;
  std::int64_t max = 0;
};
MetricStatistics statistics_of(std::vector<std::int64_t> values);

struct Comparison {
  const Experiment* experiment = nullptr;
  const std::vector<RunPlan>* plans = nullptr;
  const std::vector<RunResult>* results = nullptr;

  // For one variant's runs; the metric is empty (count 0) if none has it.
  MetricStatistics statistics(std::size_t variant, std::string_view metric) const;
  // The metric of one variant minus that of another, over the seeds where both have it. Without seeds: of their one run.
  PairedDifference difference(std::size_t variant, std::size_t base, std::string_view metric) const;
  // The difference from the first variant as text, in percent of its mean; "" where there is none. Where several seeds make an
  // interval it stands behind, or the text is "unclear" because 0 lies in it.
  std::string difference_from_first(std::size_t variant, std::string_view metric) const;
  // Whether any run has the metric.
  bool has(std::string_view metric) const;
  // The experiment's metrics, or the usual ones of a replay or an inflation that occur.
  std::vector<std::string> columns() const;
  bool inflation() const;
  // Runs of an expectation that was not met, and runs that failed, by name.
  std::vector<std::string> missed() const;
  std::vector<std::string> failed() const;
  // Variants whose queues have less quota than their nodes have devices, with the numbers.
  std::vector<std::string> quota_gaps() const;
};

// The name of a metric and the form of its values: "Waiting, mean", "3 min 20 s".
std::string metric_title(std::string_view metric);
std::string metric_text(std::string_view metric, std::int64_t milli);
// -1: less is better, 1: more is better, 0: neither.
int metric_direction(std::string_view metric);
// The difference in percent of `base`, "+12.3 %"; "" where base is 0.
std::string difference_text(std::int64_t value, std::int64_t base);

// For standard output: one line per variant, one column per metric. With several seeds the deviation, least and greatest. Then the
// differences from the first in percent, paired by seed. Then failures.
std::string comparison_table(const Comparison& comparison);
// comparison.json, comparison.csv (variant, metric, statistics), differences.csv (variant, metric, the paired difference from the
// first), runs.csv (variant, seed, metric, value).
std::vector<OutputFile> comparison_files(const Comparison& comparison);
ReportData comparison_report(const Comparison& comparison);

// A job that waited longer or shorter in one run than in another.
struct Mover {
  const JobCourse* before = nullptr;
  const JobCourse* after = nullptr;
  DurationMs change = 0;  // of the time waited
};
struct Movers {
  std::int64_t jobs = 0;  // in both runs
  std::int64_t only_before = 0;
  std::int64_t only_after = 0;
  std::int64_t shorter = 0;
  std::int64_t longer = 0;
  Int128 saved_ms = 0;        // by those that waited shorter
  Int128 added_ms = 0;        // by those that waited longer
  std::vector<Mover> gained;  // greatest first, at most `most`; weighted by GPUs
  std::vector<Mover> lost;
};
// Jobs are the same where name, submission and size are; of several with one name the first is met with the first.
// The result points into the two runs. O(n log n).
Movers movers_of(const RunCourse& before, const RunCourse& after, std::size_t most);
// The cause of waiting, in words: "quota", "room on nodes"; otherwise the code's name.
std::string reason_words(ReasonCode code);
// Why the job's waiting changed, as far as the runs tell: what it first waited for, and evictions.
std::string why_moved(const Mover& mover);

}  // namespace berth::sim

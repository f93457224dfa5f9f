// The output of a run: a table for people, and files for programs. Everything is made in memory first. Each file is written beside
// its place and renamed into it, so that a file is complete or absent. Nothing here depends on the clock: equal runs give equal
// bytes. Files and columns: docs/simulator.md.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "sim/measure/metrics.h"
#include "sim/page/report_data.h"

namespace berth::sim {

struct OutputFile {
  std::string name;
  std::string content;
};

// A table with aligned columns; the first is aligned left, the others right. Widths in characters of UTF-8.
std::string aligned(const std::vector<std::vector<std::string>>& rows);
std::string csv_field(std::string_view text);

std::string replay_table(const Scenario& scenario, const Input& input, const Outcome& outcome,
                         const ReplaySummary& summary);
// The curve at kFillMarks, beside the published one where there is one.
std::string inflation_table(const Scenario& scenario, const Input& input, const InflationOutcome& outcome,
                            const std::vector<CurvePoint>& published);
// One line per check, with what was wanted and what came out.
std::string checks_table(const std::vector<Check>& checks);

// summary.json and metrics.csv.
std::vector<OutputFile> summary_files(const Scenario& scenario, const std::vector<Metric>& metrics,
                                      const std::vector<Check>& checks);
// series.csv (allocation and queue lengths over time) and jobs.csv.
std::vector<OutputFile> replay_files(const Input& input, const Outcome& outcome);
// curve.csv.
std::vector<OutputFile> inflation_files(const InflationOutcome& outcome);

ReportData replay_report(const Scenario& scenario, const Input& input, const Outcome& outcome,
                         const ReplaySummary& summary, const std::vector<Check>& checks);
ReportData inflation_report(const Scenario& scenario, const Input& input, const InflationOutcome& outcome,
                            const std::vector<CurvePoint>& published, const std::vector<Check>& checks);

// Makes the folder, and the folders above it, where they are missing.
Status make_folder(const std::string& folder);

// A folder for the files of a run. Folders of make() are removed with this object unless keep() was called, so that a failed run
// leaves nothing behind. A folder that existed before stays.
class OutputFolder {
 public:
  explicit OutputFolder(std::string path) : path_(std::move(path)) {}  // "" = none: nothing is made
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;
  Status make();
  void keep() { made_.clear(); }

 private:
  std::string path_;
  std::vector<std::string> made_;  // innermost first
};
Status write_files(const std::string& folder, const std::vector<OutputFile>& files);

}  // namespace berth::sim

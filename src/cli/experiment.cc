#include "cli/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "cli/base/progress.h"
#include "sim/experiment/compare.h"
#include "sim/page/report.h"
#include "sim/results/output.h"

namespace berth::cli {
namespace {

int failed(std::ostream& err, const Error& error) {
  err << "berth simulate: " << error.str() << "\n";
  return error.code == ErrorCode::kInternal ? 3 : 2;
}

Result<sim::Experiment> experiment_of(const SimulateArguments& arguments) {
  if (!arguments.log.empty() && (!arguments.each || arguments.log.find('/') != std::string::npos))
    return fail(
        ErrorCode::kInvalid,
        "--log: of several runs each has its own, in its own folder: add --each and --out, and give the "
        "log's name without a folder");
  if (arguments.seed && !arguments.seeds.empty())
    return fail(ErrorCode::kInvalid, "--seed and --seeds: choose one of them");
  sim::Experiment experiment;
  BERTH_ASSIGN(const bool from_file,
               arguments.scenarios.size() == 1 ? sim::is_experiment(arguments.scenarios.front()) : false);
  if (from_file) {
    BERTH_ASSIGN(experiment, sim::read_experiment(arguments.scenarios.front()));
  } else {
    experiment = sim::experiment_of(arguments.scenarios);
  }
  for (const std::string& argument : arguments.set) BERTH_TRY(sim::set_in_all(experiment, argument));
  for (const std::string& argument : arguments.vary) BERTH_TRY(sim::vary(experiment, argument));
  if (!arguments.sweep.empty()) BERTH_TRY(sim::sweep(experiment, arguments.sweep));
  if (!arguments.seeds.empty()) {
    BERTH_ASSIGN(experiment.seeds, sim::parse_seeds(arguments.seeds));
  }
  if (arguments.seed) experiment.seeds = {*arguments.seed};
  if (!arguments.metrics.empty()) experiment.metrics = arguments.metrics;
  experiment.fill = arguments.fill;
  return experiment;
}

// A folder's name from a run's: letters, digits, and - for everything else.
std::string folder_name(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_';
    if (plain) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (!out.empty() && (out.back() == '-' || out.back() == '.')) out.pop_back();
  return out.empty() ? "run" : out;
}

std::string progress_text(const sim::RunsProgress& progress, double elapsed) {
  const double share = static_cast<double>(progress.share_ppm) / 1e6;
  const double rate = elapsed > 0 ? static_cast<double>(progress.jobs_done) / elapsed : 0;
  const double left = share > 0 ? elapsed * (1 - share) / share : 0;
  return fmt::format("{:5.1f} %  {} of {} runs done, {} running{}  {:.0f} jobs/s  {:.0f} s left", 100 * share,
                     progress.done, progress.runs, progress.running,
                     progress.failed > 0 ? fmt::format(", {} failed", progress.failed) : "", rate, left);
}

}  // namespace

Result<bool> asks_for_experiment(const SimulateArguments& arguments) {
  if (arguments.scenarios.size() > 1 || arguments.compare || !arguments.vary.empty() ||
      !arguments.sweep.empty() || !arguments.seeds.empty())
    return true;
  return sim::is_experiment(arguments.scenarios.front());
}

int run_experiment(const SimulateArguments& arguments, std::ostream& out, std::ostream& err, bool terminal) {
  auto experiment = experiment_of(arguments);
  if (!experiment) return failed(err, experiment.error());
  const auto plans = sim::plan_runs(*experiment);
  if (!plans) return failed(err, plans.error());
  if (arguments.each && arguments.out.empty())
    return failed(err, Error{ErrorCode::kInvalid, "--each needs --out, the folder for the files", {}});

  sim::OutputFolder folder(arguments.out);
  if (auto made = folder.make(); !made) return failed(err, made.error());

  ProgressLine progress(err, terminal && !arguments.quiet);
  sim::RunOptions options;
  options.jobs = arguments.jobs;
  options.audit_every = arguments.audit;
  options.progress = [&](const sim::RunsProgress& p) {
    progress.show([&](double elapsed) { return progress_text(p, elapsed); });
  };
  if (arguments.each) {
    const auto folder_of = [&](const sim::RunPlan& plan) -> Result<std::string> {
      const std::string below = arguments.out + "/" + folder_name(plan.name);
      BERTH_TRY(sim::make_folder(below));
      return below;
    };
    if (!arguments.log.empty()) {
      options.log = [&arguments, folder_of](const sim::RunPlan& plan) -> Result<std::string> {
        BERTH_ASSIGN(const std::string below, folder_of(plan));
        return below + "/" + arguments.log;
      };
    }
    options.keep = [&arguments, folder_of](const sim::RunPlan& plan, sim::SimulateResult&& result) -> Status {
      BERTH_ASSIGN(const std::string below, folder_of(plan));
      result.report.program = arguments.program;
      result.files.push_back({"report.html", sim::render_report(result.report)});
      return sim::write_files(below, result.files);
    };
  }
  const std::vector<sim::RunResult> results = sim::run_all(*plans, options);
  progress.clear();

  const sim::Comparison comparison{&*experiment, &*plans, &results};
  if (!arguments.quiet) out << sim::comparison_table(comparison);
  if (!arguments.out.empty()) {
    std::vector<sim::OutputFile> files = sim::comparison_files(comparison);
    sim::ReportData report = sim::comparison_report(comparison);
    report.program = arguments.program;
    files.push_back({"report.html", sim::render_report(report)});
    if (auto written = sim::write_files(arguments.out, files); !written) return failed(err, written.error());
    folder.keep();
  }
  int code = comparison.missed().empty() ? 0 : 1;
  std::int64_t jobs = 0;
  for (const sim::RunResult& run : results) {
    jobs += run.jobs;
    if (run.error) code = std::max(code, run.error->code == ErrorCode::kInternal ? 3 : 2);
  }
  if (!arguments.quiet) {
    err << fmt::format("{} runs, {} jobs in {:.1f} s\n", results.size(), jobs, progress.seconds());
    if (!arguments.out.empty()) err << fmt::format("report: {}/report.html\n", arguments.out);
  }
  // Known only now; what was run is not lost for it.
  for (const std::string& metric : experiment->metrics) {
    if (comparison.has(metric)) continue;
    err << fmt::format("berth simulate: there is no metric '{}'; comparison.csv (--out DIR) lists them\n",
                       metric);
    code = std::max(code, 2);
  }
  for (const std::string& line : comparison.quota_gaps())
    err << fmt::format("berth simulate: warning: quota no longer covers the nodes of {}\n", line);
  for (const std::string& line : comparison.failed()) err << "berth simulate: " << line << "\n";
  if (!comparison.missed().empty()) err << "berth simulate: not every expectation of the scenarios is met\n";
  return code;
}

}  // namespace berth::cli

#include "cli/simulate.h"

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <memory>

#include "sim/input.h"
#include "sim/output.h"
#include "sim/report.h"
#include "sim/scenario.h"
#include "sim/simulate.h"

namespace berth::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// One line on a terminal, written over itself at most ten times a second. It goes to stderr: what is on
// stdout is the same for equal runs.
class ProgressLine {
 public:
  ProgressLine(std::ostream& err, bool shown) : err_(err), shown_(shown), start_(SteadyClock::now()) {}

  void show(const sim::Progress& progress) {
    if (!shown_) return;
    const double elapsed = seconds_since(start_);
    if (elapsed - last_ < 0.1) return;
    last_ = elapsed;
    // A job counts half when it comes and half when it is over.
    const double done = static_cast<double>(progress.submitted + progress.ended) / 2;
    const double all = static_cast<double>(progress.jobs);
    const double rate = elapsed > 0 ? done / elapsed : 0;
    const double left = rate > 0 ? (all - done) / rate : 0;
    err_ << fmt::format("\r\033[K{:5.1f} %  {} of {} jobs  {:.0f} jobs/s  {:.0f} s left  at {} of the trace",
                        all > 0 ? 100 * done / all : 100.0, static_cast<std::int64_t>(done), progress.jobs,
                        rate, left, sim::human_duration(progress.now));
    err_.flush();
  }
  void clear() {
    if (shown_) err_ << "\r\033[K" << std::flush;
  }

 private:
  std::ostream& err_;
  bool shown_;
  SteadyClock::time_point start_;
  double last_ = -1;
};

int failed(std::ostream& err, const Error& error) {
  err << "berth simulate: " << error.str() << "\n";
  return error.code == ErrorCode::kInternal ? 3 : 2;
}

}  // namespace

int run_simulate(const SimulateArguments& arguments, std::ostream& out, std::ostream& err, bool terminal) {
  if (arguments.explain_scenario) {
    out << sim::scenario_reference();
    return 0;
  }
  if (arguments.scenario.empty()) {
    err << "berth simulate: name a scenario file, or ask for --explain-scenario\n";
    return 2;
  }
  const auto start = SteadyClock::now();
  const auto scenario = sim::read_scenario(arguments.scenario, arguments.seed);
  if (!scenario) return failed(err, scenario.error());

  auto input = sim::load(*scenario);
  if (!input) return failed(err, input.error());
  // Before the run, so that a folder that cannot be made costs no time; after the input, which may be wrong.
  if (!arguments.out.empty()) {
    if (auto made = sim::make_folder(arguments.out); !made) return failed(err, made.error());
  }

  ProgressLine progress(err, terminal && !arguments.quiet);
  sim::SimulateOptions options;
  options.log = arguments.log;
  options.report = !arguments.out.empty();
  options.progress = [&](const sim::Progress& p) { progress.show(p); };
  auto result = sim::simulate(*scenario, *input, options);
  progress.clear();
  if (!result) return failed(err, result.error());

  if (!arguments.out.empty()) {
    result->files.push_back({"report.html", sim::render_report(result->report)});
    if (auto written = sim::write_files(arguments.out, result->files); !written)
      return failed(err, written.error());
  }
  if (!arguments.quiet) {
    out << result->table;
    err << fmt::format("{} jobs and {} decisions in {:.1f} s\n", result->jobs, result->decide_calls,
                       seconds_since(start));
    if (!arguments.out.empty()) err << fmt::format("report: {}/report.html\n", arguments.out);
  }
  if (!result->as_expected()) {
    err << "berth simulate: not every expectation of the scenario is met\n";
    return 1;
  }
  return 0;
}

void register_simulate(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App* command =
      app.add_subcommand("simulate", "run a trace through the engine and report what came out");
  command->add_option("SCENARIO", arguments->scenario,
                      "the scenario, a YAML file (examples/, docs/simulator.md)");
  command->add_option("--out", arguments->out, "folder for report.html, summary.json and CSV files");
  command->add_option("--seed", arguments->seed, "replaces the scenario's seed");
  command->add_option("--log", arguments->log,
                      "write the decision log (.gz and .zst are compressed), for `berth replay`");
  command->add_flag("--quiet", arguments->quiet, "no table and no progress");
  command->add_flag("--explain-scenario", arguments->explain_scenario,
                    "print every key of a scenario file, and end");
  command->footer(
      "Exit codes: 0 done, 1 an expectation of the scenario is not met, 2 wrong input (nothing is written),\n"
      "3 a defect of Berth. What is on standard output is the same for equal runs.");
  command->callback([arguments, &exit_code] {
    exit_code = run_simulate(*arguments, std::cout, std::cerr, isatty(STDERR_FILENO) != 0);
  });
}

}  // namespace berth::cli

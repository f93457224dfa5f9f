#include "cli/simulate.h"

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>

#include "cli/base/progress.h"
#include "cli/experiment.h"
#include "cli/peak_memory.h"
#include "sim/experiment/experiment.h"
#include "sim/experiment/simulate.h"
#include "sim/page/report.h"
#include "sim/results/output.h"
#include "sim/scenario/input.h"
#include "sim/scenario/scenario.h"

namespace berth::cli {
namespace {

// For one run.
std::string progress_text(const sim::Progress& progress, double elapsed) {
  // A job counts half when it comes and half when it is over.
  const double done = static_cast<double>(progress.submitted + progress.ended) / 2;
  const double all = static_cast<double>(progress.jobs);
  const double rate = elapsed > 0 ? done / elapsed : 0;
  const double left = rate > 0 ? (all - done) / rate : 0;
  return fmt::format("{:5.1f} %  {} of {} jobs  {:.0f} jobs/s  {:.0f} s left  at {} of the trace",
                     all > 0 ? 100 * done / all : 100.0, static_cast<std::int64_t>(done), progress.jobs, rate,
                     left, sim::human_duration(progress.now));
}

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
  if (arguments.scenarios.empty()) {
    err << "berth simulate: name a scenario file, or ask for --explain-scenario\n";
    return 2;
  }
  for (const std::string& scenario : arguments.scenarios) {
    if (scenario.find('=') == std::string::npos || std::filesystem::exists(scenario)) continue;
    err << fmt::format(
        "berth simulate: there is no scenario file '{0}'; a key of a scenario is set with --set {0}\n",
        scenario);
    return 2;
  }
  const auto several = asks_for_experiment(arguments);
  if (!several) return failed(err, several.error());
  if (*several) return run_experiment(arguments, out, err, terminal);
  for (const auto& [given, option] :
       {std::pair{arguments.each, "--each"}, std::pair{!arguments.metrics.empty(), "--metrics"},
        std::pair{arguments.jobs != 0, "--jobs"}}) {
    if (!given) continue;
    err << fmt::format(
        "berth simulate: {} is for several runs: name more scenarios, or ask for --compare, "
        "--vary, --sweep or --seeds\n",
        option);
    return 2;
  }

  ProgressLine progress(err, terminal && !arguments.quiet);
  sim::ScenarioOptions how;
  how.seed = arguments.seed;
  how.fill = arguments.fill;
  for (const std::string& argument : arguments.set) {
    auto change = sim::parse_change(argument);
    if (!change) return failed(err, change.error());
    how.changes.push_back(*std::move(change));
  }
  const auto scenario = sim::read_scenario(arguments.scenarios.front(), how);
  if (!scenario) return failed(err, scenario.error());
  auto input = sim::load(*scenario);
  if (!input) return failed(err, input.error());
  // Before the run, so that a folder that cannot be made costs no time. It goes again where the run fails.
  sim::OutputFolder folder(arguments.out);
  if (auto made = folder.make(); !made) return failed(err, made.error());

  sim::SimulateOptions options;
  options.log = arguments.log;
  options.audit_every = arguments.audit;
  options.report = !arguments.out.empty();
  options.progress = [&](const sim::Progress& p) {
    progress.show([&](double elapsed) { return progress_text(p, elapsed); });
  };
  auto result = sim::simulate(*scenario, *input, options);
  progress.clear();
  if (!result) return failed(err, result.error());

  if (!arguments.out.empty()) {
    result->report.program = arguments.program;
    result->files.push_back({"report.html", sim::render_report(result->report)});
    if (auto written = sim::write_files(arguments.out, result->files); !written)
      return failed(err, written.error());
    folder.keep();
  }
  if (!arguments.quiet) {
    out << result->table;
    err << fmt::format("{} jobs and {} decisions in {:.1f} s, peak memory {} MiB\n", result->jobs,
                       result->decide_calls, progress.seconds(), peak_memory_bytes() >> 20);
    if (!arguments.out.empty()) err << fmt::format("report: {}/report.html\n", arguments.out);
  }
  if (!result->quota_gap.empty())
    err << fmt::format("berth simulate: warning: quota does not cover the nodes: {}\n", result->quota_gap);
  if (!result->as_expected()) {
    err << "berth simulate: not every expectation of the scenario is met\n";
    return 1;
  }
  return 0;
}

void register_simulate(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<SimulateArguments>();
  CLI::App* command = app.add_subcommand("simulate", "run a trace through the engine and report the results");
  command->add_option("SCENARIO", arguments->scenarios,
                      "scenario files, YAML (examples/, docs/simulator.md), or one experiment file");
  command->add_option("--out", arguments->out, "folder for report.html, JSON and CSV files");
  command->add_option("--set", arguments->set, "KEY=VALUE: run with another value of a scenario's key")
      ->allow_extra_args(false);
  command->add_flag("--fill", arguments->fill,
                    "offer the jobs one by one to the empty cluster, up to 130 % of its GPUs");
  command->add_option("--seed", arguments->seed, "replaces the scenario's seed");
  command->add_option(
      "--log", arguments->log,
      "write the decision log (.gz and .zst are compressed), for `berth replay`; of several runs "
      "(--each) the name of each one's in its own folder");
  command
      ->add_option("--audit", arguments->audit,
                   "N: recount every account of the engine after each Nth moment (slow); what is off ends "
                   "the run with code 3")
      ->check(CLI::PositiveNumber);
  command->add_flag("--quiet", arguments->quiet, "no table and no progress");
  command->add_flag("--explain-scenario", arguments->explain_scenario,
                    "print every key of a scenario file, and end");
  const char* several = "Several runs side by side";
  command->add_flag("--compare", arguments->compare, "compare, even where there is one run")->group(several);
  command->add_option("--vary", arguments->vary, "KEY=A,B,...: run every scenario with each of these values")
      ->allow_extra_args(false)
      ->group(several);
  command
      ->add_option("--sweep", arguments->sweep,
                   "KEY=FROM..TO:STEP: the same along an axis; the report draws the metrics over it")
      ->group(several);
  command->add_option("--seeds", arguments->seeds, "N (1 to N), A..B or A,B,C: run everything with each seed")
      ->group(several);
  command
      ->add_option("--metrics", arguments->metrics, "A,B,...: the columns of the table, names of metrics.csv")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(several);
  command->add_option("--jobs", arguments->jobs, "runs at a time; as many as there are cores, if not given")
      ->group(several);
  command->add_flag("--each", arguments->each, "also write every run's own report and files, below --out")
      ->group(several);
  command->footer(
      "Keys are those of the scenario file: policy.placement, cluster[0].count, "
      "queues[0].children[*].order.\n"
      "Exit codes: 0 done, 1 an expectation of a scenario is not met, 2 wrong input (nothing is written; of\n"
      "several runs, those that went through are), 3 a defect of Berth. Equal runs print the same on "
      "standard\n"
      "output, whatever --jobs says.");
  command->callback([arguments, &app, &exit_code] {
    arguments->program = app.version();
    exit_code = run_simulate(*arguments, std::cout, std::cerr, isatty(STDERR_FILENO) != 0);
  });
}

}  // namespace berth::cli

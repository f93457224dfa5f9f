#include "cli/replay.h"

#include <iostream>
#include <memory>
#include <string>

#include "base/checked.h"
#include "observe/replay.h"
#include "observe/what_if.h"
#include "sim/page/report.h"

namespace berth::cli {
namespace {

struct ReplayArguments {
  std::string log;
  bool audit = false;
  std::string explain;
  std::uint32_t at_line = 0;
  std::string against;
  std::size_t most = 20;
};

std::string times(std::int64_t count) {
  return count == 0   ? std::string()
         : count == 1 ? ", evicted once"
                      : fmt::format(", evicted {} times", count);
}

// When a workload started, from its creation on.
std::string start_text(const observe::WorkloadStory& story) {
  const std::string when = !story.started ? std::string("never started")
                           : *story.started <= story.created
                               ? std::string("at once")
                               : "after " + sim::human_duration(*story.started - story.created);
  return when + times(story.evictions);
}

int compare_logs(const ReplayArguments& arguments) {
  const auto answer = observe::what_if(arguments.log, arguments.against, arguments.most);
  if (!answer) {
    std::cerr << "berth replay: " << answer.error().str() << "\n";
    return 2;
  }
  const observe::WhatIf& w = *answer;
  std::cout << fmt::format(
      "{} workloads in both logs: {} started earlier in {}, {} in all; {} later, {} in all; {} as before\n",
      w.both, w.earlier, arguments.against, sim::human_duration(clamp_to_int64(w.saved_ms)), w.later,
      sim::human_duration(clamp_to_int64(w.added_ms)), w.equal);
  if (w.only_before + w.only_after > 0) {
    std::cout << fmt::format("{} workloads are only in {}, {} only in {}\n", w.only_before, arguments.log,
                             w.only_after, arguments.against);
  }
  std::cout << fmt::format("evictions: {} before, {} after\n", w.evictions_before, w.evictions_after);
  for (const observe::WhatIfRow& row : w.moved) {
    std::cout << fmt::format("\n{} (queue {}) started {} {}\n  before: {}\n  after:  {}\n", row.name,
                             row.queue, sim::human_duration(row.change < 0 ? -row.change : row.change),
                             row.change < 0 ? "earlier" : "later", start_text(row.before),
                             start_text(row.after));
    std::string parts;
    for (const observe::ReasonPart& part : row.reasons)
      parts +=
          fmt::format("{}{} for {}", parts.empty() ? "" : ", ", part.reason, sim::human_duration(part.time));
    if (!parts.empty())
      std::cout << fmt::format("  in between, {}: {}\n", row.change < 0 ? "before" : "after", parts);
    if (!row.in_full.empty()) std::cout << fmt::format("  at last: {}\n", row.in_full);
  }
  return 0;
}

int run_replay(const ReplayArguments& arguments) {
  if (!arguments.against.empty()) return compare_logs(arguments);
  observe::ReplayOptions options;
  options.audit = arguments.audit;
  std::string answer;
  if (!arguments.explain.empty()) {
    options.look = [&](const engine::Engine& engine, const observe::LogLine&, std::uint32_t line) {
      if (arguments.at_line != 0 && line > arguments.at_line) return;
      const auto verdict = engine.explain(arguments.explain);
      if (verdict)
        answer = fmt::format("line {}: {}: {}", line, enum_name(verdict->kind), to_text(verdict->reason));
    };
  }
  const auto report = observe::replay_file(arguments.log, options);
  if (!report) {
    std::cerr << "berth replay: " << report.error().str() << "\n";
    return 2;
  }
  if (!arguments.explain.empty()) {
    if (answer.empty()) {
      std::cerr << fmt::format("berth replay: the log knows no workload {} at that line\n",
                               arguments.explain);
      return 2;
    }
    std::cout << answer << "\n";
  }
  std::cout << fmt::format("{} sessions, {} events ({} refused), {} decide calls, {} decisions\n",
                           report->sessions, report->events, report->refused, report->decide_calls,
                           report->decisions);
  if (report->unfinished_line != 0) {
    std::cout << fmt::format("line {} is unfinished (the recorder was cut off) and was left out\n",
                             report->unfinished_line);
  }
  if (!report->end.empty()) std::cout << "the recorder stopped: " << report->end << "\n";
  if (!report->same()) {
    const auto& d = *report->difference;
    std::cout << fmt::format("DIFFERENT at line {}\n  expected {}\n  got      {}\n", d.line, d.expected,
                             d.got);
    return 1;
  }
  std::cout << "the same decisions, byte for byte\n";
  return 0;
}

}  // namespace

void register_replay(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReplayArguments>();
  CLI::App* command = app.add_subcommand("replay", "run a decision log again and compare every decision");
  command->add_option("LOG", arguments->log, "the decision log, plain, gzip or zstd; - for standard input")
      ->required();
  command->add_flag("--audit", arguments->audit, "recount every account after each decision (slow)");
  command->add_option("--explain", arguments->explain,
                      "the uid of a workload: explain its state at the end of the log");
  command->add_option("--at-line", arguments->at_line, "with --explain: the state after this line");
  command
      ->add_option("--against", arguments->against,
                   "another log of the same work: say per workload which started earlier or later, and why")
      ->excludes("--explain")
      ->excludes("--audit");
  command->add_option("--most", arguments->most, "with --against: how many workloads to explain")
      ->check(CLI::Range(0, 10'000));
  command->footer(
      "A log is written by `berth scheduler --decision-log FILE` and by `berth simulate --log FILE`.\n"
      "Exit codes: 0 the same decisions, 1 a difference (the first one is shown), 2 the log cannot be read.");
  command->callback([arguments, &exit_code] { exit_code = run_replay(*arguments); });
}

}  // namespace berth::cli

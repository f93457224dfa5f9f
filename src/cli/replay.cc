#include "cli/replay.h"

#include <iostream>
#include <memory>
#include <string>

#include "observe/replay.h"

namespace berth::cli {
namespace {

struct ReplayArguments {
  std::string log;
  bool audit = false;
  std::string explain;
  std::uint32_t at_line = 0;
};

int run_replay(const ReplayArguments& arguments) {
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
                      "the uid of a workload: say why it is where it is, at the end of the log");
  command->add_option("--at-line", arguments->at_line, "with --explain: as things were after this line");
  command->footer(
      "A log is written by `berth scheduler --decision-log FILE` and by `berth simulate --log FILE`.\n"
      "Exit codes: 0 the same decisions, 1 a difference (the first one is shown), 2 the log cannot be read.");
  command->callback([arguments, &exit_code] { exit_code = run_replay(*arguments); });
}

}  // namespace berth::cli

#include "cli/program.h"

#include <ostream>
#include <string_view>
#include <vector>

#include "cli/commands/check.h"
#include "cli/commands/explain.h"
#include "cli/commands/get.h"
#include "cli/commands/log.h"
#include "cli/commands/queue.h"
#include "cli/commands/top.h"
#include "cli/help/completion.h"
#include "cli/help/man.h"
#include "cli/help/suggest.h"
#include "cli/plan.h"
#include "cli/replay.h"
#include "cli/scheduler.h"
#include "cli/simulate.h"
#include "cli/trace.h"
#include "cli/webhook.h"

namespace berth::cli {
namespace {

using Register = void (*)(CLI::App&, int&);

// The commands that are added go under one heading of the help.
void add_group(CLI::App& app, int& exit_code, const std::string& heading,
               std::initializer_list<Register> commands) {
  const auto before = commands_of(app, true).size();
  for (const Register add : commands) add(app, exit_code);
  const auto all = app.get_subcommands([](CLI::App*) { return true; });
  for (std::size_t i = before; i < all.size(); ++i) {
    if (!all[i]->get_group().empty()) all[i]->group(heading);
  }
}

bool is_plugin(std::string_view program) {
  return program.substr(program.rfind('/') + 1) == "kubectl-berth";
}

}  // namespace

void register_commands(CLI::App& app, int& exit_code) {
  add_group(app, exit_code, "Ask a cluster, and change its queues",
            {register_get, register_explain, register_queue, register_top, register_log, register_check});
  add_group(app, exit_code, "Try before you apply",
            {register_plan, register_simulate, register_replay, register_trace});
  add_group(app, exit_code, "Run", {register_scheduler, register_webhook});
  add_group(app, exit_code, "Others", {register_completion, register_man});
  app.footer(
      "Examples:\n  berth get workloads -A --state Pending    # what waits, and why\n"
      "  berth explain team-a/train                # one workload: reasons, and what would help\n"
      "  berth plan --live -f job.yaml             # when a new Job would start\n\n"
      "berth COMMAND --help says more. As kubectl berth it is the same.");
}

int run_program(int argc, char** argv, const std::string& version, std::ostream& err) {
  CLI::App app{"Berth: a scheduler for AI workloads on Kubernetes"};
  app.name(argc > 0 && is_plugin(argv[0]) ? "kubectl berth" : "berth");
  app.require_subcommand(1);
  app.set_version_flag("--version", version);
  int exit_code = 0;
  register_commands(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      const std::string unknown = unknown_word(app, std::vector<std::string>(argv + 1, argv + argc));
      if (!unknown.empty()) {
        err << unknown << "\n";
        return 2;
      }
    }
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  return exit_code;
}

}  // namespace berth::cli

// berth: one binary, one file per subcommand in cli/.
#include <CLI/CLI.hpp>
#include <string>

#include "cli/plan.h"
#include "cli/replay.h"
#include "cli/scheduler.h"
#include "cli/simulate.h"
#include "cli/trace.h"
#include "cli/webhook.h"

namespace berth {

extern const char* const kCommit;  // of the source; empty where it is not known (cmake/commit.cmake)

namespace {
std::string version() {
  const std::string commit = kCommit;
  return std::string("berth ") + BERTH_VERSION + (commit.empty() ? "" : " (commit " + commit + ")");
}
}  // namespace

}  // namespace berth

int main(int argc, char** argv) {
  CLI::App app{"Berth: a scheduler for AI workloads on Kubernetes"};
  app.require_subcommand(1);
  app.set_version_flag("--version", berth::version());
  int exit_code = 0;
  berth::cli::register_plan(app, exit_code);
  berth::cli::register_simulate(app, exit_code);
  berth::cli::register_scheduler(app, exit_code);
  berth::cli::register_webhook(app, exit_code);
  berth::cli::register_replay(app, exit_code);
  berth::cli::register_trace(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  return exit_code;
}

// berth: one binary, one file per subcommand in cli/.
#include <iostream>
#include <string>

#include "cli/program.h"

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
  return berth::cli::run_program(argc, argv, berth::version(), std::cerr);
}

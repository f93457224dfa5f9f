// `berth check`: whether Berth can work on a cluster. Versions that are served, rights, kinds that are missing, other schedulers that
// would decide about the same pods; each with the fix. `berth scheduler` asks the same about rights and kinds when it starts, and logs what
// is wrong.
//
// It only reads. Bounds: those of a snapshot (scheduler/read/snapshot.h), for the pods.
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/enums.h"
#include "base/result.h"
#include "base/time.h"
#include "cli/ask/cluster.h"
#include "scheduler/loop/rights_told.h"

namespace berth::cli {

enum class Level : std::uint8_t { kOk, kNote, kWarning, kError };

}  // namespace berth::cli
template <>
struct berth::EnumNames<berth::cli::Level> {
  static constexpr std::array names{"ok"sv, "note"sv, "warning"sv, "error"sv};
};

namespace berth::cli {

struct Finding {
  Level level = Level::kOk;
  std::string subject;  // "rights", "kinds", ...
  std::string text;
  std::string fix;  // "": there is nothing to do
};

struct CheckOptions {
  ClusterFlags cluster;
  std::string service_account;  // NAMESPACE/NAME whose rights are asked for; "": the user's own
  std::vector<std::string> scheduler_names{"berth"};
  scheduler::RightsOf rights;  // the settings of the scheduler
  bool strict = false;         // warnings count as errors
  bool json = false;
};

// Versions, kinds and rights: what a scheduler that starts asks. The cost is two requests, and one for each right.
std::vector<Finding> check_start(kube::Transport& transport, const CheckOptions& options);
// The same, and other schedulers.
std::vector<Finding> check_all(kube::Transport& transport, const CheckOptions& options, TimeMs now);

// A version of Kubernetes as its server says it.
Finding check_version(int major, int minor, const std::string& words);
// The leases of Kueue and of the schedulers, as lists of the API server.
std::vector<Finding> check_leases(const std::vector<std::string>& lists, const CheckOptions& options,
                                  TimeMs now);

std::string to_text(const std::vector<Finding>& findings);
std::string to_json(const std::vector<Finding>& findings);
// 0, or 1 where something is wrong.
int code_of(const std::vector<Finding>& findings, bool strict);

int run_check(const CheckOptions& options, std::ostream& out, std::ostream& err);

void register_check(CLI::App& app, int& exit_code);

}  // namespace berth::cli

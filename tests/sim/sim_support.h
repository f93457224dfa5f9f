// Helpers of the simulator's tests: files in a folder that goes away, and the traces where they are present.
#pragma once

#include <string>

#include "base/result.h"
#include "sim/experiment/simulate.h"
#include "sim/scenario/scenario.h"

namespace berth::sim {

// The first line of a Berth trace.
inline constexpr const char* kTraceHeader = "{\"kind\":\"berth-trace\",\"version\":1}\n";

// A folder that is removed with its contents.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  // Writes a file and gives its path.
  std::string file(const std::string& name, const std::string& content) const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::string read_text(const std::string& path);
std::string source_path(const std::string& below);

// The folder of the real traces ($BERTH_TRACES, or shared/traces beside the checkout); "" where they are not
// here.
std::string traces_folder();

// The metric's value in thousandths; fails the test where there is none.
std::int64_t metric_of(const SimulateResult& result, const std::string& name);

// The inputs and the outcome of a replay.
struct Replayed {
  Input input;
  Outcome outcome;
};
// Replays a scenario; the engine is audited after every moment.
Result<Replayed> replay_of(const std::string& yaml, const std::string& folder, std::uint64_t seed = 1);
// Fails the test where there is none.
const JobOutcome& job_of(const Replayed& run, const std::string& name);

// The message of a failed scenario, "" where it went through.
std::string error_of(const std::string& yaml, const std::string& folder);

}  // namespace berth::sim

// Skips, with a message that cannot be overlooked.
#define BERTH_NEEDS_TRACES()                                                                   \
  if (::berth::sim::traces_folder().empty()) {                                                 \
    GTEST_SKIP() << "the real traces are not here: set BERTH_TRACES to the folder that holds " \
                    "openb_2023 and philly_2017; published results were NOT checked";          \
  }

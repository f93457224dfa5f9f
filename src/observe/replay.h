// Feeds a decision log to a fresh engine and compares the output, byte for byte. It proves that decisions depend on the log alone,
// and shows decisions of another machine again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "observe/decision_log.h"

namespace berth::observe {

// The first line that came out otherwise.
struct ReplayDifference {
  std::uint32_t line = 0;
  std::string expected;  // the line of the log
  std::string got;       // the line that this engine gives

  // "line 12: at byte 40: expected ..., got ...", cut around the first byte that differs.
  std::string str() const;
};

struct ReplayReport {
  std::int64_t sessions = 0;
  std::int64_t events = 0;
  std::int64_t refused = 0;  // of the events
  std::int64_t decide_calls = 0;
  std::int64_t decisions = 0;
  std::uint32_t unfinished_line = 0;           // a last line that a crash cut short; 0 = none
  std::string end;                             // why the recorder stopped; "" = it does not say
  std::optional<ReplayDifference> difference;  // replay stops there

  bool same() const { return !difference.has_value(); }
};

struct ReplayOptions {
  bool audit = false;  // Engine::audit() after every decide(): a failure is an error
  // Called after each line with the engine as it is then, to find a moment in the past.
  std::function<void(const engine::Engine&, const LogLine&, std::uint32_t line)> look;
  // Called once with the engine as the last line left it: the log's last, or the first that came out otherwise.
  std::function<void(const engine::Engine&, const ReplayReport&)> at_end;
};

// Errors: the log cannot be read or is wrong, or an audit failed. A difference is no error but part of the
// report.
Result<ReplayReport> replay(LogReader& reader, const ReplayOptions& options = {});
// The log in a file ("-" = standard input), compressed or not.
Result<ReplayReport> replay_file(const std::string& path, const ReplayOptions& options = {});

}  // namespace berth::observe

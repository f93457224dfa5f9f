// The decision log: everything that went into an engine and everything that came out, as JSON lines. A log
// can be replayed (observe/replay.h) on another machine and gives the same bytes.
//
// Format, version 1. One JSON object per line, each line ended by "\n":
//   {"format":"berth-decision-log","version":1,"engine":{...}}       a session begins: a fresh engine with
//   this configuration
//   {"e":"node","node":{...}}                                        an event (observe/codec.h)
//   {"e":"workload","workload":{...},"refused":"..."}                an event that the engine refused, and
//   why
//   {"decide":60000,"decisions":[{...}]}                             decide(60000) and its decisions; no list
//   = none
//   {"end":"..."}                                                    recording ended here on purpose, and why
// The first line is a session's; more sessions may follow (restarts of a process that appends to one file).
//
// Append-safe: lines are handed to the system whole and in order, so that a crash leaves at most one
// unfinished last line. Readers name it and stop in front of it; a writer that appends cuts it off first.
// The live loop flushes once a second: a process that is killed loses up to a second of its log.
// Bounded: the writer keeps at most its buffer in memory, the reader one line (16 MiB).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/checked.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/engine.h"
#include "model/decision.h"
#include "model/event.h"
#include "text/source.h"

namespace berth::observe {

inline constexpr std::string_view kLogFormat = "berth-decision-log";
inline constexpr std::int64_t kLogVersion = 1;
inline constexpr std::size_t kMostLogLineBytes = std::size_t{16} << 20;

struct LogSession {
  engine::EngineConfig engine;
};
struct LogEvent {
  Event event;
  std::string refused;  // "" = the engine took it
};
struct LogDecide {
  TimeMs now = 0;
  std::vector<Decision> decisions;
};
struct LogEnd {
  std::string why;
};
using LogLine = std::variant<LogSession, LogEvent, LogDecide, LogEnd>;

// The lines as text, without their ends. Each appends.
void append_session_line(std::string& out, const engine::EngineConfig& config);
void append_event_line(std::string& out, const Event& event, std::string_view refused = {});
void append_decide_line(std::string& out, TimeMs now, std::span<const Decision> decisions);
void append_end_line(std::string& out, std::string_view why);
// Reads one line; the first line of a log must be a session's, which is the caller's to check.
Result<LogLine> parse_log_line(std::string_view line, const std::string& file, std::uint32_t number);

enum class LogCompression : std::uint8_t { kNone, kGzip, kZstd };

struct LogOptions {
  LogCompression compression = LogCompression::kNone;
  std::size_t buffer_bytes = std::size_t{1} << 20;
  // Bytes of lines (before compression) after which recording ends with an "end" line; what was written can
  // be replayed.
  std::int64_t most_bytes = kInt64Max;
};

// Writes lines to a file. A plain file that exists is appended to; a compressed one must not exist or be
// empty. Not thread-safe. After an error every further call gives the same error and writes nothing.
class LogWriter {
 public:
  static Result<LogWriter> open(const std::string& path, const LogOptions& options = {});
  LogWriter(LogWriter&&) noexcept;
  LogWriter& operator=(LogWriter&&) noexcept;
  ~LogWriter();  // closes; an error is lost, so call close()

  // Takes a line without its end.
  Status write(std::string_view line);
  // Hands everything to the system (a compressed stream can be read up to here).
  Status flush();
  Status close();
  // Bytes of lines taken, and whether most_bytes was reached.
  std::int64_t bytes() const;
  bool ended() const;

 private:
  struct Impl;
  explicit LogWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Whether a text that begins so is a decision log: its first line names the format. A kibibyte is enough to tell.
bool begins_decision_log(std::string_view beginning);

// Reads a log, compressed or not, line by line.
class LogReader {
 public:
  // "-" is standard input.
  static Result<LogReader> open(const std::string& path);
  static LogReader memory(std::string text, std::string name);
  explicit LogReader(text::ByteSource source) : source_(std::move(source)) {}

  // The next line, or nullopt at the end. A wrong line, and a log that does not begin with a session, are
  // errors.
  Result<std::optional<LogLine>> next();
  // The text of the line that next() gave last, and its number from 1.
  std::string_view raw() const { return raw_; }
  std::uint32_t line() const { return line_; }
  const std::string& file() const { return source_.name(); }
  // After the end: the number of an unfinished last line, 0 where the log is whole.
  std::uint32_t unfinished_line() const { return unfinished_; }

 private:
  // The next line with its end removed; `finished` tells whether it had one.
  Result<std::optional<std::string_view>> next_raw(bool& finished);

  text::ByteSource source_;
  std::string buffer_;
  std::size_t begin_ = 0;
  bool ended_ = false;
  std::string_view raw_;
  std::uint32_t line_ = 0;
  std::uint32_t unfinished_ = 0;
};

}  // namespace berth::observe

// Files of jobs in the forms that Berth reads, and writers of the forms that it writes: what `berth trace` is made of.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/enums.h"
#include "base/result.h"
#include "sim/trace/readers.h"
#include "sim/trace/trace.h"
#include "text/sink.h"

namespace berth::sim {

enum class TraceForm : std::uint8_t { kBerth, kPhilly, kGangs, kSwf, kOpenb, kLog };
}  // namespace berth::sim
namespace berth {
template <>
struct EnumNames<sim::TraceForm> {
  static constexpr std::array names{"berth"sv, "philly"sv, "gangs"sv, "swf"sv, "openb"sv, "log"sv};
};
}  // namespace berth
namespace berth::sim {

// Which form a file has, from its first lines (decompressed). An error where they fit none: it says what was
// seen, and which forms there are. `path` must be a file that can be read twice, not standard input.
Result<TraceForm> detect_form(const std::string& path);

struct TraceFile {
  std::string path;
  TraceForm form = TraceForm::kBerth;
  JobRules rules;
  SwfRules swf;
};
// Reads all jobs into `jobs`, one after the other where it has a sink, and gives the rest.
Result<TraceWorld> read_trace_file(const TraceFile& file, TraceBuilder& jobs);

enum class WrittenForm : std::uint8_t { kBerth, kSwf, kCsv };
}  // namespace berth::sim
namespace berth {
template <>
struct EnumNames<sim::WrittenForm> {
  static constexpr std::array names{"berth"sv, "swf"sv, "csv"sv};
};
}  // namespace berth
namespace berth::sim {

// Writes a trace, a line at a time.
//   berth  everything (docs/traces.md); jobs in any order
//   swf    whole GPUs as processors; jobs in order of submission, none before 0
//   csv    job_id,submit_s,gpus,duration_s,vc; jobs in any order
// What a form cannot hold is counted (losses()), and jobs that it cannot hold at all are left out.
class TraceWriter {
 public:
  static Result<TraceWriter> open(const std::string& path, WrittenForm form);

  // Nodes and queues; swf and csv have no place for them, and count them as losses.
  Status world(const TraceWorld& world);
  Status job(const Job& job, const Trace& tables);
  Status commit() { return sink_.commit(); }

  std::int64_t jobs() const { return jobs_; }
  // "shares of a GPU written as whole ones" -> how many jobs
  const std::map<std::string, std::int64_t, std::less<>>& losses() const { return losses_; }

 private:
  TraceWriter(text::ByteSink sink, std::string path, WrittenForm form)
      : sink_(std::move(sink)), path_(std::move(path)), form_(form) {}
  Status line();
  Status berth_job(const Job& job, const Trace& tables);
  Status swf_job(const Job& job, const Trace& tables);
  Status csv_job(const Job& job, const Trace& tables);
  // Whole GPUs of a job, counting what is lost; 0: it cannot be written.
  std::int64_t whole_gpus(const Job& job, const Trace& tables);

  text::ByteSink sink_;
  std::string path_;
  WrittenForm form_;
  std::string line_;
  std::vector<std::string> shapes_;      // as text, per shape; "" = not met yet
  std::vector<std::int64_t> queue_ids_;  // swf: per queue; 0 = not met yet
  std::int64_t queues_ = 0;
  TimeMs last_submit_ = kInt64Min;
  std::int64_t jobs_ = 0;
  std::map<std::string, std::int64_t, std::less<>> losses_;
};

}  // namespace berth::sim

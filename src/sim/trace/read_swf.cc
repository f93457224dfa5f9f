// The Standard Workload Format, version 2.2 (Feitelson et al., Parallel Workloads Archive): 18 numbers per
// line, separated by blanks; -1 where a log does not say; lines that begin with ';' are comments, of which the
// first ones describe the machine ("; MaxNodes: 64").
#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "base/checked.h"
#include "sim/trace/readers.h"
#include "text/decimal.h"
#include "text/quantity.h"
#include "text/source.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMostSeconds = kMostTime / kSecond;
constexpr std::int64_t kMostProcessors = 10'000'000;
constexpr std::size_t kMostCommentLines = 100'000;

// Fields of a line, from 0.
enum SwfField : std::size_t {
  kNumber,
  kSubmit,
  kWait,
  kRun,
  kAllocated,
  kCpuTime,
  kMemory,
  kRequested,
  kRequestedTime,
  kRequestedMemory,
  kStatus,
  kUser,
  kGroup,
  kExecutable,
  kQueue,
  kPartition,
  kPreceding,
  kThink,
  kSwfFields,
};
constexpr std::array<std::string_view, kSwfFields> kFieldNames{"job number",
                                                               "submit time",
                                                               "wait time",
                                                               "run time",
                                                               "allocated processors",
                                                               "CPU time",
                                                               "used memory",
                                                               "requested processors",
                                                               "requested time",
                                                               "requested memory",
                                                               "status",
                                                               "user",
                                                               "group",
                                                               "executable",
                                                               "queue",
                                                               "partition",
                                                               "preceding job",
                                                               "think time"};

struct SwfLine {
  std::array<std::string_view, kSwfFields> text;
  std::array<std::uint32_t, kSwfFields> column{};
  SourcePlace place;

  tl::unexpected<Error> error(SwfField field, std::string_view message) const {
    SourcePlace at = place;
    at.column = column[field];
    return fail_at(at, "field {} ({}): {}, not '{}'", static_cast<int>(field) + 1, kFieldNames[field],
                   message, text[field].substr(0, 40));
  }
  // -1 = unknown.
  Result<std::int64_t> integer(SwfField field, std::int64_t most) const {
    const std::string_view digits = text[field];
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (code != std::errc() || end != digits.data() + digits.size() || value < -1 || value > most) {
      return error(field, fmt::format("must be a whole number from 0 to {}, or -1 for unknown", most));
    }
    return value;
  }
  // Milliseconds; kNotSaid = unknown. The format allows fractions of a second.
  Result<std::int64_t> seconds(SwfField field) const {
    const auto ms = parse_seconds(text[field]);
    if (text[field] == "-1") return kNotSaid;
    if (!ms || *ms < 0) {
      return error(field,
                   "must be seconds, not negative and with at most three digits after the point, or -1 "
                   "for unknown");
    }
    return *ms;
  }
};

// Splits a line; its fields are views into it.
Status split(std::string_view line, SwfLine& out) {
  std::size_t at = 0;
  std::size_t fields = 0;
  for (;;) {
    at = line.find_first_not_of(" \t", at);
    if (at == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    if (fields == kSwfFields) return fail_at(out.place, "more than 18 fields; this is no line of SWF");
    out.text[fields] = line.substr(at, end - at);
    out.column[fields++] = static_cast<std::uint32_t>(at + 1);
    at = end;
  }
  if (fields != kSwfFields) {
    return fail_at(out.place,
                   "{} fields; a line of the Standard Workload Format has 18, -1 where one is unknown",
                   fields);
  }
  return {};
}

// "; MaxNodes: 64" -> {"MaxNodes", "64"}
void read_comment(std::string_view line, SwfHeader& header) {
  const std::size_t name = line.find_first_not_of("; \t");
  if (name == std::string_view::npos) return;
  const std::size_t colon = line.find(':', name);
  if (colon == std::string_view::npos) return;
  const std::string_view key = line.substr(name, colon - name);
  std::string_view value = line.substr(colon + 1);
  const std::size_t begin = value.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return;
  value = value.substr(begin, value.find_last_not_of(" \t") - begin + 1);
  const auto number = [&]() -> std::optional<std::int64_t> {
    std::int64_t n = 0;
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), n);
    // A remark may follow the number.
    const bool whole = end == value.data() + value.size() || *end == ' ' || *end == '\t';
    return code == std::errc() && whole && n >= 0 ? std::optional(n) : std::nullopt;
  };
  if (key == "MaxNodes") header.max_nodes = number();
  if (key == "MaxProcs") header.max_processors = number();
  if (key == "MaxJobs") header.max_jobs = number();
  if (key == "UnixStartTime") header.unix_start_s = number();
  if (key == "Computer") header.computer = value;
}

// Calls visit(SwfLine&) for every job line, and fills `header` from the comments. Status.
template <class Visit>
Status each_line(const std::string& path, SwfHeader& header, Visit&& visit) {
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path));
  text::LineReader lines(source, std::size_t{1} << 16);
  std::size_t comments = 0;
  for (;;) {
    BERTH_ASSIGN(const auto line, lines.next());
    if (!line) return {};
    const std::size_t first = line->find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    if ((*line)[first] == ';') {
      if (++comments <= kMostCommentLines) read_comment(*line, header);
      continue;
    }
    SwfLine parsed;
    parsed.place = {path, lines.line(), 0};
    BERTH_TRY(split(*line, parsed));
    BERTH_ASSIGN(const bool more, visit(parsed));
    if (!more) return {};
  }
}

}  // namespace

std::optional<std::int64_t> parse_seconds(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.-") != std::string_view::npos) return std::nullopt;
  const auto value = text::parse_quantity_exact(text, kSecond);
  if (!value || !value->exact || value->value > kMostSeconds * kSecond ||
      value->value < -kMostSeconds * kSecond) {
    return std::nullopt;
  }
  return value->value;
}

Status read_swf_jobs(const std::string& path, const SwfRules& swf, const JobRules& rules, TraceBuilder& out) {
  SwfHeader header;
  const std::uint32_t restart = out.restart(rules.restart);
  return each_line(path, header, [&](const SwfLine& line) -> Result<bool> {
    BERTH_ASSIGN(const std::int64_t status, line.integer(kStatus, 5));
    BERTH_ASSIGN(const std::int64_t submit, line.seconds(kSubmit));
    if (submit == kNotSaid) return line.error(kSubmit, "must be known");
    BERTH_ASSIGN(const std::int64_t run, line.seconds(kRun));
    BERTH_ASSIGN(std::int64_t processors, line.integer(kAllocated, kMostProcessors));
    BERTH_ASSIGN(const std::int64_t requested, line.integer(kRequested, kMostProcessors));
    BERTH_ASSIGN(const std::int64_t expected, line.seconds(kRequestedTime));
    BERTH_ASSIGN(const std::int64_t preceding, line.integer(kPreceding, kInt64Max));
    constexpr std::int64_t kFirstPartial = 2;
    constexpr std::int64_t kLastPartial = 4;
    if (status >= kFirstPartial && status <= kLastPartial) {
      out.leave_out("a line for a part of a job whose whole stands on another line (status 2, 3, 4)");
      return true;
    }
    if (run == kNotSaid) {
      out.leave_out("no run time (cancelled before they began, or not known)");
      return true;
    }
    if (processors <= 0) processors = requested;
    if (processors <= 0) {
      out.leave_out("no number of processors");
      return true;
    }
    if (preceding > 0) out.remark("wait for another job in the trace; such dependencies are ignored");
    Job job;
    job.name = line.text[kNumber];
    job.submit = submit;
    job.duration = run;
    job.expected = expected;
    job.priority = rules.priority;
    job.restart = restart;
    if (rules.processors == Processors::kGpus) {
      BERTH_ASSIGN(job.shape, gang_shape(processors, rules, out));
    } else {
      BERTH_ASSIGN(job.shape, out.shape(fmt::format("cpus {} {}", processors, shape_rules_key(rules)),
                                        [&] { return cpu_gang_of(processors, rules); }));
    }
    constexpr SwfField kTenantFields[] = {kQueue, kUser, kGroup, kPartition};
    const SwfField field = kTenantFields[static_cast<std::size_t>(swf.tenant)];
    BERTH_ASSIGN(const std::int64_t tenant, line.integer(field, kInt64Max));
    std::string queue;
    if (tenant >= 0) queue = fmt::format("{}-{}", kFieldNames[field], tenant);
    BERTH_TRY(out.add(std::move(job), queue, rules, line.place));
    return true;
  });
}

Result<SwfHeader> read_swf_header(const std::string& path) {
  SwfHeader header;
  BERTH_TRY(each_line(path, header, [](const SwfLine&) -> Result<bool> { return false; }));
  return header;
}

Result<std::vector<Node>> read_swf_nodes(const std::string& path, Processors processors, NodeShape shape) {
  BERTH_ASSIGN(const SwfHeader header, read_swf_header(path));
  const SourcePlace place{path, 0, 0};
  if (!header.max_processors && !header.max_nodes) {
    return fail_at(place,
                   "has neither '; MaxNodes: N' nor '; MaxProcs: N' among its first comments; describe the "
                   "nodes with kind: shape");
  }
  const std::int64_t nodes = header.max_nodes.value_or(*header.max_processors);
  const std::int64_t all = header.max_processors.value_or(nodes);
  if (nodes < 1 || nodes > kMostNodes || all < nodes) {
    return fail_at(place,
                   "MaxNodes {} and MaxProcs {} describe no machine; describe the nodes with kind: shape",
                   nodes, all);
  }
  const std::int64_t each = all / nodes;
  if (all % nodes != 0) {
    return fail_at(place,
                   "MaxProcs {} is not a multiple of MaxNodes {}: the nodes differ; describe them with kind: "
                   "shape",
                   all, nodes);
  }
  if (processors == Processors::kGpus) {
    if (each > 64) {
      return fail_at(place, "{} processors per node are too many GPUs; say processors: cpu", each);
    }
    shape.gpus = each;
  } else {
    shape.gpus = 0;
    shape.cpu_milli = each * 1000;
  }
  return make_nodes(shape, nodes);
}

}  // namespace berth::sim

// Lists of gangs as published with Alibaba's Lingjun trace, and lists of hosts with the switches above them.
#include <set>
#include <utility>

#include "base/checked.h"
#include "sim/trace/readers.h"
#include "text/csv.h"
#include "text/source.h"

namespace berth::sim {
namespace {

// One column under any of its names.
struct GangColumn {
  std::string_view what;
  std::vector<std::string> names;
  bool required = true;
};

const std::vector<GangColumn>& gang_columns() {
  static const std::vector<GangColumn> kColumns{
      {"submission", {"submit_s", "submit", "arrival time (sec)"}, true},
      {"GPUs", {"gpus", "size"}, true},
      {"run time", {"duration_s", "duration", "duration (sec)"}, true},
      {"name", {"job_id", "#job id", "job id"}, false},
      {"tenant", {"vc", "tenant", "queue"}, false},
  };
  return kColumns;
}

}  // namespace

Result<std::int64_t> csv_seconds(const text::CsvReader& csv, std::size_t column) {
  const auto ms = parse_seconds(csv.field(column));
  if (!ms) {
    return csv.error(column,
                     fmt::format("must be seconds with at most three digits after the point, not '{}'",
                                 csv.field(column).substr(0, 40)));
  }
  return *ms;
}

Status read_gangs(const std::string& path, const JobRules& rules, TraceBuilder& out) {
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path));
  std::vector<std::string> names;
  for (const GangColumn& column : gang_columns()) {
    names.insert(names.end(), column.names.begin(), column.names.end());
  }
  BERTH_ASSIGN(text::CsvReader csv, text::CsvReader::open(source, {}, names));
  constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  std::vector<std::size_t> where;
  std::size_t first = 0;
  for (const GangColumn& column : gang_columns()) {
    std::size_t found = kAbsent;
    for (std::size_t i = column.names.size(); i > 0; --i) {
      if (csv.has(first + i - 1)) found = first + i - 1;
    }
    if (found == kAbsent && column.required) {
      return fail_at({path, 1, 0}, "there is no column for the {}; name it '{}'", column.what,
                     fmt::join(column.names, "' or '"));
    }
    where.push_back(found);
    first += column.names.size();
  }
  const std::uint32_t restart = out.restart(rules.restart);
  for (std::int64_t number = 0;; ++number) {
    BERTH_ASSIGN(const bool more, csv.next());
    if (!more) return {};
    Job job;
    BERTH_ASSIGN(job.submit, csv_seconds(csv, where[0]));
    BERTH_ASSIGN(const std::int64_t gpus, csv.integer(where[1], 1, 1'000'000));
    BERTH_ASSIGN(job.duration, csv_seconds(csv, where[2]));
    if (job.duration < 0) return csv.error(where[2], "must not be negative");
    job.name = where[3] == kAbsent ? std::to_string(number) : std::string(csv.field(where[3]));
    if (job.name.empty()) return csv.error(where[3], "must not be empty");
    job.priority = rules.priority;
    job.restart = restart;
    BERTH_ASSIGN(job.shape, gang_shape(gpus, rules, out));
    const std::string_view tenant = where[4] == kAbsent ? std::string_view() : csv.field(where[4]);
    BERTH_TRY(out.add(std::move(job), tenant, rules, {path, csv.line(), 0}));
  }
}

Result<Fleet> read_hosts(const std::string& path, const HostColumns& columns, const NodeShape& shape) {
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path, {kMostWorldBytes}));
  std::vector<std::string> required{columns.host};
  for (const HostLevel& level : columns.levels) required.push_back(level.column);
  BERTH_ASSIGN(text::CsvReader csv, text::CsvReader::open(source, required));
  Fleet fleet;
  fleet.topology = Topology{columns.topology, {}};
  for (const HostLevel& level : columns.levels) fleet.topology->levels.push_back(level.label);
  fleet.topology->levels.emplace_back(kHostLabel);
  std::set<std::string, std::less<>> seen;
  for (;;) {
    BERTH_ASSIGN(const bool more, csv.next());
    if (!more) return fleet;
    const std::string_view name = csv.field(0);
    if (name.empty()) return csv.error(0, "must not be empty");
    if (!seen.emplace(name).second) return csv.error(0, "this host stood above already");
    if (static_cast<std::int64_t>(seen.size()) > kMostNodes) {
      return fail_at({path, csv.line(), 0}, "more than {} hosts", kMostNodes);
    }
    Node node = make_node(std::string(name), shape);
    // A switch may be called the same in two groups: its value names the way to it.
    std::string value;
    for (std::size_t i = 0; i < columns.levels.size(); ++i) {
      if (csv.field(i + 1).empty()) return csv.error(i + 1, "must not be empty");
      if (!value.empty()) value += '.';
      value += csv.field(i + 1);
      node.labels[columns.levels[i].label] = value;
    }
    fleet.nodes.push_back(std::move(node));
  }
}

}  // namespace berth::sim

// Philly-style job lists, machine lists and tenant sizes.
#include <set>
#include <utility>

#include "base/checked.h"
#include "sim/trace/readers.h"
#include "text/csv.h"
#include "text/source.h"

namespace berth::sim {

Status read_philly_jobs(const std::string& path, const JobRules& rules, TraceBuilder& out) {
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path));
  BERTH_ASSIGN(text::CsvReader csv,
               text::CsvReader::open(source, {"job_id", "submit_s", "gpus", "duration_s"}, {"vc"}));
  const std::uint32_t restart = out.restart(rules.restart);
  for (;;) {
    BERTH_ASSIGN(const bool more, csv.next());
    if (!more) return {};
    Job job;
    job.name = csv.field(0);
    if (job.name.empty()) return csv.error(0, "must not be empty");
    BERTH_ASSIGN(job.submit, csv_seconds(csv, 1));
    BERTH_ASSIGN(const std::int64_t gpus, csv.integer(2, 1, 1'000'000));
    BERTH_ASSIGN(job.duration, csv_seconds(csv, 3));
    if (job.duration < 0) return csv.error(3, "must not be negative");
    job.priority = rules.priority;
    job.restart = restart;
    BERTH_ASSIGN(job.shape, gang_shape(gpus, rules, out));
    BERTH_TRY(out.add(std::move(job), csv.field(4), rules, {path, csv.line(), 0}));
  }
}

Result<std::vector<Node>> read_machines(const std::string& path, const NodeShape& shape,
                                        std::int64_t least_gpus) {
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path, {kMostWorldBytes}));
  BERTH_ASSIGN(text::CsvReader csv, text::CsvReader::open(source, {"machine_id", "gpus"}));
  std::vector<Node> nodes;
  std::set<std::string, std::less<>> seen;
  for (;;) {
    BERTH_ASSIGN(const bool more, csv.next());
    if (!more) return nodes;
    if (csv.field(0).empty()) return csv.error(0, "must not be empty");
    if (!seen.emplace(csv.field(0)).second) return csv.error(0, "this machine stood above already");
    if (static_cast<std::int64_t>(seen.size()) > kMostNodes) {
      return fail_at({path, csv.line(), 0}, "more than {} machines", kMostNodes);
    }
    NodeShape machine = shape;
    BERTH_ASSIGN(machine.gpus, csv.integer(1, 0, 64));
    if (machine.gpus < least_gpus) continue;
    nodes.push_back(make_node(std::string(csv.field(0)), machine));
  }
}

Result<std::vector<std::pair<std::string, std::int64_t>>> read_tenant_nodes(const std::string& path) {
  BERTH_ASSIGN(text::ByteSource source, text::ByteSource::open(path, {kMostWorldBytes}));
  BERTH_ASSIGN(text::CsvReader csv, text::CsvReader::open(source, {"vc", "nodes_of_8_gpus"}));
  std::vector<std::pair<std::string, std::int64_t>> tenants;
  std::set<std::string, std::less<>> seen;
  for (;;) {
    BERTH_ASSIGN(const bool more, csv.next());
    if (!more) return tenants;
    if (csv.field(0).empty()) return csv.error(0, "must not be empty");
    if (!seen.emplace(csv.field(0)).second) return csv.error(0, "this tenant stood above already");
    if (seen.size() > 100'000) return fail_at({path, csv.line(), 0}, "more than 100,000 tenants");
    BERTH_ASSIGN(const std::int64_t nodes, csv.integer(1, 0, kMostNodes));
    tenants.emplace_back(csv.field(0), nodes);
  }
}

}  // namespace berth::sim

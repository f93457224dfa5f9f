#include "sim/service/service_fields.h"

#include <utility>

#include "base/samplers.h"
#include "sim/trace/queue_fields.h"
#include "sim/trace/runtime_fields.h"
#include "sim/trace/trace.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMostReplicas = 1'000'000;
constexpr std::int64_t kMostRate = 1'000'000'000'000;  // thousandths of a request per second

void read_load(text::Fields& f, const std::function<std::string(text::Fields&, std::string_view)>& path,
               LoadSource& out) {
  out.place = f.document().place(f.node());
  out.form = enum_or(f, "form", LoadForm::kCsv);
  const bool daily = out.form == LoadForm::kDaily;
  const bool binned = daily || out.form == LoadForm::kRequests;
  if (!daily) out.path = path(f, "path");
  if (daily) {
    out.low_milli = decimal_or(f, "low", 0);
    out.high_milli = decimal_or(f, "high", 0);
    out.noise_milli = share_or(f, "noise", 0);
    if (f.ok() && (out.high_milli < out.low_milli || out.high_milli == 0 || out.high_milli > kMostRate)) {
      f.error("high",
              "must be above 0, not below low, and at most 1000000000: requests per second in the afternoon");
    }
  } else {
    out.repeat = f.duration_or("repeat", 0, kMinute, kMostTime);
  }
  if (out.form == LoadForm::kRequests) out.column = f.string_or("column", out.column);
  if (binned) out.bin = f.duration_or("bin", daily ? 5 * kMinute : kMinute, kSecond, 24 * kHour);
  out.scale_milli = decimal_or(f, "scale", 1000);
}

}  // namespace

ServiceSource read_service(text::Fields& f,
                           const std::function<std::string(text::Fields&, std::string_view)>& path) {
  ServiceSource out;
  out.place = f.document().place(f.node());
  Service& spec = out.spec;
  spec.name = f.string("name");
  spec.queue = f.string("queue");
  spec.priority = f.integer_or("priority", 0, -2'000'000'000, 2'000'000'000);
  spec.preemptible = f.boolean_or("preemptible", true);
  spec.pod = read_pod(f);
  for (const DeviceRequest& request : spec.pod.claim.requests) spec.gpu_milli += request.total();
  ReplicaRule& rule = spec.rule;
  rule.per_replica_milli = decimal_or(f, "requests_per_replica", 0);
  if (f.ok() && (rule.per_replica_milli < 1 || rule.per_replica_milli > kMostRate)) {
    f.error("requests_per_replica", "must be above 0: the requests per second that one replica serves");
  }
  rule.headroom_milli = decimal_or(f, "headroom", 0);
  if (rule.headroom_milli > 1'000'000) f.error("headroom", "must be at most 1000 times the load");
  rule.min = f.integer_or("min", 1, 1, kMostReplicas);
  rule.max = f.integer("max", 1, kMostReplicas);
  if (f.ok() && rule.max < rule.min) f.error("max", "must not be below min");
  rule.up_delay = f.duration_or("up_delay", 0, 0, kMostCost);
  rule.down_delay = f.duration_or("down_delay", 5 * kMinute, 0, kMostCost);
  spec.restart.grace = f.duration_or("grace", 0, 0, kMostCost);
  read_start_costs(f, spec.costs, out.image);
  out.from = f.duration_or("from", 0, -kMostTime, kMostTime);
  spec.end = saturating_add(out.from, f.duration("for", kMinute, kMostTime));
  if (text::Fields load = f.child("load"); load) {
    read_load(load, path, out.load);
    (void)load.done();
  }
  return out;
}

Result<Service> make_service(const ServiceSource& source, std::uint64_t seed) {
  Service out = source.spec;
  BERTH_ASSIGN(out.load, load_points(source.load, source.from, out.end, derived_seed(seed, out.name)));
  out.plan = replica_steps(out.rule, out.load, out.end);
  Workload probe;
  probe.uid = probe.name = probe.queue = "probe";
  PodSet replicas;
  replicas.pod = out.pod;
  replicas.count = out.rule.max;
  probe.root.pod_sets.push_back(std::move(replicas));
  if (const auto fine = check(probe); !fine) return fail_at(source.place, "{}", fine.error().message);
  return out;
}

}  // namespace berth::sim

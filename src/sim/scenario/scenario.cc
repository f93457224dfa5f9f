#include "sim/scenario/scenario.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/checked.h"
#include "base/samplers.h"
#include "sim/trace/queue_fields.h"
#include "sim/trace/runtime_fields.h"
#include "text/edit.h"
#include "text/fields.h"
#include "text/quantity.h"
#include "text/source.h"
#include "text/time.h"

namespace berth::sim {
namespace {

namespace fs = std::filesystem;

constexpr text::Choice<ClusterKind> kClusterKinds[] = {
    {"shape", ClusterKind::kShape},       {"openb", ClusterKind::kOpenb},
    {"machines", ClusterKind::kMachines}, {"tenant-nodes", ClusterKind::kTenantNodes},
    {"hosts", ClusterKind::kHosts},       {"swf", ClusterKind::kSwf},
    {"berth", ClusterKind::kBerth},       {"generate", ClusterKind::kGenerate}};
constexpr text::Choice<TraceKind> kTraceKinds[] = {
    {"philly", TraceKind::kPhilly}, {"openb", TraceKind::kOpenb}, {"gangs", TraceKind::kGangs},
    {"swf", TraceKind::kSwf},       {"berth", TraceKind::kBerth}, {"generate", TraceKind::kGenerate}};

// Reads one scenario. Errors go to the Fields at hand; done() of the root gives the first.
class Reader {
 public:
  Reader(std::string folder, std::uint64_t seed) : folder_(std::move(folder)), seed_(seed) {}

  const std::vector<SourcePlace>& queue_places() const { return places_; }

  void read(text::Fields& f, Scenario& out) {
    out.name = f.string("name");
    out.description = f.string_or("description");
    out.mode = enum_or(f, "mode", Mode::kReplay);
    out.fill_to_pct = f.integer_or("fill_to", 0, 1, 100'000);
    if (out.fill_to_pct != 0 && out.mode != Mode::kInflation) f.error("fill_to", "is for mode: inflation");
    out.seed = seed_;
    if (f.has("origin")) out.origin_unix_ms = f.time_or("origin", 0);
    f.each("cluster", [&](text::Fields& entry) { out.cluster.push_back(cluster_source(entry)); });
    if (f.ok() && out.cluster.empty()) f.error("cluster", "must list at least one source of nodes");
    f.each("trace", [&](text::Fields& entry) { out.trace.push_back(trace_source(entry, out.mode)); });
    if (f.ok() && out.trace.empty()) f.error("trace", "must list at least one source of jobs");
    f.each("flavors", [&](text::Fields& entry) {
      Flavor flavor;
      flavor.name = entry.string("name");
      flavor.node_labels = labels(entry, "node_labels");
      out.flavors.push_back(std::move(flavor));
    });
    queues(f, out);
    const auto path_key = [this](text::Fields& entry, std::string_view key) { return path(entry, key); };
    f.each("services", [&](text::Fields& entry) { out.services.push_back(read_service(entry, path_key)); });
    if (f.has("services") && out.mode == Mode::kInflation) {
      f.error("services", "have no meaning in mode: inflation, where no time passes");
    }
    f.each("failures", [&](text::Fields& entry) { out.failures.push_back(read_fault_rule(entry)); });
    if (f.has("failures") && out.mode == Mode::kInflation) {
      f.error("failures", "have no meaning in mode: inflation, where no time passes");
    }
    out.engine.placement = engine::kDefaultPlacement;
    if (text::Fields policy = f.optional_child("policy"); policy) {
      out.engine.placement = enum_or(policy, "placement", engine::kDefaultPlacement);
      if (out.engine.placement == Placement::kDefault) {
        policy.error(
            "placement",
            "is itself the default of queues; choose fragmentation, pack, spread, best-fit or first");
      }
      if (policy.has("tiers")) {
        const Tiers tiers = enum_or(policy, "tiers", Tiers::kNone);
        if (!out.queues_from.empty())
          policy.error("tiers", "the queues come from a trace; say it there, for each queue");
        for (Queue& queue : out.queues) queue.ordering.tiers = tiers;
      }
      out.engine.search_steps =
          policy.integer_or("search_steps", out.engine.search_steps, 1, 1'000'000'000'000);
      out.demand = enum_or(policy, "demand_mix", DemandSource::kLive);
      out.passes = enum_or(policy, "passes", Passes::kOne);
      if (out.passes == Passes::kTwo && out.mode == Mode::kInflation)
        policy.error("passes", "two passes are for mode: replay; without quota there is only the second");
      out.engine.ignore_uncovered = policy.boolean_or("ignore_uncovered", true);
      (void)policy.done();
    } else {
      out.engine.ignore_uncovered = true;
    }
    if (text::Fields output = f.optional_child("output"); output) {
      out.gantt_nodes = output.integer_or("gantt_nodes", out.gantt_nodes, 0, 64);
      (void)output.done();
    }
    f.each("expect", [&](text::Fields& entry) { out.expect.push_back(expectation(entry)); });
    if (text::Fields curve = f.optional_child("expect_curve"); curve) {
      CurveExpectation want;
      want.path = path(curve, "path");
      want.list = curve.string("list");
      want.policy = curve.string("policy");
      want.within_pct_milli = decimal_or(curve, "within_points", 50);
      if (out.mode != Mode::kInflation) curve.error("path", "only mode: inflation gives a curve");
      (void)curve.done();
      out.expect_curve = std::move(want);
    }
  }

 private:
  static Labels labels(text::Fields& f, std::string_view key) {
    Labels out;
    for (auto& [name, value] : f.string_map(key)) out.emplace(std::move(name), std::move(value));
    return out;
  }

  std::string expand(text::Fields& f, std::string_view key, const std::string& written) {
    auto expanded = expand_path(written, folder_, seed_);
    if (!expanded) {
      f.error(key, "{}", expanded.error().message);
      return {};
    }
    return *std::move(expanded);
  }
  std::string path(text::Fields& f, std::string_view key) {
    const std::string written = f.string(key);
    return written.empty() ? written : expand(f, key, written);
  }
  std::string path_or_none(text::Fields& f, std::string_view key) { return f.has(key) ? path(f, key) : ""; }

  static void shape(text::Fields& f, NodeShape& shape, bool gpus) {
    if (gpus) shape.gpus = f.integer("gpus", 0, 64);
    shape.gpu_model = f.string_or("gpu_model");
    shape.cpu_milli = f.quantity_or("cpu", 1000, 0);
    shape.memory_bytes = f.quantity_or("memory", 1, 0);
    shape.labels = labels(f, "labels");
  }

  ClusterSource cluster_source(text::Fields& f) {
    ClusterSource source;
    source.place = f.document().place(f.node());
    source.kind = f.choice("kind", kClusterKinds);
    switch (source.kind) {
      case ClusterKind::kShape:
        source.count = f.integer("count", 1, kMostNodes);
        source.shape.name_prefix = f.string_or("name", "node");
        shape(f, source.shape, true);
        break;
      case ClusterKind::kOpenb:
        source.path = path(f, "path");
        source.order = path_or_none(f, "order");
        break;
      case ClusterKind::kMachines:
        source.path = path(f, "path");
        source.least_gpus = f.integer_or("least_gpus", 1, 0, 64);
        shape(f, source.shape, false);
        break;
      case ClusterKind::kTenantNodes:
        source.path = path(f, "path");
        source.tenant_label = f.string("label");
        source.total_nodes = f.integer_or("total_nodes", 0, 0, kMostNodes);
        source.shape.gpus = 8;
        shape(f, source.shape, false);
        break;
      case ClusterKind::kHosts:
        source.path = path(f, "path");
        source.hosts.host = f.string_or("host", source.hosts.host);
        source.hosts.topology = f.string_or("topology", source.hosts.topology);
        if (f.has("levels")) {
          source.hosts.levels.clear();
          f.each("levels", [&](text::Fields& level) {
            source.hosts.levels.push_back({level.string("column"), level.string("label")});
          });
        }
        shape(f, source.shape, true);
        break;
      case ClusterKind::kSwf:
        source.path = path(f, "path");
        source.shape.name_prefix = f.string_or("name", "node");
        source.processors = enum_or(f, "processors", Processors::kGpus);
        shape(f, source.shape, false);
        break;
      case ClusterKind::kBerth:
        source.path = path(f, "path");
        break;
      case ClusterKind::kGenerate:
        source.like = enum_or(f, "like", Likeness::kOpenb);
        source.count = f.integer("count", 1, kMostNodes);
        source.shape.name_prefix = f.string_or("name", "node");
        break;
    }
    return source;
  }

  TraceSource trace_source(text::Fields& f, Mode mode) {
    TraceSource source;
    source.place = f.document().place(f.node());
    source.kind = f.choice("kind", kTraceKinds);
    JobRules& rules = source.rules;
    rules.from = f.duration_or("from", kInt64Min, -kMostTime, kMostTime);
    rules.to = f.duration_or("to", kInt64Max, -kMostTime, kMostTime);
    if (rules.from >= rules.to) f.error("to", "must be later than from");
    rules.max_jobs = f.integer_or("max_jobs", rules.max_jobs, 1, 100'000'000);
    rules.queue = f.string_or("queue");
    rules.no_tenant_queue = f.string_or("no_tenant_queue");
    rules.drop_without_tenant = f.boolean_or("drop_without_tenant", false);
    rules.priority = f.integer_or("priority", 0, -2'000'000'000, 2'000'000'000);
    rules.node_selector = labels(f, "node_selector");
    rules.queue_label = f.string_or("queue_label");
    if (source.kind != TraceKind::kOpenb) {
      rules.gpus_per_task = f.integer_or("gpus_per_task", 8, 1, 64);
      if (text::Fields topology = f.optional_child("topology"); topology) {
        rules.topology.required = topology.string_or("required");
        rules.topology.preferred = topology.string_or("preferred");
        (void)topology.done();
      }
    }
    rules.restart.checkpoint_every = f.duration_or("checkpoint_every", 0, 0, kMostTime);
    rules.restart.overhead = f.duration_or("restart_overhead", 0, 0, kMostTime);
    f.each("restart_overheads", [&](text::Fields& entry) {
      JobRules::Overhead size;
      size.up_to_gpus = entry.integer_or("up_to_gpus", kInt64Max, 0);
      size.overhead = entry.duration("overhead", 0, kMostTime);
      if (!rules.overheads.empty() && rules.overheads.back().up_to_gpus >= size.up_to_gpus) {
        entry.error("up_to_gpus", "must be more than in the entry before, or this entry has no effect");
      }
      rules.overheads.push_back(size);
    });
    rules.restart.grace = f.duration_or("grace", 0, 0, kMostTime);
    const std::uint64_t source_seed = derived_seed(seed_, "source", sources_++);
    read_estimates(f, source_seed, rules.estimate);
    read_start_costs(f, rules.costs, rules.image);
    rules.costs.checkpoint_time = f.duration_or("checkpoint_time", 0, 0, kMostCost);
    rules.costs.resize = f.duration_or("resize_time", 0, 0, kMostCost);
    read_elastic(f, source_seed, rules);
    switch (source.kind) {
      case TraceKind::kSwf:
        source.path = path(f, "path");
        source.swf.tenant = enum_or(f, "tenant", SwfTenant::kQueue);
        rules.processors = enum_or(f, "processors", Processors::kGpus);
        rules.cpus_per_task = f.integer_or("cpus_per_task", rules.cpus_per_task, 1, 100'000);
        break;
      case TraceKind::kPhilly:
      case TraceKind::kGangs:
      case TraceKind::kBerth:
        source.path = path(f, "path");
        break;
      case TraceKind::kOpenb:
        source.path = path(f, "path");
        source.order = path_or_none(f, "order");
        if (!source.order.empty() && mode != Mode::kInflation) {
          f.error("order", "arrival orders are for mode: inflation; leave it out to replay in time");
        }
        break;
      case TraceKind::kGenerate:
        generator(f, source.generator);
        break;
    }
    return source;
  }

  static void generator(text::Fields& f, GeneratorOptions& options) {
    options.like = enum_or(f, "like", Likeness::kPhilly);
    options.jobs = f.integer("jobs", 1, 100'000'000);
    options.span = f.duration_or("span", options.span, kHour, kLongestSpan);
    options.max_gpus = f.integer_or("max_gpus", options.max_gpus, 1, kMostGpus);
    f.each("tenants", [&](text::Fields& entry) {
      TenantWeight tenant;
      tenant.name = entry.string("name");
      tenant.weight = entry.integer_or("weight", 1, 1, 1'000'000);
      options.tenants.push_back(std::move(tenant));
    });
  }

  void queues(text::Fields& f, Scenario& out) {
    const text::Node* node = f.find("queues");
    if (node == nullptr) {
      f.error("queues",
              "is missing; name the queues, for example\nqueues:\n  - name: all\n    unlimited: true");
      return;
    }
    out.queues_place = f.document().place(*node);
    if (node->is_mapping()) {
      text::Fields from = f.child("queues");
      out.queues_from = path(from, "from");
      (void)from.done();
      return;
    }
    const TenantReader tenants =
        [this](const std::string& written) -> Result<std::vector<std::pair<std::string, std::int64_t>>> {
      BERTH_ASSIGN(const std::string expanded, expand_path(written, folder_, seed_));
      return read_tenant_nodes(expanded);
    };
    f.each("queues", [&](text::Fields& entry) { read_queue(entry, {}, tenants, out.queues, &places_); });
  }

  Expectation expectation(text::Fields& f) {
    Expectation want;
    want.place = f.document().place(f.node());
    want.metric = f.string("metric");
    want.value_milli = decimal_or(f, "value", 0);
    if (!f.has("value")) f.error("value", "is missing");
    const text::Node* within = f.find("within");
    if (within == nullptr) {
      f.error("within", "is missing; write a number, or a percentage such as 0.5%");
      return want;
    }
    want.tolerance = std::string(within->text());
    std::string_view text = within->text();
    const bool percent = text.ends_with('%');
    if (percent) text.remove_suffix(1);
    const auto value = text::parse_quantity_exact(text, 1000);
    if (!value || !value->exact || value->value < 0) {
      f.error("within", "must be a number or a percentage that is not negative, such as 0.5%");
      return want;
    }
    want.tolerance_milli =
        percent ? clamp_to_int64(static_cast<Int128>(want.value_milli) * value->value / 100'000)
                : value->value;
    return want;
  }

  std::string folder_;
  std::uint64_t seed_;
  std::vector<SourcePlace> places_;  // of each queue
  std::uint64_t sources_ = 0;        // of jobs, read so far
};

// shared/traces beside a folder above `folder`, or "".
std::string find_traces(const std::string& folder) {
  std::error_code error;
  fs::path at = fs::absolute(folder.empty() ? "." : folder, error);
  if (error) return {};
  for (at = at.lexically_normal();; at = at.parent_path()) {
    const fs::path candidate = at / "shared" / "traces";
    if (fs::is_directory(candidate, error)) return candidate.string();
    if (at == at.parent_path()) return {};
  }
}

Status check_flavors(const Scenario& scenario) {
  for (const Queue& queue : scenario.queues) {
    for (const Quota& quota : queue.quotas) {
      if (quota.flavor == "default") continue;
      if (std::none_of(scenario.flavors.begin(), scenario.flavors.end(),
                       [&](const Flavor& flavor) { return flavor.name == quota.flavor; })) {
        return fail_at(scenario.queues_place,
                       "queue '{}' has quota in flavor '{}', which flavors does not name", queue.name,
                       quota.flavor);
      }
    }
  }
  return {};
}

}  // namespace

Result<std::string> expand_path(const std::string& path, const std::string& folder, std::uint64_t seed) {
  std::string out;
  std::size_t at = 0;
  while (at < path.size()) {
    if (!std::string_view(path).substr(at).starts_with("${")) {
      out += path[at++];
      continue;
    }
    const std::size_t end = path.find('}', at);
    if (end == std::string::npos) {
      return fail(ErrorCode::kInvalid, "'{}' has ${{ without }}", path);
    }
    const std::string name = path.substr(at + 2, end - at - 2);
    at = end + 1;
    if (name == "SEED") {
      out += fmt::format("{}", seed);
      continue;
    }
    // Read before any thread is started; nothing in Berth sets variables.
    if (const char* value = std::getenv(name.c_str()); value != nullptr && *value != '\0') {  // NOLINT
      out += value;
      continue;
    }
    const std::string found = name == "BERTH_TRACES" ? find_traces(folder) : std::string();
    if (found.empty()) {
      return fail(ErrorCode::kInvalid,
                  "the environment variable {} is not set{}; set it, or write the path itself", name,
                  name == "BERTH_TRACES" ? " and no folder shared/traces lies beside the scenario" : "");
    }
    out += found;
  }
  if (out.empty() || out.front() == '/' || out == "-" || folder.empty()) return out;
  return folder + "/" + out;
}

Result<ScenarioChange> make_change(const std::string& path, const std::string& value) {
  BERTH_ASSIGN(const auto steps, text::parse_path(path));
  (void)steps;
  auto parsed = text::parse_document(value, "the value of " + path);
  if (!parsed) {
    return fail(ErrorCode::kInvalid, "{}={}: the value cannot be read: {}", path, value,
                parsed.error().message);
  }
  ScenarioChange change{path, value, std::make_shared<const text::Document>(std::move(*parsed)), nullptr};
  change.value = &change.document->root();
  return change;
}

namespace {

// The document as this run has it.
Result<text::Document> changed(text::Document document, const ScenarioOptions& options,
                               const text::Limits& limits) {
  std::vector<text::Change> changes;
  for (const ScenarioChange& change : options.changes) changes.push_back({change.path, change.value});
  text::Document fill_values;
  if (options.fill) {
    const bool has_bound = document.root().find("fill_to") != nullptr;
    BERTH_ASSIGN(fill_values, text::parse_document("mode: inflation\nfill_to: 130\nexpect: []\n", "--fill"));
    for (const char* key : {"mode", "fill_to", "expect"}) {
      if (has_bound && std::string_view(key) == "fill_to") continue;
      changes.push_back({key, fill_values.root().find(key)});
    }
  }
  if (changes.empty()) return document;
  return text::with_changes(document, changes, limits);
}

}  // namespace

Result<Scenario> parse_scenario(std::string text, const std::string& file, const std::string& folder,
                                const ScenarioOptions& options) {
  Scenario scenario;
  scenario.file = file;
  scenario.text = text;
  for (const ScenarioChange& change : options.changes)
    scenario.changes.push_back(fmt::format("{}={}", change.path, change.shown));
  text::Limits limits;
  limits.max_nodes = 5'000'000;
  limits.max_bytes = std::uint64_t{64} << 20;
  BERTH_ASSIGN(text::Document written, text::parse_document(std::move(text), file, limits));
  BERTH_ASSIGN(const text::Document document, changed(std::move(written), options, limits));
  text::Fields f(document, document.root(), text::Unknown::kRefuse);
  const auto written_seed = static_cast<std::uint64_t>(f.integer_or("seed", 1, 0));
  Reader reader(folder, options.seed.value_or(written_seed));
  reader.read(f, scenario);
  BERTH_TRY(f.done());
  scenario.nobody_preempts = options.fill;
  if (!scenario.queues.empty()) {
    BERTH_TRY(complete_queues(scenario.queues, reader.queue_places()));
    BERTH_TRY(check_quotas(scenario.queues, reader.queue_places()));
  }
  BERTH_TRY(check_flavors(scenario));
  return scenario;
}

Result<Scenario> read_scenario(const std::string& path, const ScenarioOptions& options) {
  BERTH_ASSIGN(std::string text, text::read_file(path, std::uint64_t{64} << 20));
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  return parse_scenario(std::move(text), path == "-" ? "standard input" : path, path == "-" ? "." : folder,
                        options);
}

}  // namespace berth::sim

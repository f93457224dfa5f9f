// The scenario file: what is simulated, as one YAML document. Every key stands in scenario_keys(), from which
// `berth simulate --explain-scenario` and docs/simulator.md are made.
//
// Reading checks every key (text/fields.h); errors name file, line, column, key and the fix. Paths may hold
// ${NAME}: ${SEED} is the scenario's seed, everything else an environment variable; ${BERTH_TRACES} is looked
// for beside the scenario when it is not set (shared/traces next to one of its folders). A path that is not
// absolute is relative to the scenario file.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/enums.h"
#include "base/result.h"
#include "engine/engine.h"
#include "model/node.h"
#include "model/queue.h"
#include "sim/course/faults.h"
#include "sim/generate/generator.h"
#include "sim/service/service_fields.h"
#include "sim/trace/readers.h"
#include "sim/trace/trace.h"
#include "text/document.h"

namespace berth::sim {

enum class Mode : std::uint8_t {
  kReplay,     // in time: jobs arrive, run, end, are evicted and come back
  kInflation,  // one by one onto an empty cluster: nothing leaves, what fits nowhere is dropped
};
// The demand mix for placement: arrivals so far, or the whole trace (as in published runs).
enum class DemandSource : std::uint8_t { kLive, kTrace };
// One: Berth's transaction. Two: quota without a look at nodes, then nodes (sim/replay/two_pass.h), to compare with.
enum class Passes : std::uint8_t { kOne, kTwo };
}  // namespace berth::sim
namespace berth {
template <>
struct EnumNames<sim::Mode> {
  static constexpr std::array names{"replay"sv, "inflation"sv};
};
template <>
struct EnumNames<sim::Processors> {
  static constexpr std::array names{"gpu"sv, "cpu"sv};
};
template <>
struct EnumNames<sim::SwfTenant> {
  static constexpr std::array names{"queue"sv, "user"sv, "group"sv, "partition"sv};
};
template <>
struct EnumNames<sim::DemandSource> {
  static constexpr std::array names{"live"sv, "trace"sv};
};
template <>
struct EnumNames<sim::Passes> {
  static constexpr std::array names{"one"sv, "two"sv};
};
}  // namespace berth
namespace berth::sim {

enum class ClusterKind : std::uint8_t {
  kShape,
  kOpenb,
  kMachines,
  kTenantNodes,
  kHosts,
  kSwf,
  kBerth,
  kGenerate
};
struct ClusterSource {
  ClusterKind kind = ClusterKind::kShape;
  std::string path;
  std::string order;  // kOpenb: arrival order file with the nodes' ranks
  NodeShape shape;
  std::int64_t count = 0;
  std::int64_t least_gpus = 1;
  std::int64_t total_nodes = 0;               // kTenantNodes: scale to this many, 0 = as in the file
  std::string tenant_label;                   // kTenantNodes
  HostColumns hosts;                          // kHosts
  Processors processors = Processors::kGpus;  // kSwf
  Likeness like = Likeness::kOpenb;           // kGenerate
  SourcePlace place;
};

enum class TraceKind : std::uint8_t { kPhilly, kOpenb, kGangs, kSwf, kBerth, kGenerate };
struct TraceSource {
  TraceKind kind = TraceKind::kPhilly;
  std::string path;
  std::string order;  // kOpenb
  SwfRules swf;       // kSwf
  JobRules rules;
  GeneratorOptions generator;
  SourcePlace place;
};

// One expectation about the summary: |metric - value| <= tolerance. All in the metric's own thousandths.
struct Expectation {
  std::string metric;
  std::int64_t value_milli = 0;
  std::int64_t tolerance_milli = 0;
  std::string tolerance;  // as written
  SourcePlace place;
};

// Published curves to compare an inflation run with: rows of pod_list, policy, seed, arrived_pct,
// allocated_pct.
struct CurveExpectation {
  std::string path;
  std::string list;
  std::string policy;
  std::int64_t within_pct_milli = 50;  // points of a percent, thousandths
};

// One value of a scenario file that a run has otherwise: `berth simulate --set`, --vary, --sweep, and
// variants of an experiment.
struct ScenarioChange {
  std::string path;                                // text/edit.h
  std::string shown;                               // the value as it was written
  std::shared_ptr<const text::Document> document;  // holds `value`
  const text::Node* value = nullptr;
};
// `value` is read as YAML ("12", "spread", "[a, b]"). Errors name the path.
Result<ScenarioChange> make_change(const std::string& path, const std::string& value);

// Differences of a run from its file.
struct ScenarioOptions {
  std::optional<std::uint64_t> seed;
  std::vector<ScenarioChange> changes;
  // The inflation experiment of any scenario: mode inflation up to `fill_to` (130 % where the file does not
  // say), without preemption and without the expectations of a replay.
  bool fill = false;
};

struct Scenario {
  std::string file;
  std::string text;                  // the file as it was
  std::vector<std::string> changes;  // "key=value": what this run has otherwise
  std::string name;
  std::string description;
  Mode mode = Mode::kReplay;
  std::uint64_t seed = 1;
  std::vector<ClusterSource> cluster;
  std::vector<TraceSource> trace;
  std::vector<Flavor> flavors;
  std::vector<Queue> queues;  // completed; empty where a Berth trace names them
  std::string queues_from;    // path of a Berth trace, or ""
  SourcePlace queues_place;
  std::vector<ServiceSource> services;
  std::vector<FaultRule> failures;
  engine::EngineConfig engine;
  std::int64_t fill_to_pct = 0;  // inflation: ends when this much demand has arrived; 0 = with the trace
  bool nobody_preempts = false;  // whatever the queues say
  DemandSource demand = DemandSource::kLive;
  Passes passes = Passes::kOne;
  std::int64_t gantt_nodes = 8;
  std::optional<TimeMs> origin_unix_ms;
  std::vector<Expectation> expect;
  std::optional<CurveExpectation> expect_curve;
};

Result<Scenario> read_scenario(const std::string& path, const ScenarioOptions& options = {});
// `seed` replaces the file's where it is given.
inline Result<Scenario> read_scenario(const std::string& path, std::optional<std::uint64_t> seed) {
  return read_scenario(path, ScenarioOptions{seed, {}, false});
}
// The same from text; relative paths are relative to `folder`.
Result<Scenario> parse_scenario(std::string text, const std::string& file, const std::string& folder,
                                const ScenarioOptions& options = {});

// One key of the file. The path uses [] for elements of lists: "trace[].path".
struct ScenarioKey {
  std::string_view path;
  std::string_view value;      // what it takes
  std::string_view otherwise;  // the default, "required" where there is none
  std::string_view meaning;
};
std::span<const ScenarioKey> scenario_keys();
// All keys as text for a terminal, and as the table of docs/simulator.md.
std::string scenario_reference();
std::string scenario_reference_markdown();

// ${NAME} in `path` replaced, and made relative to `folder`. Errors name the variable and how to set it.
Result<std::string> expand_path(const std::string& path, const std::string& folder, std::uint64_t seed);

}  // namespace berth::sim

#include "sim/generate/generator.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/checked.h"
#include "sim/generate/arrivals.h"
#include "sim/generate/generator_profiles.h"
#include "sim/trace/readers.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// openb: pods of the default list by class, with the commonest requests of each class; a median life of 540
// s.
struct PodKind {
  std::uint64_t weight;
  std::int64_t gpus;
  std::int64_t gpu_milli;
  std::int64_t cpu_milli;
  std::int64_t memory_mib;
};
constexpr std::array<PodKind, 26> kOpenbPods{{
    {43, 0, 0, 12'500, 57'344},    {35, 0, 0, 32'000, 51'200},     {22, 0, 0, 8'000, 30'517},
    {22, 0, 0, 15'400, 49'152},    {11, 0, 0, 16'500, 49'152},     {132, 1, 810, 3'152, 5'600},
    {92, 1, 470, 11'908, 47'104},  {40, 1, 320, 4'000, 30'517},    {31, 1, 650, 8'000, 22'888},
    {17, 1, 230, 4'000, 15'258},   {25, 1, 460, 4'152, 10'600},    {18, 1, 590, 8'000, 30'517},
    {18, 1, 160, 6'000, 6'144},    {5, 1, 550, 1'000, 2'048},      {130, 1, 1000, 11'300, 49'152},
    {90, 1, 1000, 11'400, 48'128}, {60, 1, 1000, 3'152, 5'600},    {60, 1, 1000, 12'000, 24'576},
    {50, 1, 1000, 18'708, 64'512}, {45, 1, 1000, 9'810, 41'560},   {45, 1, 1000, 4'000, 16'384},
    {2, 2, 1000, 16'200, 66'560},  {2, 4, 1000, 32'200, 132'096},  {3, 8, 1000, 88'000, 327'680},
    {2, 8, 1000, 64'200, 263'168}, {1, 8, 1000, 120'000, 737'280},
}};
constexpr std::array<Quantile, 7> kOpenbSeconds{
    {{0, 5}, {2500, 120}, {5000, 540}, {7500, 3'600}, {9000, 28'800}, {9900, 604'800}, {10'000, 2'592'000}}};

// openb: the fleet of GPU nodes, by class.
struct NodeKind {
  std::uint64_t weight;
  std::string_view model;
  std::int64_t gpus;
  std::int64_t cpu_milli;
  std::int64_t memory_mib;
};
constexpr std::array<NodeKind, 15> kOpenbNodes{{{549, "G2", 8, 96'000, 393'216},
                                                {387, "T4", 2, 104'000, 524'288},
                                                {107, "P100", 2, 16'000, 122'880},
                                                {39, "G3", 8, 128'000, 786'432},
                                                {28, "V100M16", 4, 32'000, 131'072},
                                                {22, "P100", 2, 64'000, 262'144},
                                                {21, "V100M32", 8, 96'000, 786'432},
                                                {19, "V100M16", 1, 8'000, 32'768},
                                                {17, "T4", 4, 96'000, 393'216},
                                                {9, "V100M32", 4, 48'000, 376'832},
                                                {7, "V100M16", 8, 64'000, 262'144},
                                                {3, "P100", 1, 8'000, 61'440},
                                                {2, "P100", 2, 8'000, 61'440},
                                                {2, "A10", 1, 128'000, 1'048'576},
                                                {1, "V100M16", 8, 82'000, 344'064}}};

template <class Table>
std::vector<std::uint64_t> weights_of(const Table& table) {
  std::vector<std::uint64_t> weights;
  for (const auto& entry : table) weights.push_back(entry.weight);
  return weights;
}

// In milliseconds; the last octave ends at the longest run time.
DurationMs run_time(Random& random, const RunTimes& octaves, std::int64_t longest_s) {
  const std::size_t octave = random.pick(octaves);
  const std::int64_t from = octave == 0 ? 0 : std::int64_t{1} << (octave - 1);
  const std::int64_t to = std::min(longest_s, std::int64_t{1} << octave);
  return random.between(from * kSecond, std::max(from + 1, to) * kSecond - 1);
}

Group openb_pod(const PodKind& kind, const JobRules& rules) {
  PodSet set;
  set.name = "pod";
  set.pod.node_selector = rules.node_selector;
  set.pod.requests.set("cpu", kind.cpu_milli);
  set.pod.requests.set("memory", kind.memory_mib * kMiB);
  if (kind.gpus > 0) set.pod.claim.requests.push_back({std::string(kGpu), kind.gpus, kind.gpu_milli});
  Group root;
  root.name = "pod";
  root.pod_sets.push_back(std::move(set));
  return root;
}

// Aggregation groups of Lingjun's hosts.
constexpr std::array<std::int64_t, 3> kLingjunHosts{362, 306, 179};
constexpr std::int64_t kHostsPerLeaf = 8;

}  // namespace

std::int64_t sample(Random& random, std::span<const Quantile> table) {
  const std::int64_t at = random.between(0, 9999);
  std::size_t i = 1;
  while (i + 1 < table.size() && table[i].at <= at) ++i;
  const Quantile& low = table[i - 1];
  const Quantile& high = table[i];
  // A place within the step of 1/10,000 too, so that long steps do not come out as a comb.
  constexpr std::int64_t kFine = 1000;
  const std::int64_t fine = (at - low.at) * kFine + random.between(0, kFine - 1);
  const Int128 rise = static_cast<Int128>(high.value - low.value) * fine;
  return low.value + static_cast<std::int64_t>(rise / ((high.at - low.at) * kFine));
}

Status generate_jobs(std::uint64_t seed, const GeneratorOptions& options, const JobRules& rules,
                     TraceBuilder& out) {
  Random streams(seed);
  Arrivals arrivals(streams.next(), options.jobs, options.span);
  Random random(streams.next());
  std::vector<std::uint64_t> tenant_weights;
  for (const TenantWeight& tenant : options.tenants) {
    tenant_weights.push_back(static_cast<std::uint64_t>(tenant.weight));
  }
  const bool openb = options.like == Likeness::kOpenb;
  const Profile& profile = profile_of(options.like);
  std::vector<std::uint64_t> weights;
  if (openb) {
    for (const PodKind& kind : kOpenbPods) weights.push_back(kind.gpus > options.max_gpus ? 0 : kind.weight);
  } else {
    for (const SizeWeight& size : profile.sizes) {
      weights.push_back(size.gpus > options.max_gpus ? 0 : size.weight);
    }
  }
  std::vector<std::optional<std::uint32_t>> shapes(weights.size());
  const std::uint32_t restart = out.restart(rules.restart);
  for (std::int64_t i = 0; i < options.jobs; ++i) {
    Job job;
    job.name = fmt::format("job-{}", i);
    job.submit = arrivals.next();
    job.priority = rules.priority;
    job.restart = restart;
    std::string_view tenant;
    if (!tenant_weights.empty()) tenant = options.tenants[random.pick(tenant_weights)].name;
    const std::size_t which = random.pick(weights);
    if (openb) {
      job.duration = sample(random, kOpenbSeconds) * kSecond;
    } else {
      job.duration = run_time(random, profile.runs[profile.sizes[which].runs], profile.longest_s);
    }
    if (!shapes[which]) {
      if (openb) {
        BERTH_ASSIGN(shapes[which],
                     out.shape(fmt::format("generated openb {} {}", which, shape_rules_key(rules)),
                               [&] { return openb_pod(kOpenbPods[which], rules); }));
      } else {
        BERTH_ASSIGN(shapes[which], gang_shape(profile.sizes[which].gpus, rules, out));
      }
    }
    job.shape = *shapes[which];
    BERTH_TRY(out.add(std::move(job), tenant, rules, {}));
  }
  return {};
}

Fleet generate_fleet(Likeness like, std::uint64_t seed, std::int64_t count, const std::string& prefix) {
  Fleet fleet;
  NodeShape shape;
  shape.name_prefix = prefix;
  if (like == Likeness::kOpenb) {
    Random random(seed);
    const std::vector<std::uint64_t> weights = weights_of(kOpenbNodes);
    for (std::int64_t i = 0; i < count; ++i) {
      const NodeKind& kind = kOpenbNodes[random.pick(weights)];
      shape.gpus = kind.gpus;
      shape.gpu_model = kind.model;
      shape.cpu_milli = kind.cpu_milli;
      shape.memory_bytes = kind.memory_mib * kMiB;
      fleet.nodes.push_back(make_node(fmt::format("{}-{:04}", prefix, i), shape));
    }
    return fleet;
  }
  fleet.nodes = make_nodes(shape, count);
  if (like != Likeness::kLingjun) return fleet;
  // Leaves are filled one after the other; a group takes leaves until it has its share of the hosts.
  const std::int64_t all = kLingjunHosts[0] + kLingjunHosts[1] + kLingjunHosts[2];
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t leaf = i / kHostsPerLeaf;
    const std::int64_t of_all = leaf * kHostsPerLeaf * all / count;
    std::int64_t group = 0;
    for (std::int64_t end = 0; group < 2; ++group) {
      end += kLingjunHosts[static_cast<std::size_t>(group)];
      if (of_all < end) break;
    }
    Labels& labels = fleet.nodes[static_cast<std::size_t>(i)].labels;
    labels[std::string(kCoreLabel)] = "core-0";
    labels[std::string(kAggregationLabel)] = fmt::format("aggregation-{}", group);
    labels[std::string(kLeafLabel)] = fmt::format("leaf-{:04}", leaf);
  }
  fleet.topology = Topology{std::string(kNetworkTopology),
                            {std::string(kCoreLabel), std::string(kAggregationLabel), std::string(kLeafLabel),
                             std::string(kHostLabel)}};
  return fleet;
}

}  // namespace berth::sim

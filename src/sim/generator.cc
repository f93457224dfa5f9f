#include "sim/generator.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "sim/readers.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

// Philly: 86.7 % of the jobs ask for one GPU, the largest for 128, 1.93 on average; a median run time of 874 s,
// a mean of 18,006 s, and 32.5 GPU-hours per job, which says that larger jobs run much longer.
struct SizeWeight {
  std::int64_t gpus;
  std::uint64_t weight;
};
constexpr std::array<SizeWeight, 12> kPhillySizes{{{1, 8670},
                                                   {2, 251},
                                                   {4, 400},
                                                   {8, 512},
                                                   {12, 10},
                                                   {16, 92},
                                                   {24, 8},
                                                   {32, 40},
                                                   {48, 3},
                                                   {64, 9},
                                                   {96, 1},
                                                   {128, 4}}};
constexpr std::int64_t kPhillyLarge = 4;  // GPUs, from which run times are long
constexpr std::array<Quantile, 10> kPhillySmallSeconds{{{0, 10},
                                                        {1000, 50},
                                                        {2500, 180},
                                                        {5000, 580},
                                                        {7500, 2'800},
                                                        {9000, 12'000},
                                                        {9500, 32'000},
                                                        {9900, 85'000},
                                                        {9990, 290'000},
                                                        {10'000, 700'000}}};
constexpr std::array<Quantile, 10> kPhillyLargeSeconds{{{0, 10},
                                                        {1000, 120},
                                                        {2500, 1'200},
                                                        {5000, 20'000},
                                                        {7500, 110'000},
                                                        {9000, 290'000},
                                                        {9500, 480'000},
                                                        {9900, 950'000},
                                                        {9990, 1'700'000},
                                                        {10'000, 2'500'000}}};
// Arrivals by hour of the day: twice as many in the afternoon as at night.
constexpr std::array<std::uint64_t, 24> kHourWeights{8,  7,  6,  6,  6,  6,  7,  8,  9,  11, 12, 13,
                                                     13, 13, 13, 13, 12, 12, 11, 11, 10, 10, 9,  9};

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

// A time in [0, span), to the millisecond, by the weights of the hours of the day.
TimeMs arrival(Random& random, DurationMs span) {
  const auto most = *std::max_element(kHourWeights.begin(), kHourWeights.end());
  for (;;) {
    const TimeMs at = random.between(0, span - 1);
    const auto hour = static_cast<std::size_t>(at / kHour % 24);
    if (random.chance(kHourWeights[hour], most)) return at;
  }
}

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
  Random random(seed);
  std::vector<std::uint64_t> tenant_weights;
  for (const TenantWeight& tenant : options.tenants) {
    tenant_weights.push_back(static_cast<std::uint64_t>(tenant.weight));
  }
  std::vector<std::uint64_t> size_weights = weights_of(kPhillySizes);
  for (std::size_t i = 0; i < kPhillySizes.size(); ++i) {
    if (kPhillySizes[i].gpus > options.max_gpus) size_weights[i] = 0;
  }
  std::vector<std::uint64_t> pod_weights = weights_of(kOpenbPods);
  for (std::size_t i = 0; i < kOpenbPods.size(); ++i) {
    if (kOpenbPods[i].gpus > options.max_gpus) pod_weights[i] = 0;
  }
  std::string selector;
  for (const auto& [label, value] : rules.node_selector) selector += fmt::format("\n{}={}", label, value);

  std::vector<TimeMs> arrivals;
  arrivals.reserve(static_cast<std::size_t>(options.jobs));
  for (std::int64_t i = 0; i < options.jobs; ++i) arrivals.push_back(arrival(random, options.span));
  std::sort(arrivals.begin(), arrivals.end());

  const std::uint32_t restart = out.restart(rules.restart);
  for (std::int64_t i = 0; i < options.jobs; ++i) {
    Job job;
    job.name = fmt::format("job-{}", i);
    job.submit = arrivals[static_cast<std::size_t>(i)];
    job.priority = rules.priority;
    job.restart = restart;
    std::string tenant;
    if (!tenant_weights.empty()) tenant = options.tenants[random.pick(tenant_weights)].name;
    if (options.like == Likeness::kPhilly) {
      const std::int64_t gpus = kPhillySizes[random.pick(size_weights)].gpus;
      const bool large = gpus >= kPhillyLarge;
      job.duration =
          sample(random, large ? std::span<const Quantile>(kPhillyLargeSeconds) : kPhillySmallSeconds) *
          kSecond;
      BERTH_ASSIGN(job.shape,
                   out.shape(fmt::format("gang {} {}{}", gpus, rules.gpus_per_task, selector),
                             [&] { return gang_of(gpus, rules.gpus_per_task, rules.node_selector); }));
    } else {
      const std::size_t which = random.pick(pod_weights);
      const PodKind& kind = kOpenbPods[which];
      job.duration = sample(random, kOpenbSeconds) * kSecond;
      BERTH_ASSIGN(job.shape, out.shape(fmt::format("generated openb {}{}", which, selector), [&] {
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
      }));
    }
    BERTH_TRY(out.add(std::move(job), tenant, rules, {}));
  }
  return {};
}

std::vector<Node> generate_openb_nodes(std::uint64_t seed, std::int64_t count, const std::string& prefix) {
  Random random(seed);
  const std::vector<std::uint64_t> weights = weights_of(kOpenbNodes);
  std::vector<Node> nodes;
  for (std::int64_t i = 0; i < count; ++i) {
    const NodeKind& kind = kOpenbNodes[random.pick(weights)];
    NodeShape shape;
    shape.gpus = kind.gpus;
    shape.gpu_model = kind.model;
    shape.cpu_milli = kind.cpu_milli;
    shape.memory_bytes = kind.memory_mib * kMiB;
    nodes.push_back(make_node(fmt::format("{}-{:04}", prefix, i), shape));
  }
  return nodes;
}

}  // namespace berth::sim

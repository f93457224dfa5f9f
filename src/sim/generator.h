// Seeded generators of jobs and nodes, for where no trace is at hand. Integers only: tables of weights and of
// quantiles with straight lines in between, so that a seed gives the same trace on every machine.
//
// The figures are published ones (docs/simulator.md, "Generators" names them): Philly's sizes, run times and
// arrivals (Jeon et al., USENIX ATC 2019; summary in Hu et al., NSDI 2024), openb's fleet and shapes (Weng et
// al., USENIX ATC 2023).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "model/node.h"
#include "sim/trace.h"

namespace berth::sim {

// A point of an inverse distribution function: `at` of 10,000 values are at most `value`.
struct Quantile {
  std::int64_t at = 0;  // of 10,000
  std::int64_t value = 0;
};
// A value whose distribution the table describes. The table goes from 0 to 10,000, ascending.
std::int64_t sample(Random& random, std::span<const Quantile> table);

enum class Likeness : std::uint8_t { kPhilly, kOpenb };

struct TenantWeight {
  std::string name;
  std::int64_t weight = 1;
};

struct GeneratorOptions {
  Likeness like = Likeness::kPhilly;
  std::int64_t jobs = 1000;
  DurationMs span = 7 * 24 * kHour;   // jobs arrive in [0, span), more of them in working hours
  std::int64_t max_gpus = 128;        // larger jobs are not drawn
  std::vector<TenantWeight> tenants;  // who submits; empty: nobody in particular
};

Status generate_jobs(std::uint64_t seed, const GeneratorOptions& options, const JobRules& rules,
                     TraceBuilder& out);

// `count` nodes in the proportions of openb's fleet of GPU nodes, CPU and memory counted.
std::vector<Node> generate_openb_nodes(std::uint64_t seed, std::int64_t count, const std::string& prefix);

}  // namespace berth::sim

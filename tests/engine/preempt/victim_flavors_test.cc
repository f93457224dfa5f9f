// Victims for work of several pod sets, each of which has a choice of flavors: small random states against a search through all
// assignments of flavors to pod sets and all sets of victims, with nodes and where quota is all that is known.
//
//   BERTH_VICTIM_STATES=N   so many states with victims (default 1000)
//
// The oracle shares no code with the engine. Its measure is the documented one (docs/preemption.md): with each assignment the set
// whose highest priority is lowest, of these the one that costs least; of all assignments the one with which only other queues
// yield, then the one that does not borrow, then the one whose set is best.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>

#include "base/random.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

constexpr std::size_t kMostFlavors = 3;
constexpr TimeMs kDecideAt = 1'000'000;
using ByFlavor = std::array<std::int64_t, kMostFlavors>;

struct FlavorJob {
  std::string uid;
  std::size_t flavor = 0;
  std::size_t queue = 0;
  std::int64_t priority = 0;
  std::int64_t gpus = 0;           // of a slot
  std::vector<std::size_t> nodes;  // of each slot; where nodes are known
  std::int64_t slots = 0;
  std::int64_t cost = 0;
};

struct Part {
  std::int64_t count = 0;
  std::int64_t gpus = 0;
};

struct World {
  Engine engine;
  bool opaque = false;
  std::size_t flavors = 2;
  std::size_t queues = 1;  // two of them below one roof
  Reclaim reclaim = Reclaim::kNever;
  std::array<ByFlavor, 2> nominal{};
  std::vector<std::size_t> flavor_of;  // by node, 8 GPUs each
  std::vector<FlavorJob> jobs;
  std::vector<Part> high;
  std::int64_t priority = 0;
  std::size_t queue = 0;
};

std::string flavor_name(std::size_t f) {
  return fmt::format("f{}", f);
}

void build(World& w, Random& r) {
  w.flavors = static_cast<std::size_t>(r.between(2, kMostFlavors));
  w.queues = !w.opaque && r.chance(1, 2) ? 2 : 1;
  w.reclaim = static_cast<Reclaim>(r.below(3));
  for (std::size_t f = 0; f < w.flavors; ++f) {
    Flavor flavor;
    flavor.name = flavor_name(f);
    flavor.opaque = w.opaque;
    if (!w.opaque) flavor.node_labels["pool"] = flavor.name;
    ok(w.engine.apply(FlavorUpsert{flavor}));
    const std::int64_t nodes = r.between(1, 2);
    for (std::int64_t n = 0; n < nodes && !w.opaque; ++n) {
      ok(w.engine.apply(gpu_node(fmt::format("n{}", w.flavor_of.size()), 8, {{"pool", flavor.name}})));
      w.flavor_of.push_back(f);
    }
    for (std::size_t q = 0; q < w.queues; ++q)
      w.nominal[q][f] = r.chance(1, 6) ? 0 : r.between(2, nodes * 8 / static_cast<std::int64_t>(w.queues));
  }
  for (std::size_t q = 0; q < w.queues; ++q) {
    Queue queue;
    queue.name = fmt::format("q{}", q);
    if (w.queues > 1) queue.parent = "roof";
    queue.groups = {{{"cpu", "nvidia.com/gpu"}, {}}};
    for (std::size_t f = 0; f < w.flavors; ++f) {
      queue.groups[0].flavors.push_back(flavor_name(f));
      queue.quotas.push_back({flavor_name(f), "cpu", 1'000'000, {}, {}});
      queue.quotas.push_back({flavor_name(f), "nvidia.com/gpu", w.nominal[q][f] * 1000, {}, {}});
    }
    queue.preemption.within = WithinQueue::kLowerPriority;
    queue.preemption.reclaim = w.reclaim;
    ok(w.engine.apply(QueueUpsert{queue}));
  }
  if (w.queues > 1) ok(w.engine.apply(cohort("roof")));
  TimeMs now = 1000;
  const std::int64_t most = r.between(3, 8);
  for (std::int64_t i = 0; i < most; ++i) {
    FlavorJob job;
    job.uid = fmt::format("j{}", i);
    job.queue = r.below(w.queues);
    job.priority = r.between(0, 2);
    job.gpus = r.between(1, 6);
    job.slots = r.chance(2, 3) ? 1 : 2;
    Workload spec = gang_workload(job.uid, static_cast<int>(job.slots), static_cast<int>(job.gpus),
                                  job.priority, fmt::format("q{}", job.queue));
    spec.may_preempt = false;
    spec.restart.overhead = 1000 * r.between(0, 200);
    if (r.chance(1, 2)) spec.restart.checkpoint_every = 1000 * r.between(10, 400);
    ok(w.engine.apply(WorkloadUpsert{spec}));
    bool starts = false;
    for (const Decision& d : w.engine.decide(now)) {
      if (d.workload != job.uid || d.kind != DecisionKind::kStart) continue;
      starts = true;
      job.flavor = static_cast<std::size_t>(d.flavors.at(0).flavor.back() - '0');
      for (const SlotPlacement& p : d.slots) {
        if (!w.opaque) job.nodes.push_back(static_cast<std::size_t>(p.node.back() - '0'));
      }
    }
    if (starts) {
      w.jobs.push_back(job);
    } else {
      ok(w.engine.apply(WorkloadRemove{job.uid}));
    }
    now += 1000 * r.between(1, 80);
  }
  for (FlavorJob& job : w.jobs) job.cost = *w.engine.victim_cost(job.uid, kDecideAt);
  w.queue = r.below(w.queues);
  w.priority = r.between(1, 3);
  for (std::int64_t s = r.between(2, 3); s > 0; --s) w.high.push_back({r.between(1, 2), r.between(1, 8)});
}

Workload high_of(const World& w) {
  Workload high = gang_workload("high", 1, 1, w.priority, fmt::format("q{}", w.queue));
  const PodSet one = high.root.pod_sets[0];
  high.root.pod_sets.clear();
  for (const Part& part : w.high) {
    PodSet set = one;
    set.name = fmt::format("set-{}", high.root.pod_sets.size());
    set.count = part.count;
    set.pod.claim.requests[0].count = part.gpus;
    high.root.pod_sets.push_back(set);
  }
  return high;
}

struct FoundSet {
  bool own = false;  // some of its own queue yield
  bool borrows = false;
  std::int64_t priority = kInt64Min;
  std::int64_t cost = 0;
  std::size_t victims = 0;
  auto worth() const { return std::make_tuple(priority, cost, victims); }     // with given flavors
  auto key() const { return std::make_tuple(own, borrows, priority, cost); }  // among flavors
};

// Do slots of these sizes and flavors fit into what is free?
bool fits(const World& w, std::vector<std::pair<std::size_t, std::int64_t>>& slots, std::size_t at,
          std::vector<std::int64_t>& free) {
  if (w.opaque || at == slots.size()) return true;
  for (std::size_t n = 0; n < free.size(); ++n) {
    if (w.flavor_of[n] != slots[at].first || free[n] < slots[at].second) continue;
    free[n] -= slots[at].second;
    const bool ok_here = fits(w, slots, at + 1, free);
    free[n] += slots[at].second;
    if (ok_here) return true;
  }
  return false;
}

std::optional<FoundSet> with_victims(const World& w, const std::vector<std::size_t>& flavor,
                                     std::uint32_t set) {
  ByFlavor need{};
  std::vector<std::pair<std::size_t, std::int64_t>> slots;
  for (std::size_t s = 0; s < w.high.size(); ++s) {
    need[flavor[s]] += w.high[s].count * w.high[s].gpus;
    for (std::int64_t i = 0; i < w.high[s].count; ++i) slots.emplace_back(flavor[s], w.high[s].gpus);
  }
  std::array<ByFlavor, 2> used{};
  for (const FlavorJob& job : w.jobs) used[job.queue][job.flavor] += job.gpus * job.slots;
  bool within = true;  // its own quota, as things are
  for (std::size_t f = 0; f < w.flavors; ++f)
    within = within && (need[f] == 0 || used[w.queue][f] + need[f] <= w.nominal[w.queue][f]);
  std::vector<std::int64_t> free(w.flavor_of.size(), 8);
  FoundSet found;
  ByFlavor taken{}, largest{};
  std::array<ByFlavor, 2> left = used;
  for (std::size_t j = 0; j < w.jobs.size(); ++j) {
    const FlavorJob& job = w.jobs[j];
    if ((set >> j & 1) == 0) {
      for (const std::size_t n : job.nodes) free[n] -= job.gpus;
      continue;
    }
    const bool other = job.queue != w.queue;
    if (!other && job.priority >= w.priority) return std::nullopt;
    if (other && (w.reclaim == Reclaim::kNever || !within || need[job.flavor] == 0)) return std::nullopt;
    if (other && w.reclaim == Reclaim::kLowerPriority && job.priority >= w.priority) return std::nullopt;
    const std::int64_t all = job.gpus * job.slots;
    left[job.queue][job.flavor] -= all;
    if (other) {
      taken[job.flavor] += all;
      largest[job.flavor] = std::max(largest[job.flavor], all);
    }
    found.own = found.own || !other;
    found.priority = std::max(found.priority, job.priority);
    found.cost += job.cost;
    ++found.victims;
  }
  for (std::size_t f = 0; f < w.flavors; ++f) {
    // Each of the other queue goes while that borrows: in the best order the largest goes last.
    const std::size_t other = 1 - w.queue;
    if (taken[f] > 0 && used[other][f] - (taken[f] - largest[f]) <= w.nominal[other][f]) return std::nullopt;
    if (need[f] == 0) continue;
    const std::int64_t mine = left[w.queue][f] + need[f];
    if (mine > w.nominal[w.queue][f]) found.borrows = true;
    if (w.queues == 1 && mine > w.nominal[0][f]) return std::nullopt;
    if (w.queues == 2 && mine + left[other][f] > w.nominal[0][f] + w.nominal[1][f]) return std::nullopt;
  }
  std::sort(slots.begin(), slots.end(), [](auto& a, auto& b) { return a.second > b.second; });
  return fits(w, slots, 0, free) ? std::optional(found) : std::nullopt;
}

std::optional<FoundSet> best_of_all(const World& w) {
  std::optional<FoundSet> best;
  std::vector<std::size_t> flavor(w.high.size(), 0);
  const std::function<void(std::size_t)> go = [&](std::size_t s) {
    if (s < flavor.size()) {
      for (flavor[s] = 0; flavor[s] < w.flavors; ++flavor[s]) go(s + 1);
      return;
    }
    std::optional<FoundSet> here;
    for (std::uint32_t set = 0; set < std::uint32_t{1} << w.jobs.size(); ++set) {
      const auto found = with_victims(w, flavor, set);
      if (found && (!here || found->worth() < here->worth())) here = found;
    }
    if (here && (!best || here->key() < best->key())) best = here;
  };
  go(0);
  return best;
}

std::string text_of(const World& w, const std::vector<Decision>& decisions) {
  std::string out =
      fmt::format("flavors {} queues {} reclaim {} nodes", w.flavors, w.queues, enum_name(w.reclaim));
  for (const std::size_t f : w.flavor_of) out += fmt::format(" f{}", f);
  for (std::size_t q = 0; q < w.queues; ++q) {
    out += fmt::format("\nq{}:", q);
    for (std::size_t f = 0; f < w.flavors; ++f) out += fmt::format(" {}", w.nominal[q][f]);
  }
  for (const FlavorJob& j : w.jobs) {
    out += fmt::format("\n{} q{} f{} priority {} cost {}: {} x {} on", j.uid, j.queue, j.flavor, j.priority,
                       j.cost, j.slots, j.gpus);
    for (const std::size_t n : j.nodes) out += fmt::format(" n{}", n);
  }
  out += fmt::format("\nhigh q{} priority {}:", w.queue, w.priority);
  for (const Part& p : w.high) out += fmt::format(" {} x {}", p.count, p.gpus);
  for (const Decision& d : decisions) {
    out += fmt::format("\n{} {} cost {}", enum_name(d.kind), d.workload, d.cost);
    for (const auto& f : d.flavors) out += fmt::format(" {}:{}", f.pod_set, f.flavor);
  }
  return out + "\n" + to_text(w.engine.verdict("high")->reason);
}

// Counts the states that need victims, and how the engine's victims compare.
void compare(bool opaque) {
  const char* asked = std::getenv("BERTH_VICTIM_STATES");
  const std::int64_t states = asked != nullptr ? std::atoll(asked) : 1000;
  std::int64_t equal = 0;
  std::int64_t close = 0;
  std::int64_t worse = 0;
  std::int64_t nobody = 0;
  std::int64_t several = 0;  // in which no one flavor would do for all pod sets
  for (std::uint64_t seed = 1; equal + close + worse < states; ++seed) {
    Random r(seed);
    World w;
    w.opaque = opaque;
    build(w, r);
    ok(w.engine.apply(WorkloadUpsert{high_of(w)}));
    const auto decisions = w.engine.decide(kDecideAt);
    ok(w.engine.audit());
    FoundSet found;
    bool starts = false;
    std::vector<std::string> chosen;
    for (const Decision& d : decisions) {
      starts = starts || (d.kind == DecisionKind::kStart && d.workload == "high");
      for (const FlavorChoice& f : d.flavors) chosen.push_back(f.flavor);
      if (d.kind != DecisionKind::kEvict) continue;
      const FlavorJob& job = *std::find_if(w.jobs.begin(), w.jobs.end(),
                                           [&](const FlavorJob& j) { return j.uid == d.workload; });
      found.own = found.own || job.queue == w.queue;
      found.priority = std::max(found.priority, job.priority);
      found.cost += d.cost;
      ++found.victims;
    }
    if (starts) continue;
    const auto best = best_of_all(w);
    ASSERT_EQ(found.victims > 0, best.has_value()) << "state " << seed << ":\n" << text_of(w, decisions);
    if (!best) {
      ++nobody;
      continue;
    }
    ASSERT_GT(best->victims, 0u) << "state " << seed << ": it fits without\n" << text_of(w, decisions);
    std::sort(chosen.begin(), chosen.end());
    if (chosen.front() != chosen.back()) ++several;
    if (opaque) {
      ++equal;  // in Kueue's order, whatever it costs
      continue;
    }
    const bool alike = found.own == best->own && found.priority == best->priority;
    if (alike && found.cost == best->cost) {
      ++equal;
    } else if (alike && found.cost * 100 <= best->cost * 105) {
      ++close;
    } else {
      ++worse;
      ADD_FAILURE() << fmt::format(
                           "state {}: own {} priority {} cost {}; the best: own {} priority {} cost {}\n",
                           seed, found.own, found.priority, found.cost, best->own, best->priority, best->cost)
                    << text_of(w, decisions);
    }
  }
  EXPECT_GT(several, states / 10);
  std::cout << fmt::format(
      "{} states with victims, {} of them in several flavors: {} equal the best, {} within 5 %, {} worse; {} "
      "more have none\n",
      equal + close + worse, several, equal, close, worse, nobody);
}

TEST(VictimQuality, InWhateverFlavorsOfSeveralPodSets) {
  compare(false);
}

TEST(VictimQuality, InWhateverFlavorsWhereQuotaIsAllThatIsKnown) {
  compare(true);
}

}  // namespace
}  // namespace berth::engine

// How good the chosen victims are: small random states, against a search through all sets.
//
//   BERTH_VICTIM_STATES=N   so many states (default 1000), and a tenth as many with many candidates
//   BERTH_VICTIM_SEED=N     from this one on (default 1)
//
// The oracle shares no code with the engine's search: it knows nodes, quotas and policies in its own plain terms, and tries every
// set of what may be ended. Its measure is the engine's: the fewest pods beyond their disruption budgets. Among these sets the lowest
// highest rank (priority, then surplus before whole work), and of these the lowest cost.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <optional>

#include "base/random.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

struct Job {
  Workload spec;
  std::int64_t gpus = 1;                                     // of a slot
  std::int64_t cost = 0;                                     // of all of it, before anybody is ended
  std::vector<std::pair<std::int64_t, std::int64_t>> slots;  // index, node
};

// A unit of eviction.
struct Item {
  std::size_t job = 0;
  std::optional<std::int64_t> slot;  // a surplus slot; none: everything else
  std::int64_t cost = 0;
  std::vector<std::int64_t> freed;  // by node
  std::int64_t all = 0;             // freed in all
  bool other_queue = false;
  std::int64_t pods = 0;
};

struct Found {
  std::int64_t beyond = 0;  // pods
  std::pair<std::int64_t, bool> rank{kInt64Min, false};
  std::int64_t cost = 0;
  auto operator<=>(const Found&) const = default;
};

struct QualityWorld {
  Engine engine;
  std::vector<std::int64_t> free;  // by node, of 8
  std::vector<Job> jobs;
  bool queues = false;   // two teams with quota below one roof; otherwise nodes alone
  std::int64_t own = 0;  // the quota of each team
  Reclaim reclaim = Reclaim::kNever;
  std::map<std::string, std::int64_t> used;
  std::map<std::string, std::int64_t> budgets;  // how many pods each allows
};

constexpr TimeMs kNow = 1'000'000;

std::int64_t cost_of_slot(const Job& job) {
  return job.gpus * (job.spec.restart.overhead + job.spec.restart.grace);
}

void build(QualityWorld& w, Random& r) {
  const std::int64_t nodes = r.between(1, 4);
  for (std::int64_t n = 0; n < nodes; ++n) {
    ok(w.engine.apply(gpu_node(fmt::format("n{}", n), 8)));
    w.free.push_back(8);
  }
  w.queues = r.chance(1, 2);
  w.own = nodes * 4;
  if (w.queues) {
    ok(w.engine.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
    w.reclaim = static_cast<Reclaim>(r.below(3));
    PreemptionPolicy policy;
    policy.within = WithinQueue::kLowerPriority;
    policy.reclaim = w.reclaim;
    ok(w.engine.apply(gpu_queue("a", "roof", w.own, policy)));
    ok(w.engine.apply(gpu_queue("b", "roof", w.own, policy)));
    ok(w.engine.apply(cohort("roof")));
  }
  TimeMs now = 1000;
  const std::int64_t most = r.between(3, 9);
  for (std::int64_t i = 0; i < most; ++i) {
    Job job;
    const std::int64_t count = r.chance(1, 2) ? 1 : r.between(1, 3);
    job.gpus = r.between(1, 4);
    job.spec = gang_workload(fmt::format("j{}", i), static_cast<int>(count), static_cast<int>(job.gpus),
                             r.between(0, 2));
    job.spec.may_preempt = false;  // the first stays until `high` comes
    if (w.queues) job.spec.queue = r.chance(1, 3) ? "a" : "b";
    if (count > 1 && r.chance(1, 2)) job.spec.root.pod_sets[0].least = r.between(1, count);
    job.spec.restart.overhead = 1000 * r.between(0, 200);
    job.spec.restart.grace = 1000 * r.between(0, 30);
    if (r.chance(1, 2)) job.spec.restart.checkpoint_every = 1000 * r.between(10, 400);
    if (r.chance(1, 2)) {
      job.spec.root.pod_sets[0].pod.required_affinity = {
          {{}, {{"", SelectorOp::kIn, {fmt::format("n{}", r.between(0, nodes - 1))}}}}};
    }
    ok(w.engine.apply(WorkloadUpsert{job.spec}));
    w.engine.decide(now);
    for (std::int64_t s = 0; s < count; ++s) {
      const auto slot = *w.engine.slot(job.spec.uid, 0, s);
      if (slot.state != SlotState::kBinding) continue;
      const std::int64_t node = slot.node.back() - '0';
      job.slots.emplace_back(s, node);
      w.free[static_cast<std::size_t>(node)] -= job.gpus;
      w.used[job.spec.queue] += job.gpus;
    }
    if (job.slots.empty()) {
      ok(w.engine.apply(WorkloadRemove{job.spec.uid}));
    } else {
      w.jobs.push_back(job);
    }
    now += 1000 * r.between(1, 80);
  }
  for (Job& job : w.jobs) job.cost = *w.engine.victim_cost(job.spec.uid, kNow);
}

// Some jobs get disruption budgets: one of their own, or one that they share.
void give_budgets(QualityWorld& w, Random& r) {
  if (r.chance(1, 2)) return;
  for (Job& job : w.jobs) {
    std::vector<std::string> names;
    if (r.chance(1, 3)) names.push_back(job.spec.uid);
    if (r.chance(1, 2)) names.push_back("shared");
    for (const std::string& name : names) w.budgets.emplace(name, r.between(0, 3));
    job.spec.root.pod_sets[0].pod.budgets = names;
    ok(w.engine.apply(WorkloadUpsert{job.spec}));
  }
  for (const auto& [name, allowed] : w.budgets) ok(w.engine.apply(DisruptionBudgetUpdate{name, allowed}));
}

// So many of these pods, of each job, are beyond their budgets.
std::int64_t pods_beyond(const QualityWorld& w, const std::map<std::size_t, std::int64_t>& pods) {
  std::map<std::string, std::int64_t> left = w.budgets;
  std::int64_t beyond = 0;
  for (const auto& [job, count] : pods) {
    for (std::int64_t i = 0; i < count; ++i) {
      bool is_beyond = false;
      for (const std::string& name : *w.jobs[job].spec.root.pod_sets[0].pod.budgets)
        is_beyond = --left.at(name) < 0 || is_beyond;
      beyond += is_beyond ? 1 : 0;
    }
  }
  return beyond;
}

// All sets of what may be ended for `high`, which needs `count` slots of `gpus`.
std::optional<Found> best_of_all(const QualityWorld& w, const Workload& high, std::int64_t count,
                                 std::int64_t gpus) {
  std::vector<Item> items;
  std::vector<std::pair<std::int64_t, bool>> ranks;
  const std::int64_t need = count * gpus;
  for (std::size_t j = 0; j < w.jobs.size(); ++j) {
    const Job& job = w.jobs[j];
    const bool other = job.spec.queue != high.queue;
    if (!other && job.spec.priority >= high.priority) continue;
    if (other && w.reclaim == Reclaim::kNever) continue;
    if (other && w.reclaim == Reclaim::kLowerPriority && job.spec.priority >= high.priority) continue;
    const auto used_here = w.used.find(high.queue);
    if (other && (used_here == w.used.end() ? 0 : used_here->second) + need > w.own) continue;
    Item whole{j, {}, job.cost, std::vector<std::int64_t>(w.free.size()), 0, other, 0};
    for (std::size_t k = 0; k < job.slots.size(); ++k) {
      const auto node = static_cast<std::size_t>(job.slots[k].second);
      if (static_cast<std::int64_t>(k) < job.spec.root.pod_sets[0].least_count()) {
        whole.freed[node] += job.gpus;
        whole.all += job.gpus;
        ++whole.pods;
        continue;
      }
      Item part{
          j, job.slots[k].first, cost_of_slot(job), std::vector<std::int64_t>(w.free.size()), job.gpus, other,
          1};
      part.freed[node] = job.gpus;
      whole.cost -= part.cost;
      items.push_back(part);
      ranks.emplace_back(job.spec.priority, false);
    }
    items.push_back(whole);
    ranks.emplace_back(job.spec.priority, true);
  }
  const auto fits = [&](const std::vector<std::int64_t>& free, std::int64_t freed_in_all) {
    std::int64_t slots = 0;
    for (const std::int64_t f : free) slots += f / gpus;
    if (slots < count) return false;
    std::int64_t all = 0;
    for (const auto& [queue, used] : w.used) all += used;
    return !w.queues || all - freed_in_all + need <= 2 * w.own;
  };
  std::optional<Found> best;
  std::vector<std::int64_t> free = w.free;
  std::vector<std::size_t> chosen;
  std::int64_t freed_in_all = 0;
  const auto beyond = [&] {
    std::map<std::size_t, std::int64_t> pods;
    for (const std::size_t i : chosen) pods[items[i].job] += items[i].pods;
    return pods_beyond(w, pods);
  };
  const std::function<void(std::size_t, Found)> go = [&](std::size_t at, Found so_far) {
    if (best && so_far >= *best) return;
    if (fits(free, freed_in_all)) {
      // Work of the other queue may go while its queue borrows: in the best order the largest one goes last.
      std::int64_t taken = 0;
      std::int64_t largest = 0;
      for (const std::size_t i : chosen) {
        if (!items[i].other_queue) continue;
        taken += items[i].all;
        largest = std::max(largest, items[i].all);
      }
      const auto other = w.used.find(high.queue == "a" ? "b" : "a");
      if (taken == 0 || other->second - (taken - largest) > w.own) best = so_far;
    }
    if (at == items.size()) return;
    go(at + 1, so_far);
    const Item& item = items[at];
    if (!item.slot) {
      // Everything goes only where the surplus has gone.
      for (std::size_t i = 0; i < at; ++i) {
        if (items[i].job == item.job && std::count(chosen.begin(), chosen.end(), i) == 0) return;
      }
    }
    chosen.push_back(at);
    for (std::size_t n = 0; n < free.size(); ++n) free[n] += item.freed[n];
    freed_in_all += item.all;
    go(at + 1, {beyond(), std::max(so_far.rank, ranks[at]), so_far.cost + item.cost});
    freed_in_all -= item.all;
    for (std::size_t n = 0; n < free.size(); ++n) free[n] -= item.freed[n];
    chosen.pop_back();
  };
  go(0, {});
  return best;
}

std::string text_of(const QualityWorld& w, const Workload& high, const std::vector<Decision>& decisions) {
  std::string out = fmt::format("{} nodes, own quota {}, reclaim {}\n", w.free.size(), w.queues ? w.own : -1,
                                enum_name(w.reclaim));
  for (const Job& job : w.jobs) {
    out += fmt::format("{} queue {} priority {} least {} cost {}:", job.spec.uid, job.spec.queue,
                       job.spec.priority, job.spec.root.pod_sets[0].least_count(), job.cost);
    for (const auto& [slot, node] : job.slots) out += fmt::format(" {}:{}x{}", slot, node, job.gpus);
    for (const std::string& name : *job.spec.root.pod_sets[0].pod.budgets)
      out += fmt::format(" budget {} of {}", name, w.budgets.at(name));
    out += "\n";
  }
  const PodSet& set = high.root.pod_sets[0];
  out += fmt::format("high queue {} priority {}: {} x {}\n", high.queue, high.priority, set.count,
                     set.pod.claim.requests[0].count);
  for (const Decision& d : decisions) {
    out += fmt::format("{} {} cost {} slots", enum_name(d.kind), d.workload, d.cost);
    for (const auto& slot : d.slots) out += fmt::format(" {}@{}", slot.index, slot.node);
    out += "\n";
  }
  return out;
}

TEST(VictimQuality, WithinFivePercentOfTheBestOfAllSets) {
  const char* asked = std::getenv("BERTH_VICTIM_STATES");
  const std::int64_t states = asked != nullptr ? std::atoll(asked) : 1000;
  std::int64_t equal = 0;
  std::int64_t close = 0;
  std::int64_t worse = 0;
  std::int64_t nobody = 0;
  std::int64_t victims = 0;
  std::int64_t beyond_budgets = 0;
  const char* first = std::getenv("BERTH_VICTIM_SEED");
  for (std::uint64_t seed = first != nullptr ? std::strtoull(first, nullptr, 10) : 1;
       equal + close + worse < states; ++seed) {
    Random r(seed);
    QualityWorld w;
    build(w, r);
    Random budgets(seed ^ 0xb0d6e75);
    give_budgets(w, budgets);
    const std::int64_t count = r.between(1, 3);
    const std::int64_t gpus = r.between(1, 8);
    Workload high = gang_workload("high", static_cast<int>(count), static_cast<int>(gpus), r.between(1, 3));
    if (w.queues) high.queue = r.chance(1, 2) ? "a" : "b";
    ok(w.engine.apply(WorkloadUpsert{high}));
    const auto decisions = w.engine.decide(kNow);
    ok(w.engine.audit());
    Found found;
    std::map<std::size_t, std::int64_t> pods;
    bool starts = false;
    for (const Decision& d : decisions) {
      starts = starts || (d.kind == DecisionKind::kStart && d.workload == "high");
      if (d.kind != DecisionKind::kEvict) continue;
      const Job& job =
          *std::find_if(w.jobs.begin(), w.jobs.end(), [&](const Job& j) { return j.spec.uid == d.workload; });
      pods[static_cast<std::size_t>(&job - w.jobs.data())] += static_cast<std::int64_t>(d.slots.size());
      found.rank = std::max(found.rank, {job.spec.priority, d.slots.size() == job.slots.size()});
      found.cost += d.cost;
      ++victims;
    }
    if (starts) continue;
    found.beyond = pods_beyond(w, pods);
    if (found.beyond > 0) ++beyond_budgets;
    const bool evicts = found.rank.first != kInt64Min;
    const auto best = best_of_all(w, high, count, gpus);
    ASSERT_EQ(evicts, best.has_value()) << "state " << seed << ":\n" << text_of(w, high, decisions);
    if (!evicts) {
      ++nobody;
      continue;
    }
    ASSERT_FALSE(found < *best) << "state " << seed
                                << ": better than possible, so somebody yields who must not";
    if (found == *best) {
      ++equal;
    } else if (found.beyond == best->beyond && found.rank == best->rank &&
               found.cost * 100 <= best->cost * 105) {
      ++close;
    } else {
      ++worse;
      ADD_FAILURE()
          << fmt::format(
                 "state {}: {} beyond budgets, rank {}/{} cost {}, and the best has {} beyond, rank {}/{} "
                 "cost {}",
                 seed, found.beyond, found.rank.first, found.rank.second, found.cost, best->beyond,
                 best->rank.first, best->rank.second, best->cost)
          << "\n"
          << text_of(w, high, decisions);
    }
  }
  std::cout << fmt::format(
      "{} states with victims ({} evictions): {} equal the best set, {} within 5 %, {} worse; {} more have "
      "none; {} go beyond disruption budgets\n",
      states, victims, equal, close, worse, nobody, beyond_budgets);
}

// Many candidates: tens of nodes full of jobs that stand on one node each. The least cost is known all the same: on each node that of
// k more slots over all sets of its jobs, and then the best division of the slots among the nodes.
struct Full {
  Engine engine{EngineConfig{.placement = Placement::kFirst}};
  std::vector<std::vector<std::pair<std::string, std::int64_t>>> jobs;  // by node: uid, GPUs
  std::vector<std::int64_t> free;
};

void fill(Full& w, Random& r, std::int64_t nodes) {
  TimeMs now = 1000;
  for (std::int64_t n = 0; n < nodes; ++n) {
    const std::string name = fmt::format("n{}", n);
    ok(w.engine.apply(gpu_node(name, 8)));
    std::int64_t free = 8 - r.between(0, 1);
    w.free.push_back(8 - free);
    w.jobs.emplace_back();
    while (free > 0) {
      const std::int64_t gpus = r.between(1, free);
      Workload job =
          gang_workload(fmt::format("{}-{}", name, w.jobs.back().size()), 1, static_cast<int>(gpus));
      job.restart.overhead = 1000 * r.between(0, 600);
      if (r.chance(1, 2)) job.restart.checkpoint_every = 1000 * r.between(10, 400);
      job.root.pod_sets[0].pod.required_affinity = {{{}, {{"", SelectorOp::kIn, {name}}}}};
      ok(w.engine.apply(WorkloadUpsert{job}));
      w.jobs.back().emplace_back(job.uid, gpus);
      free -= gpus;
    }
    w.engine.decide(now += 1000 * r.between(1, 20));
  }
}

// The least cost of `count` slots of `gpus`.
std::optional<std::int64_t> least_cost(const Full& w, std::int64_t count, std::int64_t gpus) {
  std::vector<std::optional<std::int64_t>> best(static_cast<std::size_t>(count) + 1);  // by slots
  best[0] = 0;
  for (std::size_t n = 0; n < w.jobs.size(); ++n) {
    const auto& jobs = w.jobs[n];
    std::vector<std::optional<std::int64_t>> here(static_cast<std::size_t>(8 / gpus) + 1);
    for (std::uint64_t set = 0; set < std::uint64_t{1} << jobs.size(); ++set) {
      std::int64_t room = w.free[n];
      std::int64_t cost = 0;
      for (std::size_t j = 0; j < jobs.size(); ++j) {
        if ((set >> j & 1) == 0) continue;
        room += jobs[j].second;
        cost += *w.engine.victim_cost(jobs[j].first, kNow);
      }
      for (std::int64_t k = room / gpus; k >= 0; --k) {
        auto& known = here[static_cast<std::size_t>(k)];
        if (!known || cost < *known) known = cost;
      }
    }
    for (std::size_t slots = best.size(); slots-- > 1;) {
      for (std::size_t k = 1; k < here.size() && k <= slots; ++k) {
        if (!here[k] || !best[slots - k]) continue;
        const std::int64_t cost = *best[slots - k] + *here[k];
        if (!best[slots] || cost < *best[slots]) best[slots] = cost;
      }
    }
  }
  return best.back();
}

TEST(VictimQuality, AmongManyCandidates) {
  const char* asked = std::getenv("BERTH_VICTIM_STATES");
  const std::int64_t states = asked != nullptr ? std::atoll(asked) / 10 : 100;
  std::int64_t equal = 0;
  std::int64_t close = 0;
  std::int64_t far = 0;
  std::int64_t worst = 0;  // over the least, thousandths
  std::int64_t cost_all = 0;
  std::int64_t least_all = 0;
  for (std::uint64_t seed = 1; equal + close + far < states; ++seed) {
    Random r(seed);
    Full w;
    fill(w, r, r.between(10, 30));
    const std::int64_t gpus = std::int64_t{1} << r.between(0, 3);
    const std::int64_t count = r.between(1, 8);
    const auto least = least_cost(w, count, gpus);
    ASSERT_TRUE(least) << seed;
    ok(w.engine.apply(gang("high", static_cast<int>(count), static_cast<int>(gpus), 10)));
    const auto decisions = w.engine.decide(kNow);
    std::int64_t cost = 0;
    for (const Decision& d : decisions) cost += d.kind == DecisionKind::kEvict ? d.cost : 0;
    if (*least == 0) continue;  // it starts in free room
    ASSERT_GE(cost, *least) << seed;
    const std::int64_t over = (cost - *least) * 1000 / *least;
    ++(cost == *least ? equal : over <= 50 ? close : far);
    worst = std::max(worst, over);
    cost_all += cost;
    least_all += *least;
  }
  std::cout << fmt::format(
      "{} states of 10 to 30 nodes: {} equal the best set, {} within 5 %, {} worse, at most {} %; in all "
      "{:.2f} % over\n",
      states, equal, close, far, worst / 10,
      static_cast<double>(cost_all - least_all) * 100 / static_cast<double>(least_all));
  EXPECT_LE(cost_all * 100, least_all * 105);
}

}  // namespace
}  // namespace berth::engine

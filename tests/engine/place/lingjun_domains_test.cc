// Gangs that come and go on the 847 hosts of Lingjun's published topology: how many groups and leaves each gets, beside the least
// that was possible when it came. The least is computed here from the decisions alone, by code that shares nothing with the
// engine: every set of groups, and the largest leaves of each.
//
// The file is read from $BERTH_TRACES; without it hosts of the same kind are made up.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "base/random.h"
#include "engine/tests_support.h"

namespace berth::engine::test {
namespace {

struct Host {
  std::string name, group, leaf;
};

std::vector<Host> hosts() {
  std::vector<Host> out;
  if (const char* traces = std::getenv("BERTH_TRACES")) {
    std::ifstream file(std::string(traces) + "/lingjun_2023_topology/topo.csv");
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
      std::istringstream cells(line);
      Host host;
      std::string core;
      std::getline(cells, host.name, ',');
      std::getline(cells, core, ',');
      std::getline(cells, host.group, ',');
      std::getline(cells, host.leaf, ',');
      host.leaf = host.group + "/" + host.leaf;
      out.push_back(host);
    }
  }
  if (!out.empty()) return out;
  Random r(847);
  for (int leaf = 0; leaf < 119; ++leaf) {
    for (auto n = r.chance(3, 4) ? r.between(7, 8) : r.between(2, 6); n > 0; --n) {
      const std::string group = std::to_string(leaf * 3 / 119);
      out.push_back({"h" + std::to_string(out.size()), group, group + "/" + std::to_string(leaf)});
    }
  }
  r.shuffle(out);
  return out;
}

struct Few {
  std::size_t groups = 0;
  std::size_t leaves = 0;
  auto operator<=>(const Few&) const = default;
};

// The fewest groups, then the fewest leaves, with so many free hosts; nothing where there are too few.
std::optional<Few> least_of(const std::map<std::string, std::map<std::string, int>>& free, int pods) {
  std::vector<std::vector<int>> groups;
  for (const auto& [group, leaves] : free) {
    groups.emplace_back();
    for (const auto& [leaf, count] : leaves) groups.back().push_back(count);
  }
  std::optional<Few> best;
  for (std::uint32_t mask = 1; mask < 1u << groups.size(); ++mask) {
    std::vector<int> leaves;
    Few few;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if ((mask >> g & 1) == 0) continue;
      ++few.groups;
      leaves.insert(leaves.end(), groups[g].begin(), groups[g].end());
    }
    std::sort(leaves.rbegin(), leaves.rend());
    int left = pods;
    while (left > 0 && few.leaves < leaves.size()) left -= leaves[few.leaves++];
    if (left <= 0 && (!best || few < *best)) best = few;
  }
  return best;
}

class LingjunDomains : public testing::TestWithParam<int> {};

TEST_P(LingjunDomains, GangsLieInTheFewest) {
  const std::vector<Host> all = hosts();
  std::map<std::string, const Host*> by_name;
  std::map<std::string, std::map<std::string, int>> free;
  Engine e;
  ok(e.apply(TopologyUpsert{{"net", {"psw", "asw"}}}));
  for (const Host& host : all) {
    ok(e.apply(gpu_node(host.name, 8, {{"psw", host.group}, {"asw", host.leaf}})));
    by_name[host.name] = &host;
    ++free[host.group][host.leaf];
  }
  Random r(GetParam());
  std::map<std::string, std::vector<const Host*>> running;
  std::vector<std::string> order;
  int used = 0;
  Few got_all, least_all;
  std::size_t gangs = 0, of_one_leaf = 0, in_one_leaf = 0;
  for (int n = 0; n < 1500; ++n) {
    static constexpr int kSizes[] = {2, 2, 2, 3, 4, 4, 4, 6, 8, 8, 12, 16, 16, 24, 32, 64};
    const int pods = kSizes[r.below(std::size(kSizes))];
    while (used + pods > static_cast<int>(all.size()) * GetParam() / 100) {
      const std::size_t at = r.below(order.size());
      for (const Host* host : running[order[at]]) ++free[host->group][host->leaf];
      used -= static_cast<int>(running[order[at]].size());
      running.erase(order[at]);
      ok(e.apply(WorkloadRemove{order[at]}));
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const std::optional<Few> least = least_of(free, pods);
    ASSERT_TRUE(least);
    const std::string uid = "w" + std::to_string(n);
    Workload w = gang_workload(uid, pods, 8);
    if (n % 3 == 1) w.root.topology.preferred = "asw";
    ok(e.apply(WorkloadUpsert{w}));
    std::set<std::string> groups, leaves;
    for (const Decision& d : e.decide(1000 + n)) {
      for (const SlotPlacement& slot : d.slots) {
        const Host* host = by_name.at(slot.node);
        running[uid].push_back(host);
        --free[host->group][host->leaf];
        groups.insert(host->group);
        leaves.insert(host->leaf);
      }
    }
    ASSERT_EQ(running[uid].size(), static_cast<std::size_t>(pods));
    used += pods;
    order.push_back(uid);
    ++gangs;
    got_all.groups += groups.size();
    got_all.leaves += leaves.size();
    least_all.groups += least->groups;
    least_all.leaves += least->leaves;
    of_one_leaf += least->leaves == 1 ? 1 : 0;
    in_one_leaf += least->leaves == 1 && leaves.size() == 1 ? 1 : 0;
    EXPECT_EQ(groups.size(), least->groups) << uid << " of " << pods;
    EXPECT_LE(leaves.size() * 10, least->leaves * 11) << uid << " of " << pods;
  }
  std::cout << fmt::format(
      "{} hosts, {} % in use: {} gangs; groups {} (least {}), leaves {} (least {}); of {} that one leaf "
      "could hold {} do\n",
      all.size(), GetParam(), gangs, got_all.groups, least_all.groups, got_all.leaves, least_all.leaves,
      of_one_leaf, in_one_leaf);
  EXPECT_EQ(in_one_leaf, of_one_leaf);
  ok(e.audit());
}

INSTANTIATE_TEST_SUITE_P(Loads, LingjunDomains, testing::Values(50, 70, 90));

}  // namespace
}  // namespace berth::engine::test

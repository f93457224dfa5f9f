// How often a gang with constraints among its members finds places: small random states, against a search through all orders and places.
//
//   BERTH_GANG_STATES=N   so many states (default 1000)
//   BERTH_GANG_SEED=N     from this one on (default 1)
//   BERTH_GANG_NODES=N    of at most so many nodes (default 6)
//   BERTH_GANG_MEMBERS=N  and gangs of at most so many members (default 5), of three kinds at most where there are more than 5
//
// The search binds one member after the other, as the default scheduler would, and asks the ledger (ledger.h), which shares no code with
// the engine. Every start of the engine must be one of its sequences, too.
//
// A gang must find its places in 99 of 100 states (docs/constraints.md, "Where the search can fail").
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/engine.h"
#include "property/ledger.h"

namespace berth::property {
namespace {

constexpr char kGang[] = "gang";
constexpr char kZone[] = "zone";
constexpr char kRack[] = "rack";
constexpr char kHost[] = "host";

struct State {
  std::vector<Event> events;
  Workload gang;
  std::set<std::string> families;  // of its constraints
};

struct Limits {
  std::int64_t nodes = 6;
  std::int64_t members = 5;
};

class Maker {
 public:
  Maker(std::uint64_t seed, Limits limits) : r_(seed), limits_(limits) {}

  State make() {
    const std::int64_t nodes = r_.between(3, limits_.nodes);
    for (std::int64_t n = 0; n < nodes; ++n) add_node(n);
    const std::int64_t others = r_.between(0, nodes);
    for (std::int64_t i = 0; i < others; ++i) add_other(i, nodes);
    add_gang();
    return std::move(out_);
  }

 private:
  std::string one_of(const std::vector<std::string>& all) { return all[r_.below(all.size())]; }

  void add_node(std::int64_t n) {
    Node node;
    node.name = fmt::format("n{}", n);
    node.labels = {{kHost, node.name}};
    if (r_.chance(9, 10)) node.labels[kZone] = one_of({"z0", "z1", "z2"});
    if (r_.chance(9, 10)) node.labels[kRack] = one_of({"r0", "r1", "r2", "r3"});
    if (r_.chance(1, 8)) node.taints.push_back({"spot", "", TaintEffect::kNoSchedule});
    node.allocatable.set("cpu", r_.between(1, 5) * 1000);
    out_.events.emplace_back(NodeUpsert{std::move(node)});
  }

  void add_other(std::int64_t i, std::int64_t nodes) {
    ForeignPod pod;
    pod.uid = fmt::format("other-{}", i);
    pod.node = fmt::format("n{}", r_.below(static_cast<std::uint64_t>(nodes)));
    pod.requests.set("cpu", r_.between(0, 2) * 1000);
    if (r_.chance(1, 2)) pod.selected = {"web"};
    if (r_.chance(1, 5)) pod.selected.emplace_back("all");
    if (r_.chance(1, 6)) pod.terms.push_back({TermKind::kApart, one_of({"x", "y"}), one_of({kHost, kRack})});
    if (r_.chance(1, 5)) pod.ports.push_back({8080, PortProtocol::kTcp, ""});
    out_.events.emplace_back(ForeignPodUpsert{std::move(pod)});
  }

  CountedTerm term_of(const std::string& part) {
    CountedTerm term;
    term.selector = one_of({"all", "all", part, "x", "y", "web"});
    const auto choice = r_.below(10);
    if (choice < 3) {
      term.kind = TermKind::kApart;
      term.level = one_of({kHost, kHost, kHost, kRack, kZone});
    } else if (choice < 6) {
      term.kind = TermKind::kNear;
      term.level = one_of({kZone, kZone, kRack, kHost});
    } else {
      term.kind = TermKind::kSpread;
      term.level = one_of({kHost, kRack, kZone});
      term.max_skew = r_.between(1, 2);
      term.min_domains = r_.chance(1, 5) ? r_.between(2, 3) : 1;
      term.tolerated = r_.chance(1, 4);
    }
    return term;
  }

  PodSet set_of(const std::string& part, std::int64_t count) {
    PodSet set;
    set.name = part;
    set.count = count;
    PodTemplate& pod = set.pod;
    pod.requests.set("cpu", r_.between(1, 4) * 500);
    pod.selected = {"all", part};
    const std::int64_t terms = r_.between(1, 3);
    for (std::int64_t i = 0; i < terms; ++i) {
      const CountedTerm term = term_of(part);
      const auto same = [&](const CountedTerm& t) { return t.kind == term.kind && t.level == term.level; };
      if (std::any_of(pod.terms.begin(), pod.terms.end(), same)) continue;
      out_.families.insert(std::string(enum_name(term.kind)));
      pod.terms.edit().push_back(term);
    }
    if (r_.chance(1, 4)) {
      pod.ports = std::vector<HostPort>{{r_.chance(1, 2) ? 8080 : 9090, PortProtocol::kTcp, ""}};
      out_.families.insert("port");
    }
    if (r_.chance(1, 3)) pod.tolerations.edit().push_back({"spot", true, "", TolerationEffect::kAll});
    return set;
  }

  void add_gang() {
    Workload& w = out_.gang;
    w.uid = w.name = kGang;
    const std::int64_t size = r_.between(2, limits_.members);
    const std::int64_t first = r_.chance(1, 2) ? size : r_.between(1, size - 1);
    w.root.pod_sets.push_back(set_of("x", first));
    const std::int64_t rest = size - first;
    const std::int64_t third = limits_.members > 5 && rest > 1 ? r_.between(0, rest - 1) : 0;
    if (rest > 0) w.root.pod_sets.push_back(set_of("y", rest - third));
    if (third > 0) w.root.pod_sets.push_back(set_of("w", third));
    if (rest > 0) out_.families.insert(third > 0 ? "three kinds" : "two kinds");
    out_.events.emplace_back(WorkloadUpsert{w});
  }

  Random r_;
  Limits limits_;
  State out_;
};

// Nodes of the members that are placed, by pod set and in order of their names: members that are alike may change places.
using Places = std::vector<std::vector<std::string>>;

class Search {
 public:
  explicit Search(const State& state) {
    for (const Event& event : state.events) ledger_.apply(event);
    for (const auto* set : pod_sets_of(ledger_.workloads.at(kGang).spec.root)) sets_.push_back(set);
  }

  // Whether the members come to these nodes in some order; without them: to any.
  bool exists(std::optional<Places> wanted = {}) {
    wanted_ = std::move(wanted);
    seen_.clear();
    Places none(sets_.size());
    return from(none);
  }

 private:
  bool from(Places& placed) {
    Places key = placed;
    for (auto& nodes : key) std::sort(nodes.begin(), nodes.end());
    if (!seen_.insert(key).second) return false;
    bool whole = true;
    for (std::size_t s = 0; s < sets_.size(); ++s) {
      if (placed[s].size() == static_cast<std::size_t>(sets_[s]->count)) continue;
      whole = false;
      for (const auto& [name, node] : ledger_.nodes) {
        if (is_wanted(s, name, placed[s]) && may_come(s, placed[s].size(), node) && with(placed, s, name))
          return true;
      }
    }
    return whole;
  }

  bool with(Places& placed, std::size_t s, const std::string& node) {
    const auto index = static_cast<std::int64_t>(placed[s].size());
    tell(s, index, SlotState::kRunning, node);
    placed[s].push_back(node);
    const bool found = from(placed);
    placed[s].pop_back();
    tell(s, index, SlotState::kGone, "");
    return found;
  }

  bool is_wanted(std::size_t s, const std::string& node, const std::vector<std::string>& placed) const {
    if (!wanted_) return true;
    const auto& nodes = (*wanted_)[s];
    return std::count(placed.begin(), placed.end(), node) < std::count(nodes.begin(), nodes.end(), node);
  }

  bool may_come(std::size_t s, std::size_t index, const Node& node) const {
    const PodTemplate& pod = sets_[s]->pod;
    const SlotRecord& slot = ledger_.workloads.at(kGang).sets[s][index];
    return ledger_.static_trouble(pod, {}, node).empty() && ledger_.slots_that_fit(pod, node.name) > 0 &&
           ledger_.term_trouble(pod, node.name, When::kNow, &slot).empty() &&
           ledger_.spread_trouble({{&pod, node.name, &slot}}, {}).empty();
  }

  void tell(std::size_t s, std::int64_t index, SlotState state, const std::string& node) {
    ledger_.apply(SlotUpdate{kGang, static_cast<std::int64_t>(s), index, state, node, {}, {}, 0});
  }

  Ledger ledger_;
  std::vector<const PodSet*> sets_;
  std::optional<Places> wanted_;
  std::set<Places> seen_;
};

struct Tally {
  int possible = 0;
  int found = 0;
};

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// The nodes on which the engine starts the gang; none: it waits.
std::optional<Places> starts(engine::Engine& engine, const State& state) {
  for (const Event& event : state.events) {
    const Status taken = engine.apply(event);
    EXPECT_TRUE(taken.has_value()) << (taken ? "" : taken.error().str());
  }
  for (const Decision& decision : engine.decide(1000)) {
    if (decision.kind != DecisionKind::kStart) continue;
    Places out(pod_sets_of(state.gang.root).size());
    for (const auto& slot : decision.slots) out[static_cast<std::size_t>(slot.pod_set)].push_back(slot.node);
    return out;
  }
  return {};
}

TEST(GangSearch, FindsPlacesWhereThereAreSome) {
  const std::uint64_t states = number("BERTH_GANG_STATES", 1000);
  const std::uint64_t first = number("BERTH_GANG_SEED", 1);
  const Limits limits{static_cast<std::int64_t>(number("BERTH_GANG_NODES", 6)),
                      static_cast<std::int64_t>(number("BERTH_GANG_MEMBERS", 5))};
  Tally all, alike, mixed;
  std::map<std::string, Tally> by_families, by_size;
  std::map<std::string, int> missed;
  std::vector<std::uint64_t> seeds;
  for (std::uint64_t seed = first; seed < first + states; ++seed) {
    const State state = Maker(seed, limits).make();
    engine::Engine engine;
    const auto placed = starts(engine, state);
    Search search(state);
    EXPECT_TRUE(!placed || search.exists(placed)) << "seed " << seed << ": no order of binds leads there";
    const bool possible = placed.has_value() || search.exists();
    if (!possible) continue;
    std::int64_t size = 0;
    for (const auto* set : pod_sets_of(state.gang.root)) size += set->count;
    const std::string families = fmt::format("{}", fmt::join(state.families, ", "));
    Tally& by_kinds = state.gang.root.pod_sets.size() == 1 ? alike : mixed;
    for (Tally* tally :
         {&all, &by_kinds, &by_families[families], &by_size[fmt::format("{} members", size)]}) {
      ++tally->possible;
      tally->found += placed ? 1 : 0;
    }
    if (placed) continue;
    ++missed[families];
    seeds.push_back(seed);
  }
  const auto line = [](const std::string& of, const Tally& tally) {
    std::cout << fmt::format("  {:<40} {:>6} of {:>6}\n", of, tally.found, tally.possible);
  };
  std::cout << fmt::format("{} states from seed {}: places exist in {}, found in {} ({:.2f} %)\n", states,
                           first, all.possible, all.found, 100.0 * all.found / std::max(all.possible, 1));
  line("members alike", alike);
  line("members of several kinds", mixed);
  for (const auto& [of, tally] : by_size) line(of, tally);
  for (const auto& [of, tally] : by_families) line(of, tally);
  for (const auto& [kind, times] : missed)
    std::cout << fmt::format("  missed: {} times with {}\n", times, kind);
  if (!seeds.empty()) std::cout << fmt::format("  seeds of those: {}\n", fmt::join(seeds, " "));
  EXPECT_GE(100 * alike.found, 99 * alike.possible);
  EXPECT_GE(100 * mixed.found, 99 * mixed.possible);
}

}  // namespace
}  // namespace berth::property

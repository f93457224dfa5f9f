#include "dialect/intake/draft_workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "dialect/kueue/kueue_workload.h"

namespace berth::dialect {
namespace {

// More than any two priorities differ by. Only pods that have nodes get it, so nothing is evicted for it.
constexpr std::int64_t kNeverVictim = std::int64_t{1} << 40;

// The amounts that quota counts for its pods, if they differ from the requests.
void count_for_quota(const QuotaCounts& counts, Group& group) {
  for (PodSet& set : group.pod_sets) counts.apply(set.pod);
  for (Group& child : group.groups) count_for_quota(counts, child);
}

// Slots beyond the least number ask for room with the rights of the others.
void claim_surplus(PodSet& set) {
  const std::int64_t least = set.least_count();
  if (least >= set.count) return;
  if (least > 0) set.bands.push_back({.count = least, .protected_from_reclaim = false});
  set.bands.push_back({.count = set.count - least, .protected_from_reclaim = false});
}

// A Workload that waits alone says itself what it asks for.
Group root_of_object(const IntakeBooks& books, const Draft& draft, const Settings& settings) {
  Group root = root_of(*draft.object);
  std::size_t at = 0;
  const auto finish = [&](PodSet& set) {
    if (settings.invalid) set.pod = {};
    // It has no pods that a selector could select.
    const bool about_pods = std::any_of(set.pod.terms.begin(), set.pod.terms.end(),
                                        [](const CountedTerm& term) { return !term.level.empty(); });
    if (about_pods && !books.config.quota_only)
      set.pod.unsupported.emplace_back("required terms about other pods, of a Workload that waits alone");
    if (at < settings.awaited.size()) set.pod.awaited_flavors = settings.awaited[at];
    ++at;
  };
  for (PodSet& set : root.pod_sets) finish(set);
  for (Group& group : root.groups) {
    for (PodSet& set : group.pod_sets) finish(set);
  }
  return root;
}

// The group of the last of these rings. They stand side by side: each is the last of its parent, or new.
Group& innermost(Group& root, const std::vector<GangRing>& rings) {
  Group* at = &root;
  for (const GangRing& ring : rings) {
    if (at->groups.empty() || at->groups.back().name != ring.name) {
      at->groups.emplace_back();
      at->groups.back().name = ring.name;
      at->groups.back().topology = ring.topology;
    }
    at = &at->groups.back();
  }
  return *at;
}

// The pod set in Kueue's Workload of which it is one part of several: one flavor is for all of them. "": it is whole.
std::string flavor_group_of(const Draft& draft, const OwnerRecord* owner, std::size_t role) {
  if (owner == nullptr || owner->ask.sets.size() != draft.roles.size()) return {};
  const auto& sets = owner->ask.sets;
  const bool goes_on = role + 1 < sets.size() && sets[role + 1].continues;
  return sets[role].continues || goes_on ? set_name(owner->ask, role) : std::string();
}

Group root_of_roles(const Draft& draft, const OwnerRecord* owner, const Settings& settings) {
  Group root;
  bool grouped = false;  // some role has a topology request of its own
  for (const auto& role : draft.roles) {
    grouped |= settings.topology.empty() && role.topology->per_pod_set && draft.roles.size() > 1;
  }
  const bool near = !settings.nearness.empty();  // so have its parts
  for (std::size_t i = 0; i < draft.roles.size(); ++i) {
    const Role& role = draft.roles[i];
    PodSet set;
    set.name = role_name(draft, owner, i);
    if (!settings.invalid) set.pod = *role.shape;
    if (i < settings.awaited.size()) set.pod.awaited_flavors = settings.awaited[i];
    if (i < settings.selected.size() && !settings.selected[i].empty()) {
      auto& selected = set.pod.selected.edit();  // beside its claims
      selected.insert(selected.end(), settings.selected[i].begin(), settings.selected[i].end());
    }
    if (i < settings.budgets.size() && !settings.budgets[i].empty()) set.pod.budgets = settings.budgets[i];
    set.flavor_group = flavor_group_of(draft, owner, i);
    set.count = settings.counts[i].count;
    set.least = settings.counts[i].least;
    if (i < settings.kept.size() && settings.kept[i] != 0)
      set.bands = {{.count = set.count, .priority = kNeverVictim, .protected_from_reclaim = true}};
    const bool claims = draft.loose || (draft.system != nullptr && draft.system->surplus_preempts);
    if (claims && set.bands.empty()) claim_surplus(set);
    // Slots are told one by one, but for those that have no pod and wait.
    set.present = draft.waits || !role.expected.empty() ? set.count : 0;
    if (!grouped && !near) {
      root.pod_sets.push_back(std::move(set));
      continue;
    }
    Group& around = near ? innermost(root, settings.rings[i]) : root;
    const bool continues = !set.flavor_group.empty() && owner->ask.sets[i].continues;
    if (continues || (near && i > 0 && !role.part.empty() && draft.roles[i - 1].part == role.part)) {
      around.groups.back().pod_sets.push_back(std::move(set));
      continue;
    }
    Group group;
    group.name = set.name;
    group.topology = near ? settings.nearness[i] : role.topology->request;
    group.pod_sets.push_back(std::move(set));
    around.groups.push_back(std::move(group));
  }
  return root;
}

}  // namespace

std::string role_name(const Draft& draft, const OwnerRecord* owner, std::size_t role) {
  if (owner != nullptr && owner->ask.sets.size() == draft.roles.size()) return set_name(owner->ask, role);
  const std::string& part = draft.roles[role].part;
  const auto is_same = [&](const Role& other) { return other.part == part; };
  const bool alone = std::count_if(draft.roles.begin(), draft.roles.end(), is_same) == 1;
  if (!part.empty()) return alone ? part : fmt::format("{}-{}", part, role);
  return draft.roles.size() == 1 ? "main" : fmt::format("role-{}", role);
}

Workload workload_of(const IntakeBooks& books, const Draft& draft, const Settings& settings) {
  Workload w;
  w.uid = draft.uid;
  w.name = draft.name;
  w.queue = settings.queue;
  w.lane = settings.lane;
  w.kind = settings.kind;
  w.priority = settings.priority;
  w.may_preempt = settings.may_preempt;
  w.preemptible = settings.preemptible;
  w.active = !settings.blocked;
  w.whole_first = settings.whole_first;
  w.admitted = settings.admitted;
  w.created = settings.created;
  const OwnerRecord* owner = books.owner_of(draft);
  if ((owner != nullptr && owner->ask.elastic) || draft.former != nullptr)
    w.asks_more_since = std::max(settings.created, settings.asks_more_since);
  if (settings.grows_since != 0) w.asks_more_since = std::max(settings.created, settings.grows_since);
  w.expected_duration = settings.expected;
  w.broken_for = settings.broken_for;
  w.broken_since = settings.broken_since;
  w.preempts_after = settings.preempts_after;
  w.restart = settings.restart;
  w.root = draft.object ? root_of_object(books, draft, settings) : root_of_roles(draft, owner, settings);
  if (!draft.object) w.root.topology = settings.topology;
  if (!books.config.counts.empty()) count_for_quota(books.config.counts, w.root);
  return w;
}

}  // namespace berth::dialect

#include "property/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace berth::property {
namespace {

constexpr std::string_view kGpu = "nvidia.com/gpu";
constexpr std::int64_t kGi = std::int64_t{1} << 30;

// What all steps of a history agree on.
struct Profile {
  std::int64_t flavors = 1;
  bool topology = false;
  std::int64_t levels = 1;  // of the queue tree
  std::vector<std::string> leaves;
  std::vector<std::pair<std::string, std::string>> inner;  // name, parent
  std::vector<std::string> parent_of_leaf;
  bool policies = false;  // preemption at all
  bool outside = false;   // faults from outside
};

Profile profile_of(std::uint64_t seed) {
  Random r(seed);
  Profile p;
  p.flavors = r.chance(1, 2) ? 1 : r.between(2, 3);
  p.topology = r.chance(1, 2);
  p.levels = r.chance(1, 4) ? 1 : r.between(2, 3);
  p.policies = r.chance(4, 5);
  p.outside = r.chance(2, 3);
  if (p.levels >= 2) p.inner.emplace_back("company", "");
  if (p.levels == 3) {
    p.inner.emplace_back("dept-0", "company");
    p.inner.emplace_back("dept-1", "company");
  }
  const std::int64_t leaves = r.chance(1, 4) ? 1 : r.between(2, 5);
  for (std::int64_t i = 0; i < leaves; ++i) {
    p.leaves.push_back(fmt::format("team-{}", i));
    const std::string parent = p.levels == 1                     ? ""
                               : p.levels == 2 || r.chance(1, 4) ? "company"
                                                                 : fmt::format("dept-{}", r.below(2));
    p.parent_of_leaf.push_back(parent);
  }
  return p;
}

std::uint64_t mixed(std::uint64_t seed, std::string_view name) {
  std::uint64_t h = seed ^ 0xcbf29ce484222325ull;
  for (const char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return Random(h).next();
}

// The candidate whose hash with the seed is least.
std::optional<std::string> pick(std::uint64_t seed, const std::vector<std::string>& candidates) {
  if (candidates.empty()) return std::nullopt;
  return *std::min_element(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
    return std::make_pair(mixed(seed, a), a) < std::make_pair(mixed(seed, b), b);
  });
}

struct SlotName {
  std::string workload;
  std::int64_t set = 0;
  std::int64_t index = 0;
};

std::vector<SlotName> slots_in(const Ledger& ledger, SlotState state) {
  std::vector<SlotName> out;
  for (const auto& [uid, w] : ledger.workloads) {
    for (std::size_t s = 0; s < w.sets.size(); ++s) {
      for (std::size_t i = 0; i < w.sets[s].size(); ++i) {
        if (w.sets[s][i].state == state) {
          out.push_back({uid, static_cast<std::int64_t>(s), static_cast<std::int64_t>(i)});
        }
      }
    }
  }
  return out;
}

std::uint64_t hash_of(std::uint64_t seed, const SlotName& s) {
  return mixed(seed, fmt::format("{}/{}/{}", s.workload, s.set, s.index));
}

std::optional<SlotName> pick_slot(std::uint64_t seed, const Ledger& ledger, SlotState state) {
  const auto slots = slots_in(ledger, state);
  if (slots.empty()) return std::nullopt;
  return *std::min_element(slots.begin(), slots.end(),
                           [&](const auto& a, const auto& b) { return hash_of(seed, a) < hash_of(seed, b); });
}

std::vector<std::string> workloads_where(const Ledger& ledger,
                                         const std::function<bool(const WorkloadRecord&)>& is) {
  std::vector<std::string> out;
  for (const auto& [uid, w] : ledger.workloads) {
    if (is(w)) out.push_back(uid);
  }
  return out;
}

template <class Map>
std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> out;
  for (const auto& [name, value] : map) out.push_back(name);
  return out;
}

std::string flavor_name(std::int64_t i) {
  return fmt::format("pool-{}", i);
}

Node make_node(const Profile& p, const Step& step) {
  Random r(step.seed);
  Node node;
  node.name = fmt::format("n{}", step.id);
  const std::int64_t flavor = r.between(0, p.flavors - 1);
  node.labels["pool"] = flavor_name(flavor);
  if (p.topology) {
    const auto zone = r.below(2);
    node.labels["zone"] = fmt::format("z{}", zone);
    node.labels["rack"] = fmt::format("z{}r{}", zone, r.below(2));
    node.labels["host"] = node.name;
    if (r.chance(1, 20)) node.labels.erase("rack");
  }
  node.allocatable = {{"cpu", 1000 * r.between(4, 32)}, {"memory", kGi * r.between(8, 64)}, {"pods", 110}};
  if (r.chance(1, 12)) node.allocatable.set("pods", r.between(1, 3));
  const std::int64_t gpus = r.chance(1, 6) ? 0 : r.chance(1, 2) ? 8 : r.between(1, 7);
  if (gpus > 0) node.devices.push_back({std::string(kGpu), gpus, "", {}, {}});
  if (flavor == 2 || r.chance(1, 10))
    node.taints.push_back({"dedicated", flavor_name(flavor), TaintEffect::kNoSchedule});
  if (r.chance(1, 10)) node.taints.push_back({"slow", "", TaintEffect::kPreferNoSchedule});
  if (r.chance(1, 4)) node.rank = r.between(0, 3);
  return node;
}

Ordering make_ordering(Random& r) {
  Ordering o;
  if (r.chance(1, 3)) return o;
  o.by = static_cast<OrderBy>(r.below(EnumNames<OrderBy>::names.size()));
  o.priority_first = r.chance(2, 3);
  o.tiers = static_cast<Tiers>(r.below(2));
  o.attained_first = 1000 * r.between(1, 20);
  o.attained_levels = r.between(1, 4);
  if (r.chance(2, 3)) o.age_limit = r.chance(1, 2) ? 0 : 1000 * r.between(1, 40);
  return o;
}

Queue make_queue(const Profile& p, const Step& step) {
  Random r(step.seed);
  Queue q;
  // Step ids of queues count through the inner ones and then the leaves.
  auto at = static_cast<std::size_t>(step.id % 1000);
  if (at < p.inner.size()) {
    q.name = p.inner[at].first;
    q.parent = p.inner[at].second;
    q.leaf = false;
  } else {
    at -= p.inner.size();
    q.name = p.leaves[at % p.leaves.size()];
    q.parent = p.parent_of_leaf[at % p.leaves.size()];
  }
  if (q.leaf && r.chance(1, 12)) {
    q.unlimited = true;
    q.preemption.within = static_cast<WithinQueue>(r.below(4));
    return q;
  }
  const bool with_memory = mixed(r.next(), "memory") % 4 == 0;
  const bool with_pods = mixed(r.next(), "pods") % 6 == 0;
  ResourceGroup main{{"cpu", std::string(kGpu)}, {}};
  if (with_pods) main.resources.push_back("pods");
  std::vector<std::int64_t> order;
  for (std::int64_t i = 0; i < p.flavors; ++i) order.push_back(i);
  r.shuffle(order);
  if (order.size() > 1 && r.chance(1, 3)) order.pop_back();
  const bool inner_has_own = r.chance(1, 4);
  for (const std::int64_t i : order) {
    main.flavors.push_back(flavor_name(i));
    for (const std::string& resource : main.resources) {
      Quota quota;
      quota.flavor = flavor_name(i);
      quota.resource = resource;
      if (resource == kGpu) quota.nominal = 1000 * r.between(0, 12);
      if (resource == "cpu") quota.nominal = 1000 * r.between(4, 60);
      if (resource == "pods") quota.nominal = r.between(1, 20);
      if (!q.leaf && !inner_has_own) quota.nominal = 0;
      if (!q.parent.empty() && r.chance(1, 3)) quota.borrowing_limit = quota.nominal * r.between(0, 4) / 4;
      if (!q.parent.empty() && r.chance(1, 4)) quota.lending_limit = quota.nominal * r.between(0, 4) / 4;
      q.quotas.push_back(quota);
    }
  }
  q.groups.push_back(main);
  if (with_memory) {
    q.groups.push_back({{"memory"}, {"any"}});
    q.quotas.push_back({"any", "memory", kGi * r.between(8, 200), {}, {}});
  }
  q.order = r.chance(1, 4) ? QueueOrder::kStrict : QueueOrder::kBestEffort;
  if (p.policies) {
    q.preemption.within = static_cast<WithinQueue>(r.below(4));
    q.preemption.reclaim = static_cast<Reclaim>(r.below(3));
    if (r.chance(1, 3)) q.preemption.victims = static_cast<VictimOrder>(r.below(4));
    if (r.chance(1, 4)) q.preemption.minimum_runtime = 1000 * r.between(1, 40);
    q.preemption.ignores_minimum_runtime = r.chance(1, 8);
  }
  q.placement = static_cast<Placement>(r.below(6));
  q.ordering = make_ordering(r);
  if (!q.leaf) {
    q.sharing = static_cast<Sharing>(r.below(EnumNames<Sharing>::names.size()));
    q.half_life = r.chance(1, 2) ? kHour : 16 * kSecond;
  }
  q.weight = {r.between(0, 4), r.between(1, 2)};
  if (r.chance(1, 60)) q.disabled = "a test says so";
  return q;
}

PodSet make_pod_set(Random& r, const Profile& p, std::int64_t most) {
  PodSet set;
  set.count = r.chance(1, 2) ? 1 : r.between(1, most);
  if (set.count > 1 && r.chance(1, 3)) set.least = r.between(1, set.count);
  if (r.chance(1, 5)) {
    std::int64_t left = set.count;
    std::int64_t highest = 1;
    bool may_be_protected = true;
    for (auto bands = 1 + r.below(3); bands > 0 && left > 0; --bands) {
      DemandBand band;
      band.count = r.between(1, left);
      left -= band.count;
      band.priority = highest = r.between(-2, highest);
      band.protected_from_reclaim = may_be_protected = may_be_protected && r.chance(1, 2);
      if (r.chance(1, 3)) band.reclaim_within = 1000 * r.between(1, 30);
      if (r.chance(1, 3)) band.cost = 1000 * r.between(0, 100);
      set.bands.push_back(band);
    }
  }
  PodTemplate& pod = set.pod;
  pod.requests.set("cpu", 100 * r.between(1, 30));
  if (r.chance(1, 8)) pod.requests.set("memory", kGi * r.between(1, 8));
  if (r.chance(1, 6)) {
    pod.claim.requests.push_back({std::string(kGpu), 1, 100 * r.between(1, 9)});
  } else if (!r.chance(1, 6)) {
    static constexpr std::int64_t kCounts[] = {1, 1, 1, 2, 2, 4, 8};
    pod.claim.requests.push_back({std::string(kGpu), kCounts[r.below(std::size(kCounts))], 1000});
  }
  if (r.chance(1, 10)) pod.node_selector["pool"] = flavor_name(r.between(0, p.flavors - 1));
  if (r.chance(1, 12)) {
    Requirement requirement{
        "pool", static_cast<SelectorOp>(r.below(4)), {flavor_name(r.between(0, p.flavors - 1))}};
    if (requirement.op == SelectorOp::kExists || requirement.op == SelectorOp::kDoesNotExist)
      requirement.values.clear();
    pod.required_affinity.push_back({{requirement}, {}});
    if (r.chance(1, 2)) pod.required_affinity.push_back({{}, {{"", SelectorOp::kIn, {"n1", "n2", "n3"}}}});
  }
  if (r.chance(1, 10)) {
    pod.preferred_affinity.push_back(
        {r.between(1, 100), {{{"pool", SelectorOp::kIn, {flavor_name(0)}}}, {}}});
  }
  if (r.chance(1, 4)) pod.tolerations.push_back({"dedicated", true, "", TolerationEffect::kAll});
  if (r.chance(1, 80)) pod.unsupported.push_back("a constraint from the future");
  return set;
}

TopologyRequest make_topology(Random& r) {
  static constexpr std::string_view kLevels[] = {"zone", "rack", "host"};
  TopologyRequest t;
  if (r.chance(1, 2)) {
    t.required = kLevels[r.below(3)];
  } else {
    t.preferred = kLevels[r.below(3)];
  }
  return t;
}

Workload make_workload(const Profile& p, const Step& step) {
  Random r(step.seed);
  Workload w;
  w.uid = fmt::format("w{}", step.id);
  w.name = "test/" + w.uid;
  w.queue = r.chance(1, 20) ? "" : p.leaves[r.below(p.leaves.size())];
  if (r.chance(1, 100)) w.queue = "no-such-queue";
  w.kind = static_cast<WorkloadKind>(r.below(4));
  w.priority = r.between(0, 3);
  w.may_preempt = !r.chance(1, 10);
  w.preemptible = !r.chance(1, 10);
  w.active = !r.chance(1, 30);
  w.created = r.chance(1, 3) ? 1000 : step.id * 10;
  if (r.chance(1, 3)) w.restart.checkpoint_every = 1000 * r.between(1, 60);
  if (r.chance(1, 8)) w.minimum_runtime = 1000 * r.between(0, 30);
  w.restart.overhead = 1000 * r.between(0, 60);
  w.restart.grace = 1000 * r.between(0, 30);
  if (r.chance(1, 2)) w.expected_duration = 1000 * r.between(1, 60);
  const auto shape = r.below(10);
  if (shape < 4) {
    w.root.pod_sets.push_back(make_pod_set(r, p, 1));
  } else if (shape < 7) {
    w.root.pod_sets.push_back(make_pod_set(r, p, 8));
  } else if (shape < 9) {
    for (auto n = 1 + r.below(3); n > 0; --n) w.root.pod_sets.push_back(make_pod_set(r, p, 4));
  } else {
    for (auto n = 1 + r.below(3); n > 0; --n) {
      Group child;
      child.name = fmt::format("part-{}", n);
      child.order = r.between(0, 1);
      for (auto m = 1 + r.below(2); m > 0; --m) child.pod_sets.push_back(make_pod_set(r, p, 3));
      if (p.topology && r.chance(1, 2)) child.topology = make_topology(r);
      w.root.groups.push_back(child);
    }
    if (r.chance(1, 3)) w.root.pod_sets.push_back(make_pod_set(r, p, 1));
  }
  const auto children = static_cast<std::int64_t>(w.root.pod_sets.size() + w.root.groups.size());
  if (children > 1 && r.chance(1, 4)) w.root.least = r.between(1, children);
  if (p.topology && r.chance(1, 2)) w.root.topology = make_topology(r);
  if (r.chance(1, 8)) {
    // Not all pods are there yet.
    for (PodSet& set : w.root.pod_sets) set.present = r.between(0, set.count);
  }
  return w;
}

std::int64_t devices_of(const Workload& w) {
  std::int64_t sum = 0;
  for (const PodSet* set : pod_sets_of(w.root)) sum += set->count * set->pod.total().value().get(kGpu);
  return sum;
}

PodSet* pod_set_at(Group& group, std::size_t& index) {
  for (PodSet& set : group.pod_sets) {
    if (index-- == 0) return &set;
  }
  for (Group& child : group.groups) {
    if (PodSet* found = pod_set_at(child, index)) return found;
  }
  return nullptr;
}

SlotUpdate seen(const SlotName& s, SlotState state, std::string node = {}) {
  return SlotUpdate{s.workload, s.set, s.index, state, std::move(node)};
}

const SlotRecord& record(const Ledger& ledger, const SlotName& s) {
  return ledger.workloads.at(s.workload)
      .sets[static_cast<std::size_t>(s.set)][static_cast<std::size_t>(s.index)];
}

// Whether a pod that is gone comes back: its owner still wants so many.
bool wanted(const Ledger& ledger, const SlotName& s) {
  const auto sets = pod_sets_of(ledger.workloads.at(s.workload).spec.root);
  const auto set = static_cast<std::size_t>(s.set);
  return set < sets.size() && s.index < sets[set]->count;
}

// ------------------------------------------------------------------------------------------------- steps of each kind

std::vector<Event> revise(const Step& step, const Ledger& ledger) {
  const auto uid = pick(step.seed, names_of(ledger.workloads));
  if (!uid) return {};
  Random r(step.seed);
  Workload w = ledger.workloads.at(*uid).spec;
  switch (r.below(5)) {
    case 0:
      w.priority = r.between(0, 3);
      break;
    case 1:
      w.active = !w.active;
      break;
    case 2:
      w.preemptible = !w.preemptible;
      break;
    case 3:
      w.may_preempt = !w.may_preempt;
      break;
    default: {
      std::size_t index = r.below(pod_sets_of(w.root).size());
      PodSet& set = *pod_set_at(w.root, index);
      set.count = r.between(1, 6);
      set.least.reset();
      set.present.reset();
      set.bands.clear();
      if (r.chance(1, 2)) set.least = r.between(1, set.count);
    }
  }
  return {WorkloadUpsert{w}};
}

std::vector<Event> seen_somewhere(const Step& step, const Ledger& ledger) {
  // Only where it is certain what it is charged to.
  const auto certain = [&](const WorkloadRecord& w) {
    if (w.count(SlotState::kWaiting) == 0) return false;
    if (!ledger.limited(w.spec.queue)) return w.spec.queue.empty() || ledger.queues.count(w.spec.queue) > 0;
    const Queue& q = ledger.queues.at(w.spec.queue);
    return std::all_of(q.groups.begin(), q.groups.end(), [](const auto& g) { return g.flavors.size() == 1; });
  };
  const auto uid = pick(step.seed, workloads_where(ledger, certain));
  const auto node = pick(step.seed, names_of(ledger.nodes));
  if (!uid || !node) return {};
  for (const SlotName& s : slots_in(ledger, SlotState::kWaiting)) {
    if (s.workload != *uid) continue;
    SlotUpdate update = seen(s, SlotState::kRunning, *node);
    // Sometimes it says which devices it has: those that it can have, or nonsense.
    Random r(step.seed);
    const auto sets = pod_sets_of(ledger.workloads.at(s.workload).spec.root);
    if (r.chance(1, 2) && static_cast<std::size_t>(s.set) < sets.size()) {
      for (const auto& d : sets[static_cast<std::size_t>(s.set)]->pod.claim.requests) {
        for (std::int64_t i = 0; i < d.count; ++i) update.devices.push_back((i + r.between(0, 1)) % 8);
      }
    }
    return {update};
  }
  return {};
}

std::vector<Event> change_node(const Step& step, const Ledger& ledger) {
  const auto name = pick(step.seed, names_of(ledger.nodes));
  if (!name) return {};
  Random r(step.seed);
  Node node = ledger.nodes.at(*name);
  switch (r.below(6)) {
    case 0:
      node.allocatable.set("cpu", 1000 * r.between(0, 32));
      break;
    case 1:
      if (!node.devices.empty())
        node.devices[0].count = std::max<std::int64_t>(1, node.devices[0].count - r.between(1, 4));
      break;
    case 2:
      if (!node.devices.empty())
        node.devices[0].count = std::min<std::int64_t>(8, node.devices[0].count + r.between(1, 4));
      break;
    case 3:
      if (!node.devices.empty()) node.devices[0].unhealthy = {r.between(0, node.devices[0].count - 1)};
      break;
    case 4:
      if (!node.devices.empty()) node.devices[0].unhealthy.clear();
      break;
    default:
      node.labels["pool"] = flavor_name(r.between(0, 2));
      break;
  }
  if (!node.devices.empty()) {
    auto& bad = node.devices[0].unhealthy;
    bad.erase(std::remove_if(bad.begin(), bad.end(), [&](auto i) { return i >= node.devices[0].count; }),
              bad.end());
  }
  return {NodeUpsert{node}};
}

std::vector<Event> change_queue(const Step& step, const Ledger& ledger) {
  const auto name = pick(step.seed, names_of(ledger.queues));
  if (!name) return {};
  Random r(step.seed);
  Queue q = ledger.queues.at(*name);
  switch (step.kind) {
    case StepKind::kQuota:
      for (Quota& quota : q.quotas) {
        if (r.chance(1, 2)) quota.nominal = quota.nominal * r.between(0, 6) / 4;
        if (!q.parent.empty() && r.chance(1, 4)) quota.borrowing_limit = quota.nominal * r.between(0, 2) / 2;
        if (r.chance(1, 6)) quota.borrowing_limit.reset();
        if (!q.parent.empty() && r.chance(1, 6)) quota.lending_limit = quota.nominal * r.between(0, 2) / 2;
      }
      break;
    case StepKind::kPolicy:
      q.preemption.within = static_cast<WithinQueue>(r.below(4));
      q.preemption.reclaim = static_cast<Reclaim>(r.below(3));
      q.order = static_cast<QueueOrder>(r.below(2));
      q.ordering = make_ordering(r);
      if (!q.leaf) q.sharing = static_cast<Sharing>(r.below(EnumNames<Sharing>::names.size()));
      break;
    default:
      q.stop = q.stop == StopPolicy::kNone ? static_cast<StopPolicy>(1 + r.below(2)) : StopPolicy::kNone;
  }
  return {QueueUpsert{q}};
}

}  // namespace

std::vector<Event> events_of(const History& history, const Step& step, const Ledger& ledger) {
  const Profile p = profile_of(history.seed);
  Random r(step.seed);
  std::vector<Event> out;
  switch (step.kind) {
    case StepKind::kTopology:
      return {TopologyUpsert{{"default", {"zone", "rack", "host"}}}};
    case StepKind::kFlavor: {
      const std::int64_t i = step.id % 1000;
      Flavor flavor;
      flavor.name = i < 3 ? flavor_name(i) : "any";
      if (i < 3) flavor.node_labels["pool"] = flavor.name;
      if (i == 2)
        flavor.tolerations.push_back({"dedicated", false, flavor.name, TolerationEffect::kNoSchedule});
      if (i == 1 && r.chance(1, 4))
        flavor.node_taints.push_back({"dedicated", flavor.name, TaintEffect::kNoSchedule});
      return {FlavorUpsert{flavor}};
    }
    case StepKind::kNode:
      return {NodeUpsert{make_node(p, step)}};
    case StepKind::kQueue:
      return {QueueUpsert{make_queue(p, step)}};
    case StepKind::kArrive:
      return {WorkloadUpsert{make_workload(p, step)}};
    case StepKind::kMorePods: {
      for (const SlotName& s : slots_in(ledger, SlotState::kAbsent)) {
        if (wanted(ledger, s) && hash_of(step.seed, s) % 3 != 0) out.push_back(seen(s, SlotState::kWaiting));
      }
      return out;
    }
    case StepKind::kRevise:
      return revise(step, ledger);
    case StepKind::kGiveUp: {
      const auto uid =
          pick(step.seed, workloads_where(ledger, [](const auto& w) { return w.active() == 0; }));
      if (uid) out.push_back(WorkloadRemove{*uid});
      return out;
    }
    case StepKind::kFinish: {
      const auto uid = pick(step.seed, workloads_where(ledger, [](const auto& w) { return w.active() > 0; }));
      if (uid) out.push_back(WorkloadRemove{*uid});
      return out;
    }
    case StepKind::kPodEnds: {
      const auto s = pick_slot(step.seed, ledger, SlotState::kRunning);
      if (!s) return out;
      const auto how = r.below(3);
      out.push_back(seen(*s, how == 0 ? SlotState::kReleasing : SlotState::kGone));
      if (how == 1) out.push_back(seen(*s, SlotState::kWaiting));
      return out;
    }
    case StepKind::kWithdraw: {
      const auto uid = pick(step.seed, workloads_where(ledger, [](const auto& w) {
                              return w.active() + w.count(SlotState::kHeld) > 0;
                            }));
      if (uid) out.push_back(Withdraw{*uid, "a member could not be bound"});
      return out;
    }
    case StepKind::kSeen:
      return seen_somewhere(step, ledger);
    case StepKind::kConfirm: {
      for (const SlotName& s : slots_in(ledger, SlotState::kBinding)) {
        if (hash_of(step.seed, s) % 4 != 0)
          out.push_back(seen(s, SlotState::kRunning, record(ledger, s).taken.node));
      }
      return out;
    }
    case StepKind::kBindFails: {
      if (const auto s = pick_slot(step.seed, ledger, SlotState::kBinding))
        out.push_back(seen(*s, SlotState::kWaiting));
      return out;
    }
    case StepKind::kGone: {
      for (const SlotName& s : slots_in(ledger, SlotState::kReleasing)) {
        if (hash_of(step.seed, s) % 3 == 0) continue;
        out.push_back(seen(s, SlotState::kGone));
        if (wanted(ledger, s) && hash_of(step.seed + 1, s) % 4 != 0)
          out.push_back(seen(s, SlotState::kWaiting));
      }
      return out;
    }
    case StepKind::kCordon: {
      const auto name = pick(step.seed, names_of(ledger.nodes));
      if (!name) return out;
      Node node = ledger.nodes.at(*name);
      node.unschedulable = !node.unschedulable;
      return {NodeUpsert{node}};
    }
    case StepKind::kTaint: {
      const auto name = pick(step.seed, names_of(ledger.nodes));
      if (!name) return out;
      Node node = ledger.nodes.at(*name);
      if (node.taints.empty()) {
        node.taints.push_back(
            {r.chance(1, 2) ? "dedicated" : "broken", "", static_cast<TaintEffect>(r.below(3))});
      } else {
        node.taints.clear();
      }
      return {NodeUpsert{node}};
    }
    case StepKind::kNodeChanges:
      return change_node(step, ledger);
    case StepKind::kNodeRemoved: {
      if (const auto name = pick(step.seed, names_of(ledger.nodes))) out.push_back(NodeRemove{*name});
      return out;
    }
    case StepKind::kForeign: {
      const auto name = pick(step.seed, names_of(ledger.nodes));
      if (!name) return out;
      ForeignPod pod{fmt::format("f{}", step.id), *name, {{"cpu", 1000 * r.between(1, 8)}}, {}};
      if (r.chance(1, 3)) pod.devices.push_back({std::string(kGpu), r.between(1, 2), 1000});
      return {ForeignPodUpsert{pod}};
    }
    case StepKind::kForeignGone: {
      if (const auto uid = pick(step.seed, names_of(ledger.foreign))) out.push_back(ForeignPodRemove{*uid});
      return out;
    }
    case StepKind::kQuota:
    case StepKind::kPolicy:
    case StepKind::kStop:
      return change_queue(step, ledger);
    case StepKind::kQueueRemoved: {
      if (const auto name = pick(step.seed, names_of(ledger.queues))) out.push_back(QueueRemove{*name});
      return out;
    }
    case StepKind::kDecide:
      return out;
  }
  return out;
}

std::vector<Event> settle_events(const Ledger& ledger) {
  std::vector<Event> out;
  for (const SlotName& s : slots_in(ledger, SlotState::kBinding)) {
    out.push_back(seen(s, SlotState::kRunning, record(ledger, s).taken.node));
  }
  for (const SlotName& s : slots_in(ledger, SlotState::kReleasing)) {
    out.push_back(seen(s, SlotState::kGone));
    if (wanted(ledger, s)) out.push_back(seen(s, SlotState::kWaiting));
  }
  return out;
}

History make_history(std::uint64_t seed) {
  History h;
  h.seed = seed;
  Random r(seed ^ 0x5eedull);
  h.config.placement = static_cast<Placement>(1 + r.below(5));
  h.config.ignore_uncovered = r.chance(1, 2);
  if (r.chance(1, 10)) h.config.search_steps = r.between(5, 300);
  const Profile p = profile_of(seed);
  std::int64_t next_id = 1;
  const auto add = [&](StepKind kind) { h.steps.push_back({kind, next_id++, r.next()}); };
  const auto add_numbered = [&](StepKind kind, std::int64_t number) {
    h.steps.push_back({kind, 1000 * (next_id++) + number, r.next()});
  };

  if (p.topology) add(StepKind::kTopology);
  for (std::int64_t i = 0; i < p.flavors; ++i) add_numbered(StepKind::kFlavor, i);
  add_numbered(StepKind::kFlavor, 3);
  std::int64_t capacity = 0;
  next_id = 1;
  for (auto n = r.between(3, 12); n > 0; --n) {
    add(StepKind::kNode);
    for (const auto& pool : make_node(p, h.steps.back()).devices) capacity += pool.count * 1000;
  }
  for (std::size_t q = 0; q < p.inner.size() + p.leaves.size(); ++q) {
    add_numbered(StepKind::kQueue, static_cast<std::int64_t>(q));
  }

  // Work arrives between everything else, until it asks for more than the cluster has.
  next_id = 100;
  std::int64_t asked = 0;
  const std::int64_t enough = capacity * r.between(13, 35) / 10;
  std::int64_t arrivals = 0;
  while (arrivals < 80 && (asked <= enough || arrivals < 6)) {
    const auto dice = r.below(100);
    if (dice < 45) {
      add(StepKind::kArrive);
      asked += devices_of(make_workload(p, h.steps.back()));
      ++arrivals;
    } else if (dice < 56) {
      add(StepKind::kConfirm);
    } else if (dice < 67) {
      add(StepKind::kGone);
    } else if (dice < 71) {
      add(StepKind::kFinish);
    } else if (dice < 75) {
      add(StepKind::kMorePods);
    } else if (dice < 80) {
      static constexpr StepKind kWork[] = {StepKind::kRevise, StepKind::kGiveUp, StepKind::kPodEnds,
                                           StepKind::kWithdraw, StepKind::kBindFails};
      add(kWork[r.below(std::size(kWork))]);
    } else if (dice < 86 && p.outside) {
      static constexpr StepKind kOutside[] = {
          StepKind::kCordon,  StepKind::kTaint,       StepKind::kNodeChanges, StepKind::kNodeRemoved,
          StepKind::kForeign, StepKind::kForeignGone, StepKind::kSeen,        StepKind::kQuota,
          StepKind::kPolicy,  StepKind::kStop,        StepKind::kStop,        StepKind::kNode};
      add(kOutside[r.below(std::size(kOutside))]);
    } else if (dice < 87 && p.outside) {
      add(StepKind::kQueueRemoved);
    } else {
      add(StepKind::kDecide);
    }
    if (r.chance(2, 5)) add(StepKind::kDecide);
  }
  add(StepKind::kDecide);
  return h;
}

}  // namespace berth::property

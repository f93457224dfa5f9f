#include "property/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "property/choose.h"

namespace berth::property {
namespace {

constexpr std::int64_t kGi = std::int64_t{1} << 30;

std::vector<DemandBand> make_bands(Random& r, std::int64_t left) {
  std::vector<DemandBand> out;
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
    out.push_back(band);
  }
  return out;
}

PodSet make_pod_set(Random& r, const Profile& p, std::int64_t most) {
  PodSet set;
  set.count = r.chance(1, 2) ? 1 : r.between(1, most);
  if (set.count > 1 && r.chance(1, 3)) set.least = r.between(1, set.count);
  if (r.chance(1, 5)) set.bands = make_bands(r, set.count);
  PodTemplate& pod = set.pod;
  pod.requests.set("cpu", 100 * r.between(1, 30));
  if (r.chance(1, 8)) pod.requests.set("memory", kGi * r.between(1, 8));
  if (r.chance(1, 6)) {
    pod.claim.requests.push_back({std::string(kGpu), 1, 100 * r.between(1, 9)});
  } else if (!r.chance(1, 6)) {
    static constexpr std::int64_t kCounts[] = {1, 1, 1, 2, 2, 4, 8};
    pod.claim.requests.push_back({std::string(kGpu), kCounts[r.below(std::size(kCounts))], 1000});
  }
  if (r.chance(1, 10)) pod.node_selector.edit()["pool"] = flavor_name(r.between(0, p.flavors - 1));
  if (r.chance(1, 12)) {
    Requirement requirement{
        "pool", static_cast<SelectorOp>(r.below(4)), {flavor_name(r.between(0, p.flavors - 1))}};
    if (requirement.op == SelectorOp::kExists || requirement.op == SelectorOp::kDoesNotExist)
      requirement.values.clear();
    pod.required_affinity.edit().push_back({{requirement}, {}});
    if (r.chance(1, 2))
      pod.required_affinity.edit().push_back({{}, {{"", SelectorOp::kIn, {"n1", "n2", "n3"}}}});
  }
  if (r.chance(1, 10)) {
    pod.preferred_affinity.edit().push_back(
        {r.between(1, 100), {{{"pool", SelectorOp::kIn, {flavor_name(0)}}}, {}}});
  }
  if (r.chance(1, 4)) pod.tolerations.edit().push_back({"dedicated", true, "", TolerationEffect::kAll});
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
  if (r.chance(1, 4)) {
    t.segment = r.between(2, 3);
    t.segment_level = kLevels[r.below(3)];
  }
  return t;
}

Group make_root(const Profile& p, Random& r) {
  Group root;
  const auto shape = r.below(10);
  if (shape < 4) {
    root.pod_sets.push_back(make_pod_set(r, p, 1));
  } else if (shape < 7) {
    root.pod_sets.push_back(make_pod_set(r, p, 8));
  } else if (shape < 9) {
    for (auto n = 1 + r.below(3); n > 0; --n) root.pod_sets.push_back(make_pod_set(r, p, 4));
  } else {
    for (auto n = 1 + r.below(3); n > 0; --n) {
      Group child;
      child.name = fmt::format("part-{}", n);
      child.order = r.between(0, 1);
      for (auto m = 1 + r.below(2); m > 0; --m) child.pod_sets.push_back(make_pod_set(r, p, 3));
      if (p.topology && r.chance(1, 2)) child.topology = make_topology(r);
      root.groups.push_back(child);
    }
    if (r.chance(1, 3)) root.pod_sets.push_back(make_pod_set(r, p, 1));
  }
  if (root.pod_sets.size() > 1 && r.chance(1, 4)) {
    for (PodSet& set : root.pod_sets) set.flavor_group = "together";
  }
  const auto children = static_cast<std::int64_t>(root.pod_sets.size() + root.groups.size());
  if (children > 1 && r.chance(1, 4)) root.least = r.between(1, children);
  if (p.topology && r.chance(1, 2)) root.topology = make_topology(r);
  return root;
}

// Properties that make work equal to the engine (State::class_key), except queue and, sometimes, priority. Such work waits in one
// class, or in classes of which one tries for the others.
void be_twin(const Profile& p, Random& r, Workload& w) {
  Random shape(p.twins + 2 * r.below(2));
  do {
    w.root = make_root(p, shape);
  } while (devices_of(w) < 1000);  // so that not too many of them make the load
  w.kind = any<WorkloadKind>(shape);
  w.may_preempt = !shape.chance(1, 4);
  if (r.chance(1, 2)) w.priority = shape.between(0, 3);
}

}  // namespace

// Streams of their own, so that older seeds mean what they meant.
constexpr std::uint64_t kLanes = 0x6c616e6573;
constexpr std::uint64_t kFirm = 0x6669726d;
constexpr std::uint64_t kWishes = 0x776973686573;
constexpr std::uint64_t kMore = 0x6d6f7265;
constexpr std::uint64_t kAwaits = 0x617761697473;
constexpr std::uint64_t kTwins = 0x7477696e73;
constexpr std::uint64_t kPorts = 0x706f727473;
constexpr std::uint64_t kTerms = 0x7465726d73;
constexpr std::uint64_t kVolumes = 0x766f6c756d6573;
constexpr std::uint64_t kBudgets = 0x62756467657473;
constexpr std::uint64_t kSpreads = 0x737072656164;

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
  p.orders = r.chance(1, 4);
  p.opaque = r.chance(1, 8);
  p.awaits = Random(seed ^ kAwaits).chance(1, 4) && !p.opaque;
  p.terms = p.topology && Random(seed ^ kTerms).chance(1, 2);
  p.spreads = p.terms && Random(seed ^ kSpreads).chance(1, 2);
  p.volumes = Random(seed ^ kVolumes).chance(1, 3);
  p.budgets = Random(seed ^ kBudgets).chance(1, 3);
  Random twins(seed ^ kTwins);
  if (twins.chance(1, 3)) p.twins = twins.next() | 1;
  p.ports = Random(seed ^ kPorts).chance(1, 3);
  return p;
}

std::string budget_name(std::int64_t i) {
  return fmt::format("budget-{}", i);
}

std::string flavor_name(std::int64_t i) {
  return fmt::format("pool-{}", i);
}

Node make_node(const Profile& p, std::int64_t id, std::uint64_t seed) {
  Random r(seed);
  Node node;
  node.name = fmt::format("n{}", id);
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
  if (gpus > 0) node.devices.push_back({std::string(kGpu), gpus, "", {}});
  if (flavor == 2 || r.chance(1, 10))
    node.taints.push_back({"dedicated", flavor_name(flavor), TaintEffect::kNoSchedule});
  if (r.chance(1, 10)) node.taints.push_back({"slow", "", TaintEffect::kPreferNoSchedule});
  if (r.chance(1, 4)) node.rank = r.between(0, 3);
  Random limits(seed ^ kVolumes);
  if (p.volumes && limits.chance(2, 3)) node.attachable.set("disk", limits.between(0, 4));
  return node;
}

Ordering make_ordering(Random& r) {
  Ordering o;
  if (r.chance(1, 3)) return o;
  o.by = any<OrderBy>(r);
  o.priority_first = r.chance(2, 3);
  o.tiers = any<Tiers>(r);
  o.attained_first = 1000 * r.between(1, 20);
  o.attained_levels = r.between(1, 4);
  if (r.chance(2, 3)) o.age_limit = r.chance(1, 2) ? 0 : 1000 * r.between(1, 40);
  return o;
}

// KAI's queues have more than others: limits of work that is not preemptible, quotas of departments below those of their queues.
// They also have an order within quotas.
void draw_kais(Random& r, Queue& q) {
  q.ranks_within_quota = !q.leaf && r.chance(1, 3);
  if (!r.chance(1, 4)) return;
  for (Quota& quota : q.quotas) {
    const std::int64_t about = quota.nominal > 0 ? quota.nominal : quota.resource == kGpu ? 8000 : 40000;
    if (r.chance(1, 2)) quota.firm_limit = about * r.between(0, 4) / 4;
    if (!q.leaf && r.chance(1, 3)) quota.subtree_limit = quota.nominal + about * r.between(0, 4) / 4;
  }
}

Queue make_queue(const Profile& p, std::int64_t id, std::uint64_t seed) {
  Random r(seed);
  Queue q;
  // Step ids of queues count through the inner ones and then the leaves.
  auto at = static_cast<std::size_t>(id % 1000);
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
    q.preemption.within = any<WithinQueue>(r);
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
  q.order = r.chance(1, 2) ? QueueOrder::kBestEffort : any<QueueOrder>(r);
  if (p.policies) {
    q.preemption.within = any<WithinQueue>(r);
    q.preemption.reclaim = any<Reclaim>(r);
    Random more(~seed);
    if (more.chance(1, 3)) {
      q.preemption.borrow_within = BorrowWithin::kLowerPriority;
      if (more.chance(1, 2)) q.preemption.borrow_threshold = more.between(-1, 3);
    }
    if (more.chance(1, 3)) q.flavor_search = {more.chance(1, 2), more.chance(1, 2), more.chance(1, 2)};
    if (r.chance(1, 3)) q.preemption.victims = any<VictimOrder>(r);
    if (r.chance(1, 4)) q.preemption.minimum_runtime = 1000 * r.between(1, 40);
    q.preemption.ignores_minimum_runtime = r.chance(1, 8);
  }
  q.placement = any<Placement>(r);
  if (p.orders) q.ordering = make_ordering(r);
  if (p.orders && !q.leaf) {
    q.sharing = any<Sharing>(r);
    q.half_life = r.chance(1, 2) ? kHour : 16 * kSecond;
  }
  if (p.orders) q.weight = {r.between(0, 4), r.between(1, 2)};
  if (r.chance(1, 60)) q.disabled = "a test says so";
  Random kais(seed ^ kFirm);
  if (p.policies) draw_kais(kais, q);
  Random lanes(seed ^ kLanes);
  if (q.leaf && lanes.chance(1, 4)) {
    for (const Quota& quota : q.quotas) {
      if (lanes.chance(1, 2)) q.lanes.limits.push_back({quota.flavor, quota.resource, quota.nominal / 2});
    }
  }
  return q;
}

std::vector<HostPort> make_ports(Random& r) {
  std::vector<HostPort> out;
  for (auto n = r.between(1, 2); n > 0; --n) {
    HostPort port{80 + r.between(0, 2), r.chance(1, 5) ? PortProtocol::kUdp : PortProtocol::kTcp, ""};
    if (r.chance(1, 3)) port.ip = r.chance(1, 2) ? "10.0.0.1" : "10.0.0.2";
    out.push_back(port);
  }
  return out;
}

static void set_ports(Group& group, Random& r) {
  for (PodSet& set : group.pod_sets) {
    if (r.chance(1, 2)) set.pod.ports = make_ports(r);
  }
  for (Group& child : group.groups) set_ports(child, r);
}

void draw_terms(Random& r, std::vector<CountedTerm>& terms, std::vector<std::string>& selected) {
  static constexpr std::string_view kSelectors[] = {"red", "blue"};
  for (const std::string_view selector : kSelectors) {
    if (r.chance(1, 3)) selected.emplace_back(selector);
  }
  if (!r.chance(1, 3)) return;
  const auto kind = static_cast<TermKind>(r.below(2));
  terms.push_back({kind, std::string(kSelectors[r.below(2)]), r.chance(1, 2) ? "zone" : "host"});
}

void draw_spreads(Random& r, std::vector<CountedTerm>& terms) {
  if (!r.chance(1, 2)) return;
  for (auto n = r.between(1, 2); n > 0; --n) {
    static constexpr std::string_view kLevels[] = {"zone", "host", "rack"};
    CountedTerm term{TermKind::kSpread, r.chance(1, 2) ? "red" : "blue", std::string(kLevels[r.below(3)])};
    term.max_skew = r.between(1, 2);
    term.min_domains = r.chance(1, 3) ? r.between(2, 4) : 1;
    term.all_nodes = r.chance(1, 4);
    term.tolerated = r.chance(1, 3);
    terms.push_back(std::move(term));
  }
}

void draw_wishes(Random& r, std::vector<PreferredCountedTerm>& wishes) {
  if (!r.chance(1, 3)) return;
  for (auto n = r.between(1, 2); n > 0; --n) {
    static constexpr std::string_view kLevels[] = {"zone", "host", "rack"};
    const auto kind = static_cast<TermKind>(r.below(3));
    wishes.push_back(
        {r.between(1, 100), {kind, r.chance(1, 2) ? "red" : "blue", std::string(kLevels[r.below(3)])}});
  }
}

bool has_terms(const Workload& w) {
  const auto sets = pod_sets_of(w.root);
  return std::any_of(sets.begin(), sets.end(),
                     [](const PodSet* set) { return !set->pod.terms.empty() || !set->pod.selected.empty(); });
}

namespace {

void set_terms(Group& group, Random& r) {
  for (PodSet& set : group.pod_sets) draw_terms(r, set.pod.terms.edit(), set.pod.selected.edit());
  for (Group& child : group.groups) set_terms(child, r);
}

void draw_volumes(const Profile& p, Random& r, PodTemplate& pod) {
  if (!r.chance(1, 3)) return;
  const auto op = r.chance(1, 2) ? SelectorOp::kIn : SelectorOp::kNotIn;
  VolumeNodes volume{"claim data (somewhere)",
                     {{{{"pool", op, {flavor_name(r.between(0, p.flavors - 1))}}}, {}}}};
  if (r.chance(1, 2)) volume.nodes.push_back({{}, {{"", SelectorOp::kIn, {"n1", "n2", "n3"}}}});
  pod.volumes.edit().push_back(std::move(volume));
  if (r.chance(1, 2)) pod.attaches.set("disk", r.between(1, 3));
}

}  // namespace

void draw_shared_volumes(Random& r, std::vector<SharedVolume>& out) {
  if (!r.chance(1, 2)) return;
  for (const char* name : {"data", "models", "scratch"}) {
    if (r.chance(1, 2)) out.push_back({"disk", name});
  }
}

namespace {

void set_volumes(const Profile& p, Group& group, Random& r) {
  for (PodSet& set : group.pod_sets) {
    draw_volumes(p, r, set.pod);
    draw_shared_volumes(r, set.pod.mounts);
  }
  for (Group& child : group.groups) set_volumes(p, child, r);
}

void set_budgets(Group& group, Random& r) {
  for (PodSet& set : group.pod_sets) {
    for (std::int64_t i = 0; i < kBudgetCount; ++i) {
      if (r.chance(1, 3)) set.pod.budgets.edit().push_back(budget_name(i));
    }
  }
  for (Group& child : group.groups) set_budgets(child, r);
}

void set_spreads(Group& group, Random& r) {
  for (PodSet& set : group.pod_sets) draw_spreads(r, set.pod.terms.edit());
  for (Group& child : group.groups) set_spreads(child, r);
}

void set_wishes(Group& group, Random& r) {
  for (PodSet& set : group.pod_sets) draw_wishes(r, set.pod.preferred_terms.edit());
  for (Group& child : group.groups) set_wishes(child, r);
}

}  // namespace

Workload make_workload(const Profile& p, std::int64_t id, std::uint64_t seed) {
  Random r(seed);
  Workload w;
  w.uid = fmt::format("w{}", id);
  w.name = "test/" + w.uid;
  w.queue = r.chance(1, 20) ? "" : p.leaves[r.below(p.leaves.size())];
  if (r.chance(1, 100)) w.queue = "no-such-queue";
  w.lane = Random(seed ^ kLanes).chance(1, 2) ? "alpha" : "";
  w.kind = any<WorkloadKind>(r);
  w.priority = r.between(0, 3);
  w.may_preempt = !r.chance(1, 10);
  w.preemptible = !r.chance(1, 10);
  w.active = !r.chance(1, 30);
  w.created = r.chance(1, 3) ? 1000 : id * 10;
  Random kais(seed ^ kFirm);
  if (kais.chance(1, 5)) w.broken_for = 1000 * kais.between(0, 40);
  if (kais.chance(1, 8)) w.preempts_after = 1000 * kais.between(0, 40);
  Random more(seed ^ kMore);
  if (more.chance(1, 3)) w.asks_more_since = w.created + 10 * more.between(-5, 40);
  if (r.chance(1, 3)) w.restart.checkpoint_every = 1000 * r.between(1, 60);
  if (r.chance(1, 8)) w.minimum_runtime = 1000 * r.between(0, 30);
  w.restart.overhead = 1000 * r.between(0, 60);
  w.restart.grace = 1000 * r.between(0, 30);
  if (r.chance(1, 2)) w.expected_duration = 1000 * r.between(1, 60);
  w.root = make_root(p, r);
  Random twin(seed ^ kTwins);
  if (p.twins != 0 && twin.chance(4, 5)) be_twin(p, twin, w);
  if (r.chance(1, 8)) {
    // Not all pods are there yet.
    for (PodSet& set : w.root.pod_sets) set.present = r.between(0, set.count);
  }
  Random ports(seed ^ kPorts);
  if (p.ports && ports.chance(1, 2)) set_ports(w.root, ports);
  Random terms(seed ^ kTerms);
  if (p.terms) set_terms(w.root, terms);
  Random spreads(seed ^ kSpreads);
  if (p.spreads) set_spreads(w.root, spreads);
  Random wishes(seed ^ kWishes);
  if (p.terms) set_wishes(w.root, wishes);
  Random volumes(seed ^ kVolumes);
  if (p.volumes) set_volumes(p, w.root, volumes);
  Random budgets(seed ^ kBudgets);
  if (p.budgets) set_budgets(w.root, budgets);
  Random awaits(seed ^ kAwaits);
  if (p.awaits && awaits.chance(2, 3)) {
    std::vector<std::string> flavors;
    for (std::int64_t i = 0; i < p.flavors; ++i) {
      if (awaits.chance(2, 3)) flavors.push_back(flavor_name(i));
    }
    set_awaited(w.root, flavors);
  }
  return w;
}

void set_awaited(Group& group, const std::vector<std::string>& flavors) {
  for (PodSet& set : group.pod_sets) set.pod.awaited_flavors = flavors;
  for (Group& child : group.groups) set_awaited(child, flavors);
}

DemandMix make_mix(const Profile& p, std::uint64_t seed) {
  Random r(seed);
  DemandMix mix;
  for (auto n = r.below(4); n > 0; --n) mix.kinds.push_back({make_pod_set(r, p, 1).pod, r.between(1, 100)});
  return mix;
}

std::int64_t devices_of(const Workload& w) {
  std::int64_t sum = 0;
  for (const PodSet* set : pod_sets_of(w.root)) sum += set->count * set->pod.total().value().get(kGpu);
  return sum;
}

}  // namespace berth::property

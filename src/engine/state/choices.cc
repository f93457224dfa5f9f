// How a slot of a pod set may be charged to the quota of its queue: one flavor for each resource group, in the order of the
// flavors.
//
// Which group a resource belongs to, where several of a queue cover it (Kueue's API refuses that, and its engine goes by the
// same rule): resources in the order of their names, each that no chosen group covers yet chooses the first group that covers
// it; and what several chosen groups cover goes with the last of them. Pod sets of one flavor group choose together.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/digest.h"
#include "engine/state/state.h"

namespace berth::engine {
namespace {

bool covers(const ResourceGroup& group, const std::string& resource) {
  return std::find(group.resources.begin(), group.resources.end(), resource) != group.resources.end();
}

// The amounts that quota counts for one pod, with the pod itself for queues that count pods.
ResourceList counted_of(const PodTemplate& pod, const Queue& queue) {
  ResourceList out = pod.counted ? *pod.counted : pod.total().value();
  const bool pods = std::any_of(queue.groups.begin(), queue.groups.end(),
                                [](const ResourceGroup& group) { return covers(group, "pods"); });
  if (pods && !out.has("pods")) out.set("pods", 1);
  return out;
}

std::vector<std::pair<std::string, std::uint32_t>> groups_for(const std::vector<ResourceGroup>& groups,
                                                              const ResourceList& counted,
                                                              const std::vector<std::string>& beside) {
  std::set<std::string> names(beside.begin(), beside.end());
  for (const auto& [name, amount] : counted) names.insert(name);
  std::vector<std::uint32_t> chosen;
  for (const std::string& name : names) {
    if (std::any_of(chosen.begin(), chosen.end(), [&](std::uint32_t g) { return covers(groups[g], name); }))
      continue;
    const auto first =
        std::find_if(groups.begin(), groups.end(), [&](auto& group) { return covers(group, name); });
    if (first != groups.end()) chosen.push_back(static_cast<std::uint32_t>(first - groups.begin()));
  }
  std::vector<std::pair<std::string, std::uint32_t>> out;
  for (const std::string& name : names) {
    const auto last = std::find_if(chosen.rbegin(), chosen.rend(),
                                   [&](std::uint32_t g) { return covers(groups[g], name); });
    if (last != chosen.rend()) out.emplace_back(name, *last);
  }
  return out;
}

std::string key_of(const Charge& charge) {
  std::string key;
  put_number(key, charge.shape.value);
  if (charge.awaited) key += '~';
  for (const auto& item : charge.quota) put_all(key, ',', item.pair.value, '=', item.amount);
  return key;
}

// The labels of the flavor's nodes must not contradict the pod, and its taints must be tolerated. Other labels are checked on the
// nodes.
bool admits(const Flavor& flavor, const Shape& shape) {
  for (const auto& [key, value] : shape.selector) {
    const auto it = flavor.node_labels.find(key);
    if (it != flavor.node_labels.end() && it->second != value) return false;
  }
  const auto contradicts = [&](const Requirement& r) {
    return flavor.node_labels.count(r.key) > 0 && !r.matches(flavor.node_labels);
  };
  const auto excludes = [&](const std::vector<SelectorTerm>& terms) {
    return !terms.empty() && std::all_of(terms.begin(), terms.end(), [&](const SelectorTerm& term) {
      return std::any_of(term.labels.begin(), term.labels.end(), contradicts);
    });
  };
  if (excludes(shape.required)) return false;
  if (std::any_of(shape.volumes.begin(), shape.volumes.end(), excludes)) return false;
  return std::all_of(flavor.node_taints.begin(), flavor.node_taints.end(), [&](const Taint& taint) {
    if (taint.effect == TaintEffect::kPreferNoSchedule) return true;
    const auto covered = [&](const auto& list) {
      return std::any_of(list.begin(), list.end(), [&](const Toleration& t) { return t.tolerates(taint); });
    };
    return covered(shape.tolerations) || covered(flavor.tolerations);
  });
}

// The first resource of a pod that is one too many: no node has it, no quota of its queue covers it, and pods name enough of that
// kind (NodeTable::resource_asked). The others have their columns then.
std::string resource_too_many(NodeTable& nodes, const PodTemplate& pod, const Queue& queue) {
  const ResourceList total = pod.total().value();
  for (const auto& [name, amount] : total) {
    if (amount <= 0) continue;
    const bool known = std::any_of(queue.groups.begin(), queue.groups.end(),
                                   [&](const ResourceGroup& group) { return covers(group, name); });
    if (known) {
      nodes.resource(name);
    } else if (!nodes.resource_asked(name)) {
      return name;
    }
  }
  return {};
}

// Why no choice of flavors can be made for this template in its queue; no code: one can.
Reason trouble_of(State& state, const Spec& s, const ResourceList& counted) {
  const Queue& queue = state.queues[s.queue.index()].spec;
  if (const std::string too_many = resource_too_many(state.nodes, s.pod, queue); !too_many.empty()) {
    return {ReasonCode::kUnsupported,
            too_many,
            fmt::format("no node has the resource {}, and Berth accepts at most {} such resources", too_many,
                        NodeTable::kMostAskedOnly),
            0,
            0,
            0,
            {}};
  }
  if (!s.pod.unsupported.empty())
    return {ReasonCode::kUnsupported, "", fmt::format("{}", fmt::join(s.pod.unsupported, "; ")), 0, 0, 0, {}};
  if (queue.unlimited || queue.open || state.config.ignore_uncovered) return {};
  for (const auto& [name, amount] : counted) {
    if (amount == 0 || name == "pods") continue;
    const bool covered = std::any_of(queue.groups.begin(), queue.groups.end(),
                                     [&](const ResourceGroup& group) { return covers(group, name); });
    if (!covered) return {ReasonCode::kQuotaUncovered, name, "", amount, 0, 0, {}};
  }
  return {};
}

// One flavor for each of these resource groups, in the order of the flavors. A queue uses, and borrows, only what it has a quota
// entry for, if of nothing.
std::vector<std::vector<const Flavor*>> picks_of(const State& state, const Spec& s, const Shape& base,
                                                 const ResourceList& counted,
                                                 std::span<const std::uint32_t> groups) {
  const Queue& queue = state.queues[s.queue.index()].spec;
  const auto listed = [&](std::uint32_t group, const std::string& flavor) {
    const auto& resources = queue.groups[group].resources;
    return std::all_of(resources.begin(), resources.end(), [&](const std::string& resource) {
      return counted.get(resource) == 0 || s.group_index(resource) != group ||
             std::any_of(queue.quotas.begin(), queue.quotas.end(), [&](const Quota& quota_entry) {
               return quota_entry.flavor == flavor && quota_entry.resource == resource;
             });
    });
  };
  constexpr std::size_t kMostChoices = 256;
  std::vector<std::vector<const Flavor*>> out{{}};
  for (const std::uint32_t group : groups) {
    std::vector<std::vector<const Flavor*>> longer;
    for (const auto& prefix : out) {
      for (const std::string& name : queue.groups[group].flavors) {
        const auto it = state.flavors.find(name);
        if (it == state.flavors.end() || !admits(it->second, base) || !listed(group, name)) continue;
        if (longer.size() >= kMostChoices) break;
        longer.push_back(prefix);
        longer.back().push_back(&it->second);
      }
    }
    out = std::move(longer);
  }
  return out;
}

}  // namespace

SpecId State::intern_spec(QueueId queue, const PodTemplate& pod, std::vector<std::string> beside) {
  const std::string pod_text = pod_key(pod);
  std::string key;
  put_all(key, queue.value, '/', pod_text);
  for (const std::string& resource : beside) put_all(key, '&', resource.size(), ':', resource);
  if (const auto known = specs.find(key)) return *known;
  Spec s;
  s.queue = queue;
  s.pod = pod;
  s.is_long = is_digest(pod_text);
  s.beside = std::move(beside);
  for (const auto& r : pod.claim.requests) s.weight = saturating_add(s.weight, r.total());
  if (s.weight == 0) s.weight = pod.requests.get("cpu");
  return specs.add(std::move(key), std::move(s));
}

// Without resources that are too many.
Shape State::base_shape(const PodTemplate& pod) {
  Shape base;
  const ResourceList total = pod.total().value();
  for (const auto& [name, amount] : total) {
    if (amount <= 0) continue;
    if (const auto id = nodes.resource_asked(name)) base.amounts.push_back({*id, amount});
  }
  for (const auto& r : pod.claim.requests) {
    if (const auto id = nodes.resource_asked(r.resource)) base.devices.push_back({*id, r.count, r.milli});
  }
  for (const auto& [driver, volumes] : pod.attaches) {
    if (volumes > 0) base.amounts.push_back({nodes.volumes_of(driver), volumes});
  }
  base.mounts = mounts_of(nodes, pod.mounts);
  for (const HostPort& port : pod.ports) base.tokens.push_back(nodes.held().tokens.intern(port));
  one_each(base.tokens);
  base.selector = pod.node_selector;
  base.required = pod.required_affinity;
  base.preferred = pod.preferred_affinity;
  for (const VolumeNodes& volume : pod.volumes) base.volumes.push_back(volume.nodes);
  base.tolerations = pod.tolerations;
  return base;
}

namespace {

// Work with quota alone may be seen on a node all the same. Then it counts there, and others stay apart from it; it need neither be near
// nor spread.
CountedId intern_terms(Counted& counted, const PodTemplate& pod, bool opaque) {
  Shape constraints;
  const auto is_spread = [](const CountedTerm& term) { return term.kind == TermKind::kSpread; };
  const auto wants_spread = [&](const PreferredCountedTerm& wish) { return is_spread(wish.term); };
  if (!opaque && (std::any_of(pod.terms.begin(), pod.terms.end(), is_spread) ||
                  std::any_of(pod.preferred_terms.begin(), pod.preferred_terms.end(), wants_spread))) {
    constraints.selector = pod.node_selector;
    constraints.required = pod.required_affinity;
    constraints.tolerations = pod.tolerations;
  }
  if (!opaque) return counted.intern(pod.terms, pod.selected, constraints, pod.preferred_terms);
  std::vector<CountedTerm> terms = pod.terms;
  std::erase_if(terms, [](const CountedTerm& term) { return term.kind != TermKind::kApart; });
  return counted.intern(terms, pod.selected);
}

}  // namespace

// The charge of one slot with these flavors, which exist: what it asks of nodes beside their labels, and what it counts.
ChargeId State::charge_for(const PodTemplate& pod, const Shape& base, const ResourceList& counted,
                           std::vector<ChosenFlavor> chosen) {
  ShapeEntry entry;
  entry.shape = base;
  Charge charge;
  const auto& awaited = pod.awaited_flavors;
  bool unknown = false;  // some flavor's nodes are not known to anybody
  for (const ChosenFlavor& f : chosen) {
    charge.quota.push_back({pairs.of(f.flavor, f.resource), counted.get(f.resource)});
    auto& names = entry.shape.flavors;
    if (std::find(names.begin(), names.end(), f.flavor) != names.end()) continue;
    const Flavor& flavor = flavors.at(f.flavor);
    names.push_back(flavor.name);
    unknown = unknown || flavor.opaque;
    if (std::find(awaited.begin(), awaited.end(), flavor.name) != awaited.end()) charge.awaited = true;
    for (const auto& [key, value] : flavor.node_labels) entry.shape.flavor_labels[key] = value;
    auto& tolerations = entry.shape.flavor_tolerations;
    tolerations.insert(tolerations.end(), flavor.tolerations.begin(), flavor.tolerations.end());
  }
  entry.shape.opaque = unknown || charge.awaited;
  charge.awaited = charge.awaited && !unknown;
  if (entry.shape.opaque) nodes.opaque();
  entry.shape.counted = intern_terms(accounts.counted(), pod, entry.shape.opaque);
  charge.flavors = std::move(chosen);
  std::string shape_name = shape_key(entry.shape);
  const auto known_shape = shapes.find(shape_name);
  charge.shape = known_shape ? *known_shape : shapes.add(shape_name, std::move(entry));
  std::string charge_name = key_of(charge);
  const auto known = charges.find(charge_name);
  for (const ShapeDevices& d : base.devices) charge.weight.devices += Int128{d.count} * d.milli;
  for (const ShapeAmount& a : base.amounts) {
    if (a.resource == ResourceId(0u)) charge.weight.cpus += a.amount;
  }
  return known ? *known : charges.add(charge_name, std::move(charge));
}

ChargeId State::choice_of_flavors(SpecId id, std::span<const ChosenFlavor> wanted) {
  if (wanted.empty()) return {};
  const Spec& s = spec(id);
  for (const ChargeId choice : s.choices) {
    const auto& has = charges[choice].flavors;
    const bool all = std::all_of(wanted.begin(), wanted.end(), [&](const ChosenFlavor& f) {
      return std::find(has.begin(), has.end(), f) != has.end();
    });
    if (all) return choice;
  }
  // None that would be chosen now. Where no nodes are known it holds what was granted to it, in flavors of its queue all the same.
  const Queue& queue = queues[s.queue.index()].spec;
  const ResourceList counted = counted_of(s.pod, queue);
  std::vector<ChosenFlavor> granted;
  for (const ChosenFlavor& f : wanted) {
    const auto flavor = flavors.find(f.flavor);
    if (flavor == flavors.end() || !flavor->second.opaque) return {};
    const bool offered = std::any_of(queue.quotas.begin(), queue.quotas.end(), [&](const Quota& q) {
      return q.flavor == f.flavor && q.resource == f.resource;
    });
    if (offered && counted.has(f.resource)) granted.push_back(f);
  }
  return granted.empty() ? ChargeId() : charge_for(s.pod, base_shape(s.pod), counted, std::move(granted));
}

ChargeId State::quota_of_flavors(SpecId id, std::span<const ChosenFlavor> flavors_of) {
  const ChargeId placed = choice_of_flavors(id, flavors_of);
  if (!placed.valid()) return {};
  const Spec& s = spec(id);
  PodTemplate pod = s.pod;
  pod.awaited_flavors.clear();
  for (const ChosenFlavor& f : charges[placed].flavors) pod.awaited_flavors.push_back(f.flavor);
  const ResourceList counted = counted_of(pod, queues[s.queue.index()].spec);
  return charge_for(pod, base_shape(pod), counted, charges[placed].flavors);
}

// The ways to charge one slot of this template in its queue: one flavor per resource group, in the order of the flavors.
void State::build_choices(Spec& s) {
  s.config_version = config_version;
  s.choices.clear();
  s.group_of.clear();
  const Queue& queue = queues[s.queue.index()].spec;
  const ResourceList counted = counted_of(s.pod, queue);
  s.problem = trouble_of(*this, s, counted);  // first: it takes the resources of the quota in
  Shape base = base_shape(s.pod);
  const Shape* const alone = &base;
  s.kind = make_kind({&alone, 1}, NodeTable::cpu());
  if (s.problem.code != ReasonCode::kNone) return;
  base.placement = s.pod.placement;
  if (base.placement == Placement::kDefault) base.placement = queue.placement;
  if (base.placement == Placement::kDefault) base.placement = config.placement;

  std::vector<std::uint32_t> groups;  // indices; only those that something is charged in
  if (!queue.unlimited) {
    s.group_of = groups_for(queue.groups, counted, s.beside);
    for (const auto& [name, amount] : counted) {
      const auto group = s.group_index(name);
      if (group && std::find(groups.begin(), groups.end(), *group) == groups.end()) groups.push_back(*group);
    }
  }
  const auto chosen = picks_of(*this, s, base, counted, groups);
  if (chosen.empty()) {
    s.problem = {
        ReasonCode::kNodeFlavor, "", "no flavor of the queue exists that the pod tolerates", 0, 0, 0, {}};
    return;
  }
  for (const auto& picks : chosen) {
    std::vector<ChosenFlavor> flavors_of;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      for (const std::string& resource : queue.groups[groups[g]].resources) {
        if (counted.has(resource) && s.group_index(resource) == groups[g])
          flavors_of.push_back({resource, picks[g]->name});
      }
    }
    const ChargeId id = charge_for(s.pod, base, counted, std::move(flavors_of));
    if (std::find(s.choices.begin(), s.choices.end(), id) == s.choices.end()) s.choices.push_back(id);
  }
  std::vector<const Shape*> all;
  for (const ChargeId choice : s.choices) all.push_back(&shape_of(choice));
  s.kind = make_kind(all, NodeTable::cpu());
}

ChargeId with_counted(State& state, ChargeId charge, CountedId counted) {
  Charge copy = state.charges[charge];
  ShapeEntry entry;
  entry.shape = state.shapes[copy.shape].shape;
  entry.shape.counted = counted;
  std::string shape_name = shape_key(entry.shape);
  const auto known_shape = state.shapes.find(shape_name);
  copy.shape = known_shape ? *known_shape : state.shapes.add(std::move(shape_name), std::move(entry));
  std::string name = key_of(copy);
  const auto known = state.charges.find(name);
  return known ? *known : state.charges.add(std::move(name), std::move(copy));
}

void count_again(State& state, WorkloadId id, std::size_t set) {
  WorkloadState& w = state.workloads[id.index()];
  PodSetState& s = w.sets[set];
  const PodTemplate& pod = state.specs[s.spec].pod;
  Counted& counted = state.accounts.counted();
  if (!counted.any() && pod.terms.empty() && pod.selected.empty() && pod.preferred_terms.empty()) return;
  const CountedId on_nodes = intern_terms(counted, pod, false);
  const CountedId without_nodes = intern_terms(counted, pod, true);
  for (Slot& slot : s.slots) {
    const PlaneMask planes = planes_of(slot.state);
    if (planes == 0) continue;
    const Shape& shape = state.shape_of(slot.charge);
    const CountedId now = shape.opaque ? without_nodes : on_nodes;
    if (shape.counted == now) continue;
    const ChargeId charge = with_counted(state, slot.charge, now);
    state.accounts.charge(charged(w, slot), planes, -1);
    slot.charge = charge;
    state.accounts.charge(charged(w, slot), planes, +1);
    state.news.holds_suspect = true;
    ++state.use_version;
  }
}

}  // namespace berth::engine

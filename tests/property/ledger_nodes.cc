// The capacity of nodes, and the pods that may run on them.
#include <algorithm>

#include "property/ledger.h"

namespace berth::property {
namespace {

const std::string kOfVolumes = "volumes of ";  // with the driver behind
constexpr std::int64_t kNoLimit = std::int64_t{1} << 50;

bool label_matches(const Requirement& r, const std::string* value) {
  const bool in_list = value != nullptr && std::count(r.values.begin(), r.values.end(), *value) > 0;
  switch (r.op) {
    case SelectorOp::kIn:
      return in_list;
    case SelectorOp::kNotIn:
      return !in_list;
    case SelectorOp::kExists:
      return value != nullptr;
    case SelectorOp::kDoesNotExist:
      return value == nullptr;
    case SelectorOp::kGt:
      return value != nullptr && std::stoll(*value) > std::stoll(r.values.at(0));
    case SelectorOp::kLt:
      return value != nullptr && std::stoll(*value) < std::stoll(r.values.at(0));
  }
  return false;
}

bool term_matches(const SelectorTerm& term, const Node& node) {
  if (term.labels.empty() && term.node_name.empty()) return false;
  for (const Requirement& r : term.labels) {
    const auto it = node.labels.find(r.key);
    if (!label_matches(r, it == node.labels.end() ? nullptr : &it->second)) return false;
  }
  for (const Requirement& r : term.node_name) {
    if (!label_matches(r, &node.name)) return false;
  }
  return true;
}

bool tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  for (const Toleration& t : tolerations) {
    const bool effect =
        t.effect == TolerationEffect::kAll ||
        (t.effect == TolerationEffect::kNoSchedule && taint.effect == TaintEffect::kNoSchedule) ||
        (t.effect == TolerationEffect::kNoExecute && taint.effect == TaintEffect::kNoExecute);
    const bool key = t.key.empty() ? t.exists : t.key == taint.key && (t.exists || t.value == taint.value);
    if (effect && key) return true;
  }
  return false;
}

bool has_labels(const Node& node, const Labels& labels) {
  for (const auto& [key, value] : labels) {
    const auto it = node.labels.find(key);
    if (it == node.labels.end() || it->second != value) return false;
  }
  return true;
}

}  // namespace

const DevicePool* Ledger::pool(const std::string& node, const std::string& resource,
                               std::int64_t* first) const {
  const auto it = nodes.find(node);
  if (it == nodes.end()) return nullptr;
  std::int64_t at = 0;
  for (const DevicePool& pool : it->second.devices) {
    if (first != nullptr) *first = at;
    if (pool.resource == resource) return &pool;
    at += pool.count;
  }
  return nullptr;
}

std::int64_t Ledger::capacity(const std::string& node, const std::string& resource) const {
  const auto it = nodes.find(node);
  if (it == nodes.end()) return 0;
  // As Kubernetes has it: what runs on a device that has failed counts against the others.
  if (const DevicePool* devices = pool(node, resource, nullptr))
    return (devices->count - static_cast<std::int64_t>(devices->unhealthy.size())) * 1000;
  if (resource.starts_with(kOfVolumes)) {
    const std::string driver = resource.substr(kOfVolumes.size());
    return it->second.attachable.has(driver) ? it->second.attachable.get(driver) : kNoLimit;
  }
  return it->second.allocatable.get(resource);
}

ResourceList Ledger::amounts_of(const PodTemplate& pod) {
  ResourceList out = pod.total().value();
  for (const auto& [driver, volumes] : pod.attaches) out.set(kOfVolumes + driver, volumes);
  return out;
}

std::int64_t Ledger::used(const std::string& node, const std::string& resource, When when) const {
  std::int64_t sum = 0;
  for (const auto& [uid, w] : workloads) {
    for (const auto& set : w.sets) {
      for (const auto& slot : set) {
        if (charges_when(slot.state, when) && slot.taken.node == node)
          sum += slot.taken.amounts.get(resource);
      }
    }
  }
  for (const auto& [uid, pod] : foreign) {
    if (pod.node != node) continue;
    sum += pod.requests.get(resource);
    if (resource.starts_with(kOfVolumes)) sum += pod.attaches.get(resource.substr(kOfVolumes.size()));
    for (const DeviceRequest& d : pod.devices) sum += d.resource == resource ? d.count * d.milli : 0;
  }
  if (!resource.starts_with(kOfVolumes)) return sum;
  for (const auto& [driver, name] : mounted(node, when)) sum += kOfVolumes + driver == resource ? 1 : 0;
  return sum;
}

std::set<std::pair<std::string, std::string>> Ledger::mounted(const std::string& node, When when) const {
  std::set<std::pair<std::string, std::string>> out;
  const auto add = [&](const std::vector<SharedVolume>& mounts) {
    for (const SharedVolume& volume : mounts) out.emplace(volume.driver, volume.name);
  };
  for (const auto& [uid, w] : workloads) {
    for (const auto& set : w.sets) {
      for (const auto& slot : set) {
        if (charges_when(slot.state, when) && slot.taken.node == node) add(slot.taken.mounts);
      }
    }
  }
  for (const auto& [uid, pod] : foreign) {
    if (pod.node == node) add(pod.mounts);
  }
  return out;
}

std::string Ledger::places_of(const SharedVolume& volume) {
  return kOfVolumes + volume.driver;
}

ResourceList Ledger::amounts_on(const std::string& node, ResourceList amounts,
                                const std::vector<SharedVolume>& mounts, When when) const {
  if (mounts.empty()) return amounts;
  const auto there = mounted(node, when);
  std::set<std::pair<std::string, std::string>> mine;
  for (const SharedVolume& volume : mounts) {
    const std::string places = places_of(volume);
    const bool is_new = !there.contains({volume.driver, volume.name});
    if (mine.emplace(volume.driver, volume.name).second && is_new)
      amounts.set(places, amounts.get(places) + 1);
  }
  return amounts;
}

std::int64_t Ledger::device_used(const std::string& node, const std::string& resource, std::int64_t index,
                                 When when) const {
  std::int64_t sum = 0;
  for (const auto& [uid, w] : workloads) {
    for (const auto& set : w.sets) {
      for (const auto& slot : set) {
        if (!charges_when(slot.state, when) || slot.taken.node != node || !slot.taken.indices_known) continue;
        if (std::count(slot.taken.indices.begin(), slot.taken.indices.end(), index) == 0) continue;
        for (const DeviceRequest& d : slot.taken.devices) sum += d.resource == resource ? d.milli : 0;
      }
    }
  }
  return sum;
}

std::int64_t Ledger::port_holders(const std::string& node, const std::vector<HostPort>& ports,
                                  When when) const {
  const auto collide = [&](const std::vector<HostPort>& theirs) {
    for (const HostPort& a : ports) {
      for (const HostPort& b : theirs) {
        const bool same_place = a.ip == b.ip || a.ip == "" || b.ip == "";
        if (a.port == b.port && a.protocol == b.protocol && same_place) return true;
      }
    }
    return false;
  };
  std::int64_t sum = 0;
  if (ports.empty()) return sum;
  for (const auto& [uid, w] : workloads) {
    for (const auto& set : w.sets) {
      for (const auto& slot : set) {
        if (charges_when(slot.state, when) && slot.taken.node == node && collide(slot.taken.ports)) ++sum;
      }
    }
  }
  for (const auto& [uid, pod] : foreign) sum += pod.node == node && collide(pod.ports) ? 1 : 0;
  return sum;
}

std::string Ledger::static_trouble(const PodTemplate& pod, const std::vector<std::string>& flavor_names,
                                   const Node& node) const {
  std::vector<Toleration> tolerations = pod.tolerations;
  for (const std::string& name : flavor_names) {
    const Flavor& flavor = flavors.at(name);
    if (!has_labels(node, flavor.node_labels)) return "the node is not of flavor " + name;
    tolerations.insert(tolerations.end(), flavor.tolerations.begin(), flavor.tolerations.end());
  }
  if (!has_labels(node, pod.node_selector)) return "the node selector does not match";
  if (!pod.required_affinity.empty() &&
      std::none_of(pod.required_affinity.begin(), pod.required_affinity.end(),
                   [&](const SelectorTerm& term) { return term_matches(term, node); })) {
    return "the required affinity does not match";
  }
  for (const VolumeNodes& volume : pod.volumes) {
    if (std::none_of(volume.nodes.begin(), volume.nodes.end(),
                     [&](const SelectorTerm& term) { return term_matches(term, node); }))
      return "a volume is on other nodes";
  }
  if (node.unschedulable) {
    const Taint cordon{"node.kubernetes.io/unschedulable", "", TaintEffect::kNoSchedule};
    if (!tolerates(tolerations, cordon)) return "the node is cordoned";
  }
  for (const Taint& taint : node.taints) {
    if (taint.effect != TaintEffect::kPreferNoSchedule && !tolerates(tolerations, taint)) {
      return "the taint " + taint.key + " is not tolerated";
    }
  }
  return "";
}

std::string Ledger::term_trouble(const PodTemplate& pod, const std::string& node, When when,
                                 const SlotRecord* self,
                                 const std::vector<const SlotRecord*>& with_it) const {
  struct Other {
    std::string node;
    std::vector<CountedTerm> terms;
    std::vector<std::string> selected;
    bool with_it = false;
  };
  std::vector<Other> others;
  for (const auto& [uid, w] : workloads) {
    const auto sets = pod_sets_of(w.spec.root);
    for (std::size_t s = 0; s < w.sets.size() && s < sets.size(); ++s) {
      for (const SlotRecord& slot : w.sets[s]) {
        if (&slot != self && charges_when(slot.state, when) && !slot.taken.opaque)
          others.push_back({slot.taken.node, sets[s]->pod.terms, sets[s]->pod.selected,
                            std::count(with_it.begin(), with_it.end(), &slot) > 0});
      }
    }
  }
  for (const auto& [uid, f] : foreign) others.push_back({f.node, f.terms, f.selected, false});
  const auto value = [&](const std::string& at, const std::string& level) -> std::string {
    const auto found = nodes.find(at);
    if (found == nodes.end()) return "";
    const auto label = found->second.labels.find(level);
    return label == found->second.labels.end() ? "" : label->second;
  };
  const auto has = [](const std::vector<std::string>& list, const std::string& one) {
    return std::count(list.begin(), list.end(), one) > 0;
  };
  const auto together = [&](const Other& other, const std::string& level) {
    return !value(node, level).empty() && value(node, level) == value(other.node, level);
  };
  bool all_first = true;
  bool near_ok = true;
  for (const CountedTerm& term : pod.terms) {
    bool here = false;
    bool anywhere = false;
    for (const Other& other : others) {
      if (!has(other.selected, term.selector)) continue;
      here = here || together(other, term.level);
      anywhere = anywhere || (!other.with_it && !value(other.node, term.level).empty());
    }
    if (term.kind == TermKind::kApart && here) return "a pod that it must be apart from is there";
    if (term.kind != TermKind::kNear) continue;
    if (value(node, term.level).empty()) return "it must be near a pod, and the node is in no domain";
    near_ok = near_ok && here;
    all_first = all_first && !anywhere && has(pod.selected, term.selector);
  }
  if (!near_ok && !all_first) return std::string(kNotNear);
  for (const Other& other : others) {
    for (const CountedTerm& term : other.terms) {
      if (term.kind == TermKind::kApart && has(pod.selected, term.selector) && together(other, term.level))
        return "a pod is there that must be apart from it";
    }
  }
  return "";
}

bool Ledger::flavor_suits(const PodTemplate& pod, const std::string& flavor) const {
  const Flavor& f = flavors.at(flavor);
  for (const auto& [key, value] : pod.node_selector) {
    if (const auto it = f.node_labels.find(key); it != f.node_labels.end() && it->second != value)
      return false;
  }
  // A term may still hold on a node of the flavor where it asks for nothing that the flavor's own labels contradict.
  const auto may_hold = [&](const SelectorTerm& term) {
    return std::all_of(term.labels.begin(), term.labels.end(), [&](const Requirement& r) {
      const auto it = f.node_labels.find(r.key);
      return it == f.node_labels.end() || label_matches(r, &it->second);
    });
  };
  const auto excludes = [&](const std::vector<SelectorTerm>& terms) {
    return !terms.empty() && std::none_of(terms.begin(), terms.end(), may_hold);
  };
  if (excludes(pod.required_affinity)) return false;
  for (const VolumeNodes& volume : pod.volumes) {
    if (excludes(volume.nodes)) return false;
  }
  return std::all_of(f.node_taints.begin(), f.node_taints.end(), [&](const Taint& taint) {
    return taint.effect == TaintEffect::kPreferNoSchedule || tolerates(pod.tolerations, taint) ||
           tolerates(f.tolerations, taint);
  });
}

std::int64_t Ledger::slots_that_fit(const PodTemplate& pod, const std::string& node) const {
  std::int64_t fit = kInt64Max;
  for (const When when : {When::kNow, When::kAfter}) {
    const ResourceList each = amounts_of(pod);
    const ResourceList first = amounts_on(node, each, pod.mounts, when);
    std::set<std::string> asked;
    for (const auto& [resource, amount] : first) {
      if (amount != 0) asked.insert(resource);
    }
    // Also where the node has them: above its limit it takes no pod with volumes of the driver.
    for (const SharedVolume& volume : pod.mounts) asked.insert(places_of(volume));
    for (const std::string& resource : asked) {
      const std::int64_t left =
          capacity(node, resource) - used(node, resource, when) - (first.get(resource) - each.get(resource));
      if (left < each.get(resource)) return 0;
      if (each.get(resource) > 0) fit = std::min(fit, left / each.get(resource));
    }
  }
  for (const When when : {When::kNow, When::kAfter}) {
    if (!pod.ports.empty())
      fit = std::min<std::int64_t>(fit, port_holders(node, pod.ports, when) > 0 ? 0 : 1);
  }
  for (const DeviceRequest& d : pod.claim.requests) {
    std::int64_t first = 0;
    const DevicePool* devices = pool(node, d.resource, &first);
    if (devices == nullptr) return 0;
    std::int64_t pieces = 0;
    for (std::int64_t i = 0; i < devices->count; ++i) {
      if (std::count(devices->unhealthy.begin(), devices->unhealthy.end(), i) > 0) continue;
      std::int64_t free = 1000;
      for (const When when : {When::kNow, When::kAfter})
        free = std::min(free, 1000 - device_used(node, d.resource, first + i, when));
      pieces += std::max<std::int64_t>(0, free) / d.milli;
    }
    fit = std::min(fit, pieces / d.count);
  }
  return fit;
}

bool Ledger::room_is_known(const PodTemplate& pod, const std::string& node) const {
  if (pod.claim.requests.empty()) return true;
  const auto whole = [](const std::vector<DeviceRequest>& requests) {
    return std::all_of(requests.begin(), requests.end(), [](const auto& d) { return d.milli == 1000; });
  };
  bool all_whole = whole(pod.claim.requests);
  bool all_known = true;
  for (const auto& [uid, w] : workloads) {
    for (const auto& set : w.sets) {
      for (const auto& slot : set) {
        const bool there = charges_when(slot.state, When::kNow) || charges_when(slot.state, When::kAfter);
        if (!there || slot.taken.node != node || slot.taken.devices.empty()) continue;
        all_whole = all_whole && whole(slot.taken.devices);
        all_known = all_known && slot.taken.indices_known;
      }
    }
  }
  for (const auto& [uid, other] : foreign) {
    if (other.node != node || other.devices.empty()) continue;
    all_whole = all_whole && whole(other.devices);
    all_known = false;
  }
  return all_known || all_whole;
}

std::vector<std::string> Ledger::domain(const std::string& node, const std::string& level) const {
  const auto found = nodes.find(node);
  if (found == nodes.end()) return {};
  for (const auto& [name, topology] : topologies) {
    const auto end = std::find(topology.levels.begin(), topology.levels.end(), level);
    if (end == topology.levels.end()) continue;
    std::vector<std::string> path;
    for (auto it = topology.levels.begin(); it != end + 1; ++it) {
      const auto label = found->second.labels.find(*it);
      if (label == found->second.labels.end()) return {};
      path.push_back(label->second);
    }
    return path;
  }
  return {};
}

}  // namespace berth::property

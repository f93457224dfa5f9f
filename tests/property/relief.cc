#include "property/relief.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "property/objects.h"

namespace berth::property {
namespace {

constexpr std::string_view kMade = "relief";

}  // namespace

std::vector<Need> needs_of(const WorkloadRecord& w) {
  std::vector<Need> out;
  const auto sets = pod_sets_of(w.spec.root);
  for (std::size_t s = 0; s < sets.size(); ++s) {
    const auto waiting = std::count_if(w.sets[s].begin(), w.sets[s].end(),
                                       [](const auto& slot) { return slot.state == SlotState::kWaiting; });
    if (waiting == 0) continue;
    out.push_back({s, std::max<std::int64_t>(1, sets[s]->least_count() - w.active(s))});
  }
  return out;
}

std::vector<Reason> named(const Reason& reason) {
  std::vector<Reason> out;
  switch (reason.code) {
    case ReasonCode::kUnsupported:
    case ReasonCode::kInactive:
    case ReasonCode::kIncompleteGang:
    case ReasonCode::kQueueMissing:
    case ReasonCode::kQueueDisabled:
    case ReasonCode::kQueueStopped:
    case ReasonCode::kQuota:
    case ReasonCode::kQuotaMax:
    case ReasonCode::kQuotaUncovered:
    case ReasonCode::kLaneLimit:
    case ReasonCode::kFirmLimit:
    case ReasonCode::kNodes:
    case ReasonCode::kTopology:
    case ReasonCode::kNodeFlavor:
      out.push_back(reason);
      break;
    default:
      break;
  }
  for (const Reason& child : reason.children) {
    for (Reason& below : named(child)) out.push_back(std::move(below));
  }
  return out;
}

std::vector<Event> Relief::events(const Reason& reason, std::int64_t amount, std::int64_t short_by) {
  Workload spec = record().spec;
  switch (reason.code) {
    case ReasonCode::kUnsupported: {
      const auto supported = [](const auto& self, Group& group) -> void {
        for (PodSet& set : group.pod_sets) set.pod.unsupported.clear();
        for (Group& child : group.groups) self(self, child);
      };
      supported(supported, spec.root);
      return {WorkloadUpsert{spec}};
    }
    case ReasonCode::kInactive:
      spec.active = true;
      return {WorkloadUpsert{spec}};
    case ReasonCode::kIncompleteGang: {
      std::vector<Event> out;
      const auto sets = pod_sets_of(spec.root);
      for (std::size_t s = 0; s < sets.size(); ++s) {
        for (std::size_t i = 0; i < record().sets[s].size(); ++i) {
          if (record().sets[s][i].state != SlotState::kAbsent) continue;
          out.push_back(SlotUpdate{uid_, static_cast<std::int64_t>(s), static_cast<std::int64_t>(i),
                                   SlotState::kWaiting, ""});
        }
      }
      return out;
    }
    case ReasonCode::kQueueMissing: {
      Queue queue;
      queue.name = reason.subject;
      queue.unlimited = true;
      return {QueueUpsert{queue}};
    }
    case ReasonCode::kQueueDisabled:
      return mended_queue();
    case ReasonCode::kQueueStopped: {
      Queue queue = ledger_.queues.at(spec.queue);
      queue.stop = StopPolicy::kNone;
      return {QueueUpsert{queue}};
    }
    case ReasonCode::kQuota:
    case ReasonCode::kQuotaMax:
      return more_quota(reason, amount);
    case ReasonCode::kQuotaUncovered:
      return cover(reason.subject);
    case ReasonCode::kLaneLimit: {
      Queue queue = ledger_.queues.at(spec.queue);
      for (LaneLimit& limit : queue.lanes.limits) {
        if (limit.resource == reason.detail) limit.amount += amount;
      }
      return {QueueUpsert{queue}};
    }
    case ReasonCode::kFirmLimit: {
      Queue queue = ledger_.queues.at(reason.subject);
      for (Quota& quota : queue.quotas) {
        if (quota.resource == reason.detail && quota.firm_limit) *quota.firm_limit += amount;
      }
      return {QueueUpsert{queue}};
    }
    case ReasonCode::kNodes:
    case ReasonCode::kTopology:
      if (ledger_.is_opaque(spec.queue)) return {};  // there are none to make
      return reason.code == ReasonCode::kNodes ? more_nodes(amount, short_by) : a_domain();
    case ReasonCode::kNodeFlavor:
      return usable_flavors();
    default:
      return {};
  }
}

// ------------------------------------------------------------------------------------------------------------- queues

std::vector<Event> Relief::more_quota(const Reason& reason, std::int64_t amount) const {
  Queue queue = ledger_.queues.at(record().spec.queue);
  for (Quota& quota : queue.quotas) {
    if (quota.flavor != reason.detail || quota.resource != reason.subject) continue;
    quota.nominal += amount;
    std::vector<Event> out{QueueUpsert{queue}};
    // Those above it count what it has, or their limit.
    for (const std::string& above : ledger_.chain(queue.name)) {
      Queue other = above == queue.name ? queue : ledger_.queues.at(above);
      for (Quota& limited : other.quotas) {
        if (limited.flavor != reason.detail || limited.resource != reason.subject || !limited.subtree_limit)
          continue;
        *limited.subtree_limit += amount;
        out.emplace_back(QueueUpsert{other});
      }
    }
    return out;
  }
  return {};
}

// A flavor of its own for the resource, without labels, and quota for it.
std::vector<Event> Relief::cover(const std::string& resource) const {
  Queue queue = ledger_.queues.at(record().spec.queue);
  Flavor flavor;
  flavor.name = fmt::format("{}-{}", kMade, resource);
  flavor.opaque = ledger_.is_opaque(record().spec.queue);
  std::int64_t amount = 0;
  const auto sets = pod_sets_of(record().spec.root);
  for (const PodSet* set : sets) amount += set->pod.total().value().get(resource) * set->count;
  queue.groups.push_back({{resource}, {flavor.name}});
  queue.quotas.push_back({flavor.name, resource, amount, {}, {}});
  return {FlavorUpsert{flavor}, QueueUpsert{queue}};
}

// An error of a queue is in it or in one of the queues above it.
std::vector<Event> Relief::mended_queue() const {
  std::vector<Event> out;
  for (const std::string& name : ledger_.chain(record().spec.queue)) {
    const auto it = ledger_.queues.find(name);
    Queue queue;
    queue.name = name;
    queue.leaf = name == record().spec.queue;
    if (it != ledger_.queues.end()) {
      if (it->second.disabled.empty()) continue;
      queue = it->second;
      queue.disabled.clear();
    }
    out.push_back(QueueUpsert{queue});
  }
  return out;
}

std::vector<Event> Relief::usable_flavors() const {
  std::vector<Event> out;
  for (const auto& [name, flavor] : ledger_.flavors) {
    if (flavor.node_taints.empty()) continue;
    Flavor open = flavor;
    open.node_taints.clear();
    out.push_back(FlavorUpsert{open});
  }
  return out;
}

// -------------------------------------------------------------------------------------------------------------- nodes

// The combinations of flavors, one of each resource group that the pod set needs, in the order of the queue's flavors.
std::vector<std::vector<std::string>> Relief::flavor_choices(std::size_t set) const {
  std::vector<std::vector<std::string>> out{{}};
  const std::string& queue = record().spec.queue;
  if (!ledger_.limited(queue)) return out;
  const PodTemplate& pod = pod_sets_of(record().spec.root)[set]->pod;
  const ResourceList total = pod.total().value();
  for (const ResourceGroup& group : ledger_.queues.at(queue).groups) {
    const bool needed =
        std::any_of(group.resources.begin(), group.resources.end(),
                    [&](const auto& resource) { return total.get(resource) > 0 || resource == "pods"; });
    if (!needed) continue;
    std::vector<std::vector<std::string>> longer;
    for (const auto& prefix : out) {
      for (const std::string& flavor : group.flavors) {
        if (ledger_.flavors.count(flavor) == 0 || !ledger_.flavor_suits(pod, flavor)) continue;
        longer.push_back(prefix);
        longer.back().push_back(flavor);
      }
    }
    out = std::move(longer);
  }
  return out;
}

// Those whose quota would let the pod set start, the one with the most room first.
std::vector<std::vector<std::string>> Relief::choices_with_quota(const Need& need) const {
  auto out = flavor_choices(need.set);
  std::erase_if(out,
                [&](const auto& flavors) { return !ledger_.has_quota(uid_, need.set, need.slots, flavors); });
  if (out.size() < 2) return out;
  std::vector<std::pair<std::int64_t, std::vector<std::string>>> by_room;
  for (auto& flavors : out) {
    const std::int64_t here = room(need, flavors, {}, "");
    by_room.emplace_back(here, std::move(flavors));
  }
  std::stable_sort(by_room.begin(), by_room.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::move(by_room[i].second);
  return out;
}

// A new node with room for exactly so many slots of the pod set, in a flavor whose quota would let them start.
std::optional<Relief::Made> Relief::node_for(const Need& need, std::int64_t slots) {
  const PodTemplate& pod = pod_sets_of(record().spec.root)[need.set]->pod;
  Node node;
  node.name = fmt::format("{}-{}", kMade, made_);
  for (const auto& [resource, amount] : pod.requests) node.allocatable.set(resource, amount * slots);
  if (!pod.requests.has("pods")) node.allocatable.set("pods", 110);
  for (const DeviceRequest& d : pod.claim.requests) {
    node.devices.push_back({d.resource, d.count * slots, "", {}});
  }
  bool elsewhere = false;
  for (const auto& flavors : choices_with_quota(need)) {
    std::vector<Labels> candidates(1, pod.node_selector);
    for (const std::string& flavor : flavors) {
      for (const auto& [key, value] : ledger_.flavors.at(flavor).node_labels) candidates[0][key] = value;
    }
    for (std::int64_t i = 0; i < 3; ++i) {
      candidates.push_back(candidates[0]);
      candidates.back()["pool"] = flavor_name(i);
    }
    for (const Labels& labels : candidates) {
      node.labels = labels;
      if (!ledger_.static_trouble(pod, flavors, node).empty()) continue;
      ++made_;
      return Made{node, flavors, elsewhere};
    }
    elsewhere = true;
  }
  return std::nullopt;
}

// Nodes of one slot each: `amount` where there is one pod set, else for every pod set as many as it must start. Room that is
// there in one flavor is of no use to nodes in another.
std::vector<Event> Relief::more_nodes(std::int64_t amount, std::int64_t short_by) {
  std::vector<Event> out;
  const auto needs = needs_of(record());
  for (const Need& need : needs) {
    std::int64_t count = needs.size() == 1 ? amount : need.slots;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto made = node_for(need, 1);
      if (!made) return {};
      if (i == 0 && needs.size() == 1 && made->elsewhere)
        count = need.slots - short_by - room(need, made->flavors, {}, "");
      if (i < count) out.push_back(NodeUpsert{made->node});
    }
  }
  return out;
}

// One new domain at all levels, with room for everything that must start.
std::vector<Event> Relief::a_domain() {
  std::vector<Event> out;
  const std::string name = fmt::format("{}-domain-{}", kMade, made_);
  for (const Need& need : needs_of(record())) {
    // Pods with host ports have a node each.
    const bool apart = !pod_sets_of(record().spec.root)[need.set]->pod.ports.empty();
    for (std::int64_t i = 0; i < (apart ? need.slots : 1); ++i) {
      auto made = node_for(need, apart ? 1 : need.slots);
      if (!made) return {};
      for (const char* level : {"zone", "rack", "host"}) made->node.labels[level] = name;
      out.push_back(NodeUpsert{made->node});
    }
  }
  return out;
}

// ------------------------------------------------------------------------------------------------------------ numbers

std::int64_t Relief::room(const Need& need, const std::vector<std::string>& flavors,
                          const std::vector<std::string>& domain, const std::string& level) const {
  const PodTemplate& pod = pod_sets_of(record().spec.root)[need.set]->pod;
  std::int64_t sum = 0;
  for (const auto& [name, node] : ledger_.nodes) {
    if (!level.empty() && ledger_.domain(name, level) != domain) continue;
    if (ledger_.static_trouble(pod, flavors, node).empty()) sum += ledger_.slots_that_fit(pod, name);
  }
  return sum;
}

bool Relief::room_is_known() const {
  const auto sets = pod_sets_of(record().spec.root);
  return std::all_of(sets.begin(), sets.end(), [&](const PodSet* set) {
    return std::all_of(ledger_.nodes.begin(), ledger_.nodes.end(),
                       [&](const auto& node) { return ledger_.room_is_known(set->pod, node.first); });
  });
}

std::int64_t Relief::lane_limits(const std::string& resource) const {
  const auto queue = ledger_.queues.find(record().spec.queue);
  if (queue == ledger_.queues.end()) return 0;
  const auto& limits = queue->second.lanes.limits;
  return std::count_if(limits.begin(), limits.end(),
                       [&](const LaneLimit& limit) { return limit.resource == resource; });
}

std::int64_t Relief::firm_limits(const std::string& resource) const {
  std::int64_t out = 0;
  for (const std::string& name : ledger_.chain(record().spec.queue)) {
    const auto queue = ledger_.queues.find(name);
    if (queue == ledger_.queues.end()) continue;
    out += std::count_if(queue->second.quotas.begin(), queue->second.quotas.end(),
                         [&](const Quota& quota) { return quota.resource == resource && quota.firm_limit; });
  }
  return out;
}

bool Relief::is_cut(const Reason& reason) const {
  const auto names = [&](const Quota& quota) {
    return quota.subtree_limit && quota.flavor == reason.detail && quota.resource == reason.subject;
  };
  const auto chain = ledger_.chain(record().spec.queue);
  return std::any_of(chain.begin(), chain.end(), [&](const std::string& name) {
    const auto queue = ledger_.queues.find(name);
    return queue != ledger_.queues.end() &&
           std::any_of(queue->second.quotas.begin(), queue->second.quotas.end(), names);
  });
}

bool Relief::in_segments() const {
  const auto any = [](const auto& self, const Group& group) -> bool {
    return (!group.topology.segment_level.empty() && !group.pod_sets.empty()) ||
           std::any_of(group.groups.begin(), group.groups.end(),
                       [&](const Group& child) { return self(self, child); });
  };
  return any(any, record().spec.root);
}

std::optional<Relief::Numbers> Relief::numbers(const Reason& reason) const {
  const auto needs = needs_of(record());
  if (pod_sets_of(record().spec.root).size() != 1 || needs.size() != 1) return std::nullopt;
  const Need& need = needs[0];
  const PodTemplate& pod = pod_sets_of(record().spec.root)[0]->pod;
  if (reason.code != ReasonCode::kQuota && ledger_.is_opaque(record().spec.queue)) return std::nullopt;
  // A reason may speak of one segment, or of the nodes of one flavor where another one has no domain for a segment.
  if (reason.code != ReasonCode::kQuota && (in_segments() || !room_is_known())) return std::nullopt;
  switch (reason.code) {
    case ReasonCode::kQuota: {
      ResourceList total = pod.total().value();
      if (!total.has("pods")) total.set("pods", 1);
      const FlavorResource pair{reason.detail, reason.subject};
      std::int64_t have = kInt64Max;
      for (const When when : {When::kNow, When::kAfter})
        have = std::min(have, ledger_.available(record().spec.queue, pair, when));
      return Numbers{total.get(reason.subject) * need.slots, have};
    }
    case ReasonCode::kNodes: {
      const auto flavors = choices_with_quota(need);
      if (flavors.empty()) return std::nullopt;
      return Numbers{need.slots, room(need, flavors[0], {}, "")};
    }
    case ReasonCode::kTopology: {
      std::set<std::vector<std::string>> domains;
      for (const auto& [name, node] : ledger_.nodes) domains.insert(ledger_.domain(name, reason.subject));
      domains.erase(std::vector<std::string>());
      std::int64_t best = 0;
      auto choices = choices_with_quota(need);
      if (choices.empty()) choices = flavor_choices(0);
      std::erase_if(choices, [&](const auto& flavors) {
        return ledger_.is_awaited(record().spec.queue, pod, flavors);
      });
      for (const auto& domain : domains) {
        for (const auto& flavors : choices)
          best = std::max(best, room(need, flavors, domain, reason.subject));
      }
      return Numbers{need.slots, best};
    }
    default:
      return std::nullopt;
  }
}

}  // namespace berth::property

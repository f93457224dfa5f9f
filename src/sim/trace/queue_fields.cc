#include "sim/trace/queue_fields.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/checked.h"
#include "base/cycles.h"
#include "model/resources.h"
#include "sim/trace/trace.h"

namespace berth::sim {
namespace {

constexpr std::string_view kDefaultFlavor = "default";
constexpr DurationMs kMostAge = 100LL * 365 * 24 * kHour;

// The common keys of a queue entry and a `tenants` entry.
void read_policy(text::Fields& f, Queue& queue) {
  queue.order = enum_or(f, "order", QueueOrder::kBestEffort);
  queue.preemption.within = enum_or(f, "within", WithinQueue::kNever);
  queue.preemption.reclaim = enum_or(f, "reclaim", Reclaim::kNever);
  queue.preemption.victims = enum_or(f, "victims", VictimOrder::kCost);
  queue.preemption.minimum_runtime = f.duration_or("minimum_runtime", 0, 0, kMostAge);
  queue.preemption.ignores_minimum_runtime = f.boolean_or("ignores_minimum_runtime", false);
  queue.placement = enum_or(f, "placement", Placement::kDefault);
  Ordering& ordering = queue.ordering;
  ordering.by = enum_or(f, "order_by", OrderBy::kCreation);
  constexpr text::Choice<bool> kPriority[] = {{"first", true}, {"second", false}};
  ordering.priority_first = f.choice_or("priority", kPriority, true);
  ordering.tiers = enum_or(f, "tiers", Tiers::kNone);
  if (f.has("age_limit")) ordering.age_limit = f.duration("age_limit", 0, kMostAge);
  ordering.attained_first = f.duration_or("attained_first", ordering.attained_first, 1, kMostAge);
  ordering.attained_ratio = f.integer_or("attained_ratio", ordering.attained_ratio, 2, 1'000'000);
  ordering.attained_levels = f.integer_or("attained_levels", ordering.attained_levels, 1, 64);
  if (f.has("weight")) queue.weight = {f.quantity("weight", 1000), 1000};
}

void read_quota(text::Fields& f, Queue& queue) {
  Quota quota;
  quota.resource = resource_name(f.string("resource"));
  quota.flavor = f.string_or("flavor", kDefaultFlavor);
  const std::int64_t scale = units_per_one(quota.resource);
  quota.nominal = f.quantity_or("nominal", scale, 0);
  if (f.has("borrow")) quota.borrowing_limit = f.quantity("borrow", scale);
  if (f.has("lend")) quota.lending_limit = f.quantity("lend", scale);
  for (const Quota& other : queue.quotas) {
    if (other.resource == quota.resource && other.flavor == quota.flavor) {
      f.error("resource", "the queue has a quota of {} in flavor '{}' already", quota.resource, quota.flavor);
    }
  }
  queue.quotas.push_back(std::move(quota));
}

void read_tenants(text::Fields& f, const std::string& parent, const TenantReader& read,
                  std::vector<Queue>& out) {
  const std::string path = f.string("path");
  const std::int64_t per_node = f.integer_or("gpus_per_node", 8, 1, 64);
  const std::int64_t total = f.integer_or("total_gpus", 0, 0, 1'000'000'000);
  std::optional<std::int64_t> borrow;
  std::optional<std::int64_t> lend;
  if (f.has("borrow")) borrow = f.quantity("borrow", 1000);
  if (f.has("lend")) lend = f.quantity("lend", 1000);
  const bool by_size = f.boolean_or("weight_by_size", false);
  Queue model;
  read_policy(f, model);
  if (by_size && f.has("weight")) f.error("weight", "give a weight, or weight_by_size: true, not both");
  if (!f.ok()) return;
  const auto tenants = read(path);
  if (!tenants) {
    f.error("path", "{}", tenants.error().str());
    return;
  }
  std::int64_t nodes = 0;
  for (const auto& tenant : *tenants) nodes += tenant.second;
  for (const auto& [name, size] : *tenants) {
    Queue queue = model;
    queue.name = name;
    if (by_size) queue.weight = {size, 1};
    queue.parent = parent;
    Quota quota;
    quota.flavor = kDefaultFlavor;
    quota.resource = kGpu;
    quota.nominal = size * per_node * 1000;
    // Rounded down to whole GPUs, so that the guarantees never sum to more than the total.
    if (total > 0 && nodes > 0) quota.nominal = size * total / nodes * 1000;
    quota.borrowing_limit = borrow;
    quota.lending_limit = lend;
    queue.quotas.push_back(std::move(quota));
    out.push_back(std::move(queue));
  }
}

const SourcePlace& place_of(const std::vector<SourcePlace>& places, std::size_t queue) {
  return places[std::min(queue, places.size() - 1)];
}

}  // namespace

std::string resource_name(std::string_view written) {
  return std::string(written == "gpu" ? kGpu : written);
}

void read_queue(text::Fields& f, const std::string& parent, const TenantReader& tenants,
                std::vector<Queue>& out, std::vector<SourcePlace>* places) {
  Queue queue;
  queue.name = f.string("name");
  queue.parent = parent.empty() ? f.string_or("parent") : parent;
  read_policy(f, queue);
  queue.unlimited = f.boolean_or("unlimited", false);
  queue.sharing = enum_or(f, "sharing", Sharing::kPriority);
  queue.half_life = f.duration_or("half_life", queue.half_life, kSecond, kMostAge);
  f.each("quota", [&](text::Fields& entry) { read_quota(entry, queue); });
  if (queue.unlimited && !queue.quotas.empty()) {
    f.error("unlimited", "a queue has quota or is unlimited, not both");
  }
  if (tenants == nullptr) {
    // A trace names each queue itself, on a line of its own, with its parent.
    queue.leaf = f.boolean_or("leaf", true);
    out.push_back(std::move(queue));
    return;
  }
  queue.leaf = !f.has("children") && !f.has("tenants");
  const std::string name = queue.name;
  out.push_back(std::move(queue));
  if (text::Fields child = f.optional_child("tenants"); child) {
    read_tenants(child, name, tenants, out);
    (void)child.done();
  }
  // For the queue and its tenants; children have their own.
  if (places != nullptr) places->resize(out.size(), f.document().place(f.node()));
  f.each("children", [&](text::Fields& child) {
    if (child.has("parent")) child.error("parent", "is given by where the queue stands; leave it out");
    read_queue(child, name, tenants, out, places);
  });
}

Status complete_queues(std::vector<Queue>& queues, const std::vector<SourcePlace>& places) {
  std::map<std::string_view, std::size_t> by_name;
  std::map<std::string_view, std::string_view> parents;
  std::set<std::string> flavors;
  std::set<std::string> resources;
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (!by_name.emplace(queues[i].name, i).second) {
      return fail_at(place_of(places, i), "queue '{}' is defined twice; give each queue its own name",
                     queues[i].name);
    }
    parents.emplace(queues[i].name, queues[i].parent);
    for (const Quota& quota : queues[i].quotas) {
      flavors.insert(quota.flavor);
      resources.insert(quota.resource);
    }
  }
  if (const auto cycles = find_cycles(parents); !cycles.empty()) {
    const auto first =
        std::find_if(cycles.begin(), cycles.end(), [](const auto& c) { return c.second.on_it; });
    return fail_at(
        place_of(places, by_name.find(first->first)->second),
        "the parents of queue '{}' form a cycle: {}; leave one of these parents out, or name another",
        first->first, first->second.text);
  }
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (queues[i].parent.empty()) continue;
    const auto it = by_name.find(queues[i].parent);
    if (it == by_name.end()) {
      return fail_at(place_of(places, i), "queue '{}' has the parent '{}', which is not defined",
                     queues[i].name, queues[i].parent);
    }
    if (queues[it->second].leaf) {
      return fail_at(place_of(places, i), "queue '{}' has the parent '{}', which takes workloads itself",
                     queues[i].name, queues[i].parent);
    }
  }
  for (Queue& queue : queues) {
    // A queue in the form of the decision log has its groups already.
    if (queue.unlimited || queue.quotas.empty() || !queue.groups.empty()) continue;
    // A queue covers the resources that it names; in the flavors that it does not name it has nothing.
    ResourceGroup group;
    for (const std::string& resource : resources) {
      if (std::any_of(queue.quotas.begin(), queue.quotas.end(),
                      [&](const Quota& q) { return q.resource == resource; })) {
        group.resources.push_back(resource);
      }
    }
    for (const Quota& quota : queue.quotas) {
      if (std::find(group.flavors.begin(), group.flavors.end(), quota.flavor) == group.flavors.end()) {
        group.flavors.push_back(quota.flavor);
      }
    }
    for (const std::string& flavor : group.flavors) {
      for (const std::string& resource : group.resources) {
        if (std::none_of(queue.quotas.begin(), queue.quotas.end(),
                         [&](const Quota& q) { return q.flavor == flavor && q.resource == resource; })) {
          queue.quotas.push_back({flavor, resource, 0, std::nullopt, std::nullopt});
        }
      }
    }
    queue.groups.push_back(std::move(group));
  }
  return {};
}

Status check_quotas(const std::vector<Queue>& queues, const std::vector<SourcePlace>& places) {
  for (std::size_t i = 0; i < queues.size(); ++i) {
    if (!queues[i].leaf || queues[i].unlimited || !queues[i].quotas.empty()) continue;
    return fail_at(place_of(places, i), "queue '{}' can start nothing: give it quota, or unlimited: true",
                   queues[i].name);
  }
  return {};
}

}  // namespace berth::sim

#include "dialect/intake/intake_queues.h"

#include <algorithm>

#include "dialect/books/intake_books.h"

namespace berth::dialect {
namespace {

bool is_of(const Labels& node, const ResourceFlavor& flavor) {
  return std::all_of(flavor.node_labels.begin(), flavor.node_labels.end(), [&](const auto& label) {
    const auto it = node.find(label.first);
    return it != node.end() && it->second == label.second;
  });
}

Labels node_labels_of(const IntakeBooks& books, const std::string& flavor) {
  const ResourceFlavor* known = books.objects.flavor(flavor);
  return known == nullptr ? Labels() : known->node_labels;
}

}  // namespace

std::vector<QueueState> IntakeQueues::queue_states() const {
  return books_->objects.queue_states();
}

bool IntakeQueues::has_cluster_queue(std::string_view name) const {
  return books_->objects.queues().cluster_queue(name) != nullptr;
}

std::optional<std::string> IntakeQueues::cluster_queue_of(const std::string& local_queue) const {
  const LocalQueue* known = books_->objects.local_queue(local_queue);
  return known == nullptr ? std::nullopt : std::optional(known->cluster_queue);
}

std::string IntakeQueues::queue_path(std::string_view cluster_queue) const {
  return books_->objects.queue_path(cluster_queue);
}

bool IntakeQueues::shares() const {
  return books_->config.fair_sharing;
}

const std::vector<CheckRule>& IntakeQueues::checks(std::string_view workload) const {
  static const std::vector<CheckRule> kNothing;
  if (books_->objects.queues().check_mode() != CheckMode::kLive) return kNothing;
  const auto ix = books_->drafts.find(workload);
  if (ix == kNoIx) return kNothing;
  const ClusterQueue* queue = books_->objects.queues().cluster_queue(books_->drafts[ix].given->queue);
  return queue == nullptr ? kNothing : queue->checks;
}

bool IntakeQueues::on_demand(std::string_view workload) const {
  const auto ix = books_->drafts.find(workload);
  if (ix == kNoIx) return false;
  const Draft& draft = books_->drafts[ix];
  const OwnerRecord* owner = books_->owner_of(draft);
  if (draft.object || draft.bound > 0 || (owner != nullptr && owner->ask.elastic)) return false;
  const ClusterQueue* queue = books_->objects.queues().cluster_queue(draft.given->queue);
  return queue != nullptr && !books_->objects.queues().on_demand_flavors(*queue).empty();
}

IntakeQueues::NodeSupplies IntakeQueues::on_demand() const {
  NodeSupplies out;
  for (const auto& [name, queue] : books_->objects.queues().cluster_queues()) {
    for (const std::string& flavor : books_->objects.queues().on_demand_flavors(queue))
      out[name][flavor] = node_labels_of(*books_, flavor);
  }
  return out;
}

IntakeQueues::NodeDemand IntakeQueues::node_demand(std::string_view workload) const {
  NodeDemand out;
  const auto ix = books_->drafts.find(workload);
  if (ix == kNoIx) return out;
  const Draft& draft = books_->drafts[ix];
  for (std::size_t i = 0; i < draft.roles.size() && i < draft.given->counts.size(); ++i) {
    const auto total = draft.roles[i].shape->total();
    out.sets.push_back({draft.given->counts[i].count, total.value_or(ResourceList())});
  }
  const ClusterQueue* queue = books_->objects.queues().cluster_queue(draft.given->queue);
  if (queue == nullptr) return out;
  for (const std::string& flavor : books_->objects.queues().on_demand_flavors(*queue))
    out.flavors.push_back(node_labels_of(*books_, flavor));
  return out;
}

const ProvisioningRequestConfig* IntakeQueues::provisioning(std::string_view check) const {
  return books_->objects.queues().provisioning(check);
}

const ResourceFlavor* IntakeQueues::flavor(std::string_view name) const {
  return books_->objects.flavor(name);
}

std::vector<ChosenFlavor> IntakeQueues::flavors_on(std::string_view workload, std::int64_t pod_set,
                                                   std::string_view node) const {
  std::vector<ChosenFlavor> out;
  const auto ix = books_->drafts.find(workload);
  const Node* at = books_->objects.node(node);
  if (ix == kNoIx || at == nullptr) return out;
  const Draft& draft = books_->drafts[ix];
  const ClusterQueue* queue = books_->objects.queues().cluster_queue(draft.given->queue);
  if (queue == nullptr || static_cast<std::size_t>(pod_set) >= draft.roles.size()) return out;
  const auto total = draft.roles[static_cast<std::size_t>(pod_set)].shape->total();
  if (!total) return out;
  for (const auto& group : queue->groups) {
    const auto flavor = std::find_if(group.flavors.begin(), group.flavors.end(), [&](const auto& name) {
      const ResourceFlavor* known = books_->objects.flavor(name);
      return known != nullptr && is_of(at->labels, *known);
    });
    if (flavor == group.flavors.end()) continue;
    for (const auto& resource : group.resources) {
      if (total->has(resource) || resource == "pods") out.push_back({resource, *flavor});
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.resource < b.resource; });
  return out;
}

}  // namespace berth::dialect

// The most that work of a queue of the cluster's tree could ever get.
#include <algorithm>
#include <map>

#include "base/checked.h"
#include "dialect/books/queues.h"

namespace berth::dialect {
namespace {

const Quota* quota_of(const Queue& queue, std::string_view flavor, std::string_view resource) {
  for (const Quota& quota : queue.quotas) {
    if (quota.flavor == flavor && quota.resource == resource) return &quota;
  }
  return nullptr;
}

// Its own and what those below lend to it, by the names of the queues. `queues`: parents before children.
std::map<std::string_view, std::int64_t> quotas_with_lent(const std::vector<Queue>& queues,
                                                          std::string_view flavor,
                                                          std::string_view resource) {
  std::map<std::string_view, std::int64_t> out;
  for (auto queue = queues.rbegin(); queue != queues.rend(); ++queue) {
    const Quota* quota = quota_of(*queue, flavor, resource);
    if (quota == nullptr) continue;
    auto& all = out[queue->name];
    all = saturating_add(all, quota->nominal);
    if (quota->subtree_limit) all = std::min(all, *quota->subtree_limit);
    if (queue->parent.empty()) continue;
    auto& above = out[queue->parent];
    above = saturating_add(above, quota->lending_limit ? std::min(all, *quota->lending_limit) : all);
  }
  return out;
}

}  // namespace

std::vector<const Queue*> QueueBook::path_of(std::string_view model_name) const {
  std::vector<const Queue*> out;
  for (auto queue = given_.queues.rbegin(); queue != given_.queues.rend(); ++queue) {
    if (queue->name != (out.empty() ? model_name : std::string_view(out.back()->parent))) continue;
    out.push_back(&*queue);
    if (queue->parent.empty()) break;
  }
  return out;
}

std::optional<std::int64_t> QueueBook::most_ever(Kind kind, std::string_view name,
                                                 std::string_view resource) const {
  const std::vector<const Queue*> path = path_of(tree_queue_name(kind, name));
  if (path.empty()) return std::nullopt;
  std::optional<std::int64_t> out;
  for (const Quota& of_flavor : path.front()->quotas) {
    if (of_flavor.resource != resource) continue;
    const auto quotas = quotas_with_lent(given_.queues, of_flavor.flavor, resource);
    std::int64_t from_above = 0;
    for (auto queue = path.rbegin(); queue != path.rend(); ++queue) {  // from the root down
      const Quota* quota = quota_of(**queue, of_flavor.flavor, resource);
      if (quota == nullptr) continue;
      const std::int64_t all = quotas.at((*queue)->name);
      const std::int64_t kept =
          quota->lending_limit ? std::max<std::int64_t>(0, all - *quota->lending_limit) : 0;
      std::int64_t most = (*queue)->parent.empty() ? all : saturating_add(kept, from_above);
      if (quota->borrowing_limit) most = std::min(most, saturating_add(all, *quota->borrowing_limit));
      from_above = most;
    }
    out = saturating_add(out.value_or(0), from_above);
  }
  return out;
}

QueueBook::Closed QueueBook::why_closed(Kind kind, std::string_view name) const {
  const std::string model_name = tree_queue_name(kind, name);
  const std::vector<const Queue*> path = path_of(model_name);
  if (path.empty()) return {ReasonCode::kQueueMissing, model_name, {}};
  for (const Queue* queue : path) {
    if (!queue->disabled.empty()) return {ReasonCode::kQueueDisabled, queue->name, queue->disabled};
    if (queue->stop != StopPolicy::kNone) return {ReasonCode::kQueueStopped, queue->name, {}};
  }
  if (!path.front()->leaf)
    return {ReasonCode::kQueueDisabled, model_name, "it has queues below it: only a leaf takes work"};
  return {};
}

}  // namespace berth::dialect

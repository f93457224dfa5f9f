#include "dialect/intake/queue_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "dialect/base/names.h"
#include "dialect/books/queue_marks.h"

namespace berth::dialect {
std::string_view mark_of(const std::vector<const Meta*>& sources, std::string_view key) {
  for (const Meta* meta : sources) {
    if (const auto value = meta->mark(key); !value.empty()) return value;
  }
  return {};
}

// As it was written with the bind of the pod, also after a restart. The draft holds its places in that queue, whatever its owners and
// labels say by now.
void note_charged_queue(Draft& draft, const Pod& pod) {
  if (draft.charged || pod.spec.node_name.empty()) return;
  const std::string_view charged = pod.meta.annotation(kChargedTo);
  const auto equals = std::min(charged.find('='), charged.size());
  for (const std::string_view key : kQueueKeys) {
    if (charged.substr(0, equals) != key || equals + 1 >= charged.size()) continue;
    draft.queue_mark.emplace(key, charged.substr(equals + 1));
    draft.charged = true;
    return;
  }
}

void choose_queue(Draft& draft, const std::vector<const Meta*>& sources) {
  if (draft.queue_mark && (draft.bound > 0 || draft.released)) return;
  draft.charged = false;
  draft.queue_mark.emplace();
  for (const std::string_view key : kQueueKeys) {
    const auto name = mark_of(sources, key);
    if (name.empty()) continue;
    draft.queue_mark.emplace(key, name);
    return;
  }
}

void QueueChoice::use_cluster_queue(const std::string& name, std::string_view shown) {
  out_.queue = name;
  depends_.push_back("cq:" + name);
  depends_.push_back("ns:" + draft_.ns);
  const ClusterQueue* queue = book_.cluster_queue(name);
  if (queue == nullptr) return;  // the engine says that it is missing
  if (queue->namespaces.matches(objects_.labels_of_namespace(draft_.ns))) return;
  Reason r;
  r.code = ReasonCode::kQueueDisabled;
  r.subject = shown;
  r.detail =
      queue->namespaces.nothing
          ? fmt::format(
                "ClusterQueue {} has no namespaceSelector, so it admits no namespace ({{}} admits all)", name)
          : objects_.not_admitted(describe(Kind::kClusterQueue, "", name), queue->namespaces, draft_.ns);
  out_.blocked = std::move(r);
}

void QueueChoice::use_tree_queue(Kind kind, std::string_view name) {
  out_.queue = tree_queue_name(kind, name);
  depends_.push_back("q:" + out_.queue);
  const TreeQueue* queue = book_.tree_queue(kind, name);
  if (queue == nullptr) return;  // the engine says that it is missing
  if (queue->limits_users()) out_.lane = draft_.ns;
  if (!queue->namespaces) return;
  depends_.push_back("ns:" + draft_.ns);
  if (queue->namespaces->matches(objects_.labels_of_namespace(draft_.ns))) return;
  Reason r;
  r.code = ReasonCode::kQueueDisabled;
  r.subject = name;
  r.detail = objects_.not_admitted(describe(kind, "", name), *queue->namespaces, draft_.ns);
  out_.blocked = std::move(r);
}

// False: there is no such LocalQueue.
bool QueueChoice::use_local_queue(std::string_view name) {
  const std::string key = key_of(draft_.ns, name);
  depends_.push_back("lq:" + key);
  const LocalQueue* known = objects_.local_queue(key);
  if (known == nullptr) return false;
  use_cluster_queue(known->cluster_queue, key);
  out_.lane = key;
  const bool goes_on = known->stop == StopPolicy::kHold && is_admitted_;
  if (known->stop != StopPolicy::kNone && !goes_on && !out_.blocked) {
    Reason r;
    r.code = ReasonCode::kQueueStopped;
    r.subject = key;
    out_.blocked = std::move(r);
    out_.drain = known->stop == StopPolicy::kHoldAndDrain;
  }
  return true;
}

void QueueChoice::by_local_queue(const std::string& local_queue) {
  // No ClusterQueue has a slash in its name: the engine says that it is missing.
  if (!use_local_queue(local_queue)) out_.queue = key_of(draft_.ns, local_queue);
}

// A LocalQueue of the namespace, else a Queue, else a ClusterQueue.
void QueueChoice::use_any_queue(const std::string& name) {
  if (use_local_queue(name)) return;
  depends_.push_back(fmt::format("cq:{}", name));  // whichever comes
  depends_.push_back(fmt::format("q:{}", name));
  if (book_.tree_queue(Kind::kQueue, name) != nullptr && book_.cluster_queue(name) == nullptr)
    return use_tree_queue(Kind::kQueue, name);
  use_cluster_queue(name, name);
  if (book_.cluster_queue(name) == nullptr || out_.blocked) return;
  if (!objects_.labels_of_namespace(draft_.ns).contains(kTenant)) return;
  Reason r;
  r.code = ReasonCode::kQueueDisabled;
  r.subject = name;
  r.detail =
      fmt::format("namespace {} belongs to a tenant ({}): it can use LocalQueues only", draft_.ns, kTenant);
  out_.blocked = std::move(r);
}

void QueueChoice::by_mark(std::string_view key, const std::string& name) {
  if (key == kBerthQueue || key == kKoordinatorQuota) {
    use_any_queue(name);
  } else if (key == kYuniKornQueue) {
    use_any_queue(name.substr(name.rfind('.') + 1));  // the last of a path
  } else if (key == kVolcanoQueueName || key == kKaiQueueName || key == kOlderKaiQueueName) {
    use_tree_queue(queue_kind_of(key), name);
  } else if (key == kKueueQueue) {
    by_local_queue(name);
  } else if (!use_local_queue(kKueueDefaultLocalQueue)) {
    // Without one: no queue, nodes alone decide, but not where the administrator counts on queues.
    depends_.push_back("ns:" + draft_.ns);
    if (draft_.bound > 0 || draft_.released || !objects_.labels_of_namespace(draft_.ns).contains(kTenant))
      return;
    out_.blocked = reason_of(
        ReasonCode::kInvalid,
        fmt::format("it names no queue, and namespace {} belongs to a tenant ({}): add the label {}",
                    draft_.ns, kTenant, kKueueQueue));
  }
}

}  // namespace berth::dialect

// The queue of a workload: the mark that names it, and the settings that come of it.
#include <fmt/format.h>

#include <array>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {
namespace {

// The first that says something counts.
constexpr std::array kQueueKeys = {kBerthQueue, kVolcanoQueueName, kKaiQueueName, kOlderKaiQueueName,
                                   kKueueQueue};

}  // namespace

std::string_view mark_of(const std::vector<const Meta*>& sources, std::string_view key) {
  for (const Meta* meta : sources) {
    if (const auto value = meta->mark(key); !value.empty()) return value;
  }
  return {};
}

// As it was written with the bind of the pod: the draft holds what it holds in that queue, whatever its owners and labels say by now,
// also after a restart.
void Intake::Impl::note_charged_queue(Draft& draft, const Pod& pod) {
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

void Intake::Impl::choose_queue(Draft& draft, const std::vector<const Meta*>& sources) const {
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

std::string Intake::charged_to(std::string_view workload) const {
  const auto ix = impl_->drafts.find(workload);
  if (ix == kNoIx || !impl_->drafts[ix].queue_mark || impl_->drafts[ix].queue_mark->second.empty()) return {};
  const auto& [key, name] = *impl_->drafts[ix].queue_mark;
  return fmt::format("{}={}", key, name);
}

void Intake::Impl::use_cluster_queue(const Draft& draft, const std::string& name, std::string_view shown,
                                     Settings& settings, std::vector<std::string>& depends) const {
  settings.queue = name;
  depends.push_back("cq:" + name);
  depends.push_back("ns:" + draft.ns);
  const ClusterQueue* queue = book.cluster_queue(name);
  if (queue == nullptr) return;  // the engine says that it is missing
  if (queue->namespaces.matches(objects.labels_of_namespace(draft.ns))) return;
  Reason r;
  r.code = ReasonCode::kQueueDisabled;
  r.subject = shown;
  r.detail =
      queue->namespaces.nothing
          ? fmt::format(
                "ClusterQueue {} has no namespaceSelector, so it admits no namespace ({{}} admits all)", name)
          : objects.not_admitted(describe(Kind::kClusterQueue, "", name), queue->namespaces, draft.ns);
  settings.blocked = std::move(r);
}

void Intake::Impl::use_tree_queue(const Draft& draft, Kind kind, std::string_view name, Settings& settings,
                                  std::vector<std::string>& depends) const {
  settings.queue = tree_queue_name(kind, name);
  depends.push_back("q:" + settings.queue);
  const TreeQueue* queue = book.tree_queue(kind, name);
  if (queue == nullptr) return;  // the engine says that it is missing
  if (queue->limits_users()) settings.lane = draft.ns;
  if (!queue->namespaces) return;
  depends.push_back("ns:" + draft.ns);
  if (queue->namespaces->matches(objects.labels_of_namespace(draft.ns))) return;
  Reason r;
  r.code = ReasonCode::kQueueDisabled;
  r.subject = name;
  r.detail = objects.not_admitted(describe(kind, "", name), *queue->namespaces, draft.ns);
  settings.blocked = std::move(r);
}

// False: there is no such LocalQueue.
bool Intake::Impl::use_local_queue(const Draft& draft, std::string_view name, Settings& settings,
                                   std::vector<std::string>& depends) const {
  const std::string key = key_of(draft.ns, name);
  depends.push_back("lq:" + key);
  const LocalQueue* known = objects.local_queue(key);
  if (known == nullptr) return false;
  use_cluster_queue(draft, known->cluster_queue, key, settings, depends);
  settings.lane = key;
  const bool goes_on = known->stop == StopPolicy::kHold && is_admitted(draft);
  if (known->stop != StopPolicy::kNone && !goes_on && !settings.blocked) {
    Reason r;
    r.code = ReasonCode::kQueueStopped;
    r.subject = key;
    settings.blocked = std::move(r);
    settings.drain = known->stop == StopPolicy::kHoldAndDrain;
  }
  return true;
}

void Intake::Impl::resolve_queue(const Draft& draft, const std::string& local_queue, Settings& settings,
                                 std::vector<std::string>& depends) const {
  // No ClusterQueue has a slash in its name: the engine says that it is missing.
  if (!use_local_queue(draft, local_queue, settings, depends)) settings.queue = key_of(draft.ns, local_queue);
}

void Intake::Impl::resolve_queue(const Draft& draft, std::string_view key, const std::string& name,
                                 Settings& settings, std::vector<std::string>& depends) const {
  if (key == kBerthQueue) {
    if (use_local_queue(draft, name, settings, depends)) return;
    depends.push_back(fmt::format("cq:{}", name));  // whichever comes
    depends.push_back(fmt::format("q:{}", name));
    if (book.tree_queue(Kind::kQueue, name) != nullptr && book.cluster_queue(name) == nullptr) {
      use_tree_queue(draft, Kind::kQueue, name, settings, depends);
    } else {
      use_cluster_queue(draft, name, name, settings, depends);
      if (book.cluster_queue(name) == nullptr || settings.blocked) return;
      const Labels labels = objects.labels_of_namespace(draft.ns);
      if (!labels.contains(kTenant)) return;
      Reason r;
      r.code = ReasonCode::kQueueDisabled;
      r.subject = name;
      r.detail = fmt::format("namespace {} belongs to a tenant ({}): it can use LocalQueues only", draft.ns,
                             kTenant);
      settings.blocked = std::move(r);
    }
  } else if (key == kVolcanoQueueName) {
    use_tree_queue(draft, Kind::kVolcanoQueue, name, settings, depends);
  } else if (key == kKaiQueueName || key == kOlderKaiQueueName) {
    use_tree_queue(draft, Kind::kKaiQueue, name, settings, depends);
  } else if (key == kKueueQueue) {
    resolve_queue(draft, name, settings, depends);
  } else if (!use_local_queue(draft, kKueueDefaultLocalQueue, settings, depends)) {
    // Without one: no queue, nodes alone decide, but not where the administrator counts on queues.
    depends.push_back("ns:" + draft.ns);
    if (draft.bound > 0 || draft.released || !objects.labels_of_namespace(draft.ns).contains(kTenant)) return;
    settings.blocked = reason_of(
        ReasonCode::kInvalid,
        fmt::format("it names no queue, and namespace {} belongs to a tenant ({}): add the label {}",
                    draft.ns, kTenant, kKueueQueue));
  }
}

}  // namespace berth::dialect

#include "dialect/intake/intake.h"

#include <fmt/format.h>

#include <algorithm>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {

Intake::Intake(IntakeConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}
Intake::~Intake() = default;
Intake::Intake(Intake&&) noexcept = default;
Intake& Intake::operator=(Intake&&) noexcept = default;

void Intake::upsert(Object object) {
  Impl& s = *impl_;
  const Kind kind = kind_of(object);
  if (owner_kind(kind) != nullptr) return s.upsert_owner(ask_of(std::move(object)));
  if (!s.unreadable.empty() && kind != Kind::kPod) {
    s.note_readable(kind, key_of(meta_of(object).ns, meta_of(object).name));
  }
  switch (kind) {
    case Kind::kPod:
      return s.upsert_pod(std::move(std::get<Pod>(object)));
    case Kind::kNode:
      return s.upsert_node(std::get<NodeObject>(object));
    case Kind::kNamespace: {
      auto& meta = std::get<Namespace>(object).meta;
      auto& labels = s.namespaces[meta.name];
      if (labels == meta.labels) return;
      labels = std::move(meta.labels);
      return s.refresh_dependents("ns:" + meta.name);
    }
    case Kind::kPriorityClass: {
      auto& value = std::get<PriorityClass>(object);
      const std::string name = value.meta.name;
      s.priority_classes.insert_or_assign(name, std::move(value));
      s.refresh_dependents("pc:" + name);
      s.refresh_dependents("pc:");
      return s.refresh_dependents(std::string(kAllClasses));
    }
    case Kind::kPodGroup: {
      auto& value = std::get<PodGroup>(object);
      const std::string key = key_of(value.meta.ns, value.meta.name);
      s.pod_groups.insert_or_assign(key, std::move(value));
      return s.refresh_dependents("pg:" + key);
    }
    case Kind::kClusterQueue: {
      const auto& value = std::get<ClusterQueue>(object);
      s.book.upsert(value);
      return s.refresh_dependents("cq:" + value.meta.name);
    }
    case Kind::kCohort: {
      const auto& value = std::get<Cohort>(object);
      s.cohort_parents.insert_or_assign(value.meta.name, value.parent);
      return s.book.upsert(value);
    }
    case Kind::kLocalQueue: {
      auto& value = std::get<LocalQueue>(object);
      const std::string key = key_of(value.meta.ns, value.meta.name);
      s.book.upsert(value);
      s.local_queues.insert_or_assign(key, std::move(value));
      return s.refresh_dependents("lq:" + key);
    }
    case Kind::kResourceFlavor: {
      auto& value = std::get<ResourceFlavor>(object);
      s.book.upsert(value);
      const std::string name = value.meta.name;
      s.flavors.insert_or_assign(name, std::move(value));
      return;
    }
    case Kind::kTopology:
      return s.book.upsert(std::get<TopologyObject>(object));
    case Kind::kWorkloadPriorityClass: {
      const auto& value = std::get<WorkloadPriorityClass>(object);
      s.workload_priorities.insert_or_assign(value.meta.name, value.value);
      s.refresh_dependents("wpc:" + value.meta.name);
      return s.refresh_dependents(std::string(kAllClasses));
    }
    case Kind::kAdmissionCheck:
      s.book.upsert(std::get<AdmissionCheck>(object));
      return s.refresh_checked();
    case Kind::kProvisioningRequestConfig:
      s.book.upsert(std::get<ProvisioningRequestConfig>(object));
      return s.refresh_checked();
    case Kind::kProvisioningRequest:  // its Workload's affair (scheduler/kueue/provisioner.h)
      return;
    case Kind::kLimitRange: {
      auto& value = std::get<LimitRange>(object);
      auto& known = s.limit_ranges[value.meta.ns][value.meta.name];
      if (!(known.limits == value.limits)) s.changed_namespaces.insert(value.meta.ns);
      known = std::move(value);
      return;
    }
    case Kind::kRuntimeClass: {
      auto& value = std::get<RuntimeClass>(object);
      s.runtime_classes.insert_or_assign(value.meta.name, std::move(value));
      s.changed_runtimes = true;
      return;
    }
    case Kind::kWorkload:
      return s.upsert_workload(std::move(std::get<KueueWorkload>(object)));
    case Kind::kQueue:
      return s.upsert_tree_queue(kind, std::get<BerthQueue>(object));
    case Kind::kVolcanoQueue:
      return s.upsert_tree_queue(kind, std::get<VolcanoQueue>(object));
    case Kind::kKaiQueue:
      return s.upsert_tree_queue(kind, std::get<KaiQueue>(object));
    default:  // owners of pods: see above
      return;
  }
}

void Intake::upsert(Ask ask) {
  impl_->upsert_owner(std::move(ask));
}

void Intake::remove(Kind kind, std::string_view ns, std::string_view name, std::string_view uid) {
  Impl& s = *impl_;
  if (kind != Kind::kPod) {
    s.note_readable(kind, key_of(ns, name));
    return s.remove_named(kind, ns, name);
  }
  const std::string key = key_of(ns, name);
  const auto it = s.pod_by_name.find(key);
  if (it == s.pod_by_name.end()) return s.forget_ended(key);
  if (uid.empty() || s.pods[it->second].pod.meta.uid == uid) s.drop(it->second);
}

void Intake::Impl::remove_named(Kind kind, std::string_view ns, std::string_view name) {
  if (owner_kind(kind) != nullptr) return remove_owner(kind, ns, name);
  const std::string key = key_of(ns, name);
  const auto erase = [](auto& map, const auto& k) {
    const auto it = map.find(k);
    if (it == map.end()) return false;
    map.erase(it);
    return true;
  };
  switch (kind) {
    case Kind::kPod:
      return;
    case Kind::kNode:
      erase(node_problems, name);
      if (const auto it = nodes.find(name); it == nodes.end()) {
        return;
      } else {
        book.node_changed(&it->second, nullptr);
        nodes.erase(it);
      }
      infra.push_back(NodeRemove{std::string(name)});
      return;
    case Kind::kNamespace:
      if (erase(namespaces, name)) refresh_dependents(fmt::format("ns:{}", name));
      return;
    case Kind::kPriorityClass:
      if (erase(priority_classes, name)) {
        refresh_dependents(fmt::format("pc:{}", name));
        refresh_dependents("pc:");
        refresh_dependents(std::string(kAllClasses));
      }
      return;
    case Kind::kPodGroup:
      if (erase(pod_groups, key)) refresh_dependents("pg:" + key);
      return;
    case Kind::kLocalQueue:
      book.remove_local_queue(std::string(key));
      if (erase(local_queues, key)) refresh_dependents("lq:" + key);
      return;
    case Kind::kWorkloadPriorityClass:
      if (erase(workload_priorities, name)) {
        refresh_dependents(fmt::format("wpc:{}", name));
        refresh_dependents(std::string(kAllClasses));
      }
      return;
    case Kind::kClusterQueue:
      book.remove(kind, name);
      return refresh_dependents(fmt::format("cq:{}", name));
    case Kind::kWorkload:
      return remove_workload(ns, name);
    case Kind::kCohort:
      erase(cohort_parents, name);
      return book.remove(kind, name);
    case Kind::kResourceFlavor:
      erase(flavors, name);
      return book.remove(kind, name);
    case Kind::kTopology:
      return book.remove(kind, name);
    case Kind::kAdmissionCheck:
    case Kind::kProvisioningRequestConfig:
      book.remove(kind, name);
      return refresh_checked();
    case Kind::kProvisioningRequest:
      return;
    case Kind::kLimitRange:
      if (const auto it = limit_ranges.find(ns);
          it != limit_ranges.end() && erase(it->second, std::string(name)))
        changed_namespaces.emplace(ns);
      return;
    case Kind::kRuntimeClass:
      changed_runtimes = erase(runtime_classes, name) || changed_runtimes;
      return;
    case Kind::kQueue:
    case Kind::kVolcanoQueue:
    case Kind::kKaiQueue:
      if (kind == Kind::kQueue) erase(own_queues, name);
      book.remove(kind, name);
      return refresh_dependents("q:" + tree_queue_name(kind, name));
    default:  // owners of pods: see above
      return;
  }
}

void Intake::Impl::note_unreadable(Kind kind, const std::string& key, std::string message) {
  auto& known = unreadable[{kind, key}];
  if (known == message) return;
  known = std::move(message);
  ++unreadable_changes;
  tell_of_readability(kind, key);
}

void Intake::Impl::note_readable(Kind kind, const std::string& key) {
  if (unreadable.empty() || unreadable.erase({kind, key}) == 0) return;
  ++unreadable_changes;
  tell_of_readability(kind, key);
}

// Those that wait for the object say what it is that they wait for.
void Intake::Impl::tell_of_readability(Kind kind, const std::string& key) {
  if (kind == Kind::kPodGroup) refresh_dependents("pg:" + key);
  if (owner_kind(kind) == nullptr) return;
  const auto slash = key.find('/');
  refresh_dependents(owner_key(kind, std::string_view(key).substr(0, slash), key.substr(slash + 1)));
}

void Intake::unreadable(Kind kind, std::string_view ns, std::string_view name, std::string message) {
  impl_->note_unreadable(kind, key_of(ns, name), std::move(message));
}

const std::map<std::pair<Kind, std::string>, std::string>& Intake::unreadable() const {
  return impl_->unreadable;
}

std::uint64_t Intake::unreadable_changes() const {
  return impl_->unreadable_changes;
}

void Intake::Impl::upsert_node(const NodeObject& object) {
  std::string problem;
  Node node = to_node(object, config.devices, problem);
  if (problem.empty()) {
    node_problems.erase(node.name);
  } else {
    node_problems.insert_or_assign(node.name, std::move(problem));
  }
  const auto it = nodes.find(node.name);
  if (it != nodes.end() && it->second == node) return;  // a heartbeat
  book.node_changed(it != nodes.end() ? &it->second : nullptr, &node);
  nodes.insert_or_assign(node.name, node);
  infra.push_back(NodeUpsert{std::move(node)});
}

void Intake::Impl::upsert_tree_queue(Kind kind, const TreeQueue& queue) {
  if (kind == Kind::kQueue) own_queues.insert_or_assign(queue.meta.name, queue.stop);
  book.upsert(kind, queue);
  refresh_dependents("q:" + tree_queue_name(kind, queue.meta.name));
}

void Intake::Impl::refresh_dependents(const std::string& key) {
  each_dependent(key, [&](std::uint32_t ix) { refresh(ix); });
}

void Intake::Impl::reroute_dependents(const std::string& key) {
  std::vector<std::uint32_t> moved;
  each_dependent(key, [&](std::uint32_t ix) {
    for (const auto& role : loads[ix].roles) {
      for (const auto pod : role.slots) {
        if (pod != kNoIx) moved.push_back(pod);
      }
    }
  });
  for (const auto pod : moved) reroute(pod);
}

std::vector<OwnerName> Intake::missing_owners() {
  Impl& s = *impl_;
  std::vector<OwnerName> out;
  for (auto it = s.missing_owners.begin(); it != s.missing_owners.end();) {
    bool waited_for = false;
    s.each_dependent(owner_key(it->first), [&](std::uint32_t) { waited_for = true; });
    if (waited_for) out.push_back(it->second);
    it = waited_for ? std::next(it) : s.missing_owners.erase(it);
  }
  return out;
}

void Intake::release_orphans(std::string_view owner_uid) {
  Impl& s = *impl_;
  if (s.missing_owners.erase(std::string(owner_uid)) > 0) s.reroute_dependents(owner_key(owner_uid));
}

void Intake::drain(std::vector<Event>& out) {
  Impl& s = *impl_;
  const auto append = [&](std::vector<Event>& from) {
    out.insert(out.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    from.clear();
  };
  s.settle_effects();
  s.settle_prebuilt();
  for (const auto& uid : s.place_budget.take_hopeful()) {
    const auto ix = s.find_load(uid);
    if (ix == kNoIx) continue;
    s.loads[ix].kind == GangKind::kOwner ? s.sync_owner(uid) : s.refresh(ix);
  }
  append(s.infra);
  const std::size_t before = out.size();
  s.book.drain(s.nodes, out);
  if (out.size() > before) s.tell_untold();
  s.drop_outdated();
  append(s.work);
  ++s.batch;
}

// If a workload is reported whole, its earlier events of the same batch are dropped. Otherwise the engine could refuse them, for a
// queue not seen yet, and its running pods would be charged twice.
void Intake::Impl::drop_outdated() {
  if (!retold) return;
  retold = false;
  std::size_t at = 0;
  std::erase_if(work, [&](const Event& event) {
    const std::size_t here = at++;
    const auto before = [&](const std::string& uid, bool is_removal) {
      const auto ix = find_load(uid);
      if (ix == kNoIx || loads[ix].retold_in != batch) return false;
      if (is_removal) return here == loads[ix].retold_at && loads[ix].first_told_in == batch;
      return here < loads[ix].retold_at;
    };
    if (const auto* e = std::get_if<WorkloadUpsert>(&event)) return before(e->workload.uid, false);
    if (const auto* e = std::get_if<SlotUpdate>(&event)) return before(e->workload, false);
    if (const auto* e = std::get_if<Withdraw>(&event)) return before(e->workload, false);
    if (const auto* e = std::get_if<WorkloadRemove>(&event)) return before(e->uid, true);
    return false;
  });
}

void Intake::tell_anew(std::string_view workload) {
  const auto ix = impl_->find_load(workload);
  if (ix == kNoIx || !impl_->loads[ix].emitted) return;
  impl_->loads[ix].remade = true;
  impl_->refresh(ix);
}

void Intake::refused(const Event& event, std::string_view message) {
  Impl& s = *impl_;
  if (const auto* upsert = std::get_if<WorkloadUpsert>(&event)) {
    const auto ix = s.find_load(upsert->workload.uid);
    if (ix == kNoIx || s.loads[ix].refused == message) return;
    s.loads[ix].refused = message;
    s.refresh(ix);
  } else if (const auto* slot = std::get_if<SlotUpdate>(&event)) {
    if (slot->state != SlotState::kRunning) return;
    const auto ix = s.find_load(slot->workload);
    if (ix != kNoIx) s.untold.insert(slot->workload);
    if (ix == kNoIx || static_cast<std::size_t>(slot->pod_set) >= s.loads[ix].roles.size()) return;
    const auto& slots = s.loads[ix].roles[static_cast<std::size_t>(slot->pod_set)].slots;
    if (static_cast<std::size_t>(slot->index) >= slots.size()) return;
    const auto pod = slots[static_cast<std::size_t>(slot->index)];
    if (pod != kNoIx) s.charge_foreign(s.pods[pod]);
  }
}

void Intake::retry(std::string_view pod_uid) {
  const auto ix = impl_->find_pod(pod_uid);
  if (ix == kNoIx) return;
  const PodRecord& record = impl_->pods[ix];
  if (record.load == kNoIx || !record.pod.spec.node_name.empty()) return;
  impl_->emit_slot(record, record.state == SlotState::kWaiting ? SlotState::kWaiting : SlotState::kGone);
}

std::optional<PodView> Intake::pod(std::string_view uid) const {
  const auto ix = impl_->find_pod(uid);
  if (ix == kNoIx || impl_->pods[ix].load == kNoIx) return std::nullopt;
  return impl_->view(impl_->pods[ix]);
}

std::optional<PodView> Intake::pod_at(std::string_view workload, std::int64_t pod_set,
                                      std::int64_t index) const {
  const auto ix = impl_->find_load(workload);
  if (ix == kNoIx || pod_set < 0 || index < 0) return std::nullopt;
  const auto& roles = impl_->loads[ix].roles;
  if (static_cast<std::size_t>(pod_set) >= roles.size()) return std::nullopt;
  const auto& slots = roles[static_cast<std::size_t>(pod_set)].slots;
  if (static_cast<std::size_t>(index) >= slots.size()) return std::nullopt;
  const auto pod = slots[static_cast<std::size_t>(index)];
  if (pod == kNoIx) return std::nullopt;
  return impl_->view(impl_->pods[pod]);
}

std::vector<PodView> Intake::pods_of(std::string_view workload) const {
  std::vector<PodView> out;
  const auto ix = impl_->find_load(workload);
  if (ix == kNoIx) return out;
  for (const auto& role : impl_->loads[ix].roles) {
    for (const auto pod : role.slots) {
      if (pod != kNoIx) out.push_back(impl_->view(impl_->pods[pod]));
    }
  }
  return out;
}

WorkloadInfo Intake::Impl::info_of(const Load& load) const {
  WorkloadInfo out;
  out.uid = load.uid;
  out.name = load.name;
  out.queue = load.given.queue;
  out.priority = load.given.priority;
  out.gang = load.kind != GangKind::kSingle;
  out.pods = load.pods;
  for (const auto& count : load.given.counts) out.least += count.least;
  out.elastic = may_grow(load);
  if (load.former != nullptr) out.former = key_of(load.former->meta.ns, load.former->meta.name);
  out.whole = load.whole;
  const OwnerRecord* record = owner_record(load);
  if (record == nullptr || !may_hold(record->ask)) return out;
  out.owner = &record->ask;
  out.suspended = holds(load);
  out.revision = load.revision;
  return out;
}

std::optional<WorkloadInfo> Intake::workload(std::string_view uid) const {
  const auto ix = impl_->find_load(uid);
  if (ix == kNoIx) return std::nullopt;
  return impl_->info_of(impl_->loads[ix]);
}

std::vector<WorkloadInfo> Intake::workloads() const {
  std::vector<const Load*> live;
  for (const auto& load : impl_->loads) {
    if (load.used) live.push_back(&load);
  }
  std::sort(live.begin(), live.end(), [](const Load* a, const Load* b) {
    return std::tie(a->given.created, a->uid) < std::tie(b->given.created, b->uid);
  });
  std::vector<WorkloadInfo> out;
  for (const auto* load : live) out.push_back(impl_->info_of(*load));
  return out;
}

const Reason* Intake::blocked(std::string_view workload) const {
  const auto ix = impl_->find_load(workload);
  if (ix == kNoIx || !impl_->loads[ix].given.blocked) return nullptr;
  return &*impl_->loads[ix].given.blocked;
}

std::vector<Problem> Intake::problems() const {
  std::vector<Problem> out = impl_->book.problems();
  for (const auto& [name, message] : impl_->node_problems)
    out.push_back({describe(Kind::kNode, "", name), message});
  return out;
}

std::size_t Intake::pod_count() const {
  return impl_->live_pods;
}

}  // namespace berth::dialect

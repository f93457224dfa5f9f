// State of a workload from other controllers (standing), and its Workload object (sketch).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "dialect/base/names.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {
std::optional<std::int64_t> seconds_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (value < 1 || value > 2'147'483'647) return std::nullopt;
  return value;
}

namespace {

bool is_of(const Labels& node, const ResourceFlavor& flavor) {
  return std::all_of(flavor.node_labels.begin(), flavor.node_labels.end(), [&](const auto& label) {
    const auto it = node.find(label.first);
    return it != node.end() && it->second == label.second;
  });
}

Labels provisioning_parameters(const Meta& meta) {
  Labels out;
  for (const auto& [key, value] : meta.annotations) {
    if (key.starts_with(kProvisioningParameter))
      out.emplace(key.substr(kProvisioningParameter.size()), value);
  }
  return out;
}

}  // namespace

void Intake::Impl::apply_standing(const Load& load, Settings& settings) const {
  const auto it = standings.find(load.uid);
  if (it == standings.end()) return;
  if (it->second.stop) {
    settings.blocked = it->second.stop;
    settings.gates.clear();
  }
  const std::int64_t before = settings.priority;
  settings.priority = boosted(before, it->second.boost);
  settings.boost = settings.priority - before;
  if (it->second.queued_from != 0) settings.created = it->second.queued_from;
  settings.asks_more_since = it->second.asks_more_since;
}

void Intake::set_standing(std::string_view workload, Standing standing) {
  Impl& s = *impl_;
  const std::string uid(workload);
  const auto known = s.standings.find(uid);
  const Standing before = known == s.standings.end() ? Standing{} : known->second;
  if (before == standing) return;
  const std::string why = standing.stop ? to_text(*standing.stop) : std::string();
  if (standing == Standing{}) {
    s.standings.erase(known);
  } else {
    s.standings.insert_or_assign(uid, std::move(standing));
  }
  const auto ix = s.find_load(uid);
  if (ix == kNoIx) return;
  s.refresh(ix);
  if (!why.empty() && !before.stop) s.work.push_back(Withdraw{uid, why});
}

bool Intake::is_stopped(std::string_view workload) const {
  if (impl_->standings.empty()) return false;
  const auto it = impl_->standings.find(std::string(workload));
  return it != impl_->standings.end() && it->second.stop;
}

// Whether Kueue's API has a Workload for work of this kind.
bool Intake::Impl::has_object(const Load& load) {
  return load.kind == GangKind::kKueueWorkload || load.kind == GangKind::kOwner ||
         load.kind == GangKind::kSingle ||
         (load.kind == GangKind::kSized && load.size_key == kKueuePodGroupSize);
}

void Intake::Impl::require_checks(const Load& load, Settings& settings) const {
  if (settings.blocked || book.check_mode() != CheckMode::kLive) return;
  const ClusterQueue* queue = book.cluster_queue(settings.queue);
  if (queue == nullptr || queue->checks.empty() || (!settings.lane.empty() && has_object(load))) return;
  settings.blocked = Reason{};
  settings.blocked->code = ReasonCode::kUnsupported;
  settings.blocked->detail = fmt::format(
      "ClusterQueue {} has admission checks, which need a Workload object: only Jobs, pods and pod groups "
      "({}) of a LocalQueue have one",
      settings.queue, kKueuePodGroup);
}

// Running work has its places. Pod sets that ask for none of the managed resources are placed at once, unless all of the gang must
// be near each other: then it is laid out as a whole.
void Intake::Impl::await_nodes(const Load& load, Settings& settings) const {
  if (book.check_mode() != CheckMode::kLive || load.bound > 0 || supplied.contains(load.uid)) return;
  const ClusterQueue* queue = book.cluster_queue(settings.queue);
  if (queue == nullptr || queue->checks.empty() || settings.lane.empty() || !has_object(load)) return;
  std::vector<std::string> any;
  const auto await = [&](PodTemplate pod) {
    config.counts.apply(pod);
    const auto total = pod.total();
    settings.awaited.push_back(total ? book.provisioned_flavors(*queue, pod.counted.value_or(*total))
                                     : std::vector<std::string>());
    if (any.empty()) any = settings.awaited.back();
  };
  for (const Role& role : load.roles) await(*role.shape);
  if (load.object) {
    for (const auto& set : load.object->pod_sets) await(set.spec.pod);
  }
  if (any.empty()) settings.awaited.clear();
  if (!settings.topology.empty()) {
    for (auto& of_set : settings.awaited) of_set = any;
  }
}

void Intake::set_check_mode(CheckMode mode) {
  Impl& s = *impl_;
  if (s.book.check_mode() == mode) return;
  s.book.set_check_mode(mode);
  s.renew_prebuilt();
  s.refresh_dependents(s.objects.keys_of_checked());
}

void Intake::set_provisioning_served(bool served) {
  impl_->book.set_provisioning_served(served);
  impl_->refresh_dependents(impl_->objects.keys_of_checked());
}

const ProvisioningRequestConfig* Intake::provisioning(std::string_view check) const {
  return impl_->book.provisioning(check);
}

const ResourceFlavor* Intake::flavor(std::string_view name) const {
  return impl_->objects.flavor(name);
}

bool Intake::set_nodes_came(std::string_view workload, bool came) {
  Impl& s = *impl_;
  const std::string uid(workload);
  const bool changed = came ? s.supplied.insert(uid).second : s.supplied.erase(uid) > 0;
  const auto ix = s.find_load(uid);
  if (changed && ix != kNoIx) s.refresh(ix);
  return changed;
}

const std::vector<CheckRule>& Intake::checks(std::string_view workload) const {
  static const std::vector<CheckRule> kNothing;
  const Impl& s = *impl_;
  if (s.book.check_mode() != CheckMode::kLive) return kNothing;
  const auto ix = s.find_load(workload);
  if (ix == kNoIx) return kNothing;
  const ClusterQueue* queue = s.book.cluster_queue(s.loads[ix].given.queue);
  return queue == nullptr ? kNothing : queue->checks;
}

std::optional<WorkloadSketch> Intake::sketch(std::string_view workload) const {
  const Impl& s = *impl_;
  const auto ix = s.find_load(workload);
  if (ix == kNoIx) return std::nullopt;
  const Load& load = s.loads[ix];
  // No ClusterQueue has a slash in its name: it is a LocalQueue that is not there.
  const bool missing = load.given.lane.empty() && load.given.queue.starts_with(load.ns + "/");
  const bool local =
      load.given.lane.starts_with(load.ns + "/");  // else its lane is a user of another kind of queue
  if ((load.object && !s.is_live()) || (!local && !missing)) return std::nullopt;
  WorkloadSketch out;
  out.uid = load.uid;
  out.ns = load.ns;
  out.lane = load.given.lane;
  if (!missing) out.cluster_queue = load.given.queue;
  out.local_queue = missing ? load.given.queue : load.given.lane;
  out.local_queue.remove_prefix(load.ns.size() + 1);
  out.priority = load.given.priority - load.given.boost;
  out.gates = load.given.gates;
  if (const ClusterQueue* queue = s.book.cluster_queue(out.cluster_queue);
      queue != nullptr && queue->stop != StopPolicy::kNone)
    out.stopped = "ClusterQueue";
  if (const LocalQueue* queue = s.objects.local_queue(load.given.lane);
      queue != nullptr && queue->stop != StopPolicy::kNone)
    out.stopped = "LocalQueue";
  if (load.object) {
    const KueueWorkload& object = *load.object;
    out.name = object.meta.name;
    out.is_prebuilt = true;
    for (std::size_t i = 0; i < object.pod_sets.size(); ++i) {
      const auto& set = object.pod_sets[i];
      const auto& asked = load.written->pod_sets[i];
      out.sets.push_back(
          {set.name, asked.count, asked.min_count.value_or(asked.count), &set.spec.pod, {}, 0});
      if (load.grows != nullptr) out.sets.back().before = load.grows->pod_sets[i].count;
      PodTemplate counted = set.spec.pod;
      s.config.counts.apply(counted);
      if (const auto total = counted.total(); total)
        out.sets.back().counted = counted.counted.value_or(*total);
    }
    out.replaces = object.meta.annotation(kKueueSliceFor);
    out.most_seconds = object.most_seconds;
    out.ready_times = object.meta.annotation(kKueueReadyTimes);
    out.parameters = provisioning_parameters(object.meta);
    return out;
  }
  const Meta* meta = nullptr;
  const OwnerRecord* owner = s.owner_record(load);
  const Ask* ask = owner != nullptr ? &owner->ask : nullptr;
  if (ask != nullptr) {
    meta = ask->meta;
    out.owner = ask->kind;
    out.owners.push_back({meta->name, meta->uid});
    out.name = workload_name(ask->kind->word(), ask->kind->info().group, meta->name, load.uid);
    out.priority_class = ask->sets.front().spec->priority_class;
  }
  out.is_group = load.kind == GangKind::kSized;
  for (std::size_t r = 0; r < load.roles.size(); ++r) {
    const Role& role = load.roles[r];
    out.to_come += static_cast<std::int64_t>(role.expected.size());
    out.sets.push_back({load.roles.size() == 1 ? "main" : fmt::format("role-{}", r),
                        r < load.given.counts.size() ? load.given.counts[r].count : 0,
                        r < load.given.counts.size() ? load.given.counts[r].least : 0,
                        role.shape.get(),
                        {},
                        0});
    PodTemplate counted = *role.shape;
    s.config.counts.apply(counted);
    if (const auto total = counted.total(); total) out.sets.back().counted = counted.counted.value_or(*total);
    if (ask != nullptr && load.roles.size() == ask->sets.size()) {  // as in the beginning, whatever has ended
      const AskedSet& set = ask->sets[r];
      out.sets.back().set_size(set.asked, set.least, set.reclaimable);
    }
    for (const auto at : role.slots) {
      if (at == kNoIx || out.owner != nullptr) continue;
      const Pod& pod = s.pods[at].pod;
      if (meta == nullptr) {
        meta = &pod.meta;
        out.priority_class = pod.spec.priority_class;
      }
      out.owners.push_back({pod.meta.name, pod.meta.uid});
    }
  }
  out.is_elastic = s.is_elastic(load) && out.sets.size() == 1;
  if (load.kind == GangKind::kSingle && meta != nullptr) {
    out.name = workload_name("Pod", "", meta->name, load.uid);
  } else if (load.kind == GangKind::kSized && s.has_object(load)) {
    out.name = load.name.substr(load.ns.size() + 1);
  }
  if (!load.prebuilt_key.empty() && s.is_live()) {
    out.is_prebuilt = true;
    out.name = load.prebuilt != nullptr ? load.prebuilt->meta.name : std::string();
    if (load.prebuilt != nullptr) out.replaces = load.prebuilt->meta.annotation(kKueueSliceFor);
    for (std::size_t r = 0; load.prebuilt != nullptr && r < out.sets.size(); ++r)
      out.sets[r].name = load.prebuilt->pod_sets[load.prebuilt_sets[r]].name;
  }
  if (meta == nullptr) return out;
  if (const auto klass = meta->mark(kKueuePriorityClass); !klass.empty()) {
    out.priority_class = klass;
    out.workload_class = true;
  }
  out.most_seconds =
      load.prebuilt != nullptr ? load.prebuilt->most_seconds : seconds_of(meta->mark(kKueueMaxSeconds));
  out.ready_times = meta->annotation(kKueueReadyTimes);
  out.parameters = provisioning_parameters(load.prebuilt != nullptr ? load.prebuilt->meta : *meta);
  return out;
}

const Ask* Intake::owner(std::string_view uid) const {
  const OwnerRecord* record = impl_->owners.find(uid);
  return record == nullptr ? nullptr : &record->ask;
}

bool Intake::is_ready(std::string_view workload) const {
  const Impl& s = *impl_;
  const auto ix = s.find_load(workload);
  if (ix == kNoIx) return false;
  const Load& load = s.loads[ix];
  if (load.kind == GangKind::kOwner) {
    const OwnerRecord* owner = s.owner_record(load);
    return owner != nullptr && owner->ask.is_ready;
  }
  std::int64_t ready = 0;
  for (const auto& role : load.roles) {
    for (const auto at : role.slots) ready += at != kNoIx && s.pods[at].pod.ready ? 1 : 0;
  }
  // Pods that have ended well are gone, and were ready.
  return load.pods > 0 && ready == load.pods;
}

std::vector<ChosenFlavor> Intake::flavors_on(std::string_view workload, std::int64_t pod_set,
                                             std::string_view node) const {
  const Impl& s = *impl_;
  std::vector<ChosenFlavor> out;
  const auto ix = s.find_load(workload);
  const Node* at = s.objects.node(node);
  if (ix == kNoIx || at == nullptr) return out;
  const Load& load = s.loads[ix];
  const ClusterQueue* queue = s.book.cluster_queue(load.given.queue);
  if (queue == nullptr || static_cast<std::size_t>(pod_set) >= load.roles.size()) return out;
  const auto total = load.roles[static_cast<std::size_t>(pod_set)].shape->total();
  if (!total) return out;
  for (const auto& group : queue->groups) {
    const auto flavor = std::find_if(group.flavors.begin(), group.flavors.end(), [&](const auto& name) {
      const ResourceFlavor* known = s.objects.flavor(name);
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

std::vector<QueueState> Intake::queue_states() const {
  return impl_->objects.queue_states();
}

bool Intake::has_cluster_queue(std::string_view name) const {
  return impl_->book.cluster_queue(name) != nullptr;
}

bool Intake::shares() const {
  return impl_->config.fair_sharing;
}

std::optional<std::string> Intake::cluster_queue_of(const std::string& local_queue) const {
  const LocalQueue* known = impl_->objects.local_queue(local_queue);
  return known == nullptr ? std::nullopt : std::optional(known->cluster_queue);
}

std::string Intake::queue_path(std::string_view cluster_queue) const {
  return impl_->objects.queue_path(cluster_queue);
}

}  // namespace berth::dialect

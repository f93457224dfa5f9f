// The Workload object of a workload, as it should be (WorkloadSketch).
#include "dialect/base/names.h"
#include "dialect/intake/draft_workload.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {
namespace {

// The amounts that quota counts of such a pod.
ResourceList counted_of(PodTemplate pod, const QuotaCounts& counts) {
  counts.apply(pod);
  const auto total = pod.total();
  return total ? pod.counted.value_or(*total) : ResourceList();
}

Labels provisioning_parameters(const Meta& meta) {
  Labels out;
  for (const auto& [key, value] : meta.annotations) {
    if (key.starts_with(kProvisioningParameter))
      out.emplace(key.substr(kProvisioningParameter.size()), value);
  }
  return out;
}

// Where it is in line. False: in no LocalQueue, so that Kueue's API has no Workload for it.
bool sketch_queue(const Draft& draft, const ObjectBooks& objects, WorkloadSketch& out) {
  // No ClusterQueue has a slash in its name: it is a LocalQueue that is not there.
  const bool missing = draft.given->lane.empty() && draft.given->queue.starts_with(draft.ns + "/");
  const bool local =
      draft.given->lane.starts_with(draft.ns + "/");  // else its lane is a user of another kind of queue
  if (!local && !missing) return false;
  out.uid = draft.uid;
  out.ns = draft.ns;
  out.lane = draft.given->lane;
  if (!missing) out.cluster_queue = draft.given->queue;
  out.local_queue = missing ? draft.given->queue : draft.given->lane;
  out.local_queue.remove_prefix(draft.ns.size() + 1);
  out.priority = draft.given->priority - draft.given->boost;
  out.gates = draft.given->gates;
  if (const ClusterQueue* queue = objects.queues().cluster_queue(out.cluster_queue);
      queue != nullptr && queue->stop != StopPolicy::kNone)
    out.stopped = "ClusterQueue";
  if (const LocalQueue* queue = objects.local_queue(draft.given->lane);
      queue != nullptr && queue->stop != StopPolicy::kNone)
    out.stopped = "LocalQueue";
  return true;
}

// A Workload that waits alone says itself what it asks for.
void sketch_object(const Draft& draft, const QuotaCounts& counts, WorkloadSketch& out) {
  const KueueWorkload& object = *draft.object;
  out.name = object.meta.name;
  out.is_prebuilt = true;
  for (std::size_t i = 0; i < object.pod_sets.size(); ++i) {
    const auto& set = object.pod_sets[i];
    const auto& asked = draft.written->pod_sets[i];
    out.sets.push_back({set.name, asked.count, asked.min_count.value_or(asked.count), &*set.spec.pod, {}, 0});
    out.sets.back().first = static_cast<std::int64_t>(i);
    if (draft.grows != nullptr) out.sets.back().before = draft.grows->pod_sets[i].count;
    out.sets.back().counted = counted_of(*set.spec.pod, counts);
  }
  out.replaces = object.meta.annotation(kKueueSliceFor);
  out.most_seconds = object.most_seconds;
  out.ready_times = object.meta.annotation(kKueueReadyTimes);
  out.parameters = provisioning_parameters(object.meta);
}

// The owner or the pods, and the pod sets. Gives the metadata of the owner, or of the first pod.
const Meta* sketch_roles(const Draft& draft, const OwnerRecord* owner, const PodBook& pods,
                         const QuotaCounts& counts, WorkloadSketch& out) {
  const Meta* meta = nullptr;
  const Ask* ask = owner != nullptr ? &owner->ask : nullptr;
  if (ask != nullptr) {
    meta = ask->meta;
    out.owner = ask->kind;
    out.owners.push_back({meta->name, meta->uid});
    out.name = workload_name(ask->kind->word(), ask->kind->info().group, meta->name, draft.uid);
    out.priority_class = ask->sets.front().spec->priority_class;
  }
  out.is_group = draft.kind == GangKind::kSized;
  for (std::size_t r = 0; r < draft.roles.size(); ++r) {
    const Role& role = draft.roles[r];
    if (ask == nullptr) out.to_come += static_cast<std::int64_t>(role.expected.size());
    const bool as_asked = ask != nullptr && draft.roles.size() == ask->sets.size();
    if (as_asked && ask->sets[r].continues && !out.sets.empty()) {
      out.sets.back().add(ask->sets[r].asked, ask->sets[r].reclaimable);
      continue;
    }
    out.sets.push_back({role_name(draft, owner, r),
                        r < draft.given->counts.size() ? draft.given->counts[r].count : 0,
                        r < draft.given->counts.size() ? draft.given->counts[r].least : 0,
                        role.shape.get(),
                        {},
                        0});
    out.sets.back().first = static_cast<std::int64_t>(r);
    out.sets.back().counted = counted_of(*role.shape, counts);
    if (as_asked) {  // as in the beginning, whatever has ended
      const AskedSet& set = ask->sets[r];
      out.sets.back().set_size(set.asked, set.least, set.reclaimable);
    }
    for (const auto at : role.slots) {
      if (at == kNoIx || out.owner != nullptr) continue;
      const Pod& pod = pods[at].pod;
      if (meta == nullptr) {
        meta = &pod.meta;
        out.priority_class = pod.spec.priority_class;
      }
      out.owners.push_back({pod.meta.name, pod.meta.uid});
    }
  }
  return meta;
}

}  // namespace

std::optional<WorkloadSketch> IntakeView::sketch(std::string_view workload) const {
  const Impl& s = *impl_;
  const auto ix = s.books.drafts.find(workload);
  if (ix == kNoIx) return std::nullopt;
  const Draft& draft = s.books.drafts[ix];
  WorkloadSketch out;
  if ((draft.object && !s.books.is_live()) || !sketch_queue(draft, s.books.objects, out)) return std::nullopt;
  if (draft.object) {
    sketch_object(draft, s.books.config.counts, out);
    return out;
  }
  const OwnerRecord* owner = s.books.owner_of(draft);
  const Meta* meta = sketch_roles(draft, owner, s.books.pods, s.books.config.counts, out);
  out.is_elastic = s.rules.is_elastic(draft) && out.sets.size() == 1;
  if (draft.kind == GangKind::kSingle && meta != nullptr) {
    out.name = workload_name("Pod", "", meta->name, draft.uid);
  } else if (draft.kind == GangKind::kSized && has_object(draft)) {
    out.name = draft.name.substr(draft.ns.size() + 1);
  }
  const auto& prebuilt = draft.prebuilt->object;
  if (!draft.prebuilt->key.empty() && s.books.is_live()) {
    out.is_prebuilt = true;
    out.name = prebuilt != nullptr ? prebuilt->meta.name : std::string();
    if (prebuilt != nullptr) out.replaces = prebuilt->meta.annotation(kKueueSliceFor);
    for (std::size_t r = 0; prebuilt != nullptr && r < out.sets.size(); ++r)
      out.sets[r].name = prebuilt->pod_sets[draft.prebuilt->sets[r]].name;
  }
  if (meta == nullptr) return out;
  if (const auto klass = meta->mark(kKueuePriorityClass); !klass.empty()) {
    out.priority_class = klass;
    out.workload_class = true;
  }
  out.most_seconds = prebuilt != nullptr ? prebuilt->most_seconds : seconds_of(meta->mark(kKueueMaxSeconds));
  out.ready_times = meta->annotation(kKueueReadyTimes);
  out.parameters = provisioning_parameters(prebuilt != nullptr ? prebuilt->meta : *meta);
  return out;
}

}  // namespace berth::dialect

// Decoder of Kueue's Workload (v1beta1 and v1beta2). Included by decode.cc only.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "dialect/upstream/decode_core.h"

namespace berth::dialect {

template <class V>
TopologyRequest read_topology_request(FieldReader<V>& f, const V& pod_set) {
  TopologyRequest out;
  const V request = f.map(pod_set, "topologyRequest");
  out.required = f.string(request, "required");
  out.preferred = f.string(request, "preferred");
  out.segment_level = f.string(request, "podSetSliceRequiredTopology");
  if (!out.segment_level.empty()) out.segment = f.integer(request, "podSetSliceSize", 1, 1, 1'000'000);
  return out;
}

// Kueue's own conditions, as far as they say whether the workload holds quota.
template <class V>
void read_workload_conditions(FieldReader<V>& f, const V& status, KueueWorkload& out) {
  TimeMs admitted_at = 0;
  f.list(status, "conditions", [&](const V& c) {
    const std::string_view type = f.string(c, "type");
    const bool is_true = f.string(c, "status") == "True";
    const TimeMs at = f.time(c, "lastTransitionTime");
    if (const auto known = enum_parse<WorkloadCondition>(type)) {
      out.status.set(*known, is_true, f.string(c, "reason"), std::string(f.string(c, "message")), at);
    }
    if (type == "QuotaReserved" && is_true) out.reserved_at = at;
    if (type == "Admitted" && is_true) admitted_at = at;
    if (type == "Finished" && is_true) out.finished = true;
    if (type == "DeactivationTarget" && is_true) {
      out.deactivate = f.string(c, "reason");
      out.deactivate_why = f.string(c, "message");
    }
    if (type != "Evicted" || !is_true) return;
    out.evicted = true;
    const std::string_view reason = f.string(c, "reason");
    if (reason == "PodsReadyTimeout" || reason == "AdmissionCheck") out.requeued_from = at;
  });
  if (out.reserved_at == 0) out.reserved_at = admitted_at;
}

template <class V>
PodSetUpdate read_pod_set_update(FieldReader<V>& f, const V& item) {
  PodSetUpdate out;
  out.name = f.string(item, "name");
  out.labels = f.labels(item, "labels");
  out.annotations = f.labels(item, "annotations");
  out.node_selector = f.labels(item, "nodeSelector");
  f.list(item, "tolerations", [&](const V& t) {
    PodSetUpdate::Toleration toleration;
    toleration.key = f.string(t, "key");
    toleration.op = f.string(t, "operator");
    toleration.value = f.string(t, "value");
    toleration.effect = f.string(t, "effect");
    if (t.find("tolerationSeconds").present())
      toleration.seconds = f.integer(t, "tolerationSeconds", 0, -2147483648ll, 2147483647ll);
    out.tolerations.push_back(std::move(toleration));
  });
  return out;
}

// The answers of other controllers: an unknown answer counts as none.
template <class V>
AdmissionChecks read_checks(FieldReader<V>& f, const V& status) {
  AdmissionChecks out;
  f.list(status, "admissionChecks", [&](const V& item) {
    AdmissionCheckState check;
    check.name = f.string(item, "name");
    check.state = enum_parse<CheckState>(f.string(item, "state")).value_or(CheckState::kPending);
    check.message = f.string(item, "message");
    check.since = f.time(item, "lastTransitionTime");
    if (item.find("requeueAfterSeconds").present())
      check.retry_after = f.integer(item, "requeueAfterSeconds", 0, 0, 2147483647);
    check.retries = f.integer(item, "retryCount", 0, 0, 2147483647);
    f.list(item, "podSetUpdates",
           [&](const V& update) { check.updates.push_back(read_pod_set_update(f, update)); });
    out.push_back(std::move(check));
  });
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

template <class V>
KueueWorkload::PodSetSpec read_workload_set(FieldReader<V>& f, const V& item, const std::string& ns) {
  KueueWorkload::PodSetSpec set;
  set.name = f.string(item, "name");
  if (set.name.empty()) set.name = "main";
  set.count = f.integer(item, "count", 1, 0, 1'000'000);
  if (item.find("minCount").present()) set.min_count = f.integer(item, "minCount", 1, 0, set.count);
  const V pod_template = f.map(item, "template");
  const V pod_spec = f.map(pod_template, "spec");
  if (!pod_spec.present())
    f.error(pod_template.present() ? pod_template : item, pod_template.present() ? "spec" : "template",
            "is required");
  Meta meta;
  meta.ns = ns;
  meta.labels = read_marks(f, f.map(pod_template, "metadata"), "labels");
  meta.annotations = read_marks(f, f.map(pod_template, "metadata"), "annotations");
  set.marks = meta;
  set.spec = read_pod_spec(f, pod_spec, V(), meta, &set.needs);
  set.topology = read_topology_request(f, item);
  set.group = f.string(f.map(item, "topologyRequest"), "podSetGroupName");
  return set;
}

// The ClusterQueue that has given it quota, and in which flavors.
template <class V>
void read_admission(FieldReader<V>& f, const V& status, KueueWorkload& out) {
  const V admission = f.map(status, "admission");
  out.admitted_to = f.string(admission, "clusterQueue");
  f.list(admission, "podSetAssignments", [&](const V& item) {
    KueueWorkload::Assignment assignment;
    assignment.name = f.string(item, "name");
    f.map(item, "flavors").each_entry([&](std::string_view resource, const V& flavor) {
      assignment.flavors.push_back({std::string(resource), std::string(f.string_of(flavor, resource))});
    });
    assignment.count = f.integer(item, "count", -1, 0, 1'000'000);
    std::sort(assignment.flavors.begin(), assignment.flavors.end(),
              [](const auto& a, const auto& b) { return a.resource < b.resource; });
    out.status.assignments.push_back(
        {assignment.name, assignment.count, assignment.flavors, f.amounts(item, "resourceUsage")});
    out.assignments.push_back(std::move(assignment));
  });
  out.status.cluster_queue = out.admitted_to;
}

template <class V>
KueueWorkload read_workload(FieldReader<V>& f, const V& object) {
  KueueWorkload out;
  out.meta = read_meta(f, object, Kind::kWorkload, false);
  const V spec = f.map(object, "spec");
  if (!spec.present()) f.error(object, "spec", "is required");
  out.queue = f.string(spec, "queueName");
  out.active = f.boolean(spec, "active", true);
  if (spec.find("priority").present()) {
    out.priority = f.integer(spec, "priority", 0, -2147483648ll, 2147483647ll);
  }
  if (spec.find("maximumExecutionTimeSeconds").present()) {
    out.most_seconds = f.integer(spec, "maximumExecutionTimeSeconds", 1, 1, 2147483647);
  }
  const V owned = f.map(object, "metadata");
  f.list(owned, "ownerReferences", [&](const V& owner) {
    if (!f.takes(Entry::kOwner, owned, "ownerReferences")) return;
    out.owners.push_back({std::string(f.string(owner, "kind")), std::string(f.string(owner, "name")),
                          std::string(f.string(owner, "uid"))});
  });
  const V klass = f.map(spec, "priorityClassRef");  // v1beta2
  if (klass.present()) {
    out.priority_class = f.string(klass, "name");
    out.workload_priority = f.string(klass, "kind") == "WorkloadPriorityClass";
  } else {
    out.priority_class = f.string(spec, "priorityClassName");
    out.workload_priority = f.string(spec, "priorityClassSource") == "kueue.x-k8s.io/workloadpriorityclass";
  }
  f.list(spec, "podSets",
         [&](const V& item) { out.pod_sets.push_back(read_workload_set(f, item, out.meta.ns)); });
  if (out.pod_sets.empty()) f.error(spec.present() ? spec : object, "podSets", "must not be empty");

  const V status = f.map(object, "status");
  read_admission(f, status, out);
  const V requeue = f.map(status, "requeueState");
  out.status.requeues = f.integer(requeue, "count", 0, 0, 2147483647);
  out.status.requeue_at = f.time(requeue, "requeueAt");
  out.status.past_seconds =
      f.integer(status, "accumulatedPastExecutionTimeSeconds",
                f.integer(status, kPastSecondsOfV1Beta1, 0, 0, 2147483647), 0, 2147483647);
  f.list(status, "reclaimablePods", [&](const V& item) {
    const std::string_view name = f.string(item, "name");
    out.status.reclaimable.push_back({std::string(name), f.integer(item, "count", 0, 0, 1'000'000)});
    for (auto& set : out.pod_sets) {
      if (set.name == name) set.reclaimable = f.integer(item, "count", 0, 0, set.count);
    }
  });
  read_workload_conditions(f, status, out);
  out.status.checks = read_checks(f, status);
  return out;
}

}  // namespace berth::dialect

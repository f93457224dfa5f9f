// Decoders of upstream kinds: metadata, Node, Pod (and pod templates), Namespace, PriorityClass, Job.
// Templates over the feed (value.h); included by decode.cc only.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "dialect/fields.h"
#include "dialect/names.h"
#include "dialect/objects.h"

namespace berth::dialect {

// Keys of pods, PodGroups and Jobs that Berth reads.
inline bool is_read_key(std::string_view key) {
  return key.starts_with(kBerthPrefix) || key.starts_with("kueue.x-k8s.io/") ||
         key.starts_with("scheduling.x-k8s.io/") || key.starts_with(kOlderPodGroupLabel) ||
         key == kVolcanoQueueName || key == kKaiQueueName || key == kOlderKaiQueueName || key == kJobIndex ||
         key == kMirrorPod;
}

template <class V>
Labels read_marks(FieldReader<V>& f, const V& meta, std::string_view key) {
  Labels out;
  f.map(meta, key).each_entry([&](std::string_view name, const V& value) {
    if (is_read_key(name)) out.emplace(name, f.string_of(value, name));
  });
  return out;
}

template <class V>
Meta read_meta(FieldReader<V>& f, const V& object, Kind kind, bool whole_labels) {
  Meta m;
  const V meta = f.map(object, "metadata");
  m.name = f.string(meta, "name");
  if (m.name.empty()) f.error(meta.present() ? meta : object, "name", "metadata.name must be there");
  if (is_namespaced(kind)) {
    m.ns = f.string(meta, "namespace");
    if (m.ns.empty()) m.ns = "default";
  }
  m.uid = f.string(meta, "uid");
  if (m.uid.empty()) m.uid = fmt::format("{}/{}/{}", enum_name(kind), m.ns, m.name);
  m.created = f.time(meta, "creationTimestamp");
  m.deleting = meta.find("deletionTimestamp").present();
  f.list(meta, "ownerReferences", [&](const V& owner) {
    if (f.boolean(owner, "controller", false)) {
      m.controller = {std::string(f.string(owner, "kind")), std::string(f.string(owner, "name")),
                      std::string(f.string(owner, "uid"))};
    }
  });
  if (whole_labels) {
    m.labels = f.labels(meta, "labels");
  } else {
    m.labels = read_marks(f, meta, "labels");
    m.annotations = read_marks(f, meta, "annotations");
  }
  return m;
}

// Effective requests of a pod (research/kubernetes.md 2, item 8): an exact restatement of Kubernetes' rule.
class EffectiveRequests {
 public:
  Status container(const ResourceList& requests) { return main_.add(requests); }
  Status init_container(const ResourceList& requests, bool sidecar) {
    ResourceList peak = sidecars_;
    BERTH_TRY(peak.add(requests));
    init_peak_.raise_to(peak);
    if (sidecar) sidecars_ = std::move(peak);
    return {};
  }
  Result<ResourceList> total() const {
    ResourceList sum = main_;
    BERTH_TRY(sum.add(sidecars_));
    sum.raise_to(init_peak_);
    return sum;
  }

 private:
  ResourceList main_;
  ResourceList sidecars_;   // so far
  ResourceList init_peak_;  // of any init container with the sidecars before it
};

struct ContainerNeeds {
  std::string_view name;
  ResourceList requests;
  bool init = false;
  bool sidecar = false;
};

template <class V>
ResourceList read_requests(FieldReader<V>& f, const V& resources) {
  ResourceList requests = f.amounts(resources, "requests");
  // A limit without a request is the request too (the API server's default).
  f.map(resources, "limits").each_entry([&](std::string_view resource, const V& value) {
    if (!requests.has(resource)) requests.set(resource, f.amount_of(value, resource));
  });
  return requests;
}

// The sum over containers where `requests_of` says what one asks for.
template <class F>
Result<ResourceList> aggregate(const std::vector<ContainerNeeds>& containers, F&& requests_of) {
  EffectiveRequests sum;
  for (const auto& c : containers) {
    BERTH_TRY(c.init ? sum.init_container(requests_of(c), c.sidecar) : sum.container(requests_of(c)));
  }
  return sum.total();
}

// Requests as a resize in flight makes them: the largest of what is asked for, allocated and in effect.
template <class V>
void raise_by_status(FieldReader<V>& f, const V& status, const std::vector<ContainerNeeds>& containers,
                     ResourceList& total) {
  std::vector<std::pair<std::string_view, ResourceList>> allocated, actual;
  for (const std::string_view list : {"containerStatuses", "initContainerStatuses"}) {
    f.list(status, list, [&](const V& item) {
      const V granted = item.find("allocatedResources");
      if (granted.present())
        allocated.emplace_back(f.string(item, "name"), f.amounts(item, "allocatedResources"));
      const V effective = item.find("resources");
      if (effective.present()) actual.emplace_back(f.string(item, "name"), f.amounts(effective, "requests"));
    });
  }
  if (allocated.empty() && actual.empty()) return;
  bool infeasible = false;
  f.list(status, "conditions", [&](const V& c) {
    infeasible |= f.string(c, "type") == "PodResizePending" && f.string(c, "reason") == "Infeasible" &&
                  f.string(c, "status") == "True";
  });
  const auto with = [&](const auto& overrides) {
    return aggregate(containers, [&](const ContainerNeeds& c) {
      for (const auto& [name, requests] : overrides) {
        if (name != c.name || requests.empty()) continue;
        ResourceList merged = c.requests;  // a resize changes CPU and memory only
        for (const auto& [resource, amount] : requests) merged.set(resource, amount);
        return merged;
      }
      return c.requests;
    });
  };
  ResourceList in_status;
  for (const auto* overrides : {&allocated, &actual}) {
    if (overrides->empty()) continue;
    if (auto sum = with(*overrides)) in_status.raise_to(*sum);
  }
  if (infeasible && !in_status.empty()) {
    total = std::move(in_status);
  } else {
    total.raise_to(in_status);
  }
}

template <class V>
void read_volumes(FieldReader<V>& f, const V& spec, std::vector<std::string>& unsupported) {
  // Kinds that any node can serve as far as the scheduler knows; every other kind binds a pod to nodes.
  static constexpr std::string_view kSafe[] = {
      "emptyDir", "configMap", "secret", "downwardAPI", "projected",  "hostPath",
      "gitRepo",  "nfs",       "csi",    "image",       "cephfs",     "glusterfs",
      "flocker",  "quobyte",   "fc",     "storageos",   "flexVolume", "photonPersistentDisk"};
  f.list(spec, "volumes", [&](const V& volume) {
    volume.each_entry([&](std::string_view kind, const V& source) {
      if (kind == "name" || !source.present()) return;
      if (std::find(std::begin(kSafe), std::end(kSafe), kind) != std::end(kSafe)) return;
      unsupported.push_back(fmt::format("volumes: {} ({})", kind, f.string(volume, "name")));
    });
  });
}

template <class V>
SelectorTerm read_node_term(FieldReader<V>& f, const V& term) {
  SelectorTerm out;
  out.labels = read_requirements(f, term, "matchExpressions");
  out.node_name = read_requirements(f, term, "matchFields");
  for (const auto& field : out.node_name) {
    if (field.key != "metadata.name") {
      f.error(term, "matchFields", fmt::format("only metadata.name can be matched, not \"{}\"", field.key));
    }
  }
  return out;
}

template <class V>
LabelSelector read_label_selector(FieldReader<V>& f, const V& object, std::string_view key) {
  LabelSelector out;
  const V selector = f.map(object, key);
  out.nothing = !selector.present();
  if (out.nothing) return out;
  out.requirements = read_requirements(f, selector, "matchExpressions");
  f.map(selector, "matchLabels").each_entry([&](std::string_view name, const V& value) {
    out.requirements.push_back(
        Requirement{std::string(name), SelectorOp::kIn, {std::string(f.string_of(value, name))}});
  });
  return out;
}

// Terms of required pod anti-affinity, as what they keep away.
template <class V>
void read_repulsions(FieldReader<V>& f, const V& terms, std::string_view key, std::string_view ns,
                     std::vector<Repulsion>& out) {
  f.list(terms, key, [&](const V& term) {
    Repulsion r;
    r.selector = read_label_selector(f, term, "labelSelector");
    r.namespaces = f.strings(term, "namespaces");
    r.all_namespaces = f.map(term, "namespaceSelector").present();
    if (r.namespaces.empty() && !r.all_namespaces) r.namespaces.emplace_back(ns);
    out.push_back(std::move(r));
  });
}

template <class V>
void read_affinity(FieldReader<V>& f, const V& spec, std::string_view ns, PodSpec& out) {
  PodTemplate& pod = out.pod;
  static constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  static constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const V affinity = f.map(spec, "affinity");
  if (!affinity.present()) return;
  const V node = f.map(affinity, "nodeAffinity");
  if (node.present()) {
    const V required = f.map(node, kRequired);
    f.list(required, "nodeSelectorTerms",
           [&](const V& term) { pod.required_affinity.push_back(read_node_term(f, term)); });
    if (required.present() && pod.required_affinity.empty()) {
      f.error(required, "nodeSelectorTerms", "must have at least one term");
    }
    f.list(node, kPreferred, [&](const V& item) {
      pod.preferred_affinity.push_back(
          {f.integer(item, "weight", 1, 1, 100), read_node_term(f, f.map(item, "preference"))});
    });
  }
  read_repulsions(f, f.map(affinity, "podAntiAffinity"), kRequired, ns, out.repulsions);
  for (const std::string_view kind : {"podAffinity", "podAntiAffinity"}) {
    bool any = false;
    f.list(f.map(affinity, kind), kRequired, [&](const V&) { any = true; });
    if (any) pod.unsupported.push_back(fmt::format("affinity.{}: required terms", kind));
  }
}

// Devices leave the list of amounts and become requests of the claim.
template <class V>
void split_devices(FieldReader<V>& f, const V& spec, ResourceList& requests, PodTemplate& pod) {
  std::vector<std::string> names;
  for (const auto& [resource, amount] : requests) {
    if (!f.devices().is_device(resource)) continue;
    names.push_back(resource);
    if (amount % 1000 != 0) f.error(spec, resource, "a number of devices must be whole");
    pod.claim.requests.push_back(DeviceRequest{resource, amount / 1000, 1000});
  }
  for (const auto& name : names) requests.erase(name);
}

// `annotations` asks for a share of one device: berth.dev/gpu-milli.
inline void apply_share(const Meta& meta, PodTemplate& pod) {
  const std::string_view milli = meta.mark(kGpuMilli);
  if (milli.empty()) return;
  std::int64_t share = 0;
  for (const char c : milli) share = c >= '0' && c <= '9' && share < 10'000 ? share * 10 + (c - '0') : 10'000;
  if (share < 1 || share > 1000) {
    pod.unsupported.push_back(fmt::format("{}: \"{}\" is not a number from 1 to 1000", kGpuMilli, milli));
    return;
  }
  if (pod.claim.requests.empty()) {
    const std::string_view resource = meta.mark(kGpuResource);
    pod.claim.requests.push_back(
        DeviceRequest{std::string(resource.empty() ? "nvidia.com/gpu" : resource), 1, share});
  } else {
    // Whoever requests the device gets all of it from the kubelet, whatever else it says: a share beside it would be a way to use
    // a thousand devices and be charged for one.
    pod.unsupported.push_back(fmt::format("{}: it also requests {}, of which the kubelet gives whole devices",
                                          kGpuMilli, pod.claim.requests.front().resource));
  }
}

// `annotations` chooses how the pod is laid on nodes: berth.dev/placement.
inline void apply_placement(const Meta& meta, PodTemplate& pod) {
  const std::string_view name = meta.mark(kPlacement);
  if (name.empty()) return;
  if (const auto placement = enum_parse<Placement>(name)) {
    pod.placement = *placement;
  } else {
    pod.unsupported.push_back(fmt::format("{}: \"{}\" is none of {}", kPlacement, name,
                                          fmt::join(EnumNames<Placement>::names, ", ")));
  }
}

// `meta` gives the annotations; `status` is not present for templates.
template <class V>
PodSpec read_pod_spec(FieldReader<V>& f, const V& spec, const V& status, const Meta& meta) {
  PodSpec out;
  PodTemplate& pod = out.pod;
  out.scheduler_name = f.string(spec, "schedulerName");
  out.node_name = f.string(spec, "nodeName");
  out.priority_class = f.string(spec, "priorityClassName");
  if (spec.find("priority").present()) {
    out.priority = f.integer(spec, "priority", 0, -2147483648ll, 2147483647ll);
  }
  out.may_preempt = f.string(spec, "preemptionPolicy") != "Never";
  f.list(spec, "schedulingGates", [&](const V&) { out.gated = true; });
  out.grace = f.integer(spec, "terminationGracePeriodSeconds", 30, 0, 1'000'000'000) * kSecond;
  if (spec.find("activeDeadlineSeconds").present()) {
    out.deadline = f.integer(spec, "activeDeadlineSeconds", 0, 0, 4'000'000'000) * kSecond;
  }

  std::vector<ContainerNeeds> containers;
  bool host_ports = false;
  for (const bool init : {true, false}) {
    f.list(spec, init ? "initContainers" : "containers", [&](const V& item) {
      ContainerNeeds c;
      c.name = f.string(item, "name");
      c.requests = read_requests(f, f.map(item, "resources"));
      // No API server lets such a pod in; a template of it may come in other objects.
      const ResourceList limits = f.amounts(f.map(item, "resources"), "limits");
      for (const auto& [resource, limit] : limits) {
        if (c.requests.get(resource) > limit) {
          pod.unsupported.push_back(fmt::format("{}[{}].resources: the request of {} is above its limit",
                                                init ? "initContainers" : "containers", c.name, resource));
        }
      }
      c.init = init;
      c.sidecar = init && f.string(item, "restartPolicy") == "Always";
      if (!init || c.sidecar) {
        f.list(item, "ports",
               [&](const V& port) { host_ports |= f.integer(port, "hostPort", 0, 0, 65535) != 0; });
        if (f.boolean(spec, "hostNetwork", false))
          f.list(item, "ports", [&](const V&) { host_ports = true; });
      }
      containers.push_back(std::move(c));
    });
  }
  if (host_ports) pod.unsupported.emplace_back("containers[].ports[].hostPort");

  auto total =
      aggregate(containers, [](const ContainerNeeds& c) -> const ResourceList& { return c.requests; });
  if (total && status.present() && !out.node_name.empty()) raise_by_status(f, status, containers, *total);
  if (total) {
    const V whole = f.map(spec, "resources");
    if (whole.present()) {
      const auto counts = [](std::string_view r) {
        return r == "cpu" || r == "memory" || r.starts_with("hugepages-");
      };
      const ResourceList limits = f.amounts(whole, "limits");
      for (const auto& [resource, amount] : limits) {
        if (counts(resource) && !total->has(resource)) total->set(resource, amount);
      }
      const ResourceList requests = f.amounts(whole, "requests");
      for (const auto& [resource, amount] : requests) {
        if (counts(resource)) total->set(resource, amount);
      }
    }
    if (const auto status_of_sum = total->add(f.amounts(spec, "overhead")); !status_of_sum) {
      f.error(spec, "overhead", status_of_sum.error().message);
    }
    std::vector<std::string> zero;
    for (const auto& [resource, amount] : *total) {
      if (amount == 0) zero.push_back(resource);
    }
    for (const auto& resource : zero) total->erase(resource);
    for (const auto& c : containers) {
      for (const auto& [resource, amount] : c.requests) {
        const bool known = std::find(zero.begin(), zero.end(), resource) != zero.end();
        if (amount == 0 && total->get(resource) == 0 && !known) zero.push_back(resource);
      }
    }
    out.zero_requests = std::move(zero);
    split_devices(f, spec, *total, pod);
    total->set("pods", 1);
    pod.requests = std::move(*total);
  } else {
    f.error(spec, "containers", total.error().message);
  }
  apply_share(meta, pod);
  apply_placement(meta, pod);

  pod.node_selector = f.labels(spec, "nodeSelector");
  read_affinity(f, spec, meta.ns, out);
  pod.tolerations = read_tolerations(f, spec, "tolerations", &pod.unsupported);
  read_volumes(f, spec, pod.unsupported);
  bool spread = false, claims = false;
  f.list(spec, "topologySpreadConstraints",
         [&](const V& c) { spread |= f.string(c, "whenUnsatisfiable") != "ScheduleAnyway"; });
  if (spread) pod.unsupported.emplace_back("topologySpreadConstraints: DoNotSchedule");
  f.list(spec, "resourceClaims", [&](const V&) { claims = true; });
  if (claims) pod.unsupported.emplace_back("resourceClaims");
  for (const std::string_view field : {"schedulingGroup", "workloadRef"}) {
    if (f.map(spec, field).present()) pod.unsupported.emplace_back(field);
  }
  return out;
}

// What devices_text() of writes.h wrote. Of anything else nothing: the engine chooses.
inline std::vector<std::int64_t> read_devices(std::string_view text) {
  std::vector<std::int64_t> out;
  while (!text.empty()) {
    const auto end = std::min(text.find(','), text.size());
    std::int64_t index = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + end, index);
    if (error != std::errc() || stop != text.data() + end) return {};
    out.push_back(index);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

template <class V>
Pod read_pod(FieldReader<V>& f, const V& object) {
  static constexpr std::pair<std::string_view, PodPhase> kPhases[] = {
      {"Pending", PodPhase::kPending}, {"Running", PodPhase::kRunning}, {"Succeeded", PodPhase::kSucceeded},
      {"Failed", PodPhase::kFailed},   {"Unknown", PodPhase::kRunning}, {"", PodPhase::kPending}};
  Pod pod;
  pod.meta = read_meta(f, object, Kind::kPod, false);
  pod.meta.labels = f.labels(f.map(object, "metadata"), "labels");
  if (const auto devices = pod.meta.annotations.find(kDevices); devices != pod.meta.annotations.end()) {
    pod.devices = read_devices(devices->second);
    pod.meta.annotations.erase(devices);  // it changes with the bind, and no mark does
  }
  const V spec = f.map(object, "spec");
  if (!spec.present()) f.error(object, "spec", "must be there");
  const V status = f.map(object, "status");
  pod.phase = f.choice(status, "phase", kPhases, PodPhase::kPending);
  f.list(status, "conditions", [&](const V& c) {
    if (f.string(c, "type") == "Ready") pod.ready = f.string(c, "status") == "True";
    if (f.string(c, "type") != "DisruptionTarget" || f.string(c, "status") != "True") return;
    if (f.string(c, "reason") == kPreemptedByScheduler) pod.eviction = f.string(c, "message");
  });
  if (pod.phase == PodPhase::kSucceeded) {
    f.list(status, "containerStatuses", [&](const V& c) {
      pod.ended = std::max(pod.ended, f.time(f.map(f.map(c, "state"), "terminated"), "finishedAt"));
    });
  }
  pod.spec = read_pod_spec(f, spec, status, pod.meta);
  return pod;
}

template <class V>
NodeObject read_node(FieldReader<V>& f, const V& object) {
  NodeObject node;
  node.meta = read_meta(f, object, Kind::kNode, true);
  const V spec = f.map(object, "spec");
  node.unschedulable = f.boolean(spec, "unschedulable", false);
  node.taints = read_taints(f, spec, "taints");
  const V status = f.map(object, "status");
  // The kubelet reports both; a manifest that has only the capacity means all of it.
  node.allocatable = f.amounts(status, status.find("allocatable").present() ? "allocatable" : "capacity");
  return node;
}

template <class V>
Namespace read_namespace(FieldReader<V>& f, const V& object) {
  return {read_meta(f, object, Kind::kNamespace, true)};
}

template <class V>
PriorityClass read_priority_class(FieldReader<V>& f, const V& object) {
  PriorityClass out;
  out.meta = read_meta(f, object, Kind::kPriorityClass, false);
  out.value = f.integer(object, "value", 0, -2147483648ll, 2147483647ll);
  out.global_default = f.boolean(object, "globalDefault", false);
  out.may_preempt = f.string(object, "preemptionPolicy") != "Never";
  return out;
}

template <class V>
Job read_job(FieldReader<V>& f, const V& object) {
  Job job;
  job.meta = read_meta(f, object, Kind::kJob, false);
  const V spec = f.map(object, "spec");
  if (!spec.present()) f.error(object, "spec", "must be there");
  job.parallelism = f.integer(spec, "parallelism", 1, 0, 1'000'000);
  if (spec.find("completions").present()) job.completions = f.integer(spec, "completions", 1, 0, 100'000'000);
  job.suspend = f.boolean(spec, "suspend", false);
  job.indexed = f.string(spec, "completionMode") == "Indexed";
  job.managed_by = f.string(spec, "managedBy");
  job.generation = f.integer(f.map(object, "metadata"), "generation", 0, 0, kInt64Max);
  job.annotated = f.map(f.map(object, "metadata"), "annotations").present();
  const V status = f.map(object, "status");
  job.succeeded = f.integer(status, "succeeded", 0, 0, 100'000'000);
  job.ready = f.integer(status, "ready", 0, 0, 100'000'000);
  f.list(status, "conditions", [&](const V& c) {
    const std::string_view type = f.string(c, "type");
    if ((type != "Complete" && type != "Failed") || f.string(c, "status") != "True") return;
    job.finished = true;
    job.failed = type == "Failed";
    job.ending = f.string(c, "message");
  });
  const V pod_template = f.map(spec, "template");
  const V meta = f.map(pod_template, "metadata");
  job.template_meta.ns = job.meta.ns;
  job.template_meta.labels = f.labels(meta, "labels");
  job.template_annotated = f.map(meta, "annotations").present();
  job.template_meta.annotations = read_marks(f, meta, "annotations");
  const V pod_spec = f.map(pod_template, "spec");
  if (!pod_spec.present()) f.error(spec, "template", "spec.template.spec must be there");
  job.spec = read_pod_spec(f, pod_spec, V(), job.template_meta);
  return job;
}

}  // namespace berth::dialect

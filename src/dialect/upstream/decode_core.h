// Decoders of upstream kinds: metadata, Node, Pod (and pod templates), Namespace, PriorityClass.
// Templates over the feed (value.h); included by decode.cc only.
#pragma once

#include <algorithm>
#include <charconv>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dialect/base/decode_meta.h"
#include "dialect/base/fields.h"
#include "dialect/base/names.h"
#include "dialect/upstream/core.h"
#include "dialect/upstream/declared_features.h"
#include "dialect/upstream/objects.h"
#include "dialect/upstream/pod_marks.h"
#include "dialect/upstream/pod_needs.h"
#include "dialect/upstream/resize.h"

namespace berth::dialect {

// Devices and other extended resources come whole, as the API server says it.
template <class V>
void check_whole(FieldReader<V>& f, const V& list) {
  list.each_entry([&](std::string_view resource, const V& value) {
    if (!is_extended(resource)) return;
    const std::int64_t units = units_per_one(resource);
    const std::int64_t amount = f.amount_of(value, resource);
    if (amount % units == 0 || amount == kInt64Max) return;
    f.error(value, resource,
            fmt::format("must be an integer, not {}: devices are given whole{}", value.describe(),
                        f.devices().is_device(resource)
                            ? fmt::format(" (for a part of one, give the pod the annotation {})", kGpuMilli)
                            : std::string()));
  });
}

template <class V>
ContainerNeeds read_resources(FieldReader<V>& f, const V& parent, std::string_view key, bool init) {
  ContainerNeeds c;
  const V resources = f.map(parent, key);
  c.requests = f.amounts(resources, "requests", Entry::kAmount);
  c.limits = f.amounts(resources, "limits", Entry::kAmount);
  check_whole(f, f.map(resources, "limits"));
  check_whole(f, f.map(resources, "requests"));
  for (const auto& [resource, limit] : c.limits) {  // the API server's default
    if (!c.requests.has(resource)) c.requests.set(resource, limit);
  }
  c.init = init;
  return c;
}

template <class V>
ContainerNeeds read_container_needs(FieldReader<V>& f, const V& container, bool init) {
  ContainerNeeds c = read_resources(f, container, "resources", init);
  c.name = f.string(container, "name");
  c.sidecar = init && f.string(container, "restartPolicy") == "Always";
  return c;
}

// The host ports of a container. On the network of its node each of its ports is one.
template <class V>
void read_ports(FieldReader<V>& f, const V& container, bool host_network, std::vector<HostPort>& out) {
  static constexpr std::pair<std::string_view, PortProtocol> kProtocols[] = {{"TCP", PortProtocol::kTcp},
                                                                             {"UDP", PortProtocol::kUdp},
                                                                             {"SCTP", PortProtocol::kSctp},
                                                                             {"", PortProtocol::kTcp}};
  f.list(container, "ports", [&](const V& item) {
    HostPort port;
    port.port = f.integer(item, "hostPort", 0, 0, 65535);
    if (port.port == 0 && host_network) port.port = f.integer(item, "containerPort", 0, 0, 65535);
    if (port.port == 0 || !f.takes(Entry::kPort, container, "ports")) return;
    port.protocol = f.choice(item, "protocol", kProtocols, PortProtocol::kTcp);
    const std::string_view ip = f.string(item, "hostIP");
    if (ip != "0.0.0.0") port.ip = ip;
    if (std::find(out.begin(), out.end(), port) == out.end()) out.push_back(std::move(port));
  });
}

// accessModes; an unknown one is none.
template <class V>
std::uint8_t read_access_modes(FieldReader<V>& f, const V& spec) {
  static constexpr std::pair<std::string_view, AccessMode> kModes[] = {
      {"ReadWriteOnce", kReadWriteOnce},
      {"ReadOnlyMany", kReadOnlyMany},
      {"ReadWriteMany", kReadWriteMany},
      {"ReadWriteOncePod", kReadWriteOncePod}};
  std::uint8_t out = 0;
  f.list(spec, "accessModes", [&](const V& mode) {
    const std::string_view word = f.string_of(mode, "accessModes");
    for (const auto& [name, bit] : kModes) {
      if (word == name) out |= bit;
    }
  });
  return out;
}

// `spec`: of a claim.
template <class V>
VolumeNeeds read_volume_needs(FieldReader<V>& f, const V& spec) {
  VolumeNeeds out;
  out.modes = read_access_modes(f, spec);
  out.block = f.string(spec, "volumeMode") == "Block";
  out.attributes = f.string(spec, "volumeAttributesClassName");
  if (f.map(spec, "selector").present()) out.selector = read_label_selector(f, spec, "selector");
  return out;
}

template <class V>
void read_volumes(FieldReader<V>& f, const V& spec, PodSpec& out) {
  // Kinds that any node can serve as far as the scheduler knows; every other kind binds a pod to nodes.
  static constexpr std::string_view kSafe[] = {
      "emptyDir", "configMap", "secret", "downwardAPI", "projected",  "hostPath",
      "gitRepo",  "nfs",       "csi",    "image",       "cephfs",     "glusterfs",
      "flocker",  "quobyte",   "fc",     "storageos",   "flexVolume", "photonPersistentDisk"};
  f.list(spec, "volumes", [&](const V& volume) {
    volume.each_entry([&](std::string_view kind, const V& source) {
      if (kind == "name" || !source.present()) return;
      if (std::find(std::begin(kSafe), std::end(kSafe), kind) != std::end(kSafe)) return;
      const bool ephemeral = kind == "ephemeral";
      if (ephemeral || kind == "persistentVolumeClaim") {
        if (!f.takes(Entry::kClaim, spec, "volumes")) return;
        ClaimUse use{std::string(f.string(volume, "name")), {}, ephemeral};
        const V made = f.map(f.map(source, "volumeClaimTemplate"), "spec");
        if (made.find("storageClassName").present()) use.storage_class = f.string(made, "storageClassName");
        if (made.present()) use.needs = read_volume_needs(f, made);
        const V requests = f.map(f.map(made, "resources"), "requests");
        if (const V size = requests.find("storage"); size.present())
          use.size = f.amount_of(size, "storage", 1);
        if (!ephemeral) use.claim = f.string(source, "claimName");
        if (!ephemeral && use.claim.empty()) f.error(source, "claimName", "is required");
        if (!f.takes(Entry::kText, spec, "volumes",
                     use.volume.size() + use.claim.size() + use.storage_class.value_or("").size() +
                         use.needs.attributes.size()))
          return;
        return out.claims.edit().push_back(std::move(use));
      }
      add_once(out.pod.edit().unsupported, fmt::format("volumes: {} ({})", kind, f.string(volume, "name")));
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

// The values of the pod's own labels become conditions (matchLabelKeys, mismatchLabelKeys). The API server has done that in a cluster.
template <class V>
void add_own_labels(FieldReader<V>& f, const V& term, const Labels& labels, std::vector<Requirement>& out) {
  for (const auto& [field, op] : {std::pair{"matchLabelKeys"sv, SelectorOp::kIn},
                                  std::pair{"mismatchLabelKeys"sv, SelectorOp::kNotIn}}) {
    for (const std::string& key : f.values(term, field)) {
      const auto label = labels.find(key);
      if (label == labels.end()) continue;
      Requirement own{key, op, {label->second}};
      if (std::find(out.begin(), out.end(), own) == out.end()) out.push_back(std::move(own));
    }
  }
}

template <class V>
PodSelector read_pod_selector(FieldReader<V>& f, const V& term, const Meta& meta) {
  PodSelector out;
  out.pods = read_label_selector(f, term, "labelSelector");
  if (!out.pods.nothing) add_own_labels(f, term, meta.labels, out.pods.requirements);
  TermNamespaces& n = out.within.emplace_back();
  n.named = f.values(term, "namespaces");
  if (f.map(term, "namespaceSelector").present())
    n.selected = read_label_selector(f, term, "namespaceSelector");
  if (n.named.empty() && !n.selected) n.named.push_back(meta.ns);
  return out;
}

// `weight`: of a preferred term; 0: it is required.
inline void add_term(CountedTerm term, PodSelector selector, std::int64_t weight, PodSpec& out) {
  selector.set_name();
  term.selector = selector.name;
  if (weight > 0) {
    out.pod.edit().preferred_terms.edit().push_back({weight, std::move(term)});
  } else {
    out.pod.edit().terms.edit().push_back(std::move(term));
  }
  const auto known = std::find(out.selectors.begin(), out.selectors.end(), selector);
  if (known == out.selectors.end()) out.selectors.push_back(std::move(selector));
}

// Required terms about other pods, and the pods that they select. A pod is near where all terms of affinity select it together.
template <class V>
void read_pod_terms(FieldReader<V>& f, const V& affinity, std::string_view kind_of, std::string_view key,
                    TermKind kind, const Meta& meta, PodSpec& out) {
  const V terms = f.map(affinity, kind_of);
  std::vector<std::pair<std::string, PodSelector>> all;  // by level
  f.list(terms, key, [&](const V& term) {
    if (!f.takes(Entry::kPodTerm, terms, key)) return;
    std::string level(f.string(term, "topologyKey"));
    if (level.empty()) f.error(term, "topologyKey", "is required");
    all.emplace_back(std::move(level), read_pod_selector(f, term, meta));
  });
  if (kind == TermKind::kNear && all.size() > 1) {
    PodSelector both = all.front().second;
    for (auto& [level, selector] : all) {
      const TermNamespaces& n = selector.within.front();
      if (std::find(both.within.begin(), both.within.end(), n) == both.within.end()) both.within.push_back(n);
      both.pods.nothing = both.pods.nothing || selector.pods.nothing;
      for (const Requirement& r : selector.pods.requirements) {
        auto& known = both.pods.requirements;
        if (std::find(known.begin(), known.end(), r) == known.end()) known.push_back(r);
      }
    }
    for (auto& [level, selector] : all) selector = both;
  }
  for (auto& [level, selector] : all) add_term({.kind = kind, .level = level}, std::move(selector), 0, out);
}

template <class V>
void read_preferred_pod_terms(FieldReader<V>& f, const V& affinity, std::string_view kind_of,
                              std::string_view key, TermKind kind, const Meta& meta, PodSpec& out) {
  const V terms = f.map(affinity, kind_of);
  f.list(terms, key, [&](const V& item) {
    if (!f.takes(Entry::kPodTerm, terms, key)) return;
    const V term = f.map(item, "podAffinityTerm");
    std::string level(f.string(term, "topologyKey"));
    if (!term.present()) {
      f.error(item, "podAffinityTerm", "is required");
    } else if (level.empty()) {
      f.error(term, "topologyKey", "is required");
    }
    add_term({.kind = kind, .level = std::move(level)}, read_pod_selector(f, term, meta),
             f.integer(item, "weight", 1, 1, 100), out);
  });
}

// Spreads that must hold, and those that are wished for.
template <class V>
void read_spread(FieldReader<V>& f, const V& spec, const Meta& meta, PodSpec& out) {
  static constexpr std::string_view kField = "topologySpreadConstraints";
  // One pod more in a domain counts as much as a preferred term of this weight.
  static constexpr std::int64_t kSpreadWeight = 10;
  static constexpr std::pair<std::string_view, bool> kWhen[] = {{"DoNotSchedule", true},
                                                                {"ScheduleAnyway", false}};
  static constexpr std::pair<std::string_view, bool> kPolicies[] = {{"Honor", true}, {"Ignore", false}};
  f.list(spec, kField, [&](const V& item) {
    if (!f.takes(Entry::kPodTerm, spec, kField)) return;
    const bool required = f.choice(item, "whenUnsatisfiable", kWhen, true);
    CountedTerm term{.kind = TermKind::kSpread, .level = std::string(f.string(item, "topologyKey"))};
    if (term.level.empty()) f.error(item, "topologyKey", "is required");
    term.max_skew = f.integer(item, "maxSkew", 1, 1, 2147483647);
    term.min_domains = f.integer(item, "minDomains", 1, 1, 2147483647);
    term.all_nodes = !f.choice(item, "nodeAffinityPolicy", kPolicies, true);
    term.tolerated = f.choice(item, "nodeTaintsPolicy", kPolicies, false);
    PodSelector selector = read_pod_selector(f, item, meta);
    // As Kubernetes has it: a selector without conditions counts no pod here.
    if (selector.pods.requirements.empty()) selector.pods.nothing = true;
    add_term(std::move(term), std::move(selector), required ? 0 : kSpreadWeight, out);
  });
}

template <class V>
void read_affinity(FieldReader<V>& f, const V& spec, const Meta& meta, PodSpec& out) {
  PodTemplate& pod = out.pod.edit();
  static constexpr std::string_view kRequired = "requiredDuringSchedulingIgnoredDuringExecution";
  static constexpr std::string_view kPreferred = "preferredDuringSchedulingIgnoredDuringExecution";
  const V affinity = f.map(spec, "affinity");
  if (!affinity.present()) return;
  const V node = f.map(affinity, "nodeAffinity");
  if (node.present()) {
    const V required = f.map(node, kRequired);
    auto& terms = pod.required_affinity.edit();
    f.list(required, "nodeSelectorTerms", [&](const V& term) {
      if (f.takes(Entry::kTerm, required, "nodeSelectorTerms")) terms.push_back(read_node_term(f, term));
    });
    if (required.present() && terms.empty()) {
      f.error(required, "nodeSelectorTerms", "must have at least one term");
    }
    auto& preferred = pod.preferred_affinity.edit();
    f.list(node, kPreferred, [&](const V& item) {
      if (!f.takes(Entry::kTerm, node, kPreferred)) return;
      preferred.push_back(
          {f.integer(item, "weight", 1, 1, 100), read_node_term(f, f.map(item, "preference"))});
    });
  }
  read_pod_terms(f, affinity, "podAntiAffinity", kRequired, TermKind::kApart, meta, out);
  read_pod_terms(f, affinity, "podAffinity", kRequired, TermKind::kNear, meta, out);
  read_preferred_pod_terms(f, affinity, "podAntiAffinity", kPreferred, TermKind::kApart, meta, out);
  read_preferred_pod_terms(f, affinity, "podAffinity", kPreferred, TermKind::kNear, meta, out);
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

// The containers of a pod, and what it asks for as a whole. `pod` gets their host ports.
template <class V>
PodNeeds read_pod_needs(FieldReader<V>& f, const V& spec, PodTemplate& pod) {
  PodNeeds needs;
  std::vector<HostPort> ports;
  const bool host_network = f.boolean(spec, "hostNetwork", false);
  for (const bool init : {true, false}) {
    const std::string_view containers = init ? "initContainers" : "containers";
    f.list(spec, containers, [&](const V& item) {
      if (!f.takes(Entry::kContainer, spec, containers)) return;
      ContainerNeeds c = read_container_needs(f, item, init);
      // No API server lets such a pod in; a template of it may come in other objects.
      for (const auto& [resource, limit] : c.limits) {
        if (c.requests.get(resource) > limit) {
          add_once(pod.unsupported, fmt::format("{}[{}].resources: the request of {} is above its limit",
                                                containers, c.name, resource));
        }
      }
      if (restarts_all(f, item)) need_feature(pod, kRestartsAll);
      if (!init || c.sidecar) read_ports(f, item, host_network, ports);
      needs.containers.push_back(std::move(c));
    });
  }
  if (host_network && !f.boolean(spec, "hostUsers", true)) need_feature(pod, kOwnUsersOnHostNetwork);
  std::sort(ports.begin(), ports.end());
  pod.ports = std::move(ports);

  const V whole = f.map(spec, "resources");
  if (whole.present()) {
    needs.limits = f.amounts(whole, "limits");
    needs.requests = f.amounts(whole, "requests");
  }
  return needs;
}

// Changes the containers of a template as a controller does. Init containers stand first.
using ChangeContainers = std::function<void(std::vector<ContainerNeeds>& containers)>;

// `meta` gives the annotations; `status` is not present for templates. `keep`: gets what its containers ask for, one by one.
template <class V>
PodSpec read_pod_spec(FieldReader<V>& f, const V& spec, const V& status, const Meta& meta,
                      std::shared_ptr<const PodNeeds>* keep = nullptr, const ChangeContainers& change = {}) {
  PodSpec out;
  PodTemplate& pod = out.pod.edit();
  out.scheduler_name = f.string(spec, "schedulerName");
  out.node_name = f.string(spec, "nodeName");
  out.priority_class = f.string(spec, "priorityClassName");
  if (spec.find("priority").present()) {
    out.priority = f.integer(spec, "priority", 0, -2147483648ll, 2147483647ll);
  }
  out.may_preempt = f.string(spec, "preemptionPolicy") != "Never";
  std::int64_t gates = 0;
  f.begin_pod();
  f.list(spec, "schedulingGates", [&](const V& gate) {
    out.gated = true;
    if (!f.takes(Entry::kGate, spec, "schedulingGates")) return;
    out.gates.emplace_back(f.string(gate, "name"));
    if (f.string(gate, "name") == kKueueElastic) out.elastic_gate = gates;
    ++gates;
  });
  out.grace = f.integer(spec, "terminationGracePeriodSeconds", 30, 0, 1'000'000'000) * kSecond;
  if (spec.find("activeDeadlineSeconds").present()) {
    out.deadline = f.integer(spec, "activeDeadlineSeconds", 0, 0, 4'000'000'000) * kSecond;
  }

  PodNeeds needs = read_pod_needs(f, spec, pod);
  if (change) change(needs.containers);
  needs.overhead = f.amounts(spec, "overhead");
  std::optional<PodNeeds> resized;
  if (status.present() && !out.node_name.empty()) resized = needs_in_resize(f, status, needs);
  const PodNeeds& counted = resized ? *resized : needs;
  auto total = aggregate(counted.containers,
                         [](const ContainerNeeds& c) -> const ResourceList& { return c.requests; });
  override_by_pod(counted, total);
  add_capped(total, needs.overhead);
  if (!f.takes(Entry::kResource, spec, "containers", total.size())) total = {};
  const std::string broken = set_requests(needs, f.devices(), std::move(total), pod, out.zero_requests);
  // Those of containers are checked where they stand.
  if (!broken.empty()) f.error(f.map(spec, "overhead"), broken, "a number of devices must be whole");
  apply_share(meta, pod);
  apply_placement(meta, pod);
  add_foreign_marks(meta, out, needs, pod.unsupported);
  if (keep != nullptr) {
    needs.runtime_class = f.string(spec, "runtimeClassName");
    *keep = std::make_shared<const PodNeeds>(std::move(needs));
  }

  pod.node_selector = f.labels(spec, "nodeSelector", Entry::kSelector);
  read_affinity(f, spec, meta, out);
  pod.tolerations = read_tolerations(f, spec, "tolerations");
  read_volumes(f, spec, out);
  read_spread(f, spec, meta, out);
  bool claims = false;
  f.list(spec, "resourceClaims", [&](const V&) { claims = true; });
  if (claims) pod.unsupported.emplace_back("resourceClaims");
  return out;
}

// The PodGroup, or the Workload of 1.35, that a pod or a template names in a field, as a mark. No annotation of that name was read.
template <class V>
void read_scheduling_group(FieldReader<V>& f, const V& spec, Meta& meta) {
  const std::string_view name = f.string(f.map(spec, "schedulingGroup"), "podGroupName");
  if (!name.empty()) meta.annotations.insert_or_assign(std::string(kSchedulingGroup), std::string(name));
  const V workload = f.map(spec, "workloadRef");
  if (!workload.present()) return;
  std::string named = fmt::format("{}/{}", f.string(workload, "name"), f.string(workload, "podGroup"));
  const std::string_view replica = f.string(workload, "podGroupReplicaKey");
  if (!replica.empty()) named += fmt::format("/{}", replica);
  meta.annotations.insert_or_assign(std::string(kWorkloadRef), std::move(named));
}

// Reads the text of devices_text() (writes.h). Nothing for any other text: the engine chooses.
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

// Pod::started.
template <class V>
TimeMs read_start(FieldReader<V>& f, const V& status, TimeMs created) {
  TimeMs placed = 0, ready = 0, ran = 0;
  f.list(status, "conditions", [&](const V& c) {
    if (f.string(c, "status") != "True") return;
    if (f.string(c, "type") == "PodScheduled") placed = f.time(c, "lastTransitionTime");
    if (f.string(c, "type") == "Ready") ready = f.time(c, "lastTransitionTime");
  });
  if (placed == 0) placed = f.time(status, "startTime");
  if (placed > 0) return std::max(placed, created);
  for (const std::string_view list : {"initContainerStatuses", "containerStatuses"}) {
    f.list(status, list, [&](const V& c) {
      for (const std::string_view part : {"state", "lastState"}) {
        for (const std::string_view state : {"running", "terminated"}) {
          const TimeMs at = f.time(f.map(f.map(c, part), state), "startedAt");
          if (at > 0 && (ran == 0 || at < ran)) ran = at;
        }
      }
    });
  }
  return std::max(ran > 0 ? ran : ready, created);
}

template <class V>
Pod read_pod(FieldReader<V>& f, const V& object) {
  static constexpr std::pair<std::string_view, PodPhase> kPhases[] = {
      {"Pending", PodPhase::kPending}, {"Running", PodPhase::kRunning}, {"Succeeded", PodPhase::kSucceeded},
      {"Failed", PodPhase::kFailed},   {"Unknown", PodPhase::kRunning}, {"", PodPhase::kPending}};
  Pod pod;
  pod.meta = read_meta(f, object, Kind::kPod, false);
  Labels marks = std::exchange(pod.meta.labels, f.labels(f.map(object, "metadata"), "labels", Entry::kLabel));
  pod.meta.labels.merge(marks);  // those behind the bound
  if (const auto devices = pod.meta.annotations.find(kDevices); devices != pod.meta.annotations.end()) {
    pod.devices = read_devices(devices->second);
    pod.meta.annotations.erase(devices);  // it changes with the bind, and no mark does
  }
  const V spec = f.map(object, "spec");
  if (!spec.present()) f.error(object, "spec", "is required");
  const V status = f.map(object, "status");
  pod.phase = f.choice(status, "phase", kPhases, PodPhase::kPending);
  f.list(status, "conditions", [&](const V& c) {
    if (f.string(c, "type") == "Ready") pod.ready = f.string(c, "status") == "True";
    if (f.string(c, "type") != "DisruptionTarget" || f.string(c, "status") != "True") return;
    if (f.string(c, "reason") == kPreemptedByScheduler) pod.eviction = f.string(c, "message");
  });
  pod.nominated = f.string(status, "nominatedNodeName");
  if (pod.phase == PodPhase::kSucceeded) {
    f.list(status, "containerStatuses", [&](const V& c) {
      pod.ended = std::max(pod.ended, f.time(f.map(f.map(c, "state"), "terminated"), "finishedAt"));
    });
  }
  // One of a manifest is still to be taken in.
  const bool is_new = !f.map(object, "metadata").find("uid").present();
  read_scheduling_group(f, spec, pod.meta);
  pod.spec = read_pod_spec(f, spec, status, pod.meta, is_new ? &pod.needs : nullptr);
  name_in_full(pod.meta, pod.spec.scheduler_name);
  if (!pod.spec.node_name.empty()) pod.started = read_start(f, status, pod.meta.created);
  return pod;
}

// The taints that the node lifecycle controller sets for conditions. In a cluster the taints are there as well; a manifest may lack
// them.
template <class V>
void taint_by_conditions(FieldReader<V>& f, const V& status, std::vector<Taint>& taints) {
  struct Rule {
    std::string_view condition, status, taint;
    bool also_no_execute;
  };
  static constexpr Rule kRules[] = {
      {"Ready", "False", "node.kubernetes.io/not-ready", true},
      {"Ready", "Unknown", "node.kubernetes.io/unreachable", true},
      {"MemoryPressure", "True", "node.kubernetes.io/memory-pressure", false},
      {"DiskPressure", "True", "node.kubernetes.io/disk-pressure", false},
      {"PIDPressure", "True", "node.kubernetes.io/pid-pressure", false},
      {"NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable", false}};
  const auto add = [&](std::string_view key, TaintEffect effect) {
    const bool there = std::any_of(taints.begin(), taints.end(),
                                   [&](const Taint& t) { return t.key == key && t.effect == effect; });
    if (!there) taints.push_back(Taint{std::string(key), {}, effect});
  };
  f.list(status, "conditions", [&](const V& c) {
    for (const Rule& rule : kRules) {
      if (f.string(c, "type") != rule.condition || f.string(c, "status") != rule.status) continue;
      add(rule.taint, TaintEffect::kNoSchedule);
      if (rule.also_no_execute) add(rule.taint, TaintEffect::kNoExecute);
    }
  });
}

template <class V>
NodeObject read_node(FieldReader<V>& f, const V& object) {
  NodeObject node;
  node.meta = read_meta(f, object, Kind::kNode, true);
  const V spec = f.map(object, "spec");
  node.unschedulable = f.boolean(spec, "unschedulable", false);
  node.taints = read_taints(f, spec, "taints");
  const V status = f.map(object, "status");
  taint_by_conditions(f, status, node.taints);
  read_declared_features(f, status, node.meta.labels);
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

}  // namespace berth::dialect

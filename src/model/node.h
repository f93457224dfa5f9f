// Nodes, their devices, topologies and flavors as values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/enums.h"
#include "base/shared.h"
#include "base/time.h"
#include "model/labels.h"
#include "model/ports.h"
#include "model/resources.h"

namespace berth {

// Equal devices of one node.
struct DevicePool {
  std::string resource = "nvidia.com/gpu";
  std::int64_t count = 0;
  std::string model;
  std::vector<std::int64_t> unhealthy;  // indices of devices that take no work

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("resource", s.resource);
    v("count", s.count);
    v("model", s.model);
    v("unhealthy", s.unhealthy);
  }
  bool operator==(const DevicePool&) const = default;
};

// A node. One engine decides for one cluster, so names are enough (docs/contributors/architecture.md, "Several clusters").
struct Node {
  std::string name;
  Labels labels;
  std::vector<Taint> taints;
  bool unschedulable = false;
  ResourceList allocatable;  // without the devices of the pools
  std::vector<DevicePool> devices;
  std::optional<std::int64_t> rank;  // lower wins where all else is equal; absent = order of arrival
  ResourceList attachable;  // volumes that it can attach, by driver; one that is not here has no limit

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
    v("labels", s.labels);
    v("taints", s.taints);
    v("unschedulable", s.unschedulable);
    v("allocatable", s.allocatable);
    v("devices", s.devices);
    v("rank", s.rank);
    v("attachable", s.attachable);
  }
  bool operator==(const Node&) const = default;
};

// Node labels, widest first: a domain is one path of values. The deepest level may be the host itself.
struct Topology {
  std::string name;
  std::vector<std::string> levels;

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
    v("levels", s.levels);
  }
  bool operator==(const Topology&) const = default;
};

// A class of nodes with a quota of its own (Kueue's ResourceFlavor). Work that is charged to it runs on nodes with these labels;
// its tolerations are added to the pods.
struct Flavor {
  std::string name;
  Labels node_labels;
  std::vector<Taint> node_taints;
  std::vector<Toleration> tolerations;
  std::string topology;
  bool opaque = false;  // quota without known nodes: its work gets quota and no place

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("name", s.name);
    v("node_labels", s.node_labels);
    v("node_taints", s.node_taints);
    v("tolerations", s.tolerations);
    v("topology", s.topology);
    v("opaque", s.opaque);
  }
  bool operator==(const Flavor&) const = default;
};

// Room of a node that something outside Berth uses: another scheduler's pod, a static pod, a daemon.
struct ForeignPod {
  std::string uid;
  std::string node;
  ResourceList requests;
  std::vector<DeviceRequest> devices;
  std::vector<HostPort> ports;
  std::vector<CountedTerm> terms;     // as PodTemplate::terms
  std::vector<std::string> selected;  // and PodTemplate::selected
  bool ending = false;                // it is being deleted: it has its room, and a spread does not count it
  ResourceList attaches;              // as PodTemplate::attaches
  std::vector<SharedVolume> mounts;   // and PodTemplate::mounts
  Shared<std::vector<PreferredCountedTerm>> preferred_terms;  // and PodTemplate::preferred_terms; no spreads

  template <class Self, class Visitor>
  static void fields(Self& s, Visitor&& v) {
    v("uid", s.uid);
    v("node", s.node);
    v("requests", s.requests);
    v("devices", s.devices);
    v("ports", s.ports);
    v("terms", s.terms);
    v("selected", s.selected);
    v("ending", s.ending);
    v("attaches", s.attaches);
    v("mounts", s.mounts);
    v("preferred_terms", s.preferred_terms);
  }
  bool operator==(const ForeignPod&) const = default;
};

}  // namespace berth

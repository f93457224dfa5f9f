// The claims, volumes and classes that are known, and what they mean for pods. A pod goes where its volumes can be used, or it waits.
// The plugins VolumeBinding and VolumeZone of the default scheduler have the same rules.
//
// A claim that is bound keeps its pods to the nodes of its volume. These are the nodes of the volume's node affinity. Older volumes have
// labels of zones and regions beside it. Pods wait for a claim that is missing, lost, being deleted or not bound. One with
// ReadWriteOncePod is for one pod at a time (VolumeRestrictions). A volume of CSI counts against the limit of its driver on the node
// (NodeVolumeLimits).
//
// The book knows no pods: a change gives the claims for which it matters. Cost: O(log n) for a claim or a volume, O(claims) for a class.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/upstream/objects.h"
#include "dialect/volumes/objects.h"

namespace berth::dialect {

// The meaning of all claims of one pod.
struct ClaimsFound {
  std::string waits;         // why the pod cannot start yet; "": it can
  bool unsupported = false;  // of `waits`: Berth does not do it
  std::vector<VolumeNodes> nodes;
  std::map<std::string, std::string> attached;  // volumes that CSI attaches to its node, and their drivers
  std::vector<std::string>
      alone;  // "claim <namespace>/<name>": one pod at a time may use it (ReadWriteOncePod)
};

class VolumeBook {
 public:
  using Keys = std::vector<std::string>;  // namespace/name of claims that are others than before

  Keys put(PersistentVolumeClaim&& claim);
  Keys put(PersistentVolume&& volume);
  Keys put(StorageClass&& klass);
  Keys remove(Kind kind, std::string_view ns, std::string_view name);

  // The claims of a pod. `pod` has its name and uid, or none: then it is a template, and claims that are made for single pods are left out.
  ClaimsFound look_up(const std::vector<ClaimUse>& uses, const Meta& pod) const;

 private:
  template <class T>
  using ByName = std::map<std::string, T, std::less<>>;

  Keys keys_of_class(std::string_view name) const;
  const StorageClass* class_of(const PersistentVolumeClaim& claim) const;
  void look_up(const ClaimUse& use, const std::string& claim, const Meta& pod, ClaimsFound& out) const;
  void say_unbound(const PersistentVolumeClaim& claim, ClaimsFound& out) const;
  static void add_nodes(const PersistentVolume& volume, const std::string& what, ClaimsFound& out);

  ByName<PersistentVolumeClaim> claims_;  // ns/name
  ByName<PersistentVolume> volumes_;
  ByName<StorageClass> classes_;
  ByName<std::set<std::string>> claims_of_;  // by the volume that they name
};

// The claim that a pod of this name mounts; "": it is not known without the name.
std::string claim_of(const ClaimUse& use, std::string_view pod);

}  // namespace berth::dialect

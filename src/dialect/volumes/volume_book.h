// The claims, volumes and classes that are known, and what they mean for pods. A pod goes where its volumes can be used, or it waits.
// The plugins VolumeBinding and VolumeZone of the default scheduler have the same rules.
//
// A claim that is bound keeps its pods to the nodes of its volume. These are the nodes of the volume's node affinity. Older volumes have
// labels of zones and regions beside it. Pods wait for a claim that is missing, lost, being deleted or not bound. One with
// ReadWriteOncePod is for one pod at a time (VolumeRestrictions). A volume of CSI counts against the limit of its driver on the node
// (NodeVolumeLimits).
//
// A claim of a class with WaitForFirstConsumer may not be bound yet. It keeps its pods to the nodes for which a volume can be made
// (class_book.h), or to the node that is written on it. Nodes for which it was not made lately are out.
//
// The book knows no pods: a change gives the claims for which it matters. Cost: O(log n) for a claim or a volume, O(claims) for a class, a driver or a capacity.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/upstream/objects.h"
#include "dialect/volumes/claim_step.h"
#include "dialect/volumes/class_book.h"
#include "dialect/volumes/objects.h"

namespace berth::dialect {

class VolumeBook {
 public:
  using Keys = std::vector<std::string>;  // namespace/name of claims that are others than before

  Keys put(PersistentVolumeClaim&& claim);
  Keys put(PersistentVolume&& volume);
  Keys put(StorageClass&& klass);
  Keys put(CsiDriver&& driver);
  Keys put(CsiStorageCapacity&& capacity);
  Keys remove(Kind kind, std::string_view ns, std::string_view name);

  // The claims of a pod. `pod` has its name and uid, or none: then it is a template. A claim that
  // is made for each pod is known by its class alone.
  ClaimsFound look_up(const std::vector<ClaimUse>& uses, const Meta& pod) const;
  // The claims of this pod that need something before it is bound to the node. `labels`: step_of().
  std::vector<ClaimStep> steps(const std::vector<ClaimUse>& uses, const Meta& pod, const std::string& node,
                               const Labels* labels) const;
  // Whether a claim of a template is not bound yet, or is made for each pod.
  bool are_open(const std::string& ns, const std::vector<ClaimUse>& uses) const;
  // The volume of the claim (namespace/name) was not made for these nodes, and is not to be tried there now.
  Keys refuse(const std::string& claim, std::set<std::string> nodes);

 private:
  template <class T>
  using ByName = std::map<std::string, T, std::less<>>;

  Keys keys_of(const ClassBook::Changes& changes) const;
  void look_up(const ClaimUse& use, const std::string& claim, const Meta& pod, ClaimsFound& out) const;
  void look_up_template(const ClaimUse& use, const Meta& pod, ClaimsFound& out) const;
  void look_up_unbound(const PersistentVolumeClaim& claim, const std::string& what, ClaimsFound& out) const;
  void add_nodes_of_class(const PersistentVolumeClaim& claim, const StorageClass& klass,
                          const std::string& what, ClaimsFound& out) const;
  static void add_nodes(const PersistentVolume& volume, const std::string& what, ClaimsFound& out);

  ByName<PersistentVolumeClaim> claims_;  // ns/name
  ByName<PersistentVolume> volumes_;
  ClassBook classes_;
  ByName<std::set<std::string>> claims_of_;  // by the volume that they name
  ByName<std::set<std::string>> refused_;    // nodes, by claim
};

// The claim that a pod of this name mounts; "": it is not known without the name.
std::string claim_of(const ClaimUse& use, std::string_view pod);

}  // namespace berth::dialect

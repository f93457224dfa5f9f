// The claims, volumes and classes that are known, and what they mean for pods. A pod goes where its volumes can be used, or it waits.
// The plugins VolumeBinding and VolumeZone of the default scheduler have the same rules.
//
// A claim that is bound keeps its pods to the nodes of its volume. These are the nodes of the volume's node affinity. Older volumes have
// labels of zones and regions beside it. Pods wait for a claim that is missing, lost, being deleted or not bound. One with
// ReadWriteOncePod is for one pod at a time (VolumeRestrictions). A volume of CSI counts against the limit of its driver on the node
// (NodeVolumeLimits).
//
// A claim of a class with WaitForFirstConsumer may not be bound yet. It keeps its pods to nodes of these kinds, or to the node that is written
// on it:
//   - nodes that have a free volume for it (available_volumes.h)
//   - nodes for which a volume can be made (class_book.h)
// Nodes on which it found no volume lately are out. When its pods have their places, keep() chooses a free volume there. From then on the
// claim keeps its pods to the nodes of the volume, and others do not count on it. A volume with the claim in its claimRef is the same. The
// choice of keep() is not on the server. It is given up with release(), or if the volume is gone, or another claim has it.
//
// The book knows no pods: a change gives the claims for which it matters. Claims that are alike learn the same, and only what they learn
// matters. Cost: O(log n) for a claim. O(kinds of open claims x free volumes of the class) for a volume. O(claims) for a class, a driver or
// a capacity.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dialect/upstream/objects.h"
#include "dialect/volumes/available_volumes.h"
#include "dialect/volumes/claim_step.h"
#include "dialect/volumes/class_book.h"
#include "dialect/volumes/objects.h"

namespace berth::dialect {

// In the place of a claim: those that Kubernetes makes for each pod, as their classes, drivers and volumes have them.
inline constexpr std::string_view kMadeClaims = "*";

class VolumeBook {
 public:
  // namespace/name of claims that are others than before, or what is there for them; also kMadeClaims
  using Keys = std::vector<std::string>;

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

  // A pod that has its place.
  struct Placed {
    const std::vector<ClaimUse>* uses = nullptr;
    const Meta* pod = nullptr;
    std::string node;
    const Labels* labels = nullptr;  // nullptr: there is no such node
  };
  // The driver's own name of a PersistentVolume, or its own name. Two of them that name one volume of a driver are one on a node.
  std::string name_of(std::string_view persistent_volume) const;
  // Chooses free volumes for the claims of these pods that have none yet, a volume for one claim. Claims for which none is left stay so.
  Keys keep(const std::vector<Placed>& pods);
  // The claims wait no longer: what was chosen for them, and is not written, is free again.
  Keys release(const std::set<std::string>& claims);
  // Several pods may mount the claim. It is not counted (available_volumes.h), since they need one volume together.
  // They need one node, too, if it is local. If CSI attaches it, it counts once on a node.
  Keys set_shared(const std::string& claim, bool shared);
  const AvailableVolumes& available() const { return available_; }
  std::set<std::string> take_changed_places() { return available_.take_changed_places(); }

 private:
  template <class T>
  using ByName = std::map<std::string, T, std::less<>>;

  Keys keys_of(const ClassBook::Changes& changes) const;
  void look_up(const ClaimUse& use, const std::string& claim, const Meta& pod, ClaimsFound& out) const;
  void look_up_template(const ClaimUse& use, const Meta& pod, ClaimsFound& out) const;
  void look_up_unbound(const PersistentVolumeClaim& claim, const std::string& what, ClaimsFound& out) const;
  void add_nodes_of_class(const PersistentVolumeClaim& claim, const StorageClass& klass,
                          const std::string& what, ClaimsFound& out) const;
  void add_made(const PersistentVolumeClaim& claim, const StorageClass& klass, ClaimsFound& out) const;
  static void add_nodes(const PersistentVolume& volume, const std::string& what, ClaimsFound& out);
  // volume_choice.cc
  void add_nodes_by_hand(const PersistentVolumeClaim& claim, const StorageClass& klass,
                         const std::string& what, ClaimsFound& out) const;
  void add_nodes_made_or_free(const PersistentVolumeClaim& claim, const StorageClass& klass,
                              const std::string& what, ClaimsFound& out) const;
  VolumeWish wish_of(const PersistentVolumeClaim& claim) const;
  // An existing volume that is for the claim; nullptr: none.
  const PersistentVolume* volume_for(const PersistentVolumeClaim& claim) const;
  // Whether a volume is to be chosen for the claim, or made.
  bool is_to_choose(const PersistentVolumeClaim& claim) const;
  bool is_free_now(const PersistentVolume& volume) const;
  void renew_free(const PersistentVolume& volume, std::set<std::string>& keys);
  void give_up(const std::string& claim, std::set<std::string>& keys);
  void note_free(const std::string& name, bool free, std::set<std::string>& keys);
  void forget_told();
  void index_open(const std::string& key, const PersistentVolumeClaim& claim, bool in);
  void index_reserved(const PersistentVolume& volume, bool in);

  ByName<PersistentVolumeClaim> claims_;  // ns/name
  ByName<PersistentVolume> volumes_;
  ClassBook classes_;
  ByName<std::set<std::string>> claims_of_;  // by the volume that they name
  ByName<std::set<std::string>> refused_;    // nodes, by claim
  AvailableVolumes available_;
  // Claims that are not bound, and alike in what they ask of a volume. `told`: what they have learnt of free ones; nullptr: it may be
  // anything.
  struct Alike {
    std::set<std::string> claims;
    std::shared_ptr<const FreeVolumes> told;
  };
  ByName<std::map<std::string, Alike>> open_;  // by the class that they name, and by what they ask for
  ByName<std::set<std::string>> reserved_;     // volumes with the claim in their claimRef, by claim
  std::set<std::string, std::less<>> shared_;  // claims
};

// The claim that a pod of this name mounts; "": it is not known without the name.
std::string claim_of(const ClaimUse& use, std::string_view pod);

}  // namespace berth::dialect

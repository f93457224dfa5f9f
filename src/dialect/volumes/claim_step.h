// The claims of a pod: their meaning for its place, and the needs of each before a pod that has its place is bound. Pure. The plugin
// VolumeBinding of the default scheduler does the same (PreBind). It writes the claim on an existing volume that suits it, or else the node
// on the claim, and waits until the claim is bound.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/enums.h"
#include "dialect/volumes/objects.h"

namespace berth::dialect {

// The annotation of a claim with the node for which its volume is made. A provisioner that cannot make it there removes it.
inline constexpr std::string_view kSelectedNode = "volume.kubernetes.io/selected-node";

// A volume that CSI attaches.
struct Attached {
  std::string driver;
  bool shared = false;  // several pods may mount it
  bool operator==(const Attached&) const = default;
};

// The meaning of all claims of one pod.
struct ClaimsFound {
  std::string waits;  // why the pod cannot start yet; "": it can
  std::vector<VolumeNodes> nodes;
  std::map<std::string, Attached> attached;  // to its node, by VolumeBook::name_of or by claim
  std::vector<std::string> counted;          // it takes one of each of these counts (available_volumes.h)
  std::vector<std::string> together;  // "<namespace>/<name>": its pods need one node, for one local volume
  std::vector<std::string>
      alone;  // "claim <namespace>/<name>": one pod at a time may use it (ReadWriteOncePod)
};

enum class ClaimNeed : std::uint8_t {
  kNone,       // the pod can use it on its node
  kNode,       // the node is to be written on it
  kVolume,     // it is to be written on the volume that was chosen for it
  kTime,       // a provisioner, or Kubernetes, is at work
  kPlace,      // it cannot be used on the node: the pod needs another place, or waits
  kElsewhere,  // no volume on the node is left for it
};

struct ClaimStep {
  ClaimNeed need = ClaimNeed::kNone;
  std::string ns;
  std::string name;
  std::string uid;
  std::string version;   // of the object to write, the claim or its volume, as it is known
  std::string selected;  // the node that is written on it; "": none
  std::string volume;    // an existing one that is for it; "": none
  std::string volume_uid;
  std::string why;  // "claim data is being provisioned for node n1"
};

// One claim as a pod finds it.
struct ClaimFacts {
  const PersistentVolumeClaim* claim = nullptr;  // nullptr: it does not exist
  bool to_come = false;                          // Kubernetes makes it for the pod
  bool foreign = false;                          // it has the name of the pod's own, and is another's
  const PersistentVolume* volume = nullptr;      // an existing one that is for it
  bool chosen = false;                           // `volume` is so by Berth's choice alone
  std::string by_hand;                           // its class, which makes no volumes; "": it does
  ClaimsFound found;                             // of this claim alone
};

// `labels`: of the node; nullptr: there is no such node any more, and nothing is said about it.
ClaimStep step_of(const ClaimFacts& facts, const std::string& node, const Labels* labels);

}  // namespace berth::dialect

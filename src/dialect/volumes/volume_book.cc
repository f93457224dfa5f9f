#include "dialect/volumes/volume_book.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "dialect/volumes/volume_nodes.h"

namespace berth::dialect {
namespace {

std::string key_of_claim(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}

// The claims that name each volume.
using Users = std::map<std::string, std::set<std::string>, std::less<>>;

void forget_user(Users& users, const std::string& volume, const std::string& claim) {
  const auto it = users.find(volume);
  if (it == users.end()) return;
  it->second.erase(claim);
  if (it->second.empty()) users.erase(it);
}

VolumeBook::Keys users_of(const Users& users, std::string_view volume) {
  const auto it = users.find(volume);
  return it == users.end() ? VolumeBook::Keys() : VolumeBook::Keys(it->second.begin(), it->second.end());
}

// Kubernetes' own names of provisioners, and the drivers that serve their volumes today.
std::string driver_of(const StorageClass& klass) {
  static constexpr std::pair<std::string_view, std::string_view> kTakenOver[] = {
      {"kubernetes.io/aws-ebs", "ebs.csi.aws.com"},
      {"kubernetes.io/azure-disk", "disk.csi.azure.com"},
      {"kubernetes.io/azure-file", "file.csi.azure.com"},
      {"kubernetes.io/cinder", "cinder.csi.openstack.org"},
      {"kubernetes.io/gce-pd", "pd.csi.storage.gke.io"},
      {"kubernetes.io/portworx-volume", "pxd.portworx.com"},
      {"kubernetes.io/vsphere-volume", "csi.vsphere.vmware.com"},
  };
  for (const auto& [provisioner, driver] : kTakenOver) {
    if (klass.provisioner == provisioner) return std::string(driver);
  }
  return klass.provisioner;
}

// 0: it is none. Larger is later (KEP-5504).
std::uint64_t number_of(std::string_view version) {
  std::uint64_t out = 0;
  std::from_chars(version.data(), version.data() + version.size(), out);
  return out;
}

// An answer to a write may come before the watch shows what was before it.
bool is_older(const PersistentVolumeClaim& claim, const PersistentVolumeClaim& known) {
  const std::uint64_t version = number_of(claim.version);
  return known.meta.uid == claim.meta.uid && version > 0 && version < number_of(known.version);
}

bool is_made_for(const PersistentVolumeClaim& claim, const Meta& pod) {
  const Owner& owner = claim.meta.controller;
  return owner.kind == "Pod" && owner.name == pod.name && (owner.uid.empty() || owner.uid == pod.uid);
}

// The claim of a StatefulSet's pod, and one that is made for a pod, are of one pod. Pods that are alike have
// the same words.
std::string what_of(const ClaimUse& use, const std::string& claim, std::string_view pod) {
  const bool is_own = use.ephemeral || claim == fmt::format("{}-{}", use.volume, pod);
  return is_own ? fmt::format("volume {}", use.volume) : fmt::format("claim {}", claim);
}

}  // namespace

std::string claim_of(const ClaimUse& use, std::string_view pod) {
  if (!use.ephemeral) return use.claim;
  return pod.empty() ? std::string() : fmt::format("{}-{}", pod, use.volume);
}

VolumeBook::Keys VolumeBook::put(PersistentVolumeClaim&& claim) {
  const std::string key = key_of_claim(claim.meta.ns, claim.meta.name);
  PersistentVolumeClaim& known = claims_[key];
  const auto parts = [](const PersistentVolumeClaim& c) {
    return std::tie(c.meta.uid, c.meta.deleting, c.meta.controller, c.volume, c.storage_class, c.bound,
                    c.lost, c.selected_node, c.size, c.needs);
  };
  if (is_older(claim, known)) return {};
  if (parts(known) == parts(claim)) {
    const bool is_news = !claim.bound && known.version != claim.version;  // what is written on it names it
    known.version = std::move(claim.version);
    return is_news ? Keys{key} : Keys();
  }
  std::set<std::string> keys{key};
  const bool asks_the_same = known.meta.uid == claim.meta.uid && known.size == claim.size &&
                             known.needs == claim.needs && known.storage_class == claim.storage_class;
  index_open(key, known, false);
  index_open(key, claim, true);
  if (known.volume != claim.volume) forget_user(claims_of_, known.volume, key);
  if (!claim.volume.empty()) claims_of_[claim.volume].insert(key);
  const std::string former = std::exchange(known, std::move(claim)).volume;
  if (known.bound || known.meta.deleting || !asks_the_same) give_up(key, keys);
  for (const std::string& name : {former, known.volume}) {
    if (const auto of = volumes_.find(name); of != volumes_.end()) renew_free(of->second, keys);
  }
  return {keys.begin(), keys.end()};
}

VolumeBook::Keys VolumeBook::put(PersistentVolume&& volume) {
  const std::string name = volume.meta.name;
  const auto where = [](const PersistentVolume& v) {
    return std::tie(v.nodes, v.meta.labels, v.driver, v.handle, v.storage_class, v.size, v.modes, v.block,
                    v.attributes, v.labels, v.meta.uid);
  };
  const auto whose = [](const PersistentVolume& v) {
    return std::tie(v.available, v.claim, v.claim_uid, v.meta.deleting);
  };
  const auto it = volumes_.find(name);
  std::set<std::string> keys;
  if (it == volumes_.end()) {
    PersistentVolume& fresh = volumes_[name];
    fresh = std::move(volume);
    index_reserved(fresh, true);
    available_.add(fresh);
    available_.set_free(fresh, is_free_now(fresh));
    note_free(fresh.storage_class, available_.is_free(fresh), keys);
    if (!fresh.claim.empty()) keys.insert(fresh.claim);
    for (std::string& key : users_of(claims_of_, name)) keys.insert(std::move(key));
    return {keys.begin(), keys.end()};
  }
  PersistentVolume& known = it->second;
  const std::string kept_for = available_.claim_of(known);
  // A volume that is taken has no labels here, and lacks them as it did while it was free.
  if (!volume.available && known.nodes == volume.nodes) known.labels = volume.labels;
  const bool same_place = where(known) == where(volume);
  if (same_place && whose(known) == whose(volume)) {
    known.version = std::move(volume.version);
    return kept_for.empty() ? Keys() : Keys{kept_for};  // what is written on it names its version
  }
  if (!kept_for.empty()) give_up(kept_for, keys);
  for (const PersistentVolume* state : {&known, &volume}) {
    if (!state->claim.empty()) keys.insert(state->claim);
  }
  index_reserved(known, false);
  const bool was_free = available_.is_free(known);
  if (!same_place) available_.remove(known);
  const std::string former_class = std::exchange(known, std::move(volume)).storage_class;
  index_reserved(known, true);
  if (same_place) {
    renew_free(known, keys);
  } else {
    available_.add(known);
    available_.set_free(known, is_free_now(known));
    note_free(known.storage_class, was_free || available_.is_free(known), keys);
    if (former_class != known.storage_class) note_free(former_class, was_free, keys);
    for (std::string& key : users_of(claims_of_, name)) keys.insert(std::move(key));
  }
  return {keys.begin(), keys.end()};
}

VolumeBook::Keys VolumeBook::put(StorageClass&& klass) {
  forget_told();
  available_.set_by_hand(klass.meta.name, is_by_hand(klass));
  return keys_of(classes_.put(std::move(klass)));
}

VolumeBook::Keys VolumeBook::put(CsiDriver&& driver) {
  return keys_of(classes_.put(std::move(driver)));
}

VolumeBook::Keys VolumeBook::put(CsiStorageCapacity&& capacity) {
  return keys_of(classes_.put(std::move(capacity)));
}

// Those that are bound do not ask their class, unless their volume is gone.
VolumeBook::Keys VolumeBook::keys_of(const ClassBook::Changes& changes) const {
  Keys out;
  if (changes.empty()) return out;
  for (const auto& [key, claim] : claims_) {
    const auto concerns = [&](const ClassBook::Change& change) {
      return (!claim.storage_class || *claim.storage_class == change.klass) && claim.size > change.above &&
             claim.size <= change.most;
    };
    const bool asks = !claim.bound || !volumes_.contains(claim.volume);
    if (asks && std::any_of(changes.begin(), changes.end(), concerns)) out.push_back(key);
  }
  return out;
}

VolumeBook::Keys VolumeBook::refuse(const std::string& claim, std::set<std::string> nodes) {
  const auto it = refused_.find(claim);
  if (it == refused_.end() ? nodes.empty() : it->second == nodes) return {};
  if (nodes.empty()) {
    refused_.erase(it);
  } else {
    refused_.insert_or_assign(claim, std::move(nodes));
  }
  return {claim};
}

VolumeBook::Keys VolumeBook::remove(Kind kind, std::string_view ns, std::string_view name) {
  if (kind == Kind::kPersistentVolumeClaim) {
    const auto it = claims_.find(key_of_claim(ns, name));
    if (it == claims_.end()) return {};
    std::set<std::string> keys{it->first};
    const std::string key = it->first;
    const std::string volume = it->second.volume;
    give_up(key, keys);
    index_open(key, it->second, false);
    forget_user(claims_of_, volume, key);
    claims_.erase(it);
    if (const auto of = volumes_.find(volume); of != volumes_.end()) renew_free(of->second, keys);
    return {keys.begin(), keys.end()};
  }
  if (kind == Kind::kPersistentVolume) {
    const auto it = volumes_.find(name);
    if (it == volumes_.end()) return {};
    std::set<std::string> keys;
    for (std::string& key : users_of(claims_of_, name)) keys.insert(std::move(key));
    if (const std::string claim = available_.claim_of(it->second); !claim.empty()) give_up(claim, keys);
    if (!it->second.claim.empty()) keys.insert(it->second.claim);
    index_reserved(it->second, false);
    const bool was_free = available_.is_free(it->second);
    available_.remove(it->second);
    const std::string klass = it->second.storage_class;
    volumes_.erase(it);
    note_free(klass, was_free, keys);
    return {keys.begin(), keys.end()};
  }
  if (kind == Kind::kStorageClass) {
    forget_told();
    available_.set_by_hand(std::string(name), false);
  }
  return keys_of(classes_.remove(kind, ns, name));
}

std::string VolumeBook::name_of(std::string_view persistent_volume) const {
  const auto known = volumes_.find(persistent_volume);
  if (known == volumes_.end() || known->second.handle.empty()) return std::string(persistent_volume);
  return fmt::format("{}/{}", known->second.driver, known->second.handle);
}

ClaimsFound VolumeBook::look_up(const std::vector<ClaimUse>& uses, const Meta& pod) const {
  ClaimsFound out;
  for (const ClaimUse& use : uses) {
    const std::string claim = claim_of(use, pod.name);
    claim.empty() ? look_up_template(use, pod, out) : look_up(use, claim, pod, out);
  }
  return out;
}

std::vector<ClaimStep> VolumeBook::steps(const std::vector<ClaimUse>& uses, const Meta& pod,
                                         const std::string& node, const Labels* labels) const {
  std::vector<ClaimStep> out;
  for (const ClaimUse& use : uses) {
    const std::string claim = claim_of(use, pod.name);
    const auto known = claims_.find(key_of_claim(pod.ns, claim));
    ClaimFacts facts;
    if (known != claims_.end()) facts.claim = &known->second;
    facts.to_come = use.ephemeral;
    facts.foreign = use.ephemeral && facts.claim != nullptr && !is_made_for(*facts.claim, pod);
    look_up(use, claim, pod, facts.found);
    if (facts.claim != nullptr && is_to_choose(*facts.claim)) {
      facts.volume = volume_for(*facts.claim);
      facts.chosen = facts.volume != nullptr && facts.volume == available_.kept_for(known->first);
      const StorageClass& klass = *classes_.of(*facts.claim);
      if (is_by_hand(klass)) facts.by_hand = klass.meta.name;
    }
    ClaimStep step = step_of(facts, node, labels);
    if (step.need == ClaimNeed::kNone) continue;
    step.ns = pod.ns;
    step.name = claim;
    out.push_back(std::move(step));
  }
  return out;
}

bool VolumeBook::are_open(const std::string& ns, const std::vector<ClaimUse>& uses) const {
  return std::any_of(uses.begin(), uses.end(), [&](const ClaimUse& use) {
    if (use.ephemeral) return true;
    const auto known = claims_.find(key_of_claim(ns, use.claim));
    return known == claims_.end() || !known->second.bound;
  });
}

void VolumeBook::look_up(const ClaimUse& use, const std::string& claim, const Meta& pod,
                         ClaimsFound& out) const {
  const auto wait = [&](std::string why) {
    if (out.waits.empty()) out.waits = std::move(why);
  };
  const auto known = claims_.find(key_of_claim(pod.ns, claim));
  if (known == claims_.end()) {
    if (use.ephemeral) look_up_template(use, pod, out);
    return wait(use.ephemeral
                    ? fmt::format("claim {} does not exist yet: Kubernetes makes it for the volume {}", claim,
                                  use.volume)
                    : fmt::format("claim {} does not exist in namespace {}: create it, or correct the name",
                                  claim, pod.ns));
  }
  const PersistentVolumeClaim& it = known->second;
  if (it.is_for_one_pod()) out.alone.push_back(fmt::format("claim {}", known->first));
  if (use.ephemeral && !is_made_for(it, pod))
    return wait(fmt::format("claim {} is not this pod's, and its volume {} needs that name: delete the claim",
                            claim, use.volume));
  const auto volume = volumes_.find(it.volume);
  if (volume != volumes_.end() && !volume->second.driver.empty()) {
    out.attached.emplace(name_of(it.volume), Attached{volume->second.driver, shared_.contains(known->first)});
  } else if (const StorageClass* klass = classes_.of(it);
             volume == volumes_.end() && !it.volume.empty() && klass != nullptr) {
    add_made(it, *klass, out);  // a pod that runs may have it, although its object is gone
  }
  if (it.lost)
    return wait(
        fmt::format("claim {} has lost its PersistentVolume {}: delete the claim, and create it again", claim,
                    it.volume));
  if (it.meta.deleting)
    return wait(fmt::format("claim {} is being deleted: create it again when it is gone", claim));
  if (!it.bound) return look_up_unbound(it, what_of(use, claim, pod.name), out);
  if (volume == volumes_.end())
    return wait(fmt::format("PersistentVolume {} of claim {} does not exist: create it again, or the claim",
                            it.volume, claim));
  add_nodes(volume->second, what_of(use, claim, pod.name), out);
}

void VolumeBook::look_up_unbound(const PersistentVolumeClaim& claim, const std::string& what,
                                 ClaimsFound& out) const {
  const std::string& name = claim.meta.name;
  const StorageClass* klass = classes_.of(claim);
  std::string why;
  if (!claim.volume.empty()) {
    why = fmt::format("claim {} is not bound to its PersistentVolume {} yet: see the events of the claim",
                      name, claim.volume);
  } else if (klass != nullptr && is_by_hand(*klass) && !claim.selected_node.empty()) {
    why = fmt::format(
        "claim {} names a node for its volume, but its StorageClass {} makes none (no provisioner): take the "
        "annotation {} off",
        name, klass->meta.name, kSelectedNode);
  } else if (klass != nullptr && klass->waits) {
    return add_nodes_of_class(claim, *klass, what, out);
  } else if (klass != nullptr) {
    why = fmt::format(
        "claim {} is not bound yet: StorageClass {} makes a volume for it, or see the "
        "events of the claim",
        name, klass->meta.name);
  } else if (claim.storage_class.value_or("").empty()) {
    why =
        fmt::format("claim {} is not bound, and has no StorageClass: create a PersistentVolume for it", name);
  } else {
    why = fmt::format(
        "claim {} is not bound, and its StorageClass {} does not exist: create the class, "
        "or a PersistentVolume for the claim",
        name, *claim.storage_class);
  }
  if (out.waits.empty()) out.waits = std::move(why);
}

// A claim that Kubernetes is to make for the pod, or for pods that are to come.
void VolumeBook::look_up_template(const ClaimUse& use, const Meta& pod, ClaimsFound& out) const {
  PersistentVolumeClaim claim;
  claim.meta.ns = pod.ns;
  claim.meta.name = fmt::format("{}-{}", pod.name, use.volume);
  claim.storage_class = use.storage_class;
  claim.size = use.size;
  claim.needs = use.needs;
  const StorageClass* klass = classes_.of(claim);
  if (klass != nullptr && klass->waits) look_up_unbound(claim, fmt::format("volume {}", use.volume), out);
}

// A volume is chosen, or made, when a pod has its place.
void VolumeBook::add_nodes_of_class(const PersistentVolumeClaim& claim, const StorageClass& klass,
                                    const std::string& what, ClaimsFound& out) const {
  const std::string key = key_of_claim(claim.meta.ns, claim.meta.name);
  const bool by_hand = is_by_hand(klass);
  if (const auto refused = refused_.find(key); refused != refused_.end()) {
    std::vector<std::string> nodes(refused->second.begin(), refused->second.end());
    std::string words = fmt::format("{} ({} {} lately)", what, by_hand ? "got no volume on" : "not made for",
                                    fmt::join(nodes, ", "));
    out.nodes.push_back(
        {std::move(words), {{{}, {{"metadata.name", SelectorOp::kNotIn, std::move(nodes)}}}}});
  }
  if (claim.selected_node.empty()) {
    if (const PersistentVolume* volume = volume_for(claim); volume != nullptr) {
      if (!volume->driver.empty())
        out.attached.emplace(name_of(volume->meta.name), Attached{volume->driver, shared_.contains(key)});
      return add_nodes(*volume, what, out);
    }
  }
  if (by_hand) return add_nodes_by_hand(claim, klass, what, out);
  add_made(claim, klass, out);
  if (!claim.selected_node.empty()) {
    std::vector<SelectorTerm> there{{{}, {{"metadata.name", SelectorOp::kIn, {claim.selected_node}}}}};
    std::string words = fmt::format("{} (being provisioned for node {})", what, claim.selected_node);
    out.nodes.push_back({std::move(words), std::move(there)});
    return;
  }
  add_nodes_made_or_free(claim, klass, what, out);
}

void VolumeBook::add_made(const PersistentVolumeClaim& claim, const StorageClass& klass,
                          ClaimsFound& out) const {
  const std::string key = key_of_claim(claim.meta.ns, claim.meta.name);
  if (const std::string driver = driver_of(klass); !driver.empty())
    out.attached.emplace(fmt::format("claim {}", key), Attached{driver, shared_.contains(key)});
}

void VolumeBook::add_nodes(const PersistentVolume& volume, const std::string& what, ClaimsFound& out) {
  for (NodesOfVolume& nodes : conditions_of(volume)) {
    std::string words =
        words_of(what, nodes.words == SelectorTerm() ? nodes.terms : std::vector{nodes.words});
    out.nodes.push_back({std::move(words), std::move(nodes.terms)});
  }
}

}  // namespace berth::dialect

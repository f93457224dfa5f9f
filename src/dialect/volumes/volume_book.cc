#include "dialect/volumes/volume_book.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "dialect/volumes/zones.h"

namespace berth::dialect {
namespace {

constexpr std::size_t kMostWords = 80;

std::string key_of_claim(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}

std::string words_of(const Requirement& r) {
  switch (r.op) {
    case SelectorOp::kIn:
      return fmt::format("{} {}", r.key, fmt::join(r.values, " or "));
    case SelectorOp::kExists:
      return r.key;
    case SelectorOp::kDoesNotExist:
      return fmt::format("no {}", r.key);
    default:
      return fmt::format("{} {} {}", r.key, enum_name(r.op), fmt::join(r.values, ", "));
  }
}

std::string words_of(const SelectorTerm& term) {
  std::string out;
  for (const Requirement& r : term.labels) out += fmt::format("{}{}", out.empty() ? "" : ", ", words_of(r));
  for (const Requirement& r : term.node_name)
    out += fmt::format("{}name {}", out.empty() ? "" : ", ", fmt::join(r.values, " or "));
  return out;
}

// "claim data (only on nodes with topology.kubernetes.io/zone a)"
std::string words_of(const std::string& what, const std::vector<SelectorTerm>& nodes) {
  std::string where;
  for (const SelectorTerm& term : nodes) {
    if (const std::string words = words_of(term); !words.empty())
      where += fmt::format("{}{}", where.empty() ? "" : "; or ", words);
  }
  if (where.size() > kMostWords) where = where.substr(0, kMostWords) + "...";
  return where.empty() ? fmt::format("{} (on no node)", what)
                       : fmt::format("{} (only on nodes with {})", what, where);
}

Requirement in_zones(std::string_view key, const std::vector<std::string>& zones) {
  return {std::string(key), SelectorOp::kIn, zones};
}

Requirement without(std::string_view key) {
  return {std::string(key), SelectorOp::kDoesNotExist, {}};
}

// "a__b": the volume is in both. A label with an empty part does not count.
std::optional<std::vector<std::string>> zones_of(std::string_view text) {
  std::vector<std::string> out;
  constexpr std::string_view kBetween = "__";
  while (true) {
    const auto end = text.find(kBetween);
    out.emplace_back(text.substr(0, end));
    if (out.back().empty()) return std::nullopt;
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + kBetween.size());
  }
}

// As VolumeZone has it: a node without any such label may have all volumes, and an older name stands for today's where it is missing.
std::vector<SelectorTerm> nodes_of_label(std::string_view key, const std::vector<std::string>& zones) {
  std::vector<SelectorTerm> out{{{in_zones(key, zones)}, {}}};
  if (key == kOlderZone || key == kOlderRegion)
    out.push_back({{without(key), in_zones(key == kOlderZone ? kZone : kRegion, zones)}, {}});
  SelectorTerm& none = out.emplace_back();
  for (const std::string_view label : kZoneLabels) none.labels.push_back(without(label));
  return out;
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
                    c.lost, c.single_pod);
  };
  if (parts(known) == parts(claim)) return {};
  if (known.volume != claim.volume) {
    forget_user(claims_of_, known.volume, key);
    if (!claim.volume.empty()) claims_of_[claim.volume].insert(key);
  }
  known = std::move(claim);
  return {key};
}

VolumeBook::Keys VolumeBook::put(PersistentVolume&& volume) {
  const std::string name = volume.meta.name;
  const auto it = volumes_.find(name);
  if (it != volumes_.end() && it->second.nodes == volume.nodes &&
      it->second.meta.labels == volume.meta.labels && it->second.driver == volume.driver)
    return {};
  volumes_.insert_or_assign(name, std::move(volume));
  return users_of(claims_of_, name);
}

VolumeBook::Keys VolumeBook::put(StorageClass&& klass) {
  const std::string name = klass.meta.name;
  const auto it = classes_.find(name);
  if (it != classes_.end() && it->second.waits == klass.waits && it->second.is_default == klass.is_default)
    return {};
  classes_.insert_or_assign(name, std::move(klass));
  return keys_of_class(name);
}

// Those that are bound do not ask their class.
VolumeBook::Keys VolumeBook::keys_of_class(std::string_view name) const {
  Keys out;
  for (const auto& [key, claim] : claims_) {
    if (!claim.bound && (!claim.storage_class || *claim.storage_class == name)) out.push_back(key);
  }
  return out;
}

VolumeBook::Keys VolumeBook::remove(Kind kind, std::string_view ns, std::string_view name) {
  if (kind == Kind::kPersistentVolumeClaim) {
    const auto it = claims_.find(key_of_claim(ns, name));
    if (it == claims_.end()) return {};
    const std::string key = it->first;
    forget_user(claims_of_, it->second.volume, key);
    claims_.erase(it);
    return {key};
  }
  if (kind == Kind::kPersistentVolume) {
    const auto it = volumes_.find(name);
    if (it == volumes_.end()) return {};
    volumes_.erase(it);
    return users_of(claims_of_, name);
  }
  const auto it = classes_.find(name);
  if (it == classes_.end()) return {};
  classes_.erase(it);
  return keys_of_class(name);
}

const StorageClass* VolumeBook::class_of(const PersistentVolumeClaim& claim) const {
  if (claim.storage_class) {
    const auto it = classes_.find(*claim.storage_class);
    return it == classes_.end() ? nullptr : &it->second;
  }
  for (const auto& [name, klass] : classes_) {
    if (klass.is_default) return &klass;
  }
  return nullptr;
}

ClaimsFound VolumeBook::look_up(const std::vector<ClaimUse>& uses, const Meta& pod) const {
  ClaimsFound out;
  for (const ClaimUse& use : uses) {
    const std::string claim = claim_of(use, pod.name);
    if (!claim.empty()) look_up(use, claim, pod, out);
  }
  return out;
}

void VolumeBook::look_up(const ClaimUse& use, const std::string& claim, const Meta& pod,
                         ClaimsFound& out) const {
  const auto wait = [&](std::string why) {
    if (out.waits.empty()) out.waits = std::move(why);
  };
  const auto known = claims_.find(key_of_claim(pod.ns, claim));
  if (known == claims_.end()) {
    return wait(use.ephemeral
                    ? fmt::format("claim {} does not exist yet: Kubernetes makes it for the volume {}", claim,
                                  use.volume)
                    : fmt::format("claim {} does not exist in namespace {}: create it, or correct the name",
                                  claim, pod.ns));
  }
  const PersistentVolumeClaim& it = known->second;
  if (it.single_pod) out.alone.push_back(fmt::format("claim {}", known->first));
  if (use.ephemeral && !is_made_for(it, pod))
    return wait(fmt::format("claim {} is not this pod's, and its volume {} needs that name: delete the claim",
                            claim, use.volume));
  const auto volume = volumes_.find(it.volume);
  if (volume != volumes_.end() && !volume->second.driver.empty())
    out.attached.emplace(it.volume, volume->second.driver);
  if (it.lost)
    return wait(
        fmt::format("claim {} has lost its PersistentVolume {}: delete the claim, and create it again", claim,
                    it.volume));
  if (it.meta.deleting)
    return wait(fmt::format("claim {} is being deleted: create it again when it is gone", claim));
  if (!it.bound) return say_unbound(it, out);
  if (volume == volumes_.end())
    return wait(fmt::format("PersistentVolume {} of claim {} does not exist: create it again, or the claim",
                            it.volume, claim));
  add_nodes(volume->second, what_of(use, claim, pod.name), out);
}

void VolumeBook::say_unbound(const PersistentVolumeClaim& claim, ClaimsFound& out) const {
  if (!out.waits.empty()) return;
  const std::string& name = claim.meta.name;
  const StorageClass* klass = class_of(claim);
  if (!claim.volume.empty()) {
    out.waits =
        fmt::format("claim {} is not bound to its PersistentVolume {} yet: see the events of the claim", name,
                    claim.volume);
  } else if (klass != nullptr && klass->waits) {
    out.unsupported = true;
    out.waits = fmt::format(
        "claim {} is not bound, and its StorageClass {} waits for a pod with a node "
        "(WaitForFirstConsumer)",
        name, klass->meta.name);
  } else if (klass != nullptr) {
    out.waits = fmt::format(
        "claim {} is not bound yet: StorageClass {} makes a volume for it, or see the "
        "events of the claim",
        name, klass->meta.name);
  } else if (claim.storage_class.value_or("").empty()) {
    out.waits =
        fmt::format("claim {} is not bound, and has no StorageClass: create a PersistentVolume for it", name);
  } else {
    out.waits = fmt::format(
        "claim {} is not bound, and its StorageClass {} does not exist: create the class, "
        "or a PersistentVolume for the claim",
        name, *claim.storage_class);
  }
}

void VolumeBook::add_nodes(const PersistentVolume& volume, const std::string& what, ClaimsFound& out) {
  const auto add = [&](std::vector<SelectorTerm> nodes, std::string words) {
    out.nodes.push_back({std::move(words), std::move(nodes)});
  };
  if (volume.nodes) add(*volume.nodes, words_of(what, *volume.nodes));
  for (const auto& [key, text] : volume.meta.labels) {
    const auto zones = zones_of(text);
    if (!zones) continue;
    std::vector<SelectorTerm> nodes = nodes_of_label(key, *zones);
    std::string words = words_of(what, {nodes.front()});
    add(std::move(nodes), std::move(words));
  }
}

}  // namespace berth::dialect

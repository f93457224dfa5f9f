#include "dialect/volumes/claim_step.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::dialect {

ClaimStep step_of(const ClaimFacts& facts, const std::string& node, const Labels* labels) {
  ClaimStep out;
  out.why = facts.found.waits;
  if (facts.claim == nullptr) {
    out.need = facts.to_come ? ClaimNeed::kTime : ClaimNeed::kPlace;
    return out;
  }
  const PersistentVolumeClaim& claim = *facts.claim;
  out.ns = claim.meta.ns;
  out.name = claim.meta.name;
  out.uid = claim.meta.uid;
  out.version = claim.version;
  out.selected = claim.selected_node;
  if (!facts.found.waits.empty()) {
    const bool ends = facts.foreign || claim.lost || claim.meta.deleting;
    out.need = ends ? ClaimNeed::kPlace : ClaimNeed::kTime;
    return out;
  }
  if (!claim.bound && !claim.selected_node.empty()) {
    out.need = ClaimNeed::kTime;
    out.why = fmt::format("claim {} is being provisioned for node {}", claim.meta.name, claim.selected_node);
    return out;
  }
  for (const VolumeNodes& nodes : facts.found.nodes) {
    if (labels == nullptr || any_matches(nodes.nodes, *labels, node)) continue;
    out.need = ClaimNeed::kPlace;
    out.why = fmt::format("node {} is ruled out by {}", node, nodes.words);
    return out;
  }
  if (claim.bound) return out;
  if (facts.volume != nullptr) {
    out.need = facts.chosen ? ClaimNeed::kVolume : ClaimNeed::kTime;
    out.volume = facts.volume->meta.name;
    out.volume_uid = facts.volume->meta.uid;
    out.version = facts.volume->version;
    out.why = fmt::format("claim {} is {} bound to PersistentVolume {}", claim.meta.name,
                          facts.chosen ? "to be" : "being", out.volume);
    return out;
  }
  if (!facts.by_hand.empty()) {
    out.need = ClaimNeed::kElsewhere;
    out.why = fmt::format("no free PersistentVolume of StorageClass {} on node {} suits claim {}",
                          facts.by_hand, node, claim.meta.name);
    return out;
  }
  out.need = ClaimNeed::kNode;
  out.why = fmt::format("claim {} is to be provisioned for node {}", claim.meta.name, node);
  return out;
}

}  // namespace berth::dialect

// Volume claims: when one changes, the work that mounts it is read again; what the claims of a placed pod need (IntakePromises).
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "dialect/intake/intake_state.h"

namespace berth::dialect {

// Where all pods of a role have the same volumes still, the role stays, and its workload is told anew. False: the role falls apart.
bool Intake::Impl::reshape(std::uint32_t draft_ix, std::uint32_t role_ix,
                           const std::vector<std::uint32_t>& of_role) {
  Draft& draft = books.drafts[draft_ix];
  Role& role = draft.roles[role_ix];
  if (of_role.size() != role.slots.size() - role.holes.size()) return false;
  std::vector<std::pair<PodTemplate, std::shared_ptr<const Reason>>> now;
  for (const auto ix : of_role) {
    const PodRecord& record = books.pods[ix];
    PodTemplate& asks = now.emplace_back(*record.shape, nullptr).first;
    now.back().second = templates.mount(record.pod.spec, record.pod.meta, asks);
    if (!same_volumes(asks, now.front().first)) return false;
  }
  const PodRecord& first = books.pods[of_role.front()];
  PodTemplate of_all = *role.shape;  // a pod may ask for less, and tolerate more
  (void)templates.mount(first.pod.spec, first.pod.meta, of_all);
  const bool changed = !same_volumes(of_all, *role.shape);
  const auto is_twin = [&](const Role& other) {
    return &other != &role && other.topology == role.topology && *other.shape == of_all;
  };
  if (changed && std::any_of(draft.roles.begin(), draft.roles.end(), is_twin)) return false;
  for (std::size_t i = 0; i < of_role.size(); ++i) {
    PodRecord& record = books.pods[of_role[i]];
    record.shape = templates.share(std::move(now[i].first));
    slots.set_claim_wait(record, std::move(now[i].second));
  }
  if (changed) {
    role.shape = templates.share(std::move(of_all));
    draft.remade = draft.emitted;
    draft.refused.clear();
    ++draft.revision;
  }
  refresh(draft_ix);
  return true;
}

void Intake::Impl::note_volumes(std::uint32_t ix) {
  const Pod& pod = books.pods[ix].pod;
  if (pod.spec.claims.empty()) return;
  AttachBook::Mounts mounts{pod.spec.node_name, {}, pod.meta.deleting};
  if (!mounts.node.empty())
    mounts.volumes = books.objects.volumes().look_up(pod.spec.claims, pod.meta).attached;
  books.objects.attachments().set_pod(ix, std::move(mounts));
}

void Intake::Impl::claim_changed(const std::string& claim) {
  changed_claims.insert(claim);
  const ClaimBook::Users users = books.claims.users(claim);
  for (const std::string& uid : users.owners) {
    if (take_anew(uid)) sync_owner(uid);
  }
  for (const auto ix : books.drafts.dependents_of(std::string(kOnClaim) + claim)) {
    const Draft& draft = books.drafts[ix];
    // Work with quota keeps its granted request.
    if (draft.used && draft.written != nullptr && draft.written->admitted_to.empty() && !draft.reserved)
      take_again(ix);
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> by_role;
  for (const auto ix : users.pods) note_volumes(ix);
  for (const auto ix : users.pods) by_role[{books.pods[ix].draft, books.pods[ix].role}].push_back(ix);
  for (const auto& [place, of_role] : by_role) {
    if (place.first != kNoIx && reshape(place.first, place.second, of_role)) continue;
    for (const auto ix : of_role) {
      Pod again = books.pods[ix].pod;
      again.spec.pod = *books.pods[ix].shape;
      upsert_pod(std::move(again));
    }
  }
}

std::vector<ClaimStep> IntakePromises::claim_steps(std::string_view pod_uid, const std::string& node) const {
  const IntakeBooks& books = impl_->books;
  const auto ix = books.pods.find(pod_uid);
  if (ix == kNoIx || books.pods[ix].pod.spec.claims->empty()) return {};
  const Pod& pod = books.pods[ix].pod;
  const Node* on = books.objects.node(node);
  return books.objects.volumes().steps(*pod.spec.claims, pod.meta, node,
                                       on == nullptr ? nullptr : &on->labels);
}

bool IntakePromises::has_open_claims(std::string_view workload) const {
  const OwnerRecord* owner = impl_->books.owners.find(workload);
  if (owner == nullptr) return false;
  const auto& sets = owner->ask.sets;
  return std::any_of(sets.begin(), sets.end(), [&](const AskedSet& set) {
    return impl_->books.objects.volumes().are_open(owner->ask.meta->ns, *set.spec->claims);
  });
}

void IntakePromises::refuse_claim(const std::string& claim, std::set<std::string> nodes) {
  impl_->refresh_dependents(impl_->books.objects.change_volumes(
      [&](VolumeBook& volumes) { return volumes.refuse(claim, std::move(nodes)); }));
}

void IntakePromises::keep_volumes(const std::vector<Placed>& pods) {
  const IntakeBooks& books = impl_->books;
  std::vector<VolumeBook::Placed> placed;
  for (const auto& [uid, node] : pods) {
    const auto ix = books.pods.find(uid);
    if (ix == kNoIx || books.pods[ix].pod.spec.claims->empty()) continue;
    const Pod& pod = books.pods[ix].pod;
    const Node* on = books.objects.node(node);
    placed.push_back({&*pod.spec.claims, &pod.meta, node, on == nullptr ? nullptr : &on->labels});
  }
  if (placed.empty()) return;
  impl_->refresh_dependents(
      impl_->books.objects.change_volumes([&](VolumeBook& volumes) { return volumes.keep(placed); }));
}

void IntakePromises::release_volumes(const std::set<std::string>& claims) {
  impl_->refresh_dependents(
      impl_->books.objects.change_volumes([&](VolumeBook& volumes) { return volumes.release(claims); }));
}

// Claims that several pods mount are not counted.
void Intake::Impl::settle_claims() {
  for (const std::string& claim : books.claims.take_changed()) {
    const bool shared = books.claims.is_shared(claim);
    refresh_dependents(
        books.objects.change_volumes([&](VolumeBook& volumes) { return volumes.set_shared(claim, shared); }));
  }
}

std::set<std::string> IntakePromises::take_changed_claims() {
  return std::exchange(impl_->changed_claims, {});
}

}  // namespace berth::dialect

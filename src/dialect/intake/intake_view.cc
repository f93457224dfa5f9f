#include "dialect/intake/intake_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "dialect/intake/intake_state.h"

namespace berth::dialect {

IntakeView::IntakeView(IntakeConfig config) : impl_(std::make_unique<Impl>(std::move(config))) {}
IntakeView::~IntakeView() = default;
IntakeView::IntakeView(IntakeView&&) noexcept = default;
IntakeView& IntakeView::operator=(IntakeView&&) noexcept = default;

IntakeQueues IntakeView::queues() const {
  return IntakeQueues(impl_->books);
}

std::optional<PodView> IntakeView::pod(std::string_view uid) const {
  const auto ix = impl_->books.pods.find(uid);
  if (ix == kNoIx || impl_->books.pods[ix].draft == kNoIx) return std::nullopt;
  return impl_->slots.view(impl_->books.pods[ix]);
}

std::optional<PodView> IntakeView::pod_at(std::string_view workload, std::int64_t pod_set,
                                          std::int64_t index) const {
  const auto ix = impl_->books.drafts.find(workload);
  if (ix == kNoIx || pod_set < 0 || index < 0) return std::nullopt;
  const auto& roles = impl_->books.drafts[ix].roles;
  if (static_cast<std::size_t>(pod_set) >= roles.size()) return std::nullopt;
  const auto& slots = roles[static_cast<std::size_t>(pod_set)].slots;
  if (static_cast<std::size_t>(index) >= slots.size()) return std::nullopt;
  const auto pod = slots[static_cast<std::size_t>(index)];
  if (pod == kNoIx) return std::nullopt;
  return impl_->slots.view(impl_->books.pods[pod]);
}

std::vector<PodView> IntakeView::pods_of(std::string_view workload) const {
  std::vector<PodView> out;
  const auto ix = impl_->books.drafts.find(workload);
  if (ix == kNoIx) return out;
  for (const auto& role : impl_->books.drafts[ix].roles) {
    for (const auto pod : role.slots) {
      if (pod != kNoIx) out.push_back(impl_->slots.view(impl_->books.pods[pod]));
    }
  }
  return out;
}

std::size_t IntakeView::pod_count() const {
  return impl_->books.pods.size();
}

bool IntakeView::expects(std::string_view workload, std::int64_t pod_set, std::int64_t index) const {
  const Impl& s = *impl_;
  const auto ix = s.books.drafts.find(workload);
  if (ix == kNoIx || pod_set < 0 || static_cast<std::size_t>(pod_set) >= s.books.drafts[ix].roles.size())
    return false;
  const Role& role = s.books.drafts[ix].roles[static_cast<std::size_t>(pod_set)];
  if (role.expected->contains(index)) return true;
  if (s.books.drafts[ix].fast == 0 || pod_set != 0) return false;
  if (index < 0 || static_cast<std::size_t>(index) >= role.slots.size()) return false;
  const auto pod = role.slots[static_cast<std::size_t>(index)];
  return pod != kNoIx && s.books.pods[pod].pod.spec.node_name.empty() && s.books.pods[pod].pod.spec.gated;
}

std::string IntakeView::charged_to(std::string_view workload) const {
  const auto ix = impl_->books.drafts.find(workload);
  if (ix == kNoIx || !impl_->books.drafts[ix].queue_mark ||
      impl_->books.drafts[ix].queue_mark->second.empty())
    return {};
  const auto& [key, name] = *impl_->books.drafts[ix].queue_mark;
  return fmt::format("{}={}", key, name);
}

std::optional<WorkloadInfo> IntakeView::workload(std::string_view uid) const {
  const auto ix = impl_->books.drafts.find(uid);
  if (ix == kNoIx) return std::nullopt;
  return impl_->info_of(impl_->books.drafts[ix]);
}

std::vector<WorkloadInfo> IntakeView::workloads() const {
  std::vector<const Draft*> live;
  for (const auto ix : impl_->books.drafts.where([](const Draft&) { return true; }))
    live.push_back(&impl_->books.drafts[ix]);
  std::sort(live.begin(), live.end(), [](const Draft* a, const Draft* b) {
    return std::tie(a->given.created, a->uid) < std::tie(b->given.created, b->uid);
  });
  std::vector<WorkloadInfo> out;
  for (const auto* draft : live) out.push_back(impl_->info_of(*draft));
  return out;
}

const Reason* IntakeView::blocked(std::string_view workload) const {
  const auto ix = impl_->books.drafts.find(workload);
  if (ix == kNoIx || !impl_->books.drafts[ix].given->blocked) return nullptr;
  return &*impl_->books.drafts[ix].given->blocked;
}

bool IntakeView::is_ready(std::string_view workload) const {
  const Impl& s = *impl_;
  const auto ix = s.books.drafts.find(workload);
  if (ix == kNoIx) return false;
  const Draft& draft = s.books.drafts[ix];
  if (draft.kind == GangKind::kOwner) {
    const OwnerRecord* owner = s.books.owner_of(draft);
    return owner != nullptr && owner->ask.is_ready;
  }
  std::int64_t ready = 0;
  for (const auto& role : draft.roles) {
    for (const auto at : role.slots) ready += at != kNoIx && s.books.pods[at].pod.ready ? 1 : 0;
  }
  // Pods that have ended well are gone, and were ready.
  return draft.pods > 0 && ready == draft.pods;
}

bool IntakeView::is_without_pods(std::string_view workload) const {
  const auto ix = impl_->books.drafts.find(workload);
  return ix != kNoIx && impl_->books.drafts[ix].object != nullptr && !impl_->books.config.quota_only;
}

const Ask* IntakeView::owner(std::string_view uid) const {
  const OwnerRecord* record = impl_->books.owners.find(uid);
  return record == nullptr ? nullptr : &record->ask;
}

std::vector<SwitchToFollow> IntakeView::switches_to_follow() const {
  const OwnerBook& owners = impl_->books.owners;
  std::vector<SwitchToFollow> out;
  for (const std::string& uid : owners.unlike_below()) {
    const OwnerRecord& above = *owners.find(uid);
    if (impl_->rules.may_hold(above.ask))
      out.push_back({owners.newest_below(above)->meta->uid, above.ask.suspended});
  }
  return out;
}

std::string_view IntakeView::prebuilt_owner(std::string_view ns, std::string_view name) const {
  const Impl& s = *impl_;
  if (s.books.config.quota_only || s.prebuilt.empty()) return {};
  const std::string key = key_of(ns, name);
  if (const auto* owner = s.prebuilt.owner_of(key)) return *owner;
  const auto it = s.workload_by_name.find(key);
  return it == s.workload_by_name.end() ? std::string_view() : std::string_view(it->second);
}

std::vector<Problem> IntakeView::problems() const {
  return impl_->books.objects.problems();
}

const std::map<std::pair<Kind, std::string>, std::string>& IntakeView::unreadable() const {
  return impl_->books.objects.all_unreadable();
}

std::uint64_t IntakeView::unreadable_changes() const {
  return impl_->books.objects.unreadable_changes();
}

}  // namespace berth::dialect

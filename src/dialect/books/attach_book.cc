#include "dialect/books/attach_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace berth::dialect {
namespace {

std::string uid_of(const std::string& attachment) {
  return fmt::format("attachment:{}", attachment);
}

}  // namespace

ResourceList AttachBook::limits(std::string_view node) const {
  const auto known = limits_.find(node);
  return known == limits_.end() ? ResourceList() : known->second;
}

void AttachBook::set_limits(const std::string& node, const ResourceList& limits) {
  if (limits.empty()) {
    limits_.erase(node);
  } else {
    limits_.insert_or_assign(node, limits);
  }
}

void AttachBook::put(VolumeAttachment&& attachment) {
  const std::string name = attachment.meta.name;
  const auto parts = [](const VolumeAttachment& a) { return std::tie(a.driver, a.node, a.volume); };
  const auto known = attachments_.find(name);
  if (known != attachments_.end() && parts(known->second) == parts(attachment)) return;
  remove(name);
  if (attachment.driver.empty() || attachment.node.empty()) return;
  uses_[place_of(attachment)].attachments.insert(name);
  attachments_.insert_or_assign(name, std::move(attachment));
  changed_.insert(name);
}

void AttachBook::remove(std::string_view name) {
  const auto known = attachments_.find(name);
  if (known == attachments_.end()) return;
  const Place place = place_of(known->second);
  uses_[place].attachments.erase(known->first);
  forget_empty(place);
  changed_.insert(known->first);
  attachments_.erase(known);
}

void AttachBook::set_pod(std::uint32_t ix, const std::string& node, const std::vector<std::string>& volumes) {
  const auto known = by_pod_.find(ix);
  if (known == by_pod_.end() && volumes.empty()) return;
  std::vector<Place> now;
  for (const std::string& volume : volumes) now.emplace_back(node, volume);
  if (known != by_pod_.end() && known->second == now) return;
  for (const Place& place : now) count_pods(place, +1);
  if (known != by_pod_.end()) {
    for (const Place& place : known->second) count_pods(place, -1);
    by_pod_.erase(known);
  }
  if (!now.empty()) by_pod_.emplace(ix, std::move(now));
}

void AttachBook::count_pods(const Place& place, std::int64_t delta) {
  Use& use = uses_[place];
  const bool before = use.pods > 0;
  use.pods += delta;
  if (before != (use.pods > 0)) changed_.insert(use.attachments.begin(), use.attachments.end());
  forget_empty(place);
}

void AttachBook::forget_empty(const Place& place) {
  const auto it = uses_.find(place);
  if (it->second.pods == 0 && it->second.attachments.empty()) uses_.erase(it);
}

void AttachBook::drain(std::vector<Event>& out) {
  for (const std::string& name : changed_) {
    const auto known = attachments_.find(name);
    const bool counts = known != attachments_.end() && uses_.at(place_of(known->second)).pods == 0;
    if (counts) {
      ForeignPod pod;
      pod.uid = uid_of(name);
      pod.node = known->second.node;
      pod.attaches.set(known->second.driver, 1);
      told_.insert(name);
      out.emplace_back(ForeignPodUpsert{std::move(pod)});
    } else if (told_.erase(name) > 0) {
      out.emplace_back(ForeignPodRemove{uid_of(name)});
    }
  }
  changed_.clear();
}

}  // namespace berth::dialect

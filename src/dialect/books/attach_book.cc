#include "dialect/books/attach_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace berth::dialect {
namespace {

std::string uid_of(const std::string& attachment) {
  return fmt::format("attachment:{}", attachment);
}

}  // namespace

// The engine charges all pods that stay, and one counts.
std::int64_t AttachBook::too_many(const Use& use) {
  return std::max<std::int64_t>(use.staying - (use.sharing > 0 ? 0 : 1), 0);
}

ResourceList AttachBook::limits(std::string_view node) const {
  ResourceList out;
  if (const auto known = limits_.find(node); known != limits_.end()) out = known->second;
  if (const auto more = too_many_.find(node); more != too_many_.end()) {
    for (const auto& [driver, charges] : more->second) {
      if (out.has(driver)) out.set(driver, out.get(driver) + charges);
    }
  }
  const auto there = drivers_.find(node);
  for (const std::string& driver : must_be_there_) {
    if (there == drivers_.end() || !there->second.contains(driver)) out.set(driver, 0);
  }
  return out;
}

bool AttachBook::set_must_be_there(const std::string& driver, bool must) {
  return must ? must_be_there_.insert(driver).second : must_be_there_.erase(driver) > 0;
}

void AttachBook::set_limits(const std::string& node, const ResourceList& limits,
                            std::set<std::string> drivers) {
  if (drivers.empty()) {
    drivers_.erase(node);
  } else {
    drivers_.insert_or_assign(node, std::move(drivers));
  }
  if (limits.empty()) {
    limits_.erase(node);
  } else {
    limits_.insert_or_assign(node, limits);
  }
  changed_nodes_.insert(node);
}

void AttachBook::put(VolumeAttachment&& attachment, const std::string& volume) {
  const std::string name = attachment.meta.name;
  const auto parts = [](const VolumeAttachment& a) { return std::tie(a.driver, a.node, a.volume); };
  const auto known = attachments_.find(name);
  if (known != attachments_.end() && parts(known->second.attachment) == parts(attachment)) return;
  remove(name);
  if (attachment.driver.empty() || attachment.node.empty()) return;
  Place at{attachment.node, volume.empty() ? uid_of(name) : volume};
  attachments_of_[attachment.volume].insert(name);
  attachments_.insert_or_assign(name, Known{std::move(attachment), std::move(at)});
  place(name, true);
}

void AttachBook::remove(std::string_view name) {
  const auto known = attachments_.find(name);
  if (known == attachments_.end()) return;
  place(known->first, false);
  const auto of = attachments_of_.find(known->second.attachment.volume);
  of->second.erase(known->first);
  if (of->second.empty()) attachments_of_.erase(of);
  attachments_.erase(known);
}

void AttachBook::rename(std::string_view persistent_volume, const std::string& volume) {
  const auto of = attachments_of_.find(persistent_volume);
  if (of == attachments_of_.end() || persistent_volume.empty()) return;
  for (const std::string& name : of->second) {
    Known& known = attachments_.find(name)->second;
    if (known.place.second == volume) continue;
    place(name, false);
    known.place.second = volume;
    place(name, true);
  }
}

// One of several attachments of a volume counts.
void AttachBook::place(const std::string& name, bool in) {
  const Place& at = attachments_.find(name)->second.place;
  auto& there = uses_[at].attachments;
  in ? (void)there.insert(name) : (void)there.erase(name);
  changed_.insert(name);
  changed_.insert(there.begin(), there.end());
  forget_empty(at);
}

void AttachBook::set_pod(std::uint32_t ix, Mounts mounts) {
  const auto known = by_pod_.find(ix);
  if (known == by_pod_.end() && mounts.volumes.empty()) return;
  if (known != by_pod_.end() && known->second == mounts) return;
  count_pod(mounts, +1);
  if (known != by_pod_.end()) {
    count_pod(known->second, -1);
    by_pod_.erase(known);
  }
  if (!mounts.volumes.empty()) by_pod_.emplace(ix, std::move(mounts));
}

void AttachBook::count_pod(const Mounts& mounts, std::int64_t delta) {
  for (const auto& [volume, attached] : mounts.volumes) {
    const Place at{mounts.node, volume};
    Use& use = uses_[at];
    const bool had_pods = use.pods > 0;
    const std::int64_t before = too_many(use);
    use.pods += delta;
    if (!mounts.ending) (attached.shared ? use.sharing : use.staying) += delta;
    if (had_pods != (use.pods > 0)) changed_.insert(use.attachments.begin(), use.attachments.end());
    if (const std::int64_t more = too_many(use) - before; more != 0) {
      ResourceList& charges = too_many_[mounts.node];
      charges.set(attached.driver, charges.get(attached.driver) + more);
      changed_nodes_.insert(mounts.node);
    }
    forget_empty(at);
  }
}

void AttachBook::forget_empty(const Place& place) {
  const auto it = uses_.find(place);
  if (it->second.pods == 0 && it->second.attachments.empty()) uses_.erase(it);
}

void AttachBook::drain(std::vector<Event>& out) {
  for (const std::string& name : changed_) {
    const auto known = attachments_.find(name);
    const Use* use = known == attachments_.end() ? nullptr : &uses_.at(known->second.place);
    if (use != nullptr && use->pods == 0 && *use->attachments.begin() == name) {
      const VolumeAttachment& attachment = known->second.attachment;
      const Told now{attachment.node, attachment.driver};
      if (const auto before = told_.find(name); before != told_.end() && before->second == now) continue;
      ForeignPod pod;
      pod.uid = uid_of(name);
      pod.node = attachment.node;
      pod.attaches.set(attachment.driver, 1);
      told_.insert_or_assign(name, now);
      out.emplace_back(ForeignPodUpsert{std::move(pod)});
    } else if (told_.erase(name) > 0) {
      out.emplace_back(ForeignPodRemove{uid_of(name)});
    }
  }
  changed_.clear();
}

}  // namespace berth::dialect

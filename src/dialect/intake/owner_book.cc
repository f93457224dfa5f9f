#include "dialect/intake/owner_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace berth::dialect {
namespace {

// No controller of today makes more levels; a circle ends here.
constexpr int kMostLevels = 8;

}  // namespace

bool OwnerRecord::makes_the_same(const OwnerRecord& other) const {
  return std::equal(templates.begin(), templates.end(), other.templates.begin(), other.templates.end(),
                    [](const OwnedTemplate& a, const OwnedTemplate& b) {
                      return a.shape == b.shape && a.refused == b.refused;
                    });
}

std::string_view OwnerRecord::refused() const {
  for (const OwnedTemplate& one : templates) {
    if (!one.refused.empty()) return one.refused;
  }
  return {};
}

std::string owner_key(std::string_view uid) {
  return fmt::format("owner:{}", uid);
}

std::string owner_key(Kind kind, std::string_view ns, std::string_view name) {
  return fmt::format("ownername:{}/{}/{}", enum_name(kind), ns, name);
}

void OwnerBook::put(OwnerRecord record) {
  const Ask& ask = record.ask;
  const std::string uid = ask.meta->uid;
  by_name_.insert_or_assign(owner_key(ask.kind->kind, ask.meta->ns, ask.meta->name), uid);
  if (const OwnerRecord* known = find(uid); known != nullptr && known->ask.least()) --partial_;
  if (ask.least()) ++partial_;
  by_uid_.insert_or_assign(uid, std::move(record));
}

std::optional<std::string> OwnerBook::erase(Kind kind, std::string_view ns, std::string_view name) {
  const auto it = by_name_.find(owner_key(kind, ns, name));
  if (it == by_name_.end()) return std::nullopt;
  std::string uid = std::move(it->second);
  by_name_.erase(it);
  if (const auto known = by_uid_.find(uid); known != by_uid_.end()) {
    if (known->second.ask.least()) --partial_;
    by_uid_.erase(known);
  }
  return uid;
}

const OwnerRecord* OwnerBook::find(std::string_view uid) const {
  const auto it = by_uid_.find(std::string(uid));
  return it == by_uid_.end() ? nullptr : &it->second;
}

OwnerRecord* OwnerBook::find(std::string_view uid) {
  const auto it = by_uid_.find(std::string(uid));
  return it == by_uid_.end() ? nullptr : &it->second;
}

std::string_view OwnerBook::uid_of(Kind kind, std::string_view ns, std::string_view name) const {
  const auto it = by_name_.find(owner_key(kind, ns, name));
  return it == by_name_.end() ? std::string_view() : std::string_view(it->second);
}

const OwnerRecord* OwnerBook::of(const Meta& object) const {
  const OwnerKind* kind = owner_kind(object.controller);
  if (kind == nullptr) return nullptr;
  const OwnerRecord* known = find(object.controller.uid);
  return known != nullptr && known->ask.kind->kind == kind->kind && known->ask.meta->ns == object.ns
             ? known
             : nullptr;
}

const OwnerRecord* OwnerBook::top_of(const Meta& pod) const {
  const OwnerRecord* top = of(pod);
  for (int level = 1; top != nullptr && level < kMostLevels; ++level) {
    const OwnerRecord* above = of(*top->ask.meta);
    if (above == nullptr) break;
    top = above;
  }
  return top;
}

const Owner* OwnerBook::missing_of(const Meta& pod) const {
  const Meta* below = &pod;
  for (int level = 0; level < kMostLevels; ++level) {
    if (owner_kind(below->controller) == nullptr) return nullptr;
    const OwnerRecord* above = of(*below);
    if (above == nullptr) return &below->controller;
    below = above->ask.meta;
  }
  return nullptr;
}

Membership OwnerBook::membership_of(const Pod& pod, bool waits) const {
  const OwnerRecord* owner = waits && missing_of(pod.meta) != nullptr ? nullptr : top_of(pod.meta);
  return dialect::membership_of(pod, owner != nullptr ? &owner->ask : nullptr);
}

OwnedPlace OwnerBook::place_of(const Membership& membership, const Pod& pod) const {
  if (membership.kind == GangKind::kSingle) return {};
  const OwnerRecord* owner = membership.kind == GangKind::kOwner ? find(membership.uid) : nullptr;
  return owner != nullptr ? owner->ask.kind->place_of(owner->ask, pod) : OwnedPlace{0, index_of(pod)};
}

std::vector<std::string> OwnerBook::keys_of(const Meta& pod) const {
  std::vector<std::string> out;
  const Meta* below = &pod;
  for (int level = 0; level < kMostLevels && owner_kind(below->controller) != nullptr; ++level) {
    out.push_back(owner_key(below->controller.uid));
    const OwnerRecord* above = of(*below);
    if (above == nullptr) break;
    below = above->ask.meta;
  }
  return out;
}

}  // namespace berth::dialect

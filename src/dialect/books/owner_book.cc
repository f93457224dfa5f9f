#include "dialect/books/owner_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "dialect/objects/gang_systems.h"

namespace berth::dialect {
namespace {

// No controller of today makes more levels; a circle ends here.
constexpr int kMostLevels = 8;
constexpr std::size_t kMostStrangers = 10'000;

}  // namespace

bool OwnerRecord::makes_the_same(const OwnerRecord& other) const {
  return std::equal(templates.begin(), templates.end(), other.templates.begin(), other.templates.end(),
                    [](const OwnedTemplate& a, const OwnedTemplate& b) {
                      const auto reason = [](const OwnedTemplate& t) {
                        return t.claim_wait == nullptr ? Reason() : *t.claim_wait;
                      };
                      return a.shape == b.shape && a.refused == b.refused && reason(a) == reason(b);
                    });
}

std::string_view OwnerRecord::refused() const {
  for (const OwnedTemplate& one : templates) {
    if (!one.refused.empty()) return one.refused;
  }
  return {};
}

const Reason* OwnerRecord::claim_wait() const {
  for (const OwnedTemplate& one : templates) {
    if (one.claim_wait != nullptr) return one.claim_wait.get();
  }
  return nullptr;
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
  if (const OwnerRecord* known = find(uid)) {
    if (known->ask.least()) --partial_;
    forget_below(*known);
  }
  if (ask.least()) ++partial_;
  if (owner_kind(ask.meta->controller) != nullptr) below_[ask.meta->controller->uid].insert(uid);
  const std::string above = ask.meta->controller->uid;
  by_uid_.insert_or_assign(uid, std::move(record));
  (void)recount(uid);
  compare_with_below(uid);
  compare_with_below(above);
}

void OwnerBook::forget_below(const OwnerRecord& known) {
  const auto it = below_.find(known.ask.meta->controller->uid);
  if (it == below_.end()) return;
  it->second.erase(known.ask.meta->uid);
  if (it->second.empty()) below_.erase(it);
}

const OwnerRecord* OwnerBook::group(const std::string& gang) const {
  const auto it = groups_.find(gang);
  return it == groups_.end() || !it->second.record ? nullptr : &*it->second.record;
}

void OwnerBook::put_group(const std::string& gang, const std::string& owner, std::string number,
                          std::optional<OwnerRecord> record) {
  erase_group(gang);
  groups_of_[owner].insert(gang);
  groups_.emplace(gang, GroupRecord{owner, std::move(number), std::move(record)});
}

void OwnerBook::erase_group(const std::string& gang) {
  const auto it = groups_.find(gang);
  if (it == groups_.end()) return;
  const auto of = groups_of_.find(it->second.owner);
  of->second.erase(gang);
  if (of->second.empty()) groups_of_.erase(of);
  groups_.erase(it);
}

std::vector<std::pair<std::string, std::string>> OwnerBook::groups_of(const std::string& owner) const {
  std::vector<std::pair<std::string, std::string>> out;
  const auto of = groups_of_.find(owner);
  if (of == groups_of_.end()) return out;
  for (const std::string& gang : of->second) out.emplace_back(gang, groups_.find(gang)->second.number);
  return out;
}

std::vector<const Ask*> OwnerBook::below(const OwnerRecord& owner) const {
  std::vector<const Ask*> out;
  const auto it = below_.find(owner.ask.meta->uid);
  if (it == below_.end()) return out;
  for (const std::string& uid : it->second) {
    const OwnerRecord* record = find(uid);
    if (record != nullptr && of(*record->ask.meta) == &owner) out.push_back(&record->ask);
  }
  return out;
}

const Ask* OwnerBook::newest_below(const OwnerRecord& owner) const {
  const Ask* out = nullptr;
  const auto age = [](const Ask& ask) {
    return std::tuple(ask.meta->created, std::string_view(ask.meta->uid));
  };
  for (const Ask* one : below(owner)) {
    if (!one->meta->deleting && (out == nullptr || age(*out) < age(*one))) out = one;
  }
  return out;
}

void OwnerBook::compare_with_below(const std::string& uid) {
  const OwnerRecord* owner = find(uid);
  const bool reaches = owner != nullptr && owner->ask.kind->suspends_below && !owner->ask.meta->deleting;
  const Ask* newest = reaches ? newest_below(*owner) : nullptr;
  if (newest != nullptr && newest->kind->set_switch != nullptr && newest->suspended != owner->ask.suspended) {
    unlike_below_.insert(uid);
  } else {
    unlike_below_.erase(uid);
  }
}

// KubeRay suspends and resumes the newest cluster of a RayService alone: one that is left suspended never has pods again.
bool OwnerBook::is_further(const OwnerRecord& above, const OwnerRecord& one) const {
  if (!above.ask.kind->further_are_gangs) return false;
  const auto rank = [](const Ask& ask) {
    return std::tuple(ask.suspended, ask.meta->created, std::string_view(ask.meta->uid));
  };
  const std::vector<const Ask*> all = below(above);
  return std::any_of(all.begin(), all.end(), [&](const Ask* other) { return rank(*other) < rank(one.ask); });
}

bool OwnerBook::has_further(const OwnerRecord& owner) const {
  return owner.ask.kind->further_are_gangs && below(owner).size() > 1;
}

bool OwnerBook::recount(const std::string& uid) {
  OwnerRecord* owner = find(uid);
  if (owner == nullptr || owner->ask.kind->count == nullptr) return false;
  const auto numbers = [&] {
    std::vector<std::int64_t> out;
    for (const AskedSet& set : owner->ask.sets) {
      for (const auto number : {set.size, set.most, set.asked, set.reclaimable}) out.push_back(number);
    }
    return out;
  };
  const auto before = numbers();
  owner->ask.kind->count(owner->ask, below(*owner));
  return numbers() != before;
}

std::optional<std::string> OwnerBook::erase(Kind kind, std::string_view ns, std::string_view name) {
  const auto it = by_name_.find(owner_key(kind, ns, name));
  if (it == by_name_.end()) return std::nullopt;
  std::string uid = std::move(it->second);
  by_name_.erase(it);
  if (const auto known = by_uid_.find(uid); known != by_uid_.end()) {
    if (known->second.ask.least()) --partial_;
    forget_below(known->second);
    const std::string above = known->second.ask.meta->controller->uid;
    by_uid_.erase(known);
    for (const auto& [gang, number] : groups_of(uid)) erase_group(gang);
    unlike_below_.erase(uid);
    compare_with_below(above);
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

// A pod whose controller is a pod is of the object that its labels name.
const OwnerRecord* OwnerBook::of(const Meta& object) const {
  if (const auto named = owner_named_by(object)) return find(uid_of(named->kind, object.ns, named->name));
  const OwnerKind* kind = owner_kind(object.controller);
  if (kind == nullptr) return nullptr;
  const OwnerRecord* known = find(object.controller->uid);
  return known != nullptr && known->ask.kind->kind == kind->kind && known->ask.meta->ns == object.ns
             ? known
             : nullptr;
}

std::optional<OwnedGroup> OwnerBook::group_of(const Meta& pod) const {
  const auto named = group_named_by(pod);
  if (!named) return std::nullopt;
  const Kind kind = named->declared->row.kind;
  return OwnedGroup{*named, kind, find(uid_of(kind, pod.ns, named->owner))};
}

const OwnerRecord* OwnerBook::top_of(const Meta& pod) const {
  const auto group = group_of(pod);
  if (group && group->record != nullptr) return group->record;
  const OwnerRecord* top = of(pod);
  for (int level = 1; top != nullptr && level < kMostLevels; ++level) {
    const OwnerRecord* above = of(*top->ask.meta);
    if (above == nullptr || is_further(*above, *top)) break;
    top = above;
  }
  return top;
}

std::vector<const Meta*> OwnerBook::chain_of(const Meta& pod) const {
  std::vector<const Meta*> out;
  const OwnerRecord* above = of(pod);
  for (int level = 0; above != nullptr && level < kMostLevels; ++level) {
    out.insert(out.begin(), above->ask.meta);
    above = of(*above->ask.meta);
  }
  if (const auto group = group_of(pod); group && group->record != nullptr) {
    const Meta* top = group->record->ask.meta;
    if (out.empty() || out.front() != top) out.insert(out.begin(), top);
  }
  return out;
}

// One that is known by its name alone is not waited for: what it names has been seen before a pod of it ran.
const Owner* OwnerBook::missing_of(const Meta& pod) const {
  const Meta* below = &pod;
  for (int level = 0; level < kMostLevels; ++level) {
    const bool named = owner_named_by(*below).has_value();
    if (!named && owner_kind(below->controller) == nullptr) return nullptr;
    const OwnerRecord* above = of(*below);
    if (above == nullptr) return named ? nullptr : &*below->controller;
    below = above->ask.meta;
  }
  return nullptr;
}

const Owner* OwnerBook::stranger_of(const Meta& pod) const {
  const Meta* below = &pod;
  for (int level = 0; below != nullptr && level < kMostLevels; ++level) {
    if (owner_kind(below->controller) == nullptr)
      return below->controller->group.empty() ? nullptr : &*below->controller;
    const OwnerRecord* above = of(*below);
    below = above == nullptr ? nullptr : above->ask.meta;
  }
  return nullptr;
}

void OwnerBook::note_stranger(const Meta& pod) {
  const Owner* stranger = stranger_of(pod);
  if (stranger == nullptr) return;
  if (strangers_.size() >= kMostStrangers) strangers_.clear();
  if (!strangers_.insert(stranger->uid).second || new_strangers_.size() >= kMostStrangers) return;
  new_strangers_.push_back({nullptr, pod.ns, stranger->name, stranger->uid,
                            stranger->kind.substr(0, stranger->kind.find('.')), stranger->group});
}

// Marks of the pods themselves go before. A group whose owner is not known has no size, and waits. It is another workload than the one
// that it becomes, which has the pod sets of the owner.
Membership OwnerBook::membership_of(const Pod& pod, bool waits) const {
  if (const auto group = group_of(pod.meta)) {
    const OwnerRecord* record = group->record;
    Membership own = dialect::membership_of(pod, gang_named_by(pod.meta), nullptr);
    if (own.kind != GangKind::kSingle || (record != nullptr && !names_a_gang(*record->ask.meta, pod.meta) &&
                                          !is_for_kai(*record->ask.meta, pod.meta, pod.spec.scheduler_name)))
      return own;
    std::string name = fmt::format("{}-{}", group->named.owner, group->named.number);
    std::string uid = fmt::format("Gang/{}/{}/{}{}", enum_name(group->kind), pod.meta.ns, name,
                                  record == nullptr ? "/unseen" : "");
    Membership out{GangKind::kSized, std::move(uid), std::move(name), std::nullopt,
                   group->named.declared->groups.group};
    if (record != nullptr) out.size = record->ask.size();
    return out;
  }
  const OwnerRecord* owner = waits && missing_of(pod.meta) != nullptr ? nullptr : top_of(pod.meta);
  return dialect::membership_of(pod, gang_named_by(pod.meta), owner != nullptr ? &owner->ask : nullptr);
}

OwnedPlace OwnerBook::place_of(const Membership& membership, const Pod& pod) const {
  if (membership.kind == GangKind::kSingle) return {};
  if (const OwnerRecord* own = group(membership.uid)) return own->ask.kind->place_of(own->ask, pod);
  const auto of_group = membership.kind == GangKind::kSized ? group_of(pod.meta) : std::nullopt;
  if (of_group && of_group->record != nullptr)
    return of_group->record->ask.kind->place_of(of_group->record->ask, pod);
  const OwnerRecord* owner = membership.kind == GangKind::kOwner ? find(membership.uid) : nullptr;
  return owner != nullptr ? owner->ask.kind->place_of(owner->ask, pod) : OwnedPlace{0, index_of(pod)};
}

std::optional<AskedPod> OwnerBook::as_asked(const Membership& membership, std::size_t set, const Pod& pod,
                                            const PodTemplate& shape) const {
  const OwnerRecord* owner =
      membership.kind == GangKind::kOwner ? find(membership.uid) : group(membership.uid);
  if (owner == nullptr || owner->ask.kind->as_asked == nullptr || set >= owner->ask.sets.size())
    return std::nullopt;
  return owner->ask.kind->as_asked(owner->ask, set, pod, shape);
}

std::vector<std::string> OwnerBook::keys_of(const Meta& pod) const {
  std::vector<std::string> out;
  if (const auto group = group_of(pod)) out.push_back(owner_key(group->kind, pod.ns, group->named.owner));
  const Meta* below = &pod;
  for (int level = 0; level < kMostLevels; ++level) {
    const auto named = owner_named_by(*below);
    if (!named && owner_kind(below->controller) == nullptr) break;
    const OwnerRecord* above = of(*below);
    if (named) out.push_back(owner_key(named->kind, pod.ns, named->name));
    if (!named || above != nullptr)
      out.push_back(owner_key(named ? above->ask.meta->uid : below->controller->uid));
    if (above == nullptr) break;
    below = above->ask.meta;
  }
  return out;
}

}  // namespace berth::dialect

#include "dialect/books/gang_book.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "dialect/books/draft_book.h"

namespace berth::dialect {
namespace {

// The first of the names between slashes, no more than `most` of them.
std::string_view first_names(std::string_view key, int most) {
  std::size_t end = 0;
  for (; most > 0; --most) {
    end = key.find('/', end);
    if (end == std::string_view::npos) return key;
    ++end;
  }
  return key.substr(0, end - 1);
}

// "namespace/workload/podGroup/replica" without the replica.
std::string_view without_replica(std::string_view key) {
  return first_names(key, 3);
}

std::string joined_name(const std::vector<std::string>& names) {
  return fmt::format("{}", fmt::join(names, "+"));
}

}  // namespace

std::string gang_key(Kind kind, std::string_view key) {
  if (kind == Kind::kUpstreamWorkload) key = without_replica(key);
  return fmt::format("gang:{}/{}", enum_name(kind_of_gang(kind)), key);
}

std::string_view object_of_gang(Kind kind, std::string_view key) {
  return kind == Kind::kUpstreamWorkload ? first_names(key, 2) : key;
}

GangBook::Keys GangBook::put(Kind kind, GangObject&& object) {
  std::string key = key_of(object.meta.ns, object.meta.name);
  Keys keys{gang_key(kind, key)};
  auto& of_kind = all_[kind];
  const auto it = of_kind.find(key);
  const Meta meta = object.meta;
  std::set<Names> joined{object.together};
  if (it != of_kind.end()) joined.insert(it->second.together);
  of_kind.insert_or_assign(std::move(key), std::move(object));
  join(kind_of_gang(kind), meta, std::move(joined), keys);
  return keys;
}

GangBook::Keys GangBook::remove(Kind kind, std::string_view key) {
  auto& of_kind = all_[kind];
  const auto it = of_kind.find(key);
  if (it == of_kind.end()) return {};
  const GangObject gone = std::move(it->second);
  of_kind.erase(it);
  Keys keys{gang_key(kind, key)};
  join(kind_of_gang(kind), gone.meta, {gone.together}, keys);
  return keys;
}

GangBook::Keys GangBook::remove_all(Kind kind, const std::string& beginning) {
  Keys keys;
  auto& of_kind = all_[kind];
  for (auto it = of_kind.lower_bound(beginning); it != of_kind.end() && it->first.starts_with(beginning);) {
    keys.push_back(gang_key(kind, it->first));
    it = of_kind.erase(it);
  }
  return keys;
}

void GangBook::join(Kind kind, const Meta& changed, std::set<Names> joined, Keys& keys) {
  for (const auto& [key, whole] : joined_[kind]) {
    if (whole.meta.ns == changed.ns && whole.part_named(changed.name) != nullptr)
      joined.insert(whole.together);
  }
  for (const Names& names : joined) {
    if (names.empty()) continue;
    const std::string key = key_of(changed.ns, joined_name(names));
    GangObject whole = whole_of(kind, changed.ns, names);
    whole.together.empty() ? (void)joined_[kind].erase(key)
                           : (void)joined_[kind].insert_or_assign(key, std::move(whole));
    keys.push_back(gang_key(kind, key));
    for (const std::string& name : names) keys.push_back(gang_key(kind, key_of(changed.ns, name)));
  }
}

GangObject GangBook::whole_of(Kind kind, const std::string& ns, const Names& names) const {
  GangObject out;
  out.least = 0;
  for (const std::string& name : names) {
    const GangObject* one = find_own(kind, key_of(ns, name));
    // How many of it start together is known when it is there.
    out.parts.push_back({name, one == nullptr ? 1 : one->least});
    out.least += out.parts.back().least;
    if (one == nullptr || one->together != names) continue;
    if (out.together.empty() || one->meta.created < out.meta.created) out.meta = one->meta;
    out.together = names;
    if (out.wrong.empty()) out.wrong = one->wrong;
  }
  out.meta.name = joined_name(names);
  return out;
}

const GangObject* GangBook::find_own(Kind kind, std::string_view key) const {
  if (const auto of_kind = all_.find(kind); of_kind != all_.end()) {
    if (const auto it = of_kind->second.find(key); it != of_kind->second.end()) return &it->second;
  }
  return kind == Kind::kPodGroup ? find_own(Kind::kOlderPodGroup, key) : nullptr;
}

const GangObject* GangBook::find(Kind kind, std::string_view key) const {
  if (kind == Kind::kUpstreamWorkload) key = without_replica(key);
  if (const GangObject* own = find_own(kind, key)) return own;
  const auto of_kind = joined_.find(kind);
  if (of_kind == joined_.end()) return nullptr;
  const auto it = of_kind->second.find(key);
  return it == of_kind->second.end() ? nullptr : &it->second;
}

Membership GangBook::with_part(Membership membership, const Meta& pod) const {
  const GangSystem* system = membership.system;
  if (system == nullptr) return membership;
  const GangObject* object = find(system->kind, key_of(pod.ns, membership.name));
  membership.part = system->part_in(object, pod);
  membership.kept = system->keeps(pod);
  if (object == nullptr || object->together.empty()) return membership;
  membership.part = std::exchange(membership.name, joined_name(object->together));
  membership.uid = gang_uid(system->kind, key_of(pod.ns, membership.name));
  return membership;
}

}  // namespace berth::dialect

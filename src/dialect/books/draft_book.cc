#include "dialect/books/draft_book.h"

#include <fmt/format.h>

#include <functional>
#include <utility>

#include "dialect/books/owner_book.h"

namespace berth::dialect {

std::size_t hash_of(const CommonSettings& settings) {
  std::size_t hash = std::hash<std::string>{}(settings.queue);
  const auto mix = [&](std::size_t value) { hash = hash * 1'000'003 + value; };
  mix(std::hash<std::string>{}(settings.lane));
  mix(static_cast<std::size_t>(settings.priority));
  mix(static_cast<std::size_t>(settings.kind));
  mix(static_cast<std::size_t>(settings.expected.value_or(0)));
  mix(static_cast<std::size_t>(settings.restart.last_checkpoint.value_or(0)));
  mix(static_cast<std::size_t>(settings.granted));
  for (const RoleCount& role : settings.counts) {
    mix(static_cast<std::size_t>(role.count));
    mix(static_cast<std::size_t>(role.least));
  }
  if (settings.blocked) {
    mix(static_cast<std::size_t>(settings.blocked->code));
    mix(std::hash<std::string>{}(settings.blocked->subject));
    mix(std::hash<std::string>{}(settings.blocked->detail));
  }
  return hash;
}

std::size_t hash_of(const std::vector<std::string>& keys) {
  std::size_t hash = keys.size();
  for (const std::string& key : keys) hash = hash * 1'000'003 + std::hash<std::string>{}(key);
  return hash;
}

const std::shared_ptr<const CommonSettings>& GivenSettings::none() {
  static const auto kNone = std::make_shared<const CommonSettings>();
  return kNone;
}

std::string Draft::object_key() const {
  if (kind == GangKind::kPodGroup) return gang_key(system->kind, name);
  return kind == GangKind::kOwner ? owner_key(uid) : std::string();
}

std::uint32_t DraftBook::add(const Membership& membership, const std::string& ns) {
  const std::uint32_t ix = drafts_.take();
  Draft& draft = drafts_[ix];
  draft.used = true;
  draft.kind = membership.kind;
  draft.uid = membership.uid;
  draft.ns = ns;
  draft.name = fmt::format("{}/{}", ns, membership.name);
  draft.size_key = membership.size_key;
  draft.system = membership.system;
  draft.size = 1;
  by_uid_.add(draft.uid, ix);
  return ix;
}

void DraftBook::erase(std::uint32_t ix) {
  set_depends(ix, {});
  by_uid_.erase(drafts_[ix].uid, [&](std::uint32_t at) { return at == ix; });
  drafts_.give_back(ix);
}

std::uint32_t DraftBook::find(std::string_view uid) const {
  return by_uid_.find(uid, [&](std::uint32_t at) { return drafts_[at].uid == uid; });
}

void DraftBook::give(std::uint32_t ix, Settings&& settings) {
  GivenSettings& given = drafts_[ix].given;
  given.created = settings.created;
  given.asks_more_since = settings.asks_more_since;
  given.common = settings_.share(static_cast<CommonSettings&&>(settings));
}

void DraftBook::set_depends(std::uint32_t ix, std::vector<std::string> keys) {
  Draft& draft = drafts_[ix];
  static const std::vector<std::string> kNothing;
  const auto held = draft.depends;
  const std::vector<std::string>& before = held != nullptr ? *held : kNothing;
  if (before == keys) return;
  for (const auto& key : before) {
    const auto it = dependents_.find(key);
    it->second.erase(ix);
    if (it->second.empty()) dependents_.erase(it);
  }
  for (const auto& key : keys) dependents_[key].insert(ix);
  draft.depends = keys.empty() ? nullptr : depends_.share(std::move(keys));
}

std::vector<std::uint32_t> DraftBook::dependents_of(const std::string& key) const {
  const auto it = dependents_.find(key);
  if (it == dependents_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

}  // namespace berth::dialect

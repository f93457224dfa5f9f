#include "dialect/books/draft_book.h"

#include <fmt/format.h>

#include <utility>

#include "dialect/books/owner_book.h"

namespace berth::dialect {

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
  if (membership.kind == GangKind::kPodGroup)
    draft.object_key = gang_key(membership.system->kind, draft.name);
  if (membership.kind == GangKind::kOwner) draft.object_key = owner_key(membership.uid);
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

void DraftBook::set_depends(std::uint32_t ix, std::vector<std::string> keys) {
  Draft& draft = drafts_[ix];
  if (draft.depends == keys) return;
  for (const auto& key : draft.depends) {
    const auto it = dependents_.find(key);
    it->second.erase(ix);
    if (it->second.empty()) dependents_.erase(it);
  }
  for (const auto& key : keys) dependents_[key].insert(ix);
  draft.depends = std::move(keys);
}

std::vector<std::uint32_t> DraftBook::dependents_of(const std::string& key) const {
  const auto it = dependents_.find(key);
  if (it == dependents_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

}  // namespace berth::dialect

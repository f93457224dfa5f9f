#include "dialect/books/claim_book.h"

#include "dialect/books/draft_book.h"
#include "dialect/volumes/volume_book.h"

namespace berth::dialect {

template <class T>
void ClaimBook::set(const std::string& claim, std::set<T> Users::*part, const T& user, bool uses) {
  changed_.insert(claim);
  const auto it = by_claim_.try_emplace(claim).first;
  if (uses) {
    (it->second.*part).insert(user);
  } else {
    (it->second.*part).erase(user);
  }
  if (it->second.pods.empty() && it->second.owners.empty()) by_claim_.erase(it);
}

void ClaimBook::use(const Pod& pod, std::uint32_t ix, bool uses) {
  for (const ClaimUse& use : pod.spec.claims) {
    if (const std::string claim = claim_of(use, pod.meta.name); !claim.empty())
      set(key_of(pod.meta.ns, claim), &Users::pods, ix, uses);
  }
}

void ClaimBook::use(const OwnerRecord& owner, bool uses) {
  const Meta& meta = *owner.ask.meta;
  for (const AskedSet& asked : owner.ask.sets) {
    for (const ClaimUse& use : asked.spec->claims) {
      const std::string claim = use.ephemeral ? std::string(kMadeClaims) : key_of(meta.ns, use.claim);
      set(claim, &Users::owners, meta.uid, uses);
    }
  }
}

bool ClaimBook::is_shared(std::string_view claim) const {
  const auto it = by_claim_.find(claim);
  return it != by_claim_.end() && (it->second.pods.size() > 1 || !it->second.owners.empty());
}

ClaimBook::Users ClaimBook::users(std::string_view claim) const {
  const auto it = by_claim_.find(claim);
  return it == by_claim_.end() ? Users() : it->second;
}

}  // namespace berth::dialect

#include "dialect/books/gang_book.h"

#include <fmt/format.h>

#include <utility>

#include "dialect/books/draft_book.h"

namespace berth::dialect {

std::string gang_key(Kind kind, std::string_view key) {
  return fmt::format("gang:{}/{}", enum_name(kind), key);
}

void GangBook::put(Kind kind, GangObject&& object) {
  std::string key = key_of(object.meta.ns, object.meta.name);
  all_[kind].insert_or_assign(std::move(key), std::move(object));
}

bool GangBook::remove(Kind kind, std::string_view key) {
  auto& of_kind = all_[kind];
  const auto it = of_kind.find(key);
  if (it == of_kind.end()) return false;
  of_kind.erase(it);
  return true;
}

const GangObject* GangBook::find(Kind kind, std::string_view key) const {
  const auto of_kind = all_.find(kind);
  if (of_kind == all_.end()) return nullptr;
  const auto it = of_kind->second.find(key);
  return it == of_kind->second.end() ? nullptr : &it->second;
}

Membership GangBook::with_part(Membership membership, const Meta& pod) const {
  const GangSystem* system = membership.system;
  if (system != nullptr) {
    membership.part = system->part_in(find(system->kind, key_of(pod.ns, membership.name)), pod);
    membership.kept = system->keeps(pod);
  }
  return membership;
}

}  // namespace berth::dialect

#include "dialect/intake/owner_groups.h"

#include <optional>
#include <utility>

namespace berth::dialect {
namespace {

void put(OwnerBook& owners, TemplateBook& templates, const std::string& gang, const OwnerRecord& owner,
         const std::string& number) {
  const auto of_group = owner.ask.kind->of_group;
  if (of_group == nullptr) return;
  std::optional<OwnerRecord> record;
  if (auto ask = of_group(owner.ask, number))
    record = templates.record_of(std::move(*ask), nullptr, false, {});
  const std::string uid = owner.ask.meta->uid;
  owners.put_group(gang, uid, number, std::move(record));
}

}  // namespace

void put_group(OwnerBook& owners, TemplateBook& templates, const std::string& gang, const OwnedGroup& group) {
  put(owners, templates, gang, *group.record, std::string(group.named.number));
}

void put_groups(OwnerBook& owners, TemplateBook& templates, const std::string& owner) {
  for (const auto& [gang, number] : owners.groups_of(owner))
    put(owners, templates, gang, *owners.find(owner), number);
}

}  // namespace berth::dialect

#include "dialect/gangs/gang_system.h"

#include <fmt/format.h>

namespace berth::dialect {

std::string gang_uid(Kind kind, std::string_view key) {
  return fmt::format("{}/{}", enum_name(kind_of_gang(kind)), key);
}

std::string_view GangSystem::name_in(const Meta& pod) const {
  for (const std::string_view key : names) {
    if (key.empty()) continue;
    const std::string_view said = labels_count ? pod.mark(key) : pod.annotation(key);
    if (!said.empty()) return said;
  }
  return {};
}

std::string GangSystem::part_in(const GangObject* object, const Meta& pod) const {
  if (object != nullptr) {
    for (const GangSplit& split : object->splits) {
      if (std::string out = split.part_of(pod.labels); !out.empty()) return out;
    }
  }
  return part.empty() ? std::string() : std::string(pod.mark(part));
}

}  // namespace berth::dialect

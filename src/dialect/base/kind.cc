#include "dialect/base/kind.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::dialect {

std::span<const KindInfo> kinds() {
  return kKinds;
}

std::optional<Kind> kind_of(std::string_view api_version, std::string_view kind) {
  const auto slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  const auto* const row = std::find_if(kKinds.begin(), kKinds.end(), [&](const KindInfo& info) {
    return info.word == kind && info.group == group;
  });
  return row == kKinds.end() ? std::nullopt : std::optional(row->kind);
}

bool is_namespaced(Kind kind) {
  return info_of(kind).namespaced;
}

std::string manifest_uid(Kind kind, std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}/{}", enum_name(kind), ns, name);
}

std::string describe(Kind kind, std::string_view ns, std::string_view name) {
  return ns.empty() ? fmt::format("{} {}", enum_name(kind), name)
                    : fmt::format("{} {}/{}", enum_name(kind), ns, name);
}

}  // namespace berth::dialect

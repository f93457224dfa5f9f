#include "dialect/base/kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace berth::dialect {
namespace {

// Its memory never moves.
std::vector<KindInfo>& table() {
  static std::vector<KindInfo> all = [] {
    std::vector<KindInfo> out;
    out.reserve(kMostKinds);
    out.assign(kKinds.begin(), kKinds.end());
    return out;
  }();
  return all;
}

template <class F>
const KindInfo* find_row(F&& f) {
  const auto it = std::find_if(table().begin(), table().end(), f);
  return it == table().end() ? nullptr : &*it;
}

}  // namespace

std::span<const KindInfo> kinds() {
  return table();
}

const KindInfo& info_of(Kind kind) {
  if (is_declared(kind)) return table()[static_cast<std::size_t>(kind)];
  return *find_row([&](const KindInfo& info) { return info.kind == kind; });
}

std::optional<Kind> add_kind(KindInfo info) {
  if (table().size() >= kMostKinds || kind_named(info.word)) return std::nullopt;
  info.kind = static_cast<Kind>(table().size());
  table().push_back(info);
  return info.kind;
}

std::string_view enum_name(Kind kind) {
  if (static_cast<std::size_t>(kind) >= table().size()) return "?";
  return is_declared(kind) ? info_of(kind).word : berth::enum_name<Kind>(kind);
}

std::optional<Kind> kind_named(std::string_view name) {
  const KindInfo* row =
      find_row([&](const KindInfo& info) { return (info.name.empty() ? info.word : info.name) == name; });
  return row == nullptr ? std::nullopt : std::optional(row->kind);
}

std::optional<Kind> kind_of(std::string_view api_version, std::string_view kind) {
  const auto slash = api_version.find('/');
  const std::string_view group = slash == std::string_view::npos ? "" : api_version.substr(0, slash);
  const KindInfo* row =
      find_row([&](const KindInfo& info) { return info.word == kind && info.group == group; });
  return row == nullptr ? std::nullopt : std::optional(row->kind);
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

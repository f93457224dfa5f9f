#include "dialect/objects/gang_systems.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "dialect/gangs/pod_group.h"
#include "dialect/kai/pod_group.h"
#include "dialect/volcano/pod_group.h"

namespace berth::dialect {
namespace {

constexpr std::array kSystems = {&PodGroup::kGang, &VolcanoPodGroup::kGang, &KaiPodGroup::kGang};

}  // namespace

std::span<const GangSystem* const> gang_systems() {
  return kSystems;
}

const GangSystem* gang_system(Kind kind) {
  const auto* const it =
      std::find_if(kSystems.begin(), kSystems.end(), [&](const auto* row) { return row->kind == kind; });
  return it == kSystems.end() ? nullptr : *it;
}

const GangSystem* gang_system_of(const Meta& pod) {
  const GangSystem* out = nullptr;
  for (const GangSystem* row : kSystems) {
    if (row->name_in(pod).empty()) continue;
    if (out != nullptr) return nullptr;
    out = row;
  }
  return out;
}

std::string several_gangs(const Meta& pod) {
  std::string out;
  int found = 0;
  for (const GangSystem* row : kSystems) {
    const std::string_view name = row->name_in(pod);
    if (name.empty()) continue;
    out += fmt::format("{}PodGroup {} of {}", found++ == 0 ? "" : " and ", name, row->name);
  }
  return found < 2 ? std::string() : out;
}

}  // namespace berth::dialect

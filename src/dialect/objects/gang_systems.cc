#include "dialect/objects/gang_systems.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "dialect/gangs/pod_group.h"
#include "dialect/kai/pod_group.h"
#include "dialect/koordinator/gang_marks.h"
#include "dialect/scheduling_api/pod_group.h"
#include "dialect/scheduling_api/workload.h"
#include "dialect/volcano/pod_group.h"
#include "dialect/yunikorn/gang_marks.h"

namespace berth::dialect {
namespace {

constexpr std::array kSystems = {&PodGroup::kGang, &VolcanoPodGroup::kGang, &KaiPodGroup::kGang,
                                 &UpstreamPodGroup::kGang, &WorkloadPodGroup::kGang};
constexpr std::array<GangSayer, 2> kSayers = {koordinator_gang, yunikorn_gang};

}  // namespace

std::span<const GangSystem* const> gang_systems() {
  return kSystems;
}

const GangSystem* gang_system(Kind kind) {
  kind = kind_of_gang(kind);
  const auto* const it =
      std::find_if(kSystems.begin(), kSystems.end(), [&](const auto* row) { return row->kind == kind; });
  return it == kSystems.end() ? nullptr : *it;
}

NamedGang gang_named_by(const Meta& pod) {
  NamedGang out;
  int found = 0;
  for (const GangSystem* row : kSystems) {
    if (row->name_in(pod).empty()) continue;
    out.system = row;
    ++found;
  }
  for (const GangSayer sayer : kSayers) {
    auto said = sayer(pod);
    if (!said) continue;
    out.said = std::move(said);
    ++found;
  }
  return found < 2 ? std::move(out) : NamedGang();
}

std::string several_gangs(const Meta& pod) {
  std::vector<std::string> found;
  for (const GangSystem* row : kSystems) {
    const std::string_view name = row->name_in(pod);
    if (!name.empty()) found.push_back(fmt::format("PodGroup {} of {}", name, row->name));
  }
  for (const GangSayer sayer : kSayers) {
    if (const auto said = sayer(pod)) found.push_back(fmt::format("gang {} of {}", said->name, said->system));
  }
  return found.size() < 2 ? std::string() : fmt::format("{}", fmt::join(found, " and "));
}

}  // namespace berth::dialect

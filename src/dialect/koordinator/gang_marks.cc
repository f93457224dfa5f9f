#include "dialect/koordinator/gang_marks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <utility>

#include "base/integers.h"
#include "dialect/base/names.h"
#include "dialect/gangs/koordinator_groups.h"

namespace berth::dialect {
std::optional<SaidGang> koordinator_gang(const Meta& pod) {
  const std::string name(pod.annotation(kKoordinatorGang));
  // As for Koordinator: the labels that name a PodGroup, or a gang without one, come first.
  if (name.empty() || pod.labels.contains(kOlderPodGroupLabel) || pod.labels.contains(kOldestPodGroupName))
    return std::nullopt;
  SaidGang out{"Koordinator", kKoordinatorLeast, name};
  const std::string_view least = pod.annotation(kKoordinatorLeast);
  const auto needs = to_integer(least, 1, kMostOfKoordinator);
  if (least.empty()) {
    out.wrong = fmt::format("{} is required: an integer from 1 to {}", kKoordinatorLeast, kMostOfKoordinator);
  } else if (!needs) {
    out.wrong = not_a_number(kKoordinatorLeast, least);
  } else {
    out.wrong = wrong_total(pod, kKoordinatorLeast, needs);
  }
  std::set<std::string> together = koordinator_groups(pod, out.wrong);
  together.insert(name);
  if (together.size() > 1) {
    out.part = name;
    out.name = fmt::format("{}", fmt::join(together, "+"));
    for (const std::string& other : together) out.least.emplace(other, 0);
  }
  if (needs) out.least[out.part] = *needs;
  return out;
}

}  // namespace berth::dialect

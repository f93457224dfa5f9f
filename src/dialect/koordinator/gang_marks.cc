#include "dialect/koordinator/gang_marks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>
#include <utility>

#include "base/integers.h"
#include "dialect/base/names.h"
#include "dialect/gangs/koordinator_groups.h"

namespace berth::dialect {
namespace {

// Whether a gang of coscheduling's oldest label has marks that only Koordinator reads.
bool has_more(const Meta& pod) {
  return !pod.annotation(kKoordinatorGroups).empty() ||
         (pod.label(kOldestPodGroupSize).empty() && !pod.annotation(kKoordinatorLeast).empty());
}

}  // namespace

std::optional<SaidGang> koordinator_gang(const Meta& pod) {
  // As for Koordinator: the labels that name a PodGroup, or a gang without one, come first.
  if (!pod.label(kOlderPodGroupLabel).empty()) return std::nullopt;
  const std::string_view oldest = pod.label(kOldestPodGroupName);
  if (!oldest.empty() && !has_more(pod)) return std::nullopt;
  const std::string name(oldest.empty() ? pod.annotation(kKoordinatorGang) : oldest);
  if (name.empty()) return std::nullopt;
  const std::string_view size = pod.label(kOldestPodGroupSize);  // before the annotation
  SaidGang out{"Koordinator", size.empty() ? kKoordinatorLeast : kOldestPodGroupSize, name};
  out.oldest_label = !oldest.empty();
  const std::string_view least = size.empty() ? pod.annotation(kKoordinatorLeast) : size;
  const auto needs = to_integer(least, 1, kMostOfKoordinator);
  if (!least.empty() && !needs) {
    out.wrong = not_a_number(out.key, least);
  } else {
    out.wrong = wrong_total(pod, out.key, needs);
  }
  std::set<std::string> together = koordinator_groups(pod, out.wrong);
  together.insert(name);
  if (together.size() > 1) {
    out.part = name;
    out.name = fmt::format("{}", fmt::join(together, "+"));
    for (const std::string& other : together) out.least.emplace(other, 0);
    // Others cannot tell a gang whose number is not known from one of a single pod.
    if (least.empty() && out.wrong.empty())
      out.wrong = fmt::format("{} is required: an integer from 1 to {}", out.key, kMostOfKoordinator);
  }
  if (needs) out.least[out.part] = *needs;
  return out;
}

}  // namespace berth::dialect

#include "dialect/kueue/kueue_workload.h"

#include <algorithm>

namespace berth::dialect {

const KueueWorkload::Assignment* assignment_of(const KueueWorkload& object, std::size_t pod_set) {
  if (object.admitted_to.empty()) return nullptr;
  const auto it = std::find_if(object.assignments.begin(), object.assignments.end(),
                               [&](const auto& a) { return a.name == object.pod_sets[pod_set].name; });
  return it == object.assignments.end() ? nullptr : &*it;
}

std::int64_t slots_of(const KueueWorkload& object, std::size_t pod_set) {
  const auto& set = object.pod_sets[pod_set];
  const auto* assignment = assignment_of(object, pod_set);
  const std::int64_t count = assignment != nullptr && assignment->count >= 0 ? assignment->count : set.count;
  return std::max<std::int64_t>(0, count - set.reclaimable);
}

Group root_of(const KueueWorkload& object) {
  Group root;
  const bool grouped =
      object.pod_sets.size() > 1 && std::any_of(object.pod_sets.begin(), object.pod_sets.end(),
                                                [](const auto& set) { return !set.topology.empty(); });
  if (object.pod_sets.size() == 1) root.topology = object.pod_sets.front().topology;
  for (std::size_t i = 0; i < object.pod_sets.size(); ++i) {
    const auto& from = object.pod_sets[i];
    PodSet set;
    set.name = from.name;
    set.pod = *from.spec.pod;
    set.count = slots_of(object, i);
    // Kueue gives a flavor to what is named, even where nothing of it is asked for.
    for (const auto& resource : from.spec.zero_requests) set.pod.requests.set(resource, 0);
    set.flavor_group = from.group;
    set.least = std::min(set.count, from.min_count.value_or(set.count));
    if (!grouped) {
      root.pod_sets.push_back(std::move(set));
      continue;
    }
    Group group;
    group.name = set.name;
    group.topology = from.topology;
    group.pod_sets.push_back(std::move(set));
    root.groups.push_back(std::move(group));
  }
  return root;
}

}  // namespace berth::dialect

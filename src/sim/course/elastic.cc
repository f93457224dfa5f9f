#include "sim/course/elastic.h"

#include <algorithm>
#include <utility>

#include "base/samplers.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kOne = 1000;

void spare(const ElasticRules& rules, Group& group) {
  group.disruption = Disruption::kOne;
  for (PodSet& set : group.pod_sets) {
    const Int128 least = (Int128{set.count} * rules.least_milli + kOne - 1) / kOne;
    set.least = std::clamp<std::int64_t>(clamp_to_int64(least), 1, set.count);
  }
  for (Group& child : group.groups) spare(rules, child);
}

// `set` counts the pod sets passed so far, in slot order.
bool whole_below(const Group& group, const std::vector<std::int64_t>& slots, std::size_t& set, bool& any) {
  std::int64_t started = 0;
  any = false;
  bool fine = true;
  for (const PodSet& pods : group.pod_sets) {
    const std::int64_t have = slots[set++];
    fine = fine && (have == 0 || have >= pods.least_count());
    any = any || have > 0;
    if (have >= pods.least_count()) ++started;
  }
  for (const Group& child : group.groups) {
    bool some = false;
    const bool child_fine = whole_below(child, slots, set, some);
    fine = fine && (child_fine || !some);
    any = any || some;
    if (child_fine) ++started;
  }
  const auto children = static_cast<std::int64_t>(group.pod_sets.size() + group.groups.size());
  return fine && started >= group.least.value_or(children);
}

bool disrupt_below(const Group& group, const std::vector<bool>& hit, std::vector<bool>& lost,
                   std::size_t& set) {
  const std::size_t first = set;
  bool any = false;
  for (std::size_t i = 0; i < group.pod_sets.size(); ++i) any = hit[set++] || any;
  for (const Group& child : group.groups) any = disrupt_below(child, hit, lost, set) || any;
  if (any && group.disruption == Disruption::kAll) {
    for (std::size_t at = first; at < set; ++at) lost[at] = true;
  }
  return any;
}

}  // namespace

Result<Scaling> Scaling::table(std::vector<EfficiencyPoint> points) {
  Scaling out;
  out.points_ = std::move(points);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < out.points_.size(); ++i) {
    const EfficiencyPoint& point = out.points_[i];
    if (point.slots < 1 || (i > 0 && point.slots <= out.points_[i - 1].slots)) {
      return fail(ErrorCode::kInvalid, "the numbers of slots must rise, from 1 on");
    }
    if (point.milli < 1 || point.milli > kOne) {
      return fail(ErrorCode::kInvalid, "the efficiency with {} slots must be above 0 and at most 1",
                  point.slots);
    }
    if (point.slots * point.milli < before) {
      return fail(ErrorCode::kInvalid, "with {} slots the job would be slower than with fewer", point.slots);
    }
    before = point.slots * point.milli;
  }
  return out;
}

std::int64_t Scaling::speed(std::int64_t slots) const {
  if (points_.empty()) return slots * kOne;
  const auto above = std::find_if(points_.begin(), points_.end(),
                                  [&](const EfficiencyPoint& p) { return p.slots >= slots; });
  if (above == points_.end()) return slots * points_.back().milli;
  if (above == points_.begin() || above->slots == slots) return slots * above->milli;
  const EfficiencyPoint& below = *(above - 1);
  const std::int64_t milli =
      below.milli + (above->milli - below.milli) * (slots - below.slots) / (above->slots - below.slots);
  return slots * milli;
}

bool made_elastic(const ElasticRules& rules, std::string_view name) {
  if (rules.share_milli == 0) return false;
  Random random(derived_seed(rules.seed, name));
  return random.chance(static_cast<std::uint64_t>(rules.share_milli), kOne);
}

void make_elastic(const ElasticRules& rules, Group& root) {
  spare(rules, root);
}

bool is_elastic(const Group& root) {
  return std::any_of(root.pod_sets.begin(), root.pod_sets.end(),
                     [](const PodSet& set) { return set.least_count() < set.count; }) ||
         std::any_of(root.groups.begin(), root.groups.end(), is_elastic);
}

bool is_whole(const Group& root, const std::vector<std::int64_t>& slots) {
  std::size_t set = 0;
  bool any = false;
  return whole_below(root, slots, set, any);
}

std::vector<bool> whole_sets_lost(const Group& root, const std::vector<bool>& hit) {
  std::vector<bool> lost(hit.size(), false);
  std::size_t set = 0;
  disrupt_below(root, hit, lost, set);
  return lost;
}

}  // namespace berth::sim

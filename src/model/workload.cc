#include "model/workload.h"

#include "base/checked.h"

namespace berth {
namespace {

constexpr int kDeepest = 8;
constexpr std::int64_t kMostSlots = 1'000'000;

void collect(const Group& group, std::vector<const PodSet*>& out) {
  for (const auto& pod_set : group.pod_sets) out.push_back(&pod_set);
  for (const auto& child : group.groups) collect(child, out);
}

Status check_pod_set(const PodSet& set, std::int64_t& slots) {
  const auto bad = [&](std::string_view what) {
    return fail(ErrorCode::kInvalid, "pod set \"{}\": {}", set.name, what);
  };
  if (set.count < 0) return bad(fmt::format("count is {}, but must not be negative", set.count));
  if (set.least_count() < 0 || set.least_count() > set.count) {
    return bad(fmt::format("the least count is {}, but must lie between 0 and the count {}",
                           set.least_count(), set.count));
  }
  if (set.present && (*set.present < 0 || *set.present > set.count)) {
    return bad(fmt::format("{} pods are present of {}", *set.present, set.count));
  }
  if (set.count > kMostSlots || slots + set.count > kMostSlots) {
    return bad(fmt::format("more than {} pods in one workload", kMostSlots));
  }
  std::int64_t in_bands = 0;
  for (const DemandBand& band : set.bands) {
    if (band.count < 0 || band.reclaim_within < 0 || band.cost < 0) {
      return bad("a demand band has a negative count, reclaim time or cost");
    }
    in_bands = saturating_add(in_bands, band.count);
  }
  for (std::size_t i = 1; i < set.bands.size(); ++i) {
    const DemandBand& before = set.bands[i - 1];
    const DemandBand& band = set.bands[i];
    if (band.priority > before.priority) {
      return bad(fmt::format(
          "demand band {} has priority {}, above the {} of the one before it: the last band yields first, so "
          "put it in front",
          i + 1, band.priority, before.priority));
    }
    if (band.protected_from_reclaim && !before.protected_from_reclaim) {
      return bad(
          fmt::format("demand band {} is protected behind one that is not: the last band yields first, so "
                      "put it in front",
                      i + 1));
    }
  }
  if (in_bands > set.count) {
    return bad(fmt::format("its demand bands have {} pods, more than its count {}", in_bands, set.count));
  }
  slots += set.count;
  if (const auto status = set.pod.requests.check_not_negative(); !status) return bad(status.error().message);
  for (const auto& request : set.pod.claim.requests) {
    if (const auto status = request.check(); !status) return bad(status.error().message);
  }
  if (const auto total = set.pod.total(); !total) return bad(total.error().message);
  return {};
}

Status check_group(const Group& group, int depth, std::int64_t& slots) {
  if (depth > kDeepest)
    return fail(ErrorCode::kInvalid, "group \"{}\": the tree is deeper than {} levels", group.name, kDeepest);
  const auto children = static_cast<std::int64_t>(group.pod_sets.size() + group.groups.size());
  if (group.least && (*group.least < 0 || *group.least > children)) {
    return fail(ErrorCode::kInvalid, "group \"{}\": the least number of children is {}, but it has {}",
                group.name, *group.least, children);
  }
  if (group.topology.segment < 0) {
    return fail(ErrorCode::kInvalid, "group \"{}\": the segment size is {}", group.name,
                group.topology.segment);
  }
  for (const auto& set : group.pod_sets) BERTH_TRY(check_pod_set(set, slots));
  for (const auto& child : group.groups) BERTH_TRY(check_group(child, depth + 1, slots));
  return {};
}

}  // namespace

Result<ResourceList> PodTemplate::total() const {
  ResourceList sum = requests;
  for (const auto& request : claim.requests) BERTH_TRY(sum.add(request.resource, request.total()));
  return sum;
}

std::vector<const PodSet*> pod_sets_of(const Group& root) {
  std::vector<const PodSet*> out;
  collect(root, out);
  return out;
}

Status check(const Workload& workload) {
  if (workload.uid.empty()) return fail(ErrorCode::kInvalid, "workload \"{}\" has no uid", workload.name);
  if (workload.minimum_runtime.value_or(0) < 0) {
    return fail(ErrorCode::kInvalid, "workload {}: its minimum runtime is {} ms, but must not be negative",
                workload.name, *workload.minimum_runtime);
  }
  std::int64_t slots = 0;
  if (auto status = check_group(workload.root, 1, slots); !status) {
    return fail(ErrorCode::kInvalid, "workload {}: {}", workload.name, status.error().message);
  }
  if (slots == 0) return fail(ErrorCode::kInvalid, "workload {} has no pods", workload.name);
  return {};
}

}  // namespace berth

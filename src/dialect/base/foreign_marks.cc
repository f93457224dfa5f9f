#include "dialect/base/foreign_marks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "dialect/base/names.h"

namespace berth::dialect {
namespace {

constexpr MarkPlace kKey = MarkPlace::kKey;
constexpr MarkPlace kResource = MarkPlace::kResource;
constexpr MarkPlace kOwner = MarkPlace::kOwner;

// Names that other tools use too count only where the pod asks for the system's own scheduler.
constexpr std::string_view kForKai = "kai-scheduler";

constexpr ForeignMark kMarks[] = {
    {"gang.scheduling.koordinator.sh/network-topology-spec", kKey, "Koordinator", "the topology of a gang",
     "koordinator", ""},
    {"gpu-fraction", kKey, "KAI", "a part of a GPU", "kai", ""},
    {"gpu-fraction-limit", kKey, "Run:ai", "the most of a GPU", "kai", ""},
    {"gpu-fraction-num-devices", kKey, "KAI", "how many GPUs the part is of", "kai", ""},
    {"gpu-memory", kKey, "KAI", "a part of a GPU, by memory", "kai", ""},
    {"gpu-memory-limit", kKey, "Run:ai", "the most of a GPU, by memory", "kai", ""},
    {"internal.yunikorn.apache.org/placeholder", kKey, "YuniKorn", "the place of a gang's pod to come",
     "yunikorn", ""},
    {"kai.scheduler/batch-min-member", kKey, "KAI", "the least size of a gang", "kai", ""},
    {"kai.scheduler/node-pool", kKey, "KAI", "the pool of nodes", "kai", ""},
    {"kai.scheduler/segment-size", kKey, "KAI", "the topology of a part of a gang", "kai", ""},
    {"kai.scheduler/segment-topology-required-placement", kKey, "KAI", "the topology of a part of a gang",
     "kai", ""},
    {"kai.scheduler/topology-required-placement", kKey, "KAI", "the topology of a gang", "kai", ""},
    {"mps", kKey, "KAI", "a part of a GPU, by MPS", "kai", kForKai},
    {"nvidia.com/nouse-gputype", kKey, "HAMi", "which GPUs it must not get", "hami", ""},
    {"nvidia.com/nouse-gpuuuid", kKey, "HAMi", "which GPUs it must not get", "hami", ""},
    {"nvidia.com/numa-bind", kKey, "HAMi", "GPUs of one NUMA node", "hami", ""},
    {"nvidia.com/use-gputype", kKey, "HAMi", "which GPUs it must get", "hami", ""},
    {"nvidia.com/use-gpuuuid", kKey, "HAMi", "which GPUs it must get", "hami", ""},
    {"nvidia.com/vgpu-mode", kKey, "HAMi", "how its GPU is shared", "hami", ""},
    {"project", kKey, "KAI", "the queue, by a project", "kai", kForKai},
    {"quota.scheduling.koordinator.sh/tree-id", kKey, "Koordinator", "the quota that it counts in",
     "koordinator", ""},
    {"runai-gpu-limit", kKey, "Run:ai", "the most of a GPU", "kai", ""},
    {"runai/node-pool", kKey, "Run:ai", "the pool of nodes", "kai", ""},
    {"scheduling.koordinator.sh/device-allocate-hint", kKey, "Koordinator", "which devices it must get",
     "koordinator", ""},
    {"scheduling.koordinator.sh/device-joint-allocate", kKey, "Koordinator", "devices that belong together",
     "koordinator", ""},
    {"scheduling.koordinator.sh/gpu-partition-spec", kKey, "Koordinator", "GPUs that belong together",
     "koordinator", ""},
    {"scheduling.koordinator.sh/numa-topology-spec", kKey, "Koordinator", "nodes by their NUMA topology",
     "koordinator", ""},
    {"scheduling.koordinator.sh/reservation-affinity", kKey, "Koordinator",
     "the reservation that it must use", "koordinator", ""},
    {"scheduling.volcano.sh/group-min-member", kKey, "Volcano", "the least size of a gang", "volcano", "",
     kVolcanoGroupName},
    {"scheduling.volcano.sh/group-min-resources", kKey, "Volcano", "the least room of a gang", "volcano", "",
     kVolcanoGroupName},
    {"scheduling.volcano.sh/group-name", kKey, "Volcano", "a gang, by its PodGroup", "volcano", "",
     kVolcanoGroupName},
    {"volcano.sh/job-name", kKey, "Volcano", "a gang, by its Job", "volcano", "", kVolcanoGroupName},
    {"volcano.sh/network-topology-highest-tier", kKey, "Volcano", "the topology of a gang", "volcano", "",
     kVolcanoGroupName},
    {"volcano.sh/numa-topology-policy", kKey, "Volcano", "nodes by their NUMA topology", "volcano", ""},
    {"volcano.sh/queue-name", kKey, "Volcano", "the queue", "volcano", "", kVolcanoGroupName},
    {"volcano.sh/task-spec", kKey, "Volcano", "a part of a gang", "volcano", "", kVolcanoGroupName},
    {"volcano.sh/vgpu-mode", kKey, "Volcano", "how its GPU is shared", "volcano", ""},
    {"volcano.sh/vgpu-nouse-gpuuuid", kKey, "Volcano", "which GPUs it must not get", "volcano", ""},
    {"volcano.sh/vgpu-podgroup-policy", kKey, "Volcano", "how a gang's GPUs are shared", "volcano", ""},
    {"volcano.sh/vgpu-use-gpuuuid", kKey, "Volcano", "which GPUs it must get", "volcano", ""},
    {"yunikorn.apache.org/placeholder", kKey, "YuniKorn", "the place of a gang's pod to come", "yunikorn",
     ""},

    {"4paradigm.com/vgpu*", kResource, "HAMi", "a part of a GPU", "hami", ""},
    {"aliyun.com/gpu-*", kResource, "HAMi", "a part of a GPU, as the first GPU-share plugins count it",
     "hami", ""},
    {"cambricon.com/mlu.smlu.*", kResource, "HAMi", "a part of an MLU", "hami", ""},
    {"cambricon.com/vmlu*", kResource, "HAMi", "a part of an MLU", "hami", ""},
    {"enflame.com/vgcu*", kResource, "HAMi", "a part of a GCU", "hami", ""},
    {"hygon.com/dcucores", kResource, "HAMi", "a part of a DCU", "hami", ""},
    {"hygon.com/dcumem", kResource, "HAMi", "a part of a DCU", "hami", ""},
    {"hygon.com/dcunum", kResource, "HAMi", "parts of DCUs", "hami", ""},
    {"iluvatar.ai/vcuda-*", kResource, "HAMi", "a part of a GPU", "hami", ""},
    {"koordinator.sh/gpu", kResource, "Koordinator", "GPUs, in hundredths", "koordinator", ""},
    {"koordinator.sh/gpu-core", kResource, "Koordinator", "a part of a GPU, by its cores", "koordinator", ""},
    {"koordinator.sh/gpu-memory", kResource, "Koordinator", "a part of a GPU, by its memory", "koordinator",
     ""},
    {"koordinator.sh/gpu-memory-ratio", kResource, "Koordinator", "a part of a GPU, by its memory",
     "koordinator", ""},
    {"koordinator.sh/gpu.shared", kResource, "Koordinator", "how many GPUs the parts are of", "koordinator",
     ""},
    {"metax-tech.com/sgpu", kResource, "HAMi", "a part of a GPU", "hami", ""},
    {"metax-tech.com/vcore", kResource, "HAMi", "a part of a GPU", "hami", ""},
    {"metax-tech.com/vmemory", kResource, "HAMi", "a part of a GPU", "hami", ""},
    {"mthreads.com/sgpu-core", kResource, "HAMi", "a part of a GPU", "hami", ""},
    {"mthreads.com/sgpu-memory", kResource, "HAMi", "a part of a GPU", "hami", ""},
    {"mthreads.com/vgpu", kResource, "HAMi", "a part of a GPU", "hami", ""},
    {"nvidia.com/gpucores", kResource, "HAMi", "a part of a GPU, by its cores", "hami", ""},
    {"nvidia.com/gpumem", kResource, "HAMi", "a part of a GPU, by its memory", "hami", ""},
    {"nvidia.com/gpumem-percentage", kResource, "HAMi", "a part of a GPU, by its memory", "hami", ""},
    {"nvidia.com/priority", kResource, "HAMi", "the order on a shared GPU", "hami", ""},
    {"tencent.com/vcuda-*", kResource, "HAMi", "a part of a GPU, as GPU Manager counts it", "hami", ""},
    {"volcano.sh/gpu-*", kResource, "Volcano", "a part of a GPU", "volcano", ""},
    {"volcano.sh/vgpu-*", kResource, "Volcano", "a part of a GPU", "volcano", ""},

    {"batch.volcano.sh/Job", kOwner, "Volcano", "a gang", "volcano", ""},
    {"grove.io/PodClique", kOwner, "KAI", "a gang", "kai", kForKai},
};

constexpr bool is_sorted() {
  for (std::size_t i = 1; i < std::size(kMarks); ++i) {
    const auto& a = kMarks[i - 1];
    const auto& b = kMarks[i];
    if (a.place > b.place || (a.place == b.place && a.name >= b.name)) return false;
  }
  return true;
}
static_assert(is_sorted(), "the look-up is a binary search");

bool is_of(const ForeignMark& mark, std::string_view name) {
  if (!mark.name.ends_with('*')) return mark.name == name;
  return name.starts_with(mark.name.substr(0, mark.name.size() - 1));
}

}  // namespace

std::span<const ForeignMark> foreign_marks() {
  return kMarks;
}

const ForeignMark* find_foreign(MarkPlace place, std::string_view name) {
  const auto* const begin = std::begin(kMarks);
  const auto* at = std::upper_bound(
      begin, std::end(kMarks), std::pair(place, name), [](const auto& key, const auto& mark) {
        return std::tie(key.first, key.second) < std::tie(mark.place, mark.name);
      });
  // A name with a '*' sorts before what it stands for, and other rows with that beginning may stand between.
  for (int looked = 0; at != begin && looked < 4; ++looked) {
    --at;
    if (at->place != place) return nullptr;
    if (is_of(*at, name)) return at;
  }
  return nullptr;
}

std::string foreign_text(std::string_view what, std::string_view name, const ForeignMark& mark) {
  return fmt::format("{} {} ({}: {})", what, name, mark.system, mark.meaning);
}

bool counts_for(const ForeignMark& mark, const Meta& pod, std::string_view scheduler) {
  if (!mark.scheduler.empty() && mark.scheduler != scheduler) return false;
  return mark.unless.empty() || pod.mark(mark.unless).empty();
}

std::optional<std::string> foreign_key(const Meta& meta, const Meta& pod, std::string_view scheduler) {
  std::optional<std::string> out;
  each_foreign_key(meta, pod, scheduler,
                   [&](std::string_view what, std::string_view key, const ForeignMark& mark) {
                     if (!out) out = foreign_text(what, key, mark);
                   });
  return out;
}

}  // namespace berth::dialect

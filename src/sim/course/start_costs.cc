#include "sim/course/start_costs.h"

#include <algorithm>

#include "base/checked.h"
#include "base/samplers.h"

namespace berth::sim {

TimeMs NodeImages::ready(std::uint32_t node, std::uint32_t image, DurationMs pull, TimeMs at) {
  if (image == kNoImage || pull == 0) return at;
  const auto [it, fresh] = on_node_.try_emplace((std::uint64_t{node} << 32) | image, at + pull);
  if (fresh) ++pulls_;
  return std::max(at, it->second);
}

TimeMs works_from(const StartCosts& costs, NodeImages& images, std::uint32_t node, TimeMs at,
                  std::uint64_t seed, std::string_view job, std::uint64_t pod) {
  DurationMs start = costs.pod_start;
  const DurationMs spread = clamp_to_int64(Int128{costs.pod_start} * costs.pod_start_spread_milli / 1000);
  if (spread > 0) {
    Random random(derived_seed(seed, job, pod));
    start += random.between(-spread, spread);
  }
  return images.ready(node, costs.image, costs.image_pull, at) + start + costs.warm_up;
}

}  // namespace berth::sim

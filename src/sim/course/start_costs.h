// The time that a start of a pod costs, and the checkpoints of a job.
//
// A pod that is started at t works from
//   max(t, the image is on the node) + pod start (with its spread) + warm-up.
// A job that starts as one begins to work when its last pod does. A pod that joins an elastic job or a service later works on its
// own.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/time.h"

namespace berth::sim {

inline constexpr std::uint32_t kNoImage = 0xffffffffu;

struct StartCosts {
  DurationMs pod_start = 0;
  std::int64_t pod_start_spread_milli = 0;  // each pod's start lies uniformly within this share of pod_start
  std::uint32_t image = kNoImage;           // in Trace::images
  DurationMs image_pull = 0;                // where the node does not have it
  DurationMs warm_up = 0;
  DurationMs checkpoint_time = 0;
  DurationMs resize = 0;  // an elastic job works on this much later each time that it grows or shrinks
  bool operator==(const StartCosts&) const = default;
};

// Which images lie on which nodes. A node gets an image once, with the first pod that needs it; pods that come meanwhile wait
// for the same pull. Images stay, also when a node fails and comes back.
class NodeImages {
 public:
  // When the image is on the node, for a pod that starts there at `at`. O(1).
  TimeMs ready(std::uint32_t node, std::uint32_t image, DurationMs pull, TimeMs at);
  std::int64_t pulls() const { return pulls_; }

 private:
  std::unordered_map<std::uint64_t, TimeMs> on_node_;
  std::int64_t pulls_ = 0;
};

// When a pod works that is started on the node at `at`. `seed`, `job` and `pod` (a number of its own for every start of every pod of
// the job) fix the random part.
TimeMs works_from(const StartCosts& costs, NodeImages& images, std::uint32_t node, TimeMs at,
                  std::uint64_t seed, std::string_view job, std::uint64_t pod);

}  // namespace berth::sim

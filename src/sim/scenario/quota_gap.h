// Whether the queues of an input have quota for all of its devices.
#pragma once

#include <string>

#include "sim/scenario/input.h"

namespace berth::sim {

// "the queues have quota for 64 nvidia.com/gpu in all, the nodes have 128: 64 are never used". It is "" where all can be used. A
// hundredth may be missing, because guarantees are often rounded down. Where a queue counts no quota for a device resource, or is unlimited, all of that
// resource can be used. `ignore_uncovered`: as of the engine.
std::string quota_gap(const Input& input, bool ignore_uncovered);

}  // namespace berth::sim

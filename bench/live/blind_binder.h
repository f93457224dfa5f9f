// The ceiling: a scheduler that does not think. It lists the pods that name it and have no node, and binds them to the
// nodes in turn, with a fixed number of requests in flight, over Berth's own client (src/kube). What a scheduler adds to
// this is the price of its decisions.
#pragma once

#include <string>

#include "base/result.h"

namespace berth::bench {

inline constexpr const char* kBlindScheduler = "blind";

// Goes on until the process is killed.
Status run_blind_binder(const std::string& kubeconfig, unsigned in_flight);

}  // namespace berth::bench

// Invariant 6: no starvation. Durations are bounded here, and nothing new arrives: from a state at rest what runs ends, one
// workload after the other, until nothing runs any more. A workload that fits the empty cluster within its queue's quota must
// have started by then: its bound is the number of workloads that were there.
//
// "Fits": an engine with the same nodes, foreign pods, queues and configuration, and this workload alone, starts it. Places of
// several pod sets are found one after the other, and where they are laid depends on the demand that was seen: such a
// workload fits if the same engine starts it, too, when it is made to look again with all others gone. The condition that a
// stream of higher rank puts: in a strict queue nothing passes a workload in front that never fits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "property/ledger.h"
#include "property/trial.h"

namespace berth::property {

// Would it start with the cluster to itself?
bool fits_alone(const engine::EngineConfig& config, const Ledger& ledger, const std::string& uid);

// The workload that ends next; "" when nothing runs.
std::string next_to_end(const Ledger& ledger, std::uint64_t seed);

// After the last one has ended: the first workload that should have started by now, as a violation, or "".
std::string starved(const engine::EngineConfig& config, const Tape& tape, const Checker& checker,
                    Coverage& coverage);

}  // namespace berth::property

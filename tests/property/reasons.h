// Invariant 7: every pending workload has a reason, and freeing what it names starts the workload.
//
// For one workload that waits, on a trial (trial.h) at rest: all others that wait step aside (they become inactive), so that it
// is considered first. As nothing was freed yet, it must not start, unless its reason was its turn. Then what the reason names
// is freed, and nothing else (relief.h), until it starts; each time its next reason must name something new. Where a workload
// has one pod set, the numbers of the reason are compared with the ledger's, and the relief is exact: with the least unit less
// it does not start (only if there can be no victims: more quota or room of its own may make a preemption possible), with it it is
// not held up by this any more.
//
// A search that ended at its bound names nothing; neither does work of which a part runs (what it lacks is growth).
#pragma once

#include <string>

#include "property/trial.h"

namespace berth::property {

// The violation, or ""; with one, `told`: what the trial was told up to there.
std::string check_reason(const engine::EngineConfig& config, const Tape& tape, const Checker& checker,
                         const std::string& uid, Coverage& coverage, Tape& told);

}  // namespace berth::property

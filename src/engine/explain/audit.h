// A recount of every account from the slots, for tests and self-audits.
#pragma once

#include "engine/state/state.h"

namespace berth::engine {

// An error that names the first account that differs from the recount. O(everything).
Status audit(const State& state);

}  // namespace berth::engine

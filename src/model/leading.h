// The code that stands for a whole reason, where there is room for one word: in a condition, a status, a metric.
#pragma once

#include "model/decision.h"

namespace berth {

// The first code in the tree that says why something waits; others than NoVictims go before that.
ReasonCode leading_code(const Reason& reason);

}  // namespace berth

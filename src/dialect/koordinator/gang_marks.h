// Koordinator's gangs, which stand on their pods (annotations gang.scheduling.koordinator.sh/...). Gangs that name each other in `groups`
// start together: they are parts of one gang here. A gang of coscheduling's oldest labels is one of Koordinator where it says more than
// these. One pod is enough to say how many start together.
#pragma once

#include "dialect/gangs/said_gang.h"

namespace berth::dialect {

std::optional<SaidGang> koordinator_gang(const Meta& pod);

}  // namespace berth::dialect

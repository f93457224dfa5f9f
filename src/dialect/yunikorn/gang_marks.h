// YuniKorn's gangs, which stand on their pods: an application, and its task groups (yunikorn.apache.org/task-groups, a JSON list on at
// least one of its pods). Each task group is a part of the gang, and minResource with the constraints beside it says what its pods look
// like. schedulingPolicyParameters says how long it stays a gang (Patience). The pods of an application without task groups start one by one.
// Placeholders are no members: they are pods of YuniKorn's own.
#pragma once

#include "dialect/gangs/said_gang.h"

namespace berth::dialect {

std::optional<SaidGang> yunikorn_gang(const Meta& pod);

}  // namespace berth::dialect

// All systems whose gangs are objects that pods name (gangs/gang_system.h).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "dialect/gangs/gang_system.h"

namespace berth::dialect {

std::span<const GangSystem* const> gang_systems();
// The system whose objects are of this kind; nullptr: none.
const GangSystem* gang_system(Kind kind);
// The one that a pod names an object of; nullptr: none, or several.
const GangSystem* gang_system_of(const Meta& pod);
// The objects of several systems that a pod names, in words; "": of one at most.
std::string several_gangs(const Meta& pod);

}  // namespace berth::dialect

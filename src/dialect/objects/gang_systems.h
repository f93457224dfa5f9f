// All systems whose gangs are objects that pods name (gangs/gang_system.h), and those whose gangs have none (gangs/said_gang.h).
#pragma once

#include <optional>
#include <span>
#include <string>

#include "dialect/gangs/gang_system.h"
#include "dialect/gangs/gangs.h"

namespace berth::dialect {

std::span<const GangSystem* const> gang_systems();
// The system whose objects are of this kind; nullptr: none.
const GangSystem* gang_system(Kind kind);
// The gang that a pod names by its marks; nothing where it names several.
NamedGang gang_named_by(const Meta& pod);
// The gangs of several systems that a pod names, in words; "": of one at most.
std::string several_gangs(const Meta& pod);

}  // namespace berth::dialect

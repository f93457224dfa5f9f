// Work that is let out on quota alone, so that its pods ask an autoscaler for nodes. Its slots are promised, without a node, to pods that
// are still to be made, and held when these are there (places.h). A later start gives them their places. An eviction ends them, and
// suspends an owner that was released. Parts of Carrier.
#pragma once

#include <vector>

#include "dialect/intake/intake_promises.h"
#include "model/decision.h"
#include "model/event.h"
#include "scheduler/carry/places.h"

namespace berth::scheduler {

// A start of quota alone, or with slots of it.
bool is_without_nodes(const Decision& start);
// Whether the pod of a slot of any start is made only when others run. `released`: its owner is suspended, and its pods are still to be
// made; nullptr: they are there, or come by themselves.
bool comes_later(const Decision& start, const SlotPlacement& slot, bool has_pod,
                 const dialect::WorkloadInfo* released, const dialect::IntakeView& intake);
// The slots of such a start whose pods come with the release of the owner; all others are held, or wait again (`events`).
std::vector<SlotPlacement> let_out(const Decision& start, const dialect::WorkloadInfo& info,
                                   const dialect::IntakeView& intake, Places& places,
                                   std::vector<Event>& events);
// Whether this eviction ends an owner that is let out as a whole.
bool ends_owner(const Decision& eviction, const dialect::IntakeView& intake, const Places& places);

}  // namespace berth::scheduler

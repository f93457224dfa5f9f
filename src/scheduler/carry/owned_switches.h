// The switch of what an owner makes, where the owner's controller leaves it alone: KubeRay 1.7 and the RayCluster of a RayService. It is
// to stand as that of the owner (OwnerKind::suspends_below). Lives on the decision thread, beside Owners.
//
// Nothing is remembered but when to write: what the API shows says what to write. The first write comes a moment after the two differ.
// A controller that does the same (KubeRay 1.6) has done it by then, and its own write is not refused for ours. A write that has had no
// effect is repeated, later each time.
//
// Cost: O(1) per tick while all stand alike, which is nearly always.
#pragma once

#include <map>
#include <string>

#include "base/time.h"
#include "dialect/intake/intake_view.h"
#include "scheduler/wire/inbox.h"
#include "scheduler/wire/outbox.h"

namespace berth::scheduler {

class OwnedSwitches {
 public:
  OwnedSwitches(const dialect::IntakeView& intake, Outbox& outbox) : intake_(intake), outbox_(outbox) {}

  void tick(TimeMs now);
  TimeMs next_due() const;
  // Says so where it has failed. Nothing if the write was none of these.
  void answered(const Answer& answer) const;

 private:
  struct Due {
    bool suspended = false;
    TimeMs at = 0;
    DurationMs pause = 0;  // after the next write
  };
  const dialect::IntakeView& intake_;
  Outbox& outbox_;
  std::map<std::string, Due> due_;  // by the uid of what is to be switched
};

}  // namespace berth::scheduler

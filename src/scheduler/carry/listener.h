// Receives what the carrier did, for events and metrics.
#pragma once

#include <string>
#include <string_view>

#include "base/time.h"
#include "dialect/intake/intake_view.h"
#include "model/decision.h"

namespace berth::scheduler {

class CarrierListener {
 public:
  virtual ~CarrierListener() = default;
  virtual void on_bound(const dialect::PodView& pod, std::string_view node, DurationMs since_decision) = 0;
  virtual void on_evicting(const dialect::PodView& pod, const Reason& reason,
                           std::string_view beneficiary) = 0;
  // An owner was released ("Released"), or is suspended to end it ("Preempted", "Withdrawn").
  virtual void on_owner(const dialect::Ask& owner, std::string_view reason, std::string note) = 0;
};

}  // namespace berth::scheduler

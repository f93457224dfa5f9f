// An intake and an engine for one case, joined as `berth plan` and `berth scheduler` join them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dialect/intake/intake.h"
#include "engine/engine.h"

namespace berth::conformance {

struct EngineRun {
  dialect::Intake intake;
  engine::Engine engine;

  // Tells the engine what the intake has taken in.
  void drain();
  // namespace/name of the pod in this slot; of a slot without a pod its numbers.
  std::string name_of(std::string_view workload, const SlotPlacement& slot) const;
  // One line for each workload that waits.
  std::vector<std::string> waiting() const;
};

}  // namespace berth::conformance

// The data of binds: what a bind writes on its pod beside the node. Admission checks may ask for annotations, and a pod keeps the name of
// the queue that is charged for it. Lives on the decision thread. Cost: O(1) per pod; O(pod sets) where checks ask for something.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "dialect/intake/intake_view.h"
#include "scheduler/carry/places.h"

namespace berth::scheduler {

class BindData {
 public:
  explicit BindData(const dialect::IntakeView& intake) : intake_(intake) {}

  // Further changes of the workload's pods, from its admission.
  void set_updates(const std::string& workload, std::vector<dialect::PodSetUpdate> updates);
  void forget(const std::string& workload) { updates_.erase(workload); }
  std::vector<dialect::PodSetUpdate> updates(const std::string& workload) const;
  void fill(Bind& bind, const dialect::PodView& pod, const SlotPlacement& place, TimeMs now) const;

 private:
  Labels annotations_of(const dialect::PodView& pod) const;

  const dialect::IntakeView& intake_;
  std::unordered_map<std::string, std::vector<dialect::PodSetUpdate>> updates_;  // by workload
};

}  // namespace berth::scheduler

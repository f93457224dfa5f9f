#include "scheduler/carry/bind_data.h"

#include <cstddef>
#include <utility>

#include "dialect/base/names.h"
#include "dialect/objects/object.h"

namespace berth::scheduler {

void BindData::set_updates(const std::string& workload, std::vector<dialect::PodSetUpdate> updates) {
  if (updates.empty()) {
    updates_.erase(workload);
  } else {
    updates_.insert_or_assign(workload, std::move(updates));
  }
}

std::vector<dialect::PodSetUpdate> BindData::updates(const std::string& workload) const {
  const auto it = updates_.find(workload);
  return it == updates_.end() ? std::vector<dialect::PodSetUpdate>() : it->second;
}

void BindData::fill(Bind& bind, const dialect::PodView& pod, const SlotPlacement& place, TimeMs now) const {
  bind.ns = pod.ns;
  bind.name = pod.name;
  bind.uid = pod.uid;
  bind.node = place.node;
  bind.devices = place.devices;
  bind.annotations = annotations_of(pod);
  if (std::string charged = intake_.charged_to(pod.workload); !charged.empty())
    bind.annotations.insert_or_assign(std::string(dialect::kChargedTo), std::move(charged));
  bind.workload = pod.workload;
  bind.decided = now;
}

Labels BindData::annotations_of(const dialect::PodView& pod) const {
  if (updates_.empty()) return {};
  const auto it = updates_.find(std::string(pod.workload));
  const dialect::OwnerKind* owner = dialect::owner_kind_of_word(pod.controller);
  if (it == updates_.end() || (owner != nullptr && owner->can_be_held())) return {};  // its template has them
  const auto sketch = intake_.sketch(pod.workload);
  const auto* set = sketch ? sketch->find(pod.pod_set) : nullptr;
  if (set == nullptr) return {};
  for (const auto& update : it->second) {
    if (update.name == set->name) return update.annotations;
  }
  return {};
}

}  // namespace berth::scheduler

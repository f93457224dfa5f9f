#include "conformance/engine_run.h"

#include <fmt/format.h>

namespace berth::conformance {

void EngineRun::drain() {
  for (int round = 0; round < 16; ++round) {  // what the engine refuses comes in another form
    std::vector<Event> events;
    intake.drain(events);
    if (events.empty()) return;
    for (const auto& event : events) {
      if (const auto status = engine.apply(event); !status) intake.refused(event, status.error().message);
    }
  }
}

std::string EngineRun::name_of(std::string_view workload, const SlotPlacement& slot) const {
  const auto view = intake.pod_at(workload, slot.pod_set, slot.index);
  return view ? fmt::format("{}/{}", view->ns, view->name)
              : fmt::format("{}:{}:{}", workload, slot.pod_set, slot.index);
}

std::vector<std::string> EngineRun::waiting() const {
  std::vector<std::string> out;
  for (const auto& info : intake.workloads()) {
    const Reason* blocked = intake.blocked(info.uid);
    const auto verdict = engine.verdict(info.uid);
    if (blocked == nullptr && (!verdict || verdict->kind == VerdictKind::kPlaced)) continue;
    out.push_back(
        fmt::format("{} waits: {}", info.name, to_text(blocked != nullptr ? *blocked : verdict->reason)));
  }
  return out;
}

}  // namespace berth::conformance

// Work that waits for what is written on it or its owner, whatever its queue and the nodes say: marks of other schedulers, classes that
// do not exist, scheduling gates, a suspended owner that nothing resumes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dialect/base/foreign_marks.h"
#include "dialect/base/names.h"
#include "dialect/gangs/gangs.h"
#include "dialect/intake/intake_state.h"

namespace berth::dialect {
Reason reason_of(ReasonCode code, std::string detail) {
  Reason out;
  out.code = code;
  out.detail = std::move(detail);
  return out;
}

// Whether the API knows a queue of the name that was resolved.
bool Intake::Impl::has_queue(const Draft& draft, const Settings& settings) const {
  if (settings.queue.empty() || !draft.queue_mark) return true;
  if (draft.queue_mark->first == kKueueQueue)
    return objects.local_queue(key_of(draft.ns, draft.queue_mark->second)) != nullptr;
  return true;  // the engine says that it is missing
}

void Intake::Impl::refuse(const Draft& draft, const Pod& pod, const std::vector<const Meta*>& sources,
                          const std::vector<PriorityKey>& priorities, Settings& settings,
                          std::vector<std::string>& depends) const {
  if (draft.bound > 0 || draft.released) return;
  // Those of the pod itself are in its template.
  for (const Meta* meta : sources) {
    if (meta == &pod.meta || settings.blocked) continue;
    if (auto mark = foreign_key(*meta, pod.spec.scheduler_name))
      settings.blocked = reason_of(ReasonCode::kUnsupported, std::move(*mark));
  }
  for (const PriorityKey& key : priorities) {
    if (settings.blocked) break;
    if (auto missing = objects.missing_class(key); !missing.empty()) {
      settings.blocked = reason_of(ReasonCode::kInvalid, std::move(missing));
      depends.emplace_back(kAllClasses);  // which of them was meant
    }
  }
  for (const Meta* meta : sources) {
    if (settings.blocked) break;
    const std::string_view name = meta->mark(kKueuePriorityClass);
    if (name.empty()) continue;
    if (auto missing = objects.missing_workload_class(name); !missing.empty()) {
      settings.blocked = reason_of(ReasonCode::kInvalid, std::move(missing));
      depends.emplace_back(kAllClasses);
    }
    break;
  }
  const OwnerRecord* owner = owners.top_of(pod.meta);
  // One that is a gang Berth has suspended itself, or releases it as it releases work of a queue.
  if (owner != nullptr && owner->ask.suspended && !owner->ask.gang && !config.hold_owners &&
      !owner->ask.is_led && settings.queue.empty() && !settings.blocked) {
    settings.blocked = reason_of(
        ReasonCode::kInactive,
        fmt::format("{} {} is suspended and names no queue, so nothing resumes it: give it the label {}, or "
                    "set spec.suspend to false",
                    owner->ask.kind->word(), owner->ask.meta->name, kKueueQueue));
  }
}

void Intake::Impl::say_gates(const Draft& draft, const Pod& pod, Settings& settings) const {
  const auto& gates = pod.spec.gates;
  if (gates.empty()) return;
  settings.blocked->detail = fmt::format("held back by the scheduling gate{} {}",
                                         gates.size() == 1 ? "" : "s", fmt::join(gates, ", "));
  if (!has_queue(draft, settings))
    settings.blocked->detail += fmt::format("; its queue {} does not exist", settings.queue);
}

}  // namespace berth::dialect

#include "scheduler/kueue/workload_record.h"

#include <functional>
#include <utility>

namespace berth::scheduler {

std::size_t digest_of(const dialect::WorkloadStatus& status) {
  return std::hash<std::string>{}(dialect::to_json(status, false));
}

void move_object(WorkloadRecord& from, WorkloadRecord& to) {
  to.key = std::exchange(from.key, {});
  to.object_uid = std::exchange(from.object_uid, {});
  to.created = std::exchange(from.created, 0);
  to.version = std::exchange(from.version, 0);
  to.stands = std::exchange(from.stands, 0);
  to.written = std::exchange(from.written, 0);
  to.checks = std::exchange(from.checks, {});
  to.spec = std::exchange(from.spec, {});
  to.reserved = std::exchange(from.reserved, false);
  to.says_active = std::exchange(from.says_active, true);
  to.boost = std::exchange(from.boost, 0);
  to.failures = std::exchange(from.failures, 0);
  to.corrections = std::exchange(from.corrections, 0);
  to.quiet = std::exchange(from.quiet, 0);
  to.corrected = std::exchange(from.corrected, 0);
  to.owners = std::exchange(from.owners, {});
  to.count = std::exchange(from.count, 0);
  to.says_count = std::exchange(from.says_count, 0);
  to.asked_at = std::exchange(from.asked_at, 0);
  to.slice = std::exchange(from.slice, {});
  to.replaces = std::exchange(from.replaces, {});
}

WorkloadRecord without_object(WorkloadRecord& record) {
  WorkloadRecord out;
  out.turn = std::exchange(record.turn, 0);
  out.evicting = record.evicting;
  out.asks = std::exchange(record.asks, false);
  out.told = std::exchange(record.told, std::nullopt);
  out.queued = std::exchange(record.queued, false);
  out.looking = std::exchange(record.looking, false);
  out.flavors = record.flavors;
  out.path = std::exchange(record.path, {});
  out.pods = record.pods;
  out.to_come = record.to_come;
  return out;
}

}  // namespace berth::scheduler

// Why the pods of a gang need not be made yet, as far as its object says.
#include <fmt/format.h>

#include "dialect/base/names.h"
#include "dialect/books/object_books.h"
#include "dialect/books/queue_marks.h"

namespace berth::dialect {
namespace {

Reason stopped_by(ReasonCode code, std::string subject, std::string detail) {
  Reason out;
  out.code = code;
  out.subject = std::move(subject);
  out.detail = std::move(detail);
  return out;
}

}  // namespace

std::optional<Reason> ObjectBooks::why_not_queued(const GangSystem& system, const GangObject& object) const {
  if (!object.wrong.empty()) return stopped_by(ReasonCode::kInvalid, {}, object.wrong);
  if (!object.unsupported.empty()) return stopped_by(ReasonCode::kUnsupported, {}, object.unsupported);
  if (system.queue_mark.empty() || names_queue(object.meta)) return std::nullopt;
  const std::string name = object.queue.empty() ? std::string(system.default_queue) : object.queue;
  if (labels_of_namespace(object.meta.ns).contains(kTenant)) return std::nullopt;  // its pods may name one
  const Kind kind = queue_kind_of(system.queue_mark);
  const QueueBook::Closed closed = queues_.why_closed(kind, name);
  if (closed.code != ReasonCode::kNone) return stopped_by(closed.code, closed.queue, closed.why);
  for (const auto& [resource, asked] : object.asks) {
    const auto most = queues_.most_ever(kind, name, resource);
    if (most && *most < asked) {
      Reason out = stopped_by(ReasonCode::kQuotaMax, resource, {});
      out.need = asked;
      out.have = *most;
      return out;
    }
    const std::int64_t there = queues_.on_all_nodes(resource, nodes_);
    if (there >= asked) continue;
    return stopped_by(ReasonCode::kInvalid, {},
                      fmt::format("it asks for {} {} at least, and all nodes together have {}",
                                  format_amount(resource, asked), resource, format_amount(resource, there)));
  }
  return std::nullopt;
}

}  // namespace berth::dialect

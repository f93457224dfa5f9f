// Why the pods of a gang need not be made yet, as far as its object says.
#include <fmt/format.h>

#include "dialect/base/names.h"
#include "dialect/books/draft_book.h"
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

// Why no pods can be as near as the object says.
std::optional<Reason> why_not_near(const HyperBook& hyper_nodes, const GangObject& object) {
  std::string why_not;
  if (object.tiers) (void)hyper_nodes.request_of(*object.tiers, why_not);
  for (const GangSplit& split : object.splits) {
    if (split.tiers && why_not.empty()) (void)hyper_nodes.request_of(*split.tiers, why_not);
  }
  if (why_not.empty()) return std::nullopt;
  Reason out = stopped_by(ReasonCode::kTopology, "HyperNode", fmt::format("networkTopology: {}", why_not));
  out.need = object.least;
  return out;
}

// The problem of the object of a gang, whichever of its groups it is of; nullptr: it can be read, or is not there.
const std::string* why_unreadable(const ObjectBooks& books, Kind kind, const std::string& object) {
  const std::string* wrong = books.unreadable(kind, object);
  return wrong == nullptr && kind == Kind::kPodGroup ? books.unreadable(Kind::kOlderPodGroup, object) : wrong;
}

}  // namespace

std::string why_no_gang(const ObjectBooks& books, Kind kind, std::string_view key) {
  const std::string_view word = info_of(kind).word;
  const std::string object(object_of_gang(kind, key));
  const std::string* wrong = why_unreadable(books, kind, object);
  return wrong == nullptr ? fmt::format("{} {} does not exist", word, key)
                          : fmt::format("{} {} cannot be read: {}", word, object, *wrong);
}

std::string unreadable_beside(const ObjectBooks& books, Kind kind, const GangObject& object) {
  for (const std::string& name : object.together) {
    const std::string key = key_of(object.meta.ns, name);
    if (why_unreadable(books, kind, key) != nullptr && books.gangs().find(kind, key) == nullptr)
      return why_no_gang(books, kind, key);
  }
  return {};
}

std::optional<Reason> ObjectBooks::why_not_queued(const GangSystem& system, const GangObject& object) const {
  if (!object.wrong.empty()) return stopped_by(ReasonCode::kInvalid, {}, object.wrong);
  if (!object.unsupported.empty()) return stopped_by(ReasonCode::kUnsupported, {}, object.unsupported);
  if (auto reason = why_not_near(hyper_nodes_, object)) return reason;
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

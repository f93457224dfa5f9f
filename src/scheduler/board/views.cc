#include "scheduler/board/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "model/resources.h"
#include "text/json.h"

namespace berth::scheduler {
namespace {

using text::JsonWriter;

std::string word(const Query& query, const std::string& key) {
  const auto it = query.find(key);
  return it == query.end() ? std::string() : it->second;
}

bool names_workload(ReasonCode code) {
  return code == ReasonCode::kBehindHead || code == ReasonCode::kQuotaKept || code == ReasonCode::kReserved ||
         code == ReasonCode::kPreempted || is_reclaim(code) || code == ReasonCode::kHoldOvertaken;
}

const Reason& leading_of(const Reason& reason) {
  if (reason.code != ReasonCode::kNone || reason.children.empty()) return reason;
  for (const Reason& child : reason.children) {
    const Reason& found = leading_of(child);
    if (found.code != ReasonCode::kNone && found.code != ReasonCode::kNoVictims &&
        found.code != ReasonCode::kEnough) {
      return found;
    }
  }
  return leading_of(reason.children.front());
}

std::string_view code_of(const std::shared_ptr<const Reason>& reason) {
  return reason == nullptr ? std::string_view() : enum_name(leading_of(*reason).code);
}

std::string enough_of(const Reason& reason) {
  if (reason.code == ReasonCode::kEnough) return to_text(reason);
  for (const Reason& child : reason.children) {
    if (auto found = enough_of(child); !found.empty()) return found;
  }
  return {};
}

void write_reason(JsonWriter& json, const Reason& reason) {
  Reason alone = reason;
  alone.children.clear();
  json.begin_object().field("code", enum_name(reason.code)).field("text", to_text(alone));
  json.key("children").begin_array();
  for (const Reason& child : reason.children) write_reason(json, child);
  json.end_array().end_object();
}

void write_quotas(JsonWriter& json, const std::vector<observe::QuotaState>& quotas) {
  json.key("quotas").begin_array();
  for (const auto& quota : quotas) {
    json.begin_object().field("flavor", quota.flavor).field("resource", quota.resource);
    json.field("nominal", quota.nominal).field("usage", quota.usage);
    json.field("available", quota.available).end_object();
  }
  json.end_array();
}

void write_node(JsonWriter& json, const BoardNode& node) {
  json.begin_object().field("name", node.name).key("path").begin_array();
  for (const auto& value : node.path) json.value(value);
  json.end_array().field("cordoned", node.cordoned).key("devices").begin_array();
  for (const auto& [resource, use] : node.devices)
    json.begin_object().field("resource", resource).field("use", use).end_object();
  json.end_array().key("amounts").begin_array();
  for (const auto& amount : node.amounts) {
    json.begin_object().field("resource", amount.resource).field("capacity", amount.capacity);
    json.field("used", amount.used).end_object();
  }
  json.end_array().end_object();
}

void write_gone(JsonWriter& json, const std::vector<std::pair<std::uint64_t, std::string>>& gone,
                std::uint64_t since, bool whole) {
  json.key("gone").begin_array();
  for (const auto& [revision, name] : gone) {
    if (!whole && revision > since) json.value(name);
  }
  json.end_array().field("whole", whole);
}

std::string_view step_name(StoryStep::Kind kind) {
  switch (kind) {
    case StoryStep::Kind::kCreated:
      return "created";
    case StoryStep::Kind::kChanged:
      return "changed";
    case StoryStep::Kind::kStart:
      return "start";
    case StoryStep::Kind::kEvict:
      return "evict";
    case StoryStep::Kind::kHold:
      return "hold";
    case StoryStep::Kind::kReleaseHold:
      return "release-hold";
    case StoryStep::Kind::kEnded:
      return "ended";
  }
  return "";
}

using Order = bool (*)(const BoardWorkload&, const BoardWorkload&);
bool older(const BoardWorkload& a, const BoardWorkload& b) {
  return a.created != b.created ? a.created < b.created : a.facts->uid < b.facts->uid;
}
Result<Order> order_of(const std::string& sort) {
  if (sort.empty() || sort == "age") return &older;
  if (sort == "name") {
    return [](const BoardWorkload& a, const BoardWorkload& b) {
      return std::tie(a.facts->name, a.facts->uid) < std::tie(b.facts->name, b.facts->uid);
    };
  }
  if (sort == "priority") {
    return [](const BoardWorkload& a, const BoardWorkload& b) {
      return a.facts->priority != b.facts->priority ? a.facts->priority > b.facts->priority : older(a, b);
    };
  }
  if (sort == "devices") {
    return [](const BoardWorkload& a, const BoardWorkload& b) {
      return a.facts->devices != b.facts->devices ? a.facts->devices > b.facts->devices : older(a, b);
    };
  }
  return fail(ErrorCode::kInvalid, "sort: \"{}\" is none of age, name, priority, devices", sort);
}

// Whether a client that knows this revision is to get everything.
bool is_whole(const Snapshot& snapshot, std::int64_t since) {
  const auto known = static_cast<std::uint64_t>(since);
  return known == 0 || known < snapshot.oldest_known || known > snapshot.revision;
}

struct PageOf {
  std::int64_t offset = 0;
  std::int64_t limit = 0;
};
Result<PageOf> page_of(const Query& query) {
  PageOf out;
  BERTH_ASSIGN(out.offset, number_of(query, "offset", 0, std::int64_t{1} << 40));
  BERTH_ASSIGN(out.limit, number_of(query, "limit", 100, Views::kMostItems));
  return out;
}

}  // namespace

Result<std::int64_t> number_of(const Query& query, const std::string& key, std::int64_t otherwise,
                               std::int64_t most) {
  const auto it = query.find(key);
  if (it == query.end()) return otherwise;
  std::int64_t value = 0;
  const char* end = it->second.data() + it->second.size();
  const auto [at, error] = std::from_chars(it->second.data(), end, value);
  if (error != std::errc() || at != end || value < 0 || value > most || it->second.empty())
    return fail(ErrorCode::kInvalid, "{} must be a number from 0 to {}", key, most);
  return value;
}

Reason reason_for(const Sight& sight, const Chronicle& chronicle, Reason reason) {
  if (sight.all) return reason;
  if (names_workload(reason.code) && !reason.subject.empty()) {
    const auto facts = chronicle.facts(reason.subject);
    if (!sight.sees_name(facts == nullptr ? reason.subject : facts->name))
      reason.subject = "another workload";
  }
  for (Reason& child : reason.children) child = reason_for(sight, chronicle, std::move(child));
  return reason;
}

std::string short_of(const Reason& reason) {
  const Reason& r = leading_of(reason);
  const std::int64_t lacks = r.need - std::max<std::int64_t>(0, r.have);
  switch (r.code) {
    case ReasonCode::kQuota:
      return lacks <= 0 ? std::string()
                        : fmt::format("{} {} of quota{}", format_amount(r.subject, lacks), r.subject,
                                      r.detail.empty() ? "" : " in flavor " + r.detail);
    case ReasonCode::kLaneLimit:
    case ReasonCode::kFirmLimit:
      return lacks <= 0 ? std::string()
                        : fmt::format("{} {} within its limit", format_amount(r.detail, lacks), r.detail);
    case ReasonCode::kNodes:
    case ReasonCode::kTopology:
      if (lacks <= 0 || (r.code == ReasonCode::kTopology && !r.detail.empty())) return {};
      return fmt::format("room for {} more {}{}", lacks, lacks == 1 ? "pod" : "pods",
                         r.code == ReasonCode::kTopology ? " in one " + r.subject : std::string());
    case ReasonCode::kIncompleteGang:
      return lacks <= 0 ? std::string() : fmt::format("{} {}", lacks, lacks == 1 ? "pod" : "pods");
    default:
      return {};
  }
}

std::string Views::text_for(const Reason& reason) const {
  return sight_.all ? brief(reason) : brief(reason_for(sight_, chronicle_, reason));
}

std::string Views::summary() const {
  std::array<std::int64_t, EnumNames<BoardState>::names.size()> counts{};
  std::map<std::string_view, std::int64_t> reasons;
  const Reason* last = nullptr;  // neighbours mostly share their reason
  std::int64_t* of_last = nullptr;
  for (const BoardWorkload& row : snapshot_->workloads) {
    if (!sees(*row.facts)) continue;
    ++counts[static_cast<std::size_t>(row.state)];
    if (row.state != BoardState::kPending) continue;
    if (of_last == nullptr || row.reason.get() != last) {
      last = row.reason.get();
      of_last = &reasons[code_of(row.reason)];
    }
    ++*of_last;
  }
  const auto count = [&](BoardState state) { return counts[static_cast<std::size_t>(state)]; };
  JsonWriter json;
  json.begin_object().field("revision", snapshot_->revision).field("as_of", snapshot_->as_of);
  json.field("pending", count(BoardState::kPending)).field("held", count(BoardState::kHeld));
  json.field("running", count(BoardState::kRunning)).field("queues", snapshot_->queues.size());
  json.field("nodes", sight_.nodes ? snapshot_->nodes.size() : std::size_t{0});
  json.key("resources").begin_array();
  if (sight_.nodes) {
    for (const auto& [resource, sum] : snapshot_->sums) {
      json.begin_object().field("resource", resource).field("capacity", sum.capacity);
      json.field("used", sum.used).field("promised", sum.promised).end_object();
    }
  }
  json.end_array().key("reasons").begin_array();
  for (const auto& [code, number] : reasons)
    json.begin_object().field("code", code).field("count", number).end_object();
  json.end_array().field("decision", chronicle_.last_decision());
  json.field("sees_all", sight_.all).field("sees_nodes", sight_.nodes).field("sees_queues", sight_.queues);
  json.end_object();
  return json.take();
}

Result<std::string> Views::queues(const Query& query) const {
  BERTH_ASSIGN(const auto since, number_of(query, "since", 0, std::numeric_limits<std::int64_t>::max()));
  // A view in parts cannot say what has gone from it, so it is always whole.
  const bool whole = is_whole(*snapshot_, since) || !sight_.queues;
  std::set<std::string_view> seen;
  if (!sight_.queues) {
    for (const BoardWorkload& row : snapshot_->workloads) {
      if (sees(*row.facts)) seen.insert(row.facts->queue);
    }
    for (const std::string_view name : std::set<std::string_view>(seen)) {
      const auto it = snapshot_->queues.find(std::string(name));
      if (it == snapshot_->queues.end()) continue;
      std::string_view rest = it->second.parent_path;
      for (; !rest.empty(); rest.remove_prefix(rest.find('\n') + 1))
        seen.insert(rest.substr(0, rest.find('\n')));
    }
  }
  JsonWriter json;
  json.begin_object().field("revision", snapshot_->revision);
  json.field("total", sight_.queues ? snapshot_->queues.size() : seen.size()).key("items").begin_array();
  for (const auto& [name, queue] : snapshot_->queues) {
    if (!sight_.queues && !seen.contains(name)) continue;
    if (!whole && queue.changed <= static_cast<std::uint64_t>(since)) continue;
    json.begin_object().field("name", name).field("parent", queue.facts.parent).field("leaf", queue.leaf);
    json.field("pending", queue.queue.pending).field("started", queue.queue.started);
    json.field("stop", enum_name(queue.facts.stop)).field("disabled", queue.facts.disabled);
    write_quotas(json, queue.queue.quotas);
    json.end_object();
  }
  json.end_array();
  write_gone(json, snapshot_->gone_queues, static_cast<std::uint64_t>(since), whole);
  json.end_object();
  return json.take();
}

Result<std::string> Views::workloads(const Query& query) const {
  BERTH_ASSIGN(const PageOf page, page_of(query));
  BERTH_ASSIGN(const Order order, order_of(word(query, "sort")));
  const std::string state = word(query, "state").empty() ? "any" : word(query, "state");
  const auto wanted = enum_parse<BoardState>(state);
  if (!wanted && state != "any")
    return fail(ErrorCode::kInvalid, "state: \"{}\" is none of pending, held, running, inactive, any", state);
  const std::string reason = word(query, "reason");
  const std::string text = word(query, "q");
  const std::string queue = word(query, "queue");
  const std::string ns = word(query, "namespace");
  const auto in_queue = [&](const std::string& name) {
    if (name == queue) return true;
    const auto it = snapshot_->queues.find(name);
    return it != snapshot_->queues.end() &&
           ("\n" + it->second.parent_path).find("\n" + queue + "\n") != std::string::npos;
  };
  std::map<std::string_view, bool> queues;
  std::vector<const BoardWorkload*> found;
  for (const BoardWorkload& row : snapshot_->workloads) {
    const Facts& facts = *row.facts;
    if ((wanted && row.state != *wanted) || !sees(facts)) continue;
    if (!reason.empty() && code_of(row.reason) != reason) continue;
    if (!ns.empty() && namespace_of(facts.name) != ns) continue;
    if (!text.empty() && facts.name.find(text) == std::string::npos && facts.uid != text) continue;
    if (!queue.empty()) {
      const auto [it, is_new] = queues.try_emplace(facts.queue, false);
      if (is_new) it->second = in_queue(facts.queue);
      if (!it->second) continue;
    }
    found.push_back(&row);
  }
  const auto total = static_cast<std::int64_t>(found.size());
  const std::int64_t first = std::min(page.offset, total);
  const std::int64_t last = std::min(first + page.limit, total);
  // Those in front of the page need no order among themselves. So a page far down costs as much as the first.
  const auto before = [&](const BoardWorkload* a, const BoardWorkload* b) { return order(*a, *b); };
  if (first > 0 && first < total) std::nth_element(found.begin(), found.begin() + first, found.end(), before);
  std::partial_sort(found.begin() + first, found.begin() + last, found.end(), before);
  JsonWriter json;
  json.begin_object().field("revision", snapshot_->revision).field("total", total).field("offset", first);
  json.key("items").begin_array();
  for (std::int64_t i = first; i < last; ++i) json.raw(row_json(*found[static_cast<std::size_t>(i)]));
  json.end_array().end_object();
  return json.take();
}

std::string Views::row_json(const BoardWorkload& row) const {
  const Facts& facts = *row.facts;
  JsonWriter json;
  json.begin_object().field("uid", facts.uid).field("name", facts.name).field("queue", facts.queue);
  json.field("priority", facts.priority).field("kind", enum_name(facts.kind));
  json.field("state", enum_name(row.state)).field("created", facts.created).field("started", row.started);
  json.field("slots", facts.slots).field("running", row.running).field("devices", facts.devices);
  json.field("reason", code_of(row.reason));
  json.field("text", row.reason == nullptr ? std::string() : text_for(*row.reason));
  json.field("short", row.reason == nullptr ? std::string() : short_of(*row.reason)).end_object();
  return json.take();
}

Result<std::string> Views::nodes(const Query& query) const {
  BERTH_ASSIGN(const PageOf page, page_of(query));
  BERTH_ASSIGN(const auto since, number_of(query, "since", 0, std::numeric_limits<std::int64_t>::max()));
  const bool whole = is_whole(*snapshot_, since);
  const std::string text = word(query, "q");
  JsonWriter items;
  items.begin_array();
  std::int64_t total = 0;
  for (const auto& [name, node] : snapshot_->nodes) {
    if (!sight_.nodes) break;
    if (!whole && node.changed <= static_cast<std::uint64_t>(since)) continue;
    if (!text.empty() && name.find(text) == std::string::npos) continue;
    if (total >= page.offset && total - page.offset < page.limit) write_node(items, node);
    ++total;
  }
  items.end_array();
  JsonWriter json;
  json.begin_object().field("revision", snapshot_->revision).field("total", total);
  json.field("offset", page.offset).key("levels").begin_array();
  for (const auto& level : snapshot_->levels) json.value(level);
  json.end_array().key("items").raw(items.str());
  if (sight_.nodes) {
    write_gone(json, snapshot_->gone_nodes, static_cast<std::uint64_t>(since), whole);
  } else {
    write_gone(json, {}, 0, whole);
  }
  json.end_object();
  return json.take();
}

Result<std::string> Views::decisions(const Query& query) const {
  BERTH_ASSIGN(const PageOf page, page_of(query));
  constexpr auto kAny = std::numeric_limits<std::int64_t>::max();
  BERTH_ASSIGN(const auto before, number_of(query, "before", kAny, kAny));
  BERTH_ASSIGN(const auto after, number_of(query, "after", 0, kAny));
  const std::string kind = word(query, "kind");
  if (!kind.empty() && !enum_parse<DecisionKind>(kind))
    return fail(ErrorCode::kInvalid, "kind: \"{}\" is none of start, evict, hold, release-hold", kind);
  const std::string text = word(query, "q");
  std::vector<MadeDecision> found;
  bool more = false;
  const std::int64_t last = chronicle_.last_decision();
  chronicle_.each_decision([&](const MadeDecision& made) {
    if (made.seq <= after) return false;
    if (made.seq >= before || made.seq > last || (!kind.empty() && enum_name(made.kind) != kind)) return true;
    if (!sees(*made.of)) return true;
    if (!text.empty() && made.of->name.find(text) == std::string::npos &&
        made.of->queue.find(text) == std::string::npos) {
      return true;
    }
    more = static_cast<std::int64_t>(found.size()) >= page.limit;
    if (!more) found.push_back(made);
    return !more;
  });
  JsonWriter json;
  json.begin_object().field("revision", snapshot_->revision).field("last", last).key("items").begin_array();
  for (const MadeDecision& made : found) {
    const bool for_seen = made.beneficiary != nullptr && sees(*made.beneficiary);
    json.begin_object().field("seq", made.seq).field("at", made.at).field("kind", enum_name(made.kind));
    json.field("uid", made.of->uid).field("name", made.of->name).field("queue", made.of->queue);
    json.field("slots", made.slots).field("nodes", sight_.nodes ? made.nodes : std::int64_t{0});
    json.field("beneficiary", for_seen ? made.beneficiary->uid : std::string());
    json.field("beneficiary_name", for_seen ? made.beneficiary->name : std::string());
    // The reason of a start says only that it is placed.
    const bool says = made.reason.code != ReasonCode::kNone && made.kind != DecisionKind::kStart;
    json.field("reason", says ? enum_name(made.reason.code) : std::string_view());
    json.field("text", says ? text_for(made.reason) : std::string()).end_object();
  }
  json.end_array().field("more", more).end_object();
  return json.take();
}

Result<std::string> Views::timeline(const Query& query) const {
  BERTH_ASSIGN(const auto minutes,
               number_of(query, "minutes", 60, static_cast<std::int64_t>(Chronicle::kMostMinutes)));
  JsonWriter json;
  json.begin_object().field("step", kMinute).key("points").begin_array();
  // The sums are of the whole cluster: they are for those that see it.
  if (sight_.all && sight_.nodes) {
    for (const Minute& one : chronicle_.minutes(static_cast<std::size_t>(minutes))) {
      json.begin_array().value(one.at).value(one.starts).value(one.evictions).value(one.holds);
      json.value(one.devices_used).value(one.devices).value(one.pending).value(one.running).end_array();
    }
  }
  json.end_array().end_object();
  return json.take();
}

Result<std::string> Views::story(std::string_view uid, Verdict verdict,
                                 const std::vector<StorySlot>& slots) const {
  BoardWorkload row;
  row.facts = chronicle_.facts(uid);
  if (row.facts == nullptr || !sees(*row.facts))
    return fail(ErrorCode::kNotFound, "workload {} is not known, or is not yours to see", uid);
  row.state = BoardState::kInactive;
  for (const BoardWorkload& one : snapshot_->workloads) {
    if (one.facts->uid == uid) row = one;
  }
  verdict.reason = reason_for(sight_, chronicle_, std::move(verdict.reason));
  JsonWriter json;
  json.begin_object().field("revision", snapshot_->revision).key("workload").raw(row_json(row));
  json.key("verdict").begin_object().field("kind", enum_name(verdict.kind));
  json.field("text", verdict.reason.code == ReasonCode::kNone && verdict.reason.children.empty()
                         ? std::string()
                         : brief(verdict.reason));
  json.field("enough", enough_of(verdict.reason)).key("reason");
  write_reason(json, verdict.reason);
  json.end_object().key("slots").begin_array();
  for (const StorySlot& slot : slots) {
    json.begin_object().field("pod_set", slot.pod_set).field("index", slot.index);
    json.field("state", enum_name(slot.state)).field("node", slot.node).end_object();
  }
  json.end_array().field("slots_total", row.facts->slots).key("story").begin_array();
  for (const StoryStep& step : chronicle_.steps(uid)) {
    const auto other = step.other.empty() ? nullptr : chronicle_.facts(step.other);
    const bool seen = other != nullptr && sees(*other);
    json.begin_object().field("at", step.at).field("what", step_name(step.kind)).field("slots", step.slots);
    json.field("uid", seen ? other->uid : std::string()).field("name", seen ? other->name : std::string());
    const bool says = step.reason->code != ReasonCode::kNone && step.kind != StoryStep::Kind::kStart;
    json.field("text", says ? text_for(*step.reason) : std::string()).end_object();
  }
  json.end_array().end_object();
  return json.take();
}

}  // namespace berth::scheduler

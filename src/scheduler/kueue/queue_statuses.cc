#include "scheduler/kueue/queue_statuses.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <tuple>

#include "scheduler/wire/object_version.h"

namespace berth::scheduler {
namespace {

using dialect::Kind;
using dialect::QueueStatus;

constexpr DurationMs kRetryAfter = 20;  // when the budget is spent

std::string key_text(std::string_view ns, std::string_view name) {
  return ns.empty() ? std::string(name) : fmt::format("{}/{}", ns, name);
}

// "ClusterQueue team", "LocalQueue default/team"
std::string uid_of(const std::pair<Kind, std::string>& key) {
  return fmt::format("{} {}", enum_name(key.first), key.second);
}

}  // namespace

void QueueStatuses::set_version(std::string_view version) {
  if (version_ == version) return;
  version_ = version;
  dirty_ = true;
  next_due_ = 0;
}

void QueueStatuses::seen(Kind kind, std::string_view ns, std::string_view name, std::string_view object,
                         std::string_view version) {
  auto status = dialect::read_queue_status(kind, object);
  if (!status) return;  // the intake says so
  Record& record = records_[{kind, key_text(ns, name)}];
  const std::uint64_t number = version_number(version);
  if (record.known && number < record.version) return;  // from before the last write
  record.version = number;
  record.stands = std::move(*status);
  record.known = true;
  dirty_ = true;
}

void QueueStatuses::gone(Kind kind, std::string_view ns, std::string_view name) {
  const auto it = records_.find({kind, key_text(ns, name)});
  if (it == records_.end()) return;
  if (it->second.flying || it->second.queued) {
    it->second.known = false;
  } else {
    records_.erase(it);
  }
  dirty_ = true;
}

void QueueStatuses::answered(const Answer& answer, TimeMs now) {
  const auto space = answer.uid.find(' ');
  const auto kind = enum_parse<Kind>(std::string_view(answer.uid).substr(0, space));
  if (!kind || space == std::string::npos) return;
  const auto it = records_.find({*kind, answer.uid.substr(space + 1)});
  if (it == records_.end() || !it->second.flying) return;
  Record& record = it->second;
  record.flying = false;
  if (!record.known) {  // it has gone meanwhile
    records_.erase(it);
    return;
  }
  if (answer.result.outcome == kube::Outcome::kOk) {
    const std::uint64_t number = version_number(version_in(answer.result.body));
    if (number >= record.version) {  // the watch says the same, later
      record.version = number;
      record.stands = *record.sent;
    }
    dirty_ = true;
    return;
  }
  record.sent.reset();
  record.quiet = now + doubled(options_.first_rest, record.corrections, options_.most_rest);
  if (record.corrections++ == 4) {
    spdlog::warn("the status of {} cannot be written: {} {}", answer.uid, enum_name(answer.result.outcome),
                 answer.result.message);
  }
  record.corrected = now;
  dirty_ = true;
}

QueueStatuses::PastUses QueueStatuses::past_uses(const std::vector<engine::QueueView>& views, TimeMs now) {
  PastUses past;
  if (now < past_at_ + options_.past_every) return past;
  past_at_ = now;
  has_past_ = false;
  for (const auto& view : views) {
    (void)engine_.each_lane_use(view.name, now,
                                [&](std::string_view lane, std::string_view resource, std::int64_t used) {
                                  auto& of = past[std::string(lane)];
                                  has_past_ = true;
                                  of.used[std::string(resource)] = used;
                                  of.as_of = now;
                                });
  }
  return past;
}

void QueueStatuses::count_lane(const LaneBook::Sum& sum, QueueStatus& status) {
  status.pending = sum.pending;
  status.reserving = sum.held + sum.admitted;
  status.admitted = sum.admitted;
  LaneBook::Uses all = sum.admitted_uses;
  for (const auto& [use, amount] : sum.held_uses) all[use] += amount;
  for (const auto& [use, amount] : all) {
    const auto admitted = sum.admitted_uses.find(use);
    status.uses.push_back({use.first,
                           use.second,
                           {amount, 0},
                           {admitted == sum.admitted_uses.end() ? 0 : admitted->second, 0}});
  }
}

void QueueStatuses::count_queue(const engine::QueueView& view, QueueStatus& status) const {
  status.pending = view.pending;
  status.reserving = view.started;
  const auto* held = lanes_.held_in(std::string(view.name));
  status.admitted = status.reserving - (held == nullptr ? 0 : held->held);
  for (const auto& quota : view.quotas) {
    const auto sum_of = [&](std::int64_t usage) {
      return QueueStatus::Use::Sum{usage, std::max<std::int64_t>(0, usage - quota.nominal)};
    };
    QueueStatus::Use use{std::string(quota.flavor), std::string(quota.resource), sum_of(quota.usage), {}};
    std::int64_t waits = 0;
    if (held != nullptr) {
      const auto part = held->held_uses.find({use.flavor, use.resource});
      if (part != held->held_uses.end()) waits = part->second;
    }
    use.admitted = sum_of(quota.usage - waits);
    status.uses.push_back(std::move(use));
  }
  std::sort(status.uses.begin(), status.uses.end(), [](const auto& a, const auto& b) {
    return std::tie(a.flavor, a.resource) < std::tie(b.flavor, b.resource);
  });
}

void QueueStatuses::look(TimeMs now) {
  const auto views = engine_.queues();
  std::map<std::string_view, const engine::QueueView*> of_engine;
  for (const auto& view : views) of_engine.emplace(view.name, &view);
  PastUses past = past_uses(views, now);
  for (auto& state : intake_.queues().queue_states()) {
    if (!is_written(state.kind)) continue;
    QueueStatus status = std::move(state.status);
    const Key key{state.kind, key_text(state.ns, state.name)};
    const auto known = records_.find(key);
    if (known == records_.end() || !known->second.known) continue;  // the watch has not shown it
    if (state.kind == Kind::kLocalQueue) {
      // Between two looks at it what was written stays, so that it alone is no reason to write.
      status.past = known->second.wanted.past ? known->second.wanted.past : known->second.stands.past;
      if (const auto it = past.find(state.engine_name); it != past.end()) status.past = std::move(it->second);
      if (const auto* sum = lanes_.find(state.engine_name)) count_lane(*sum, status);
    } else if (const auto it = of_engine.find(state.engine_name);
               state.kind != Kind::kAdmissionCheck && it != of_engine.end()) {
      count_queue(*it->second, status);
      if (state.kind == Kind::kClusterQueue && intake_.queues().shares())
        status.share = it->second->share_milli;
    }
    compare(key, known->second, std::move(status), now);
  }
}

void QueueStatuses::compare(const Key& key, Record& record, QueueStatus status, TimeMs now) {
  const bool same_active = record.stands.active == status.active && record.stands.since != 0;
  status.since = same_active ? record.stands.since : now;
  const std::string wanted = to_json(key.first, version_, status, false);
  record.wanted = std::move(status);
  if (record.queued || record.flying || wanted == to_json(key.first, version_, record.stands, false)) return;
  const bool stood = record.sent && to_json(key.first, version_, *record.sent, false) == wanted;
  if (stood) {  // another client changed it
    if (now > record.corrected + 2 * options_.most_rest) record.corrections = 0;
    record.corrected = now;
    record.quiet = now + doubled(options_.first_rest, record.corrections++, options_.most_rest);
    record.sent.reset();
  }
  if (record.quiet > now) {
    dirty_ = true;
    return;
  }
  record.queued = true;
  line_.push_back(key);
}

void QueueStatuses::write(const Key& key, Record& record) {
  const auto slash = key.second.find('/');
  const std::string_view text = key.second;
  const std::string_view ns = slash == std::string::npos ? std::string_view() : text.substr(0, slash);
  const std::string_view name = slash == std::string::npos ? text : text.substr(slash + 1);
  record.sent = record.wanted;
  record.flying = true;
  outbox_.write(dialect::write_queue_status(key.first, version_, ns, name, record.wanted), Step::kQueue,
                uid_of(key));
}

bool QueueStatuses::work(TimeMs now, Load load, Allowance& allowance) {
  const DurationMs every = load == Load::kIdle ? options_.every : options_.busy_every;
  if ((dirty_ && now >= looked_ + every) || now >= past_due()) {
    looked_ = now;
    dirty_ = false;
    look(now);
  }
  bool starved = false;
  while (!line_.empty()) {
    const auto it = records_.find(line_.front());
    if (it == records_.end() || !it->second.known || !is_written(it->first.first)) {
      if (it != records_.end()) it->second.queued = false;
      line_.pop_front();
      continue;
    }
    if (!allowance.take()) {
      starved = true;
      break;
    }
    it->second.queued = false;
    line_.pop_front();
    write(it->first, it->second);
  }
  next_due_ = std::min(dirty_ ? looked_ + every : kEndOfTime, past_due());
  if (starved) next_due_ = std::min(next_due_, now + kRetryAfter);
  return next_due_ <= now;
}

}  // namespace berth::scheduler

#include "scheduler/gangs/gang_statuses.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "dialect/write/writes.h"
#include "kube/paths.h"
#include "model/leading.h"
#include "scheduler/report/reporter.h"
#include "text/json.h"

namespace berth::scheduler {
namespace {

constexpr DurationMs kRetryAfter = 20;  // when the budget is spent
constexpr int kMostLooks = 8;           // at once; each may be an explanation

std::string key_of(dialect::Kind kind, std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}/{}", enum_name(kind), ns, name);
}

}  // namespace

void GangStatuses::seen(dialect::Kind kind, std::string_view ns, std::string_view name, TimeMs now) {
  const std::string key = key_of(kind, ns, name);
  Record& record = records_[key];
  record.kind = kind;
  record.name = fmt::format("{}/{}", ns, name);
  changed(key, now);
}

void GangStatuses::gone(dialect::Kind kind, std::string_view ns, std::string_view name) {
  records_.erase(key_of(kind, ns, name));
}

void GangStatuses::changed(const std::string& workload, TimeMs now) {
  if (records_.empty() || !records_.contains(workload)) return;
  due_.put(workload, now + options_.settle);
  next_due_ = std::min(next_due_, due_.next());
}

void GangStatuses::answered(const Answer& answer, TimeMs now) {
  const auto it = records_.find(answer.uid);
  if (it == records_.end()) return;
  Record& record = it->second;
  record.flying = false;
  if (answer.result.outcome != kube::Outcome::kOk) {
    record.sent.clear();
    record.quiet = now + doubled(options_.first_rest, record.corrections, options_.most_rest);
    if (record.corrections++ == 4)
      spdlog::warn("the status of {} cannot be written: {} {}", answer.uid, enum_name(answer.result.outcome),
                   answer.result.message);
  }
  changed(answer.uid, now);
}

void GangStatuses::displaced(const std::string& workload, std::string why) {
  const auto it = records_.find(workload);
  if (it == records_.end()) return;
  it->second.displaced = std::move(why);
  it->second.left = false;
}

dialect::GangReport GangStatuses::report_of(const dialect::GangView& view, Record& record) const {
  dialect::GangReport out = view.report;
  out.queued = !view.stopped;
  out.version = view.system->version;
  if (served_ != nullptr && served_->contains(record.kind)) out.version = served_->at(record.kind);
  const bool runs = out.whole() && out.ending == 0;
  if (runs && record.left) record.displaced.clear();  // it has started again
  record.left = record.left || !runs;
  out.displaced = record.displaced;
  const auto say = [&](const Reason& reason) {
    const ReasonCode code = leading_code(reason);
    out.code = code == ReasonCode::kNone ? ReasonCode::kInactive : code;
    out.why = dialect::text_of(dialect::readable(reason, intake_));
  };
  if (view.stopped) {
    say(*view.stopped);
  } else if (out.pods > 0 && !out.whole()) {
    const auto verdict = engine_.explain(view.workload);
    if (verdict && verdict->kind != VerdictKind::kPlaced) say(verdict->reason);
  }
  return out;
}

bool GangStatuses::look(const std::string& key, Record& record, TimeMs now, Allowance& allowance) {
  const auto view = intake_.gang(record.kind, record.name);
  if (!view) return false;
  const dialect::GangReport report = report_of(*view, record);
  if (report.pods == 0 && !report.queued) {
    due_.put(key, now + options_.without_pods);
  } else if (report.code != ReasonCode::kNone) {
    due_.put(key, now + options_.refresh);
  }
  const std::string wanted = view->system->status(*view->object, report, 0);
  if (record.flying) return true;
  if (wanted == view->object->stands) {
    record.stood = record.stood || record.sent == wanted;
    return true;
  }
  if (record.sent == wanted && !record.stood && now < record.sent_at + options_.unseen) {
    due_.put(key, record.sent_at + options_.unseen);
    return true;
  }
  if (record.sent == wanted && record.stood) {  // another client changed it
    record.quiet = now + doubled(options_.first_rest, record.corrections++, options_.most_rest);
    record.sent.clear();
  }
  const bool only_numbers = same_words(wanted, view->object->stands) && report.code != ReasonCode::kNone;
  const TimeMs from =
      std::max(record.quiet, only_numbers && !report.whole() ? record.sent_at + options_.refresh : 0);
  if (now < from) {
    due_.put(key, from);
    return true;
  }
  (void)allowance.take();
  write(key, record, *view, report, now);
  return true;
}

void GangStatuses::write(const std::string& key, Record& record, const dialect::GangView& view,
                         const dialect::GangReport& report, TimeMs now) {
  const dialect::GangObject& object = *view.object;
  text::JsonWriter json;
  json.begin_object().key("metadata").begin_object().field("uid", object.meta.uid).end_object();
  json.key("status").raw(view.system->status(object, report, now)).end_object();
  const dialect::KindInfo& info = dialect::info_of(record.kind);
  const kube::ResourcePath path{info.group, report.version, info.resource};
  record.sent = view.system->status(object, report, 0);
  record.stood = false;
  record.sent_at = now;
  record.flying = true;
  outbox_.write(kube::status_write(kube::patch_object(
                    path.object(object.meta.ns, object.meta.name, view.system->status_resource), json.take(),
                    kube::BodyType::kMergePatch)),
                Step::kGang, key);
}

bool GangStatuses::work(TimeMs now, Allowance& allowance) {
  bool starved = false;
  for (int looks = 0; looks < kMostLooks && due_.next() <= now; ++looks) {
    if (!allowance.has()) {
      starved = true;
      break;
    }
    const std::string key = due_.take();
    const auto it = records_.find(key);
    if (it != records_.end() && !look(key, it->second, now, allowance)) records_.erase(it);
  }
  next_due_ = starved ? now + kRetryAfter : due_.next();
  return !starved && due_.next() <= now;
}

}  // namespace berth::scheduler

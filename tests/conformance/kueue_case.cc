#include "conformance/kueue_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "dialect/intake/kueue_config.h"
#include "dialect/kueue/kueue_workload.h"
#include "dialect/objects/decode.h"
#include "text/quantity.h"
#include "text/time.h"

namespace berth::conformance {
namespace {

bool shares_fairly(const text::Node& root) {
  const text::Node* fair = root.at({"config", "fairSharing"});
  return root.find("kind")->text() == "shares" || (fair != nullptr && !fair->is_null());
}

dialect::IntakeConfig intake_config(const text::Document& document) {
  const text::Node& root = document.root();
  dialect::IntakeConfig config;
  config.quota_only = true;
  config.checks = dialect::CheckMode::kAssumed;
  config.fair_sharing = shares_fairly(root);
  const text::Node* lanes = root.at({"config", "admissionFairSharing"});
  if (lanes != nullptr && !lanes->is_null()) {
    config.lanes.emplace();
    if (const text::Node* half = lanes->find("usageHalfLifeTime"); half != nullptr) {
      const auto duration = text::parse_duration_ms(half->text());
      if (duration && *duration > 0) config.lanes->half_life = *duration;
    }
  }
  if (const text::Node* resources = root.at({"config", "resources"}); resources != nullptr) {
    text::Fields fields(document, *resources, text::Unknown::kIgnore);
    config.counts = dialect::read_quota_counts(fields);
  }
  return config;
}

engine::EngineConfig engine_config(const text::Node& root) {
  engine::EngineConfig config;
  const text::Node* strategy = root.at({"config", "quotaCheckStrategy"});
  if (const text::Node* list = root.at({"config", "fairSharing", "preemptionStrategies"}); list != nullptr) {
    const auto strategies = list->items();
    if (strategies.size() == 1) {
      config.fair_strategy = strategies.front().text() == "LessThanInitialShare"
                                 ? engine::FairStrategy::kInitialShare
                                 : engine::FairStrategy::kFinalShare;
    }
  }
  config.ignore_uncovered = strategy != nullptr && strategy->text() == "IgnoreUndeclared";
  return config;
}

std::set<std::string> keys_of(const text::Node* mapping) {
  std::set<std::string> out;
  if (mapping == nullptr) return out;
  for (const auto& entry : mapping->entries()) out.emplace(entry.name());
  return out;
}

template <class Map>
std::set<std::string> names_of(const Map& map) {
  std::set<std::string> out;
  for (const auto& [name, value] : map) out.insert(name);
  return out;
}

void compare_sets(std::string_view what, const std::set<std::string>& want, const std::set<std::string>& got,
                  std::vector<std::string>& out) {
  for (const auto& name : want) {
    if (!got.contains(name)) out.push_back(fmt::format("{}: {} is missing", what, name));
  }
  for (const auto& name : got) {
    if (!want.contains(name)) out.push_back(fmt::format("{}: {} should not be there", what, name));
  }
}

std::string kueue_reason(const Reason& reason) {
  switch (reason.code) {
    case ReasonCode::kPreempted:
      return "InClusterQueue";
    case ReasonCode::kReclaimed:
      return "InCohortReclamation";
    case ReasonCode::kReclaimedWhileBorrowing:
      return "InCohortReclaimWhileBorrowing";
    case ReasonCode::kReclaimedFairly:
      return "InCohortFairSharing";
    default:
      return std::string(enum_name(reason.code));
  }
}

}  // namespace

KueueCase::KueueCase(const text::Document& document)
    : document_(document),
      root_(document.root()),
      intake_(intake_config(document)),
      engine_(engine_config(document.root())) {}

std::string KueueCase::text(std::string_view key) const {
  const text::Node* node = root_.find(key);
  return node == nullptr ? std::string() : std::string(node->text());
}

bool KueueCase::applies() const {
  return text("portable") == "true" && text("gateSensitive") == "false";
}

bool KueueCase::ties_by_uid() const {
  const auto ties = root_.find("tieBreaks")->items();
  return std::any_of(ties.begin(), ties.end(), [](const text::Node& n) { return n.text() == "uid"; });
}

std::string KueueCase::name_of(const std::string& uid) const {
  const auto it = by_uid_.find(uid);
  return it == by_uid_.end() ? uid : it->second;
}

Status KueueCase::load() {
  // Where all else is equal, Kueue orders by uid and Berth by arrival.
  std::map<std::string, dialect::Object> by_uid;
  for (const auto& node : root_.find("objects")->items()) {
    const auto kind = dialect::kind_of(node.find("apiVersion")->text(), node.find("kind")->text());
    if (!kind) continue;  // LimitRange: cases that need them show it
    auto decoded = dialect::decode(document_, node, *kind, {});
    if (!decoded && *kind == dialect::Kind::kWorkload) {  // nothing starts of what cannot be read
      unreadable_.insert(fmt::format("{}/{}", node.at({"metadata", "namespace"})->text(),
                                     node.at({"metadata", "name"})->text()));
      continue;
    }
    if (!decoded) return tl::unexpected<Error>(decoded.error());
    dialect::Object object = std::move(*decoded);
    if (*kind != dialect::Kind::kWorkload) {
      intake_.upsert(std::move(object));
      continue;
    }
    const auto& workload = std::get<dialect::KueueWorkload>(object);
    const std::string name = workload.meta.ns + "/" + workload.meta.name;
    workloads_.emplace(name, workload);
    by_uid_.emplace(workload.meta.uid, name);
    by_uid.emplace(workload.meta.uid, std::move(object));
  }
  for (auto& [uid, object] : by_uid) intake_.upsert(std::move(object));
  for (int round = 0; round < 3; ++round) {  // what the engine refuses is told again without its requests
    std::vector<Event> events;
    intake_.drain(events);
    if (events.empty()) break;
    for (const auto& event : events) {
      if (const auto status = engine_.apply(event); !status) intake_.refused(event, status.error().message);
    }
  }
  return {};
}

Result<KueueCase::Outcome> KueueCase::decide(std::int64_t cycles) {
  Outcome out;
  const auto now = text::parse_time_ms(text("now"));
  if (!now) return tl::unexpected<Error>(now.error());
  for (std::int64_t i = 0; i < cycles; ++i) {
    for (const Decision& d : engine_.decide(*now)) {
      std::string name = name_of(d.workload);
      if (d.kind == DecisionKind::kEvict) {
        const auto info = intake_.workload(d.workload);
        if (!info->former.empty() && !out.replaced.contains(info->former)) name = info->former;
        out.evicted[name] = kueue_reason(d.reason);
        out.beneficiary[name] = name_of(d.beneficiary);
      }
      if (d.kind != DecisionKind::kStart) continue;
      Holding& holding = out.started[name];
      const auto& object = workloads_.at(name);
      const auto info = intake_.workload(d.workload);
      holding.queue = info->queue;
      if (!info->former.empty()) {  // it has that one's places, and gets what is missing
        out.replaced.insert(info->former);
        for (const auto& set : workloads_.at(info->former).assignments)
          holding.pod_sets[set.name].count += set.count;
      }
      for (std::size_t s = 0; s < object.pod_sets.size(); ++s) holding.pod_sets[object.pod_sets[s].name];
      for (const auto& slot : d.slots) {
        ++holding.pod_sets[object.pod_sets[static_cast<std::size_t>(slot.pod_set)].name].count;
      }
      for (const auto& f : d.flavors) {
        auto& set = holding.pod_sets[object.pod_sets[static_cast<std::size_t>(f.pod_set)].name];
        set.flavors[f.resource] = f.flavor;
      }
    }
  }
  return out;
}

void KueueCase::compare_cycle(const text::Node& expect, const Outcome& outcome, bool whole,
                              std::vector<std::string>& out) const {
  // `whole`: all that holds quota is listed; otherwise only what is new.
  std::set<std::string> held, pending = unreadable_;
  for (const auto& [name, object] : workloads_) {
    if (object.finished || outcome.replaced.contains(name)) continue;
    if (!object.admitted_to.empty()) {
      held.insert(name);
    } else if (!outcome.started.contains(name)) {
      pending.insert(name);
    }
  }
  const text::Node* admitted = expect.find("admitted");
  std::set<std::string> got = names_of(outcome.started);
  if (whole) got.insert(held.begin(), held.end());
  compare_sets("admitted", keys_of(admitted), got, out);
  compare_sets("pending", keys_of(expect.find("pending")), pending, out);
  compare_sets("evicted", keys_of(expect.find("evicted")), names_of(outcome.evicted), out);
  if (admitted != nullptr) {
    for (const auto& entry : admitted->entries()) {
      const auto it = outcome.started.find(std::string(entry.name()));
      if (it == outcome.started.end()) continue;
      const auto queue = entry.value.find("clusterQueue")->text();
      if (queue != it->second.queue)
        out.push_back(fmt::format("{}: in {} instead of {}", entry.name(), it->second.queue, queue));
      for (const auto& set : entry.value.find("podSets")->items()) {
        PodSetQuota want;
        want.count = set.find("count")->as_int().value_or(-1);
        if (const text::Node* flavors = set.find("flavors")) {
          for (const auto& f : flavors->entries())
            want.flavors[std::string(f.name())] = std::string(f.value.text());
        }
        const auto& name = std::string(set.find("name")->text());
        const auto found = it->second.pod_sets.find(name);
        const PodSetQuota has = found == it->second.pod_sets.end() ? PodSetQuota{} : found->second;
        if (has.count != want.count) {
          out.push_back(
              fmt::format("{}: {} pods of {} instead of {}", entry.name(), has.count, name, want.count));
        }
        for (const auto& [resource, flavor] : want.flavors) {
          const auto f = has.flavors.find(resource);
          if (f == has.flavors.end() || f->second != flavor) {
            out.push_back(fmt::format("{}: {} of {} in flavor {} instead of {}", entry.name(), resource, name,
                                      f == has.flavors.end() ? "none" : f->second, flavor));
          }
        }
      }
    }
  }
  if (const text::Node* evicted = expect.find("evicted")) {
    for (const auto& entry : evicted->entries()) {
      const auto it = outcome.evicted.find(std::string(entry.name()));
      const text::Node* reason = entry.value.find("preemptedReason");
      if (it == outcome.evicted.end() || reason == nullptr) continue;
      if (reason->text() != it->second)
        out.push_back(fmt::format("{}: evicted {} instead of {}", entry.name(), it->second, reason->text()));
    }
  }
}

void KueueCase::compare_targets(const text::Node& expect, const Outcome& outcome,
                                std::vector<std::string>& out) const {
  const std::string preemptor(root_.at({"given", "workload"})->text());
  std::map<std::string, std::string> want, got;
  for (const auto& entry : expect.find("targets")->entries())
    want[std::string(entry.name())] = std::string(entry.value.text());
  for (const auto& [name, reason] : outcome.evicted) {
    if (outcome.beneficiary.at(name) == preemptor) got[name] = reason;
  }
  // Victims that end already count as targets too: their room is what the preemptor waits for.
  const std::set<std::string> evicted = keys_of(expect.find("evicted"));
  for (auto it = want.begin(); it != want.end();) {
    const bool ending = !evicted.contains(it->first) && workloads_.at(it->first).evicted;
    it = ending ? want.erase(it) : std::next(it);
  }
  if (ties_by_uid()) {
    std::map<std::string, std::int64_t> wanted, found;
    const auto where = [&](const std::string& name, const std::string& reason) {
      const auto& object = workloads_.at(name);
      return fmt::format("{}/{}/{}", object.admitted_to, object.priority.value_or(0), reason);
    };
    for (const auto& [name, reason] : want) ++wanted[where(name, reason)];
    for (const auto& [name, reason] : got) ++found[where(name, reason)];
    if (wanted != found)
      out.push_back(fmt::format("{} victims instead of {}, or others", got.size(), want.size()));
    return;
  }
  compare_sets("targets", names_of(want), names_of(got), out);
  for (const auto& [name, reason] : want) {
    const auto it = got.find(name);
    if (it != got.end() && it->second != reason)
      out.push_back(fmt::format("{}: target {} instead of {}", name, it->second, reason));
  }
}

void KueueCase::compare_available(std::vector<std::string>& out) {
  std::map<std::string, std::int64_t> got;
  for (const auto& queue : engine_.queues()) {
    for (const auto& q : queue.quotas) {
      got[fmt::format("{}/{}/{}", queue.name, q.flavor, q.resource)] = std::max<std::int64_t>(0, q.available);
    }
  }
  for (const auto& queue : root_.at({"expect", "available"})->entries()) {
    for (const auto& flavor : queue.value.entries()) {
      for (const auto& resource : flavor.value.entries()) {
        const std::string key = fmt::format("{}/{}/{}", queue.name(), flavor.name(), resource.name());
        const auto want = text::parse_quantity(resource.value.text(), units_per_one(resource.name()));
        if (!want || got[key] != *want)
          out.push_back(fmt::format("{}: {} instead of {}", key, got[key], resource.value.text()));
      }
    }
  }
}

// The share of every queue, with `given.addedUsage` added to that queue alone.
Status KueueCase::compare_shares(std::vector<std::string>& out) {
  const text::Node* added = root_.at({"given", "addedUsage"});
  for (const auto& entry : root_.at({"expect", "shares"})->entries()) {
    const std::string_view key = entry.name();
    const auto slash = key.find('/');
    const bool cohort = key.substr(0, slash) == "Cohort";
    const std::string name = cohort ? std::string(dialect::kCohortPrefix) + std::string(key.substr(slash + 1))
                                    : std::string(key.substr(slash + 1));
    KueueCase one(document_);
    BERTH_TRY(one.load());
    if (added != nullptr && !cohort) {
      Workload w;
      w.uid = w.name = "added";
      w.queue = name;
      SlotUpdate slot{w.uid, 0, 0, SlotState::kRunning, ""};
      PodSet set;
      for (const auto& flavor : added->entries()) {
        for (const auto& resource : flavor.value.entries()) {
          BERTH_ASSIGN(const std::int64_t amount,
                       text::parse_quantity(resource.value.text(), units_per_one(resource.name())));
          set.pod.requests.set(resource.name(), amount);
          slot.flavors.push_back({std::string(resource.name()), std::string(flavor.name())});
        }
      }
      w.root.pod_sets.push_back(std::move(set));
      BERTH_TRY(one.engine_.apply(WorkloadUpsert{std::move(w)}));
      // A queue that has no such flavor uses nothing of it.
      (void)one.engine_.apply(slot);
    }
    const std::int64_t want = entry.value.find("weightedShare")->as_int().value_or(-1);
    std::int64_t got = -1;
    for (const auto& view : one.engine_.queues()) {
      if (view.name == name) got = view.share_milli;
    }
    if (want != got) out.push_back(fmt::format("{}: share {} instead of {}", key, got, want));
  }
  return {};
}

Result<std::vector<std::string>> KueueCase::differences() {
  std::vector<std::string> out;
  const text::Node& expect = *root_.find("expect");
  if (kind() == "shares") {
    BERTH_TRY(compare_shares(out));
    return out;
  }
  BERTH_TRY(load());
  if (kind() == "available") {
    compare_available(out);
    return out;
  }
  const text::Node* cycles = root_.find("cycles");
  BERTH_ASSIGN(const Outcome outcome, decide(cycles != nullptr ? cycles->as_int().value_or(1) : 1));
  if (kind() == "cycle") {
    compare_cycle(expect, outcome, true, out);
    const text::Node* also = root_.find("also");  // Kueue decides now this, now that: each is right
    if (also == nullptr || out.empty()) return out;
    for (const auto& other : also->items()) {
      std::vector<std::string> differences;
      compare_cycle(other, outcome, true, differences);
      if (differences.empty()) return differences;
    }
  } else if (kind() == "preemption") {
    // The flavors that the case fixes are not what the whole decision would choose.
    const bool agrees = expect.at({"cycle", "agrees"})->text() == "true";
    if (agrees) {
      compare_targets(expect, outcome, out);
    } else {
      compare_cycle(*expect.find("cycle"), outcome, false, out);
    }
  } else if (const text::Node* cycle = expect.find("cycle")) {
    compare_cycle(*cycle, outcome, false, out);
  } else {
    out.push_back(fmt::format("kind {} has no whole cycle to compare with", kind()));
  }
  return out;
}

}  // namespace berth::conformance

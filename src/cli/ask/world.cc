#include "cli/ask/world.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "cli/ask/cluster.h"
#include "dialect/write/writes.h"
#include "kube/paths.h"
#include "scheduler/read/snapshot.h"
#include "text/fields.h"
#include "text/time.h"

namespace berth::cli {
namespace {

using dialect::Kind;
using simdjson::dom::element;

constexpr std::size_t kMostAnswer = std::size_t{64} << 20;

std::string_view text_at(const element& from, std::string_view pointer) {
  std::string_view out;
  return from.at_pointer(pointer).get(out) == simdjson::SUCCESS ? out : std::string_view();
}

TimeMs time_of(std::string_view text) {
  const auto at = text.empty() ? Result<std::int64_t>(0) : text::parse_time_ms(text);
  return at ? *at : 0;
}

// The condition PodScheduled=False of a pod; none: it has a node, or nothing was said yet.
std::optional<Said> condition_of(const dialect::Pod& pod, std::string_view json) {
  simdjson::dom::parser parser;
  element root;
  simdjson::dom::array conditions;
  if (!pod.spec.node_name.empty() || parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS ||
      root.at_pointer("/status/conditions").get(conditions) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  for (const element condition : conditions) {
    if (text_at(condition, "/type") != "PodScheduled" || text_at(condition, "/status") != "False") continue;
    return Said{Said::By::kPod, fmt::format("Pod {}/{}", pod.meta.ns, pod.meta.name),
                std::string(text_at(condition, "/reason")), std::string(text_at(condition, "/message")),
                time_of(text_at(condition, "/lastTransitionTime"))};
  }
  return std::nullopt;
}

std::optional<Said> condition_of(const dialect::KueueWorkload& workload) {
  using Type = dialect::WorkloadCondition;
  for (const Type type : {Type::kQuotaReserved, Type::kAdmitted}) {
    const auto* condition = workload.status.find(type);
    if (condition == nullptr || condition->is_true || condition->message.empty()) continue;
    return Said{Said::By::kWorkload, fmt::format("Workload {}/{}", workload.meta.ns, workload.meta.name),
                condition->reason, condition->message, condition->since};
  }
  return std::nullopt;
}

ResourceList of_all(const PodTemplate& pod, std::int64_t count) {
  ResourceList out;
  const auto total = pod.total();
  if (!total) return out;
  for (const auto& [resource, amount] : *total) {
    if (resource != "pods") out.set(resource, saturating_mul(amount, count));
  }
  return out;
}

dialect::IntakeConfig intake_config(const WorldOptions& options) {
  dialect::IntakeConfig out;
  out.scheduler_names = options.scheduler_names;
  out.hold_owners = true;
  out.checks = dialect::CheckMode::kAssumed;
  return out;
}

// The reasons that objects of the workload itself give, whatever else could be read.
bool is_of_itself(ReasonCode code) {
  return code == ReasonCode::kInactive || code == ReasonCode::kInvalid ||
         code == ReasonCode::kIncompleteGang || code == ReasonCode::kUnsupported;
}

}  // namespace

std::vector<Kind> kinds_of_work() {
  std::vector<Kind> out{Kind::kPod,           Kind::kLocalQueue,     Kind::kWorkload,
                        Kind::kPriorityClass, Kind::kNamespace,      Kind::kWorkloadPriorityClass,
                        Kind::kClusterQueue,  Kind::kCohort,         Kind::kQueue,
                        Kind::kVolcanoQueue,  Kind::kResourceFlavor, Kind::kKaiQueue,
                        Kind::kAdmissionCheck};
  for (const dialect::KindInfo& info : dialect::kinds()) {
    if (dialect::owner_kind(info.kind) != nullptr || dialect::gang_system(info.kind) != nullptr)
      out.push_back(info.kind);
  }
  return out;
}

World::World(WorldOptions options) : options_(std::move(options)), intake_(intake_config(options_)) {
  intake_.set_all_runtimes_known();
}

Status World::read(kube::Transport& transport, const Progress& progress) {
  scheduler::SnapshotOptions list;
  list.ns = options_.ns;
  if (!options_.ns.empty()) list.kinds = kinds_of_work();
  list.partial = true;
  list.progress = progress;
  list.seen = [&](const dialect::Object& object, std::string_view json) {
    if (options_.live) {
      const dialect::Meta& meta = dialect::meta_of(object);
      listed_[dialect::kind_of(object)].insert(meta.ns + "/" + meta.name);
    }
    take(object, json);
  };
  BERTH_ASSIGN(const auto snapshot, scheduler::take_snapshot(transport, list));
  refused_.insert(snapshot.refused.begin(), snapshot.refused.end());
  if (refused_.contains(Kind::kPod)) {
    return fail(ErrorCode::kUnauthorized, "{} (context {}) refuses {}: {}", transport.config().server,
                transport.config().context, lacks_right("list", "pods", "", options_.ns),
                role_for(options_.ns));
  }
  for (const dialect::KindInfo& info : dialect::kinds()) {
    const auto is = [&](Kind kind) { return kind == info.kind; };
    const bool wanted = list.kinds.empty() || std::any_of(list.kinds.begin(), list.kinds.end(), is);
    const bool served = std::none_of(snapshot.unserved.begin(), snapshot.unserved.end(), is);
    if (wanted && served && !refused_.contains(info.kind)) read_.insert(info.kind);
  }
  settle();
  const auto listed = intake_.workloads();
  if (options_.live ||
      std::any_of(listed.begin(), listed.end(), [](const auto& info) { return info.suspended; }))
    read_events(transport);
  return {};
}

void World::take(dialect::Object object, std::string_view json) {
  if (const auto* pod = std::get_if<dialect::Pod>(&object)) {
    said_.erase(pod->meta.uid);
    if (auto said = condition_of(*pod, json)) note_said(pod->meta.uid, std::move(*said));
  } else if (const auto* workload = std::get_if<dialect::KueueWorkload>(&object)) {
    take_condition(*workload);
  } else if (const auto* queue = std::get_if<dialect::LocalQueue>(&object)) {
    const std::pair<std::string, std::string> name(queue->meta.ns, queue->meta.name);
    if (std::find(local_queues_.begin(), local_queues_.end(), name) == local_queues_.end())
      local_queues_.push_back(name);
  }
  intake_.upsert(std::move(object));
}

void World::take_condition(const dialect::KueueWorkload& workload) {
  std::set<std::string> uids{std::string(dialect::workload_of(workload))};
  for (const auto& owner : workload.owners) uids.insert(owner.uid);
  const auto said = condition_of(workload);
  for (const auto& uid : uids) {
    const auto known = said_.find(uid);
    if (said) {
      note_said(uid, *said);
    } else if (known != said_.end() && known->second.by == Said::By::kWorkload) {
      said_.erase(known);
    }
  }
}

void World::note_said(const std::string& uid, Said said) {
  if (uid.empty()) return;
  Said& known = said_[uid];
  if (said.by >= known.by) known = std::move(said);
}

void World::upsert(Kind kind, std::string_view json) {
  auto object = decoder_.decode(json, kind, true);
  if (object) take(std::move(*object), json);
}

void World::remove(Kind kind, std::string_view ns, std::string_view name) {
  intake_.remove(kind, ns, name);
  if (kind == Kind::kLocalQueue) std::erase(local_queues_, std::pair(std::string(ns), std::string(name)));
}

void World::keep_only(Kind kind, const std::set<std::string>& names) {
  for (const auto& name : std::exchange(listed_[kind], {})) {
    if (names.contains(name)) continue;
    const auto slash = name.find('/');
    remove(kind, name.substr(0, slash), name.substr(slash + 1));
  }
}

void World::hear(const EventLine& event) {
  if (!is_decision(event, options_.scheduler_names)) return;
  const auto about = intake_.workload(event.uid);
  if (!about || !about->name.starts_with(event.ns + "/")) return;
  const auto known = said_.find(event.uid);
  if (known != said_.end() && known->second.by == Said::By::kEvent && known->second.since > event.at) return;
  note_said(event.uid, {Said::By::kEvent, event.about(), event.reason, event.note, event.at});
}

void World::take_in(const Event& event) {
  if (const auto* workload = std::get_if<WorkloadUpsert>(&event)) {
    Facts facts;
    facts.created = workload->workload.created;
    facts.active = workload->workload.active;
    for (const PodSet* set : pod_sets_of(workload->workload.root)) {
      facts.pods += set->count;
      (void)facts.asked.add(of_all(set->pod, set->count));
    }
    facts_[workload->workload.uid] = std::move(facts);
  } else if (const auto* gone = std::get_if<WorkloadRemove>(&event)) {
    facts_.erase(gone->uid);
  }
}

void World::settle() {
  for (const auto& owner : intake_.missing_owners()) intake_.release_orphans(owner.uid);
  std::vector<Event> events;
  // Refused events come back as other events; each refusal settles one workload, so this ends.
  for (int round = 0; round < 16; ++round) {
    events.clear();
    intake_.drain(events);
    (void)intake_.take_hand_overs();
    (void)intake_.take_out_of_sync();
    if (events.empty()) return;
    for (const auto& event : events) {
      take_in(event);
      if (const auto status = engine_.apply(event); !status) intake_.refused(event, status.error().message);
    }
  }
}

void World::read_events(kube::Transport& transport) {
  const auto status =
      each_event(transport, options_.ns, kWaitingEvents, [&](const EventLine& event) { hear(event); });
  events_refused_ = !status && status.error().code == ErrorCode::kUnauthorized;
}

bool World::ask_for_places(kube::Transport& transport) {
  if (is_whole()) return false;  // the engine knows them
  simdjson::dom::parser parser;
  std::map<std::string, std::int64_t> found;
  for (std::size_t i = 0; i < std::min(local_queues_.size(), kMostLines); ++i) {
    const auto& [ns, name] = local_queues_[i];
    kube::Request request;
    request.path = fmt::format("/apis/{}/v1beta2/namespaces/{}/localqueues/{}/pendingworkloads",
                               "visibility.kueue.x-k8s.io", kube::escape(ns), kube::escape(name));
    request.timeout = 5 * kSecond;
    request.max_response = kMostAnswer;
    const kube::Response response = transport.call(std::move(request));
    element root;
    simdjson::dom::array items, owners;
    if (!response.ok() || parser.parse(response.body).get(root) != simdjson::SUCCESS ||
        root["items"].get(items) != simdjson::SUCCESS) {
      // Not served, or not for this user: there is no place to show. After a pause of the server those of before stay.
      found.insert(asked_places_.begin(), asked_places_.end());
      break;
    }
    for (const element item : items) {
      std::int64_t position = 0;
      if (item["positionInClusterQueue"].get(position) != simdjson::SUCCESS) continue;
      if (item.at_pointer("/metadata/ownerReferences").get(owners) != simdjson::SUCCESS) continue;
      for (const element owner : owners) {
        const std::string uid(text_at(owner, "/uid"));
        const auto pod = intake_.pod(uid);
        found[pod ? std::string(pod->workload) : uid] = position + 1;
      }
    }
  }
  const bool differ = found != asked_places_;
  asked_places_ = std::move(found);
  return differ;
}

std::map<std::string, std::int64_t> World::places() const {
  if (!is_whole()) return asked_places_;
  std::map<std::string, std::int64_t> out;
  for (const auto& queue : engine_.queues()) {
    std::int64_t place = 0;
    (void)engine_.each_in_line(queue.name, [&](const engine::LineView& view) {
      out.emplace(view.uid, ++place);
      return true;
    });
  }
  return out;
}

Said World::said_of(const dialect::WorkloadInfo& info, const std::vector<dialect::PodView>& pods) const {
  Said out;
  const auto see = [&](std::string_view uid) {
    const auto it = said_.find(std::string(uid));
    if (it == said_.end() || it->second.by < out.by) return;
    if (it->second.by > out.by || it->second.since > out.since) out = it->second;
  };
  see(info.uid);
  for (const auto& pod : pods) {
    if (pod.node.empty()) see(pod.uid);
  }
  const Reason* own = intake_.blocked(info.uid);
  if (out.by == Said::By::kNothing && own != nullptr && (is_whole() || is_of_itself(own->code))) {
    out.reason = enum_name(own->code);
    out.message = dialect::text_of(*own);
  }
  return out;
}

WorkLine World::line_of(const dialect::WorkloadInfo& info,
                        const std::map<std::string, std::int64_t>& places) const {
  WorkLine out;
  out.uid = info.uid;
  out.name = info.name;
  out.queue = info.queue;
  out.priority = info.priority;
  if (info.owner != nullptr) out.owner = info.owner->kind->word();
  if (const auto facts = facts_.find(out.uid); facts != facts_.end()) {
    out.created = facts->second.created;
    out.asked = facts->second.asked;
    out.pods = facts->second.pods;
  }
  const auto pods = intake_.pods_of(info.uid);
  std::int64_t ending = 0;
  for (const auto& pod : pods) {
    if (out.owner.empty()) out.owner = pod.controller;
    if (pod.node.empty()) continue;
    ++out.nodes[std::string(pod.node)];
    if (pod.state == SlotState::kReleasing) {
      ++ending;
    } else {
      ++out.bound;
    }
    if (pod.asks != nullptr) (void)out.used.add(of_all(*pod.asks, 1));
  }
  const Reason* blocked = intake_.blocked(info.uid);
  const bool waits = out.bound < out.pods;
  if (waits) out.said = said_of(info, pods);
  if (out.bound > 0) {
    out.state = WorkState::kRunning;
  } else if (ending > 0) {
    out.state = WorkState::kEnding;
  } else if (blocked != nullptr && blocked->code == ReasonCode::kInactive) {
    out.state = WorkState::kInactive;
  } else if (out.said.reason == enum_name(ReasonCode::kWaitingForRoom)) {
    out.state = WorkState::kReserved;
  }
  const auto place = places.find(out.uid);
  if (waits && place != places.end()) out.place = place->second;
  return out;
}

std::vector<WorkLine> World::lines() const {
  const auto all = places();
  std::vector<WorkLine> out;
  for (const auto& info : intake_.workloads()) {
    if (intake_.is_without_pods(info.uid) || info.pods > 0 || info.suspended)
      out.push_back(line_of(info, all));
  }
  std::sort(out.begin(), out.end(), [](const WorkLine& a, const WorkLine& b) {
    return std::tie(a.name, a.uid) < std::tie(b.name, b.uid);
  });
  return out;
}

Result<WorkLine> World::line(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& info : intake_.workloads()) {
    bool is = info.name == name;
    if (!is && info.owner != nullptr)
      is = fmt::format("{}/{}", info.owner->meta->ns, info.owner->meta->name) == name;
    if (!is) {
      const auto pods = intake_.pods_of(info.uid);
      is = std::any_of(pods.begin(), pods.end(),
                       [&](const auto& pod) { return fmt::format("{}/{}", pod.ns, pod.name) == name; });
    }
    if (is) return line_of(info, places());
    names.emplace_back(info.name);
  }
  const std::vector<std::string_view> all(names.begin(), names.end());
  const auto near = text::nearest(name, all);
  return fail(ErrorCode::kNotFound, "there is no workload {} among those of {} that wait or run{}", name,
              fmt::join(options_.scheduler_names, ", "),
              near.empty() ? std::string() : fmt::format("; did you mean {}?", near));
}

Result<Verdict> World::explain(const std::string& uid, TimeMs now) {
  intake_.pass(now);
  settle();
  if (const Reason* own = intake_.blocked(uid)) return Verdict{VerdictKind::kBlocked, *own};
  (void)engine_.decide(now);  // before that it has tried nothing
  BERTH_ASSIGN(Verdict verdict, engine_.explain(uid));
  verdict.reason = dialect::readable(std::move(verdict.reason), intake_);
  return verdict;
}

std::set<std::string> World::uids_of(const std::string& uid) const {
  std::set<std::string> out{uid};
  for (const auto& pod : intake_.pods_of(uid)) out.emplace(pod.uid);
  return out;
}

std::vector<std::string> World::notes() const {
  std::vector<std::string> out;
  const auto lacks = [&](std::string_view resource, std::string_view group, bool namespaced,
                         std::string_view loss) {
    out.push_back(fmt::format("not shown: {}, for lack of {}", loss,
                              lacks_right("list", resource, group, namespaced ? options_.ns : "")));
  };
  for (const Kind kind : refused_) {
    const dialect::KindInfo& info = dialect::info_of(kind);
    const bool owner = dialect::owner_kind(kind) != nullptr;
    if (owner) lacks(info.resource, info.group, true, fmt::format("{}s that wait without pods", info.word));
    if (kind == Kind::kLocalQueue) lacks(info.resource, info.group, true, "the ClusterQueues of work");
    if (kind == Kind::kPriorityClass || kind == Kind::kWorkloadPriorityClass)
      lacks(info.resource, info.group, false, "priorities of work without pods");
  }
  if (events_refused_) lacks("events", "events.k8s.io", true, "reasons of work without pods");
  return out;
}

}  // namespace berth::cli

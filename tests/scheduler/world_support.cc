#include "scheduler/world_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kube/binding_support.h"

namespace berth::scheduler::testing {

using nlohmann::json;

std::string pod_json(const PodSpecText& pod, int version) {
  json out = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  out["metadata"] = {{"name", pod.name},
                     {"namespace", "default"},
                     {"uid", uid_of(pod.name)},
                     {"resourceVersion", std::to_string(version)},
                     {"creationTimestamp", "2026-01-01T00:00:00Z"}};
  if (!pod.gang.empty()) {
    out["metadata"]["labels"]["berth.dev/gang"] = pod.gang;
    out["metadata"]["labels"]["berth.dev/gang-size"] = std::to_string(pod.size);
  }
  if (!pod.queue.empty()) out["metadata"]["labels"]["berth.dev/queue"] = pod.queue;
  if (!pod.devices.empty()) out["metadata"]["annotations"]["berth.dev/devices"] = pod.devices;
  if (!pod.owner.empty()) {
    out["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "apps/v1"},
                                                       {"kind", pod.owner},
                                                       {"name", "owner"},
                                                       {"uid", "owner"},
                                                       {"controller", true}}});
  }
  if (pod.deleting) out["metadata"]["deletionTimestamp"] = "2026-01-01T00:01:00Z";
  const json amounts = {{"cpu", "1"}, {"nvidia.com/gpu", std::to_string(pod.gpus)}};
  out["spec"] = {
      {"schedulerName", "berth"},
      {"priority", pod.priority},
      {"containers",
       json::array({{{"name", "main"}, {"resources", {{"requests", amounts}, {"limits", amounts}}}}})}};
  if (!pod.node.empty()) out["spec"]["nodeName"] = pod.node;
  if (pod.gated) out["spec"]["schedulingGates"] = json::array({{{"name", "wait"}}});
  out["status"] = {{"phase", "Pending"}};
  if (!pod.eviction.empty()) {
    out["status"]["conditions"] = json::array({{{"type", "DisruptionTarget"},
                                                {"status", "True"},
                                                {"reason", "PreemptionByScheduler"},
                                                {"message", pod.eviction}}});
  }
  return out.dump();
}

CoreOptions World::defaults() {
  CoreOptions options;
  options.intake.scheduler_names = {"berth"};
  options.reporter.instance = "test";
  return options;
}

World::World(CoreOptions options, observe::Follower* follower)
    : core(std::make_unique<Core>(std::move(options), outbox, observe::RecordedEngine::Sink(), follower,
                                  &metrics)) {}

void World::give(Inbox& inbox) {
  Batch batch;
  inbox.take(batch, 0);
  core->take(batch, now);
}

void World::object(dialect::Kind kind, const std::string& name, const std::string& text) {
  Inbox inbox;
  const std::string uid = uid_of(name);
  const std::string resource_version = std::to_string(++version);
  inbox.push(kind, {kube::ChangeType::kModified, dialect::is_namespaced(kind) ? "default" : "", name, uid,
                    resource_version, text});
  give(inbox);
}

void World::node(const std::string& name, int gpus) {
  const json amounts = {{"cpu", "64"}, {"pods", "110"}, {"nvidia.com/gpu", std::to_string(gpus)}};
  const json node = {{"metadata", {{"name", name}, {"uid", uid_of(name)}}},
                     {"status", {{"allocatable", amounts}}}};
  object(dialect::Kind::kNode, name, node.dump());
}

void World::pod(const PodSpecText& pod) {
  std::erase_if(pods_, [&](const auto& p) { return p.name == pod.name; });
  pods_.push_back(pod);
  object(dialect::Kind::kPod, pod.name, pod_json(pod, version + 1));
}

void World::pod_gone(const std::string& name) {
  std::erase_if(pods_, [&](const auto& p) { return p.name == name; });
  gone(dialect::Kind::kPod, name);
}

void World::gone(dialect::Kind kind, const std::string& name) {
  Inbox inbox;
  const std::string uid = uid_of(name);
  inbox.push(kind, {kube::ChangeType::kDeleted, "default", name, uid, std::to_string(++version), ""});
  give(inbox);
}

void World::recover() {
  core->recover(now);
}
void World::turn() {
  core->turn(now);
}

void World::report() {
  for (int i = 0; i < 1000 && core->report(now); ++i) {
  }
}

std::vector<Sent> World::take(Step step) {
  std::vector<Sent> out;
  std::erase_if(outbox.sent, [&](const Sent& sent) {
    if (sent.step != step) return false;
    out.push_back(sent);
    return true;
  });
  return out;
}

std::string World::only(Step step) {
  const auto all = take(step);
  EXPECT_EQ(all.size(), 1u);
  return all.size() == 1 ? all[0].uid.substr(4) : std::string();
}

void World::answer(Step step, const std::string& name, kube::Outcome outcome, const std::string& message,
                   const std::string& body, bool maybe_done) {
  answer_about(step, uid_of(name), outcome, message, body, maybe_done);
}

void World::answer_about(Step step, const std::string& uid, kube::Outcome outcome, const std::string& message,
                         const std::string& body, bool maybe_done) {
  Inbox inbox;
  Answer answer;
  answer.step = step;
  answer.uid = uid;
  answer.result.outcome = outcome;
  answer.result.message = message;
  answer.result.body = body;
  answer.result.maybe_done = maybe_done;
  inbox.push(std::move(answer));
  give(inbox);
  turn();
}

void World::bind_all() {
  for (const Sent& sent : take(Step::kBind)) {
    const std::string name = sent.uid.substr(4);
    answer(Step::kBind, name, kube::Outcome::kOk);
    const auto it = std::find_if(pods_.begin(), pods_.end(), [&](const auto& p) { return p.name == name; });
    PodSpecText shown = *it;
    shown.node = node_of(sent);
    pod(shown);
  }
  turn();
}

SlotState World::slot(const std::string& workload, int index) const {
  const auto slot = core->engine().slot(workload, 0, index);
  return slot ? slot->state : SlotState::kAbsent;
}

std::string node_of(const Sent& bind) {
  return kube::testing::binding_of(bind.body)["target"]["name"];
}

std::string devices_of(const Sent& bind) {
  return kube::testing::binding_of(bind.body)["metadata"]
      .value("annotations", json::object())
      .value("berth.dev/devices", std::string());
}

std::string condition_field(const Sent& status, const std::string& field) {
  return json::parse(status.body)["status"]["conditions"][0].value(field, std::string());
}

}  // namespace berth::scheduler::testing

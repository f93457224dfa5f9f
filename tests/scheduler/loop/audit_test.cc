// The self-audit: what it finds, what it leaves alone, and what it mends.
#include "scheduler/loop/audit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "dialect/intake/intake.h"
#include "dialect/kueue/workload_object.h"
#include "dialect/objects/decode.h"
#include "scheduler/world_support.h"

namespace berth::scheduler {
namespace {

using dialect::Kind;
using nlohmann::json;
using ::testing::HasSubstr;
using testing::ScriptedOutbox;

// An intake and an engine that hears of it what the test lets through.
class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {
    object(Kind::kResourceFlavor, R"({"metadata":{"name":"any"}})");
    object(Kind::kClusterQueue, R"({"metadata":{"name":"cq"},"spec":{"namespaceSelector":{},"resourceGroups":[
      {"coveredResources":["nvidia.com/gpu"],"flavors":[{"name":"any","resources":[
        {"name":"nvidia.com/gpu","nominalQuota":"8"}]}]}]}})");
    object(Kind::kLocalQueue,
           R"({"metadata":{"name":"team","namespace":"default"},"spec":{"clusterQueue":"cq"}})");
    for (const char* name : {"n1", "n2"}) {
      const json amounts = {{"cpu", "64"}, {"pods", "110"}, {"nvidia.com/gpu", "8"}};
      object(
          Kind::kNode,
          json{{"metadata", {{"name", name}, {"uid", name}}}, {"status", {{"allocatable", amounts}}}}.dump());
    }
    audit_.set_version("v1beta2");
    EXPECT_TRUE(audit_.work(now_).empty());
  }
  void object(Kind kind, const std::string& text) {
    auto read = decoder_.decode(text, kind);
    ASSERT_TRUE(read.has_value()) << read.error().str();
    intake_.upsert(std::move(*read));
  }
  void pod(const std::string& name, const std::string& node, int gpus = 1) {
    json pod = {{"metadata",
                 {{"name", name},
                  {"namespace", "default"},
                  {"uid", "uid-" + name},
                  {"creationTimestamp", "2024-01-01T00:00:00Z"},
                  {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}}},
                {"status", {{"phase", "Pending"}}}};
    const json amounts = {{"nvidia.com/gpu", std::to_string(gpus)}};
    pod["spec"] = {
        {"schedulerName", "berth"},
        {"containers", {{{"name", "c"}, {"resources", {{"requests", amounts}, {"limits", amounts}}}}}}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    object(Kind::kPod, pod.dump());
  }
  // The engine hears of what has changed; `alter` says of each event whether it does, and may change it.
  void feed(const std::function<bool(Event&)>& alter = {}) {
    std::vector<Event> events;
    intake_.drain(events);
    for (Event& event : events) {
      if (!alter || alter(event)) apply(event);
    }
  }
  void apply(const Event& event) {
    const auto status = engine_.apply(event);
    EXPECT_TRUE(status.has_value()) << status.error().message;
  }
  // Both looks of one round.
  std::vector<AuditDifference> round() {
    now_ = audit_.next_due();
    auto first = audit_.work(now_);
    EXPECT_TRUE(first.empty()) << "said before it was confirmed";
    if (audit_.next_due() > now_ + options_.confirm_after) return first;
    now_ = audit_.next_due();
    return audit_.work(now_);
  }
  SlotState state(const std::string& name) const {
    const auto slot = engine_.slot("uid-" + name, 0, 0);
    return slot ? slot->state : SlotState::kAbsent;
  }
  static bool is_running(const Event& event) {
    const auto* update = std::get_if<SlotUpdate>(&event);
    return update != nullptr && update->state == SlotState::kRunning;
  }
  void expect_peace() {
    EXPECT_TRUE(round().empty());
    for (const auto kind :
         {AuditKind::kPlaces, AuditKind::kUsage, AuditKind::kAccounts, AuditKind::kWorkloads})
      EXPECT_EQ(audit_.count(kind), 0u);
  }

  dialect::Intake intake_;
  dialect::JsonDecoder decoder_;
  engine::Engine engine_;
  ScriptedOutbox outbox_;
  AuditOptions options_;
  Audit audit_{intake_, engine_, {}, outbox_, options_};
  TimeMs now_ = 1'700'000'000'000;
};

TEST_F(AuditTest, FindsNothingWhereAllAgree) {
  for (int i = 0; i < 5; ++i) pod(fmt::format("runs{}", i), "n1");
  pod("waits", "");
  feed();
  for (int i = 0; i < 3; ++i) expect_peace();
  intake_.remove(Kind::kPod, "default", "runs0", "uid-runs0");
  feed();
  expect_peace();
  EXPECT_TRUE(outbox_.sent.empty());
}

TEST_F(AuditTest, APodWithoutAPlaceGetsOne) {
  pod("a", "n1");
  feed([](Event& event) { return !is_running(event); });
  ASSERT_NE(state("a"), SlotState::kRunning);
  const auto found = round();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, AuditKind::kPlaces);
  EXPECT_THAT(found[0].text,
              HasSubstr("pod default/a: it is on node n1, but the engine has placed it nowhere"));
  EXPECT_EQ(found[0].regarding.uid, "uid-a");
  EXPECT_EQ(audit_.count(AuditKind::kPlaces), 1u);
  for (const Event& event : found[0].mend) apply(event);
  EXPECT_EQ(state("a"), SlotState::kRunning);
  expect_peace();
}

TEST_F(AuditTest, APodOnAnotherNodeIsMoved) {
  pod("a", "n1");
  feed([](Event& event) {
    if (is_running(event)) std::get<SlotUpdate>(event).node = "n2";
    return true;
  });
  const auto found = round();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, HasSubstr("it is on node n1, but the engine has it on n2"));
  for (const Event& event : found[0].mend) apply(event);
  EXPECT_EQ(engine_.slot("uid-a", 0, 0)->node, "n1");
  expect_peace();
}

TEST_F(AuditTest, APlaceWhosePodHasNoNodeIsGivenBack) {
  pod("a", "");
  feed();
  SlotUpdate running;
  running.workload = "uid-a";
  running.state = SlotState::kRunning;
  running.node = "n1";
  apply(running);
  const auto found = round();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].text, HasSubstr("it has no node, but the engine has it on n1"));
  for (const Event& event : found[0].mend) apply(event);
  EXPECT_EQ(state("a"), SlotState::kWaiting);
  expect_peace();
}

TEST_F(AuditTest, WorkThatIsGoneHoldsNothing) {
  pod("a", "n1", 4);
  feed();
  intake_.remove(Kind::kPod, "default", "a", "uid-a");
  feed([](Event&) { return false; });
  const auto found = round();
  ASSERT_EQ(found.size(), 1u);  // its queue is compared when this is put right
  EXPECT_THAT(found[0].text, HasSubstr("no pod or Job belongs to it"));
  for (const Event& event : found[0].mend) apply(event);
  EXPECT_FALSE(engine_.slot("uid-a", 0, 0).has_value());
  expect_peace();
}

TEST_F(AuditTest, UsageThatIsNotThatOfItsPodsIsSaidAndToldAnew) {
  pod("b", "n2", 1);
  pod("waits", "");
  pod("a", "n1", 4);
  feed([](Event& event) {
    if (auto* upsert = std::get_if<WorkloadUpsert>(&event))
      if (upsert->workload.uid == "uid-a") upsert->workload.root.pod_sets[0].pod.claim.requests[0].count = 5;
    return true;
  });
  const auto found = round();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, AuditKind::kUsage);
  EXPECT_EQ(found[0].text, "queue cq counts 6 nvidia.com/gpu in use, but its pods ask for 5");
  EXPECT_EQ(found[0].regarding.kind, "ClusterQueue");
  EXPECT_EQ(audit_.count(AuditKind::kUsage), 1u);
  EXPECT_THAT(found[0].anew, ::testing::UnorderedElementsAre("uid-a", "uid-b", "uid-waits"));
  for (const std::string& workload : found[0].anew) intake_.tell_anew(workload);
  feed();
  for (const engine::QueueView& queue : engine_.queues()) {
    for (const engine::QuotaView& quota : queue.quotas) {
      if (queue.name != "cq" || quota.resource != "nvidia.com/gpu") continue;
      EXPECT_EQ(quota.usage, 5000);  // thousandths
    }
  }
  EXPECT_EQ(state("a"), SlotState::kRunning);
  EXPECT_EQ(state("waits"), SlotState::kWaiting);
  expect_peace();
}

TEST_F(AuditTest, WorkWhoseBindIsOnItsWayIsNotToldAnew) {
  pod("a", "n1", 4);
  pod("b", "");
  feed([](Event& event) {
    auto* upsert = std::get_if<WorkloadUpsert>(&event);
    if (upsert != nullptr && upsert->workload.uid == "uid-a")
      upsert->workload.root.pod_sets[0].pod.claim.requests[0].count = 3;
    return true;
  });
  ASSERT_FALSE(engine_.decide(now_).empty());  // b
  ASSERT_EQ(state("b"), SlotState::kBinding);
  const auto found = round();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].anew, ::testing::ElementsAre("uid-a"));
}

TEST_F(AuditTest, AccountsThatDifferFromTheirRecountAreMendedByStartingOver) {
  AuditOptions options = options_;
  options.recount = [](const engine::Engine&) { return fail(ErrorCode::kInternal, "node n1: wrong"); };
  Audit audit(intake_, engine_, {}, outbox_, options);
  EXPECT_TRUE(audit.work(now_).empty());
  now_ = audit.next_due();
  EXPECT_TRUE(audit.work(now_).empty());
  now_ = audit.next_due();
  const auto found = audit.work(now_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, AuditKind::kAccounts);
  EXPECT_TRUE(found[0].starts_over);
  EXPECT_EQ(found[0].text, "node n1: wrong");
}

TEST_F(AuditTest, WhatIsPutRightMeanwhileIsNotSaid) {
  std::vector<Event> late;
  pod("a", "n1");
  feed([&](Event& event) {
    if (!is_running(event)) return true;
    late.push_back(event);
    return false;
  });
  now_ = audit_.next_due();
  EXPECT_TRUE(audit_.work(now_).empty());
  for (const Event& event : late) apply(event);
  now_ = audit_.next_due();
  EXPECT_TRUE(audit_.work(now_).empty());
  EXPECT_EQ(audit_.count(AuditKind::kPlaces), 0u);
  EXPECT_EQ(audit_.next_due(), now_ + options_.every);
}

TEST_F(AuditTest, SaysNoMoreThanSome) {
  for (std::size_t i = 0; i < 2 * options_.most_told; ++i) {
    json workload = json::parse(R"({"metadata":{"namespace":"default","annotations":
      {"berth.dev/workload":"gone","berth.dev/workload-spec":"x"}},
      "spec":{"podSets":[{"name":"main","template":{"spec":{"containers":[{"name":"c"}]}}}]}})");
    workload["metadata"]["name"] = fmt::format("w{}", i);
    workload["metadata"]["uid"] = fmt::format("object{}", i);
    audit_.workload_seen(std::get<dialect::KueueWorkload>(*decoder_.decode(workload.dump(), Kind::kWorkload)),
                         now_);
  }
  EXPECT_EQ(round().size(), options_.most_told);
  EXPECT_EQ(audit_.count(AuditKind::kWorkloads), 2 * options_.most_told);
  EXPECT_EQ(outbox_.sent.size(), 2 * options_.most_told) << "each is deleted";
}

// ---------------------------------------------------------------------------------------------------------- Workloads

class AuditWorkloadsTest : public AuditTest {
 protected:
  json workload(const json& annotations) const {
    json out = json::parse(R"({"metadata":{"name":"w","namespace":"default","uid":"object"},
      "spec":{"queueName":"team","podSets":[{"name":"main","template":{"spec":{"containers":[{"name":"c"}]}}}]}})");
    out["metadata"]["annotations"] = annotations;
    return out;
  }
  void see(const json& object) {
    const auto read = decoder_.decode(object.dump(), Kind::kWorkload);
    ASSERT_TRUE(read.has_value()) << read.error().str();
    audit_.workload_seen(std::get<dialect::KueueWorkload>(*read), now_);
  }
  const json own_ = {{"berth.dev/workload", "uid-a"}, {"berth.dev/workload-spec", "x"}};
};

TEST_F(AuditWorkloadsTest, OneOfItsOwnWithoutAnOwnerIsDeleted) {
  see(workload(own_));
  const auto found = round();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, AuditKind::kWorkloads);
  EXPECT_THAT(found[0].text, HasSubstr("Workload default/w: Berth made it and its owner is gone"));
  EXPECT_EQ(found[0].regarding.kind, "Workload");
  ASSERT_EQ(outbox_.sent.size(), 1u);
  EXPECT_EQ(outbox_.sent[0].step, Step::kAudit);
  EXPECT_EQ(outbox_.sent[0].path, "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/workloads/w");
  EXPECT_EQ(json::parse(outbox_.sent[0].body)["preconditions"]["uid"], "object");
  EXPECT_EQ(audit_.workload_gone("default", "w"), "uid-a");
  EXPECT_EQ(audit_.workload_gone("default", "w"), "");
  expect_peace();
}

TEST_F(AuditWorkloadsTest, OthersAreLeftAlone) {
  json owned = workload(own_);
  owned["metadata"]["ownerReferences"] = {{{"kind", "Pod"}, {"name", "a"}, {"uid", "uid-a"}}};
  json ending = workload(own_);
  ending["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z";
  for (const json& object : {owned, ending, workload({}), workload({{"berth.dev/workload", "uid-a"}}),
                             workload({{"berth.dev/workload-spec", "x"}})}) {
    see(object);
    expect_peace();
  }
  EXPECT_TRUE(outbox_.sent.empty());
}

TEST_F(AuditWorkloadsTest, NotWhereItHasAnOwnerAgainOrWorkloadsAreOthers) {
  see(workload(own_));
  json owned = workload(own_);
  owned["metadata"]["ownerReferences"] = {{{"kind", "Pod"}, {"name", "a"}, {"uid", "uid-a"}}};
  see(owned);
  expect_peace();
  see(workload(own_));
  audit_.set_version("");
  expect_peace();
  EXPECT_TRUE(outbox_.sent.empty());
}

TEST_F(AuditWorkloadsTest, NotBeforeItHasBeenSoForAWhile) {
  now_ = audit_.next_due() - kSecond;
  see(workload(own_));
  expect_peace();
  EXPECT_TRUE(outbox_.sent.empty());
  EXPECT_EQ(round().size(), 1u);
}

// Through the core: metric, event, and the write.
TEST(Audit, IsSaidByTheCore) {
  testing::World w;
  w.core->set_kueue_version("v1beta2", w.now);
  w.recover();
  w.turn();
  w.object(Kind::kWorkload, "w",
           R"({"metadata":{"name":"w","namespace":"default","uid":"object","annotations":
             {"berth.dev/workload":"gone","berth.dev/workload-spec":"x"}},
             "spec":{"podSets":[{"name":"main","template":{"spec":{"containers":[{"name":"c"}]}}}]}})");
  for (int i = 0; i < 60 && w.core->audit().count(AuditKind::kWorkloads) == 0; ++i) w.pass(10 * kSecond);
  EXPECT_EQ(w.take(Step::kAudit).size(), 1u);
  EXPECT_THAT(w.metrics.text(), HasSubstr("berth_audit_differences{kind=\"workloads\"} 1"));
  EXPECT_THAT(w.metrics.text(), HasSubstr("berth_audit_differences{kind=\"usage\"} 0"));
  w.pass(kSecond);
  w.report();
  const auto events = w.take(Step::kEvent);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_THAT(events[0].body, HasSubstr("AuditDifference"));
}

}  // namespace
}  // namespace berth::scheduler

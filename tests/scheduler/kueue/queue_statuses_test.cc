// The status of queues: what is written, when, and how often.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "scheduler/world_support.h"

namespace berth::scheduler::testing {
namespace {

using kube::Outcome;
using nlohmann::json;

constexpr const char* kCluster = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/team/status";
constexpr const char* kLocal = "/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues/team/status";

class QueueStatusesTest : public ::testing::Test {
 protected:
  QueueStatusesTest() { start(); }
  void start(CoreOptions options = World::defaults()) {
    w_ = std::make_unique<World>(std::move(options));
    w_->object(dialect::Kind::kResourceFlavor, "any", R"({"metadata":{"name":"any"}})");
    if (objects_.empty()) {
      queue("");
      local("team", "");
    } else {
      for (const auto& [path, entry] : objects_) show(path);
    }
    w_->node("n1", 8);
    w_->core->set_kueue_version("v1beta2", w_->now);
    w_->recover();
  }
  struct Entry {
    dialect::Kind kind;
    json object;
  };
  void put(dialect::Kind kind, const std::string& path, json object) {
    if (objects_.contains(path) && objects_.at(path).object.contains("status"))
      object["status"] = objects_.at(path).object["status"];
    objects_.insert_or_assign(path, Entry{kind, std::move(object)});
    show(path);
  }
  void show(const std::string& path) {
    const Entry& entry = objects_.at(path);
    w_->object(entry.kind, entry.object["metadata"]["name"], entry.object.dump());
  }
  void queue(const std::string& stop) {
    json object =
        json::parse(R"({"metadata":{"name":"team"},"spec":{"namespaceSelector":{},"resourceGroups":[{
      "coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{"name":"any","resources":[
      {"name":"cpu","nominalQuota":"100"},{"name":"nvidia.com/gpu","nominalQuota":"2"}]}]}]}})");
    if (!stop.empty()) object["spec"]["stopPolicy"] = stop;
    put(dialect::Kind::kClusterQueue, kCluster, std::move(object));
  }
  void local(const std::string& name, const std::string& stop) {
    json object = {{"metadata", {{"name", name}, {"namespace", "default"}}},
                   {"spec", {{"clusterQueue", "team"}}}};
    if (!stop.empty()) object["spec"]["stopPolicy"] = stop;
    put(dialect::Kind::kLocalQueue,
        fmt::format("/apis/kueue.x-k8s.io/v1beta2/namespaces/default/localqueues/{}/status", name),
        std::move(object));
  }
  void answer(const std::string& uid, Outcome outcome, std::string body = {}) {
    Inbox inbox;
    Answer answer;
    answer.step = Step::kQueue;
    answer.uid = uid;
    answer.result.outcome = outcome;
    answer.result.body = std::move(body);
    inbox.push(std::move(answer));
    Batch batch;
    inbox.take(batch, 0);
    w_->core->take(batch, w_->now);
  }
  // Takes what was sent as the API server would, and shows it; the number of writes of statuses.
  int settle(DurationMs time = 3 * kSecond, Outcome outcome = Outcome::kOk) {
    int writes = 0;
    for (DurationMs t = 0; t < time; t += 100) {
      w_->pass(100);
      w_->report();
      for (const auto& sent : w_->take(Step::kQueue)) {
        ++writes;
        EXPECT_EQ(sent.write_class, kube::WriteClass::kStatus);
        if (outcome == Outcome::kOk) {
          objects_.at(sent.path).object.merge_patch(json::parse(sent.body));
          answer(sent.uid, outcome);
          show(sent.path);
        } else {
          answer(sent.uid, outcome);
        }
      }
    }
    return writes;
  }
  json status(const std::string& path) { return objects_.at(path).object["status"]; }
  std::string active(const std::string& path) {
    const json c = status(path)["conditions"][0];
    return c["status"].get<std::string>() + " " + c["reason"].get<std::string>();
  }

  std::map<std::string, Entry> objects_;  // by the path of their status
  std::unique_ptr<World> w_;
};

TEST_F(QueueStatusesTest, CountsWhatWaitsAndRunsAndWhatIsInUse) {
  for (const char* name : {"a", "b", "c"}) w_->pod({.name = name, .queue = "team"});
  w_->turn();
  w_->bind_all();
  settle(15 * kSecond);
  for (const char* path : {kCluster, kLocal}) {
    EXPECT_EQ(status(path)["pendingWorkloads"], 1) << path;
    EXPECT_EQ(status(path)["admittedWorkloads"], 2) << path;
    EXPECT_EQ(status(path)["reservingWorkloads"], 2) << path;
    EXPECT_EQ(active(path), "True Ready");
    EXPECT_EQ(status(path)["flavorsUsage"], status(path)["flavorsReservation"]);
  }
  EXPECT_EQ(
      status(kCluster)["flavorsUsage"].dump(),
      R"([{"name":"any","resources":[{"borrowed":"0","name":"cpu","total":"2"},{"borrowed":"0","name":"nvidia.com/gpu","total":"2"}]}])");
  EXPECT_EQ(
      status(kLocal)["flavorsUsage"].dump(),
      R"([{"name":"any","resources":[{"name":"cpu","total":"2"},{"name":"nvidia.com/gpu","total":"2"}]}])");
  w_->pod_gone("a");
  w_->pod_gone("c");
  w_->turn();
  settle(15 * kSecond);
  EXPECT_EQ(status(kLocal)["pendingWorkloads"], 0);
  EXPECT_EQ(status(kLocal)["flavorsUsage"][0]["resources"][1]["total"], "1");
}

TEST_F(QueueStatusesTest, WhatWaitsForAdmissionChecksReservesAndIsNotAdmitted) {
  w_->object(
      dialect::Kind::kAdmissionCheck, "budget",
      R"({"metadata":{"name":"budget"},"spec":{"controllerName":"example.com/budget"},"status":{"conditions":[
      {"type":"Active","status":"True"}]}})");
  w_->pod({.name = "a", .queue = "team"});
  w_->turn();
  w_->bind_all();  // admitted before there were checks
  json object = objects_.at(kCluster).object;
  object["spec"]["admissionChecksStrategy"]["admissionChecks"] = json::array({{{"name", "budget"}}});
  put(dialect::Kind::kClusterQueue, kCluster, std::move(object));
  for (const char* name : {"b", "c"}) w_->pod({.name = name, .queue = "team"});
  w_->turn();
  settle(15 * kSecond);
  for (const char* path : {kCluster, kLocal}) {
    EXPECT_EQ(status(path)["pendingWorkloads"], 1) << path;
    EXPECT_EQ(status(path)["reservingWorkloads"], 2) << path;
    EXPECT_EQ(status(path)["admittedWorkloads"], 1) << path;
    EXPECT_EQ(status(path)["flavorsReservation"][0]["resources"][1]["total"], "2") << path;
    EXPECT_EQ(status(path)["flavorsUsage"][0]["resources"][1]["total"], "1") << path;
  }
  EXPECT_EQ(settle(20 * kSecond), 0);
}

TEST_F(QueueStatusesTest, AreWrittenWhenTheyChangeOnlyAndNotAgainAfterAStart) {
  EXPECT_EQ(settle(), 2);
  for (int i = 0; i < 10; ++i) {
    w_->node("n1", 8 + i % 2);
    EXPECT_EQ(settle(), 0);
  }
  start();
  EXPECT_EQ(settle(20 * kSecond), 0);
}

TEST_F(QueueStatusesTest, AForgedStatusIsCorrectedEverMoreSlowly) {
  settle();
  int writes = 0;
  for (int i = 0; i < 60; ++i) {  // a minute
    objects_.at(kLocal).object["status"]["admittedWorkloads"] = 99;
    show(kLocal);
    writes += settle(kSecond);
  }
  EXPECT_GE(writes, 4);
  EXPECT_LE(writes, 8);
  settle(2 * kMinute);
  EXPECT_EQ(status(kLocal)["admittedWorkloads"], 0);
}

TEST_F(QueueStatusesTest, ABudgetOfWritesIsKept) {
  settle();
  for (int i = 0; i < 1000; ++i) local(fmt::format("q{}", i), "");
  int writes = 0;
  for (int second = 1; second <= 3; ++second) {
    writes += settle(kSecond);
    EXPECT_LE(writes, 21 + 200 * second);
  }
  writes += settle(10 * kSecond);
  EXPECT_EQ(writes, 1000) << "each once";
}

TEST_F(QueueStatusesTest, AStoppedOrMisconfiguredQueueIsNotActive) {
  settle();
  queue("Hold");
  settle();
  EXPECT_EQ(active(kCluster), "False Stopped");
  EXPECT_EQ(active(kLocal), "False ClusterQueueIsInactive");
  queue("");
  settle();
  EXPECT_EQ(active(kLocal), "True Ready");
  local("team", "Hold");
  settle();
  EXPECT_EQ(active(kCluster), "True Ready");
  EXPECT_EQ(active(kLocal), "False Stopped");
  Inbox inbox;
  inbox.push(dialect::Kind::kResourceFlavor,
             {kube::ChangeType::kDeleted, "", "any", uid_of("any"), "9999", ""});
  Batch batch;
  inbox.take(batch, 0);
  w_->core->take(batch, w_->now);
  settle();
  EXPECT_EQ(active(kCluster), "False FlavorNotFound");
  EXPECT_EQ(status(kCluster)["conditions"][0]["message"],
            "Can't admit new workloads: references missing ResourceFlavor(s): any.");
}

TEST_F(QueueStatusesTest, AFailedWriteIsMadeAgainLater) {
  EXPECT_EQ(settle(500, Outcome::kUnavailable), 2);
  const int more = settle(kMinute, Outcome::kForbidden);
  EXPECT_GE(more, 6);
  EXPECT_LE(more, 14);
  settle(2 * kMinute);
  EXPECT_EQ(active(kLocal), "True Ready");
}

// The watch may be faster than the answer, and by then something else may be wanted.
TEST_F(QueueStatusesTest, WhatChangesWhileAWriteIsOnItsWayIsWrittenAfterIt) {
  for (const bool watch_first : {true, false}) {
    settle(20 * kSecond);
    queue("Hold");
    w_->pass(2 * kSecond);
    w_->report();
    std::vector<Sent> flying = w_->take(Step::kQueue);
    ASSERT_EQ(flying.size(), 2u);
    queue("");
    for (int i = 0; i < 20; ++i) {  // looked at, but not written
      w_->pass(kSecond);
      w_->report();
    }
    EXPECT_TRUE(w_->take(Step::kQueue).empty());
    for (const Sent& sent : flying) {
      const json before = objects_.at(sent.path).object;
      json& object = objects_.at(sent.path).object;
      object.merge_patch(json::parse(sent.body));
      object["metadata"]["resourceVersion"] = std::to_string(w_->version + 2);
      if (watch_first) {
        ++w_->version;
        show(sent.path);
        answer(sent.uid, Outcome::kOk, object.dump());
      } else {  // and after the answer the watch shows what was there before it
        answer(sent.uid, Outcome::kOk, object.dump());
        w_->object(objects_.at(sent.path).kind, before["metadata"]["name"], before.dump());
      }
    }
    EXPECT_EQ(active(kCluster), "False Stopped");
    EXPECT_EQ(settle(20 * kSecond), 2);
    EXPECT_EQ(active(kCluster), "True Ready");
    EXPECT_EQ(active(kLocal), "True Ready");
  }
}

TEST_F(QueueStatusesTest, BerthsOwnQueuesAreToldEvenWhereKueueRuns) {
  w_->core->set_kueue_version("", w_->now);
  constexpr const char* kOwn = "/apis/berth.dev/v1alpha1/queues/research/status";
  put(dialect::Kind::kQueue, kOwn,
      json::parse(R"({"metadata":{"name":"research"},"spec":{"guaranteed":{"nvidia.com/gpu":"4"}}})"));
  w_->pod({.name = "a", .queue = "research"});
  w_->turn();
  w_->bind_all();
  EXPECT_GT(settle(15 * kSecond), 0);
  EXPECT_EQ(status(kOwn)["running"], 1);
  EXPECT_EQ(status(kOwn)["pending"], 0);
  EXPECT_EQ(active(kOwn), "True Ready");
  bool found = false;
  const json used = status(kOwn)["used"];
  for (const json& flavor : used) {
    for (const json& use : flavor["resources"])
      found |= use["name"] == "nvidia.com/gpu" && use["total"] == "1";
  }
  EXPECT_TRUE(found) << status(kOwn).dump();
}

// The recent use of a LocalQueue is written now and then, and read after a restart: no turn is forgotten.
TEST_F(QueueStatusesTest, WhatWasUsedOfLateOutlivesARestart) {
  CoreOptions options = World::defaults();
  LaneOrder order;
  order.by_use = true;
  order.half_life = kHour;
  options.intake.lanes = order;
  const auto by_use = [&] {
    objects_.at(kCluster).object["spec"]["admissionScope"]["admissionMode"] =
        "UsageBasedAdmissionFairSharing";
    show(kCluster);
  };
  start(options);
  by_use();
  w_->pod({.name = "a", .queue = "team", .gpus = 2});
  w_->turn();
  w_->bind_all();
  settle();
  const auto used = [&]() -> json {
    const json& status = objects_.at(kLocal).object["status"];
    return status.contains("fairSharing") ? status["fairSharing"]["admissionFairSharingStatus"] : json();
  };
  w_->pass(4 * kHour);
  settle();
  ASSERT_TRUE(used().is_object() && used()["consumedResources"].contains("nvidia.com/gpu"))
      << status(kLocal).dump();
  EXPECT_EQ(used()["consumedResources"]["nvidia.com/gpu"].get<std::string>().substr(0, 4), "1875")
      << used().dump();
  const std::string written = used()["lastUpdate"];
  int writes = 0;
  for (int i = 0; i < 10; ++i) {
    w_->pass(kMinute);
    writes += settle();
  }
  EXPECT_LE(writes, 2) << "not each time that it is a little more";
  EXPECT_NE(used()["lastUpdate"], written);

  w_->pod_gone("a");
  settle();
  const auto then = used()["consumedResources"];
  start(options);
  settle();
  const std::string before = then["nvidia.com/gpu"], after = used()["consumedResources"]["nvidia.com/gpu"];
  EXPECT_NEAR(std::stod(after), std::stod(before), 40) << "what stood there, and not nothing";
  w_->pass(40 * kHour);
  settle();
  EXPECT_EQ(used()["consumedResources"]["nvidia.com/gpu"], "0") << "in the end it is forgotten";
}

TEST_F(QueueStatusesTest, SharesAreWrittenWhereTheyDecide) {
  settle();
  EXPECT_FALSE(objects_.at(kCluster).object["status"].contains("fairSharing"));
  CoreOptions options = World::defaults();
  options.intake.fair_sharing = true;
  start(options);
  objects_.at(kCluster).object["spec"]["cohortName"] = "all";
  show(kCluster);
  json lender = objects_.at(kCluster).object;
  lender["metadata"]["name"] = "lender";
  lender.erase("status");
  lender["spec"]["resourceGroups"][0]["flavors"][0]["resources"][1]["nominalQuota"] = "6";
  put(dialect::Kind::kClusterQueue, "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/lender/status", lender);
  w_->pod({.name = "a", .queue = "team", .gpus = 4});
  w_->turn();
  w_->bind_all();
  settle();
  // Two of eight borrowed.
  EXPECT_EQ(objects_.at(kCluster).object["status"]["fairSharing"]["weightedShare"], 250);
}

}  // namespace
}  // namespace berth::scheduler::testing

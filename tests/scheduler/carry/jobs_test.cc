// Jobs that wait suspended: released when their places are held, suspended again to end them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "scheduler/job_support.h"
#include "scheduler/world_support.h"

namespace berth::scheduler::testing {
namespace {

using kube::Outcome;
using nlohmann::json;

class JobsTest : public ::testing::Test {
 protected:
  JobsTest() : w_(options()) {
    w_.object(dialect::Kind::kResourceFlavor, "any", R"({"metadata":{"name":"any"}})");
    queue(100);
    w_.object(dialect::Kind::kLocalQueue, "team",
              R"({"metadata":{"name":"team","namespace":"default"},"spec":{"clusterQueue":"team"}})");
    w_.recover();
  }
  static CoreOptions options() {
    CoreOptions out = World::defaults();
    out.intake.hold_owners = true;
    return out;
  }
  void queue(int gpus) {
    w_.object(dialect::Kind::kClusterQueue, "team",
              fmt::format(R"({{"metadata":{{"name":"team"}},"spec":{{
      "namespaceSelector":{{}},"preemption":{{"withinClusterQueue":"LowerPriority"}},
      "resourceGroups":[{{"coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{{"name":"any","resources":[
      {{"name":"cpu","nominalQuota":"100"}},{{"name":"nvidia.com/gpu","nominalQuota":"{}"}}]}}]}}]}}}})",
                          gpus));
  }
  void job(const JobText& text) { w_.object(dialect::Kind::kJob, text.name, job_json(text)); }
  void pod(const JobText& text, int index, const std::string& node = "", bool deleting = false,
           int gpus = 0) {
    w_.object(dialect::Kind::kPod, fmt::format("{}-{}", text.name, index),
              job_pod(text, index, node, deleting, gpus));
  }
  // The API server takes the patch: the answer has the Job as it is then.
  void taken(JobText& text, bool suspend) {
    text.suspend = suspend;
    ++text.generation;
    ++w_.version;
    w_.answer(Step::kOwner, text.name, Outcome::kOk, "", job_json(text, w_.version));
  }
  // Releases the Job, makes its pods, and binds them.
  void run(JobText& text) {
    job(text);
    w_.turn();
    ASSERT_EQ(w_.only(Step::kOwner), text.name);
    taken(text, false);
    for (int i = 0; i < text.pods; ++i) pod(text, i);
    w_.turn();
    const auto binds = w_.take(Step::kBind);
    ASSERT_EQ(binds.size(), static_cast<std::size_t>(text.pods));
    for (int i = 0; i < text.pods; ++i) {
      const std::string name = fmt::format("{}-{}", text.name, i);
      w_.answer(Step::kBind, name, Outcome::kOk);
      for (const auto& bind : binds) {
        if (bind.uid == uid_of(name)) pod(text, i, node_of(bind));
      }
    }
    w_.turn();
  }
  // The pods of a Job that was suspended end.
  void end_pods(const JobText& text) {
    for (int i = 0; i < text.pods; ++i) w_.pod_gone(fmt::format("{}-{}", text.name, i));
    w_.turn();
  }
  // The Job is released, and the answer is lost: it is read back.
  void lose_release(const JobText& text) {
    job(text);
    w_.turn();
    ASSERT_EQ(w_.only(Step::kOwner), text.name);
    w_.answer(Step::kOwner, text.name, Outcome::kUnknown);
  }
  static bool suspends(const Sent& sent) { return sent.body.find("\"op\"") == std::string::npos; }

  World w_;
};

TEST_F(JobsTest, APlaceIsHeldThenTheJobIsReleasedAndItsPodsGoExactlyThere) {
  for (const char* node : {"n1", "n2"}) w_.node(node, 1);
  JobText train;
  job(train);
  w_.turn();
  const auto sent = w_.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].path, "/apis/batch/v1/namespaces/default/jobs/train");
  EXPECT_EQ(sent[0].body, R"([{"op":"test","path":"/metadata/uid","value":"uid-train"},)"
                          R"({"op":"test","path":"/metadata/generation","value":1},)"
                          R"({"op":"test","path":"/spec/suspend","value":true},)"
                          R"({"op":"replace","path":"/spec/suspend","value":false}])");
  EXPECT_EQ(sent[0].write_class, kube::WriteClass::kBind);
  const auto held = w_.core->engine().slot(uid_of("train"), 0, 1);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->state, SlotState::kBinding);
  const std::string node_of_second(held->node);
  // No other work gets the room, before and after the answer.
  w_.pod({.name = "thief"});
  w_.turn();
  taken(train, false);
  job(train);
  w_.turn();
  EXPECT_TRUE(w_.take(Step::kBind).empty());
  // Each pod is bound when it comes, to the place of its slot.
  pod(train, 0);
  w_.turn();
  const auto first = w_.take(Step::kBind);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_NE(node_of(first[0]), node_of_second);
  pod(train, 1);
  w_.turn();
  const auto second = w_.take(Step::kBind);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(node_of(second[0]), node_of_second);
  EXPECT_EQ(w_.core->carrier().owners().size(), 0u);
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(JobsTest, PodsThatComeBeforeTheAnswerAreBoundAndAnOlderStateOfTheJobChangesNothing) {
  w_.node("n1", 2);
  JobText train;
  job(train);
  w_.turn();
  ASSERT_EQ(w_.only(Step::kOwner), "train");
  pod(train, 0);
  pod(train, 1);
  w_.turn();
  EXPECT_EQ(w_.take(Step::kBind).size(), 2u);
  const int before = ++w_.version;
  taken(train, false);
  JobText stale = train;
  stale.suspend = true;
  Inbox inbox;  // the watch brings the state before the release
  inbox.push(dialect::Kind::kJob, {kube::ChangeType::kModified, "default", "train", uid_of("train"),
                                   std::to_string(before), job_json(stale, before)});
  Batch batch;
  inbox.take(batch, 0);
  w_.core->take(batch, w_.now);
  w_.turn();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(w_.slot(uid_of("train"), i), SlotState::kBinding);
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
}

TEST_F(JobsTest, WaitsSuspendedAndSaysWhyOnTheJob) {
  w_.node("n1", 1);
  job({});
  w_.turn();
  w_.pass(2 * kSecond);
  w_.report();
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
  const auto events = w_.take(Step::kEvent);
  ASSERT_EQ(events.size(), 1u);
  const json event = json::parse(events[0].body);
  EXPECT_EQ(event["regarding"]["kind"], "Job");
  EXPECT_EQ(event["regarding"]["name"], "train");
  EXPECT_EQ(event["reason"], "Waiting");
  EXPECT_NE(event["note"].get<std::string>().find("room for 1"), std::string::npos) << event["note"];
  EXPECT_EQ(w_.core->intake().pod_count(), 0u);
}

// More pods than Berth reads of one Job: its user is told which field it is, and it is not released with another number.
TEST_F(JobsTest, OneThatCannotBeReadSaysWhichFieldItIs) {
  w_.node("n1", 8);
  json broken = json::parse(job_json({}));
  broken["spec"]["parallelism"] = 2147483647;
  w_.object(dialect::Kind::kJob, "train", broken.dump());
  w_.turn();
  w_.pass(2 * kSecond);
  w_.report();
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
  const auto events = w_.take(Step::kEvent);
  ASSERT_EQ(events.size(), 1u);
  const json event = json::parse(events[0].body);
  EXPECT_EQ(event["regarding"]["name"], "train");
  const std::string note = event["note"];
  EXPECT_NE(note.find("spec.parallelism: must be an integer from 0 to 1000000"), std::string::npos) << note;
  EXPECT_EQ(w_.core->intake().unreadable().size(), 1u);
  job({});  // mended
  w_.turn();
  EXPECT_EQ(w_.only(Step::kOwner), "train");
  EXPECT_TRUE(w_.core->intake().unreadable().empty());
}

// Running pods stay as they are; no more of them start.
TEST_F(JobsTest, OneThatCannotBeReadAnyMoreRunsOn) {
  w_.node("n1", 8);
  JobText text;
  run(text);
  json broken = json::parse(job_json(text, ++w_.version));
  broken["spec"]["parallelism"] = 2147483647;
  w_.object(dialect::Kind::kJob, "train", broken.dump());
  w_.turn();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(w_.slot(uid_of("train"), i), SlotState::kRunning);
  EXPECT_TRUE(w_.take(Step::kDelete).empty());
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
}

TEST_F(JobsTest, LeavesAloneWhatOthersManage) {
  w_.node("n1", 8);
  job({.name = "multikueue", .managed_by = "kueue.x-k8s.io/multikueue"});
  job({.name = "of-jobset", .owner = "JobSet"});
  job({.name = "of-others", .scheduler = "default-scheduler"});
  job({.name = "no-queue", .queue = ""});
  w_.turn();
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
  EXPECT_TRUE(w_.core->intake().workloads().empty());
  job({.name = "of-cronjob", .managed_by = "kubernetes.io/job-controller", .owner = "CronJob"});
  w_.turn();
  EXPECT_EQ(w_.only(Step::kOwner), "of-cronjob");
}

TEST_F(JobsTest, WithoutTheOptionSuspendedJobsAreNotTouched) {
  World plain;
  plain.node("n1", 8);
  plain.recover();
  plain.object(dialect::Kind::kJob, "train", job_json({.queue = "team"}));
  plain.turn();
  EXPECT_TRUE(plain.peek().empty());
}

TEST_F(JobsTest, IsPreemptedBySuspendingItWhole) {
  w_.node("n1", 2);
  JobText low;
  low.name = "low";
  run(low);
  JobText high;
  high.name = "high";
  high.priority = 100;
  job(high);
  w_.turn();
  auto sent = w_.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].body, R"({"metadata":{"uid":"uid-low"},"spec":{"suspend":true}})");
  EXPECT_TRUE(w_.take(Step::kMark).empty());
  EXPECT_TRUE(w_.take(Step::kDelete).empty());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(w_.slot(uid_of("low"), i), SlotState::kReleasing);
  w_.report();
  bool told = false;
  for (const auto& event : w_.take(Step::kEvent)) {
    const json body = json::parse(event.body);
    told |= body["reason"] == "Preempted" && body["regarding"]["name"] == "low" &&
            body["note"].get<std::string>().find("default/high") != std::string::npos;
  }
  EXPECT_TRUE(told);
  taken(low, true);
  job(low);
  for (int i = 0; i < 2; ++i) pod(low, i, "n1", true);
  w_.turn();
  EXPECT_TRUE(w_.take(Step::kOwner).empty());  // the room is not free yet
  end_pods(low);
  sent = w_.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].uid, uid_of("high"));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(w_.slot(uid_of("low"), i), SlotState::kWaiting);  // it waits again
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(JobsTest, AJobReleasedBeforeItsPodsAreGoneIsSuspendedAgain) {
  w_.node("n1", 2);
  JobText low;
  low.name = "low";
  run(low);
  w_.pod({.name = "high", .queue = "team", .priority = 100, .gpus = 2});
  w_.turn();
  ASSERT_EQ(w_.only(Step::kOwner), "low");
  taken(low, true);
  low.suspend = false;  // the Job controller never saw it suspended
  job(low);
  w_.turn();
  EXPECT_TRUE(w_.take(Step::kOwner).empty()) << "no hot loop";
  w_.pass(11 * kSecond);
  const auto sent = w_.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(suspends(sent[0]));
  taken(low, true);
  end_pods(low);
  EXPECT_EQ(w_.only(Step::kBind), "high");
}

TEST_F(JobsTest, PodsThatDoNotComeGiveTheHoldBackAndTheJobRests) {
  w_.node("n1", 2);
  JobText train;
  job(train);
  w_.turn();
  ASSERT_EQ(w_.only(Step::kOwner), "train");
  taken(train, false);
  w_.pass(29 * kSecond);
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
  pod(train, 0);  // one came: the controller works on it
  w_.pass(2 * kSecond);
  EXPECT_EQ(w_.take(Step::kBind).size(), 1u);
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
  w_.pass(30 * kSecond);
  const auto sent = w_.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(suspends(sent[0]));
  EXPECT_NE(w_.slot(uid_of("train"), 1), SlotState::kBinding);  // no pod has it: its room is free
  taken(train, true);
  w_.pod_gone("train-0");
  w_.pass(5 * kSecond);
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
  const auto* why = w_.core->intake().blocked(uid_of("train"));
  ASSERT_NE(why, nullptr);
  EXPECT_NE(why->detail.find("tried again in 10 s"), std::string::npos) << why->detail;
  w_.pod({.name = "other", .gpus = 2});
  w_.turn();
  EXPECT_EQ(w_.only(Step::kBind), "other");
  w_.answer(Step::kBind, "other", Outcome::kOk);
  w_.pod_gone("other");
  w_.pass(6 * kSecond);
  EXPECT_EQ(w_.only(Step::kOwner), "train");  // once more
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(JobsTest, AReleaseThatIsNotTakenGivesThePlacesBackAndIsTriedAgain) {
  w_.node("n1", 4);
  JobText train;
  job(train);
  w_.turn();
  ASSERT_EQ(w_.only(Step::kOwner), "train");
  // Another client changed it to four pods meanwhile: the generation has changed.
  train.pods = 4;
  train.generation = 2;
  w_.answer(Step::kOwner, "train", Outcome::kInvalid, "the server rejected our request");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(w_.slot(uid_of("train"), i), SlotState::kWaiting);
  job(train);
  w_.turn();
  EXPECT_TRUE(w_.take(Step::kOwner).empty()) << "not in a hot loop";
  w_.pass(kSecond);
  const auto sent = w_.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_NE(sent[0].body.find("\"/metadata/generation\",\"value\":2"), std::string::npos);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(w_.slot(uid_of("train"), i), SlotState::kBinding);
}

// The answer was lost, or the refusal answers the second of two attempts: the Job itself says whether it was released.
TEST_F(JobsTest, AReleaseThatMayHaveBeenDoneIsReadBack) {
  for (const bool refused : {false, true}) {
    SCOPED_TRACE(refused);
    JobText train;
    train.name = refused ? "refused" : "lost";
    w_.node("node-of-" + train.name, 2);
    job(train);
    w_.turn();
    ASSERT_EQ(w_.only(Step::kOwner), train.name);
    w_.answer(Step::kOwner, train.name, refused ? Outcome::kInvalid : Outcome::kUnknown, "", "", refused);
    const auto read = w_.take(Step::kOwner);
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].body, "");
    EXPECT_EQ(read[0].path, "/apis/batch/v1/namespaces/default/jobs/" + train.name);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(w_.slot(uid_of(train.name), i), SlotState::kBinding);
    taken(train, false);
    for (int i = 0; i < 2; ++i) pod(train, i);
    w_.turn();
    EXPECT_EQ(w_.take(Step::kBind).size(), 2u);
    EXPECT_TRUE(w_.take(Step::kOwner).empty());
  }
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(JobsTest, AReleaseThatWasNotDoneIsTriedAgain) {
  w_.node("n1", 2);
  JobText train;
  ASSERT_NO_FATAL_FAILURE(lose_release(train));
  ASSERT_EQ(w_.only(Step::kOwner), "train");
  taken(train, true);  // read back: it still waits
  EXPECT_TRUE(w_.take(Step::kOwner).empty()) << "not in a hot loop";
  w_.pass(kSecond);
  const auto sent = w_.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_FALSE(suspends(sent[0]));
}

TEST_F(JobsTest, AReleaseIsReadBackUntilThatSucceeds) {
  w_.node("n1", 2);
  JobText train;
  ASSERT_NO_FATAL_FAILURE(lose_release(train));
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(w_.only(Step::kOwner), "train") << i;
    w_.answer(Step::kOwner, "train", Outcome::kUnavailable);
    EXPECT_TRUE(w_.take(Step::kOwner).empty()) << "not in a hot loop";
    w_.pass(10 * kSecond);
  }
  const auto read = w_.take(Step::kOwner);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(read[0].body, "");
  taken(train, false);
  for (int i = 0; i < 2; ++i) pod(train, i);
  w_.turn();
  EXPECT_EQ(w_.take(Step::kBind).size(), 2u);
}

TEST_F(JobsTest, WhatIsDecidedWhileAWriteIsUnderWayIsWrittenAfterIt) {
  w_.node("n1", 2);
  JobText low;
  low.name = "low";
  job(low);
  w_.turn();
  ASSERT_EQ(w_.only(Step::kOwner), "low");
  JobText high;
  high.name = "high";
  high.priority = 100;
  job(high);
  w_.turn();
  // low is preempted before its release was answered. Its room is free at once, since no pod of it can be bound.
  auto sent = w_.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].uid, uid_of("high"));
  taken(low, false);
  sent = w_.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].uid, uid_of("low"));
  EXPECT_TRUE(suspends(sent[0]));
  pod(low, 0);  // it was made in between, and is about to be deleted
  pod(low, 1);
  w_.turn();
  taken(low, true);
  EXPECT_TRUE(w_.take(Step::kBind).empty());
  taken(high, false);
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(JobsTest, PodsThatAreLargerThanTheTemplateSaidAreDecidedAnew) {
  w_.node("n1", 2);
  w_.node("n2", 8);
  queue(8);
  JobText train;
  job(train);
  w_.turn();
  ASSERT_EQ(w_.only(Step::kOwner), "train");
  taken(train, false);
  pod(train, 0, "", false, 4);
  pod(train, 1, "", false, 4);
  w_.turn();
  const auto binds = w_.take(Step::kBind);
  ASSERT_EQ(binds.size(), 2u);
  for (const auto& bind : binds) EXPECT_EQ(node_of(bind), "n2");
  EXPECT_TRUE(w_.core->engine().audit());
}

TEST_F(JobsTest, PodsThatTurnOutLargerAndHaveNoRoomAreSuspendedAgain) {
  w_.node("n1", 2);
  JobText train;
  job(train);
  w_.turn();
  ASSERT_EQ(w_.only(Step::kOwner), "train");
  taken(train, false);
  pod(train, 0, "", false, 4);
  pod(train, 1, "", false, 4);
  w_.turn();
  EXPECT_TRUE(w_.take(Step::kBind).empty());
  w_.pass(31 * kSecond);
  const auto sent = w_.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(suspends(sent[0]));
  EXPECT_TRUE(w_.core->engine().audit());
}

// The Spark operator runs a program before there is a pod.
TEST_F(JobsTest, PodsOfASlowKindHaveTheTimeThatItsKindSays) {
  w_.object(
      dialect::Kind::kNode, "n1",
      R"({"metadata":{"name":"n1","uid":"uid-n1"},"status":{"allocatable":{"cpu":"64","memory":"64Gi","pods":"110"}}})");
  w_.object(dialect::Kind::kClusterQueue, "team",
            R"({"metadata":{"name":"team"},"spec":{"namespaceSelector":{},
      "resourceGroups":[{"coveredResources":["cpu","memory"],"flavors":[{"name":"any","resources":[
      {"name":"cpu","nominalQuota":"100"},{"name":"memory","nominalQuota":"1Ti"}]}]}]}})");
  const auto application = [&](bool suspend, int generation) {
    return fmt::format(R"({{"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication",
      "metadata":{{"name":"pi","namespace":"default","uid":"uid-pi","generation":{},"resourceVersion":"{}",
      "labels":{{"kueue.x-k8s.io/queue-name":"team"}}}},
      "spec":{{"suspend":{},"type":"Python","driver":{{"cores":1,"memory":"1g","schedulerName":"berth"}},
      "executor":{{"instances":1,"cores":1,"memory":"1g","schedulerName":"berth"}}}}}})",
                       generation, ++w_.version, suspend);
  };
  w_.object(dialect::kind_named("SparkApplication").value(), "pi", application(true, 1));
  w_.turn();
  ASSERT_EQ(w_.only(Step::kOwner), "pi");
  w_.answer(Step::kOwner, "pi", Outcome::kOk, "", application(false, 2));
  w_.pass(31 * kSecond);
  w_.pass(4 * kMinute);
  EXPECT_TRUE(w_.take(Step::kOwner).empty()) << "five minutes are not over";
  w_.pass(kMinute);
  const auto sent = w_.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(suspends(sent[0]));
}

TEST_F(JobsTest, WhereItMayNotBeSuspendedItsPodsAreDeleted) {
  w_.node("n1", 2);
  JobText low;
  low.name = "low";
  run(low);
  w_.pod({.name = "high", .queue = "team", .priority = 100, .gpus = 2});
  w_.turn();
  ASSERT_EQ(w_.only(Step::kOwner), "low");
  w_.answer(Step::kOwner, "low", Outcome::kForbidden, "jobs is forbidden");
  EXPECT_EQ(w_.take(Step::kMark).size(), 2u);
}

TEST_F(JobsTest, AfterARestartAReleasedJobIsAGangOfItsPods) {
  World again(options());
  again.node("n1", 2);
  again.object(dialect::Kind::kResourceFlavor, "any", R"({"metadata":{"name":"any"}})");
  JobText train;
  train.suspend = false;
  train.queue = "";  // of no queue: nodes decide
  train.pods = 2;
  JobText waits;
  waits.name = "waits";
  again.object(dialect::Kind::kJob, "waits", job_json(waits));
  again.object(dialect::Kind::kJob, "train", job_json(train));
  again.object(dialect::Kind::kPod, "train-0", job_pod(train, 0, "n1"));
  again.object(dialect::Kind::kPod, "train-1", job_pod(train, 1));
  again.recover();
  EXPECT_EQ(again.only(Step::kBind), "train-1");
  EXPECT_TRUE(again.take(Step::kOwner).empty());
}

TEST_F(JobsTest, AHalfBoundJobWithoutRoomIsSuspendedAtRecovery) {
  World again(options());
  again.node("n1", 1);
  again.object(dialect::Kind::kResourceFlavor, "any", R"({"metadata":{"name":"any"}})");
  again.object(dialect::Kind::kClusterQueue, "team",
               R"({"metadata":{"name":"team"},"spec":{"namespaceSelector":{},"resourceGroups":[{
      "coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{"name":"any","resources":[
      {"name":"cpu","nominalQuota":"100"},{"name":"nvidia.com/gpu","nominalQuota":"8"}]}]}]}})");
  again.object(dialect::Kind::kLocalQueue, "team",
               R"({"metadata":{"name":"team","namespace":"default"},"spec":{"clusterQueue":"team"}})");
  JobText train;
  train.suspend = false;
  again.object(dialect::Kind::kJob, "train", job_json(train));
  again.object(dialect::Kind::kPod, "train-0", job_pod(train, 0, "n1"));
  again.object(dialect::Kind::kPod, "train-1", job_pod(train, 1));
  again.recover();
  const auto sent = again.take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_TRUE(suspends(sent[0]));
  EXPECT_TRUE(again.take(Step::kDelete).empty());
}

TEST_F(JobsTest, AResumedJobNeedsPlacesForWhatIsLeftOnly) {
  w_.node("n1", 1);
  JobText train;
  json left = json::parse(job_json(train));
  left["status"]["succeeded"] = 1;
  w_.object(dialect::Kind::kJob, "train", left.dump());
  w_.turn();
  EXPECT_EQ(w_.only(Step::kOwner), "train");
}

// Watches of Jobs and pods run apart. A pod whose Job's watch is behind must not pass by the Job's queue, however long that takes; one
// whose Job does not exist is a pod of its own.
TEST_F(JobsTest, PodsOfAJobThatNoWatchHasShownWaitForWhatTheApiSays) {
  for (const char* node : {"n1", "n2"}) w_.node(node, 1);
  JobText train{.pods = 1, .suspend = false};
  pod(train, 0);
  w_.turn();
  for (const auto answer : {Outcome::kOk, Outcome::kUnavailable}) {
    w_.pass(6 * kSecond);
    const auto asked = w_.take(Step::kMissing);
    ASSERT_EQ(asked.size(), 1u);
    EXPECT_EQ(asked[0].path, "/apis/batch/v1/namespaces/default/jobs/train");
    w_.pass(6 * kSecond);
    EXPECT_TRUE(w_.take(Step::kMissing).empty());  // one question at a time
    w_.answer(Step::kMissing, "train", answer, "", job_json(train));
    w_.turn();
    EXPECT_TRUE(w_.take(Step::kBind).empty());
  }
  w_.pass(6 * kSecond);
  ASSERT_EQ(w_.take(Step::kMissing).size(), 1u);
  queue(0);
  job(train);
  w_.turn();
  w_.answer(Step::kMissing, "train",
            Outcome::kNotFound);  // it was deleted and made anew, or the answer is old
  w_.turn();
  EXPECT_TRUE(w_.take(Step::kBind).empty());
  w_.pass(6 * kSecond);
  EXPECT_TRUE(w_.take(Step::kMissing).empty());

  pod({.name = "lost", .pods = 1}, 0);
  w_.pass(6 * kSecond);
  ASSERT_EQ(w_.only(Step::kMissing), "lost");
  w_.answer(Step::kMissing, "lost", Outcome::kNotFound);
  w_.turn();
  EXPECT_EQ(w_.only(Step::kBind), "lost-0");
  pod({.name = "other", .pods = 1}, 0);
  w_.pass(6 * kSecond);
  ASSERT_EQ(w_.only(Step::kMissing), "other");
  json another = json::parse(job_json({.name = "other", .pods = 1}));
  another["metadata"]["uid"] = "made-anew";
  w_.answer(Step::kMissing, "other", Outcome::kOk, "", another.dump());
  w_.turn();
  EXPECT_EQ(w_.only(Step::kBind), "other-0");
}

TEST_F(JobsTest, ADeletedJobLeavesNothing) {
  w_.node("n1", 2);
  JobText train;
  job(train);
  w_.turn();
  ASSERT_EQ(w_.only(Step::kOwner), "train");
  Inbox inbox;
  inbox.push(dialect::Kind::kJob,
             {kube::ChangeType::kDeleted, "default", "train", uid_of("train"), "9999", ""});
  Batch batch;
  inbox.take(batch, 0);
  w_.core->take(batch, w_.now);
  w_.turn();
  EXPECT_TRUE(w_.core->intake().workloads().empty());
  EXPECT_EQ(w_.core->carrier().owners().size(), 0u);
  EXPECT_EQ(w_.core->engine().workload_count(), 0u);
  w_.answer(Step::kOwner, "train", Outcome::kNotFound);
  EXPECT_TRUE(w_.core->engine().audit());
}

}  // namespace
}  // namespace berth::scheduler::testing

// Conditions of pods.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "scheduler/world_support.h"

namespace berth::scheduler::testing {
namespace {

using kube::Outcome;

std::vector<Sent> statuses(World& w, DurationMs after = 2 * kSecond) {
  w.pass(after);
  w.report();
  return w.take(Step::kStatus);
}

// status.nominatedNodeName: "" where it is not written, "null" where it is cleared.
std::string nominated_in(const Sent& status) {
  const auto body = nlohmann::json::parse(status.body).at("status");
  if (!body.contains("nominatedNodeName")) return {};
  return body.at("nominatedNodeName").is_null() ? "null" : body.at("nominatedNodeName").get<std::string>();
}

TEST(Reporter, EveryMemberOfAGangThatDoesNotFitSaysWhy) {
  World w;
  w.node("n1", 2);
  w.node("n2", 0);
  w.recover();
  for (const char* name : {"a", "b", "c"}) w.pod({.name = name, .gang = "g", .size = 3});
  w.turn();
  w.report();
  EXPECT_TRUE(w.take(Step::kStatus).empty());  // not at once: the verdict must have settled
  const auto told = statuses(w);
  ASSERT_EQ(told.size(), 3u);
  for (const auto& status : told) {
    EXPECT_EQ(condition_field(status, "type"), "PodScheduled");
    EXPECT_EQ(condition_field(status, "status"), "False");
    EXPECT_EQ(condition_field(status, "reason"), "Unschedulable");
    EXPECT_NE(condition_field(status, "message").find("3 pods need nodes"), std::string::npos)
        << condition_field(status, "message");
    EXPECT_NE(condition_field(status, "message").find("nvidia.com/gpu"), std::string::npos)
        << condition_field(status, "message");
    EXPECT_EQ(status.write_class, kube::WriteClass::kStatus);
  }
  EXPECT_TRUE(w.take(Step::kBind).empty());
}

TEST(Reporter, AnIncompleteGangDoesNotLookUnschedulable) {
  World w;
  w.node("n1");
  w.recover();
  w.pod({.name = "a", .gang = "g", .size = 3});
  w.turn();
  const auto told = statuses(w);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(condition_field(told[0], "reason"), "IncompleteGang");
  EXPECT_NE(condition_field(told[0], "message").find("1 of the gang's 3"), std::string::npos);
}

TEST(Reporter, APodThatCannotBeReadIsToldWhichFieldAndTriedAgainWhenItChanges) {
  World w;
  w.node("n1");
  w.recover();
  const std::string good = pod_json({.name = "p"}, 1);
  std::string bad = good;
  const auto at = bad.rfind("\"cpu\":\"1\"");  // of the requests
  ASSERT_NE(at, std::string::npos);
  bad.replace(at, 9, "\"cpu\":\"9GB\"");
  w.object(dialect::Kind::kPod, "p", bad);
  w.turn();
  const auto told = statuses(w);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(condition_field(told[0], "reason"), "Invalid");
  EXPECT_NE(condition_field(told[0], "message")
                .find("spec.containers[0].resources.requests.cpu: '9GB' is not a quantity; "
                      "did you mean 9G or 9Gi?"),
            std::string::npos)
      << condition_field(told[0], "message");
  w.report();
  const auto events = w.take(Step::kEvent);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_NE(events[0].body.find("FailedScheduling"), std::string::npos);
  EXPECT_NE(events[0].body.find("9GB"), std::string::npos);
  EXPECT_NE(w.metrics.text().find("berth_unreadable_objects{kind=\"Pod\"} 1"), std::string::npos);
  EXPECT_TRUE(w.take(Step::kBind).empty());

  w.object(dialect::Kind::kPod, "p", good);
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "p");
  EXPECT_NE(w.metrics.text().find("berth_unreadable_objects{kind=\"Pod\"} 0"), std::string::npos);
}

TEST(Reporter, QuotaDoesNotLookUnschedulable) {
  World w;
  w.node("n1");
  w.object(dialect::Kind::kResourceFlavor, "default", R"({"metadata":{"name":"default"}})");
  w.object(dialect::Kind::kClusterQueue, "team",
           R"({"metadata":{"name":"team"},"spec":{"namespaceSelector":{},
    "resourceGroups":[{"coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{"name":"default","resources":[
    {"name":"cpu","nominalQuota":"100"},{"name":"nvidia.com/gpu","nominalQuota":"1"}]}]}]}})");
  w.recover();
  w.pod({.name = "a", .queue = "team"});
  w.pod({.name = "b", .queue = "team"});
  w.turn();
  w.bind_all();
  const auto told = statuses(w);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].uid, uid_of("b"));
  EXPECT_EQ(condition_field(told[0], "reason"), "Quota");
}

TEST(Reporter, AMissingQueueIsSaid) {
  World w;
  w.node("n1");
  w.recover();
  w.pod({.name = "a", .queue = "nowhere"});
  w.turn();
  const auto told = statuses(w);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(condition_field(told[0], "reason"), "QueueMissing");
}

TEST(Reporter, NothingIsWrittenTwice) {
  World w;
  w.node("n1", 0);
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  EXPECT_EQ(statuses(w).size(), 1u);
  for (int i = 0; i < 20; ++i) {
    w.pod({.name = "a"});  // a change that changes nothing
    EXPECT_TRUE(statuses(w).empty());
  }
}

TEST(Reporter, AFailedStatusIsWrittenAgain) {
  World w;
  w.node("n1", 0);
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  EXPECT_EQ(statuses(w).size(), 1u);
  w.answer(Step::kStatus, "a", Outcome::kUnavailable);
  EXPECT_EQ(statuses(w, 10 * kSecond).size(), 1u);
  EXPECT_TRUE(statuses(w, 10 * kSecond).empty());
}

TEST(Reporter, PodsThatAreBoundAreToldNothing) {
  World w;
  w.node("n1");
  w.recover();
  for (int i = 0; i < 8; ++i) w.pod({.name = "p" + std::to_string(i)});
  w.turn();
  EXPECT_TRUE(statuses(w).empty());
  w.bind_all();
  EXPECT_TRUE(statuses(w).empty());
  int scheduled = 0;
  for (int i = 0; i < 20; ++i) {
    w.pass(kSecond);
    w.report();
    for (const auto& event : w.take(Step::kEvent)) {
      EXPECT_NE(event.body.find("Successfully assigned default/"), std::string::npos);
      EXPECT_EQ(event.write_class, kube::WriteClass::kEvent);
      ++scheduled;
    }
  }
  EXPECT_EQ(scheduled, 8);
}

// Thirty binds a second for ten minutes, each with two events: all are written, and none waits for long. Binds are always in flight.
TEST(Reporter, ALongRunOfBindsLosesNoEvent) {
  World w;
  w.recover();
  constexpr int kPerSecond = 60, kSeconds = 600;
  std::int64_t written = 0;
  std::int64_t most_waiting = 0;
  Reporter reporter(w.core->intake(), w.core->engine(), w.core->carrier(), w.outbox, {});
  for (int second = 0; second < kSeconds; ++second) {
    for (int i = 0; i < kPerSecond; ++i) reporter.add_event({.reason = "Scheduled"});
    for (int part = 0; part < 50; ++part) {
      w.pass(kSecond / 50);
      while (reporter.work(w.now, Load::kBinds, 32)) {
      }
    }
    written += static_cast<std::int64_t>(w.take(Step::kEvent).size());
    most_waiting = std::max(most_waiting, std::int64_t{kPerSecond} * (second + 1) - written);
  }
  EXPECT_LE(most_waiting, 10 * kPerSecond) << "an event waits for ten seconds at most";
  EXPECT_EQ(reporter.waiting(), static_cast<std::size_t>(std::int64_t{kPerSecond} * kSeconds - written))
      << "none is lost";
}

TEST(Reporter, GatedPodsAreLeftToTheApiServer) {
  World w;
  w.node("n1");
  w.recover();
  w.pod({.name = "a", .gated = true});
  w.turn();
  EXPECT_TRUE(statuses(w).empty());
  EXPECT_TRUE(w.take(Step::kBind).empty());
  w.pod({.name = "a"});
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "a");
}

TEST(Reporter, APreemptorNamesItsWaitAndVictimsNameThePreemptor) {
  World w;
  w.node("n1", 1);
  w.recover();
  w.pod({.name = "low"});
  w.turn();
  w.bind_all();
  w.pod({.name = "high", .priority = 10});
  w.turn();
  w.answer(Step::kMark, "low", Outcome::kOk);
  w.answer(Step::kDelete, "low", Outcome::kOk);
  EXPECT_TRUE(statuses(w).empty()) << "most victims end at once";
  w.pass(5 * kSecond);
  const auto told = statuses(w);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].uid, uid_of("high"));
  EXPECT_EQ(condition_field(told[0], "reason"), "WaitingForRoom");
  EXPECT_EQ(nominated_in(told[0]), "n1");
  bool preempted = false;
  for (const auto& event : w.take(Step::kEvent)) {
    if (event.body.find("\"Preempted\"") == std::string::npos) continue;
    preempted = true;
    EXPECT_NE(event.body.find("default/high"), std::string::npos);
  }
  EXPECT_TRUE(preempted);
}

TEST(Reporter, ANominatedNodeIsTakenBackWithItsHold) {
  World w;
  w.node("n1", 1);
  w.recover();
  w.pod({.name = "low"});
  w.turn();
  w.bind_all();
  w.pod({.name = "high", .priority = 10});
  w.turn();
  w.answer(Step::kMark, "low", Outcome::kOk);
  w.answer(Step::kDelete, "low", Outcome::kOk);
  EXPECT_TRUE(statuses(w).empty());
  w.pass(5 * kSecond);
  auto told = statuses(w);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(nominated_in(told[0]), "n1");
  w.node("n1", 0);  // its device is gone, and the hold with it
  w.turn();
  told = statuses(w, 10 * kSecond);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(nominated_in(told[0]), "null");
}

TEST(Reporter, BusyTimesWriteAtATrickle) {
  CoreOptions options = World::defaults();
  World w(std::move(options));
  w.node("n1", 1);
  w.recover();
  w.pod({.name = "flying"});
  w.turn();
  EXPECT_EQ(w.only(Step::kBind), "flying");  // no answer: binds are on their way
  for (int i = 0; i < 300; ++i) w.pod({.name = "p" + std::to_string(i)});
  w.turn();
  w.pass(2 * kSecond);
  w.report();
  w.take(Step::kStatus);  // the burst
  std::size_t busy = 0;
  for (int i = 0; i < 20; ++i) {
    w.pass(50);
    w.report();
    busy += w.take(Step::kStatus).size();
  }
  EXPECT_GT(busy, 5u);
  EXPECT_LE(busy, 30u);
}

// Each write costs the API server in proportion to the pod. Twelve large ones get their turns, and a small pod among them waits for none.
TEST(Reporter, LargePodsAreToldOneAfterTheOther) {
  World w;
  w.node("n1", 0);
  w.recover();
  constexpr int kLarge = 12;
  for (int i = 0; i < kLarge; ++i) {
    const std::string name = "large" + std::to_string(i);
    auto pod = nlohmann::json::parse(pod_json({.name = name}, 1));
    pod["metadata"]["annotations"]["note"] = std::string(512 << 10, 'x');
    w.object(dialect::Kind::kPod, name, pod.dump());
  }
  w.pod({.name = "small"});
  w.turn();
  w.pass(2 * kSecond);
  std::size_t large = 0, small = 0;
  const auto count = [&](DurationMs time) {
    for (const DurationMs end = w.now + time; w.now < end;) {
      w.pass(50);
      w.report();
      for (const Sent& sent : w.take(Step::kStatus))
        ++(sent.path.find("/small/") != std::string::npos ? small : large);
    }
  };
  count(kSecond);
  EXPECT_EQ(small, 1U);
  EXPECT_GE(large, 2U);
  EXPECT_LE(large, 4U) << "more than a mebibyte in a second";
  count(6 * kSecond);
  EXPECT_EQ(large, std::size_t{kLarge});
  count(10 * kSecond);
  EXPECT_EQ(large + small, std::size_t{kLarge + 1}) << "said again without need";
}

// Room that came without helping, and room that is gone, wake no work in the engine: the text follows all the same.
TEST(Reporter, TheTextFollowsWhatIsFree) {
  World w;
  w.node("n1", 2);
  w.recover();
  for (const char* name : {"a", "b", "c", "d"}) w.pod({.name = name, .gang = "g", .size = 4});
  w.turn();
  const auto says = [](const std::vector<Sent>& told, const std::string& words) {
    return told.size() == 4 && condition_field(told[0], "message").find(words) != std::string::npos;
  };
  EXPECT_TRUE(says(statuses(w), "room for 2"));
  w.node("n2", 1);
  w.turn();
  EXPECT_TRUE(statuses(w, 1 * kSecond).empty());  // numbers only: not at once
  EXPECT_TRUE(says(statuses(w, 5 * kSecond), "room for 3"));
  w.pod({.name = "other"});
  w.turn();
  w.bind_all();
  EXPECT_TRUE(says(statuses(w, 6 * kSecond), "room for 2"));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(statuses(w, 6 * kSecond).empty());
}

// Nothing changes: nothing is looked at.
TEST(Reporter, ARestingClusterCostsNothing) {
  World w;
  w.node("n1", 0);
  w.recover();
  w.pod({.name = "a"});
  w.turn();
  EXPECT_EQ(statuses(w).size(), 1u);
  EXPECT_EQ(w.core->reporter().oldest_look(), kEndOfTime);
  EXPECT_GE(w.core->reporter().next_due(), w.now + kMinute);
  w.node("n2", 0);
  w.turn();
  EXPECT_NE(w.core->reporter().oldest_look(), kEndOfTime);
}

// Two thousand pods whose numbers change every second: their texts are written at the rate for that, the oldest first, and news of
// another pod is not behind them.
TEST(Reporter, ManyTextsAreRefreshedAtARateOfTheirOwn) {
  World w;
  w.node("large", 8);
  w.recover();
  w.pod({.name = "runs", .priority = 10});
  w.turn();
  w.bind_all();
  constexpr int kPods = 2000;
  for (int i = 0; i < kPods; ++i) w.pod({.name = "p" + std::to_string(i), .gpus = 8});
  w.turn();
  std::size_t first = 0;
  for (int i = 0; i < 200 && first < kPods; ++i) {
    w.pass(100);
    w.report();
    first += w.take(Step::kStatus).size();
    w.take(Step::kEvent);
  }
  EXPECT_EQ(first, static_cast<std::size_t>(kPods));
  std::map<std::string, int> written;
  std::size_t all = 0;
  constexpr int kSeconds = 60;
  for (int i = 0; i < kSeconds * 10; ++i) {
    if (i % 10 == 0) w.node("small-" + std::to_string(i), 4);
    w.pass(100);
    w.report();
    for (const auto& status : w.take(Step::kStatus)) ++written[status.uid];
    w.take(Step::kEvent);
  }
  for (const auto& [uid, times] : written) all += static_cast<std::size_t>(times);
  const auto rate = static_cast<std::size_t>(World::defaults().reporter.refreshes_per_second);
  EXPECT_LE(all, rate * kSeconds + rate);
  EXPECT_GE(all, rate * kSeconds / 2);
  EXPECT_GE(written.size(), static_cast<std::size_t>(kPods) * 9 / 10);
  w.pod({.name = "news", .gpus = 8});
  w.turn();
  bool told = false;
  for (int i = 0; i < 20 && !told; ++i) {
    w.pass(100);
    w.report();
    for (const auto& status : w.take(Step::kStatus)) told = told || status.uid == uid_of("news");
  }
  EXPECT_TRUE(told);
}

TEST(Reporter, ConditionReasons) {
  const auto reason = [](ReasonCode code, std::vector<Reason> children = {}) {
    return Reason{code, "", "", 0, 0, 0, std::move(children)};
  };
  EXPECT_EQ(condition_reason(reason(ReasonCode::kNodes)), "Unschedulable");
  EXPECT_EQ(condition_reason(reason(ReasonCode::kTopology)), "Unschedulable");
  EXPECT_EQ(
      condition_reason(reason(ReasonCode::kNone, {reason(ReasonCode::kTogether, {reason(ReasonCode::kNodes)}),
                                                  reason(ReasonCode::kNoVictims)})),
      "Unschedulable");
  EXPECT_EQ(condition_reason(reason(ReasonCode::kQuota)), "Quota");
  EXPECT_EQ(condition_reason(
                reason(ReasonCode::kNone, {reason(ReasonCode::kNodes), reason(ReasonCode::kNoVictims)})),
            "Unschedulable");
  EXPECT_EQ(condition_reason(
                reason(ReasonCode::kNone, {reason(ReasonCode::kNoVictims), reason(ReasonCode::kQuota)})),
            "Quota");
  EXPECT_EQ(condition_reason(reason(ReasonCode::kNone)), "Pending");
}

}  // namespace
}  // namespace berth::scheduler::testing

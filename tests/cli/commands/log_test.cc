// `berth log`: the decisions of the last hour, and those that come, from the events of an API server in this process.
#include "cli/commands/log.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/running_support.h"
#include "kube/clock.h"
#include "text/time.h"

namespace berth::cli {
namespace {

using ::testing::AllOf;
using testing::FakeCluster;
using ::testing::HasSubstr;
using testing::Json;
using ::testing::Not;
using testing::Running;

constexpr const char* kEvents = "/apis/events.k8s.io/v1/namespaces/team-a/events";

int count_of(const std::string& text, const std::string& part) {
  int out = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

std::string ago(DurationMs back) {
  return text::format_time_ms(kube::wall_us() / 1000 - back);
}

class Log : public ::testing::Test {
 protected:
  Log() { pod_ = cluster_.add_pod("train-0", 1, "n1"); }

  void tell(const std::string& reason, const std::string& note, DurationMs back = 0) {
    cluster_.add_event(reason, pod_, note, ago(back));
  }
  LogOptions options(const std::string& ns = "team-a") const {
    LogOptions out;
    out.cluster = cluster_.flags(ns);
    return out;
  }
  std::string once(LogOptions options) const {
    options.follow = false;
    std::ostringstream out, err;
    EXPECT_EQ(run_log(options, out, err), 0) << err.str();
    return out.str();
  }
  Running follow(const LogOptions& options) {
    return Running(cluster_,
                   [options](std::ostream& out, std::ostream& err) { return run_log(options, out, err); });
  }

  FakeCluster cluster_;
  Json pod_;
};

TEST_F(Log, WhatHasHappenedInTheOrderOfItsTimes) {
  tell("Preempted", "for team-b/large", 5 * kMinute);
  tell("Scheduled", "on n1", 10 * kMinute);
  tell("Scheduled", "too long ago", 2 * kHour);
  tell("Pulled", "an image");  // no word of Berth's
  cluster_.api().create(kEvents,
                        Json{{"metadata", {{"name", "other"}}},
                             {"reportingController", "kubelet"},
                             {"reason", "Scheduled"},
                             {"note", "by another"},
                             {"eventTime", ago(0)},
                             {"regarding", {{"kind", "Pod"}, {"namespace", "team-a"}, {"name", "x"}}}});
  const std::string text = once(options());
  EXPECT_THAT(text, AllOf(HasSubstr("Pod team-a/train-0: on n1"), Not(HasSubstr("too long")),
                          Not(HasSubstr("image")), Not(HasSubstr("by another"))));
  EXPECT_LT(text.find("on n1"), text.find("for team-b/large"));
  auto chosen = options();
  chosen.reasons = {"Preempted"};
  EXPECT_THAT(once(chosen), AllOf(HasSubstr("for team-b/large"), Not(HasSubstr("on n1"))));
  chosen.reasons = {"Preempted", "Scheduled"};
  chosen.since = 7 * kMinute;
  EXPECT_THAT(once(chosen), AllOf(HasSubstr("for team-b/large"), Not(HasSubstr("on n1"))));
}

// Users write events: their texts must not reach a terminal as commands.
TEST_F(Log, ControlCharactersAreNotPrinted) {
  tell("Waiting", "red \x1b[31m and\na second line");
  const std::string text = once(options());
  EXPECT_THAT(text, AllOf(Not(HasSubstr("\x1b")), HasSubstr("and a second line")));
  EXPECT_EQ(count_of(text, "\n"), 1);
}

TEST_F(Log, FollowsUntilCtrlC) {
  tell("Scheduled", "before", kMinute);
  auto running = follow(options());
  ASSERT_TRUE(running.out.wait_for("before")) << running.err.text();
  tell("Preempted", "for team-b/large");
  tell("Pulled", "an image");
  ASSERT_TRUE(running.out.wait_for("for team-b/large"));
  // The same again: its series counts on.
  const auto events = cluster_.api().list(kEvents);
  for (const Json& event : events) {
    if (event["note"] != "for team-b/large") continue;
    cluster_.api().change(kEvents + ("/" + event["metadata"]["name"].get<std::string>()), [](Json& object) {
      object["series"] = {{"count", 2}, {"lastObservedTime", ago(0)}};
    });
  }
  EXPECT_TRUE(kube::testing::wait_for([&] { return count_of(running.out.text(), "for team-b/large") == 2; }));
  EXPECT_EQ(running.end(), 0);
  EXPECT_EQ(count_of(running.out.text(), "before"), 1);
  EXPECT_EQ(count_of(running.out.text(), "image"), 0);
  EXPECT_EQ(running.err.text(), "");
}

TEST_F(Log, JsonIsOneObjectALine) {
  auto chosen = options();
  chosen.json = true;
  tell("Scheduled", "one", kMinute);
  auto running = follow(chosen);
  ASSERT_TRUE(running.out.wait_for("one"));
  tell("Preempted", "two");
  ASSERT_TRUE(running.out.wait_for("two"));
  EXPECT_EQ(running.end(), 0);
  std::istringstream lines(running.out.text());
  std::vector<std::string> reasons;
  for (std::string line; std::getline(lines, line);) {
    const Json read = Json::parse(line);
    reasons.push_back(read["reason"]);
    EXPECT_EQ(read["namespace"], "team-a");
    EXPECT_EQ(read["name"], "train-0");
  }
  EXPECT_THAT(reasons, ::testing::ElementsAre("Scheduled", "Preempted"));
}

TEST_F(Log, ACutConnectionAndAnExpiredWatchRepeatNothing) {
  tell("Scheduled", "first", kMinute);
  auto running = follow(options());
  ASSERT_TRUE(running.out.wait_for("first"));
  ASSERT_TRUE(running.follows());
  cluster_.api().drop_connections();
  tell("Scheduled", "second");
  ASSERT_TRUE(running.out.wait_for("second")) << running.err.text();
  ASSERT_TRUE(running.follows());
  cluster_.api().add_fault({.kind = kube::testing::FaultKind::kDelay, .method = "WATCH", .delay_ms = 300});
  cluster_.api().end_watches();
  tell("Scheduled", "third");
  cluster_.api().compact();
  ASSERT_TRUE(running.out.wait_for("third")) << running.err.text();
  EXPECT_EQ(running.end(), 0);
  for (const char* note : {"first", "second", "third"})
    EXPECT_EQ(count_of(running.out.text(), note), 1) << note;
}

// More than may be on their way at once: they come all the same.
TEST_F(Log, AnHourOfManyDecisionsIsShown) {
  constexpr int kMany = 2'500;
  for (int i = 0; i < kMany; ++i) tell("Scheduled", fmt::format("number {}.", i), kMinute + kMany - i);
  auto running = follow(options());
  ASSERT_TRUE(running.out.wait_for("number 2499.")) << running.err.text();
  EXPECT_EQ(running.end(), 0);
  EXPECT_EQ(count_of(running.out.text(), "\n"), kMany);
  EXPECT_LT(running.out.text().find("number 0."), running.out.text().find("number 2499."));
}

TEST_F(Log, SaysThatTheServerIsAwayAndBack) {
  auto running = follow(options());
  ASSERT_TRUE(running.follows());
  cluster_.api().add_fault({.method = "WATCH", .times = -1, .status = 503, .message = "too busy"});
  cluster_.api().end_watches();
  ASSERT_TRUE(running.err.wait_for("too busy"));
  cluster_.api().clear_faults();
  ASSERT_TRUE(running.err.wait_for("followed again"));
  EXPECT_EQ(running.end(), 0);
}

TEST_F(Log, AUserWithoutRightsIsToldAndItEnds) {
  cluster_.refuse("/events");
  auto running = follow(options());
  ASSERT_TRUE(running.err.wait_for("the right to list events.events.k8s.io in namespace team-a"));
  EXPECT_EQ(running.end(), 1);
  auto all = follow(options("*"));
  ASSERT_TRUE(all.err.wait_for("in all namespaces"));
  EXPECT_EQ(all.end(), 1);
}

// Before it follows it asks for no more than whether it may: the watch brings what has happened.
TEST_F(Log, WhatHasHappenedIsReadOnce) {
  tell("Scheduled", "first", kMinute);
  auto running = follow(options());
  ASSERT_TRUE(running.out.wait_for("first"));
  EXPECT_EQ(running.end(), 0);
  EXPECT_EQ(cluster_.api().count("GET", "/events?"), 1);
  EXPECT_EQ(cluster_.api().count("GET", "/events?limit=1"), 1);
}

}  // namespace
}  // namespace berth::cli

// `berth get workloads --watch`: what it shows as things come, change and go, and how it lives through lost connections.
#include "cli/commands/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>

#include "cli/ask/world.h"
#include "cli/running_support.h"

namespace berth::cli {
namespace {

using kube::testing::wait_for;
using ::testing::AllOf;
using testing::FakeCluster;
using ::testing::HasSubstr;
using testing::Json;
using ::testing::Not;
using testing::Running;

constexpr const char* kPods = "/api/v1/namespaces/team-a/pods/";

// The last line that begins with this word.
std::string last_line(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(word + " ") || line == word) out = line;
  }
  return out;
}

int times(const std::string& text, const std::string& part) {
  int out = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++out;
  return out;
}

class WatchCommand : public ::testing::Test {
 protected:
  WatchCommand() { cluster_.add_node("n1", 8); }

  Running watch(GetOptions options = {}, const std::string& ns = "team-a") {
    options.watch = true;
    options.cluster = cluster_.flags(ns);
    return Running(cluster_,
                   [options](std::ostream& out, std::ostream& err) { return run_get(options, out, err); });
  }
  void bind(const std::string& pod) {
    cluster_.api().change(kPods + pod, [](Json& object) {
      object["spec"]["nodeName"] = "n1";
      object["status"] = Json{{"phase", "Running"}};
    });
  }

  FakeCluster cluster_;
};

TEST_F(WatchCommand, ShowsWhatComesChangesAndGoes) {
  cluster_.add_pod("first", 2, "", "Quota", "no quota");
  auto running = watch();
  ASSERT_TRUE(running.follows());
  EXPECT_THAT(last_line(running.out.text(), "WORKLOAD"), HasSubstr("STATE"));
  cluster_.add_pod("second", 1, "", "Capacity", "no room");
  ASSERT_TRUE(running.out.wait_for("no room")) << running.out.text();
  bind("second");
  ASSERT_TRUE(
      wait_for([&] { return last_line(running.out.text(), "second").find("Running") != std::string::npos; }));
  cluster_.api().remove(kPods + std::string("second"));
  ASSERT_TRUE(running.out.wait_for("Gone"));
  EXPECT_EQ(running.end(), 0);
  // Work that stays as it is is shown once, and the head too.
  EXPECT_EQ(times(running.out.text(), "no quota"), 1) << running.out.text();
  EXPECT_EQ(times(running.out.text(), "WORKLOAD"), 1);
  // These streams are no terminals: no commands for one.
  EXPECT_THAT(running.out.text() + running.err.text(), AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr("\r"))));
  EXPECT_EQ(running.err.text(), "");
}

// Things that go after the list was read, and before the watch of them stands.
TEST_F(WatchCommand, WorkThatGoesBeforeTheWatchStandsIsGone) {
  cluster_.add_pod("stays", 1, "", "Quota", "no quota");
  cluster_.add_pod("goes", 1, "", "Quota", "no quota");
  std::atomic<bool> gone{false};
  cluster_.api().on_request([&](const kube::testing::Seen& seen) {
    if (seen.method == "WATCH" && seen.target.find("/pods?") != std::string::npos && !gone.exchange(true))
      cluster_.api().remove(kPods + std::string("goes"));
  });
  auto running = watch();
  ASSERT_TRUE(running.out.wait_for("Gone")) << running.out.text();
  EXPECT_EQ(running.end(), 0);
  EXPECT_THAT(last_line(running.out.text(), "goes"), HasSubstr("Gone"));
  EXPECT_THAT(last_line(running.out.text(), "stays"), HasSubstr("Pending"));
}

TEST_F(WatchCommand, AnEmptyNamespaceGetsItsHeadWithTheFirstWork) {
  auto running = watch();
  ASSERT_TRUE(running.follows());
  EXPECT_THAT(running.out.text(), Not(HasSubstr("WORKLOAD")));
  cluster_.add_pod("first", 1, "", "Quota", "no quota");
  ASSERT_TRUE(running.out.wait_for("first"));
  cluster_.add_pod("second", 1, "", "Quota", "no quota");
  ASSERT_TRUE(running.out.wait_for("second"));
  EXPECT_EQ(running.end(), 0);
  EXPECT_EQ(times(running.out.text(), "WORKLOAD"), 1) << running.out.text();
  EXPECT_LT(running.out.text().find("WORKLOAD"), running.out.text().find("first"));
}

// With --state Pending work that starts is not gone.
TEST_F(WatchCommand, WorkThatLeavesTheChosenStateSaysWhereto) {
  cluster_.add_pod("waits", 1, "", "Quota", "no quota");
  cluster_.add_pod("runs", 1, "n1");
  GetOptions options;
  options.state = "Pending";
  auto running = watch(options);
  ASSERT_TRUE(running.follows());
  bind("waits");
  ASSERT_TRUE(running.out.wait_for("Running")) << running.out.text();
  cluster_.api().remove(kPods + std::string("waits"));
  cluster_.add_pod("next", 1, "", "Quota", "no quota");
  ASSERT_TRUE(running.out.wait_for("next"));
  EXPECT_EQ(running.end(), 0);
  EXPECT_THAT(last_line(running.out.text(), "waits"), HasSubstr("Running"));
  EXPECT_THAT(running.out.text(), AllOf(Not(HasSubstr("Gone")), Not(HasSubstr("runs "))));
}

// Berth's words about work without pods come as events.
TEST_F(WatchCommand, ReasonsOfWorkWithoutPodsAreFollowed) {
  cluster_.add_queue("research", {{"guaranteed", {{"nvidia.com/gpu", "8"}}}});
  auto running = watch();
  ASSERT_TRUE(running.follows());
  Json job = cluster_.add_job("train", 2, 8, "research");
  ASSERT_TRUE(running.out.wait_for("train")) << running.out.text();
  job["kind"] = "Job";
  cluster_.add_event("Waiting", job, "2 pods need nodes, there is room for 0", "2026-01-01T00:05:00.000000Z");
  EXPECT_TRUE(running.out.wait_for("there is room for 0")) << running.out.text();
  cluster_.add_event("Waiting", job, "1 of 2 pods fits", "2026-01-01T00:06:00.000000Z");
  EXPECT_TRUE(running.out.wait_for("1 of 2 pods fits")) << running.out.text();
  EXPECT_EQ(running.end(), 0);
}

// Its work waits on, without a place in any line, and says what Berth says of it.
TEST_F(WatchCommand, AQueueGoesAndComesBack) {
  const Json spec = {{"guaranteed", {{"nvidia.com/gpu", "8"}}}};
  cluster_.add_queue("research", spec);
  Json job = cluster_.add_job("train", 2, 4, "research");
  job["kind"] = "Job";
  auto running = watch({}, "*");
  ASSERT_TRUE(running.out.wait_for("train"));
  ASSERT_TRUE(running.follows());
  EXPECT_THAT(last_line(running.out.text(), "team-a/train"), HasSubstr("Pending  1"));
  cluster_.api().remove("/apis/berth.dev/v1alpha1/queues/research");
  ASSERT_TRUE(wait_for([&] {
    return last_line(running.out.text(), "team-a/train").find("Pending  -") != std::string::npos;
  })) << running.out.text();
  cluster_.add_event("Waiting", job, "there is no queue research", "2026-01-01T00:05:00.000000Z");
  EXPECT_TRUE(running.out.wait_for("there is no queue research")) << running.out.text();
  cluster_.add_queue("research", spec);
  EXPECT_TRUE(wait_for([&] {
    return last_line(running.out.text(), "team-a/train").find("Pending  1") != std::string::npos;
  })) << running.out.text();
  EXPECT_EQ(running.end(), 0);
  EXPECT_THAT(running.out.text(), Not(HasSubstr("Gone")));
}

TEST_F(WatchCommand, ACutConnectionLosesAndRepeatsNothing) {
  cluster_.add_pod("stays", 1, "", "Quota", "no quota");
  cluster_.add_pod("goes", 1, "", "Quota", "no quota");
  auto running = watch();
  ASSERT_TRUE(running.out.wait_for("stays"));
  ASSERT_TRUE(running.follows());
  running.out.clear();
  cluster_.api().drop_connections();
  cluster_.api().remove(kPods + std::string("goes"));
  cluster_.add_pod("comes", 1, "", "Quota", "no quota");
  ASSERT_TRUE(running.out.wait_for("comes")) << running.err.text();
  ASSERT_TRUE(running.out.wait_for("Gone")) << running.err.text();
  EXPECT_EQ(running.end(), 0);
  EXPECT_THAT(running.out.text(), Not(HasSubstr("stays")));
}

// The server has forgotten the version at which the watch would go on.
TEST_F(WatchCommand, AnExpiredWatchListsAgain) {
  cluster_.add_pod("stays", 1, "", "Quota", "no quota");
  cluster_.add_pod("goes", 1, "", "Quota", "no quota");
  auto running = watch();
  ASSERT_TRUE(running.out.wait_for("stays"));
  ASSERT_TRUE(running.follows());
  running.out.clear();
  cluster_.api().add_fault(
      {.kind = kube::testing::FaultKind::kDelay, .method = "WATCH", .contains = "/pods?", .delay_ms = 300});
  cluster_.api().end_watches();
  cluster_.api().remove(kPods + std::string("goes"));
  cluster_.add_pod("comes", 1, "", "Quota", "no quota");
  cluster_.api().compact();
  ASSERT_TRUE(running.out.wait_for("Gone")) << running.err.text();
  ASSERT_TRUE(running.out.wait_for("comes")) << running.err.text();
  EXPECT_EQ(running.end(), 0);
  EXPECT_THAT(running.out.text(), Not(HasSubstr("stays")));
  EXPECT_EQ(running.err.text(), "");
}

TEST_F(WatchCommand, SaysThatTheServerIsAwayAndBackOnce) {
  cluster_.add_pod("stays", 1, "", "Quota", "no quota");
  auto running = watch();
  ASSERT_TRUE(running.out.wait_for("stays"));
  ASSERT_TRUE(running.follows());
  cluster_.api().add_fault({.method = "WATCH", .times = -1, .status = 503, .message = "too busy"});
  cluster_.api().end_watches();
  ASSERT_TRUE(running.err.wait_for("note: changes are not seen: ")) << running.err.text();
  EXPECT_THAT(running.err.text(), HasSubstr("too busy"));
  cluster_.add_pod("comes", 1, "", "Quota", "no quota");
  cluster_.api().clear_faults();
  ASSERT_TRUE(running.err.wait_for("note: the API server is followed again")) << running.err.text();
  ASSERT_TRUE(running.out.wait_for("comes"));
  EXPECT_EQ(running.end(), 0);
  EXPECT_EQ(times(running.err.text(), "note: "), 2) << running.err.text();
}

// Ctrl-C ends it also while its watches fail.
TEST_F(WatchCommand, CtrlCEndsItWhileTheServerIsAway) {
  auto running = watch();
  ASSERT_TRUE(running.follows());
  cluster_.api().add_fault({.method = "WATCH", .times = -1, .status = 503, .message = "away"});
  cluster_.api().end_watches();
  ASSERT_TRUE(running.err.wait_for("away"));
  cluster_.api().clear_faults();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(running.end(), 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

// Reading a large cluster, or one that does not answer, takes long: Ctrl-C must end that too.
TEST_F(WatchCommand, CtrlCIsNotHeldBackWhileItReads) {
  std::atomic<bool> asked{false}, blocked{true};
  std::atomic<const Running*> reading{nullptr};
  cluster_.api().on_request([&](const kube::testing::Seen& seen) {
    if (seen.method != "GET" || seen.target.find("/pods?") == std::string::npos || asked.exchange(true))
      return;
    if (!wait_for([&] { return reading.load() != nullptr; })) return;
    std::ifstream status("/proc/self/task/" + std::to_string(reading.load()->tid()) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigBlk:"))
        blocked = ((std::stoull(line.substr(7), nullptr, 16) >> (SIGINT - 1)) & 1) != 0;
    }
  });
  auto running = watch();
  reading = &running;
  ASSERT_TRUE(wait_for([&] { return asked.load(); }));
  ASSERT_TRUE(running.follows());
  EXPECT_EQ(running.end(), 0);
  EXPECT_FALSE(blocked);
}

TEST_F(WatchCommand, AUserWithoutRightsIsToldAndItEnds) {
  cluster_.refuse("/pods");
  auto running = watch();
  ASSERT_TRUE(running.err.wait_for("the right to list pods in namespace team-a"));
  EXPECT_EQ(running.end(), 1);
}

TEST_F(WatchCommand, JsonIsOneObjectALineAndYamlADocumentEach) {
  cluster_.add_pod("first", 1, "", "Quota", "no quota");
  GetOptions options;
  options.format = ListFormat::kJson;
  auto running = watch(options);
  ASSERT_TRUE(running.out.wait_for("first"));
  ASSERT_TRUE(running.follows());
  cluster_.api().remove(kPods + std::string("first"));
  ASSERT_TRUE(running.out.wait_for("Gone"));
  EXPECT_EQ(running.end(), 0);
  std::istringstream lines(running.out.text());
  std::vector<std::string> states;
  for (std::string line; std::getline(lines, line);) states.push_back(Json::parse(line)["state"]);
  EXPECT_THAT(states, ::testing::ElementsAre("Pending", "Gone"));

  cluster_.add_pod("second", 1, "", "Quota", "no: quota");
  options.format = ListFormat::kYaml;
  auto yaml = watch(options);
  ASSERT_TRUE(yaml.out.wait_for("second"));
  ASSERT_TRUE(yaml.follows());
  cluster_.add_pod("third", 1, "", "Quota", "no quota");
  ASSERT_TRUE(yaml.out.wait_for("third"));
  EXPECT_EQ(yaml.end(), 0);
  EXPECT_THAT(yaml.out.text(), AllOf(HasSubstr("---\nnamespace: team-a\nname: second\n"),
                                     HasSubstr("message: \"no: quota\"\n"),
                                     HasSubstr("---\nnamespace: team-a\nname: third\n")));
  EXPECT_EQ(times(yaml.out.text(), "---\n"), 2);
}

// The line of a tenant's queue moves by work that the tenant does not see.
TEST_F(WatchCommand, PlacesAreAskedForAgain) {
  const Json job = cluster_.add_job("train", 2, 8, "research");
  for (const char* name : {"a-gone", "main"}) {
    cluster_.api().create("/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues",
                          Json{{"metadata", {{"name", name}}}, {"spec", {{"clusterQueue", "research"}}}});
  }
  const std::string line = "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues";
  const Json owners = Json::array({{{"uid", job["metadata"]["uid"]}}});
  cluster_.api().create(line, Json{{"metadata", {{"name", "a-gone"}}}, {"items", Json::array()}});
  cluster_.api().create(line, Json{{"metadata", {{"name", "main"}}},
                                   {"items", Json::array({{{"metadata", {{"ownerReferences", owners}}},
                                                           {"positionInClusterQueue", 6}}})}});
  const auto cluster = cluster_.connected();
  World world({.ns = "team-a", .live = true});
  ASSERT_TRUE(world.read(*cluster.transport, {}).has_value());
  EXPECT_TRUE(world.ask_for_places(*cluster.transport));
  ASSERT_EQ(world.lines().size(), 1u);
  EXPECT_EQ(world.lines()[0].place, 7);
  EXPECT_FALSE(world.ask_for_places(*cluster.transport));
  // A LocalQueue goes: the others are asked for all the same.
  cluster_.api().remove(line + "/a-gone");
  world.remove(dialect::Kind::kLocalQueue, "team-a", "a-gone");
  cluster_.api().change(line + "/main",
                        [](Json& object) { object["items"][0]["positionInClusterQueue"] = 2; });
  EXPECT_TRUE(world.ask_for_places(*cluster.transport));
  EXPECT_EQ(world.lines()[0].place, 3);
  // The API is away for a moment: the place stays.
  cluster_.api().add_fault({.contains = "/pendingworkloads", .status = 503});
  EXPECT_FALSE(world.ask_for_places(*cluster.transport));
  EXPECT_EQ(world.lines()[0].place, 3);
}

WorkLine line_named(const std::string& uid, WorkState state) {
  WorkLine out;
  out.uid = uid;
  out.name = "team-a/web";
  out.created = 1'000;
  out.state = state;
  return out;
}

// A Deployment and a Job may have one name.
TEST(Changes, TwoOfOneNameAreTwo) {
  const Listing before = workload_listing(
      {line_named("u1", WorkState::kRunning), line_named("u2", WorkState::kPending)}, false, 60'000);
  EXPECT_EQ(changes_of(before, before, ListFormat::kTable, 0), "");
  const Listing now = workload_listing(
      {line_named("u1", WorkState::kRunning), line_named("u2", WorkState::kRunning)}, false, 60'000);
  EXPECT_EQ(times(changes_of(before, now, ListFormat::kTable, 0), "Running"), 1);
}

// Made again under its name between two looks: the last line says how it stands.
TEST(Changes, WhatWasMadeAgainComesAfterWhatIsGone) {
  const Listing before = workload_listing({line_named("u1", WorkState::kRunning)}, false, 60'000);
  const Listing now = workload_listing({line_named("u2", WorkState::kPending)}, false, 60'000);
  const std::string text = changes_of(before, now, ListFormat::kTable, 0);
  EXPECT_LT(text.find("Gone"), text.find("Pending")) << text;
}

}  // namespace
}  // namespace berth::cli

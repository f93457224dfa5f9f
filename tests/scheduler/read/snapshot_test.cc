// A cluster read once, from a strict API server in this process (tests/kube).
#include "scheduler/read/snapshot.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "kube/fake_api_server_support.h"

namespace berth::scheduler {
namespace {

using dialect::Kind;
using kube::testing::FakeApiServer;
using kube::testing::FakeOptions;
using kube::testing::Fault;
using kube::testing::FaultKind;
using kube::testing::Json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kPodsOfDefault = "/api/v1/namespaces/default/pods";

class Snapshots : public ::testing::Test {
 protected:
  void start(FakeOptions options = {}) {
    api_ = std::make_unique<FakeApiServer>(std::move(options));
    transport_ = *kube::Transport::create(api_->config());
  }
  void add_node(const std::string& name = "n1") {
    api_->create("/api/v1/nodes", Json{{"metadata", {{"name", name}}},
                                       {"status", {{"allocatable", {{"cpu", "8"}, {"pods", "110"}}}}}});
  }
  void add_pods(int count, const std::string& phase = "Running") {
    for (int i = 0; i < count; ++i) {
      api_->create(kPodsOfDefault,
                   Json{{"metadata", {{"name", fmt::format("{}-{}", phase, i)}, {"namespace", "default"}}},
                        {"spec", {{"nodeName", "n1"}, {"containers", Json::array({{{"name", "c"}}})}}},
                        {"status", {{"phase", phase}}}});
    }
  }
  Result<Snapshot> take(SnapshotOptions options = {}) {
    options.first_pause = 1;
    return take_snapshot(*transport_, options);
  }
  static std::int64_t count(const Snapshot& snapshot, Kind kind) {
    return std::count_if(snapshot.objects.begin(), snapshot.objects.end(),
                         [&](const dialect::Object& o) { return dialect::kind_of(o) == kind; });
  }

  std::unique_ptr<FakeApiServer> api_;
  std::unique_ptr<kube::Transport> transport_;
};

TEST_F(Snapshots, AreReadInPagesAndWriteNothing) {
  start();
  add_node();
  add_pods(7);
  add_pods(3, "Succeeded");
  SnapshotOptions options;
  options.page = 3;
  std::size_t last = 0;
  options.progress = [&](Kind, std::size_t objects) { last = objects; };
  const auto snapshot = take(options);
  ASSERT_TRUE(snapshot) << snapshot.error().str();
  EXPECT_EQ(count(*snapshot, Kind::kNode), 1);
  EXPECT_EQ(count(*snapshot, Kind::kPod), 7) << "what has ended is not asked for";
  EXPECT_EQ(api_->count("GET", "/api/v1/pods"), 3);
  EXPECT_EQ(last, snapshot->objects.size());
  for (const std::string method : {"POST", "PUT", "PATCH", "DELETE", "WATCH"})
    EXPECT_EQ(api_->count(method), 0);
}

// A gang does not wait for members that succeeded, so a plan has to know of them.
TEST_F(Snapshots, HaveTheMembersOfGangsThatHaveEnded) {
  start();
  add_node();
  add_pods(2, "Succeeded");
  const auto add_member = [&](const std::string& ns, const std::string& name, const std::string& phase) {
    api_->create(fmt::format("/api/v1/namespaces/{}/pods", ns),
                 Json{{"metadata",
                       {{"name", name},
                        {"namespace", ns},
                        {"labels", {{"berth.dev/gang", "g"}, {"berth.dev/gang-size", "2"}}}}},
                      {"spec", {{"nodeName", "n1"}, {"containers", Json::array({{{"name", "c"}}})}}},
                      {"status", {{"phase", phase}}}});
  };
  add_member("default", "runs", "Running");
  add_member("default", "done", "Succeeded");
  add_member("other", "alone", "Succeeded");
  const auto snapshot = take();
  ASSERT_TRUE(snapshot) << snapshot.error().str();
  std::set<std::string> names;
  for (const auto& object : snapshot->objects) {
    if (dialect::kind_of(object) == Kind::kPod) names.insert(dialect::meta_of(object).name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("done", "runs"))
      << "a gang of which nothing is left asks for nothing";
  EXPECT_EQ(api_->count("GET", kPodsOfDefault), 1);
  for (int i = 0; i < static_cast<int>(kMostEndedLists); ++i)
    add_member(fmt::format("ns-{}", i), "runs", "Running");
  ASSERT_TRUE(take());
  EXPECT_EQ(api_->count("GET", kPodsOfDefault), 1) << "one list of all namespaces";
}

// Pods, nodes and Jobs are asked for in the API server's binary form. Where that cannot be read, JSON is.
TEST_F(Snapshots, AreReadInBinaryFormWhereItIsServed) {
  for (const bool broken : {false, true}) {
    start({.binary = true, .broken_binary = broken});
    add_node();
    add_pods(7);
    SnapshotOptions options;
    options.page = 3;
    const auto snapshot = take(options);
    ASSERT_TRUE(snapshot) << snapshot.error().str();
    EXPECT_EQ(count(*snapshot, Kind::kNode), 1);
    EXPECT_EQ(count(*snapshot, Kind::kPod), 7);
    const auto seen = api_->seen();
    EXPECT_EQ(std::count_if(seen.begin(), seen.end(),
                            [](const auto& one) { return one.accept.find("protobuf") != std::string::npos; }),
              broken ? 1 : 3 + 1 + 1)
        << "three pages of pods, one of nodes, one of Jobs";
  }
}

TEST_F(Snapshots, BeginAgainWhereAPageExpires) {
  start();
  add_node();
  add_pods(7);
  int expired = 0;
  api_->on_request([&](const kube::testing::Seen& seen) {
    if (seen.target.find("/pods") != std::string::npos && seen.target.find("continue") != std::string::npos &&
        ++expired <= 1)
      api_->expire_continue_tokens();
  });
  SnapshotOptions options;
  options.page = 3;
  const auto snapshot = take(options);
  ASSERT_TRUE(snapshot) << snapshot.error().str();
  std::set<std::string> names;
  for (const auto& object : snapshot->objects) {
    if (dialect::kind_of(object) != Kind::kPod) continue;
    EXPECT_TRUE(names.insert(dialect::meta_of(object).name).second) << "twice";
  }
  EXPECT_EQ(names.size(), 7U);
}

TEST_F(Snapshots, WaitForAServerThatIsBusyAndGiveUp) {
  start();
  add_node();
  add_pods(1);
  Fault busy;
  busy.contains = "/api/v1/pods";
  busy.status = 429;
  busy.times = 2;
  api_->add_fault(busy);
  ASSERT_TRUE(take());
  EXPECT_EQ(api_->count("GET", "/api/v1/pods"), 3);
  busy.status = 500;
  busy.times = -1;
  api_->add_fault(busy);
  SnapshotOptions options;
  options.retries = 1;
  const auto snapshot = take(options);
  ASSERT_FALSE(snapshot);
  EXPECT_THAT(snapshot.error().str(), HasSubstr("LIST /api/v1/pods: 500"));
}

TEST_F(Snapshots, NameTheRightThatIsMissing) {
  start();
  add_node();
  Fault refused;
  refused.contains = "clusterqueues";
  refused.status = 403;
  refused.times = -1;
  api_->add_fault(refused);
  const auto snapshot = take();
  ASSERT_FALSE(snapshot);
  EXPECT_THAT(snapshot.error().str(),
              AllOf(HasSubstr("403"), HasSubstr("list on clusterqueues of kueue.x-k8s.io"),
                    HasSubstr("deploy/plan.yaml")));
}

TEST_F(Snapshots, LeaveOutKindsThatAreNotServed) {
  start({.unserved = {"/apis/batch/v1/jobs"}});
  add_node();
  EXPECT_TRUE(take());
  EXPECT_EQ(api_->count("GET", "/jobs"), 0);
  EXPECT_EQ(api_->count("GET", "/clusterqueues"), 1) << "in one of its versions";
}

TEST_F(Snapshots, NeedPodsAndNodes) {
  start({.unserved = {"/api/v1/nodes"}});
  const auto snapshot = take();
  ASSERT_FALSE(snapshot);
  EXPECT_THAT(snapshot.error().str(), HasSubstr("does not serve nodes"));
}

TEST_F(Snapshots, HaveWorkloads) {
  start({.workloads = true});
  EXPECT_TRUE(take());
  EXPECT_EQ(api_->count("GET", "/workloads"), 1);
  api_->forget_seen();
  add_node();
  EXPECT_TRUE(take());
  EXPECT_EQ(api_->count("GET", "/workloads"), 1);
}

TEST_F(Snapshots, SayWhatTheyCouldNotRead) {
  start();
  add_node();
  api_->create(
      "/apis/batch/v1/namespaces/default/jobs",
      Json{{"metadata", {{"name", "odd"}, {"namespace", "default"}}}, {"spec", {{"parallelism", "two"}}}});
  const auto snapshot = take();
  ASSERT_TRUE(snapshot) << snapshot.error().str();
  ASSERT_EQ(snapshot->unread.size(), 1U);
  EXPECT_THAT(snapshot->unread.front(), AllOf(HasSubstr("odd"), HasSubstr("parallelism")));
}

TEST_F(Snapshots, HaveABound) {
  start();
  add_node();
  add_pods(3);
  SnapshotOptions options;
  options.max_objects = 2;
  const auto snapshot = take(options);
  ASSERT_FALSE(snapshot);
  EXPECT_THAT(snapshot.error().str(), HasSubstr("more than 2 objects"));
}

}  // namespace
}  // namespace berth::scheduler

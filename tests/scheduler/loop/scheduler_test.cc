// The whole live loop against a strict API server in this process (tests/kube).
#include "scheduler/loop/scheduler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <thread>

#include "kube/fake_api_server_support.h"
#include "kube/transport.h"
#include "kube/wait_support.h"

namespace berth::scheduler {
namespace {

using kube::testing::FakeApiServer;
using kube::testing::Json;
using kube::testing::wait_for;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kLease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/berth";

void add_node(FakeApiServer& api, const std::string& name, int gpus) {
  const Json amounts = {{"cpu", "64"}, {"pods", "110"}, {"nvidia.com/gpu", std::to_string(gpus)}};
  api.create("/api/v1/nodes", Json{{"metadata", {{"name", name}}}, {"status", {{"allocatable", amounts}}}});
}

void add_pod(FakeApiServer& api, const std::string& name, const std::string& gang = {}, int size = 0,
             const std::string& node = {}, const std::string& owner = {}) {
  Json pod = {{"metadata", {{"name", name}, {"namespace", "default"}}}};
  if (!gang.empty())
    pod["metadata"]["labels"] = {{"berth.dev/gang", gang}, {"berth.dev/gang-size", std::to_string(size)}};
  if (!owner.empty()) {
    pod["metadata"]["ownerReferences"] = Json::array(
        {{{"apiVersion", "apps/v1"}, {"kind", owner}, {"name", "o"}, {"uid", "o"}, {"controller", true}}});
  }
  const Json amounts = {{"nvidia.com/gpu", "1"}};
  pod["spec"] = {{"schedulerName", "berth"},
                 {"containers", Json::array({{{"name", "main"}, {"resources", {{"requests", amounts}}}}})}};
  if (!node.empty()) pod["spec"]["nodeName"] = node;
  pod["status"] = {{"phase", "Pending"}};
  api.create(kPods, pod);
}

std::string node_of(const FakeApiServer& api, const std::string& name) {
  const auto pod = api.get(fmt::format("{}/{}", kPods, name));
  return pod && pod->at("spec").contains("nodeName") ? pod->at("spec")["nodeName"].get<std::string>() : "";
}

SchedulerOptions quick() {
  SchedulerOptions options;
  options.leader.lease_duration = 5000;  // a machine that stands still for a moment is no reason to lose it
  options.leader.renew_deadline = 4000;
  options.leader.retry_period = 100;
  options.reporter.settle = 50;
  options.carrier.first_rest = 10;
  return options;
}

// A scheduler on a thread of its own.
struct Running {
  explicit Running(FakeApiServer& api, SchedulerOptions options = quick())
      : scheduler(*Scheduler::create(api.config(), std::move(options))), thread([this] {
          result = scheduler->run();
          ended = true;
        }) {}
  ~Running() {
    scheduler->stop();
    if (thread.joinable()) thread.join();
  }
  std::unique_ptr<Scheduler> scheduler;
  Status result;
  std::atomic<bool> ended{false};
  std::thread thread;
};

TEST(Scheduler, BindsPodsAndGangsAndSaysWhyOthersWait) {
  FakeApiServer api;
  add_node(api, "n1", 4);
  add_pod(api, "early");
  Running running(api);
  ASSERT_TRUE(wait_for([&] { return node_of(api, "early") == "n1"; }));
  EXPECT_TRUE(running.scheduler->is_deciding());
  for (const char* name : {"a", "b", "c"}) add_pod(api, name, "g", 3);
  ASSERT_TRUE(wait_for(
      [&] { return node_of(api, "a") == "n1" && node_of(api, "b") == "n1" && node_of(api, "c") == "n1"; }));
  add_pod(api, "late");
  ASSERT_TRUE(wait_for([&] {
    const auto pod = api.get(fmt::format("{}/late", kPods));
    return pod && pod->at("status").contains("conditions");
  }));
  const Json condition = (*api.get(fmt::format("{}/late", kPods)))["status"]["conditions"][0];
  EXPECT_EQ(condition["reason"], "Unschedulable");
  EXPECT_EQ(node_of(api, "late"), "");
  add_node(api, "n2", 1);
  EXPECT_TRUE(wait_for([&] { return node_of(api, "late") == "n2"; }));
}

TEST(Scheduler, WaitsForAnApiServerThatIsNotReady) {
  FakeApiServer api;
  add_node(api, "n1", 4);
  add_pod(api, "early");
  api.add_fault({.contains = "/readyz", .times = -1, .status = 500});
  Running running(api);
  ASSERT_TRUE(wait_for([&] { return api.count("GET", "/readyz") > 2; }));
  EXPECT_FALSE(running.scheduler->is_deciding());
  EXPECT_EQ(node_of(api, "early"), "");
  api.clear_faults();
  ASSERT_TRUE(wait_for([&] { return node_of(api, "early") == "n1"; }));
}

TEST(Scheduler, EndsWhileItWaitsForAnApiServerThatIsNotReady) {
  FakeApiServer api;
  api.add_fault({.contains = "/readyz", .times = -1, .status = 500});
  Running running(api);
  ASSERT_TRUE(wait_for([&] { return api.count("GET", "/readyz") > 1; }));
  running.scheduler->stop();
  ASSERT_TRUE(wait_for([&] { return running.ended.load(); }));
  EXPECT_TRUE(running.result.has_value());
}

TEST(Scheduler, GivesTheLeaseBackWhenItIsStopped) {
  FakeApiServer api;
  add_node(api, "n1", 1);
  {
    Running running(api);
    ASSERT_TRUE(wait_for([&] { return running.scheduler->is_deciding(); }));
    EXPECT_NE((*api.get(kLease))["spec"]["holderIdentity"], "");
    running.scheduler->stop();
    running.thread.join();
    EXPECT_TRUE(running.result.has_value());
  }
  EXPECT_EQ((*api.get(kLease))["spec"]["holderIdentity"], "");
}

TEST(Scheduler, AStandbyDecidesNothingUntilTheLeaderIsGone) {
  FakeApiServer api;
  add_node(api, "n1", 2);
  auto first = std::make_unique<Running>(api);
  ASSERT_TRUE(wait_for([&] { return first->scheduler->is_deciding(); }));
  Running second(api);
  add_pod(api, "a");
  ASSERT_TRUE(wait_for([&] { return node_of(api, "a") == "n1"; }));
  EXPECT_FALSE(second.scheduler->is_leader());
  first.reset();
  ASSERT_TRUE(wait_for([&] { return second.scheduler->is_deciding(); }));
  add_pod(api, "b");
  EXPECT_TRUE(wait_for([&] { return node_of(api, "b") == "n1"; }));
}

TEST(Scheduler, ALostLeaseEndsItAndNothingIsWrittenAfterwards) {
  FakeApiServer api;
  add_node(api, "n1", 2);
  Running running(api);
  ASSERT_TRUE(wait_for([&] { return running.scheduler->is_deciding(); }));
  api.change(kLease, [](Json& lease) {
    lease["spec"]["holderIdentity"] = "somebody else";
    lease["spec"]["leaseDurationSeconds"] = 3600;
  });
  ASSERT_TRUE(wait_for([&] { return running.ended.load(); }));
  EXPECT_FALSE(running.result.has_value());
  EXPECT_FALSE(running.scheduler->is_leader());
  add_pod(api, "late");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_EQ(api.count("POST", "/binding"), 0);
  EXPECT_EQ((*api.get(kLease))["spec"]["holderIdentity"], "somebody else");
}

TEST(Scheduler, StartsOverWhereTheAccountsOfItsEngineAreWrong) {
  FakeApiServer api;
  add_node(api, "n1", 2);
  std::atomic<bool> wrong{false};
  SchedulerOptions options = quick();
  options.audit.every = 50;
  options.audit.confirm_after = 50;
  options.audit.recount = [&wrong](const engine::Engine& engine) -> Status {
    if (wrong) return fail(ErrorCode::kInternal, "node n1: charged 2, the slots there make 1");
    return engine.audit();
  };
  {
    Running running(api, std::move(options));
    ASSERT_TRUE(wait_for([&] { return running.scheduler->is_deciding(); }));
    add_pod(api, "a");
    ASSERT_TRUE(wait_for([&] { return node_of(api, "a") == "n1"; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_FALSE(running.ended) << "there is no difference";
    wrong = true;
    ASSERT_TRUE(wait_for([&] { return running.ended.load(); }));
    ASSERT_FALSE(running.result.has_value());
    EXPECT_NE(running.result.error().message.find("node n1: charged 2"), std::string::npos)
        << running.result.error().message;
    EXPECT_FALSE(running.scheduler->is_leader());
  }
  EXPECT_EQ((*api.get(kLease))["spec"]["holderIdentity"], "") << "the lease is given back";
  Running next(api);
  add_pod(api, "b");
  EXPECT_TRUE(wait_for([&] { return node_of(api, "b") == "n1"; }));
}

TEST(Scheduler, CompletesAGangThatWasLeftBoundInPart) {
  FakeApiServer api;
  add_node(api, "n1", 2);
  add_pod(api, "a", "g", 2, "n1");
  add_pod(api, "b", "g", 2);
  add_pod(api, "other");
  Running running(api);
  ASSERT_TRUE(wait_for([&] { return node_of(api, "b") == "n1"; }));
  EXPECT_EQ(node_of(api, "other"), "");
}

TEST(Scheduler, BindsWhoseAnswersAreLostAreFoundOut) {
  FakeApiServer api;
  add_node(api, "n1", 8);
  using kube::testing::FaultKind;
  api.add_fault({.kind = FaultKind::kCloseAfter, .method = "POST", .contains = "/pods/a/binding"});
  api.add_fault({.kind = FaultKind::kCloseBefore, .method = "POST", .contains = "/pods/b/binding"});
  api.add_fault({.kind = FaultKind::kStatus,
                 .method = "POST",
                 .contains = "/pods/c/binding",
                 .times = 3,
                 .status = 500});
  api.add_fault(
      {.kind = FaultKind::kStatusAfter, .method = "POST", .contains = "/pods/d/binding", .status = 500});
  for (const char* name : {"a", "b", "c", "d"}) add_pod(api, name, "g", 4);
  Running running(api);
  ASSERT_TRUE(wait_for([&] {
    for (const char* name : {"a", "b", "c", "d"}) {
      if (node_of(api, name) != "n1") return false;
    }
    return true;
  }));
}

// GET of a path of the scheduler's own HTTP server.
kube::Response ask_port(std::uint16_t port, const std::string& path) {
  kube::ClusterConfig config;
  config.server = fmt::format("http://127.0.0.1:{}", port);
  return (*kube::Transport::create(config))->call({.path = path});
}
kube::Response ask(const Running& running, const std::string& path) {
  return ask_port(running.scheduler->http_port(), path);
}

TEST(Scheduler, AnswersQuestionsAboutItself) {
  FakeApiServer api;
  add_node(api, "n1", 1);
  SchedulerOptions options = quick();
  options.http = observe::HttpOptions{};
  options.version = "1.2.3";
  options.commit = "abc";
  Running running(api, std::move(options));
  ASSERT_TRUE(wait_for([&] { return running.scheduler->is_deciding(); }));
  add_pod(api, "a");
  add_pod(api, "b");
  ASSERT_TRUE(wait_for([&] { return !node_of(api, "a").empty() || !node_of(api, "b").empty(); }));
  const std::string waits = node_of(api, "a").empty() ? "a" : "b";
  const std::string uid = (*api.get(fmt::format("{}/{}", kPods, waits)))["metadata"]["uid"];
  for (const std::string& name : {uid, "default/" + waits}) {
    ASSERT_TRUE(wait_for([&] {
      return ask(running, "/explain?workload=" + name).body.find("Nodes") != std::string::npos;
    })) << ask(running, "/explain?workload=" + name).body;
  }
  EXPECT_EQ(ask(running, "/explain?workload=nothing").status, 404);
  EXPECT_EQ(ask(running, "/healthz").status, 200);
  EXPECT_EQ(ask(running, "/readyz").status, 200);
  EXPECT_NE(ask(running, "/metrics").body.find("berth_slots_started_total 1"), std::string::npos);
  const auto tells = [&](const std::string& line) {
    return wait_for([&] { return ask(running, "/metrics").body.find(line) != std::string::npos; });
  };
  const std::string runs = waits == "a" ? "b" : "a";
  EXPECT_TRUE(
      tells(fmt::format("berth_pod_gpus{{node_name=\"n1\",pod_name=\"{}\",pod_namespace=\"default\",", runs)))
      << ask(running, "/metrics").body;
  EXPECT_TRUE(tells("berth_watch_seconds_count 1\n"));
  EXPECT_TRUE(tells("berth_watch_silence_seconds{kind=\"Pod\"}"));
  EXPECT_TRUE(tells("berth_build_info{commit=\"abc\",version=\"1.2.3\"} 1\n"));
  EXPECT_TRUE(tells("berth_follower_differs 0\n"));
  EXPECT_TRUE(tells("reason=\"Nodes\"} 1\n"));
  EXPECT_NE(ask(running, "/debug/state").body.find("\"nodes\""), std::string::npos);
}

TEST(Scheduler, ProbesAndMetricsHaveServersOfTheirOwnThatTellNothingElse) {
  FakeApiServer api;
  SchedulerOptions options = quick();
  options.health = observe::HttpOptions{};
  options.metrics = observe::HttpOptions{};
  Running running(api, std::move(options));
  ASSERT_TRUE(wait_for([&] { return running.scheduler->is_deciding(); }));
  const auto status = [](std::uint16_t port, const std::string& path) { return ask_port(port, path).status; };
  const std::uint16_t health = running.scheduler->health_port();
  const std::uint16_t metrics = running.scheduler->metrics_port();
  EXPECT_EQ(status(health, "/healthz"), 200);
  EXPECT_EQ(status(health, "/readyz"), 200);
  EXPECT_EQ(status(metrics, "/metrics"), 200);
  for (const char* path : {"/explain?workload=x", "/debug/state"}) {
    EXPECT_EQ(status(health, path), 404) << path;
    EXPECT_EQ(status(metrics, path), 404) << path;
  }
  EXPECT_EQ(status(health, "/metrics"), 404);
  EXPECT_EQ(running.scheduler->http_port(), 0);
}

TEST(Scheduler, PagesThatNameWorkloadsAreOnLoopbackOnly) {
  FakeApiServer api;
  SchedulerOptions options = quick();
  options.http = observe::HttpOptions{.address = "0.0.0.0"};
  const auto created = Scheduler::create(api.config(), std::move(options));
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, ErrorCode::kInvalid);
  EXPECT_NE(created.error().message.find("--health-address"), std::string::npos) << created.error().message;
}

}  // namespace
}  // namespace berth::scheduler

// Reports about a missing right of deploy/berth.yaml: each right is taken away in turn.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <thread>

#include "kube/fake_api_server_support.h"
#include "kube/paths.h"
#include "kube/wait_support.h"
#include "scheduler/loop/rights_told.h"
#include "scheduler/loop/scheduler.h"
#include "text/document.h"

namespace berth::scheduler {
namespace {

using kube::testing::FakeApiServer;
using kube::testing::Json;
using kube::testing::wait_for;
using ::testing::HasSubstr;

std::vector<std::string> words_of(const text::Node& rule, std::string_view key) {
  std::vector<std::string> out;
  const text::Node* list = rule.find(key);
  if (list == nullptr) return out;
  for (const text::Node& item : list->items()) out.emplace_back(item.text());
  return out;
}

std::set<kube::Right> shipped_rights() {
  std::set<kube::Right> out;
  const auto documents = text::read_documents(std::string(BERTH_SOURCE_DIR) + "/deploy/berth.yaml");
  EXPECT_TRUE(documents.has_value());
  for (const text::Document& document : *documents) {
    const text::Node* kind = document.root().find("kind");
    const text::Node* rules = document.root().find("rules");
    if (kind == nullptr || rules == nullptr || (kind->text() != "ClusterRole" && kind->text() != "Role"))
      continue;
    for (const text::Node& rule : rules->items()) {
      for (const auto& group : words_of(rule, "apiGroups")) {
        for (const auto& resource : words_of(rule, "resources")) {
          for (const auto& verb : words_of(rule, "verbs")) out.insert({verb, group, resource});
        }
      }
    }
  }
  return out;
}

kube::Request request_of(const kube::Right& right) {
  const auto slash = std::min(right.resource.find('/'), right.resource.size());
  const std::string version = right.group.empty() ? "/api/v1" : fmt::format("/apis/{}/v1", right.group);
  const std::string collection = fmt::format("{}/namespaces/n/{}", version, right.resource.substr(0, slash));
  const std::string object = fmt::format("{}/x{}", collection, right.resource.substr(slash));
  kube::Request out;
  out.path = object;
  if (right.verb == "list") out.path = collection + "?limit=500";
  if (right.verb == "watch") out.path = collection + "?watch=1";
  if (right.verb == "create") {
    out.method = kube::Method::kPost;
    if (slash == right.resource.size()) out.path = collection;
  }
  if (right.verb == "update") out.method = kube::Method::kPut;
  if (right.verb == "patch") out.method = kube::Method::kPatch;
  if (right.verb == "delete") out.method = kube::Method::kDelete;
  return out;
}

kube::Response refusal_of(const kube::Right& right) {
  const Json status = {
      {"kind", "Status"},
      {"code", 403},
      {"reason", "Forbidden"},
      {"message",
       fmt::format("{} \"x\" is forbidden: User \"berth\" cannot {} resource \"{}\" in API group \"{}\"",
                   right.resource, right.verb, right.resource, right.group)}};
  kube::Response out;
  out.status = 403;
  out.body = status.dump();
  return out;
}

// Prints the table.
TEST(Rights, EachThatIsTakenAwayIsSaidWithItsLoss) {
  const auto rights = shipped_rights();
  ASSERT_GT(rights.size(), 60u);
  for (const kube::Right& right : rights) {
    kube::MissingRights missing;
    missing.note(request_of(right), refusal_of(right), 1);
    const auto log = missing.to_log(1);
    ASSERT_EQ(log.size(), 1u) << right.verb << " " << right.full_resource();
    EXPECT_EQ(log[0].right, right);
    const std::string text = told(log[0].right);
    fmt::print("{}\n", text);
    EXPECT_THAT(text, HasSubstr(fmt::format("may not {} {}", right.verb, right.full_resource())));
    EXPECT_NE(lost_without(right), "") << text;
    EXPECT_THAT(text, HasSubstr(fmt::format("verbs [{}] on resources [{}] of apiGroups [\"{}\"]", right.verb,
                                            right.resource, right.group)));
  }
}

// Each loss is of what Berth does with the right.
TEST(Rights, ALossIsOfWhatTheRightIsFor) {
  EXPECT_THAT(lost_without({"get", "", "pods"}), HasSubstr("how the pods of a Workload ended"));
  EXPECT_THAT(lost_without({"get", "kueue.x-k8s.io", "workloads"}), HasSubstr("prebuilt"));
  EXPECT_THAT(lost_without({"get", "batch", "jobs"}), HasSubstr("owner that it has not seen"));
  EXPECT_THAT(lost_without({"create", "authentication.k8s.io", "tokenreviews"}), HasSubstr("dashboard"));
  EXPECT_THAT(lost_without({"create", "authorization.k8s.io", "subjectaccessreviews"}),
              HasSubstr("dashboard"));
  // An event is made once, and never written again.
  EXPECT_EQ(lost_without({"patch", "events.k8s.io", "events"}), "");
}

// The rights that `berth check` asks about are those that are shipped, no more and no fewer.
TEST(Rights, ThoseThatAreNeededAreThoseOfTheRoles) {
  std::set<kube::Right> needed;
  for (const NeededRight& one : needed_rights({}))
    EXPECT_TRUE(needed.insert(one.right).second || !one.ns.empty());
  const auto words = [](const std::set<kube::Right>& rights) {
    std::vector<std::string> out;
    for (const kube::Right& one : rights) out.push_back(one.verb + " " + one.full_resource());
    return out;
  };
  EXPECT_THAT(words(needed), ::testing::UnorderedElementsAreArray(words(shipped_rights())));
  std::set<std::string> without;
  for (const NeededRight& one :
       needed_rights({.hold_jobs = false, .kueue_objects = false, .lease_namespace = ""}))
    without.insert(one.right.verb + " " + one.right.full_resource());
  EXPECT_EQ(without.count("patch jobs.batch"), 0u);
  EXPECT_EQ(without.count("create workloads.kueue.x-k8s.io"), 0u);
  EXPECT_EQ(without.count("update leases.coordination.k8s.io"), 0u);
  // Without Kueue's kinds nothing asks whether Kueue runs here.
  EXPECT_EQ(without.count("list leases.coordination.k8s.io"), 0u);
  EXPECT_EQ(without.count("watch provisioningrequestconfigs.kueue.x-k8s.io"), 0u);
  for (const NeededRight& one :
       needed_rights({.serves = [](std::string_view group, std::string_view) { return group.empty(); }}))
    EXPECT_TRUE(one.right.group.empty() || !one.ns.empty()) << one.right.full_resource();
}

kube::Response ask_loop(std::uint16_t port, const std::string& path) {
  kube::ClusterConfig config;
  config.server = fmt::format("http://127.0.0.1:{}", port);
  return (*kube::Transport::create(config))->call({.path = path});
}

struct LiveLoop {
  LiveLoop(FakeApiServer& api, SchedulerOptions options)
      : scheduler(*Scheduler::create(api.config(), std::move(options))),
        thread([this] { (void)scheduler->run(); }) {}
  ~LiveLoop() {
    scheduler->stop();
    thread.join();
  }
  std::unique_ptr<Scheduler> scheduler;
  std::thread thread;
};

void refuse(FakeApiServer& api, const std::string& method, const std::string& part,
            const kube::Right& right) {
  const Json status = Json::parse(refusal_of(right).body);
  api.add_fault(
      {.method = method, .contains = part, .times = -1, .status = 403, .message = status["message"]});
}

// A live loop without one right: /readyz and the metric say it, and no more when it is granted.
TEST(Rights, AreSaidByTheLiveLoop) {
  struct Case {
    const char* method;
    const char* part;
    kube::Right right;
  };
  const std::vector<Case> cases = {
      {"POST", "/binding", {"create", "", "pods/binding"}},
      {"PATCH", "/status", {"patch", "", "pods/status"}},
      {"POST", "/events", {"create", "events.k8s.io", "events"}},
      {"GET", "/leases?", {"list", "coordination.k8s.io", "leases"}},
      {"WATCH", "/nodes", {"watch", "", "nodes"}},
  };
  for (const Case& c : cases) {
    FakeApiServer api(kube::testing::FakeOptions{.workloads = true});
    const Json amounts = {{"cpu", "64"}, {"pods", "110"}, {"nvidia.com/gpu", "1"}};
    api.create("/api/v1/nodes", Json{{"metadata", {{"name", "n"}}}, {"status", {{"allocatable", amounts}}}});
    for (const char* name : {"a", "b"}) {
      Json pod = Json::parse(R"({"metadata":{"namespace":"default"},"status":{"phase":"Pending"},
        "spec":{"schedulerName":"berth","containers":[{"name":"c","resources":{"requests":{"nvidia.com/gpu":"1"}}}]}})");
      pod["metadata"]["name"] = name;
      api.create("/api/v1/namespaces/default/pods", pod);
    }
    refuse(api, c.method, c.part, c.right);
    SchedulerOptions options;
    options.leader.retry_period = 100;
    options.reporter.settle = 50;
    options.http = observe::HttpOptions{};
    LiveLoop running(api, std::move(options));
    const std::uint16_t port = running.scheduler->http_port();
    const std::string line = fmt::format("a right is missing: {}\n", told(c.right));
    EXPECT_TRUE(wait_for([&] { return ask_loop(port, "/readyz").body.find(line) != std::string::npos; }))
        << line << ask_loop(port, "/readyz").body;
    const std::string series = fmt::format("berth_missing_rights{{resource=\"{}\",verb=\"{}\"}} 1",
                                           c.right.full_resource(), c.right.verb);
    EXPECT_THAT(ask_loop(port, "/metrics").body, HasSubstr(series));
  }
}

}  // namespace
}  // namespace berth::scheduler

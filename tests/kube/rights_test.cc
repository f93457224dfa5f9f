// Rights that the API server refuses for.
#include "kube/rights.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kube/fake_api_server_support.h"
#include "kube/paths.h"
#include "kube/wait_support.h"

namespace berth::kube {
namespace {

using testing::FakeApiServer;
using testing::wait_for;

std::string text_of(Method method, std::string_view path) {
  const auto right = right_of(method, path);
  return right ? fmt::format("{} {}", right->verb, right->full_resource()) : "none";
}

TEST(Rights, OfARequestByItsMethodAndPath) {
  EXPECT_EQ(text_of(Method::kGet, "/api/v1/pods?limit=500"), "list pods");
  EXPECT_EQ(text_of(Method::kGet, "/api/v1/pods?watch=1&timeoutSeconds=300"), "watch pods");
  EXPECT_EQ(text_of(Method::kGet, "/api/v1/namespaces/a/pods/p"), "get pods");
  EXPECT_EQ(text_of(Method::kGet, "/api/v1/namespaces/a/pods?labelSelector=a%2Fb"), "list pods");
  EXPECT_EQ(text_of(Method::kPost, "/api/v1/namespaces/a/pods/p/binding"), "create pods/binding");
  EXPECT_EQ(text_of(Method::kPatch, "/apis/batch/v1/namespaces/a/jobs/j/status"), "patch jobs.batch/status");
  EXPECT_EQ(text_of(Method::kPut, "/apis/coordination.k8s.io/v1/namespaces/a/leases/l"),
            "update leases.coordination.k8s.io");
  EXPECT_EQ(text_of(Method::kDelete, "/apis/x.io/v1/things/t"), "delete things.x.io");
  EXPECT_EQ(text_of(Method::kGet, "/api/v1/namespaces"), "list namespaces");
  EXPECT_EQ(text_of(Method::kGet, "/api/v1/namespaces/a"), "get namespaces");
  for (const char* path : {"/version", "/apis", "/api", "/apis/batch/v1", "/api/v1", ""})
    EXPECT_EQ(text_of(Method::kGet, path), "none") << path;
}

Response refused(std::string_view message) {
  Response out;
  out.status = 403;
  out.body = fmt::format(R"({{"kind":"Status","code":403,"reason":"Forbidden","message":"{}"}})", message);
  return out;
}
constexpr std::string_view kNoRight =
    R"(pods is forbidden: User \"u\" cannot list resource \"pods\" in API group \"\" at the cluster scope)";

TEST(Rights, AreMissingUntilARequestSucceeds) {
  MissingRights missing;
  Request list{.path = "/api/v1/pods?limit=500"};
  missing.note(list, refused(kNoRight), 1000);
  missing.note(list, refused(kNoRight), 2000);
  ASSERT_EQ(missing.list(2000).size(), 1u);
  EXPECT_EQ(missing.list(2000)[0].refusals, 2u);
  EXPECT_EQ(missing.list(2000)[0].since, 1000);
  Response good;
  good.status = 200;
  missing.note({.path = "/api/v1/nodes"}, good, 3000);
  EXPECT_EQ(missing.list(3000).size(), 1u);
  missing.note(list, good, 3000);
  EXPECT_TRUE(missing.list(3000).empty());
}

TEST(Rights, AreForgottenWhenNothingAsksForThem) {
  MissingRights missing;
  missing.note({.path = "/api/v1/pods"}, refused(kNoRight), 1000);
  EXPECT_EQ(missing.list(1000 + MissingRights::kForgetAfter).size(), 1u);
  EXPECT_TRUE(missing.list(1001 + MissingRights::kForgetAfter).empty());
}

TEST(Rights, AreLoggedOnceInTenMinutes) {
  MissingRights missing;
  missing.note({.path = "/api/v1/pods"}, refused(kNoRight), 1000);
  EXPECT_EQ(missing.to_log(1000).size(), 1u);
  missing.note({.path = "/api/v1/pods"}, refused(kNoRight), 2000);
  missing.note({.path = "/api/v1/nodes"}, refused(kNoRight), 2000);
  EXPECT_EQ(missing.to_log(2000).size(), 1u);  // the other one
  EXPECT_EQ(missing.to_log(1000 + MissingRights::kLogEvery).size(), 1u);
}

TEST(Rights, OtherRefusalsAreNoneOfRights) {
  MissingRights missing;
  for (const char* message :
       {"exceeded quota: q, requested: pods=1", "ValidatingAdmissionPolicy 'p' denied request: no", ""})
    missing.note({.method = Method::kPost, .path = "/api/v1/namespaces/a/pods"}, refused(message), 1);
  EXPECT_TRUE(missing.list(1).empty());
}

TEST(Rights, TheirNumberIsBounded) {
  MissingRights missing;
  for (int i = 0; i < 1000; ++i)
    missing.note({.path = fmt::format("/api/v1/things{}", i)}, refused(kNoRight), 1);
  EXPECT_EQ(missing.list(1).size(), MissingRights::kMost);
}

// Through a transport: answers of requests and of streams are told, and of a stream its beginning, too.
TEST(Rights, TransportsTellOfAnswers) {
  FakeApiServer api;
  MissingRights missing;
  TransportOptions options;
  options.answered = [&](const Request& r, const Response& a) { missing.note(r, a, 1); };
  const auto transport = *Transport::create(api.config(), options);
  struct Quiet : StreamHandler {
    Flow on_data(std::string_view) override { return Flow::kMore; }
    void on_end(const Response&) override {}
  };
  const std::string message = R"(User "u" cannot watch resource "pods" in API group "")";
  api.add_fault({.method = "WATCH", .status = 403, .message = message});
  api.add_fault({.method = "GET", .contains = "/nodes", .status = 403, .message = message});
  (void)transport->call({.path = "/api/v1/nodes"});
  transport->open_stream({.path = "/api/v1/pods?watch=1&resourceVersion=0"}, std::make_shared<Quiet>());
  ASSERT_TRUE(wait_for([&] { return missing.list(1).size() == 2; }));
  (void)transport->call({.path = "/api/v1/nodes"});
  EXPECT_EQ(missing.list(1).size(), 1u);
  api.create("/api/v1/namespaces/a/pods", R"({"metadata":{"name":"p"}})");
  transport->open_stream(
      {.path =
           "/api/v1/pods?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion="
           "&allowWatchBookmarks=true"},
      std::make_shared<Quiet>());
  EXPECT_TRUE(wait_for([&] { return missing.list(1).empty(); }));  // while it is open
}

}  // namespace
}  // namespace berth::kube

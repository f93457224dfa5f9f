#include "kube/discovery.h"

#include <gtest/gtest.h>

#include "kube/fake_api_server_support.h"

namespace berth::kube {
namespace {

using testing::FakeApiServer;

void check(FakeApiServer& api) {
  auto transport = *Transport::create(api.config());
  Discovery discovery(*transport);
  EXPECT_FALSE(discovery.serves("", "v1", "pods"));
  const auto status = discovery.refresh();
  ASSERT_TRUE(status) << status.error().str();
  const int asked = static_cast<int>(api.seen().size());
  EXPECT_TRUE(discovery.serves("", "v1", "pods"));
  EXPECT_TRUE(discovery.serves("coordination.k8s.io", "v1", "leases"));
  EXPECT_FALSE(discovery.serves("batch", "v1", "jobs"));
  EXPECT_FALSE(discovery.serves("batch", "v2", "jobs"));
  EXPECT_EQ(discovery.version_of("kueue.x-k8s.io", "clusterqueues"), "v1beta2");
  EXPECT_EQ(discovery.version_of("kueue.x-k8s.io", "cohorts"), "");
  const auto served = discovery.served();
  const ServedResource* pods = served->find("", "v1", "pods");
  ASSERT_NE(pods, nullptr);
  EXPECT_EQ(pods->kind, "Pod");
  EXPECT_TRUE(pods->namespaced);
  EXPECT_EQ(pods->subresources, std::vector<std::string>{"status"});
  EXPECT_EQ(static_cast<int>(api.seen().size()), asked);  // asking costs no request
}

TEST(Discovery, Aggregated) {
  FakeApiServer api({.unserved = {"/apis/batch/v1/jobs"}});
  check(api);
  EXPECT_EQ(api.seen().size(), 3u);  // with /readyz
}

TEST(Discovery, OneByOne) {
  FakeApiServer api({.aggregated_discovery = false, .unserved = {"/apis/batch/v1/jobs"}});
  check(api);
}

TEST(Discovery, FailureKeepsWhatIsKnown) {
  FakeApiServer api;
  auto transport = *Transport::create(api.config());
  Discovery discovery(*transport);
  ASSERT_TRUE(discovery.refresh());
  api.add_fault({.contains = "/apis", .times = -1, .status = 503});
  const auto failed = discovery.refresh();
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "GET /apis: 503 Service Unavailable: injected");
  EXPECT_TRUE(discovery.serves("", "v1", "pods"));
}

// Right after its start it serves no CRDs yet, and does not say so in its lists.
TEST(Discovery, AServerThatIsNotReadyIsNotAsked) {
  FakeApiServer api;
  auto transport = *Transport::create(api.config());
  Discovery discovery(*transport);
  api.add_fault({.contains = "/readyz", .times = 1, .status = 500});
  const auto early = discovery.refresh();
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(api.count("GET", "/apis"), 0);
  api.add_fault({.contains = "/readyz", .times = 1, .status = 403});
  EXPECT_TRUE(discovery.refresh()) << "without the right to ask";
}

}  // namespace
}  // namespace berth::kube

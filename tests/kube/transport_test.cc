#include "kube/transport.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "kube/api_status.h"
#include "kube/fake_api_server_support.h"
#include "kube/paths.h"
#include "kube/wait_support.h"

namespace berth::kube {
namespace {

using testing::FakeApiServer;
using testing::Fault;
using testing::FaultKind;
using testing::wait_for;

TEST(Transport, GetsAndPosts) {
  FakeApiServer api;
  auto transport = Transport::create(api.config());
  ASSERT_TRUE(transport) << transport.error().str();
  const Response version = (*transport)->call({.path = "/version"});
  EXPECT_EQ(version.status, 200);
  EXPECT_NE(version.body.find("v1.36.0-fake"), std::string::npos);
  const Response made = (*transport)
                            ->call({.method = Method::kPost,
                                    .path = kNodes.collection(),
                                    .body = R"({"metadata":{"name":"n1"}})"});
  EXPECT_EQ(made.status, 201);
  EXPECT_TRUE(api.get("/api/v1/nodes/n1").has_value());
  const Response missing = (*transport)->call({.path = kNodes.object("", "n2")});
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(response_error("GET node", missing).message, "GET node: 404 Not Found: nodes \"n2\" not found");
}

TEST(Transport, ReusesConnections) {
  FakeApiServer api;
  auto transport = *Transport::create(api.config());
  for (int i = 0; i < 20; ++i) EXPECT_EQ(transport->call({.path = "/version"}).status, 200);
  EXPECT_EQ(api.connections(), 1u);
  EXPECT_EQ(transport->stats().connections.load(), 1u);
}

TEST(Transport, ManyAtOnceEachAnsweredOnce) {
  FakeApiServer api;
  auto transport = *Transport::create(api.config(), {.max_in_flight = 16});
  std::atomic<int> answered{0};
  for (int i = 0; i < 1000; ++i) {
    transport->submit({.path = "/version"}, [&](Response&& r) {
      if (r.status == 200) answered.fetch_add(1);
    });
  }
  EXPECT_TRUE(wait_for([&] { return answered.load() == 1000; }));
  EXPECT_LE(api.connections(), 16u);
}

TEST(Transport, GathersOnlyWhileManyRequestsAreOnTheWire) {
  FakeApiServer api;
  auto transport = *Transport::create(api.config(), {.max_in_flight = 64, .gather = 300});
  const Nanos begin = boottime_ns();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(transport->call({.path = "/version"}).status, 200);
  EXPECT_LT(boottime_ns() - begin, 10 * 300 * kNanosPerMs) << "one at a time";
  std::atomic<int> answered{0};
  for (int i = 0; i < 64; ++i) {
    transport->submit({.path = "/version"}, [&](Response&& r) {
      if (r.status == 200) answered.fetch_add(1);
    });
  }
  EXPECT_TRUE(wait_for([&] { return answered.load() == 64; }));
}

TEST(Transport, TimesOutAndSaysThatItWasSent) {
  FakeApiServer api;
  api.add_fault({.kind = FaultKind::kDelay, .delay_ms = 3000});
  auto transport = *Transport::create(api.config());
  const Response response = transport->call({.path = "/version", .timeout = 100});
  EXPECT_EQ(response.status, 0);
  EXPECT_TRUE(response.timed_out);
  EXPECT_TRUE(response.sent);
  EXPECT_EQ(classify(response), Outcome::kUnknown);
}

TEST(Transport, RefusedConnectionWasNotSent) {
  ClusterConfig config;
  {
    FakeApiServer api;
    config = api.config();
  }
  auto transport = *Transport::create(config);
  const Response response = transport->call({.path = "/version"});
  EXPECT_EQ(response.status, 0);
  EXPECT_FALSE(response.sent);
  EXPECT_EQ(classify(response), Outcome::kUnavailable);
}

TEST(Transport, BoundsTheAnswer) {
  FakeApiServer api;
  for (int i = 0; i < 50; ++i) {
    api.create("/api/v1/nodes", testing::Json{{"metadata", {{"name", "n" + std::to_string(i)}}}});
  }
  auto transport = *Transport::create(api.config());
  const Response response = transport->call({.path = "/api/v1/nodes", .max_response = 1000});
  EXPECT_EQ(response.status, 0);
  EXPECT_EQ(response.error, "the answer is larger than 1000 bytes");
  EXPECT_EQ(transport->call({.path = "/version"}).status, 200);
}

TEST(Transport, FenceIsAskedBeforeSending) {
  FakeApiServer api;
  auto transport = *Transport::create(api.config());
  const Response fenced = transport->call({.method = Method::kPost,
                                           .path = "/api/v1/nodes",
                                           .body = R"({"metadata":{"name":"n"}})",
                                           .before_send = [] { return false; }});
  EXPECT_TRUE(fenced.fenced);
  EXPECT_FALSE(fenced.sent);
  EXPECT_EQ(classify(fenced), Outcome::kFenced);
  EXPECT_EQ(api.count("POST"), 0);
  EXPECT_FALSE(api.get("/api/v1/nodes/n").has_value());
}

TEST(Transport, ShutDownAnswersEverything) {
  FakeApiServer api;
  api.add_fault({.kind = FaultKind::kDelay, .times = -1, .delay_ms = 2000});
  auto transport = *Transport::create(api.config(), {.max_in_flight = 4});
  std::atomic<int> ended{0};
  for (int i = 0; i < 20; ++i) {
    transport->submit({.path = "/version"}, [&](Response&& r) {
      EXPECT_EQ(r.status, 0);
      ended.fetch_add(1);
    });
  }
  ASSERT_TRUE(wait_for([&] { return api.count("GET") == 4; }));
  transport.reset();
  EXPECT_EQ(ended.load(), 20);
}

TEST(Transport, TlsIsVerified) {
  FakeApiServer api({.tls = true});
  auto transport = *Transport::create(api.config());
  EXPECT_EQ(transport->call({.path = "/version"}).status, 200);

  const testing::TestAuthority other("another-ca");
  ClusterConfig wrong = api.config();
  wrong.ca.data = other.ca_pem();
  auto distrusting = *Transport::create(wrong);
  const Response refused = distrusting->call({.path = "/version"});
  EXPECT_EQ(refused.status, 0);
  EXPECT_FALSE(refused.sent);
  EXPECT_NE(refused.error.find("certificate"), std::string::npos) << refused.error;
}

TEST(Transport, SystemAuthoritiesDoNotVouchForTheClusters) {
  // Without an authority of its own the cluster's certificate is judged by the system's, which do not know it.
  FakeApiServer api({.tls = true});
  ClusterConfig config = api.config();
  config.ca = {};
  auto transport = *Transport::create(config);
  EXPECT_EQ(transport->call({.path = "/version"}).status, 0);
  config.insecure = true;
  auto careless = *Transport::create(config);
  EXPECT_EQ(careless->call({.path = "/version"}).status, 200);
}

TEST(Transport, TlsServerName) {
  FakeApiServer api({.tls = true});
  ClusterConfig config = api.config();
  config.tls_server_name = "kubernetes.default.svc";
  auto transport = *Transport::create(config);
  EXPECT_EQ(transport->call({.path = "/version"}).status, 200);
  config.tls_server_name = "somebody.else";
  auto wrong = *Transport::create(config);
  EXPECT_EQ(wrong->call({.path = "/version"}).status, 0);
}

TEST(Transport, ClientCertificate) {
  FakeApiServer api({.tls = true});
  ClusterConfig config = api.config();
  const auto pair = api.authority().issue("berth-admin", "");
  config.cert.data = pair.cert_pem;
  config.key.data = pair.key_pem;
  auto transport = *Transport::create(config);
  EXPECT_EQ(transport->call({.path = "/version"}).status, 200);
  EXPECT_EQ(api.seen().back().client_name, "berth-admin");
}

// Collects a stream.
class Collector : public StreamHandler {
 public:
  Flow on_data(std::string_view bytes) override {
    const std::lock_guard lock(mutex);
    if (hold) return Flow::kPause;
    text += bytes;
    return Flow::kMore;
  }
  void on_end(const Response& end) override {
    const std::lock_guard lock(mutex);
    last = end;
    ++ends;
  }
  std::string read() {
    const std::lock_guard lock(mutex);
    return text;
  }
  int ended() {
    const std::lock_guard lock(mutex);
    return ends;
  }
  std::mutex mutex;
  std::string text;
  Response last;
  int ends = 0;
  bool hold = false;
};

TEST(Transport, StreamsUntilClosed) {
  FakeApiServer api;
  auto transport = *Transport::create(api.config());
  auto collector = std::make_shared<Collector>();
  const StreamId id =
      transport->open_stream({.path = "/api/v1/nodes?watch=1&resourceVersion=0", .timeout = 0}, collector);
  api.create("/api/v1/nodes", R"({"metadata":{"name":"n1"}})");
  EXPECT_TRUE(wait_for([&] { return collector->read().find("\"n1\"") != std::string::npos; }));
  transport->close_stream(id);
  EXPECT_TRUE(wait_for([&] { return collector->ended() == 1; }));
  EXPECT_TRUE(wait_for([&] { return api.watches() == 0; }));
}

TEST(Transport, PausedStreamHoldsBytesBack) {
  FakeApiServer api;
  auto transport = *Transport::create(api.config());
  auto collector = std::make_shared<Collector>();
  collector->hold = true;
  transport->open_stream({.path = "/api/v1/nodes?watch=1&resourceVersion=0", .timeout = 0}, collector);
  ASSERT_TRUE(wait_for([&] { return api.watches() == 1; }));
  for (int i = 0; i < 100; ++i) {
    api.create("/api/v1/nodes", testing::Json{{"metadata", {{"name", "n" + std::to_string(i)}}}});
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(collector->read(), "");
  {
    const std::lock_guard lock(collector->mutex);
    collector->hold = false;
  }
  EXPECT_TRUE(wait_for([&] { return collector->read().find("\"n99\"") != std::string::npos; }));
}

TEST(Transport, RefusedStreamHasStatusAndBody) {
  FakeApiServer api;
  api.add_fault({.method = "WATCH", .status = 410});
  auto transport = *Transport::create(api.config());
  auto collector = std::make_shared<Collector>();
  transport->open_stream({.path = "/api/v1/nodes?watch=1", .timeout = 0}, collector);
  ASSERT_TRUE(wait_for([&] { return collector->ended() == 1; }));
  EXPECT_EQ(collector->last.status, 410);
  EXPECT_NE(collector->last.body.find("Expired"), std::string::npos);
  EXPECT_EQ(collector->read(), "");
}

}  // namespace
}  // namespace berth::kube

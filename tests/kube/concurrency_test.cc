#include "kube/concurrency.h"

#include <gtest/gtest.h>

#include "kube/paths.h"
#include "kube/url.h"

namespace berth::kube {
namespace {

constexpr Nanos kMs = kNanosPerMs;

TEST(Concurrency, DoublesPerRoundUntilTheLatencyRises) {
  Concurrency c({.start = 10, .least = 2, .most = 200});
  Nanos now = 1000 * kMs;
  for (int i = 0; i < 10; ++i) c.answered(now += kMs, 5 * kMs, 20);
  EXPECT_EQ(c.limit(), 20);
  for (int i = 0; i < 100; ++i)
    c.answered(now += kMs, 150 * kMs, 200);  // the average is late by eight answers
  const double held = c.limit();
  EXPECT_LT(held, 40);
  for (int i = 0; i < 100; ++i) c.answered(now += kMs, 5 * kMs, 1);  // quick again, and not used
  for (int i = 0; i < 40; ++i) c.answered(now += kMs, 5 * kMs, 200);
  EXPECT_GT(c.limit(), held + 0.9);
  EXPECT_LT(c.limit(), held + 2.1);
}

TEST(Concurrency, GrowsByOnePerRoundAfterARefusal) {
  Concurrency c({.start = 20, .least = 2, .most = 20});
  Nanos now = 1000 * kMs;
  c.refused(now);
  for (int i = 0; i < 10; ++i) c.answered(now += kMs, 5 * kMs, 10);
  EXPECT_GT(c.limit(), 10.9);
  EXPECT_LT(c.limit(), 11.1);
  for (int i = 0; i < 10'000; ++i) c.answered(now += kMs, 5 * kMs, 20);
  EXPECT_EQ(c.limit(), 20);
}

TEST(Concurrency, DoesNotGrowUnused) {
  Concurrency c({.start = 10, .least = 2, .most = 20});
  Nanos now = 1000 * kMs;
  for (int i = 0; i < 1000; ++i) c.answered(now += kMs, 5 * kMs, 3);
  EXPECT_EQ(c.limit(), 10);
}

TEST(Concurrency, HoldsWhereLatencyHasRisen) {
  Concurrency c({.start = 10, .least = 2, .most = 200});
  Nanos now = 1000 * kMs;
  c.answered(now, 2 * kMs, 1);
  for (int i = 0; i < 100; ++i) c.answered(now += kMs, 150 * kMs, 200);
  const double held = c.limit();
  for (int i = 0; i < 100; ++i) c.answered(now += kMs, 150 * kMs, 200);
  EXPECT_EQ(c.limit(), held);
}

TEST(Concurrency, ShrinksOncePerLatencyWhenSlow) {
  Concurrency c({.start = 100, .least = 2, .most = 200, .least_per_second = 1});
  Nanos now = 100'000 * kMs;
  c.answered(now, 10 * kMs, 1);
  for (int i = 0; i < 50; ++i) c.answered(now += kMs, 1000 * kMs, 100);
  EXPECT_EQ(c.limit(), 80);
  now += 2000 * kMs;
  c.answered(now, 1000 * kMs, 100);
  EXPECT_EQ(c.limit(), 64);
}

// The server is slow because of others: latency does not fall when less is in flight.
TEST(Concurrency, FindsItsWayUpAgainOnASlowServer) {
  Concurrency c({.start = 64, .least = 4, .most = 200});
  Nanos now = 100'000 * kMs;
  c.answered(now, 2 * kMs, 1);
  for (int i = 0; i < 10; ++i) c.refused(now += 200 * kMs);
  ASSERT_EQ(c.limit(), 4);
  for (int round = 0; round < 30; ++round) {
    now += 400 * kMs;
    for (double i = 0; i < c.limit(); ++i) c.answered(now += kMs, 400 * kMs, c.limit());
  }
  EXPECT_GE(c.limit(), 19.5) << "50 writes a second take 20 in flight at 400 ms";
  EXPECT_LE(c.limit(), 21);
  for (int i = 0; i < 1000; ++i) c.answered(now += 400 * kMs, 400 * kMs, 3);
  EXPECT_LE(c.limit(), 21);
}

TEST(Concurrency, HalvesOncePerBurstOfRefusals) {
  Concurrency c({.start = 64, .least = 4, .most = 200});
  Nanos now = 1000 * kMs;
  for (int i = 0; i < 64; ++i) c.refused(now);
  EXPECT_EQ(c.limit(), 32);
  for (int i = 0; i < 10; ++i) c.refused(now += 200 * kMs);
  EXPECT_EQ(c.limit(), 4);
}

TEST(Paths, Resources) {
  EXPECT_EQ(kPods.collection(), "/api/v1/pods");
  EXPECT_EQ(kPods.object("a", "p", "binding"), "/api/v1/namespaces/a/pods/p/binding");
  EXPECT_EQ(kLeases.object("kube-system", "x y"),
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x%20y");
  EXPECT_EQ(escape("a=b,c!=d"), "a%3Db%2Cc%21%3Dd");
}

TEST(Urls, PartsAndErrors) {
  const Url url = *parse_url("https://[::1]:6443/prefix/");
  EXPECT_EQ(url.host, "[::1]");
  EXPECT_EQ(url.port, 6443);
  EXPECT_EQ(url.prefix, "/prefix");
  EXPECT_TRUE(url.loopback());
  EXPECT_EQ(parse_url("https://10.0.0.1")->port, 443);
  EXPECT_FALSE(parse_url("https://10.0.0.1")->loopback());
  EXPECT_EQ(parse_url("10.0.0.1:6443").error().message,
            "'10.0.0.1:6443' must start with https:// (or http://), like https://10.0.0.1:6443");
  EXPECT_FALSE(parse_url("https://host:0"));
  EXPECT_FALSE(parse_url("https://host:99999"));
  EXPECT_FALSE(parse_url("https://"));
  const auto secret = parse_url("https://admin:hunter2@host");
  ASSERT_FALSE(secret);
  EXPECT_EQ(secret.error().message.find("hunter2"), std::string::npos);
}

}  // namespace
}  // namespace berth::kube

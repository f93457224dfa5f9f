#include "kube/leader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "kube/fake_api_server_support.h"
#include "kube/paths.h"
#include "kube/wait_support.h"
#include "kube/writer.h"

namespace berth::kube {
namespace {

using testing::FakeApiServer;
using testing::FaultKind;
using testing::Json;
using testing::wait_for;

constexpr const char* kLease = "/apis/coordination.k8s.io/v1/namespaces/berth/leases/berth";

struct Candidate {
  Candidate(FakeApiServer& api, const std::string& identity, DurationMs lease = 1000,
            DurationMs deadline = 600)
      : transport(*Transport::create(api.config())) {
    LeaderOptions options;
    options.ns = "berth";
    options.identity = identity;
    options.lease_duration = lease;
    options.renew_deadline = deadline;
    options.retry_period = 100;
    options.started = [this](std::uint64_t term) { started.store(term); };
    options.stopped = [this](std::uint64_t term) { stopped.store(term); };
    elector = *LeaderElector::create(*transport, std::move(options));
  }
  std::atomic<std::uint64_t> started{0};
  std::atomic<std::uint64_t> stopped{0};
  std::unique_ptr<Transport> transport;
  std::unique_ptr<LeaderElector> elector;
};

TEST(Leader, TakesAFreeLeaseAndKeepsIt) {
  FakeApiServer api;
  Candidate a(api, "a", 3000, 2500);  // a machine that stands still for a second is no reason to lose it
  ASSERT_TRUE(wait_for([&] { return a.started.load() == 1; }));
  EXPECT_TRUE(a.elector->is_leader());
  EXPECT_TRUE(a.elector->holds(1));
  EXPECT_FALSE(a.elector->holds(2));
  std::this_thread::sleep_for(std::chrono::milliseconds(3300));
  EXPECT_TRUE(a.elector->is_leader());
  EXPECT_EQ(a.stopped.load(), 0u);
  const Json lease = *api.get(kLease);
  EXPECT_EQ(lease["spec"]["holderIdentity"], "a");
  EXPECT_EQ(lease["spec"]["leaseTransitions"], 0);
  EXPECT_EQ(lease["spec"]["leaseDurationSeconds"], 3);
}

TEST(Leader, OnlyOneLeadsAndReleaseHandsOver) {
  FakeApiServer api;
  auto a = std::make_unique<Candidate>(api, "a", 10'000, 8000);
  ASSERT_TRUE(wait_for([&] { return a->elector->is_leader(); }));
  Candidate b(api, "b", 10'000, 8000);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_FALSE(b.elector->is_leader());
  a->elector.reset();
  EXPECT_EQ(a->stopped.load(), 1u);
  EXPECT_EQ((*api.get(kLease))["spec"]["leaseDurationSeconds"], 1);
  EXPECT_TRUE(wait_for([&] { return b.elector->is_leader(); }));
  EXPECT_EQ((*api.get(kLease))["spec"]["leaseTransitions"], 1);
}

// The renewal makes the version stale that the release would have written.
TEST(Leader, TheLeaseIsGivenBackWhileARenewalIsUnderWay) {
  FakeApiServer api;
  auto a = std::make_unique<Candidate>(api, "a", 10'000, 8000);
  ASSERT_TRUE(wait_for([&] { return a->elector->is_leader(); }));
  const auto renewals = api.count("PUT", "/leases/berth");
  api.add_fault(
      {.kind = FaultKind::kDelayAnswer, .method = "PUT", .contains = "/leases/berth", .delay_ms = 300});
  ASSERT_TRUE(wait_for([&] { return api.count("PUT", "/leases/berth") > renewals; }));
  a->elector.reset();
  EXPECT_EQ((*api.get(kLease))["spec"]["holderIdentity"], "");
}

TEST(Leader, ALeaseThatIsTakenAtTheMomentOfTheEndIsGivenBack) {
  for (const bool exists : {false, true}) {
    FakeApiServer api;
    if (exists) {
      Candidate former(api, "former");
      ASSERT_TRUE(wait_for([&] { return former.elector->is_leader(); }));
      former.elector.reset();
    }
    const char* method = exists ? "PUT" : "POST";
    api.add_fault(
        {.kind = FaultKind::kDelayAnswer, .method = method, .contains = "/leases", .delay_ms = 300});
    const auto before = api.count(method, "/leases");
    auto a = std::make_unique<Candidate>(api, "a", 10'000, 8000);
    ASSERT_TRUE(wait_for([&] { return api.count(method, "/leases") > before; }));
    a->elector.reset();
    EXPECT_EQ(a->started.load(), 0u);
    const auto lease = api.get(kLease);
    ASSERT_TRUE(lease.has_value());
    EXPECT_EQ((*lease)["spec"]["holderIdentity"], "") << (exists ? "taken" : "made");
  }
}

TEST(Leader, ALeaderThatCannotRenewStopsBeforeAnotherStarts) {
  FakeApiServer api;
  Candidate a(api, "a");
  ASSERT_TRUE(wait_for([&] { return a.elector->is_leader(); }));
  // From now on a's writes fail.
  std::atomic<bool> both{false};
  api.on_request([&](const testing::Seen&) {});
  api.add_fault({.method = "PUT", .times = -1, .status = 503});
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(wait_for([&] { return a.stopped.load() == 1; }));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1000));
  EXPECT_FALSE(a.elector->is_leader());
  EXPECT_FALSE(a.elector->last_problem().empty());
  Candidate b(api, "b");
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_FALSE(b.elector->is_leader());
  api.clear_faults();
  ASSERT_TRUE(wait_for([&] {
    const bool a_leads = a.elector->is_leader();
    const bool b_leads = b.elector->is_leader();
    if (a_leads && b_leads) both.store(true);
    return a_leads || b_leads;
  }));
  EXPECT_FALSE(both.load());
}

TEST(Leader, WaitsForTheHoldersOwnDurationByItsOwnClock) {
  FakeApiServer api;
  // A holder whose stamps are in the far future, and whose lease lasts one second.
  api.create("/apis/coordination.k8s.io/v1/namespaces/berth/leases",
             Json{{"metadata", {{"name", "berth"}, {"labels", {{"keep", "me"}}}}},
                  {"spec",
                   {{"holderIdentity", "gone"},
                    {"leaseDurationSeconds", 1},
                    {"acquireTime", "2099-01-01T00:00:00.000000Z"},
                    {"renewTime", "2099-01-01T00:00:00.000000Z"},
                    {"leaseTransitions", 4}}}});
  const auto begin = std::chrono::steady_clock::now();
  Candidate a(api, "a", 5000);
  ASSERT_TRUE(wait_for([&] { return a.elector->is_leader(); }));
  const auto waited = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(waited, std::chrono::milliseconds(950));
  EXPECT_LT(waited, std::chrono::milliseconds(4000));
  const Json lease = *api.get(kLease);
  EXPECT_EQ(lease["spec"]["leaseTransitions"], 5);
  EXPECT_EQ(lease["metadata"]["labels"]["keep"], "me");
}

TEST(Leader, LeadershipEndsByTheClockAlone) {
  // The I/O thread is blocked past the deadline, as a stopped process would be: the check sees it at once, and the next
  // leadership is another term.
  FakeApiServer api;
  Candidate a(api, "a");
  ASSERT_TRUE(wait_for([&] { return a.elector->holds(1); }));
  std::promise<void> goes_on;
  a.transport->loop().post([&] { goes_on.get_future().wait(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(800));
  EXPECT_FALSE(a.elector->is_leader());
  EXPECT_EQ(a.stopped.load(), 0u);  // that is not known yet
  goes_on.set_value();
  ASSERT_TRUE(wait_for([&] { return a.stopped.load() == 1; }));
  ASSERT_TRUE(wait_for([&] { return a.elector->holds(2); }));
  EXPECT_FALSE(a.elector->holds(1));
}

TEST(Leader, FrozenLeadersWritesAreFenced) {
  FakeApiServer api;
  Candidate a(api, "a");
  ASSERT_TRUE(wait_for([&] { return a.elector->holds(1); }));
  Writer writer(*a.transport, {.fence = [&](std::uint64_t term) { return a.elector->holds(term); }});
  a.transport->loop().post([] { std::this_thread::sleep_for(std::chrono::milliseconds(900)); });
  std::promise<WriteResult> promise;
  Write write;
  write.path = "/api/v1/nodes";
  write.body = R"({"metadata":{"name":"late"}})";
  write.fence_token = 1;
  writer.submit(write, [&](WriteResult&& result) { promise.set_value(std::move(result)); });
  EXPECT_EQ(promise.get_future().get().outcome, Outcome::kFenced);
  EXPECT_FALSE(api.get("/api/v1/nodes/late").has_value());
}

TEST(Leader, AnotherClientsWriteToTheLeaseIsNotTheEnd) {
  FakeApiServer api;
  Candidate a(api, "a");
  ASSERT_TRUE(wait_for([&] { return a.elector->is_leader(); }));
  for (int i = 0; i < 5; ++i) {
    api.change(kLease, [&](Json& lease) { lease["metadata"]["labels"]["n"] = std::to_string(i); });
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
  }
  EXPECT_TRUE(a.elector->holds(1));
  EXPECT_EQ(a.stopped.load(), 0u);
}

TEST(Leader, OptionsAreChecked) {
  FakeApiServer api;
  auto transport = *Transport::create(api.config());
  LeaderOptions options;
  EXPECT_FALSE(LeaderElector::create(*transport, options));
  options.identity = "a";
  options.renew_deadline = 15 * kSecond;
  const auto refused = LeaderElector::create(*transport, options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(
      refused.error().message,
      "leader election: the lease duration (15000 ms) must be longer than the renew deadline (15000 ms)");
  options.renew_deadline = 10 * kSecond;
  options.retry_period = 9 * kSecond;
  EXPECT_FALSE(LeaderElector::create(*transport, options));
  EXPECT_NE(make_identity(), make_identity());
}

}  // namespace
}  // namespace berth::kube

// Against a real API server: BERTH_TEST_KUBECONFIG names its kubeconfig (tests/e2e starts such servers). Skipped without.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "kube/discovery.h"
#include "kube/leader.h"
#include "kube/paths.h"
#include "kube/reflector.h"
#include "kube/wait_support.h"
#include "kube/writer.h"
#include "kube/writes.h"

namespace berth::kube {
namespace {

using testing::wait_for;

struct CpuTime {
  static double now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
};

int pods_from_environment() {
  const char* text = std::getenv("BERTH_TEST_PODS");
  return text == nullptr ? 200 : std::max(1, std::atoi(text));
}

class RealApi : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    const char* path = std::getenv("BERTH_TEST_KUBECONFIG");
    if (path == nullptr) GTEST_SKIP() << "BERTH_TEST_KUBECONFIG is not set";
    auto config = read_kubeconfig(path);
    ASSERT_TRUE(config) << config.error().str();
    auto made = Transport::create(*config, {.http2 = GetParam()});
    ASSERT_TRUE(made) << made.error().str();
    transport = std::move(*made);
  }
  std::unique_ptr<Transport> transport;
};

TEST_P(RealApi, CreatesWatchesBindsAndDeletes) {
  const int count = pods_from_environment();
  Discovery discovery(*transport);
  const auto known = discovery.refresh();
  ASSERT_TRUE(known) << known.error().str();
  EXPECT_TRUE(discovery.serves("", "v1", "pods"));
  EXPECT_EQ(discovery.version_of("coordination.k8s.io", "leases"), "v1");

  std::mutex mutex;
  std::unordered_map<std::string, std::string> uids;
  std::map<std::string, int> refusals;
  std::atomic<int> bound{0};
  std::atomic<int> gone{0};
  Reflector pods(*transport, {.path = kPods.collection("default"), .label_selector = "berth-test=binds"},
                 [&](const Change& change) {
                   if (change.type == ChangeType::kAdded) {
                     const std::lock_guard lock(mutex);
                     uids.emplace(change.name, change.uid);
                   } else if (change.type == ChangeType::kModified &&
                              change.object.find("\"nodeName\":\"") != std::string_view::npos) {
                     bound.fetch_add(1);
                   } else if (change.type == ChangeType::kDeleted) {
                     gone.fetch_add(1);
                   }
                 });
  ASSERT_TRUE(wait_for([&] { return pods.stats().synced.load(); })) << pods.last_problem();

  Writer writer(*transport, {});
  std::atomic<int> made{0};
  std::atomic<int> failed{0};
  for (int i = 0; i < count; ++i) {
    const std::string name = "berth-test-" + std::to_string(i);
    writer.submit(
        create_object(
            kPods.collection("default"),
            R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                R"(","labels":{"berth-test":"binds"}},"spec":{"schedulerName":"berth","containers":[)"
                R"({"name":"c","image":"none"}]}})"),
        [&](WriteResult&& result) {
          (result.outcome == Outcome::kOk ? made : failed).fetch_add(1);
          if (result.outcome == Outcome::kOk) return;
          const std::lock_guard lock(mutex);
          ++refusals[fmt::format("{} {} {} {}", enum_name(result.outcome), result.status, result.reason,
                                 result.message.substr(0, 80))];
        });
  }
  ASSERT_TRUE(wait_for([&] { return made.load() + failed.load() == count; }, std::chrono::minutes(2)));
  {
    const std::lock_guard lock(mutex);
    ASSERT_TRUE(refusals.empty()) << ::testing::PrintToString(refusals);
  }
  ASSERT_TRUE(wait_for([&] {
    const std::lock_guard lock(mutex);
    return static_cast<int>(uids.size()) == count;
  })) << pods.last_problem();

  std::atomic<int> ok{0};
  const Nanos begin = boottime_ns();
  const double cpu = CpuTime::now();
  {
    const std::lock_guard lock(mutex);
    for (const auto& [name, uid] : uids) {
      writer.submit(
          bind_pod("default", name, uid, "node-" + std::to_string(uid.size())),
          [&](WriteResult&& result) { (result.outcome == Outcome::kOk ? ok : failed).fetch_add(1); });
    }
  }
  ASSERT_TRUE(wait_for([&] { return ok.load() + failed.load() == count; }, std::chrono::minutes(2)));
  const double seconds = static_cast<double>(boottime_ns() - begin) / 1e9;
  const double used = CpuTime::now() - cpu;
  EXPECT_EQ(ok.load(), count);
  std::printf(
      "%s: %d binds in %.2f s: %.0f/s, %.0f us of CPU each (watch included), %llu in flight at most, %llu "
      "connections\n",
      GetParam() ? "HTTP/2" : "HTTP/1.1", count, seconds, count / seconds, used * 1e6 / count,
      static_cast<unsigned long long>(writer.stats().limit.load()),
      static_cast<unsigned long long>(transport->stats().connections.load()));
  EXPECT_TRUE(wait_for([&] { return bound.load() >= count; })) << bound.load() << " " << pods.last_problem();

  {
    const std::lock_guard lock(mutex);
    for (const auto& [name, uid] : uids)
      writer.submit(delete_pod("default", name, uid, 0), [](WriteResult&&) {});
  }
  EXPECT_TRUE(wait_for([&] { return gone.load() == count; }, std::chrono::minutes(2))) << pods.last_problem();
  std::printf("watches %llu, lists %llu, expired %llu, failures %llu, lost deletes %llu\n",
              static_cast<unsigned long long>(pods.stats().watches.load()),
              static_cast<unsigned long long>(pods.stats().lists.load()),
              static_cast<unsigned long long>(pods.stats().expired.load()),
              static_cast<unsigned long long>(pods.stats().failures.load()),
              static_cast<unsigned long long>(pods.stats().lost_deletes.load()));
}

TEST_P(RealApi, StatusEventLease) {
  const Response made = transport->call(
      {.method = Method::kPost,
       .path = kPods.collection("default"),
       .body =
           R"({"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"berth-test-"},"spec":{"schedulerName":"berth","containers":[{"name":"c","image":"none"}]}})"});
  ASSERT_EQ(made.status, 201) << made.body;
  const auto field = [&](const std::string& key) {
    const std::size_t at = made.body.find("\"" + key + "\":\"") + key.size() + 4;
    return made.body.substr(at, made.body.find('"', at) - at);
  };
  const std::string name = field("name");
  const std::string uid = field("uid");
  Writer writer(*transport, {});
  const auto run = [&](Write write) {
    std::promise<WriteResult> promise;
    writer.submit(std::move(write), [&](WriteResult&& result) { promise.set_value(std::move(result)); });
    return promise.get_future().get();
  };
  const WriteResult patched = run(patch_pod_status(
      "default", name, uid,
      {{.type = "PodScheduled", .status = "False", .reason = "Unschedulable", .message = "full"}},
      "some-node"));
  EXPECT_EQ(patched.outcome, Outcome::kOk) << patched.message;
  EXPECT_NE(patched.body.find("\"nominatedNodeName\":\"some-node\""), std::string::npos);
  const WriteResult wrong = run(patch_pod_status("default", name, "00000000-0000-4000-8000-000000000000",
                                                 {{.type = "PodScheduled", .status = "True"}}));
  EXPECT_EQ(wrong.outcome, Outcome::kConflict) << wrong.status << " " << wrong.message;
  EventNote event;
  event.reason = "FailedScheduling";
  event.type = "Warning";
  event.action = "Scheduling";
  event.note = "no room";
  event.controller = "berth";
  event.instance = "berth-0";
  event.regarding = {.ns = "default", .name = name, .uid = uid};
  event.time_us = wall_us();
  const std::string event_id = event_name(event, 1);
  const WriteResult told = run(create_event(event, event_id));
  EXPECT_EQ(told.outcome, Outcome::kOk) << told.message;
  EXPECT_EQ(run(bind_pod("default", name, uid, "n1")).outcome, Outcome::kOk);
  const WriteResult again = run(bind_pod("default", name, uid, "n1"));
  EXPECT_EQ(again.outcome, Outcome::kConflict);
  EXPECT_EQ(bind_outcome(again, "n1").outcome, Outcome::kOk) << again.message;
  const WriteResult stale = run(delete_pod("default", name, "00000000-0000-4000-8000-000000000000", 0));
  EXPECT_EQ(stale.outcome, Outcome::kConflict) << stale.status << " " << stale.message;
  EXPECT_EQ(run(delete_pod("default", name, uid, 0)).outcome, Outcome::kOk);

  LeaderOptions options;
  options.ns = "default";
  options.name = GetParam() ? "berth-test-2" : "berth-test-1";
  options.identity = make_identity();
  options.retry_period = 200;
  auto elector = LeaderElector::create(*transport, options);
  ASSERT_TRUE(elector);
  EXPECT_TRUE(wait_for([&] { return (*elector)->is_leader(); })) << (*elector)->last_problem();
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  EXPECT_TRUE((*elector)->is_leader());
  EXPECT_EQ((*elector)->last_problem(), "");
  elector->reset();
  const Response lease = transport->call({.path = kLeases.object("default", options.name)});
  EXPECT_NE(lease.body.find("\"leaseDurationSeconds\":1"), std::string::npos) << lease.body;
}

INSTANTIATE_TEST_SUITE_P(Http, RealApi, ::testing::Values(false, true),
                         [](const auto& which) { return which.param ? "two" : "one"; });

}  // namespace
}  // namespace berth::kube

#include "kube/writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "kube/fake_api_server_support.h"
#include "kube/paths.h"
#include "kube/protobuf_json.h"
#include "kube/wait_support.h"
#include "kube/writes.h"

namespace berth::kube {
namespace {

using testing::FakeApiServer;
using testing::FaultKind;
using testing::Json;
using testing::wait_for;

Json pod(const std::string& name) {
  return Json{{"apiVersion", "v1"},
              {"kind", "Pod"},
              {"metadata", {{"name", name}}},
              {"spec", {{"schedulerName", "berth"}}},
              {"status", {{"phase", "Pending"}}}};
}

class WriterTest : public ::testing::Test {
 protected:
  void start(WriterOptions options = {}) {
    transport = *Transport::create(api.config());
    writer = std::make_unique<Writer>(*transport, std::move(options));
  }
  WriteResult run(Write write) {
    std::promise<WriteResult> promise;
    auto future = promise.get_future();
    writer->submit(std::move(write), [&](WriteResult&& result) { promise.set_value(std::move(result)); });
    return future.get();
  }
  std::string make_pod(const std::string& name) {
    return api.create("/api/v1/namespaces/a/pods", pod(name))["metadata"]["uid"].get<std::string>();
  }
  std::string node_of(const std::string& name) {
    return (*api.get("/api/v1/namespaces/a/pods/" + name))["spec"].value("nodeName", "");
  }

  FakeApiServer api{{.binary = true}};
  std::unique_ptr<Transport> transport;
  std::unique_ptr<Writer> writer;
};

TEST_F(WriterTest, Binds) {
  start();
  const std::string uid = make_pod("p");
  const WriteResult result = run(bind_pod("a", "p", uid, "n1"));
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  EXPECT_EQ(result.attempts, 1u);
  EXPECT_EQ(node_of("p"), "n1");
}

TEST_F(WriterTest, BindRefusals) {
  start();
  const std::string uid = make_pod("p");
  EXPECT_EQ(run(bind_pod("a", "p", "another-uid", "n1")).outcome, Outcome::kConflict);
  EXPECT_EQ(run(bind_pod("a", "q", uid, "n1")).outcome, Outcome::kNotFound);
  EXPECT_EQ(run(bind_pod("a", "p", uid, "n1")).outcome, Outcome::kOk);
  const WriteResult again = run(bind_pod("a", "p", uid, "n2"));
  EXPECT_EQ(again.outcome, Outcome::kConflict);
  EXPECT_EQ(again.reason, "Conflict");
  EXPECT_NE(again.message.find("already assigned to node \"n1\""), std::string::npos);
  EXPECT_EQ(bind_outcome(again, "n1").outcome, Outcome::kOk);
  EXPECT_EQ(bind_outcome(again, "n2").outcome, Outcome::kConflict);
}

TEST_F(WriterTest, RefusalsInBinaryFormAreRead) {
  start();
  const std::string uid = make_pod("p");
  const auto bind_to = [&](std::string_view node) {
    Write write = bind_pod("a", "p", uid, node);
    write.accept = Accept::kBinary;
    return run(std::move(write));
  };
  const WriteResult first = bind_to("n1");
  EXPECT_EQ(first.outcome, Outcome::kOk);
  EXPECT_TRUE(is_binary(first.body));
  const WriteResult again = bind_to("n2");
  EXPECT_EQ(again.outcome, Outcome::kConflict);
  EXPECT_EQ(again.reason, "Conflict");
  EXPECT_NE(again.message.find("already assigned to node \"n1\""), std::string::npos) << again.message;
}

TEST_F(WriterTest, BindWithoutAnswerIsUnknownAndNotRepeated) {
  start({.attempt_timeout = 200});
  const std::string uid = make_pod("p");
  api.add_fault({.kind = FaultKind::kDelayAnswer, .method = "POST", .delay_ms = 1500});
  const WriteResult result = run(bind_pod("a", "p", uid, "n1"));
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_EQ(result.reason, "Timeout");
  EXPECT_EQ(node_of("p"), "n1");  // it had happened
  EXPECT_EQ(api.count("POST", "binding"), 1);
}

TEST_F(WriterTest, BindWith500IsUnknown) {
  start();
  const std::string uid = make_pod("p");
  api.add_fault({.kind = FaultKind::kStatusAfter, .method = "POST", .status = 500});
  const WriteResult result = run(bind_pod("a", "p", uid, "n1"));
  EXPECT_EQ(result.outcome, Outcome::kUnknown);
  EXPECT_EQ(result.status, 500);
  EXPECT_EQ(node_of("p"), "n1");
}

TEST_F(WriterTest, ThrottledBindIsRepeatedAfterRetryAfter) {
  start();
  const std::string uid = make_pod("p");
  api.add_fault({.method = "POST", .times = 1, .status = 429, .retry_after_s = 1});
  const auto begin = std::chrono::steady_clock::now();
  const WriteResult result = run(bind_pod("a", "p", uid, "n1"));
  EXPECT_EQ(result.outcome, Outcome::kOk);
  EXPECT_EQ(result.attempts, 2u);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(950));
  EXPECT_EQ(writer->stats().throttled.load(), 1u);
  EXPECT_EQ(writer->stats().limit.load(), 16u);  // halved
}

TEST_F(WriterTest, IdempotentWritesAreRepeatedAfter500) {
  start();
  const std::string uid = make_pod("p");
  api.add_fault({.method = "PATCH", .times = 2, .status = 503});
  const WriteResult result =
      run(patch_pod_status("a", "p", uid, {{.type = "PodScheduled", .status = "False"}}));
  EXPECT_EQ(result.outcome, Outcome::kOk);
  EXPECT_EQ(result.attempts, 3u);
}

TEST_F(WriterTest, DeadlineEndsRetries) {
  start();
  const std::string uid = make_pod("p");
  api.add_fault({.method = "POST", .times = -1, .status = 429});
  Write write = bind_pod("a", "p", uid, "n1");
  write.deadline = 400;
  const WriteResult result = run(std::move(write));
  EXPECT_EQ(result.outcome, Outcome::kUnavailable);
  EXPECT_GT(api.count("POST"), 1);
  EXPECT_EQ(node_of("p"), "");
}

TEST_F(WriterTest, EventMadeByALostAttemptCountsAsMade) {
  start();
  api.add_fault({.kind = FaultKind::kCloseAfter, .method = "POST"});
  EventNote event;
  event.reason = "Scheduled";
  event.action = "Binding";
  event.controller = "berth";
  event.instance = "berth-0";
  event.regarding = {.ns = "a", .name = "p"};
  event.time_us = 1'700'000'000'000'000;
  const std::string name = event_name(event, 7);
  EXPECT_EQ(name, "p.17979cfe362a0007");
  const WriteResult result = run(create_event(event, name));
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.reason << " " << result.message;
  EXPECT_EQ(api.list("/apis/events.k8s.io/v1/namespaces/a/events").size(), 1u);
}

TEST_F(WriterTest, StatusPatchMergesConditions) {
  start();
  const std::string uid = make_pod("p");
  EXPECT_EQ(run(patch_pod_status("a", "p", uid,
                                 {{.type = "PodScheduled",
                                   .status = "False",
                                   .reason = "Unschedulable",
                                   .message = "no \"room\""}},
                                 "n7"))
                .outcome,
            Outcome::kOk);
  EXPECT_EQ(
      run(patch_pod_status("a", "p", uid, {{.type = "DisruptionTarget", .status = "True"}}, "")).outcome,
      Outcome::kOk);
  const Json status = (*api.get("/api/v1/namespaces/a/pods/p"))["status"];
  ASSERT_EQ(status["conditions"].size(), 2u);
  EXPECT_EQ(status["conditions"][0]["message"], "no \"room\"");
  EXPECT_FALSE(status.contains("nominatedNodeName"));
  EXPECT_EQ(run(patch_pod_status("a", "p", "other", {{.type = "X", .status = "True"}})).outcome,
            Outcome::kConflict);
}

TEST_F(WriterTest, DeletesOnlyThatVeryPod) {
  start();
  const std::string uid = make_pod("p");
  EXPECT_EQ(run(delete_pod("a", "p", "other")).outcome, Outcome::kConflict);
  EXPECT_EQ(run(delete_pod("a", "p", uid, 0)).outcome, Outcome::kOk);
  EXPECT_FALSE(api.get("/api/v1/namespaces/a/pods/p").has_value());
}

TEST_F(WriterTest, FenceStopsWhatWasDecidedInAnOldTerm) {
  std::atomic<std::uint64_t> term{1};
  start({.fence = [&](std::uint64_t token) { return token == term.load(); }});
  const std::string uid = make_pod("p");
  Write write = bind_pod("a", "p", uid, "n1");
  write.fence_token = 1;
  term.store(2);
  const WriteResult fenced = run(write);
  EXPECT_EQ(fenced.outcome, Outcome::kFenced);
  EXPECT_EQ(fenced.attempts, 0u);
  EXPECT_EQ(api.count("POST"), 0);
  write.fence_token = 2;
  EXPECT_EQ(run(write).outcome, Outcome::kOk);
}

TEST_F(WriterTest, BindsGoBeforeStatusesAndEvents) {
  start({.concurrency = {.start = 4, .least = 4, .most = 4}});
  api.add_fault({.kind = FaultKind::kDelay, .times = -1, .delay_ms = 20});
  std::mutex mutex;
  std::vector<char> order;
  const auto note = [&](char c) {
    return [&, c](WriteResult&&) {
      const std::lock_guard lock(mutex);
      order.push_back(c);
    };
  };
  for (int i = 0; i < 20; ++i) {
    Write low =
        create_object("/api/v1/nodes", Json{{"metadata", {{"name", "e" + std::to_string(i)}}}}.dump());
    low.write_class = WriteClass::kEvent;
    writer->submit(std::move(low), note('e'));
  }
  for (int i = 0; i < 20; ++i) {
    writer->submit(
        create_object("/api/v1/nodes", Json{{"metadata", {{"name", "b" + std::to_string(i)}}}}.dump()),
        note('b'));
  }
  ASSERT_TRUE(wait_for([&] {
    const std::lock_guard lock(mutex);
    return order.size() == 40;
  }));
  // At most one event was on its way when the binds came; the others wait for all of them.
  int events_before_last_bind = 0;
  int binds = 0;
  for (const char c : order) {
    if (c == 'b') ++binds;
    if (c == 'e' && binds < 20) ++events_before_last_bind;
  }
  EXPECT_LE(events_before_last_bind, 4);
}

TEST_F(WriterTest, NoStreamOfBindsHoldsStatusesAndEventsUp) {
  constexpr int kBinds = 400, kStatuses = 20, kEvents = 5;
  start({.concurrency = {.start = 4, .least = 4, .most = 4}});
  // The first four are on their way until all others wait.
  api.add_fault({.kind = FaultKind::kDelay, .method = "POST", .times = 4, .delay_ms = 1500});
  // The others take alike long: on a busy machine, binds would pass a write that the server has not come to.
  api.add_fault({.kind = FaultKind::kDelay, .method = "POST", .times = -1, .delay_ms = 5});
  std::mutex mutex;
  std::string order;
  const auto submit = [&](char kind, int count, WriteClass write_class) {
    for (int i = 0; i < count; ++i) {
      Write write =
          create_object("/api/v1/nodes", Json{{"metadata", {{"name", kind + std::to_string(i)}}}}.dump());
      write.write_class = write_class;
      writer->submit(std::move(write), [&, kind](WriteResult&&) {
        const std::lock_guard lock(mutex);
        order.push_back(kind);
      });
    }
  };
  submit('b', kBinds, WriteClass::kBind);
  submit('s', kStatuses, WriteClass::kStatus);
  submit('e', kEvents, WriteClass::kEvent);
  ASSERT_TRUE(wait_for([&] {
    const std::lock_guard lock(mutex);
    return order.size() == kBinds + kStatuses + kEvents;
  }));
  // Three of sixteen are statuses, one is an event.
  EXPECT_LT(order.rfind('s'), 200U) << order;
  EXPECT_LT(order.rfind('e'), 200U) << order;
  EXPECT_GT(std::count(order.begin(), order.begin() + 100, 'b'), 70) << order;
  EXPECT_EQ(writer->stats().oldest[1].load(), 0);
}

TEST_F(WriterTest, EventQueueDropsItsOldest) {
  start({.concurrency = {.start = 4, .least = 4, .most = 4}, .max_events = 10});
  api.add_fault({.kind = FaultKind::kDelay, .times = -1, .delay_ms = 100});
  std::atomic<int> ok{0};
  std::atomic<int> dropped{0};
  for (int i = 0; i < 50; ++i) {
    Write low =
        create_object("/api/v1/nodes", Json{{"metadata", {{"name", "e" + std::to_string(i)}}}}.dump());
    low.write_class = WriteClass::kEvent;
    writer->submit(std::move(low), [&](WriteResult&& result) {
      if (result.outcome == Outcome::kOk) ok.fetch_add(1);
      if (result.outcome == Outcome::kDropped && result.reason == "QueueFull") dropped.fetch_add(1);
    });
  }
  ASSERT_TRUE(wait_for([&] { return ok.load() + dropped.load() == 50; }));
  EXPECT_EQ(ok.load(), 11);  // one in flight, ten waiting
  EXPECT_TRUE(api.get("/api/v1/nodes/e49").has_value());
  EXPECT_FALSE(api.get("/api/v1/nodes/e5").has_value());
}

TEST_F(WriterTest, NewerStatusReplacesTheWaitingOne) {
  start({.concurrency = {.start = 4, .least = 4, .most = 4}});
  const std::string uid = make_pod("p");
  api.add_fault({.kind = FaultKind::kDelay, .times = -1, .delay_ms = 50});
  std::atomic<int> superseded{0};
  std::atomic<int> ok{0};
  for (int i = 0; i < 10; ++i) {
    Write write = patch_pod_status(
        "a", "p", uid, {{.type = "PodScheduled", .status = "False", .message = std::to_string(i)}});
    write.replace_key = "a/p";
    writer->submit(std::move(write), [&](WriteResult&& result) {
      (result.outcome == Outcome::kOk ? ok : superseded).fetch_add(1);
    });
  }
  ASSERT_TRUE(wait_for([&] { return ok.load() + superseded.load() == 10; }));
  EXPECT_GE(superseded.load(), 6);
  EXPECT_EQ((*api.get("/api/v1/namespaces/a/pods/p"))["status"]["conditions"][0]["message"], "9");
}

TEST_F(WriterTest, NothingIsLostAtTheEnd) {
  start({.concurrency = {.start = 4, .least = 4, .most = 4}});
  api.add_fault({.kind = FaultKind::kDelay, .times = -1, .delay_ms = 1000});
  std::atomic<int> unknown{0};
  std::atomic<int> dropped{0};
  for (int i = 0; i < 20; ++i) {
    writer->submit(
        create_object("/api/v1/nodes", Json{{"metadata", {{"name", "n" + std::to_string(i)}}}}.dump()),
        [&](WriteResult&& result) {
          if (result.outcome == Outcome::kUnknown) unknown.fetch_add(1);
          if (result.outcome == Outcome::kDropped) dropped.fetch_add(1);
        });
  }
  ASSERT_TRUE(wait_for([&] { return api.count("POST") == 4; }));
  writer.reset();
  EXPECT_EQ(unknown.load(), 4);
  EXPECT_EQ(dropped.load(), 16);
}

TEST_F(WriterTest, AThousandBinds) {
  start();
  std::vector<std::string> uids;
  for (int i = 0; i < 1000; ++i) uids.push_back(make_pod("p" + std::to_string(i)));
  std::atomic<int> ok{0};
  for (int i = 0; i < 1000; ++i) {
    writer->submit(bind_pod("a", "p" + std::to_string(i), uids[static_cast<std::size_t>(i)], "n"),
                   [&](WriteResult&& result) { ok.fetch_add(result.outcome == Outcome::kOk ? 1 : 0); });
  }
  EXPECT_TRUE(wait_for([&] { return ok.load() == 1000; }));
}

}  // namespace
}  // namespace berth::kube

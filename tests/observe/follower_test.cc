#include "observe/follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "observe/log_support.h"

namespace berth::observe {
namespace {

using ::testing::HasSubstr;

TEST(Follower, AnswersAsTheDeciderWould) {
  Follower follower;
  RecordedEngine decider({}, {}, &follower);
  testing::run_session(decider);
  ASSERT_TRUE(decider.apply(testing::gpu_gang("big", "q", 5)));
  (void)decider.decide(4000);
  follower.catch_up();
  EXPECT_EQ(follower.lag(), 0u);
  EXPECT_EQ(follower.as_of(), 4000);
  EXPECT_EQ(follower.diverged(), "");
  for (const auto* uid : {"b", "big"}) {
    const auto answer = follower.explain(uid);
    ASSERT_TRUE(answer) << answer.error().str();
    EXPECT_EQ(*answer, *decider.engine().explain(uid));
  }
  EXPECT_FALSE(follower.explain("a"));
  EXPECT_EQ(*follower.queues(), queue_states(decider.engine()));
  EXPECT_EQ(*follower.holds(), decider.engine().holds());
  EXPECT_EQ(*follower.state_json(10), state_json(decider.engine(), 10));
  const auto count = follower.ask([](const engine::Engine& engine) { return engine.node_count(); });
  EXPECT_EQ(*count, 2u);
}

TEST(Follower, FollowsTheLinesOfALog) {
  Follower follower;
  const auto log = testing::session_log();
  std::uint32_t number = 0;
  for (std::size_t at = 0; at < log.size();) {
    const auto end = log.find('\n', at);
    ASSERT_TRUE(follower.push_line(log.substr(at, end - at), "log.jsonl", ++number));
    at = end + 1;
  }
  follower.catch_up();
  EXPECT_EQ(follower.as_of(), 3000);
  EXPECT_TRUE(follower.explain("b"));
  EXPECT_FALSE(follower.push_line("{", "log.jsonl", 99));
}

TEST(Follower, SaysSoWhenItDecidesOtherwise) {
  Follower follower;
  RecordedEngine decider({}, {}, &follower);
  testing::run_session(decider);
  follower.push(5000, {Decision{DecisionKind::kStart, "ghost", {}, {}, {}, 0, {}}});
  follower.catch_up();
  EXPECT_THAT(follower.diverged(), HasSubstr("ghost"));
  const auto answer = follower.explain("b");
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
  // A new session begins anew.
  ASSERT_TRUE(follower.push_line(R"({"format":"berth-decision-log","version":1})", "x", 1));
  follower.catch_up();
  EXPECT_EQ(follower.diverged(), "");
  EXPECT_EQ(*follower.ask([](const engine::Engine& engine) { return engine.node_count(); }), 0u);
}

TEST(Follower, AnswersWhileItFollowsAndItsQueueIsBounded) {
  Follower follower({}, FollowerOptions{.most_queued = 10});
  std::atomic<bool> over = false;
  std::atomic<int> answers = 0;
  std::vector<std::thread> askers;
  for (int t = 0; t < 3; ++t) {
    askers.emplace_back([&] {
      do {
        (void)follower.explain("a");
        if (follower.queues()) ++answers;
        if (follower.lag() > 10) answers = -1'000'000;
      } while (!over);
    });
  }
  RecordedEngine decider({}, {}, &follower);
  for (int round = 0; round < 20; ++round) testing::run_session(decider);
  follower.catch_up();
  over = true;
  for (auto& asker : askers) asker.join();
  EXPECT_GT(answers, 0);
  EXPECT_EQ(follower.diverged(), "");
}

TEST(Follower, CanBeLeftWithWorkInItsQueue) {
  for (int round = 0; round < 20; ++round) {
    Follower follower;
    RecordedEngine decider({}, {}, &follower);
    testing::run_session(decider);
  }
}

TEST(State, ListsAreBoundedAndTheirLengthIsTold) {
  RecordedEngine engine;
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(engine.apply(testing::gpu_node(fmt::format("n{}", i), 2)));
  const auto json = state_json(engine.engine(), 2);
  EXPECT_THAT(json, HasSubstr(R"("nodes":{"count":5,"shown":2,"items":[{"name":"n0")"));
  EXPECT_THAT(json, ::testing::Not(HasSubstr("n2")));
}

}  // namespace
}  // namespace berth::observe

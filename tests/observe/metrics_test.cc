#include "observe/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "observe/follower.h"
#include "observe/log_support.h"

namespace berth::observe {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

MetricsOptions with_objective() {
  return {.work = {.objectives = {{0, kMinute}}}};
}

void use_everything(Metrics& metrics) {
  Follower follower({}, {.watches = {&metrics.work()}});
  RecordedEngine engine({}, {}, &follower);
  testing::run_session(engine);
  ASSERT_TRUE(engine.apply(testing::gpu_gang("waits", "q", 3)));
  (void)engine.decide(4000);
  metrics.work().set_pod("b", 0, 0, "team", "b-0");
  follower.catch_up();
  ASSERT_TRUE(follower.ask([&](const engine::Engine& of) {
    metrics.look_at(of, 9000);
    return true;
  }));
  metrics.work().decided(9000,
                         {{DecisionKind::kEvict, "b", "a", {}, {}, 5000, Reason{ReasonCode::kReclaimed}}});
  const std::vector<Decision> decisions{
      {DecisionKind::kStart, "a", {}, std::vector<SlotPlacement>(3), {}, 0, {}},
  };
  metrics.decided(decisions, 0.002);
  metrics.bound(0.5);
  metrics.watched(0.25);
  metrics.set_watch_silence(std::vector<std::pair<std::string, double>>{{"Pod", 12.5}});
  metrics.set_follower_differs(true);
  metrics.set_build("0.1.0", "0123456789ab");
  metrics.wrote("bind", WriteOutcome::kOk);
  metrics.wrote("bind", WriteOutcome::kThrottled);
  metrics.set_queue_depth("writes", 7);
  metrics.set_leader(true);
  metrics.set_follower_lag(3);
  metrics.set_log_bytes(1234);
  metrics.set_oldest_write("status", 2.5);
  metrics.set_writes_in_flight(3, 20);
  metrics.set_unreadable("Pod", 2);
  metrics.set_missing_rights(std::vector<std::pair<std::string, std::string>>{{"create", "pods/binding"}});
  metrics.set_audit_differences("usage", 1);
}

TEST(Metrics, TellsWhatHappened) {
  Metrics metrics(with_objective());
  use_everything(metrics);
  const auto text = metrics.text();
  for (const auto* line : {
           "berth_decisions_total{kind=\"start\"} 1",
           "berth_decisions_total{kind=\"hold\"} 0",
           "berth_slots_started_total 3",
           "berth_evictions_total{cause=\"Reclaimed\",queue=\"q\"} 1",
           "berth_evicted_gpu_seconds_total{cause=\"Reclaimed\",queue=\"q\"} 5",
           "berth_watch_seconds_count 1",
           "berth_watch_silence_seconds{kind=\"Pod\"} 12.5",
           "berth_follower_differs 1",
           "berth_build_info{commit=\"0123456789ab\",version=\"0.1.0\"} 1",
           "berth_decide_seconds_bucket{le=\"0.001\"} 0",
           "berth_decide_seconds_bucket{le=\"0.003\"} 1",
           "berth_bind_seconds_count 1",
           "berth_api_writes_total{kind=\"bind\",outcome=\"throttled\"} 1",
           "berth_queue_depth{stage=\"writes\"} 7",
           "berth_leader 1",
           "berth_follower_lag 3",
           "berth_log_bytes 1234",
           "berth_api_write_oldest_seconds{class=\"status\"} 2.5",
           "berth_api_writes_in_flight 3",
           "berth_api_write_limit 20",
           "berth_unreadable_objects{kind=\"Pod\"} 2",
           "berth_missing_rights{resource=\"pods/binding\",verb=\"create\"} 1",
           "berth_audit_differences{kind=\"usage\"} 1",
           "berth_pending_workloads{queue=\"q\"} 1",
           "berth_started_workloads{queue=\"q\"} 1",
           "berth_quota_nominal{flavor=\"default\",queue=\"q\",resource=\"nvidia.com/gpu\"} 6",
           "berth_quota_usage{flavor=\"default\",queue=\"q\",resource=\"nvidia.com/gpu\"} 4",
           "berth_quota_available{flavor=\"default\",queue=\"q\",resource=\"nvidia.com/gpu\"} 2",
           "berth_slots{state=\"running\"} 4",
           "berth_nodes 2",
           "berth_series_dropped 0",
       }) {
    EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
  }
}

TEST(Metrics, TheTableInTheHeaderIsComplete) {
  Metrics metrics(with_objective());
  use_everything(metrics);
  std::set<std::string> served;
  std::istringstream lines(metrics.text());
  const std::regex type("# TYPE (berth_[a-z_]+) ([a-z]+)");
  for (std::string line; std::getline(lines, line);) {
    if (std::smatch match; std::regex_match(line, match, type))
      served.insert(match.str(1) + " " + match.str(2));
  }
  std::set<std::string> documented;
  const auto header = testing::read_bytes(std::string(BERTH_SOURCE_DIR) + "/src/observe/metrics.h");
  const std::regex row("//   (berth_[a-z_]+) +(counter|gauge|histogram)");
  for (auto it = std::sregex_iterator(header.begin(), header.end(), row); it != std::sregex_iterator();
       ++it) {
    documented.insert(it->str(1) + " " + it->str(2));
  }
  EXPECT_EQ(documented, served);
  EXPECT_EQ(documented.size(), 43u);
}

TEST(Metrics, RightsThatAreThereAgainVanish) {
  Metrics metrics;
  const std::vector<std::pair<std::string, std::string>> rights{{"list", "jobs.batch"},
                                                                {"create", "pods/binding"}};
  metrics.set_missing_rights(rights);
  EXPECT_THAT(metrics.text(), HasSubstr("berth_missing_rights{resource=\"jobs.batch\",verb=\"list\"} 1"));
  metrics.set_missing_rights({});
  EXPECT_THAT(metrics.text(), Not(HasSubstr("berth_missing_rights{")));
}

TEST(Metrics, SeriesOfAGoneQueueVanish) {
  Metrics metrics;
  RecordedEngine engine;
  ASSERT_TRUE(engine.apply(FlavorUpsert{Flavor{"default", {}, {}, {}, {}}}));
  ASSERT_TRUE(engine.apply(testing::gpu_queue("short-lived", 4)));
  metrics.look_at(engine.engine(), 0);
  EXPECT_THAT(metrics.text(), HasSubstr("short-lived"));
  ASSERT_TRUE(engine.apply(QueueRemove{"short-lived"}));
  metrics.look_at(engine.engine(), 0);
  EXPECT_THAT(metrics.text(), Not(HasSubstr("short-lived")));
  ASSERT_TRUE(engine.apply(testing::gpu_queue("short-lived", 4)));
  metrics.look_at(engine.engine(), 0);
  EXPECT_THAT(metrics.text(), HasSubstr("short-lived"));
}

// Ten queues with five series each, and two of the work without a queue.
TEST(Metrics, SeriesOfQueuesAreBounded) {
  Metrics metrics(MetricsOptions{.most_queue_series = 12});
  RecordedEngine engine;
  ASSERT_TRUE(engine.apply(FlavorUpsert{Flavor{"default", {}, {}, {}, {}}}));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(engine.apply(testing::gpu_queue(fmt::format("team-{}", i), 4)));
  metrics.look_at(engine.engine(), 0);
  const auto text = metrics.text();
  std::size_t shown = 0;
  for (auto at = text.find("queue=\""); at != std::string::npos; at = text.find("queue=\"", at + 1)) ++shown;
  EXPECT_EQ(shown, 12u);
  EXPECT_THAT(text, HasSubstr("berth_series_dropped 40\n"));
}

}  // namespace
}  // namespace berth::observe

// Questions: the place of a workload in line.
#include "scheduler/loop/questions.h"

#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "scheduler/workload_support.h"

namespace berth::scheduler::testing {
namespace {

class QuestionsTest : public WorkloadObjectsTest {
 protected:
  QuestionsTest() { restart(2); }
  void restart(int gpus) {
    w_.reset();
    follower_ = std::make_unique<observe::Follower>();
    start(default_options(), gpus);
    w_->object(dialect::Kind::kLocalQueue, "guests",
               R"({"metadata":{"name":"guests","namespace":"default"},"spec":{"clusterQueue":"cq"}})");
    questions_ = std::make_unique<Questions>(inbox_, follower_.get());
    questions_->open(*w_->core);
  }
  ~QuestionsTest() override { w_.reset(); }  // before the follower

  Result<std::vector<dialect::PendingPlace>> ask(dialect::PendingQuestion question) {
    follower_->catch_up();
    auto answer = std::async(std::launch::async, [&] { return questions_->pending(question); });
    Batch batch;
    while (answer.wait_for(std::chrono::milliseconds(0)) != std::future_status::ready) {
      inbox_.take(batch, 5);
      w_->core->take(batch, w_->now);
    }
    return answer.get();
  }
  // "name of queue at PLACE/PLACE in its LocalQueue"
  std::vector<std::string> line(const std::string& ns = "", const std::string& queue = "cq",
                                std::int64_t offset = 0, std::int64_t limit = 1000) {
    std::vector<std::string> out;
    const auto places = ask({"v1beta2", ns, queue, offset, limit});
    if (!places) return {places.error().message};
    for (const auto& place : *places)
      out.push_back(fmt::format("{} of {} at {}/{}",
                                place.owners.empty() ? place.name : place.owners.front().name,
                                place.local_queue, place.in_cluster_queue, place.in_local_queue));
    return out;
  }
  using Lines = std::vector<std::string>;

  Inbox inbox_;
  std::unique_ptr<Questions> questions_;
};

TEST_F(QuestionsTest, PlacesAreTheOrderOfTheQueue) {
  job({.name = "runs", .pods = 2});
  settle();
  EXPECT_EQ(line(), Lines{});
  job({.name = "first", .pods = 2});
  settle();
  job({.name = "guest", .pods = 1, .queue = "guests"});
  job({.name = "urgent", .pods = 100, .priority = 0});
  settle();
  job({.name = "last", .pods = 1});
  settle();
  EXPECT_EQ(line(), (Lines{"first of team at 0/0", "guest of guests at 1/0", "urgent of team at 2/1",
                           "last of team at 3/2"}));
  EXPECT_EQ(line("default", "team"),
            (Lines{"first of team at 0/0", "urgent of team at 2/1", "last of team at 3/2"}));
  EXPECT_EQ(line("default", "guests"), (Lines{"guest of guests at 1/0"}));

  // In pages.
  EXPECT_EQ(line("", "cq", 1, 2), (Lines{"guest of guests at 1/0", "urgent of team at 2/1"}));
  EXPECT_EQ(line("default", "team", 1, 1), (Lines{"urgent of team at 2/1"}));
  EXPECT_EQ(line("", "cq", 4, 2), Lines{});
  EXPECT_EQ(line("", "cq", kInt64Max, 100'000), Lines{});
}

TEST_F(QuestionsTest, AWorkloadIsToldAsItsObjectSays) {
  job({.name = "runs", .pods = 2, .priority = 9});
  settle();
  job({.name = "waits", .pods = 2, .priority = 7});
  w_->turn();
  auto before = ask({"v1beta2", "", "cq", 0, 10});
  ASSERT_TRUE(before && before->size() == 1u);
  EXPECT_EQ(before->front().created, 0) << "it is still to be made, under the name that is told";
  settle();
  const auto places = ask({"v1beta2", "", "cq", 0, 10});
  ASSERT_TRUE(places && places->size() == 1u);
  const auto& place = places->front();
  EXPECT_EQ(place.ns, "default");
  EXPECT_EQ(place.name, object_name("waits"));
  EXPECT_EQ(before->front().name, place.name);
  EXPECT_EQ(place.created, *text::parse_time_ms(
                               objects_.at(place.name)["metadata"]["creationTimestamp"].get<std::string>()));
  EXPECT_EQ(place.priority, 7);
  ASSERT_EQ(place.owners.size(), 1u);
  EXPECT_EQ(place.owners[0].api_version, "batch/v1");
  EXPECT_EQ(place.owners[0].kind, "Job");
  EXPECT_EQ(place.owners[0].uid, uid_of("waits"));
  // A boost moves it, and is no part of its priority.
  objects_.at(place.name)["metadata"]["annotations"]["kueue.x-k8s.io/priority-boost"] = "1";
  show(place.name);
  settle();
  EXPECT_EQ(ask({"v1beta2", "", "cq", 0, 10})->front().priority, 7);
}

TEST_F(QuestionsTest, WhatGrowsStandsThereWhereItsSliceWaits) {
  json elastic = json::parse(job_json({.name = "grows", .pods = 2}));
  elastic["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"] = "true";
  elastic["metadata"]["creationTimestamp"] = clock();
  elastic["spec"]["completions"] = 100;
  jobs_["grows"] = elastic;
  update_job("grows");
  settle();
  EXPECT_EQ(line(), Lines{});
  json& job_object = jobs_.at("grows");
  job_object["spec"]["parallelism"] = 3;
  job_object["metadata"]["generation"] = job_object["metadata"]["generation"].get<int>() + 1;
  update_job("grows");
  pods_["grows-2"] = json::parse(job_pod({.name = "grows"}, 2));  // of the Job controller
  w_->object(dialect::Kind::kPod, "grows-2", pods_["grows-2"].dump());
  settle();
  job({.name = "later", .pods = 1});
  settle();
  EXPECT_EQ(line(), (Lines{"grows of team at 0/0", "later of team at 1/1"}));
  const auto places = ask({"v1beta2", "", "cq", 0, 1});
  EXPECT_NE(places->front().name, object_name("grows"))
      << "the slice that waits, not the one that it runs with";
}

TEST_F(QuestionsTest, QueuesThatAreNotThereAndReplicasThatDoNotDecide) {
  EXPECT_EQ(line("", "nowhere"), (Lines{"clusterqueue.visibility.kueue.x-k8s.io \"nowhere\" not found"}));
  EXPECT_EQ(line("other", "team"), (Lines{"localqueue.visibility.kueue.x-k8s.io \"team\" not found"}));
  questions_->close();
  EXPECT_EQ(line(), (Lines{"this replica does not decide now"}));
  EXPECT_EQ(questions_->explain("x").error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace berth::scheduler::testing

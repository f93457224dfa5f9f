// Elastic Jobs: a Job that runs grows and shrinks, and has a Workload per size, as in Kueue.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "scheduler/workload_support.h"

namespace berth::scheduler::testing {
namespace {

class SlicesTest : public WorkloadObjectsTest {
 protected:
  SlicesTest() { start(default_options(), 4); }
  void elastic_job(JobText text, const json& more = json::object()) {
    json object = json::parse(job_json(text));
    object["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"] = "true";
    object["metadata"]["creationTimestamp"] = clock();
    object["spec"]["completions"] = 100;
    object.merge_patch(more);
    jobs_[text.name] = object;
    update_job(text.name);
  }
  // Its owner changes it, and the Job controller follows.
  void resize(const std::string& name, int pods) {
    write_size(name, pods);
    follow(name, pods);
  }
  void follow(const std::string& name, int pods) {
    const json& job = jobs_.at(name);
    if (job["spec"].value("suspend", false)) return;
    const JobText text{.name = name, .priority = job["spec"]["template"]["spec"].value("priority", 0)};
    for (int i = 0; i < 20; ++i) {
      const std::string pod = fmt::format("{}-{}", name, i);
      if (i < pods && !pods_.contains(pod)) {
        pods_[pod] = json::parse(job_pod(text, i));
        w_->object(dialect::Kind::kPod, pod, pods_[pod].dump());
      } else if (i >= pods && pods_.erase(pod) > 0) {
        w_->pod_gone(pod);
      }
    }
    w_->turn();
  }
  void write_size(const std::string& name, int pods) {
    json& job = jobs_.at(name);
    job["spec"]["parallelism"] = pods;
    job["metadata"]["generation"] = job["metadata"]["generation"].get<int>() + 1;
    update_job(name);
  }
  void quota(int gpus) {
    write_quota(gpus);
    w_->turn();
  }
  int bound(const std::string& job) {
    int out = 0;
    for (const auto& [name, pod] : pods_)
      out += name.starts_with(job + "-") && pod["spec"].contains("nodeName") ? 1 : 0;
    return out;
  }
  // Names of its Workloads, the first slice first.
  std::vector<std::string> slices(const std::string& job) {
    std::vector<std::pair<int, std::string>> all;
    for (const auto& [name, object] : objects_) {
      if (object["metadata"]["ownerReferences"][0]["name"] != job) continue;
      const std::string slice = object["metadata"]["annotations"].value("berth.dev/workload-slice", "0");
      all.emplace_back(std::stoi(slice), name);
    }
    std::sort(all.begin(), all.end());
    std::vector<std::string> out;
    for (const auto& [generation, name] : all) out.push_back(name);
    return out;
  }
  // "True Admitted"; "" without the condition.
  std::string says(const std::string& object, const std::string& type) {
    for (const json& c : objects_.at(object)["status"].value("conditions", json::array())) {
      if (c["type"] == type) return fmt::format("{} {}", c.value("status", ""), c.value("reason", ""));
    }
    return "";
  }
  json count(const std::string& object) { return objects_.at(object)["spec"]["podSets"][0]["count"]; }
  json given(const std::string& object) {
    return objects_.at(object)["status"]["admission"]["podSetAssignments"][0]["count"];
  }
  // Four pods run, and six are wanted.
  void start_and_ask_for_six() {
    elastic_job({.name = "train", .pods = 4});
    settle();
    ASSERT_EQ(bound("train"), 4);
    resize("train", 6);
    settle();
  }
};

TEST_F(SlicesTest, WithRoomItGrowsAndAnotherWorkloadStandsForIt) {
  quota(6);
  start_and_ask_for_six();
  EXPECT_EQ(bound("train"), 6);
  EXPECT_FALSE(is_suspended("train"));
  const auto all = slices("train");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0], object_name("train"));
  EXPECT_EQ(says(all[0], "Finished"), "True WorkloadSliceReplaced");
  EXPECT_EQ(says(all[0], "Evicted"), "");
  EXPECT_EQ(count(all[0]), 4);
  EXPECT_EQ(given(all[0]), 4);
  EXPECT_EQ(says(all[1], "Finished"), "");
  EXPECT_EQ(says(all[1], "QuotaReserved"), "True QuotaReserved");
  EXPECT_EQ(says(all[1], "Admitted"), "True Admitted");
  EXPECT_EQ(count(all[1]), 6);
  EXPECT_EQ(given(all[1]), 6);
  const json marks = objects_.at(all[1])["metadata"]["annotations"];
  EXPECT_EQ(marks["kueue.x-k8s.io/elastic-job"], "true");
  EXPECT_EQ(marks["kueue.x-k8s.io/workload-slice-name"], all[0]);
  EXPECT_EQ(marks["kueue.x-k8s.io/workload-slice-replacement-for"], "default/" + all[0]);
  EXPECT_EQ(objects_.at(all[0])["metadata"]["annotations"]["kueue.x-k8s.io/workload-slice-name"], all[0]);
  EXPECT_EQ(settle(kMinute), 0);
  EXPECT_TRUE(w_->core->engine().audit());
  // And again: the chain keeps the name of the first.
  quota(7);
  resize("train", 7);
  settle();
  EXPECT_EQ(bound("train"), 7);
  const auto more = slices("train");
  ASSERT_EQ(more.size(), 3u);
  EXPECT_EQ(says(more[1], "Finished"), "True WorkloadSliceReplaced");
  const json last = objects_.at(more[2])["metadata"]["annotations"];
  EXPECT_EQ(last["kueue.x-k8s.io/workload-slice-name"], all[0]);
  EXPECT_EQ(last["kueue.x-k8s.io/workload-slice-replacement-for"], "default/" + all[1]);
}

TEST_F(SlicesTest, TheFormerIsFinishedWhenTheOtherHasItsQuota) {
  quota(6);
  elastic_job({.name = "train", .pods = 4});
  settle();
  resize("train", 6);
  for (int i = 0; i < 30; ++i) {
    w_->pass(100);
    w_->report();
    for (const Sent& sent : w_->peek()) {
      if (sent.step != Step::kWorkload || sent.body.find("WorkloadSliceReplaced") == std::string::npos)
        continue;
      const auto all = slices("train");
      ASSERT_EQ(all.size(), 2u);
      EXPECT_EQ(says(all[1], "QuotaReserved"), "True QuotaReserved");
    }
    serve();
  }
  EXPECT_EQ(says(slices("train")[0], "Finished"), "True WorkloadSliceReplaced");
}

TEST_F(SlicesTest, WithoutRoomItRunsOnAndTheNewSliceWaits) {
  quota(5);  // one of the two would fit: both or none
  start_and_ask_for_six();
  EXPECT_EQ(bound("train"), 4);
  EXPECT_FALSE(is_suspended("train"));
  auto all = slices("train");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(says(all[0], "Admitted"), "True Admitted");
  EXPECT_EQ(says(all[0], "Finished"), "");
  EXPECT_EQ(count(all[0]), 4);
  EXPECT_EQ(given(all[0]), 4);
  EXPECT_EQ(says(all[1], "QuotaReserved"), "False WaitingForQuota");
  EXPECT_EQ(says(all[1], "Admitted"), "False NoReservation");
  EXPECT_EQ(count(all[1]), 6);
  EXPECT_EQ(settle(2 * kMinute), 0) << "nothing is written, and nothing ends";
  EXPECT_EQ(bound("train"), 4);
  // The waiting slice is changed in place.
  resize("train", 7);
  settle();
  ASSERT_EQ(slices("train"), all);
  EXPECT_EQ(count(all[1]), 7);
  quota(7);
  settle();
  EXPECT_EQ(bound("train"), 7);
  ASSERT_EQ(slices("train"), all);
  EXPECT_EQ(says(all[0], "Finished"), "True WorkloadSliceReplaced");
  EXPECT_EQ(says(all[1], "Admitted"), "True Admitted");
  EXPECT_EQ(given(all[1]), 7);
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(SlicesTest, FewerPodsGiveTheirQuotaBackAndTheWorkloadSaysSo) {
  elastic_job({.name = "train", .pods = 4});
  job({.name = "other", .pods = 2});
  settle();
  EXPECT_TRUE(is_suspended("other"));
  resize("train", 2);
  settle();
  EXPECT_EQ(bound("train"), 2);
  EXPECT_EQ(bound("other"), 2);
  ASSERT_EQ(slices("train").size(), 1u);
  EXPECT_EQ(count(object_name("train")), 2);
  EXPECT_TRUE(is("train", "Admitted"));
  // A Job without the annotation says what it was admitted with.
  EXPECT_EQ(count(object_name("other")), 2);
  EXPECT_EQ(settle(kMinute), 0);
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(SlicesTest, WhateverPodsEndWhatStaysIsCounted) {
  start_and_ask_for_six();
  ASSERT_EQ(slices("train").size(), 2u);
  write_size("train", 3);
  for (const char* pod : {"train-0", "train-4", "train-5"}) {
    w_->pod_gone(pod);
    pods_.erase(pod);
  }
  w_->turn();
  settle();
  EXPECT_EQ(w_->slot("uid-train", 0), SlotState::kAbsent);
  EXPECT_EQ(w_->slot("uid-train", 3), SlotState::kRunning) << "it has the places 1 to 3";
  const auto all = slices("train");
  EXPECT_EQ(says(all[0], "Finished"), "True WorkloadSliceReplaced");
  EXPECT_EQ(given(all[1]), 3);
  job({.name = "other", .pods = 1});
  settle();
  EXPECT_EQ(bound("other"), 1);
}

TEST_F(SlicesTest, BelowWhatItHasTheSliceThatWaitedIsAdmitted) {
  start_and_ask_for_six();
  ASSERT_EQ(slices("train").size(), 2u);
  resize("train", 3);
  settle();
  EXPECT_EQ(bound("train"), 3);
  const auto all = slices("train");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(says(all[0], "Finished"), "True WorkloadSliceReplaced");
  EXPECT_EQ(says(all[1], "Admitted"), "True Admitted");
  EXPECT_EQ(count(all[1]), 3);
  EXPECT_EQ(given(all[1]), 3);
}

TEST_F(SlicesTest, MoreMayBePreemptedForAsForAnyWork) {
  quota(6);
  job({.name = "low", .pods = 2});
  settle();
  elastic_job({.name = "train", .pods = 4, .priority = 10});
  settle();
  ASSERT_EQ(bound("low"), 2);
  resize("train", 6);
  settle();
  EXPECT_TRUE(is_suspended("low"));
  EXPECT_EQ(bound("train"), 6);
}

// The engine completes a broken gang before it starts anything else, and this one is not broken.
TEST_F(SlicesTest, MoreWaitsBehindWorkThatWaitedLonger) {
  elastic_job({.name = "train", .pods = 4});
  settle();
  job({.name = "older", .pods = 2});
  settle();
  resize("train", 6);
  settle();
  job({.name = "newer", .pods = 2});
  settle();
  quota(6);
  settle();
  EXPECT_EQ(bound("train"), 4);
  EXPECT_EQ(bound("older"), 2);
  start(default_options(), 8);  // whose place is whose is in the objects
  settle();
  EXPECT_EQ(bound("train"), 6);
  EXPECT_TRUE(is_suspended("newer"));
  EXPECT_TRUE(w_->core->engine().audit());
}

// Not even for the moment before it has a Workload of its own.
TEST_F(SlicesTest, RoomThatComesWithItIsForOlderWork) {
  elastic_job({.name = "train", .pods = 4});
  settle();
  job({.name = "older", .pods = 2});
  settle();
  write_size("train", 6);
  write_quota(6);
  follow("train", 6);  // its pods are there as soon as the quota is
  settle();
  EXPECT_EQ(bound("train"), 4);
  EXPECT_EQ(bound("older"), 2);
}

TEST_F(SlicesTest, EvictedItWaitsAsAWholeWithTheSliceThatItRanWith) {
  start_and_ask_for_six();
  job({.name = "urgent", .pods = 4, .priority = 10});
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(bound("urgent"), 4);
  const auto all = slices("train");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(says(all[0], "Evicted"), "True Preempted");
  EXPECT_EQ(says(all[0], "Finished"), "");
  EXPECT_TRUE(says(all[0], "QuotaReserved").starts_with("False"));
  EXPECT_EQ(count(all[0]), 6);
  EXPECT_EQ(says(all[1], "Finished"), "True OutOfSync");
  finish("urgent");
  quota(6);
  settle();
  EXPECT_EQ(bound("train"), 6);
  EXPECT_EQ(slices("train"), all);
  EXPECT_EQ(says(all[0], "Admitted"), "True Admitted");
  EXPECT_EQ(given(all[0]), 6);
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(SlicesTest, WhileItWaitsItsWorkloadIsChangedInPlace) {
  job({.name = "first", .pods = 4});
  settle();
  elastic_job({.name = "train", .pods = 2});
  settle();
  resize("train", 3);
  settle();
  ASSERT_EQ(slices("train").size(), 1u);
  EXPECT_EQ(count(object_name("train")), 3);
  EXPECT_TRUE(is_suspended("train"));
}

TEST_F(SlicesTest, ItsEndFinishesBoth) {
  start_and_ask_for_six();
  finish("train");
  settle();
  const auto all = slices("train");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(says(all[0], "Finished"), "True Succeeded");
  EXPECT_EQ(says(all[1], "Finished"), "True OutOfSync");
  EXPECT_EQ(settle(kMinute), 0);
}

TEST_F(SlicesTest, ARestartChangesNothing) {
  start_and_ask_for_six();
  const auto all = slices("train");
  ASSERT_EQ(all.size(), 2u);
  const auto before = objects_;
  start(default_options(), 4);
  settle();
  EXPECT_EQ(bound("train"), 4);
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(slices("train"), all);
  for (const auto& name : all) {
    EXPECT_EQ(objects_.at(name)["spec"], before.at(name)["spec"]);
    EXPECT_EQ(says(name, "Finished"), "");
    EXPECT_EQ(says(name, "Evicted"), "");
  }
  EXPECT_EQ(says(all[0], "Admitted"), "True Admitted");
  EXPECT_TRUE(says(all[1], "QuotaReserved").starts_with("False"));
  // It grew, and that was not written.
  start(default_options(), 6);
  settle();
  EXPECT_EQ(bound("train"), 6);
  EXPECT_EQ(slices("train"), all);
  EXPECT_EQ(says(all[0], "Finished"), "True WorkloadSliceReplaced");
  EXPECT_EQ(says(all[1], "Admitted"), "True Admitted");
  EXPECT_EQ(given(all[1]), 6);
  start(default_options(), 6);
  EXPECT_EQ(settle(), 0);
  EXPECT_EQ(slices("train"), all);
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(SlicesTest, ARestartFindsWhatWasHalfWritten) {
  quota(6);
  start_and_ask_for_six();
  const auto all = slices("train");
  ASSERT_EQ(all.size(), 2u);
  // As if the former had not been finished yet.
  json& conditions = objects_.at(all[0])["status"]["conditions"];
  conditions.erase(std::remove_if(conditions.begin(), conditions.end(),
                                  [](const json& c) { return c["type"] == "Finished"; }),
                   conditions.end());
  ASSERT_EQ(says(all[0], "Finished"), "");
  start(default_options(), 6);
  settle();
  EXPECT_EQ(slices("train"), all);
  EXPECT_EQ(says(all[0], "Finished"), "True WorkloadSliceReplaced");
  EXPECT_EQ(says(all[1], "Admitted"), "True Admitted");
  EXPECT_EQ(bound("train"), 6);
  // As if the new one had been made, and nothing else.
  objects_.at(all[1])["status"] = json::object();
  objects_.at(all[0])["status"]["conditions"].erase(
      std::remove_if(objects_.at(all[0])["status"]["conditions"].begin(),
                     objects_.at(all[0])["status"]["conditions"].end(),
                     [](const json& c) { return c["type"] == "Finished"; }),
      objects_.at(all[0])["status"]["conditions"].end());
  start(default_options(), 6);
  settle();
  EXPECT_EQ(slices("train"), all);
  EXPECT_EQ(says(all[0], "Finished"), "True WorkloadSliceReplaced");
  EXPECT_EQ(says(all[1], "Admitted"), "True Admitted");
}

TEST_F(SlicesTest, ARestartAfterItShrankAndGrewEndsNothing) {
  elastic_job({.name = "train", .pods = 4});
  settle();
  resize("train", 3);
  settle();
  job({.name = "other", .pods = 1});
  settle();
  resize("train", 4);
  settle();
  EXPECT_EQ(bound("train"), 3);
  start(default_options(), 4);
  settle(kMinute);
  EXPECT_EQ(bound("train"), 3);
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(bound("other"), 1);
  finish("other");
  settle();
  EXPECT_EQ(bound("train"), 4);
}

TEST_F(SlicesTest, WithoutTheAnnotationWhatIsFoundInPartIsWithdrawn) {
  elastic_job({.name = "train", .pods = 4}, {{"metadata", {{"annotations", nullptr}}}});
  settle();
  ASSERT_EQ(bound("train"), 4);
  resize("train", 6);
  settle();
  EXPECT_EQ(bound("train"), 4);
  EXPECT_EQ(slices("train").size(), 1u);
  start(default_options(), 4);
  settle();
  EXPECT_TRUE(is_suspended("train"));
}

TEST_F(SlicesTest, MorePodsThatCannotBeBoundEndNothing) {
  elastic_job({.name = "train", .pods = 4});
  settle();
  quota(6);
  write_size("train", 6);
  for (const int i : {4, 5}) {
    const std::string pod = fmt::format("train-{}", i);
    w_->object(dialect::Kind::kPod, pod, job_pod({.name = "train"}, i));
  }
  w_->turn();
  int refused = 0;
  for (int i = 0; i < 900; ++i) {  // a minute and a half
    w_->pass(100);
    w_->report();
    for (const Sent& sent : w_->take(Step::kBind)) {
      ++refused;
      w_->answer(Step::kBind, sent.uid.substr(4), Outcome::kForbidden);
    }
    serve();
  }
  EXPECT_GT(refused, 2);
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(bound("train"), 4);
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(SlicesTest, PodsThatWaitDoNotMakeItUnready) {
  CoreOptions options = default_options();
  options.workload_objects.pods_ready = PodsReady{};
  options.workload_objects.pods_ready->timeout = 10 * kSecond;
  options.workload_objects.pods_ready->recovery = 10 * kSecond;
  start(options, 4);
  elastic_job({.name = "train", .pods = 4});
  settle();
  jobs_["train"]["status"]["ready"] = 4;
  update_job("train");
  settle();
  EXPECT_TRUE(is("train", "PodsReady"));
  resize("train", 6);
  settle(kMinute);
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_TRUE(is("train", "PodsReady"));
  start(options, 4);
  settle(kMinute);
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_TRUE(is("train", "PodsReady"));
}

TEST_F(SlicesTest, SmallerBeforeItsPodsHaveComeItNeedsNoMore) {
  elastic_job({.name = "train", .pods = 4});
  w_->pass(1000);
  const auto sent = w_->take(Step::kOwner);
  ASSERT_EQ(sent.size(), 1u);
  json& job = jobs_["train"];
  job = job.patch(json::parse(sent[0].body));
  job["metadata"]["generation"] = 2;
  w_->answer(Step::kOwner, "train", Outcome::kOk, "", job.dump());
  update_job("train");
  resize("train", 2);
  settle(3 * kMinute);
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(bound("train"), 2);
  WorkloadObjectsTest::job({.name = "other", .pods = 2});
  settle();
  EXPECT_EQ(bound("other"), 2) << "the places of the others are free";
  EXPECT_EQ(jobs_.at("train")["metadata"]["generation"], 3) << "it was never suspended";
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(SlicesTest, KueuesGateIsTakenOffItsTemplate) {
  json gates = json::array({{{"name", "example.com/other"}}, {{"name", "kueue.x-k8s.io/elastic-job"}}});
  elastic_job({.name = "train", .pods = 2},
              {{"spec", {{"template", {{"spec", {{"schedulingGates", gates}}}}}}}});
  settle();
  EXPECT_FALSE(is_suspended("train"));
  gates.erase(1);
  EXPECT_EQ(jobs_.at("train")["spec"]["template"]["spec"]["schedulingGates"], gates);
}

TEST_F(SlicesTest, NotWithAMinimum) {
  elastic_job({.name = "train", .pods = 4},
              {{"metadata", {{"annotations", {{"kueue.x-k8s.io/job-min-parallelism", "2"}}}}}});
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(condition("train", "QuotaReserved")["reason"], "Misconfigured");
}

TEST_F(SlicesTest, ADeletedSliceIsMadeAgain) {
  start_and_ask_for_six();
  const auto all = slices("train");
  ASSERT_EQ(all.size(), 2u);
  for (const auto& name : all) {
    const std::string uid = objects_.at(name)["metadata"]["uid"];
    objects_.erase(name);
    Inbox inbox;
    inbox.push(dialect::Kind::kWorkload,
               {kube::ChangeType::kDeleted, "default", name, uid, std::to_string(++w_->version), ""});
    Batch batch;
    inbox.take(batch, 0);
    w_->core->take(batch, w_->now);
    w_->turn();
    settle();
    EXPECT_EQ(slices("train"), all);
    EXPECT_EQ(says(all[0], "Admitted"), "True Admitted");
    EXPECT_EQ(says(all[1], "QuotaReserved"), "False WaitingForQuota");
    EXPECT_EQ(count(all[0]), 4);
    EXPECT_EQ(count(all[1]), 6);
  }
}

}  // namespace
}  // namespace berth::scheduler::testing

// Elastic Jobs whose Workloads a manager of Kueue's MultiKueue makes: the slice of a new size waits by itself, for what is more, and the
// Job gets its places when it names it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "scheduler/workload_support.h"

namespace berth::scheduler::testing {
namespace {

class PrebuiltSlicesTest : public WorkloadObjectsTest {
 protected:
  void slice(const std::string& name, int pods, const std::string& replaces = "") {
    const json job = json::parse(job_json({.name = "any"}));
    json object = {{"apiVersion", "kueue.x-k8s.io/v1beta2"}, {"kind", "Workload"}};
    object["metadata"] = {{"name", name},
                          {"namespace", "default"},
                          {"uid", "object-" + name},
                          {"creationTimestamp", clock()},
                          {"annotations", {{"kueue.x-k8s.io/elastic-job", "true"}}}};
    if (!replaces.empty())
      object["metadata"]["annotations"]["kueue.x-k8s.io/workload-slice-replacement-for"] =
          "default/" + replaces;
    object["spec"] = {{"active", true}, {"queueName", "team"}, {"priority", 0}};
    object["spec"]["podSets"] = json::array(
        {{{"name", "main"},
          {"count", pods},
          {"template", {{"metadata", json::object()}, {"spec", job["spec"]["template"]["spec"]}}}}});
    objects_[name] = object;
    show(name);
    w_->turn();
  }
  void named_job(const std::string& name, const std::string& workload, int pods) {
    json object = json::parse(job_json({.name = name, .pods = pods}));
    object["metadata"]["annotations"]["kueue.x-k8s.io/elastic-job"] = "true";
    object["metadata"]["labels"]["kueue.x-k8s.io/prebuilt-workload-name"] = workload;
    object["metadata"]["creationTimestamp"] = clock();
    object["spec"]["completions"] = 100;
    jobs_[name] = object;
    update_job(name);
  }
  // As the manager does when the new slice has been admitted; then the Job controller follows.
  void rename(const std::string& name, const std::string& workload, int pods) {
    json& job = jobs_.at(name);
    job["metadata"]["labels"]["kueue.x-k8s.io/prebuilt-workload-name"] = workload;
    job["spec"]["parallelism"] = pods;
    job["metadata"]["generation"] = job["metadata"]["generation"].get<int>() + 1;
    update_job(name);
  }
  void make_pods(const std::string& name, int pods) {
    for (int i = 0; i < pods; ++i) {
      const std::string pod = fmt::format("{}-{}", name, i);
      if (pods_.contains(pod)) continue;
      pods_[pod] = json::parse(job_pod({.name = name}, i));
      w_->object(dialect::Kind::kPod, pod, pods_[pod].dump());
    }
    w_->turn();
  }
  std::string says(const std::string& object, const std::string& type) {
    for (const json& c : objects_.at(object)["status"].value("conditions", json::array())) {
      if (c["type"] == type) return fmt::format("{} {}", c.value("status", ""), c.value("reason", ""));
    }
    return "";
  }
  json given(const std::string& object) {
    return objects_.at(object)["status"]["admission"]["podSetAssignments"][0]["count"];
  }
  int bound(const std::string& job) {
    int out = 0;
    for (const auto& [name, pod] : pods_)
      out += name.starts_with(job + "-") && pod["spec"].contains("nodeName") ? 1 : 0;
    return out;
  }
  // A Job of two pods runs with the slice "two".
  void run_two() {
    slice("two", 2);
    settle();
    named_job("train", "two", 2);
    settle();
    ASSERT_EQ(bound("train"), 2);
    ASSERT_EQ(says("two", "Admitted"), "True Admitted");
  }
};

TEST_F(PrebuiltSlicesTest, TheNewSliceAsksForWhatIsMoreAndItsJobGetsThat) {
  start(default_options(), 5);
  run_two();
  slice("five", 5, "two");
  settle();
  EXPECT_EQ(says("five", "Admitted"), "True Admitted") << "three more fit into a quota of five";
  EXPECT_EQ(given("five"), 5) << "as Kueue says it: with those that run";
  EXPECT_EQ(says("two", "Finished"), "");
  job({.name = "other"});
  settle();
  EXPECT_TRUE(is_suspended("other")) << "the room is taken";
  rename("train", "five", 5);
  settle();
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_TRUE(is_suspended("other")) << "its places are kept for the pods that are still to be made";
  make_pods("train", 5);
  settle();
  EXPECT_EQ(bound("train"), 5);
  EXPECT_EQ(says("two", "Finished"), "True WorkloadSliceReplaced");
  EXPECT_EQ(says("two", "Evicted"), "");
  EXPECT_EQ(says("five", "Admitted"), "True Admitted");
  EXPECT_EQ(says("five", "Finished"), "");
  EXPECT_EQ(given("five"), 5);
  EXPECT_TRUE(is_suspended("other"));
  EXPECT_EQ(settle(kMinute), 0) << "nothing is written twice";
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(PrebuiltSlicesTest, WithoutRoomForWhatIsMoreItWaitsAndTheJobRunsOn) {
  start(default_options(), 4);
  run_two();
  slice("five", 5, "two");
  settle();
  EXPECT_EQ(says("five", "QuotaReserved").substr(0, 5), "False");
  EXPECT_EQ(bound("train"), 2);
  EXPECT_FALSE(is_suspended("train"));
  write_quota(5);
  w_->turn();
  settle();
  EXPECT_EQ(says("five", "Admitted"), "True Admitted");
}

TEST_F(PrebuiltSlicesTest, TheFormerMayGoBeforeItsJobNamesTheNewOne) {
  start(default_options(), 5);
  run_two();
  slice("three", 3, "two");
  settle();
  remove_object("two");
  settle();
  EXPECT_FALSE(is_suspended("train"));
  rename("train", "three", 3);
  make_pods("train", 3);
  settle();
  EXPECT_EQ(bound("train"), 3);
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_EQ(says("three", "Admitted"), "True Admitted");
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(PrebuiltSlicesTest, PlacesOfPodsThatAreNotWantedAnyMoreGoBack) {
  start(default_options(), 5);
  run_two();
  slice("five", 5, "two");
  settle();
  rename("train", "five", 5);
  job({.name = "other"});
  settle();
  EXPECT_TRUE(is_suspended("other"));
  rename("train", "five", 3);  // its manager has changed its mind before a pod was made
  settle();
  EXPECT_FALSE(is_suspended("train"));
  EXPECT_FALSE(is_suspended("other"));
  make_pods("train", 3);
  settle();
  EXPECT_EQ(bound("train"), 3);
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(PrebuiltSlicesTest, APreemptedJobGivesAllOfItBack) {
  start(default_options(), 5);
  run_two();
  slice("five", 5, "two");
  settle();
  rename("train", "five", 5);
  job({.name = "urgent", .pods = 4, .priority = 10});
  settle();
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_FALSE(is_suspended("urgent"));
  EXPECT_EQ(bound("urgent"), 4);
  EXPECT_TRUE(w_->core->engine().audit());
}

TEST_F(PrebuiltSlicesTest, ItShrinksWithItsWorkload) {
  start(default_options(), 5);
  run_two();
  objects_["two"]["spec"]["podSets"][0]["count"] = 1;  // the one comes before the other
  show("two");
  w_->turn();
  settle();
  EXPECT_FALSE(is_suspended("train"));
  rename("train", "two", 1);
  w_->pod_gone("train-1");
  pods_.erase("train-1");
  settle();
  EXPECT_EQ(says("two", "Finished"), "");
  EXPECT_EQ(says("two", "Admitted"), "True Admitted");
  EXPECT_EQ(bound("train"), 1);
}

TEST_F(PrebuiltSlicesTest, AJobThatGrowsWithoutASliceIsOutOfSync) {
  start(default_options(), 5);
  run_two();
  rename("train", "two", 3);
  settle();
  EXPECT_EQ(says("two", "Finished"), "True OutOfSync");
  EXPECT_TRUE(is_suspended("train"));
}

}  // namespace
}  // namespace berth::scheduler::testing

// Queues whose nodes come on demand: work that lacks nodes alone is let out on its quota, and an autoscaler makes the nodes.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "scheduler/workload_support.h"

namespace berth::scheduler::testing {
namespace {

class OnDemandTest : public WorkloadObjectsTest {
 protected:
  OnDemandTest() { boot(true); }
  void boot(bool on_demand, int quota = 16) {
    CoreOptions options = default_options();
    options.intake.nodes_on_demand = on_demand;
    options.on_demand.within = kMinute;
    start(options, quota);
    run();
  }
  // Some time goes by; notes what pods are told.
  void run(DurationMs time = 3 * kSecond) {
    for (DurationMs t = 0; t < time; t += 100) {
      w_->pass(100);
      w_->report();
      for (const Sent& sent : w_->take(Step::kStatus)) {
        told_[sent.uid.substr(4)] = condition_field(sent, "reason");
        words_[sent.uid.substr(4)] = condition_field(sent, "message");
        w_->answer(Step::kStatus, sent.uid.substr(4), Outcome::kOk);
      }
      for (const Sent& sent : w_->take(Step::kEvent)) events_ += sent.body + "\n";
      for (const Sent& sent : w_->take(Step::kNodePools)) {
        EXPECT_EQ(sent.path, "/apis/karpenter.sh/v1/nodepools");
        answer(sent.uid, pools_.is_null() ? Outcome::kNotFound : Outcome::kOk, pools_.dump(),
               Step::kNodePools);
      }
      serve();
    }
  }
  // The limit of a NodePool that has made `used` GPUs.
  void limit(int gpus, int used) {
    const json amount = {{"nvidia.com/gpu", std::to_string(used)}};
    pools_["items"] = json::array({{{"metadata", {{"name", "gpu"}}},
                                    {"spec", {{"limits", {{"nvidia.com/gpu", gpus}}}}},
                                    {"status", {{"resources", amount}}}}});
  }
  int bound(const std::string& job) const {
    int out = 0;
    for (const auto& [name, pod] : pods_) {
      if (name.starts_with(job + "-") && pod["spec"].contains("nodeName")) ++out;
    }
    return out;
  }
  int pods(const std::string& job) const {
    int out = 0;
    for (const auto& [name, pod] : pods_) out += name.starts_with(job + "-") ? 1 : 0;
    return out;
  }
  void queue_says(const std::string& words, int quota = 16) {
    w_->object(
        dialect::Kind::kClusterQueue, "cq",
        json{{"metadata", {{"name", "cq"}, {"annotations", {{"berth.dev/nodes", words}}}}},
             {"spec",
              {{"namespaceSelector", json::object()},
               {"resourceGroups",
                json::array(
                    {{{"coveredResources", {"cpu", "nvidia.com/gpu"}},
                      {"flavors",
                       json::array({{{"name", "any"},
                                     {"resources", json::array({{{"name", "cpu"}, {"nominalQuota", "100"}},
                                                                {{"name", "nvidia.com/gpu"},
                                                                 {"nominalQuota", quota}}})}}})}}})}}}}
            .dump());
    w_->turn();
  }
  std::string events_;
  json pools_;                                       // NodePools; null: the API server has none
  std::map<std::string, std::string> told_, words_;  // by pod
};

TEST_F(OnDemandTest, WorkThatLacksNodesAloneIsLetOutAndBoundWhole) {
  job({.name = "big", .pods = 3, .gpus = 4});  // there are 8 on one node
  run();
  EXPECT_FALSE(is_suspended("big"));
  ASSERT_EQ(pods("big"), 3);
  EXPECT_EQ(bound("big"), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(told_[fmt::format("big-{}", i)], "Unschedulable") << i;
  EXPECT_TRUE(is("big", "QuotaReserved"));
  EXPECT_FALSE(is("big", "Admitted"));
  w_->node("n2", 2);
  run();
  EXPECT_EQ(bound("big"), 0) << "nodes for two of three";
  w_->node("n3", 8);
  run();
  EXPECT_EQ(bound("big"), 3);
  EXPECT_TRUE(is("big", "Admitted"));
}

TEST_F(OnDemandTest, PodsThatComeLateAskToo) {
  job({.name = "big", .pods = 3, .gpus = 4});
  std::vector<Sent> release;
  for (int i = 0; i < 50 && release.empty(); ++i) {
    w_->pass(100);
    w_->report();
    for (const Sent& sent : w_->take(Step::kNodePools))
      answer(sent.uid, Outcome::kNotFound, "", Step::kNodePools);
    release = w_->take(Step::kOwner);
  }
  ASSERT_EQ(release.size(), 1U);
  json& object = jobs_.at("big");
  object = object.patch(json::parse(release[0].body));
  object["metadata"]["generation"] = 2;
  object["metadata"]["resourceVersion"] = std::to_string(++w_->version);
  w_->answer(Step::kOwner, "big", Outcome::kOk, "", object.dump());
  update_job("big");
  run(10 * kSecond);
  for (int i = 0; i < 3; ++i) {
    const std::string name = fmt::format("big-{}", i);
    pods_[name] = json::parse(job_pod({.name = "big", .gpus = 4}, i));
    w_->object(dialect::Kind::kPod, name, pods_[name].dump());
  }
  run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(told_[fmt::format("big-{}", i)], "Unschedulable") << i;
}

TEST_F(OnDemandTest, WorkThatFitsStartsAsEver) {
  job({.name = "small", .pods = 2, .gpus = 4});
  run();
  EXPECT_EQ(bound("small"), 2);
  EXPECT_TRUE(told_.empty()) << "nothing asks for nodes";
}

TEST_F(OnDemandTest, NoMoreIsLetOutThanQuotaAllows) {
  boot(true, 12);
  job({.name = "one", .pods = 3, .gpus = 4});
  run();
  job({.name = "two", .pods = 3, .gpus = 4});
  run();
  EXPECT_EQ(is_suspended("one") ? 1 : 0, 0);
  EXPECT_TRUE(is_suspended("two"));
  EXPECT_EQ(pods("two"), 0);
  w_->node("n2", 8);
  run();
  EXPECT_EQ(bound("one"), 3);
  complete("one", 3);
  run();
  EXPECT_EQ(bound("two"), 3);
}

TEST_F(OnDemandTest, WithoutTheWordAJobWaitsSuspended) {
  boot(false);
  job({.name = "big", .pods = 3, .gpus = 4});
  run();
  EXPECT_TRUE(is_suspended("big"));
  queue_says("on-demand");
  run();
  EXPECT_FALSE(is_suspended("big")) << "work that waits learns what its queue says";
  EXPECT_EQ(pods("big"), 3);
}

TEST_F(OnDemandTest, AQueueAndAFlavorMaySayThatNodesAreAtHand) {
  queue_says("at-hand");
  job({.name = "big", .pods = 3, .gpus = 4});
  run();
  EXPECT_TRUE(is_suspended("big"));
  w_->object(dialect::Kind::kResourceFlavor, "any",
             R"({"metadata":{"name":"any","annotations":{"berth.dev/nodes":"on-demand"}}})");
  run();
  EXPECT_FALSE(is_suspended("big")) << "the flavor's own word counts";
}

TEST_F(OnDemandTest, ItIsTakenBackWhenNodesDoNotComeAndAsksAgainLater) {
  job({.name = "big", .pods = 3, .gpus = 4});
  run();
  ASSERT_EQ(pods("big"), 3);
  run(kMinute);
  EXPECT_TRUE(is_suspended("big"));
  EXPECT_EQ(pods("big"), 0);
  EXPECT_FALSE(is("big", "QuotaReserved"));
  job({.name = "other", .pods = 4, .gpus = 2});  // its quota is free for others
  run();
  EXPECT_EQ(bound("other"), 4);
  complete("other", 4);
  run(45 * kSecond);
  EXPECT_TRUE(is_suspended("big")) << "the rest is a minute";
  run(30 * kSecond);
  EXPECT_FALSE(is_suspended("big"));
  run(kMinute);
  EXPECT_TRUE(is_suspended("big")) << "late again";
  run(90 * kSecond);
  EXPECT_TRUE(is_suspended("big")) << "the second rest is two minutes";
  w_->node("n2", 8);
  run(15 * kSecond);
  EXPECT_EQ(bound("big"), 3) << "nodes that are there are used also while it rests";
}

TEST_F(OnDemandTest, NothingOfAGangIsLetOutThatANodePoolDoesNotAllow) {
  limit(8, 0);
  job({.name = "big", .pods = 5, .gpus = 3});  // two fit, nine GPUs are to be made
  run();
  EXPECT_TRUE(is_suspended("big"));
  EXPECT_NE(events_.find("NodePool gpu allows 8 more nvidia.com/gpu (spec.limits), and 9 are asked for"),
            std::string::npos)
      << events_;
  limit(9, 0);
  run(15 * kSecond);
  EXPECT_FALSE(is_suspended("big"));
  EXPECT_EQ(pods("big"), 5);
}

TEST_F(OnDemandTest, APodThatALimitHoldsBackSaysSoAndBuysNothing) {
  limit(8, 8);
  JobText text{.name = "loose", .pods = 3, .suspend = false, .gpus = 4};
  job(text);
  for (int i = 0; i < 3; ++i) {
    const std::string name = fmt::format("loose-{}", i);
    pods_[name] = json::parse(job_pod(text, i));
    w_->object(dialect::Kind::kPod, name, pods_[name].dump());
  }
  run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(told_[fmt::format("loose-{}", i)], "NodesNotAsked") << i;
  EXPECT_NE(words_["loose-0"].find("NodePool gpu allows 0 more nvidia.com/gpu"), std::string::npos)
      << words_["loose-0"];
  limit(16, 8);
  run(15 * kSecond);
  EXPECT_EQ(told_["loose-0"], "Unschedulable");
}

TEST_F(OnDemandTest, WhatIsLetOutCountsAgainstALimit) {
  boot(true, 100);
  limit(12, 0);
  job({.name = "one", .pods = 4, .gpus = 4});  // two fit, eight GPUs are to be made
  run();
  EXPECT_FALSE(is_suspended("one"));
  job({.name = "two", .pods = 2, .gpus = 8});
  run();
  EXPECT_TRUE(is_suspended("two"));
}

TEST_F(OnDemandTest, NodesThatALimitDoesNotKnowYetCountAgainstIt) {
  boot(true, 100);
  limit(12, 0);
  job({.name = "one", .pods = 4, .gpus = 4});  // two fit, eight GPUs are to be made
  run();
  w_->node("n2", 8);  // Karpenter has not written into its NodePool that it made it
  run(kSecond);
  ASSERT_EQ(bound("one"), 4);
  job({.name = "two", .pods = 2, .gpus = 4});
  run();
  EXPECT_TRUE(is_suspended("two"));
  limit(12, 8);
  run(15 * kSecond);
  EXPECT_TRUE(is_suspended("two")) << "four GPUs are left";
  limit(16, 8);
  run(15 * kSecond);
  EXPECT_FALSE(is_suspended("two"));
}

TEST_F(OnDemandTest, PodsOfAGangAskOnlyWhileTheyHaveQuota) {
  for (int i = 0; i < 3; ++i) {
    JobText text{.name = "loose", .pods = 3, .suspend = false, .gpus = 4};
    if (i == 0) job(text);
    const std::string name = fmt::format("loose-{}", i);
    pods_[name] = json::parse(job_pod(text, i, "", false, 4));
    w_->object(dialect::Kind::kPod, name, pods_[name].dump());
  }
  run();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(told_[fmt::format("loose-{}", i)], "Unschedulable") << i;
  w_->node("n2", 8);
  run();
  EXPECT_EQ(bound("loose"), 3);
}

TEST_F(OnDemandTest, AUserMaySuspendItMeanwhile) {
  job({.name = "big", .pods = 3, .gpus = 4});
  run();
  ASSERT_EQ(pods("big"), 3);
  jobs_["big"]["spec"]["suspend"] = true;
  jobs_["big"]["metadata"]["generation"] = 9;
  update_job("big");
  for (int i = 0; i < 3; ++i) {
    pods_.erase(fmt::format("big-{}", i));
    w_->pod_gone(fmt::format("big-{}", i));
  }
  w_->node("n2", 8);
  run();
  EXPECT_EQ(bound("big"), 3) << "a suspended Job of a queue is Berth's to release";
}

TEST_F(OnDemandTest, ItsNodesMayComeBeforeItsPods) {
  job({.name = "big", .pods = 3, .gpus = 4});
  w_->node("n2", 8);  // before the Job controller has made any pod
  run();
  EXPECT_EQ(bound("big"), 3);
  EXPECT_TRUE(told_.empty());
}

TEST_F(OnDemandTest, ARestartGoesOn) {
  job({.name = "big", .pods = 3, .gpus = 4});
  run();
  ASSERT_EQ(pods("big"), 3);
  boot(true);
  EXPECT_EQ(bound("big"), 0);
  w_->node("n2", 8);
  run();
  EXPECT_EQ(bound("big"), 3);
}

TEST_F(OnDemandTest, WorkOfHigherPriorityTakesItsQuota) {
  boot(true, 12);
  w_->object(dialect::Kind::kClusterQueue, "cq", R"({"metadata":{"name":"cq"},"spec":{
      "namespaceSelector":{},"preemption":{"withinClusterQueue":"LowerPriority"},
      "resourceGroups":[{"coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{"name":"any","resources":[
      {"name":"cpu","nominalQuota":"100"},{"name":"nvidia.com/gpu","nominalQuota":"12"}]}]}]}})");
  job({.name = "low", .pods = 3, .gpus = 4});
  run();
  ASSERT_EQ(pods("low"), 3);
  job({.name = "high", .pods = 3, .priority = 100, .gpus = 4});
  run();
  EXPECT_TRUE(is_suspended("low"));
  EXPECT_EQ(pods("low"), 0);
  EXPECT_FALSE(is_suspended("high"));
  EXPECT_EQ(pods("high"), 3);
}

}  // namespace
}  // namespace berth::scheduler::testing

// Kueue's provisioning check, which Berth answers itself: quota first, then nodes, then the start.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "scheduler/workload_support.h"

namespace berth::scheduler::testing {
namespace {

class ProvisioningTest : public WorkloadObjectsTest {
 protected:
  ProvisioningTest() { boot(); }
  // Berth starts, and reads what is there. `kueue`: "" = Kueue runs here itself.
  void boot(std::string_view kueue = "v1beta2") {
    const TimeMs now = w_->now;
    const int version = w_->version;
    w_ = std::make_unique<World>(default_options());
    w_->now = now;
    w_->version = version;
    w_->object(dialect::Kind::kResourceFlavor, "spot",
               R"({"metadata":{"name":"spot"},"spec":{"nodeLabels":{"pool":"spot"},
                   "tolerations":[{"key":"spot","operator":"Exists"}]}})");
    check("nodes", "any-nodes");
    config(json::object());
    queue(json::array({{{"name", "nodes"}}}));
    w_->object(dialect::Kind::kLocalQueue, "team",
               R"({"metadata":{"name":"team","namespace":"default"},"spec":{"clusterQueue":"cq"}})");
    for (auto& [name, object] : objects_) show(name);
    for (auto& [name, job] : jobs_) w_->object(dialect::Kind::kJob, name, job.dump());
    for (auto& [name, request] : requests_)
      w_->object(dialect::Kind::kProvisioningRequest, name, request.dump());
    w_->core->set_kueue_version(kueue, w_->now);
    w_->core->set_provisioning_version("v1", w_->now);
    w_->recover();
  }
  void queue(const json& checks) {
    json object = json::parse(R"({"metadata":{"name":"cq"},"spec":{
      "namespaceSelector":{},"preemption":{"withinClusterQueue":"LowerPriority"},
      "resourceGroups":[{"coveredResources":["cpu","nvidia.com/gpu"],"flavors":[{"name":"spot","resources":[
      {"name":"cpu","nominalQuota":"100"},{"name":"nvidia.com/gpu","nominalQuota":"2"}]}]}]}})");
    object["spec"]["admissionChecksStrategy"]["admissionChecks"] = checks;
    w_->object(dialect::Kind::kClusterQueue, "cq", object.dump());
  }
  void check(const std::string& name, const std::string& config_name) {
    check_ = {
        {"metadata", {{"name", name}, {"uid", "check"}}},
        {"spec",
         {{"controllerName", "kueue.x-k8s.io/provisioning-request"},
          {"parameters",
           {{"apiGroup", "kueue.x-k8s.io"}, {"kind", "ProvisioningRequestConfig"}, {"name", config_name}}}}}};
    w_->object(dialect::Kind::kAdmissionCheck, name, check_.dump());
  }
  // Writes of the status of checks that are on their way.
  std::vector<Sent> take_checks() {
    auto sent = w_->take(Step::kQueue);
    std::erase_if(sent, [](const Sent& s) { return s.path.find("/admissionchecks/") == std::string::npos; });
    return sent;
  }
  void do_check(const Sent& sent) {
    EXPECT_EQ(sent.path, "/apis/kueue.x-k8s.io/v1beta2/admissionchecks/nodes/status");
    check_["status"] = json::parse(sent.body)["status"];
    check_["metadata"]["resourceVersion"] = std::to_string(w_->version + 1);
    active_ = check_["status"]["conditions"][0]["status"];
    answer(sent.uid, Outcome::kOk, check_.dump(), Step::kQueue);
    w_->object(dialect::Kind::kAdmissionCheck, "nodes", check_.dump());
  }
  void config(const json& more) {
    json spec = {{"provisioningClassName", "check-capacity.autoscaling.x-k8s.io"},
                 {"parameters", {{"region", "north"}}}};
    spec.update(more);
    w_->object(dialect::Kind::kProvisioningRequestConfig, "any-nodes",
               json{{"metadata", {{"name", "any-nodes"}}}, {"spec", spec}}.dump());
  }
  void add_node(const std::string& name) {
    w_->object(dialect::Kind::kNode, name,
               json{{"metadata", {{"name", name}, {"labels", {{"pool", "spot"}}}}},
                    {"status",
                     {{"allocatable", {{"cpu", "16"}, {"nvidia.com/gpu", "1"}, {"pods", "110"}}},
                      {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}}
                   .dump());
  }
  // As the API server does what was sent.
  void provision() {
    for (const Sent& sent : w_->take(Step::kProvision)) {
      if (sent.path.ends_with("/podtemplates")) {
        const json body = json::parse(sent.body);
        templates_[body["metadata"]["name"]] = body;
      } else if (sent.path.ends_with("/provisioningrequests")) {
        json body = json::parse(sent.body);
        const std::string name = body["metadata"]["name"];
        body["metadata"]["uid"] = "request-" + name;
        EXPECT_FALSE(requests_.contains(name)) << name << " is made twice";
        ++made_;
        requests_[name] = body;
        show_request(name);
        if (looks_first_) w_->report();
      } else {
        const std::string name = sent.path.substr(sent.path.rfind('/') + 1);
        EXPECT_EQ(json::parse(sent.body)["preconditions"]["uid"], requests_[name]["metadata"]["uid"]);
        requests_.erase(name);
        gone(name);
      }
      answer(sent.uid, Outcome::kOk, "", Step::kProvision);
    }
  }
  void show_request(const std::string& name) {
    w_->object(dialect::Kind::kProvisioningRequest, name, requests_.at(name).dump());
    w_->turn();
  }
  void gone(const std::string& name) {
    Inbox inbox;
    kube::Change change;
    change.type = kube::ChangeType::kDeleted;
    change.ns = "default";
    change.name = name;
    inbox.push(dialect::Kind::kProvisioningRequest, change);
    Batch batch;
    inbox.take(batch, 0);
    w_->core->take(batch, w_->now);
    w_->turn();
  }
  void run(DurationMs time = 3 * kSecond) {
    for (DurationMs t = 0; t < time; t += 100) {
      w_->pass(100);
      w_->report();
      for (const Sent& sent : take_checks()) do_check(sent);
      serve();
      provision();
    }
  }
  // The autoscaler says so of the only request.
  void says(const std::string& type, const std::string& message, bool yes = true) {
    ASSERT_EQ(requests_.size(), 1u);
    json& status = requests_.begin()->second["status"];
    status["conditions"].push_back(
        {{"type", type}, {"status", yes ? "True" : "False"}, {"message", message}});
    show_request(requests_.begin()->first);
  }
  json state(const std::string& job) {
    for (const json& c : object_of(job)["status"].value("admissionChecks", json::array())) {
      if (c["name"] == "nodes") return c;
    }
    return {};
  }
  std::string request_of(const std::string& job, int attempt) {
    return fmt::format("{}-nodes-{}", object_name(job), attempt);
  }
  // Job train, of one pod.
  void start_on_bought_node() {
    job({.name = "train", .pods = 1});
    run();
    add_node("n1");
    says("Provisioned", "");
    run();
  }
  bool runs(const std::string& job) {
    return pods_.contains(job + "-0") && pods_[job + "-0"]["spec"].contains("nodeName");
  }

  // A Workload that another client made.
  void prebuilt(const std::string& name, int pods, const json& annotations) {
    const json job = json::parse(job_json({.name = "any"}));
    json object = {{"apiVersion", "kueue.x-k8s.io/v1beta2"}, {"kind", "Workload"}};
    object["metadata"] = {{"name", name},
                          {"namespace", "default"},
                          {"uid", "object-" + name},
                          {"annotations", annotations},
                          {"creationTimestamp", "2026-01-01T00:00:00Z"}};
    object["spec"] = {{"active", true}, {"queueName", "team"}, {"priority", 0}};
    object["spec"]["podSets"] = json::array(
        {{{"name", "main"},
          {"count", pods},
          {"template", {{"metadata", json::object()}, {"spec", job["spec"]["template"]["spec"]}}}}});
    objects_[name] = object;
    show(name);
    w_->turn();
  }
  bool is_of(const std::string& object, const std::string& type) {
    for (const json& c : objects_.at(object)["status"].value("conditions", json::array())) {
      if (c["type"] == type) return c["status"] == "True";
    }
    return false;
  }

  std::map<std::string, json> requests_, templates_;
  json check_;
  std::string active_;
  int made_ = 0;              // requests
  bool looks_first_ = false;  // the watch shows a request before the answer to its creation comes
};

TEST_F(ProvisioningTest, QuotaThenNodesThenTheStart) {
  job({.name = "train", .pods = 2});
  run();
  EXPECT_EQ(active_, "True") << "Berth says so of its own check";
  ASSERT_TRUE(is("train", "QuotaReserved")) << "there is no node at all";
  EXPECT_FALSE(is("train", "Admitted"));
  ASSERT_EQ(requests_.size(), 1u);
  const auto& [name, request] = *requests_.begin();
  EXPECT_EQ(name, request_of("train", 1));
  EXPECT_EQ(request["spec"]["provisioningClassName"], "check-capacity.autoscaling.x-k8s.io");
  EXPECT_EQ(request["spec"]["parameters"]["region"], "north");
  EXPECT_EQ(request["metadata"]["ownerReferences"][0]["kind"], "Workload");
  EXPECT_EQ(request["spec"]["podSets"][0]["count"], 2);
  const std::string of = request["spec"]["podSets"][0]["podTemplateRef"]["name"];
  EXPECT_EQ(of, "ppt-" + name + "-main");
  ASSERT_TRUE(templates_.contains(of));
  const json& spec = templates_[of]["template"]["spec"];
  EXPECT_EQ(spec["nodeSelector"]["pool"], "spot") << "the flavor's nodes";
  EXPECT_EQ(spec["tolerations"][0]["key"], "spot");
  EXPECT_EQ(spec["containers"][0]["resources"]["requests"]["nvidia.com/gpu"], "1");

  says("Accepted", "taken in");
  run();
  EXPECT_EQ(state("train")["state"], "Pending");
  EXPECT_EQ(state("train")["message"], "taken in");
  add_node("n1");
  run();
  EXPECT_TRUE(is_suspended("train"));
  says("Provisioned", "there it is");
  run();
  EXPECT_EQ(state("train")["state"], "Ready");
  EXPECT_EQ(
      state("train")["podSetUpdates"][0]["annotations"]["autoscaling.x-k8s.io/consume-provisioning-request"],
      request_of("train", 1));
  EXPECT_EQ(condition("train", "Admitted")["reason"], "WaitingForNodes") << "one of two nodes is there";
  EXPECT_TRUE(is_suspended("train"));
  add_node("n2");
  run();
  EXPECT_TRUE(is("train", "Admitted"));
  EXPECT_TRUE(runs("train"));
  says("BookingExpired", "ten minutes");
  run(kMinute);
  EXPECT_TRUE(runs("train")) << "it has started";
  EXPECT_TRUE(requests_.contains(request_of("train", 1)));
}

TEST_F(ProvisioningTest, AfterAFailureItsQuotaGoesBackAndItIsTriedAgain) {
  config({{"retryStrategy", {{"backoffLimitCount", 1}, {"backoffBaseSeconds", 60}}}});
  job({.name = "train", .pods = 2});
  run();
  says("Failed", "no such machines");
  run(5 * kSecond);
  EXPECT_EQ(condition("train", "Evicted")["reason"], "AdmissionCheck");
  EXPECT_FALSE(is("train", "QuotaReserved"));
  EXPECT_EQ(state("train")["retryCount"], 1);
  EXPECT_TRUE(requests_.empty()) << "it is of no use any more";
  job({.name = "other", .pods = 2, .priority = 1});
  run(5 * kSecond);
  EXPECT_TRUE(is("other", "QuotaReserved")) << "it has what the first gave back";
  says("CapacityRevoked", "not for this one");
  run(40 * kSecond);
  EXPECT_FALSE(is("train", "QuotaReserved")) << "it rests for a minute";
  run(40 * kSecond);
  ASSERT_TRUE(requests_.contains(request_of("train", 2))) << "the second attempt";
  json& status = requests_[request_of("train", 2)]["status"];
  status["conditions"] = json::array({{{"type", "Failed"}, {"status", "True"}, {"message", "never"}}});
  show_request(request_of("train", 2));
  run(10 * kSecond);
  EXPECT_EQ(object_of("train")["spec"]["active"], false) << "the last attempt";
}

TEST_F(ProvisioningTest, CapacityThatIsTakenAwayEndsWhatRuns) {
  start_on_bought_node();
  ASSERT_TRUE(runs("train"));
  says("CapacityRevoked", "maintenance");
  run(20 * kSecond);
  EXPECT_TRUE(is_suspended("train"));
  EXPECT_EQ(object_of("train")["spec"]["active"], false);
}

TEST_F(ProvisioningTest, WhatAsksForNoManagedResourceAsksForNoNodes) {
  config({{"managedResources", {"example.com/rare"}}});
  add_node("n1");
  job({.name = "train", .pods = 1});
  run();
  EXPECT_TRUE(requests_.empty());
  EXPECT_TRUE(runs("train"));
}

TEST_F(ProvisioningTest, ANodeSelectorOfTheClassesDetailsIsPutIntoTheTemplate) {
  config(
      {{"podSetUpdates",
        {{"nodeSelector", json::array({{{"key", "batch"}, {"valueFromProvisioningClassDetail", "id"}}})}}}});
  job({.name = "train", .pods = 1});
  run();
  w_->object(dialect::Kind::kNode, "n1",
             R"({"metadata":{"name":"n1","labels":{"pool":"spot","batch":"b7"}},"status":{"allocatable":{
                 "cpu":"16","nvidia.com/gpu":"1","pods":"110"},"conditions":[{"type":"Ready","status":"True"}]}})");
  ASSERT_EQ(requests_.size(), 1u);
  requests_.begin()->second["status"]["provisioningClassDetails"] = {{"id", "b7"}};
  says("Provisioned", "");
  run(10 * kSecond);
  EXPECT_TRUE(runs("train"));
  EXPECT_EQ(jobs_["train"]["spec"]["template"]["spec"]["nodeSelector"]["batch"], "b7");
}

TEST_F(ProvisioningTest, WithoutItsConfigTheCheckIsNotActive) {
  check("nodes", "no-such-config");
  job({.name = "train", .pods = 1});
  run();
  EXPECT_EQ(active_, "False");
  EXPECT_FALSE(is("train", "QuotaReserved"));
  check("nodes", "any-nodes");
  run();
  EXPECT_TRUE(is("train", "QuotaReserved"));
}

TEST_F(ProvisioningTest, AnothersComingTakesNoRequestAway) {
  job({.name = "train", .pods = 2});
  run();
  ASSERT_EQ(requests_.size(), 1u);
  job({.name = "other", .pods = 1});
  run(kMinute);
  EXPECT_EQ(condition("other", "QuotaReserved")["reason"], "WaitingForQuota");
  EXPECT_TRUE(is("train", "QuotaReserved"));
  EXPECT_TRUE(requests_.contains(request_of("train", 1)));
  EXPECT_EQ(made_, 1);
}

TEST_F(ProvisioningTest, ItsPodTemplatesAreMadeAtOnceThoughTheWatchWasFaster) {
  looks_first_ = true;
  job({.name = "train", .pods = 2});
  run(2 * kSecond);
  EXPECT_EQ(requests_.size(), 1u);
  EXPECT_EQ(templates_.size(), 1u);
}

TEST_F(ProvisioningTest, APodTemplateThatIsRefusedIsTriedAgainAfterARest) {
  job({.name = "train", .pods = 2});
  int refused = 0;
  for (DurationMs t = 0; t < kMinute; t += 100) {
    w_->pass(100);
    w_->report();
    serve();
    std::vector<Sent> others;
    for (const Sent& sent : w_->take(Step::kProvision)) {
      if (sent.path.ends_with("/podtemplates")) {
        ++refused;
        answer(sent.uid, Outcome::kForbidden, "", Step::kProvision);
      } else {
        others.push_back(sent);
      }
    }
    w_->outbox.sent.insert(w_->outbox.sent.end(), others.begin(), others.end());
    provision();
  }
  EXPECT_GT(refused, 3);
  EXPECT_LT(refused, 10);
  EXPECT_EQ(made_, 1);
}

TEST_F(ProvisioningTest, AfterARestartWorkWithQuotaFindsItsRequestAndOtherWorkDropsIt) {
  job({.name = "train", .pods = 2});
  run();
  ASSERT_TRUE(requests_.contains(request_of("train", 1)));
  boot();
  run(20 * kSecond);
  EXPECT_TRUE(is("train", "QuotaReserved"));
  EXPECT_TRUE(requests_.contains(request_of("train", 1)));
  EXPECT_EQ(made_, 1) << "it is found";
  jobs_["other"] = json::parse(job_json({.name = "other", .pods = 2, .priority = 1}));
  boot();
  run(20 * kSecond);
  EXPECT_TRUE(is("other", "QuotaReserved")) << "its rank is higher";
  EXPECT_FALSE(is("train", "QuotaReserved"));
  EXPECT_FALSE(requests_.contains(request_of("train", 1))) << "nobody wants those nodes now";
  EXPECT_TRUE(requests_.contains(request_of("other", 1)));
}

TEST_F(ProvisioningTest, TheRequestOfAFormerWorkloadOfItsNameSaysNothing) {
  prebuilt("remote", 1, json::object());
  run();
  ASSERT_TRUE(requests_.contains("remote-nodes-1"));
  says("Provisioned", "");
  // While Berth is away it is made again; the garbage collector takes its time with what the former one owned.
  objects_["remote"]["metadata"]["uid"] = "object-again";
  objects_["remote"].erase("status");
  boot();
  run();
  EXPECT_TRUE(is_of("remote", "QuotaReserved"));
  EXPECT_EQ(objects_["remote"]["status"]["admissionChecks"][0]["state"], "Pending");
  EXPECT_EQ(made_, 1);
  requests_.clear();
  gone("remote-nodes-1");
  run();
  ASSERT_TRUE(requests_.contains("remote-nodes-1"));
  EXPECT_EQ(requests_["remote-nodes-1"]["metadata"]["ownerReferences"][0]["uid"], "object-again");
}

TEST_F(ProvisioningTest, WhatHasFinishedNeedsNoRequest) {
  start_on_bought_node();
  ASSERT_TRUE(runs("train"));
  complete("train", 1);
  run();
  EXPECT_TRUE(is("train", "Finished"));
  EXPECT_TRUE(requests_.empty());
}

TEST_F(ProvisioningTest, WithoutChecksWhatHasQuotaGetsThePlacesThatAreThere) {
  job({.name = "train", .pods = 2});
  run();
  ASSERT_TRUE(is("train", "QuotaReserved"));
  add_node("n1");
  add_node("n2");
  run();
  ASSERT_TRUE(is_suspended("train"));
  queue(json::array());
  w_->turn();
  run();
  EXPECT_TRUE(runs("train"));
  EXPECT_TRUE(is("train", "Admitted"));
}

TEST_F(ProvisioningTest, TheCheckIsAnsweredWhenKueueHasLeft) {
  run();
  active_.clear();
  boot("");
  run();
  EXPECT_EQ(active_, "") << "it is Kueue's";
  w_->core->set_kueue_version("v1beta2", w_->now);
  run();
  EXPECT_EQ(active_, "True");
}

// Whether the API server has ProvisioningRequests is known a moment after Kueue has left: what is said of the check until then is still on
// its way, and might arrive after what is said next.
TEST_F(ProvisioningTest, OfACheckOneWriteIsOnItsWayAtATime) {
  run();
  boot("");
  w_->core->set_provisioning_version("", w_->now);
  w_->core->set_kueue_version("v1beta2", w_->now);
  const auto sent = [&] {
    std::vector<Sent> all;
    for (int i = 0; i < 30; ++i) {
      w_->pass(100);
      w_->report();
      for (Sent& one : take_checks()) all.push_back(std::move(one));
    }
    return all;
  };
  const auto first = sent();
  ASSERT_EQ(first.size(), 1u);
  w_->core->set_provisioning_version("v1", w_->now);
  EXPECT_TRUE(sent().empty()) << "the first may come last";
  do_check(first.front());
  EXPECT_EQ(active_, "False");
  const auto second = sent();
  ASSERT_EQ(second.size(), 1u);
  do_check(second.front());
  EXPECT_EQ(active_, "True");
  EXPECT_TRUE(sent().empty());
  check_["status"]["conditions"][0]["status"] = "False";  // another client
  w_->object(dialect::Kind::kAdmissionCheck, "nodes", check_.dump());
  run();
  EXPECT_EQ(active_, "True");
}

// A worker of MultiKueue whose nodes are bought: the Workload comes first.
TEST_F(ProvisioningTest, NodesAreBoughtForAWorkloadWhoseJobIsStillToCome) {
  config(
      {{"podSetUpdates",
        {{"nodeSelector", json::array({{{"key", "batch"}, {"valueFromProvisioningClassDetail", "id"}}})}}}});
  for (const bool ready_first : {false, true}) {
    const std::string name = ready_first ? "second" : "first";
    const std::string request = name + "-nodes-1";
    prebuilt(name, 1, {{"provreq.kueue.x-k8s.io/maxRunDurationSeconds", "600"}});
    run();
    ASSERT_TRUE(is_of(name, "QuotaReserved")) << "there is no node for it";
    ASSERT_TRUE(requests_.contains(request));
    EXPECT_EQ(requests_[request]["metadata"]["ownerReferences"][0]["name"], name);
    EXPECT_EQ(requests_[request]["spec"]["parameters"]["maxRunDurationSeconds"], "600");
    const int made = made_;
    const auto come = [&] {
      job({.name = "job-" + name, .pods = 1}, {{"kueue.x-k8s.io/prebuilt-workload-name", name}});
      EXPECT_EQ(w_->slot(uid_of("job-" + name), 0), SlotState::kBinding) << "it has the quota now";
      run();
    };
    if (!ready_first) come();
    requests_[request]["status"]["provisioningClassDetails"] = {{"id", "b-" + name}};
    requests_[request]["status"]["conditions"] =
        json::array({{{"type", "Provisioned"}, {"status", "True"}, {"message", ""}}});
    show_request(request);
    run();
    EXPECT_FALSE(is_of(name, "Admitted")) << "there is no room yet";
    EXPECT_EQ(objects_[name]["spec"]["active"], true);
    if (ready_first) come();
    w_->object(
        dialect::Kind::kNode, "n-" + name,
        json{{"metadata", {{"name", "n-" + name}, {"labels", {{"pool", "spot"}, {"batch", "b-" + name}}}}},
             {"status",
              {{"allocatable", {{"cpu", "16"}, {"nvidia.com/gpu", "1"}, {"pods", "110"}}},
               {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}}
            .dump());
    run(10 * kSecond);
    EXPECT_TRUE(is_of(name, "Admitted"));
    EXPECT_TRUE(runs("job-" + name));
    EXPECT_EQ(jobs_["job-" + name]["spec"]["template"]["spec"]["nodeSelector"]["batch"], "b-" + name);
    EXPECT_EQ(made_, made) << "nothing is asked for twice";
    EXPECT_TRUE(requests_.contains(request));
  }
}

// A pod that waits for nodes that are bought is not to make an autoscaler buy some more.
TEST_F(ProvisioningTest, PodsNeverLookUnschedulable) {
  w_->core->intake();
  w_->object(dialect::Kind::kPod, "lone",
             R"({"metadata":{"name":"lone","namespace":"default","uid":"uid-lone","resourceVersion":"7",
                 "labels":{"kueue.x-k8s.io/queue-name":"team"}},
                 "spec":{"schedulerName":"berth","containers":[{"name":"c","resources":{
                 "requests":{"cpu":"1","nvidia.com/gpu":"1"}}}]},"status":{"phase":"Pending"}})");
  std::vector<std::string> reasons;
  for (int i = 0; i < 50; ++i) {
    w_->pass(100);
    w_->report();
    for (const Sent& sent : w_->peek()) {
      if (sent.step == Step::kStatus) reasons.push_back(condition_field(sent, "reason"));
    }
    serve();
    provision();
  }
  ASSERT_FALSE(reasons.empty());
  for (const std::string& reason : reasons) EXPECT_NE(reason, "Unschedulable");
  ASSERT_EQ(requests_.size(), 1u);
}

}  // namespace
}  // namespace berth::scheduler::testing

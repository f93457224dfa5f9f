// JobSets with their own controller. They wait while there is no room, and start whole. Work of higher priority displaces them whole,
// without a failed try; they start again, and finish.
//
// The controllers take minutes to build, so that the tests of kinds skip themselves without them (kinds_fixture.h, need_controllers()):
//   scripts/controllers build jobset && build/release/tests/e2e/test_e2e --gtest_filter='Berth*Kinds.*'
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "e2e/kinds_fixture.h"
#include "e2e/security_fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

constexpr const char* kJobSets = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets";

class BerthKinds : public KindsTest {
 protected:
  std::vector<std::string> controllers() const override { return {"jobset"}; }

  // A leader, and two Jobs of two workers. The queue stands on the JobSet alone. No pod may fail.
  json jobset(const std::string& name, const std::string& priority_class, bool suspend) const {
    json out = {{"apiVersion", "jobset.x-k8s.io/v1alpha2"}, {"kind", "JobSet"}};
    out["metadata"] = {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}};
    const auto jobs = [&](const std::string& what, int replicas, int pods) {
      json job = {{"name", what}, {"replicas", replicas}};
      job["template"]["spec"] = {{"parallelism", pods}, {"completions", pods}, {"backoffLimit", 0}};
      job["template"]["spec"]["template"]["spec"] = pod_spec();
      job["template"]["spec"]["template"]["spec"]["priorityClassName"] = priority_class;
      return job;
    };
    out["spec"] = {{"suspend", suspend}, {"failurePolicy", {{"maxRestarts", 0}}}};
    out["spec"]["replicatedJobs"] = {jobs("leader", 1, 1), jobs("workers", 2, 2)};
    return out;
  }
  json jobset_named(const std::string& name) const { return get(std::string(kJobSets) + "/" + name); }
  bool has_condition(const std::string& name, const std::string& type) const {
    return condition_in(jobset_named(name), type).starts_with("True");
  }
  int restarts(const std::string& name) const {
    const json found = jobset_named(name);
    return found.contains("status") ? found["status"].value("restarts", 0) : 0;
  }
  std::string said(const std::string& name) const {
    return jobset_named(name).value("status", json::object()).dump() + reasons_of_waiting();
  }
  // Its pods end well, and it says that it is complete, without a restart.
  void expect_finishes(const std::string& name) {
    EXPECT_TRUE(finishes(name, [&] { return has_condition(name, "Completed"); })) << said(name);
    EXPECT_EQ(restarts(name), 0);
  }
};

TEST_F(BerthKinds, AJobSetWaitsStartsWholeIsDisplacedWholeAndFinishes) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(8));
  ASSERT_NE(start_berth(), nullptr);
  create(kJobSets, jobset("low", "low", true));
  EXPECT_TRUE(eventually([&] { return occupying("low") == 5; })) << said("low");
  create(kJobSets, jobset("next", "low", true));
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(pods("next"), 0U) << "three of eight GPUs are free: it stays suspended";
  EXPECT_TRUE(jobset_named("next")["spec"].value("suspend", false));
  // Displaced whole: by its own switch, so that nothing of its failure policy is used.
  create(kJobSets, jobset("high", "high", true));
  EXPECT_TRUE(eventually([&] { return occupying("high") == 5; })) << said("high");
  EXPECT_TRUE(eventually([&] { return pods("low") == 0 && has_condition("low", "Suspended"); }))
      << said("low");
  EXPECT_EQ(restarts("low"), 0);
  EXPECT_FALSE(has_condition("low", "Failed"));
  expect_finishes("high");
  for (const char* name : {"low", "next"}) {
    EXPECT_TRUE(eventually([&] { return occupying(name) == 5; })) << said(name);
    expect_finishes(name);
  }
  expect_clean();
}

// As its user wrote it, without `suspend`: its pods wait together, also where nothing is held.
TEST_F(BerthKinds, AJobSetThatIsNotSuspendedWaitsWithItsPodsAndStartsWhole) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(8));
  ASSERT_NE(start_berth(), nullptr);
  create(kJobSets, jobset("first", "low", false));
  EXPECT_TRUE(eventually([&] { return occupying("first") == 5; })) << said("first");
  create(kJobSets, jobset("second", "low", false));
  EXPECT_TRUE(eventually([&] { return pods("second") == 5; })) << said("second");
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(occupying("second"), 0U) << "three of eight GPUs are free, and no pod starts alone";
  EXPECT_TRUE(finishes("first", [&] { return occupying("second") == 5; })) << said("second");
  EXPECT_EQ(restarts("second"), 0);
  expect_clean();
}

// The Jobs of the workers are made when the leader is ready: their places are kept until then, and given to nothing else.
TEST_F(BerthKinds, AJobSetInOrderKeepsThePlacesOfWhatComesLater) {
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(6));
  ASSERT_NE(start_berth(), nullptr);
  for (const bool suspend : {true, false}) {
    const std::string name = suspend ? "held" : "free";
    json body = jobset(name, "low", suspend);
    body["spec"]["startupPolicy"] = {{"startupPolicyOrder", "InOrder"}};
    create(kJobSets, body);
    EXPECT_TRUE(eventually([&] { return occupying(name) == 5; })) << said(name);
    EXPECT_TRUE(eventually([&] { return has_condition(name, "StartupPolicyCompleted"); })) << said(name);
    expect_finishes(name);
  }
  expect_clean();
}

// Two racks of two nodes, with four GPUs each. JobSets of two Jobs with three pods ask for both racks.
class BerthExclusiveKinds : public BerthKinds {
 protected:
  json exclusive(const std::string& name, const std::string& priority_class, bool suspend) const {
    json out = jobset(name, priority_class, suspend);
    out["metadata"]["annotations"]["alpha.jobset.sigs.k8s.io/exclusive-topology"] = kRack;
    json workers = out["spec"]["replicatedJobs"][1];
    workers["template"]["spec"]["parallelism"] = workers["template"]["spec"]["completions"] = 3;
    out["spec"]["replicatedJobs"] = json::array({workers});
    return out;
  }
  // All six workers run, those of a Job in one rack, and no rack has two Jobs.
  bool runs(const std::string& name) const {
    std::map<std::string, std::set<char>> racks;  // by Job
    for (const auto& [key, pod] : observer_->pods()) {
      if (!key.starts_with("default/" + name + "-workers-") || !pod.occupies()) continue;
      const std::size_t of_job = key.find("-workers-") + 10;
      racks[key.substr(0, of_job)].insert(pod.node.back() < '2' ? '0' : '1');
    }
    if (occupying(name + "-workers") != 6 || racks.size() != 2) return false;
    const std::set<char>& first = racks.begin()->second;
    const std::set<char>& second = racks.rbegin()->second;
    return first.size() == 1 && second.size() == 1 && first != second;
  }
};

TEST_F(BerthExclusiveKinds, AJobSetWaitsStartsWholeIsDisplacedWholeAndFinishes) {
  ASSERT_NO_FATAL_FAILURE(start_with_racks());
  create(kJobSets, exclusive("low", "low", true));
  EXPECT_TRUE(eventually([&] { return runs("low"); })) << said("low");
  // Workloads follow the binds.
  json workloads;
  const auto written = [&] {
    workloads = get(std::string(kGroup) + "/namespaces/default/workloads");
    return workloads["items"].size() == 1;
  };
  ASSERT_TRUE(eventually(written)) << workloads.dump();
  const json sets = workloads["items"][0]["spec"]["podSets"];
  ASSERT_EQ(sets.size(), 1U) << sets.dump();
  EXPECT_EQ(sets[0]["name"], "workers");
  EXPECT_EQ(sets[0]["count"], 6);
  create(kJobSets, exclusive("next", "low", true));
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(pods("next"), 0U) << "ten GPUs are free, and no rack is";
  create(kJobSets, exclusive("high", "high", true));
  EXPECT_TRUE(eventually([&] { return runs("high"); })) << said("high");
  EXPECT_TRUE(eventually([&] { return pods("low") == 0 && has_condition("low", "Suspended"); }))
      << said("low");
  EXPECT_EQ(restarts("low"), 0);
  EXPECT_FALSE(has_condition("low", "Failed"));
  expect_finishes("high");
  for (const char* name : {"low", "next"}) {
    EXPECT_TRUE(eventually([&] { return runs(name); })) << said(name);
    expect_finishes(name);
  }
  expect_clean();
}

// No worker comes before the driver is ready. It has a node outside of the racks.
TEST_F(BerthExclusiveKinds, WorkersBehindADriverHaveTheirRacksKept) {
  ASSERT_NO_FATAL_FAILURE(start_with_racks());
  for (const bool suspend : {true, false}) {
    const std::string name = suspend ? "held" : "free";
    json body = exclusive(name, "low", suspend);
    json driver = jobset(name, "low", suspend)["spec"]["replicatedJobs"][0];
    json& jobs = body["spec"]["replicatedJobs"];
    jobs[0]["template"]["metadata"]["annotations"] = body["metadata"]["annotations"];
    body["metadata"].erase("annotations");
    jobs.insert(jobs.begin(), driver);
    body["spec"]["startupPolicy"] = {{"startupPolicyOrder", "InOrder"}};
    create(kJobSets, body);
    EXPECT_TRUE(eventually([&] { return runs(name) && occupying(name) == 7; })) << said(name);
    for (const auto& [key, pod] : observer_->pods()) {
      const bool drives = key.starts_with("default/" + name + "-leader-");
      EXPECT_TRUE(!drives || pod.node == "node-0") << key << " on " << pod.node;
    }
    expect_finishes(name);
  }
  expect_clean();
}

// Only the first pod of each Job comes until it has a node.
TEST_F(BerthExclusiveKinds, AJobSetThatIsNotSuspendedWaitsWithItsLeaders) {
  ASSERT_NO_FATAL_FAILURE(start_with_racks());
  create(kJobSets, exclusive("first", "low", false));
  EXPECT_TRUE(eventually([&] { return runs("first"); })) << said("first");
  create(kJobSets, exclusive("second", "low", false));
  EXPECT_TRUE(eventually([&] { return pods("second") == 2; })) << said("second");
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(occupying("second"), 0U);
  expect_finishes("first");
  EXPECT_TRUE(eventually([&] { return runs("second"); })) << said("second");
  expect_finishes("second");
  expect_clean();
}

// A tenant tries to hold more than its queue grants by JobSets, with the policies that ship.
class BerthTenantKinds : public SecurityTest {
 protected:
  void SetUp() override {
    SecurityTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    need_controllers({"jobset"});
  }
  static json jobset(const std::string& name, int jobs) {
    json out = {{"apiVersion", "jobset.x-k8s.io/v1alpha2"}, {"kind", "JobSet"}};
    out["metadata"] = {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "main"}}}};
    json job = {{"name", "workers"}, {"replicas", jobs}};
    json spec = pod_of(mine("x"))["spec"];
    spec.erase("schedulerName");
    spec["restartPolicy"] = "Never";
    job["template"]["spec"] = {{"parallelism", 1}, {"completions", 1}, {"backoffLimit", 0}};
    job["template"]["spec"]["template"]["spec"] = spec;
    out["spec"]["replicatedJobs"] = json::array({job});
    return out;
  }
  Reply try_jobset(const json& body, const std::string& query = "") {
    return tenant_->post("/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/jobsets" + query, body.dump());
  }
  void give_jobsets() {
    const json role = {{"apiVersion", "rbac.authorization.k8s.io/v1"},
                       {"kind", "Role"},
                       {"metadata", {{"name", "jobsets"}}},
                       {"rules", json::array({{{"apiGroups", {"jobset.x-k8s.io"}},
                                               {"resources", {"jobsets"}},
                                               {"verbs", {"get", "list", "create", "patch", "delete"}}}})}};
    create("/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/roles", role);
    const json subject = {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", kTenant}};
    create("/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/rolebindings",
           {{"apiVersion", "rbac.authorization.k8s.io/v1"},
            {"kind", "RoleBinding"},
            {"metadata", {{"name", "jobsets"}}},
            {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "jobsets"}}},
            {"subjects", json::array({subject})}});
  }
};

TEST_F(BerthTenantKinds, AJobSetIsNoWayAroundItsQueue) {
  const ClusterOptions options = {.controller_manager = true,
                                  .kwok = true,
                                  .service_accounts = true,
                                  .job_pod_runs_ms = 86'400'000,
                                  .kubelets_end_pods = true,
                                  .controller_manager_args = {"--use-service-account-credentials=true"}};
  ASSERT_NO_FATAL_FAILURE(start_two_teams(options));
  const std::string served = cluster_->client().get("/apis/admissionregistration.k8s.io/v1").body;
  if (served.find("\"mutatingadmissionpolicies\"") == std::string::npos)
    GTEST_SKIP() << "this API server has no MutatingAdmissionPolicy in v1 (Kubernetes 1.36 and later have)";
  ProjectController controller(*cluster_, "jobset");
  ASSERT_OK(controller.start());
  give_jobsets();
  for (const char* file : {"/deploy/admission-policy.yaml", "/deploy/tenant-policy.yaml"})
    ASSERT_OK(cluster_->apply(std::string(BERTH_SOURCE_DIR) + file));
  ASSERT_OK(expect_ok(
      cluster_->client().patch(
          "/api/v1/namespaces/team-a",
          R"({"metadata":{"labels":{"berth.dev/tenant":""},"annotations":{"berth.dev/priority-classes":"low"}}})"),
      "labelling a namespace"));
  ASSERT_NE(start_berth(), nullptr);
  // In force a moment after they are made.
  json plain = jobset("plain", 1);
  json no_queue = plain;
  no_queue["metadata"].erase("labels");
  ASSERT_TRUE(eventually([&] {
    const Reply reply = try_jobset(plain, "?dryRun=All");
    return reply.ok() && json::parse(reply.body)["spec"].value("suspend", false) &&
           !try_jobset(no_queue, "?dryRun=All").ok();
  })) << try_jobset(plain, "?dryRun=All").describe();
  const auto refused = [&](const std::string& words, const std::function<void(json&)>& change) {
    json body = plain;
    change(body);
    const Reply reply = try_jobset(body);
    EXPECT_GE(reply.status, 400) << words;
    EXPECT_NE(reply.body.find(words), std::string::npos) << words << "\n" << reply.body;
  };
  const auto job_of = [](json& body) -> json& { return body["spec"]["replicatedJobs"][0]["template"]; };
  const auto pod = [&](json& body) -> json& { return job_of(body)["spec"]["template"]; };
  refused("name a queue", [&](json& body) { body["metadata"].erase("labels"); });
  refused("name a queue", [&](json& body) {
    body["metadata"].erase("labels");
    job_of(body)["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "main";
  });
  refused("schedulerName", [&](json& body) { pod(body)["spec"]["schedulerName"] = "mine"; });
  refused("nodeName", [&](json& body) {
    pod(body)["spec"]["nodeName"] = "node-9";
    pod(body)["spec"]["schedulerName"] = "berth";
  });
  refused("this namespace may use low", [&](json& body) { pod(body)["spec"]["priorityClassName"] = "vip"; });
  refused("this namespace may use low", [&](json& body) {
    job_of(body)["metadata"]["annotations"]["kueue.x-k8s.io/priority-class"] = "vip";
  });
  refused("never a victim",
          [&](json& body) { pod(body)["metadata"]["annotations"]["berth.dev/preemptible"] = "false"; });
  json six = jobset("six", 6);
  EXPECT_TRUE(try_jobset(six).ok());
  EXPECT_TRUE(eventually([&] { return occupying("team-a/six") == 6; })) << reasons_of_waiting();
  // A Job that says that it is the JobSet's names no queue.
  json job = job_json({.name = "stray", .ns = "team-a", .queue = "", .pods = 2, .suspend = false});
  const auto made = cluster_->client().get("/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/jobsets/six");
  job["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                                     {"kind", "JobSet"},
                                                     {"name", "six"},
                                                     {"uid", json::parse(made.body)["metadata"]["uid"]},
                                                     {"controller", true}}});
  const Reply stray = tenant_->post(jobs_in("team-a"), job.dump());
  EXPECT_NE(stray.body.find("name a queue"), std::string::npos) << stray.describe();
  // Work beyond its quota waits, also where the tenant releases it itself.
  EXPECT_TRUE(try_jobset(jobset("more", 4)).ok());
  const Reply released = tenant_->patch("/apis/jobset.x-k8s.io/v1alpha2/namespaces/team-a/jobsets/more",
                                        R"({"spec":{"suspend":false}})", kMergePatch);
  EXPECT_TRUE(released.ok()) << released.describe();
  expect_within_limits("JobSets");
  EXPECT_EQ(occupying("team-a/more"), 0U);
  EXPECT_EQ(occupying("team-a/six"), 6U);
}

}  // namespace
}  // namespace berth::e2e

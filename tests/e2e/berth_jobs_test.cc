// Suspended Jobs on a real API server, with the Job controller: they wait without pods, are released when their places are held,
// end by being suspended, and survive a scheduler that is killed.
#include <algorithm>
#include <atomic>
#include <nlohmann/json.hpp>
#include <set>

#include "e2e/berth_fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

struct JobShape {
  std::string name;
  int pods = 4;
  int gpus = 1;
  bool suspend = true;
  std::string scheduler = "berth";
  std::string priority_class;
  std::string queue = "team";
};

class BerthJobs : public BerthTest {
 protected:
  void create(const std::string& path, const json& body) {
    Reply reply;
    EXPECT_TRUE(
        eventually([&] { return (reply = cluster_->client().post(path, body.dump())).ok(); }, seconds(30)))
        << path << ": " << reply.describe();
  }
  static json job_json(const JobShape& shape) {
    json job = json::parse(R"({
      "apiVersion": "batch/v1", "kind": "Job", "metadata": {},
      "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [
        {"name": "main", "image": "image", "resources": {"requests": {"cpu": "1"}, "limits": {}}}]}}}})");
    job["metadata"]["name"] = shape.name;
    if (!shape.queue.empty()) job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = shape.queue;
    job["spec"]["parallelism"] = shape.pods;
    job["spec"]["completions"] = shape.pods;
    job["spec"]["backoffLimit"] = 0;  // a pod that counts as failed would end the Job
    if (shape.suspend) job["spec"]["suspend"] = true;
    auto& spec = job["spec"]["template"]["spec"];
    if (!shape.scheduler.empty()) spec["schedulerName"] = shape.scheduler;
    if (!shape.priority_class.empty()) spec["priorityClassName"] = shape.priority_class;
    spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] = std::to_string(shape.gpus);
    return job;
  }
  json job(const std::string& name) const {
    const auto reply = cluster_->client().get(fmt::format("{}/{}", kJobs, name));
    return reply.ok() ? json::parse(reply.body) : json();
  }
  bool is_suspended(const std::string& name) const { return job(name)["spec"].value("suspend", false); }
  bool is_complete(const std::string& name, int pods) const {
    const json found = job(name);
    return found.is_object() && found["status"].value("succeeded", 0) == pods;
  }
  std::size_t occupying(const std::string& job_name) const {
    std::size_t out = 0;
    for (const auto& [key, pod] : observer_->pods()) {
      if (key.starts_with("default/" + job_name + "-") && pod.occupies()) ++out;
    }
    return out;
  }
  // A cluster of one GPU node per eight of `gpus`, with a queue of that quota.
  void start_with_queue(int gpus, int pods_of_a_job, std::optional<std::int64_t> runs_ms) {
    prepare_observer_ = [=](ObserverOfPods& observer) {
      observer.add_gang_label("batch.kubernetes.io/job-name", pods_of_a_job);
    };
    start({.controller_manager = true,
           .kwok = true,
           .service_accounts = true,
           .job_pod_runs_ms = runs_ms,
           .controller_manager_args = {"--kube-api-qps=500", "--kube-api-burst=1000"}});
    ASSERT_OK(cluster_->create_nodes(static_cast<std::size_t>(gpus + 7) / 8));
    ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/crds"));
    const std::string group = "/apis/kueue.x-k8s.io/v1beta2";
    create(group + "/resourceflavors", json::parse(R"({
      "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}})"));
    json queue = json::parse(R"({
      "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "team"},
      "spec": {"namespaceSelector": {}, "preemption": {"withinClusterQueue": "LowerPriority"}, "resourceGroups": [{
        "coveredResources": ["cpu", "nvidia.com/gpu"],
        "flavors": [{"name": "any", "resources": [
          {"name": "cpu", "nominalQuota": "1000"}, {"name": "nvidia.com/gpu", "nominalQuota": "0"}]}]}]}})");
    queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"][1]["nominalQuota"] = std::to_string(gpus);
    create(group + "/clusterqueues", queue);
    create(group + "/namespaces/default/localqueues", json::parse(R"({
      "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "LocalQueue", "metadata": {"name": "team"},
      "spec": {"clusterQueue": "team"}})"));
  }
};

TEST_F(BerthJobs, WaitWithoutPodsAndRunOneAfterTheOther) {
  std::atomic<std::size_t> most{0};
  std::set<std::string> alive;  // on the observer's thread
  start_with_queue(8, 8, 500);
  observer_->on_pod([&](const SeenPod& pod, bool deleted) {
    const bool lives = !deleted && pod.phase != "Succeeded" && pod.phase != "Failed";
    if (lives) {
      alive.insert(pod.uid);
    } else {
      alive.erase(pod.uid);
    }
    most = std::max(most.load(), alive.size());
  });
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  for (int i = 0; i < 4; ++i) create(kJobs, job_json({.name = fmt::format("train{}", i), .pods = 8}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(eventually([&] { return is_complete(fmt::format("train{}", i), 8); }));
  }
  EXPECT_EQ(most.load(), 8U) << "a Job that waits has no pods";
  EXPECT_TRUE(eventually([&] {
    const auto events = cluster_->client().get("/apis/events.k8s.io/v1/namespaces/default/events").body;
    return events.find("\"Waiting\"") != std::string::npos &&
           events.find("\"Released\"") != std::string::npos;
  })) << "they say on themselves why they wait, and when they are released";
  expect_clean();
  EXPECT_EQ(observer_->check().binds, 32U);
}

TEST_F(BerthJobs, ArePreemptedWholeWithoutAFailedPodAndComeBack) {
  start_with_queue(8, 4, 600'000);
  ASSERT_OK(cluster_->create_priority_class("low", 10));
  ASSERT_OK(cluster_->create_priority_class("high", 100));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  for (const char* name : {"low-a", "low-b"})
    create(kJobs, job_json({.name = name, .priority_class = "low"}));
  EXPECT_TRUE(eventually([&] { return occupying("low-a") == 4 && occupying("low-b") == 4; }));
  create(kJobs, job_json({.name = "high", .priority_class = "high"}));
  EXPECT_TRUE(eventually([&] { return occupying("high") == 4; }));
  EXPECT_EQ(occupying("low-a") + occupying("low-b"), 4U) << "one of them, and whole";
  EXPECT_NE(is_suspended("low-a"), is_suspended("low-b"));
  const std::string victim = is_suspended("low-a") ? "low-a" : "low-b";
  EXPECT_TRUE(eventually([&] {
    return cluster_->client()
               .get("/apis/events.k8s.io/v1/namespaces/default/events")
               .body.find("preempted by default/high") != std::string::npos;
  }));
  EXPECT_EQ(job(victim)["status"].value("failed", 0), 0) << "backoffLimit is 0: one failure would end it";
  ASSERT_OK(expect_ok(cluster_->client().del(fmt::format("{}/high?propagationPolicy=Background", kJobs)),
                      "deleting a Job"));
  EXPECT_TRUE(eventually([&] { return occupying(victim) == 4; }));
  EXPECT_FALSE(is_suspended(victim));
  expect_clean();
}

TEST_F(BerthJobs, SurviveASchedulerThatIsKilled) {
  constexpr int kCount = 24;
  start_with_queue(16, 4, 300);
  for (int i = 0; i < kCount; ++i) create(kJobs, job_json({.name = fmt::format("train{}", i)}));
  const std::size_t kills = number_from_env("BERTH_E2E_KILLS", 5);
  const auto done = [&] {
    int out = 0;
    for (int i = 0; i < kCount; ++i) out += is_complete(fmt::format("train{}", i), 4) ? 1 : 0;
    return out;
  };
  const std::vector<std::string> args = {"--lease-seconds=3"};
  for (std::size_t i = 0; i < kills && done() < kCount; ++i) {
    auto* berth = start_berth({.name = fmt::format("berth-{}", i), .args = args});
    ASSERT_NE(berth, nullptr);
    std::this_thread::sleep_for(milliseconds(3500 + 211 * static_cast<int>(i % 7)));
    berth->process.kill_now();
  }
  ASSERT_NE(start_berth(), nullptr);
  EXPECT_TRUE(eventually([&] { return done() == kCount; }, kLong * 2)) << done() << " of " << kCount;
  expect_clean();
}

TEST_F(BerthJobs, ThePolicyThatShipsHoldsJobsThatNameAQueue) {
  start_with_queue(8, 4, 300);
  const std::string served = cluster_->client().get("/apis/admissionregistration.k8s.io/v1").body;
  if (served.find("\"mutatingadmissionpolicies\"") == std::string::npos) {
    GTEST_SKIP() << "this API server has no MutatingAdmissionPolicy in v1 (Kubernetes 1.36 and later have)";
  }
  ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/admission-policy.yaml"));
  // The policy is in force a moment after it was made: then a Job as teams write it is held.
  json plain = job_json({.name = "plain", .suspend = false, .scheduler = ""});
  ASSERT_TRUE(eventually([&] {
    const auto reply = cluster_->client().post(std::string(kJobs) + "?dryRun=All", plain.dump());
    return reply.ok() && json::parse(reply.body)["spec"].value("suspend", false);
  }));
  create(kJobs, plain);
  EXPECT_EQ(job("plain")["spec"]["template"]["spec"]["schedulerName"], "berth");
  create(kJobs, job_json({.name = "no-queue", .suspend = false, .scheduler = "", .queue = ""}));
  EXPECT_FALSE(is_suspended("no-queue"));
  json managed = job_json({.name = "managed", .suspend = false, .scheduler = ""});
  managed["spec"]["managedBy"] = "example.com/other";
  create(kJobs, managed);
  EXPECT_FALSE(is_suspended("managed"));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  EXPECT_TRUE(eventually([&] { return is_complete("plain", 4); }));
  EXPECT_NE(job("no-queue")["spec"]["template"]["spec"]["schedulerName"], "berth");
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

// Ray's kinds with KubeRay itself. No Ray runs in the pods: a server of the test answers for the dashboard of each cluster.
//   scripts/controllers build kuberay && build/release/tests/e2e/test_e2e --gtest_filter='BerthRay.*'
// With another version (scripts/controllers build-from): BERTH_E2E_KUBERAY=1.7.0.
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "e2e/judged_kinds.h"
#include "kube/fake_http_support.h"

namespace berth::e2e {
namespace {

using kube::testing::HttpConnection;
using kube::testing::HttpRequest;
using kube::testing::HttpResponse;
using kube::testing::HttpServer;
using nlohmann::json;

constexpr const char* kRayJobs = "/apis/ray.io/v1/namespaces/default/rayjobs";
constexpr const char* kRayServices = "/apis/ray.io/v1/namespaces/default/rayservices";

// Answers for the dashboards of all clusters: KubeRay has it as its HTTP proxy.
class Dashboard {
 public:
  Dashboard()
      : server_(
            [this](const HttpRequest& request, HttpResponse& response, HttpConnection&) {
              answer(request, response);
              return true;
            },
            nullptr) {}
  std::string address() const { return fmt::format("http://127.0.0.1:{}", server_.port()); }
  void end(const std::string& job) {
    const std::lock_guard lock(mutex_);
    ended_.insert(job);
  }

 private:
  void answer(const HttpRequest& request, HttpResponse& response) {
    const std::string jobs = "/api/jobs/";
    const auto at = request.target.find(jobs);
    if (at != std::string::npos) {
      const std::string job = request.target.substr(at + jobs.size());
      const std::lock_guard lock(mutex_);
      response.body = json{{"type", "SUBMISSION"}, {"submission_id", job},
                           {"job_id", "02000000"}, {"status", ended_.contains(job) ? "SUCCEEDED" : "RUNNING"},
                           {"message", ""},        {"start_time", 1'700'000'000'000}}
                          .dump();
    } else if (request.target.find("/api/serve/applications") != std::string::npos) {
      const json one = {{"name", "app"}, {"status", "RUNNING"}, {"deployments", json::object()}};
      response.body = json{{"applications", {{"app", one}}}}.dump();
    } else {
      response.body = "success";
    }
  }
  std::mutex mutex_;
  std::set<std::string> ended_;
  HttpServer server_;
};

class BerthRay : public KindsTest {
 protected:
  std::vector<std::string> controllers() const override { return {"kuberay"}; }
  void start_ray(int gpus) { start_with_controllers(gpus, {{"HTTP_PROXY", dashboard_.address()}}); }

  JudgedKind jobs() {
    JudgedKind out;
    out.path = kRayJobs;
    out.pods = 5;
    out.body = [](const std::string& name, const std::string& priority_class) {
      json body = object("ray.io/v1", "RayJob", name);
      json submitter = spec_of_pod(priority_class, "submitter", "Never");
      submitter["containers"][0].erase("resources");
      body["spec"] = {{"entrypoint", "python train.py"},
                      {"suspend", true},
                      {"shutdownAfterJobFinishes", true},
                      {"rayClusterSpec", ray_cluster_spec(priority_class, 3)}};
      body["spec"]["submitterPodTemplate"]["spec"] = submitter;
      return body;
    };
    out.suspended = [](const json& o) { return state_of(o, "jobDeploymentStatus") == "Suspended"; };
    out.well = [](const json& o) { return !o["status"].contains("failed") || o["status"]["failed"] == 0; };
    out.finish = [this](const std::string& name) {
      dashboard_.end(state_of(get(std::string(kRayJobs) + "/" + name), "jobId"));
      // The submitter's pod alone ends by itself: its name has no part of a cluster's.
      for (const auto& [key, pod] : observer_->pods()) {
        if (key.starts_with("default/" + name + "-") && key.find("-gpu-") == std::string::npos &&
            key.find("-head-") == std::string::npos)
          finish_pod(key.substr(8));
      }
    };
    out.done = [](const json& o) {
      return state_of(o, "jobDeploymentStatus") == "Complete" && state_of(o, "jobStatus") == "SUCCEEDED";
    };
    return out;
  }

  JudgedKind services() {
    JudgedKind out;
    out.path = kRayServices;
    out.pods = 4;
    out.body = [](const std::string& name, const std::string& priority_class) {
      json body = object("ray.io/v1", "RayService", name);
      body["spec"]["serveConfigV2"] = "applications: []\n";
      body["spec"]["rayClusterDeletionDelaySeconds"] = 0;
      body["spec"]["rayClusterConfig"] = ray_cluster_spec(priority_class, 3);
      body["spec"]["rayClusterConfig"]["suspend"] = true;
      return body;
    };
    out.suspended = [](const json& o) {
      return o.is_object() && o["spec"]["rayClusterConfig"].value("suspend", false);
    };
    out.well = [](const json& o) {
      return o.is_object() && condition_in(o, "Ready").find("ValidationFailed") == std::string::npos &&
             condition_in(o, "Ready").find("InitializingTimeout") == std::string::npos;
    };
    return out;
  }

  // A RayService makes a second cluster for it.
  void change_cluster(const std::string& name) {
    patch(fmt::format("{}/{}", kRayServices, name),
          {{"spec", {{"rayClusterConfig", {{"headGroupSpec", {{"rayStartParams", {{"num-cpus", "1"}}}}}}}}}});
  }
  // The service `svc` runs on four of seven GPUs, and its second cluster waits for four.
  void begin_upgrade(const JudgedKind& kind) {
    ASSERT_NO_FATAL_FAILURE(start_ray(8));
    grant(7);
    ASSERT_NE(start_berth(), nullptr);
    create(kind.path, kind.body("svc", "low"));
    expect_runs(kind, "svc");
    // Until the first cluster serves, KubeRay puts another in its place, and never has two.
    EXPECT_TRUE(eventually([&] {
      return named(kind, "svc").value(json::json_pointer("/status/activeServiceStatus/rayClusterName"), "") !=
             "";
    })) << said(kind, "svc");
    change_cluster("svc");
    EXPECT_TRUE(eventually([&] { return pods("svc") == 2 * kind.pods; })) << pods("svc") << said(kind, "svc");
  }
  // The upgrade is over.
  void expect_one_cluster(const JudgedKind& kind) {
    EXPECT_TRUE(eventually([&] { return clusters() == 1 && pods("svc") == kind.pods; }, kDone))
        << pods("svc") << said(kind, "svc");
    EXPECT_EQ(occupying("svc"), kind.pods) << said(kind, "svc");
  }
  std::size_t clusters() const { return get(ray_cluster(1).path)["items"].size(); }

  Dashboard dashboard_;
};

TEST_F(BerthRay, AClusterWaitsStartsWholeIsDisplacedWholeAndStartsAgain) {
  ASSERT_NO_FATAL_FAILURE(start_ray(8));
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(ray_cluster(4));
}

TEST_F(BerthRay, AJobWaitsStartsWholeIsDisplacedWholeAndFinishes) {
  ASSERT_NO_FATAL_FAILURE(start_ray(7));  // four of the five pods have one each
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(jobs());
}

TEST_F(BerthRay, AServiceWaitsStartsWholeIsDisplacedWholeAndStartsAgain) {
  ASSERT_NO_FATAL_FAILURE(start_ray(7));
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(services());
}

// Displaced while its second cluster waits: KubeRay suspends the newer cluster alone, so Berth deletes the pods of the one that serves.
TEST_F(BerthRay, AServiceThatIsDisplacedInTheMiddleOfAnUpgradeComesBackWhole) {
  const JudgedKind kind = services();
  ASSERT_NO_FATAL_FAILURE(begin_upgrade(kind));
  const JudgedKind other = ray_cluster(3);
  create(other.path, other.body("top", "high"));
  expect_runs(other, "top");
  // KubeRay may drop the one that served, now that it serves no more.
  EXPECT_TRUE(eventually([&] { return occupying("svc") == 0 && pods("svc") >= kind.pods; }))
      << occupying("svc") << " of " << pods("svc") << said(kind, "svc");
  EXPECT_FALSE(kind.suspended(named(kind, "svc"))) << "it waits with its pods";
  EXPECT_TRUE(cluster_->client().del(other.path + "/top").ok());
  expect_runs(kind, "svc");
  grant(8);
  expect_one_cluster(kind);
  // It can be displaced by its switch again.
  create(other.path, other.body("more", "high"));
  create(other.path, other.body("most", "high"));
  expect_runs(other, "most");
  EXPECT_TRUE(eventually([&] { return waits(kind, "svc"); })) << said(kind, "svc");
  EXPECT_TRUE(kind.well(named(kind, "svc"))) << said(kind, "svc");
  expect_clean();
}

// Changed while it is displaced: it comes back whole, and ends with the changed cluster alone.
TEST_F(BerthRay, AServiceThatIsChangedWhileItIsDisplacedComesBackWhole) {
  ASSERT_NO_FATAL_FAILURE(start_ray(4));
  ASSERT_NE(start_berth(), nullptr);
  const JudgedKind kind = services();
  create(kind.path, kind.body("svc", "low"));
  expect_runs(kind, "svc");
  const JudgedKind other = ray_cluster(3);
  create(other.path, other.body("top", "high"));
  expect_runs(other, "top");
  EXPECT_TRUE(eventually([&] { return waits(kind, "svc"); })) << said(kind, "svc");
  change_cluster("svc");
  EXPECT_TRUE(cluster_->client().del(other.path + "/top").ok());
  expect_runs(kind, "svc");
  expect_one_cluster(kind);
  expect_clean();
}

// Since KubeRay 1.7 its user stops it by spec.suspend: it has no pods and no quota then. It starts again whole, when there is room.
TEST_F(BerthRay, AServiceThatItsUserStopsGivesItsRoomAwayAndComesBackWhole) {
  const JudgedKind kind = services();
  ASSERT_NO_FATAL_FAILURE(start_ray(7));
  ASSERT_NE(start_berth(), nullptr);
  create(kind.path, kind.body("svc", "low"));
  expect_runs(kind, "svc");
  const auto stop = [&](bool stopped) {
    patch(fmt::format("{}/svc", kRayServices), {{"spec", {{"suspend", stopped}}}});
  };
  stop(true);
  if (!named(kind, "svc")["spec"].contains("suspend")) GTEST_SKIP() << "this KubeRay has no spec.suspend";
  EXPECT_TRUE(eventually([&] { return pods("svc") == 0 && clusters() == 0; })) << said(kind, "svc");
  create(kind.path, kind.body("more", "low"));
  expect_runs(kind, "more");
  stop(false);
  EXPECT_TRUE(eventually([&] { return pods("svc") == kind.pods; })) << said(kind, "svc");
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(occupying("svc"), 0U) << "three GPUs are left for four pods";
  EXPECT_TRUE(cluster_->client().del(kind.path + "/more").ok());
  expect_runs(kind, "svc");
  // It can be displaced by its switch again.
  const JudgedKind other = ray_cluster(3);
  create(other.path, other.body("top", "high"));
  expect_runs(other, "top");
  EXPECT_TRUE(eventually([&] { return waits(kind, "svc"); })) << said(kind, "svc");
  expect_clean();
}

// A changed cluster is made beside the one that serves, waits until there is room for all of it, and takes its place.
TEST_F(BerthRay, TheSecondClusterOfAChangedServiceStartsWhole) {
  const JudgedKind kind = services();
  ASSERT_NO_FATAL_FAILURE(begin_upgrade(kind));
  std::this_thread::sleep_for(seconds(3));
  EXPECT_EQ(occupying("svc"), kind.pods) << "three GPUs are left for four pods";
  grant(8);
  expect_one_cluster(kind);
  create(kind.path, kind.body("more", "low"));
  expect_runs(kind, "more");
  EXPECT_TRUE(kind.well(named(kind, "svc"))) << said(kind, "svc");
  expect_clean();
}

// The containers that KubeRay adds have no quota: it waits for that from the beginning, and is never started.
TEST_F(BerthRay, AClusterWithoutRoomForWhatKubeRayAddsIsNeverStarted) {
  ASSERT_NO_FATAL_FAILURE(start_ray(8));
  grant(8, "512Mi");
  ASSERT_NE(start_berth(), nullptr);
  const JudgedKind three = ray_cluster(3);  // 256Mi for each of its workers
  create(three.path, three.body("three", "low"));
  std::this_thread::sleep_for(seconds(5));
  EXPECT_TRUE(waits(three, "three")) << said(three, "three");
  EXPECT_EQ(named(three, "three")["metadata"]["generation"], 1) << "it was never released";
  const JudgedKind two = ray_cluster(2);
  create(two.path, two.body("two", "low"));
  expect_runs(two, "two");
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

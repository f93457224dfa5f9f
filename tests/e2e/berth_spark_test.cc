// SparkApplications with Kubeflow's Spark operator and its webhook. Spark's own spark-submit makes the drivers. No Spark runs in them: the
// test makes the executors of a driver that runs, with the labels and the owner that Spark gives them.
//   scripts/controllers build spark && build/release/tests/e2e/test_e2e --gtest_filter='BerthSpark.*'
#include <fmt/format.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "e2e/judged_kinds.h"

namespace berth::e2e {
namespace {

constexpr const char* kApplications =
    "/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications";
constexpr const char* kSparkPods = "/api/v1/namespaces/default/pods";
constexpr int kExecutors = 3;

class BerthSpark : public KindsTest {
 protected:
  std::vector<std::string> controllers() const override { return {"spark", "spark-webhook"}; }
  void start_spark(int gpus) {
    start_with_controllers(gpus);
    if (HasFatalFailure()) return;
    drivers_ = std::thread([this] {
      while (!stop_) {
        std::this_thread::sleep_for(milliseconds(200));
        act_as_drivers();
      }
    });
  }
  void TearDown() override {
    stop_ = true;
    if (drivers_.joinable()) drivers_.join();
    KindsTest::TearDown();
  }

  JudgedKind applications() {
    JudgedKind out;
    out.path = kApplications;
    out.pods = 1 + kExecutors;
    out.body = [](const std::string& name, const std::string& priority_class) {
      json body = object("sparkoperator.k8s.io/v1beta2", "SparkApplication", name);
      json pod = {{"cores", 1},
                  {"memory", "512m"},
                  {"schedulerName", "berth"},
                  {"priorityClassName", priority_class}};
      pod["gpu"] = {{"name", "nvidia.com/gpu"}, {"quantity", 1}};
      body["spec"] = {{"type", "Scala"},         {"mode", "cluster"},
                      {"sparkVersion", "4.0.1"}, {"image", "spark:4.0.1"},
                      {"mainClass", "Main"},     {"mainApplicationFile", "local:///main.jar"},
                      {"driver", pod},           {"executor", pod},
                      {"suspend", true},         {"restartPolicy", {{"type", "Never"}}}};
      body["spec"]["executor"]["instances"] = kExecutors;
      return body;
    };
    out.suspended = [](const json& o) { return state(o) == "SUSPENDED"; };
    out.well = [](const json& o) {
      const std::string now = state(o);
      // The operator counts each start, and the one that is displaced starts twice.
      const int starts = o.is_object() && o["metadata"]["name"] == "low" ? 2 : 1;
      return o.is_object() && now != "FAILED" && now != "SUBMISSION_FAILED" && now != "FAILING" &&
             o.value("status", json::object()).value("executionAttempts", 0) <= starts;
    };
    out.finish = [this](const std::string& name) { finish_pod(name + "-driver"); };
    out.done = [](const json& o) { return state(o) == "COMPLETED"; };
    return out;
  }
  static std::string state(const json& application) {
    if (!application.is_object() || !application.contains("status")) return "";
    return application["status"].value("applicationState", json::object()).value("state", "");
  }
  // As the program of a driver: it makes its executors once it runs, and deletes them when it has ended.
  void act_as_drivers() {
    const auto all = observer_->pods();
    for (const auto& [key, pod] : all) {
      if (!key.ends_with("-driver")) continue;
      const std::string name = key.substr(8);
      const json driver = get(fmt::format("{}/{}", kSparkPods, name));
      if (!driver.is_object()) continue;
      const std::string phase = driver["status"].value("phase", "");
      for (int number = 1; number <= kExecutors; ++number) {
        const std::string executor = fmt::format("{}-exec-{}", name.substr(0, name.size() - 7), number);
        const bool there = all.contains("default/" + executor);
        if (phase == "Running" && !there && !driver["metadata"].contains("deletionTimestamp"))
          (void)cluster_->client().post(kSparkPods, executor_of(driver, executor, number).dump());
        if (phase == "Succeeded" && there)
          (void)cluster_->client().del(fmt::format("{}/{}", kSparkPods, executor));
      }
    }
  }
  static json executor_of(const json& driver, const std::string& name, int number) {
    json out = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}}}};
    json& labels = out["metadata"]["labels"];
    for (const char* label :
         {"spark-app-selector", "sparkoperator.k8s.io/app-name", "sparkoperator.k8s.io/submission-id",
          "sparkoperator.k8s.io/launched-by-spark-operator",
          "sparkoperator.k8s.io/mutated-by-spark-operator"})
      labels[label] = driver["metadata"]["labels"][label];
    labels["spark-role"] = "executor";
    labels["spark-exec-id"] = std::to_string(number);
    out["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "v1"},
                                                       {"kind", "Pod"},
                                                       {"name", driver["metadata"]["name"]},
                                                       {"uid", driver["metadata"]["uid"]},
                                                       {"controller", true}}});
    json container = {{"name", "spark-kubernetes-executor"}, {"image", "spark:4.0.1"}};
    container["resources"] = {{"requests", {{"cpu", "1"}, {"memory", "896Mi"}}},
                              {"limits", {{"memory", "896Mi"}}}};
    out["spec"] = {{"restartPolicy", "Never"}, {"containers", json::array({container})}};
    return out;
  }

  std::thread drivers_;
  std::atomic<bool> stop_ = false;
};

TEST_F(BerthSpark, AnApplicationWaitsStartsIsDisplacedWholeAndFinishes) {
  ASSERT_NO_FATAL_FAILURE(start_spark(7));
  ASSERT_NE(start_berth(), nullptr);
  expect_whole_life(applications());
}

}  // namespace
}  // namespace berth::e2e

// `berth plan --live` against a strict API server in this process (tests/kube).
#include "cli/plan_live.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/plan.h"
#include "kube/fake_api_server_support.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using kube::testing::FakeApiServer;
using kube::testing::Json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kPods = "/api/v1/namespaces/default/pods";
constexpr const char* kJobsPath = "/apis/batch/v1/namespaces/default/jobs";

Json container(int gpus) {
  return Json::array(
      {{{"name", "c"}, {"resources", {{"limits", {{"nvidia.com/gpu", std::to_string(gpus)}}}}}}});
}

class PlanLive : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(::testing::TempDir()) /
        (std::string("berth-plan-live-") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    options_.live = LiveOptions{write_kubeconfig(api_.url()), {}};
    const Json amounts = {{"cpu", "64"}, {"pods", "110"}, {"nvidia.com/gpu", "4"}};
    api_.create("/api/v1/nodes",
                Json{{"metadata", {{"name", "n1"}}}, {"status", {{"allocatable", amounts}}}});
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  std::string write_kubeconfig(const std::string& url) {
    return write("kubeconfig", fmt::format("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                                           "clusters: [{{name: c, cluster: {{server: {}}}}}]\n"
                                           "users: [{{name: u, user: {{}}}}]\n"
                                           "contexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n",
                                           url));
  }
  // A Job of so many pods of one GPU.
  std::string write_job(const std::string& name, int pods) {
    return write("job.yaml",
                 fmt::format("apiVersion: batch/v1\nkind: Job\nmetadata: {{name: {}}}\n"
                             "spec: {{parallelism: {}, template: {{spec: {{containers: "
                             "[{{name: c, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}}}}}\n",
                             name, pods));
  }
  void add_pod(const std::string& name, int gpus, const std::string& node, const Json& owner = nullptr) {
    Json pod = {{"metadata", {{"name", name}, {"namespace", "default"}}},
                {"spec", {{"containers", container(gpus)}}},
                {"status", {{"phase", node.empty() ? "Pending" : "Running"}}}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    if (!owner.is_null()) pod["metadata"]["ownerReferences"] = Json::array({owner});
    api_.create(kPods, pod);
  }
  int run() {
    out_.str("");
    err_.str("");
    return run_plan(options_, out_, err_);
  }
  std::string out() const { return out_.str(); }
  std::string err() const { return err_.str(); }

  FakeApiServer api_;
  fs::path folder_;
  PlanOptions options_;

 private:
  std::ostringstream out_, err_;
};

TEST_F(PlanLive, NamesWaitingWorkWithReasonsAndWritesNothing) {
  add_pod("runs", 3, "n1");
  add_pod("fits", 1, "");
  add_pod("waits", 2, "");
  EXPECT_EQ(run(), 0) << err();
  EXPECT_THAT(out(), HasSubstr("1 start, 0 evicted, 0 held, 1 wait, 0 refused, 1 run on"));
  EXPECT_THAT(out(), HasSubstr(fmt::format("note: The cluster is {} (", api_.url())));
  EXPECT_THAT(err(), IsEmpty());
  for (const std::string method : {"POST", "PUT", "PATCH", "DELETE", "WATCH"})
    EXPECT_EQ(api_.count(method), 0);
}

TEST_F(PlanLive, AManifestIsLaidOverTheCluster) {
  add_pod("runs", 3, "n1");
  options_.files = {write_job("asked", 2)};
  EXPECT_EQ(run(), 0) << err();
  EXPECT_THAT(out(), HasSubstr("default/asked"));
  EXPECT_THAT(out(), HasSubstr("1 start, 0 evicted, 0 held, 1 wait"));
}

// A Job that is in the cluster keeps its pods: the manifest says how many it is to have.
TEST_F(PlanLive, AJobThatIsThereKeepsItsPods) {
  const Json job = api_.create(
      kJobsPath,
      Json{{"metadata", {{"name", "grows"}, {"namespace", "default"}}},
           {"spec", {{"parallelism", 1}, {"template", {{"spec", {{"containers", container(1)}}}}}}}});
  add_pod("grows-x", 1, "n1",
          {{"apiVersion", "batch/v1"},
           {"kind", "Job"},
           {"name", "grows"},
           {"uid", job["metadata"]["uid"]},
           {"controller", true}});
  options_.files = {write_job("grows", 3)};
  EXPECT_EQ(run(), 0) << err();
  EXPECT_THAT(out(), HasSubstr("2 start, 0 evicted, 0 held, 0 wait, 0 refused, 1 run on"));
  EXPECT_THAT(out(), HasSubstr("Job default/grows lacks pods: planned with 2 pods made from its template"));
}

TEST_F(PlanLive, APodThatIsThereStaysAsItIs) {
  add_pod("same", 1, "n1");
  options_.files = {write("pod.yaml",
                          "apiVersion: v1\nkind: Pod\nmetadata: {name: same}\n"
                          "spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 4}}}]}\n")};
  EXPECT_EQ(run(), 0) << err();
  EXPECT_THAT(out(), HasSubstr("Pod default/same is in the cluster already"));
  EXPECT_THAT(out(), HasSubstr("0 start, 0 evicted, 0 held, 0 wait, 0 refused, 1 run on"));
}

// A member that succeeded is not made again, so the gang does not wait for it: as the live scheduler decides.
TEST_F(PlanLive, AGangDoesNotWaitForMembersThatSucceeded) {
  const auto add_member = [&](const std::string& name, const std::string& node, const std::string& phase) {
    Json pod = {{"metadata",
                 {{"name", name},
                  {"namespace", "default"},
                  {"labels", {{"berth.dev/gang", "g"}, {"berth.dev/gang-size", "3"}}}}},
                {"spec", {{"containers", container(1)}}},
                {"status", {{"phase", phase}}}};
    if (!node.empty()) pod["spec"]["nodeName"] = node;
    api_.create(kPods, pod);
  };
  add_member("runs", "n1", "Running");
  add_member("new", "", "Pending");
  EXPECT_EQ(run(), 0) << err();
  EXPECT_THAT(out(), HasSubstr("0 start")) << "the third is missing";
  add_member("done", "n1", "Succeeded");
  EXPECT_EQ(run(), 0) << err();
  EXPECT_THAT(out(), HasSubstr("1 start, 0 evicted, 0 held, 0 wait"));
}

TEST_F(PlanLive, TheTimeIsThatOfTheReading) {
  options_.format = PlanFormat::kJson;
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(out(), Not(HasSubstr("1970")));
}

TEST_F(PlanLive, WhatCannotBeReadIsAnErrorAndThereIsNoPlan) {
  options_.live->kubeconfig = (folder_ / "missing").string();
  EXPECT_EQ(run(), 2);
  EXPECT_THAT(err(), HasSubstr("missing"));
  options_.live->kubeconfig = write_kubeconfig("http://127.0.0.1:1");
  EXPECT_EQ(run(), 2);
  EXPECT_THAT(err(), HasSubstr("127.0.0.1"));
  EXPECT_THAT(out(), IsEmpty());
}

TEST_F(PlanLive, ALogIsReplayedAlone) {
  options_.files = {write("log.jsonl", "{\"format\": \"berth-decision-log\"}\n")};
  EXPECT_EQ(run(), 2);
  EXPECT_THAT(err(), HasSubstr("leave out --live"));
}

}  // namespace
}  // namespace berth::cli

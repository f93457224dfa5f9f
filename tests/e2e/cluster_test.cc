// The test cluster itself: it starts, serves, restarts, plays kubelet, and leaves nothing behind.
#include <fmt/format.h>
#include <gtest/gtest-spi.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "e2e/fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;
using std::chrono::seconds;

class TestClusterTest : public ClusterTest {};

TEST_F(TestClusterTest, ServesTheApiAndForgetsItsFolder) {
  start();
  EXPECT_TRUE(cluster_->version().starts_with("v1.")) << cluster_->version();
  ASSERT_OK(cluster_->create_nodes(3));
  ASSERT_OK(cluster_->create_pods(5));
  EXPECT_TRUE(observer_->wait_until([](const auto& now) { return now.pods == 5; }, seconds(10)));
  const auto folder = cluster_->folder();
  EXPECT_TRUE(std::filesystem::exists(folder));
  observer_->stop();
  cluster_.reset();
  EXPECT_FALSE(std::filesystem::exists(folder));
}

// A test that asked for it does not go on without it.
TEST_F(TestClusterTest, OneThatDoesNotStartEndsItsTest) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("berth-no-cluster-{}", getpid());
  const char* known = std::getenv("BERTH_E2E_DIR");
  const std::string former = known == nullptr ? "" : known;
  ::setenv("BERTH_E2E_DIR", folder.c_str(), 1);  // its logs are kept
  bool went_on = false;
  EXPECT_NONFATAL_FAILURE(EXPECT_THROW(
                              {
                                start({.api_server_args = {"--no-such-flag"}});
                                went_on = true;
                              },
                              testing::AssertionException),
                          "kube-apiserver ended");
  EXPECT_FALSE(went_on);
  ::setenv("BERTH_E2E_DIR", former.c_str(), 1);
  std::filesystem::remove_all(folder);
}

TEST_F(TestClusterTest, AnIdentityHasOnlyItsRoles) {
  start();
  auto kubeconfig = cluster_->kubeconfig_for("system:serviceaccount:berth:berth");
  ASSERT_TRUE(kubeconfig.has_value()) << kubeconfig.error().str();
  Endpoint endpoint = cluster_->endpoint();
  endpoint.cert_file = *kubeconfig;
  endpoint.cert_file.replace(endpoint.cert_file.rfind(".kubeconfig"), std::string::npos, ".crt");
  endpoint.key_file = endpoint.cert_file;
  endpoint.key_file.replace(endpoint.key_file.rfind(".crt"), std::string::npos, ".key");
  ApiClient api(endpoint);
  EXPECT_EQ(api.get("/api/v1/pods").status, 403);
  std::ofstream(cluster_->folder() / "role.yaml")
      << "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: reader}, rules: "
         "[{apiGroups: [''], resources: [pods], verbs: [list]}]}\n---\n"
         "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: reader}, "
         "roleRef: "
         "{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}, subjects: [{kind: "
         "ServiceAccount, "
         "namespace: berth, name: berth}]}\n";
  ASSERT_OK(cluster_->apply((cluster_->folder() / "role.yaml").string()));
  const auto end = std::chrono::steady_clock::now() + seconds(10);
  while (api.get("/api/v1/pods").status != 200 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(api.get("/api/v1/pods").status, 200);
  EXPECT_EQ(api.get("/api/v1/nodes").status, 403);
}

TEST_F(TestClusterTest, KeepsItsDataAndTheObserverItsPlaceOverARestartOfTheApiServer) {
  start();
  ASSERT_OK(cluster_->create_nodes(1));
  ASSERT_OK(cluster_->create_pods(4));
  EXPECT_TRUE(observer_->wait_until([](const auto& now) { return now.pods == 4; }, seconds(20)));
  ASSERT_OK(cluster_->restart_api_server(/*kill=*/true));
  ASSERT_OK(cluster_->create_pods(4, {.name = "later"}));
  EXPECT_TRUE(observer_->wait_until([](const auto& now) { return now.pods == 8; }, seconds(20)));
  ASSERT_OK(observer_->catch_up());
  const auto report = observer_->check();
  EXPECT_EQ(report.violation_count, 0U) << report.str();
  // The new server knows no event before its start, so the pods made since may have been seen by a list only.
  EXPECT_LE(report.gaps, 1U) << report.str();
}

TEST_F(TestClusterTest, JobsRunToTheirEndOnFakeNodesWithTheDefaultScheduler) {
  start({.controller_manager = true,
         .kube_scheduler = true,
         .kwok = true,
         .service_accounts = true,
         .job_pod_runs_ms = 300});
  ASSERT_OK(cluster_->create_nodes(4));
  const json job = {
      {"apiVersion", "batch/v1"},
      {"kind", "Job"},
      {"metadata", {{"name", "train"}}},
      {"spec",
       {{"completions", 20},
        {"parallelism", 20},
        {"template",
         {{"spec",
           {{"restartPolicy", "Never"},
            {"containers", json::array({{{"name", "main"},
                                         {"image", "image"},
                                         {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}})}}}}}}}};
  auto api = cluster_->client();
  ASSERT_OK(expect_ok(api.post("/apis/batch/v1/namespaces/default/jobs", job.dump()), "creating a Job"));
  EXPECT_TRUE(observer_->wait_until([](const auto& now) { return now.terminal == 20; }, seconds(60)));
  ASSERT_OK(observer_->catch_up());
  const auto report = observer_->check();
  EXPECT_TRUE(report.clean()) << report.str();
  EXPECT_EQ(report.binds, 20U);
  bool complete = false;
  for (int i = 0; i < 100 && !complete; ++i) {
    const auto reply = api.get("/apis/batch/v1/namespaces/default/jobs/train");
    complete = json::parse(reply.body)["status"].value("succeeded", 0) == 20;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(complete);
}

// A test that crashes must not leave an API server behind.
TEST_F(TestClusterTest, ItsProcessesDieWithTheProcessThatStartedThem) {
  int fds[2];
  ASSERT_EQ(pipe(fds), 0);
  std::vector<char*> variables;  // it runs that one test, whichever part of all this process runs
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("GTEST_")) variables.push_back(*variable);
  }
  variables.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    execle("/proc/self/exe", "test_e2e", "--gtest_filter=DISABLED_Helper.StartsAndWaits",
           "--gtest_also_run_disabled_tests", ("--berth-report-fd=" + std::to_string(fds[1])).c_str(),
           nullptr, variables.data());
    _exit(127);
  }
  close(fds[1]);
  std::string text;
  char buffer[256];
  while (text.find('\n') == std::string::npos) {
    const ssize_t got = read(fds[0], buffer, sizeof buffer);
    if (got <= 0) {
      break;
    }
    text.append(buffer, static_cast<std::size_t>(got));
  }
  close(fds[0]);
  long etcd = 0;
  long server = 0;
  char folder[200] = "";
  ASSERT_EQ(std::sscanf(text.c_str(), "%ld %ld %199s", &etcd, &server, folder), 3) << text;
  EXPECT_EQ(kill(static_cast<pid_t>(server), 0), 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  const auto alive = [](long pid) {
    std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
    std::string skip;
    std::string state;
    stat >> skip >> skip >> state;
    return stat.good() && state != "Z";
  };
  for (int i = 0; i < 200 && (alive(etcd) || alive(server)); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_FALSE(alive(etcd));
  EXPECT_FALSE(alive(server));
  std::filesystem::remove_all(folder);
}

}  // namespace

// Not a test: what ItsProcessesDieWithTheProcessThatStartedThem runs in another process and kills.
TEST(DISABLED_Helper, StartsAndWaits) {
  int fd = -1;
  for (const auto& argument : testing::internal::GetArgvs()) {
    if (argument.starts_with("--berth-report-fd=")) {
      fd = std::stoi(argument.substr(18));
    }
  }
  ASSERT_GE(fd, 0);
  auto cluster = TestCluster::start();
  ASSERT_TRUE(cluster.has_value()) << cluster.error().str();
  dprintf(fd, "%d %d %s\n", (*cluster)->process("etcd")->pid(), (*cluster)->process("kube-apiserver")->pid(),
          (*cluster)->folder().c_str());
  pause();
}

}  // namespace berth::e2e

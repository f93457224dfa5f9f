// `berth plan --live` asked of a real API server, with the rights of deploy/plan.yaml.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "e2e/teams.h"

namespace berth::e2e {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class BerthPlan : public TeamsTest {
 protected:
  struct Answer {
    int code = -1;
    std::string text;  // standard output and error
  };
  Answer plan(const std::string& kubeconfig, std::vector<std::string> args = {}) {
    const std::string log = cluster_->log(fmt::format("plan-{}", ++asked_));
    std::vector<std::string> argv = {BERTH_PROGRAM, "plan", "--live", "--kubeconfig", kubeconfig};
    argv.insert(argv.end(), args.begin(), args.end());
    auto process = Process::start({.argv = std::move(argv), .log = log});
    if (!process || !process->wait(60'000)) {
      ADD_FAILURE() << "berth plan did not end";
      return {};
    }
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    return {process->exit_status(), text.str()};
  }
  // Names of one list of the first round.
  static std::vector<std::string> names(const Answer& answer, const std::string& list) {
    std::vector<std::string> out;
    const json read = json::parse(answer.text, nullptr, false);
    if (read.is_discarded()) return {answer.text};
    for (const auto& line : read["rounds"][0][list]) out.push_back(line["workload"]);
    return out;
  }
  std::string write(const std::string& name, const json& object) {
    const std::string path = cluster_->log(name);
    std::ofstream(path) << object.dump();
    return path;
  }

 private:
  int asked_ = 0;
};

TEST_F(BerthPlan, SaysOfTheClusterWhatBerthThenDoes) {
  prepare_observer_ = [](ObserverOfPods& observer) {
    observer.add_gang_label("batch.kubernetes.io/job-name", 4);
  };
  start({.controller_manager = true, .kwok = true, .service_accounts = true, .job_pod_runs_ms = 600'000});
  ASSERT_OK(cluster_->create_nodes(2));
  create_kinds();
  create_queue({.name = "team", .gpus = 8});
  create_local_queue("default", "team", "team");
  ASSERT_OK(cluster_->create_priority_class("high", 100));
  create(jobs_in("default"), job_json({.name = "first", .queue = "team", .pods = 4, .gpus = 2}));

  const auto viewer = cluster_->kubeconfig_for("viewer");
  ASSERT_OK(viewer);
  const Answer refused = plan(*viewer);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.text,
              AllOf(HasSubstr("403"), HasSubstr("list on nodes"), HasSubstr("deploy/plan.yaml")));
  ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/plan.yaml"));
  create(
      "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
      {{"apiVersion", "rbac.authorization.k8s.io/v1"},
       {"kind", "ClusterRoleBinding"},
       {"metadata", {{"name", "berth-plan"}}},
       {"roleRef",
        {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", "berth-plan"}}},
       {"subjects",
        json::array({{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", "viewer"}}})}});
  Answer answer;
  EXPECT_TRUE(eventually([&] { return (answer = plan(*viewer, {"-o", "json"})).code == 0; })) << answer.text;
  EXPECT_EQ(names(answer, "starts"), std::vector<std::string>{"default/first"});

  // Workloads are read, too: one that is work of its own, and one that stands for the Job and is deactivated.
  const auto workload = [](const std::string& name, bool active) {
    json set = {{"name", "main"}, {"count", 4}};
    set["template"] = job_json({.name = name, .queue = "team", .pods = 4, .gpus = 2})["spec"]["template"];
    return json{{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                {"kind", "Workload"},
                {"metadata", {{"name", name}}},
                {"spec", {{"active", active}, {"queueName", "team"}, {"podSets", json::array({set})}}}};
  };
  const std::string workloads = std::string(kKueue) + "/namespaces/default/workloads";
  create(workloads, workload("remote", true));
  json of_first = workload("of-first", false);
  of_first["metadata"]["ownerReferences"] =
      json::array({{{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"name", "first"},
                    {"uid", get(jobs_in("default") + "/first")["metadata"]["uid"]}}});
  create(workloads, of_first);
  answer = plan(*viewer, {"-o", "json"});
  EXPECT_EQ(names(answer, "starts"), std::vector<std::string>{"default/remote"}) << answer.text;
  EXPECT_EQ(names(answer, "waiting"), std::vector<std::string>{"default/first"}) << answer.text;
  for (const std::string name : {"remote", "of-first"})
    EXPECT_TRUE(cluster_->client().del(workloads + "/" + name).ok());

  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  EXPECT_TRUE(eventually([&] { return occupying("default/first-") == 4; }));
  // The queue is full: another Job of that kind waits, one of higher priority would end the first.
  const json same = job_json({.name = "second", .queue = "team", .pods = 4, .gpus = 2});
  json high = same;
  high["metadata"]["name"] = "urgent";
  high["spec"]["template"]["spec"]["priorityClassName"] = "high";
  answer = plan(*viewer, {"-o", "json", "-f", write("second.json", same)});
  EXPECT_EQ(names(answer, "waiting"), std::vector<std::string>{"default/second"}) << answer.text;
  EXPECT_EQ(names(answer, "running"), std::vector<std::string>{"default/first"});
  answer = plan(*viewer, {"-o", "json", "-f", write("urgent.json", high)});
  EXPECT_EQ(names(answer, "evictions"), std::vector<std::string>{"default/first"}) << answer.text;
  EXPECT_EQ(occupying("default/first-"), 4U) << "nothing was written";
  create(jobs_in("default"), high);
  EXPECT_TRUE(eventually([&] { return occupying("default/urgent-") == 4; }));
  EXPECT_EQ(occupying("default/first-"), 0U);
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

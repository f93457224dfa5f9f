// `berth get`, `explain`, `queue`, `top`, `log` and `check` asked of a real API server, by an administrator and by a tenant.
#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "e2e/teams.h"

namespace berth::e2e {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class BerthCommands : public TeamsTest {
 protected:
  struct Answer {
    int code = -1;
    std::string text;  // standard output and error
  };
  Answer ask(const std::string& kubeconfig, std::vector<std::string> args) {
    const std::string log = cluster_->log(fmt::format("command-{}", ++asked_));
    std::vector<std::string> argv = {BERTH_PROGRAM};
    argv.insert(argv.end(), args.begin(), args.end());
    argv.insert(argv.end(), {"--kubeconfig", kubeconfig});
    auto process = Process::start({.argv = std::move(argv), .log = log});
    if (!process || !process->wait(60'000)) {
      ADD_FAILURE() << "the command did not end: " << args.front();
      return {};
    }
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    return {process->exit_status(), text.str()};
  }
  json read(const std::string& kubeconfig, std::vector<std::string> args) {
    args.insert(args.end(), {"-o", "json"});
    const Answer answer = ask(kubeconfig, std::move(args));
    json out = json::parse(answer.text, nullptr, false);
    EXPECT_FALSE(out.is_discarded()) << answer.text;
    return out;
  }
  // The item with this name.
  static json item(const json& list, const std::string& name) {
    for (const json& one : list.value("items", json::array())) {
      if (one["name"] == name) return one;
    }
    return json::object();
  }
  // A user with the role in namespace default, and the right to view LocalQueues there.
  std::string tenant() {
    const auto kubeconfig = cluster_->kubeconfig_for("tenant");
    EXPECT_TRUE(kubeconfig.has_value());
    for (const std::string role : {"view", "berth-view-localqueues.kueue.x-k8s.io"}) {
      create(
          "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
          {{"apiVersion", "rbac.authorization.k8s.io/v1"},
           {"kind", "RoleBinding"},
           {"metadata", {{"name", "tenant-" + role}}},
           {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", role}}},
           {"subjects",
            json::array(
                {{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", "tenant"}}})}});
    }
    return *kubeconfig;
  }

 private:
  int asked_ = 0;
};

TEST_F(BerthCommands, AnswerAnAdministratorAndATenant) {
  prepare_observer_ = [](ObserverOfPods& observer) {
    observer.add_gang_label("batch.kubernetes.io/job-name", 4);
  };
  start({.controller_manager = true, .kwok = true, .service_accounts = true, .job_pod_runs_ms = 600'000});
  ASSERT_OK(cluster_->create_nodes(2));
  create_kinds();
  ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/roles.yaml"));
  create_queue({.name = "team", .gpus = 8});
  create_local_queue("default", "main", "team");
  const std::string admin = cluster_->kubeconfig();
  const std::string user = tenant();

  Answer answer = ask(admin, {"check"});
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_THAT(answer.text, AllOf(HasSubstr("has all"), HasSubstr("no Berth decides here now")));
  answer = ask(user, {"check"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text, HasSubstr("may not create pods/binding: no pod is bound"));

  create(jobs_in("default"), job_json({.name = "first", .queue = "main", .pods = 4, .gpus = 2}));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  EXPECT_TRUE(eventually([&] { return occupying("default/first-") == 4; }));
  create(jobs_in("default"), job_json({.name = "second", .queue = "main", .pods = 4, .gpus = 2}));

  // Both see the same words.
  for (const auto& [identity, all] : {std::pair(admin, true), std::pair(user, false)}) {
    json list;
    EXPECT_TRUE(eventually([&] {
      list = read(identity, all ? std::vector<std::string>{"get", "workloads", "-A"}
                                : std::vector<std::string>{"get", "workloads", "-n", "default"});
      return item(list, "second").contains("message");
    })) << list.dump(1);
    EXPECT_EQ(item(list, "first")["state"], "Running") << list.dump(1);
    EXPECT_EQ(item(list, "first")["used"]["nvidia.com/gpu"], "8");
    EXPECT_EQ(item(list, "second")["state"], "Pending");
    EXPECT_EQ(item(list, "second")["queue"], "team");
    EXPECT_THAT(item(list, "second")["message"].get<std::string>(), HasSubstr("quota"));
    if (all) {
      EXPECT_EQ(item(list, "second").value("place", 0), 1);
    }
  }
  answer = ask(user, {"get", "workloads", "-A"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text, HasSubstr("the right to list pods in all namespaces"));

  answer = ask(admin, {"explain", "default/second"});
  EXPECT_EQ(answer.code, 0);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("Reasons (by an engine here"), HasSubstr("would be enough"),
                                 HasSubstr("place 1 in the line"), HasSubstr("Waiting")));
  answer = ask(user, {"explain", "second", "-n", "default"});
  EXPECT_EQ(answer.code, 0);
  EXPECT_THAT(answer.text, AllOf(HasSubstr("Why it waits"), HasSubstr("no tree of reasons"),
                                 Not(HasSubstr("Reasons (by"))));

  json list;
  EXPECT_TRUE(eventually([&] {
    list = read(admin, {"get", "queues"});
    return item(list, "team").value("running", 0) == 1 && item(list, "team").value("pending", 0) == 1;
  })) << list.dump(1);
  EXPECT_THAT(ask(user, {"get", "queues", "-n", "default"}).text,
              AllOf(HasSubstr("default/main"), HasSubstr("the right to list clusterqueues.kueue.x-k8s.io")));
  EXPECT_THAT(ask(admin, {"get", "nodes"}).text, HasSubstr("nvidia.com/gpu"));
  EXPECT_EQ(ask(user, {"get", "nodes"}).code, 1);
  EXPECT_THAT(ask(admin, {"top", "-A"}).text, HasSubstr("team"));

  // More quota, and the second starts; a stopped queue starts nothing.
  answer = ask(user, {"queue", "stop", "main", "-n", "default"});
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.text, HasSubstr("the right to patch localqueues.kueue.x-k8s.io in namespace default"));
  EXPECT_EQ(ask(admin, {"queue", "set-quota", "team", "nvidia.com/gpu=16", "--dry-run"}).code, 0);
  EXPECT_EQ(occupying("default/second-"), 0U);
  answer = ask(admin, {"queue", "set-quota", "team", "nvidia.com/gpu=16"});
  EXPECT_EQ(answer.code, 0) << answer.text;
  EXPECT_TRUE(eventually([&] { return occupying("default/second-") == 4; }));
  EXPECT_EQ(ask(admin, {"queue", "stop", "team"}).code, 0);
  EXPECT_EQ(item(read(admin, {"get", "queues"}), "team")["state"], "Stopped");
  EXPECT_EQ(ask(admin, {"queue", "resume", "team"}).code, 0);

  EXPECT_TRUE(eventually([&] {
    answer = ask(user, {"log", "-n", "default", "--no-follow"});
    return answer.text.find("Released") != std::string::npos &&
           answer.text.find("Waiting") != std::string::npos;
  })) << answer.text;
  EXPECT_THAT(ask(admin, {"check"}).text, HasSubstr("Berth decides here"));
  EXPECT_EQ(ask(admin, {"get", "wrokloads"}).code, 2);

  // The scheduler asks the same when it starts.
  EXPECT_FALSE(log_has(*berth, "berth check:"));
  auto* poor = start_berth({.name = "poor", .kubeconfig = user, .args = {"--lease-name", "poor"}});
  ASSERT_NE(poor, nullptr);
  poor->healthy_at_end = false;
  EXPECT_TRUE(eventually(
      [&] { return log_has(*poor, "berth check: rights: may not create pods/binding: no pod is bound"); }));
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

// The corpus of a tenant's attempts (tenant_attempts.h), with the policies and the rights that ship: whatever the tenant does, its
// namespace holds no more than its queue grants at any resourceVersion, also over restarts, and what the queue says that it has in
// use is what its pods hold. BERTH_E2E_LONG=1 looks after every row, so that a failure names the row; otherwise after every table.
#include <set>

#include "e2e/security_fixture.h"
#include "e2e/tenant_attempts.h"

namespace berth::e2e {
namespace {

class BerthAttempts : public SecurityTest {
 protected:
  // No kubelet at all, so what is deleted with a time of grace stays until the test ends it.
  void start_as_shipped() {
    const ClusterOptions options = {
        .controller_manager = true,
        .service_accounts = true,
        .controller_manager_args = {"--use-service-account-credentials=true", "--kube-api-qps=500",
                                    "--kube-api-burst=1000",
                                    "--controllers=*,-node-lifecycle-controller,-taint-eviction-controller"}};
    ASSERT_NO_FATAL_FAILURE(start_two_teams(options));
    const std::string served = cluster_->client().get("/apis/admissionregistration.k8s.io/v1").body;
    if (served.find("\"mutatingadmissionpolicies\"") == std::string::npos) {
      GTEST_SKIP() << "this API server has no MutatingAdmissionPolicy in v1 (Kubernetes 1.36 and later have)";
    }
    for (const char* file :
         {"crds/scheduling.volcano.sh_podgroups", "admission-policy", "tenant-policy", "berth"})
      ASSERT_OK(cluster_->apply(fmt::format("{}/deploy/{}.yaml", BERTH_SOURCE_DIR, file)));
    ASSERT_OK(
        expect_ok(cluster_->client().patch("/api/v1/namespaces/team-a",
                                           R"({"metadata":{"labels":{"berth.dev/tenant":""},)"
                                           R"("annotations":{"berth.dev/priority-classes":"low,normal"}}})"),
                  "labelling a namespace"));
    for (const auto& [name, value] : {std::pair{"low", 10}, {"normal", 100}})
      ASSERT_OK(cluster_->create_priority_class(name, value));
    give_pod_groups();
    const auto kubeconfig =
        cluster_->kubeconfig_for("system:serviceaccount:berth-system:berth",
                                 {"system:serviceaccounts", "system:serviceaccounts:berth-system"});
    ASSERT_OK(kubeconfig);
    kubeconfig_ = *kubeconfig;
    hands_ = std::make_unique<TenantHands>(*tenant_);
    ASSERT_NO_FATAL_FAILURE(wait_for_policies());
  }

  // What docs/security.md takes a tenant to have beside `edit`.
  void give_pod_groups() {
    const std::string rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/";
    create(rbac + "roles",
           {{"apiVersion", "rbac.authorization.k8s.io/v1"},
            {"kind", "Role"},
            {"metadata", {{"name", "podgroups"}}},
            {"rules", json::array({{{"apiGroups", {"scheduling.x-k8s.io", "scheduling.volcano.sh"}},
                                    {"resources", {"podgroups"}},
                                    {"verbs", {"*"}}}})}});
    create(
        rbac + "rolebindings",
        {{"apiVersion", "rbac.authorization.k8s.io/v1"},
         {"kind", "RoleBinding"},
         {"metadata", {{"name", "podgroups"}}},
         {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "podgroups"}}},
         {"subjects",
          json::array({{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", kTenant}}})}});
  }

  // Each comes into force by itself, a moment after it is made.
  void wait_for_policies() {
    json bound = pod_of(mine("probe"));
    bound["spec"]["nodeName"] = "node-9";
    json job =
        job_json({.name = "probe", .ns = "team-a", .queue = "main", .suspend = false, .scheduler = ""});
    json lost = job;
    lost["metadata"].erase("labels");
    const json group = {{"apiVersion", "scheduling.x-k8s.io/v1alpha1"},
                        {"kind", "PodGroup"},
                        {"metadata", {{"name", "probe"}, {"labels", {{"berth.dev/preemptible", "false"}}}}},
                        {"spec", {{"minMember", 1}}}};
    const std::string dry = "?dryRun=All";
    ASSERT_TRUE(
        eventually([&] { return tenant_->post(pods_in("team-a") + dry, bound.dump()).status == 422; }));
    ASSERT_TRUE(
        eventually([&] { return tenant_->post(jobs_in("team-a") + dry, lost.dump()).status == 422; }));
    ASSERT_TRUE(eventually(
        [&] { return tenant_->post(TenantHands::pod_groups() + dry, group.dump()).status == 422; }));
    ASSERT_TRUE(eventually([&] {
      const Reply reply = tenant_->post(jobs_in("team-a") + dry, job.dump());
      return reply.ok() && json::parse(reply.body)["spec"].value("suspend", false);
    }));
  }

  Berth* start_shipped() {
    return start_berth({.name = fmt::format("berth-{}", starts_++),
                        .kubeconfig = kubeconfig_,
                        .args = {"--lease-namespace=berth-system"}});
  }
  // Killed, and started anew without waiting for its lease.
  void restart(Berth*& berth) {
    berth->process.kill_now();
    EXPECT_TRUE(
        cluster_->client().del("/apis/coordination.k8s.io/v1/namespaces/berth-system/leases/berth").ok());
    berth = start_shipped();
    ASSERT_NE(berth, nullptr);
  }

  // Eight GPUs: bare pods, a Job's, a ReplicaSet's. And more that wait.
  void fill_queue() {
    for (int i = 0; i < 3; ++i) hands_->pod(fmt::format("held-{}", i));
    hands_->job("work", [](json& j) { j["spec"]["parallelism"] = j["spec"]["completions"] = 3; });
    hands_->set("ReplicaSet", "set");
    for (const Reply& reply : hands_->take()) EXPECT_TRUE(reply.ok()) << reply.describe();
    ASSERT_TRUE(eventually([&] { return occupying("team-a/") == 8; })) << reasons_of_waiting();
    for (int i = 0; i < 10; ++i) hands_->pod(fmt::format("greedy-{}", i));
    for (const Reply& reply : hands_->take()) EXPECT_TRUE(reply.ok()) << reply.describe();
    // The policy of changes is in force too.
    ASSERT_TRUE(eventually([&] {
      return tenant_
                 ->patch(pods_in("team-a") + "/held-0?dryRun=All",
                         R"({"metadata":{"labels":{"berth.dev/queue":"x"}}})")
                 .status == 422;
    }));
  }

  void try_all(const std::vector<Attempt>& rows) {
    const bool after_each = number_from_env("BERTH_E2E_LONG", 0) != 0;
    for (const Attempt& row : rows) {
      EXPECT_TRUE(names_.insert(row.name).second) << row.name << " is there twice";
      row.act(*hands_);
      const std::vector<Reply> replies = hands_->take();
      EXPECT_FALSE(replies.empty()) << row.name << ": it tried nothing";
      for (const Reply& reply : replies) {
        EXPECT_TRUE(reply.status >= 200 && reply.status < 500) << row.name << ": " << reply.describe();
        if (row.answer == Answer::kRefused) {
          EXPECT_GE(reply.status, 400) << row.name;
        }
        if (row.answer == Answer::kTaken) {
          EXPECT_TRUE(reply.ok()) << row.name << ": " << reply.describe();
        }
      }
      if (after_each) expect_within_limits(row.name);
    }
  }

  // At rest: no more than the quota was ever held, and the queue says what its pods hold.
  void expect_true_usage(const std::string& after) {
    expect_within_limits(after);
    std::int64_t said = -1;
    EXPECT_TRUE(eventually(
        [&] {
          said = gpus_in_use();
          return said == accounts_.now("team-a", kGpu) && accounts_.now("team-a", kGpu) <= 8;
        },
        seconds(30)))
        << after << ": the queue says that " << said << " GPUs are in use, its pods hold "
        << accounts_.now("team-a", kGpu) << reasons_of_waiting();
    EXPECT_TRUE(accounts_.violations().empty()) << after << ":\n  " << accounts_.str();
  }

  std::int64_t gpus_in_use() const {
    const json queue = get(std::string(kKueue) + "/clusterqueues/team-a");
    if (!queue.is_object() || !queue.contains("status")) return -1;
    for (const json& flavor : queue["status"].value("flavorsReservation", json::array())) {
      for (const json& resource : flavor["resources"]) {
        if (resource["name"] == kGpu)
          return amount_in_milli(resource["total"].get<std::string>()).value_or(-1) / 1000;
      }
    }
    return -1;
  }

  // Everything of the tenant ends, and so does every finalizer that it wrote.
  void end_everything() {
    auto api = cluster_->client();
    for (const std::string kind : {"DaemonSet", "ReplicaSet", "StatefulSet", "Deployment"})
      EXPECT_TRUE(api.del(TenantHands::sets(kind)).ok());
    for (const char* path :
         {"/apis/batch/v1/namespaces/team-a/cronjobs", "/apis/batch/v1/namespaces/team-a/jobs",
          "/apis/autoscaling/v2/namespaces/team-a/horizontalpodautoscalers"})
      EXPECT_TRUE(api.del(std::string(path) + "?propagationPolicy=Background").ok());
    const json controllers = get("/api/v1/namespaces/team-a/replicationcontrollers");
    for (const json& item : controllers["items"])
      EXPECT_TRUE(api.del("/api/v1/namespaces/team-a/replicationcontrollers/" +
                          item["metadata"]["name"].get<std::string>())
                      .ok());
    EXPECT_TRUE(eventually(
        [&] {
          const json pods = get(pods_in("team-a"));
          for (const json& pod : pods["items"]) {
            const std::string path = pods_in("team-a") + "/" + pod["metadata"]["name"].get<std::string>();
            if (pod["metadata"].contains("finalizers"))
              (void)api.patch(path, R"({"metadata":{"finalizers":null}})");
            (void)api.del(path + "?gracePeriodSeconds=0");
          }
          return pods["items"].empty();
        },
        seconds(30)));
  }

  std::unique_ptr<TenantHands> hands_;
  std::set<std::string> names_;
  std::string kubeconfig_;
  int starts_ = 0;
};

TEST_F(BerthAttempts, NoneHoldsMoreThanItsQueueGrants) {
  ASSERT_NO_FATAL_FAILURE(start_as_shipped());
  if (IsSkipped()) return;
  auto* berth = start_shipped();
  ASSERT_NE(berth, nullptr);
  ASSERT_NO_FATAL_FAILURE(fill_queue());

  try_all(attempts_of_new_pods());
  try_all(attempts_of_new_owners());
  expect_true_usage("new pods and owners");
  EXPECT_EQ(accounts_.now("team-a", kGpu), 8) << "nothing has ended";
  ASSERT_NO_FATAL_FAILURE(restart(berth));
  expect_true_usage("a first restart");

  try_all(attempts_on_what_is_bound());
  expect_true_usage("changes of what is bound");
  EXPECT_EQ(accounts_.now("team-a", kGpu), 8) << "nothing has ended";
  ASSERT_NO_FATAL_FAILURE(restart(berth));
  expect_true_usage("a second restart");
  EXPECT_EQ(accounts_.now("team-a", kGpu), 8) << "nothing has ended";

  try_all(attempts_at_the_end());
  expect_true_usage("ends");
  ASSERT_NO_FATAL_FAILURE(restart(berth));
  expect_true_usage("a third restart");
  EXPECT_EQ(accounts_.now("team-a", kGpu), 8) << "what has ended made room";

  end_everything();
  expect_true_usage("everything has ended");
  EXPECT_EQ(gpus_in_use(), 0);
  EXPECT_EQ(accounts_.highest("team-a", kGpu), 8);
  EXPECT_GE(names_.size(), 110U);
  std::printf("%zu attempts, with three restarts\n", names_.size());
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

// Requests of a tenant that deploy/tenant-policy.yaml refuses or allows (docs/security.md).
#include <functional>
#include <nlohmann/json.hpp>

#include "e2e/security_fixture.h"

namespace berth::e2e {
namespace {

class BerthTenantPolicy : public SecurityTest {};

// deploy/tenant-policy.yaml refuses what Berth cannot see, with a message that names the fix; and nothing else.
TEST_F(BerthTenantPolicy, ThePolicyThatShipsClosesWhatBerthCannotSee) {
  const ClusterOptions options = {.controller_manager = true,
                                  .kwok = true,
                                  .service_accounts = true,
                                  .job_pod_runs_ms = 300,
                                  .controller_manager_args = {"--use-service-account-credentials=true"}};
  ASSERT_NO_FATAL_FAILURE(start_two_teams(options));
  const std::string served = cluster_->client().get("/apis/admissionregistration.k8s.io/v1").body;
  if (served.find("\"mutatingadmissionpolicies\"") == std::string::npos) {
    GTEST_SKIP() << "this API server has no MutatingAdmissionPolicy in v1 (Kubernetes 1.36 and later have)";
  }
  for (const char* file : {"/deploy/admission-policy.yaml", "/deploy/tenant-policy.yaml"})
    ASSERT_OK(cluster_->apply(std::string(BERTH_SOURCE_DIR) + file));
  ASSERT_OK(expect_ok(
      cluster_->client().patch(
          "/api/v1/namespaces/team-a",
          R"({"metadata":{"labels":{"berth.dev/tenant":""},"annotations":{"berth.dev/priority-classes":"low,normal"}}})"),
      "labelling a namespace"));
  for (const auto& [name, value] : {std::pair{"low", 10}, {"normal", 100}, {"vip", 10000}})
    ASSERT_OK(cluster_->create_priority_class(name, value));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);

  const auto refused = [&](const Reply& reply, const std::string& words) {
    EXPECT_GE(reply.status, 400) << words;
    EXPECT_LT(reply.status, 500) << reply.describe();
    EXPECT_NE(reply.body.find(words), std::string::npos) << words << "\n" << reply.body;
  };
  const auto pod = [&](const char* name, const std::function<void(json&)>& change) {
    json body = pod_of(mine(name));
    change(body);
    return try_pod(body);
  };
  // In force a moment after they are made.
  for (const char* probe : {"pods", "marks", "jobs"}) {
    ASSERT_TRUE(eventually([&] {
      const auto policy = get(fmt::format(
          "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/berth-tenant-{}", probe));
      return policy.is_object() && policy.contains("status") && policy["status"].contains("typeChecking");
    })) << probe;
    const auto warnings =
        get(fmt::format("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/berth-tenant-{}",
                        probe))["status"]["typeChecking"];
    EXPECT_TRUE(!warnings.contains("expressionWarnings") || warnings["expressionWarnings"].empty())
        << warnings.dump();
  }
  json bad = pod_of(mine("bad"));
  bad["spec"]["nodeName"] = "node-9";
  ASSERT_TRUE(
      eventually([&] { return tenant_->post(pods_in("team-a") + "?dryRun=All", bad.dump()).status == 422; }));
  // Each comes into force by itself: the one that refuses Jobs, and the one that mutates them, which has no status.
  json plain = job_json(
      {.name = "plain", .ns = "team-a", .queue = "main", .pods = 2, .suspend = false, .scheduler = ""});
  const auto trial = [&] { return tenant_->post(jobs_in("team-a") + "?dryRun=All", plain.dump()); };
  ASSERT_TRUE(eventually([&] {
    const Reply reply = trial();
    return reply.ok() && json::parse(reply.body)["spec"].value("suspend", false);
  }));
  plain["metadata"].erase("labels");
  ASSERT_TRUE(eventually([&] { return trial().status == 422; }));

  refused(pod("node", [](json& p) { p["spec"]["nodeName"] = "node-9"; }),
          "leave it out, also in the template of a controller");
  refused(pod("charged",
              [](json& p) {
                p["metadata"]["annotations"] = {{"berth.dev/charged-to", "kueue.x-k8s.io/queue-name=theirs"}};
              }),
          "leave them out");
  for (const char* key : {"kueue.x-k8s.io/queue-name", "berth.dev/queue", "scheduling.volcano.sh/queue-name",
                          "kai.scheduler/queue", "runai/queue"}) {
    refused(pod("empty",
                [&](json& p) {
                  p["metadata"]["labels"] = {{key, ""}};
                }),
            "pods of this namespace name a queue");
  }
  refused(pod("other", [](json& p) { p["spec"]["schedulerName"] = "my-scheduler"; }),
          "pods of this namespace are Berth's");
  refused(pod("no-queue", [](json& p) { p["metadata"].erase("labels"); }),
          "pods of this namespace name a queue");
  refused(pod("never",
              [](json& p) {
                p["metadata"]["annotations"] = {{"berth.dev/preemptible", "false"}};
              }),
          "may not have work that is never a victim");
  refused(pod("vip", [](json& p) { p["spec"]["priorityClassName"] = "vip"; }),
          "this namespace may use low,normal");
  refused(pod("wpc", [](json& p) { p["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = "vip"; }),
          "this namespace may use low,normal");
  const auto job = [&](const char* name, const std::function<void(json&)>& change) {
    json body = job_json(
        {.name = name, .ns = "team-a", .queue = "main", .pods = 2, .suspend = false, .scheduler = ""});
    change(body);
    return tenant_->post(jobs_in("team-a"), body.dump());
  };
  refused(job("no-queue", [](json& j) { j["metadata"].erase("labels"); }),
          "Jobs of this namespace name a queue");
  refused(job("other", [](json& j) { j["spec"]["template"]["spec"]["schedulerName"] = "my-scheduler"; }),
          "pods of this namespace are Berth's");
  refused(job("node", [](json& j) { j["spec"]["template"]["spec"]["nodeName"] = "node-1"; }), "leave it out");
  refused(job("vip", [](json& j) { j["spec"]["template"]["spec"]["priorityClassName"] = "vip"; }),
          "this namespace may use low,normal");
  refused(job("never",
              [](json& j) {
                j["spec"]["template"]["metadata"]["annotations"] = {{"berth.dev/preemptible", "false"}};
              }),
          "may not have work that is never a victim");

  // Correct objects pass: a plain Job is held, released, run and done; a pod is bound.
  EXPECT_TRUE(
      job("train", [](json& j) { j["spec"]["template"]["spec"]["priorityClassName"] = "normal"; }).ok());
  EXPECT_TRUE(eventually([&] {
    return get(jobs_in("team-a") + "/train")["status"].value("succeeded", 0) == 2;
  })) << reasons_of_waiting();
  create_mine("held", 8);
  EXPECT_TRUE(eventually([&] { return occupying("team-a/held") == 8; })) << reasons_of_waiting();
  create_mine("greedy", 1);
  const std::string held = pods_in("team-a") + "/held-0";
  for (const char* labels :
       {R"({"kueue.x-k8s.io/queue-name":"none"})", R"({"kueue.x-k8s.io/queue-name":null})",
        R"({"berth.dev/gang":"g"})", R"({"berth.dev/queue":"shared"})",
        R"({"kueue.x-k8s.io/priority-class":"low"})"}) {
    refused(tenant_->patch(held, fmt::format(R"({{"metadata":{{"labels":{}}}}})", labels)),
            "cannot be changed");
  }
  refused(tenant_->patch(held, R"({"metadata":{"annotations":{"berth.dev/gpu-milli":"1"}}})"),
          "cannot be changed");
  refused(tenant_->patch(
              held,
              R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n","uid":"x"}]}})"),
          "are its controller's to change");
  const Reply resize = tenant_->patch(
      held + "/resize", R"({"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"60"}}}]}})",
      kStrategicMergePatch);
  EXPECT_GE(resize.status, 400) << resize.describe();
  EXPECT_TRUE(
      tenant_
          ->patch(
              held,
              R"({"metadata":{"labels":{"app":"x"},"annotations":{"berth.dev/last-checkpoint":"2026-05-01T12:00:00Z"}}})")
          .ok())
      << "everything else is theirs to change";

  const Reply waiting = job("waits", [](json&) {});
  EXPECT_TRUE(waiting.ok()) << waiting.describe();
  EXPECT_TRUE(tenant_
                  ->patch(jobs_in("team-a") + "/waits",
                          R"({"metadata":{"labels":{"kueue.x-k8s.io/priority-class":"low"}}})")
                  .ok())
      << "a Job that waits may change";
  refused(tenant_->patch(jobs_in("team-a") + "/train",
                         R"({"metadata":{"labels":{"kueue.x-k8s.io/queue-name":"theirs"}}})"),
          "while it is suspended only");
  // The administrator allows what was refused.
  ASSERT_OK(
      expect_ok(cluster_->client().patch("/api/v1/namespaces/team-a",
                                         R"({"metadata":{"labels":{"berth.dev/never-a-victim":"allowed"},)"
                                         R"("annotations":{"berth.dev/priority-classes":null}}})"),
                "labelling a namespace"));
  EXPECT_TRUE(eventually([&] {
    json body = pod_of(mine("allowed"));
    body["metadata"]["annotations"] = {{"berth.dev/preemptible", "false"}};
    body["spec"]["priorityClassName"] = "vip";
    return tenant_->post(pods_in("team-a") + "?dryRun=All", body.dump()).ok();
  }));
  // Other namespaces are not checked.
  ASSERT_OK(cluster_->create_pods(1, {.name = "free", .node = "node-9"}));
  expect_within_limits("with the policies");
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

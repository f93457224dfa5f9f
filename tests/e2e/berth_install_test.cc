// Berth as its user installs it: the chart with Helm, the plain manifests and the kustomization with kubectl, against a real API
// server. Upgraded, rolled back, uninstalled: what runs, goes on. Helm is built by `scripts/helm build`; where it is not, the tests
// skip.
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "e2e/install_fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr const char* kRbac = "/apis/rbac.authorization.k8s.io/v1";
constexpr const char* kKinds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

std::size_t shipped_kinds() {
  std::size_t out = 0;
  for (const auto& file : std::filesystem::directory_iterator(BERTH_SOURCE_DIR "/deploy/crds"))
    out += file.path().extension() == ".yaml" ? 1 : 0;
  return out;
}

class BerthInstall : public InstallTest {
 protected:
  // With the kinds of cert-manager and of the Prometheus Operator. Skips the test where Helm is not built.
  void start_with_peers(ClusterOptions options) {
    start_with_helm(std::move(options));
    if (IsSkipped()) return;
    ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/tests/install/peers.yaml"));
    ASSERT_TRUE(eventually([&] {
      return cluster_->client().get("/apis/cert-manager.io/v1/issuers").ok() &&
             cluster_->client().get("/apis/monitoring.coreos.com/v1/servicemonitors").ok();
    }));
  }
  static std::string values(const std::string& name) {
    return fmt::format("{}/tests/install/values/{}.yaml", BERTH_SOURCE_DIR, name);
  }
  // Objects of the collection with the chart's label, without kinds, which stay.
  std::set<std::string> ours_in(const std::string& collection) const {
    std::set<std::string> out;
    const json list = get(collection + "?labelSelector=app.kubernetes.io%2Fpart-of%3Dberth");
    if (!list.is_object()) return out;
    for (const auto& item : list["items"]) out.insert(item["metadata"]["name"]);
    return out;
  }
  std::set<std::string> ours() const {
    std::set<std::string> out;
    const std::string ns = fmt::format("/namespaces/{}", kSystem);
    for (const auto& collection :
         {std::string(kRbac) + "/clusterroles", std::string(kRbac) + "/clusterrolebindings",
          kRbac + ns + "/roles", kRbac + ns + "/rolebindings",
          std::string(kRbac) + "/namespaces/kube-system/rolebindings", "/api/v1" + ns + "/services",
          "/api/v1" + ns + "/serviceaccounts", "/api/v1" + ns + "/secrets", "/api/v1" + ns + "/configmaps",
          "/apis/apps/v1" + ns + "/deployments", "/apis/policy/v1" + ns + "/poddisruptionbudgets",
          "/apis/networking.k8s.io/v1" + ns + "/networkpolicies",
          std::string("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"),
          std::string("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"),
          std::string("/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"),
          std::string("/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"),
          std::string("/apis/apiregistration.k8s.io/v1/apiservices"),
          "/apis/monitoring.coreos.com/v1" + ns + "/servicemonitors",
          "/apis/cert-manager.io/v1" + ns + "/certificates"}) {
      for (const auto& name : ours_in(collection)) out.insert(collection + "/" + name);
    }
    return out;
  }
};

// All objects that each file of values gives, field by field: Helm and the API server refuse unknown fields.
TEST_F(BerthInstall, EveryPartIsAcceptedByTheApiServer) {
  start_with_peers({.front_proxy = true});
  if (IsSkipped()) return;
  ASSERT_OK(cluster_->create_namespace(kSystem));
  for (const std::string name :
       {"all-policy", "all-webhook", "least", "own-certificates", "nothing-gets-in"}) {
    std::vector<std::string> args = {"install", "berth", kChart, "--values", values(name)};
    if (name == "all-policy" && !has_policies())
      args.insert(args.end(), {"--set", "admissionPolicy.enabled=false"});
    const Answer installed = helm(args);
    ASSERT_TRUE(installed.ok()) << name << ": " << installed.text;
    EXPECT_THAT(installed.text, HasSubstr("Pods are Berth's if their schedulerName is berth"));
    EXPECT_EQ(installed.text.find("unknown field"), std::string::npos) << installed.text;
    EXPECT_GT(ours().size(), name == "least" ? 5U : 30U) << name;
    const Answer removed = helm({"uninstall", "berth", "--wait"});
    ASSERT_TRUE(removed.ok()) << name << ": " << removed.text;
    EXPECT_THAT(ours(), testing::IsEmpty()) << name;
  }
  // Kinds stay, whatever was uninstalled.
  EXPECT_EQ(ours_in(kKinds).size(), shipped_kinds());
}

TEST_F(BerthInstall, ThePlainManifestsAndTheKustomizationAreAccepted) {
  start_with_peers({.front_proxy = true});
  if (IsSkipped()) return;
  const Answer base =
      kubectl({"apply", "--server-side", "--validate=strict", "-k", BERTH_SOURCE_DIR "/deploy"});
  ASSERT_TRUE(base.ok()) << base.text;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(BERTH_SOURCE_DIR "/deploy")) {
    const std::string file = entry.path().filename();
    if (!file.ends_with(".yaml") || file == "kustomization.yaml") continue;
    if (file == "admission-policy.yaml" && !has_policies()) continue;
    files.push_back(file);
    const Answer applied = kubectl({"apply", "--server-side", "--validate=strict", "-f", entry.path()});
    EXPECT_TRUE(applied.ok()) << applied.text;
    const Answer again = kubectl({"diff", "--server-side", "-f", entry.path()});
    EXPECT_EQ(again.code, 0) << "applying " << file << " changes what is there:\n" << again.text;
  }
  EXPECT_GE(files.size(), 9U);
}

// Ten pods and a Job run, one Job waits. Nothing of the life of the installation ends or restarts what runs.
TEST_F(BerthInstall, UpgradeRollbackAndUninstallLeaveEveryPodRunning) {
  start_with_peers({.controller_manager = true,
                    .kube_scheduler = true,
                    .kwok = true,
                    .service_accounts = true,
                    .front_proxy = true,
                    .job_pod_runs_ms = 3'600'000});
  if (IsSkipped()) return;
  ASSERT_OK(cluster_->create_nodes(3));
  const json ns = {
      {"metadata", {{"name", kSystem}, {"labels", {{"pod-security.kubernetes.io/enforce", "restricted"}}}}}};
  create("/api/v1/namespaces", ns);
  const Answer installed =
      helm({"install", "berth", kChart, "--wait", "--timeout", "300s", "--set", "crds.kueue=true"});
  ASSERT_TRUE(installed.ok()) << installed.text;
  const std::string deployment = fmt::format("/apis/apps/v1/namespaces/{}/deployments/berth", kSystem);
  EXPECT_EQ(get(deployment)["status"]["readyReplicas"], 2);

  // The program has the rights of the chart's service account. KWOK only plays that it runs in the pods.
  auto* berth = start_berth(
      {.kubeconfig = identity_of_berth(), .args = {"--lease-namespace=berth-system", "--lease-seconds=300"}});
  ASSERT_NE(berth, nullptr);
  create(std::string(kKueue) + "/resourceflavors", {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                                                    {"kind", "ResourceFlavor"},
                                                    {"metadata", {{"name", "any"}}},
                                                    {"spec", json::object()}});
  create_queue({.name = "research", .gpus = 4});
  create_local_queue("default", "team", "research");
  ASSERT_OK(cluster_->create_pods(10, {.name = "worker", .labels = gang("worker", 10)}));
  create(jobs_in("default"), job_json({.name = "runs", .queue = "team", .pods = 4}));
  create(jobs_in("default"), job_json({.name = "waits", .queue = "team", .pods = 4}));
  ASSERT_TRUE(eventually([&] { return occupying("default/") == 14; })) << reasons_of_waiting();
  const auto uids = [&] {
    std::set<std::string> out;
    const json list = get(pods_in("default"));
    for (const auto& pod : list.value("items", json::array())) {
      if (pod["status"]["phase"] == "Running" && !pod["metadata"].contains("deletionTimestamp"))
        out.insert(pod["metadata"]["uid"]);
    }
    return out;
  };
  ASSERT_TRUE(eventually([&] { return uids().size() == 14; }));
  const auto running = uids();

  const Answer upgraded =
      helm({"upgrade", "berth", kChart, "--wait", "--timeout", "300s", "--reset-then-reuse-values", "--set",
            "scheduler.replicas=3,webhook.enabled=true,visibility.enabled=true,tenantPolicy.enabled=true"});
  ASSERT_TRUE(upgraded.ok()) << upgraded.text;
  EXPECT_EQ(get(deployment)["status"]["readyReplicas"], 3);
  // An upgrade keeps the certificates that the chart made.
  const std::string secret = fmt::format("/api/v1/namespaces/{}/secrets/berth-webhook-tls", kSystem);
  const json made = get(secret)["data"];
  ASSERT_TRUE(made.is_object());
  ASSERT_TRUE(helm({"upgrade", "berth", kChart, "--reset-then-reuse-values"}).ok());
  EXPECT_EQ(get(secret)["data"], made);
  EXPECT_EQ(get("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/berth")["webhooks"][0]
                                                                                            ["clientConfig"]
                                                                                            ["caBundle"],
            made["ca.crt"]);
  EXPECT_EQ(uids(), running);

  const Answer back = helm({"rollback", "berth", "1", "--wait", "--timeout", "300s"});
  ASSERT_TRUE(back.ok()) << back.text;
  EXPECT_EQ(get(deployment)["status"]["readyReplicas"], 2);
  EXPECT_FALSE(get(secret).is_object());
  EXPECT_EQ(uids(), running);
  EXPECT_EQ(lines_with(berth->log, {"a right is missing"}), "");

  berth->process.stop();  // as its Deployment ends
  const Answer removed = helm({"uninstall", "berth", "--wait"});
  ASSERT_TRUE(removed.ok()) << removed.text;
  EXPECT_THAT(ours(), testing::IsEmpty());
  EXPECT_FALSE(observer_->wait_until([](const auto& now) { return now.bound < 14; }, seconds(3)));
  EXPECT_EQ(uids(), running);
  EXPECT_TRUE(cluster_->client().get(std::string(kKueue) + "/clusterqueues/research").ok());
  // The Job that waited goes on without Berth, by the command of docs/tasks/remove.md.
  const Answer moved = run_program({"/bin/bash", "-c", command_of_page("kubectl get job NAME", "waits")});
  EXPECT_TRUE(moved.ok()) << moved.text;
  EXPECT_TRUE(eventually([&] { return uids().size() == 18; })) << "the Job does not run elsewhere";
  const auto all = uids();
  EXPECT_TRUE(std::includes(all.begin(), all.end(), running.begin(), running.end()));

  // And again, with the kinds that have stayed.
  const Answer again =
      helm({"install", "berth", kChart, "--wait", "--timeout", "300s", "--set", "crds.kueue=true"});
  EXPECT_TRUE(again.ok()) << again.text;
  EXPECT_EQ(uids(), all);
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

// Two teams, of which one's user tries to hold more than its queue grants, and the account of what each namespace holds.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "e2e/teams.h"

namespace berth::e2e {

using nlohmann::json;

inline constexpr const char* kTenant = "mallory";

class SecurityTest : public TeamsTest {
 protected:
  // Two teams with eight GPUs each of eighty: team-a (whose user is the tenant) and team-b. `shared` admits every namespace, and no
  // LocalQueue leads to it.
  void start_two_teams(ClusterOptions options = {}) {
    prepare_observer_ = [this](ObserverOfPods& observer) {
      observer.on_pod([this](const SeenPod& pod, bool deleted) { accounts_.on_pod(pod, deleted); });
    };
    start(std::move(options));
    ASSERT_OK(cluster_->create_nodes(10));
    create_kinds();
    for (const std::string team : {"team-a", "team-b"}) {
      ASSERT_OK(cluster_->create_namespace(team));
      create_queue({.name = team, .gpus = 8, .cpus = 64, .ns = team});
    }
    create_queue({.name = "shared", .gpus = 8});
    create_local_queue("team-a", "main", "team-a");
    create_local_queue("team-b", "theirs", "team-b");
    // The parts of `edit`, as the controller manager makes it; not every test runs that.
    for (const std::string role : {"system:aggregate-to-edit", "system:aggregate-to-view"}) {
      create(
          "/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/rolebindings",
          {{"apiVersion", "rbac.authorization.k8s.io/v1"},
           {"kind", "RoleBinding"},
           {"metadata", {{"name", role.substr(role.rfind('-') + 1)}}},
           {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "ClusterRole"}, {"name", role}}},
           {"subjects",
            json::array(
                {{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", kTenant}}})}});
    }
    const auto kubeconfig = cluster_->kubeconfig_for(kTenant);
    ASSERT_OK(kubeconfig);
    const std::string stem = kubeconfig->substr(0, kubeconfig->rfind('.'));
    Endpoint endpoint = cluster_->endpoint();
    endpoint.cert_file = stem + ".crt";
    endpoint.key_file = stem + ".key";
    tenant_ = std::make_unique<ApiClient>(endpoint);
    ASSERT_TRUE(eventually([&] {
      return tenant_->post(pods_in("team-a") + "?dryRun=All", pod_json(mine("probe"), 0)).ok();
    })) << "the tenant may make pods";
  }

  // A right that `edit` lacks: the tenant may make Workloads in its namespace, change and delete them.
  void give_workloads() {
    create("/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/roles",
           {{"apiVersion", "rbac.authorization.k8s.io/v1"},
            {"kind", "Role"},
            {"metadata", {{"name", "workloads"}}},
            {"rules", json::array({{{"apiGroups", {"kueue.x-k8s.io"}},
                                    {"resources", {"workloads"}},
                                    {"verbs", {"get", "list", "create", "patch", "delete"}}}})}});
    create(
        "/apis/rbac.authorization.k8s.io/v1/namespaces/team-a/rolebindings",
        {{"apiVersion", "rbac.authorization.k8s.io/v1"},
         {"kind", "RoleBinding"},
         {"metadata", {{"name", "workloads"}}},
         {"roleRef", {{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "Role"}, {"name", "workloads"}}},
         {"subjects",
          json::array({{{"apiGroup", "rbac.authorization.k8s.io"}, {"kind", "User"}, {"name", kTenant}}})}});
    ASSERT_TRUE(eventually([&] {
      return tenant_->post(workloads_in("team-a") + "?dryRun=All", workload_of("probe", 1).dump()).ok();
    })) << "the tenant may make Workloads";
  }
  static std::string workloads_in(const std::string& ns) {
    return "/apis/kueue.x-k8s.io/v1beta2/namespaces/" + ns + "/workloads";
  }
  // For `pods` like mine(); it has no owner.
  static json workload_of(const std::string& name, std::int64_t pods) {
    return {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
            {"kind", "Workload"},
            {"metadata", {{"name", name}}},
            {"spec",
             {{"queueName", "main"},
              {"active", true},
              {"podSets", json::array({{{"name", "main"},
                                        {"count", pods},
                                        {"template", {{"spec", pod_of(mine(name))["spec"]}}}}})}}}};
  }

  // A pod of the tenant in its queue.
  static PodShape mine(const std::string& name) {
    return {.name = name, .ns = "team-a", .labels = {{"kueue.x-k8s.io/queue-name", "main"}}};
  }

  void create_mine(const std::string& name, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const Reply reply = tenant_->post(pods_in("team-a"), pod_json(mine(name), i));
      EXPECT_TRUE(reply.ok()) << reply.describe();
    }
  }
  // A pod from JSON, as the tenant.
  Reply try_pod(const json& pod) { return tenant_->post(pods_in("team-a"), pod.dump()); }
  static json pod_of(const PodShape& shape) { return json::parse(pod_json(shape, 0)); }

  // Everything that was written before has been decided about: pods are seen in order, so a pod of the other team, which has room,
  // is bound after whatever could be decided because of them.
  void settle() {
    const std::string name = fmt::format("tick{}", ticks_++);
    ASSERT_OK(cluster_->create_pods(
        1, {.name = name, .ns = "team-b", .labels = {{"kueue.x-k8s.io/queue-name", "theirs"}}}));
    ASSERT_TRUE(eventually([&] { return occupying("team-b/" + name) == 1; })) << reasons_of_waiting();
    std::this_thread::sleep_for(
        milliseconds(150));  // other kinds are other streams, and binds may be in flight
    ASSERT_OK(
        expect_ok(cluster_->client().del(fmt::format("{}/{}-0", pods_in("team-b"), name)), "deleting a pod"));
    ASSERT_OK(observer_->catch_up());
  }

  // No tenant holds more than its queue grants, now and at any time before.
  void expect_within_limits(const std::string& after) {
    settle();
    EXPECT_TRUE(accounts_.violations().empty()) << after << ":\n  " << accounts_.str();
  }

  std::string reason(const std::string& key) const {
    const auto pods = observer_->pods();
    const auto pod = pods.find(key);
    return pod == pods.end() ? "no such pod"
                             : pod->second.scheduled_reason + ": " + pod->second.scheduled_message;
  }

  Accounts accounts_{namespace_of,
                     {{"team-a", {{kGpu, 8}, {"cpu", 64}}}, {"team-b", {{kGpu, 8}, {"cpu", 64}}}}};
  std::unique_ptr<ApiClient> tenant_;
  int ticks_ = 0;
};

}  // namespace berth::e2e

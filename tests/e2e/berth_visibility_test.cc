// Pending workloads and their places, asked of a real API server, which passes the question on to Berth: with the rights and objects that
// ship, by people with and without the right to ask.
#include <fstream>

#include "e2e/certificates.h"
#include "e2e/workloads_fixture.h"

namespace berth::e2e {
namespace {

constexpr const char* kPending = "/apis/visibility.kueue.x-k8s.io/v1beta2";
constexpr const char* kServices = "/api/v1/namespaces/berth-system/services";
constexpr const char* kApiServices = "/apis/apiregistration.k8s.io/v1/apiservices";

class BerthVisibility : public WorkloadsTest {
 protected:
  std::string certificate() const { return (cluster_->folder() / "visibility.crt").string(); }
  std::string key() const { return (cluster_->folder() / "visibility.key").string(); }
  std::string authority_file() const { return (cluster_->folder() / "visibility-ca.crt").string(); }

  // deploy/berth.yaml and deploy/visibility.yaml, with the Service at this machine, where there is no network of services.
  void install() {
    front_proxy_ = true;
    ASSERT_NO_FATAL_FAILURE(start_with_queue(4, 600'000));
    ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/berth.yaml"));
    ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/visibility.yaml"));
    ASSERT_TRUE(cluster_->client().del(std::string(kServices) + "/berth-visibility").ok());
    create(kServices, json::parse(R"({"metadata": {"name": "berth-visibility"},
      "spec": {"type": "ExternalName", "externalName": "localhost"}})"));
    auto authority = Authority::create("visibility-authority");
    ASSERT_OK(authority);
    auto pair = authority->server("berth-visibility", "DNS:berth-visibility.berth-system.svc,IP:127.0.0.1");
    ASSERT_OK(pair);
    pair_ = *pair;
    std::ofstream(authority_file()) << authority->cert_pem();
    const auto port = free_port();
    ASSERT_OK(port);
    port_ = *port;
    for (const char* version : {"v1beta1", "v1beta2"}) {
      patch(fmt::format("{}/{}.visibility.kueue.x-k8s.io", kApiServices, version),
            {{"spec", {{"caBundle", base64(authority->cert_pem())}, {"service", {{"port", port_}}}}}});
    }
    const auto identity = cluster_->kubeconfig_for("system:serviceaccount:berth-system:berth",
                                                   {"system:serviceaccounts", "system:authenticated"});
    ASSERT_OK(identity);
    berth_ = start_berth({.kubeconfig = *identity,
                          .args = {"--lease-namespace=berth-system", "--visibility-address",
                                   fmt::format("127.0.0.1:{}", port_), "--visibility-cert", certificate(),
                                   "--visibility-key", key(), "--visibility-advertise", "10.9.8.7"}});
    ASSERT_NE(berth_, nullptr);
  }
  void give_certificate() {
    std::ofstream(certificate(), std::ios::trunc) << pair_.cert_pem;
    std::ofstream(key(), std::ios::trunc) << pair_.key_pem;
  }
  static std::string of_cluster_queue(const std::string& query = "") {
    return fmt::format("{}/clusterqueues/cq/pendingworkloads{}", kPending, query);
  }
  static std::string of_local_queue() {
    return fmt::format("{}/namespaces/default/localqueues/team/pendingworkloads", kPending);
  }
  // "owner PLACE/PLACE" of each.
  static std::vector<std::string> places(const Reply& reply) {
    std::vector<std::string> out;
    if (!reply.ok()) return {reply.describe()};
    const json summary = json::parse(reply.body);
    for (const json& item : summary["items"]) {
      out.push_back(fmt::format("{} {}/{}", item["metadata"]["ownerReferences"][0]["name"].get<std::string>(),
                                item["positionInClusterQueue"].get<int>(),
                                item["positionInLocalQueue"].get<int>()));
    }
    return out;
  }
  Reply ask(const std::string& path) const { return cluster_->client().get(path); }
  Reply ask_as(const std::string& user, const std::string& path) {
    const auto kubeconfig = cluster_->kubeconfig_for(user);
    EXPECT_TRUE(kubeconfig);
    Endpoint endpoint = cluster_->endpoint();
    const std::string base = kubeconfig->substr(0, kubeconfig->size() - std::string("kubeconfig").size());
    endpoint.cert_file = base + "crt";
    endpoint.key_file = base + "key";
    return ApiClient(endpoint).get(path);
  }
  using Lines = std::vector<std::string>;

  KeyPair pair_;
  int port_ = 0;
  Berth* berth_ = nullptr;
};

TEST_F(BerthVisibility, PeopleAskTheApiServerWhereTheirWorkStands) {
  ASSERT_NO_FATAL_FAILURE(install());
  create_job("runs", 4);
  expect_condition("runs", "QuotaReserved", "True QuotaReserved");
  create_job("first", 4);
  expect_condition("first", "QuotaReserved", "False WaitingForQuota");
  create_job("second", 4);
  expect_condition("second", "QuotaReserved", "False WaitingForQuota");
  EXPECT_EQ(ask(of_cluster_queue()).status, 503) << "it has no certificate yet";

  give_certificate();
  ASSERT_TRUE(eventually([&] { return ask(of_cluster_queue()).ok(); })) << ask(of_cluster_queue()).describe();
  EXPECT_EQ(places(ask(of_cluster_queue())), (Lines{"first 0/0", "second 1/1"}));
  EXPECT_EQ(places(ask(of_cluster_queue("?offset=1&limit=7"))), (Lines{"second 1/1"}));
  EXPECT_EQ(places(ask(of_local_queue())), (Lines{"first 0/0", "second 1/1"}));
  const json summary = json::parse(ask(of_local_queue()).body);
  const json& item = summary["items"][0];
  const json workload = workload_of("first");
  EXPECT_EQ(summary["kind"], "PendingWorkloadsSummary");
  for (const char* field : {"name", "namespace", "creationTimestamp"})
    EXPECT_EQ(item["metadata"][field], workload["metadata"][field]) << field;
  EXPECT_EQ(item["metadata"]["ownerReferences"][0]["uid"], workload["metadata"]["ownerReferences"][0]["uid"]);
  EXPECT_EQ(item["localQueueName"], "team");
  EXPECT_EQ(ask(fmt::format("{}/clusterqueues/other/pendingworkloads", kPending)).status, 404);
  EXPECT_EQ(ask(of_cluster_queue("?limit=x")).status, 400);

  // As API servers look at it.
  for (const char* version : {"v1beta1", "v1beta2"}) {
    expect_condition_of(
        version, [&] { return get(fmt::format("{}/{}.visibility.kueue.x-k8s.io", kApiServices, version)); },
        "Available", "True Passed");
  }
  EXPECT_EQ(json::parse(ask(kPending).body)["resources"].size(), 2U);
  EXPECT_EQ(places(ask("/apis/visibility.kueue.x-k8s.io/v1beta1/clusterqueues/cq/pendingworkloads")),
            (Lines{"first 0/0", "second 1/1"}));

  // It says where it is, with the rights that it has.
  json slice;
  EXPECT_TRUE(eventually([&] {
    slice = get("/apis/discovery.k8s.io/v1/namespaces/berth-system/endpointslices/berth-visibility");
    return slice.is_object();
  })) << lines_with(berth_->log, {"EndpointSlice"});
  EXPECT_EQ(slice["endpoints"][0]["addresses"], json::array({"10.9.8.7"}));
  EXPECT_EQ(slice["ports"][0]["port"], port_);

  // Time goes on.
  ASSERT_TRUE(cluster_->client().del(std::string(kJobs) + "/runs?propagationPolicy=Background").ok());
  EXPECT_TRUE(eventually([&] { return places(ask(of_cluster_queue())) == Lines{"second 0/0"}; }))
      << ask(of_cluster_queue()).describe();
  expect_clean();
}

TEST_F(BerthVisibility, OnlyAllowedClientsAreAnswered) {
  ASSERT_NO_FATAL_FAILURE(install());
  give_certificate();
  ASSERT_TRUE(eventually([&] { return ask(of_cluster_queue()).ok(); })) << ask(of_cluster_queue()).describe();

  EXPECT_EQ(ask_as("nobody", of_cluster_queue()).status, 403);
  EXPECT_EQ(ask_as("nobody", of_local_queue()).status, 403);
  create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", json::parse(R"({
    "metadata": {"name": "viewer"}, "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "viewer"}],
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}})"));
  EXPECT_TRUE(eventually([&] { return ask_as("viewer", of_local_queue()).ok(); }))
      << "whoever may view a namespace: " << ask_as("viewer", of_local_queue()).describe();
  EXPECT_EQ(ask_as("viewer", of_cluster_queue()).status, 403) << "that names the work of others";
  create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", json::parse(R"({
    "metadata": {"name": "operator"}, "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "operator"}],
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                "name": "berth-pending-workloads-of-cluster-queues"}})"));
  EXPECT_TRUE(eventually([&] { return ask_as("operator", of_cluster_queue()).ok(); }));

  // No client gets in past the API server: without a certificate, with one of the cluster's users, with one of that authority that
  // is none for clients, with one of another name.
  const auto answered = [&](const std::string& cert_file, const std::string& key_file) {
    ApiClient client({.server = fmt::format("https://127.0.0.1:{}", port_),
                      .ca_file = authority_file(),
                      .cert_file = cert_file,
                      .key_file = key_file});
    return client.get(of_cluster_queue()).status;
  };
  const auto answered_to = [&](const Result<KeyPair>& pair) {
    EXPECT_TRUE(pair);
    const std::string cert_file = (cluster_->folder() / "caller.crt").string();
    const std::string key_file = (cluster_->folder() / "caller.key").string();
    std::ofstream(cert_file, std::ios::trunc) << pair->cert_pem;
    std::ofstream(key_file, std::ios::trunc) << pair->key_pem;
    return answered(cert_file, key_file);
  };
  EXPECT_EQ(answered_to(cluster_->front_proxy().client("front-proxy-client", {})), 200)
      << "as the API server does";
  EXPECT_EQ(answered("", ""), 0);
  EXPECT_EQ(answered(cluster_->endpoint().cert_file, cluster_->endpoint().key_file), 0);
  EXPECT_EQ(answered_to(cluster_->front_proxy().server("front-proxy-client")), 0);
  EXPECT_EQ(answered_to(cluster_->front_proxy().client("somebody", {})), 0);
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

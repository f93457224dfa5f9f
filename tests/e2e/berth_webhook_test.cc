// The admission webhook that ships, called by a real API server over TLS: it does what the admission policy that ships does, work goes
// through it to Berth, and it may be down, come back, and change its certificate.
#include <fstream>
#include <sstream>

#include "e2e/certificates.h"
#include "e2e/workloads_fixture.h"

namespace berth::e2e {
namespace {

constexpr const char* kConfigurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}
void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::trunc) << text;
}

json job_of(const std::string& name) {
  json job = json::parse(R"({
    "apiVersion": "batch/v1", "kind": "Job", "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "team"}},
    "spec": {"parallelism": 2, "completions": 2, "backoffLimit": 0, "template": {"spec": {"restartPolicy": "Never",
      "containers": [{"name": "main", "image": "image", "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": "1"}}}]}}}})");
  job["metadata"]["name"] = name;
  return job;
}
json pod_of(const std::string& name) {
  json pod = json::parse(R"({
    "apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "team"}},
    "spec": {"containers": [{"name": "main", "image": "image", "resources": {"limits": {"cpu": "1"}}}]}})");
  pod["metadata"]["name"] = name;
  return pod;
}

// The inputs of both the policy and the webhook: each of their rules, kept and broken.
std::vector<json> objects_of_all_kinds() {
  std::vector<json> out;
  const auto job = [&](const std::function<void(json&)>& change) {
    out.push_back(job_of(fmt::format("object{}", out.size())));
    change(out.back());
  };
  const auto pod = [&](const std::function<void(json&)>& change) {
    out.push_back(pod_of(fmt::format("object{}", out.size())));
    change(out.back());
  };
  const auto owner = [](const char* kind, bool controller) {
    return json{{"apiVersion", "example.com/v1"},
                {"kind", kind},
                {"name", "o"},
                {"uid", "u"},
                {"controller", controller}};
  };
  job([](json&) {});
  job([](json& j) { j["spec"]["suspend"] = true; });
  job([](json& j) { j["spec"]["suspend"] = false; });
  job([](json& j) { j["metadata"].erase("labels"); });
  job([](json& j) { j["metadata"]["labels"] = {{"app", "x"}}; });
  job([](json& j) { j["metadata"]["labels"] = {{"berth.dev/queue", "q"}}; });
  job([](json& j) { j["metadata"]["labels"]["berth.dev/queue"] = "q"; });
  job([](json& j) { j["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = ""; });
  job([](json& j) {
    j["metadata"]["annotations"] = j["metadata"]["labels"];
    j["metadata"].erase("labels");
  });
  job([](json& j) {
    j["spec"]["template"]["metadata"]["labels"] = j["metadata"]["labels"];
    j["metadata"].erase("labels");
  });
  job([](json& j) { j["spec"]["managedBy"] = "kubernetes.io/job-controller"; });
  job([](json& j) { j["spec"]["managedBy"] = "example.com/other"; });
  job([&](json& j) { j["metadata"]["ownerReferences"] = {owner("CronJob", true)}; });
  job([&](json& j) { j["metadata"]["ownerReferences"] = {owner("JobSet", true)}; });
  job([&](json& j) { j["metadata"]["ownerReferences"] = {owner("JobSet", false), owner("CronJob", true)}; });
  job([&](json& j) {
    j["metadata"]["ownerReferences"] = {owner("JobSet", false)};
    j["metadata"]["ownerReferences"][0].erase("controller");
  });
  for (const char* scheduler : {"", "default-scheduler", "berth", "volcano"}) {
    job([&](json& j) { j["spec"]["template"]["spec"]["schedulerName"] = scheduler; });
    pod([&](json& p) { p["spec"]["schedulerName"] = scheduler; });
  }
  pod([](json&) {});
  pod([](json& p) { p["metadata"].erase("labels"); });
  pod([](json& p) { p["metadata"]["labels"] = {{"berth.dev/queue", "q"}}; });
  pod([](json& p) { p["metadata"]["labels"]["berth.dev/queue"] = "q"; });
  pod([](json& p) {
    p["metadata"]["annotations"] = p["metadata"]["labels"];
    p["metadata"].erase("labels");
  });
  pod([&](json& p) { p["metadata"]["ownerReferences"] = {owner("Job", true)}; });
  return out;
}

class BerthWebhook : public WorkloadsTest {
 protected:
  std::string certificate() const { return (cluster_->folder() / "webhook.crt").string(); }
  std::string key() const { return (cluster_->folder() / "webhook.key").string(); }

  // Gives the webhook, running or not, a certificate of a new authority, which caBundle has to name from then on.
  void new_certificate() {
    auto authority = Authority::create("webhook-authority");
    ASSERT_OK(authority);
    const auto pair = authority->server("berth-webhook");
    ASSERT_OK(pair);
    write_file(certificate(), pair->cert_pem);
    write_file(key(), pair->key_pem);
    authority_pem_ = authority->cert_pem();
  }
  void start_webhook() {
    if (port_ == 0) {
      const auto port = free_port();
      const auto http_port = free_port();
      ASSERT_OK(port);
      ASSERT_OK(http_port);
      port_ = *port;
      http_port_ = *http_port;
    }
    auto process =
        Process::start({.argv = {BERTH_PROGRAM, "webhook", "--listen", fmt::format("127.0.0.1:{}", port_),
                                 "--http-address", fmt::format("127.0.0.1:{}", http_port_), "--tls-cert",
                                 certificate(), "--tls-key", key(), "--drain-seconds=0"},
                        .log = cluster_->log("berth-webhook")});
    ASSERT_OK(process);
    webhook_ = std::move(*process);
    ASSERT_TRUE(eventually([&] { return plain("/readyz").ok(); })) << tail(cluster_->log("berth-webhook"), 5);
  }
  Reply plain(const std::string& path) const {
    ApiClient http(Endpoint{.server = fmt::format("http://127.0.0.1:{}", http_port_),
                            .ca_file = {},
                            .cert_file = {},
                            .key_file = {}});
    return http.get(path);
  }
  // The configuration that ships, at the webhook's address here, and not for the namespace `without`.
  void configure(const std::string& without = "") {
    ASSERT_OK(cluster_->apply(BERTH_SOURCE_DIR "/deploy/webhook.yaml"));
    change_configuration([&](json& entry) {
      entry["clientConfig"] = {{"url", fmt::format("https://127.0.0.1:{}/mutate", port_)},
                               {"caBundle", base64(authority_pem_)}};
      if (!without.empty()) entry["namespaceSelector"]["matchExpressions"][0]["values"].push_back(without);
    });
  }
  void change_configuration(const std::function<void(json&)>& change) {
    EXPECT_TRUE(eventually([&] {
      json configuration = get(fmt::format("{}/berth", kConfigurations));
      if (!configuration.is_object()) return false;
      EXPECT_EQ(configuration["webhooks"].size(), 2U);
      for (json& entry : configuration["webhooks"]) change(entry);
      return cluster_->client().put(fmt::format("{}/berth", kConfigurations), configuration.dump()).ok();
    }));
  }

  // The API server's version of the object in this namespace, without keeping it.
  Reply try_create(const json& object, const std::string& ns) {
    const bool job = object["kind"] == "Job";
    return cluster_->client().post(fmt::format("{}/namespaces/{}/{}?dryRun=All",
                                               job ? "/apis/batch/v1" : "/api/v1", ns, job ? "jobs" : "pods"),
                                   object.dump());
  }
  bool is_held(const std::string& ns = "default") {
    const auto reply = try_create(job_of("probe"), ns);
    return reply.ok() && json::parse(reply.body)["spec"].value("suspend", false);
  }
  std::string metric(const std::string& series) const {
    std::istringstream lines(plain("/metrics").body);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(series + " ")) return line.substr(series.size() + 1);
    }
    return "";
  }
  void TearDown() override {
    if (webhook_.running()) {
      webhook_.stop();
      EXPECT_EQ(webhook_.exit_text(), "exit status 0") << tail(cluster_->log("berth-webhook"), 10);
    }
    WorkloadsTest::TearDown();
  }

  Process webhook_;
  int port_ = 0;
  int http_port_ = 0;
  std::string authority_pem_;
};

TEST_F(BerthWebhook, DoesWhatThePolicyThatShipsDoes) {
  start({.controller_manager = true});
  const std::string served = cluster_->client().get("/apis/admissionregistration.k8s.io/v1").body;
  if (served.find("\"mutatingadmissionpolicies\"") == std::string::npos) {
    GTEST_SKIP() << "this API server has no MutatingAdmissionPolicy in v1 (Kubernetes 1.36 and later have)";
  }
  for (const char* ns : {"by-policy", "by-webhook", "berth-system"})
    ASSERT_OK(cluster_->create_namespace(ns));
  // Both as they ship, each kept out of the other's namespace.
  std::string policy = read_file(BERTH_SOURCE_DIR "/deploy/admission-policy.yaml");
  const std::string values = "values: [kube-system, berth-system]";
  for (auto at = policy.find(values); at != std::string::npos; at = policy.find(values, at + 1))
    policy.replace(at, values.size(), "values: [kube-system, berth-system, by-webhook]");
  const std::string path = (cluster_->folder() / "admission-policy.yaml").string();
  write_file(path, policy);
  ASSERT_OK(cluster_->apply(path));
  ASSERT_NO_FATAL_FAILURE(new_certificate());
  ASSERT_NO_FATAL_FAILURE(start_webhook());
  ASSERT_NO_FATAL_FAILURE(configure("by-policy"));
  const auto is_given = [&](const std::string& ns) {
    const auto reply = try_create(pod_of("probe"), ns);
    return reply.ok() && json::parse(reply.body)["spec"]["schedulerName"] == "berth";
  };
  for (const char* ns : {"by-policy", "by-webhook"})
    ASSERT_TRUE(eventually([&] { return is_held(ns) && is_given(ns); })) << ns;

  std::size_t changed = 0;
  for (const json& object : objects_of_all_kinds()) {
    json made[2];
    for (const auto& [i, ns] : {std::pair{0, "by-policy"}, {1, "by-webhook"}}) {
      Reply reply;  // the namespace's service account is made a moment after it
      ASSERT_TRUE(eventually([&] { return (reply = try_create(object, ns)).ok(); })) << reply.describe();
      made[i] = json::parse(reply.body);
      for (const char* field : {"uid", "creationTimestamp", "managedFields", "namespace"})
        made[i]["metadata"].erase(field);
      // The API server marks the pods of a Job with the uid that it gave to it.
      made[i]["spec"].erase("selector");
      if (object["kind"] == "Job") made[i]["spec"]["template"]["metadata"].erase("labels");
      if (object["kind"] == "Job") made[i]["metadata"].erase("labels");
      // Its name is random.
      if (made[i]["spec"].contains("volumes"))
        made[i]["spec"].erase("volumes"), made[i]["spec"]["containers"][0].erase("volumeMounts");
    }
    EXPECT_EQ(made[0], made[1]) << object.dump() << "\n" << json::diff(made[0], made[1]).dump();
    const bool job = object["kind"] == "Job";
    const json& pod = job ? made[1]["spec"]["template"]["spec"] : made[1]["spec"];
    if (pod["schedulerName"] == "berth") ++changed;
  }
  EXPECT_EQ(changed, 21U) << "what the rules say, in either way";
  EXPECT_EQ(metric("berth_webhook_reviews_total{outcome=\"refused\"}"), "0");
  EXPECT_EQ(metric("berth_webhook_reviews_total{outcome=\"unreadable\"}"), "0");

  // Never asked about what names no queue, nor in Berth's own namespace.
  const auto asked = metric("berth_webhook_review_seconds_count");
  json other = pod_of("other");
  other["metadata"].erase("labels");
  ASSERT_TRUE(try_create(other, "by-webhook").ok());
  EXPECT_FALSE(is_held("berth-system"));
  EXPECT_EQ(metric("berth_webhook_review_seconds_count"), asked);
}

TEST_F(BerthWebhook, WorkAsTeamsWriteItGoesThroughItToBerth) {
  start_with_queue(4, 300);
  ASSERT_OK(cluster_->create_namespace("berth-system"));
  ASSERT_NO_FATAL_FAILURE(new_certificate());
  ASSERT_NO_FATAL_FAILURE(start_webhook());
  ASSERT_NO_FATAL_FAILURE(configure());
  ASSERT_TRUE(eventually([&] { return is_held(); }));
  // More than there is room for, before there is a scheduler: none of them makes pods.
  for (int i = 0; i < 4; ++i) create(kJobs, job_of(fmt::format("train{}", i)));
  create("/api/v1/namespaces/default/pods", pod_of("single"));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(is_suspended(fmt::format("train{}", i)));
  ASSERT_NE(start_berth(), nullptr);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(eventually([&] {
      return get(fmt::format("{}/train{}", kJobs, i))["status"].value("succeeded", 0) == 2;
    })) << i
        << reasons_of_waiting();
  }
  EXPECT_TRUE(eventually([&] {
    return get("/api/v1/namespaces/default/pods/single")["spec"].contains("nodeName");
  })) << reasons_of_waiting();
  expect_clean();
}

TEST_F(BerthWebhook, MayBeDownAndComesBack) {
  start({.controller_manager = true});
  ASSERT_OK(cluster_->create_namespace("berth-system"));
  ASSERT_NO_FATAL_FAILURE(new_certificate());
  ASSERT_NO_FATAL_FAILURE(start_webhook());
  ASSERT_NO_FATAL_FAILURE(configure());
  ASSERT_TRUE(eventually([&] { return is_held(); }));

  webhook_.stop();
  EXPECT_EQ(webhook_.exit_text(), "exit status 0");
  const auto open = try_create(job_of("open"), "default");
  ASSERT_TRUE(open.ok()) << "failurePolicy: Ignore\n" << open.describe();
  const json made = json::parse(open.body);
  EXPECT_FALSE(made["spec"].value("suspend", false)) << "made as it was written";
  EXPECT_EQ(made["spec"]["template"]["spec"]["schedulerName"], "default-scheduler");

  change_configuration([](json& entry) { entry["failurePolicy"] = "Fail"; });
  Reply closed;
  EXPECT_TRUE(eventually([&] { return !(closed = try_create(job_of("closed"), "default")).ok(); }));
  EXPECT_NE(closed.body.find("kueue-queue-name.webhook.berth.dev"), std::string::npos) << closed.describe();
  json other = job_of("other");
  other["metadata"].erase("labels");
  EXPECT_TRUE(try_create(other, "default").ok()) << "work that names no queue is never stopped";

  ASSERT_NO_FATAL_FAILURE(start_webhook());
  EXPECT_TRUE(eventually([&] { return is_held(); }));
}

TEST_F(BerthWebhook, TakesARenewedCertificateWithoutARestart) {
  start({.controller_manager = true});
  ASSERT_OK(cluster_->create_namespace("berth-system"));
  ASSERT_NO_FATAL_FAILURE(new_certificate());
  ASSERT_NO_FATAL_FAILURE(start_webhook());
  ASSERT_NO_FATAL_FAILURE(configure());
  ASSERT_TRUE(eventually([&] { return is_held(); }));
  const auto pid = webhook_.pid();

  ASSERT_NO_FATAL_FAILURE(new_certificate());
  EXPECT_TRUE(
      eventually([&] { return metric("berth_webhook_certificate_loads_total{outcome=\"ok\"}") == "1"; }));
  // The API server trusts the new authority only from here on, and then only the new certificate.
  change_configuration([&](json& entry) { entry["clientConfig"]["caBundle"] = base64(authority_pem_); });
  EXPECT_TRUE(eventually([&] { return is_held(); }));
  const auto answered = metric("berth_webhook_reviews_total{outcome=\"changed\"}");
  EXPECT_TRUE(is_held());
  EXPECT_NE(metric("berth_webhook_reviews_total{outcome=\"changed\"}"), answered);
  EXPECT_EQ(webhook_.pid(), pid);
  EXPECT_TRUE(webhook_.running());
}

}  // namespace
}  // namespace berth::e2e

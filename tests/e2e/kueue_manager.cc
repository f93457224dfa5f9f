#include "e2e/kueue_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "e2e/certificates.h"
#include "e2e/files.h"

namespace berth::e2e {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kNamespace = "kueue-system";
constexpr const char* kLease = "c1f6bfd2.kueue.x-k8s.io";
constexpr const char* kWebhooks = "/apis/admissionregistration.k8s.io/v1";

// Each reference to the Service of the webhooks gets their port, which is 443 otherwise.
std::string with_port(const std::string& yaml, int port) {
  const std::string name = "name: kueue-webhook-service\n";
  std::string out;
  std::size_t from = 0;
  for (auto at = yaml.find(name); at != std::string::npos; at = yaml.find(name, from)) {
    const auto line = yaml.rfind('\n', at) + 1;
    out += yaml.substr(from, at + name.size() - from);
    out += yaml.substr(line, at - line) + fmt::format("port: {}\n", port);
    from = at + name.size();
  }
  return out + yaml.substr(from);
}

}  // namespace

std::string documents_without(const std::string& yaml, const std::vector<std::string>& lines) {
  const std::string mark = "\n---\n";
  std::string out;
  for (std::size_t from = 0; from < yaml.size();) {
    const auto end = std::min(yaml.find(mark, from), yaml.size());
    const std::string document = "\n" + yaml.substr(from, end - from) + "\n";
    if (std::none_of(lines.begin(), lines.end(), [&](const std::string& line) {
          return document.find("\n" + line + "\n") != std::string::npos;
        })) {
      out += document + "---\n";
    }
    from = end + mark.size();
  }
  return out;
}

std::string KueueManager::program() {
  const char* path = std::getenv("BERTH_KUEUE_MANAGER");
  return path == nullptr ? "" : path;
}

Status KueueManager::choose_ports() {
  if (webhook_port_ != 0) return {};
  BERTH_ASSIGN(webhook_port_, free_port());
  BERTH_ASSIGN(health_port_, free_port());
  return {};
}

Status KueueManager::install() {
  BERTH_TRY(choose_ports());
  std::error_code ignored;
  fs::create_directories(folder(), ignored);
  BERTH_ASSIGN(const std::string manifests,
               text_of((fs::path(program()).parent_path() / "manifests.yaml").string()));
  const std::string path = folder() + "/manifests.yaml";
  const std::string service = fmt::format(
      "apiVersion: v1\nkind: Service\nmetadata: {{name: kueue-webhook-service, namespace: {}}}\n"
      "spec: {{type: ExternalName, externalName: 127.0.0.1}}\n",
      kNamespace);
  BERTH_TRY(write_text(
      path, with_port(documents_without(manifests, {"kind: Deployment", "kind: APIService", "kind: Service"}),
                      webhook_port_) +
                service));
  return cluster_.apply(path);
}

Status KueueManager::configure(const KueueOptions& options) {
  std::string others = fmt::format("kube-system, {}", kNamespace);
  for (const auto& ns : options.left_alone) others += ", " + ns;
  std::string more = options.ready_within_s == 0
                         ? ""
                         : fmt::format("waitForPodsReady: {{timeout: {}s}}\n", options.ready_within_s);
  if (options.unlimited)
    more +=
        "clientConnection: {qps: 10000, burst: 20000}\n"
        "controller: {groupKindConcurrency: {JobSet.jobset.x-k8s.io: 5, Job.batch: 5, Pod: 5, "
        "Workload.kueue.x-k8s.io: 5, LocalQueue.kueue.x-k8s.io: 1, ClusterQueue.kueue.x-k8s.io: 1, "
        "ResourceFlavor.kueue.x-k8s.io: 1}}\n";
  return write_text(folder() + "/config.yaml",
                    fmt::format(R"(
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: {0}
health: {{healthProbeBindAddress: "127.0.0.1:{1}"}}
metrics: {{bindAddress: "0"}}
webhook: {{host: 127.0.0.1, port: {2}, certDir: {3}}}
leaderElection: {{leaderElect: true, resourceName: {4}, resourceNamespace: {0}}}
integrations: {{frameworks: [{7}]}}
featureGates: {{VisibilityOnDemand: false}}
managedJobsNamespaceSelector:
  matchExpressions: [{{key: kubernetes.io/metadata.name, operator: NotIn, values: [{5}]}}]
{6}
)",
                                kNamespace, health_port_, webhook_port_, folder(), kLease, others, more,
                                fmt::join(options.frameworks, ", ")));
}

bool KueueManager::lay_certificate() {
  const auto reply = cluster_.client().get(
      fmt::format("/api/v1/namespaces/{}/secrets/kueue-webhook-server-cert", kNamespace));
  if (!reply.ok()) return false;
  const json data = json::parse(reply.body).value("data", json::object());
  for (const char* name : {"ca.crt", "tls.key", "tls.crt"}) {
    if (data.value(name, "").empty()) return false;
    // At once: it is read as soon as it is there.
    const std::string path = fmt::format("{}/{}", folder(), name);
    std::error_code error;
    if (!write_text(path + ".new", from_base64(data[name].get<std::string>()))) return false;
    fs::rename(path + ".new", path, error);
    if (error) return false;
  }
  return true;
}

bool KueueManager::holds_lease() {
  const auto reply = cluster_.client().get(
      fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", kNamespace, kLease));
  return reply.ok() && !json::parse(reply.body)["spec"].value("holderIdentity", "").empty();
}

Status KueueManager::start(const KueueOptions& options) {
  if (kubeconfig_.empty()) {
    BERTH_ASSIGN(kubeconfig_,
                 cluster_.kubeconfig_for(
                     fmt::format("system:serviceaccount:{}:kueue-controller-manager", kNamespace),
                     {"system:serviceaccounts", fmt::format("system:serviceaccounts:{}", kNamespace)}));
  }
  BERTH_TRY(configure(options));
  BERTH_ASSIGN(process_, Process::start({.argv = {program(), "--kubeconfig", kubeconfig_, "--config",
                                                  folder() + "/config.yaml", "--zap-log-level=2"},
                                         .log = log()}));
  ApiClient health(Endpoint{.server = fmt::format("http://127.0.0.1:{}", health_port_),
                            .ca_file = {},
                            .cert_file = {},
                            .key_file = {}});
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  bool laid = false;
  while (!(laid && health.send("GET", "/readyz", {}, kJson, 2000).ok() && holds_lease())) {
    if (!laid) laid = lay_certificate();
    if (!process_.running() || std::chrono::steady_clock::now() > end) {
      return fail(ErrorCode::kUnavailable, "Kueue's manager is not ready ({}); its log ends\n{}",
                  process_.running() ? "it runs" : process_.exit_text(), tail(log(), 10));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return {};
}

Status KueueManager::stop() {
  process_.stop(30'000);
  if (process_.exit_text() == "exit status 0") return {};
  return fail(ErrorCode::kUnavailable, "Kueue's manager ended with {}; its log ends\n{}",
              process_.exit_text(), tail(log(), 10));
}

Status KueueManager::delete_webhook_configurations() {
  for (const char* kind : {"mutating", "validating"}) {
    BERTH_TRY(expect_ok(cluster_.client().del(fmt::format(
                            "{0}/{1}webhookconfigurations/kueue-{1}-webhook-configuration", kWebhooks, kind)),
                        "deleting a webhook configuration of Kueue's"));
  }
  return {};
}

}  // namespace berth::e2e

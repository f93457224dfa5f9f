#include "e2e/project_controller.h"

#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include "e2e/certificates.h"
#include "e2e/files.h"
#include "e2e/kueue_manager.h"

namespace berth::e2e {

// How a controller is started. In its texts {webhook} and {health} are ports, {api} is that of the API server, {folder} is its own,
// {built} where it was built.
struct ControllerRow {
  std::string_view name;
  std::string_view account;  // its service account, as NAMESPACE:NAME
  std::string_view served;   // the kind without which it ends at once
  std::vector<std::string_view> args = {};
  std::vector<std::pair<std::string_view, std::string_view>> env = {};
  std::string config = {};                // of {folder}/config.yaml
  std::string_view config_map = {};       // that is read from this ConfigMap instead, in its namespace
  std::vector<std::string> without = {};  // lines of documents of its project that are left out
  std::string_view webhooks = {};         // their configuration, which it would give an authority of its own
  std::string_view mounted = {};          // a file, whatever is in it, that it waits for
  std::string_view program = {};  // of tools/controllers, if not its name: it is a second process of that
  std::string_view secret = {};   // that has the certificate of its webhooks, in its namespace
  bool rsa = false;               // it reads no other keys
  int port = 0;                   // it answers for its health on this port, whatever others do
};

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr int kMostStarts = 5;
constexpr std::string_view kCertificates = ", certDir: {folder}/k8s-webhook-server/serving-certs";

// The configuration of a manager by Kubernetes' controller-runtime. `webhook`: further fields.
std::string configuration(std::string_view version, std::string_view certificates,
                          std::string_view webhook = "") {
  return fmt::format(R"(
apiVersion: {}
kind: Configuration
{}: {{enable: false}}
webhook: {{host: 127.0.0.1, port: {{webhook}}{}}}
leaderElection: {{leaderElect: false}}
metrics: {{bindAddress: "0"}}
health: {{healthProbeBindAddress: "127.0.0.1:{{health}}"}}
)",
                     version, certificates, webhook);
}

// Without webhooks: they look after what its users may do.
constexpr std::string_view kAppWrapperConfiguration = R"(
webhooksEnabled: false
controllerManager: {health: {bindAddress: '127.0.0.1:{health}'}, metrics: {bindAddress: '0'}, leaderElection: false}
)";

const std::vector<ControllerRow>& rows() {
  static const std::vector<ControllerRow> all = {
      {.name = "appwrapper",
       .account = "appwrapper-system:appwrapper-controller-manager",
       .served = "/apis/workload.codeflare.dev/v1beta2/appwrappers",
       .config = std::string(kAppWrapperConfiguration),
       .config_map = "appwrapper-operator-config",
       .without = {"kind: MutatingWebhookConfiguration", "kind: ValidatingWebhookConfiguration"}},
      {.name = "jobset",
       .account = "jobset-system:jobset-controller-manager",
       .served = "/apis/jobset.x-k8s.io/v1alpha2/jobsets",
       .args = {"--config", "{folder}/config.yaml"},
       .config = configuration("config.jobset.x-k8s.io/v1alpha1", "internalCertManagement", kCertificates)},
      {.name = "kuberay",
       .account = "default:kuberay-operator",
       .served = "/apis/ray.io/v1/rayservices",
       .args = {"--enable-leader-election=false", "--metrics-addr=0",
                "--health-probe-bind-address=127.0.0.1:{health}"}},
      {.name = "lws",
       .account = "lws-system:lws-controller-manager",
       .served = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets",
       .args = {"--config", "{folder}/config.yaml"},
       .config = configuration("config.lws.x-k8s.io/v1alpha1", "internalCertManagement", kCertificates)},
      {.name = "mpi",
       .account = "mpi-operator:mpi-operator",
       .served = "/apis/kubeflow.org/v2beta1/mpijobs",
       .args = {"--lock-namespace=mpi-operator", "--kube-api-qps=50", "--kube-api-burst=100"},
       .port = 8080},
      {.name = "spark",
       .account = "spark-operator:spark-operator-controller",
       .served = "/apis/sparkoperator.k8s.io/v1beta2/scheduledsparkapplications",
       .args = {"controller", "start", "--namespaces=", "--enable-metrics=false",
                "--health-probe-bind-address=127.0.0.1:{health}"},
       .env = {{"SPARK_HOME", "{built}/home"},
               {"KUBERNETES_SERVICE_HOST", "127.0.0.1"},
               {"KUBERNETES_SERVICE_PORT", "{api}"}},
       .without = {"kind: MutatingWebhookConfiguration", "kind: ValidatingWebhookConfiguration"},
       .rsa = true},
      {.name = "spark-webhook",  // what Spark cannot say of its pods
       .account = "spark-operator:spark-operator-webhook",
       .served = "/apis/sparkoperator.k8s.io/v1beta2/scheduledsparkapplications",
       .args = {"webhook", "start", "--namespaces=", "--enable-cert-manager=true", "--webhook-port={webhook}",
                "--webhook-cert-dir={folder}/k8s-webhook-server/serving-certs",
                "--webhook-secret-name=spark-operator-webhook-certs",
                "--webhook-secret-namespace=spark-operator",
                "--health-probe-bind-address=127.0.0.1:{health}"},
       .program = "spark",
       .secret = "spark-operator-webhook-certs",
       .rsa = true},
      {.name = "trainer",  // it needs jobset
       .account = "kubeflow-system:kubeflow-trainer-controller-manager",
       .served = "/apis/trainer.kubeflow.org/v1alpha1/trainjobs",
       .args = {"--config", "{folder}/config.yaml"},
       .config = configuration("config.trainer.kubeflow.org/v1alpha1", "certManagement")},
      // Its MPIJobs are an older version of what the MPI operator has under the same name.
      {.name = "training",
       .account = "kubeflow:training-operator",
       .served = "/apis/kubeflow.org/v1/xgboostjobs",
       .args = {"--enable-scheme=pytorchjob", "--enable-scheme=tfjob", "--enable-scheme=xgboostjob",
                "--enable-scheme=paddlejob", "--enable-scheme=jaxjob", "--metrics-bind-address=0",
                "--health-probe-bind-address=127.0.0.1:{health}", "--webhook-server-port={webhook}",
                "--kube-api-qps=50", "--kube-api-burst=100"},
       .without = {"  name: mpijobs.kubeflow.org"},
       .webhooks = "validator.training-operator.kubeflow.org",
       .mounted = "/tmp/k8s-webhook-server/serving-certs/tls.crt"},
  };
  return all;
}

const ControllerRow& row_named(std::string_view name) {
  const auto& all = rows();
  const auto it = std::find_if(all.begin(), all.end(), [&](const auto& row) { return row.name == name; });
  if (it == all.end()) std::abort();  // a test that names no controller
  return *it;
}

// The version that BERTH_E2E_NAME says; "": none.
std::string chosen_version(std::string_view name) {
  std::string variable = fmt::format("BERTH_E2E_{}", name);
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const char* chosen = std::getenv(variable.c_str());
  return chosen != nullptr ? chosen : "";
}

// That, or the one that the module of tools/controllers/NAME pins; "": there is none.
std::string version_of(std::string_view name) {
  if (std::string chosen = chosen_version(name); !chosen.empty()) return chosen;
  const auto module = text_of(fmt::format("{}/tools/controllers/{}/go.mod", BERTH_SOURCE_DIR, name));
  if (!module) return "";
  std::istringstream in(*module);
  std::string tool;
  std::vector<std::pair<std::string, std::string>> required;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first;
    std::string second;
    words >> first >> second;
    if (first == "tool") tool = second + "/";
    if (second.starts_with("v")) required.emplace_back(first + "/", second.substr(1));
  }
  for (const auto& [path, version] : required) {
    if (tool.starts_with(path)) return version;
  }
  return "";
}

// Each webhook by a URL in place of its Service.
std::string by_url(const std::string& yaml, int port, const std::string& authority) {
  std::istringstream in(yaml);
  std::string out;
  bool in_service = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "    service:") {
      in_service = true;
      out += fmt::format("    caBundle: {}\n", authority);
      continue;
    }
    in_service = in_service && line.starts_with("      ");
    const std::string path = "      path: ";
    if (in_service && line.starts_with(path))
      out += fmt::format("    url: https://127.0.0.1:{}{}\n", port, line.substr(path.size()));
    if (!in_service) out += line + "\n";
  }
  return out;
}

// The name in tools/controllers, also of one that has no row here.
std::string_view program_of(std::string_view controller) {
  for (const ControllerRow& row : rows()) {
    if (row.name == controller && !row.program.empty()) return row.program;
  }
  return controller;
}

std::string namespace_of(const ControllerRow& row) {
  return std::string(row.account.substr(0, row.account.find(':')));
}

}  // namespace

std::string ProjectController::folder(std::string_view controller) {
  const std::string_view name = program_of(controller);
  const std::string version = version_of(name);
  if (version.empty()) return "";
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string out = cache != nullptr ? cache : fmt::format("{}/.cache", home != nullptr ? home : "");
  out += fmt::format("/berth/controllers/{}-{}", name, version);
  const bool built =
      ::access(fmt::format("{}/{}", out, name).c_str(), X_OK) == 0 && fs::exists(out + "/manifests.yaml");
  return built ? out : "";
}

std::string ProjectController::what_is_missing(const std::vector<std::string>& names) {
  std::string pinned;
  for (const auto& name : names) {
    const std::string program(program_of(name));
    if (!folder(name).empty()) continue;
    if (const std::string chosen = chosen_version(program); !chosen.empty())
      return fmt::format("not built: scripts/controllers build-from FOLDER {} {}", program, chosen);
    pinned += " " + program;
  }
  return pinned.empty() ? "" : "not built: scripts/controllers build" + pinned;
}

ProjectController::ProjectController(TestCluster& cluster, std::string_view name)
    : cluster_(cluster), row_(&row_named(name)) {}

std::string ProjectController::name() const {
  return std::string(row_->name);
}

std::string ProjectController::filled_in(std::string_view text) const {
  std::string out(text);
  const std::vector<std::pair<std::string, std::string>> all = {
      {"{webhook}", std::to_string(webhook_port_)},
      {"{health}", std::to_string(health_port_)},
      {"{api}", cluster_.endpoint().server.substr(cluster_.endpoint().server.rfind(':') + 1)},
      {"{built}", folder(row_->name)},
      {"{folder}", (cluster_.folder() / name()).string()}};
  for (const auto& [word, value] : all) {
    for (auto at = out.find(word); at != std::string::npos; at = out.find(word, at + value.size()))
      out.replace(at, word.size(), value);
  }
  return out;
}

Status ProjectController::install() {
  BERTH_ASSIGN(webhook_port_, free_port());
  BERTH_ASSIGN(health_port_, free_port());
  if (row_->port != 0) {
    health_port_ = row_->port;
    BERTH_TRY(take_turn());
  }
  const std::string certificates = place("k8s-webhook-server/serving-certs");
  std::error_code ignored;
  fs::create_directories(certificates, ignored);
  BERTH_ASSIGN(const std::string manifests, text_of(folder(row_->name) + "/manifests.yaml"));
  std::vector<std::string> without = {"kind: Deployment", "kind: Service", "kind: ConfigMap"};
  without.insert(without.end(), row_->without.begin(), row_->without.end());
  std::string kept = documents_without(manifests, without);
  // Under another name it does not find the configuration, which keeps our authority.
  if (const auto at = kept.find(row_->webhooks); !row_->webhooks.empty() && at != std::string::npos)
    kept.insert(at, "found-by-url.");
  BERTH_ASSIGN(const Authority authority, Authority::create(name() + "-webhooks"));
  BERTH_ASSIGN(const KeyPair pair,
               authority.server(name() + "-webhook", "IP:127.0.0.1,DNS:localhost", row_->rsa));
  BERTH_TRY(write_text(certificates + "/tls.crt", pair.cert_pem));
  BERTH_TRY(write_text(certificates + "/tls.key", pair.key_pem));
  BERTH_TRY(write_text(place("manifests.yaml"), by_url(kept, webhook_port_, base64(authority.cert_pem()))));
  BERTH_TRY(write_text(place("config.yaml"), filled_in(row_->config)));
  std::string more =
      fmt::format("{{apiVersion: v1, kind: Namespace, metadata: {{name: {}}}}}\n", namespace_of(*row_));
  if (!row_->config_map.empty()) more += "---\n" + config_map();
  if (!row_->secret.empty()) {
    more += fmt::format(
        "---\n{{apiVersion: v1, kind: Secret, metadata: {{name: {}, namespace: {}}}, data: {{ca.crt: {}, "
        "tls.crt: {}, "
        "tls.key: {}}}}}\n",
        row_->secret, namespace_of(*row_), base64(authority.cert_pem()), base64(pair.cert_pem),
        base64(pair.key_pem));
  }
  BERTH_TRY(write_text(place("more.yaml"), more));
  BERTH_TRY(cluster_.apply(place("more.yaml")));
  if (!row_->mounted.empty()) {
    const fs::path file(row_->mounted);
    fs::create_directories(file.parent_path(), ignored);
    if (!fs::exists(file)) BERTH_TRY(write_text(file.string(), "for tests\n"));
  }
  return cluster_.apply(place("manifests.yaml"));
}

std::string ProjectController::config_map() const {
  std::istringstream in(filled_in(row_->config));
  std::string out = fmt::format(
      "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {}, namespace: {}}}, data: {{config.yaml: \"",
      row_->config_map, namespace_of(*row_));
  for (std::string line; std::getline(in, line);) out += line + "\\n";
  return out + "\"}}\n";
}

// Waits until no other test has a controller of this port.
Status ProjectController::take_turn() {
  const fs::path file = fs::temp_directory_path() / fmt::format("berth-e2e-{}.turn", name());
  turn_.reset(std::fopen(file.c_str(), "we"));
  if (turn_ == nullptr || ::flock(::fileno(turn_.get()), LOCK_EX) != 0)
    return fail(ErrorCode::kUnavailable, "cannot lock {}", file.string());
  return {};
}

Status ProjectController::run(std::vector<std::pair<std::string, std::string>> env) {
  const std::string ns = namespace_of(*row_);
  BERTH_ASSIGN(
      const std::string kubeconfig,
      cluster_.kubeconfig_for(fmt::format("system:serviceaccount:{}", row_->account),
                              {"system:serviceaccounts", "system:serviceaccounts:" + ns}, row_->rsa));
  std::vector<std::string> argv = {fmt::format("{}/{}", folder(row_->name), program_of(row_->name))};
  for (const auto& arg : row_->args) argv.push_back(filled_in(arg));
  for (const auto& [key, value] : row_->env) env.emplace_back(key, filled_in(value));
  env.emplace_back("KUBECONFIG", kubeconfig);
  // Each reads one of these. The certificates of webhooks lie in the folder of temporary files.
  for (const char* word : {"NAMESPACE", "POD_NAMESPACE", "MY_POD_NAMESPACE"}) env.emplace_back(word, ns);
  env.emplace_back("TMPDIR", filled_in("{folder}"));
  BERTH_ASSIGN(process_, Process::start({.argv = std::move(argv), .log = log(), .env = std::move(env)}));
  return {};
}

Status ProjectController::wait_ready() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  ApiClient health(Endpoint{.server = fmt::format("http://127.0.0.1:{}", health_port_),
                            .ca_file = {},
                            .cert_file = {},
                            .key_file = {}});
  const char* path = row_->port == 0 ? "/readyz" : "/healthz";
  while (!health.send("GET", path, {}, kJson, 2000).ok()) {
    if (!process_.running() || std::chrono::steady_clock::now() > end)
      return fail(ErrorCode::kUnavailable, "the controller {} is not ready ({}); its log ends\n{}",
                  row_->name, process_.running() ? "it runs" : process_.exit_text(), tail(log(), 10));
    std::this_thread::sleep_for(milliseconds(100));
  }
  return {};
}

Status ProjectController::start(const std::vector<std::pair<std::string, std::string>>& env) {
  BERTH_TRY(install());
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!cluster_.client().get(std::string(row_->served)).ok() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(milliseconds(100));
  // A kubelet starts one again that ends, for example since a kind is served and not yet listed.
  for (int starts = 1;; ++starts) {
    BERTH_TRY(run(env));
    const Status ready = wait_ready();
    if (ready || process_.running() || starts == kMostStarts) return ready;
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

}  // namespace berth::e2e

#include "e2e/cluster.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>

namespace berth::e2e {
namespace {

// With GOGC alone the API server took 22 GiB for 100,000 Jobs on 10,000 nodes.
constexpr const char* kGoMemory = "14GiB";

namespace fs = std::filesystem;

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : value;
}

std::string default_kubernetes() {
  if (auto chosen = env("BERTH_KUBERNETES"); !chosen.empty()) {
    return chosen;
  }
  std::ifstream file(std::string(BERTH_SOURCE_DIR) + "/tools/control-plane/default-kubernetes");
  std::string version;
  file >> version;
  return version;
}

// Folders of runs that crashed hold unused data; their logs stay.
void remove_data_of_dead_runs(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("berth-e2e-")) {
      const long pid = std::strtol(name.c_str() + 10, nullptr, 10);
      if (pid > 0 && !fs::exists("/proc/" + std::to_string(pid), ignored)) {
        fs::remove_all(entry.path() / "etcd", ignored);
      }
    }
  }
}

// `further`: lines of the user.
std::string kubeconfig_text(const Endpoint& endpoint, const std::string& further = "") {
  return fmt::format(
      "apiVersion: v1\nkind: Config\ncurrent-context: test\n"
      "clusters:\n- name: test\n  cluster:\n    server: {}\n    certificate-authority: {}\n"
      "users:\n- name: test\n  user:\n    client-certificate: {}\n    client-key: {}\n{}"
      "contexts:\n- name: test\n  context:\n    cluster: test\n    user: test\n",
      endpoint.server, endpoint.ca_file, endpoint.cert_file, endpoint.key_file, further);
}

std::string joined(const std::vector<std::string>& texts) {
  std::string out;
  for (const auto& text : texts) {
    out += (out.empty() ? "" : ",") + text;
  }
  return out;
}

// KWOK's handling of nodes and pods: a node without conditions becomes ready; a pod runs as soon as it is bound, pods of Jobs
// succeed after a while, pods that are being deleted are gone at once.
std::string kwok_config(std::optional<std::int64_t> job_pod_runs_ms, bool ends_pods) {
  constexpr std::string_view kReady = R"(
kind: KwokConfiguration
apiVersion: config.kwok.x-k8s.io/v1alpha1
options:
  manageAllNodes: true
  nodeLeaseDurationSeconds: 40
  podPlayStageParallelism: 32
  nodePlayStageParallelism: 16
  nodeLeaseParallelism: 16
  podsOnNodeSyncParallelism: 16
---
kind: Stage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: node-ready}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
    - {key: '.status.conditions.[] | select( .type == "Ready" ) | .status', operator: NotIn, values: ["True"]}
  next:
    statusTemplate: |
      {{ $now := Now }}
      conditions:
      {{ range NodeConditions }}
      - {type: {{ .type | Quote }}, status: {{ .status | Quote }}, reason: {{ .reason | Quote }}, message: {{ .message | Quote }}, lastHeartbeatTime: {{ $now | Quote }}, lastTransitionTime: {{ $now | Quote }}}
      {{ end }}
---
kind: Stage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: pod-runs}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: In, values: [Pending]}
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Running
      startTime: {{ $now | Quote }}
      conditions:
      - {type: Initialized, status: "True", lastTransitionTime: {{ $now | Quote }}}
      - {type: ContainersReady, status: "True", lastTransitionTime: {{ $now | Quote }}}
      - {type: Ready, status: "True", lastTransitionTime: {{ $now | Quote }}}
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: true, restartCount: 0, started: true, state: {running: {startedAt: {{ $now | Quote }}}}}
      {{ end }}
---
GONE
---
kind: Stage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: job-pod-succeeds}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
    - {key: .status.phase, operator: In, values: [Running]}
    - {key: '.metadata.ownerReferences.[].kind', operator: In, values: [Job]}
  delay: {durationMilliseconds: DELAY}
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Succeeded
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: false, restartCount: 0, started: false, state: {terminated: {exitCode: 0, reason: Completed, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}}}
      {{ end }}
)";
  constexpr std::string_view kGone = R"(kind: Stage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: pod-gone}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
  next:
    finalizers: {empty: true}
    delete: true)";
  constexpr std::string_view kEndedFirst = R"(kind: Stage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: pod-ends}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
    - {key: .status.phase, operator: In, values: [Pending, Running]}
  next:
    statusTemplate: |
      {{ $now := Now }}
      phase: Failed
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name | Quote }}, image: {{ .image | Quote }}, ready: false, restartCount: 0, started: false, state: {terminated: {exitCode: 137, reason: Error, startedAt: {{ $now | Quote }}, finishedAt: {{ $now | Quote }}}}}
      {{ end }}
---
kind: Stage
apiVersion: kwok.x-k8s.io/v1alpha1
metadata: {name: pod-gone}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
    - {key: .status.phase, operator: In, values: [Failed, Succeeded]}
  next:
    delete: true)";
  std::string text(kReady);
  text.replace(text.find("GONE"), 4, ends_pods ? kEndedFirst : kGone);
  text.replace(text.find("DELAY"), 5, std::to_string(job_pod_runs_ms.value_or(0)));
  return text;
}

}  // namespace

// Below the ports that the kernel gives to connections (32768 on): between this check and the start of the server, a connection of
// another program, or another test's cluster, would sooner or later take one of those. Each shard of the tests has ports of its own,
// and no port is given twice by one process, for the same reason.
Result<int> free_port() {
  constexpr int kFirst = 15'000;
  constexpr int kPorts = 17'000;
  static std::mutex mutex;
  static std::mt19937 random(std::random_device{}());
  static std::set<int> given;
  const std::lock_guard lock(mutex);
  const auto number = [](const char* name, int otherwise) {
    const std::string text = env(name);
    return text.empty() ? otherwise : std::atoi(text.c_str());
  };
  const int shards = std::clamp(number("GTEST_TOTAL_SHARDS", 1), 1, 100);
  const int shard = std::clamp(number("GTEST_SHARD_INDEX", 0), 0, shards - 1);
  int problem = 0;
  for (int attempt = 0; attempt < 100; ++attempt) {
    const int port =
        kFirst + std::uniform_int_distribution<int>(0, kPorts / shards - 1)(random) * shards + shard;
    if (given.contains(port)) continue;
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const bool bound = fd >= 0 && ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    problem = errno;
    if (fd >= 0) ::close(fd);
    if (!bound) continue;
    given.insert(port);
    return port;
  }
  return fail(ErrorCode::kUnavailable, "no free port on 127.0.0.1: {}", std::strerror(problem));
}

bool e2e_required() {
  return env("BERTH_E2E") == "required";
}

Result<std::string> TestCluster::find_program(const std::string& program, const std::string& kubernetes) {
  if (const auto assets = env("KUBEBUILDER_ASSETS"); !assets.empty()) {
    if (auto path = assets + "/" + program; ::access(path.c_str(), X_OK) == 0) {
      return path;
    }
  }
  auto cache = env("XDG_CACHE_HOME");
  if (cache.empty()) {
    cache = env("HOME") + "/.cache";
  }
  const std::string version = kubernetes.empty() ? default_kubernetes() : kubernetes;
  auto path = fmt::format("{}/berth/control-plane/{}/bin/{}", cache, version, program);
  if (::access(path.c_str(), X_OK) != 0) {
    return fail(ErrorCode::kNotFound,
                "there is no {}; run `scripts/control-plane build --kubernetes {}` once (minutes)", path,
                version);
  }
  return path;
}

Result<std::unique_ptr<TestCluster>> TestCluster::start(ClusterOptions options) {
  std::unique_ptr<TestCluster> cluster(new TestCluster);
  cluster->options_ = std::move(options);
  if (cluster->options_.kubernetes.empty()) {
    cluster->options_.kubernetes = default_kubernetes();
  }
  BERTH_TRY(cluster->prepare());
  const auto begin = [&]() -> Status {
    BERTH_TRY(cluster->start_etcd());
    BERTH_TRY(cluster->start_api_server());
    if (cluster->options_.controller_manager) {
      BERTH_TRY(cluster->start_controller_manager());
    }
    if (cluster->options_.kube_scheduler) {
      BERTH_TRY(cluster->start_kube_scheduler());
    }
    if (cluster->options_.kwok) {
      BERTH_TRY(cluster->start_kwok());
    }
    return {};
  };
  if (auto status = begin(); !status) {
    cluster->keep_ = true;
    auto error = status.error();
    error.message += "\n(logs are kept in " + cluster->folder_.string() + ")";
    return tl::unexpected(error);
  }
  return cluster;
}

TestCluster::~TestCluster() {
  // Clients first, etcd last, so that the logs end quietly. An orderly end of the API server is not needed: it would wait a minute
  // for open watches.
  for (const char* name : {"kwok", "kube-scheduler", "kube-controller-manager", "kube-apiserver", "etcd"}) {
    if (auto* found = process(name)) {
      found->kill_now();
    }
  }
  std::error_code ignored;
  if (!keep_ && env("BERTH_E2E_KEEP").empty()) {
    fs::remove_all(folder_, ignored);
  } else {
    fs::remove_all(folder_ / "etcd", ignored);
  }
}

Status TestCluster::write(const std::string& name, const std::string& text) const {
  const auto path = folder_ / name;
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) {
    return fail(ErrorCode::kUnavailable, "cannot write {}", path.string());
  }
  return {};
}

Status TestCluster::prepare() {
  const fs::path parent =
      env("BERTH_E2E_DIR").empty() ? fs::temp_directory_path() : fs::path(env("BERTH_E2E_DIR"));
  std::error_code error;
  fs::create_directories(parent, error);
  remove_data_of_dead_runs(parent);
  std::string name = (parent / fmt::format("berth-e2e-{}-XXXXXX", getpid())).string();
  if (::mkdtemp(name.data()) == nullptr) {
    return fail(ErrorCode::kUnavailable, "cannot make a folder in {}: {}", parent.string(),
                std::strerror(errno));
  }
  folder_ = name;
  BERTH_ASSIGN(authority_, Authority::create("berth-e2e-ca"));
  BERTH_TRY(write("ca.crt", authority_->cert_pem()));
  BERTH_ASSIGN(const auto server, authority_->server("kube-apiserver"));
  BERTH_TRY(write("server.crt", server.cert_pem));
  BERTH_TRY(write("server.key", server.key_pem));
  if (options_.front_proxy) {
    BERTH_ASSIGN(front_proxy_, Authority::create("berth-e2e-front-proxy-ca"));
    BERTH_TRY(write("front-proxy-ca.crt", front_proxy_->cert_pem()));
    BERTH_ASSIGN(const auto proxy, front_proxy_->client("front-proxy-client", {}));
    BERTH_TRY(write("front-proxy.crt", proxy.cert_pem));
    BERTH_TRY(write("front-proxy.key", proxy.key_pem));
  }
  BERTH_ASSIGN(const auto accounts, signing_keys());
  BERTH_TRY(write("accounts.key", accounts.first));
  BERTH_TRY(write("accounts.pub", accounts.second));
  BERTH_ASSIGN(etcd_port_, free_port());
  BERTH_ASSIGN(etcd_peer_port_, free_port());
  BERTH_ASSIGN(api_port_, free_port());
  endpoint_.server = fmt::format("https://127.0.0.1:{}", api_port_);
  endpoint_.ca_file = (folder_ / "ca.crt").string();
  BERTH_ASSIGN(kubeconfig_, kubeconfig_for("berth-e2e-admin", {"system:masters"}));
  endpoint_.cert_file = (folder_ / "identity-0.crt").string();
  endpoint_.key_file = (folder_ / "identity-0.key").string();
  return {};
}

Result<std::string> TestCluster::kubeconfig_for(const std::string& user,
                                                const std::vector<std::string>& groups, bool rsa) {
  const std::string name = fmt::format("identity-{}", identities_++);
  // A user whose name no certificate holds is impersonated by an administrator.
  const bool impersonated = user.size() > kLongestName;
  BERTH_ASSIGN(const auto pair, impersonated ? authority_->client("berth-e2e-admin", {"system:masters"}, rsa)
                                             : authority_->client(user, groups, rsa));
  BERTH_TRY(write(name + ".crt", pair.cert_pem));
  BERTH_TRY(write(name + ".key", pair.key_pem));
  auto endpoint = endpoint_;
  endpoint.cert_file = (folder_ / (name + ".crt")).string();
  endpoint.key_file = (folder_ / (name + ".key")).string();
  const std::string as = impersonated ? fmt::format("    as: \"{}\"\n    as-groups: [\"{}\"]\n", user,
                                                    fmt::join(groups, "\", \""))
                                      : "";
  BERTH_TRY(write(name + ".kubeconfig", kubeconfig_text(endpoint, as)));
  return (folder_ / (name + ".kubeconfig")).string();
}

Process* TestCluster::process(const std::string& program) {
  const auto found = processes_.find(program);
  return found == processes_.end() ? nullptr : &found->second;
}

Status TestCluster::spawn(const std::string& program, std::vector<std::string> args) {
  BERTH_ASSIGN(const std::string path, find_program(program, options_.kubernetes));
  args.insert(args.begin(), path);
  ProcessOptions process{.argv = std::move(args), .log = log(program)};
  if (!options_.go_gc.empty() && program != "kube-scheduler") {
    process.env.emplace_back("GOGC", options_.go_gc);
    process.env.emplace_back("GOMEMLIMIT", kGoMemory);
  }
  BERTH_ASSIGN(processes_[program], Process::start(std::move(process)));
  return {};
}

Status TestCluster::wait_ready(const std::string& program, const std::function<bool()>& ready,
                               int timeout_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!ready()) {
    if (!processes_[program].running()) {
      return fail(ErrorCode::kUnavailable, "{} ended with {} before it was ready; its log ends\n{}", program,
                  processes_[program].exit_text(), tail(log(program), 15));
    }
    if (std::chrono::steady_clock::now() > end) {
      return fail(ErrorCode::kUnavailable, "{} was not ready within {} s; its log ends\n{}", program,
                  timeout_ms / 1000, tail(log(program), 15));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return {};
}

std::string TestCluster::feature_gates_arg() const {
  return "--feature-gates=" + joined(options_.feature_gates);
}

Status TestCluster::start_etcd() {
  const auto client_url = fmt::format("http://127.0.0.1:{}", etcd_port_);
  const auto peer_url = fmt::format("http://127.0.0.1:{}", etcd_peer_port_);
  BERTH_TRY(spawn("etcd", {"--name=test", "--data-dir=" + (folder_ / "etcd").string(),
                           "--listen-client-urls=" + client_url, "--advertise-client-urls=" + client_url,
                           "--listen-peer-urls=" + peer_url, "--initial-advertise-peer-urls=" + peer_url,
                           "--initial-cluster=test=" + peer_url, "--unsafe-no-fsync=true", "--log-level=warn",
                           "--quota-backend-bytes=8589934592"}));
  ApiClient etcd(Endpoint{.server = client_url, .ca_file = {}, .cert_file = {}, .key_file = {}});
  return wait_ready("etcd", [&] { return etcd.get("/health").ok(); });
}

Status TestCluster::start_api_server() {
  std::vector<std::string> disabled = {
      "TaintNodesByCondition"};  // it expects the controller manager to untaint
  if (!options_.service_accounts) {
    disabled.emplace_back("ServiceAccount");
  }
  std::vector<std::string> args = {
      fmt::format("--etcd-servers=http://127.0.0.1:{}", etcd_port_),
      "--bind-address=127.0.0.1",
      fmt::format("--secure-port={}", api_port_),
      "--endpoint-reconciler-type=none",
      "--tls-cert-file=" + (folder_ / "server.crt").string(),
      "--tls-private-key-file=" + (folder_ / "server.key").string(),
      "--client-ca-file=" + endpoint_.ca_file,
      "--cert-dir=" + (folder_ / "apiserver").string(),
      "--authorization-mode=RBAC",
      "--anonymous-auth=false",
      "--allow-privileged=true",
      "--service-cluster-ip-range=10.0.0.0/24",
      "--delete-collection-workers=16",
      "--service-account-issuer=https://kubernetes.default.svc",
      "--service-account-key-file=" + (folder_ / "accounts.pub").string(),
      "--service-account-signing-key-file=" + (folder_ / "accounts.key").string(),
      "--disable-admission-plugins=" + joined(disabled),
      "--profiling=false",
  };
  if (options_.front_proxy) {
    args.insert(args.end(), {"--requestheader-client-ca-file=" + (folder_ / "front-proxy-ca.crt").string(),
                             "--requestheader-allowed-names=front-proxy-client",
                             "--requestheader-username-headers=X-Remote-User",
                             "--requestheader-group-headers=X-Remote-Group",
                             "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                             "--proxy-client-cert-file=" + (folder_ / "front-proxy.crt").string(),
                             "--proxy-client-key-file=" + (folder_ / "front-proxy.key").string()});
  }
  if (!options_.feature_gates.empty()) {
    args.push_back(feature_gates_arg());
  }
  if (!options_.runtime_config.empty()) {
    args.push_back("--runtime-config=" + joined(options_.runtime_config));
  }
  if (!options_.fair_queuing) {
    args.insert(args.end(), {"--enable-priority-and-fairness=false", "--max-requests-inflight=0",
                             "--max-mutating-requests-inflight=0"});
  }
  if (const auto audit = env("BERTH_E2E_AUDIT"); !audit.empty()) {  // for rights_used.py
    BERTH_TRY(write("audit.yaml",
                    "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\n"
                    "rules:\n  - {level: Metadata, omitManagedFields: true}\n"));
    args.insert(args.end(), {"--audit-policy-file=" + (folder_ / "audit.yaml").string(),
                             fmt::format("--audit-log-path={}/{}.log", audit, folder_.filename().string()),
                             "--audit-log-mode=batch"});
  }
  args.insert(args.end(), options_.api_server_args.begin(), options_.api_server_args.end());
  BERTH_TRY(spawn("kube-apiserver", std::move(args)));
  auto api = client();
  BERTH_TRY(wait_ready("kube-apiserver", [&] { return api.send("GET", "/readyz", {}, kJson, 2000).ok(); }));
  const auto reply = api.get("/version");
  BERTH_TRY(expect_ok(reply, "GET /version"));
  const auto version = nlohmann::json::parse(reply.body, nullptr, false);
  version_ = version.is_object() ? version.value("gitVersion", "") : "";
  // Namespaces and system priority classes are made by the API server itself shortly after it is ready.
  return wait_ready("kube-apiserver", [&] {
    return api.get("/api/v1/namespaces/default").ok() &&
           api.get("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical").ok();
  });
}

Status TestCluster::restart_api_server(bool kill, int down_ms) {
  auto* server = process("kube-apiserver");
  if (kill) {
    server->kill_now();
  } else {
    server->stop(10'000);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(down_ms));
  return start_api_server();
}

Status TestCluster::start_controller_manager() {
  BERTH_ASSIGN(const int port, free_port());
  std::vector<std::string> args = {
      "--kubeconfig=" + kubeconfig_,
      "--authentication-kubeconfig=" + kubeconfig_,
      "--authorization-kubeconfig=" + kubeconfig_,
      "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
      "--bind-address=127.0.0.1",
      fmt::format("--secure-port={}", port),
      "--cert-dir=" + (folder_ / "controller-manager").string(),
      "--leader-elect=false",
      "--root-ca-file=" + endpoint_.ca_file,
      "--service-account-private-key-file=" + (folder_ / "accounts.key").string(),
      "--kube-api-qps=10000",
      "--kube-api-burst=10000",
      "--concurrent-job-syncs=20",
      "--profiling=false",
  };
  // Without KWOK the nodes' leases are not renewed.
  args.push_back(options_.kwok ? "--controllers=*" : "--controllers=*,-node-lifecycle-controller");
  if (!options_.feature_gates.empty()) {
    args.push_back(feature_gates_arg());
  }
  args.insert(args.end(), options_.controller_manager_args.begin(), options_.controller_manager_args.end());
  BERTH_TRY(spawn("kube-controller-manager", std::move(args)));
  auto api = client();
  // Its first deed that others rely on.
  return wait_ready("kube-controller-manager",
                    [&] { return api.get("/api/v1/namespaces/default/serviceaccounts/default").ok(); });
}

Status TestCluster::start_kube_scheduler() {
  BERTH_ASSIGN(const int port, free_port());
  const std::string limits = options_.unlimited_scheduler ? ", qps: 100000, burst: 100000" : "";
  BERTH_TRY(
      write("kube-scheduler.yaml",
            fmt::format("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                        "leaderElection: {{leaderElect: false}}\nclientConnection: {{kubeconfig: {}{}}}\n",
                        kubeconfig_, limits)));
  std::vector<std::string> args = {
      "--config=" + (folder_ / "kube-scheduler.yaml").string(),
      "--authentication-kubeconfig=" + kubeconfig_,
      "--authorization-kubeconfig=" + kubeconfig_,
      "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics",
      "--bind-address=127.0.0.1",
      fmt::format("--secure-port={}", port),
      "--cert-dir=" + (folder_ / "scheduler").string(),
  };
  if (!options_.feature_gates.empty()) {
    args.push_back(feature_gates_arg());
  }
  args.insert(args.end(), options_.kube_scheduler_args.begin(), options_.kube_scheduler_args.end());
  kube_scheduler_ = {.server = fmt::format("https://127.0.0.1:{}", port),
                     .ca_file = (folder_ / "scheduler" / "kube-scheduler.crt").string(),
                     .cert_file = endpoint_.cert_file,
                     .key_file = endpoint_.key_file};
  return spawn("kube-scheduler", std::move(args));
}

Status TestCluster::start_kwok() {
  BERTH_TRY(write("kwok.yaml", kwok_config(options_.job_pod_runs_ms, options_.kubelets_end_pods)));
  BERTH_ASSIGN(const int port, free_port());
  BERTH_TRY(spawn("kwok", {"--kubeconfig=" + kubeconfig_, "--config=" + (folder_ / "kwok.yaml").string(),
                           fmt::format("--server-address=127.0.0.1:{}", port)}));
  ApiClient kwok(Endpoint{
      .server = fmt::format("http://127.0.0.1:{}", port), .ca_file = {}, .cert_file = {}, .key_file = {}});
  return wait_ready("kwok", [&] { return kwok.get("/healthz").ok(); });
}

Status TestCluster::apply(const std::string& path) {
  BERTH_ASSIGN(const std::string kubectl, find_program("kubectl", options_.kubernetes));
  const std::string output = (folder_ / "kubectl.log").string();
  std::error_code ignored;
  fs::remove(output, ignored);
  BERTH_ASSIGN(auto run, Process::start({.argv = {kubectl, "--kubeconfig", kubeconfig_, "--cache-dir",
                                                  (folder_ / "kubectl-cache").string(), "apply",
                                                  "--server-side", "-f", path},
                                         .log = output}));
  if (!run.wait(60'000) || run.exit_status() != 0) {
    return fail(ErrorCode::kInvalid, "kubectl apply -f {} failed:\n{}", path, tail(output, 20));
  }
  return {};
}

}  // namespace berth::e2e

#include "cli/scheduler.h"

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>

#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/address.h"
#include "cli/base/daemon.h"
#include "cli/commands/check.h"
#include "cli/wait_objectives.h"
#include "dialect/intake/kueue_config.h"
#include "dialect/objects/decode.h"
#include "scheduler/loop/scheduler.h"

namespace berth::cli {
namespace {

struct Options {
  std::string version;
  std::string kubeconfig;
  std::string context;
  bool in_cluster = false;
  std::vector<std::string> names{"berth"};
  std::string placement = std::string(enum_name(engine::kDefaultPlacement));
  std::vector<std::string> devices;
  bool ignore_uncovered = false;
  std::string kueue_config;
  std::vector<std::string> kinds;
  bool hold_jobs = true;
  bool kueue_objects = true;
  int kueue_writes = 200;
  bool leader_elect = true;
  std::string lease_namespace = "kube-system";
  std::string lease_name = "berth";
  int lease_seconds = 15;
  std::string http = "127.0.0.1:10261";
  std::string health = "off";
  std::string metrics = "off";
  std::string decision_log;
  std::string log_level = "info";
  int gang_deadline_s = 30;
  bool nodes_on_demand = false;
  int nodes_within_s = 900;
  int audit_s = 300;
  int in_flight = 256;
  int pod_metrics = 5000;
  std::vector<std::string> pool_labels;
  std::vector<std::string> wait_objectives;
  bool follower = true;
  bool startup_check = true;
  std::string dashboard = "off";
  std::string dashboard_cert;
  std::string dashboard_key;
  std::string visibility = "off";
  std::string visibility_cert;
  std::string visibility_key;
  std::string visibility_advertise;
};

constexpr std::string_view kVisibilityExample = "0.0.0.0:8443";

// None: it is off.
Result<std::optional<scheduler::VisibilityOptions>> to_visibility_options(const Options& o) {
  BERTH_ASSIGN(const auto listen,
               parse_address_or_off("--visibility-address", o.visibility, kVisibilityExample));
  if (!listen) return std::nullopt;
  if (o.visibility_cert.empty() || o.visibility_key.empty()) {
    return fail(
        ErrorCode::kInvalid,
        "--visibility-address needs --visibility-cert and --visibility-key: API servers come over TLS");
  }
  if (!o.follower) {
    return fail(ErrorCode::kInvalid,
                "--visibility-address needs the follower, which knows the line: not with --follower=false");
  }
  if (!o.visibility_advertise.empty() && !observe::is_ip_address(o.visibility_advertise)) {
    return fail(ErrorCode::kInvalid, "--visibility-advertise: \"{}\" is no IP address, such as 10.0.0.7",
                o.visibility_advertise);
  }
  scheduler::VisibilityOptions out;
  out.listen = *listen;
  out.tls = {.certificate = o.visibility_cert, .key = o.visibility_key};
  out.advertise = o.visibility_advertise;
  return out;
}

// None: it is off.
Result<std::optional<scheduler::BoardOptions>> to_dashboard_options(const Options& o) {
  BERTH_ASSIGN(const auto listen,
               parse_address_or_off("--dashboard-address", o.dashboard, "127.0.0.1:10265"));
  if (!listen) return std::nullopt;
  if (o.dashboard_cert.empty() != o.dashboard_key.empty())
    return fail(ErrorCode::kInvalid, "--dashboard-cert and --dashboard-key need each other");
  scheduler::BoardOptions out;
  out.listen = *listen;
  out.version = o.version;
  if (!o.dashboard_cert.empty())
    out.tls = observe::TlsFiles{.certificate = o.dashboard_cert, .key = o.dashboard_key};
  return out;
}

// "berth 0.1.0 (commit 0123456789ab)", as --version says it, in its parts.
void set_version(scheduler::SchedulerOptions& out, const std::string& version) {
  constexpr std::string_view kName = "berth ";
  constexpr std::string_view kCommit = " (commit ";
  std::string text = version.starts_with(kName) ? version.substr(kName.size()) : version;
  if (const auto at = text.find(kCommit); at != std::string::npos) {
    out.commit = text.substr(at + kCommit.size());
    out.commit.resize(out.commit.rfind(')') == std::string::npos ? out.commit.size() : out.commit.rfind(')'));
    text.resize(at);
  }
  out.version = std::move(text);
}

Result<observe::WorkMetricsOptions> to_metrics_options(const Options& o) {
  observe::WorkMetricsOptions out;
  out.most_pod_series = static_cast<std::size_t>(o.pod_metrics);
  if (!o.pool_labels.empty()) out.pool_labels = o.pool_labels;
  BERTH_ASSIGN(out.objectives, parse_wait_objectives(o.wait_objectives));
  return out;
}

Result<scheduler::SchedulerOptions> to_scheduler_options(const Options& o) {
  scheduler::SchedulerOptions out;
  out.scheduler_names = o.names;
  out.device_resources = o.devices;
  out.hold_jobs = o.hold_jobs;
  out.kueue_objects = o.kueue_objects;
  out.object_writes_per_second = o.kueue_writes;
  const auto placement = enum_parse<Placement>(o.placement);
  if (!placement) return fail(ErrorCode::kInvalid, "--placement {}: unknown", o.placement);
  out.engine.placement = *placement;
  out.engine.ignore_uncovered = o.ignore_uncovered;
  for (const std::string& file : o.kinds) BERTH_TRY(dialect::declare_kinds(file));
  if (!o.kueue_config.empty()) {
    BERTH_ASSIGN(const auto kueue, dialect::read_kueue_config_file(o.kueue_config));
    dialect::apply(kueue, out.intake, out.engine);
    out.workload_objects.pods_ready = kueue.pods_ready;
  }
  out.carrier.gang_deadline = o.gang_deadline_s * kSecond;
  out.intake.nodes_on_demand = o.nodes_on_demand;
  out.on_demand.within = o.nodes_within_s * kSecond;
  const auto& ready = out.workload_objects.pods_ready;
  out.on_demand.enabled = !(ready && ready->block_admission);
  if (o.nodes_on_demand && !out.on_demand.enabled) {
    return fail(
        ErrorCode::kInvalid,
        "--nodes-on-demand: not with blockAdmission of --kueue-config, which lets work in when its nodes "
        "are there");
  }
  out.audit.every = o.audit_s * kSecond;
  out.audit.confirm_after = std::max<DurationMs>(kSecond, out.audit.every / 20);
  out.audit.stale_after = out.audit.every * 2 / 5;
  out.leader_elect = o.leader_elect;
  out.leader.ns = o.lease_namespace;
  out.leader.name = o.lease_name;
  // kube-scheduler's proportions: 15 s, 10 s, 2 s.
  out.leader.lease_duration = o.lease_seconds * kSecond;
  out.leader.renew_deadline = out.leader.lease_duration * 2 / 3;
  out.leader.retry_period = out.leader.lease_duration * 2 / 15;
  BERTH_ASSIGN(out.http, parse_address_or_off("--http-address", o.http, "127.0.0.1:10261"));
  BERTH_ASSIGN(out.health, parse_address_or_off("--health-address", o.health, "0.0.0.0:10263"));
  BERTH_ASSIGN(out.metrics, parse_address_or_off("--metrics-address", o.metrics, "0.0.0.0:10264"));
  BERTH_ASSIGN(out.visibility, to_visibility_options(o));
  BERTH_ASSIGN(out.dashboard, to_dashboard_options(o));
  BERTH_ASSIGN(out.work_metrics, to_metrics_options(o));
  set_version(out, o.version);
  out.decision_log = o.decision_log;
  out.follower = o.follower;
  out.writer.concurrency.most = o.in_flight;
  out.writer.concurrency.start = std::min(out.writer.concurrency.start, out.writer.concurrency.most);
  return out;
}

// Says in the log what `berth check` would find wrong about rights and kinds, while the scheduler starts.
class StartupCheck {
 public:
  StartupCheck(const Options& o, const kube::ClusterConfig& config) {
    if (!o.startup_check) return;
    CheckOptions options;
    options.scheduler_names = o.names;
    options.rights = {.hold_jobs = o.hold_jobs,
                      .kueue_objects = o.kueue_objects,
                      .lease_namespace = o.leader_elect ? o.lease_namespace : std::string(),
                      .lease_name = o.lease_name,
                      .serves = {}};
    thread_ = std::thread([options = std::move(options), config] {
      const auto transport = kube::Transport::create(config);
      if (!transport) return;  // the scheduler says it
      for (const Finding& finding : check_start(**transport, options)) {
        if (finding.level == Level::kWarning || finding.level == Level::kError)
          spdlog::warn("berth check: {}: {}. Fix: {}", finding.subject, finding.text, finding.fix);
      }
    });
  }
  ~StartupCheck() {
    if (thread_.joinable()) thread_.join();
  }
  StartupCheck(const StartupCheck&) = delete;
  StartupCheck& operator=(const StartupCheck&) = delete;

 private:
  std::thread thread_;
};

int run(const Options& o) {
  auto options = to_scheduler_options(o);
  if (!options) {
    fmt::print(stderr, "berth scheduler: {}\n", options.error().str());
    return 2;
  }
  const auto config = o.in_cluster ? kube::in_cluster_config() : kube::find_config(o.kubeconfig, o.context);
  if (!config) {
    fmt::print(stderr, "berth scheduler: {}\n", config.error().str());
    return 2;
  }
  start_log(o.log_level);
  if (config->insecure)
    spdlog::warn("{}: the server's certificate is not checked (insecure-skip-tls-verify)", config->source);

  const sigset_t signals = block_end_signals();
  std::signal(SIGPIPE, SIG_IGN);

  const StartupCheck check(o, *config);
  auto created = scheduler::Scheduler::create(*config, std::move(*options));
  if (!created) {
    fmt::print(stderr, "berth scheduler: {}\n", created.error().str());
    return created.error().code == ErrorCode::kUnavailable ? 1 : 2;
  }
  const auto scheduler = std::move(*created);
  spdlog::info("scheduling on {} (from {}) for {}", config->server, config->source, fmt::join(o.names, ", "));
  if (scheduler->http_port() != 0)
    spdlog::info("health, metrics and questions on port {}", scheduler->http_port());
  if (scheduler->health_port() != 0) spdlog::info("health alone on port {}", scheduler->health_port());
  if (scheduler->metrics_port() != 0) spdlog::info("metrics alone on port {}", scheduler->metrics_port());
  if (scheduler->dashboard_port() != 0)
    spdlog::info(
        "dashboard on port {} ({})", scheduler->dashboard_port(),
        o.dashboard_cert.empty() ? "loopback, without sign-in" : "https, users sign in with a token");
  if (scheduler->visibility_port() != 0)
    spdlog::info("pending workloads for API servers at https port {}, once its certificate is there",
                 scheduler->visibility_port());
  std::thread waiter([&] {
    int signal = 0;
    while (sigwait(&signals, &signal) != 0) {
    }
    scheduler->stop();
  });
  const auto status = scheduler->run();
  pthread_kill(waiter.native_handle(), SIGTERM);
  waiter.join();
  if (!status) {
    spdlog::error("{}", status.error().str());
    return 1;
  }
  spdlog::info("stopped");
  return 0;
}

// How Berth reaches the API server, and what it takes in from there.
void add_api_options(CLI::App& command, Options& o) {
  command.add_option(
      "--kubeconfig", o.kubeconfig,
      "Kubeconfig file. Default: $KUBECONFIG, ~/.kube/config, or the identity of the pod that Berth runs in");
  command.add_option("--context", o.context, "Context of the kubeconfig. Default: its current one");
  command
      .add_flag("--in-cluster", o.in_cluster,
                "Use the identity of the pod that Berth runs in, whatever files there are")
      ->excludes("--kubeconfig")
      ->excludes("--context");
  command
      .add_option("--scheduler-name", o.names,
                  "spec.schedulerName of the pods to schedule; may be given more than once")
      ->capture_default_str();
  command
      .add_option("--placement", o.placement,
                  "How to choose nodes, unless the queue says otherwise. fragmentation: keep free room "
                  "usable for expected pods. pack: fill nodes. spread: use the emptiest. best-fit: leave "
                  "the smallest remainder of CPU and devices. first: take the first node that fits")
      ->check(CLI::IsMember({"fragmentation", "pack", "spread", "best-fit", "first"}))
      ->capture_default_str();
  command.add_option("--device-resource", o.devices,
                     "Extended resource to count device by device, besides those that end in /gpu; may be "
                     "given more than once");
  command
      .add_option("--hold-jobs", o.hold_jobs,
                  "Unsuspend a suspended Job of a queue when its nodes are reserved, and suspend it again "
                  "to evict it; false leaves `suspend` alone")
      ->capture_default_str();
  command
      .add_option("--kueue-objects", o.kueue_objects,
                  "Make Workload objects for LocalQueues and write the status of Kueue's queues, if their "
                  "kinds are installed and Kueue itself does not run")
      ->capture_default_str();
  command
      .add_option("--kueue-writes", o.kueue_writes,
                  "Most writes per second of these objects; a tenth of it while pods are being bound")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_flag("--ignore-uncovered", o.ignore_uncovered,
                   "Admit pods that ask for a resource for which their queue has no quota (Kueue does not)");
  command.add_option(
      "--kueue-config", o.kueue_config,
      "File with Kueue's own Configuration (controller_manager_config.yaml): fairSharing, "
      "admissionFairSharing, waitForPodsReady and quotaCheckStrategy are carried out as there");
}

// Beside those that Berth reads anyway.
void add_kinds(CLI::App& command, Options& o) {
  command.add_option(
      "--kinds", o.kinds,
      "File with more kinds of objects that make pods (docs/kinds.md): where their pod templates, "
      "sizes, switch and state stand. May be given more than once");
}

void add_times_and_lease(CLI::App& command, Options& o) {
  command
      .add_option("--gang-deadline", o.gang_deadline_s,
                  "Seconds after which a gang is withdrawn if some of its pods cannot be bound")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  command.add_flag(
      "--nodes-on-demand", o.nodes_on_demand,
      "An autoscaler makes nodes for pods that wait: work of ClusterQueues that has quota and lacks "
      "nodes alone is let out on its quota. The annotation berth.dev/nodes (on-demand, at-hand) of a "
      "ResourceFlavor or a ClusterQueue goes before it");
  command
      .add_option("--nodes-within", o.nodes_within_s,
                  "Seconds in which such nodes must have come for all pods of the work. If not, it is taken "
                  "back, and asks "
                  "again later")
      ->check(CLI::Range(1, 86400))
      ->capture_default_str();
  command
      .add_option("--audit-seconds", o.audit_s,
                  "Time between two self-audits, which compare the model with the API and mend it")
      ->check(CLI::Range(2, 86400))
      ->capture_default_str();
  command
      .add_option("--leader-elect", o.leader_elect,
                  "Decide only while holding the lease; false for a single replica")
      ->capture_default_str();
  command.add_option("--lease-namespace", o.lease_namespace, "Namespace of the lease")->capture_default_str();
  command.add_option("--lease-name", o.lease_name, "Name of the lease")->capture_default_str();
  command
      .add_option("--lease-seconds", o.lease_seconds,
                  "Time after which another replica may take over; renewed for two thirds of it")
      ->check(CLI::Range(3, 3600))
      ->capture_default_str();
}

void add_addresses(CLI::App& command, Options& o) {
  command
      .add_option("--http-address", o.http,
                  "ADDRESS:PORT of /healthz, /readyz, /metrics, /explain?workload=UID and /debug/state; "
                  "loopback only, because the answers name workloads of all namespaces; off for none")
      ->capture_default_str();
  command
      .add_option("--health-address", o.health,
                  "ADDRESS:PORT of /healthz and /readyz alone, for the kubelet's probes; off for none")
      ->capture_default_str();
  command
      .add_option("--metrics-address", o.metrics,
                  "ADDRESS:PORT of /metrics alone, for Prometheus; off for none")
      ->capture_default_str();
}

void add_metrics(CLI::App& command, Options& o) {
  command
      .add_option(
          "--pod-metrics", o.pod_metrics,
          "Most pods with devices that berth_pod_gpus names; Prometheus joins them with DCGM's exporter to "
          "know how busy their GPUs are. 0: none")
      ->check(CLI::Range(0, 100'000))
      ->capture_default_str();
  command.add_option(
      "--pool-label", o.pool_labels,
      "Node label whose value is the label `pool` of metrics; may be given more than once, the first "
      "that a node has counts. Default: those of Karpenter, GKE, EKS and AKS, then "
      "nvidia.com/gpu.product, then node.kubernetes.io/instance-type");
  command.add_option("--wait-objective", o.wait_objectives,
                     "PRIORITY=TIME: work of this priority and above is to start within that time, such as "
                     "1000=10m; an alert says where it does not. May be given more than once");
}

// The flags of the servers that name workloads to people.
void add_faces(CLI::App& command, Options& o) {
  command
      .add_option(
          "--visibility-address", o.visibility,
          "ADDRESS:PORT of HTTPS at which API servers ask for pending workloads and their places in line "
          "(visibility.kueue.x-k8s.io, deploy/visibility.yaml); off for none")
      ->capture_default_str();
  command.add_option("--visibility-cert", o.visibility_cert,
                     "Its certificate in PEM, with the intermediate certificates. The file may appear "
                     "later; a change is read within two seconds");
  command.add_option(
      "--visibility-key", o.visibility_key,
      "Its private key in PEM, without a passphrase; read again together with the certificate");
  command.add_option(
      "--visibility-advertise", o.visibility_advertise,
      "IP address at which API servers reach this replica. The deciding replica writes it as the only "
      "address of Service berth-visibility, in the lease's namespace. Default: none is written");
  command
      .add_option(
          "--dashboard-address", o.dashboard,
          "ADDRESS:PORT of the dashboard: loopback, or with --dashboard-cert any address, where users "
          "sign in with a token of the cluster; off for none")
      ->capture_default_str();
  command.add_option("--dashboard-cert", o.dashboard_cert,
                     "Its certificate in PEM; read again when it changes");
  command.add_option("--dashboard-key", o.dashboard_key,
                     "Its private key in PEM; read again together with the certificate");
}

// How it runs: the log, the second engine, the writes.
void add_running(CLI::App& command, Options& o) {
  command.add_option("--decision-log", o.decision_log,
                     "Append every event and decision to this file, which replays them byte for byte");
  command
      .add_option(
          "--follower", o.follower,
          "Run the second engine that answers questions and checks the first; false saves its CPU and memory")
      ->capture_default_str();
  command
      .add_option("--startup-check", o.startup_check,
                  "Log what `berth check` finds wrong about rights and kinds; false asks nothing")
      ->capture_default_str();
  command
      .add_option("--max-in-flight", o.in_flight,
                  "Most writes in flight to the API server; fewer where it is slow")
      ->check(CLI::Range(4, 300))
      ->capture_default_str();
}

}  // namespace

void register_scheduler(CLI::App& app, int& exit_code) {
  const auto o = std::make_shared<Options>();
  o->version = app.version();
  CLI::App* command = app.add_subcommand(
      "scheduler", "Schedules the pods of a cluster that name one of Berth's scheduler names");
  add_api_options(*command, *o);
  add_kinds(*command, *o);
  add_times_and_lease(*command, *o);
  add_addresses(*command, *o);
  add_metrics(*command, *o);
  add_faces(*command, *o);
  add_running(*command, *o);
  add_log_level(*command, o->log_level);
  command->callback([o, &exit_code] { exit_code = run(*o); });
}

}  // namespace berth::cli

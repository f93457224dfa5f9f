// A real Kubernetes control plane for tests: etcd, kube-apiserver, and where asked kube-controller-manager,
// kube-scheduler and KWOK (which plays the kubelets), each a process of its own, on loopback, in a temporary
// folder.
//
//   BERTH_ASSIGN(auto cluster, TestCluster::start({.kwok = true}));
//   cluster->create_nodes(100);                        // 100 nodes x 8 GPUs
//   cluster->create_pods(8, {.name = "worker", .labels = {{"berth.dev/gang", "a"}, {"berth.dev/gang-size",
//   "8"}}}); run("berth", "scheduler", "--kubeconfig", cluster->kubeconfig());
//
// Every process is killed when the test ends, however it ends. The folder (data, logs, keys) is removed by
// the destructor unless keep_folder() was called or BERTH_E2E_KEEP is set. The programs come from
// KUBEBUILDER_ASSETS and from what `scripts/control-plane build` cached. Errors name the program that failed
// and quote the end of its log.
//
// Not thread-safe, but client() gives each thread its own connection.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "e2e/api_client.h"
#include "e2e/certificates.h"
#include "e2e/process.h"

namespace berth::e2e {

struct ClusterOptions {
  std::string kubernetes;  // version; empty: BERTH_KUBERNETES, else tools/control-plane/default-kubernetes
  bool controller_manager = false;
  bool kube_scheduler = false;
  bool kwok = false;
  // With the controller manager: pods get their service account's token, as in a real cluster.
  bool service_accounts = false;
  bool front_proxy = false;                 // the API server passes requests on to API services
  std::vector<std::string> feature_gates;   // "GenericWorkload=true", of all Kubernetes programs
  std::vector<std::string> runtime_config;  // "scheduling.k8s.io/v1beta1=true"
  bool fair_queuing = true;                 // API priority and fairness; off: no limit on requests in flight
  bool unlimited_scheduler = false;  // kube-scheduler's own client limits lifted (qps and burst 100,000)
  // GOGC of the control plane's programs, without kube-scheduler; empty: as this process has it.
  std::string go_gc;
  // KWOK: milliseconds that a pod of a Job runs before it succeeds; empty: at once. Other pods run until
  // deleted.
  std::optional<std::int64_t> job_pod_runs_ms;
  // KWOK ends a deleted pod as a kubelet does: it is Failed first, so that its controller counts it. Otherwise it is gone at once.
  bool kubelets_end_pods = false;
  std::vector<std::string> api_server_args;
  std::vector<std::string> controller_manager_args;
  std::vector<std::string> kube_scheduler_args;
};

struct Taint {
  std::string key;
  std::string value;
  std::string effect = "NoSchedule";
};

using Labels = std::vector<std::pair<std::string, std::string>>;
// Resource name to quantity ("nvidia.com/gpu" -> "8").
using Quantities = std::vector<std::pair<std::string, std::string>>;

struct NodeShape {
  std::string name = "node";  // names are name-0, name-1, ...
  Quantities allocatable = {{"cpu", "128"}, {"memory", "1Ti"}, {"pods", "110"}, {"nvidia.com/gpu", "8"}};
  Labels labels;  // kubernetes.io/hostname is added
  std::vector<Taint> taints;
  // Extra labels of node i, for topologies.
  std::function<Labels(std::size_t i)> labels_of;
};

struct PodShape {
  std::string name = "pod";  // names are name-0, name-1, ...
  std::string ns = "default";
  std::string scheduler = "berth";
  Quantities requests = {{"cpu", "1"}, {"memory", "1Gi"}, {"nvidia.com/gpu", "1"}};
  Labels labels;
  Labels annotations;
  Labels node_selector;
  std::string node;            // not empty: created bound to this node
  std::string priority_class;  // name of a PriorityClass
  std::vector<Taint> tolerations;
  // Above 0 a deleted pod stays until a kubelet (KWOK, or the test) removes it.
  int termination_grace_s = 0;
  std::string
      extra_spec;  // further fields of the spec as JSON, each followed by a comma: "\"hostNetwork\":true,"
};

// Bodies of single objects, for tests that create in an order of their own.
std::string node_json(const NodeShape& shape, std::size_t i);
std::string pod_json(const PodShape& shape, std::size_t i);

class TestCluster {
 public:
  static Result<std::unique_ptr<TestCluster>> start(ClusterOptions options = {});
  // Where `program` is, or an error that says how to build it.
  static Result<std::string> find_program(const std::string& program, const std::string& kubernetes = {});

  ~TestCluster();
  TestCluster(const TestCluster&) = delete;
  TestCluster& operator=(const TestCluster&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  void keep_folder() { keep_ = true; }
  std::string log(const std::string& program) const { return (folder_ / (program + ".log")).string(); }
  const ClusterOptions& options() const { return options_; }
  const std::string& version() const { return version_; }  // "v1.36.3", as the API server says

  // Kubeconfig files. admin: system:masters. The second form makes an identity that has only what RBAC grants
  // to `user` and `groups`; a service account is the user system:serviceaccount:NAMESPACE:NAME.
  const std::string& kubeconfig() const { return kubeconfig_; }
  // `rsa`: of its key (Authority::client).
  Result<std::string> kubeconfig_for(const std::string& user, const std::vector<std::string>& groups = {},
                                     bool rsa = false);

  ApiClient client() const { return ApiClient(endpoint_); }  // as admin
  const Endpoint& endpoint() const { return endpoint_; }
  // With front_proxy: the authority of the API server's own certificate when it passes requests on.
  const Authority& front_proxy() const { return *front_proxy_; }

  // Where kube-scheduler serves its metrics.
  const Endpoint& kube_scheduler() const { return kube_scheduler_; }
  // etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kwok; nullptr where it was not started.
  Process* process(const std::string& program);
  // Stops the API server (SIGKILL or SIGTERM), waits `down_ms`, starts it on the same port.
  Status restart_api_server(bool kill = false, int down_ms = 0);
  // For tests that start a component later than the cluster.
  Status start_kube_scheduler();
  Status start_kwok();

  // kubectl apply --server-side -f PATH as admin.
  Status apply(const std::string& path);

  // Each returns when all are created; thousands per second.
  Status create_nodes(std::size_t count, const NodeShape& shape = {});
  Status create_pods(std::size_t count, const PodShape& shape = {});
  Status create_namespace(const std::string& name);
  Status create_priority_class(const std::string& name, int value, const std::string& preemption_policy = {});
  // POST of `bodies` to the collection `path`, in parallel and in no order.
  Status create_all(const std::string& path, const std::vector<std::string>& bodies,
                    unsigned concurrency = 32);
  // Makes bound pods Running, as a kubelet would; `names` in namespace `ns`.
  Status make_running(const std::string& ns, const std::vector<std::string>& names);

 private:
  TestCluster() = default;
  Status prepare();
  Status start_etcd();
  Status start_api_server();
  Status start_controller_manager();
  Status spawn(const std::string& program, std::vector<std::string> args);
  // Asks until `ready` says yes; an error when the process ends or `timeout_ms` is over.
  // A program that ends is told at once. A machine whose cores are shared needs more than a minute for an API server.
  Status wait_ready(const std::string& program, const std::function<bool()>& ready, int timeout_ms = 180'000);
  std::string feature_gates_arg() const;
  Status write(const std::string& name, const std::string& text) const;

  ClusterOptions options_;
  std::filesystem::path folder_;
  bool keep_ = false;
  std::optional<Authority> authority_;
  std::optional<Authority> front_proxy_;
  Endpoint endpoint_;
  Endpoint kube_scheduler_;
  std::string kubeconfig_;
  std::string version_;
  int etcd_port_ = 0;
  int etcd_peer_port_ = 0;
  int api_port_ = 0;
  int identities_ = 0;
  std::map<std::string, Process> processes_;
};

// A TCP port on 127.0.0.1 that was free a moment ago.
Result<int> free_port();

// Whether e2e tests must run: BERTH_E2E=required.
bool e2e_required();

}  // namespace berth::e2e

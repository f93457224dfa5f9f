#include "cli/ask/cluster.h"

#include <fmt/format.h>

#include <utility>

namespace berth::cli {

void add_cluster_flags(CLI::App& command, ClusterFlags& flags, Scope scope) {
  command.add_option("--kubeconfig", flags.kubeconfig,
                     "Kubeconfig file. Default: $KUBECONFIG, ~/.kube/config, or the identity of the pod");
  command.add_option("--context", flags.context, "Context of the kubeconfig. Default: its current one");
  if (scope == Scope::kCluster) return;
  CLI::Option* ns = command.add_option("-n,--namespace", flags.ns, "Namespace. Default: that of the context");
  if (scope == Scope::kNamespace) return;
  command.add_flag("-A,--all-namespaces", flags.all, "All namespaces")->excludes(ns);
}

Result<Cluster> connect(const ClusterFlags& flags) {
  Cluster out;
  BERTH_ASSIGN(out.config, kube::find_config(flags.kubeconfig, flags.context));
  kube::TransportOptions options;
  options.max_in_flight = 32;
  options.user_agent = "berth-cli";
  BERTH_ASSIGN(out.transport, kube::Transport::create(out.config, options));
  if (!flags.all) out.ns = flags.ns.empty() ? out.config.ns : flags.ns;
  return out;
}

std::string lacks_right(std::string_view verb, std::string_view resource, std::string_view group,
                        std::string_view ns) {
  return fmt::format("the right to {} {}{}{} in {}", verb, resource, group.empty() ? "" : ".", group,
                     ns.empty() ? std::string("all namespaces") : fmt::format("namespace {}", ns));
}

std::string_view role_for(std::string_view ns) {
  return ns.empty() ? "ask for one namespace with -n, or for the ClusterRole berth-plan"
                    : "the role view in that namespace has it";
}

}  // namespace berth::cli

// The cluster that a command asks, with the identity and the rights of its user alone: a kubeconfig, a context, a namespace.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kube/config.h"
#include "kube/transport.h"

namespace berth::cli {

struct ClusterFlags {
  std::string kubeconfig;  // empty: as kubectl would find it
  std::string context;     // empty: the kubeconfig's current one
  std::string ns;          // empty: that of the context
  bool all = false;        // of all namespaces
};

// --kubeconfig and --context; then also -n; then also -A.
enum class Scope : std::uint8_t { kCluster, kNamespace, kNamespaces };
void add_cluster_flags(CLI::App& command, ClusterFlags& flags, Scope scope);

struct Cluster {
  kube::ClusterConfig config;
  std::unique_ptr<kube::Transport> transport;
  std::string ns;  // "": all namespaces
};

// Errors: no configuration, a wrong one.
Result<Cluster> connect(const ClusterFlags& flags);

// "the right to list pods in namespace team-a", for a request that was refused with 403.
std::string lacks_right(std::string_view verb, std::string_view resource, std::string_view group,
                        std::string_view ns);

// The role that has a right to list work there.
std::string_view role_for(std::string_view ns);

}  // namespace berth::cli

// Runs a credential plugin of a kubeconfig (client.authentication.k8s.io ExecCredential) and reads what it prints.
// Its standard error goes to ours, as with kubectl; its standard output is never part of a message.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/time.h"
#include "kube/config.h"

namespace berth::kube {

struct ExecCredential {
  std::string token;
  std::string cert_pem;
  std::string key_pem;
  std::int64_t expires_ms = 0;  // wall clock since 1970; 0: no end
};

// Blocks until the plugin has ended, at most `timeout`; then it is killed.
Result<ExecCredential> run_exec_plugin(const ExecPlugin& plugin, const ClusterConfig& config,
                                       DurationMs timeout);

}  // namespace berth::kube

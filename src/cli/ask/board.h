// The JSON of the dashboard (docs/dashboard.md), asked at the address of --server with the token of the user: for what no API object says.
//
// A token is sent over TLS alone. Without a sign-in only loopback is asked (kubectl port-forward), and no token is sent there. API
// servers take the token off a request that they pass on to a service, so the dashboard is not reached through their proxy.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "base/result.h"
#include "cli/base/reasons.h"
#include "kube/config.h"

namespace berth::cli {

struct BoardFlags {
  std::string server;     // "https://berth.example:10265"; "": none
  std::string authority;  // file in PEM; "": those of the system
};
void add_board_flags(CLI::App& command, BoardFlags& flags);

// The configuration by which the dashboard is asked: the server of the flags, the token of the user, and nothing else of the user.
// Invalid: a server to which no token may be sent, or a user without a token.
Result<kube::ClusterConfig> board_config(const BoardFlags& flags, const kube::ClusterConfig& user);

// Why a workload (namespace/name) waits. NotFound: the dashboard does not know it, or does not show it to the user.
Result<ReasonTree> ask_board_why(const BoardFlags& flags, const kube::ClusterConfig& user,
                                 const std::string& name);

}  // namespace berth::cli

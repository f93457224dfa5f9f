// The address of an API server and the credentials for it: from a kubeconfig file or from inside a cluster.
//
// The kubeconfig is read with file, line and field in every error; unknown fields are ignored, as kubectl does. Relative
// paths in it are relative to its own folder. Supported of a user: client-certificate(-data), client-key(-data),
// token, tokenFile, username/password, exec (client.authentication.k8s.io/v1 and v1beta1); auth-provider was removed
// from Kubernetes and is refused with advice. TLS is verified unless the file says insecure-skip-tls-verify, which the
// caller should log (`insecure`).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace berth::kube {

struct ExecPlugin {
  std::string command;  // absolute, or looked up in PATH; with a slash, relative to the kubeconfig's folder
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version;  // of the ExecCredential
  std::string install_hint;
  bool provide_cluster_info = false;
};

// A value that stands in the configuration itself or in a file that may change.
struct DataOrFile {
  std::string data;
  std::string file;
  bool empty() const { return data.empty() && file.empty(); }
};

struct ClusterConfig {
  std::string source;           // the kubeconfig's path, or "in-cluster"; for messages
  std::string context;          // name of the context that was used
  std::string server;           // https://host:port[/prefix], without a slash at its end
  std::string ns = "default";   // namespace of the context
  DataOrFile ca;                // PEM; empty: the system's authorities
  bool insecure = false;        // the certificate of the server is not checked
  std::string tls_server_name;  // expected in the server's certificate instead of the host of `server`
  std::string proxy_url;        // empty: the environment's (never for loopback addresses)

  DataOrFile token;
  DataOrFile cert;  // PEM
  DataOrFile key;   // PEM
  std::string username;
  std::string password;
  std::optional<ExecPlugin> exec;
};

// Reads the context `context` (empty: current-context) of a kubeconfig file.
Result<ClusterConfig> read_kubeconfig(const std::string& path, const std::string& context = {});
// The same from its text; `path` names it in messages, and its folder is what relative paths are relative to.
Result<ClusterConfig> parse_kubeconfig(std::string text, const std::string& path,
                                       const std::string& context = {});
// The identity that Kubernetes gives to a pod: KUBERNETES_SERVICE_HOST and _PORT, token, ca.crt, namespace below `folder`.
Result<ClusterConfig> in_cluster_config(
    const std::string& folder = "/var/run/secrets/kubernetes.io/serviceaccount");
// As kubectl does: `path` if given, else $KUBECONFIG (one file), else ~/.kube/config, else in-cluster.
Result<ClusterConfig> find_config(const std::string& path = {}, const std::string& context = {});

}  // namespace berth::kube

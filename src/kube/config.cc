#include "kube/config.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "kube/secrets.h"
#include "kube/url.h"
#include "text/document.h"
#include "text/fields.h"

namespace berth::kube {

namespace {

namespace fs = std::filesystem;
using text::Fields;

constexpr std::uint64_t kMaxKubeconfig = 8 << 20;

// A string whose value must never be part of a message.
std::string secret(Fields& fields, std::string_view key) {
  const text::Node* node = fields.find(key);
  if (node == nullptr) return {};
  if (!node->is_scalar()) {
    fields.error(key, "must be a string, not {}", node->describe());
    return {};
  }
  return std::string(node->text());
}

std::string relative_to(const fs::path& folder, const std::string& file) {
  if (file.empty() || fs::path(file).is_absolute()) return file;
  return (folder / file).lexically_normal().string();
}

// "<name>-data" (base64) wins over "<name>" (a file), as in client-go.
DataOrFile data_or_file(Fields& fields, const std::string& name, const fs::path& folder) {
  DataOrFile out;
  const std::string data_key = name + "-data";
  if (const std::string encoded = secret(fields, data_key); !encoded.empty()) {
    auto decoded = decode_base64(encoded);
    if (!decoded) {
      fields.error(data_key, "is not valid base64: {}", decoded.error().message);
    } else if (decoded->find("-----BEGIN") == std::string::npos) {
      fields.error(data_key, "does not hold PEM (no '-----BEGIN') after base64 is taken off");
    } else {
      out.data = std::move(*decoded);
    }
  }
  const std::string file = fields.string_or(name);
  if (out.data.empty()) out.file = relative_to(folder, file);
  return out;
}

void read_cluster(Fields& cluster, const fs::path& folder, ClusterConfig& config) {
  config.server = cluster.string("server");
  while (config.server.ends_with('/')) config.server.pop_back();
  if (!config.server.empty()) {
    if (const auto url = parse_url(config.server); !url) cluster.error("server", "{}", url.error().message);
  }
  config.ca = data_or_file(cluster, "certificate-authority", folder);
  config.insecure = cluster.boolean_or("insecure-skip-tls-verify", false);
  if (config.insecure && !config.ca.empty()) {
    cluster.error("insecure-skip-tls-verify",
                  "must not be true where certificate-authority is given; remove one of them");
  }
  config.tls_server_name = cluster.string_or("tls-server-name");
  config.proxy_url = secret(cluster, "proxy-url");  // may hold a password
  if (!config.proxy_url.empty() && config.proxy_url.find("://") == std::string::npos) {
    cluster.error("proxy-url", "must be a URL like http://proxy:3128");
  }
}

ExecPlugin read_exec(Fields& exec, const fs::path& folder) {
  ExecPlugin plugin;
  plugin.command = exec.string("command");
  if (plugin.command.find('/') != std::string::npos) plugin.command = relative_to(folder, plugin.command);
  plugin.args = exec.strings("args");
  exec.each("env", [&](Fields& variable) {
    std::string name = variable.string("name");
    plugin.env.emplace_back(std::move(name), secret(variable, "value"));
  });
  plugin.api_version = exec.string("apiVersion");
  if (!plugin.api_version.empty() && plugin.api_version != "client.authentication.k8s.io/v1" &&
      plugin.api_version != "client.authentication.k8s.io/v1beta1") {
    exec.error("apiVersion", "must be client.authentication.k8s.io/v1 (or v1beta1), not \"{}\"",
               plugin.api_version);
  }
  if (exec.string_or("interactiveMode") == "Always") {
    exec.error("interactiveMode",
               "\"Always\" needs a terminal, which a scheduler does not have; use \"IfAvailable\"");
  }
  plugin.install_hint = exec.string_or("installHint");
  plugin.provide_cluster_info = exec.boolean_or("provideClusterInfo", false);
  return plugin;
}

void read_user(Fields& user, const fs::path& folder, ClusterConfig& config) {
  if (user.has("auth-provider")) {
    user.error("auth-provider", "is no longer part of Kubernetes; use an exec plugin instead");
  }
  config.token.data = secret(user, "token");
  config.token.file = relative_to(folder, user.string_or("tokenFile"));
  config.cert = data_or_file(user, "client-certificate", folder);
  config.key = data_or_file(user, "client-key", folder);
  if (config.cert.empty() != config.key.empty()) {
    user.error(config.cert.empty() ? "client-key" : "client-certificate",
               "client-certificate and client-key belong together, but one of them is missing");
  }
  config.username = user.string_or("username");
  config.password = secret(user, "password");
  if (Fields exec = user.optional_child("exec")) config.exec = read_exec(exec, folder);
}

// Reads the entry called `name` of the list `list`, whose content stands under `inner`.
template <class Read>
bool read_named(Fields& root, std::string_view list, std::string_view inner, const std::string& name,
                Read&& read) {
  bool found = false;
  root.each(list, [&](Fields& entry) {
    if (entry.string("name") != name || found) return;
    found = true;
    Fields content = entry.child(inner);
    read(content);
  });
  return found;
}

std::string names_in(Fields& root, std::string_view list) {
  std::string out;
  for (const text::Node& item : root.list(list)) {
    const text::Node* name = item.find("name");
    if (name == nullptr || !name->is_scalar()) continue;
    if (!out.empty()) out += ", ";
    out += name->text();
  }
  return out.empty() ? "none" : out;
}

}  // namespace

Result<ClusterConfig> read_kubeconfig(const std::string& path, const std::string& context) {
  auto content = read_text_file(path, kMaxKubeconfig);
  if (!content) return fail(content.error().code, "kubeconfig {}", content.error().message);
  return parse_kubeconfig(std::move(*content), path, context);
}

Result<ClusterConfig> parse_kubeconfig(std::string text, const std::string& path,
                                       const std::string& context) {
  BERTH_ASSIGN(const text::Document document, text::parse_document(std::move(text), path));
  Fields root(document, document.root(), text::Unknown::kIgnore);
  const fs::path folder = fs::absolute(path).parent_path();

  ClusterConfig config;
  config.source = path;
  config.context = context.empty() ? root.string_or("current-context") : context;
  if (config.context.empty()) {
    root.error("current-context", "is not set; set it or name one of the contexts: {}",
               names_in(root, "contexts"));
  }
  BERTH_TRY(root.done());

  std::string cluster_name;
  std::string user_name;
  const bool has_context = read_named(root, "contexts", "context", config.context, [&](Fields& fields) {
    cluster_name = fields.string("cluster");
    user_name = fields.string_or("user");
    config.ns = fields.string_or("namespace", "default");
  });
  if (!has_context) {
    root.error("contexts", "there is no context \"{}\"; there are: {}", config.context,
               names_in(root, "contexts"));
  }
  BERTH_TRY(root.done());

  const bool has_cluster = read_named(root, "clusters", "cluster", cluster_name,
                                      [&](Fields& fields) { read_cluster(fields, folder, config); });
  if (!has_cluster) {
    root.error("clusters", "there is no cluster \"{}\", which context \"{}\" names; there are: {}",
               cluster_name, config.context, names_in(root, "clusters"));
  }
  if (!user_name.empty()) {
    const bool has_user = read_named(root, "users", "user", user_name,
                                     [&](Fields& fields) { read_user(fields, folder, config); });
    if (!has_user) {
      root.error("users", "there is no user \"{}\", which context \"{}\" names; there are: {}", user_name,
                 config.context, names_in(root, "users"));
    }
  }
  BERTH_TRY(root.done());
  return config;
}

Result<ClusterConfig> in_cluster_config(const std::string& folder) {
  const char* host = std::getenv("KUBERNETES_SERVICE_HOST");
  const char* port = std::getenv("KUBERNETES_SERVICE_PORT");
  if (host == nullptr || port == nullptr || *host == '\0' || *port == '\0') {
    return fail(ErrorCode::kNotFound,
                "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  ClusterConfig config;
  config.source = "in-cluster";
  config.context = "in-cluster";
  const std::string name = host;
  config.server = "https://" + (name.find(':') == std::string::npos ? name : "[" + name + "]") + ":" + port;
  if (const auto url = parse_url(config.server); !url) {
    return fail(ErrorCode::kInvalid, "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT: {}",
                url.error().message);
  }
  config.token.file = folder + "/token";
  config.ca.file = folder + "/ca.crt";
  if (auto ns = read_text_file(folder + "/namespace", 4096); ns && !trimmed(*ns).empty()) {
    config.ns = trimmed(*ns);
  }
  return config;
}

Result<ClusterConfig> find_config(const std::string& path, const std::string& context) {
  if (!path.empty()) return read_kubeconfig(path, context);
  if (const char* env = std::getenv("KUBECONFIG"); env != nullptr && *env != '\0') {
    if (std::string_view(env).find(':') != std::string_view::npos) {
      return fail(ErrorCode::kUnsupported,
                  "KUBECONFIG names several files; name one, or merge them with "
                  "'kubectl config view --flatten'");
    }
    return read_kubeconfig(env, context);
  }
  if (const char* home = std::getenv("HOME"); home != nullptr) {
    const std::string file = std::string(home) + "/.kube/config";
    std::error_code ignored;
    if (fs::exists(file, ignored)) return read_kubeconfig(file, context);
  }
  auto config = in_cluster_config();
  if (!config && config.error().code == ErrorCode::kNotFound) {
    return fail(
        ErrorCode::kNotFound,
        "no cluster to talk to: give a kubeconfig, set KUBECONFIG, or run inside a cluster (~/.kube/config "
        "does not exist and KUBERNETES_SERVICE_HOST is not set)");
  }
  return config;
}

}  // namespace berth::kube

#include "e2e/jobset_controller.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "e2e/certificates.h"
#include "e2e/kueue_manager.h"

namespace berth::e2e {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModule = BERTH_SOURCE_DIR "/tools/controllers/jobset/go.mod";
constexpr const char* kKind = "/apis/jobset.x-k8s.io/v1alpha2/jobsets";

Result<std::string> contents(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return fail(ErrorCode::kNotFound, "cannot read {}", path);
  return text.str();
}

Status put(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  file.close();
  if (!file) return fail(ErrorCode::kUnavailable, "cannot write {}", path);
  return {};
}

// Each webhook by a URL instead of its Service.
std::string by_url(const std::string& yaml, int port, const std::string& authority) {
  std::istringstream in(yaml);
  std::string out;
  std::string line;
  bool in_service = false;
  while (std::getline(in, line)) {
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

}  // namespace

std::string JobSetController::folder() {
  const auto module = contents(kModule);
  if (!module) return "";
  const std::string name = "sigs.k8s.io/jobset v";
  const auto at = module->find(name);
  if (at == std::string::npos) return "";
  const auto from = at + name.size();
  const std::string version = module->substr(from, module->find_first_of(" \n", from) - from);
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::string out = cache != nullptr ? cache : fmt::format("{}/.cache", home != nullptr ? home : "");
  out += "/berth/controllers/jobset-" + version;
  const bool built = ::access((out + "/jobset").c_str(), X_OK) == 0 && fs::exists(out + "/manifests.yaml");
  return built ? out : "";
}

Status JobSetController::install() {
  BERTH_ASSIGN(webhook_port_, free_port());
  BERTH_ASSIGN(health_port_, free_port());
  std::error_code ignored;
  fs::create_directories(place("certificates"), ignored);
  BERTH_ASSIGN(const Authority authority, Authority::create("jobset-webhooks"));
  BERTH_ASSIGN(const KeyPair pair, authority.server("jobset-webhook"));
  BERTH_TRY(put(place("certificates/tls.crt"), pair.cert_pem));
  BERTH_TRY(put(place("certificates/tls.key"), pair.key_pem));
  BERTH_ASSIGN(const std::string manifests, contents(folder() + "/manifests.yaml"));
  const std::string kept = documents_without(manifests, {"Deployment", "Service", "ConfigMap"});
  BERTH_TRY(put(place("manifests.yaml"), by_url(kept, webhook_port_, base64(authority.cert_pem()))));
  return cluster_.apply(place("manifests.yaml"));
}

Status JobSetController::configure() {
  return put(place("config.yaml"), fmt::format(R"(
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
internalCertManagement: {{enable: false}}
webhook: {{host: 127.0.0.1, port: {}, certDir: {}}}
leaderElection: {{leaderElect: false}}
metrics: {{bindAddress: "0"}}
health: {{healthProbeBindAddress: "127.0.0.1:{}"}}
)",
                                               webhook_port_, place("certificates"), health_port_));
}

Status JobSetController::start() {
  BERTH_TRY(install());
  BERTH_TRY(configure());
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  const auto late = [&] { return std::chrono::steady_clock::now() > end; };
  // It ends at once where its kind is not served yet.
  while (!cluster_.client().get(kKind).ok() && !late())
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  BERTH_ASSIGN(
      const std::string kubeconfig,
      cluster_.kubeconfig_for(kUser, {"system:serviceaccounts", "system:serviceaccounts:jobset-system"}));
  BERTH_ASSIGN(process_, Process::start({.argv = {folder() + "/jobset", "--config", place("config.yaml")},
                                         .log = cluster_.log("jobset"),
                                         .env = {{"KUBECONFIG", kubeconfig}}}));
  ApiClient health(Endpoint{.server = fmt::format("http://127.0.0.1:{}", health_port_),
                            .ca_file = {},
                            .cert_file = {},
                            .key_file = {}});
  while (!health.send("GET", "/readyz", {}, kJson, 2000).ok()) {
    if (!process_.running() || late())
      return fail(ErrorCode::kUnavailable, "JobSet's controller is not ready ({}); its log ends\n{}",
                  process_.running() ? "it runs" : process_.exit_text(), tail(cluster_.log("jobset"), 10));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return {};
}

}  // namespace berth::e2e

#include "cli/ask/prometheus.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "cli/ask/cluster.h"
#include "cli/base/show.h"
#include "kube/paths.h"

namespace berth::cli {
namespace {

using simdjson::dom::element;

constexpr std::size_t kMostOfQueues = std::size_t{16} << 20;
constexpr std::size_t kMostErrorText = 300;  // of an answer that is none
constexpr std::string_view kForm =
    "a URL like http://localhost:9090, or NAMESPACE/SERVICE:PORT like monitoring/prometheus-operated:9090";

// Where the queries go.
struct Server {
  std::unique_ptr<kube::Transport> own;  // of a URL
  kube::Transport* transport = nullptr;
  std::string prefix;
  std::string ns;  // of a service
};

Result<Server> server_at(const std::string& address, kube::Transport& cluster) {
  Server out;
  if (address.find("://") != std::string::npos) {
    kube::ClusterConfig config;
    config.source = "--prometheus";
    config.server = address;
    while (config.server.ends_with('/')) config.server.pop_back();
    kube::TransportOptions options;
    options.user_agent = "berth-cli";
    BERTH_ASSIGN(out.own, kube::Transport::create(config, options));
    out.transport = out.own.get();
    return out;
  }
  const auto slash = address.find('/');
  const auto colon = address.find(':');
  const bool parts = slash != std::string::npos && slash > 0 && colon != std::string::npos &&
                     colon > slash + 1 && colon + 1 < address.size();
  if (!parts) return fail(ErrorCode::kInvalid, "--prometheus: '{}' is not {}", address, kForm);
  out.transport = &cluster;
  out.ns = address.substr(0, slash);
  out.prefix = fmt::format("/api/v1/namespaces/{}/services/{}/proxy", kube::escape(out.ns),
                           kube::escape(std::string_view(address).substr(slash + 1)));
  return out;
}

// The text of an error of Prometheus; "": it is none.
std::string refused(const element& root) {
  std::string_view status, error;
  if (root["status"].get(status) != simdjson::SUCCESS || status == "success") return "";
  const bool says = root["error"].get(error) == simdjson::SUCCESS;
  return cut(printable(says ? error : status), kMostErrorText);
}

Result<std::map<std::string, double>> by_queue(const Server& server, const std::string& address,
                                               std::string_view query) {
  kube::Request request;
  request.path = fmt::format("{}/api/v1/query?query={}", server.prefix, kube::escape(query));
  request.timeout = 10 * kSecond;
  request.max_response = kMostOfQueues;
  const kube::Response response = server.transport->call(std::move(request));
  if (response.status == 401 || response.status == 403) {
    return fail(ErrorCode::kUnauthorized, "--prometheus: {} refuses to answer (HTTP {}){}", address,
                response.status,
                server.ns.empty() ? std::string()
                                  : "; it needs " + lacks_right("get", "services/proxy", "", server.ns));
  }
  simdjson::dom::parser parser;
  element root;
  simdjson::dom::array results;
  const bool read = response.status != 0 && parser.parse(response.body).get(root) == simdjson::SUCCESS;
  const std::string error = read ? refused(root) : "";
  if (!read || !error.empty() || !response.ok() ||
      root.at_pointer("/data/result").get(results) != simdjson::SUCCESS) {
    return fail(ErrorCode::kUnavailable, "--prometheus: {} does not answer as Prometheus does: {}", address,
                !error.empty()         ? error
                : response.status == 0 ? response.error
                                       : fmt::format("HTTP {}", response.status));
  }
  std::map<std::string, double> out;
  for (const element result : results) {
    std::string_view queue, text;
    double value = 0;
    if (result.at_pointer("/value/1").get(text) != simdjson::SUCCESS) continue;
    if (result.at_pointer("/metric/queue").get(queue) != simdjson::SUCCESS)
      queue = "";  // an empty label is left out
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong == std::errc() && end == text.data() + text.size() && value >= 0)
      out[std::string(queue)] += value;
  }
  return out;
}

}  // namespace

Result<std::map<std::string, GpuUse>> gpu_use(const std::string& address, const std::string& ns,
                                              kube::Transport& cluster) {
  BERTH_ASSIGN(const Server server, server_at(address, cluster));
  // Names of namespaces have no character that a string of PromQL would have to escape.
  const std::string of = ns.empty() ? std::string() : fmt::format("{{pod_namespace=\"{}\"}}", ns);
  const std::string pods = "on (pod_namespace, pod_name, queue, pool) berth:";
  BERTH_ASSIGN(
      const auto used,
      by_queue(server, address,
               fmt::format("sum by (queue) (berth:pod_gpu_used:ratio{} * {}pod_gpus:max)", of, pods)));
  BERTH_ASSIGN(
      const auto measured,
      by_queue(server, address,
               fmt::format("sum by (queue) (berth:pod_gpus:max{} and {}pod_gpu_used:ratio)", of, pods)));
  std::map<std::string, GpuUse> out;
  for (const auto& [queue, gpus] : measured) {
    const auto found = used.find(queue);
    out[queue] = {found == used.end() ? 0 : std::min(found->second, gpus), gpus};
  }
  return out;
}

}  // namespace berth::cli

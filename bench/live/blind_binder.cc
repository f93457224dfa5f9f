#include "blind_binder.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kube/config.h"
#include "kube/transport.h"

namespace berth::bench {
namespace {

struct Name {
  std::string ns;
  std::string name;
};

Result<std::vector<Name>> list(kube::Transport& transport, const std::string& path) {
  const auto response = transport.call({.path = path, .max_response = std::size_t{1} << 30});
  if (!response.ok()) {
    return fail(ErrorCode::kUnavailable, "GET {}: HTTP {} {}", path, response.status, response.error);
  }
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  simdjson::dom::array items;
  if (parser.parse(response.body).get(document) != simdjson::SUCCESS ||
      document["items"].get(items) != simdjson::SUCCESS) {
    return fail(ErrorCode::kInvalid, "GET {}: not a list", path);
  }
  std::vector<Name> names;
  for (const simdjson::dom::element item : items) {
    std::string_view name;
    std::string_view ns;
    if (item.at_pointer("/metadata/name").get(name) == simdjson::SUCCESS) {
      const bool namespaced = item.at_pointer("/metadata/namespace").get(ns) == simdjson::SUCCESS;
      names.push_back({namespaced ? std::string(ns) : std::string(), std::string(name)});
    }
  }
  return names;
}

}  // namespace

Status run_blind_binder(const std::string& kubeconfig, unsigned in_flight) {
  BERTH_ASSIGN(const auto config, kube::read_kubeconfig(kubeconfig));
  BERTH_ASSIGN(const auto transport, kube::Transport::create(config));
  BERTH_ASSIGN(const auto nodes, list(*transport, "/api/v1/nodes"));
  if (nodes.empty()) {
    return fail(ErrorCode::kNotFound, "the cluster has no node");
  }
  const std::string pending =
      fmt::format("/api/v1/pods?fieldSelector=spec.nodeName%3D,spec.schedulerName%3D{}", kBlindScheduler);
  std::mutex mutex;
  std::condition_variable changed;
  unsigned flying = 0;
  std::size_t next_node = 0;
  std::unordered_set<std::string> done;
  while (true) {
    BERTH_ASSIGN(const auto pods, list(*transport, pending));
    bool any = false;
    for (const auto& [ns, name] : pods) {
      if (!done.insert(ns + "/" + name).second) {
        continue;
      }
      any = true;
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return flying < in_flight; });
      ++flying;
      lock.unlock();
      const auto& node = nodes[next_node++ % nodes.size()].name;
      transport->submit(
          {.method = kube::Method::kPost,
           .path = fmt::format("/api/v1/namespaces/{}/pods/{}/binding", ns, name),
           .body = fmt::format(R"({{"apiVersion":"v1","kind":"Binding","metadata":{{"name":"{}"}},"target":)"
                               R"({{"kind":"Node","name":"{}"}}}})",
                               name, node)},
          [&](kube::Response&& response) {
            if (!response.ok()) {
              fmt::print(stderr, "a bind failed: HTTP {} {} {}\n", response.status, response.error,
                         response.body);
            }
            const std::lock_guard guard(mutex);
            --flying;
            changed.notify_one();
          });
    }
    if (!any) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

}  // namespace berth::bench

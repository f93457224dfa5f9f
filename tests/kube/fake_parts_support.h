// Shared code of FakeApiServer's parts: routes, the store, and refusals. Internal to it.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kube/fake_api_server_support.h"
#include "kube/fake_store_support.h"

namespace berth::kube::testing {

inline constexpr const char* kTime = "2026-01-01T00:00:00Z";

inline Json status_json(int code, const std::string& reason, const std::string& message,
                        const std::string& cause = {}, int retry_after_s = 0) {
  Json details = Json::object();
  if (!cause.empty()) details["causes"] = Json::array({Json{{"reason", cause}, {"message", message}}});
  if (retry_after_s > 0) details["retryAfterSeconds"] = retry_after_s;
  return Json{{"kind", "Status"},   {"apiVersion", "v1"}, {"metadata", Json::object()}, {"status", "Failure"},
              {"message", message}, {"reason", reason},   {"details", details},         {"code", code}};
}

inline void refuse(HttpResponse& response, int code, const std::string& reason, const std::string& message,
                   const std::string& cause = {}) {
  response.status = code;
  response.body = status_json(code, reason, message, cause).dump();
}

inline std::string text_at(const Json& object, const char* a, const char* b) {
  if (!object.is_object() || !object.contains(a) || !object[a].is_object() || !object[a].contains(b))
    return {};
  return object[a][b].is_string() ? object[a][b].get<std::string>() : std::string();
}

inline std::string reason_of(int status) {
  switch (status) {
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 409:
      return "Conflict";
    case 410:
      return "Expired";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return "InternalError";
  }
}

inline const std::string kBinaryType = "application/vnd.kubernetes.protobuf";

// Where a path leads.
struct FakeApiServer::Route {
  std::string table;  // the collection without a namespace
  std::string api_version;
  std::string resource;
  std::string ns;
  std::string name;
  std::string subresource;

  std::string key() const { return ns + "/" + name; }

  static std::optional<Route> parse(const std::string& path) {
    std::vector<std::string> parts;
    for (std::size_t begin = 1; begin < path.size();) {
      const std::size_t end = std::min(path.find('/', begin), path.size());
      parts.push_back(path.substr(begin, end - begin));
      begin = end + 1;
    }
    Route route;
    std::size_t at = 0;
    if (parts.size() >= 3 && parts[0] == "api") {
      route.table = "/api/" + parts[1];
      route.api_version = parts[1];
      at = 2;
    } else if (parts.size() >= 4 && parts[0] == "apis") {
      route.table = "/apis/" + parts[1] + "/" + parts[2];
      route.api_version = parts[1] + "/" + parts[2];
      at = 3;
    } else {
      return std::nullopt;
    }
    if (parts[at] == "namespaces" && parts.size() > at + 2) {
      route.ns = parts[at + 1];
      at += 2;
    }
    route.resource = parts[at];
    route.table += "/" + parts[at++];
    if (at < parts.size()) route.name = parts[at++];
    if (at < parts.size()) route.subresource = parts[at++];
    if (at < parts.size()) return std::nullopt;
    return route;
  }
};

struct FakeApiServer::Store : ObjectStore {
  struct Snapshot {
    std::int64_t rv = 0;
    std::vector<std::shared_ptr<const Json>> items;
  };
  std::map<std::string, Snapshot> snapshots;
  int next_snapshot = 0;
  std::vector<Fault> faults;
  std::vector<Seen> seen;
  std::function<void(const Seen&)> hook;
  std::string token;
  bool streaming_lists = true;
  int end_epoch = 0;
  int cut_epoch = 0;
  int error_epoch = 0;
  int error_code = 0;
  std::size_t chunk = 0;
  std::atomic<int> open_watches{0};
};

}  // namespace berth::kube::testing

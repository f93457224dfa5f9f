// Discovery of FakeApiServer: /api, /apis and below, aggregated or one by one.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "kube/fake_api_server_support.h"

namespace berth::kube::testing {

bool FakeApiServer::discovery(const HttpRequest& request, HttpResponse& response) {
  std::vector<FakeKind> kinds = {{"", "v1", "nodes", "Node", false},
                                 {"", "v1", "pods", "Pod", true},
                                 {"batch", "v1", "jobs", "Job", true},
                                 {"coordination.k8s.io", "v1", "leases", "Lease", true},
                                 {"kueue.x-k8s.io", "v1beta2", "clusterqueues", "ClusterQueue", false},
                                 {"kueue.x-k8s.io", "v1beta1", "clusterqueues", "ClusterQueue", false},
                                 {"kueue.x-k8s.io", "v1beta2", "workloads", "Workload", true}};
  kinds.insert(kinds.end(), options_.more_kinds.begin(), options_.more_kinds.end());
  const auto base_of = [](const FakeKind& kind) {
    return kind.group.empty() ? "/api/" + kind.version : "/apis/" + kind.group + "/" + kind.version;
  };
  const auto served = [&](const FakeKind& kind) {
    if (kind.resource == "workloads" && !options_.workloads) return false;
    return !options_.unserved.contains(base_of(kind) + "/" + kind.resource);
  };
  const bool core = request.path == "/api" || request.path.starts_with("/api/");
  const auto slashes = std::count(request.path.begin(), request.path.end(), '/');
  if (request.path == "/version") {
    response.body = R"({"major":"1","minor":"36","gitVersion":"v1.36.0-fake"})";
    return true;
  }
  if (request.path != "/api" && request.path != "/apis" && !(core && slashes == 2) &&
      !(request.path.starts_with("/apis/") && slashes == 3)) {
    return false;
  }
  if (request.path == "/api" || request.path == "/apis") {
    const auto accept = request.headers.find("accept");
    const bool aggregated = options_.aggregated_discovery && accept != request.headers.end() &&
                            accept->second.find("APIGroupDiscoveryList") != std::string::npos;
    std::map<std::string, std::map<std::string, Json>> groups;
    std::map<std::string, std::vector<std::string>> order;
    for (const FakeKind& kind : kinds) {
      if (kind.group.empty() != core || !served(kind)) continue;
      auto& versions = order[kind.group];
      if (std::find(versions.begin(), versions.end(), kind.version) == versions.end()) {
        versions.emplace_back(kind.version);
      }
      auto& list = groups[kind.group][kind.version];
      if (list.is_null()) list = Json::array();
      Json item{{"resource", kind.resource},
                {"responseKind", {{"group", kind.group}, {"version", kind.version}, {"kind", kind.kind}}},
                {"scope", kind.namespaced ? "Namespaced" : "Cluster"},
                {"verbs", {"get", "list", "watch"}}};
      item["subresources"] = Json::array({Json{{"subresource", "status"}}});
      list.push_back(std::move(item));
    }
    Json out;
    if (aggregated) {
      out = Json{{"kind", "APIGroupDiscoveryList"},
                 {"apiVersion", "apidiscovery.k8s.io/v2"},
                 {"items", Json::array()}};
      for (const auto& [group, versions] : order) {
        Json item{{"metadata", {{"name", group}}}, {"versions", Json::array()}};
        for (const auto& version : versions) {
          item["versions"].push_back(Json{{"version", version}, {"resources", groups[group][version]}});
        }
        out["items"].push_back(std::move(item));
      }
    } else if (core) {
      out = Json{{"kind", "APIVersions"}, {"versions", {"v1"}}};
    } else {
      out = Json{{"kind", "APIGroupList"}, {"groups", Json::array()}};
      for (const auto& [group, versions] : order) {
        Json item{{"name", group}, {"versions", Json::array()}};
        for (const auto& version : versions) item["versions"].push_back(Json{{"version", version}});
        item["preferredVersion"] = Json{{"version", versions.front()}};
        out["groups"].push_back(std::move(item));
      }
    }
    response.body = out.dump();
    return true;
  }
  Json out{{"kind", "APIResourceList"}, {"resources", Json::array()}};
  for (const FakeKind& kind : kinds) {
    if (base_of(kind) != request.path || !served(kind)) continue;
    out["resources"].push_back(Json{{"name", kind.resource},
                                    {"kind", kind.kind},
                                    {"namespaced", kind.namespaced},
                                    {"verbs", {"get", "list", "watch"}}});
    out["resources"].push_back(
        Json{{"name", kind.resource + "/status"}, {"kind", kind.kind}, {"verbs", {"get"}}});
  }
  response.body = out.dump();
  return true;
}

}  // namespace berth::kube::testing

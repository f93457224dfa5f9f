// Creates objects of a test cluster in bulk.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "e2e/cluster.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

json object_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  auto out = json::object();
  for (const auto& [key, value] : entries) {
    out[key] = value;
  }
  return out;
}

json taints_of(const std::vector<Taint>& taints, bool tolerations) {
  auto out = json::array();
  for (const auto& taint : taints) {
    json entry = {{"effect", taint.effect}};
    if (!taint.key.empty()) {
      entry["key"] = taint.key;
    }
    if (!taint.value.empty()) {
      entry["value"] = taint.value;
    }
    if (tolerations) {
      entry["operator"] = taint.value.empty() ? "Exists" : "Equal";
    }
    out.push_back(entry);
  }
  return out;
}

}  // namespace

std::string node_json(const NodeShape& shape, std::size_t i) {
  const std::string name = fmt::format("{}-{}", shape.name, i);
  json labels = object_of(shape.labels);
  labels["kubernetes.io/hostname"] = name;
  labels["kubernetes.io/os"] = "linux";
  labels["kubernetes.io/arch"] = "amd64";
  if (shape.labels_of) {
    for (const auto& [key, value] : shape.labels_of(i)) {
      labels[key] = value;
    }
  }
  json node = {{"apiVersion", "v1"}, {"kind", "Node"}};
  node["metadata"] = {{"name", name}, {"labels", labels}};
  node["spec"] = json::object();
  if (!shape.taints.empty()) {
    node["spec"]["taints"] = taints_of(shape.taints, false);
  }
  const json amounts = object_of(shape.allocatable);
  const auto condition = [](const char* type, const char* status) {
    return json{{"type", type}, {"status", status}, {"reason", "Test"}, {"message", ""}};
  };
  node["status"] = {
      {"capacity", amounts},
      {"allocatable", amounts},
      {"conditions", json::array({condition("Ready", "True"), condition("MemoryPressure", "False"),
                                  condition("DiskPressure", "False"), condition("PIDPressure", "False")})}};
  return node.dump();
}

std::string pod_json(const PodShape& shape, std::size_t i) {
  json metadata = {{"name", fmt::format("{}-{}", shape.name, i)}, {"namespace", shape.ns}};
  if (!shape.labels.empty()) {
    metadata["labels"] = object_of(shape.labels);
  }
  if (!shape.annotations.empty()) {
    metadata["annotations"] = object_of(shape.annotations);
  }
  const json amounts = object_of(shape.requests);
  json resources = {{"requests", amounts}};
  json limits = json::object();  // extended resources must have limits equal to the requests
  for (const auto& [name, amount] : shape.requests) {
    if (name.find('/') != std::string::npos) {
      limits[name] = amount;
    }
  }
  resources["limits"] = limits;
  json spec = {
      {"schedulerName", shape.scheduler},
      {"terminationGracePeriodSeconds", shape.termination_grace_s},
      {"containers", json::array({{{"name", "main"}, {"image", "image"}, {"resources", resources}}})}};
  if (!shape.node_selector.empty()) {
    spec["nodeSelector"] = object_of(shape.node_selector);
  }
  if (!shape.node.empty()) {
    spec["nodeName"] = shape.node;
  }
  if (!shape.priority_class.empty()) {
    spec["priorityClassName"] = shape.priority_class;
  }
  if (!shape.tolerations.empty()) {
    spec["tolerations"] = taints_of(shape.tolerations, true);
  }
  std::string text = spec.dump();
  text.insert(1, shape.extra_spec);
  return fmt::format(R"({{"apiVersion":"v1","kind":"Pod","metadata":{},"spec":{}}})", metadata.dump(), text);
}

Status TestCluster::create_all(const std::string& path, const std::vector<std::string>& bodies,
                               unsigned concurrency) {
  return for_each_parallel(endpoint_, bodies.size(), concurrency, [&](ApiClient& api, std::size_t i) {
    return expect_ok(api.post(path, bodies[i]), "POST " + path);
  });
}

Status TestCluster::create_nodes(std::size_t count, const NodeShape& shape) {
  return for_each_parallel(endpoint_, count, 32, [&](ApiClient& api, std::size_t i) {
    return expect_ok(api.post("/api/v1/nodes", node_json(shape, i)), "creating a node");
  });
}

Status TestCluster::create_pods(std::size_t count, const PodShape& shape) {
  const std::string path = "/api/v1/namespaces/" + shape.ns + "/pods";
  return for_each_parallel(endpoint_, count, 32, [&](ApiClient& api, std::size_t i) {
    return expect_ok(api.post(path, pod_json(shape, i)), "creating a pod");
  });
}

Status TestCluster::create_namespace(const std::string& name) {
  const json body = {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
  auto api = client();
  BERTH_TRY(expect_ok(api.post("/api/v1/namespaces", body.dump()), "creating namespace " + name));
  if (options_.service_accounts) {  // its pods are refused until the controller manager has made the account
    return wait_ready("kube-controller-manager", [&] {
      return api.get("/api/v1/namespaces/" + name + "/serviceaccounts/default").ok();
    });
  }
  return {};
}

Status TestCluster::create_priority_class(const std::string& name, int value,
                                          const std::string& preemption_policy) {
  json body = {{"apiVersion", "scheduling.k8s.io/v1"},
               {"kind", "PriorityClass"},
               {"metadata", {{"name", name}}},
               {"value", value}};
  if (!preemption_policy.empty()) {
    body["preemptionPolicy"] = preemption_policy;
  }
  return expect_ok(client().post("/apis/scheduling.k8s.io/v1/priorityclasses", body.dump()),
                   "creating priority class " + name);
}

Status TestCluster::make_running(const std::string& ns, const std::vector<std::string>& names) {
  static constexpr std::string_view kRunning =
      R"({"status":{"phase":"Running","startTime":"2026-01-01T00:00:00Z","conditions":[{"type":"Ready","status":"True"}],)"
      R"("containerStatuses":[{"name":"main","image":"image","imageID":"","ready":true,"restartCount":0,"started":true,)"
      R"("state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}})";
  return for_each_parallel(endpoint_, names.size(), 32, [&](ApiClient& api, std::size_t i) {
    const std::string path = fmt::format("/api/v1/namespaces/{}/pods/{}/status", ns, names[i]);
    return expect_ok(api.patch(path, kRunning, kStrategicMergePatch), "PATCH " + path);
  });
}

}  // namespace berth::e2e

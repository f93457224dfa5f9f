// ProvisioningRequests: what is read of them and of their config, what is written, and which flavors of a queue they are for.
#include "dialect/kueue/provisioning.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dialect/books/queues.h"
#include "dialect/dialect_support.h"
#include "dialect/objects/decode.h"

namespace berth::dialect {
namespace {

using nlohmann::json;
using testing::objects_of;

template <class T>
T read(const std::string& text) {
  return std::get<T>(objects_of(text).at(0));
}

constexpr const char* kConfig = R"(
apiVersion: kueue.x-k8s.io/v1beta2
kind: ProvisioningRequestConfig
metadata: {name: buy}
spec:
  provisioningClassName: queued.example.com
  parameters: {region: north, zone: a}
  managedResources: [nvidia.com/gpu]
  retryStrategy: {backoffLimitCount: 2, backoffBaseSeconds: 30, backoffMaxSeconds: 100}
  podSetUpdates: {nodeSelector: [{key: batch, valueFromProvisioningClassDetail: id}]}
  podSetMergePolicy: IdenticalPodTemplates
)";

constexpr const char* kRequest = R"(
apiVersion: autoscaling.x-k8s.io/v1
kind: ProvisioningRequest
metadata:
  name: r
  namespace: team
  uid: u7
  ownerReferences: [{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, name: w, uid: wu, controller: true}]
status:
  conditions: [{type: Provisioned, status: "True", message: there}, {type: Failed, status: "False", message: ""}]
  provisioningClassDetails: {id: b7}
)";

TEST(Provisioning, TheConfigIsReadWithKueuesDefaults) {
  const auto config = read<ProvisioningRequestConfig>(kConfig);
  EXPECT_EQ(config.provisioning_class, "queued.example.com");
  EXPECT_EQ(config.parameters, (Labels{{"region", "north"}, {"zone", "a"}}));
  EXPECT_EQ(config.managed, std::vector<std::string>{"nvidia.com/gpu"});
  EXPECT_EQ(config.most_retries, 2);
  ASSERT_EQ(config.selectors.size(), 1u);
  EXPECT_EQ(config.selectors[0].detail, "id");
  EXPECT_TRUE(config.merges_pod_sets);
  EXPECT_EQ(rest_after(config, 1), 30 * kSecond);
  EXPECT_EQ(rest_after(config, 2), 60 * kSecond);
  EXPECT_EQ(rest_after(config, 3), 100 * kSecond) << "at most";
  const auto plain = read<ProvisioningRequestConfig>(
      "{apiVersion: kueue.x-k8s.io/v1beta1, kind: ProvisioningRequestConfig, metadata: {name: p}, spec: "
      "{provisioningClassName: c}}");
  EXPECT_EQ(plain.most_retries, 3);
  EXPECT_EQ(rest_after(plain, 1), 60 * kSecond);
  EXPECT_EQ(rest_after(plain, 1000), 1800 * kSecond);
}

TEST(Provisioning, NamesAreKueues) {
  EXPECT_EQ(request_name("job-train-1a2b3", "nodes", 2), "job-train-1a2b3-nodes-2");
  EXPECT_EQ(pod_template_name("job-train-1a2b3-nodes-2", "main"), "ppt-job-train-1a2b3-nodes-2-main");
  const std::string long_name = request_name(std::string(250, 'w'), "nodes", 1);
  EXPECT_EQ(long_name.size(), 253u);
  EXPECT_EQ(long_name.substr(0, 248), std::string(247, 'w') + "-");
  EXPECT_NE(long_name, request_name(std::string(250, 'w'), "nodes", 2));
}

TEST(Provisioning, ARequestSaysWhatPodsWantNodesWhere) {
  const auto config = read<ProvisioningRequestConfig>(kConfig);
  ResourceFlavor flavor;
  flavor.node_labels = {{"pool", "spot"}};
  flavor.tolerations = {{"spot", true, "", TolerationEffect::kNoSchedule}};
  PodTemplate pod;
  pod.requests.set("cpu", 500);
  pod.claim.requests.push_back({"nvidia.com/gpu", 2, 1000});
  pod.node_selector = {{"disk", "fast"}};
  pod.required_affinity.edit().push_back({{{"arch", SelectorOp::kIn, {"amd64"}}}, {}});
  PodTemplate other = pod;
  other.requests.set("cpu", 1000);
  NodeAsk ask{"team", "w", "wu", "v1beta2", "nodes", {}, {{"zone", "b"}}};
  ask.sets.push_back({"a", 2, &pod, {&flavor}});
  ask.sets.push_back({"b", 1, &pod, {&flavor}});
  ask.sets.push_back({"c", 4, &other, {}});
  const kube::Write write = create_request("v1", "w-nodes-1", ask, config);
  EXPECT_EQ(write.path, "/apis/autoscaling.x-k8s.io/v1/namespaces/team/provisioningrequests");
  const json body = json::parse(write.body);
  EXPECT_EQ(body["spec"], json::parse(R"({"provisioningClassName": "queued.example.com",
    "parameters": {"region": "north", "zone": "b"}, "podSets": [
      {"count": 3, "podTemplateRef": {"name": "ppt-w-nodes-1-a"}},
      {"count": 4, "podTemplateRef": {"name": "ppt-w-nodes-1-c"}}]})"))
      << body.dump();
  EXPECT_EQ(body["metadata"]["ownerReferences"][0]["uid"], "wu");

  auto request = read<ProvisioningRequest>(kRequest);
  EXPECT_EQ(request.workload, "w");
  EXPECT_TRUE(request.is("Provisioned"));
  EXPECT_FALSE(request.is("Failed"));
  const auto templates = create_pod_templates("v1", request, ask, config);
  ASSERT_EQ(templates.size(), 2u);
  const json made = json::parse(templates[0].body);
  EXPECT_EQ(made["metadata"]["name"], "ppt-r-a");
  EXPECT_EQ(made["metadata"]["ownerReferences"][0]["uid"], "u7");
  const json& spec = made["template"]["spec"];
  EXPECT_EQ(spec["nodeSelector"], json::parse(R"({"disk": "fast", "pool": "spot"})"));
  EXPECT_EQ(spec["tolerations"][0]["effect"], "NoSchedule");
  EXPECT_EQ(spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
                ["nodeSelectorTerms"][0]["matchExpressions"][0]["values"][0],
            "amd64");
  EXPECT_EQ(spec["containers"][0]["resources"]["limits"],
            json::parse(R"({"cpu": "500m", "nvidia.com/gpu": "2"})"));

  const auto updates = updates_of(request, ask, config);
  ASSERT_EQ(updates.size(), 3u);
  EXPECT_EQ(updates[1].name, "b");
  EXPECT_EQ(updates[1].annotations,
            (Labels{{"autoscaling.x-k8s.io/consume-provisioning-request", "r"},
                    {"autoscaling.x-k8s.io/provisioning-class-name", "queued.example.com"}}));
  EXPECT_EQ(updates[1].node_selector, (Labels{{"batch", "b7"}}));
  request.details.clear();
  EXPECT_TRUE(updates_of(request, ask, config)[0].node_selector.empty());
  EXPECT_EQ(json::parse(delete_request("v1", request).body)["preconditions"]["uid"], "u7");
}

TEST(Provisioning, AQueueAwaitsTheNodesOfTheFlavorsThatItsCheckIsFor) {
  QueueBook book;
  book.set_check_mode(CheckMode::kLive);
  book.upsert(read<ProvisioningRequestConfig>(kConfig));
  const auto check = read<AdmissionCheck>(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: nodes}, spec: "
      "{controllerName: kueue.x-k8s.io/provisioning-request, parameters: {apiGroup: kueue.x-k8s.io, kind: "
      "ProvisioningRequestConfig, name: buy}}}");
  book.upsert(check);
  ClusterQueue queue;
  queue.groups = {{{"nvidia.com/gpu"}, {"own", "spot"}}};
  queue.checks = {{"nodes", {"spot"}}};
  ResourceList asked;
  asked.set("nvidia.com/gpu", 1000);
  EXPECT_TRUE(book.provisioned_flavors(queue, asked).empty()) << "the API server has no requests";
  EXPECT_EQ(book.check_problems(queue).inactive, "nodes");
  book.set_provisioning_served(true);
  EXPECT_EQ(book.check_problems(queue).inactive, "");
  EXPECT_EQ(book.provisioned_flavors(queue, asked), std::vector<std::string>{"spot"});
  queue.checks = {{"nodes", {}}};
  EXPECT_EQ(book.provisioned_flavors(queue, asked), (std::vector<std::string>{"own", "spot"}));
  ResourceList cpu;
  cpu.set("cpu", 1000);
  EXPECT_TRUE(book.provisioned_flavors(queue, cpu).empty()) << "none of the managed resources";
  book.remove(Kind::kProvisioningRequestConfig, "buy");
  EXPECT_EQ(book.own_problem(check), "ProvisioningRequestConfig buy does not exist");
}

TEST(OnDemand, AFlavorSaysItBeforeItsQueueAndThatBeforeTheFlag) {
  const auto queue = [](const char* words) {
    return read<ClusterQueue>(
        std::string("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: "
                    "{name: cq") +
        words +
        "}, spec: {resourceGroups: [{coveredResources: [cpu], flavors: [{name: own, "
        "resources: [{name: cpu, nominalQuota: 1}]}, {name: spot, resources: [{name: cpu, "
        "nominalQuota: 1}]}]}]}}");
  };
  const char* on_demand = ", annotations: {berth.dev/nodes: on-demand}";
  const char* at_hand = ", annotations: {berth.dev/nodes: at-hand}";
  using Names = std::vector<std::string>;
  QueueBook book;
  EXPECT_EQ(book.on_demand_flavors(queue("")), Names{});
  EXPECT_EQ(book.on_demand_flavors(queue(on_demand)), (Names{"own", "spot"}));
  book.upsert(read<ResourceFlavor>(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: own, annotations: "
      "{berth.dev/nodes: at-hand}}}"));
  EXPECT_EQ(book.on_demand_flavors(queue(on_demand)), Names{"spot"});
  book.upsert(read<ResourceFlavor>(
      "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: own, annotations: "
      "{berth.dev/nodes: on-demand}}}"));
  EXPECT_EQ(book.on_demand_flavors(queue(at_hand)), Names{"own"});
  book.remove(Kind::kResourceFlavor, "own");
  EXPECT_EQ(book.on_demand_flavors(queue(at_hand)), Names{});
  QueueBook all(false, false, {}, true);
  EXPECT_EQ(all.on_demand_flavors(queue("")), (Names{"own", "spot"}));
  EXPECT_EQ(all.on_demand_flavors(queue(at_hand)), Names{});
  ClusterQueue checked = queue(on_demand);
  checked.checks = {{"nodes", {}}};
  EXPECT_EQ(book.on_demand_flavors(checked), Names{}) << "its checks say when its work starts";
}

TEST(OnDemand, AnUnknownWordIsRefusedByName) {
  constexpr const char* kObject = R"({"metadata":{"name":"x","annotations":{"berth.dev/nodes":"ondemand"}}})";
  JsonDecoder decoder{DeviceNames{}};
  const auto flavor = decoder.decode(kObject, Kind::kResourceFlavor);
  ASSERT_FALSE(flavor);
  const auto queue = decoder.decode(kObject, Kind::kClusterQueue);
  ASSERT_TRUE(queue) << "it carries its problem";
  for (const std::string& message : {flavor.error().message, std::get<ClusterQueue>(*queue).problem}) {
    EXPECT_NE(message.find("berth.dev/nodes"), std::string::npos) << message;
    EXPECT_NE(message.find("did you mean on-demand"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace berth::dialect

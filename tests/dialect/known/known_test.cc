// Misspelt names, and that no real name is taken for one: the tables are compared with the schemas that ship, and with Kubernetes' and
// Kueue's own where their modules are at hand.
#include "dialect/known/known.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "dialect/base/kind.h"
#include "dialect/base/names.h"
#include "dialect/known/misspelt.h"
#include "dialect/known/misspelt_support.h"
#include "kube/protobuf_types.h"

namespace berth::dialect {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using testing::found;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Misspelt, FieldsAreNamedWithPlacePathAndWhatWasMeant) {
  EXPECT_THAT(
      found(R"(apiVersion: batch/v1
kind: Job
metadata: {name: typo}
spec:
  paralelism: 4
  template:
    spec:
      nodeselector: {disk: ssd}
      containers:
      - name: c
        resources: {request: {cpu: "2"}}
        imagePullPolcy: Always
)"),
      ElementsAre(
          "f.yaml:5:3: Job default/typo: spec.paralelism: unknown field; did you mean parallelism?",
          "f.yaml:8:7: Job default/typo: spec.template.spec.nodeselector: unknown field; did you mean "
          "nodeSelector?",
          "f.yaml:11:21: Job default/typo: spec.template.spec.containers[0].resources.request: unknown "
          "field; did you mean requests?",
          "f.yaml:12:9: Job default/typo: spec.template.spec.containers[0].imagePullPolcy: unknown "
          "field; did you mean imagePullPolicy?"));
}

TEST(Misspelt, AFieldInTheWrongPlaceIsToldItsPlace) {
  EXPECT_THAT(
      found(R"(apiVersion: batch/v1
kind: Job
metadata: {generateName: j-}
spec:
  containers: []
  template:
    spec:
      containers: [{name: c, tolerations: [], nodeName: n}]
)"),
      ElementsAre(
          HasSubstr(
              "Job default/j-: spec.containers: unknown field; did you mean spec.template.spec.containers?"),
          HasSubstr("did you mean spec.template.spec.tolerations?"),
          HasSubstr("did you mean spec.template.spec.nodeName?")));
  EXPECT_THAT(found("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {somethingOfItsOwn: 1}}"),
              ElementsAre("f.yaml:1:57: Pod default/p: spec.somethingOfItsOwn: unknown field"));
}

TEST(Misspelt, AShorterNameIsTheLongerOne) {
  EXPECT_THAT(found("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: f}, spec: "
                    "{topology: t}}"),
              ElementsAre(HasSubstr("spec.topology: unknown field; did you mean topologyName?")));
}

TEST(Misspelt, EveryKindHasItsTable) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"{apiVersion: v1, kind: Pod, metdata: {}, metadata: {name: p}, spec: {}}", "metadata"},
      {"{apiVersion: v1, kind: Node, metadata: {name: p}, status: {alocatable: {}}}", "allocatable"},
      {"{apiVersion: v1, kind: Node, metadata: {name: p}, spec: {taint: []}}", "taints"},
      {"{apiVersion: v1, kind: Namespace, metadata: {name: p, label: {}}}", "labels"},
      {"{apiVersion: v1, kind: LimitRange, metadata: {name: p}, spec: {limits: [{defaultRequests: {}}]}}",
       "defaultRequest"},
      {"{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: p}, globaldefault: true}",
       "globalDefault"},
      {"{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: p}, overhead: {podfixed: {}}}",
       "podFixed"},
      {"{apiVersion: kueue.x-k8s.io/v1beta1, kind: ClusterQueue, metadata: {name: p}, spec: {resourceGroup: "
       "[]}}",
       "resourceGroups"},
      {"{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: p}, spec: {resourceGroups: "
       "[{flavors: "
       "[{resources: [{nominalquota: 1}]}]}]}}",
       "nominalQuota"},
      {"{apiVersion: kueue.x-k8s.io/v1beta2, kind: Cohort, metadata: {name: p}, spec: {parentname: x}}",
       "parentName"},
      {"{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: p}, spec: {clusterqueue: x}}",
       "clusterQueue"},
      {"{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: p}, spec: {nodeLabel: "
       "{}}}",
       "nodeLabels"},
      {"{apiVersion: kueue.x-k8s.io/v1beta1, kind: Topology, metadata: {name: p}, spec: {level: []}}",
       "levels"},
      {"{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: p}, valeu: 1}",
       "value"},
      {"{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: p}, spec: {podsets: []}}",
       "podSets"},
      {"{apiVersion: kueue.x-k8s.io/v1beta2, kind: AdmissionCheck, metadata: {name: p}, spec: "
       "{controlerName: x}}",
       "controllerName"},
      {"{apiVersion: kueue.x-k8s.io/v1beta2, kind: ProvisioningRequestConfig, metadata: {name: p}, spec: "
       "{provisioningClass: x}}",
       "provisioningClassName"},
      {"{apiVersion: config.kueue.x-k8s.io/v1beta2, kind: Configuration, fairsharing: {}}", "fairSharing"},
      {"{apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: p}, spec: {minMembers: "
       "2}}",
       "minMember"},
      {"{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, metadata: {name: p}, spec: {capabilty: {}}}",
       "capability"},
      {"{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: p}, spec: {resources: {gpu: "
       "{overQuotaWieght: 1}}}}",
       "overQuotaWeight"},
      {"{apiVersion: berth.dev/v1alpha1, kind: Queue, metadata: {name: p}, spec: {garanteed: {}}}",
       "guaranteed"},
      {"{apiVersion: autoscaling.x-k8s.io/v1, kind: ProvisioningRequest, metadata: {name: p}, spec: {podSet: "
       "[]}}",
       "podSets"},
  };
  for (const auto& [text, meant] : cases)
    EXPECT_THAT(found(text), ElementsAre(HasSubstr(std::string("; did you mean ") + meant + "?"))) << text;
}

TEST(Misspelt, LabelsAndAnnotationsOfKnownPrefixes) {
  const auto pod = [](const std::string& key, const std::string& where = "labels") {
    return "{apiVersion: v1, kind: Pod, metadata: {name: p, " + where + ": {\"" + key + "\": x}}, spec: {}}";
  };
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"kueue.x-k8s.io/queuename", "kueue.x-k8s.io/queue-name"},
      {"kueue.x-k8s.io/queue", "kueue.x-k8s.io/queue-name"},
      {"kueue.x-k8s.io/Queue-Name", "kueue.x-k8s.io/queue-name"},
      {"kueue.x-k8.io/queue-name", "kueue.x-k8s.io/queue-name"},
      {"kueue.k8s.io/queue-name", "kueue.x-k8s.io/queue-name"},
      {"kueue.x-k8s.io/pod-group-total", "kueue.x-k8s.io/pod-group-total-count"},
      {"kueue.x-k8s.io/podset-requird-topology", "kueue.x-k8s.io/podset-required-topology"},
      {"berth.dev/gang-sise", "berth.dev/gang-size"},
      {"berth.dev/gpu-mili", "berth.dev/gpu-milli"},
      {"kai.scheduler/queues", "kai.scheduler/queue"},
      {"scheduling.volcano.sh/queue", "scheduling.volcano.sh/queue-name"},
      {"scheduling.x-k8s.io/podgroup", "scheduling.x-k8s.io/pod-group"},
      {"yunikorn.apache.org/task-group", "yunikorn.apache.org/task-groups"},
      {"yunikorn.apache.org/schedulingPolicyParams", "yunikorn.apache.org/schedulingPolicyParameters"},
      {"yunikorn.apache.org/appid", "yunikorn.apache.org/app-id"},
  };
  for (const auto& [wrong, meant] : cases) {
    for (const char* where : {"labels", "annotations"}) {
      EXPECT_THAT(found(pod(wrong, where)),
                  ElementsAre(HasSubstr(std::string(where) + "[\"" + wrong +
                                        "\"]: unknown name; did you mean " + meant + "?")));
    }
  }
  // In a template too.
  EXPECT_THAT(
      found("{apiVersion: batch/v1, kind: Job, metadata: {name: p}, spec: {template: {metadata: {labels: "
            "{kueue.x-k8s.io/podset-slice-sise: \"2\"}}}}}"),
      ElementsAre(HasSubstr("spec.template.metadata.labels[\"kueue.x-k8s.io/podset-slice-sise\"]")));
  for (const char* real :
       {"kueue.x-k8s.io/queue-name", "app.kubernetes.io/name", "queue-name", "team/queue-name",
        "example.com/queue-name", "scheduling.k8s.io/group-name", "volcano.sh/task-spec", "runai/queue",
        "gpu-fraction", "jobset.sigs.k8s.io/jobset-name", "provreq.kueue.x-k8s.io/ValidUntilSeconds",
        "cluster-autoscaler.kubernetes.io/safe-to-evict", "leaderworkerset.sigs.k8s.io/name",
        "batch.kubernetes.io/job-name", "kubectl.kubernetes.io/last-applied-configuration"})
    EXPECT_THAT(found(pod(real)), IsEmpty()) << real;
}

TEST(Misspelt, KindsAndVersions) {
  const auto object = [](const std::string& version, const std::string& kind) {
    return "{apiVersion: " + version + ", kind: " + kind + ", metadata: {name: x}}";
  };
  const std::vector<std::array<const char*, 3>> cases = {
      {"batch/v1", "Jbo", "Job"},
      {"v1", "pod", "Pod"},
      {"v1", "Nodes", "Node"},
      {"kueue.x-k8s.io/v1beta2", "Clusterqueue", "ClusterQueue"},
      {"kueue.x-k8s.io/v1beta1", "ResourceFlavour", "ResourceFlavor"},
      {"apps/v1", "Deploymnet", "Deployment"},
      {"batch/v2", "Job", "batch/v1"},
      {"batch", "Job", "batch/v1"},
      {"v1", "Job", "batch/v1"},
      {"apps/v1", "Job", "batch/v1"},
      {"batch/v1", "Pod", "v1"},
      {"v2", "Pod", "v1"},
      {"kueue.x-k8s.io/v1beta3", "ClusterQueue", "kueue.x-k8s.io/v1beta2"},
      {"kueue.x-k8s.io/v1bata1", "LocalQueue", "kueue.x-k8s.io/v1beta1"},
      {"kueue.k8s.io/v1beta1", "ClusterQueue", "kueue.x-k8s.io/v1beta2"},
      {"kueue.x-k8.io/v1beta1", "Topology", "kueue.x-k8s.io/v1beta2"},
      {"kueue.x-k8.io/v1beta1", "ClusterQeue", "ClusterQueue of kueue.x-k8s.io"},
      {"scheduling.run.ai/v3", "Queue", "scheduling.run.ai/v2"},
  };
  for (const auto& [version, kind, meant] : cases)
    EXPECT_THAT(found(object(version, kind)),
                ElementsAre(HasSubstr(std::string("; did you mean ") + meant + "?")))
        << version << " " << kind;
  const std::vector<std::pair<const char*, const char*>> real = {
      {"v1", "ConfigMap"},
      {"v1", "ConfigMapList"},
      {"v1", "Service"},
      {"apps/v1", "Deployment"},
      {"batch/v1", "CronJob"},
      {"batch.volcano.sh/v1alpha1", "Job"},
      {"scheduling.volcano.sh/v1beta1", "PodGroup"},
      {"scheduling.k8s.io/v1alpha1", "Workload"},
      {"scheduling.sigs.k8s.io/v1alpha1", "PodGroup"},
      {"kai.scheduler/v1alpha1", "Topology"},
      {"jobset.x-k8s.io/v1alpha2", "JobSet"},
      {"kubeflow.org/v1", "PyTorchJob"},
      {"ray.io/v1", "RayCluster"},
      {"topology.volcano.sh/v1alpha1", "HyperNode"},
      {"rbac.authorization.k8s.io/v1", "Role"},
      {"example.com/v1", "Job"},
      {"kueue.x-k8s.io/v1alpha1", "Topology"},
      {"kueue.x-k8s.io/v1beta1", "MultiKueueCluster"},
  };
  for (const auto& [version, kind] : real)
    EXPECT_THAT(found(object(version, kind)), IsEmpty()) << version << " " << kind;
}

// Objects of an API server have no unknown fields: one that is not near to a known one is newer than these tables.
TEST(Misspelt, ObjectsOfAnApiServer) {
  const auto pod = [](const std::string& field) {
    return "{apiVersion: v1, kind: Pod, metadata: {name: p, resourceVersion: \"12\"}, spec: {" + field +
           ": 1}}";
  };
  EXPECT_THAT(found(pod("fieldOfLaterVersions")), IsEmpty());
  EXPECT_THAT(found(pod("nodeNam")), ElementsAre(HasSubstr("did you mean nodeName?")));
}

// An object that has every field of a schema: each value is what its type asks for.
void put_sample(const text::Node& schema, const text::Node* definitions, int depth, std::string& out) {
  const text::Node* at = &schema;
  if (const auto* ref = at->find("$ref"); ref != nullptr && definitions != nullptr) {
    at = definitions->find(ref->text().substr(std::string_view("#/definitions/").size()));
  }
  if (at == nullptr || depth > 24) {
    out += "{}";
  } else if (const auto* properties = at->find("properties"); properties != nullptr) {
    out += "{";
    bool first = true;
    for (const auto& entry : properties->entries()) {
      out += first ? "" : ",";
      first = false;
      out += "\"" + std::string(entry.name()) + "\":";
      put_sample(entry.value, definitions, depth + 1, out);
    }
    out += "}";
  } else if (const auto* items = at->find("items"); items != nullptr) {
    out += "[";
    put_sample(*items, definitions, depth + 1, out);
    out += "]";
  } else {
    const auto* type = at->find("type");
    out += type != nullptr && type->text() != "object" ? "\"x\"" : "{}";
  }
}

// Every field of the schema, as an object of this kind.
std::vector<std::string> not_known(const text::Node& schema, const text::Node* definitions,
                                   const std::string& version, const std::string& kind) {
  std::string sample;
  put_sample(schema, definitions, 0, sample);
  const auto document = text::parse_json(sample, "schema");
  if (!document) return {document.error().str()};
  // The same, with its version and kind.
  std::string text = "{\"apiVersion\":\"" + version + "\",\"kind\":\"" + kind + "\"";
  for (const auto& entry : document->root().entries()) {
    if (entry.name() == "apiVersion" || entry.name() == "kind") continue;
    std::string value;
    const auto* properties = schema.find("properties");
    put_sample(*properties->find(entry.name()), definitions, 1, value);
    text += ",\"" + std::string(entry.name()) + "\":" + value;
  }
  return found(text + "}");
}

int check_crd(const fs::path& path) {
  const auto documents = text::read_documents(path.string());
  EXPECT_TRUE(documents) << path;
  int looked = 0;
  if (!documents) return 0;
  for (const auto& document : *documents) {
    const auto* spec = document.root().find("spec");
    const std::string kind(spec->at({"names", "kind"})->text());
    if (kind.starts_with("MultiKueue")) continue;
    for (const auto& version : spec->find("versions")->items()) {
      const std::string name =
          std::string(spec->find("group")->text()) + "/" + std::string(version.find("name")->text());
      EXPECT_THAT(not_known(*version.at({"schema", "openAPIV3Schema"}), nullptr, name, kind), IsEmpty())
          << path << " " << name;
      ++looked;
    }
  }
  return looked;
}

TEST(Known, EveryFieldOfTheSchemasThatShip) {
  int looked = 0;
  for (const auto& file : fs::directory_iterator(BERTH_SOURCE_DIR "/deploy/crds"))
    looked += check_crd(file.path());
  EXPECT_GE(looked, 14);
}

std::vector<fs::path> modules(const std::string& folder, const std::string& name) {
  std::vector<fs::path> out;
  const char* const home = std::getenv("HOME");
  const char* const cache = std::getenv("GOMODCACHE");
  const fs::path root =
      cache != nullptr ? fs::path(cache) : fs::path(home == nullptr ? "" : home) / "go/pkg/mod";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(root / folder, error)) {
    if (entry.path().filename().string().starts_with(name + "@")) out.push_back(entry.path());
  }
  return out;
}

TEST(Known, EveryFieldOfKubernetesOwnDescription) {
  bool any = false;
  for (const auto& module : modules("k8s.io", "kubernetes")) {
    const fs::path file = module / "api/openapi-spec/swagger.json";
    if (!fs::exists(file)) continue;
    any = true;
    const auto document = text::read_document(file.string());
    ASSERT_TRUE(document) << file;
    const text::Node* definitions = document->root().find("definitions");
    for (const auto& [definition, version, kind] : std::vector<std::array<std::string, 3>>{
             {"io.k8s.api.core.v1.Pod", "v1", "Pod"},
             {"io.k8s.api.core.v1.Node", "v1", "Node"},
             {"io.k8s.api.core.v1.Namespace", "v1", "Namespace"},
             {"io.k8s.api.core.v1.LimitRange", "v1", "LimitRange"},
             {"io.k8s.api.batch.v1.Job", "batch/v1", "Job"},
             {"io.k8s.api.apps.v1.Deployment", "apps/v1", "Deployment"},
             {"io.k8s.api.apps.v1.ReplicaSet", "apps/v1", "ReplicaSet"},
             {"io.k8s.api.apps.v1.StatefulSet", "apps/v1", "StatefulSet"},
             {"io.k8s.api.scheduling.v1.PriorityClass", "scheduling.k8s.io/v1", "PriorityClass"},
             {"io.k8s.api.node.v1.RuntimeClass", "node.k8s.io/v1", "RuntimeClass"}}) {
      const text::Node* schema = definitions->find(definition);
      ASSERT_NE(schema, nullptr) << definition;
      EXPECT_THAT(not_known(*schema, definitions, version, kind), IsEmpty()) << file;
    }
  }
  if (!any) GTEST_SKIP() << "no module of Kubernetes is at hand";
}

// Schemas in this folder of any version of the module that is at hand.
int check_schemas_of(const std::string& name, const std::string& folder) {
  int looked = 0;
  for (const auto& module : modules("sigs.k8s.io", name)) {
    std::error_code error;
    for (const auto& file : fs::directory_iterator(module / folder, error)) {
      if (file.path().extension() == ".yaml") looked += check_crd(file.path());
    }
  }
  return looked;
}

TEST(Known, EveryFieldOfKueuesOwnSchemas) {
  if (check_schemas_of("kueue", "config/components/crd/bases") == 0)
    GTEST_SKIP() << "no module of Kueue is at hand";
}

TEST(Known, EveryFieldOfJobSetsOwnSchema) {
  if (check_schemas_of("jobset", "config/components/crd/bases") == 0)
    GTEST_SKIP() << "no module of JobSet is at hand";
}

TEST(Known, MarksThatBerthReadsAreKnown) {
  std::set<std::string_view> keys;
  for (const auto& system :
       {known_kueue(), known_volcano(), known_kai(), known_coscheduling(), known_koordinator(),
        known_yunikorn(), known_autoscaler(), known_jobset(), known_berth()})
    keys.insert(system.keys.begin(), system.keys.end());
  for (const auto key : {kGang,
                         kGangSize,
                         kBerthQueue,
                         kTopologyRequired,
                         kTopologyPreferred,
                         kGpuMilli,
                         kGpuResource,
                         kDevices,
                         kChargedTo,
                         kExpectedDuration,
                         kCheckpointEvery,
                         kLastCheckpoint,
                         kRestartOverhead,
                         kPlacement,
                         kPodSetUpdates,
                         kPartialAdmission,
                         kPreemptible,
                         kTenant,
                         kVolcanoQueueName,
                         kKaiQueueName,
                         kPodGroupLabel,
                         kOldestPodGroupName,
                         kOldestPodGroupSize,
                         kKueueQueue,
                         kKueuePriorityClass,
                         kKueuePodGroup,
                         kKueuePodGroupSize,
                         kKueueFastAdmission,
                         kKueuePodIndex,
                         kKueueRequired,
                         kKueuePreferred,
                         kKueueSliceRequired,
                         kKueueSliceSize,
                         kKueueMaxSeconds,
                         kKueueGatedBy,
                         kKueueRetriable,
                         kKueueReadyTimes,
                         kKueuePriorityBoost,
                         kKueuePrebuilt,
                         kKueueMinParallelism,
                         kKueueCompletionsFollow,
                         kKueueElastic,
                         kKueueSliceName,
                         kKueueSliceFor,
                         kKoordinatorGang,
                         kKoordinatorLeast,
                         kKoordinatorTotal,
                         kKoordinatorGroups,
                         kYuniKornApp,
                         kYuniKornQueue,
                         kYuniKornGroup,
                         kYuniKornGroups,
                         kYuniKornParameters,
                         kYuniKornPlaceholder,
                         kOlderYuniKornPlaceholder,
                         kConsumesRequest,
                         kProvisioningClass})
    EXPECT_TRUE(keys.contains(key)) << key;
}

// The names that a message has in JSON.
std::set<std::string_view> names_in_json(const kube::Message& message) {
  std::set<std::string_view> out;
  for (const kube::Field& field : message.fields) {
    if (field.kind == kube::FieldKind::kInline) {
      out.merge(names_in_json(*field.message));
    } else {
      out.insert(field.name);
    }
  }
  return out;
}

// Kinds that are read in binary form lose nothing by it: the table of their messages has each field of any version of Kubernetes.
TEST(Known, KindsInBinaryFormHaveAllTheirFields) {
  for (const KindInfo& info : kKinds) {
    const std::string version = info.group.empty() ? "v1" : fmt::format("{}/v1", info.group);
    EXPECT_EQ(info.binary, kube::message_of(version, info.word) != nullptr) << info.word;
  }
  const kube::Message* message = nullptr;
  std::set<std::string_view> names;
  int looked = 0;
  std::string_view rest = known_upstream().fields;
  while (!rest.empty()) {
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(" \n")));
    std::string_view word = rest.substr(0, rest.find_first_of(" \n"));
    rest.remove_prefix(word.size());
    if (word.ends_with(':')) {
      message = kube::message_named(word.substr(0, word.size() - 1));
      names = message == nullptr ? std::set<std::string_view>() : names_in_json(*message);
      continue;
    }
    word = word.substr(0, word.find('='));
    // The first two stand in the envelope; nothing reads the third.
    if (message == nullptr || word.empty() || word == "apiVersion" || word == "kind" ||
        word == "managedFields")
      continue;
    ++looked;
    EXPECT_TRUE(names.contains(word)) << message->name << " " << word;
  }
  EXPECT_GT(looked, 400);
}

// Manifests that people would write: the project's own.
TEST(Known, TheProjectsOwnManifestsHaveNoMistakes) {
  int looked = 0;
  for (const char* folder : {"/examples", "/tests/scenarios"}) {
    for (const auto& file : fs::recursive_directory_iterator(std::string(BERTH_SOURCE_DIR) + folder)) {
      if (file.path().extension() != ".yaml" || file.path().filename() == "expect.yaml") continue;
      if (file.path().string().find("/misspelt-") != std::string::npos) continue;
      const auto documents = text::read_documents(file.path().string());
      if (!documents) continue;
      static const Misspellings spelling;
      for (const auto& document : *documents) {
        ++looked;
        for (const auto& one : spelling.find(document, document.root()))
          ADD_FAILURE() << Error{ErrorCode::kInvalid, one.message, one.place}.str();
      }
    }
  }
  EXPECT_GT(looked, 300);
}

}  // namespace
}  // namespace berth::dialect

// Objects from manifests and from watches: what is read, what it means, and what wrong input says.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "dialect/base/names.h"
#include "dialect/dialect_support.h"
#include "dialect/upstream/core.h"
#include "text/json.h"

namespace berth::dialect {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::objects_of;
using testing::objects_of_json;

Pod pod_of(const std::string& yaml) {
  return std::get<Pod>(objects_of(yaml).at(0));
}

Error error_of(const std::string& yaml, Kind kind) {
  const auto document = text::parse_document(yaml, "bad.yaml");
  if (!document) return document.error();
  const auto object = decode(*document, document->root(), kind, {});
  if (object) return Error{ErrorCode::kInternal, "there was no error", {}};
  return object.error();
}

constexpr const char* kRichPod = R"(
apiVersion: v1
kind: Pod
metadata:
  name: trainer-3
  namespace: team-a
  uid: 5d5c0a1e-0000-4000-8000-000000000003
  creationTimestamp: 2026-11-21T06:00:00Z
  labels:
    app: trainer
    scheduling.x-k8s.io/pod-group: trainer
    batch.kubernetes.io/job-completion-index: "3"
  annotations: {note: ignored, berth.dev/expected-duration: 2h}
  ownerReferences:
  - {apiVersion: batch/v1, kind: Job, name: trainer, uid: job-uid, controller: true, blockOwnerDeletion: true}
spec:
  schedulerName: berth
  priority: 1000
  priorityClassName: high
  preemptionPolicy: Never
  terminationGracePeriodSeconds: 60
  overhead: {cpu: 100m}
  nodeSelector: {pool: gpu}
  schedulingGates: [{name: wait}]
  initContainers:
  - name: fetch
    resources: {requests: {cpu: "6", memory: 1Gi}}
  - name: proxy
    restartPolicy: Always
    resources: {requests: {cpu: 500m, memory: 256Mi}}
  - name: warm
    resources: {requests: {cpu: "7"}}
  containers:
  - name: main
    resources:
      requests: {cpu: "4", memory: 16Gi}
      limits: {nvidia.com/gpu: "2", memory: 32Gi}
  - name: log
    resources: {requests: {cpu: 250m}}
  tolerations:
  - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
  - {key: team, value: a}
  affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: gpu, operator: In, values: [a100, h100]}, {key: gen, operator: Gt, values: ["3"]}]
        - matchFields: [{key: metadata.name, operator: In, values: [n7]}]
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 5, preference: {matchExpressions: [{key: zone, operator: NotIn, values: [b]}]}}
  volumes:
  - {name: scratch, emptyDir: {}}
  - {name: cfg, configMap: {name: c}}
)";

TEST(Decode, PodKeepsAllThatPlacementNeeds) {
  const Pod pod = pod_of(kRichPod);
  EXPECT_EQ(pod.meta.ns, "team-a");
  EXPECT_EQ(pod.meta.created, 1795240800000);
  EXPECT_EQ(*pod.meta.controller, (Owner{"Job", "trainer", "job-uid"}));
  EXPECT_EQ(pod.meta.labels.at("app"), "trainer");
  EXPECT_FALSE(pod.meta.annotations.contains("note"));  // not read
  EXPECT_EQ(pod.meta.mark(kPodGroupLabel), "trainer");
  EXPECT_EQ(pod.spec.priority, 1000);
  EXPECT_FALSE(pod.spec.may_preempt);
  EXPECT_TRUE(pod.spec.gated);
  EXPECT_EQ(pod.spec.grace, 60'000);
  const PodTemplate& t = *pod.spec.pod;
  // max(4 + 0.25 + sidecar 0.5, init: 6, 0.5 + 7) + overhead 0.1
  EXPECT_EQ(t.requests.get("cpu"), 7600);
  EXPECT_EQ(t.requests.get("memory"), (16ll << 30) + (256ll << 20));
  EXPECT_EQ(t.requests.get("pods"), 1);
  EXPECT_FALSE(t.requests.has("nvidia.com/gpu"));
  EXPECT_THAT(t.claim.requests, ElementsAre(DeviceRequest{"nvidia.com/gpu", 2, 1000}));
  EXPECT_EQ(t.node_selector->at("pool"), "gpu");
  ASSERT_EQ(t.required_affinity.size(), 2u);
  EXPECT_EQ(t.required_affinity[0].labels[1].op, SelectorOp::kGt);
  EXPECT_EQ(t.required_affinity[1].node_name[0].values, std::vector<std::string>{"n7"});
  ASSERT_EQ(t.preferred_affinity.size(), 1u);
  EXPECT_EQ(t.preferred_affinity[0].weight, 5);
  ASSERT_EQ(t.tolerations.size(), 2u);
  EXPECT_TRUE(t.tolerations[0].exists);
  EXPECT_EQ(t.tolerations[1].value, "a");
  EXPECT_THAT(t.unsupported, IsEmpty());
}

TEST(Decode, BothFeedsGiveTheSame) {
  const Pod from_tree = pod_of(kRichPod);
  const Pod from_json = std::get<Pod>(objects_of_json(kRichPod).at(0));
  EXPECT_EQ(from_tree.meta, from_json.meta);
  EXPECT_EQ(from_tree.spec, from_json.spec);
}

TEST(Decode, PodLevelRequestsReplaceThoseOfContainers) {
  const Pod pod = pod_of(R"(
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  resources: {requests: {cpu: "2"}, limits: {memory: 4Gi}}
  containers: [{name: c, resources: {requests: {cpu: "8", example.com/fpga: 1}}}]
)");
  EXPECT_EQ(pod.spec.pod->requests.get("cpu"), 2000);
  EXPECT_EQ(pod.spec.pod->requests.get("memory"), 4ll << 30);
  EXPECT_EQ(pod.spec.pod->requests.get("example.com/fpga"), 1000);
}

// The text with a value in place of the word.
std::string filled_in(std::string text, std::string_view word, std::string_view value) {
  return text.replace(text.find(word), word.size(), value);
}

TEST(Decode, ResizeInFlightCountsTheLargest) {
  const std::string resized = R"(
apiVersion: v1
kind: Pod
metadata: {name: a}
spec: {nodeName: n0, containers: [{name: c, resources: {requests: {cpu: "2", memory: 1Gi}}}]}
status:
  phase: Running
  conditions: [{type: PodResizePending, status: "CONDITION", reason: Infeasible}]
  containerStatuses: [{name: c, allocatedResources: {cpu: "1"}, resources: {requests: {cpu: 1500m}}}]
)";
  const std::string feasible = filled_in(resized, "CONDITION", "False");
  const std::string infeasible = filled_in(resized, "CONDITION", "True");
  EXPECT_EQ(pod_of(feasible).spec.pod->requests.get("cpu"), 2000);
  EXPECT_EQ(pod_of(infeasible).spec.pod->requests.get("cpu"), 1500);
  EXPECT_EQ(pod_of(feasible).spec.pod->requests.get("memory"), 1ll << 30);
  EXPECT_EQ(pod_of(infeasible).spec.pod->requests.get("memory"), 0) << "the kubelet has given it none";
}

// Kubernetes' plugins count nothing for the CPU that a container asks for by its limit alone, and that the kubelet has never given.
TEST(Decode, AnInfeasibleResizeAsksForNothingThatTheStatusDoesNotName) {
  const std::string text = R"(
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeName: n0
  containers:
  - {name: c, resources: {limits: {cpu: "1", nvidia.com/gpu: "2"}}}
  - {name: untold, resources: {requests: {cpu: "4"}}}
status:
  phase: Running
  conditions: [{type: PodResizePending, status: "True", reason: REASON}]
  containerStatuses: [{name: c, resources: {}}, {name: untold}]
)";
  const std::string deferred = filled_in(text, "REASON", "Deferred");
  const std::string infeasible = filled_in(text, "REASON", "Infeasible");
  EXPECT_EQ(pod_of(deferred).spec.pod->requests.get("cpu"), 5000);
  EXPECT_EQ(pod_of(infeasible).spec.pod->requests.get("cpu"), 4000);
  EXPECT_THAT(pod_of(infeasible).spec.pod->claim.requests,
              ElementsAre(DeviceRequest{"nvidia.com/gpu", 2, 1000}));
}

// The kubelet of 1.36 refuses a pod that fits only beside the largest of the three sums, here 3 CPUs.
TEST(Decode, ResizeInFlightCountsTheLargestOfEachContainer) {
  const Pod pod = pod_of(R"(
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeName: n0
  initContainers:
  - {name: once, resources: {requests: {cpu: "1"}}}
  - {name: beside, restartPolicy: Always, resources: {requests: {cpu: "1"}}}
  containers: [{name: up, resources: {requests: {cpu: "2"}}}, {name: down, resources: {requests: {cpu: "1"}}}]
status:
  phase: Running
  containerStatuses:
  - {name: up, allocatedResources: {cpu: "1"}, resources: {requests: {cpu: "1"}}}
  - {name: down, allocatedResources: {cpu: "1"}, resources: {requests: {cpu: "3"}}}
  initContainerStatuses:
  - {name: once, allocatedResources: {cpu: "64"}, resources: {requests: {cpu: "64"}}}
  - {name: beside, allocatedResources: {cpu: "2"}, resources: {requests: {cpu: "1"}}}
)");
  EXPECT_EQ(pod.spec.pod->requests.get("cpu"), 2000 + 3000 + 2000);
}

TEST(Decode, ResizeOfAPodAsAWholeCountsTheLargest) {
  const std::string whole = R"(
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  nodeName: n0
  resources: {requests: {cpu: "2"}}
  containers: [{name: c, resources: {requests: {cpu: "1", memory: 1Gi}}}]
status:
  phase: Running
  conditions: [{type: PodResizePending, status: "True", reason: REASON}]
  allocatedResources: {cpu: "1", memory: 8Gi}
  resources: {requests: {cpu: 1500m}}
)";
  const std::string deferred = filled_in(whole, "REASON", "Deferred");
  const std::string infeasible = filled_in(whole, "REASON", "Infeasible");
  EXPECT_EQ(pod_of(deferred).spec.pod->requests.get("cpu"), 2000);
  EXPECT_EQ(pod_of(infeasible).spec.pod->requests.get("cpu"), 1500);
  EXPECT_EQ(pod_of(deferred).spec.pod->requests.get("memory"),
            1ll << 30);  // the pod as a whole asks for none
}

TEST(Decode, GpuShares) {
  EXPECT_THAT(pod_of(testing::pod_yaml("a", 0, "  annotations: {berth.dev/gpu-milli: '250'}\n"))
                  .spec.pod->claim.requests,
              ElementsAre(DeviceRequest{"nvidia.com/gpu", 1, 250}));
  for (const int gpus : {1, 2}) {  // a whole device stays a whole one, whatever is said beside it
    const Pod pod = pod_of(testing::pod_yaml("a", gpus, "  labels: {berth.dev/gpu-milli: '500'}\n"));
    EXPECT_THAT(pod.spec.pod->claim.requests, ElementsAre(DeviceRequest{"nvidia.com/gpu", gpus, 1000}));
    EXPECT_THAT(
        pod.spec.pod->unsupported,
        ElementsAre("berth.dev/gpu-milli: it also requests nvidia.com/gpu, of which the kubelet gives "
                    "whole devices"));
  }
  for (const char* bad : {"0", "1001", "-1", "x", "99999999999999999999"}) {
    EXPECT_THAT(pod_of(testing::pod_yaml(
                           "a", 0, "  annotations: {berth.dev/gpu-milli: '" + std::string(bad) + "'}\n"))
                    .spec.pod->unsupported,
                ElementsAre(HasSubstr("not a number from 1 to 1000")))
        << bad;
  }
}

TEST(Decode, APodChoosesItsPlacement) {
  EXPECT_EQ(
      pod_of(testing::pod_yaml("a", 1, "  labels: {berth.dev/placement: spread}\n")).spec.pod->placement,
      Placement::kSpread);
  EXPECT_EQ(pod_of(testing::pod_yaml("a", 1)).spec.pod->placement, Placement::kDefault);
  const PodTemplate bad =
      *pod_of(testing::pod_yaml("a", 1, "  labels: {berth.dev/placement: tight}\n")).spec.pod;
  ASSERT_EQ(bad.unsupported.size(), 1u);
  EXPECT_THAT(bad.unsupported[0], ::testing::HasSubstr("fragmentation"));
}

TEST(Decode, ConstraintsThatAreNotHonouredAreNamed) {
  const auto unsupported = [](const std::string& spec) {
    return pod_of(testing::pod_yaml("a", 1, "", spec)).spec.pod->unsupported;
  };
  EXPECT_THAT(
      unsupported("  affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, "
                  "podAffinityTerm: {topologyKey: zone}}]}}\n"),
      IsEmpty());
  EXPECT_THAT(
      unsupported(
          "  volumes: [{name: data, awsElasticBlockStore: {volumeID: d}}, {name: e, emptyDir: {}}]\n"),
      ElementsAre("volumes: awsElasticBlockStore (data)"));
  EXPECT_THAT(unsupported("  resourceClaims: [{name: gpu, resourceClaimName: g}]\n"),
              ElementsAre("resourceClaims"));
  EXPECT_THAT(unsupported("  tolerations: [{key: load, operator: Lt, value: '5'}]\n"), IsEmpty());
  EXPECT_THAT(unsupported("  workloadRef: {name: x, podGroup: y}\n"), IsEmpty());
  EXPECT_THAT(unsupported("  schedulingGroup: {podGroupName: x}\n"), IsEmpty());
}

// The owner means a gang of its own system, unless the pod itself names one that Berth reads.
TEST(Decode, APodOfAVolcanoJobNamesItsGangByMarkOrField) {
  const auto unsupported = [](const std::string& marks, const std::string& spec) {
    const std::string owner =
        "  ownerReferences: [{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: j, uid: u, controller: "
        "true}]\n";
    return pod_of(testing::pod_yaml("a", 1, owner + marks, spec)).spec.pod->unsupported.size();
  };
  EXPECT_EQ(unsupported("", ""), 1u);
  EXPECT_EQ(unsupported("  annotations: {scheduling.k8s.io/group-name: g}\n", ""), 0u);
  EXPECT_EQ(unsupported("", "  schedulingGroup: {podGroupName: g}\n"), 0u);
  for (const char* place : {"labels", "annotations"}) {
    const std::string forged = fmt::format("  {}: {{spec.schedulingGroup.podGroupName: g}}\n", place);
    EXPECT_EQ(unsupported(forged, ""), 1u) << place;
  }
}

TEST(Decode, PreferredTermsAboutOtherPods) {
  const Pod pod = pod_of(testing::pod_yaml(
      "a", 1, "",
      "  affinity:\n"
      "    podAntiAffinity:\n"
      "      preferredDuringSchedulingIgnoredDuringExecution:\n"
      "      - {weight: 30, podAffinityTerm: {topologyKey: host, labelSelector: {matchLabels: {app: web}}}}\n"
      "    podAffinity:\n"
      "      preferredDuringSchedulingIgnoredDuringExecution:\n"
      "      - {weight: 4, podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: db}}}}\n"
      "  topologySpreadConstraints:\n"
      "  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: "
      "{app: web}}}\n"));
  EXPECT_TRUE(pod.spec.pod->terms.empty()) << "none of them is required";
  std::vector<std::string> seen;
  for (const PreferredCountedTerm& wish : pod.spec.pod->preferred_terms)
    seen.push_back(fmt::format("{} {} {} {}", wish.weight, enum_name(wish.term.kind), wish.term.selector,
                               wish.term.level));
  EXPECT_THAT(seen, ElementsAre("30 apart app=web in default host", "4 near app=db in default zone",
                                "10 spread app=web in default zone"));
  EXPECT_EQ(pod.spec.selectors.size(), 2U);
  PodSpec of_others = pod.spec;
  of_others.drop_spreads();
  EXPECT_EQ(of_others.pod->preferred_terms.size(), 2U) << "its affinity pulls others, its spread does not";
  EXPECT_EQ(of_others.selectors.size(), 2U);
}

TEST(Decode, ClaimsThatAPodMounts) {
  const PodSpec spec =
      pod_of(testing::pod_yaml(
                 "a", 1, "",
                 "  volumes: [{persistentVolumeClaim: {claimName: d, readOnly: true}, name: data}, "
                 "{name: e, emptyDir: {}}, {name: s, ephemeral: {volumeClaimTemplate: {}}}]\n"))
          .spec;
  EXPECT_THAT(*spec.claims, ElementsAre(ClaimUse{"data", "d", false}, ClaimUse{"s", "", true}));
  EXPECT_THAT(spec.pod->unsupported, IsEmpty());
}

// As the default scheduler takes them (its GetHostPorts): of containers, and of init containers that go on beside them.
TEST(Decode, HostPorts) {
  const auto ports = [](const std::string& spec) {
    std::vector<std::string> out;
    const Pod pod = pod_of("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n" + spec);
    for (const HostPort& port : pod.spec.pod->ports) out.push_back(to_text(port));
    return out;
  };
  EXPECT_THAT(ports("  containers: [{name: c, ports: [{containerPort: 80}]}]\n"), IsEmpty());
  EXPECT_THAT(ports("  containers: [{name: c, ports: [{containerPort: 80, hostPort: 8080}]}]\n"),
              ElementsAre("8080/TCP"));
  EXPECT_THAT(
      ports("  containers: [{name: c, ports: [{hostPort: 53, protocol: UDP, hostIP: 10.0.0.1}, {hostPort: "
            "53, hostIP: 0.0.0.0}, {hostPort: 9, protocol: SCTP, hostIP: '::1'}]}]\n"),
      ElementsAre("::1:9/SCTP", "53/TCP", "10.0.0.1:53/UDP"));
  EXPECT_THAT(ports("  initContainers: [{name: i, restartPolicy: Always, ports: [{hostPort: 80}]}]\n"),
              ElementsAre("80/TCP"));
  EXPECT_THAT(ports("  initContainers: [{name: i, ports: [{hostPort: 80}]}]\n"), IsEmpty());
  // On the network of the node each port is one of the node; the same port in two containers is one.
  EXPECT_THAT(
      ports("  hostNetwork: true\n  containers: [{name: c, ports: [{containerPort: 80}, {containerPort: "
            "443}]}, {name: d, ports: [{containerPort: 80}]}]\n"),
      ElementsAre("80/TCP", "443/TCP"));
}

TEST(Decode, RequiredTermsAboutPodsNameTheirSelectors) {
  const PodSpec spec =
      pod_of(testing::pod_yaml(
                 "a", 1, "  labels: {app: web, version: v2}\n",
                 "  affinity:\n"
                 "    podAntiAffinity:\n"
                 "      requiredDuringSchedulingIgnoredDuringExecution:\n"
                 "      - {topologyKey: host, labelSelector: {matchLabels: {tier: b, app: web}}}\n"
                 "      - {topologyKey: zone, matchLabelKeys: [version, other], namespaces: [y, x],\n"
                 "         labelSelector: {matchExpressions: [{key: app, operator: NotIn, values: [db]}]}}\n"
                 "      - {topologyKey: zone, namespaceSelector: {}}\n"
                 "    podAffinity:\n"
                 "      requiredDuringSchedulingIgnoredDuringExecution:\n"
                 "      - {topologyKey: zone, labelSelector: {matchLabels: {app: web}}}\n"
                 "      - {topologyKey: host, mismatchLabelKeys: [version], labelSelector: {}}\n"))
          .spec;
  std::vector<std::string> terms;
  for (const CountedTerm& term : spec.pod->terms)
    terms.push_back(std::string(enum_name(term.kind)) + " | " + term.selector + " | " + term.level);
  EXPECT_THAT(terms, ElementsAre("apart | app=web, tier=b in default | host",
                                 "apart | app not in (db), version=v2 in x,y | zone",
                                 "apart | none in namespaces with all | zone",
                                 "near | app=web, version not in (v2) in default | zone",
                                 "near | app=web, version not in (v2) in default | host"));
  ASSERT_EQ(spec.selectors.size(), 4u);
  EXPECT_THAT(spec.pod->unsupported, IsEmpty());
  const PodSelector& second = spec.selectors[1];
  EXPECT_TRUE(second.selects("x", {}, {{"version", "v2"}}));
  EXPECT_FALSE(second.selects("x", {}, {{"version", "v2"}, {"app", "db"}}));
  EXPECT_FALSE(second.selects("default", {}, {{"version", "v2"}}));
  EXPECT_FALSE(spec.selectors[2].selects("x", {}, {{"app", "web"}})) << "no selector selects no pod";
}

TEST(Decode, SpreadsThatMustHoldAreTerms) {
  const PodSpec spec =
      pod_of(
          testing::pod_yaml(
              "a", 1, "  labels: {app: web, version: v2}\n",
              "  topologySpreadConstraints:\n"
              "  - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule,\n"
              "     labelSelector: {matchLabels: {app: web}}}\n"
              "  - {maxSkew: 2, topologyKey: host, whenUnsatisfiable: DoNotSchedule, minDomains: 3,\n"
              "     nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor, matchLabelKeys: [version, other],\n"
              "     labelSelector: {matchLabels: {app: web}}}\n"
              "  - {maxSkew: 1, topologyKey: rack, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}\n"
              "  - {maxSkew: 1, topologyKey: row, whenUnsatisfiable: ScheduleAnyway}\n"))
          .spec;
  std::vector<std::string> terms;
  for (const CountedTerm& term : spec.pod->terms) {
    terms.push_back(fmt::format("{} {} | {} | {} {} {} {}", enum_name(term.kind), term.selector, term.level,
                                term.max_skew, term.min_domains, term.all_nodes, term.tolerated));
  }
  EXPECT_THAT(terms, ElementsAre("spread app=web in default | zone | 1 1 false false",
                                 "spread app=web, version=v2 in default | host | 2 3 true true",
                                 "spread none in default | rack | 1 1 false false"));
  EXPECT_EQ(spec.selectors.size(), 3u);
  EXPECT_THAT(spec.pod->unsupported, IsEmpty());
  PodSpec foreign = spec;
  foreign.drop_spreads();
  EXPECT_TRUE(foreign.pod->terms.empty());
  EXPECT_TRUE(foreign.selectors.empty());
}

TEST(Decode, ASpreadThatCannotBeReadIsNamed) {
  const auto problem = [](const std::string& item) {
    return error_of("metadata: {name: p}\nspec: {topologySpreadConstraints: [" + item + "]}\n", Kind::kPod)
        .str();
  };
  EXPECT_THAT(problem("{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}"),
              HasSubstr("maxSkew: must be an integer from 1 to"));
  EXPECT_THAT(problem("{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}"),
              HasSubstr("topologyKey: is required"));
  EXPECT_THAT(problem("{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: Never}"),
              HasSubstr("whenUnsatisfiable: must be one of DoNotSchedule, ScheduleAnyway"));
  EXPECT_THAT(
      problem("{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: Maybe}"),
      HasSubstr("nodeTaintsPolicy: must be one of Honor, Ignore"));
}

// A pod is near to those that all its terms select, in namespaces that all of them have.
TEST(Decode, TermsOfAffinityForDifferentNamespacesMeet) {
  const auto spec =
      pod_of(testing::pod_yaml("a", 1, "",
                               "  affinity: {podAffinity: {requiredDuringSchedulingIgnoredDuringExecution: ["
                               "{topologyKey: zone, labelSelector: {}, namespaces: [default, b]}, "
                               "{topologyKey: rack, labelSelector: {matchLabels: {app: web}}, namespaces: "
                               "[b, c], namespaceSelector: {matchLabels: {team: x}}}]}}\n"))
          .spec;
  EXPECT_THAT(spec.pod->unsupported, IsEmpty());
  ASSERT_EQ(spec.selectors.size(), 1U);
  const PodSelector& both = spec.selectors[0];
  EXPECT_EQ(both.name, "app=web in b,default and in b,c in namespaces with team=x");
  EXPECT_TRUE(both.asks_namespaces());
  const Labels web{{"app", "web"}}, team{{"team", "x"}};
  EXPECT_TRUE(both.selects("b", {}, web));
  EXPECT_TRUE(both.selects("default", team, web));
  EXPECT_FALSE(both.selects("default", {}, web)) << "the second term has it not";
  EXPECT_FALSE(both.selects("c", team, web)) << "the first term has it not";
  EXPECT_FALSE(both.selects("b", {}, {{"app", "db"}}));
}

TEST(Decode, SelectorsWithOneNameAreTheSame) {
  const auto name = [](const std::string& key, const std::string& value) {
    PodSelector selector;
    selector.pods = {false, {{key, SelectorOp::kIn, {value}}}};
    selector.within = {{{"default"}, {}}};
    selector.set_name();
    return selector.name;
  };
  EXPECT_EQ(name("app", "web"), "app=web in default");
  EXPECT_NE(name("app", "web, tier=b"), name("app", "web") + ", tier=b") << "no value can look like more";
  EXPECT_NE(name("app", ""), name("app", "0:"));
  EXPECT_LT(name("app", std::string(5000, 'x')).size(), 400u);
  EXPECT_NE(name("app", std::string(5000, 'x')), name("app", std::string(5001, 'x')));
}

TEST(Decode, NodesBecomeAmountsAndDevicePools) {
  const auto object = std::get<NodeObject>(objects_of(R"(
apiVersion: v1
kind: Node
metadata: {name: n0, labels: {zone: a, nvidia.com/gpu.product: H100}}
spec:
  unschedulable: true
  taints: [{key: team, value: a, effect: NoSchedule}, {key: hot, effect: PreferNoSchedule}]
status:
  capacity: {cpu: "65"}
  allocatable: {cpu: 63500m, memory: 1Ti, pods: "110", nvidia.com/gpu: "8", example.com/nic: "4"}
)")
                                               .at(0));
  std::string problem;
  const Node node = to_node(object, {}, problem);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(node.allocatable.get("cpu"), 63500);
  EXPECT_EQ(node.allocatable.get("example.com/nic"), 4000);
  EXPECT_FALSE(node.allocatable.has("nvidia.com/gpu"));
  ASSERT_EQ(node.devices.size(), 1u);
  EXPECT_EQ(node.devices[0].count, 8);
  EXPECT_EQ(node.devices[0].model, "H100");
  EXPECT_TRUE(node.unschedulable);
  EXPECT_EQ(node.taints[1].effect, TaintEffect::kPreferNoSchedule);

  const Node more = to_node(object, DeviceNames{{"example.com/nic"}}, problem);
  EXPECT_EQ(more.devices.size(), 2u);
  NodeObject sliced = object;
  sliced.allocatable.set("nvidia.com/gpu", 80'000);  // by a device plugin that shares: all of them count
  EXPECT_EQ(to_node(sliced, {}, problem).devices[0].count, 80);
  EXPECT_EQ(problem, "");
  sliced.allocatable.set("nvidia.com/gpu", 2'000'000'000);
  EXPECT_EQ(to_node(sliced, {}, problem).devices[0].count, 1'000'000);
  EXPECT_THAT(problem, HasSubstr("counts 1000000 devices"));
}

TEST(Decode, WrongInputNamesFileLineColumnAndField) {
  EXPECT_EQ(error_of("apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec:\n  unschedulable: maybe\n",
                     Kind::kNode)
                .str(),
            "bad.yaml:5:18: Node n: spec.unschedulable: must be true or false, not \"maybe\"");
  EXPECT_EQ(
      error_of("metadata: {name: n}\nstatus:\n  allocatable:\n    cpu: twelve\n", Kind::kNode).place.line,
      4u);
  EXPECT_THAT(
      error_of("metadata: {name: n}\nstatus:\n  allocatable:\n    nvidia.com/gpu: '-4'\n", Kind::kNode).str(),
      HasSubstr("must not be negative"));
  EXPECT_THAT(error_of("metadata: {name: n}\nspec:\n  taints: [{key: a, effect: NoGo}]\n", Kind::kNode).str(),
              HasSubstr("bad.yaml:3:29: Node n: spec.taints[0].effect: must be one of NoSchedule"));
  EXPECT_THAT(error_of("metadata: {name: p}\nspec: {priority: high}\n", Kind::kPod).str(),
              HasSubstr("spec.priority"));
  EXPECT_THAT(error_of("metadata: {name: p}\n", Kind::kPod).str(), HasSubstr("spec: is required"));
  EXPECT_THAT(error_of("spec: {}\n", Kind::kPod).str(), HasSubstr("metadata: name is required"));
  EXPECT_THAT(error_of("metadata: {name: 12}\nspec: {}\n", Kind::kPod).str(), HasSubstr("needs quotes"));
  EXPECT_THAT(error_of("metadata: {name: t}\nspec: {levels: []}\n", Kind::kTopology).str(),
              HasSubstr("1 to 16 levels"));
  EXPECT_THAT(error_of("metadata: {name: q}\nspec: {queueingStrategy: LIFO}\n", Kind::kClusterQueue).str(),
              HasSubstr("must be one of BestEffortFIFO, StrictFIFO"));
  EXPECT_THAT(error_of("metadata: {name: g}\nspec: {minMember: 0}\n", Kind::kPodGroup).str(),
              HasSubstr("spec.minMember: must be an integer from 1 to"));
  EXPECT_THAT(error_of(testing::pod_yaml(
                           "a", 1, "",
                           "  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
                           "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}}\n")
                           .substr(0, 400),
                       Kind::kPod)
                  .str(),
              HasSubstr("operator In takes at least one value"));
  JsonDecoder decoder;
  EXPECT_THAT(decoder.decode("{\"metadata\": ", Kind::kPod).error().message, HasSubstr("not JSON"));
  EXPECT_THAT(decoder.decode("[1]", Kind::kPod).error().message, HasSubstr("must be a mapping"));
}

TEST(Decode, AJobWithAWrongFieldComesWithTheField) {
  JsonDecoder decoder;
  const auto object = decoder.decode(R"({"metadata":{"name":"j"},"spec":{"parallelism":"3"}})", Kind::kJob);
  ASSERT_TRUE(object.has_value());
  EXPECT_THAT(std::get<Job>(*object).problem, HasSubstr("spec.parallelism: must be an integer"));
  EXPECT_EQ(std::get<Job>(*object).meta.name, "j");
}

// A watch's object that can be told about its wrong field is not lost: what else can be read of it, is.
TEST(Decode, APodWithAWrongFieldComesWithTheField) {
  JsonDecoder decoder;
  const auto object = decoder.decode(
      R"({"metadata":{"name":"p"},"spec":{"nodeName":"n1","containers":[{"name":"a"},{"name":"b","resources":
      {"requests":{"cpu":"9GB","memory":"1Gi"},"limits":{"nvidia.com/gpu":"2"}}}]}})",
      Kind::kPod);
  ASSERT_TRUE(object) << object.error().str();
  const auto& pod = std::get<Pod>(*object);
  EXPECT_EQ(pod.problem,
            "spec.containers[1].resources.requests.cpu: '9GB' is not a quantity; did you mean 9G or 9Gi?");
  EXPECT_EQ(pod.spec.node_name, "n1");
  EXPECT_EQ(pod.spec.pod->requests.get("memory"), std::int64_t{1} << 30);
  ASSERT_EQ(pod.spec.pod->claim.requests.size(), 1u);
  EXPECT_EQ(pod.spec.pod->claim.requests[0].count, 2);

  const auto queue = decoder.decode(
      R"({"metadata":{"name":"q"},"spec":{"resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"f",
      "resources":[{"name":"cpu","nominalQuota":"-1"}]}]}]}})",
      Kind::kClusterQueue);
  ASSERT_TRUE(queue) << queue.error().str();
  EXPECT_THAT(std::get<ClusterQueue>(*queue).problem, HasSubstr("nominalQuota"));

  // A manifest is wrong as a whole, with its place.
  EXPECT_THAT(error_of("metadata: {name: p}\nspec: {nodeName: 3}\n", Kind::kPod).str(),
              HasSubstr("bad.yaml:2:18: Pod default/p: spec.nodeName: must be a string"));
}

// Kubernetes caps what is larger than it counts, and rounds up what is finer.
TEST(Decode, QuantitiesAreCappedAndRoundedUp) {
  JsonDecoder decoder;
  const auto pod_of = [&](const std::string& requests) {
    auto object = decoder.decode(
        R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"a","resources":{"requests":{)" + requests +
            R"(}}},{"name":"b","resources":{"requests":{)" + requests + "}}}]}}",
        Kind::kPod);
    return std::get<Pod>(std::move(*object));
  };
  const Pod huge = pod_of(R"("memory":"16E","cpu":"1e30")");
  EXPECT_EQ(huge.problem, "");
  EXPECT_EQ(huge.spec.pod->requests.get("memory"), kInt64Max);
  EXPECT_EQ(huge.spec.pod->requests.get("cpu"), kInt64Max);
  const Pod fine = pod_of(R"("cpu":"100n","memory":"1500m")");
  EXPECT_EQ(fine.spec.pod->requests.get("cpu"), 2);
  EXPECT_EQ(fine.spec.pod->requests.get("memory"), 4);
  EXPECT_THAT(pod_of(R"("cpu":"-1e30")").problem, HasSubstr("must not be negative"));
  const Pod devices = pod_of(R"("nvidia.com/gpu":"9E")");
  EXPECT_EQ(devices.problem, "");
  ASSERT_EQ(devices.spec.pod->claim.requests.size(), 1u);
  EXPECT_EQ(devices.spec.pod->claim.requests[0].count, kInt64Max / 1000);
}

// As the API server says it, with the path as it stands in the file.
TEST(Decode, DevicesComeWhole) {
  const auto error = [](const std::string& resources) {
    return error_of("metadata: {name: p}\nspec: {containers: [{name: c, resources: {" + resources + "}}]}\n",
                    Kind::kPod)
        .str();
  };
  EXPECT_THAT(
      error("limits: {nvidia.com/gpu: \"0.5\"}"),
      HasSubstr("spec.containers[0].resources.limits[\"nvidia.com/gpu\"]: must be an integer, not \"0.5\""));
  EXPECT_THAT(error("requests: {example.com/nic: 1500m}, limits: {example.com/nic: 1}"),
              HasSubstr("spec.containers[0].resources.requests[\"example.com/nic\"]: must be an integer"));
}

TEST(Decode, QueueObjectsInBothVersions) {
  for (const char* cohort : {"cohort: all", "cohortName: all"}) {
    const auto queue = std::get<ClusterQueue>(objects_of(std::string(R"(
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: team-a}
spec:
  )") + cohort + R"(
  queueingStrategy: StrictFIFO
  namespaceSelector: {matchLabels: {team: a}, matchExpressions: [{key: env, operator: NotIn, values: [dev]}]}
  preemption: {withinClusterQueue: LowerOrNewerEqualPriority, reclaimWithinCohort: Any}
  stopPolicy: HoldAndDrain
  fairSharing: {weight: "0.5"}
  resourceGroups:
  - coveredResources: [cpu, nvidia.com/gpu]
    flavors:
    - name: h100
      resources:
      - {name: cpu, nominalQuota: 64}
      - {name: nvidia.com/gpu, nominalQuota: "8", borrowingLimit: "4", lendingLimit: "2"}
)")
                                                  .at(0));
    EXPECT_EQ(queue.cohort, "all");
    EXPECT_EQ(queue.order, QueueOrder::kStrict);
    EXPECT_EQ(queue.preemption.within, WithinQueue::kLowerOrNewerEqual);
    EXPECT_EQ(queue.preemption.reclaim, Reclaim::kAny);
    EXPECT_EQ(queue.stop, StopPolicy::kHoldAndDrain);
    EXPECT_EQ(queue.weight, (Rational{500, 1000}));
    EXPECT_EQ(queue.problem, "");
    ASSERT_EQ(queue.quotas.size(), 2u);
    EXPECT_EQ(queue.quotas[0].nominal, 64'000);
    EXPECT_EQ(queue.quotas[1].borrowing_limit, 4000);
    EXPECT_TRUE(queue.namespaces.matches({{"team", "a"}}));
    EXPECT_FALSE(queue.namespaces.matches({{"team", "a"}, {"env", "dev"}}));
    EXPECT_FALSE(queue.namespaces.matches({}));
  }
}

TEST(Decode, KindsAreKnownByGroup) {
  EXPECT_EQ(kind_of("v1", "Pod"), Kind::kPod);
  EXPECT_EQ(kind_of("scheduling.x-k8s.io/v1alpha1", "PodGroup"), Kind::kPodGroup);
  EXPECT_EQ(kind_of("scheduling.volcano.sh/v1beta1", "PodGroup"), Kind::kVolcanoPodGroup);
  EXPECT_EQ(kind_of("kueue.x-k8s.io/v1beta2", "ClusterQueue"), Kind::kClusterQueue);
  EXPECT_EQ(kind_of("apps/v1", "Deployment"), Kind::kDeployment);
  EXPECT_EQ(kind_of("apps/v1", "DaemonSet"), std::nullopt);
}

// The live path: says how long a pod takes; a figure, never a verdict.
TEST(Decode, SpeedOfThePodDecoder) {
  const auto document = text::parse_document(kRichPod, "rich.yaml");
  ASSERT_TRUE(document);
  std::string body = text::to_json(document->root());
  const std::size_t size = body.size();
  body.append(128, ' ');
  JsonDecoder decoder;
  constexpr int kRounds = 20'000;
  const std::clock_t begin = std::clock();  // processor time: other work on the machine does not count
  for (int i = 0; i < kRounds; ++i) ASSERT_TRUE(decoder.decode({body.data(), size}, Kind::kPod, true));
  const double took = static_cast<double>(std::clock() - begin) * 1e6 / CLOCKS_PER_SEC / kRounds;
  RecordProperty("microseconds_per_pod", fmt::format("{:.2f}", took));
  std::printf("%zu bytes of JSON: %.2f us per pod\n", size, took);
}

}  // namespace
}  // namespace berth::dialect

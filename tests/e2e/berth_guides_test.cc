// Coming from another scheduler, and going back: the steps of docs/migration/, each command as the page has it, on a real API server. Kueue's
// guide has tests of its own (berth_move_test.cc).
//
// A kube-scheduler that answers to the former scheduler's name stands in for it, as long as its Deployments ask for a replica. Berth runs
// with the arguments of the chart's Deployment. So nothing but the commands of the guide starts or stops a scheduler.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "e2e/guide_page.h"
#include "e2e/install_fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// A scheduler as its own installation leaves a cluster: what it is called, and how its users mark their work. In marks and `pod_group`, @ is
// the name of a gang, and # its number of pods.
struct Former {
  std::string page;
  std::string scheduler;                 // the name in its pods
  std::string ns;                        // of its Deployments
  std::vector<std::string> deployments;  // all of them have to run, or it binds nothing
  std::string keeper = {};               // a Deployment that gives the others a replica again
  std::vector<std::string> kinds = {};   // files of deploy/crds that begin so
  std::string objects = {};              // that its installation or its users have made
  std::string pod_group = {};
  Labels labels = {}, annotations = {};  // of pods
  bool writes_name = false;         // its admission controller writes the name, so that manifests have none
  Labels keeps_room = {};           // annotations of a pod that does nothing else
  std::string leftover = {};        // a collection that has to be empty before it may start again
  std::set<std::string> gang = {};  // the first pods of the guide's own work
  std::optional<PodShape> joins = {};  // two pods of it that come later, to places that are kept for them
};

void PrintTo(const Former& former, std::ostream* out) {
  *out << former.page;
}

Former volcano() {
  return {.page = "volcano",
          .scheduler = "volcano",
          .ns = "volcano-system",
          .deployments = {"volcano-scheduler"},
          .kinds = {"scheduling.volcano.sh_", "topology.volcano.sh_"},
          .objects = R"(
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: default}
spec: {weight: 1, reclaimable: true}
)",
          .pod_group = R"(
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: @, namespace: default}
spec: {minMember: #, queue: default}
)",
          .annotations = {{"scheduling.k8s.io/group-name", "@"}},
          .gang = {"train-worker-0", "train-worker-1"}};
}

Former kai() {
  return {.page = "kai",
          .scheduler = "kai-scheduler",
          .ns = "kai-scheduler",
          .deployments = {"kai-scheduler-default", "binder"},
          .keeper = "kai-operator",
          .kinds = {"scheduling.run.ai_", "kai.scheduler_"},
          .objects = R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: bindrequests.scheduling.run.ai}
spec:
  group: scheduling.run.ai
  names: {kind: BindRequest, plural: bindrequests, singular: bindrequest, listKind: BindRequestList}
  scope: Namespaced
  versions:
    - name: v1alpha2
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
apiVersion: scheduling.run.ai/v2
kind: Queue
metadata: {name: default-queue}
spec:
  resources:
    gpu: {quota: -1, limit: -1, overQuotaWeight: 1}
    cpu: {quota: -1, limit: -1, overQuotaWeight: 1}
    memory: {quota: -1, limit: -1, overQuotaWeight: 1}
---
apiVersion: scheduling.run.ai/v1alpha2
kind: BindRequest
metadata: {name: late-0, namespace: default}
spec: {podName: late-0, selectedNode: node-1}
)",
          .pod_group = R"(
apiVersion: scheduling.run.ai/v2alpha2
kind: PodGroup
metadata: {name: @, namespace: default}
spec: {queue: default-queue, minMember: #}
)",
          .labels = {{"kai.scheduler/queue", "default-queue"}},
          .annotations = {{"pod-group-name", "@"}},
          .leftover = "/apis/scheduling.run.ai/v1alpha2/bindrequests",
          .gang = {"train-lead", "train-worker"}};
}

Former coscheduling() {
  return {.page = "coscheduling",
          .scheduler = "scheduler-plugins-scheduler",
          .ns = "scheduler-plugins",
          .deployments = {"scheduler-plugins-scheduler"},
          .kinds = {"scheduling.x-k8s.io_"},
          .pod_group = R"(
apiVersion: scheduling.x-k8s.io/v1alpha1
kind: PodGroup
metadata: {name: @, namespace: default}
spec: {minMember: #}
)",
          .labels = {{"scheduling.x-k8s.io/pod-group", "@"}},
          .gang = {"train-"}};
}

// The policy plays its admission controller, which also writes a queue.
Former yunikorn() {
  return {.page = "yunikorn",
          .scheduler = "yunikorn",
          .ns = "yunikorn",
          .deployments = {"yunikorn-scheduler"},
          .objects = R"(
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: yunikorn}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  matchConditions:
    - {name: its-namespaces, expression: '!(request.namespace in ["kube-system", "yunikorn"])'}
  mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: >-
          namespaceObject.metadata.?annotations[?"yunikorn.apache.org/namespace.enableYuniKorn"].orValue("") == "false" ? [] :
          [JSONPatch{op: "replace", path: "/spec/schedulerName", value: "yunikorn"}] +
          (!has(object.metadata.labels)
            ? [JSONPatch{op: "add", path: "/metadata/labels", value: {"queue": "root.default"}}]
            : "queue" in object.metadata.labels ? []
            : [JSONPatch{op: "add", path: "/metadata/labels/queue", value: "root.default"}])
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: yunikorn}
spec: {policyName: yunikorn}
)",
          .labels = {{"applicationId", "@"}},
          .writes_name = true,
          .keeps_room = {{"internal.yunikorn.apache.org/placeholder", "true"},
                         {"yunikorn.apache.org/task-group-name", "worker"}},
          .gang = {"spark-pi-driver"},
          .joins = PodShape{.name = "spark-pi-executor",
                            .scheduler = "default-scheduler",
                            .requests = {{"cpu", "1"}, {"memory", "2Gi"}, {kGpu, "1"}},
                            .labels = {{"applicationId", "spark-pi"}, {"queue", "root.research.nlp"}},
                            .annotations = {{"yunikorn.apache.org/task-group-name", "executor"}}}};
}

std::string filled(std::string text, const std::string& gang, int pods) {
  for (std::size_t at = 0; (at = text.find_first_of("@#", at)) != std::string::npos; ++at)
    text.replace(at, 1, text[at] == '@' ? gang : std::to_string(pods));
  return text;
}

class BerthGuides : public InstallTest {
 protected:
  // Two nodes of eight GPUs.
  void start_cluster() {
    if (std::getenv("BERTH_E2E_GUIDES") == nullptr)
      GTEST_SKIP() << "a guide takes half a minute: BERTH_E2E_GUIDES=yes, or scripts/test --kinds";
    start_with_helm({.controller_manager = true,
                     .kube_scheduler = true,
                     .kwok = true,
                     .service_accounts = true,
                     .job_pod_runs_ms = 3'600'000});
    if (IsSkipped()) return;
    ASSERT_OK(cluster_->create_nodes(2));
    // Where the reader stands: in the repository, with these programs.
    work_ = cluster_->folder() / "reader";
    fs::create_directories(work_ / "bin");
    fs::create_symlink(BERTH_SOURCE_DIR "/deploy", work_ / "deploy");
    fs::create_symlink(helm_, work_ / "bin" / "helm");
    fs::create_symlink(kubectl_program(), work_ / "bin" / "kubectl");
    fs::create_symlink(BERTH_PROGRAM, work_ / "bin" / "berth");
  }
  void read(const std::string& page) {
    auto guide = read_guide(page);
    ASSERT_OK(guide);
    guide_ = std::move(*guide);
  }

  // Takes the next step of the guide; what its commands said is said_.
  void step() {
    ASSERT_LT(taken_, guide_.steps.size()) << guide_.name;
    carry_out(guide_.steps[taken_++]);
  }
  void go_back() {
    EXPECT_EQ(taken_, guide_.steps.size()) << guide_.name << " has more steps than this test takes";
    ASSERT_FALSE(guide_.back.empty()) << guide_.name;
    carry_out(guide_.back);
  }
  void carry_out(const std::vector<GuideBlock>& blocks) {
    said_.clear();
    for (const auto& block : blocks) {
      if (block.commands.empty()) {
        ASSERT_NE(block.file, "") << "a manifest of " << guide_.name << " does not say its file";
        ASSERT_OK(write_text(work_ / block.file, block.text));
      }
      for (const auto& command : block.commands) {
        const Answer answer = run_program(
            {"/bin/bash", "-c",
             fmt::format("set -o pipefail\ncd {0} && PATH={0}/bin:$PATH\n{1}", work_.string(), command)});
        said_ += answer.text;
        ASSERT_TRUE(answer.ok()) << guide_.name << ": " << command << "\n" << answer.text;
        ASSERT_NO_FATAL_FAILURE(follow_deployments());
      }
    }
  }

  // KWOK only plays that the pods of Deployments run. These are the programs that would run in them.
  virtual void follow_deployments() { follow_berth(); }
  void follow_berth() {
    const json found = get(deployment(kSystem, "berth"));
    if (!found.is_object()) return;
    const json args = found["spec"]["template"]["spec"]["containers"][0]["args"];
    if (args == args_) return;
    args_ = args;
    if (berth_ != nullptr) {
      berth_->process.stop();
      EXPECT_EQ(berth_->process.exit_text(), "exit status 0") << tail(berth_->log, 10);
    }
    std::vector<std::string> own;  // without those that only mean something in a pod
    for (const std::string arg : args) {
      if (arg != "scheduler" && arg != "--in-cluster" && !arg.starts_with("--health-address") &&
          !arg.starts_with("--metrics-address"))
        own.push_back(arg);
    }
    berth_ = start_berth(
        {.name = fmt::format("berth-{}", ++started_), .kubeconfig = identity_of_berth(), .args = own});
    ASSERT_NE(berth_, nullptr);
    EXPECT_TRUE(eventually([&] { return log_has(*berth_, "recovered:"); })) << tail(berth_->log, 10);
  }
  bool berth_answers_to(const std::string& name) const {
    return berth_ != nullptr &&
           (args_.dump().find("\"--scheduler-name=" + name + "\"") != std::string::npos ||
            (name == "berth" && args_.dump().find("--scheduler-name") == std::string::npos));
  }

  static std::string deployment(const std::string& ns, const std::string& name) {
    return fmt::format("/apis/apps/v1/namespaces/{}/deployments/{}", ns, name);
  }
  std::string pod_path(const std::string& name) const { return pods_in("default") + "/" + name; }
  // Names may be beginnings of names.
  std::size_t running(const std::set<std::string>& names) const {
    std::size_t out = 0;
    for (const auto& [key, pod] : observer_->pods())
      for (const auto& name : names)
        out += key.starts_with("default/" + name) && pod.occupies() && pod.phase == "Running" ? 1 : 0;
    return out;
  }
  bool waits(const std::string& name) const {
    const auto pods = observer_->pods();
    const auto pod = pods.find("default/" + name);
    return pod != pods.end() && pod->second.node.empty();
  }
  std::string message_of(const std::string& name) const {
    const auto pods = observer_->pods();
    const auto pod = pods.find("default/" + name);
    return pod == pods.end() ? "" : pod->second.scheduled_message;
  }
  // Uid and node of each pod that has one and whose name begins so.
  std::map<std::string, std::string> places(const std::string& begin) const {
    std::map<std::string, std::string> out;
    for (const auto& [key, pod] : observer_->pods())
      if (key.starts_with("default/" + begin) && pod.occupies()) out[key] = pod.uid + " on " + pod.node;
    return out;
  }
  // As kube-scheduler says it of each pod that it has bound.
  bool bound_by(const std::string& scheduler, const std::string& name) const {
    const json events = get("/apis/events.k8s.io/v1/namespaces/default/events");
    for (const json& event : events["items"])
      if (event.value("reason", "") == "Scheduled" && event["regarding"]["name"] == name)
        return event.value("reportingController", "") == scheduler;
    return false;
  }
  void finish(const std::string& name) {
    const auto reply = cluster_->client().patch(pod_path(name) + "/status",
                                                R"({"status": {"phase": "Succeeded"}})", kMergePatch);
    EXPECT_TRUE(reply.ok()) << reply.describe();
  }

  GuidePage guide_;
  std::size_t taken_ = 0;
  std::string said_;
  fs::path work_;
  Berth* berth_ = nullptr;
  json args_;
  int started_ = 0;
};

class BerthGuidesFrom : public BerthGuides, public testing::WithParamInterface<Former> {
 protected:
  void install_former() {
    const Former& former = GetParam();
    ASSERT_OK(cluster_->create_namespace(former.ns));
    for (const auto& name : deployments()) {
      create(fmt::format("/apis/apps/v1/namespaces/{}/deployments", former.ns),
             json::parse(fmt::format(
                 R"({{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {{"name": "{0}"}}, "spec": {{
                      "replicas": 1, "selector": {{"matchLabels": {{"app": "{0}"}}}}, "template": {{
                      "metadata": {{"labels": {{"app": "{0}"}}}},
                      "spec": {{"containers": [{{"name": "main", "image": "image"}}]}}}}}}}})",
                 name)));
    }
    for (const auto& file : fs::directory_iterator(BERTH_SOURCE_DIR "/deploy/crds"))
      for (const auto& begin : former.kinds)
        if (file.path().filename().string().starts_with(begin)) ASSERT_OK(cluster_->apply(file.path()));
    std::string objects = former.objects;
    for (const auto& [gang, pods] :
         std::map<std::string, int>{{"old", 8}, {"ends", 1}, {"late", 1}, {"next", 1}})
      objects += "---" + filled(former.pod_group, gang, pods) + "\n";
    const std::string path = cluster_->folder() / "former.yaml";
    ASSERT_OK(write_text(path, objects));
    Answer applied;  // its kinds and its policy may have been made a moment ago
    EXPECT_TRUE(eventually([&] {
      return (applied = kubectl({"apply", "--server-side", "-f", path})).ok();
    })) << applied.text;
    ASSERT_TRUE(eventually([&] { return scheduler_of_new_pods() == former.scheduler; }))
        << scheduler_of_new_pods();
    ASSERT_NO_FATAL_FAILURE(follow_deployments());
  }
  std::vector<std::string> deployments() const {
    auto out = GetParam().deployments;
    if (!GetParam().keeper.empty()) out.push_back(GetParam().keeper);
    return out;
  }
  std::int64_t replicas(const std::string& name) const {
    return get(deployment(GetParam().ns, name))["spec"].value("replicas", std::int64_t{0});
  }

  void follow_deployments() override {
    const Former& former = GetParam();
    if (!former.keeper.empty() && replicas(former.keeper) > 0) {
      for (const auto& name : former.deployments) {
        const auto reply = cluster_->client().patch(deployment(former.ns, name),
                                                    R"({"spec": {"replicas": 1}})", kMergePatch);
        EXPECT_TRUE(reply.ok()) << reply.describe();
      }
    }
    const bool all = std::all_of(former.deployments.begin(), former.deployments.end(),
                                 [&](const auto& name) { return replicas(name) > 0; });
    if (!all) {
      stand_in_.stop();
    } else if (!stand_in_.running()) {
      ASSERT_NO_FATAL_FAILURE(start_stand_in());
    }
    ASSERT_NO_FATAL_FAILURE(follow_berth());
    EXPECT_FALSE(all && berth_answers_to(former.scheduler)) << "two schedulers answer to one name";
  }
  void start_stand_in() {
    if (!GetParam().leftover.empty() && berth_ != nullptr) {
      EXPECT_TRUE(get(GetParam().leftover)["items"].empty()) << "it carries out decisions of old";
    }
    const auto program = TestCluster::find_program("kube-scheduler");
    ASSERT_OK(program);
    const auto port = free_port();
    ASSERT_OK(port);
    const fs::path folder = cluster_->folder() / "former";
    fs::create_directories(folder);
    ASSERT_OK(write_text(
        folder / "config.yaml",
        fmt::format("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
                    "leaderElection: {{leaderElect: false}}\nclientConnection: {{kubeconfig: {}}}\n"
                    "profiles: [{{schedulerName: {}}}]\n",
                    cluster_->kubeconfig(), GetParam().scheduler)));
    auto process = Process::start(
        {.argv = {*program, "--config=" + (folder / "config.yaml").string(),
                  "--authentication-kubeconfig=" + cluster_->kubeconfig(),
                  "--authorization-kubeconfig=" + cluster_->kubeconfig(), "--bind-address=127.0.0.1",
                  fmt::format("--secure-port={}", *port), "--cert-dir=" + folder.string()},
         .log = cluster_->log("former")});
    ASSERT_OK(process);
    stand_in_ = std::move(*process);
  }

  // As the former scheduler's users write it.
  PodShape pod(const std::string& name, int gpus, const std::string& node = "") const {
    const Former& former = GetParam();
    PodShape out{.name = name,
                 .scheduler = former.writes_name ? "default-scheduler" : former.scheduler,
                 .requests = {{"cpu", "1"}, {"memory", "1Gi"}},
                 .labels = former.labels,
                 .annotations = former.annotations};
    if (gpus > 0) out.requests.emplace_back(kGpu, std::to_string(gpus));
    if (!node.empty()) out.node_selector = {{"kubernetes.io/hostname", node}};
    for (auto* marks : {&out.labels, &out.annotations})
      for (auto& [key, value] : *marks) value = filled(value, name, 1);
    return out;
  }
  // The name that the API server leaves or writes in pods of its users.
  std::string scheduler_of_new_pods() const {
    const auto reply =
        cluster_->client().post(pods_in("default") + "?dryRun=All", pod_json(pod("probe", 0), 0));
    return reply.ok() ? json::parse(reply.body)["spec"].value("schedulerName", "") : reply.describe();
  }
  // On one node the gang `old`, on the other `ends`, with five GPUs. `late` asks for six, and waits.
  void make_former_work() {
    ASSERT_OK(cluster_->create_pods(8, pod("old", 1, "node-0")));
    ASSERT_OK(cluster_->create_pods(1, pod("ends", 5, "node-1")));
    if (!GetParam().keeps_room.empty()) {
      PodShape keeps = pod("tg-keeps", 1, "node-1");
      keeps.annotations = GetParam().keeps_room;
      ASSERT_OK(cluster_->create_pods(1, keeps));
    }
    ASSERT_TRUE(eventually([&] { return running({"old-"}) == 8 && running({"ends-"}) == 1; }))
        << reasons_of_waiting();
    ASSERT_OK(cluster_->create_pods(1, pod("late", 6)));
    EXPECT_TRUE(eventually([&] { return !message_of("late-0").empty(); }));
    for (const auto& [key, place] : places("")) {
      const std::string name = key.substr(key.find('/') + 1);
      EXPECT_TRUE(eventually([&] { return bound_by(GetParam().scheduler, name); })) << name;
    }
  }
  // The guide's own work, with the pods that join it later.
  void expect_gang_runs() {
    const Former& former = GetParam();
    const auto first = former.page == "yunikorn" ? 1U : 2U;
    EXPECT_TRUE(eventually([&] { return running(former.gang) == first; })) << reasons_of_waiting();
    if (!former.joins) return;
    ASSERT_OK(cluster_->create_pods(2, *former.joins));
    EXPECT_TRUE(eventually([&] { return running({former.joins->name}) == 2; })) << reasons_of_waiting();
  }

  Process stand_in_;
};

TEST_P(BerthGuidesFrom, EachStepAndBack) {
  const Former& former = GetParam();
  start_cluster();
  if (IsSkipped()) return;
  if (former.writes_name && !has_policies())
    GTEST_SKIP() << "this API server has no MutatingAdmissionPolicy in v1 (Kubernetes 1.36 has)";
  ASSERT_NO_FATAL_FAILURE(read(former.page));
  ASSERT_NO_FATAL_FAILURE(install_former());
  ASSERT_NO_FATAL_FAILURE(make_former_work());
  const auto old = places("old-");
  ASSERT_EQ(old.size(), 8U);

  // Berth beside it, and a look.
  while (said_.find("default/late") == std::string::npos) ASSERT_NO_FATAL_FAILURE(step());
  EXPECT_TRUE(berth_answers_to("berth") && stand_in_.running());
  EXPECT_EQ(said_.find("default/old"), std::string::npos) << said_;
  // The name changes hands.
  const std::string before = message_of("late-0");
  ASSERT_NO_FATAL_FAILURE(step());
  EXPECT_TRUE(berth_answers_to(former.scheduler) && !stand_in_.running());
  EXPECT_TRUE(eventually([&] { return message_of("late-0") != before; })) << before;
  EXPECT_TRUE(places("tg-keeps").empty());
  // New work, and the pod that had waited.
  ASSERT_NO_FATAL_FAILURE(step());
  ASSERT_NO_FATAL_FAILURE(expect_gang_runs());
  EXPECT_TRUE(waits("late-0"));
  finish("ends-0");
  EXPECT_TRUE(eventually([&] { return running({"late-"}) == 1; })) << reasons_of_waiting();
  ASSERT_OK(cluster_->create_pods(1, pod("next", 2)));
  EXPECT_TRUE(eventually([&] { return !message_of("next-0").empty(); }));
  const auto all = places("");
  EXPECT_EQ(all.size(), 11U + (former.joins ? 1U : 0U));
  EXPECT_EQ(places("old-"), old);

  // Back: what waits is the former scheduler's again, as is new work.
  ASSERT_NO_FATAL_FAILURE(go_back());
  EXPECT_TRUE(stand_in_.running() && berth_answers_to("berth"));
  ASSERT_OK(cluster_->create_pods(1, pod("again", 0)));
  EXPECT_TRUE(eventually([&] { return bound_by(former.scheduler, "again-0"); }));
  EXPECT_TRUE(waits("next-0"));
  EXPECT_TRUE(cluster_->client().del(pod_path("late-0")).ok());
  EXPECT_TRUE(eventually([&] { return bound_by(former.scheduler, "next-0"); })) << reasons_of_waiting();
  auto left = all;
  left.erase("default/late-0");
  for (const auto& [key, place] : left) EXPECT_EQ(places(key.substr(key.find('/') + 1))[key], place) << key;
  expect_clean();
}

INSTANTIATE_TEST_SUITE_P(All, BerthGuidesFrom, testing::Values(volcano(), kai(), coscheduling(), yunikorn()),
                         [](const auto& one) { return one.param.page; });

// Both schedulers stay. The default scheduler has a node full of pods and a part of another one.
TEST_F(BerthGuides, FromTheDefaultScheduler) {
  start_cluster();
  if (IsSkipped()) return;
  if (!has_policies())
    GTEST_SKIP() << "this API server has no MutatingAdmissionPolicy in v1 (Kubernetes 1.36 has)";
  ASSERT_NO_FATAL_FAILURE(read("default-scheduler"));
  PodShape old{.name = "old", .scheduler = "default-scheduler"};
  old.node_selector = {{"kubernetes.io/hostname", "node-0"}};
  PodShape ends = old;
  ends.name = "ends";
  ends.requests.back().second = "4";
  ends.node_selector = {{"kubernetes.io/hostname", "node-1"}};
  ASSERT_OK(cluster_->create_pods(7, old));
  ASSERT_OK(cluster_->create_pods(1, ends));
  ASSERT_TRUE(eventually([&] { return running({"old-", "ends-"}) == 8; })) << reasons_of_waiting();
  const auto before = places("old-");

  ASSERT_NO_FATAL_FAILURE(step());
  ASSERT_NO_FATAL_FAILURE(step());
  ASSERT_NO_FATAL_FAILURE(step());
  EXPECT_NE(said_.find("default/train"), std::string::npos) << said_;
  EXPECT_TRUE(eventually([&] { return running({"train-"}) == 4; })) << reasons_of_waiting();
  ASSERT_NO_FATAL_FAILURE(step());
  // The queue label is enough. Room for `later` comes later, and `more` is more than the queue may have.
  const auto job = [](const std::string& name, int pods) {
    json out = job_json({.name = name, .pods = pods, .suspend = false, .scheduler = ""});
    out["metadata"]["labels"]["berth.dev/queue"] = "research";
    return out;
  };
  const auto written = [&] {
    const Reply reply = cluster_->client().post(jobs_in("default") + "?dryRun=All", job("probe", 1).dump());
    return reply.ok() &&
           json::parse(reply.body)["spec"]["template"]["spec"].value("schedulerName", "") == "berth";
  };
  ASSERT_TRUE(eventually(written));
  create(jobs_in("default"), job("later", 4));
  EXPECT_TRUE(eventually([&] { return get(jobs_in("default") + "/later")["spec"].value("suspend", false); }));
  EXPECT_EQ(running({"later-"}), 0U);
  finish("ends-0");
  EXPECT_TRUE(eventually([&] { return running({"later-"}) == 4; })) << reasons_of_waiting();
  create(jobs_in("default"), job("more", 1));
  EXPECT_EQ(places("old-"), before);
  const auto both = places("");

  ASSERT_NO_FATAL_FAILURE(go_back());
  EXPECT_TRUE(eventually([&] { return !written(); }));
  const Answer moved = run_program({"/bin/bash", "-c", command_of_page("kubectl get job NAME", "more")});
  EXPECT_TRUE(moved.ok()) << moved.text;
  EXPECT_TRUE(eventually([&] { return running({"more-"}) == 1; })) << reasons_of_waiting();
  for (const auto& [key, place] : both) EXPECT_EQ(places(key.substr(key.find('/') + 1))[key], place) << key;
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

// Gangs of Volcano's Job controller and of KAI's pod grouper, on a real API server. The test plays both. It makes owners, PodGroups and
// pods with the names, marks and fields of those controllers, and when they would.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "e2e/berth_fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

constexpr const char* kVolcano = "/apis/scheduling.volcano.sh/v1beta1";
constexpr const char* kVolcanoJobs = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
constexpr const char* kRunAi = "/apis/scheduling.run.ai";
constexpr const char* kPods = "/api/v1/namespaces/default/pods";

class BerthRecorded : public BerthTest {
 protected:
  // Four nodes of two GPUs, in two zones. `marks`: of gangs, with their least size.
  void start_with(const std::vector<std::string>& crds, const std::map<std::string, std::int64_t>& marks) {
    prepare_observer_ = [&](ObserverOfPods& observer) {
      for (const auto& [key, least] : marks) observer.add_gang_label(key, least);
    };
    start();
    ASSERT_OK(cluster_->create_nodes(
        4, {.allocatable = {{"cpu", "32"}, {"memory", "1Ti"}, {"pods", "110"}, {kGpu, "2"}},
            .labels_of = [](std::size_t i) {
              return Labels{{"zone", i < 2 ? "a" : "b"}, {"rack", std::to_string(i)}};
            }}));
    for (const auto& crd : crds)
      ASSERT_OK(cluster_->apply(fmt::format("{}/deploy/crds/{}.yaml", BERTH_SOURCE_DIR, crd)));
    ASSERT_OK(cluster_->create_priority_class("train", 50));
    ASSERT_OK(cluster_->create_priority_class("urgent", 90));
  }
  // Posts until the kind, which was made a moment ago, is served. Gives the object as the server has it.
  json create(const std::string& path, const json& body) {
    Reply reply;
    EXPECT_TRUE(
        eventually([&] { return (reply = cluster_->client().post(path, body.dump())).ok(); }, seconds(30)))
        << path << ": " << reply.describe();
    return reply.ok() ? json::parse(reply.body) : json::object();
  }
  json get(const std::string& path) const {
    const Reply reply = cluster_->client().get(path);
    return reply.ok() ? json::parse(reply.body) : json::object();
  }
  static json owner(const char* version, const char* kind, const std::string& name, const std::string& uid) {
    return json::array({{{"apiVersion", version},
                         {"kind", kind},
                         {"name", name},
                         {"uid", uid},
                         {"controller", true},
                         {"blockOwnerDeletion", true}}});
  }
  static json pod(const std::string& name, int gpus, const char* priority_class) {
    json requests = {{"cpu", "1"}, {"memory", "1Gi"}};
    if (gpus > 0) requests[kGpu] = std::to_string(gpus);
    return {
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata", {{"name", name}, {"labels", json::object()}, {"annotations", json::object()}}},
        {"spec",
         {{"schedulerName", "berth"},
          {"priorityClassName", priority_class},
          {"terminationGracePeriodSeconds", 0},
          {"containers", json::array({{{"name", "main"},
                                       {"image", "image"},
                                       {"resources", {{"requests", requests}, {"limits", requests}}}}})}}}};
  }
  std::size_t bound(const std::string& prefix) const {
    const auto all = observer_->pods();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& entry) {
      return entry.first.starts_with("default/" + prefix + "-") && entry.second.occupies();
    }));
  }
  void expect_bound(const std::string& prefix, std::size_t count) const {
    EXPECT_TRUE(eventually([&] { return bound(prefix) == count; }))
        << prefix << ": " << bound(prefix) << reasons_of_waiting();
  }
  std::set<std::string> nodes_of(const std::string& prefix) const {
    std::set<std::string> out;
    for (const auto& [key, pod] : observer_->pods()) {
      if (key.starts_with("default/" + prefix + "-")) out.insert(pod.node);
    }
    return out;
  }
  void set_phase(const std::string& prefix, const char* phase) {
    for (const auto& [key, pod] : observer_->pods()) {
      if (!key.starts_with("default/" + prefix + "-") || !pod.occupies()) continue;
      const std::string path = std::string(kPods) + "/" + key.substr(key.find('/') + 1) + "/status";
      const Reply reply = cluster_->client().patch(path, json{{"status", {{"phase", phase}}}}.dump());
      EXPECT_TRUE(reply.ok()) << reply.describe();
    }
  }
};

// Volcano's Job, as its controller carries it out.
class VolcanoJobs : public BerthRecorded {
 protected:
  struct Task {
    std::string name;
    int replicas = 1;
    int gpus = 0;
  };
  struct VolcanoJob {
    std::string name, uid, group;
    std::vector<Task> tasks;
    const char* priority_class = "train";
    const char* queue = "default";
  };

  // The Job, and its PodGroup in the phase Pending.
  VolcanoJob submit(const std::string& name, std::vector<Task> tasks, const char* priority_class,
                    const char* queue) {
    VolcanoJob job{name, {}, {}, std::move(tasks), priority_class, queue};
    const json made = create(kVolcanoJobs, {{"apiVersion", "batch.volcano.sh/v1alpha1"},
                                            {"kind", "Job"},
                                            {"metadata", {{"name", name}}},
                                            {"spec", {{"schedulerName", "berth"}, {"queue", queue}}}});
    job.uid = made.value("/metadata/uid"_json_pointer, "");
    job.group = fmt::format("{}-{}", name, job.uid);
    json least = json::object();
    int pods = 0;
    int gpus = 0;
    for (const Task& task : job.tasks) {
      least[task.name] = task.replicas;
      pods += task.replicas;
      gpus += task.replicas * task.gpus;
    }
    create(std::string(kVolcano) + "/namespaces/default/podgroups",
           {{"apiVersion", "scheduling.volcano.sh/v1beta1"},
            {"kind", "PodGroup"},
            {"metadata",
             {{"name", job.group},
              {"ownerReferences", owner("batch.volcano.sh/v1alpha1", "Job", name, job.uid)}}},
            {"spec",
             {{"minMember", pods},
              {"minTaskMember", least},
              {"queue", queue},
              {"priorityClassName", priority_class},
              {"minResources", {{kGpu, std::to_string(gpus)}, {"count/pods", std::to_string(pods)}}}}},
            {"status", {{"phase", "Pending"}}}});
    return job;
  }
  json status(const VolcanoJob& job) const {
    return get(std::string(kVolcano) + "/namespaces/default/podgroups/" + job.group)
        .value("status", json::object());
  }
  void expect_phase(const VolcanoJob& job, const char* phase) const {
    EXPECT_TRUE(eventually([&] { return status(job).value("phase", "") == phase; }))
        << job.name << " is to be " << phase << ": " << status(job).dump();
  }
  // Its controller makes pods once the phase is no longer Pending.
  void make_pods(const VolcanoJob& job, const std::string& only_task = {}) {
    ASSERT_TRUE(eventually([&] {
      const std::string phase = status(job).value("phase", "");
      return !phase.empty() && phase != "Pending";
    })) << status(job).dump();
    for (const Task& task : job.tasks) {
      if (!only_task.empty() && task.name != only_task) continue;
      for (int i = 0; i < task.replicas; ++i) make_pod(job, task, i);
    }
  }
  void make_pod(const VolcanoJob& job, const Task& task, int i) {
    json body = pod(fmt::format("{}-{}-{}", job.name, task.name, i), task.gpus, job.priority_class);
    const json marks = {{"volcano.sh/job-name", job.name},
                        {"volcano.sh/queue-name", job.queue},
                        {"volcano.sh/task-spec", task.name},
                        {"volcano.sh/task-index", std::to_string(i)}};
    body["metadata"]["labels"] = marks;
    body["metadata"]["labels"]["volcano.sh/job-namespace"] = "default";
    body["metadata"]["annotations"] = marks;
    body["metadata"]["annotations"]["volcano.sh/job-version"] = "0";
    body["metadata"]["annotations"]["volcano.sh/job-retry-count"] = "0";
    body["metadata"]["annotations"]["volcano.sh/template-uid"] = job.name + "-" + task.name;
    body["metadata"]["annotations"]["scheduling.k8s.io/group-name"] = job.group;
    body["metadata"]["ownerReferences"] = owner("batch.volcano.sh/v1alpha1", "Job", job.name, job.uid);
    create(kPods, body);
  }
  void queue(const char* name) {
    create(std::string(kVolcano) + "/queues", {{"apiVersion", "scheduling.volcano.sh/v1beta1"},
                                               {"kind", "Queue"},
                                               {"metadata", {{"name", name}}},
                                               {"spec", {{"weight", 1}}}});
  }
};

TEST_F(VolcanoJobs, AJobGoesThroughItsPhases) {
  start_with({"scheduling.volcano.sh_podgroups", "scheduling.volcano.sh_queues"},
             {{"volcano.sh/job-name", 4}});
  ASSERT_OK(cluster_->apply(std::string(BERTH_SOURCE_DIR) + "/tests/e2e/recorded_controllers_crd.yaml"));
  queue("default");
  Berth* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  // Its queue is not there yet: no pods are made.
  VolcanoJob train = submit("train", {{"ps", 1, 0}, {"worker", 4, 1}}, "train", "research");
  EXPECT_TRUE(eventually([&] {
    const json now = status(train);
    return now.value("phase", "") == "Pending" &&
           now.value("/conditions/0/type"_json_pointer, "") == "Unschedulable";
  })) << status(train).dump();
  queue("research");
  expect_phase(train, "Inqueue");
  // Four workers have room, and the parameter server is missing.
  make_pods(train, "worker");
  EXPECT_TRUE(eventually([&] {
    return status(train).value("/conditions/0/reason"_json_pointer, "") == "NotEnoughTasks";
  })) << status(train).dump();
  EXPECT_EQ(bound("train"), 0U);
  make_pods(train, "ps");
  expect_bound("train", 5);
  set_phase("train", "Running");
  expect_phase(train, "Running");
  EXPECT_TRUE(eventually([&] { return status(train).value("running", 0) == 5; })) << status(train).dump();

  // One that needs all GPUs goes before.
  VolcanoJob urgent = submit("urgent", {{"worker", 4, 2}}, "urgent", "research");
  make_pods(urgent);
  expect_bound("urgent", 4);
  EXPECT_EQ(bound("train"), 0U);
  expect_phase(urgent, "Running");
  expect_phase(train, "Inqueue");
  make_pods(train);
  (void)wait_for_reasons({"train-ps-0", "train-worker-0", "train-worker-3"}, "Quota");
  set_phase("urgent", "Succeeded");
  expect_bound("train", 5);
  set_phase("train", "Running");
  expect_phase(train, "Running");
  expect_phase(urgent, "Completed");
  EXPECT_EQ(status(urgent).value("succeeded", 0), 4) << status(urgent).dump();

  // One task has ended, and then a worker is lost. Another scheduler, which never saw that task run, does not wait for it.
  set_phase("train-ps", "Succeeded");
  EXPECT_TRUE(eventually([&] { return status(train).value("succeeded", 0) == 1; })) << status(train).dump();
  EXPECT_EQ(status(train).value("phase", ""), "Running");
  kill(*berth);
  ASSERT_OK(expect_ok(cluster_->client().del(std::string(kPods) + "/train-worker-2"), "deleting a pod"));
  make_pod(train, train.tasks[1], 2);
  ASSERT_NE(start_berth({.name = "berth-2"}), nullptr);
  expect_bound("train-worker", 4);
  EXPECT_TRUE(eventually([&] { return status(train).value("running", 0) == 3; })) << status(train).dump();
  EXPECT_EQ(status(train).value("succeeded", 0), 1) << status(train).dump();
  EXPECT_EQ(status(urgent).value("phase", ""), "Completed") << status(urgent).dump();
  expect_clean();
}

// Replicas of an inference server, each of two pods: one is enough, and the others follow as there is room.
TEST_F(VolcanoJobs, SubgroupsStartInTurnEachWhole) {
  start_with({"scheduling.volcano.sh_podgroups", "scheduling.volcano.sh_queues"}, {{"replica", 2}});
  queue("default");
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK(cluster_->create_pods(1, {.name = fmt::format("old{}", i),
                                        .scheduler = "other",
                                        .requests = {{kGpu, "1"}},
                                        .node = fmt::format("node-{}", i / 2)}));
  }
  ASSERT_NE(start_berth(), nullptr);
  const json each = {
      {"name", "replica"}, {"subGroupSize", 2}, {"minSubGroups", 1}, {"matchLabelKeys", {"replica"}}};
  create(std::string(kVolcano) + "/namespaces/default/podgroups",
         {{"apiVersion", "scheduling.volcano.sh/v1beta1"},
          {"kind", "PodGroup"},
          {"metadata", {{"name", "serve"}}},
          {"spec", {{"minMember", 2}, {"queue", "default"}, {"subGroupPolicy", json::array({each})}}}});
  const auto make = [&](int replica, int number) {
    json body = pod(fmt::format("serve-{}-{}", replica, number), 1, "train");
    body["metadata"]["labels"] = {{"replica", fmt::format("r{}", replica)}};
    body["metadata"]["annotations"] = {{"scheduling.k8s.io/group-name", "serve"}};
    create(kPods, body);
  };
  const auto free_one = [&](int number) {
    ASSERT_OK(expect_ok(cluster_->client().del(fmt::format("{}/old{}-0", kPods, number)), "deleting a pod"));
  };
  VolcanoJob serve;
  serve.name = serve.group = "serve";
  for (int replica = 0; replica < 3; ++replica) make(replica, 0);
  (void)wait_for_reasons({"serve-0-0", "serve-1-0", "serve-2-0"}, "IncompleteGang");
  // Three GPUs are free: room for one, and for half of another.
  for (int replica = 0; replica < 3; ++replica) make(replica, 1);
  expect_bound("serve", 2);
  expect_phase(serve, "Running");
  std::this_thread::sleep_for(seconds(2));
  EXPECT_EQ(bound("serve"), 2U) << "no half of one";
  free_one(0);
  expect_bound("serve", 4);
  free_one(1);
  free_one(2);
  expect_bound("serve", 6);
  expect_phase(serve, "Running");
  expect_clean();
}

// KAI's pod grouper makes a PodGroup for the topmost owner, and its marks on the pods; its subgroups are those of the owner's kind.
class KaiGroups : public BerthRecorded {
 protected:
  void queues() {
    const auto queue = [&](const char* name, const char* parent) {
      json spec = {{"resources", json::object()}};
      for (const char* resource : {"gpu", "cpu", "memory"})
        spec["resources"][resource] = {{"quota", -1}, {"limit", -1}, {"overQuotaWeight", 1}};
      if (*parent != 0) spec["parentQueue"] = parent;
      create(std::string(kRunAi) + "/v2/queues", {{"apiVersion", "scheduling.run.ai/v2"},
                                                  {"kind", "Queue"},
                                                  {"metadata", {{"name", name}}},
                                                  {"spec", spec}});
    };
    queue("department", "");
    queue("team", "department");
  }
  // The PodGroup of a PyTorchJob, with this spec.
  void group(const std::string& name, const char* priority_class, json spec) {
    spec["queue"] = "team";
    spec["priorityClassName"] = priority_class;
    create(std::string(kRunAi) + "/v2alpha2/namespaces/default/podgroups",
           {{"apiVersion", "scheduling.run.ai/v2alpha2"},
            {"kind", "PodGroup"},
            {"metadata",
             {{"name", "pg-" + name + "-" + uid(name)},
              {"labels", {{"kai.scheduler/queue", "team"}}},
              {"annotations", {{"kai.scheduler/top-owner-metadata", "name: " + name}}},
              {"ownerReferences", owner("kubeflow.org/v1", "PyTorchJob", name, uid(name))}}},
            {"spec", spec}});
  }
  void pods(const std::string& name, const char* subgroup, int count, int gpus, const char* priority_class) {
    for (int i = 0; i < count; ++i) {
      json body = pod(fmt::format("{}-{}-{}", name, subgroup, i), gpus, priority_class);
      body["metadata"]["labels"] = {{"kai.scheduler/queue", "team"},
                                    {"kai.scheduler/subgroup-name", subgroup},
                                    {"training.kubeflow.org/job-name", name}};
      body["metadata"]["annotations"] = {{"pod-group-name", "pg-" + name + "-" + uid(name)}};
      body["metadata"]["ownerReferences"] = owner("kubeflow.org/v1", "PyTorchJob", name, uid(name));
      create(kPods, body);
    }
  }
  static std::string uid(const std::string& name) { return "2a1b2c3d-0000-4000-8000-" + name; }
};

TEST_F(KaiGroups, AGangOfSubgroupsWaitsStartsIsDisplacedAndStartsAgainWhole) {
  start_with({"scheduling.run.ai_podgroups", "scheduling.run.ai_queues", "kai.scheduler_topologies"},
             {{"training.kubeflow.org/job-name", 4}});
  queues();
  create("/apis/kai.scheduler/v1alpha1/topologies",
         {{"apiVersion", "kai.scheduler/v1alpha1"},
          {"kind", "Topology"},
          {"metadata", {{"name", "cluster"}}},
          {"spec", {{"levels", json::array({{{"nodeLabel", "zone"}}, {{"nodeLabel", "rack"}}})}}}});
  ASSERT_OK(cluster_->create_pods(
      1, {.name = "old", .scheduler = "other", .requests = {{kGpu, "1"}}, .node = "node-0"}));
  ASSERT_NE(start_berth(), nullptr);
  // All in one zone: zone a lacks a GPU, zone b has four.
  const json near = {{"topology", "cluster"}, {"requiredTopologyLevel", "zone"}};
  const json parts =
      json::array({{{"name", "master"}, {"minMember", 1}}, {{"name", "worker"}, {"minMember", 3}}});
  group("bert", "train", {{"subGroups", parts}, {"topologyConstraint", near}});
  pods("bert", "worker", 3, 1, "train");
  (void)wait_for_reasons(names_of("bert-worker", 3), "IncompleteGang");
  pods("bert", "master", 1, 1, "train");
  expect_bound("bert", 4);
  EXPECT_EQ(nodes_of("bert"), (std::set<std::string>{"node-2", "node-3"}));
  // A second one has no zone, although three GPUs are free.
  group("second", "train", {{"subGroups", parts}, {"topologyConstraint", near}});
  pods("second", "worker", 3, 1, "train");
  pods("second", "master", 1, 1, "train");
  (void)wait_for_reasons({"second-master-0", "second-worker-2"}, "Unschedulable");
  EXPECT_EQ(bound("second"), 0U);
  // Work of higher priority takes the zone, whole.
  group("urgent", "urgent", {{"minMember", 4}, {"topologyConstraint", near}});
  pods("urgent", "default", 4, 1, "urgent");
  expect_bound("urgent", 4);
  EXPECT_EQ(bound("bert"), 0U);
  pods("bert", "worker", 3, 1, "train");
  pods("bert", "master", 1, 1, "train");
  set_phase("urgent", "Succeeded");
  EXPECT_TRUE(eventually([&] { return bound("bert") + bound("second") == 4; })) << reasons_of_waiting();
  EXPECT_TRUE(bound("bert") == 4 || bound("bert") == 0);
  // The last GPU comes free: both run.
  ASSERT_OK(expect_ok(cluster_->client().del("/api/v1/namespaces/default/pods/old-0"), "deleting a pod"));
  expect_bound("bert", 4);
  expect_bound("second", 4);
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

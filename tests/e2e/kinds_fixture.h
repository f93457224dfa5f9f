// Kinds of jobs of other projects with their own controllers (project_controller.h): what each of their tests does.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "e2e/project_controller.h"
#include "e2e/workloads_fixture.h"

namespace berth::e2e {

// Whether these controllers have to be there: BERTH_E2E_KINDS names each of them (`jobset,kuberay`), or says `required`: all.
inline bool are_required(const std::vector<std::string>& names) {
  const char* given = std::getenv("BERTH_E2E_KINDS");
  const std::string all = fmt::format(",{},", given == nullptr ? "" : given);
  return all == ",required," || std::all_of(names.begin(), names.end(), [&](const std::string& name) {
           return all.find(fmt::format(",{},", name)) != std::string::npos;
         });
}

// Skips a test whose controllers are not built; it fails where they are required.
inline void need_controllers(const std::vector<std::string>& names) {
  const std::string why = ProjectController::what_is_missing(names);
  if (why.empty()) return;
  if (are_required(names)) FAIL() << why;
  GTEST_SKIP() << why;
}

// Objects of one kind, and how they are judged.
struct JudgedKind {
  std::string path;      // of its objects in the namespace
  std::size_t pods = 0;  // of one object
  std::function<json(const std::string& name, const std::string& priority_class)> body;  // suspended
  // Its own controller says so. Empty: it cannot be suspended, and its pods wait.
  std::function<bool(const json& object)> suspended = {};
  std::function<bool(const json& object)> well;  // nothing of it has failed, no retry is used
  std::string ends = {};                         // in the names of the pods that end by themselves
  std::function<void(const std::string& name)> finish = {};  // what its pods would do; empty: those end well
  std::function<bool(const json& object)> done =
      {};  // its own controller says so; empty: it is deleted instead
};

class KindsTest : public WorkloadsTest {
 public:
  // AppWrapper's controller looks once a minute at what it has not seen an event of.
  static constexpr milliseconds kDone{90'000};
  static json object(const std::string& version, const std::string& kind, const std::string& name) {
    return {{"apiVersion", version},
            {"kind", kind},
            {"metadata", {{"name", name}, {"labels", {{"kueue.x-k8s.io/queue-name", "team"}}}}}};
  }
  // A pod of one GPU.
  static json spec_of_pod(const std::string& priority_class, const std::string& container = "main",
                          const std::string& restarts = "") {
    json out = pod_spec();
    out["containers"][0]["name"] = container;
    out["priorityClassName"] = priority_class;
    out.erase("restartPolicy");
    if (!restarts.empty()) out["restartPolicy"] = restarts;
    return out;
  }
  // As work of production has it: an init container that asks for more than the main one, and a volume of a claim.
  static json with_data(json spec, const std::string& claim) {
    const json mount = json::array({{{"name", "data"}, {"mountPath", "/data"}}});
    spec["initContainers"] = json::array({{{"name", "fetch"},
                                           {"image", "image"},
                                           {"resources", {{"requests", {{"cpu", "2"}, {"memory", "1Gi"}}}}},
                                           {"volumeMounts", mount}}});
    spec["volumes"] = json::array({{{"name", "data"}, {"persistentVolumeClaim", {{"claimName", claim}}}}});
    spec["containers"][0]["volumeMounts"] = mount;
    return spec;
  }
  static bool has(const json& object, const std::string& type) {
    return condition_in(object, type).starts_with("True");
  }

 protected:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  virtual std::vector<std::string> controllers() const = 0;
  void SetUp() override {
    WorkloadsTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    need_controllers(controllers());
  }

  // Pods run until they are ended; as a kubelet does, they fail when they are deleted.
  void start_with_controllers(int gpus, const Environment& env = {}) {
    kubelets_end_pods_ = true;
    start_with_queue(gpus, 86'400'000);
    grant(gpus);
    ASSERT_OK(cluster_->create_priority_class("low", 10));
    ASSERT_OK(cluster_->create_priority_class("high", 100));
    for (const auto& name : controllers()) {
      controllers_.push_back(std::make_unique<ProjectController>(*cluster_, name));
      ASSERT_OK(controllers_.back()->start(env));
    }
  }

  // Beside node-0, which is in no rack: two racks of two nodes, each with two GPUs. rack-0 and rack-1 are one of them.
  static constexpr const char* kRack = "example.com/rack";
  void start_with_racks() {
    start_with_controllers(20);
    NodeShape shape{.name = "rack", .allocatable = {{"cpu", "64"}, {"memory", "1Ti"}, {"pods", "110"}}};
    shape.allocatable.emplace_back("nvidia.com/gpu", "2");
    shape.labels_of = [](std::size_t i) { return Labels{{kRack, "r" + std::to_string(i / 2)}}; };
    ASSERT_OK(cluster_->create_nodes(4, shape));
    ASSERT_NE(start_berth(), nullptr);
  }

  // The quota of the queue. Controllers add containers that ask for memory: a queue without quota for it takes no such pods.
  void grant(std::size_t gpus, const char* memory = "1Ti") {
    const json resources =
        json::array({{{"name", "cpu"}, {"nominalQuota", "1000"}},
                     {{"name", "memory"}, {"nominalQuota", memory}},
                     {{"name", "nvidia.com/gpu"}, {"nominalQuota", std::to_string(gpus)}}});
    const json flavors = json::array({{{"name", "any"}, {"resources", resources}}});
    const json group = {{"coveredResources", {"cpu", "memory", "nvidia.com/gpu"}}, {"flavors", flavors}};
    patch(std::string(kGroup) + "/clusterqueues/cq", {{"spec", {{"resourceGroups", json::array({group})}}}});
  }

  // A claim of a volume that each node reaches.
  void create_claim(const std::string& name) {
    json spec = {{"accessModes", {"ReadWriteMany"}}, {"storageClassName", ""}};
    json volume = {{"apiVersion", "v1"}, {"kind", "PersistentVolume"}, {"metadata", {{"name", name}}}};
    volume["spec"] = spec;
    volume["spec"]["capacity"]["storage"] = "1Gi";
    volume["spec"]["nfs"] = {{"server", "files.example.com"}, {"path", "/" + name}};
    create("/api/v1/persistentvolumes", volume);
    json claim = {{"apiVersion", "v1"}, {"kind", "PersistentVolumeClaim"}, {"metadata", {{"name", name}}}};
    claim["spec"] = spec;
    claim["spec"]["volumeName"] = name;
    claim["spec"]["resources"]["requests"]["storage"] = "1Gi";
    create("/api/v1/namespaces/default/persistentvolumeclaims", claim);
  }
  std::size_t occupying(const std::string& name) const {
    std::size_t out = 0;
    for (const auto& [key, pod] : observer_->pods())
      out += key.starts_with("default/" + name + "-") && pod.occupies() ? 1 : 0;
    return out;
  }
  std::size_t pods(const std::string& name) const {
    std::size_t out = 0;
    for (const auto& [key, pod] : observer_->pods()) out += key.starts_with("default/" + name + "-") ? 1 : 0;
    return out;
  }
  // A kubelet says that it has ended well.
  void finish_pod(const std::string& name) {
    const std::string path = fmt::format("/api/v1/namespaces/default/pods/{}", name);
    const json pod = get(path);
    if (!pod.is_object()) return;
    json containers = pod["status"].value("containerStatuses", json::array());
    for (json& one : containers) {
      one["ready"] = false;
      one["state"] = {{"terminated", {{"exitCode", 0}, {"reason", "Completed"}}}};
    }
    const json ended = {{"status", {{"phase", "Succeeded"}, {"containerStatuses", containers}}}};
    (void)cluster_->client().patch(path + "/status", ended.dump(), kMergePatch);
  }
  // Those of its pods that run and have this word in their names end well.
  void finish(const std::string& name, const std::string& word = "") {
    for (const auto& [key, pod] : observer_->pods()) {
      if (key.starts_with("default/" + name + "-") && !pod.node.empty() && !pod.terminal() &&
          key.find(word) != std::string::npos)
        finish_pod(key.substr(8));
    }
  }
  // Its pods end well until that holds: the kubelet's word that a pod runs may come after the word that it has ended.
  bool finishes(const std::string& name, const std::function<bool()>& holds, milliseconds at_most = kLong) {
    return eventually(
        [&] {
          finish(name);
          return holds();
        },
        at_most);
  }
  json named(const JudgedKind& kind, const std::string& name) const { return get(kind.path + "/" + name); }
  std::string said(const JudgedKind& kind, const std::string& name) const {
    const json object = named(kind, name);
    return (object.is_object() ? object.value("status", json::object()).dump() : "gone") +
           reasons_of_waiting();
  }
  void expect_runs(const JudgedKind& kind, const std::string& name) {
    EXPECT_TRUE(eventually([&] { return occupying(name) == kind.pods; }))
        << name << " has " << occupying(name) << " of " << kind.pods << ": " << said(kind, name);
  }
  void end_pods(const JudgedKind& kind, const std::string& name) {
    if (kind.finish) {
      kind.finish(name);
    } else {
      finish(name, kind.ends);
    }
  }
  // No pod of it has a place, and it has none at all where it can be suspended.
  bool waits(const JudgedKind& kind, const std::string& name) const {
    if (!kind.suspended) return pods(name) > 0 && occupying(name) == 0;
    return pods(name) == 0 && kind.suspended(named(kind, name));
  }
  void expect_finishes(const JudgedKind& kind, const std::string& name) {
    EXPECT_TRUE(kind.well(named(kind, name))) << said(kind, name);
    if (!kind.done) {
      EXPECT_TRUE(cluster_->client().del(kind.path + "/" + name).ok());
      return;
    }
    // Again and again: the kubelet's word that a pod runs may come after the word that it has ended.
    const auto ends = [&] {
      end_pods(kind, name);
      return kind.done(named(kind, name));
    };
    EXPECT_TRUE(eventually(ends, kDone)) << said(kind, name);
    EXPECT_TRUE(kind.well(named(kind, name))) << said(kind, name);
  }
  // Two have no room at once: one waits, the other is displaced whole by a third. They start again, and finish.
  void expect_whole_life(const JudgedKind& kind) {
    create(kind.path, kind.body("low", "low"));
    expect_runs(kind, "low");
    create(kind.path, kind.body("next", "low"));
    std::this_thread::sleep_for(seconds(3));
    EXPECT_TRUE(waits(kind, "next")) << "it has no room: " << said(kind, "next");
    create(kind.path, kind.body("high", "high"));
    expect_runs(kind, "high");
    EXPECT_TRUE(eventually([&] { return waits(kind, "low"); })) << said(kind, "low");
    EXPECT_TRUE(kind.well(named(kind, "low"))) << said(kind, "low");
    expect_finishes(kind, "high");
    // The pods of what cannot be suspended were made anew: they are younger than those of the other.
    const auto one_runs = [&] { return occupying("low") + occupying("next") > 0; };
    const bool low_first = kind.suspended || (eventually(one_runs) && occupying("low") > 0);
    for (const char* name : {low_first ? "low" : "next", low_first ? "next" : "low"}) {
      expect_runs(kind, name);
      expect_finishes(kind, name);
    }
    expect_clean();
    for (const char* name : {"high", "low", "next"}) {
      (void)cluster_->client().del(kind.path + "/" + name);
      EXPECT_TRUE(eventually([&] { return pods(name) == 0 && named(kind, name).is_null(); })) << name;
    }
  }

  std::vector<std::unique_ptr<ProjectController>> controllers_;
};

}  // namespace berth::e2e

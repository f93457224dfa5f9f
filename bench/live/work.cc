#include "work.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

namespace berth::bench {

using e2e::PodShape;
using std::chrono::milliseconds;

PodShape Work::shape(std::string name) const {
  PodShape out{.name = std::move(name), .scheduler = contender_.scheduler};
  if (queued_) out.labels = {{"kueue.x-k8s.io/queue-name", "team-0"}};
  return out;
}
std::vector<std::string> Work::plain_pods(std::size_t count) const {
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < count; ++i) {
    bodies.push_back(e2e::pod_json(shape("pod"), i));
  }
  return bodies;
}

std::string Work::member(const std::string& gang, std::size_t i, const PodShape& base) const {
  PodShape pod = base;
  pod.name = gang;
  if (contender_.gangs) {
    pod.labels.emplace_back("berth.dev/gang", gang);
    pod.labels.emplace_back("berth.dev/gang-size", std::to_string(kGang));
  }
  return e2e::pod_json(pod, i);
}

std::vector<std::string> Work::gang_pods(const std::string& name, std::size_t gangs,
                                         const std::string& priority, bool interleave) const {
  PodShape base = shape(name);
  base.priority_class = priority;
  std::vector<std::string> bodies;
  for (std::size_t i = 0; i < gangs * kGang; ++i) {
    const std::size_t gang = interleave ? i % gangs : i / kGang;
    const std::size_t rank = interleave ? i / gangs : i % kGang;
    bodies.push_back(member(fmt::format("{}-{}", name, gang), rank, base));
  }
  return bodies;
}

std::string Work::job(std::size_t i, std::size_t pods, std::size_t queues) const {
  return fmt::format(
      R"({{"apiVersion":"batch/v1","kind":"Job","metadata":{{"name":"job-{}"{}}},"spec":{{"parallelism":{},"completions":{},)"
      R"("suspend":{},"template":{{"spec":{{"schedulerName":"{}","restartPolicy":"Never","containers":[{{"name":"main","image":)"
      R"("image","resources":{{"requests":{{"cpu":"1","memory":"1Gi"}},"limits":{{"nvidia.com/gpu":"1"}}}}}}]}}}}}}}})",
      i, queued_ ? fmt::format(R"(,"labels":{{"kueue.x-k8s.io/queue-name":"team-{}"}})", i % queues) : "",
      pods, pods, queued_ || contender_.released, contender_.scheduler);
}

Status Work::create_jobs(e2e::TestCluster& cluster, std::size_t count, std::size_t pods,
                         std::size_t queues) const {
  static const std::string kJobs = "/apis/batch/v1/namespaces/default/jobs";
  return e2e::for_each_parallel(
      cluster.endpoint(), count, 32, [&](e2e::ApiClient& api, std::size_t i) -> Status {
        BERTH_TRY(e2e::expect_ok(api.post(kJobs, job(i, pods, queues)), "making a Job"));
        if (!contender_.released) return {};
        return e2e::expect_ok(api.patch(fmt::format("{}/job-{}", kJobs, i), R"({"spec":{"suspend":false}})"),
                              "releasing a Job");
      });
}

std::string Work::jobset(std::size_t i, bool queued, bool suspended) const {
  return fmt::format(
      R"({{"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{{"name":"set-{}"{}}},"spec":{{{}"replicatedJobs":[{{"name":"workers","replicas":1,)"
      R"("template":{{"spec":{{"parallelism":{},"completions":{},"template":{{"spec":{{"schedulerName":"{}",)"
      R"("restartPolicy":"Never","containers":[{{"name":"main","image":"image","resources":{{"requests":{{"cpu":"1",)"
      R"("memory":"1Gi"}},"limits":{{"nvidia.com/gpu":"1"}}}}}}]}}}}}}}}}}]}}}})",
      i, queued ? R"(,"labels":{"kueue.x-k8s.io/queue-name":"team-0"})" : "",
      suspended ? R"("suspend":true,)" : "", kGang, kGang, contender_.scheduler);
}

Status install_queues(e2e::TestCluster& cluster) {
  return cluster.apply(BERTH_SOURCE_DIR "/deploy/crds");
}

Status make_queues(e2e::TestCluster& cluster, std::size_t count, std::size_t gpus, bool stopped) {
  BERTH_TRY(install_queues(cluster));
  return create_queues(cluster, count, gpus, stopped);
}

Status create_queues(e2e::TestCluster& cluster, std::size_t count, std::size_t gpus, bool stopped) {
  auto api = cluster.client();
  const std::string group = "/apis/kueue.x-k8s.io/v1beta2";
  const auto create = [&](const std::string& path, const std::string& body) -> Status {
    e2e::Reply reply;
    for (int i = 0; i < 300; ++i) {  // until the kind is served
      reply = api.post(path, body);
      if (reply.ok()) return {};
      std::this_thread::sleep_for(milliseconds(50));
    }
    return e2e::expect_ok(reply, "POST " + path);
  };
  BERTH_TRY(create(
      group + "/resourceflavors",
      R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ResourceFlavor","metadata":{"name":"any"},"spec":{}})"));
  for (std::size_t i = 0; i < count; ++i) {
    BERTH_TRY(create(
        group + "/clusterqueues",
        fmt::format(
            R"({{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{{"name":"team-{}"}},"spec":{{)"
            R"("namespaceSelector":{{}},"stopPolicy":"{}","preemption":{{"withinClusterQueue":"LowerPriority"}},)"
            R"("resourceGroups":[{{"coveredResources":["cpu","memory","nvidia.com/gpu"],"flavors":[{{"name":"any","resources":[)"
            R"({{"name":"cpu","nominalQuota":"1000000"}},{{"name":"memory","nominalQuota":"1000Ti"}},)"
            R"({{"name":"nvidia.com/gpu","nominalQuota":"{}"}}]}}]}}]}}}})",
            i, stopped ? "Hold" : "None", gpus)));
    BERTH_TRY(create(
        group + "/namespaces/default/localqueues",
        fmt::format(
            R"({{"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue","metadata":{{"name":"team-{0}"}},"spec":{{"clusterQueue":"team-{0}"}}}})",
            i)));
  }
  return {};
}

}  // namespace berth::bench

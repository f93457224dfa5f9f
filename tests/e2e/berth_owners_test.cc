// Owners of pods that cannot be suspended, on a real API server with their controllers: StatefulSets.
#include <nlohmann/json.hpp>
#include <thread>

#include "e2e/workloads_fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

constexpr const char* kStatefulSets = "/apis/apps/v1/namespaces/default/statefulsets";

class BerthOwners : public WorkloadsTest {
 protected:
  // Pods of one GPU each. The queue stands on the StatefulSet alone.
  void create_set(const std::string& name, int replicas, const std::string& policy,
                  const std::string& priority_class = "") {
    json set = json::parse(R"({
      "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "team"}},
      "spec": {"template": {"spec": {"schedulerName": "berth", "containers": [
        {"name": "main", "image": "image", "resources": {"requests": {"cpu": "1"},
         "limits": {"nvidia.com/gpu": "1"}}}]}}}})");
    set["metadata"]["name"] = set["spec"]["serviceName"] = name;
    set["spec"]["replicas"] = replicas;
    set["spec"]["podManagementPolicy"] = policy;
    set["spec"]["selector"]["matchLabels"]["app"] = name;
    set["spec"]["template"]["metadata"]["labels"]["app"] = name;
    if (!priority_class.empty()) set["spec"]["template"]["spec"]["priorityClassName"] = priority_class;
    create(kStatefulSets, set);
  }
  std::size_t occupying(const std::string& name) const {
    std::size_t out = 0;
    for (const auto& [key, pod] : observer_->pods()) {
      if (key.starts_with("default/" + name + "-") && pod.occupies()) ++out;
    }
    return out;
  }
  std::size_t pods(const std::string& name) const {
    std::size_t out = 0;
    for (const auto& [key, pod] : observer_->pods()) out += key.starts_with("default/" + name + "-") ? 1 : 0;
    return out;
  }
};

TEST_F(BerthOwners, AParallelStatefulSetStartsWholeIsPreemptedWholeAndComesBack) {
  start_with_queue(8, std::nullopt);
  ASSERT_OK(cluster_->create_priority_class("low", 10));
  ASSERT_OK(cluster_->create_priority_class("high", 100));
  ASSERT_NE(start_berth(), nullptr);
  create_set("low", 5, "Parallel", "low");
  EXPECT_TRUE(eventually([&] { return occupying("low") == 5; }));
  create_set("wide", 5, "Parallel", "low");
  EXPECT_TRUE(eventually([&] { return pods("wide") == 5; }));
  std::this_thread::sleep_for(seconds(2));
  EXPECT_EQ(occupying("wide"), 0U) << "3 of 8 GPUs are free, and it starts whole";
  create_set("high", 6, "Parallel", "high");
  EXPECT_TRUE(eventually([&] { return occupying("high") == 6; }));
  EXPECT_TRUE(eventually([&] { return occupying("low") == 0 && pods("low") == 5; }))
      << "its controller makes its pods again, and they wait";
  ASSERT_OK(
      expect_ok(cluster_->client().del(fmt::format("{}/wide", kStatefulSets)), "deleting a StatefulSet"));
  ASSERT_OK(
      expect_ok(cluster_->client().del(fmt::format("{}/high", kStatefulSets)), "deleting a StatefulSet"));
  EXPECT_TRUE(eventually([&] { return occupying("low") == 5; }));
  expect_clean();
}

TEST_F(BerthOwners, AnOrderedStatefulSetRunsAsFarAsItsQueueGoes) {
  start_with_queue(3, std::nullopt);
  ASSERT_NE(start_berth(), nullptr);
  create_set("db", 5, "OrderedReady");
  EXPECT_TRUE(eventually([&] { return occupying("db") == 3 && pods("db") == 4; }))
      << "the fourth waits for quota, and the fifth for the fourth";
  EXPECT_TRUE(eventually([&] {
    return cluster_->client().get("/api/v1/namespaces/default/pods/db-3").body.find("quota") !=
           std::string::npos;
  })) << "its condition says why";
  expect_clean();
}

// The object is not there either: Berth knows of it what the pod says.
TEST_F(BerthOwners, AnOwnerOfAKindThatIsNotReadIsToldThatItsPodsStartOneByOne) {
  start_with_queue(8, std::nullopt);
  ASSERT_NE(start_berth(), nullptr);
  json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  pod["metadata"] = {{"name", "pt-worker-0"}};
  pod["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "lab.example.org/v1"},
                                                     {"kind", "Experiment"},
                                                     {"name", "pt"},
                                                     {"uid", "7f8a1b52-0000-4000-8000-000000000001"},
                                                     {"controller", true}}});
  pod["spec"] = pod_spec();
  create("/api/v1/namespaces/default/pods", pod);
  EXPECT_TRUE(eventually([&] { return occupying("pt-worker") == 1; }));
  EXPECT_TRUE(eventually([&] {
    const json events = get("/apis/events.k8s.io/v1/namespaces/default/events");
    for (const json& event : events.value("items", json::array())) {
      if (event.value("reason", "") == "OwnerNotRead" && event["regarding"].value("name", "") == "pt" &&
          event["regarding"].value("kind", "") == "Experiment")
        return true;
    }
    return false;
  }));
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

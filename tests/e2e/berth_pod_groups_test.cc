// Kubernetes' own PodGroup (scheduling.k8s.io) on API servers that serve it. Gangs of pods that name one in spec.schedulingGroup wait
// whole, start whole, are displaced whole and start again. The conditions of the PodGroup say so. With the default version and its gate,
// and with 1.37, where scripts/control-plane has built that. BERTH_E2E_POD_GROUPS=required makes the skip a failure.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "e2e/berth_fixture.h"

namespace berth::e2e {
namespace {

using nlohmann::json;

struct ServedBy {
  const char* kubernetes;  // "" = the default
  const char* starts_with;
  const char* version;
  const char* started;  // type of the condition
  const char* as_one;   // disruptionMode
  std::vector<std::string> gates;
};

const ServedBy kServers[] = {
    {"",
     "v1.36",
     "v1alpha2",
     "PodGroupScheduled",
     R"("PodGroup")",
     {"GenericWorkload=true", "GangScheduling=true", "WorkloadAwarePreemption=true"}},
    {"1.37.0", "v1.37", "v1beta1", "PodGroupInitiallyScheduled", R"({"all": {}})", {"GenericWorkload=true"}},
};

class BerthPodGroups : public BerthTest, public testing::WithParamInterface<ServedBy> {
 protected:
  void SetUp() override {
    BerthTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const auto found = TestCluster::find_program("kube-apiserver", GetParam().kubernetes);
    if (found) return;
    const char* required = std::getenv("BERTH_E2E_POD_GROUPS");
    if (required != nullptr && std::string(required) == "required") FAIL() << found.error().str();
    GTEST_SKIP() << found.error().str();
  }

  // One node with eight GPUs, and classes of priority.
  void start_server() {
    prepare_observer_ = [](ObserverOfPods& observer) {
      observer.add_gang_label("four", 4);
      observer.add_gang_label("eight", 8);
    };
    start({.kubernetes = GetParam().kubernetes,
           .feature_gates = GetParam().gates,
           .runtime_config = {fmt::format("scheduling.k8s.io/{}=true", GetParam().version)}});
    ASSERT_TRUE(cluster_->version().starts_with(GetParam().starts_with)) << cluster_->version();
    ASSERT_OK(cluster_->create_nodes(1));
    ASSERT_OK(cluster_->create_priority_class("low", 10));
    ASSERT_OK(cluster_->create_priority_class("high", 100));
    ASSERT_NE(start_berth(), nullptr);
  }

  std::string path(const std::string& name = {}) const {
    const std::string all =
        fmt::format("/apis/scheduling.k8s.io/{}/namespaces/default/podgroups", GetParam().version);
    return name.empty() ? all : all + "/" + name;
  }
  void group(const std::string& name, const json& policy, const std::string& priority_class,
             const json& mode = {}) {
    json body = {{"apiVersion", fmt::format("scheduling.k8s.io/{}", GetParam().version)},
                 {"kind", "PodGroup"},
                 {"metadata", {{"name", name}}},
                 {"spec", {{"schedulingPolicy", policy}, {"priorityClassName", priority_class}}}};
    if (!mode.is_null()) body["spec"]["disruptionMode"] = mode;
    const Reply reply = cluster_->client().post(path(), body.dump());
    ASSERT_TRUE(reply.ok()) << reply.describe();
  }
  // Pods of one GPU each, as the controller of a gang makes them.
  void pods(const std::string& name, std::size_t count, const std::string& priority_class,
            const char* gang_label = nullptr) {
    PodShape shape{.name = name, .requests = {{"cpu", "1"}, {kGpu, "1"}}, .priority_class = priority_class};
    shape.extra_spec = fmt::format(R"("schedulingGroup":{{"podGroupName":"{}"}},)", name);
    if (gang_label != nullptr) shape.labels = {{gang_label, name}};
    ASSERT_OK(cluster_->create_pods(count, shape));
  }
  void end_pods(const std::string& name, std::size_t count) {
    for (const auto& pod : names_of(name, count)) {
      const Reply reply =
          cluster_->client().patch(fmt::format("/api/v1/namespaces/default/pods/{}/status", pod),
                                   R"({"status":{"phase":"Succeeded"}})");
      ASSERT_TRUE(reply.ok()) << reply.describe();
    }
  }

  // "True Scheduled"; "": there is none.
  std::string condition(const std::string& name, const std::string& type) const {
    const Reply reply = cluster_->client().get(path(name));
    if (!reply.ok()) return reply.describe();
    const json object = json::parse(reply.body);
    for (const json& c : object.value("/status/conditions"_json_pointer, json::array())) {
      if (c.value("type", "") == type) return c.value("status", "") + " " + c.value("reason", "");
    }
    return {};
  }
  void expect_condition(const std::string& name, const std::string& type, const std::string& wanted) const {
    std::string seen;
    EXPECT_TRUE(eventually([&] { return (seen = condition(name, type)) == wanted; }))
        << name << " " << type << ": " << seen << " and not " << wanted;
  }
  std::size_t bound(const std::string& name) const {
    const auto all = observer_->pods();
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const auto& entry) {
      return entry.first.starts_with("default/" + name + "-") && entry.second.occupies();
    }));
  }
  void expect_bound(const std::string& name, std::size_t count) const {
    EXPECT_TRUE(eventually([&] { return bound(name) == count; })) << name << ": " << bound(name);
  }
};

TEST_P(BerthPodGroups, AGangWaitsStartsIsDisplacedAndStartsAgainWhole) {
  const std::string started = GetParam().started;
  start_server();
  ASSERT_OK(cluster_->create_pods(
      1, {.name = "old", .scheduler = "other", .requests = {{kGpu, "5"}}, .node = "node-0"}));
  // Its pods are there first, and wait for the object.
  pods("train", 3, "low", "four");
  const std::string missing = wait_for_reasons(names_of("train", 3), "Invalid");
  EXPECT_NE(missing.find("PodGroup default/train does not exist"), std::string::npos) << missing;
  group("train", {{"gang", {{"minCount", 4}}}}, "low");
  (void)wait_for_reasons(names_of("train", 3), "IncompleteGang");
  expect_condition("train", started, "False Unschedulable");
  // All four are there, and three have room.
  const PodShape last{.name = "train",
                      .requests = {{"cpu", "1"}, {kGpu, "1"}},
                      .labels = {{"four", "train"}},
                      .priority_class = "low",
                      .extra_spec = R"("schedulingGroup":{"podGroupName":"train"},)"};
  ASSERT_OK(cluster_->create_all("/api/v1/namespaces/default/pods", {pod_json(last, 3)}));
  (void)wait_for_reasons(names_of("train", 4), "Unschedulable");
  EXPECT_EQ(bound("train"), 0U);
  expect_condition("train", started, "False Unschedulable");
  ASSERT_OK(expect_ok(cluster_->client().del("/api/v1/namespaces/default/pods/old-0"), "deleting a pod"));
  expect_bound("train", 4);
  expect_condition("train", started, "True Scheduled");
  EXPECT_EQ(condition("train", "DisruptionTarget"), "");

  // A gang that needs the whole node goes before.
  group("urgent", {{"gang", {{"minCount", 8}}}}, "high");
  pods("urgent", 8, "high", "eight");
  expect_bound("urgent", 8);
  EXPECT_EQ(bound("train"), 0U);
  expect_condition("urgent", started, "True Scheduled");
  expect_condition("train", "DisruptionTarget", "True PreemptionByScheduler");
  EXPECT_EQ(condition("train", started), "True Scheduled") << "the first start is final";
  // Its pods are made again, and wait until the other has ended.
  pods("train", 4, "low", "four");
  (void)wait_for_reasons(names_of("train", 4), "Unschedulable");
  end_pods("urgent", 8);
  expect_bound("train", 4);
  expect_condition("train", "DisruptionTarget", "");
  end_pods("train", 4);
  expect_bound("train", 0);
  EXPECT_EQ(condition("train", started), "True Scheduled");
  expect_clean();
}

TEST_P(BerthPodGroups, APolicyAndAModeAreCarriedOut) {
  const std::string started = GetParam().started;
  start_server();
  // Each on its own: six of nine have room beside three of another.
  group("single", {{"basic", json::object()}}, "low");
  group("together", {{"gang", {{"minCount", 2}}}}, "low", json::parse(GetParam().as_one));
  pods("together", 3, "low");
  expect_bound("together", 3);
  pods("single", 6, "low");
  expect_bound("single", 5);
  expect_condition("single", started, "True Scheduled");
  // Five of the one may end one by one. Where all six places are needed, those of the other end together, although one is beyond its least number.
  group("first", {{"gang", {{"minCount", 5}}}}, "high");
  pods("first", 5, "high");
  expect_bound("first", 5);
  EXPECT_EQ(bound("together") % 3, 0U) << "all of them or none";
  group("second", {{"gang", {{"minCount", 3}}}}, "high");
  pods("second", 3, "high");
  expect_bound("second", 3);
  EXPECT_EQ(bound("together"), 0U);
  EXPECT_EQ(bound("first"), 5U);
  expect_clean();
}

INSTANTIATE_TEST_SUITE_P(Versions, BerthPodGroups, testing::ValuesIn(kServers), [](const auto& server) {
  std::string name = server.param.version;
  return name;
});

}  // namespace
}  // namespace berth::e2e

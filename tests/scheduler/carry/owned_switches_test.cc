// A RayService whose controller leaves the switch of its RayCluster to the queueing system, as KubeRay 1.7 does.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "scheduler/world_support.h"

namespace berth::scheduler::testing {
namespace {

using dialect::Kind;
using kube::Outcome;
using nlohmann::json;

class OwnedSwitches : public ::testing::Test {
 protected:
  OwnedSwitches() : w_(options()) {
    w_.object(Kind::kResourceFlavor, "any", R"({"metadata":{"name":"any"}})");
    w_.object(Kind::kClusterQueue, "team", R"({"metadata":{"name":"team"},"spec":{"namespaceSelector":{},
      "resourceGroups":[{"coveredResources":["cpu"],"flavors":[{"name":"any","resources":[
      {"name":"cpu","nominalQuota":"8"}]}]}]}})");
    w_.object(Kind::kLocalQueue, "team",
              R"({"metadata":{"name":"team","namespace":"default"},"spec":{"clusterQueue":"team"}})");
    w_.recover();
    w_.node("n1");
  }
  static CoreOptions options() {
    CoreOptions out = World::defaults();
    out.intake.hold_owners = true;
    return out;
  }
  static json spec_of(bool suspend) {
    const json container = {{"name", "ray"}, {"resources", {{"requests", {{"cpu", "1"}}}}}};
    json out = {{"suspend", suspend}};
    out["headGroupSpec"]["template"]["spec"] = {{"schedulerName", "berth"},
                                                {"containers", json::array({container})}};
    return out;
  }
  json object(const std::string& kind, const std::string& name) {
    json out = {{"apiVersion", "ray.io/v1"}, {"kind", kind}};
    out["metadata"] = {{"name", name},
                       {"namespace", "default"},
                       {"uid", uid_of(name)},
                       {"generation", ++generation_},
                       {"resourceVersion", std::to_string(w_.version + 1)}};
    if (!queue_.empty()) out["metadata"]["labels"] = {{"kueue.x-k8s.io/queue-name", queue_}};
    return out;
  }
  std::string service(bool suspend) {
    json out = object("RayService", "svc");
    out["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z";
    out["spec"]["rayClusterConfig"] = spec_of(suspend);
    return out.dump();
  }
  void see_service(bool suspend) { w_.object(*dialect::kind_named("RayService"), "svc", service(suspend)); }
  // `born`: a number of one digit.
  std::string cluster(const std::string& name, bool suspend, int born) {
    json out = object("RayCluster", name);
    out["metadata"]["creationTimestamp"] = fmt::format("2026-01-01T00:00:0{}Z", born);
    out["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "ray.io/v1"},
                                                       {"kind", "RayService"},
                                                       {"name", "svc"},
                                                       {"uid", uid_of("svc")},
                                                       {"controller", true}}});
    out["spec"] = spec_of(suspend);
    return out.dump();
  }
  void see_cluster(const std::string& name, bool suspend, int born = 1) {
    w_.object(*dialect::kind_named("RayCluster"), name, cluster(name, suspend, born));
  }
  // The service is released, and its cluster is not.
  void release() {
    see_service(true);
    see_cluster("svc-a", true);
    w_.turn();
    ASSERT_EQ(w_.only(Step::kOwner), "svc");
    ++w_.version;
    w_.answer(Step::kOwner, "svc", Outcome::kOk, "", service(false));
    w_.turn();
  }
  // Expects that one write was sent, of the cluster's switch alone.
  void expect_sets(const std::string& name, bool suspend) {
    const auto sent = w_.take(Step::kOwner);
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].path, "/apis/ray.io/v1/namespaces/default/rayclusters/" + name);
    EXPECT_EQ(json::parse(sent[0].body),
              (json{{"metadata", {{"uid", uid_of(name)}}}, {"spec", {{"suspend", suspend}}}}));
  }

  World w_;
  std::string queue_ = "team";
  int generation_ = 0;
};

TEST_F(OwnedSwitches, FollowTheirOwnerBothWays) {
  ASSERT_NO_FATAL_FAILURE(release());
  EXPECT_TRUE(w_.take(Step::kOwner).empty()) << "its controller may do it";
  w_.pass(kSecond);
  expect_sets("svc-a", false);
  ++w_.version;
  w_.answer(Step::kOwner, "svc-a", Outcome::kOk, "", cluster("svc-a", false, 1));
  w_.pass(kMinute / 6);
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
  see_service(true);
  w_.turn();
  w_.pass(kSecond);
  expect_sets("svc-a", true);
}

// KubeRay 1.6 switches the cluster itself, and a write beside its own would have that refused.
TEST_F(OwnedSwitches, AreLeftToAControllerThatSetsThem) {
  ASSERT_NO_FATAL_FAILURE(release());
  w_.pass(kSecond / 2);
  see_cluster("svc-a", false);
  w_.turn();
  w_.pass(kMinute / 6);
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
}

TEST_F(OwnedSwitches, AreWrittenAgainLaterEachTime) {
  ASSERT_NO_FATAL_FAILURE(release());
  w_.pass(kSecond);
  expect_sets("svc-a", false);
  w_.answer(Step::kOwner, "svc-a", Outcome::kUnknown);
  w_.pass(4 * kSecond);
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
  w_.pass(kSecond);
  expect_sets("svc-a", false);
  w_.answer(Step::kOwner, "svc-a", Outcome::kForbidden);
  w_.pass(9 * kSecond);
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
  w_.pass(kSecond);
  expect_sets("svc-a", false);
}

// The cluster of an upgrade counts, and not the one that it replaces.
TEST_F(OwnedSwitches, AreThoseOfTheNewestCluster) {
  see_cluster("svc-b", true, 2);
  ASSERT_NO_FATAL_FAILURE(release());
  w_.pass(kSecond);
  expect_sets("svc-b", false);
  w_.gone(*dialect::kind_named("RayCluster"), "svc-b");
  w_.turn();
  w_.pass(kSecond);
  expect_sets("svc-a", false);
}

// Nothing but its user switches it.
TEST_F(OwnedSwitches, OfWorkWithoutAQueueAreLeftAlone) {
  queue_ = "";
  see_service(false);
  see_cluster("svc-a", true);
  w_.turn();
  w_.pass(kMinute);
  EXPECT_TRUE(w_.take(Step::kOwner).empty());
}

}  // namespace
}  // namespace berth::scheduler::testing

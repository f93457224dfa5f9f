// `berth check` against a strict API server in this process.
#include "cli/commands/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/fake_cluster_support.h"
#include "text/time.h"

namespace berth::cli {
namespace {

using ::testing::AllOf;
using testing::FakeCluster;
using testing::FakeOptions;
using ::testing::HasSubstr;
using testing::Json;
using ::testing::Not;

constexpr TimeMs kNow = 1'800'000'000'000;

std::string checked(const FakeCluster& cluster, const CheckOptions& options = {}) {
  const Cluster connected = cluster.connected("*");
  return to_text(check_all(*connected.transport, options, kNow));
}

Json lease(const std::string& ns, const std::string& name, TimeMs renewed) {
  return Json{{"metadata", {{"name", name}, {"namespace", ns}}},
              {"spec",
               {{"holderIdentity", "someone"},
                {"leaseDurationSeconds", 15},
                {"renewTime", text::format_time_us(renewed * 1000)}}}};
}

TEST(Check, AClusterThatIsRightHasNothingToMend) {
  FakeCluster cluster;
  const std::string text = checked(cluster);
  EXPECT_THAT(text,
              AllOf(HasSubstr("ok       version   Kubernetes v1.36.0-fake"),
                    HasSubstr("the identity of the kubeconfig has all"), HasSubstr("0 errors, 0 warnings"),
                    HasSubstr("no Berth decides here now (lease kube-system/berth)")));
  std::ostringstream out, err;
  CheckOptions options;
  options.cluster = cluster.flags("*");
  EXPECT_EQ(run_check(options, out, err), 0) << out.str();
  options.json = true;
  std::ostringstream json;
  EXPECT_EQ(run_check(options, json, err), 0);
  EXPECT_EQ(Json::parse(json.str())["format"], "berth-check");
  for (const char* method : {"PUT", "PATCH", "DELETE", "WATCH"}) EXPECT_EQ(cluster.api().count(method), 0);
}

TEST(Check, EachRightThatIsMissingIsSaidWithItsLossAndTheRule) {
  FakeOptions kinds = testing::all_kinds();
  kinds.allows = [](const Json& spec) {
    const Json& asked = spec["resourceAttributes"];
    return !(asked.value("subresource", "") == "binding") &&
           !(asked["resource"] == "leases" && asked["verb"] == "update");
  };
  FakeCluster cluster(kinds);
  const std::string text = checked(cluster);
  EXPECT_THAT(text, AllOf(HasSubstr("error    rights    may not create pods/binding: no pod is bound"),
                          HasSubstr("fix: verbs [create] on resources [pods/binding] of apiGroups [\"\"]"),
                          HasSubstr("may not update leases.coordination.k8s.io in namespace kube-system"),
                          HasSubstr("2 errors")));
}

// An admin asks for the rights of the account that Berth runs with.
TEST(Check, RightsOfAServiceAccount) {
  FakeOptions kinds = testing::all_kinds();
  kinds.allows = [](const Json& spec) {
    return spec.value("user", "") == "system:serviceaccount:berth-system:berth";
  };
  FakeCluster cluster(kinds);
  CheckOptions options;
  options.service_account = "berth-system/berth";
  EXPECT_THAT(checked(cluster, options), HasSubstr("system:serviceaccount:berth-system:berth has all"));
  EXPECT_EQ(cluster.api().count("POST", "selfsubjectaccessreviews"), 0);
  options.service_account = "berth";
  EXPECT_THAT(checked(cluster, options), HasSubstr("write NAMESPACE/NAME"));
}

TEST(Check, KindsAreOnlyAskedForWhereTheyAreServed) {
  FakeOptions few;
  few.allows = [](const Json& spec) { return spec["resourceAttributes"]["group"] != "berth.dev"; };
  few.unserved = {"/apis/kueue.x-k8s.io/v1beta2/clusterqueues", "/apis/kueue.x-k8s.io/v1beta1/clusterqueues"};
  FakeCluster cluster(few);
  const std::string text = checked(cluster);
  EXPECT_THAT(text, AllOf(HasSubstr("no kind of queue is served"),
                          HasSubstr("fix: kubectl apply -f deploy/crds/berth.dev_queues.yaml"),
                          HasSubstr("queues.berth.dev"), HasSubstr("0 errors, 1 warnings")));
  FakeOptions newer = testing::all_kinds();
  for (auto& kind : newer.more_kinds) {
    if (kind.group == "berth.dev") kind.version = "v9";
  }
  FakeCluster later(newer);
  EXPECT_THAT(checked(later), HasSubstr("queues.berth.dev is served in v9"));
}

TEST(Check, NodesAreVital) {
  FakeOptions none = testing::all_kinds();
  none.unserved = {"/api/v1/nodes"};
  FakeCluster cluster(none);
  EXPECT_THAT(checked(cluster), HasSubstr("nodes are not served: nothing can be scheduled"));
}

TEST(Check, VersionsThatAreNotTestedAreSaid) {
  EXPECT_EQ(check_version(1, 36, "v1.36.3").level, Level::kOk);
  EXPECT_EQ(check_version(1, 34, "v1.34.0").level, Level::kOk);
  EXPECT_THAT(check_version(1, 34, "v1.34.0").text, HasSubstr("webhook"));
  EXPECT_EQ(check_version(1, 33, "v1.33.0").level, Level::kWarning);
  EXPECT_EQ(check_version(1, 38, "v1.38.0").level, Level::kWarning);
}

TEST(Check, OtherSchedulersThatLead) {
  CheckOptions options;
  const auto say = [&](const std::vector<Json>& leases) {
    return to_text(check_leases({Json{{"items", leases}}.dump()}, options, kNow));
  };
  const std::string kueue = "c1f6bfd2.kueue.x-k8s.io";
  EXPECT_THAT(
      say({lease("kueue-system", kueue, kNow - 5'000)}),
      AllOf(HasSubstr("warning  others    Kueue runs here too"), HasSubstr("kubectl -n kueue-system scale")));
  // One that was not renewed for long has no holder any more.
  EXPECT_THAT(say({lease("kueue-system", kueue, kNow - kHour)}), Not(HasSubstr("Kueue")));
  EXPECT_THAT(say({lease("kube-system", "kube-scheduler", kNow)}), Not(HasSubstr("error  ")));
  EXPECT_THAT(say({lease("kube-system", "berth", kNow)}), HasSubstr("Berth decides here: someone"));
  options.scheduler_names = {"berth", "default-scheduler"};
  EXPECT_THAT(say({lease("kube-system", "kube-scheduler", kNow)}), HasSubstr("error    others"));
}

TEST(Check, PodsThatGoPastTheQueues) {
  FakeCluster cluster;
  cluster.add_pod("ours", 1, "");
  const auto change = [](Json& pod) { pod["spec"].erase("schedulerName"); };
  cluster.add_pod("theirs", 1, "");
  cluster.api().change("/api/v1/namespaces/team-a/pods/theirs", change);
  EXPECT_THAT(
      checked(cluster),
      AllOf(HasSubstr(
                "1 pods that ask for devices name the scheduler default-scheduler, such as team-a/theirs"),
            HasSubstr("0 errors, 1 warnings")));
  cluster.add_pod("past", 1, "", {}, {}, {{"berth.dev/queue", "research"}});
  cluster.api().change("/api/v1/namespaces/team-a/pods/past", change);
  EXPECT_THAT(checked(cluster),
              AllOf(HasSubstr("1 pods name a queue and the scheduler default-scheduler, such as team-a/past"),
                    HasSubstr("1 errors")));
  EXPECT_EQ(code_of({{Level::kWarning, "", "", ""}}, false), 0);
  EXPECT_EQ(code_of({{Level::kWarning, "", "", ""}}, true), 1);
}

TEST(Check, AServerThatDoesNotAnswerIsAnError) {
  CheckOptions options;
  kube::ClusterConfig nowhere;
  nowhere.server = "http://127.0.0.1:1";
  const auto transport = kube::Transport::create(nowhere);
  ASSERT_TRUE(transport.has_value());
  const auto findings = check_all(**transport, options, kNow);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, Level::kError);
  EXPECT_EQ(code_of(findings, false), 1);
}

}  // namespace
}  // namespace berth::cli

// Kueue's API of pending workloads as text.
#include "dialect/kueue/visibility.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/checked.h"

namespace berth::dialect {
namespace {

using nlohmann::json;
using Query = std::map<std::string, std::string>;

constexpr const char* kOfClusterQueue =
    "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cq/pendingworkloads";

TEST(Visibility, AQuestionIsAPathAndTwoNumbers) {
  EXPECT_EQ(*read_pending_question(kOfClusterQueue, {}), (PendingQuestion{"v1beta2", "", "cq", 0, 1000}));
  EXPECT_EQ(*read_pending_question(
                "/apis/visibility.kueue.x-k8s.io/v1beta1/namespaces/team/localqueues/main/pendingworkloads",
                Query{{"offset", "20"}, {"limit", "5"}}),
            (PendingQuestion{"v1beta1", "team", "main", 20, 5}));
  const auto numbers = [](const std::string& offset, const std::string& limit) {
    const auto q = read_pending_question(kOfClusterQueue, {{"offset", offset}, {"limit", limit}});
    return q ? std::to_string(q->offset) + " " + std::to_string(q->limit) : q.error().message;
  };
  EXPECT_EQ(numbers("", ""), "0 1000");
  EXPECT_EQ(numbers("-7", "-1"), "0 1000");
  EXPECT_EQ(numbers("0", "0"), "0 1000");
  EXPECT_EQ(numbers("3", "100001"), "3 100000");
  EXPECT_EQ(numbers("9223372036854775807", "1"), "9223372036854775807 1");
  EXPECT_EQ(numbers("9223372036854775808", "1"), "offset: \"9223372036854775808\" is no whole number");
  EXPECT_EQ(numbers("1", "many"), "limit: \"many\" is no whole number");
}

TEST(Visibility, OtherPathsAreNoPage) {
  for (const char* path :
       {"/", "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues",
        "/apis/visibility.kueue.x-k8s.io/v1beta2",
        "/apis/visibility.kueue.x-k8s.io/v1/clusterqueues/cq/pendingworkloads",
        "/apis/kueue.x-k8s.io/v1beta2/clusterqueues/cq/pendingworkloads",
        "/apis/visibility.kueue.x-k8s.io/v1beta2/localqueues/main/pendingworkloads",
        "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/n/clusterqueues/cq/pendingworkloads",
        "/apis/visibility.kueue.x-k8s.io/v1beta2/clusterqueues/cq/status"}) {
    const auto question = read_pending_question(path, {});
    ASSERT_FALSE(question) << path;
    EXPECT_EQ(question.error().code, ErrorCode::kNotFound) << path;
  }
}

TEST(Visibility, ApiServersFindTheGroupAndItsResources) {
  const json groups = json::parse(*visibility_discovery("/apis"));
  EXPECT_EQ(groups["kind"], "APIGroupList");
  const json group = json::parse(*visibility_discovery("/apis/visibility.kueue.x-k8s.io"));
  EXPECT_EQ(group["kind"], "APIGroup");
  EXPECT_EQ(group["versions"], groups["groups"][0]["versions"]);
  EXPECT_EQ(group["preferredVersion"]["groupVersion"], "visibility.kueue.x-k8s.io/v1beta2");
  for (const std::string version : {"v1beta1", "v1beta2"}) {
    const json resources = json::parse(*visibility_discovery("/apis/visibility.kueue.x-k8s.io/" + version));
    EXPECT_EQ(resources["groupVersion"], "visibility.kueue.x-k8s.io/" + version);
    ASSERT_EQ(resources["resources"].size(), 2u);
    EXPECT_EQ(resources["resources"][0]["name"], "clusterqueues/pendingworkloads");
    EXPECT_EQ(resources["resources"][0]["namespaced"], false);
    EXPECT_EQ(resources["resources"][1]["name"], "localqueues/pendingworkloads");
    EXPECT_EQ(resources["resources"][1]["namespaced"], true);
    EXPECT_EQ(resources["resources"][1]["verbs"], json::array({"get"}));
  }
  EXPECT_FALSE(visibility_discovery("/"));
  EXPECT_FALSE(visibility_discovery("/apis/apps"));
  EXPECT_FALSE(visibility_discovery("/apis/visibility.kueue.x-k8s.io/v2"));
  EXPECT_FALSE(visibility_discovery(kOfClusterQueue));
}

TEST(Visibility, ASummaryIsKueues) {
  PendingPlace first;
  first.ns = "team";
  first.name = "job-train-1234";
  first.owners = {{"batch/v1", "Job", "train", "uid-train"}};
  first.created = 1'700'000'000'250;
  first.priority = 50;
  first.local_queue = "main";
  first.in_cluster_queue = 3;
  first.in_local_queue = 1;
  PendingPlace to_come;
  to_come.ns = "team";
  to_come.name = "g\"";
  to_come.priority = kInt64Max;
  const std::vector<PendingPlace> both = {first, to_come};
  const json summary = json::parse(pending_summary("v1beta1", both));
  EXPECT_EQ(summary, json::parse(R"({
    "kind": "PendingWorkloadsSummary", "apiVersion": "visibility.kueue.x-k8s.io/v1beta1", "metadata": {}, "items": [
      {"metadata": {"name": "job-train-1234", "namespace": "team", "creationTimestamp": "2023-11-14T22:13:20Z",
        "ownerReferences": [{"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "uid-train"}]},
       "priority": 50, "localQueueName": "main", "positionInClusterQueue": 3, "positionInLocalQueue": 1},
      {"metadata": {"name": "g\"", "namespace": "team", "creationTimestamp": null},
       "priority": 2147483647, "localQueueName": "", "positionInClusterQueue": 0, "positionInLocalQueue": 0}]})"));
}

TEST(Visibility, ErrorsAreStatuses) {
  const auto told = [](ErrorCode code) {
    const ApiError error = api_error(Error{code, "words", {}});
    const json status = json::parse(error.body);
    EXPECT_EQ(status["kind"], "Status");
    EXPECT_EQ(status["code"], error.http_status);
    EXPECT_EQ(status["message"], "words");
    return std::to_string(error.http_status) + " " + status["reason"].get<std::string>();
  };
  EXPECT_EQ(told(ErrorCode::kNotFound), "404 NotFound");
  EXPECT_EQ(told(ErrorCode::kInvalid), "400 BadRequest");
  EXPECT_EQ(told(ErrorCode::kUnavailable), "503 ServiceUnavailable");
  EXPECT_EQ(told(ErrorCode::kInternal), "500 InternalError");
}

}  // namespace
}  // namespace berth::dialect

// `berth get` against a strict API server in this process.
#include "cli/commands/get.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/commands/watch.h"
#include "cli/fake_cluster_support.h"
#include "text/time.h"

namespace berth::cli {
namespace {

using ::testing::AllOf;
using testing::FakeCluster;
using ::testing::HasSubstr;
using testing::Json;
using ::testing::Not;

struct Ran {
  int code = -1;
  std::string out, err;
};

Ran get(const FakeCluster& cluster, GetOptions::What what, const std::string& ns = "team-a",
        ListFormat format = ListFormat::kTable, const std::string& state = {}) {
  GetOptions options;
  options.what = what;
  options.cluster = cluster.flags(ns);
  options.format = format;
  options.state = state;
  std::ostringstream out, err;
  Ran ran;
  ran.code = run_get(options, out, err);
  ran.out = out.str();
  ran.err = err.str();
  return ran;
}

// The line that begins with this word.
std::string line_with(const std::string& text, const std::string& word) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(word)) return line;
  }
  return {};
}

constexpr const char* kWhy = "needs 4 nvidia.com/gpu, quota left for it: 1";

class Get : public ::testing::Test {
 protected:
  Get() {
    cluster_.add_node("n1", 8, {{"topology.kubernetes.io/zone", "z1"}});
    cluster_.add_queue(
        "research", {{"guaranteed", {{"nvidia.com/gpu", "8"}}}, {"limit", {{"nvidia.com/gpu", "16"}}}},
        {{"pending", 1},
         {"running", 1},
         {"used",
          Json::array(
              {{{"name", ""},
                {"resources",
                 Json::array({{{"name", "nvidia.com/gpu"}, {"total", "10"}, {"borrowed", "2"}}})}}})}});
    cluster_.add_pod("runs", 2, "n1", {}, {}, {{"berth.dev/queue", "research"}});
    cluster_.add_pod("waits", 4, "", "Quota", kWhy, {{"berth.dev/queue", "research"}});
    const Json job = cluster_.add_job("train", 2, 8, "research");
    Json about = job;
    about["kind"] = "Job";
    cluster_.add_event("Waiting", about, "2 pods need nodes, there is room for 0",
                       "2026-01-01T00:05:00.000000Z");
  }
  FakeCluster cluster_;
};

TEST_F(Get, WorkloadsWithBerthsOwnWords) {
  const Ran ran = get(cluster_, GetOptions::What::kWorkloads);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(line_with(ran.out, "WORKLOAD"),
              AllOf(HasSubstr("QUEUE"), HasSubstr("WHY"), Not(HasSubstr("SINCE"))));
  EXPECT_THAT(line_with(ran.out, "runs"),
              AllOf(HasSubstr("research"), HasSubstr("Running"), HasSubstr("1/1")));
  EXPECT_THAT(line_with(ran.out, "waits"), AllOf(HasSubstr("Pending"), HasSubstr("0/1"), HasSubstr(kWhy)));
  EXPECT_THAT(line_with(ran.out, "train"), AllOf(HasSubstr("Pending"), HasSubstr("0/2"), HasSubstr("16"),
                                                 HasSubstr("there is room for 0")));
  // Only what the namespace has is asked for.
  EXPECT_EQ(cluster_.api().count("GET", "/api/v1/pods"), 0);
  for (const char* method : {"PUT", "PATCH", "DELETE", "WATCH"}) EXPECT_EQ(cluster_.api().count(method), 0);
}

// A kind by declaration is read in a namespace, too.
TEST_F(Get, WorkOfAllKindsOfOwnersOfANamespace) {
  const Json spec = {
      {"schedulerName", "berth"},
      {"containers", Json::array({{{"name", "c"}, {"resources", {{"limits", {{"nvidia.com/gpu", "4"}}}}}}})}};
  const Json head = {{"template", {{"spec", spec}}}};
  cluster_.api().create(
      "/apis/ray.io/v1/namespaces/team-a/rayclusters",
      Json{{"metadata", {{"name", "rays"}, {"labels", {{"berth.dev/queue", "research"}}}}},
           {"spec", {{"suspend", true}, {"headGroupSpec", head}, {"workerGroupSpecs", Json::array()}}}});
  for (const char* ns : {"team-a", "*"}) {
    const Ran ran = get(cluster_, GetOptions::What::kWorkloads, ns);
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_THAT(ran.out, AllOf(HasSubstr("rays"), HasSubstr("train"))) << ns;
  }
}

TEST_F(Get, WorkloadsOfTheWholeClusterHavePlaces) {
  const Ran ran = get(cluster_, GetOptions::What::kWorkloads, "*", ListFormat::kJson);
  EXPECT_EQ(ran.code, 0) << ran.err;
  const Json read = Json::parse(ran.out);
  EXPECT_EQ(read["format"], "berth-workloads");
  EXPECT_EQ(read["version"], 1);
  std::map<std::string, Json> by_name;
  for (const Json& item : read["items"]) by_name[item["name"]] = item;
  ASSERT_EQ(by_name.size(), 3u) << ran.out;
  EXPECT_EQ(by_name["runs"]["used"]["nvidia.com/gpu"], "2");
  EXPECT_EQ(by_name["runs"]["nodes"]["n1"], 1);
  EXPECT_FALSE(by_name["runs"].contains("place"));
  std::set<int> places{by_name["waits"].value("place", 0), by_name["train"].value("place", 0)};
  EXPECT_EQ(places, (std::set<int>{1, 2}));
  EXPECT_EQ(by_name["waits"]["reason"], "Quota");
  EXPECT_EQ(by_name["waits"]["since"], "2026-01-01T00:10:00Z");
  EXPECT_EQ(by_name["train"]["owner"], "Job");
  EXPECT_EQ(by_name["train"]["saidBy"], "Job team-a/train");
}

TEST_F(Get, WorkloadsInAStateAlone) {
  const Ran ran = get(cluster_, GetOptions::What::kWorkloads, "team-a", ListFormat::kName, "Running");
  EXPECT_EQ(ran.out, "team-a/runs\n");
}

// A tenant has the role view in its namespace: nothing of the cluster.
TEST_F(Get, ATenantSeesItsWork) {
  for (const char* part :
       {"/api/v1/nodes", "/api/v1/namespaces?", "/queues", "/clusterqueues", "/cohorts", "/resourceflavors",
        "/admissionchecks", "/priorityclasses", "/workloadpriorityclasses"})
    cluster_.refuse(part);
  Ran ran = get(cluster_, GetOptions::What::kWorkloads);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(line_with(ran.out, "waits"), AllOf(HasSubstr("research"), HasSubstr(kWhy)));
  EXPECT_THAT(ran.err, HasSubstr("the right to list priorityclasses.scheduling.k8s.io in all namespaces"));
  cluster_.refuse("/events");
  ran = get(cluster_, GetOptions::What::kWorkloads);
  EXPECT_THAT(ran.err, HasSubstr("the right to list events.events.k8s.io in namespace team-a"));
  cluster_.refuse("/pods");
  ran = get(cluster_, GetOptions::What::kWorkloads);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("the right to list pods in namespace team-a"));
}

// Users write events about what they like: only those of the work's own namespace count.
TEST_F(Get, AnEventOfAnotherNamespaceSaysNothing) {
  Json about = *cluster_.api().get("/apis/batch/v1/namespaces/team-a/jobs/train");
  cluster_.add_event("Waiting", about, "buy gpus at example.com", "2026-01-01T09:00:00.000000Z", "team-b");
  const Ran ran = get(cluster_, GetOptions::What::kWorkloads, "*");
  EXPECT_THAT(ran.out, AllOf(HasSubstr("there is room for 0"), Not(HasSubstr("example.com"))));
}

TEST_F(Get, QueuesWithUseAndGuarantee) {
  cluster_.add_queue("science", {{"guaranteed", {{"nvidia.com/gpu", "32"}}}, {"stopPolicy", "Hold"}});
  cluster_.add_queue("vision", {{"parent", "science"}, {"guaranteed", {{"nvidia.com/gpu", "4"}}}});
  Ran ran = get(cluster_, GetOptions::What::kQueues);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(line_with(ran.out, "research"),
              AllOf(HasSubstr("Active"), HasSubstr("10/8 nvidia.com/gpu"), HasSubstr("16")));
  EXPECT_THAT(line_with(ran.out, "science"), AllOf(HasSubstr("Stopped"), HasSubstr("-/32 nvidia.com/gpu")));
  EXPECT_LT(ran.out.find("science"), ran.out.find("vision"));
  const Json read = Json::parse(get(cluster_, GetOptions::What::kQueues, "team-a", ListFormat::kJson).out);
  for (const Json& item : read["items"]) {
    if (item["name"] != "research") continue;
    EXPECT_EQ(item["resources"][0]["used"], "10");
    EXPECT_EQ(item["resources"][0]["borrowed"], "2");
    EXPECT_EQ(item["pending"], 1);
  }
  EXPECT_THAT(get(cluster_, GetOptions::What::kQueues, "team-a", ListFormat::kName).out,
              HasSubstr("queues.berth.dev/research\n"));
  cluster_.api().create(
      "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues",
      Json{
          {"metadata", {{"name", "main"}}},
          {"spec", {{"clusterQueue", "other"}}},
          {"status",
           {{"pendingWorkloads", 3},
            {"flavorsReservation",
             Json::array({{{"name", "any"},
                           {"resources", Json::array({{{"name", "nvidia.com/gpu"}, {"total", "2"}}})}}})}}}});
  ran = get(cluster_, GetOptions::What::kQueues);
  EXPECT_THAT(line_with(ran.out, "team-a/main"), AllOf(HasSubstr("other"), HasSubstr("2/- nvidia.com/gpu")));
  cluster_.refuse("/queues");
  ran = get(cluster_, GetOptions::What::kQueues);
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("the right to list queues.berth.dev"));
}

TEST_F(Get, NodesWithTheirUseWhereItMayBeRead) {
  Ran ran = get(cluster_, GetOptions::What::kNodes);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(line_with(ran.out, "n1"), AllOf(HasSubstr("Ready"), HasSubstr("2/8 nvidia.com/gpu")));
  EXPECT_THAT(get(cluster_, GetOptions::What::kNodes, "*", ListFormat::kWide).out, HasSubstr("z1"));
  cluster_.refuse("/pods");
  ran = get(cluster_, GetOptions::What::kNodes);
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(line_with(ran.out, "n1"), AllOf(HasSubstr("8 nvidia.com/gpu"), Not(HasSubstr("/8"))));
  EXPECT_THAT(ran.err, HasSubstr("not shown: what is in use on nodes"));
  cluster_.refuse("/nodes");
  ran = get(cluster_, GetOptions::What::kNodes);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("the right to list nodes"));
}

TEST_F(Get, AServerThatCannotBeReachedIsAnError) {
  GetOptions options;
  options.cluster.kubeconfig = "/nowhere";
  std::ostringstream out, err;
  EXPECT_EQ(run_get(options, out, err), 1);
  EXPECT_THAT(err.str(), AllOf(HasSubstr("berth get: "), HasSubstr("/nowhere")));
}

// The places of a tenant come from the API of pending workloads.
TEST_F(Get, PlacesOfATenantComeFromTheVisibilityApi) {
  const Json job = *cluster_.api().get("/apis/batch/v1/namespaces/team-a/jobs/train");
  cluster_.api().create("/apis/kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues",
                        Json{{"metadata", {{"name", "main"}}}, {"spec", {{"clusterQueue", "research"}}}});
  const Json owner = {{"uid", job["metadata"]["uid"]}};
  // The fake server keeps what is told as an object of its own.
  cluster_.api().create(
      "/apis/visibility.kueue.x-k8s.io/v1beta2/namespaces/team-a/localqueues",
      Json{{"metadata", {{"name", "main"}}},
           {"items", Json::array({{{"metadata", {{"ownerReferences", Json::array({owner})}}},
                                   {"positionInClusterQueue", 6}}})}});
  const Json read = Json::parse(get(cluster_, GetOptions::What::kWorkloads, "team-a", ListFormat::kJson).out);
  for (const Json& item : read["items"]) {
    if (item["name"] == "train") {
      EXPECT_EQ(item.value("place", 0), 7);
    }
  }
  EXPECT_GE(cluster_.api().count("GET", "/localqueues/main/pendingworkloads"), 1);
}

TEST(Watch, ShowsWhatHasChangedAndWhatIsGone) {
  WorkLine a;
  a.name = "team-a/a";
  a.created = 1'000;
  a.pods = 1;
  a.said.message = "waits";
  WorkLine b = a;
  b.name = "team-a/b";
  const Listing before = workload_listing({a, b}, false, 60'000);
  // A minute later: only ages differ.
  EXPECT_EQ(changes_of(before, workload_listing({a, b}, false, 120'000), ListFormat::kTable, 0), "");
  a.state = WorkState::kRunning;
  a.bound = 1;
  a.said = {};
  const Listing now = workload_listing({a}, false, 120'000);
  const std::string table = changes_of(before, now, ListFormat::kTable, 0);
  EXPECT_THAT(line_with(table, "a"), AllOf(HasSubstr("Running"), HasSubstr("1/1")));
  EXPECT_THAT(line_with(table, "b"), AllOf(HasSubstr("Gone"), Not(HasSubstr("waits"))));
  std::istringstream json(changes_of(before, now, ListFormat::kJson, 0));
  std::string first, second, rest;
  std::getline(json, first);
  std::getline(json, second);
  EXPECT_EQ(Json::parse(first)["state"], "Gone");
  EXPECT_EQ(Json::parse(second)["state"], "Running");
  EXPECT_FALSE(std::getline(json, rest));
}

}  // namespace
}  // namespace berth::cli

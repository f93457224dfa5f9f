// `berth queue` against a strict API server in this process.
#include "cli/commands/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/fake_cluster_support.h"

namespace berth::cli {
namespace {

using ::testing::AllOf;
using testing::FakeCluster;
using ::testing::HasSubstr;
using testing::Json;

constexpr const char* kResearch = "/apis/berth.dev/v1alpha1/queues/research";
constexpr const char* kClusterQueues = "/apis/kueue.x-k8s.io/v1beta2/clusterqueues";

class QueueCommand : public ::testing::Test {
 protected:
  QueueCommand() {
    cluster_.add_queue("research", {{"guaranteed", {{"nvidia.com/gpu", "8"}, {"cpu", "100"}}},
                                    {"limit", {{"nvidia.com/gpu", "16"}}},
                                    {"weight", 2}});
  }
  int run(QueueOptions options) {
    options.cluster = cluster_.flags(options.cluster.ns.empty() ? "" : options.cluster.ns);
    out_.str("");
    err_.str("");
    return run_queue(options, out_, err_);
  }
  int set(const std::string& queue, QuotaChange change, bool dry_run = false) {
    QueueOptions options;
    options.verb = QueueOptions::Verb::kSetQuota;
    options.name = queue;
    options.quota = std::move(change);
    options.dry_run = dry_run;
    return run(std::move(options));
  }
  int stop(const std::string& queue, bool drain = false, const std::string& ns = {}) {
    QueueOptions options;
    options.name = queue;
    options.drain = drain;
    options.cluster.ns = ns;
    return run(std::move(options));
  }
  Json spec(const std::string& path) { return (*cluster_.api().get(path))["spec"]; }

  FakeCluster cluster_;
  std::ostringstream out_, err_;
};

TEST_F(QueueCommand, StopsDrainsAndResumes) {
  EXPECT_EQ(stop("research"), 0) << err_.str();
  EXPECT_EQ(spec(kResearch)["stopPolicy"], "Hold");
  EXPECT_EQ(out_.str(), "Queue research: stopPolicy None -> Hold: nothing new starts; what runs goes on\n");
  EXPECT_EQ(stop("research"), 0);
  EXPECT_EQ(out_.str(), "Queue research: nothing to change\n");
  EXPECT_EQ(stop("queue/research", true), 0);
  EXPECT_EQ(spec(kResearch)["stopPolicy"], "HoldAndDrain");
  QueueOptions resume;
  resume.verb = QueueOptions::Verb::kResume;
  resume.name = "research";
  EXPECT_EQ(run(resume), 0);
  EXPECT_EQ(spec(kResearch)["stopPolicy"], "None");
  EXPECT_EQ(spec(kResearch)["weight"], 2) << "the rest stays";
}

TEST_F(QueueCommand, SaysWhichQueueWasMeant) {
  EXPECT_EQ(stop("reserach"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("did you mean research?"));
  cluster_.api().create(kClusterQueues, Json{{"metadata", {{"name", "research"}}}, {"spec", Json::object()}});
  EXPECT_EQ(stop("research"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("say which one, as clusterqueue/research or queue/research"));
  EXPECT_EQ(stop("clusterqueue/research"), 0) << err_.str();
  EXPECT_EQ(spec(std::string(kClusterQueues) + "/research")["stopPolicy"], "Hold");
  EXPECT_FALSE(spec(kResearch).contains("stopPolicy"));
}

TEST_F(QueueCommand, ALocalQueueIsMeantWithItsNamespaceOnly) {
  const std::string queues = "/apis/kueue.x-k8s.io/v1beta2/namespaces/team-b/localqueues";
  cluster_.api().create(queues, Json{{"metadata", {{"name", "main"}}}, {"spec", {{"clusterQueue", "x"}}}});
  EXPECT_EQ(stop("main"), 1);
  EXPECT_EQ(stop("main", false, "team-b"), 0) << err_.str();
  EXPECT_EQ(spec(queues + "/main")["stopPolicy"], "Hold");
}

TEST_F(QueueCommand, AQueueOfAnotherSystemIsRefusedWithTheReason) {
  cluster_.api().create("/apis/scheduling.volcano.sh/v1beta1/queues",
                        Json{{"metadata", {{"name", "theirs"}}}, {"spec", Json::object()}});
  EXPECT_EQ(stop("theirs"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("VolcanoQueue theirs has no field that stops it"));
}

TEST_F(QueueCommand, SetsAmountsAndLeavesTheOthers) {
  EXPECT_EQ(set("research", {.guaranteed = {{"nvidia.com/gpu", "12"}}, .limit = {{"nvidia.com/gpu", ""}}}), 0)
      << err_.str();
  EXPECT_EQ(
      out_.str(),
      "Queue research: nvidia.com/gpu: guaranteed 8 -> 12\nQueue research: nvidia.com/gpu: limit 16 -> -\n");
  EXPECT_EQ(spec(kResearch)["guaranteed"], (Json{{"nvidia.com/gpu", "12"}, {"cpu", "100"}}));
  EXPECT_EQ(spec(kResearch).value("limit", Json::object()), Json::object());
}

TEST_F(QueueCommand, AMisspeltResourceIsNoNewOne) {
  EXPECT_EQ(set("research", {.guaranteed = {{"nvidia.com/gpus", "12"}}}), 2);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("did you mean nvidia.com/gpu?"), HasSubstr("--add")));
  EXPECT_EQ(set("research", {.guaranteed = {{"amd.com/gpu", "4"}}, .add = true}), 0) << err_.str();
  EXPECT_EQ(spec(kResearch)["guaranteed"]["amd.com/gpu"], "4");
}

TEST_F(QueueCommand, OneOfSeveralFlavors) {
  cluster_.add_queue("mixed",
                     {{"flavors", Json::array({{{"name", "h100"}, {"guaranteed", {{"nvidia.com/gpu", "8"}}}},
                                               {{"name", "l4"},
                                                {"guaranteed", {{"nvidia.com/gpu", "32"}}},
                                                {"perUser", {{"limit", {{"nvidia.com/gpu", "4"}}}}}}})}});
  EXPECT_EQ(set("mixed", {.guaranteed = {{"nvidia.com/gpu", "16"}}}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("say which one with --flavor (h100, l4)"));
  EXPECT_EQ(set("mixed", {.guaranteed = {{"nvidia.com/gpu", "16"}}, .flavor = "l5"}), 2);
  EXPECT_EQ(set("mixed", {.guaranteed = {{"nvidia.com/gpu", "16"}}, .flavor = "l4"}), 0) << err_.str();
  const Json flavors = spec("/apis/berth.dev/v1alpha1/queues/mixed")["flavors"];
  EXPECT_EQ(flavors[0]["guaranteed"]["nvidia.com/gpu"], "8");
  EXPECT_EQ(flavors[1]["guaranteed"]["nvidia.com/gpu"], "16");
  EXPECT_EQ(flavors[1]["perUser"]["limit"]["nvidia.com/gpu"], "4");
}

TEST_F(QueueCommand, AClusterQueueHasItsLimitAsABorrowingLimit) {
  const Json resources =
      Json::array({{{"name", "cpu"}, {"nominalQuota", "64"}},
                   {{"name", "nvidia.com/gpu"}, {"nominalQuota", 8}, {"lendingLimit", "4"}}});
  cluster_.api().create(
      kClusterQueues,
      Json{{"metadata", {{"name", "team"}}},
           {"spec",
            {{"cohort", "all"},
             {"resourceGroups", Json::array({{{"coveredResources", {"cpu", "nvidia.com/gpu"}},
                                              {"flavors", Json::array({{{"name", "default"},
                                                                        {"resources", resources}}})}}})}}}});
  EXPECT_EQ(set("team", {.guaranteed = {{"nvidia.com/gpu", "16"}}, .limit = {{"nvidia.com/gpu", "24"}}}), 0)
      << err_.str();
  const Json after = spec(std::string(kClusterQueues) + "/team");
  const Json gpu = after["resourceGroups"][0]["flavors"][0]["resources"][1];
  EXPECT_EQ(gpu["nominalQuota"], "16");
  EXPECT_EQ(gpu["borrowingLimit"], "8");
  EXPECT_EQ(gpu["lendingLimit"], "4");
  EXPECT_EQ(after["resourceGroups"][0]["flavors"][0]["resources"][0]["nominalQuota"], "64");
  EXPECT_EQ(after["cohort"], "all");
  EXPECT_EQ(set("team", {.limit = {{"nvidia.com/gpu", "4"}}}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("it is below the guarantee of 16"));
  EXPECT_EQ(set("team", {.guaranteed = {{"memory", "1Ti"}}}), 2);
  EXPECT_THAT(err_.str(), HasSubstr("it names cpu, nvidia.com/gpu"));
}

// A change of another client between the reading and the writing is never lost.
TEST_F(QueueCommand, AChangeInBetweenIsNotOverwritten) {
  bool changed = false;
  cluster_.api().on_request([&](const kube::testing::Seen& seen) {
    if (seen.method != "PATCH" || changed) return;
    changed = true;
    cluster_.api().change(kResearch, [](Json& queue) { queue["spec"]["weight"] = 9; });
  });
  EXPECT_EQ(set("research", {.guaranteed = {{"nvidia.com/gpu", "12"}}}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("try again"));
  EXPECT_EQ(spec(kResearch)["guaranteed"]["nvidia.com/gpu"], "8");
  EXPECT_EQ(set("research", {.guaranteed = {{"nvidia.com/gpu", "12"}}}), 0) << err_.str();
  EXPECT_EQ(spec(kResearch)["weight"], 9);
}

TEST_F(QueueCommand, ADryRunIsSaidToTheServer) {
  EXPECT_EQ(set("research", {.guaranteed = {{"nvidia.com/gpu", "12"}}}, true), 0);
  EXPECT_EQ(cluster_.api().count("PATCH", "dryRun=All"), 1);
  EXPECT_THAT(out_.str(), HasSubstr("(dry run)"));
}

TEST_F(QueueCommand, ARightThatIsMissingIsNamed) {
  cluster_.api().add_fault({.method = "PATCH", .times = -1, .status = 403});
  EXPECT_EQ(stop("research"), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("the right to patch queues.berth.dev"), HasSubstr("berth-edit")));
}

TEST(QueueAmounts, AreReadWithTheFlagInTheMessage) {
  const auto read = parse_amount("--limit", "nvidia.com/gpu=none", true);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->amount, "");
  for (const char* wrong : {"nvidia.com/gpu", "=4", "cpu=", "cpu=4x", "cpu=-1", "cpu=none"}) {
    const auto refused = parse_amount("AMOUNT", wrong, false);
    ASSERT_FALSE(refused.has_value()) << wrong;
    EXPECT_THAT(refused.error().message, HasSubstr("AMOUNT")) << wrong;
  }
}

}  // namespace
}  // namespace berth::cli

// `berth explain`, `berth top` and `berth log` against a strict API server in this process.
#include "cli/commands/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/commands/log.h"
#include "cli/commands/top.h"
#include "cli/fake_cluster_support.h"

namespace berth::cli {
namespace {

using ::testing::AllOf;
using testing::FakeCluster;
using ::testing::HasSubstr;
using testing::Json;
using ::testing::Not;

struct Told {
  int code = -1;
  std::string out, err;
};

constexpr const char* kText =
    "1 pod needs a node, there is room for 0: 1 node lacks free nvidia.com/gpu, room for 1 more pod would be "
    "enough";

class Explain : public ::testing::Test {
 protected:
  Explain() {
    cluster_.add_node("n1", 8);
    cluster_.add_pod("runs", 6, "n1");
    pod_ = cluster_.add_pod("waits", 4, "", "Unschedulable", kText);
    cluster_.add_event("FailedScheduling", pod_, kText, "2026-01-01T00:05:00.000000Z");
    cluster_.add_event("SomethingElse", pod_, "not Berth's", "2026-01-01T00:06:00.000000Z");
  }
  Told explain(const std::string& name, bool quick = false, bool json = false,
               const std::string& server = {}) {
    ExplainOptions options;
    options.cluster = cluster_.flags();
    options.name = name;
    options.quick = quick;
    options.json = json;
    options.board.server = server;
    std::ostringstream out, err;
    Told ran;
    ran.code = run_explain(options, out, err);
    ran.out = out.str();
    ran.err = err.str();
    return ran;
  }

  FakeCluster cluster_;
  Json pod_;
};

TEST_F(Explain, HasBerthsWordsTheTreeAndWhatWouldHelp) {
  const Told ran = explain("waits");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(
      ran.out,
      AllOf(HasSubstr("team-a/waits  Pending"), HasSubstr("Why it waits (Unschedulable, for "),
            HasSubstr("as Pod team-a/waits says"), HasSubstr(kText), HasSubstr("Reasons (by an engine here"),
            HasSubstr("\n    1 node lacks free nvidia.com/gpu"), HasSubstr("This would help:"),
            HasSubstr("free nodes, add some"), HasSubstr("Story:"), HasSubstr("FailedScheduling"),
            Not(HasSubstr("not Berth's"))));
  // By its full name, it is the same work.
  EXPECT_EQ(explain("team-a/waits").code, 0);
}

TEST_F(Explain, WithoutTheRightsItSaysBerthsWordsAndWhatIsMissing) {
  testing::FakeOptions options = testing::all_kinds();
  options.allows = [](const Json&) { return false; };
  FakeCluster tenant(options);
  tenant.add_pod("waits", 4, "", "Unschedulable", kText);
  tenant.refuse("/api/v1/nodes");
  ExplainOptions asked;
  asked.cluster = tenant.flags();
  asked.name = "waits";
  std::ostringstream out, err;
  EXPECT_EQ(run_explain(asked, out, err), 0) << err.str();
  EXPECT_THAT(out.str(),
              AllOf(HasSubstr(kText), HasSubstr("no tree of reasons"), HasSubstr("berth-plan"),
                    HasSubstr("  room for 1 more pod would be enough\n"), Not(HasSubstr("Reasons ("))));
  EXPECT_EQ(tenant.api().count("GET", "/api/v1/pods"), 0);
}

TEST_F(Explain, QuickReadsOneNamespace) {
  const Told ran = explain("waits", true);
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, AllOf(HasSubstr(kText), Not(HasSubstr("Reasons (")), Not(HasSubstr("no tree"))));
  EXPECT_EQ(cluster_.api().count("GET", "/api/v1/pods"), 0);
}

// Nothing keeps it from starting: there is no Berth that would.
TEST_F(Explain, WorkThatFitsIsSaidToFit) {
  cluster_.add_node("n2", 8);
  const Told ran = explain("waits");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("an engine here would start it now"), Not(HasSubstr("Reasons ("))));
}

TEST_F(Explain, JsonHasTheTree) {
  const Json read = Json::parse(explain("waits", false, true).out);
  EXPECT_EQ(read["format"], "berth-explanation");
  EXPECT_EQ(read["workload"], "team-a/waits");
  ASSERT_TRUE(read.contains("tree"));
  EXPECT_THAT(read["tree"].dump(), HasSubstr("lacks free nvidia.com/gpu"));
  EXPECT_EQ(read["story"].size(), 1u);
}

TEST_F(Explain, NamesTheNearestWorkload) {
  const Told ran = explain("wiats");
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err,
              AllOf(HasSubstr("there is no workload team-a/wiats"), HasSubstr("did you mean team-a/waits?")));
}

TEST_F(Explain, WorkThatRunsHasNoReason) {
  const Told ran = explain("runs");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("Running"), HasSubstr("on n1"), Not(HasSubstr("Why it waits"))));
}

// A token is the user's: it goes to a server with TLS, or nowhere.
TEST(Board, TokensAreSentOverTlsAlone) {
  kube::ClusterConfig user;
  user.context = "c";
  user.token.data = "secret";
  user.cert.data = "certificate";
  user.password = "word";
  const auto tls = board_config({"https://berth.example:10265/", "ca.pem"}, user);
  ASSERT_TRUE(tls.has_value());
  EXPECT_EQ(tls->server, "https://berth.example:10265");
  EXPECT_EQ(tls->token.data, "secret");
  EXPECT_EQ(tls->ca.file, "ca.pem");
  EXPECT_TRUE(tls->cert.empty());
  EXPECT_TRUE(tls->password.empty());
  const auto loopback = board_config({"http://127.0.0.1:10265", {}}, user);
  ASSERT_TRUE(loopback.has_value());
  EXPECT_TRUE(loopback->token.empty());
  const auto open = board_config({"http://berth.example:10265", {}}, user);
  ASSERT_FALSE(open.has_value());
  EXPECT_THAT(open.error().message, HasSubstr("https:// only"));
  user.token = {};
  const auto nobody = board_config({"https://berth.example:10265", {}}, user);
  ASSERT_FALSE(nobody.has_value());
  EXPECT_THAT(nobody.error().message, HasSubstr("kubectl create token"));
}

TEST_F(Explain, TheTreeOfTheDashboard) {
  // The fake server stands for the dashboard: it answers a path of its own.
  const Told ran = explain("waits", false, false, cluster_.api().url());
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr(cluster_.api().url()), HasSubstr("404")));
}

WorkLine work(const std::string& name, const std::string& queue, std::int64_t asked, std::int64_t used) {
  WorkLine out;
  out.name = name;
  out.queue = queue;
  out.pods = 1;
  out.bound = used > 0 ? 1 : 0;
  out.asked.set("nvidia.com/gpu", asked * 1000);
  if (used > 0) out.used.set("nvidia.com/gpu", used * 1000);
  return out;
}

TEST(Top, SumsByQueue) {
  QueueLine research, idle;
  research.name = "research";
  research.amounts["nvidia.com/gpu"].guaranteed = 8'000;
  idle.name = "idle";
  idle.parent = "science";
  idle.amounts["nvidia.com/gpu"].guaranteed = 4'000;
  QueueLine science = idle;
  science.name = "science";
  science.parent = "";
  const std::vector<WorkLine> lines = {work("a/1", "research", 10, 10), work("a/2", "research", 4, 0),
                                       work("a/3", "", 1, 1)};
  EXPECT_EQ(to_text(top_listing(top_of(lines, {research, science, idle}, "")), ListFormat::kTable, 0),
            "QUEUE       RESOURCE        ALLOCATED  GUARANTEED  BORROWED  WAITING FOR  RUNNING  WAITING\n"
            "research    nvidia.com/gpu  10         8           2         4            1        1\n"
            "(no queue)  nvidia.com/gpu  1          -           -         0            1        0\n"
            "idle        nvidia.com/gpu  0          4           -         0            0        0\n");
  // Without the right to read queues there is no column of guarantees.
  EXPECT_THAT(to_text(top_listing(top_of(lines, {}, "")), ListFormat::kTable, 0),
              Not(HasSubstr("GUARANTEED")));
  EXPECT_THAT(to_text(top_listing(top_of(lines, {research}, "cpu")), ListFormat::kTable, 0),
              Not(HasSubstr("research")));
}

TEST_F(Explain, TopReadsTheCluster) {
  TopOptions options;
  options.cluster = cluster_.flags("*");
  options.format = ListFormat::kJson;
  std::ostringstream out, err;
  EXPECT_EQ(run_top(options, out, err), 0) << err.str();
  const Json read = Json::parse(out.str());
  ASSERT_EQ(read["items"].size(), 1u) << out.str();
  EXPECT_EQ(read["items"][0]["allocated"], "6");
  EXPECT_EQ(read["items"][0]["waitingFor"], "4");
}

TEST_F(Explain, LogHasWhatHappenedInItsOrder) {
  LogOptions options;
  options.cluster = cluster_.flags("*");
  options.follow = false;
  options.since = 100LL * 365 * 24 * kHour;
  cluster_.add_event("Preempted", pod_, "preempted by team-b/x, which ranks higher",
                     "2026-01-01T00:04:00.000000Z");
  std::ostringstream out, err;
  EXPECT_EQ(run_log(options, out, err), 0) << err.str();
  EXPECT_EQ(
      out.str(),
      "2026-01-01T00:04:00Z  Preempted         Pod team-a/waits: preempted by team-b/x, which ranks higher\n"
      "2026-01-01T00:05:00Z  FailedScheduling  Pod team-a/waits: " +
          std::string(kText) + "\n");
  options.reasons = {"Preempted"};
  options.json = true;
  std::ostringstream json;
  EXPECT_EQ(run_log(options, json, err), 0);
  EXPECT_EQ(Json::parse(json.str())["reason"], "Preempted");
  options.since = kHour;
  std::ostringstream none;
  EXPECT_EQ(run_log(options, none, err), 0);
  EXPECT_EQ(none.str(), "");
  cluster_.refuse("/events");
  EXPECT_EQ(run_log(options, none, err), 1);
  EXPECT_THAT(err.str(), HasSubstr("the right to list events.events.k8s.io in all namespaces"));
}

}  // namespace
}  // namespace berth::cli

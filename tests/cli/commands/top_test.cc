// `berth top` beside a Prometheus: how busy GPUs are.
#include "cli/commands/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/fake_cluster_support.h"
#include "kube/fake_http_support.h"

namespace berth::cli {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::FakeCluster;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Json;
using ::testing::Not;

Json series(const std::string& queue, const std::string& value) {
  Json metric = Json::object();
  if (!queue.empty()) metric["queue"] = queue;
  return {{"metric", metric}, {"value", {1700000000.5, value}}};
}

// Answers by the kind of query, and keeps what it was asked.
class FakePrometheus {
 public:
  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_.port()); }
  Json used = Json::array(), measured = Json::array();
  int status = 200;
  std::string answer;  // instead of any other
  std::vector<kube::testing::HttpRequest> seen;

 private:
  bool serve(const kube::testing::HttpRequest& request, kube::testing::HttpResponse& response) {
    seen.push_back(request);
    const bool counts = request.query.at("query").find(" and on ") != std::string::npos;
    const Json data = {{"resultType", "vector"}, {"result", counts ? measured : used}};
    response.status = status;
    response.body = answer.empty() ? Json({{"status", "success"}, {"data", data}}).dump() : answer;
    return true;
  }
  kube::testing::HttpServer server_{
      [this](const auto& request, auto& response, auto&) { return serve(request, response); }, nullptr};
};

class TopWithPrometheus : public ::testing::Test {
 protected:
  TopWithPrometheus() {
    cluster_.add_node("n1", 8);
    cluster_.add_pod("runs", 4, "n1", {}, {}, {{"berth.dev/queue", "vision"}});
    prometheus_.used = {series("vision", "1.5"), series("gone", "3")};
    prometheus_.measured = {series("vision", "4"), series("gone", "4")};
    options_.cluster = cluster_.flags("*");
    options_.prometheus = prometheus_.url();
  }
  int run() {
    out_.str("");
    err_.str("");
    return run_top(options_, out_, err_);
  }

  FakeCluster cluster_;
  FakePrometheus prometheus_;
  TopOptions options_;
  std::ostringstream out_, err_;
};

TEST_F(TopWithPrometheus, ShowsWhatIsUsedAndIdle) {
  ASSERT_EQ(run(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("QUEUE   RESOURCE        ALLOCATED  USED  IDLE  WAITING FOR"));
  EXPECT_THAT(out_.str(), HasSubstr("vision  nvidia.com/gpu  4          1.5   2.5   0"));
  EXPECT_THAT(out_.str(), Not(HasSubstr("gone"))) << "a queue without work";
  options_.format = ListFormat::kJson;
  ASSERT_EQ(run(), 0);
  const Json line = Json::parse(out_.str())["items"][0];
  EXPECT_EQ(line["used"], "1.50");
  EXPECT_EQ(line["measured"], "4.00");
}

TEST_F(TopWithPrometheus, AsksForOneNamespaceAlone) {
  options_.cluster = cluster_.flags("team-a");
  ASSERT_EQ(run(), 0) << err_.str();
  ASSERT_EQ(prometheus_.seen.size(), 2u);
  for (const auto& request : prometheus_.seen) {
    EXPECT_EQ(request.path, "/api/v1/query");
    EXPECT_THAT(request.query.at("query"), HasSubstr("{pod_namespace=\"team-a\"}"));
    EXPECT_EQ(request.headers.count("authorization"), 0u) << "no token goes to a URL";
  }
}

TEST_F(TopWithPrometheus, TwoResourcesOfAQueueAreNotToldApart) {
  TopLine gpu, other;
  gpu.queue = other.queue = "vision";
  gpu.resource = "nvidia.com/gpu";
  other.resource = "amd.com/gpu";
  gpu.allocated = other.allocated = 1000;
  std::vector<TopLine> lines = {gpu, other};
  EXPECT_THAT(add_use(lines, {{"vision", {0.5, 2}}}), ElementsAre("vision"));
  EXPECT_FALSE(lines[0].use || lines[1].use);
  lines[1].allocated = 0;
  EXPECT_THAT(add_use(lines, {{"vision", {0.5, 1}}}), IsEmpty());
  EXPECT_TRUE(lines[0].use.has_value());
}

TEST_F(TopWithPrometheus, SaysWhatIsWrong) {
  prometheus_.status = 400;
  prometheus_.answer = R"({"status":"error","errorType":"bad_data","error":"unknown function"})";
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(err_.str(), AllOf(HasSubstr("--prometheus"), HasSubstr("unknown function")));
  prometheus_.status = 200;
  prometheus_.answer = "<html>";
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("does not answer as Prometheus does"));
  options_.prometheus = "prometheus:9090";
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(err_.str(), HasSubstr("NAMESPACE/SERVICE:PORT"));
  options_.prometheus = prometheus_.url();
  prometheus_.answer = "";
  prometheus_.used = prometheus_.measured = Json::array();
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(err_.str(), HasSubstr("docs/metrics.md")) << "no rules there, or no exporter";
  EXPECT_THAT(out_.str(), Not(HasSubstr("USED")));
}

TEST(Prometheus, IsReachedThroughTheApiServer) {
  FakePrometheus behind;
  behind.used = {series("", "2")};
  behind.measured = {series("", "3"), series("vision", "NaN"), series("research", "1")};
  kube::ClusterConfig config;
  config.server = behind.url();
  const auto api = kube::Transport::create(config);
  ASSERT_TRUE(api.has_value());
  const auto use = gpu_use("monitoring/prometheus-operated:9090", "", **api);
  ASSERT_TRUE(use.has_value()) << use.error().message;
  EXPECT_EQ(behind.seen[0].path,
            "/api/v1/namespaces/monitoring/services/prometheus-operated%3A9090/proxy/api/v1/query");
  EXPECT_EQ(use->at("").used, 2);
  EXPECT_EQ(use->at("").measured, 3);
  EXPECT_EQ(use->at("research").used, 0);
  EXPECT_EQ(use->count("vision"), 0u);
  behind.status = 403;
  const auto refused = gpu_use("monitoring/prometheus-operated:9090", "", **api);
  ASSERT_FALSE(refused.has_value());
  EXPECT_THAT(refused.error().message, HasSubstr("the right to get services/proxy in namespace monitoring"));
}

}  // namespace
}  // namespace berth::cli

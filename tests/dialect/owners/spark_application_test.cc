// SparkApplications: pods that are not written as templates, and executors that a pod makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "dialect/owners/declared/spark_memory.h"
#include "dialect/owners/declared_support.h"

namespace berth::dialect::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kMebibyte = 1 << 20;

std::string application(const std::string& spec, const std::string& rest = "") {
  return object_of("sparkoperator.k8s.io/v1beta2", "SparkApplication", "etl", kTeam, spec, rest);
}
std::string amounts_of(const AskedSet& set) {
  return std::to_string(set.pod->requests.get("cpu")) + "m " +
         std::to_string(set.pod->requests.get("memory") / kMebibyte) + "Mi";
}

TEST(SparkMemory, IsReadAsSparkWritesIt) {
  EXPECT_EQ(spark_mebibytes("512m"), 512);
  EXPECT_EQ(spark_mebibytes("2G"), 2048);
  EXPECT_EQ(spark_mebibytes("1gb"), 1024);
  EXPECT_EQ(spark_mebibytes("1t"), 1024 * 1024);
  EXPECT_EQ(spark_mebibytes("700"), 700);
  EXPECT_EQ(spark_mebibytes("2047k"), 1);
  EXPECT_EQ(spark_mebibytes("3145728b"), 3);
  for (const char* wrong : {"", "g", "1.5g", "-1g", "1x", "99999999999999t"})
    EXPECT_FALSE(spark_mebibytes(wrong)) << wrong;
  EXPECT_EQ(spark_overhead(1024, "0.1"), 384);
  EXPECT_EQ(spark_overhead(8192, "0.1"), 819);
  EXPECT_EQ(spark_overhead(4096, "0.4"), 1638);
  EXPECT_FALSE(spark_overhead(1024, "much"));
}

TEST(SparkApplications, AskForADriverAndKeepPlacesForExecutors) {
  const Ask ask = asked(application(
      "suspend: true, type: Python, driver: {cores: 2, memory: 2g}, executor: {instances: 3, memory: 4g, "
      "coreRequest: 500m, gpu: {name: nvidia.com/gpu, quantity: 2}, sidecars: [{name: log, resources: "
      "{requests: {cpu: "
      "100m}}}]}"));
  EXPECT_EQ(ask.problem, "");
  EXPECT_EQ(sets_of(ask), "driver 1, executor 3 later");
  EXPECT_TRUE(ask.gang);
  EXPECT_TRUE(ask.suspended);
  EXPECT_EQ(amounts_of(ask.sets[0]), "2000m 2867Mi");
  EXPECT_EQ(amounts_of(ask.sets[1]), "600m 5734Mi");
  ASSERT_THAT(ask.sets[1].pod->claim.requests, SizeIs(1));
  EXPECT_EQ(ask.sets[1].pod->claim.requests[0].count, 2);
  EXPECT_THAT(ask.kind->suspend(ask, false).body, HasSubstr(R"("spec":{"suspend":true})"));
}

TEST(SparkApplications, TakeWhatLacksFromSparksSettings) {
  const Ask bare = asked(application("driver: {}, executor: {}"));
  EXPECT_EQ(sets_of(bare), "driver 1, executor 1 later");
  EXPECT_EQ(amounts_of(bare.sets[0]), "1000m 1408Mi");
  const Ask set = asked(application(
      "sparkConf: {spark.driver.memory: 3g, spark.executor.memoryOverhead: 1g, spark.executor.cores: '4', "
      "spark.kubernetes.driver.request.cores: 250m}, driver: {cores: 2}, executor: {memory: 1g}"));
  EXPECT_EQ(amounts_of(set.sets[0]), "250m 3456Mi");
  EXPECT_EQ(amounts_of(set.sets[1]), "4000m 2048Mi");
  EXPECT_THAT(problem_in(application("driver: {memory: much}, executor: {}")),
              HasSubstr("spec.driver.memory: \"much\" is no memory as Spark writes it"));
}

// With a template Spark starts from that, and the webhook of the operator leaves the pod alone.
TEST(SparkApplications, StartFromTheirTemplates) {
  const Ask ask =
      asked(application("nodeSelector: {disk: fast}, driver: {schedulerName: other, template: {spec: "
                        "{schedulerName: berth, containers: [{name: "
                        "any, resources: {requests: {cpu: '9', example.com/fpga: '1'}, limits: "
                        "{example.com/fpga: '1'}}}, {name: log, resources: {requests: {cpu: 100m}}}]}}}, "
                        "executor: {schedulerName: berth}"));
  EXPECT_EQ(ask.problem, "");
  EXPECT_EQ(ask.sets[0].spec->scheduler_name, "berth");
  EXPECT_EQ(ask.sets[1].spec->scheduler_name, "berth");
  EXPECT_EQ(amounts_of(ask.sets[0]), "1100m 1408Mi");
  EXPECT_EQ(ask.sets[0].pod->requests.get("example.com/fpga"), 1000);
  EXPECT_EQ(ask.sets[0].pod->node_selector->at("disk"), "fast");
}

TEST(SparkApplications, BeginWithSoManyExecutorsAsTheirAllocationSays) {
  const auto with = [](const std::string& allocation) {
    return sets_of(
        asked(application("driver: {}, executor: {instances: 9}, dynamicAllocation: {" + allocation + "}")));
  };
  EXPECT_EQ(with("enabled: true, initialExecutors: 2, maxExecutors: 8"), "driver 1, executor 2 later");
  EXPECT_EQ(with("enabled: true, initialExecutors: 2, minExecutors: 3"), "driver 1, executor 3 later");
  EXPECT_EQ(with("enabled: true"), "driver 1, executor 0 later");
  EXPECT_EQ(with("enabled: false"), "driver 1, executor 9 later");
}

TEST(SparkApplications, EndByTheirState) {
  const auto in = [](const std::string& state) {
    return asked(
        application("driver: {}, executor: {}", "status: {applicationState: {state: " + state + "}}\n"));
  };
  EXPECT_TRUE(in("COMPLETED").finished);
  EXPECT_TRUE(in("FAILED").failed);
  EXPECT_FALSE(in("SUBMISSION_FAILED").finished) << "it is tried again";
  EXPECT_TRUE(in("RUNNING").is_ready);
}

// The driver is the controller of its executors. It starts without them, nothing else gets their places, and they go there.
TEST(SparkApplications, ExecutorsBelongToTheApplicationOfTheirDriver) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4, "10Gi") +
              cpu_pod("etl-driver", made_by("sparkoperator.k8s.io/v1beta2", "SparkApplication", "etl"),
                      "spark-role: driver"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "its SparkApplication has not been seen";
  world.apply(application("driver: {}, executor: {instances: 3}"));
  const auto started = world.decide();
  ASSERT_THAT(started, SizeIs(1));
  EXPECT_EQ(started[0].workload, "etl");
  EXPECT_THAT(started[0].slots, SizeIs(4));
  EXPECT_TRUE(world.intake.expects("etl", 1, 0));
  world.apply(
      object_of("v1", "Pod", "other", kTeam, "containers: [{name: c, resources: {requests: {cpu: '1'}}}]"));
  EXPECT_THAT(world.decide(), IsEmpty()) << "the places of the executors are kept";
  world.apply(cpu_pod("etl-exec-1", made_by("v1", "Pod", "etl-driver"),
                      "spark-role: executor, sparkoperator.k8s.io/app-name: etl"));
  EXPECT_EQ(world.intake.pod("etl-exec-1")->workload, "etl");
  EXPECT_EQ(world.intake.pod("etl-exec-1")->pod_set, 1);
  EXPECT_TRUE(world.engine.audit());
}

// A label alone makes no pod an executor: a pod is its controller.
TEST(SparkApplications, TakeNoPodThatOnlyNamesThem) {
  World world;
  world.apply(node_yaml("n0", 0) + queue_of_cpus(4, "10Gi") +
              application("driver: {}, executor: {instances: 3}") +
              cpu_pod("stray", "", "spark-role: executor, sparkoperator.k8s.io/app-name: etl"));
  EXPECT_NE(world.intake.pod("stray")->workload, "etl");
}

}  // namespace
}  // namespace berth::dialect::testing

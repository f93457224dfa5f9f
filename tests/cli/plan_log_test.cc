// `berth plan -f LOG`: what happened as a table, and whether this engine decides as the recorded one did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/plan.h"
#include "observe/recorded_engine.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kGpu = "nvidia.com/gpu";

Workload gang(const std::string& uid, std::int64_t count, std::int64_t priority) {
  Workload w;
  w.uid = uid;
  w.name = "team/" + uid + "-name";
  w.queue = "q";
  w.priority = priority;
  PodSet set;
  set.count = count;
  set.pod.requests.set("cpu", 1500);
  set.pod.claim.requests.push_back({kGpu, 1, 1000});
  w.root.pod_sets.push_back(set);
  return w;
}

// Two gangs on one node of four devices: the second displaces the first, a third waits.
std::string recorded() {
  std::string log;
  observe::RecordedEngine engine({}, [&](std::string_view line) {
    log.append(line).append("\n");
    return Status();
  });
  Node node;
  node.name = "n1";
  node.labels["rack"] = "r1";
  node.allocatable = {{"cpu", 8000}, {"pods", 10}};
  node.devices.push_back({kGpu, 4, "", {}});
  const auto apply = [&](Event event) { (void)engine.apply(event); };
  apply(NodeUpsert{node});
  Queue queue;
  queue.name = "q";
  queue.unlimited = true;
  queue.preemption.within = WithinQueue::kLowerPriority;
  apply(QueueUpsert{queue});
  apply(WorkloadUpsert{gang("uid-low", 3, 0)});
  (void)engine.decide(1000);
  for (std::int64_t i = 0; i < 3; ++i) {
    apply(SlotUpdate{"uid-low", 0, i, SlotState::kRunning, "n1"});
  }
  apply(WorkloadUpsert{gang("uid-high", 4, 7)});
  apply(WorkloadUpsert{gang("uid-big", 5, 0)});
  apply(SlotUpdate{"nobody", 0, 0, SlotState::kRunning, "n1"});
  (void)engine.decide(61'500);
  return log;
}

class PlanLog : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/berth-plan-log-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  int run(PlanOptions options) {
    std::ostringstream out, err;
    const int code = run_plan(options, out, err);
    out_ = out.str();
    err_ = err.str();
    return code;
  }
  int run(const std::string& file) {
    PlanOptions options;
    options.files = {file};
    return run(options);
  }

  fs::path folder_;
  std::string out_, err_;
};

TEST_F(PlanLog, TellsWhatHappenedAndThatItIsTheSame) {
  EXPECT_EQ(run(write("a.jsonl", recorded())), 0) << err_;
  EXPECT_THAT(err_, IsEmpty());
  EXPECT_THAT(out_, ContainsRegex("2 +node +n1 +cpu 8, pods 10, nvidia.com/gpu 4, rack=r1"));
  EXPECT_THAT(out_,
              ContainsRegex("3 +queue +q +no quota is kept, order best-effort, preempts lower-priority"));
  EXPECT_THAT(
      out_, ContainsRegex("4 +workload +team/uid-low-name +queue q, 3 x \\(cpu 1500m, nvidia.com/gpu 1\\)"));
  EXPECT_THAT(out_, ContainsRegex("5 +1s +start +team/uid-low-name +3 pods: n1 x3 \\(devices 0 1 2\\)"));
  EXPECT_THAT(out_, ContainsRegex("6 +1s +slot +team/uid-low-name +pod 0/0 running on n1"));
  EXPECT_THAT(out_, ContainsRegex("11 +1s +slot +nobody +REFUSED: "));
  EXPECT_THAT(out_, ContainsRegex("12 +1m1s500ms +evict +team/uid-low-name +3 pods.*for team/uid-high-name.*"
                                  "preempted by team/uid-high-name, which ranks higher"));
  EXPECT_THAT(out_, ContainsRegex("12 +1m1s500ms +hold +team/uid-high-name +4 pods: n1 x4"));
  EXPECT_THAT(out_, ContainsRegex("At the end\n +WORKLOAD"));
  EXPECT_THAT(out_, ContainsRegex("team/uid-big-name +q +0 +0 +0 +0 +5 +[^\n]*pods need nodes"));
  EXPECT_THAT(out_, HasSubstr("9 events (1 refused), 2 decide calls, 3 decisions"));
  EXPECT_THAT(out_, HasSubstr("the same decisions as recorded, byte for byte"));
}

TEST_F(PlanLog, ADifferenceIsShownFromBothSidesAndNothingAfterIt) {
  std::string log = recorded();
  const auto at = log.find("\"node\":\"n1\",\"devices\":[0]");
  ASSERT_NE(at, std::string::npos);
  log.replace(at, 11, "\"node\":\"n9\"");
  EXPECT_EQ(run(write("a.jsonl", log)), 1);
  EXPECT_THAT(out_, ContainsRegex("5 +1s +RECORDED"));
  EXPECT_THAT(out_, ContainsRegex("5 +1s +start +team/uid-low-name +3 pods: n9 \\(devices 0\\), n1 x2"));
  EXPECT_THAT(out_, ContainsRegex("5 +1s +THIS ENGINE"));
  EXPECT_THAT(out_, ContainsRegex("5 +1s +start +team/uid-low-name +3 pods: n1 x3"));
  EXPECT_THAT(out_, Not(HasSubstr("uid-high")));
  EXPECT_THAT(out_, Not(HasSubstr("the same decisions")));
  EXPECT_THAT(err_, AllOf(HasSubstr("a.jsonl: line 5: differs at byte"), HasSubstr("n9")));
}

TEST_F(PlanLog, AWrongLineIsNamedAndNothingIsWritten) {
  std::string log = recorded();
  log += "{\"e\":\"nonsense\"}\n";
  EXPECT_EQ(run(write("a.jsonl", log)), 2);
  EXPECT_THAT(out_, IsEmpty());
  EXPECT_THAT(err_, HasSubstr("a.jsonl:13:"));
}

TEST_F(PlanLog, AnUnfinishedLastLineIsLeftOut) {
  std::string log = recorded();
  log.resize(log.size() - 20);
  EXPECT_EQ(run(write("a.jsonl", log)), 0) << err_;
  EXPECT_THAT(out_, HasSubstr("line 12 is unfinished"));
}

TEST_F(PlanLog, IsAloneInAPlan) {
  const std::string log = write("a.jsonl", recorded());
  const std::string node = write("n.yaml", "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n");
  const auto refuses = [&](const std::string& what, auto&& change) {
    PlanOptions options;
    options.files = {log};
    change(options);
    EXPECT_EQ(run(options), 2) << what;
    EXPECT_THAT(out_, IsEmpty());
    EXPECT_THAT(err_, AllOf(HasSubstr("a.jsonl: "), HasSubstr("leave out " + what)));
  };
  refuses("every other -f", [&](auto& o) { o.files.push_back(node); });
  refuses("--now", [](auto& o) { o.now = 5; });
  refuses("--rounds", [](auto& o) { o.rounds = 2; });
  refuses("--scheduler-name", [](auto& o) { o.scheduler_names = {"berth"}; });
  refuses("-o json", [](auto& o) { o.format = PlanFormat::kJson; });
}

// Logs that failed property tests wrote can be examined with the command that they print.
TEST_F(PlanLog, HistoriesThatOnceFailedAreShown) {
  std::size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(BERTH_SOURCE_DIR) / "tests/property/histories")) {
    const int code = run(entry.path().string());
    // From an engine that was wrong then, or as now.
    EXPECT_THAT(code, ::testing::AnyOf(0, 1)) << entry.path() << err_;
    EXPECT_THAT(out_, HasSubstr("At the end"));
    ++seen;
  }
  EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace berth::cli

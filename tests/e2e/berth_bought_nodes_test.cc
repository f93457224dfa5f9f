// The cost of gangs that find no nodes: 20 suspended Jobs of one to eight whole nodes, in two queues. Karpenter makes the nodes, with its
// KWOK provider. A gang works from the moment at which all of its pods run. A node costs from its order until it is gone.
//
// The tests need Karpenter. The last ones need Kueue's manager, too, which decides about the same work with kube-scheduler. They skip
// where these are missing. A gang works for BERTH_E2E_BOUGHT_SECONDS (5). A node comes after half of that time, and goes when it was
// empty for two thirds of it.
//   scripts/controllers build karpenter
//   export BERTH_KUEUE_MANAGER="$(scripts/kueue-oracle manager)" BERTH_E2E_BOUGHT_SECONDS=30
//   build/release/tests/e2e/test_e2e --gtest_filter='BerthBoughtNodes.*'
#include <array>
#include <cstdio>
#include <optional>

#include "e2e/kueue_manager.h"
#include "e2e/on_demand_fixture.h"
#include "e2e/teams.h"

namespace berth::e2e {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kGpusOfNode = 8;
constexpr int kQuota = 16 * kGpusOfNode;  // of each queue
constexpr int kAll = 2 * kQuota;          // a NodePool that allows all of it
constexpr int kPart = 20 * kGpusOfNode;

struct Gang {
  std::string name;
  std::size_t nodes = 0;
  std::optional<Clock::time_point> works, waits_for_rest;
  bool ended = false;
};

// Node-seconds, and seconds.
struct Bill {
  double nodes = 0;      // that exist
  double work = 0;       // of gangs that are whole
  double parts = 0;      // with a pod of a gang that is not
  double last_end = 0;   // since the Jobs were made
  double last_node = 0;  // until all nodes were gone
  double longest_part = 0;
  std::size_t ended = 0;
};

class BerthBoughtNodes : public BerthOnDemand {
 protected:
  static int run_seconds() { return static_cast<int>(number_from_env("BERTH_E2E_BOUGHT_SECONDS", 5)); }
  static KarpenterPool pool(int gpus) {
    return {.gpus = std::to_string(gpus),
            .gone_after = fmt::format("{}s", run_seconds() * 2 / 3),
            .comes_after_s = run_seconds() / 2};
  }

  void start_kueue(int gpus, int ready_within_s) {
    need_controllers({"karpenter"});
    if (IsSkipped() || HasFatalFailure()) return;
    if (KueueManager::program().empty()) GTEST_SKIP() << "BERTH_KUEUE_MANAGER names no manager of Kueue";
    start({.controller_manager = true,
           .kube_scheduler = true,
           .kwok = true,
           .service_accounts = true,
           .job_pod_runs_ms = 86'400'000});
    kueue_.emplace(*cluster_);
    ASSERT_OK(kueue_->install());
    ASSERT_OK(kueue_->start({.ready_within_s = ready_within_s}));
    create_queue(kQuota);
    let_nodes_come();
    karpenter_ = std::make_unique<KarpenterController>(*cluster_);
    ASSERT_OK(karpenter_->start(pool(gpus)));
  }

  void create_gangs(const std::string& scheduler) {
    constexpr std::array<std::size_t, 20> kSizes = {3, 8, 1, 6, 2, 7, 4, 5, 8, 1,
                                                    5, 2, 6, 3, 7, 4, 2, 8, 1, 3};
    for (std::size_t i = 0; i < kSizes.size(); ++i) {
      gangs_.push_back({.name = fmt::format("g{:02}", i), .nodes = kSizes[i]});
      create(kJobs, job_json({.name = gangs_[i].name,
                              .queue = i % 2 == 0 ? "team" : "other",
                              .pods = static_cast<int>(kSizes[i]),
                              .gpus = kGpusOfNode,
                              .scheduler = scheduler}));
    }
  }

  // Ends the pods of gangs that have worked, and counts, until all have ended and all nodes are gone.
  Bill watch(seconds at_most) {
    Bill bill;
    const auto start = Clock::now();
    auto before = start;
    while (before - start < at_most) {
      std::this_thread::sleep_for(milliseconds(200));
      const auto now = Clock::now();
      const double passed = std::chrono::duration<double>(now - before).count();
      before = now;
      const std::size_t nodes = items(kNodeClaims);
      bill.nodes += passed * static_cast<double>(nodes);
      look_at_gangs(bill, now, passed);
      const double since = std::chrono::duration<double>(now - start).count();
      if (bill.ended < gangs_.size()) bill.last_end = since;
      bill.last_node = since;
      if (bill.ended == gangs_.size() && nodes == 0 && items(kAllNodes) == 0) break;
    }
    return bill;
  }

  void look_at_gangs(Bill& bill, Clock::time_point now, double passed) {
    const auto pods = observer_->pods();
    for (Gang& gang : gangs_) {
      if (gang.ended) continue;
      std::size_t bound = 0;
      std::size_t running = 0;
      for (const auto& [key, pod] : pods) {
        if (!key.starts_with("default/" + gang.name + "-") || !pod.occupies()) continue;
        ++bound;
        running += pod.phase == "Running" && !pod.deleting ? 1 : 0;
      }
      if (running == gang.nodes) {
        if (!gang.works) gang.works = now;
        bill.work += passed * static_cast<double>(bound);
        if (now - *gang.works >= seconds(run_seconds())) end(gang, bill);
      } else {
        gang.works.reset();
        bill.parts += passed * static_cast<double>(bound);
      }
      if (bound == 0 || bound == gang.nodes) {
        gang.waits_for_rest.reset();
        continue;
      }
      if (!gang.waits_for_rest) gang.waits_for_rest = now;
      bill.longest_part =
          std::max(bill.longest_part, std::chrono::duration<double>(now - *gang.waits_for_rest).count());
    }
  }

  void end(Gang& gang, Bill& bill) {
    for (const auto& [key, pod] : observer_->pods()) {
      if (!key.starts_with("default/" + gang.name + "-")) continue;
      const std::string path = "/api/v1/namespaces/default/pods/" + key.substr(8) + "/status";
      (void)cluster_->client().patch(path, R"({"status": {"phase": "Succeeded"}})", kMergePatch);
    }
    gang.ended = true;
    ++bill.ended;
  }

  static void print(const std::string& who, int limit, const Bill& bill) {
    fmt::print("| {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.1f} | {:.0f} |\n", who,
               limit / kGpusOfNode, bill.ended, bill.last_end / 60, bill.last_node / 60, bill.nodes / 60,
               bill.work / 60, bill.parts / 60, bill.longest_part);
    std::fflush(stdout);
  }

  // Whatever the limit: each gang starts whole and once, no node waits for the rest of a gang, and all nodes go again.
  void expect_whole_gangs(int limit) {
    start_karpenter(pool(limit), kQuota);
    if (IsSkipped() || HasFatalFailure()) return;
    ASSERT_NE(start_berth({.args = {fmt::format("--nodes-within={}", 60 + run_seconds())}}), nullptr);
    create_gangs("berth");
    const Bill bill = watch(seconds(120 + 30 * run_seconds()));
    print("Berth", limit, bill);
    EXPECT_EQ(bill.ended, gangs_.size()) << reasons_of_waiting() << tail(cluster_->log("karpenter"), 5);
    EXPECT_EQ(items(kNodeClaims), 0U);
    EXPECT_EQ(items(kAllNodes), 0U);
    for (const Gang& gang : gangs_) {
      const json job = get(std::string(kJobs) + "/" + gang.name);
      EXPECT_EQ(job["status"].value("succeeded", 0), gang.nodes) << gang.name << job["status"];
      EXPECT_EQ(job["status"].value("failed", 0), 0) << gang.name << " lost a try";
    }
    EXPECT_LT(bill.longest_part, 2) << "between the first and the last bind of a gang";
    expect_clean();
  }

  void show_kueue(const std::string& who, int limit, int ready_within_s) {
    start_kueue(limit, ready_within_s);
    if (IsSkipped() || HasFatalFailure()) return;
    create_gangs("default-scheduler");
    const Bill bill = watch(seconds(120 + 30 * run_seconds()));
    print(who, limit, bill);
    EXPECT_GT(bill.ended, 0U) << reasons_of_waiting() << tail(cluster_->log("kueue"), 5);
  }

  std::optional<KueueManager> kueue_;
  std::vector<Gang> gangs_;
};

TEST_F(BerthBoughtNodes, TwentyGangsStartWholeFromNoNodes) {
  expect_whole_gangs(kAll);
}

TEST_F(BerthBoughtNodes, TwentyGangsStartWholeWhereTheNodePoolAllowsFewerNodesThanTheirQuota) {
  expect_whole_gangs(kPart);
}

// No object says that Karpenter makes whole nodes of eight GPUs: a limit of twelve looks like enough for twelve pods.
TEST_F(BerthBoughtNodes, APartThatIsOfNoUseGoesWhenItsTimeIsOver) {
  start_karpenter({.gpus = "12", .gone_after = "2s"});
  if (IsSkipped() || HasFatalFailure()) return;
  ASSERT_NE(start_berth({.args = {"--nodes-within=90"}}), nullptr);
  const auto start = Clock::now();
  create_job("train", 12);
  ASSERT_TRUE(eventually([&] { return items(kNodeClaims) == 1; })) << tail(cluster_->log("karpenter"), 5);
  ASSERT_TRUE(eventually([&] { return is_suspended("train") && count("train", false) == 0; }, seconds(120)));
  EXPECT_TRUE(eventually([&] { return items(kNodeClaims) == 0; }, seconds(85)))
      << "it is bought for longer than the back-off";
  const double bought = std::chrono::duration<double>(Clock::now() - start).count();
  fmt::print("the node of a part: gone {:.0f} s after the Job came\n", bought);
  EXPECT_EQ(get(std::string(kJobs) + "/train")["status"].value("failed", 0), 0);
  expect_clean();
}

TEST_F(BerthBoughtNodes, KueueAndKubeSchedulerOnTheSameWork) {
  show_kueue("Kueue and kube-scheduler", kAll, 0);
}

TEST_F(BerthBoughtNodes, KueueAndKubeSchedulerWhereTheNodePoolAllowsFewer) {
  show_kueue("Kueue and kube-scheduler", kPart, 0);
}

TEST_F(BerthBoughtNodes, KueueThatWaitsForPodsWhereTheNodePoolAllowsFewer) {
  show_kueue("the same with waitForPodsReady", kPart, 60 + run_seconds());
}

}  // namespace
}  // namespace berth::e2e

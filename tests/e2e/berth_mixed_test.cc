// Kinds of many projects in one full cluster, each with its own controller: half a gang never runs.
//   scripts/controllers build && build/release/tests/e2e/test_e2e --gtest_filter='BerthMixed.*'
// BERTH_E2E_KINDS_ROUNDS=100: more rounds than the ten of a usual run. BERTH_E2E_SEED=N: other ones.
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "e2e/judged_kinds.h"

namespace berth::e2e {
namespace {

// The pods of a gang are bound one after the other, and end so. A gang that stays in part for this long
// runs in part: each deadlock that these kinds know lasts for ever.
constexpr seconds kLongestInPart{20};

class BerthMixed : public KindsTest {
 protected:
  struct Work {
    JudgedKind kind;
    std::string name;
  };

  std::vector<std::string> controllers() const override {
    return {"jobset", "kuberay", "lws", "mpi", "trainer", "training"};
  }
  void SetUp() override {
    KindsTest::SetUp();
    kinds_ = {
        {"jobset", job_set()},
        {"ray", ray_cluster(2)},
        {"lws", leader_worker(3)},
        {"mpi", mpi(3)},
        {"train", train(4)},
        {"pytorch", training({"PyTorchJob", "pytorchReplicaSpecs", "pytorch", {{"Master"}, {"Worker", 2}}})},
        {"tf", training({"TFJob", "tfReplicaSpecs", "tensorflow", {{"Chief"}, {"PS"}, {"Worker", 3}}})}};
  }
  void TearDown() override {
    stop_ = true;
    if (watcher_.joinable()) watcher_.join();
    KindsTest::TearDown();
  }

  // Watches all work until it is ended.
  void watch() {
    watcher_ = std::thread([this] {
      std::map<std::string, std::chrono::steady_clock::time_point> in_part;
      while (!stop_) {
        std::this_thread::sleep_for(milliseconds(50));
        const std::lock_guard lock(mutex_);
        for (const Work& work : all_) {
          const std::size_t have = occupying(work.name);
          if (have == 0 || have == work.kind.pods || ending_.contains(work.name)) {
            in_part.erase(work.name);
            continue;
          }
          const auto since = in_part.emplace(work.name, std::chrono::steady_clock::now()).first->second;
          if (std::chrono::steady_clock::now() - since < kLongestInPart || !half_.insert(work.name).second)
            continue;
          ADD_FAILURE() << work.name << " runs with " << have << " of " << work.kind.pods << ": "
                        << said(work.kind, work.name);
        }
      }
    });
  }

  void add(std::size_t round) {
    const auto& [word, kind] = kinds_[random_() % kinds_.size()];
    const Work work{kind, fmt::format("{}-{}", word, round)};
    const std::string priority = random_() % 2 == 0 ? "low" : "high";
    {
      const std::lock_guard lock(mutex_);
      all_.push_back(work);
    }
    create(work.kind.path, work.kind.body(work.name, priority));
  }
  std::set<std::string> whole() const {
    std::set<std::string> out;
    for (const Work& work : all_) {
      if (occupying(work.name) == work.kind.pods) out.insert(work.name);
    }
    return out;
  }
  // The work that runs, when that has not changed for a second.
  std::set<std::string> settled() {
    std::set<std::string> before;
    std::set<std::string> now;
    (void)eventually([&] {
      before = whole();
      std::this_thread::sleep_for(seconds(1));
      now = whole();
      return !now.empty() && now == before;
    });
    return now;
  }
  void end(const std::string& name) {
    const auto at =
        std::find_if(all_.begin(), all_.end(), [&](const Work& work) { return work.name == name; });
    const Work work = *at;
    {
      const std::lock_guard lock(mutex_);
      ending_.insert(name);
    }
    expect_finishes(work.kind, name);
    (void)cluster_->client().del(work.kind.path + "/" + name);
    EXPECT_TRUE(eventually([&] { return pods(name) == 0; })) << name;
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [&](const Work& each) { return each.name == name; });
  }
  void end_one_of(const std::set<std::string>& names) {
    if (names.empty()) return;
    auto it = names.begin();
    std::advance(it, random_() % names.size());
    end(*it);
  }

  std::vector<std::pair<std::string, JudgedKind>> kinds_;
  std::mt19937 random_{static_cast<unsigned>(number_from_env("BERTH_E2E_SEED", 1))};
  std::mutex mutex_;  // of the next three, between the test and its watcher
  std::vector<Work> all_;
  std::set<std::string> ending_;
  std::set<std::string> half_;
  std::atomic<bool> stop_ = false;
  std::thread watcher_;
};

TEST_F(BerthMixed, HalfAGangNeverRunsInAFullCluster) {
  const std::size_t rounds = number_from_env("BERTH_E2E_KINDS_ROUNDS", 10);
  ASSERT_NO_FATAL_FAILURE(start_with_controllers(8));
  for (const char* name : {"low", "high"})
    create("/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes",
           torch_runtime(name, spec_of_pod(name, "node")));
  ASSERT_NE(start_berth(), nullptr);
  watch();
  add(0);
  add(1);
  // Three or four wait and run at once: of most two the GPUs are too few.
  for (std::size_t round = 2; round < rounds + 2 && !HasFailure(); ++round) {
    add(round);
    add(round + rounds);
    const auto running = settled();
    EXPECT_FALSE(running.empty()) << "nothing runs" << reasons_of_waiting();
    end_one_of(running);
    if (all_.size() > 4) end_one_of(settled());
  }
  while (!all_.empty() && !HasFailure()) {
    const auto running = settled();
    ASSERT_FALSE(running.empty()) << "nothing runs" << reasons_of_waiting();
    end_one_of(running);
  }
  expect_clean();
}

}  // namespace
}  // namespace berth::e2e

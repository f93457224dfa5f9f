// Gangs on a real API server: all or nothing, and no deadlock between two of them.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <random>
#include <set>

#include "e2e/berth_fixture.h"

namespace berth::e2e {
namespace {

class BerthGangs : public BerthTest {};

// Watches pools with room for `room` pods in which two gangs of `size` want a place: as long as one gang has so many that the other
// does not fit, no member of the other may be bound. Looks at each event in the order of the API server, so no moment is missed.
class PoolJudge {
 public:
  PoolJudge(std::size_t room, std::size_t size) : room_(room), size_(size) {}

  // Gangs of one pool have names that differ in their last letter.
  void see(const SeenPod& pod, bool deleted) {
    if (pod.gang.empty()) {
      return;
    }
    const std::lock_guard lock(mutex_);
    auto& bound = bound_[pod.gang];
    if (deleted || !pod.occupies()) {
      bound.erase(pod.key);
      return;
    }
    if (!bound.insert(pod.key).second) {
      return;
    }
    std::string other = pod.gang;
    other.back() = other.back() == 'a' ? 'b' : 'a';
    const auto it = bound_.find(other);
    if (it != bound_.end() && it->second.size() + size_ > room_) {
      wrong_.push_back(
          fmt::format("{} was bound while {} had {} of its {}", pod.key, other, it->second.size(), size_));
    }
  }
  std::string str() const {
    const std::lock_guard lock(mutex_);
    return fmt::format("{}", fmt::join(wrong_, "\n"));
  }

 private:
  const std::size_t room_;
  const std::size_t size_;
  mutable std::mutex mutex_;
  std::map<std::string, std::set<std::string>> bound_;  // by gang
  std::vector<std::string> wrong_;
};

TEST_F(BerthGangs, EightWorkersWithSixFreeGpusAllWaitAndSayWhy) {
  start();
  ASSERT_OK(cluster_->create_nodes(100));
  // 99 nodes are full and the last has six of eight left.
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_OK(cluster_->create_pods(1, {.name = fmt::format("old-{}", i),
                                        .scheduler = "other",
                                        .requests = {{"cpu", "1"}, {"nvidia.com/gpu", i == 99 ? "2" : "8"}},
                                        .node = fmt::format("node-{}", i)}));
  }
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  ASSERT_OK(cluster_->create_pods(8, {.name = "worker", .labels = gang("train", 8)}));
  const std::string message = wait_for_reasons(names_of("worker", 8), "Unschedulable");
  EXPECT_NE(message.find("gpu"), std::string::npos) << message;
  EXPECT_TRUE(observer_->wait_quiet(seconds(2), kLong));
  EXPECT_EQ(observer_->now().bound, 100U) << "none of the eight is bound";

  // The room of the two comes free: now all eight start.
  ASSERT_OK(expect_ok(cluster_->client().del("/api/v1/namespaces/default/pods/old-99-0"), "deleting a pod"));
  EXPECT_TRUE(wait_bound(99 + 8));
  const auto pods = observer_->pods();
  for (const auto& name : names_of("worker", 8)) {
    EXPECT_EQ(pods.at("default/" + name).node, "node-99");
  }
  expect_clean();
}

// Nodes come that do not suffice: the condition tells the new number within seconds, although nothing can start.
TEST_F(BerthGangs, TheConditionFollowsTheRoomThatThereIs) {
  const auto gpus = [](const char* name, const char* count) {
    return NodeShape{.name = name,
                     .allocatable = {{"cpu", "64"}, {"memory", "1Ti"}, {"pods", "110"}, {kGpu, count}}};
  };
  start();
  ASSERT_OK(cluster_->create_nodes(1, gpus("old", "3")));
  ASSERT_NE(start_berth(), nullptr);
  ASSERT_OK(cluster_->create_pods(8, {.name = "worker", .labels = gang("train", 8)}));
  std::string message = wait_for_reasons(names_of("worker", 8), "Unschedulable");
  EXPECT_NE(message.find("room for 3"), std::string::npos) << message;

  ASSERT_OK(cluster_->create_nodes(2, gpus("new", "2")));
  const auto all_say = [&](const std::string& words) {
    const auto pods = observer_->pods();
    const auto names = names_of("worker", 8);
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return pods.at("default/" + name).scheduled_message.find(words) != std::string::npos;
    });
  };
  EXPECT_TRUE(eventually([&] { return all_say("room for 7"); }, seconds(10))) << reasons_of_waiting();
  ASSERT_OK(expect_ok(cluster_->client().del("/api/v1/nodes/new-1"), "deleting a node"));
  EXPECT_TRUE(eventually([&] { return all_say("room for 5"); }, seconds(10))) << reasons_of_waiting();
  EXPECT_EQ(observer_->now().bound, 0U);
  expect_clean();
}

// In every pool of two nodes with four GPUs each, two gangs of six arrive pod by pod. A scheduler that binds what fits gives each a
// part, for ever. Later rounds have gangs of other shapes, too.
TEST_F(BerthGangs, TwoGangsThatEachFitAloneNeverDeadlock) {
  constexpr std::size_t kPools = 60;
  struct Shape {
    std::size_t size = 0;
    std::size_t gpus = 0;  // of a pod
  };
  constexpr std::array<Shape, 6> kShapes = {{{6, 1}, {5, 1}, {4, 2}, {3, 2}, {2, 3}, {2, 4}}};
  Shape shape = kShapes[0];
  const std::size_t rounds = number_from_env("BERTH_E2E_ROUNDS", 1);
  std::mt19937_64 random(number_from_env("BERTH_E2E_SEED", 20261121));
  std::optional<PoolJudge> judge;
  const auto judged = [&](ObserverOfPods& observer) {
    judge.emplace(2 * (4 / shape.gpus), shape.size);
    observer.on_pod([&judge](const SeenPod& pod, bool deleted) { judge->see(pod, deleted); });
  };
  prepare_observer_ = judged;
  start();
  ASSERT_OK(cluster_->create_nodes(
      kPools * 2,
      {.allocatable = {{"cpu", "64"}, {"memory", "1Ti"}, {"pods", "110"}, {"nvidia.com/gpu", "4"}},
       .labels_of = [](std::size_t i) {
         return Labels{{"pool", fmt::format("p{}", i / 2)}};
       }}));
  auto* berth = start_berth();
  ASSERT_NE(berth, nullptr);
  for (std::size_t round = 0; round < rounds && !HasFailure(); ++round) {
    SCOPED_TRACE(fmt::format("round {}", round));
    if (round > 0) shape = kShapes[random() % kShapes.size()];
    const std::size_t size = shape.size;
    if (round > 0) {  // a fresh one, so that its memory does not grow with the rounds
      observer_->stop();
      observer_ = std::make_unique<ObserverOfPods>(cluster_->endpoint());
      judged(*observer_);
      ASSERT_OK(observer_->start());
    }
    const auto gang_name = [&](std::size_t pool, std::size_t which) {
      return fmt::format("r{}-p{}-{}", round, pool, which == 0 ? "a" : "b");
    };
    // Strictly in turns in the first round, in any order of the two gangs' pods in later ones.
    std::vector<std::string> bodies;
    std::vector<std::vector<std::size_t>> order(kPools);
    for (auto& of_pool : order) {
      for (std::size_t i = 0; i < 2 * size; ++i) {
        of_pool.push_back(i % 2);
      }
      if (round > 0) {
        std::shuffle(of_pool.begin(), of_pool.end(), random);
      }
    }
    std::vector<std::array<std::size_t, 2>> made(kPools);
    for (std::size_t turn = 0; turn < 2 * size; ++turn) {
      for (std::size_t pool = 0; pool < kPools; ++pool) {
        const std::size_t which = order[pool][turn];
        const std::string name = gang_name(pool, which);
        bodies.push_back(pod_json({.name = name,
                                   .requests = {{"cpu", "1"}, {"nvidia.com/gpu", std::to_string(shape.gpus)}},
                                   .labels = gang(name, size),
                                   .node_selector = {{"pool", fmt::format("p{}", pool)}}},
                                  made[pool][which]++));
      }
    }
    ASSERT_OK(cluster_->create_all("/api/v1/namespaces/default/pods", bodies, 8));
    EXPECT_TRUE(wait_bound(kPools * size)) << observer_->check().str();
    // A short while: what is bound wrongly later is seen by the judge.
    EXPECT_TRUE(observer_->wait_quiet(milliseconds(100), kLong));
    const auto first = bound_by_gang();
    std::vector<std::string> winners;
    for (std::size_t pool = 0; pool < kPools; ++pool) {
      const std::size_t a = first.at("default/" + gang_name(pool, 0));
      const std::size_t b = first.at("default/" + gang_name(pool, 1));
      EXPECT_TRUE((a == size && b == 0) || (a == 0 && b == size))
          << "pool " << pool << ": " << a << " and " << b;
      winners.push_back(gang_name(pool, a == size ? 0 : 1));
    }
    // The whole ones end, by success or by deletion, and the others start.
    ASSERT_OK(for_each_parallel(cluster_->endpoint(), kPools * size, 16, [&](ApiClient& api, std::size_t i) {
      const auto path = fmt::format("/api/v1/namespaces/default/pods/{}-{}", winners[i / size], i % size);
      return (i / size) % 2 == 0
                 ? expect_ok(api.del(path), "deleting a pod")
                 : expect_ok(api.patch(path + "/status", R"({"status":{"phase":"Succeeded"}})"),
                             "ending a pod");
    }));
    EXPECT_TRUE(
        observer_->wait_until([&](const auto& now) { return now.binds == 2 * kPools * size; }, kLong));
    EXPECT_TRUE(observer_->wait_quiet(milliseconds(100), kLong));
    expect_clean();
    EXPECT_EQ(judge->str(), "");
    for (const auto& [name, bound] : bound_by_gang()) {
      EXPECT_EQ(bound, size) << name;
    }
    ASSERT_OK(expect_ok(cluster_->client().del("/api/v1/namespaces/default/pods"), "deleting all pods"));
    ASSERT_TRUE(observer_->wait_until([](const auto& now) { return now.pods == 0; }, kLong));
    if (rounds > 1 && (round + 1) % 10 == 0) {
      std::fprintf(stderr, "%zu of %zu rounds\n", round + 1, rounds);
    }
  }
}

}  // namespace
}  // namespace berth::e2e

// Berth is killed and frozen at bad moments; the observer must see nothing of it.
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <random>

#include "e2e/berth_fixture.h"

namespace berth::e2e {
namespace {

class BerthFaults : public BerthTest {
 protected:
  // `total` one-GPU pods: gangs of 2 to 16 whose members arrive mixed with each other's, and singles.
  static std::vector<std::string> mixed_pods(std::size_t total, const std::string& prefix,
                                             std::mt19937_64& random) {
    std::vector<std::string> bodies;
    for (std::size_t group = 0; bodies.size() < total; ++group) {
      const std::size_t size =
          std::min<std::size_t>(total - bodies.size(), random() % 3 == 0 ? 1 : 2 + random() % 15);
      const std::string name = fmt::format("{}{}", prefix, group);
      for (std::size_t i = 0; i < size; ++i) {
        bodies.push_back(pod_json({.name = name, .labels = size == 1 ? Labels{} : gang(name, size)}, i));
      }
    }
    // Each moves by up to a hundred places.
    for (std::size_t i = 0; i + 1 < bodies.size(); ++i) {
      std::swap(bodies[i], bodies[std::min(bodies.size() - 1, i + random() % 100)]);
    }
    return bodies;
  }

  // Creates them one after the other over `time`.
  Status create_slowly(const std::vector<std::string>& bodies, milliseconds time) {
    auto api = cluster_->client();
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      std::this_thread::sleep_until(begin + time * i / bodies.size());
      BERTH_TRY(expect_ok(api.post("/api/v1/namespaces/default/pods", bodies[i]), "creating a pod"));
    }
    return {};
  }
};

TEST_F(BerthFaults, KilledAtRandomPointsWhilePodsArriveItCompletesEverything) {
  constexpr std::size_t kPods = 500;
  const auto seed = number_from_env("BERTH_E2E_SEED", 4);
  std::mt19937_64 random(seed);
  start();
  ASSERT_OK(cluster_->create_nodes(64));  // 512 GPUs for 500
  const auto bodies = mixed_pods(kPods, "w", random);
  Status created;
  std::atomic<bool> arrived{false};
  std::thread arrival([&] {
    created = create_slowly(bodies, seconds(6));
    arrived = true;
  });
  // Without a lease: the next one starts to decide while writes of the last may still be on their way.
  std::size_t kills = 0;
  std::size_t kills_while_binding = 0;
  const std::size_t wanted = number_from_env("BERTH_E2E_KILLS", 12);
  for (; kills < wanted || !arrived; ++kills) {
    auto* berth = start_berth({.args = {"--leader-elect=false"}});
    if (berth == nullptr) {
      break;
    }
    // Half of them by time, half as soon as the next few pods were bound, which is in the middle of something.
    const auto before = observer_->now().binds;
    if (kills % 2 == 0) {
      std::this_thread::sleep_for(milliseconds(50 + random() % 700));
    } else {
      const std::size_t more = 1 + random() % 20;
      observer_->wait_until([&](const auto& now) { return now.binds >= before + more; },
                            milliseconds(500 + random() % 1500));
    }
    berth->process.kill_now();
    kills_while_binding += observer_->now().binds > before ? 1 : 0;
  }
  arrival.join();
  ASSERT_OK(created);
  ASSERT_NE(start_berth({.args = {"--leader-elect=false"}}), nullptr);
  EXPECT_TRUE(wait_bound(kPods)) << observer_->check().str();
  expect_clean();
  const auto report = observer_->check();
  EXPECT_EQ(report.binds, kPods);
  EXPECT_TRUE(report.deletions.empty()) << "bare pods are never deleted by a withdrawal";
  EXPECT_GE(kills_while_binding, 3U) << "too few of " << kills << " kills (seed " << seed
                                     << ") had work to disturb";
}

TEST_F(BerthFaults, ALeaderFrozenPastItsLeaseDoesNoHarmWhenItWakes) {
  constexpr std::size_t kPods = 400;
  std::mt19937_64 random(number_from_env("BERTH_E2E_SEED", 5));
  start();
  ASSERT_OK(cluster_->create_nodes(52));  // 416 GPUs
  const std::vector<std::string> args = {"--lease-seconds=3"};
  auto* first = start_berth({.name = "berth-a", .args = args});
  ASSERT_NE(first, nullptr);
  ASSERT_TRUE(eventually([&] { return log_has(*first, "leading as"); }));
  auto* second = start_berth({.name = "berth-b", .args = args});
  ASSERT_NE(second, nullptr);
  ASSERT_TRUE(eventually([&] { return log_has(*second, "the lease is held by"); }));

  const auto bodies = mixed_pods(kPods, "w", random);
  const std::vector<std::string> early(bodies.begin(), bodies.begin() + kPods / 2);
  const std::vector<std::string> late(bodies.begin() + kPods / 2, bodies.end());
  Status created;
  std::thread arrival([&] { created = cluster_->create_all("/api/v1/namespaces/default/pods", early, 8); });
  // Frozen in the middle of its work, with decided binds that are not sent yet.
  EXPECT_TRUE(observer_->wait_until([](const auto& now) { return now.binds >= 10; }, kLong));
  first->process.send(SIGSTOP);
  arrival.join();
  ASSERT_OK(created);
  EXPECT_TRUE(eventually([&] { return log_has(*second, "leading as"); })) << tail(second->log, 20);
  const auto before = observer_->now().binds;
  Status created_later;
  std::thread later([&] { created_later = create_slowly(late, seconds(2)); });
  EXPECT_TRUE(observer_->wait_until([&](const auto& now) { return now.binds > before; }, kLong));
  first->process.send(SIGCONT);
  later.join();
  ASSERT_OK(created_later);
  EXPECT_TRUE(wait_bound(kPods)) << observer_->check().str();
  // It has noticed, and leaves; whoever started it would start it again.
  EXPECT_TRUE(first->process.wait(60'000));
  EXPECT_EQ(first->process.exit_status(), 1) << first->process.exit_text() << "\n" << tail(first->log, 20);
  EXPECT_TRUE(second->process.running());
  expect_clean();
  EXPECT_EQ(observer_->check().binds, kPods) << "every pod once";
}

}  // namespace
}  // namespace berth::e2e

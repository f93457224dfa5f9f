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
  const std::size_t wanted = number_from_env("BERTH_E2E_KILLS", 12);
  Status created;
  std::atomic<bool> arrived{false};
  std::thread arrival([&] {
    created = create_slowly(bodies, milliseconds(500) * wanted);
    arrived = true;
  });
  // Without a lease: the next one starts to decide while writes of the last may still be on their way.
  std::size_t kills = 0;
  std::size_t kills_while_binding = 0;
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
  EXPECT_GE(kills_while_binding, wanted / 4)
      << "too few of " << kills << " kills (seed " << seed << ") had work to disturb";
}

// Evictions are writes one by one too: killed between them, Berth finishes what it has begun instead of beginning with others.
TEST_F(BerthFaults, KilledWhileGangsDisplaceGangsItTearsNone) {
  constexpr std::size_t kNodes = 30;
  constexpr std::size_t kSize = 8;
  constexpr std::size_t kHigh = 20;
  const auto seed = number_from_env("BERTH_E2E_SEED", 6);
  std::mt19937_64 random(seed);
  const std::string pods = "/api/v1/namespaces/default/pods";
  const auto gangs = [&](const std::string& prefix, std::size_t count) {
    std::vector<std::string> bodies;
    for (std::size_t i = 0; i < count * kSize; ++i) {
      const std::string name = fmt::format("{}{}", prefix, i / kSize);
      bodies.push_back(
          pod_json({.name = name, .labels = gang(name, kSize), .priority_class = prefix}, i % kSize));
    }
    return bodies;
  };
  // KWOK: a delete whose client dies may leave the pod with a deletionTimestamp only, for the kubelet to remove.
  start({.kwok = true});
  ASSERT_OK(cluster_->create_nodes(kNodes));
  ASSERT_OK(cluster_->create_priority_class("low", 10));
  ASSERT_OK(cluster_->create_priority_class("high", 100));
  ASSERT_OK(cluster_->create_all(pods, gangs("low", kNodes), 16));
  const std::vector<std::string> args = {"--leader-elect=false"};
  auto* berth = start_berth({.args = args});
  ASSERT_NE(berth, nullptr);
  ASSERT_TRUE(wait_bound(kNodes * kSize));
  ASSERT_OK(cluster_->create_all(pods, gangs("high", kHigh), 1));
  const auto progress = [&] {  // a number that grows with each eviction that is begun
    const auto all = observer_->pods();
    return kNodes * kSize + kHigh * kSize - all.size() +
           static_cast<std::size_t>(std::count_if(
               all.begin(), all.end(), [](const auto& entry) { return entry.second.disruption_target; }));
  };
  std::size_t torn = 0;  // kills that left a gang with some of its members marked or gone
  for (std::size_t done = 0; done < kHigh * kSize;) {
    const std::size_t wanted = done + 1 + random() % 12;
    ASSERT_TRUE(eventually([&] { return progress() >= std::min(wanted, kHigh * kSize); }));
    std::this_thread::sleep_for(milliseconds(random() % 20));
    berth->process.kill_now();
    ASSERT_OK(observer_->catch_up());
    done = progress();
    torn += done % kSize != 0 ? 1 : 0;
    berth = start_berth({.args = args});
    ASSERT_NE(berth, nullptr);
  }
  RecordProperty("kills_that_tore_a_gang", std::to_string(torn));
  const auto bound_high = [&] {
    std::size_t count = 0;
    for (const auto& [name, bound] : bound_by_gang()) {
      count += name.starts_with("default/high") ? bound : 0;
    }
    return count;
  };
  EXPECT_TRUE(eventually([&] { return bound_high() == kHigh * kSize; }))
      << observer_->check().str() << reasons_of_waiting();
  EXPECT_TRUE(observer_->wait_quiet(seconds(1), kLong));
  expect_clean();
  const auto report = observer_->check();
  EXPECT_EQ(report.deletions.size(), kHigh * kSize) << "as many as were needed (seed " << seed << ")";
  for (const auto& deletion : report.deletions) {
    EXPECT_TRUE(deletion.had_disruption_target) << deletion.pod;
    EXPECT_TRUE(deletion.gang.starts_with("default/low")) << deletion.pod;
  }
}

TEST_F(BerthFaults, AGangThatWasTornBeforeTheStartIsAVictimLikeAnyOther) {
  start();
  ASSERT_OK(cluster_->create_nodes(2));
  ASSERT_OK(cluster_->create_priority_class("low", 10));
  ASSERT_OK(cluster_->create_priority_class("high", 100));
  const Labels torn = {{"berth.dev/gang", "torn"}, {"berth.dev/gang-size", "8"}};
  ASSERT_OK(
      cluster_->create_pods(2, {.name = "torn", .labels = torn, .node = "node-0", .priority_class = "low"}));
  ASSERT_OK(cluster_->create_pods(
      8, {.name = "old", .labels = gang("old", 8), .node = "node-1", .priority_class = "high"}));
  ASSERT_OK(cluster_->create_pods(8, {.name = "high", .labels = gang("high", 8), .priority_class = "high"}));
  ASSERT_NE(start_berth({.args = {"--leader-elect=false"}}), nullptr);
  EXPECT_TRUE(observer_->wait_until([](const auto& now) { return now.binds == 18; }, kLong))
      << observer_->check().str() << reasons_of_waiting();
  expect_clean();
}

// The leader is frozen with hundreds of decided binds that are not sent yet. Its successor gives the room to work of higher
// priority. Were the old binds sent when it wakes, every node would be oversubscribed.
TEST_F(BerthFaults, ALeaderFrozenPastItsLeaseDoesNoHarmWhenItWakes) {
  constexpr std::size_t kSize = 40;
  constexpr std::size_t kLow = 10;
  constexpr std::size_t kHigh = 8;
  const auto all = [](const std::string& prefix, std::size_t gangs, std::size_t from, std::size_t to) {
    std::vector<std::string> bodies;
    for (std::size_t g = 0; g < gangs; ++g) {
      const std::string name = fmt::format("{}{}", prefix, g);
      for (std::size_t i = from; i < to; ++i) {
        bodies.push_back(pod_json({.name = name, .labels = gang(name, kSize), .priority_class = prefix}, i));
      }
    }
    return bodies;
  };
  const std::string pods = "/api/v1/namespaces/default/pods";
  start();
  ASSERT_OK(cluster_->create_nodes(52));  // 416 GPUs: room for the low gangs alone, not for both
  ASSERT_OK(cluster_->create_priority_class("low", 10));
  ASSERT_OK(cluster_->create_priority_class("high", 100, "Never"));
  const std::vector<std::string> args = {"--lease-seconds=6"};
  auto* first = start_berth({.name = "berth-a", .args = args});
  ASSERT_NE(first, nullptr);
  ASSERT_TRUE(eventually([&] { return log_has(*first, "leading as"); }));
  auto* second = start_berth({.name = "berth-b", .args = args});
  ASSERT_NE(second, nullptr);
  ASSERT_TRUE(eventually([&] { return log_has(*second, "the lease is held by"); }));

  // The last member of each gang sets all its binds free at once.
  ASSERT_OK(cluster_->create_all(pods, all("low", kLow, 0, kSize - 1), 8));
  ASSERT_OK(cluster_->create_all(pods, all("low", kLow, kSize - 1, kSize), 1));
  EXPECT_TRUE(observer_->wait_until([](const auto& now) { return now.binds >= 5; }, kLong));
  first->process.send(SIGSTOP);
  ASSERT_OK(cluster_->create_all(pods, all("high", kHigh, 0, kSize), 8));
  EXPECT_TRUE(eventually([&] { return log_has(*second, "leading as"); })) << tail(second->log, 20);
  const auto bound_of = [&](const std::string& prefix) {
    std::size_t count = 0;
    for (const auto& [name, bound] : bound_by_gang()) {
      count += name.starts_with("default/" + prefix) ? bound : 0;
    }
    return count;
  };
  EXPECT_TRUE(observer_->wait_until([](const auto& now) { return now.bound >= 9 * kSize; }, kLong));
  EXPECT_TRUE(observer_->wait_quiet(seconds(1), kLong));
  EXPECT_EQ(observer_->now().bound, 10 * kSize) << "as many gangs as there is room for";
  const std::size_t low_before = bound_of("low");
  EXPECT_LT(low_before, kLow * kSize) << "it was frozen too late to have anything left to do wrong";

  first->process.send(SIGCONT);
  // It notices, and exits; its supervisor would restart it.
  EXPECT_TRUE(first->process.wait(60'000));
  EXPECT_EQ(first->process.exit_status(), 1) << first->process.exit_text() << "\n" << tail(first->log, 20);
  EXPECT_TRUE(observer_->wait_quiet(seconds(1), kLong));
  EXPECT_EQ(bound_of("low"), low_before);
  expect_clean();

  // The successor goes on: the low gangs have the room of the high ones after these.
  for (std::size_t g = 0; g < kHigh; ++g) {
    ASSERT_OK(
        expect_ok(cluster_->client().del(fmt::format("{}?labelSelector=berth.dev%2Fgang%3Dhigh{}", pods, g)),
                  "ending a gang"));
  }
  EXPECT_TRUE(eventually([&] { return bound_of("low") == kLow * kSize; })) << observer_->check().str();
  EXPECT_TRUE(second->process.running());
  expect_clean();
  for (const auto& deletion : observer_->check().deletions) {
    EXPECT_TRUE(deletion.gang.starts_with("default/high")) << deletion.pod;
  }
}

}  // namespace
}  // namespace berth::e2e

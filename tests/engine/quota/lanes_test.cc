// Lanes: turns within a queue by what each lane used of late.
#include "engine/quota/lanes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

Event laned_queue(std::vector<Lane> lanes, std::int64_t gpus = 8, bool by_use = true) {
  Event event = gpu_queue("q", "", gpus);
  auto& q = std::get<QueueUpsert>(event).queue;
  q.preemption = {};
  q.lanes.by_use = by_use;
  q.lanes.half_life = 16 * kHour;
  q.lanes.lanes = std::move(lanes);
  return event;
}

Event job(const std::string& uid, const std::string& lane, TimeMs created, std::int64_t priority = 0,
          int gpus = 1) {
  Workload w = gang_workload(uid, 1, gpus, priority, "q");
  w.lane = lane;
  w.created = created;
  return WorkloadUpsert{w};
}

std::vector<std::string> started(Engine& e, TimeMs now) {
  std::vector<std::string> out;
  for (const Decision& d : e.decide(now)) {
    if (d.kind == DecisionKind::kStart) out.push_back(d.workload);
  }
  ok(e.audit());
  return out;
}

struct LanesWorld {
  Engine e;
  explicit LanesWorld(const Event& queue, int gpus = 8) {
    ok(e.apply(gpu_node("n", gpus)));
    ok(e.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
    ok(e.apply(queue));
  }
};

using Names = std::vector<std::string>;

TEST(Lanes, TakeTurnsWhateverPriorityAndAge) {
  for (const bool by_use : {true, false}) {
    LanesWorld w(laned_queue({}, 8, by_use), 4);
    for (int i = 0; i < 4; ++i) ok(w.e.apply(job("a" + std::to_string(i), "a", i, 10)));
    for (int i = 0; i < 4; ++i) ok(w.e.apply(job("b" + std::to_string(i), "b", 10 + i)));
    EXPECT_EQ(started(w.e, 1000), by_use ? (Names{"a0", "b0", "a1", "b1"}) : (Names{"a0", "a1", "a2", "a3"}));
  }
}

TEST(Lanes, WhatWasUsedOfLateIsToldAndComesBackAsItWas) {
  const auto use_of = [](const Engine& e) {
    std::map<std::string, std::int64_t> out;
    ok(e.each_lane_use("q", 0, [&](std::string_view lane, std::string_view resource, std::int64_t amount) {
      if (resource == "nvidia.com/gpu") out[std::string(lane)] = amount;
    }));
    return out;
  };
  const auto near = [](std::int64_t is, std::int64_t wanted, std::int64_t by) {
    return std::abs(is - wanted) <= by ? ::testing::AssertionSuccess()
                                       : ::testing::AssertionFailure() << is << ", not " << wanted;
  };
  LanesWorld w(laned_queue({}));
  ok(w.e.apply(job("a0", "a", 1, 0, 4)));
  EXPECT_EQ(started(w.e, 1000), (Names{"a0"}));
  const auto after = [&](DurationMs time, TimeMs from) {
    (void)started(w.e, from + time);
    return use_of(w.e)["a"];
  };
  EXPECT_EQ(use_of(w.e)["a"], 0) << "it has only begun";
  EXPECT_TRUE(near(after(16 * kHour, 1000), 2000, 60)) << "half of four, after one half-life";
  EXPECT_TRUE(near(after(160 * kHour, 1000), 4000, 10));
  ok(w.e.apply(WorkloadRemove{"a0"}));
  (void)started(w.e, 1000 + 160 * kHour);
  EXPECT_TRUE(near(after(176 * kHour, 1000), 2000, 60)) << "and half of that, a half-life later";

  // An engine that begins with reported use continues from there.
  const std::int64_t told = use_of(w.e)["a"];
  const TimeMs now = 1000 + 176 * kHour;
  Lane known;
  known.name = "a";
  known.used.set("nvidia.com/gpu", told);
  known.used_at = now;
  LanesWorld next(laned_queue({known}));
  (void)started(next.e, now);
  EXPECT_TRUE(near(use_of(next.e)["a"], told, 2));
  EXPECT_FALSE(w.e.each_lane_use("nowhere", 0, [](auto, auto, auto) {}));

  // Queues whose work stands in line by something else tell nothing.
  LanesWorld plain(laned_queue({}, 8, false));
  ok(plain.e.apply(job("a0", "a", 1)));
  (void)started(plain.e, 1000);
  EXPECT_TRUE(use_of(plain.e).empty());
}

TEST(Lanes, ByWeightAndThoseWithoutAnyLast) {
  LanesWorld w(laned_queue({{"a", {3, 1}, {}, 0}, {"guests", {0, 1}, {}, 0}}), 4);
  for (int i = 0; i < 6; ++i) {
    ok(w.e.apply(job("g" + std::to_string(i), "guests", i, 10)));
    ok(w.e.apply(job("a" + std::to_string(i), "a", 10 + i)));
    ok(w.e.apply(job("b" + std::to_string(i), "b", 20 + i)));
  }
  EXPECT_EQ(started(w.e, 1000), (Names{"a0", "b0", "a1", "a2"})) << "three to one";
}

TEST(Lanes, RememberWhatWasUsedAndForgetItByHalves) {
  LanesWorld w(laned_queue({}), 1);
  TimeMs now = 1000;
  ok(w.e.apply(job("a0", "a", 1)));
  EXPECT_EQ(started(w.e, now), (Names{"a0"}));
  now += 16 * kHour;
  ok(w.e.apply(WorkloadRemove{"a0"}));
  EXPECT_EQ(started(w.e, now), Names{});
  ok(w.e.apply(job("a1", "a", now)));
  ok(w.e.apply(job("b0", "b", now + 1)));
  EXPECT_EQ(started(w.e, now += 1000), (Names{"b0"})) << "although it is newer";
  // b uses as long again: what a had is worth half of it by then.
  now += 16 * kHour;
  ok(w.e.apply(WorkloadRemove{"b0"}));
  ok(w.e.apply(job("b1", "b", 2)));
  EXPECT_EQ(started(w.e, now), (Names{"a1"}));
}

TEST(Lanes, PartsOfWhatThereIsAreCompared) {
  // "a" used a quarter of the GPUs, "b" a hundredth of the CPUs: more units, and less of what there is.
  ResourceList gpus, cpus;
  gpus.set("nvidia.com/gpu", 2000);
  cpus.set("cpu", 10'000);
  LanesWorld w(laned_queue({{"a", {1, 1}, gpus, 1000}, {"b", {1, 1}, cpus, 1000}}), 1);
  ok(w.e.apply(job("a", "a", 1)));
  ok(w.e.apply(job("b", "b", 2)));
  EXPECT_EQ(started(w.e, 1000), (Names{"b"}));

  // Unless only the CPUs count.
  Event only_cpus = laned_queue({{"a", {1, 1}, gpus, 1000}, {"b", {1, 1}, cpus, 1000}});
  std::get<QueueUpsert>(only_cpus).queue.lanes.resource_weights = {{"nvidia.com/gpu", {0, 1}}};
  LanesWorld other(only_cpus, 1);
  ok(other.e.apply(job("a", "a", 1)));
  ok(other.e.apply(job("b", "b", 2)));
  EXPECT_EQ(started(other.e, 1000), (Names{"a"}));
}

TEST(Lanes, AStrictLineWaitsForItsFirst) {
  Event strict = laned_queue({});
  std::get<QueueUpsert>(strict).queue.order = QueueOrder::kStrict;
  LanesWorld w(strict, 4);
  ok(w.e.apply(job("a0", "a", 1, 0, 3)));
  EXPECT_EQ(started(w.e, 1000), (Names{"a0"}));
  ok(w.e.apply(job("a1", "a", 2, 10, 1)));
  ok(w.e.apply(job("b0", "b", 3, 0, 4)));
  EXPECT_EQ(started(w.e, 2000), Names{}) << "b is first in line, and a1 does not pass it";
}

TEST(Lanes, AWorkloadThatChangesItsLaneTakesItsUseAlong) {
  LanesWorld w(laned_queue({}), 2);
  ok(w.e.apply(job("x", "a", 1)));
  EXPECT_EQ(started(w.e, 1000), (Names{"x"}));
  ok(w.e.apply(job("x", "b", 1)));
  ok(w.e.apply(job("b0", "b", 2)));
  ok(w.e.apply(job("c0", "c", 3)));
  EXPECT_EQ(started(w.e, 2000), (Names{"c0"})) << "what runs counts for b now";
}

TEST(Lanes, ManyLanesKeepOneOrder) {
  Lanes lanes;
  LaneOrder rules;
  rules.by_use = true;
  lanes.set_rules(rules, 0, [](const std::string&) { return std::size_t{0}; });
  const std::vector<std::int64_t> capacity{1'000'000};
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(lanes.number("lane" + std::to_string(i), 0), i);
    lanes.use(i, 0, (i * 37) % 50 * 1000);
  }
  lanes.advance(1000);
  const auto places = lanes.places(capacity);
  for (std::uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(places[i], 2 * ((i * 37) % 50)) << "two lanes share each place";
  }
}

}  // namespace
}  // namespace berth::engine

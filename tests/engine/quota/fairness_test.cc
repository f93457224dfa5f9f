// The order of queues among their siblings: exact shares, and the queue that gets the next free place.
#include "engine/quota/fairness.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/tests_support.h"

namespace berth::engine {
namespace {

using namespace test;

TEST(Fairness, FractionsCompareExactly) {
  EXPECT_TRUE(rc::check("as by products of long integers", [] {
    const auto positive = [] { return static_cast<Int128>(*rc::gen::inRange<std::int64_t>(1, kInt64Max)); };
    const auto any = [] { return static_cast<Int128>(*rc::gen::inRange<std::int64_t>(0, kInt64Max)); };
    const Int128 a = any(), b = positive(), c = any(), d = positive();
    RC_ASSERT(compare_fractions(a, b, c, d) == (a * d <=> c * b));
    // The same beyond what products could tell: both sides stretched alike keep their order.
    const Int128 stretch = Int128{1} << 60;
    RC_ASSERT(compare_fractions(a * stretch, b * stretch, c, d) == (a * d <=> c * b));
    RC_ASSERT(compare_fractions(a * stretch, b, c * stretch, d) == (a * d <=> c * b));
  }));
  const Int128 huge = Int128{1} << 120;
  EXPECT_TRUE(compare_fractions(huge, huge - 1, huge + 1, huge) > 0) << "1 + 1/(h-1) against 1 + 1/h";
  EXPECT_TRUE(compare_fractions(0, 5, 0, 7) == 0);
}

// Three queues below one parent; queue 0 is the parent. One resource, two flavors.
struct Small {
  QuotaTree quota;
  Fairness fairness{quota};

  Small(Sharing sharing, std::vector<std::int64_t> nominal, std::vector<Rational> weights,
        DurationMs half_life = 16 * kHour) {
    std::vector<QuotaTree::Node> nodes(nominal.size() + 1);
    std::vector<Fairness::Node> rules(nominal.size() + 1);
    rules[0] = {sharing, half_life, {}};
    for (std::size_t i = 0; i < nominal.size(); ++i) {
      nodes[i + 1].parent = QueueId(0u);
      nodes[i + 1].limits = {{FlavorResource(0u), nominal[i], {}, {}}, {FlavorResource(1u), 0, {}, {}}};
      rules[i + 1].weight = weights[i];
    }
    quota.rebuild(std::move(nodes), 2);
    fairness.rebuild(std::move(rules), {0, 0}, 0);
  }
  Share share(std::uint32_t queue, std::int64_t ask = 0) const {
    const std::vector<QuotaItem> items{{FlavorResource(0u), ask}};
    return fairness.share(QueueId(queue), QueueId(queue), items);
  }
  void use(std::uint32_t queue, std::int64_t amount, std::uint32_t flavor = 0) {
    quota.add(QueueId(queue), FlavorResource(flavor), amount, kBothPlanes);
  }
};

TEST(Fairness, TheDominantShareCountsWhatIsBorrowed) {
  Small s(Sharing::kDominantShare, {10, 30, 60}, {{1, 1}, {2, 1}, {0, 1}});
  EXPECT_TRUE(s.share(1, 10) == Share{}) << "within its own quota nothing counts";
  EXPECT_TRUE(s.share(1, 15) == (Share{.over = true, .num = 5, .den = 100}));
  s.use(1, 12);
  s.use(1, 3, 1);
  EXPECT_TRUE(s.share(1) == (Share{.over = true, .num = 5, .den = 100})) << "2 in one flavor, 3 in the other";
  s.use(2, 40);
  EXPECT_TRUE(s.share(2) == s.share(1)) << "10 borrowed at weight 2 are 5 at weight 1";
  EXPECT_LT(s.share(2), s.share(1, 1));
  s.use(3, 60);
  EXPECT_TRUE(s.share(3) == Share{});
  EXPECT_GT(s.share(3, 1), s.share(1, 1'000'000)) << "weight 0 borrows after all others";
}

TEST(Fairness, GuaranteesAreUsedEvenly) {
  Small s(Sharing::kGuaranteedShare, {10, 40}, {{1, 1}, {1, 1}});
  s.use(1, 2);
  s.use(2, 10);
  EXPECT_LT(s.share(1), s.share(2)) << "a fifth against a quarter";
  EXPECT_GT(s.share(1, 1), s.share(2)) << "three tenths with the candidate";
  EXPECT_GT(s.share(1, 9), s.share(2, 30)) << "beyond the guarantee comes after all within";
  EXPECT_LT(s.share(1, 9), s.share(2, 32));
}

TEST(Fairness, PastUseIsForgottenByHalves) {
  Small s(Sharing::kDecayedUse, {50, 50}, {{1, 1}, {1, 1}}, 16 * kHour);
  s.use(1, 8);
  s.fairness.note_use(QueueId(1u), 0);
  s.fairness.advance(10 * kHour);
  s.use(1, -8);
  s.fairness.note_use(QueueId(1u), 10 * kHour);
  const Share at_first = s.share(1);
  EXPECT_GT(at_first, s.share(2));
  s.fairness.advance(26 * kHour);
  const Share later = s.share(1);
  // Half of it, to a few parts in a million.
  const auto about_half = [&](std::int64_t parts) {
    return compare_fractions(later.num * parts, later.den * 1'000'000, at_first.num, at_first.den);
  };
  EXPECT_TRUE(about_half(1'999'900) < 0);
  EXPECT_TRUE(about_half(2'000'100) > 0);
  s.fairness.advance(16 * 200 * kHour);
  EXPECT_TRUE(s.share(1) == s.share(2)) << "at last nothing is left";
}

TEST(Fairness, AStartCountsAtOnce) {
  Small s(Sharing::kDecayedUse, {50, 50}, {{1, 1}, {3, 1}});
  s.use(1, 2);
  s.use(2, 4);
  EXPECT_GT(s.share(1), s.share(2)) << "2 at weight 1 against 4 at weight 3";
}

TEST(Fairness, HowOftenItIsReckonedChangesNothing) {
  EXPECT_TRUE(rc::check("one long step or many short ones", [] {
    Small once(Sharing::kDecayedUse, {50, 50}, {{1, 1}, {1, 1}});
    Small often(Sharing::kDecayedUse, {50, 50}, {{1, 1}, {1, 1}});
    for (Small* s : {&once, &often}) {
      s->use(1, 7);
      s->fairness.note_use(QueueId(1u), 0);
    }
    const TimeMs end = *rc::gen::inRange<TimeMs>(1, 100 * kHour);
    for (int i = *rc::gen::inRange(0, 20); i > 0; --i) often.fairness.note_use(QueueId(1u), end / (i + 1));
    for (Small* s : {&once, &often}) {
      s->fairness.note_use(QueueId(1u), end);
      s->fairness.advance(end);
    }
    RC_ASSERT(once.share(1) == often.share(1));
  }));
}

// ------------------------------------------------------------------------------------------------- through the engine

Event shared_cohort(Sharing sharing, DurationMs half_life = 16 * kHour) {
  Event event = cohort("all");
  std::get<QueueUpsert>(event).queue.sharing = sharing;
  std::get<QueueUpsert>(event).queue.half_life = half_life;
  return event;
}
Event weighted_queue(const std::string& name, std::int64_t gpus, std::int64_t weight,
                     const std::string& parent = "all") {
  Event event = gpu_queue(name, parent, gpus, {WithinQueue::kNever, Reclaim::kNever});
  std::get<QueueUpsert>(event).queue.weight = {weight, 1};
  return event;
}

// `jobs` one-GPU jobs of each queue, those of the first queues older; how many of each queue have a place after one round.
std::map<std::string, int> divide(Sharing sharing, const std::vector<Event>& queues,
                                  const std::vector<std::pair<std::string, int>>& jobs, int gpus) {
  Engine e;
  for (int left = gpus, i = 0; left > 0; left -= 8, ++i) {
    ok(e.apply(gpu_node("n" + std::to_string(i), std::min(8, left))));
  }
  ok(e.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
  ok(e.apply(shared_cohort(sharing)));
  for (const Event& queue : queues) ok(e.apply(queue));
  TimeMs created = 0;
  for (const auto& [queue, count] : jobs) {
    for (int i = 0; i < count; ++i) {
      Workload w = gang_workload(queue + "/" + std::to_string(i), 1, 1, 0, queue);
      w.created = ++created;
      ok(e.apply(WorkloadUpsert{w}));
    }
  }
  std::map<std::string, int> out;
  for (const Decision& d : e.decide(1'000'000)) ++out[d.workload.substr(0, d.workload.find('/'))];
  ok(e.audit());
  return out;
}

using Division = std::map<std::string, int>;

TEST(Fairness, TheSurplusIsDividedByWeight) {
  // 12 guaranteed, 36 idle: weights 1, 2 and 6 share them 4 : 8 : 24.
  const std::vector<Event> queues{weighted_queue("a", 4, 1), weighted_queue("b", 4, 2),
                                  weighted_queue("c", 4, 6), weighted_queue("idle", 36, 1)};
  const std::vector<std::pair<std::string, int>> jobs{{"a", 48}, {"b", 48}, {"c", 48}};
  for (const Sharing s : {Sharing::kDominantShare, Sharing::kGuaranteedShare}) {
    EXPECT_EQ(divide(s, queues, jobs, 48), (Division{{"a", 8}, {"b", 12}, {"c", 28}})) << enum_name(s);
  }
  EXPECT_EQ(divide(Sharing::kPriority, queues, jobs, 48), (Division{{"a", 40}, {"b", 4}, {"c", 4}}))
      << "by creation, after all guarantees";
  EXPECT_EQ(divide(Sharing::kDecayedUse, queues, jobs, 48), (Division{{"a", 6}, {"b", 11}, {"c", 31}}))
      << "by all use: 5, 10 and 30 in proportion to the weights, and the last three in turn";
}

TEST(Fairness, TheSurplusGoesToTheQueueOfHigherPriorityFirst) {
  // 8 guaranteed, 12 idle: c wants 10 beyond its 4 and gets them before b's share is looked at; within the guarantees
  // priority is nothing.
  Event first = weighted_queue("c", 4, 1);
  std::get<QueueUpsert>(first).queue.priority = 10;
  const std::vector<Event> queues{weighted_queue("b", 4, 100), first, weighted_queue("idle", 12, 1)};
  const std::vector<std::pair<std::string, int>> jobs{{"b", 20}, {"c", 14}};
  for (const Sharing s : {Sharing::kDominantShare, Sharing::kGuaranteedShare}) {
    EXPECT_EQ(divide(s, queues, jobs, 20), (Division{{"b", 6}, {"c", 14}})) << enum_name(s);
    EXPECT_EQ(divide(s, queues, jobs, 8), (Division{{"b", 4}, {"c", 4}})) << enum_name(s);
  }
}

TEST(Fairness, WhatOneDoesNotWantGoesToTheOthers) {
  EXPECT_EQ(divide(Sharing::kDominantShare,
                   {weighted_queue("a", 0, 1), weighted_queue("b", 0, 1), weighted_queue("c", 0, 1),
                    weighted_queue("idle", 30, 1)},
                   {{"a", 4}, {"b", 100}, {"c", 100}}, 30),
            (Division{{"a", 4}, {"b", 13}, {"c", 13}}));
}

TEST(Fairness, ScarceRoomIsDividedByTheGuarantees) {
  // 60 guaranteed, but only 20 there.
  EXPECT_EQ(divide(Sharing::kGuaranteedShare, {weighted_queue("a", 15, 1), weighted_queue("b", 45, 1)},
                   {{"a", 60}, {"b", 60}}, 20),
            (Division{{"a", 5}, {"b", 15}}));
}

// Within their quotas: the higher priority, then the least part of the quota in use. Beyond them as ever.
TEST(Fairness, QueuesMayRankWithinTheirQuotas) {
  Engine e;
  ok(e.apply(gpu_node("n0", 1)));
  ok(e.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
  const auto first_of = [&](std::int64_t b_priority, bool ranks) {
    Event all = shared_cohort(Sharing::kDominantShare);
    std::get<QueueUpsert>(all).queue.ranks_within_quota = ranks;
    ok(e.apply(all));
    Event a = weighted_queue("a", 4, 1), b = weighted_queue("b", 2, 1);
    std::get<QueueUpsert>(b).queue.priority = b_priority;
    ok(e.apply(a));
    ok(e.apply(b));
    ok(e.apply(gang("b0", 1, 1, 0, "b")));
    ok(e.apply(gang("a0", 1, 1, 0, "a")));
    std::string out;
    for (const Decision& d : e.decide(1000)) out += d.workload;
    for (const char* uid : {"a0", "b0"}) ok(e.apply(WorkloadRemove{uid}));
    return out;
  };
  EXPECT_EQ(first_of(0, false), "b0") << "the older one";
  EXPECT_EQ(first_of(0, true), "a0") << "a quarter of its quota against half";
  EXPECT_EQ(first_of(1, true), "b0");
}

// A queue above two others counts less than theirs together: beyond that it borrows, and they are no reason to reclaim.
TEST(Fairness, ADepartmentMayCountLessThanItsQueues) {
  Engine e;
  ok(e.apply(gpu_node("n0", 4)));
  ok(e.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
  ok(e.apply(shared_cohort(Sharing::kDominantShare)));
  for (const char* name : {"d1", "d2"}) {
    Event d = weighted_queue(name, 0, 1, "all");
    auto& queue = std::get<QueueUpsert>(d).queue;
    queue.leaf = false;
    queue.sharing = Sharing::kDominantShare;
    for (Quota& quota : queue.quotas) {
      if (quota.resource == "nvidia.com/gpu") quota.subtree_limit = 1000;
    }
    ok(e.apply(d));
  }
  Event a = weighted_queue("a", 3, 1, "d1");
  std::get<QueueUpsert>(a).queue.preemption.reclaim = Reclaim::kAny;
  ok(e.apply(a));
  ok(e.apply(weighted_queue("b", 1, 1, "d2")));
  ok(e.apply(weighted_queue("idle", 2, 1)));
  for (int i = 0; i < 2; ++i) ok(e.apply(gang("a" + std::to_string(i), 1, 1, 0, "a")));
  for (int i = 0; i < 2; ++i) ok(e.apply(gang("b" + std::to_string(i), 1, 1, 0, "b")));
  ASSERT_EQ(e.decide(1000).size(), 4u);
  ok(e.apply(gang("a2", 1, 1, 0, "a")));
  EXPECT_TRUE(e.decide(2000).empty()) << "a has its quota of 3, but d1 has its own already";
  ok(e.audit());
}

TEST(Fairness, SharesAreComparedAtEveryLevel) {
  // Two departments of equal weight; one has one team, the other three.
  Event left = cohort("left", "all");
  Event right = cohort("right", "all");
  for (Event* e : {&left, &right}) std::get<QueueUpsert>(*e).queue.sharing = Sharing::kDominantShare;
  EXPECT_EQ(divide(Sharing::kDominantShare,
                   {left, right, weighted_queue("l", 0, 1, "left"), weighted_queue("r1", 0, 1, "right"),
                    weighted_queue("r2", 0, 2, "right"), weighted_queue("r3", 0, 3, "right"),
                    weighted_queue("idle", 48, 1)},
                   {{"l", 48}, {"r1", 48}, {"r2", 48}, {"r3", 48}}, 48),
            (Division{{"l", 24}, {"r1", 4}, {"r2", 8}, {"r3", 12}}));
}

TEST(Fairness, PriorityRanksWithinAQueueOnly) {
  Engine e;
  ok(e.apply(gpu_node("n0", 2)));
  ok(e.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
  ok(e.apply(shared_cohort(Sharing::kDominantShare)));
  ok(e.apply(weighted_queue("a", 0, 1)));
  ok(e.apply(weighted_queue("b", 0, 1)));
  ok(e.apply(weighted_queue("idle", 8, 1)));
  for (int i = 0; i < 2; ++i) ok(e.apply(gang("a" + std::to_string(i), 1, 1, 100, "a")));
  for (int i = 0; i < 2; ++i) ok(e.apply(gang("b" + std::to_string(i), 1, 1, i, "b")));
  std::vector<std::string> started;
  for (const Decision& d : e.decide(1000)) started.push_back(d.workload);
  EXPECT_EQ(started, (std::vector<std::string>{"a0", "b1"}));
}

// There is quota for it and no node; its queue uses too much to reclaim. When work of its own queue ends, no node gains room
// for it, but now it may take back what others have borrowed.
TEST(Fairness, AnOwnerReclaimsWhenItsOwnUseFalls) {
  Engine e;
  for (int i = 0; i < 6; ++i) ok(e.apply(gpu_node("n" + std::to_string(i), 8)));
  ok(e.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
  ok(e.apply(cohort("all")));
  ok(e.apply(gpu_queue("a", "all", 8)));
  ok(e.apply(gpu_queue("b", "all", 0)));
  ok(e.apply(gpu_queue("idle", "all", 40)));
  ok(e.apply(gang("small", 1, 1, 0, "a")));
  EXPECT_EQ(e.decide(1000).size(), 1u);
  TimeMs now = 1000;
  for (const int gpus : {7, 8, 8, 5, 5, 5}) {
    ok(e.apply(gang("b" + std::to_string(now), 1, gpus, 0, "b")));
    EXPECT_EQ(e.decide(now += 1000).size(), 1u);
  }
  ok(e.apply(gang("owner", 1, 8, 0, "a")));
  EXPECT_TRUE(e.decide(now += 1000).empty()) << "9 of its own 8";
  ok(e.apply(WorkloadRemove{"small"}));
  const auto d = e.decide(now += 1000);
  ASSERT_EQ(d.size(), 2u);
  EXPECT_EQ(d[0].reason.code, ReasonCode::kReclaimed);
  EXPECT_EQ(d[1].kind, DecisionKind::kHold);
  EXPECT_EQ(d[1].workload, "owner");
}

// Two queues take turns on one GPU. One has had it for a day: the other goes first, although its work is newer, until it
// has caught up.
TEST(Fairness, DecayedUseRemembersPastUse) {
  Engine e;
  ok(e.apply(gpu_node("n0", 1)));
  ok(e.apply(Event{FlavorUpsert{{"f", {}, {}, {}, ""}}}));
  ok(e.apply(shared_cohort(Sharing::kDecayedUse)));
  ok(e.apply(weighted_queue("a", 1, 1)));
  ok(e.apply(weighted_queue("b", 1, 1)));
  int next = 0;
  const auto submit = [&](const std::string& queue) {
    ok(e.apply(gang(queue + std::to_string(next++), 1, 1, 0, queue)));
  };
  TimeMs now = 1000;
  std::string running;
  const auto hour = [&] {
    now += kHour;
    if (!running.empty()) ok(e.apply(WorkloadRemove{running}));
    const auto d = e.decide(now);
    EXPECT_EQ(d.size(), 1u);
    running = d.empty() ? "" : d[0].workload;
    return running.substr(0, 1);
  };
  for (int i = 0; i < 24; ++i) {
    submit("a");
    EXPECT_EQ(hour(), "a");
  }
  std::map<std::string, int> hours;
  for (int i = 0; i < 40; ++i) submit("a");
  for (int i = 0; i < 40; ++i) submit("b");
  for (int i = 0; i < 6; ++i) ++hours[hour()];
  EXPECT_EQ(hours, (std::map<std::string, int>{{"b", 6}}));
  for (int i = 0; i < 30; ++i) ++hours[hour()];
  EXPECT_GT(hours["a"], 8) << "it caught up";
  EXPECT_GT(hours["b"], 18);
}

}  // namespace
}  // namespace berth::engine

// The claims of an explanation about nodes, quota and domains are true at the time of the question.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "engine/tests_support.h"

namespace berth::engine::test {
namespace {

const Reason* part_of(const Reason& reason, ReasonCode code) {
  if (reason.code == code) return &reason;
  for (const Reason& child : reason.children) {
    if (const Reason* found = part_of(child, code)) return found;
  }
  return nullptr;
}

Event plain_node(const std::string& name, std::int64_t cpu, int gpus, Labels labels = {}) {
  return gpu_node(name, gpus, std::move(labels), cpu);
}

PodSet set_of(const std::string& name, int count, std::int64_t cpu, int gpus) {
  PodSet set = gang_workload("", count, gpus).root.pod_sets[0];
  set.name = name;
  set.pod.requests.set("cpu", cpu * 1000);
  return set;
}

// One pod that asks for CPU and three that ask for GPUs.
Workload head_and_workers() {
  Workload w = gang_workload("gang", 1, 0);
  w.root.pod_sets = {set_of("head", 1, 4, 0), set_of("worker", 3, 1, 8)};
  return w;
}

TEST(Explain, NamesThePodSetThatIsShort) {
  Engine e;
  ok(e.apply(plain_node("n1", 64, 8)));
  ok(e.apply(plain_node("n2", 64, 8)));
  ok(e.apply(WorkloadUpsert{head_and_workers()}));
  e.decide(1);
  const Reason reason = e.explain("gang")->reason;
  const std::string text = to_text(reason);
  EXPECT_NE(text.find("3 pods (worker, 8 nvidia.com/gpu each) need nodes, there is room for 2"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("lack cpu"), std::string::npos) << text;
  const Reason* room = part_of(reason, ReasonCode::kNodeRoom);
  ASSERT_NE(room, nullptr) << text;
  EXPECT_EQ(room->nodes, 2);
  EXPECT_EQ(room->have, 2);
  ok(e.audit());
}

TEST(Explain, SaysThatPodSetsDoNotFitTogether) {
  Engine e;
  ok(e.apply(plain_node("n1", 64, 8)));
  Workload w = gang_workload("gang", 1, 0);
  w.root.pod_sets = {set_of("head", 1, 1, 1), set_of("worker", 1, 1, 8)};
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1);
  const Reason reason = e.explain("gang")->reason;
  const std::string text = to_text(reason);
  ASSERT_NE(part_of(reason, ReasonCode::kTogether), nullptr) << text;
  EXPECT_NE(text.find("not all of them together: 1 pod (worker, 8 nvidia.com/gpu each) needs a node, there "
                      "is room for 0: "
                      "1 node lacks free nvidia.com/gpu"),
            std::string::npos)
      << text;
  ok(e.audit());
}

TEST(Explain, FollowsWhatStartsAndEndsMeanwhile) {
  Engine e;
  for (const char* name : {"n1", "n2", "n3"}) ok(e.apply(plain_node(name, 64, 8)));
  ok(e.apply(gang("waits", 4, 8)));
  e.decide(1);
  EXPECT_EQ(part_of(e.explain("waits")->reason, ReasonCode::kNodes)->have, 3);
  ok(e.apply(gang("other", 2, 8)));  // it takes room that the gang cannot use, and wakes no work
  e.decide(2);
  const Reason reason = e.explain("waits")->reason;
  EXPECT_EQ(part_of(reason, ReasonCode::kNodes)->have, 1);
  ASSERT_NE(part_of(reason, ReasonCode::kNodeDevice), nullptr);
  EXPECT_EQ(part_of(reason, ReasonCode::kNodeDevice)->nodes, 2);
  EXPECT_EQ(part_of(reason, ReasonCode::kEnough)->need, 3);
}

TEST(Explain, FollowsQuota) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  for (const char* name : {"n1", "n2", "n3"}) ok(e.apply(plain_node(name, 64, 8)));
  ok(e.apply(gpu_queue("q", "", 16)));
  ok(e.apply(gang("waits", 3, 8, 0, "q")));
  ok(e.apply(gang("waits-less", 2, 8, 0, "q")));
  e.decide(1);
  ok(e.apply(gang("too", 1, 8, 0, "q")));
  e.decide(2);
  EXPECT_EQ(part_of(e.explain("too")->reason, ReasonCode::kQuota)->have, 0);
  ok(e.apply(WorkloadRemove{"waits-less"}));
  ok(e.apply(WorkloadUpsert{gang_workload("small", 1, 4, 5, "q")}));
  e.decide(3);
  // 12 of 16 are in use now: "too" runs, and so does "small".
  ok(e.apply(gang("after", 1, 8, 0, "q")));
  e.decide(4);
  const Reason reason = e.explain("after")->reason;
  EXPECT_EQ(part_of(reason, ReasonCode::kQuota)->have, 4000);
  EXPECT_NE(to_text(reason).find("4 more nvidia.com/gpu of quota in flavor f would be enough"),
            std::string::npos)
      << to_text(reason);
}

// A gang is one whole: what its head asks for is part of what it lacks.
TEST(Explain, CountsQuotaOverTheWholeGang) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  for (const char* name : {"n1", "n2", "n3"}) ok(e.apply(plain_node(name, 64, 8)));
  ok(e.apply(cohort("all")));
  ok(e.apply(gpu_queue("q", "all", 16)));
  ok(e.apply(gpu_queue("other", "all", 8)));
  ok(e.apply(gang("runs", 1, 8, 0, "other")));
  e.decide(1);
  Workload w = gang_workload("gang", 1, 1, 0, "q");
  w.root.pod_sets = {set_of("head", 1, 1, 1), set_of("worker", 2, 1, 8)};
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(2);
  const Reason reason = e.explain("gang")->reason;
  const Reason* quota = part_of(reason, ReasonCode::kQuota);
  ASSERT_NE(quota, nullptr) << to_text(reason);
  EXPECT_EQ(quota->need, 17'000);
  EXPECT_EQ(quota->have, 16'000);
}

TEST(Explain, APodThatIsTooLargeForEveryNodeIsToldSo) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {{"pool", "f"}}, {}, {}, ""}}));
  ok(e.apply(FlavorUpsert{{"g", {{"pool", "g"}}, {}, {}, ""}}));
  ok(e.apply(plain_node("n1", 64, 8, {{"pool", "f"}})));
  ok(e.apply(plain_node("n2", 64, 4, {{"pool", "g"}})));
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 100)).queue;
  q.groups[0].flavors = {"f", "g"};
  q.quotas.push_back({"g", "cpu", 1'000'000, {}, {}});
  q.quotas.push_back({"g", "nvidia.com/gpu", 100'000, {}, {}});
  ok(e.apply(QueueUpsert{q}));
  ok(e.apply(gang("large", 1, 16, 0, "q")));
  e.decide(1);
  const Reason reason = e.explain("large")->reason;
  EXPECT_NE(to_text(reason).find("asks for 16 nvidia.com/gpu on one node, but the largest node has 8"),
            std::string::npos)
      << to_text(reason);
  EXPECT_EQ(brief(reason), "never: asks for 16 nvidia.com/gpu on one node, but the largest node has 8");
  EXPECT_EQ(part_of(reason, ReasonCode::kEnough), nullptr);
}

TEST(Explain, NamesTheBestDomainAndWhatItLacks) {
  Engine e;
  ok(e.apply(TopologyUpsert{{"t", {"rack"}}}));
  ok(e.apply(plain_node("n1", 64, 8, {{"rack", "r1"}})));
  ok(e.apply(plain_node("n2", 64, 8, {{"rack", "r2"}})));
  ok(e.apply(plain_node("n3", 64, 8, {{"rack", "r2"}})));
  Workload w = gang_workload("gang", 3, 8);
  w.root.topology.required = "rack";
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1);
  std::string text = to_text(e.explain("gang")->reason);
  EXPECT_NE(text.find("3 pods must share one rack, the best has room for 2: in r2, 2 nodes have room for 2"),
            std::string::npos)
      << text;
  ok(e.apply(gang("other", 1, 8)));
  e.decide(2);
  ok(e.apply(gang("another", 1, 8)));
  e.decide(3);
  text = to_text(e.explain("gang")->reason);
  EXPECT_NE(text.find("the best has room for 1"), std::string::npos) << text;
}

// Each pod set has room in the rack, and both of them do not.
TEST(Explain, ADomainCountsTheGangAsAWhole) {
  Engine e;
  ok(e.apply(TopologyUpsert{{"t", {"rack"}}}));
  ok(e.apply(plain_node("n1", 64, 8, {{"rack", "r1"}})));
  Workload w = gang_workload("gang", 1, 1);
  w.root.pod_sets = {set_of("a", 4, 1, 2), set_of("b", 4, 2, 2)};
  w.root.topology.required = "rack";
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1);
  const Reason reason = e.explain("gang")->reason;
  const Reason* rack = part_of(reason, ReasonCode::kTopology);
  ASSERT_NE(rack, nullptr) << to_text(reason);
  EXPECT_EQ(rack->need, 8);
  EXPECT_EQ(rack->have, 4);
  ok(e.audit());
}

// ------------------------------------------------------------------------------------------------------ random clusters

struct Room {
  std::int64_t cpu = 0;
  std::int64_t gpus = 0;
};

// The room left on the nodes, computed from the nodes and the places of pods.
struct Books {
  std::map<std::string, Room> left;

  std::int64_t fit(const std::string& node, const PodSet& set) const {
    const Room& room = left.at(node);
    std::int64_t most = room.cpu / set.pod.requests.get("cpu");
    for (const auto& d : set.pod.claim.requests) most = std::min(most, room.gpus / d.count);
    return most;
  }
  std::int64_t lacking(const std::string& resource, const PodSet& set) const {
    return std::count_if(left.begin(), left.end(), [&](const auto& node) {
      std::int64_t asked = set.pod.requests.get("cpu");
      std::int64_t there = node.second.cpu;
      if (resource == "nvidia.com/gpu") {
        asked = set.pod.claim.requests.empty() ? 0 : set.pod.claim.requests[0].count;
        there = node.second.gpus;
      }
      return there < asked;
    });
  }
};

class RandomClusters : public ::testing::TestWithParam<int> {};

// Every claim about nodes is recounted: that so many lack a resource for the pod set that the reason names, that so many have
// room, and for how many pods. A pod set that is short for itself has no room in all; one that is short beside the others has.
TEST_P(RandomClusters, EveryClaimIsTrue) {
  std::mt19937 random(static_cast<std::mt19937::result_type>(GetParam()));
  const auto draw = [&](int least, int most) {
    return least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
  };
  int claims = 0;
  for (int round = 0; round < 60; ++round) {
    Engine e;
    Books books;
    for (int n = 0, nodes = draw(1, 5); n < nodes; ++n) {
      const std::string name = fmt::format("n{}", n);
      const int cpu = draw(1, 12);
      const int gpus = draw(0, 1) * draw(1, 8);
      ok(e.apply(plain_node(name, cpu, gpus)));
      books.left[name] = {cpu * 1000, gpus};
    }
    std::map<std::string, Workload> work;
    for (int i = 0, count = draw(1, 6); i < count; ++i) {
      Workload w = gang_workload(fmt::format("w{}", i), 1, 0);
      w.may_preempt = false;
      w.root.pod_sets.clear();
      for (int s = 0, sets = draw(1, 3); s < sets; ++s)
        w.root.pod_sets.push_back(
            set_of(fmt::format("set-{}", s), draw(1, 4), draw(1, 4), draw(0, 1) * draw(1, 4)));
      ok(e.apply(WorkloadUpsert{w}));
      work[w.uid] = w;
      for (const Decision& d : e.decide(i + 1)) {
        ASSERT_EQ(d.kind, DecisionKind::kStart);
        for (const auto& slot : d.slots) {
          const PodSet& set = work.at(d.workload).root.pod_sets[static_cast<std::size_t>(slot.pod_set)];
          books.left[slot.node].cpu -= set.pod.requests.get("cpu");
          for (const auto& r : set.pod.claim.requests) books.left[slot.node].gpus -= r.count;
        }
      }
    }
    for (const auto& [uid, w] : work) {
      if (has_running(e, uid)) continue;
      const Reason reason = e.explain(uid)->reason;
      const std::string text = uid + ": " + to_text(reason);
      const auto check = [&](const auto& self, const Reason& r, bool beside) -> void {
        if (r.code == ReasonCode::kNodes) {
          const PodSet& set = w.root.pod_sets[r.detail.empty() ? 0 : std::stoul(r.detail)];
          EXPECT_TRUE(r.detail.empty() || r.subject.starts_with(set.name)) << text;
          std::int64_t all = 0;
          std::int64_t roomy = 0;
          for (const auto& [name, left] : books.left) {
            all += books.fit(name, set);
            roomy += books.fit(name, set) > 0 ? 1 : 0;
          }
          EXPECT_EQ(r.need, set.count) << text;
          EXPECT_LT(r.have, r.need) << text;
          if (beside) {
            EXPECT_GE(all, r.need) << text;
          } else {
            EXPECT_EQ(r.have, std::min(all, r.need)) << text;
          }
          std::int64_t counted = 0;
          for (const Reason& child : r.children) {
            ++claims;
            counted += child.nodes;
            if (child.code == ReasonCode::kNodeSize) {
              EXPECT_EQ(roomy, 0) << text;
              counted = static_cast<std::int64_t>(books.left.size());
            } else if (child.code == ReasonCode::kNodeRoom) {
              EXPECT_LE(child.nodes, roomy) << text;
            } else if (!beside) {
              EXPECT_LE(child.nodes, books.lacking(child.subject, set)) << text;
            }
          }
          EXPECT_EQ(counted, static_cast<std::int64_t>(books.left.size())) << text;
          return;
        }
        for (const Reason& child : r.children) self(self, child, beside || r.code == ReasonCode::kTogether);
      };
      check(check, reason, false);
    }
    ok(e.audit());
  }
  EXPECT_GT(claims, 20);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomClusters, ::testing::Range(1, 9));

// Two engines with the same events, of which one is asked all the time, decide alike.
TEST(Explain, ChangesNoDecision) {
  std::mt19937 random(7);
  Engine asked;
  Engine quiet;
  const auto both = [&](const Event& event) {
    ok(asked.apply(event));
    ok(quiet.apply(event));
  };
  both(TopologyUpsert{{"t", {"rack"}}});
  for (int n = 0; n < 6; ++n)
    both(plain_node(fmt::format("n{}", n), 16, 8, {{"rack", fmt::format("r{}", n / 2)}}));
  for (int i = 0; i < 120; ++i) {
    Workload w = gang_workload(fmt::format("w{}", i), 1, 0, static_cast<std::int64_t>(random() % 3));
    w.root.pod_sets = {set_of("a", 1 + static_cast<int>(random() % 3), 1, static_cast<int>(random() % 5)),
                       set_of("b", 1 + static_cast<int>(random() % 3), 2, static_cast<int>(random() % 9))};
    if (random() % 3 == 0) w.root.topology.required = "rack";
    both(WorkloadUpsert{w});
    const std::string gone = fmt::format("w{}", random() % static_cast<unsigned>(i + 1));
    if (i > 10 && random() % 2 == 0 && quiet.verdict(gone)) both(WorkloadRemove{gone});
    for (int k = 0; k <= i; ++k) (void)asked.explain(fmt::format("w{}", k));
    ASSERT_EQ(asked.decide(i + 1), quiet.decide(i + 1));
    ok(asked.audit());
  }
}

}  // namespace
}  // namespace berth::engine::test

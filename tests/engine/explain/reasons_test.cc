// Reasons name what is short, and by how much: what the property tests found to be otherwise.
#include <gtest/gtest.h>

#include "engine/tests_support.h"

namespace berth::engine::test {
namespace {

const Reason* find(const Reason& reason, ReasonCode code) {
  if (reason.code == code) return &reason;
  for (const Reason& child : reason.children) {
    if (const Reason* found = find(child, code)) return found;
  }
  return nullptr;
}

// Two racks of one node each; queue "q" of flavor f.
Engine two_racks(std::int64_t quota) {
  Engine e;
  ok(e.apply(TopologyUpsert{{"t", {"rack"}}}));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_node("n1", 4, {{"rack", "r1"}})));
  ok(e.apply(gpu_node("n2", 4, {{"rack", "r2"}})));
  ok(e.apply(gpu_queue("q", "", quota)));
  return e;
}

Workload in_rack(const std::string& uid, int count, int gpus, bool required) {
  Workload w = gang_workload(uid, count, gpus, 0, "q");
  (required ? w.root.topology.required : w.root.topology.preferred) = "rack";
  return w;
}

TEST(Reasons, NoDomainIsBlamedForAResourceWithoutQuota) {
  Engine e = two_racks(100);
  Workload w = in_rack("a", 1, 1, true);
  w.root.pod_sets[0].pod.requests.set("memory", 1 << 20);
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1);
  EXPECT_EQ(e.verdict("a")->kind, VerdictKind::kRefused);
  EXPECT_EQ(e.verdict("a")->reason.code, ReasonCode::kQuotaUncovered) << to_text(e.verdict("a")->reason);
}

TEST(Reasons, NoDomainIsBlamedForQuotaThatIsShort) {
  Engine e = two_racks(2);
  ok(e.apply(gang("first", 1, 1, 0, "q")));
  e.decide(1);
  ok(e.apply(WorkloadUpsert{in_rack("a", 2, 1, true)}));
  e.decide(2);
  const Reason reason = e.verdict("a")->reason;
  EXPECT_NE(find(reason, ReasonCode::kQuota), nullptr) << to_text(reason);
  EXPECT_EQ(find(reason, ReasonCode::kTopology), nullptr) << to_text(reason);
}

// One rack has no host with room for two, the other has one: quota is short.
TEST(Reasons, NoDomainIsBlamedThatIsGoodWithinAnotherOne) {
  Engine e;
  ok(e.apply(TopologyUpsert{{"t", {"rack", "host"}}}));
  ok(e.apply(FlavorUpsert{{"f", {}, {}, {}, ""}}));
  ok(e.apply(gpu_node("n1", 1, {{"rack", "r1"}, {"host", "n1"}})));
  ok(e.apply(gpu_node("n2", 1, {{"rack", "r1"}, {"host", "n2"}})));
  ok(e.apply(gpu_node("n3", 1, {{"rack", "r1"}, {"host", "n3"}})));
  ok(e.apply(gpu_node("n4", 4, {{"rack", "r2"}, {"host", "n4"}})));
  ok(e.apply(gpu_queue("q", "", 2)));
  ok(e.apply(gang("first", 1, 1, 0, "q")));
  e.decide(1);
  Workload w = in_rack("a", 2, 1, true);
  w.root.groups.push_back(w.root);
  w.root.pod_sets.clear();
  w.root.groups[0].topology.required = "host";
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(2);
  const Reason reason = e.verdict("a")->reason;
  EXPECT_NE(find(reason, ReasonCode::kQuota), nullptr) << to_text(reason);
  EXPECT_EQ(find(reason, ReasonCode::kTopology), nullptr) << to_text(reason);
  ok(e.apply(gpu_queue("q", "", 9)));
  e.decide(3);
  EXPECT_EQ(e.slot("a", 0, 1)->node, "n4");
}

TEST(Reasons, ARequiredDomainSpeaksForItsNodes) {
  Engine e = two_racks(100);
  ok(e.apply(WorkloadUpsert{in_rack("a", 5, 1, true)}));
  e.decide(1);
  const Reason reason = e.verdict("a")->reason;
  ASSERT_NE(find(reason, ReasonCode::kTopology), nullptr) << to_text(reason);
  EXPECT_EQ(find(reason, ReasonCode::kTopology)->have, 4);
  EXPECT_EQ(find(reason, ReasonCode::kNodes), nullptr) << to_text(reason);
}

TEST(Reasons, RoomIsThatOfTheClusterAndNotOfAPreferredDomain) {
  Engine e = two_racks(100);
  ok(e.apply(WorkloadUpsert{in_rack("a", 9, 1, false)}));
  e.decide(1);
  const Reason reason = e.verdict("a")->reason;
  ASSERT_NE(find(reason, ReasonCode::kNodes), nullptr) << to_text(reason);
  EXPECT_EQ(find(reason, ReasonCode::kNodes)->need, 9);
  EXPECT_EQ(find(reason, ReasonCode::kNodes)->have, 8);
}

TEST(Reasons, GrowthLeavesItsPreferredDomainAndOtherwiseSaysWhatItLacks) {
  Engine e = two_racks(100);
  Workload w = in_rack("a", 2, 3, false);
  w.root.pod_sets[0].least = 1;
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1);
  // One pod for each rack: the second is not near the first, and still better than none.
  EXPECT_EQ(e.slot("a", 0, 1)->state, SlotState::kBinding);
  w.root.pod_sets[0].count = 3;
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(2);
  const Reason reason = e.verdict("a")->reason;
  EXPECT_NE(find(reason, ReasonCode::kNodes), nullptr) << to_text(reason);
  ok(e.apply(gpu_node("n3", 4, {{"rack", "r3"}})));
  e.decide(3);
  EXPECT_EQ(e.slot("a", 0, 2)->state, SlotState::kBinding);
}

TEST(Reasons, ASegmentMayBeWiderThanTheDomainThatItsGroupMustShare) {
  Engine e;
  ok(e.apply(TopologyUpsert{{"t", {"rack", "host"}}}));
  ok(e.apply(gpu_node("n1", 0, {{"rack", "r"}, {"host", "n1"}})));
  ok(e.apply(gpu_node("n2", 4, {{"rack", "r"}, {"host", "n2"}})));
  Workload w = gang_workload("a", 2, 1);
  w.root.topology = {"host", "", 2, "rack"};
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1);
  EXPECT_EQ(e.slot("a", 0, 1)->node, "n2") << to_text(e.verdict("a")->reason);
}

TEST(Reasons, ASegmentSaysWhatItLacks) {
  Engine e = two_racks(100);
  Workload w = gang_workload("a", 6, 1, 0, "q");
  w.root.topology = {"", "", 3, "rack"};
  ok(e.apply(gang("other", 1, 2, 0, "q")));
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1);
  // The first three find a rack; the other rack has room for two.
  const Reason reason = e.verdict("a")->reason;
  const Reason* rack = find(reason, ReasonCode::kTopology);
  ASSERT_NE(rack, nullptr) << to_text(reason);
  EXPECT_EQ(rack->need, 3);
  EXPECT_EQ(rack->have, 2);
}

TEST(Reasons, AnElasticSetStartsWithItsLeastWhereNoWholeSegmentFits) {
  Engine e = two_racks(100);
  Workload w = gang_workload("a", 6, 2, 0, "q");
  w.root.topology = {"", "", 3, "rack"};
  w.root.pod_sets[0].least = 2;
  w.root.pod_sets[0].bands = {{6, 0, false, 0, 0}};
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1);
  EXPECT_EQ(e.slot("a", 0, 1)->state, SlotState::kBinding) << to_text(e.verdict("a")->reason);
}

// A group of pod sets with one flavor for all, of which one grows later.
TEST(Reasons, AFlavorGroupStaysTogetherAsItGrows) {
  Engine e;
  ok(e.apply(FlavorUpsert{{"f", {{"pool", "f"}}, {}, {}, ""}}));
  ok(e.apply(FlavorUpsert{{"g", {{"pool", "g"}}, {}, {}, ""}}));
  ok(e.apply(gpu_node("n1", 1, {{"pool", "f"}})));
  ok(e.apply(gpu_node("n2", 4, {{"pool", "g"}})));
  Queue q = std::get<QueueUpsert>(gpu_queue("q", "", 10)).queue;
  q.groups[0].flavors = {"f", "g"};
  q.quotas.push_back({"g", "cpu", 1'000'000, {}, {}});
  q.quotas.push_back({"g", "nvidia.com/gpu", 10'000, {}, {}});
  ok(e.apply(QueueUpsert{q}));
  Workload w = gang_workload("a", 1, 1, 0, "q");
  w.root.pod_sets.push_back(w.root.pod_sets[0]);
  w.root.pod_sets[1].name = "more";
  w.root.pod_sets[1].least = 0;
  for (PodSet& set : w.root.pod_sets) set.flavor_group = "together";
  ok(e.apply(WorkloadUpsert{w}));
  e.decide(1);
  ASSERT_EQ(e.slot("a", 0, 0)->node, "n1");
  EXPECT_EQ(e.slot("a", 1, 0)->state, SlotState::kWaiting);  // there is room in the other flavor
}

TEST(Reasons, QuotaThatIsOverdrawnSaysByHowMuch) {
  Engine e = two_racks(4);
  ok(e.apply(gang("first", 4, 1, 0, "q")));
  e.decide(1);
  ok(e.apply(gpu_queue("q", "", 3)));
  ok(e.apply(gang("a", 1, 2, 0, "q")));
  e.decide(2);
  const Reason reason = e.verdict("a")->reason;
  const Reason* quota = find(reason, ReasonCode::kQuota);
  ASSERT_NE(quota, nullptr) << to_text(reason);
  EXPECT_EQ(quota->have, -1000);
  EXPECT_EQ(to_text(*quota), "needs 2 nvidia.com/gpu in flavor f, quota left for it: 0 (overdrawn by 1)");
}

}  // namespace
}  // namespace berth::engine::test

// The JSON of the dashboard: filtered, sorted, paged, and without the names that a user may not see.
#include "scheduler/board/views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/board/board_world_support.h"

namespace berth::scheduler::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const Sight kEverything{true, true, true, {}};
const Sight kOnlyRed{false, false, false, [](std::string_view ns) { return ns == "red"; }};

std::vector<std::string> strings(const json& items, const char* key) {
  std::vector<std::string> out;
  for (const auto& item : items) out.push_back(item[key]);
  return out;
}

// red/a runs on four GPUs, blue/b on four; red/c waits for eight, blue/d for one.
class BoardViews : public ::testing::Test {
 protected:
  BoardViews() {
    world.tell(WorkloadUpsert{gang("red/a", 4, 1000)});
    world.tell(WorkloadUpsert{gang("blue/b", 4, 1500)});
    world.decide(2000);
    world.tell(WorkloadUpsert{gang("red/c", 8, 2500)});
    world.tell(WorkloadUpsert{gang("blue/d", 1, 2600)});
    world.decide(3000);
  }
  Views views(const Sight& sight = kEverything) { return {world.look(), world.chronicle, sight}; }
  json workloads(const Query& query, const Sight& sight = kEverything) {
    const auto text = views(sight).workloads(query);
    EXPECT_TRUE(text) << text.error().str();
    return json::parse(*text);
  }

  BoardWorld world;
};

TEST_F(BoardViews, SummaryCountsWhatThereIs) {
  const json all = json::parse(views().summary());
  EXPECT_EQ(all["pending"], 2);
  EXPECT_EQ(all["running"], 2);
  EXPECT_EQ(all["queues"], 3) << "all, team, and the default queue";
  EXPECT_EQ(all["nodes"], 2);
  EXPECT_EQ(all["decision"], 2);
  bool found = false;
  for (const auto& sum : all["resources"]) {
    if (sum["resource"] != kGpu) continue;
    found = true;
    EXPECT_EQ(sum["capacity"], 8000);
    EXPECT_EQ(sum["used"], 8000);
  }
  EXPECT_TRUE(found);
  const json part = json::parse(views(kOnlyRed).summary());
  EXPECT_EQ(part["pending"], 1);
  EXPECT_EQ(part["nodes"], 0);
  EXPECT_TRUE(part["resources"].empty());
  EXPECT_FALSE(part["sees_all"]);
}

TEST_F(BoardViews, WorkloadsAreFilteredSortedAndPaged) {
  EXPECT_THAT(strings(workloads({{"state", "pending"}})["items"], "name"), ElementsAre("red/c", "blue/d"));
  EXPECT_THAT(strings(workloads({{"sort", "devices"}})["items"], "name"),
              ElementsAre("red/c", "red/a", "blue/b", "blue/d"));
  EXPECT_THAT(strings(workloads({{"sort", "name"}, {"offset", "1"}, {"limit", "2"}})["items"], "name"),
              ElementsAre("blue/d", "red/a"));
  EXPECT_EQ(workloads({{"offset", "1"}, {"limit", "2"}})["total"], 4);
  EXPECT_THAT(strings(workloads({{"q", "blue/"}})["items"], "name"), ElementsAre("blue/b", "blue/d"));
  EXPECT_THAT(strings(workloads({{"namespace", "red"}, {"state", "running"}})["items"], "name"),
              ElementsAre("red/a"));
  EXPECT_EQ(workloads({{"queue", "all"}})["total"], 4) << "a queue stands for those below it";
  EXPECT_EQ(workloads({{"queue", "nowhere"}})["total"], 0);
  EXPECT_TRUE(workloads({{"offset", "100"}})["items"].empty());
  const json row = workloads({{"q", "red/c"}})["items"][0];
  EXPECT_EQ(row["slots"], 8);
  EXPECT_EQ(row["devices"], 8000);
  EXPECT_EQ(row["reason"], "Quota");
  EXPECT_THAT(std::string(row["short"]), HasSubstr("8 nvidia.com/gpu of quota"));
  EXPECT_EQ(workloads({{"reason", "Quota"}})["total"], 2);
  EXPECT_EQ(workloads({{"reason", "Nodes"}})["total"], 0);
}

TEST_F(BoardViews, WrongQuestionsAreRefused) {
  for (const Query& query : {Query{{"state", "x"}}, Query{{"sort", "x"}}, Query{{"limit", "2501"}},
                             Query{{"limit", ""}}, Query{{"offset", "-1"}}, Query{{"offset", "1x"}}}) {
    const auto answer = views().workloads(query);
    ASSERT_FALSE(answer) << query.begin()->first << "=" << query.begin()->second;
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalid);
  }
  EXPECT_FALSE(views().decisions({{"kind", "x"}}));
  EXPECT_FALSE(views().timeline({{"minutes", "721"}}));
}

TEST_F(BoardViews, AUserSeesTheNamesOfItsOwnNamespacesOnly) {
  // A reason that names work of another namespace.
  Queue strict = BoardWorld::team();
  strict.order = QueueOrder::kStrict;
  world.tell(QueueUpsert{strict});
  world.tell(WorkloadUpsert{gang("blue/head", 8, 2700, 50)});
  world.tell(WorkloadUpsert{gang("red/urgent", 4, 2800, 100)});  // evicts one of those that run
  world.decide(4000);
  const auto seen = views(kOnlyRed);
  for (const auto& text :
       {seen.workloads({}), seen.queues({}), seen.nodes({}), seen.decisions({}), seen.timeline({}),
        seen.story("uid-c", *world.follower.explain("uid-c"), {}),
        seen.story("uid-a", *world.follower.explain("uid-a"), {}), Result<std::string>(seen.summary())}) {
    ASSERT_TRUE(text) << text.error().str();
    EXPECT_THAT(*text, Not(HasSubstr("blue")));
    EXPECT_THAT(*text, Not(HasSubstr("\"n1\"")));
  }
  EXPECT_THAT(strings(json::parse(*seen.queues({}))["items"], "name"), ElementsAre("all", "team"));
  const auto other = seen.story("uid-b", {}, {});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(other.error().message, seen.story("uid-unknown", {}, {}).error().message.replace(9, 11, "uid-b"))
      << "work that is not to be seen is like work that is not there";
}

TEST_F(BoardViews, ReasonsNameNoWorkloadThatIsNotSeen) {
  const Reason behind{ReasonCode::kBehindHead, "blue/head", "", 0, 0, 0, {}};
  const Reason tree{
      ReasonCode::kNone, "", "", 0, 0, 0, {behind, Reason{ReasonCode::kReclaimed, "red/a", "", 0, 0, 0, {}}}};
  const Reason masked = reason_for(kOnlyRed, world.chronicle, tree);
  EXPECT_EQ(masked.children[0].subject, "another workload");
  EXPECT_EQ(masked.children[1].subject, "red/a");
  EXPECT_EQ(reason_for(kEverything, world.chronicle, tree), tree);
}

TEST_F(BoardViews, OnlyWhatChangedIsToldAgain) {
  const auto first = world.look();
  const auto second = world.look(first.get());
  EXPECT_EQ(second->revision, first->revision + 1);
  const Views same(second, world.chronicle, kEverything);
  const std::string since = std::to_string(first->revision);
  EXPECT_TRUE(json::parse(*same.nodes({{"since", since}}))["items"].empty());
  EXPECT_TRUE(json::parse(*same.queues({{"since", since}}))["items"].empty());

  world.tell(WorkloadRemove{"uid-a"});
  world.tell(NodeRemove{"n2"});
  world.decide(4000);
  const auto third = world.look(second.get());
  const Views later(third, world.chronicle, kEverything);
  const json nodes = json::parse(*later.nodes({{"since", since}}));
  EXPECT_FALSE(nodes["whole"]);
  EXPECT_EQ(nodes["gone"], json::array({"n2"}));
  EXPECT_THAT(strings(json::parse(*later.queues({{"since", since}}))["items"], "name"),
              ElementsAre("all", "team"));
  // A number of another process is none.
  EXPECT_TRUE(json::parse(*later.nodes({{"since", "9999999999999"}}))["whole"]);
  EXPECT_TRUE(json::parse(*later.nodes({}))["whole"]);
}

TEST_F(BoardViews, NodesStandInTheirDomainsWithTheirDevices) {
  world.tell(NodeUpsert{[] {
    Node node = node_in("n3", "r2");
    node.unschedulable = true;
    node.devices[0].unhealthy = {1};
    return node;
  }()});
  const json all = json::parse(*views().nodes({}));
  EXPECT_EQ(all["levels"], json::array({"zone", "rack"}));
  EXPECT_THAT(strings(all["items"], "name"), ElementsAre("n1", "n2", "n3"));
  EXPECT_EQ(all["items"][0]["devices"][0]["use"], "9999");
  EXPECT_EQ(all["items"][2]["devices"][0]["use"], "0x00");
  EXPECT_EQ(all["items"][2]["path"], json::array({"z", "r2"}));
  EXPECT_TRUE(all["items"][2]["cordoned"]);
  EXPECT_EQ(json::parse(*views().nodes({{"q", "3"}}))["total"], 1);
}

TEST_F(BoardViews, DecisionsComeNewestFirstAndInPages) {
  world.tell(WorkloadUpsert{gang("red/urgent", 4, 3500, 100)});
  world.decide(4000);
  const json all = json::parse(*views().decisions({}));
  EXPECT_GE(all["items"].size(), 4u);
  EXPECT_EQ(all["items"][0]["seq"], all["last"]);
  const json evicted = json::parse(*views().decisions({{"kind", "evict"}}));
  ASSERT_EQ(evicted["items"].size(), 1u);
  EXPECT_EQ(evicted["items"][0]["beneficiary_name"], "red/urgent");
  EXPECT_THAT(std::string(evicted["items"][0]["text"]), HasSubstr("preempted by"));
  const json page = json::parse(*views().decisions({{"limit", "1"}}));
  EXPECT_TRUE(page["more"]);
  const json older =
      json::parse(*views().decisions({{"before", std::to_string(int(page["items"][0]["seq"]))}}));
  EXPECT_EQ(older["items"].size(), all["items"].size() - 1);
  EXPECT_TRUE(
      json::parse(*views().decisions({{"after", std::to_string(int(all["last"]))}}))["items"].empty());
}

TEST_F(BoardViews, AStoryTellsAllThatHappened) {
  world.tell(WorkloadUpsert{gang("red/urgent", 4, 3500, 100)});
  world.decide(4000);
  const json evicted = json::parse(*views().decisions({{"kind", "evict"}}));
  const std::string uid = evicted["items"][0]["uid"];
  world.tell(WorkloadRemove{uid});
  world.follower.catch_up();
  const json story = json::parse(*views().story(uid, {}, {{0, 0, SlotState::kReleasing, "n1"}}));
  EXPECT_THAT(strings(story["story"], "what"), ElementsAre("created", "start", "evict", "ended"));
  EXPECT_EQ(story["story"][2]["name"], "red/urgent");
  EXPECT_EQ(story["slots"][0]["node"], "n1");
  const json waits = json::parse(*views().story("uid-c", *world.follower.explain("uid-c"), {}));
  EXPECT_EQ(waits["verdict"]["kind"], "blocked");
  EXPECT_THAT(std::string(waits["verdict"]["text"]), HasSubstr("needs 8 nvidia.com/gpu"));
}

TEST(BoardChronicle, NothingIsNotedBeforeTheFirstDecision) {
  Chronicle chronicle;
  chronicle.look(0, 0, 8, 0, 0);
  EXPECT_TRUE(chronicle.minutes(60).empty());
  chronicle.look(60'000, 4, 8, 1, 1);
  EXPECT_EQ(chronicle.minutes(60).size(), 1u);
}

TEST(BoardChronicle, KeepsToItsBounds) {
  Chronicle chronicle;
  const Workload one = gang("red/one", 1, 1);
  chronicle.took(Event(WorkloadUpsert{one}));
  Decision start;
  start.workload = one.uid;
  for (std::size_t i = 0; i < Chronicle::kMostDecisions + 10; ++i)
    chronicle.decided(static_cast<TimeMs>(i) * kSecond, {start});
  std::size_t kept = 0;
  chronicle.each_decision([&](const MadeDecision&) { return ++kept > 0; });
  EXPECT_EQ(kept, Chronicle::kMostDecisions);
  EXPECT_EQ(chronicle.last_decision(), static_cast<std::int64_t>(Chronicle::kMostDecisions) + 10);
  const auto steps = chronicle.steps(one.uid);
  EXPECT_EQ(steps.size(), Chronicle::kMostSteps);
  EXPECT_EQ(steps.front().kind, StoryStep::Kind::kCreated) << "the first step is kept";
  EXPECT_LE(chronicle.minutes(10'000).size(), Chronicle::kMostMinutes);
  EXPECT_EQ(chronicle.minutes(1).size(), 1u);
  for (std::size_t i = 0; i < Chronicle::kMostEnded + 5; ++i) {
    const Workload ends = gang("red/w" + std::to_string(i), 1, 1);
    chronicle.took(Event(WorkloadUpsert{ends}));
    chronicle.took(Event(WorkloadRemove{ends.uid}));
  }
  EXPECT_EQ(chronicle.facts("uid-w0"), nullptr);
  EXPECT_NE(chronicle.facts("uid-w5"), nullptr);
  chronicle.began();
  EXPECT_EQ(chronicle.facts(one.uid), nullptr);
}

}  // namespace
}  // namespace berth::scheduler::testing

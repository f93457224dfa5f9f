#include "observe/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine.h"
#include "model/decision.h"
#include "observe/random_values_support.h"

namespace berth::observe {
namespace {

using ::testing::HasSubstr;

// Errors of decoding `json` as T, which stands in line 7 of log.jsonl.
template <class T>
std::string error_of(const std::string& json) {
  const auto result = decode<T>(json, "log.jsonl", 7);
  return result ? "no error" : result.error().str();
}
std::string event_error(const std::string& json) {
  const auto result = decode_event(json, "log.jsonl", 7);
  return result ? "no error" : result.error().str();
}

TEST(Codec, LeavesDefaultsOut) {
  EXPECT_EQ(encode(Node{}), "{}");
  EXPECT_EQ(encode(Workload{}), "{}");
  EXPECT_EQ(encode(Event(Withdraw{})), R"({"e":"withdraw"})");
}

TEST(Codec, WritesEachFormOfMember) {
  Node node;
  node.name = "n1";
  node.labels = {{"zone", "b\"1"}};
  node.taints = {{"pool", "infra", TaintEffect::kNoExecute}, {}};
  node.unschedulable = true;
  node.allocatable = {{"memory", 64}, {"cpu", 8000}};
  node.rank = 0;
  EXPECT_EQ(encode(Event(NodeUpsert{node})),
            R"({"e":"node","node":{"name":"n1","labels":{"zone":"b\"1"},)"
            R"("taints":[{"key":"pool","value":"infra","effect":"NoExecute"},{}],"unschedulable":true,)"
            R"("allocatable":{"cpu":8000,"memory":64},"rank":0}})");
}

TEST(Codec, KeepsAnOptionalThatHoldsTheDefault) {
  PodSet set;
  set.least = 0;
  const auto back = decode<PodSet>(encode(set), "x");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->least, 0);
  EXPECT_EQ(back->present, std::nullopt);
}

TEST(Codec, EveryEventComesBack) {
  Random random(1);
  for (int round = 0; round < 400; ++round) {
    for (std::size_t kind = 0; kind < std::variant_size_v<Event>; ++kind) {
      const Event event = testing::random_event(random, kind);
      const std::string json = encode(event);
      const auto back = decode_event(json, "x");
      ASSERT_TRUE(back) << json << "\n" << back.error().str();
      ASSERT_EQ(back->index(), kind);
      ASSERT_EQ(encode(*back), json);
    }
  }
}

template <class T>
void expect_round_trips(std::uint64_t seed) {
  Random random(seed);
  for (int round = 0; round < 400; ++round) {
    T value{};
    testing::fill(random, value);
    const std::string json = encode(value);
    const auto back = decode<T>(json, "x");
    ASSERT_TRUE(back) << json << "\n" << back.error().str();
    ASSERT_EQ(*back, value) << json;
  }
}

TEST(Codec, EveryTypeComesBackEqual) {
  expect_round_trips<Workload>(2);
  expect_round_trips<Node>(3);
  expect_round_trips<Queue>(4);
  expect_round_trips<Flavor>(5);
  expect_round_trips<Topology>(6);
  expect_round_trips<ForeignPod>(7);
  expect_round_trips<Decision>(9);
  expect_round_trips<Verdict>(10);
  expect_round_trips<engine::EngineConfig>(11);
}

TEST(Codec, BytesThatAreNoUtf8BecomeTheReplacementCharacter) {
  EXPECT_EQ(encode(std::string("a\xff"
                               "b")),
            "\"a\xef\xbf\xbd"
            "b\"");
}

TEST(Codec, AnUnknownFieldIsAnErrorThatNamesTheNearest) {
  const auto error = event_error(R"({"e":"node","node":{"name":"n1","alocatable":{}}})");
  EXPECT_THAT(error, HasSubstr("log.jsonl:7:"));
  EXPECT_THAT(error, HasSubstr("node: unknown field \"alocatable\"; did you mean \"allocatable\"?"));
  EXPECT_THAT(event_error(R"({"e":"node","nodes":{}})"),
              HasSubstr("unknown field \"nodes\"; did you mean \"node\"?"));
}

TEST(Codec, AWrongKindNamesThePath) {
  EXPECT_THAT(
      event_error(R"({"e":"node","node":{"devices":[{},{"count":"8"}]}})"),
      HasSubstr("log.jsonl:7:44: node.devices[1].count: must be an integer of 64 bits, not a string \"8\""));
  EXPECT_THAT(event_error(R"({"e":"node","node":{"labels":{"a":1}}})"),
              HasSubstr("node.labels.a: must be a string"));
  EXPECT_THAT(event_error(R"({"e":"node","node":{"allocatable":{"cpu":1.5}}})"),
              HasSubstr("node.allocatable.cpu: must be an integer"));
  EXPECT_THAT(event_error(R"({"e":"node","node":{"taints":{}}})"), HasSubstr("node.taints: must be a list"));
  EXPECT_THAT(event_error(R"({"e":"node","node":[]})"), HasSubstr("node: must be an object"));
  EXPECT_THAT(event_error(R"({"e":"node","node":{"unschedulable":1}})"), HasSubstr("must be true or false"));
  EXPECT_THAT(event_error(R"({"e":"node","node":{"rank":null}})"),
              HasSubstr("node.rank: must be an integer"));
  EXPECT_THAT(event_error(R"({"e":"node","node":{"rank":9223372036854775808}})"),
              HasSubstr("an integer of 64 bits"));
}

TEST(Codec, AnUnknownWordListsTheKnownOnes) {
  EXPECT_THAT(error_of<Queue>(R"({"order":"fifo"})"),
              HasSubstr(R"(order: must be one of "best-effort", "strict", not a string "fifo")"));
  EXPECT_THAT(event_error(R"({"e":"nodes"})"), HasSubstr(R"(e: must be one of "node", "node-remove")"));
  EXPECT_THAT(event_error(R"({"node":{}})"), HasSubstr("\"e\", which names the event, is missing"));
  EXPECT_THAT(event_error("[]"), HasSubstr("must be an object"));
}

TEST(Codec, BrokenJsonNamesTheLine) {
  EXPECT_THAT(event_error(R"({"e":"node","node":{"name":"n1")"), HasSubstr("log.jsonl:7"));
  EXPECT_THAT(event_error(R"({"e":"withdraw","e":"withdraw"})"), HasSubstr("log.jsonl:7"));
  EXPECT_THAT(event_error(""), HasSubstr("log.jsonl:7"));
}

TEST(Codec, DepthIsBounded) {
  std::string deep = R"({"e":"workload","workload":{"root":)";
  for (int i = 0; i < 5000; ++i) deep += R"({"groups":[)";
  EXPECT_NE(event_error(deep), "no error");
}

TEST(Codec, GarbageIsAnErrorAndNeverMore) {
  Random random(12);
  int accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string json = encode(testing::random_event(random, random.below(std::variant_size_v<Event>)));
    for (auto n = 1 + random.below(3); n > 0; --n) {
      json[random.below(json.size())] = static_cast<char>(random.below(256));
    }
    const auto back = decode_event(json, "x");
    if (!back) continue;
    ++accepted;
    // Accepted input has one form again.
    const auto again = decode_event(encode(*back), "x");
    ASSERT_TRUE(again) << json;
    ASSERT_EQ(encode(*again), encode(*back));
  }
  EXPECT_LT(accepted, 3000);
}

}  // namespace
}  // namespace berth::observe

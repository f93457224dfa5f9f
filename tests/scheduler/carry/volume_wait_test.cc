// The book of waits for volumes: what is written on claims, when pods are bound, and when their places go back.
#include "scheduler/carry/volume_wait.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::scheduler {
namespace {

using dialect::ClaimNeed;
using dialect::ClaimStep;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

ClaimStep step(const std::string& claim, ClaimNeed need, int version = 1, const std::string& selected = "") {
  ClaimStep out;
  out.need = need;
  out.ns = "default";
  out.name = claim;
  out.uid = "uid-" + claim;
  out.version = std::to_string(version);
  out.selected = selected;
  out.why = selected.empty() ? fmt::format("claim {} is to be provisioned", claim)
                             : fmt::format("claim {} is being provisioned for node {}", claim, selected);
  return out;
}

struct Book : VolumeWait {
  TimeMs now = 1'000'000;

  void needs(const std::string& pod, const std::string& node, std::vector<ClaimStep> steps) {
    set_steps(pod, node, std::move(steps), now);
  }
  std::vector<std::string> asks() {
    std::vector<std::string> out;
    for (const Ask& ask : take_asks(now)) out.push_back(fmt::format("{} on {}", ask.claim, ask.node));
    return out;
  }
  std::vector<std::string> backs() {
    std::vector<std::string> out;
    for (const Back& back : take_backs(now))
      out.push_back(fmt::format("{} ({}): {}", back.workload, back.pods.size(), back.why));
    return out;
  }
  // The node is on the claim, as its provisioner sees it.
  void written(const std::string& pod, const std::string& claim, const std::string& node) {
    EXPECT_THAT(asks(), ElementsAre(fmt::format("default/{} on {}", claim, node)));
    answered("default/" + claim, "5", "", now);
    EXPECT_THAT(take_looks(), ElementsAre(pod));
    needs(pod, node, {step(claim, ClaimNeed::kTime, 5, node)});
  }
};

TEST(VolumeWait, WritesTheNodeAndWaitsForTheVolume) {
  Book b;
  b.add("w", "p", b.now);
  EXPECT_THAT(b.take_looks(), ElementsAre("p"));
  EXPECT_THAT(b.ready(), IsEmpty()) << "nothing is known of its claims";
  b.needs("p", "n1", {step("data", ClaimNeed::kNode)});
  EXPECT_THAT(b.asks(), ElementsAre("default/data on n1"));
  EXPECT_THAT(b.asks(), IsEmpty()) << "it is on its way";
  EXPECT_EQ(b.why("w"), "waits for its volumes: claim data is to be provisioned");
  b.answered("default/data", "5", "", b.now);
  EXPECT_THAT(b.take_looks(), ElementsAre("p"));
  b.needs("p", "n1", {step("data", ClaimNeed::kNode, 4)});
  EXPECT_THAT(b.backs(), IsEmpty()) << "the watch is behind the answer";
  b.needs("p", "n1", {step("data", ClaimNeed::kTime, 5, "n1")});
  EXPECT_EQ(b.why("w"), "waits for its volumes: claim data is being provisioned for node n1");
  EXPECT_THAT(b.ready(), IsEmpty());
  b.changed({"default/data", "default/other"});
  EXPECT_THAT(b.take_looks(), ElementsAre("p"));
  b.needs("p", "n1", {});
  EXPECT_THAT(b.ready(), ElementsAre("w"));
  EXPECT_THAT(b.take("w"), ElementsAre("p"));
  EXPECT_TRUE(b.empty());
  EXPECT_THAT(b.ready(), IsEmpty());
  EXPECT_EQ(b.why("w"), "");
  EXPECT_THAT(b.asks(), IsEmpty());
}

TEST(VolumeWait, AGangWaitsForAllItsClaims) {
  Book b;
  for (const char* pod : {"p1", "p2"}) b.add("w", pod, b.now);
  b.needs("p1", "n1", {});
  EXPECT_THAT(b.ready(), IsEmpty());
  b.needs("p2", "n2", {step("a", ClaimNeed::kNode), step("b", ClaimNeed::kNode)});
  EXPECT_THAT(b.asks(), ElementsAre("default/a on n2", "default/b on n2"));
  EXPECT_THAT(b.why("w"), HasSubstr("claim a is to be provisioned, and 1 more"));
  b.needs("p2", "n2", {step("b", ClaimNeed::kTime, 5, "n2")});
  EXPECT_THAT(b.ready(), IsEmpty());
  b.needs("p2", "n2", {});
  EXPECT_THAT(b.ready(), ElementsAre("w"));
  b.add("w", "p3", b.now);
  EXPECT_THAT(b.ready(), IsEmpty()) << "one more has come";
  b.needs("p3", "n1", {});
  EXPECT_THAT(b.take("w"), ElementsAre("p1", "p2", "p3"));
}

TEST(VolumeWait, AProvisionerThatTakesTheNodeOffRefusesIt) {
  Book b;
  DurationMs rest = 10 * kSecond;
  for (int i = 0; i < 9; ++i) {
    b.add("w", "p", b.now);
    b.needs("p", "n1", {step("data", ClaimNeed::kNode, 1)});
    b.written("p", "data", "n1");
    b.needs("p", "n1", {step("data", ClaimNeed::kNode, 6)});
    EXPECT_THAT(b.backs(), ElementsAre("w (1): the volume of claim data was not made for node n1: see the "
                                       "events of the claim"));
    EXPECT_TRUE(b.empty());
    EXPECT_THAT(b.take_refusals(b.now), ElementsAre(Pair("default/data", ElementsAre("n1"))));
    if (i == 0) {
      EXPECT_EQ(b.next_due(), b.now + rest);
    }
    b.now += rest - 1;
    EXPECT_THAT(b.take_refusals(b.now), IsEmpty());
    ++b.now;
    EXPECT_THAT(b.take_refusals(b.now), ElementsAre(Pair("default/data", IsEmpty())));
    rest = std::min<DurationMs>(2 * rest, 10 * kMinute);
  }
  b.now += kHour;
  EXPECT_THAT(b.take_refusals(b.now), IsEmpty());
  EXPECT_THAT(b.backs(), IsEmpty());
  EXPECT_EQ(b.next_due(), kEndOfTime) << "nothing is left";
}

TEST(VolumeWait, ABoundClaimIsRefusedNowhere) {
  Book b;
  b.add("w", "p", b.now);
  b.needs("p", "n1", {step("data", ClaimNeed::kNode, 1)});
  b.written("p", "data", "n1");
  b.needs("p", "n1", {step("data", ClaimNeed::kNode, 6)});
  EXPECT_EQ(b.backs().size(), 1u);
  EXPECT_EQ(b.take_refusals(b.now).size(), 1u);
  b.add("w", "p", b.now);
  b.needs("p", "n2", {step("data", ClaimNeed::kNode, 6)});
  b.written("p", "data", "n2");
  b.needs("p", "n2", {});
  EXPECT_THAT(b.take_refusals(b.now), ElementsAre(Pair("default/data", IsEmpty())));
  EXPECT_THAT(b.ready(), ElementsAre("w"));
}

TEST(VolumeWait, VolumesThatDoNotComeGiveThePlaceBack) {
  Book b;
  b.add("w", "p", b.now);
  b.needs("p", "n1", {step("data", ClaimNeed::kNode, 1)});
  b.written("p", "data", "n1");
  b.now += 10 * kMinute - 1;
  EXPECT_THAT(b.backs(), IsEmpty());
  ++b.now;
  EXPECT_EQ(b.next_due(), b.now);
  EXPECT_THAT(b.backs(), ElementsAre("w (1): its volumes were not there within 600 s: claim data is being "
                                     "provisioned for node n1"));
  EXPECT_THAT(b.take_refusals(b.now), ElementsAre(Pair("default/data", ElementsAre("n1"))));
}

TEST(VolumeWait, AfterARestartTheClaimHasItsNode) {
  Book b;
  b.add("w", "p", b.now);
  b.needs("p", "n1", {step("data", ClaimNeed::kTime, 5, "n1")});
  EXPECT_THAT(b.asks(), IsEmpty());
  b.needs("p", "n1", {step("data", ClaimNeed::kNode, 6)});
  EXPECT_EQ(b.backs().size(), 1u) << "its provisioner has taken it off";
  EXPECT_THAT(b.take_refusals(b.now), ElementsAre(Pair("default/data", ElementsAre("n1"))));
}

TEST(VolumeWait, ClaimsAndPodsThatGoEndTheWait) {
  Book b;
  for (const char* pod : {"p1", "p2"}) b.add("w", pod, b.now);
  b.needs("p1", "n1", {step("data", ClaimNeed::kTime, 5, "n1")});
  b.needs("p2", "n1", {});
  b.gone("p1");
  EXPECT_THAT(b.backs(), ElementsAre("w (1): a pod of it is gone"));
  b.add("w", "p1", b.now);
  b.gone("p1");
  EXPECT_THAT(b.backs(), IsEmpty());
  EXPECT_TRUE(b.empty());
  b.gone("p1");

  b.add("v", "q", b.now);
  b.needs("q", "n1", {step("data", ClaimNeed::kTime, 5, "n1")});
  ClaimStep missing = step("data", ClaimNeed::kPlace);
  missing.uid.clear();
  missing.why = "claim data does not exist";
  b.needs("q", "n1", {missing});
  EXPECT_THAT(b.backs(), ElementsAre("v (1): claim data does not exist"));
  EXPECT_THAT(b.take_refusals(b.now), IsEmpty());
}

TEST(VolumeWait, AFailedWriteIsTriedAgain) {
  Book b;
  b.add("w", "p", b.now);
  b.needs("p", "n1", {step("data", ClaimNeed::kNode, 1)});
  DurationMs rest = 100;
  for (int i = 0; i < 10; ++i) {
    EXPECT_THAT(b.asks(), ElementsAre("default/data on n1"));
    b.answered("default/data", "", "Forbidden: not allowed", b.now);
    EXPECT_THAT(b.why("w"), HasSubstr("(it could not be written: Forbidden: not allowed)"));
    b.needs("p", "n1", {step("data", ClaimNeed::kNode, 2)});
    b.now += rest - 1;
    EXPECT_THAT(b.asks(), IsEmpty());
    ++b.now;
    rest = std::min<DurationMs>(2 * rest, 10 * kSecond);
  }
  EXPECT_THAT(b.asks(), ElementsAre("default/data on n1"));
  b.needs("p", "n1", {step("data", ClaimNeed::kTime, 9, "n1")});
  b.answered("default/data", "", "Conflict", b.now);
  b.now += kMinute;
  EXPECT_THAT(b.asks(), IsEmpty()) << "an earlier write was executed";
}

// The first to ask says for which node a claim is made that several workloads mount.
TEST(VolumeWait, AClaimOfSeveralIsMadeForOneNode) {
  Book b;
  b.add("w", "p", b.now);
  b.add("v", "q", b.now);
  b.needs("q", "n2", {step("data", ClaimNeed::kNode, 1)});
  b.needs("p", "n1", {step("data", ClaimNeed::kNode, 1)});
  EXPECT_THAT(b.asks(), ElementsAre("default/data on n2"));
  b.answered("default/data", "5", "", b.now);
  b.leave("q");
  b.needs("p", "n1", {step("data", ClaimNeed::kTime, 5, "n2")});
  EXPECT_THAT(b.asks(), IsEmpty());
  b.needs("p", "n1", {step("data", ClaimNeed::kPlace, 7)});
  EXPECT_EQ(b.backs().size(), 1u) << "its volume is elsewhere";

  b.add("v", "q", b.now);
  b.add("w", "p", b.now);
  b.needs("q", "n2", {step("more", ClaimNeed::kNode, 1)});
  b.needs("p", "n1", {step("more", ClaimNeed::kNode, 1)});
  b.leave("q");
  EXPECT_THAT(b.asks(), ElementsAre("default/more on n1")) << "the first waits no longer";
}

TEST(VolumeWait, NodesWithoutAVolumeAreTriedInARowAndCountOnce) {
  Book b;
  for (const char* node : {"n1", "n2", "n3"}) {
    b.add("w", "p", b.now);
    EXPECT_TRUE(b.may_choose("p"));
    b.needs("p", node, {step("data", ClaimNeed::kElsewhere)});
    EXPECT_EQ(b.backs().size(), 1u);
    EXPECT_THAT(b.take_left(), ElementsAre("default/data"));
  }
  EXPECT_THAT(b.take_refusals(b.now), ElementsAre(Pair("default/data", ElementsAre("n1", "n2", "n3"))));
  b.now += 10 * kSecond;
  EXPECT_THAT(b.take_refusals(b.now), ElementsAre(Pair("default/data", IsEmpty())));
  b.add("w", "p", b.now);
  b.needs("p", "n1", {step("data", ClaimNeed::kElsewhere)});
  EXPECT_EQ(b.backs().size(), 1u);
  (void)b.take_refusals(b.now);
  b.now += 20 * kSecond - 1;
  EXPECT_THAT(b.take_refusals(b.now), IsEmpty());
}

// The step of claim data with an existing volume.
ClaimStep on(const std::string& volume, ClaimNeed need, int version) {
  ClaimStep out = step("data", need, version);
  out.volume = volume;
  return out;
}

TEST(VolumeWait, AClaimIsWrittenOnTheVolumeThatIsChosenLast) {
  Book b;
  b.add("w", "p", b.now);
  b.needs("p", "n1", {on("v1", ClaimNeed::kVolume, 7)});
  EXPECT_THAT(b.asks(), ElementsAre("default/data on n1"));
  b.needs("p", "n1", {on("v2", ClaimNeed::kVolume, 3)});  // v1 is gone
  EXPECT_THAT(b.asks(), IsEmpty()) << "the first is on its way";
  b.answered("default/data", "8", "", b.now);
  (void)b.take_looks();
  const auto asks = b.take_asks(b.now);
  ASSERT_EQ(asks.size(), 1u);
  EXPECT_EQ(asks[0].step.volume, "v2");
  b.answered("default/data", "9", "", b.now);
  b.needs("p", "n1", {on("v2", ClaimNeed::kTime, 9)});
  EXPECT_THAT(b.backs(), IsEmpty());
  b.needs("p", "n1", {on("v2", ClaimNeed::kVolume, 10)});
  EXPECT_THAT(b.backs(),
              ElementsAre("w (1): claim data was taken off PersistentVolume v2 again: see its events"));
  EXPECT_THAT(b.take_refusals(b.now), ElementsAre(Pair("default/data", ElementsAre("n1"))));
}

// The pod is decided anew while the write is on its way. The answer is that of the former write.
TEST(VolumeWait, AnAnswerCountsForTheWriteThatItAnswers) {
  Book b;
  b.add("w", "p", b.now);
  b.needs("p", "n1", {on("v1", ClaimNeed::kVolume, 3)});
  EXPECT_THAT(b.asks(), ElementsAre("default/data on n1"));
  b.leave("p");
  EXPECT_THAT(b.take_left(), IsEmpty()) << "v1 is not free: the claim may be on it";
  b.add("w", "p", b.now);
  b.needs("p", "n2", {on("v2", ClaimNeed::kVolume, 9)});
  EXPECT_THAT(b.asks(), IsEmpty()) << "the first is on its way";
  b.answered("default/data", "8", "", b.now);
  (void)b.take_looks();
  b.needs("p", "n2", {on("v2", ClaimNeed::kVolume, 9)});
  EXPECT_THAT(b.backs(), IsEmpty()) << "nothing was taken off v2";
  const auto asks = b.take_asks(b.now);
  ASSERT_EQ(asks.size(), 1u);
  EXPECT_EQ(asks[0].step.volume, "v2");
  // Without another decision the answer ends it. The volume that the claim is on stays kept until the watch shows that.
  b.leave("p");
  b.answered("default/data", "10", "", b.now);
  EXPECT_THAT(b.take_left(), IsEmpty());
  b.add("w", "p", b.now);
  b.needs("p", "n2", {on("v3", ClaimNeed::kVolume, 3)});
  EXPECT_EQ(b.asks().size(), 1u);
  b.leave("p");
  b.answered("default/data", "", "Conflict", b.now);
  EXPECT_THAT(b.take_left(), ElementsAre("default/data"));
  EXPECT_TRUE(b.empty());
}

}  // namespace
}  // namespace berth::scheduler

// Gangs that are being bound (scheduler/carry/flights.h).
#include "scheduler/carry/flights.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::scheduler {
namespace {

using Names = std::vector<std::string>;

TEST(Flights, AGangIsDueUnlessAllItsMembersLand) {
  Flights flights(10);
  flights.expect("a", "a0", 100);
  flights.expect("a", "a1", 105);
  flights.expect("b", "b0", 101);
  EXPECT_EQ(flights.next_due(), 110) << "its first member counts";
  flights.landed("b", "b0");
  flights.landed("a", "a0");
  EXPECT_EQ(flights.due(109), Names());
  EXPECT_EQ(flights.due(120), Names({"a"}));
  EXPECT_EQ(flights.open("a").count("a1"), 1u);
  flights.extend("a", 120);
  EXPECT_EQ(flights.due(129), Names());
  EXPECT_EQ(flights.due(130), Names({"a"}));
  flights.forget("a");
  EXPECT_EQ(flights.due(1000), Names());
  EXPECT_EQ(flights.next_due(), kEndOfTime);
}

TEST(Flights, AMemberThatVanishedLeavesItsGangToTheDeadline) {
  Flights flights(10);
  flights.expect("a", "a0", 0);
  flights.gone("a", "a0");
  EXPECT_EQ(flights.due(10), Names({"a"}));
  EXPECT_TRUE(flights.open("a").empty());
  flights.forget("a");
  flights.expect("b", "b0", 20);
  flights.landed("b", "b0");
  flights.gone("b", "b0");  // it was bound before
  EXPECT_EQ(flights.due(1000), Names());
  flights.lose("c", 2000);
  EXPECT_EQ(flights.due(2010), Names({"c"}));
}

TEST(Flights, ALaterGangOfTheSameWorkloadHasItsOwnTime) {
  Flights flights(10);
  flights.expect("a", "a0", 0);
  flights.landed("a", "a0");
  flights.expect("a", "a1", 5);
  EXPECT_EQ(flights.due(10), Names()) << "the timer of the first";
  EXPECT_EQ(flights.due(15), Names({"a"}));
}

TEST(Flights, AWorkloadIsDueOnceWhereTwoOfItsTimersAre) {
  Flights flights(10);
  flights.expect("a", "a0", 0);
  flights.landed("a", "a0");
  flights.expect("a", "a1", 5);
  EXPECT_EQ(flights.due(20), Names({"a"}));
}

}  // namespace
}  // namespace berth::scheduler

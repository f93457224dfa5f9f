#include "scheduler/wire/due.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::scheduler {
namespace {

std::vector<std::string> all_of(Due& due) {
  std::vector<std::string> out;
  while (!due.empty()) out.push_back(due.take());
  return out;
}

TEST(Due, GivesKeysInTheOrderOfTheirTimesAndThenAsTheyCame) {
  Due due;
  EXPECT_EQ(due.next(), kEndOfTime);
  due.put("z", 20);
  due.put("b", 10);
  due.put("a", 10);
  EXPECT_EQ(due.next(), 10);
  EXPECT_EQ(due.first(), "b");
  EXPECT_EQ(all_of(due), (std::vector<std::string>{"b", "a", "z"}));
  EXPECT_EQ(due.next(), kEndOfTime);
}

TEST(Due, OfTwoTimesTheEarlierCounts) {
  Due due;
  due.put("a", 10);
  due.put("b", 10);
  due.put("a", 30);
  due.put("b", 5);
  EXPECT_EQ(due.size(), 2u);
  EXPECT_EQ(all_of(due), (std::vector<std::string>{"b", "a"}));
}

TEST(Due, WhatIsSetCountsWhateverWasBefore) {
  Due due;
  for (const char* key : {"a", "b", "c", "d"}) due.put(key, 10);
  due.set("a", 30);
  due.set("b", 5);
  due.set("c", 10);
  due.set("e", 10);
  EXPECT_EQ(all_of(due), (std::vector<std::string>{"b", "c", "d", "e", "a"}));
}

// Whatever the number of keys that share a time, moving one of them costs the same.
TEST(Due, ManyKeysOfOneTimeMoveFast) {
  constexpr int kMany = 200'000;
  Due due;
  for (int i = 0; i < kMany; ++i) due.put(std::to_string(i), 10);
  for (int i = kMany; i-- > 0;) due.set(std::to_string(i), 20);
  EXPECT_EQ(due.size(), std::size_t{kMany});
  EXPECT_EQ(due.next(), 20);
  EXPECT_EQ(due.first(), std::to_string(kMany - 1));
}

}  // namespace
}  // namespace berth::scheduler

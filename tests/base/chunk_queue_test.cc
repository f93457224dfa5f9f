#include "base/chunk_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"

namespace berth {
namespace {

using Numbers = ChunkQueue<int, 64 * sizeof(int)>;  // chunks of 16, 32, 64, 64, ...

std::vector<int> all_of(const Numbers& queue) {
  std::vector<int> out;
  queue.each([&](int number) { out.push_back(number); });
  return out;
}

Numbers from_to(int first, int last) {
  Numbers out;
  for (int i = first; i <= last; ++i) out.push_back(i);
  return out;
}

TEST(ChunkQueue, GivesItsItemsInTheirOrder) {
  Numbers queue = from_to(1, 300);
  EXPECT_EQ(queue.size(), 300u);
  for (int i = 1; i <= 300; ++i) {
    ASSERT_FALSE(queue.empty());
    EXPECT_EQ(queue.front(), i);
    queue.pop_front();
  }
  EXPECT_TRUE(queue.empty());
  queue.push_back(7);
  EXPECT_EQ(queue.front(), 7);
}

TEST(ChunkQueue, FreesWhatAnItemHoldsWhenItGoes) {
  const auto held = std::make_shared<int>(1);
  ChunkQueue<std::shared_ptr<int>> queue;
  for (int i = 0; i < 3; ++i) queue.push_back(held);
  EXPECT_EQ(held.use_count(), 4);
  queue.pop_front();
  EXPECT_EQ(held.use_count(), 3) << "although its chunk is still there";
  queue = {};
  EXPECT_EQ(held.use_count(), 1);
}

TEST(ChunkQueue, MovesBehindAnother) {
  Numbers first = from_to(1, 20);
  first.pop_front();
  Numbers second = from_to(21, 100);
  second.pop_front();
  const int* const where = &second.front();
  first.splice(std::move(second));
  EXPECT_TRUE(second.empty());
  EXPECT_EQ(first.size(), 98u);
  first.push_back(101);
  while (first.front() != 22) first.pop_front();
  EXPECT_EQ(&first.front(), where) << "it is not copied";
  std::vector<int> expected;
  for (int i = 22; i <= 101; ++i) expected.push_back(i);
  EXPECT_EQ(all_of(first), expected);
  second.push_back(5);
  EXPECT_EQ(all_of(second), std::vector<int>{5});
}

TEST(ChunkQueue, IsEmptyAfterAMove) {
  Numbers from = from_to(1, 40);
  Numbers to = std::move(from);
  EXPECT_TRUE(from.empty());
  EXPECT_TRUE(all_of(from).empty());
  from.push_back(3);
  to = std::move(from);
  EXPECT_EQ(all_of(to), std::vector<int>{3});
  EXPECT_TRUE(from.empty());
}

TEST(ChunkQueue, DoesAsADequeDoes) {
  Random random(7);
  Numbers queue;
  std::deque<int> expected;
  for (int i = 0; i < 20'000; ++i) {
    if (random.below(100) < 52) {
      queue.push_back(i);
      expected.push_back(i);
    } else if (!expected.empty()) {
      ASSERT_EQ(queue.front(), expected.front());
      queue.pop_front();
      expected.pop_front();
    }
    ASSERT_EQ(queue.size(), expected.size());
  }
  EXPECT_EQ(all_of(queue), std::vector<int>(expected.begin(), expected.end()));
}

}  // namespace
}  // namespace berth

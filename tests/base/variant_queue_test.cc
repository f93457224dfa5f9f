#include "base/variant_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"

namespace berth {
namespace {

using Item = std::variant<int, std::string, std::array<int, 100>, std::shared_ptr<int>>;
using Queue = VariantQueue<Item>;

TEST(VariantQueue, GivesItemsOfAllKindsInTheirOrder) {
  Queue queue;
  queue.push_back(1);
  queue.push_back("two");
  queue.push_back(3);
  queue.push_back(std::string("four"));
  EXPECT_EQ(queue.size(), 4U);
  std::vector<int> numbers;
  queue.each_of<int>([&](int number) { numbers.push_back(number); });
  EXPECT_EQ(numbers, (std::vector{1, 3}));
  EXPECT_EQ(queue.take(), Item(1));
  EXPECT_EQ(queue.take(), Item("two"));
  EXPECT_EQ(queue.take(), Item(3));
  EXPECT_EQ(queue.take(), Item("four"));
  EXPECT_TRUE(queue.empty());
}

TEST(VariantQueue, FreesWhatAnItemHoldsWhenItGoes) {
  const auto held = std::make_shared<int>(1);
  Queue queue;
  for (int i = 0; i < 3; ++i) queue.push_back(held);
  (void)queue.take();
  EXPECT_EQ(held.use_count(), 3);
  queue = {};
  EXPECT_EQ(held.use_count(), 1);
}

TEST(VariantQueue, MovesBehindAnother) {
  Queue first;
  first.push_back(1);
  Queue second;
  second.push_back("two");
  second.push_back(3);
  first.splice(std::move(second));
  EXPECT_TRUE(second.empty());
  second.push_back(4);
  Queue all(std::move(first));
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(all.size(), 3U);
  EXPECT_EQ(all.take(), Item(1));
  EXPECT_EQ(all.take(), Item("two"));
  EXPECT_EQ(all.take(), Item(3));
  EXPECT_EQ(second.take(), Item(4));
}

TEST(VariantQueue, DoesAsADequeDoes) {
  Queue queue;
  std::deque<Item> expected;
  Random random(11);
  for (int i = 0; i < 30'000; ++i) {
    const auto what = random.between(0, 99);
    if (what < 54) {
      Item item = i;
      if (what < 20) item = std::to_string(i);
      if (what < 10) item = std::array<int, 100>{i, -i};
      expected.push_back(item);
      queue.push_back(std::move(item));
    } else if (what < 98) {
      if (expected.empty()) continue;
      ASSERT_EQ(queue.take(), expected.front());
      expected.pop_front();
    } else {
      const auto is_odd = [](const Item& item) {
        const int* number = std::get_if<int>(&item);
        return number != nullptr && *number % 2 == 1;
      };
      queue.erase_if(is_odd);
      std::erase_if(expected, is_odd);
    }
    ASSERT_EQ(queue.size(), expected.size());
  }
  for (const Item& item : expected) ASSERT_EQ(queue.take(), item);
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace berth

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "base/checked.h"
#include "base/interner.h"
#include "base/random.h"
#include "base/result.h"

namespace berth {
namespace {

TEST(Checked, NeverWraps) {
  EXPECT_EQ(checked_add(kInt64Max, 1), std::nullopt);
  EXPECT_EQ(checked_add(kInt64Min, -1), std::nullopt);
  EXPECT_EQ(checked_mul(std::int64_t{1} << 40, std::int64_t{1} << 40), std::nullopt);
  EXPECT_EQ(checked_add(2, 3), 5);
  EXPECT_EQ(saturating_add(kInt64Max, 5), kInt64Max);
  EXPECT_EQ(saturating_add(kInt64Min, -5), kInt64Min);
  EXPECT_EQ(saturating_sub(kInt64Min, 1), kInt64Min);
  EXPECT_EQ(saturating_mul(kInt64Max, -2), kInt64Min);
  EXPECT_EQ(clamp_to_int64(Int128{kInt64Max} + 1), kInt64Max);
}

TEST(Random, GivesTheSameNumbersOnEveryMachine) {
  // Reference: xoshiro256** seeded with splitmix64(42), computed by an independent program.
  Random a(42);
  Random b(42);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(a.next(), b.next());
  EXPECT_EQ(Random(42).next(), 1546998764402558742ull);
}

TEST(Random, IsUniformAndStaysInItsBounds) {
  Random random(7);
  std::map<std::uint64_t, int> seen;
  for (int i = 0; i < 60'000; ++i) ++seen[random.below(6)];
  ASSERT_EQ(seen.size(), 6u);
  for (const auto& [value, times] : seen) EXPECT_NEAR(times, 10'000, 500) << value;
  for (int i = 0; i < 1000; ++i) {
    const auto v = random.between(-3, 3);
    EXPECT_GE(v, -3);
    EXPECT_LE(v, 3);
  }
  const std::vector<std::uint64_t> weights{0, 3, 0, 1};
  std::vector<int> picks(4);
  for (int i = 0; i < 40'000; ++i) ++picks[random.pick(weights)];
  EXPECT_EQ(picks[0] + picks[2], 0);
  EXPECT_NEAR(picks[1], 30'000, 600);
}

TEST(Random, ShuffleKeepsEverything) {
  Random random(3);
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  auto shuffled = items;
  random.shuffle(shuffled);
  EXPECT_NE(shuffled, items);
  std::sort(shuffled.begin(), shuffled.end());
  EXPECT_EQ(shuffled, items);
}

TEST(Interner, NumbersNamesInOrderOfAppearance) {
  Interner names;
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(names.intern("name-" + std::to_string(i)), static_cast<std::uint32_t>(i));
  EXPECT_EQ(names.intern("name-17"), 17u);
  EXPECT_EQ(names.name(999), "name-999");
  EXPECT_EQ(names.find("other"), std::nullopt);
}

Result<int> half(int n) {
  if (n % 2 != 0) return fail_at({"numbers.txt", 3, 7}, "{} is odd", n);
  return n / 2;
}
Result<int> quarter(int n) {
  BERTH_ASSIGN(const int h, half(n));
  return half(h);
}

TEST(Result, CarriesThePlaceOfAnError) {
  EXPECT_EQ(*quarter(8), 2);
  const auto bad = quarter(6);
  ASSERT_FALSE(bad.has_value());
  EXPECT_EQ(bad.error().str(), "numbers.txt:3:7: 3 is odd");
  EXPECT_EQ(SourcePlace{}.str(), "");
  EXPECT_EQ((SourcePlace{"f", 2, 0}.str()), "f:2");
}

}  // namespace
}  // namespace berth

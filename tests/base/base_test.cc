#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include "base/checked.h"
#include "base/cycles.h"
#include "base/enums.h"
#include "base/interner.h"
#include "base/random.h"
#include "base/result.h"
#include "base/time.h"

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

enum class Colour : std::uint8_t { kRed, kGreen };

}  // namespace

template <>
struct EnumNames<Colour> {
  static constexpr std::array names{"red"sv, "green"sv};
};

namespace {

TEST(EnumName, OfAValueThatIsNoEnumeratorIsAQuestionMark) {
  EXPECT_EQ(enum_name(Colour::kGreen), "green");
  EXPECT_EQ(enum_name(static_cast<Colour>(2)), "?");
  EXPECT_EQ(enum_parse<Colour>("red"), Colour::kRed);
  EXPECT_EQ(enum_parse<Colour>("?"), std::nullopt);
}

TEST(Cycles, AreFoundWithWhatIsBelowThem) {
  const auto found = find_cycles({{"a", "b"},
                                  {"b", "c"},
                                  {"c", "a"},
                                  {"below", "c"},
                                  {"lower", "below"},
                                  {"self", "self"},
                                  {"top", ""},
                                  {"leaf", "top"},
                                  {"orphan", "nobody"}});
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found.at("a").text, "a -> b -> c -> a");
  EXPECT_EQ(found.at("self").text, "self -> self");
  EXPECT_TRUE(found.at("c").on_it);
  EXPECT_FALSE(found.at("below").on_it);
  EXPECT_EQ(found.at("lower").text, "a -> b -> c -> a");
}

TEST(Time, RestsDoubleUpToTheMostAndNeverOverflow) {
  EXPECT_EQ(doubled(100, 0, kMinute), 100);
  EXPECT_EQ(doubled(100, 3, kMinute), 800);
  EXPECT_EQ(doubled(100, 10, kMinute), kMinute);
  EXPECT_EQ(doubled(kHour, 0, kMinute), kMinute);
  EXPECT_EQ(doubled(0, 5, kMinute), 0);
  EXPECT_EQ(doubled(1, 1'000'000, kEndOfTime), std::int64_t{1} << 40);
  EXPECT_EQ(doubled(kEndOfTime / 2, 5, kEndOfTime), kEndOfTime);
}

// Lower values may come first in the order of names.
TEST(Cycles, AreTheSameFromWhereverTheSearchBegins) {
  const auto found = find_cycles({{"1", "2"}, {"2", "x"}, {"x", "y"}, {"y", "x"}});
  EXPECT_EQ(found.at("1").text, "x -> y -> x");
  EXPECT_FALSE(found.at("1").on_it);
  EXPECT_FALSE(found.at("2").on_it);
  EXPECT_TRUE(found.at("x").on_it);
  EXPECT_TRUE(found.at("y").on_it);
}

// A hundred thousand in one ring, and as many in one chain: neither the time nor the texts grow with the square.
TEST(Cycles, AreCheapInLongChains) {
  std::vector<std::string> names;
  for (int i = 0; i < 100'000; ++i) names.push_back(std::to_string(i));
  std::map<std::string_view, std::string_view> parents;
  for (std::size_t i = 0; i + 1 < names.size(); ++i) parents.emplace(names[i], names[i + 1]);
  EXPECT_TRUE(find_cycles(parents).empty());
  parents.emplace(names.back(), names.front());
  const auto found = find_cycles(parents);
  EXPECT_EQ(found.size(), names.size());
  EXPECT_EQ(found.at("7").text, "0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> (99992 more) -> 0");
}

}  // namespace
}  // namespace berth

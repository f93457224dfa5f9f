#include "base/reused.h"

#include <gtest/gtest.h>

#include <string>

#include "base/by_name.h"
#include "base/digest.h"

namespace berth {
namespace {

TEST(Reused, GivesTheNumberThatCameFreeLastAndAnItemAsNew) {
  Reused<std::string> items;
  EXPECT_EQ(items.take(), 0U);
  EXPECT_EQ(items.take(), 1U);
  items[0] = "first";
  items[1] = "second";
  items.give_back(1);
  EXPECT_EQ(items[1], "");
  items.give_back(0);
  EXPECT_EQ(items.take(), 0U);
  EXPECT_EQ(items.take(), 1U);
  EXPECT_EQ(items.take(), 2U);
  EXPECT_EQ(items.size(), 3U);
}

TEST(ByName, FindsByAViewOfTheName) {
  ByName<int> numbers;
  numbers["n1"] = 1;
  EXPECT_EQ(numbers.find(std::string_view("n1-and-more").substr(0, 2))->second, 1);
}

TEST(Digest, NoChoiceOfPartsMakesTwoKeysAlike) {
  const auto key = [](std::initializer_list<std::string_view> parts) {
    std::string out;
    for (const std::string_view part : parts) put_part(out, part);
    return out;
  };
  EXPECT_NE(key({"a", "b"}), key({"ab", ""}));
  EXPECT_NE(key({"1:a"}), key({"1", "a"}));
}

}  // namespace
}  // namespace berth

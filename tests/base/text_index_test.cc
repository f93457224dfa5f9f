#include "base/text_index.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"

namespace berth {
namespace {

// Beside a std::map, through additions, removals and lookups in random order; few texts, so that numbers are used again.
TEST(TextIndex, FindsWhatAMapFinds) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    const std::uint64_t texts = seed % 5 == 0 ? 2000 : 40;
    TextIndex index;
    std::map<std::string, std::uint32_t> model;
    std::vector<std::string> items;
    for (int step = 0; step < 4000; ++step) {
      const std::string text = "uid-" + std::to_string(random.below(texts));
      const auto is = [&](std::uint32_t at) { return items[at] == text; };
      const auto known = model.find(text);
      const std::uint32_t found = index.find(text, is);
      ASSERT_EQ(found, known == model.end() ? TextIndex::kNone : known->second);
      if (found == TextIndex::kNone) {
        EXPECT_FALSE(index.erase(text, is));
        index.add(text, static_cast<std::uint32_t>(items.size()));
        model.emplace(text, static_cast<std::uint32_t>(items.size()));
        items.push_back(text);
      } else if (random.below(3) > 0) {
        EXPECT_TRUE(index.erase(text, is));
        model.erase(known);
      }
      ASSERT_EQ(index.size(), model.size());
    }
    for (const auto& [text, at] : model) {
      EXPECT_EQ(index.find(text, [&](std::uint32_t item) { return items[item] == text; }), at);
    }
  }
}

TEST(TextIndex, AnEmptyOneFindsNothing) {
  TextIndex index;
  EXPECT_EQ(index.find("a", [](std::uint32_t) { return true; }), TextIndex::kNone);
  EXPECT_FALSE(index.erase("a", [](std::uint32_t) { return true; }));
}

}  // namespace
}  // namespace berth

// Documents with values replaced.
#include "text/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::text {
namespace {

using ::testing::HasSubstr;

constexpr const char* kFile =
    "name: a\n"
    "policy: {placement: pack}\n"
    "cluster:\n"
    "  - {count: 1}\n"
    "  - {count: 2}\n"
    "queues:\n"
    "  - name: pool\n"
    "    children:\n"
    "      - {name: x, order: strict}\n"
    "      - {name: y}\n";

// A flat text of a tree.
std::string text_of(const Node& node) {
  if (node.is_null()) return "~";
  if (node.is_scalar()) return std::string(node.text());
  std::string out = node.is_sequence() ? "[" : "{";
  for (const Node& item : node.items()) out += text_of(item) + " ";
  for (const Entry& entry : node.entries())
    out += std::string(entry.name()) + ":" + text_of(entry.value) + " ";
  return out + (node.is_sequence() ? "]" : "}");
}

Result<Document> edited(const std::vector<std::pair<std::string, std::string>>& changes) {
  BERTH_ASSIGN(const Document document, parse_document(kFile, "f.yaml"));
  std::vector<Document> values;
  for (const auto& [path, value] : changes) {
    BERTH_ASSIGN(Document parsed, parse_document(value, "value"));
    values.push_back(std::move(parsed));
  }
  std::vector<Change> list;
  for (std::size_t i = 0; i < changes.size(); ++i) list.push_back({changes[i].first, &values[i].root()});
  return with_changes(document, list);
}

std::string text_after(const std::vector<std::pair<std::string, std::string>>& changes) {
  const auto document = edited(changes);
  return document ? text_of(document->root()) : document.error().str();
}

TEST(Edit, NoChangeKeepsEverything) {
  const auto document = parse_document(kFile, "f.yaml");
  const auto same = edited({});
  ASSERT_TRUE(same) << same.error().str();
  EXPECT_EQ(text_of(same->root()), text_of(document->root()));
  EXPECT_EQ(same->root().at({"policy", "placement"})->line(), 2u);
  EXPECT_EQ(same->file(), "f.yaml");
}

TEST(Edit, ReplacesKeysElementsAndAllElements) {
  EXPECT_THAT(text_after({{"policy.placement", "spread"}}), HasSubstr("policy:{placement:spread }"));
  EXPECT_THAT(text_after({{"cluster[1].count", "7"}}), HasSubstr("cluster:[{count:1 } {count:7 } ]"));
  EXPECT_THAT(text_after({{"cluster[*].count", "7"}}), HasSubstr("cluster:[{count:7 } {count:7 } ]"));
  EXPECT_THAT(text_after({{"cluster", "[{count: 3}]"}}), HasSubstr("cluster:[{count:3 } ]"));
  // The later change sees the earlier one.
  EXPECT_THAT(text_after({{"cluster", "[{count: 3}]"}, {"cluster[0].count", "4"}}),
              HasSubstr("cluster:[{count:4 } ]"));
}

TEST(Edit, AddsWhatIsMissing) {
  EXPECT_THAT(text_after({{"queues[0].children[*].order", "best-effort"}}),
              HasSubstr("{name:x order:best-effort } {name:y order:best-effort }"));
  EXPECT_THAT(text_after({{"output.gantt_nodes", "3"}}), HasSubstr("output:{gantt_nodes:3 }"));
}

TEST(Edit, KeepsThePlaceOfWhatItReplaces) {
  const auto document = edited({{"policy.placement", "spread"}, {"policy.other", "1"}});
  ASSERT_TRUE(document);
  EXPECT_EQ(document->root().at({"policy", "placement"})->line(), 2u);
  EXPECT_EQ(document->root().at({"policy", "other"})->line(), 2u);
}

TEST(Edit, SaysWhereAPathEnds) {
  EXPECT_THAT(text_after({{"cluster[2].count", "1"}}),
              HasSubstr("f.yaml:4:3: cluster[2].count: the list has 2"));
  EXPECT_THAT(text_after({{"cluster.count", "1"}}), HasSubstr("no mapping with a key count"));
  EXPECT_THAT(text_after({{"name[0]", "1"}}), HasSubstr("no list"));
  EXPECT_THAT(text_after({{"nothing[0]", "1"}}), HasSubstr("there is no list nothing"));
  for (const char* path : {"", ".a", "a..b", "a[", "a[x]", "[0]", "a[0]b", "a[]", "a."}) {
    const auto steps = parse_path(path);
    ASSERT_FALSE(steps) << path;
    EXPECT_THAT(steps.error().message, HasSubstr("is no path")) << path;
  }
}

}  // namespace
}  // namespace berth::text

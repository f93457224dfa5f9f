#include "cli/base/show.h"

#include <gtest/gtest.h>

#include "cli/base/reasons.h"
#include "text/document.h"
#include "text/json.h"

namespace berth::cli {
namespace {

TEST(Show, AgesHaveTwoDigitsOrThree) {
  EXPECT_EQ(age(0, 5), "-");
  EXPECT_EQ(age(1'000, 91'000), "90s");
  EXPECT_EQ(age(1'000, 1'000 + 45 * kMinute), "45m");
  EXPECT_EQ(age(1'000, 1'000 + 7 * kHour), "7h");
  EXPECT_EQ(age(1'000, 1'000 + 12 * 24 * kHour), "12d");
  EXPECT_EQ(age(10'000, 5'000), "-");
}

TEST(Show, ControlCharactersDoNotReachATerminal) {
  EXPECT_EQ(printable("a\x1b[31mb\nc\x7f"), "a [31mb c ");
  EXPECT_EQ(printable("gr\xc3\xbc\xc2\x9b"
                      "1m"),
            "gr\xc3\xbc  1m");
}

TEST(Show, YamlSaysTheSameAsJson) {
  const std::string json =
      R"({"format":"x","version":1,"none":null,"yes":"true","empty":[],"no":{},"items":[{"name":"a: b","list":["1",2]},{"name":"c","deep":{"k":true}}]})";
  const auto document = text::parse_json(json, "t");
  ASSERT_TRUE(document.has_value());
  const std::string yaml = to_yaml(document->root());
  EXPECT_EQ(yaml,
            "format: x\n"
            "version: 1\n"
            "none: null\n"
            "\"yes\": \"true\"\n"
            "empty: []\n"
            "\"no\": {}\n"
            "items:\n"
            "- name: \"a: b\"\n"
            "  list:\n"
            "  - \"1\"\n"
            "  - 2\n"
            "- name: c\n"
            "  deep:\n"
            "    k: true\n");
  const auto back = text::parse_document(yaml, "yaml");
  ASSERT_TRUE(back.has_value()) << back.error().str();
  EXPECT_EQ(text::to_json(back->root()), text::to_json(document->root()));
}

Listing two_rows() {
  Listing out;
  out.format = "berth-test";
  out.columns = {{"NAME"}, {"MORE", true}, {"WHY"}};
  out.rows = {{"a/b", {"b", "x", "a long text\twith a tab"}, R"({"name":"b"})"},
              {"a/c", {"c", "y", ""}, R"({"name":"c"})"}};
  out.notes = {"not shown: something"};
  out.empty = "Nothing.";
  return out;
}

TEST(Show, AListingIsATableOrJsonOrNames) {
  const Listing listing = two_rows();
  EXPECT_EQ(to_text(listing, ListFormat::kTable, 0), "NAME  WHY\nb     a long text with a tab\nc\n");
  EXPECT_EQ(to_text(listing, ListFormat::kTable, 16), "NAME  WHY\nb     a long ...\nc\n");
  EXPECT_EQ(to_text(listing, ListFormat::kWide, 16),
            "NAME  MORE  WHY\nb     x     a long text with a tab\nc     y\n");
  EXPECT_EQ(to_text(listing, ListFormat::kName, 0), "a/b\na/c\n");
  EXPECT_EQ(
      to_text(listing, ListFormat::kYaml, 0),
      "format: berth-test\nversion: 1\nitems:\n- name: b\n- name: c\nnotes:\n- \"not shown: something\"\n");
  const auto json = text::parse_json(to_text(listing, ListFormat::kJson, 0), "t");
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->root().find("items")->items().size(), 2u);
  Listing none = listing;
  none.rows.clear();
  EXPECT_EQ(to_text(none, ListFormat::kTable, 0), "Nothing.\n");
  EXPECT_EQ(to_text(none, ListFormat::kName, 0), "");
}

TEST(Reasons, ATreeIsIndentedAndSaysWhatIsEnough) {
  Reason quota{ReasonCode::kQuota, "nvidia.com/gpu", "", 8000, 2000, 0, {}};
  Reason enough{ReasonCode::kEnough, "nvidia.com/gpu", "", 6000, 0, 0, {}};
  Reason all{ReasonCode::kNone, "", "", 0, 0, 0, {quota, enough}};
  const ReasonTree tree = tree_of(all);
  std::string text;
  add_tree(text, tree, 1);
  EXPECT_EQ(text,
            "  needs 8 nvidia.com/gpu, quota left for it: 2\n"
            "  6 more nvidia.com/gpu of quota would be enough\n");
  EXPECT_EQ(enough_in(tree), std::vector<std::string>{"6 more nvidia.com/gpu of quota would be enough"});
  // The same from the text on a pod.
  EXPECT_EQ(enough_in(to_text(all)),
            std::vector<std::string>{"6 more nvidia.com/gpu of quota would be enough"});
  EXPECT_TRUE(enough_in(std::string_view("nothing")).empty());
}

// Every word that a pod's condition can have has a remedy.
TEST(Reasons, EachThatWorkWaitsForHasARemedy) {
  for (const ReasonCode code :
       {ReasonCode::kInvalid, ReasonCode::kUnsupported, ReasonCode::kInactive, ReasonCode::kIncompleteGang,
        ReasonCode::kQueueMissing, ReasonCode::kQueueDisabled, ReasonCode::kQueueStopped,
        ReasonCode::kBehindHead, ReasonCode::kQuota, ReasonCode::kQuotaMax, ReasonCode::kQuotaKept,
        ReasonCode::kReserved, ReasonCode::kQuotaUncovered, ReasonCode::kLaneLimit, ReasonCode::kFirmLimit,
        ReasonCode::kNoVictims, ReasonCode::kWaitingForRoom, ReasonCode::kWithdrawn})
    EXPECT_NE(remedy_for(enum_name(code)), "") << enum_name(code);
  EXPECT_NE(remedy_for("Unschedulable"), "");
  EXPECT_EQ(remedy_for("SomethingElse"), "");
}

}  // namespace
}  // namespace berth::cli
